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
"""The sliders of the dashboard drive the real controller around a simulated arm."""

from controller_rig import Arm, MODEL, SOFT, SPEED
from joint_page import JointPage, PERIOD
import numpy as np
import pytest
from rbd_ros.control.modes.modes import Takes, taking
from rbd_ros.nodes.dashboard.dead_man import TIMEOUT
from rbd_ros.nodes.dashboard.joint_drive import ANGULAR_LAG, FASTEST, LEAD, USUAL
from rbd_ros.nodes.dashboard.operator import SET_POINT_AHEAD

MODE, SPRINGS = taking(Takes.TRAJECTORY)[:2]
TICKS = 20  # periods of the controller for one picture


class Driven:
    """An arm in a mode, and the page that drives it, on one clock."""

    def __init__(self, monkeypatch, *, simulated, mode=MODE, **values):
        self.arm = Arm(mode=mode, period=PERIOD / TICKS, **values)
        self.arm.release()
        self.page = JointPage(monkeypatch, MODEL, self.arm.q, simulated=simulated)
        self.page.operator.set_point = lambda names, q: self.arm.follow(
            [1e-9 * SET_POINT_AHEAD], np.array([q]))
        self.page.operator.hold = lambda names: self.arm.controller.post(
            self.arm.controller.hold)
        self.page.clock = self.arm.time
        self.page.on()
        self.arm.each = self.each

    def each(self, time):
        """Let the page look 25 times per second; a held button is signalled 10 times."""
        k = round(time / self.arm.period)
        if self.held and k % (TICKS * 5 // 2) == 0:
            self.page.hold('Hold to move')
        if k % TICKS == 0:
            self.page.clock = time
            self.page.put(self.arm.q, self.arm.reference[0])
            self.page.drive.send()
            self.page.drive.update()

    def block(self, blocked):
        """Hold the arm where it is, or set it free."""
        self.arm.external = None if blocked else np.zeros(len(SPEED))
        self.arm.still, self.arm.qd = blocked, np.zeros(len(SPEED))

    held = False


@pytest.fixture
def driven(monkeypatch):
    """Return what makes an arm with its page."""
    return lambda **more: Driven(monkeypatch, **more)


def test_the_arm_goes_where_the_slider_is_at_an_even_speed(driven):
    """No joint is faster than the page says, and the motion is no stop and go."""
    both = driven(simulated=True)
    arm, page = both.arm, both.page
    way = np.array([0.8, -0.3, 0.0, 0.2, 0.0, 0.0, 0.5])
    goal = arm.q + way
    for k, q in enumerate(goal):
        page.drive.sliders[k].put(float(q))
    del arm.q_log[:], arm.qd_log[:]
    arm.run(4.0)
    assert arm.state == 'running', arm.fault
    np.testing.assert_allclose(arm.q, goal, atol=5e-3)
    qd, share = np.array(arm.qd_log), USUAL / 100.0
    print((np.abs(qd).max(axis=0) / SPEED).round(3))
    assert (np.abs(qd).max(axis=0) < 1.1 * share * SPEED).all()
    needed = (np.abs(way) / (share * SPEED)).max()
    middle = slice(round(0.3 * needed / arm.period), round(0.9 * needed / arm.period))
    fastest = np.argmax(np.abs(way) / SPEED)
    print(qd[middle, fastest].min() / SPEED[fastest], qd[middle, fastest].max() / SPEED[fastest])
    assert qd[middle, fastest].min() > 0.8 * share * SPEED[fastest]


#: slow and weak references, which the page would run away from
SETTINGS = {'as it is': {}, 'slow reference': {'reference.velocity': [0.1]},
            'slow robot': {'velocity_limits': [0.2]},
            'slow start': {'reference.acceleration': [0.1]}}


@pytest.mark.parametrize('name', SETTINGS)
def test_the_arm_stops_when_the_button_is_released(driven, name):
    """It is at rest soon after the time of the dead-man and its own braking, and stays there."""
    values = SETTINGS[name]
    both = driven(simulated=False, **values)
    arm, page = both.arm, both.page
    page.drive.sliders[0].put(float(arm.q[0] + 1.0))
    before = arm.q.copy()
    arm.run(1.0)
    assert np.abs(arm.q - before).max() < 1e-3
    both.held = True
    arm.run(1.5)
    speed = arm.qd[0]
    assert speed > (0.02 if values else 0.15 * SPEED[0])
    both.held = False
    released = arm.q[0]
    del arm.qd_log[:], arm.q_log[:]
    arm.run(4.0)
    moving = np.abs(np.array(arm.qd_log)[:, 0]) > 0.005 * SPEED[0]
    last = arm.period * (1 + int(np.flatnonzero(moving).max()))
    way = np.array(arm.q_log)[:, 0].max() - released
    # until no sign counts any more it goes on, and perhaps gets faster
    most = speed + TIMEOUT * values.get('reference.acceleration', [0.0])[0]
    braking = most / values.get('reference.acceleration', [10.0])[0]
    free = TIMEOUT + PERIOD + 0.1  # of the law, which comes after its reference
    print(f'{name}: at rest after {last:.3f} s and {way:.3f} rad')
    assert last < free + 1.2 * braking + 0.3
    assert way < most * (free + 0.6 * braking) + 0.01
    assert arm.state == 'running', arm.fault
    there = arm.q.copy()
    arm.run(2.0)
    assert np.abs(arm.q - there).max() < 2e-3


def test_a_slow_arm_stops_where_it_is_when_the_button_is_released(driven):
    """It does not go on to a set-point that was sent seconds ago."""
    both = driven(simulated=False, **{'reference.velocity': [0.04]})
    arm, page = both.arm, both.page
    page.drive._speed.value = FASTEST
    goal = float(arm.q[0] + 0.12)
    page.drive.sliders[0].put(goal)
    both.held = True
    arm.run(1.8)
    both.held = False
    arm.run(TIMEOUT + 0.3)
    there = arm.q[0]
    arm.run(3.0)
    assert abs(arm.q[0] - there) < 2e-3 and there < goal - 0.02
    assert arm.state == 'running', arm.fault


def test_an_arm_that_hangs_in_its_springs_does_not_sink_at_each_start(driven):
    """Set-points begin at what the controller follows, not at where the robot is."""
    both = driven(simulated=False, mode=SPRINGS, gravity=[0.0, 0.0, -9.0], **SOFT)
    arm, page = both.arm, both.page
    arm.run(3.0)
    sag = np.abs(arm.q - arm.reference[0]).max()
    assert sag > 0.01
    first = arm.reference[0].copy()
    for _ in range(3):
        page.drive.box.put(False)
        page.drive.update()
        page.on()
        page.drive.sliders[6].put(float(page.drive.target[6] + 0.1))
        both.held = True
        arm.run(0.6)
        both.held = False
        arm.run(1.5)
    assert arm.reference[0][6] > first[6] + 0.05
    np.testing.assert_allclose(arm.reference[0][:6], first[:6], atol=1e-9)


@pytest.mark.parametrize('ticks', [False, True])
def test_an_arm_that_is_blocked_is_waited_for(driven, ticks):
    """However long and often the button is held, its springs are stretched by so much."""
    both = driven(simulated=False, mode=SPRINGS, tracking_limits=[3.0], **SOFT)
    arm, page = both.arm, both.page
    arm.run(0.5)
    stands, first = arm.q.copy(), arm.reference[0].copy()
    both.block(True)
    page.drive.sliders[0].put(float(stands[0] + 1.5))
    for _ in range(4):
        both.held = True
        arm.run(2.0)
        assert f'does not follow: {MODEL.joint_names[0]} is' in page.drive.words.content
        both.held = False
        arm.run(1.0)
        assert 'does not follow' not in page.drive.words.content
        if ticks:
            page.drive.box.put(False)
            page.drive.update()
            page.on()
            page.drive.sliders[0].put(float(stands[0] + 1.5))
    wound = arm.reference[0] - first
    most = (1.0 + 0.5 * ticks) * ANGULAR_LAG + LEAD * USUAL / 100.0 * SPEED[0]
    print(wound.round(3), most)
    assert 0.5 * ANGULAR_LAG < wound[0] < 1.1 * most and np.abs(wound[1:]).max() < 0.01
    both.block(False)  # it goes no further than its reference, and then on
    arm.run(3.0)
    assert arm.q[0] < stands[0] + 1.2 * most
    both.held = True
    arm.run(4.0)
    assert arm.q[0] > stands[0] + 1.0 and arm.state == 'running', arm.fault


def test_a_blocked_arm_can_be_driven_back(driven):
    """What brings the set-point nearer to the robot is sent."""
    both = driven(simulated=False, mode=SPRINGS, **SOFT)
    arm, page = both.arm, both.page
    arm.run(0.5)
    both.block(True)
    first = arm.reference[0][0]
    page.drive.sliders[0].put(float(arm.q[0] + 1.5))
    both.held = True
    arm.run(2.0)
    assert arm.reference[0][0] > first + 0.1
    page.drive.sliders[0].put(float(arm.q[0] - 0.1))
    arm.run(2.0)
    assert arm.reference[0][0] < first
