# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The reason of a lost state is the true one, whether a message or the timer finds it."""

from collections.abc import Callable
import math
import re

from controller_rig import AGE, AHEAD, Arm
import numpy as np
import pytest

from rbd_ros.control.interface.causes import Cause

PERIOD = 0.001
EVERY = 5  # periods between two messages

Fields = dict[str, object]


def nan(fields: Fields) -> None:
    """Spoil one position."""
    fields['position'] = np.where(np.arange(7) == 2, math.nan, fields['position'])


def lacking(fields: Fields) -> None:
    """Leave the fifth joint out."""
    for name in ('names', 'position', 'velocity'):
        row = list(fields[name])
        del row[4]
        fields[name] = tuple(row)


def twice(fields: Fields) -> None:
    """Name the fourth joint in the place of the fifth."""
    names = fields['names']
    fields['names'] = (*names[:4], names[3], *names[5:])


def short(fields: Fields) -> None:
    """Give too few positions."""
    fields['position'] = fields['position'][:3]


def velocities(fields: Fields) -> None:
    """Give too few velocities."""
    fields['velocity'] = fields['velocity'][:3]


def empty(fields: Fields) -> None:
    """Name no joint at all."""
    fields.update(names=(), position=(), velocity=())


def frozen(fields: Fields) -> None:
    """Let the stamp stand still."""
    fields['stamp'] = fields['begin']


def back(fields: Fields) -> None:
    """Set the stamp back by five seconds."""
    fields['stamp'] -= 5.0


def slow(fields: Fields) -> None:
    """Let the stamp run at half the pace."""
    fields['stamp'] = fields['begin'] + 0.5 * (fields['stamp'] - fields['begin'])


def comes_and_goes(fields: Fields) -> None:
    """Leave every second stamp out."""
    if fields['count'] % 2:
        fields['stamp'] = 0.0


def garbage(fields: Fields) -> None:
    """Be no joint state."""
    fields['garbage'] = '7 bytes that are no message'


PROVOCATIONS: list[tuple[Callable[[Fields], None], str]] = [
    (nan, 'joint_1, .*: the position of joint_3 is not finite$'),
    (lacking, r'joint_5: no message for 0\.1\d* s, while other messages arrive$'),
    (twice, 'joint_1, .*joint_7: joint_4 appears twice in one message; '
            r'joint_5: no message for 0\.1\d* s, while other messages arrive$'),
    (short, 'joint_1, .*: 3 positions for 7 names$'),
    (velocities, 'joint_1, .*: 3 velocities for 7 names$'),
    (empty, r'joint_1, .*: no message for 0\.1\d* s, while other messages arrive$'),
    (frozen, 'joint_1, .*: the stamp does not advance$'),
    (back, r'joint_1, .*: the stamp went back by 4\.\d* s$'),
    (slow, r'joint_1, .*: stamps fall behind reception: the state was 0\.\d* s old'),
    (comes_and_goes, 'joint_1, .*: stamps appeared after states without stamps$'),
    (garbage, r'joint_1, .*: no message for 0\.1\d* s; \d+ unreadable, the last one: 7 bytes '
              'that are no message$'),
]


