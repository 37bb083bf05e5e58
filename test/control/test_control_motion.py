# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""What is believed of positions and velocities: turns, two sources, and how many errors."""

import math

import numpy as np
import pytest
from rbd_ros.control.former.joint_states.joint_map import JointMap
from rbd_ros.control.former.joint_states.layout import AgeLimits, Arrival

SPEED, TOLERANCE = 2.0, 0.01  # rad/s, rad
REACH = 1.5 * SPEED


class Stream:
    """Two joints, one of which has no limits, and a clock."""

    def __init__(self, patience=0.0, timeout=10.0):
        self.joints = JointMap(('turns', 'bends'), ('turns', 'bends'), limits=AgeLimits(
            state_timeout=timeout, period=0.0, probes=1), continuous=('turns',))
        self.joints.motion.bound(np.full(2, SPEED), np.full(2, TOLERANCE), np.full(2, 100.0),
                                 patience)
        self.now = 10.0

    def send(self, turns, bends, dt=1e-3, late=0.0, names=('turns', 'bends')):
        """Bring a message without motion, so much later, as long on its way as given."""
        self.now += dt
        values = {'turns': turns, 'bends': bends}
        q = [values.get(name, 0.0) for name in names]
        return self.joints.update(self.now + late, names, q, [0.0] * len(q), (), self.now + 500.0)

    def settle(self, count=20):
        """Let the robot stand for some messages."""
        for _ in range(count):
            self.send(0.0, 0.0)


def test_a_turn_is_no_jump_where_a_joint_has_no_limits():
    """From pi to -pi is a small step of a continuous joint, and a jump of any other."""
    stream = Stream()
    for _ in range(3):
        stream.send(math.pi - 0.004, 0.0)
    assert stream.send(-math.pi + 0.004, 0.0) is Arrival.STATE
    assert stream.send(-math.pi + 0.004 + TOLERANCE + 0.002, 0.0) is Arrival.STATE
    assert stream.send(0.0, 0.0) is Arrival.REJECTED
    stream = Stream()
    for _ in range(3):
        stream.send(0.0, math.pi - 0.004)
    assert stream.send(0.0, -math.pi + 0.004) is Arrival.REJECTED


@pytest.mark.parametrize('dt', [1e-3, 0.05])
def test_the_longest_step_is_what_the_velocity_limit_allows(dt):
    """Tolerance, and one and a half times the limit, by stamps: how late it came is no excuse."""
    most = TOLERANCE + REACH * dt
    for step, arrival in ((0.999 * most, Arrival.STATE), (1.001 * most, Arrival.REJECTED)):
        stream = Stream()
        stream.settle()
        assert stream.send(0.0, step, dt, late=0.02) is arrival


def test_nothing_is_ready_while_a_message_is_doubted():
    """A jump leaves a doubt that good messages take away, one by one."""
    stream = Stream(patience=0.004)
    stream.settle()
    assert stream.joints.ready(stream.now)
    for _ in range(3):
        assert stream.send(0.0, 1.0) is Arrival.REJECTED
        assert not stream.joints.ready(stream.now)
    assert stream.send(0.0, 0.0) is Arrival.STATE
    assert not stream.joints.ready(stream.now)
    stream.settle()
    assert stream.joints.ready(stream.now) and not stream.joints.motion.wrong


def test_eleven_errors_are_too_many_however_many_are_right():
    """One in fifty messages is wrong: the eleventh error is a fault, and names the joint."""
    stream = Stream()
    stream.settle()
    for _ in range(10):
        assert stream.send(0.0, 1.0, 1e-4) is Arrival.REJECTED
        assert not stream.joints.motion.wrong
        for _ in range(50):
            stream.send(0.0, 0.0, 1e-4)
    stream.send(0.0, 1.0, 1e-4)
    assert 'bends jumped from 0 to 1' in stream.joints.motion.wrong


def test_one_error_is_forgotten_in_a_second():
    """After ten errors and five seconds there is room for five more."""
    stream = Stream()
    stream.settle()

    def fails_within(count):
        for _ in range(count):
            stream.send(0.0, 10.0, 1e-4)
            if stream.joints.motion.wrong:
                return True
            for _ in range(50):
                stream.send(0.0, 0.0, 1e-4)
        return False
    assert not fails_within(10)
    for _ in range(50):
        stream.send(0.0, 0.0, 0.1)
    assert not fails_within(5)
    assert fails_within(1)


def test_two_sources_may_be_late_against_each_other():
    """What another message says of a joint may differ by what it moves in 20 ms, no more."""
    most = TOLERANCE + REACH * (1e-3 + 0.02)
    for step, arrival in ((0.99 * most, Arrival.PROBE), (1.01 * most, Arrival.REJECTED)):
        stream = Stream()
        stream.settle()
        assert stream.send(0.0, step, names=('bends',)) is arrival


def test_ten_changes_of_the_source_are_told():
    """Joints that come now in one message, now in another, are told once there were ten."""
    stream = Stream()
    stream.settle()
    joints, told = stream.joints, []
    joints.notices.take()
    for k in range(10):
        assert not told
        stream.send(0.0, 0.0, names=('bends',) if k % 2 == 0 else ('bends', 'extra'))
        told += [text for text in joints.notices.take() if 'more than one kind' in text]
    assert len(told) == 1 and 'bends' in told[0]
