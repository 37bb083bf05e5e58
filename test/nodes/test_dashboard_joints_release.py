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
"""Sliders of the dashboard: what ends a motion, and what must not begin one."""

import math
import threading

from joint_page import JointPage, PERIOD
import numpy as np
import pytest
from rbd_ros.model.urdf.loader import load_urdf
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.dashboard.dead_man import DeadMan, TIMEOUT
from rbd_ros.nodes.dashboard.joint_drive import AT_REST, ELSEWHERE, FASTEST, LEAD

ARM = load_urdf(find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf'))
START = np.array([0.3, 0.8, -0.4, -1.1, 0.5, 0.9, 0.2])
ENDLESS = load_urdf("""<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    </joint></robot>""", limits_optional=True)


@pytest.fixture
def rig(monkeypatch):
    """Return the page of a robot that is not simulated, ready to move."""
    return JointPage(monkeypatch, ARM, START, simulated=False).on()


@pytest.mark.parametrize('button', ['Hold to move', '+', '−'])
def test_release_tells_the_controller_to_hold(rig, button):
    """Once, when no sign counts any more; a robot at rest is left alone."""
    rig.drive.sliders[1].put(0.0)
    rig.run(2.0)
    assert not rig.holds
    rig.run(1.0, hold=button)
    assert not rig.holds
    rig.run(3.0)
    [at] = rig.holds
    assert rig.sent[-1][0] < at <= rig.sent[-1][0] + TIMEOUT + PERIOD


class Slow:
    """A robot whose controller follows with 0.01 rad/s what it is sent of joint 1."""

    def __init__(self, page, way):
        self.page, self.q, self.goal = page, START.copy(), START[1] - way
        page.drive.sliders[1].put(self.goal)

    def run(self, seconds, hold=''):
        """Let time pass; whoever was told to hold stays."""
        for _ in range(round(seconds / 0.2)):
            self.page.run(0.2, hold=hold, follows=False)
            if self.page.sent and not self.page.holds:
                self.q[1] = max(self.q[1] - 0.002, self.page.sent[-1][1][1])
            self.page.put(self.q)


def test_a_slow_reference_holds_when_the_button_is_released(rig):
    """However long ago the last set-point was sent, if the controller is on its way to that."""
    slow = Slow(rig, 0.05)
    slow.run(3.0, 'Hold to move')
    assert rig.clock - rig.sent[-1][0] > 2.0 * AT_REST and not rig.holds
    released = rig.clock
    slow.run(3.0)
    [at] = rig.holds
    assert at <= released + TIMEOUT and slow.q[1] > slow.goal + 0.01


def test_a_slow_reference_that_has_arrived_is_left_alone(rig):
    """Somebody else may move the robot now."""
    slow = Slow(rig, 0.02)
    slow.run(2.0 + AT_REST + 1.0, 'Hold to move')
    assert slow.q[1] == slow.goal
    slow.run(1.0)
    assert not rig.holds


def test_a_slow_reference_is_not_somebody_else(monkeypatch):
    """The slider stays where it was put, and nobody is blamed."""
    page = JointPage(monkeypatch, ARM, START, simulated=True).on()
    page.drive._speed.value = FASTEST
    slow = Slow(page, 0.15)
    slow.run(3.0)
    assert slow.q[1] - slow.goal > ELSEWHERE
    assert page.words == 'Move a slider: the robot goes there.'
    assert page.drive.target[1] == slow.goal


@pytest.mark.parametrize('end', ['box', 'mode', 'reference'])
def test_whatever_ends_driving_ends_the_motion(rig, end):
    """Switched off, another mode, a silent controller: hold, before the topic is left."""
    order = []
    rig.operator.hold = lambda names: order.append('hold')
    rig.operator.steer = lambda on: order.append(on)
    rig.drive.sliders[1].put(0.0)
    rig.run(1.0, hold='Hold to move')
    if end == 'box':
        rig.drive.box.put(False)
    elif end == 'mode':
        rig.telemetry.mode = 'hold'
    else:
        rig.telemetry.age = lambda what: 9.0 if what == 'reference' else 0.0
    count = len(rig.sent)
    rig.run(PERIOD, hold='Hold to move')
    assert order == ['hold', False][:1 + (end == 'box')] and len(rig.sent) <= count + 1
    rig.run(1.0, hold='Hold to move')
    assert len(order) == 1 + (end == 'box')
    if end == 'reference':
        assert 'does not publish its reference' in rig.words


def test_a_joint_that_the_controller_does_not_drive_is_named(rig):
    """The page was not told the joints of the controller."""
    del rig.telemetry.reference_positions[rig.joints[5]]
    rig.drive.update()
    assert f'does not drive `{rig.joints[5]}`' in rig.words and 'publish' not in rig.words
    rig.telemetry.reference_positions.clear()
    rig.drive.update()
    assert 'does not publish its reference' in rig.words


def test_the_set_point_waits_for_the_reference(rig):
    """A controller that does not move gets none further away than the stated lead."""
    rig.drive.sliders[1].put(0.0)
    rig.run(10.0, hold='Hold to move', follows=False)
    away = np.abs(rig.sent[-1][1] - START) / (0.2 * rig.drive.point.speed)
    assert 0.5 * LEAD < away.max() <= LEAD + 1e-9


def test_another_joint_that_is_chosen_does_not_take_over_a_jog(rig):
    """One browser holds a button, another one changes the joint: both joints rest."""
    rig.drive._joint.value = rig.joints[2]
    rig.run(1.0, hold='+')
    rig.drive._joint.value = rig.joints[4]
    count = len(rig.sent)
    rig.run(1.0, hold='+')
    assert len(rig.sent) == count and len(rig.holds) == 1
    rig.run(0.5)
    rig.run(1.0, hold='+')  # pressed anew it is meant
    assert rig.sent[-1][1][4] > START[4]


def test_a_browser_may_send_anything(rig):
    """A speed that is no number, a joint that is none: slow, or nothing."""
    rig.drive._speed.value = math.nan
    rig.drive.sliders[1].put(math.nan)
    rig.drive.sliders[2].put(0.0)
    rig.run(1.0, hold='Hold to move')
    path = np.array([q for _, q in rig.sent])
    assert np.isfinite(path).all() and len(path) > 5
    steps = np.abs(np.diff(path, axis=0))
    assert (steps <= 0.05 * rig.drive.point.speed * PERIOD + 1e-12).all()
    rig.run(1.0)
    count = len(rig.sent)
    rig.drive._joint.value = 'none of them'
    rig.run(1.0, hold='+')
    assert len(rig.sent) == count


def test_a_slider_waits_while_the_page_looks(rig):
    """What a thread asks for is neither lost nor mixed with what another one begins."""
    def ask():
        rig.drive.ask({rig.joints[3]: -0.5})
    thread = threading.Thread(target=ask)

    def sending(names, q):
        if not thread.ident:
            thread.start()
            thread.join(0.2)
            assert thread.is_alive()
    rig.operator.set_point = sending
    rig.drive.sliders[1].put(0.0)
    rig.run(0.5, hold='Hold to move', follows=False)
    thread.join()
    assert rig.drive.target[3] == -0.5 and rig.drive.target[1] == 0.0


def test_a_driver_that_wraps_turns(monkeypatch):
    """A whole turn is no motion; the slider is around the robot, and goes both ways."""
    page = JointPage(monkeypatch, ENDLESS, [3.1], simulated=True).on()
    [slider] = page.drive.sliders
    assert slider.min == pytest.approx(3.1 - math.pi) and slider.max == pytest.approx(
        3.1 + math.pi)
    slider.put(3.5)
    last = 3.1
    for _ in range(200):
        page.run(PERIOD, follows=False)
        if page.sent:
            assert abs(page.sent[-1][1][0] - last) <= 0.5 * PERIOD
            last = page.sent[-1][1][0]
            wrapped = math.remainder(last, 2.0 * math.pi)
            page.put([wrapped])
    assert last == 3.5 and page.words == 'Move a slider: the robot goes there.'


@pytest.mark.parametrize('pause', [0.02, 0.06, 0.1, 0.2, 0.29])
def test_bursts_of_a_slow_network_release(pause):
    """Signs that were kept back come in bursts that grow, one in each round trip."""
    button, now = DeadMan(), 10.0
    for _ in range(10):
        now += 0.1
        button.renew(1, now)
    assert button.is_held(now)
    now += 5.0  # long after the release of the button
    for burst in (2, 4, 8, 16, 32, 64, 128):
        for k in range(burst):
            button.renew(1, now + 1e-4 * k)
            assert k == 0 or not button.is_held(now + 1e-4 * k)
        assert not button.is_held(now + pause)
        now += pause
    now += TIMEOUT + 0.1
    for k in range(3):
        button.renew(1, now + 0.1 * k)
    assert button.is_held(now + 0.2)  # held anew