def provoke(arm: Arm, spoil: Callable[[Fields], None], *, timer: bool, seconds: float) -> None:
    """Spoil every message; ``timer``: it looks in each period, else only messages do."""
    begin = arm.time + AHEAD - AGE
    for count in range(1, round(seconds / PERIOD) + 1):
        arm.time += PERIOD
        if count % EVERY == 0:
            fields: Fields = {
                'names': arm.robot.joints, 'position': arm.q, 'velocity': arm.qd,
                'stamp': arm.time + AHEAD - AGE, 'begin': begin, 'count': count // EVERY}
            spoil(fields)
            if 'garbage' in fields:
                arm.controller.take_unreadable(arm.time, arm.time, fields['garbage'])
            else:
                arm.receive(fields['position'], fields['velocity'], names=fields['names'],
                            stamp=fields['stamp'])
        if timer:
            arm.tick()
        if arm.state != 'running':
            return


@pytest.fixture(scope='module')
def arm() -> Arm:
    """Return a controller that is reset between the tests."""
    return Arm()


@pytest.mark.parametrize('timer', [True, False], ids=['timer', 'message'])
@pytest.mark.parametrize('spoil, reason', PROVOCATIONS, ids=[p[0].__name__ for p in PROVOCATIONS])
def test_reason_is_true_whoever_finds_it(arm, spoil, reason, timer):
    """Each way to lose the state has its own sentence, by the timer and by a message alike."""
    arm.restart()
    provoke(arm, spoil, timer=timer, seconds=0.5)
    assert arm.state == 'state lost'
    assert arm.causes == [Cause.STATE_STALE]
    assert re.search(reason, arm.fault), arm.fault


@pytest.mark.parametrize('spoil', [nan, garbage, short], ids=lambda f: f.__name__)
def test_bad_messages_that_end_in_time_do_no_harm(arm, spoil):
    """Messages that cannot be used are counted and left out; the next good one is as ever."""
    arm.restart()
    sources = arm.controller.x.states.sources
    rejected = sources.rejected
    provoke(arm, spoil, timer=True, seconds=0.05)
    assert arm.state == 'running'
    assert sources.rejected - rejected == 10
    arm.run(0.5)
    assert arm.state == 'running'


def test_unreadable_messages_are_announced_once(arm):
    """The log names what came, once, and the count goes on."""
    arm.restart()
    arm.controller.events.clear()
    before = arm.controller.x.states.sources.unreadable
    provoke(arm, garbage, timer=True, seconds=0.05)
    told = [text for kind, text in arm.controller.events if 'unreadable message' in text]
    assert len(told) == 1 and '7 bytes' in told[0]
    assert arm.controller.x.states.sources.unreadable == before + 10


def test_silence_after_a_bad_message_is_a_silence(arm):
    """One bad message before a silence is mentioned, but is not made the reason."""
    arm.restart()
    arm.receive(arm.q * math.nan, arm.qd)
    arm.silence(0.2)
    assert re.search(r'joint_1, .*: no message for 0\.\d* s \(of the last one: the position of '
                     r'joint_1, .* not finite\)', arm.fault)


def test_late_last_state_before_a_silence_is_mentioned(arm):
    """A state that was late when it came, then silence: both parts of its age are reported."""
    arm.restart()
    arm.time += 0.04
    arm.receive(arm.q, arm.qd, stamp=arm.time + AHEAD - AGE - 0.03)
    arm.silence(0.1)
    assert arm.state == 'state lost'
    assert 'no message for 0.071 s, and the last state was 0.0299' in arm.fault


def test_joint_never_heard_of_is_told_so():
    """A joint that no message ever named is distinguished from one that fell silent."""
    arm = Arm(joints=['joint_1', 'joint_2'])
    arm.tick()
    assert arm.controller.missing_states().startswith('joint_1, joint_2, joint_3')
    assert arm.controller.missing_states().endswith('joint_7: in no message so far')
    arm.receive([0.0], [0.0], names=('joint_1',))
    assert re.fullmatch('joint_1: its age is not proven yet; joint_2, .*joint_7: in no message so '
                        'far, while other messages arrive', arm.controller.missing_states())


def test_rate_below_the_timeout_is_a_silence_and_above_it_a_rate(arm):
    """States so rare that each expires are silences; a little more often the rate is named."""
    for period, cause, text in ((0.125, Cause.STATE_STALE, 'no message for 0.1'),
                                (0.05, Cause.LOW_RATE, '20 Hz, minimum_rate 100 Hz')):
        arm.restart()
        since = 0
        while arm.state == 'running':
            since += 1
            assert since < 3000
            arm.time += PERIOD
            if since % round(period / PERIOD) == 0:
                arm.receive(arm.q, arm.qd)
            arm.tick()
        assert arm.causes[0] is cause
        assert text in arm.fault


# -- clocks -----------------------------------------------------------------------------------


@pytest.mark.parametrize('step, text', [
    (-2.0, 'the clock jumped: backwards by 2 s'),
    (100.0, 'the clock jumped: ahead by 100 s within 0.01 s')])
def test_jump_of_the_simulated_clock_is_named(step, text):
    """A simulation that is reset or wound forward is no silence of the driver."""
    arm = Arm(simulated=True)
    arm.start()
    arm.time, arm.offset = arm.time + 0.01, step - (0.01 if step < 0.0 else 0.0)
    arm.tick()
    assert not arm.controller.working
    assert arm.fault == text


def test_clock_that_jumps_back_is_seen_at_the_first_message(arm):
    """The first message after a jump shows it, though it is no more than a probe."""
    arm.restart()
    arm.offset = -3.0
    arm.receive(arm.q, arm.qd, stamp=arm.time)
    arm.offset = 0.0
    assert 'the clock jumped: backwards by 3' in arm.fault


def test_prescribed_joint_renews_the_state_between_two_cycles():
    """A gripper heard just before its limit keeps the state alive until the next arm state."""
    arm = Arm(joints=[f'joint_{k}' for k in range(1, 7)], prescribed_timeout=0.05)
    heard = [0.0]

    def gripper(time):
        if time - heard[0] > 0.0485:
            heard[0] = time
            arm.receive([0.7], [0.0], names=('joint_7',))
    arm.each = gripper
    arm.start()
    arm.run(0.5)
    assert arm.state == 'running'
    arm.each = None
    arm.time = heard[0] + 0.06
    gripper(arm.time)  # too late: what expired is not revived
    assert arm.causes == [Cause.PRESCRIBED_STALE]
