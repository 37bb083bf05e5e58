# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What is believed of positions and velocities: turns, two sources, and how many errors."""

import math

from joint_stream import JointStream
import pytest

SPEED, TOLERANCE = 2.0, 0.01  # rad/s, rad
REACH = 1.5 * SPEED


class Stream(JointStream):
    """Two joints, one of which has no limits."""

    def __init__(self, patience=0.0):
        super().__init__(('turns', 'bends'), ('turns', 'bends'), continuous=('turns',),
                         state_timeout=10.0, patience=patience, speed=SPEED, tolerance=TOLERANCE,
                         mismatch=100.0)

    def at(self, turns, bends, dt=1e-3, late=0.0, names=('turns', 'bends')):
        """Bring a message without motion."""
        values = {'turns': turns, 'bends': bends}
        q = [values.get(name, 0.0) for name in names]
        return self.send(names, q, [0.0] * len(q), dt=dt, late=late)

    def settle(self, count=20, dt=1e-3):
        """Let the robot stand for some messages."""
        for _ in range(count):
            self.at(0.0, 0.0, dt)


def test_a_turn_is_no_jump_where_a_joint_has_no_limits():
    """From pi to -pi is a small step of a continuous joint, and a jump of any other."""
    stream = Stream()
    for _ in range(3):
        stream.at(math.pi - 0.004, 0.0)
    assert stream.at(-math.pi + 0.004, 0.0) == 'STATE'
    assert stream.at(-math.pi + 0.004 + TOLERANCE + 0.002, 0.0) == 'STATE'
    assert stream.at(0.0, 0.0) == 'REJECTED'
    stream = Stream()
    for _ in range(3):
        stream.at(0.0, math.pi - 0.004)
    assert stream.at(0.0, -math.pi + 0.004) == 'REJECTED'


@pytest.mark.parametrize('dt', [1e-3, 0.05])
def test_the_longest_step_is_what_the_velocity_limit_allows(dt):
    """Tolerance, and one and a half times the limit, by stamps: how late it came is no excuse."""
    most = TOLERANCE + REACH * dt
    for step, arrival in ((0.999 * most, 'STATE'), (1.001 * most, 'REJECTED')):
        stream = Stream()
        stream.settle()
        assert stream.at(0.0, step, dt, late=0.02) == arrival


def test_nothing_is_ready_while_a_message_is_doubted():
    """A jump leaves a doubt that good messages take away, one by one."""
    stream = Stream(patience=0.004)
    stream.settle()
    assert stream.ready
    for _ in range(3):
        assert stream.at(0.0, 1.0) == 'REJECTED'
        assert not stream.ready
    assert stream.at(0.0, 0.0) == 'STATE'
    assert not stream.ready
    assert stream.diagnose()[0] == 'IMPLAUSIBLE'
    stream.settle()
    assert stream.ready and not stream.implausible


def test_eleven_errors_are_too_many_however_many_are_right():
    """One in fifty messages is wrong: ten are forgiven, and one more for each second."""
    stream = Stream(patience=0.005)

    def fails_within(count):
        for _ in range(count):
            assert stream.at(0.0, 10.0, 1e-4) == 'REJECTED'
            if stream.implausible:
                return True
            stream.settle(50, 1e-4)
        return False
    stream.settle()
    assert not fails_within(10)
    stream.settle(50, 0.1)
    assert not fails_within(5)
    assert fails_within(1)
    assert 'bends jumped from 0 (rad or m) to 10 (rad or m) within 0.0001 s' in stream.implausible


def test_two_sources_may_be_late_against_each_other():
    """What another message says of a joint may differ by what it moves in 20 ms, no more."""
    most = TOLERANCE + REACH * (1e-3 + 0.02)
    for step, arrival in ((0.99 * most, 'PROBE'), (1.01 * most, 'REJECTED')):
        stream = Stream()
        stream.settle()
        assert stream.at(0.0, step, names=('bends',)) == arrival


def test_ten_changes_of_the_source_are_told():
    """Joints that come now in one message, now in another, are told once there were ten."""
    stream, told = Stream(), []
    stream.settle()
    stream.notices()
    for k in range(10):
        assert not told
        stream.at(0.0, 0.0, names=('bends',) if k % 2 == 0 else ('bends', 'extra'))
        told += [text for text in stream.notices() if 'more than one kind' in text]
    assert len(told) == 1 and 'bends' in told[0]
