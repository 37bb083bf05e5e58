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
"""The handle of the target: where it begins, what it says, and when the robot follows."""

import asyncio
from types import SimpleNamespace
from unittest.mock import MagicMock

from controller_rig import Arm
from joint_page import Handle, handles, PERIOD
import numpy as np
import pytest
import rbd_ros
from rbd_ros.control.modes.modes import MODES, Takes, taking
from rbd_ros.model.reach_bound import reach_bound
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.dashboard import dead_man, target
from rbd_ros.nodes.dashboard.dead_man import TIMEOUT
from rbd_ros.nodes.dashboard.moving_point import LONGEST_TICK
from rbd_ros.nodes.dashboard.moving_pose import MovingPose, SPEED, TURN
from rbd_ros.nodes.dashboard.target import LEAD, TargetHandle
from scipy.spatial.transform import Rotation

MODEL = rbd_ros.load_urdf(find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf'))
ROBOT = rbd_ros.Dynamics(MODEL)
Q = np.array([0.3, 0.8, -0.4, -1.1, 0.5, 0.9, 0.2])


def turn(wxyz):
    """Return the rotation of a quaternion."""
    w, x, y, z = wxyz
    return Rotation.from_quat([x, y, z, w])


class Rig:
    """A handle without a browser, on a clock of its own."""

    def __init__(self, monkeypatch, *, simulated, allowed=True):
        self.clock, self.sent, self.buttons, self.q = 1000.0, [], {}, Q
        for module in (dead_man, target):
            monkeypatch.setattr(module, 'time', SimpleNamespace(monotonic=lambda: self.clock))
        self.telemetry = SimpleNamespace(
            state='running', mode=taking(Takes.TARGET)[0], age=lambda _: 0.0,
            position=lambda model: self.q)
        self.operator = SimpleNamespace(
            allowed=allowed, simulated=simulated, is_aim_crowded=False, aim=MagicMock(),
            target=lambda p, wxyz: self.sent.append((self.clock, np.array(p), np.array(wxyz))))
        self.settings = SimpleNamespace(values={})
        server = MagicMock(gui=handles(self.buttons))
        server.gui.add_markdown.side_effect = lambda text, **more: Handle(content=text, **more)
        server.scene.add_transform_controls.side_effect = lambda name, **more: Handle(
            position=(0.0, 0.0, 0.0), wxyz=(1.0, 0.0, 0.0, 0.0), **more)
        self.handle = TargetHandle(server, ROBOT, 'tool0', self.telemetry, self.operator,
                                   self.settings)
        self.gizmo = self.handle._gizmo
        self.follows = False  # whether the frame is where the last target is

    def on(self):
        """Switch it on."""
        self.handle._on.put(True)
        self.handle.update()
        return self

    def drag(self, position, wxyz=None):
        """Pull the handle somewhere."""
        self.gizmo.position = tuple(position)
        self.gizmo.wxyz = self.gizmo.wxyz if wxyz is None else tuple(wxyz)
        asyncio.run(self.gizmo.changed(None))

    def run(self, seconds, *, held=False):
        """Let time pass, picture by picture."""
        signs = 0
        for k in range(round(seconds / PERIOD)):
            if held and k * PERIOD >= signs / 10.0 - 1e-9:
                signs += 1
                asyncio.run(self.buttons['Hold to follow'].held(SimpleNamespace(client_id=1)))
            self.handle.send()
            if k % 5 == 0:
                self.handle.update()
            if self.follows and self.sent:
                _, p, wxyz = self.sent[-1]
                H = np.eye(4)
                H[:3, :3], H[:3, 3] = turn(wxyz).as_matrix(), p
                self.handle._pose = lambda H=H: H
            self.clock += PERIOD
        self.handle.update()

    @property
    def words(self):
        """Return what the page says."""
        return self.handle._words.content


def test_the_handle_begins_at_the_frame_that_the_controller_moves(monkeypatch):
    """Not at the one that the page was told, if they differ; with its axes and its numbers."""
    rig = Rig(monkeypatch, simulated=True)
    for told, frame in ((None, 'tool0'), ('link_5', 'link_5'), ('unknown', 'tool0')):
        rig.settings.values = {} if told is None else {'task.frame': told}
        rig.on()
        H = ROBOT.pose(Q, frame)
        np.testing.assert_allclose(rig.gizmo.position, H[:3, 3], atol=1e-12)
        np.testing.assert_allclose(turn(rig.gizmo.wxyz).as_matrix(), H[:3, :3], atol=1e-9)
        x, y, z = H[:3, 3]
        assert rig.words.startswith(f'Target of `{frame}`: x {x:.3f}, y {y:.3f}, z {z:.3f} m')
        assert '0.000 m away from it' in rig.words
    rig.drag(H[:3, 3] + (0.3, 0.0, 0.4))
    rig.handle.update()
    assert '0.500 m away from it' in rig.words


def test_a_handle_out_of_reach_sends_what_the_controller_takes(monkeypatch):
    """The simulated arm stretches out towards it; several refused targets would be a fault."""
    rig = Rig(monkeypatch, simulated=True).on()
    reach = reach_bound(MODEL, 'tool0')
    for far in (0.5, 0.999, 1.001, 3.0):
        rig.drag([0.6 * far * reach, 0.0, 0.8 * far * reach])
        rig.handle.update()
        _, sent, _ = rig.sent[-1]
        np.testing.assert_allclose(sent, min(far, 1.0) * reach * np.array([0.6, 0.0, 0.8]),
                                   rtol=1e-12, atol=0.0)
        assert (f'out of reach, {reach:.3g} m from the base at most' in rig.words) is (far > 1.0)


def test_a_handle_waits_for_a_position(monkeypatch):
    """It appears as soon as the robot is somewhere, and there."""
    rig = Rig(monkeypatch, simulated=True)
    rig.q = None
    rig.on()
    assert not rig.gizmo.visible and 'No joint states' in rig.words
    assert rig.operator.aim.call_args.args == (False,)
    rig.q = Q
    rig.handle.update()
    assert rig.gizmo.visible and rig.operator.aim.call_args.args == (True,)
    np.testing.assert_allclose(rig.gizmo.position, ROBOT.pose(Q, 'tool0')[:3, 3])
    rig.handle._on.put(False)
    rig.handle.update()
    assert not rig.gizmo.visible and rig.operator.aim.call_args.args == (False,)
    assert not rig.handle._words.visible


@pytest.mark.parametrize('simulated', [False, True])
@pytest.mark.parametrize('mode', MODES)
def test_targets_are_sent_in_the_modes_that_take_them(monkeypatch, mode, simulated):
    """In another one the page says which to choose."""
    rig = Rig(monkeypatch, simulated=simulated)
    rig.telemetry.mode = mode
    rig.on()
    fits = mode in taking(Takes.TARGET)
    rig.drag(np.add(rig.gizmo.position, (0.1, 0.0, 0.0)))
    rig.run(1.0, held=True)
    assert bool(rig.sent) == fits
    assert (f'The mode is {mode}: choose {taking(Takes.TARGET)[0]}' in rig.words) == (not fits)
    assert rig.buttons['Hold to follow'].visible != simulated
    for change in ({'state': 'holding'}, {'age': lambda _: 9.0}):
        vars(rig.telemetry).update(change)
        rig.handle.update()
        rig.sent.clear()
        rig.drag((0.2, 0.2, 0.2))
        rig.run(1.0, held=True)
        assert not rig.sent


def test_a_simulated_robot_follows_the_mouse(monkeypatch):
    """Each pull is sent as it is."""
    rig = Rig(monkeypatch, simulated=True).on()
    for x in (0.1, 0.2, 0.3):
        rig.drag((x, 0.0, 0.5))
    rig.run(1.0, held=True)
    assert [p.tolist() for _, p, _ in rig.sent] == [[x, 0.0, 0.5] for x in (0.1, 0.2, 0.3)]


def test_a_simulator_that_comes_later_switches_no_dead_man_off(monkeypatch):
    """And one that goes leaves a robot that moves while the button is held."""
    for first in (False, True):
        rig = Rig(monkeypatch, simulated=first).on()
        rig.operator.simulated = not first
        rig.handle.update()
        rig.drag(np.add(rig.gizmo.position, (0.1, 0.0, 0.0)))
        assert not rig.sent and not rig.buttons['Hold to follow'].disabled


def test_another_frame_switches_no_dead_man_off(monkeypatch):
    """The handle goes there; whether the robot is simulated was decided when it was shown."""
    rig = Rig(monkeypatch, simulated=False).on()
    rig.operator.simulated = True
    rig.settings.values = {'task.frame': 'link_5'}
    rig.handle.update()
    rig.drag(np.add(rig.gizmo.position, (0.1, 0.0, 0.0)))
    assert not rig.sent and not rig.buttons['Hold to follow'].disabled


def test_another_robot_follows_while_the_button_is_held(monkeypatch):
    """Slowly from where its frame is; it stops within the stated time."""
    rig = Rig(monkeypatch, simulated=False).on()
    H = ROBOT.pose(Q, 'tool0')
    goal = H[:3, 3] + (0.3, -0.1, 0.2)
    rig.drag(goal)
    rig.run(3.0)
    assert not rig.sent and 'Hold to follow' in rig.words
    rig.follows = True
    rig.run(1.0, held=True)
    released = rig.clock
    rig.run(3.0)
    path = np.array([H[:3, 3], *(p for _, p, _ in rig.sent)])
    assert (np.linalg.norm(np.diff(path, axis=0), axis=1) <= SPEED * PERIOD + 1e-12).all()
    assert rig.sent[-1][0] <= released + TIMEOUT
    assert 0.05 < np.linalg.norm(path[-1] - path[0]) < 0.2
    moved = np.array([0.1, 0.5, 0.0, -1.0, 0.2, 0.6, 0.0])  # meanwhile others have moved it
    rig.q = moved
    rig.sent.clear()
    del rig.handle._pose
    rig.run(1.0, held=True)
    first = rig.sent[0][1]
    assert np.linalg.norm(first - ROBOT.pose(moved, 'tool0')[:3, 3]) <= SPEED * LONGEST_TICK
    rig.run(20.0, held=True)
    np.testing.assert_allclose(rig.sent[-1][1], goal, atol=1e-12)


def test_a_page_that_only_watches_aims_at_nothing(monkeypatch):
    """Whatever a browser sends."""
    rig = Rig(monkeypatch, simulated=False, allowed=False).on()
    rig.drag((0.1, 0.2, 0.3))
    rig.run(1.0, held=True)
    assert not rig.sent and not rig.buttons['Hold to follow'].visible


@pytest.mark.parametrize('seed', range(20))
def test_a_pose_moves_and_turns_on_the_shortest_way(seed):
    """No faster than it may, about one axis, and both arrive at the same time."""
    rng = np.random.default_rng(seed)
    pose, goal = MovingPose(), rng.uniform(-0.3, 0.3, 3)
    first, last = Rotation.random(2, random_state=seed)
    x, y, z, w = first.as_quat()
    pose.begin(np.zeros(3), (w, x, y, z))
    x, y, z, w = (-1) ** seed * last.as_quat()
    axis = (first.inv() * last).as_rotvec()
    full, before, moved = np.linalg.norm(axis), first, np.zeros(3)
    for _ in range(10000):
        seconds = float(rng.choice([0.0, 0.04, 0.1, 9.0]))
        if not pose.approach(goal, (w, x, y, z), seconds):
            break
        tick = min(seconds, LONGEST_TICK)
        now = turn(pose.wxyz)
        assert np.linalg.norm(pose.position - moved) <= SPEED * tick + 1e-12
        assert (before.inv() * now).magnitude() <= TURN * tick + 1e-7
        done = (first.inv() * now).as_rotvec()
        share = np.linalg.norm(pose.position) / np.linalg.norm(goal)
        np.testing.assert_allclose(done, share * axis, atol=1e-6)
        before, moved = now, pose.position
    np.testing.assert_allclose(pose.position, goal, atol=1e-9)
    assert (before.inv() * last).magnitude() < 1e-6 and full > 0.0


def test_a_frame_that_cannot_follow_is_waited_for(monkeypatch):
    """The target stays near, and is where the frame is after release; noise moves nothing."""
    rig = Rig(monkeypatch, simulated=False).on()
    H = ROBOT.pose(Q, 'tool0')
    rig.drag(H[:3, 3] + (0.4, 0.0, 0.0))
    rig.run(8.0, held=True)
    away = max(np.linalg.norm(p - H[:3, 3]) for _, p, _ in rig.sent)
    assert 0.5 * LEAD * SPEED < away <= LEAD * SPEED + 1e-9
    rig.run(1.0)
    np.testing.assert_allclose(rig.sent[-1][1], H[:3, 3], atol=1e-12)
    np.testing.assert_allclose(turn(rig.sent[-1][2]).as_matrix(), H[:3, :3], atol=1e-9)
    count = len(rig.sent)
    rig.gizmo.position = (np.nan, 0.0, 0.0)
    rig.run(1.0, held=True)
    assert len(rig.sent) == count


def test_the_handle_goes_to_another_frame_of_the_controller(monkeypatch):
    """A target of the old frame would be none of the new one."""
    rig = Rig(monkeypatch, simulated=False).on()
    rig.drag(np.add(rig.gizmo.position, (0.3, 0.0, 0.0)))
    rig.settings.values = {'task.frame': 'link_5'}
    rig.handle.update()
    np.testing.assert_allclose(rig.gizmo.position, ROBOT.pose(Q, 'link_5')[:3, 3], atol=1e-12)
    rig.run(1.0, held=True)
    assert not rig.sent


class Led:
    """An arm in a mode, and the handle that it follows, on one clock."""

    def __init__(self, monkeypatch, mode, **values):
        self.arm = Arm(mode=mode, period=PERIOD / 20, **values)
        self.arm.release()
        self.rig = rig = Rig(monkeypatch, simulated=False)
        rig.handle._pose = lambda: self.arm.pose
        rig.operator.target = lambda p, wxyz: self.arm.aim(
            np.array(p), (wxyz[1], wxyz[2], wxyz[3], wxyz[0]))
        rig.clock, self.held, self.arm.each = self.arm.time, False, self.each
        rig.on()

    def each(self, time):
        """Let the page look 25 times per second; a held button is signalled 10 times."""
        k = round(time / self.arm.period)
        if self.held and k % 50 == 0:
            asyncio.run(self.rig.buttons['Hold to follow'].held(SimpleNamespace(client_id=1)))
        if k % 20 == 0:
            self.rig.clock = time
            self.rig.handle.send()

    def hold(self, seconds):
        """Press the button for a time."""
        self.held = True
        self.arm.run(seconds)
        self.held = False


@pytest.mark.parametrize('mode', taking(Takes.TARGET))
def test_an_arm_follows_and_stops_soon_after_release(monkeypatch, mode):
    """The frame is at rest within the time of the dead-man and a short braking."""
    led = Led(monkeypatch, mode)
    arm, before = led.arm, led.arm.pose[:3, 3].copy()
    led.rig.drag(before + (0.0, 0.0, 0.4))
    led.hold(2.0)
    released = arm.pose[:3, 3].copy()
    print(mode, released - before)
    assert np.linalg.norm(released - before) > 0.1
    path = []
    for _ in range(300):
        arm.run(0.01)
        path.append(arm.pose[:3, 3].copy())
    path = np.array(path)
    way, last = np.linalg.norm(path - released, axis=1), 0.01 * (1 + np.flatnonzero(
        np.linalg.norm(np.diff(path, axis=0), axis=1) > 1e-4).max())
    print(f'{mode}: at rest after {last:.2f} s, {way.max():.3f} m')
    assert last < TIMEOUT + 1.2 and way.max() < 0.06
    assert arm.state == 'running', arm.fault


@pytest.mark.parametrize('mode', taking(Takes.TARGET))
def test_an_arm_that_was_blocked_does_not_jump(monkeypatch, mode):
    """Nobody holds the button when it is free again: it stays within a few centimetres."""
    led = Led(monkeypatch, mode)
    arm, before = led.arm, led.arm.pose[:3, 3].copy()
    led.rig.drag(before + (0.0, 0.0, 0.4))
    arm.run(0.5)
    arm.external, arm.still, arm.qd = None, True, np.zeros(7)
    led.hold(4.0)
    arm.run(1.0)
    arm.external, arm.still, away = np.zeros(7), False, []
    for _ in range(100):
        arm.run(0.02)
        away.append(np.linalg.norm(arm.pose[:3, 3] - before))
    print(f'{mode}: {max(away):.4f} m')
    assert max(away) < 0.03, arm.fault


def test_an_arm_in_soft_springs_does_not_sink_at_each_press(monkeypatch):
    """A target goes on from the last one, at which the frame hangs."""
    led = Led(monkeypatch, taking(Takes.TARGET)[1], gravity=[0.0, 0.0, -9.0])
    arm = led.arm
    arm.run(3.0)
    heights = []
    led.rig.drag(arm.pose[:3, 3] + (0.4, 0.0, 0.0))
    for _ in range(5):
        led.hold(0.5)
        arm.run(2.0)
        heights.append(arm.pose[2, 3])
    print(heights, arm.state)
    assert np.abs(np.diff(heights)).max() < 0.005
