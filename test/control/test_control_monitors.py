# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Monitors of the robot, of its sensors and of its operators.

Patience is a leaky counter: one good sample among bad ones resets nothing.
"""

import math

import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Joints, NOBODY, Result
from rbd_ros.control.interface.sentences import JointName
from rbd_ros.control.interface.words import SupervisorWord
from rbd_ros.control.monitors.guards import check_dead_man, DeadMan, is_alive, press, Refusals
from rbd_ros.control.monitors.monitors import (
    begin_watch, changed_law, check_plausible, check_watch, first_beyond, MonitorParameters,
    MotionWatch, Plausible, Watch)
from rbd_ros.control.numerics.patience import Patience
from rbd_ros.control.parameters.given import WINDOW
from rbd_ros.control.supervisor.states import StateCode
from rbd_ros.control.torque.torque_records import Doing

PERIOD = 0.001
SIZES = {'n': 2, 'm': 2}
NAMES = (JointName('a', 'rad'), JointName('b', 'm'))


def said(y):
    """Return the accusations as causes and sentences; none remains."""
    rows, y.accused = list(y.accusations[:int(y.accused)]), 0.0
    return [(Cause(int(row[0])), spoken(*row[1:])) for row in rows]


def spoken(word, joint, a, b, c):
    """Return a sentence; likely causes follow where they may."""
    return SupervisorWord(int(word)).text(
        NAMES[int(joint)], a, b, c, causes='. LIKELY' if c > 0.0 else '')


# -- patience -------------------------------------------------------------------------------------

@pytest.mark.parametrize('pattern, expected', [
    ((1,), 20),
    ((1, 1, 1, 0), 29),  # 2.75 ms in four: 7 rounds make 19.25 ms, and a bad one follows
    ((1, 0), 54),  # 0.75 ms in two: 27 rounds make 20.25 ms
    ((1, 0, 0, 0), 320),  # 0.25 ms in four: 80 rounds make 20 ms
    ((1, 0, 0, 0, 0, 0), None)])  # rare ones are borne
def test_good_samples_among_bad_ones_reset_nothing(pattern, expected):
    """Three of four, two of four and one of four bad samples are all found; noise is not."""
    patience = Patience({}).plain()
    found = [patience.runs_out(0.02, 50.0 + k * PERIOD, pattern[k % len(pattern)])
             for k in range(4000)]
    assert (found.index(True) if any(found) else None) == expected


def test_calm_comes_back_when_all_is_forgotten():
    """What looks no more while all is calm may begin only when nothing is left in the counter."""
    patience = Patience({}).plain()
    assert patience.is_calm()
    for k in range(10):
        patience.runs_out(0.02, k * PERIOD, 1)
    assert not patience.is_calm()
    calm = [not patience.runs_out(0.02, k * PERIOD, 0) and patience.is_calm()
            for k in range(10, 60)]
    assert calm.index(True) in (40, 41)  # 10 ms of excess drain in 40 ms
    assert all(calm[41:])


@pytest.mark.parametrize('story, spent', [
    # a sample stands until the next one; one bad sample after a gap is no time at all
    ([(0.0, 0, False), (1.0, 1, False), (1.049, 1, False), (1.051, 1, True), (1.052, 0, False)],
     0.051),
    # after an hour of excess the counter drains as after the patience itself
    ([(0.0, 1, False), (1800.0, 1, True), (3600.0, 1, True), (3600.001, 0, False)], 0.051),
    # time that runs backwards neither fills nor drains
    ([(10.0, 1, False), (10.02, 1, False), (5.0, 1, False)], 0.02)])
def test_what_a_counter_remembers(story, spent):
    """A gap counts for the sample before it, and no more than the patience is remembered."""
    patience = Patience({}).plain()
    for now, bad, wrong in story:
        assert patience.runs_out(0.05, now, bad) is wrong, now
    assert patience.spent == pytest.approx(spent)


def test_what_is_no_number_is_beyond_every_bound():
    """What is not a number is not inside a bound: it must not pass because no comparison holds."""
    assert first_beyond([0.5, math.nan], [1.0, 2.0]) == 1
    assert first_beyond([0.5, -2.0], [1.0, 2.0]) == NOBODY
    assert first_beyond([0.5, 1.0], [1.0, math.nan]) == 1


# -- the robot and its sensors --------------------------------------------------------------------

class Watched:
    """Two joints that rest at 0, and what is said about them."""

    def __init__(self):
        self.x, self.plausible = Watch(SIZES).plain(), Plausible(SIZES).plain()
        p = MonitorParameters(SIZES)
        p.velocity_patience, p.tracking_patience, p.minimum_rate = 0.05, 0.02, 50.0
        p.watch_time, p.distance, p.gained, p.acceleration = 1e3, 0.5, 0.2, 50.0
        p.velocity[:], p.tracking[:], p.task_error[:] = (1.0, 9.0), 0.1, (0.3, 0.05)
        p.differenced[:], p.reach[:] = 2.0, 3.0
        self.p = p.plain()
        joints = Joints(SIZES)
        joints.allowed[:] = 0.15
        self.joints, self.y, self.now = joints.plain(), Result(SIZES), 100.0
        begin_watch(self.x, self.p, self.now, [0.0, 0.0], [0.0, 0.0])

    def check(self, *, dt=0.004, state=StateCode.RUNNING, follows='', qd=(0.0, 0.0),
              error=(0.0, 0.0)):
        """Check one state of a moving robot; return whether it is calm, and what is said."""
        doing = self.doing(dt, (0.0, 0.0), qd)
        doing.runs, doing.tracks = state == StateCode.RUNNING, follows == 'joints'
        doing.leads, doing.error[:], doing.lead[:] = follows == 'tip', error, error
        calm = check_watch(self.x, self.p, self.joints, doing, self.y.plain(), state)
        return calm, said(self.y)

    def doing(self, dt, q, qd):
        """Let time pass; return what the joints do then."""
        self.now += dt
        doing = Doing(SIZES)
        doing.now, doing.q[:], doing.qd[:] = self.now, q, qd
        return doing.plain()

    def look(self, *, dt=0.004, q=(0.0, 0.0), stuck=NOBODY, repeats=0):
        """Check one state for what sensors say."""
        calm = check_plausible(self.plausible, self.p, self.joints, self.doing(dt, q, (0.0, 0.0)),
                               self.y.plain(), stuck, repeats)
        return calm, said(self.y)


def test_a_bound_may_be_exceeded_for_exactly_its_patience():
    """Without a break the fault comes when the patience is over, and names joint and numbers."""
    watched = Watched()
    watched.x.motion.armed = 0.0
    assert watched.check() == (True, [])
    assert watched.check(qd=(1.5, 8.0)) == (False, [])
    assert watched.check(dt=0.049, qd=(1.5, 8.0)) == (False, [])
    first, second = (watched.check(dt=0.001, qd=(-1.5, 8.0))[1] for _ in range(2))
    text = 'a: velocity -1.5 rad/s beyond 1 rad/s'
    assert first == [(Cause.OVER_SPEED, f'{text}. LIKELY')]  # what to look for is said once,
    assert second == [(Cause.OVER_SPEED, text)]
    late = Watched()
    late.check(dt=6.0, qd=(1.5, 8.0))
    assert (Cause.OVER_SPEED, 'a: velocity 1.5 rad/s beyond 1 rad/s') in late.check(
        dt=1.0, qd=(1.5, 8.0))[1]  # and soon after the first torque only


@pytest.mark.parametrize('speed', [math.nan, math.inf, -math.inf])
def test_a_velocity_that_is_no_number_is_said_to_be_none(speed):
    """Nobody reads of a velocity of nan rad/s beyond a limit."""
    watched = Watched()
    watched.check(qd=(speed, 0.0))
    assert (Cause.OVER_SPEED, 'a: its velocity is no number') in watched.check(
        dt=0.1, qd=(speed, 0.0))[1]
    watched.joints.mismatch[1] = speed
    watched.look()
    assert (Cause.OVER_SPEED, 'b: its velocity is no number') in watched.look(dt=0.1)[1]


@pytest.mark.parametrize('follows, error, text', [
    ('joints', (0.0, -0.2), 'b: tracking error -0.2 m beyond 0.1 m'),
    ('tip', (0.4, 0.0), 'orientation of the tip: tracking error 0.4 rad beyond 0.3 rad'),
    ('tip', (0.1, 0.06), 'position of the tip: tracking error 0.06 m beyond 0.05 m'),
    ('', (9.0, 9.0), '')])
def test_tracking_errors_count_while_the_law_runs(follows, error, text):
    """The error of the joints or of the tip, of a law that follows them; not while gains ramp."""
    expected = [(Cause.TRACKING, f'{text}. LIKELY')] if text else []
    watched = Watched()
    watched.x.motion.armed = 0.0
    for _ in range(20):
        assert watched.check(state=StateCode.RAMPING_IN, follows=follows, error=error)[1] == []
    watched.check(follows=follows, error=error)
    calm, found = watched.check(dt=0.02, follows=follows, error=error)
    assert (calm, found) == (not text, expected)
    changed_law(watched.x)  # the error was that of another law
    assert watched.check(dt=0.02, follows=follows, error=error)[1] == []


def test_low_rates_are_faults():
    """States that come too rarely are a fault, with both rates."""
    watched = Watched()
    watched.joints.rate_low, watched.joints.rate = 1.0, 30.0
    assert watched.check() == (False, [(Cause.LOW_RATE, '30 Hz, minimum_rate 50 Hz')])


SENSORS = {
    'positions that run away': (
        {'mismatch': 0.2}, {}, Cause.IMPLAUSIBLE,
        f'a: its positions change at {0.2 / WINDOW:.3g} rad/s, but its velocity is 0 rad/s'),
    'positions that are too fast': (
        {'mismatch': 0.21, 'allowed': 9.0}, {}, Cause.OVER_SPEED,
        'a: velocity of its positions 2.1 rad/s beyond 2 rad/s'),
    'a joint out of its range': (
        {}, {'q': (0.0, -3.5)}, Cause.IMPLAUSIBLE,
        'b is at -3.5 m, far outside its limits (sign, unit or zero of its sensor?)')}


@pytest.mark.parametrize('what', SENSORS)
def test_sensors_that_are_not_plausible(what):
    """Each doubt becomes a fault when its patience is over, and is forgotten at a restart."""
    wrong, state, cause, text = SENSORS[what]
    watched = Watched()
    assert watched.look() == (True, [])
    for name, value in wrong.items():
        getattr(watched.joints, name)[0] = value
    assert watched.look(**state) == (False, [])
    assert watched.look(dt=0.049, **state) == (False, [])
    assert (cause, text) in watched.look(dt=0.001, **state)[1]
    watched.plausible.reset()
    assert watched.look(**state) == (False, [])


def test_a_sensor_that_repeats_itself():
    """A sensor that never did so is frozen; until it has lasted, all is just not calm."""
    watched = Watched()
    assert watched.look(repeats=1) == (False, [])
    assert watched.look(q=(0.0, 1.25), stuck=1)[1] == [
        (Cause.FROZEN, 'b repeats the position 1.25 m exactly, which its sensor never did')]


# -- the first motion -----------------------------------------------------------------------------

class FirstMotion:
    """The watch of the first motion of two joints."""

    def __init__(self, **bounds):
        self.x, self.p = MotionWatch(SIZES).plain(), MonitorParameters(SIZES).plain()
        usual = {'watch_time': 9.0, 'distance': 0.5, 'gained': 1e9, 'acceleration': 50.0}
        for name, value in (usual | bounds).items():
            setattr(self.p, name, value)
        self.x.arm(self.p, 0.0, [0.0, 0.0], [0.0, 0.0])

    def check(self, now, q=(0.0, 0.0), qd=(0.0, 0.0), rests=1):
        """Return what is wrong."""
        word = self.x.check(self.p, now, q, qd, rests)
        return spoken(word, self.x.joint, self.x.a, self.x.b, 0.0) if word else ''


def test_motion_watch_sees_distance_and_acceleration():
    """A joint that drifts half a radian or accelerates hard at the start is named."""
    watch = FirstMotion()
    assert watch.check(0.1, (0.1, 0.4)) == ''
    assert watch.check(0.2, (0.1, 0.6)).startswith('b moved 0.6 m within 0.2 s')
    watch = FirstMotion()
    texts = [watch.check(t, qd=(80.0 * t, 0.0)) for t in np.arange(1, 100) * 0.001]
    first = next(i for i, text in enumerate(texts) if text)
    assert 'a accelerates' in texts[first]
    # a first-order lag of 10 ms passes 50 of 80 after about one time constant
    assert first * 0.001 == pytest.approx(0.01 * math.log(80 / 30), abs=0.003)


def test_motion_watch_bears_a_motion_that_is_wanted():
    """Where the law moves the robot its motion does not count; later only what follows does."""
    watch = FirstMotion(gained=0.2, acceleration=1e6)
    assert watch.check(0.1, (0.9, 0.0), (3.0, 0.0), rests=0) == ''
    assert watch.check(0.2, (1.3, 0.0), (3.1, 0.0)) == ''
    assert watch.check(0.3, (1.39, 0.0), (3.21, 0.0)) == ''
    assert 'moves at 3.21 rad/s by itself' in watch.check(0.4, (1.39, 0.0), (3.21, 0.0))
    assert watch.check(0.5, (0.41, 0.0)) == ''
    assert watch.check(0.6, (0.39, 0.0)).startswith('a moved 0.51 rad within 0.6 s')


@pytest.mark.parametrize('way, wrong', [(-1.0, False), (1.0, True)])
@pytest.mark.parametrize('bounds', [{'distance': 0.3}, {'gained': 0.2}])
def test_a_barrier_may_push_a_joint_out_of_its_zone(bounds, way, wrong):
    """A joint that starts in the zone of a limit is pushed inside; the other way is a fault."""
    watch = FirstMotion(**{'distance': 1e9, 'acceleration': 1e9} | bounds)
    watch.p.zone_lower[:], watch.p.zone_upper[:] = -1.0, 1.0
    watch.x.arm(watch.p, 0.0, [1.05, 0.0], [0.0, 0.0])
    found = [watch.check(0.01 * k, (1.05 + 0.01 * k * way, 0.0), (way, 0.0))
             for k in range(1, 40)]
    assert any(found) is wrong


def test_what_moved_at_the_start_may_go_on_moving():
    """Velocity counts as far as it is gained; one state alone is noise."""
    watch = FirstMotion(gained=0.2, acceleration=1e9)
    watch.x.arm(watch.p, 0.0, [0.0, 0.0], [0.5, 0.0])
    said = [watch.check(0.01 * k, qd=(speed, 0.0))
            for k, speed in enumerate([0.65, 0.75, 0.65, 0.75, 0.75], 1)]
    assert said[:4] == [''] * 4 and 'by itself' in said[4]


def test_motion_watch_ends():
    """After its duration the robot may move as it likes."""
    watch = FirstMotion(watch_time=0.5)
    assert watch.check(0.6, (9.0, 9.0)) == '' and watch.x.armed == 0.0


# -- operators ------------------------------------------------------------------------------------

def test_dead_man():
    """Without repetition, or when released, the robot may not move; timeout 0 means no switch."""
    x, p, y = DeadMan({}).plain(), MonitorParameters(SIZES).plain(), Result(SIZES)
    p.dead_man_timeout, silent = 0.5, (Cause.DEAD_MAN, 'no message for 0.5 s')
    for time, pressed, alive, expected in (
            (0.0, None, False, [silent]), (1.0, 1, True, []), (1.5, None, True, []),
            (1.51, None, False, [silent]), (2.0, 1, True, []),
            (2.1, 0, False, [(Cause.DEAD_MAN, 'the switch was released')]),
            (math.nan, None, False, [silent]), (math.nan, 1, False, [
                (Cause.DEAD_MAN, 'the switch was released')])):
        for state in (StateCode.PROBING, StateCode.RUNNING):  # a start just waits
            if pressed is None:
                check_dead_man(x, p, y.plain(), time, state)
            else:
                press(x, p, y.plain(), time, pressed, state)
            assert said(y) == (expected if state == StateCode.RUNNING else []), time
        assert is_alive(x, p, time) is alive, time
    p.dead_man_timeout = 0.0
    press(x, p, y.plain(), 1e9, 0, StateCode.RUNNING)
    assert is_alive(x, p, 1e9) and not said(y)


def test_refused_references_in_a_row_are_counted():
    """The given number in a row is too many; a good one, or a second of silence, ends the row."""
    x, p = Refusals({}).plain(), MonitorParameters(SIZES).plain()
    p.refusals = 3
    assert [x.refuse(p, 0.1 * k) for k in range(4)] == [False, False, True, True]
    x.accept()
    assert [x.refuse(p, 1.0 + 0.9 * k) for k in range(3)] == [False, False, True]
    assert [x.refuse(p, 10.0 + 1.1 * k) for k in range(9)] == [False] * 9
    p.refusals = 0
    assert not any(x.refuse(p, 20.0) for _ in range(9))
