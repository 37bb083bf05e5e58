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
"""Sliders and jog buttons of the dashboard: what is sent, how fast, and what ends it."""

from isolation import own_domain
from joint_page import JointPage, PERIOD
import numpy as np
import pytest
from rbd_ros.control.modes.modes import MODES, Takes, taking
from rbd_ros.model.urdf.loader import load_urdf
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.dashboard.dead_man import DeadMan, SHORTEST_GAP, TIMEOUT
from rbd_ros.nodes.dashboard.joint_drive import AT_REST, ELSEWHERE, FASTEST
from rbd_ros.nodes.dashboard.moving_point import LONGEST_TICK, MovingPoint
from rbd_ros.nodes.dashboard.operator import Operator, SET_POINT_AHEAD
import rclpy
from trajectory_msgs.msg import JointTrajectory

ARM = load_urdf(find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf'))
START = np.array([0.3, 0.8, -0.4, -1.1, 0.5, 0.9, 0.2])


def rig_of(monkeypatch, model=ARM, q=START, **more):
    """Return the sliders of a robot."""
    return JointPage(monkeypatch, model, q, **more)


def test_a_slider_moves_the_simulated_robot_slowly(monkeypatch):
    """From where it is, on a straight line, no faster than it may, and exactly to the target."""
    rig = rig_of(monkeypatch, simulated=True).on()
    rig.run(1.0)
    assert not rig.sent  # nothing is asked for yet
    rig.drive.sliders[0].put(1.0)
    rig.drive.sliders[3].put(-1.5)
    rig.run(6.0)
    path = np.array([START, *(q for _, q in rig.sent)])
    steps = np.diff(path, axis=0)
    bound = 0.20 * rig.drive.point.speed * PERIOD
    assert (np.abs(steps) <= bound + 1e-12).all()
    goal = START.copy()
    goal[[0, 3]] = 1.0, -1.5
    np.testing.assert_allclose(path[-1], goal, atol=1e-12)
    way = goal - START
    np.testing.assert_allclose(steps[:-1], np.outer(steps[:-1] @ way / (way @ way), way),
                               atol=1e-12)
    assert rig.drive.sliders[0].value == 1.0 and not rig.buttons['Hold to move'].visible


def test_a_real_robot_moves_only_while_the_button_is_held(monkeypatch):
    """Released, closed or cut off: the last set-point goes out within the stated time."""
    rig = rig_of(monkeypatch, simulated=False).on()
    assert rig.buttons['Hold to move'].visible and not rig.buttons['Hold to move'].disabled
    rig.drive.sliders[1].put(0.0)
    rig.run(2.0)
    assert not rig.sent and 'Hold to move' in rig.words
    rig.run(1.0, hold='Hold to move')
    moved = len(rig.sent)
    assert moved > 10
    last_sign = 1000.0 + 2.0 + 0.92  # ten signs per second, on the pictures of that second
    rig.run(2.0)
    assert rig.sent[moved - 1][0] <= rig.sent[-1][0] <= last_sign + TIMEOUT
    stopped = rig.sent[-1][1]
    assert stopped[1] > 0.3  # far from the target
    np.testing.assert_array_equal(rig.drive.point.q, stopped)
    rig.run(8.0, hold='Hold to move')  # held again it goes on, to the target
    np.testing.assert_allclose(rig.sent[-1][1], rig.drive.target)
    assert rig.drive.target[1] == 0.0


def test_a_simulator_that_comes_later_switches_no_dead_man_off(monkeypatch):
    """Ticked is decided: what was not simulated then needs the button, and what ceases to be."""
    rig = rig_of(monkeypatch, simulated=False).on()
    rig.operator.simulated = True
    rig.drive.sliders[1].put(0.0)
    rig.run(1.0)
    assert not rig.sent and rig.buttons['Hold to move'].visible
    rig.drive.box.put(False)
    rig.drive.update()
    rig.on()
    rig.drive.sliders[1].put(0.0)
    rig.run(0.2)
    assert rig.sent and rig.buttons['Hold to move'].disabled
    rig.operator.simulated = False
    rig.drive.update()
    count = len(rig.sent)
    rig.run(1.0)
    assert len(rig.sent) == count and not rig.buttons['Hold to move'].disabled


@pytest.mark.parametrize('seed', range(20))
def test_the_time_of_the_dead_man(seed):
    """Held until TIMEOUT after the last of two signs that a held button can have sent."""
    rng = np.random.default_rng(seed)
    button, now, until, last, burst = DeadMan(), 50.0, -np.inf, {}, -np.inf
    for _ in range(300):
        now += float(rng.choice([0.001, 0.049, 0.0501, 0.1, 0.2, 0.2999, 0.31, 2.0]))
        who = int(rng.integers(2))
        if rng.random() < 0.7:
            gap = now - last.get(who, -np.inf)
            if gap < SHORTEST_GAP:
                until, burst = now, now
            elif gap <= TIMEOUT and now >= burst + TIMEOUT:
                until = now + TIMEOUT
            last[who] = now
            button.renew(who, now)
        for later in (0.0, 0.1, 0.29, TIMEOUT, 0.31, 5.0):
            assert button.is_held(now + later) == (now + later < until)


def test_signs_that_a_network_kept_back_move_nothing(monkeypatch):
    """They come all at once, after the button was released."""
    rig = rig_of(monkeypatch, simulated=False).on()
    rig.drive.sliders[1].put(0.0)
    for _ in range(50):
        rig.hold('Hold to move')
        rig.clock += 0.002
        rig.drive.send()
    rig.run(1.0)
    assert not rig.sent


@pytest.mark.parametrize('simulated', [False, True])
def test_a_jog_button_moves_one_joint_while_it_is_held(monkeypatch, simulated):
    """In its sense, of a real robot and of a simulated one; the slider follows."""
    rig = rig_of(monkeypatch, simulated=simulated).on()
    rig.drive._joint.value = rig.joints[2]
    rig.run(2.0, hold='+')
    path = np.array([q for _, q in rig.sent])
    assert (np.diff(path[:, 2]) > 0.0).all() and path[-1, 2] > START[2] + 0.2
    others = [k for k in range(7) if k != 2]
    np.testing.assert_array_equal(path[:, others], np.tile(START[others], (len(path), 1)))
    assert rig.drive.sliders[2].value == pytest.approx(path[-1, 2], abs=2e-3)
    rig.run(1.0)
    count, there = len(rig.sent), rig.sent[-1][1][2]
    rig.run(1.0)
    assert len(rig.sent) == count
    rig.run(1.0, hold='−')
    assert rig.sent[-1][1][2] < there
    rig.run(0.5)
    count = len(rig.sent)
    for _ in range(20):  # both at once: neither
        rig.hold('+'), rig.hold('−')
        rig.run(0.1)
    assert len(rig.sent) == count


@pytest.mark.parametrize('seed', range(12))
def test_nothing_leaves_the_limits_and_nothing_jumps(monkeypatch, seed):
    """Whatever a browser sends, on robots with and without limits, with pauses of the process."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 6))
    links = ''.join(f"""<link name="l{k + 1}"><inertial><mass value="1"/>
        <inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
        <joint name="j{k}" type="{rng.choice(['revolute', 'continuous', 'prismatic'])}">
        <parent link="l{k}"/><child link="l{k + 1}"/><axis xyz="0 0 1"/>
        <limit lower="{-rng.uniform(0, 2)}" upper="{rng.uniform(0, 3)}" effort="9"
        velocity="{rng.choice([0.0, 0.5, 4.0])}"/></joint>""" for k in range(count))
    model = load_urdf(f'<robot name="r"><link name="l0"/>{links}</robot>', limits_optional=True)
    q = rng.uniform(-0.3, 0.3, count)
    rig = rig_of(monkeypatch, model, simulated=bool(seed % 2), q=q).on()
    point, position = rig.drive.point, MovingPoint(model, rig.joints).inside(q)
    most = FASTEST / 100.0 * point.speed * LONGEST_TICK + 1e-9
    for _ in range(150):
        what = rng.integers(5)
        if what == 0:
            rig.drive.sliders[rng.integers(count)].put(float(rng.choice([-1e9, -1, 0.1, 2, 1e9])))
        elif what == 1:
            rig.drive._joint.value = rig.joints[rng.integers(count)]
        elif what == 2:
            rig.drive._speed.value = float(rng.choice([-5, 1, 20, 50, 1e6]))
        for button in rng.choice(['+', '−', 'Hold to move'], int(rng.integers(3))):
            rig.hold(button)
        rig.drive.send()
        if rng.random() < 0.3:
            rig.drive.update()
        rig.clock += float(rng.choice([0.04, 0.06, 0.1, 1.0, 30.0]))
        for _, sent in rig.sent:
            assert (sent >= point.lower).all() and (sent <= point.upper).all()
            assert (np.abs(sent - position) <= most).all()
            position = sent
            rig.put(sent)
        rig.sent.clear()
    rig.drive.update()
    for slider in rig.drive.sliders:
        assert slider.min <= slider.value <= slider.max


def test_it_says_what_is_missing(monkeypatch):
    """Mode, state, joint states, another program: nothing is sent, and the sliders follow."""
    rig = rig_of(monkeypatch, simulated=True)
    rig.drive.update()
    assert rig.words == '' and all(each.disabled for each in rig.drive.sliders)
    rig.on()
    assert rig.operator.steer.call_args.args == (True,)
    assert not rig.drive.sliders[0].disabled
    for mode in MODES:
        rig.telemetry.mode = mode
        rig.drive.update()
        fits = mode in taking(Takes.TRAJECTORY)
        assert rig.drive.is_driving == fits and (f'The mode is {mode}' in rig.words) != fits
        assert all(each.disabled != fits for each in rig.drive.sliders)
    for change, words in (({'mode': 'mine'}, 'Move a slider'), ({'state': 'holding'}, 'holding'),
                          ({'state': ''}, 'not there'), ({'age': lambda _: 9.0}, 'No joint'),
                          ({'positions': {}}, 'No joint')):
        vars(rig.telemetry).update(change)
        rig.drive.update()
        assert words in rig.words
    rig = rig_of(monkeypatch, simulated=True).on()
    rig.operator.is_crowded = True
    rig.drive.update()
    assert 'Another program' in rig.words
    rig.drive.sliders[0].put(1.0)
    rig.telemetry.positions[rig.joints[1]] = 0.5
    rig.run(1.0)
    assert not rig.sent and rig.drive.sliders[1].value == 0.5


def test_a_robot_that_others_moved_is_not_taken_back(monkeypatch):
    """What was asked for before is forgotten; a small deflection is none."""
    rig = rig_of(monkeypatch, simulated=True).on()
    rig.drive.sliders[0].put(0.5)
    rig.run(2.0)
    first, sent = rig.joints[0], len(rig.sent)
    rig.telemetry.reference_positions[first] = 0.5 + 0.9 * ELSEWHERE
    rig.run(AT_REST + 1.0, follows=False)
    assert rig.drive.point.q[0] == 0.5
    rig.telemetry.reference_positions[first] = -0.8
    rig.run(AT_REST + 1.0, follows=False)
    assert len(rig.sent) == sent and rig.drive.sliders[0].value == -0.8
    assert 'Somebody else' in rig.words
    rig.drive.sliders[1].put(0.7)
    rig.run(PERIOD)
    assert rig.sent[-1][1][0] == -0.8


def test_a_page_that_only_watches_shows_the_pose(monkeypatch):
    """Its sliders are grey, follow the robot, and send nothing whatever a browser sends."""
    rig = rig_of(monkeypatch, simulated=False, allowed=False).on()
    rig.drive.sliders[0].put(1.0)
    rig.run(1.0, hold='Hold to move')
    rig.run(1.0, hold='+')
    assert not rig.sent and not rig.drive.is_driving
    assert all(each.disabled for each in (*rig.drive.sliders, *rig.buttons.values()))
    assert not rig.buttons['Hold to move'].visible


def test_the_publisher_is_there_while_it_is_switched_on():
    """What is sent is one point of a stream; without permission nobody can publish."""
    with own_domain():
        rclpy.init()
        node = rclpy.create_node('dashboard')
        try:
            def published():
                return sum(each.topic_name.endswith('/joint_trajectory')
                           for each in node.publishers)
            watching = Operator(node, 'controller', 'simulator', allowed=False)
            watching.steer(True)
            watching.set_point(('a',), [0.0])
            assert published() == 0 and not watching.is_crowded
            operator = Operator(node, 'controller', 'simulator', allowed=True)
            operator.set_point(('a',), [0.5])
            operator.steer(True)
            operator.steer(True)
            assert published() == 1 and not operator.is_crowded
            received = []
            node.create_subscription(JointTrajectory, 'controller/joint_trajectory',
                                     received.append, 1)
            for _ in range(100):
                operator.set_point(('a', 'b'), [0.5, 0.7])
                rclpy.spin_once(node, timeout_sec=0.05)
                if received:
                    break
            [point] = received[0].points
            assert received[0].joint_names == ['a', 'b'] and list(point.positions) == [0.5, 0.7]
            assert point.time_from_start.nanosec == SET_POINT_AHEAD
            other = node.create_publisher(JointTrajectory, 'controller/joint_trajectory', 1)
            assert operator.is_crowded
            node.destroy_publisher(other)
            operator.steer(False)
            assert published() == 0
        finally:
            node.destroy_node()
            rclpy.shutdown()


def test_a_robot_without_sliders(monkeypatch):
    """One without joints, and joints of several coordinates: nothing can be asked for."""
    link = ('<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
            'ixz="0" iyz="0"/></inertial></link>')
    alone = load_urdf(f'<robot name="r">{link.format("a")}</robot>')
    rig = rig_of(monkeypatch, alone, [], simulated=True).on()
    rig.run(1.0)
    assert not rig.sent and not rig.drive.is_driving and rig.drive.sliders == []
    free = load_urdf(f'<robot name="r">{link.format("a")}{link.format("b")}{link.format("c")}'
                     '<joint name="f" type="floating"><parent link="a"/><child link="b"/></joint>'
                     '<joint name="j" type="continuous"><parent link="b"/><child link="c"/>'
                     '<axis xyz="0 0 1"/></joint></robot>', limits_optional=True)
    rig = rig_of(monkeypatch, free, [0.0, 0.0], simulated=True).on()
    assert rig.drive.joints == ('j',)
    rig.drive.sliders[0].put(0.5)
    for _ in range(100):
        rig.run(PERIOD, follows=False)
        there = rig.sent[-1][1][0] if rig.sent else 0.0
        rig.telemetry.reference_positions['j'] = rig.telemetry.positions['j'] = there
    assert rig.sent[-1][1].tolist() == [0.5]
