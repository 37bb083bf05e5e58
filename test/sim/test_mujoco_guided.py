# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The tip of MuJoCo's arm led along a path by poses, as the path server does in modes of the tip.

Only the description is shared: the motion is that of MuJoCo.
"""

from __future__ import annotations

from types import SimpleNamespace

from builtin_interfaces.msg import Time
from controller_rig import Arm
from mujoco_rig import configured, Driven
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.results import GoalError
from rbd_ros.control.modes import Takes, taking
from rbd_ros.control.paths.curve import Curve, exponential, WayPoints
from rbd_ros.control.robot_now import ControlledRobot
from rbd_ros.nodes.controller.path_planner import PathPlanner
from rbd_ros.nodes.path_server.guide import check_tip_speed, Guide

pytestmark = pytest.mark.slow

FIRM, SOFT = (next(mode for mode in taking(Takes.TARGET) if (mode in taking(Takes.STIFFNESS)) is
                   soft) for soft in (False, True))


#: an arm over a table, its tool downwards
ARM_DOWN = (0.0, 0.5, 0.0, -1.9, 0.0, 1.4 - np.pi, 0.0)


class Led:
    """An arm of MuJoCo in a mode of the tip, and a guide that sends it poses."""

    def __init__(self, name: str, mode: str, **values: object) -> None:
        own = configured('controller.yaml') if name == 'built-in' else {'rotor_inertia': [0.1]}
        self.loop = loop = Driven(name, **own | values)
        loop.start(1.6)
        assert loop.state == 'running', loop.fault
        loop.switch(mode)
        loop.run(0.5)
        self.ended: list = []
        self.publishers = 0
        node = SimpleNamespace(
            create_timer=lambda *_, **__: SimpleNamespace(
                reset=lambda: None, cancel=lambda: None),
            count_publishers=lambda _: self.publishers, create_publisher=self._publisher,
            destroy_publisher=self._gone, get_clock=lambda: SimpleNamespace(
                now=lambda: SimpleNamespace(nanoseconds=int(1e9 * loop.time), to_msg=Time)))
        planner = PathPlanner(node, ControlledRobot(loop.controller),
                              loop.controller.kernels['report'])
        robot = _Seen(loop)
        self.guide = Guide(node, robot, planner, '/controller')
        self.begin, self.R = loop.plant.tip().position.copy(), loop.plant.tip().rotation.copy()
        self.each = 0
        loop.each = self._look

    def _publisher(self, *_: object) -> SimpleNamespace:
        self.publishers = 1
        return SimpleNamespace(publish=self._aim, get_subscription_count=lambda: 1)

    def _gone(self, _: object) -> None:
        self.publishers = 0

    def _aim(self, message) -> None:
        p, q = message.pose.position, message.pose.orientation
        self.loop.aim(np.array([p.x, p.y, p.z]), np.array([q.x, q.y, q.z, q.w]))

    def _look(self, _: float) -> None:
        self.each += 1
        if self.each % 5 == 0:  # 10 ms, between states of 2 ms
            self.guide.step()

    def lead(self, times: list[float], ways: np.ndarray) -> Curve:
        """Begin a path from where the tip is."""
        p = self.begin + np.vstack([np.zeros(3), ways])
        curve = Curve(WayPoints(np.array([0.0, *times]), p, np.array([self.R] * len(p))))
        self.loop.forget()
        self.guide.begin(curve, None, lambda feedback: None, self.ended.append)
        return curve

    def off(self, curve: Curve) -> np.ndarray:
        """Return how far the tip was from the nearest point of a path, by every fifth state."""
        path = np.array([curve.at(t).p for t in np.linspace(0.0, curve.end, 1000)])
        return np.array([np.linalg.norm(path - tip, axis=1).min() for tip in self.loop.tip[::5]])


class _Seen:
    """What the guide sees of it."""

    def __init__(self, loop: Driven) -> None:
        self._loop, self.ready = loop, True

    @property
    def settings(self):
        """Return its parameters."""
        return self._loop.controller.settings

    @property
    def mode(self) -> str:
        """Return that of the controller."""
        return self._loop.controller.mode

    @property
    def state(self) -> str:
        """Return that of the supervisor."""
        return self._loop.state

    @property
    def measured(self) -> tuple[np.ndarray, np.ndarray]:
        """Return position and velocity."""
        return self._loop.plant.position, self._loop.plant.velocity


ROUND = np.array([[0.0, 0.08, -0.05], [0.03, 0.0, -0.05], [0.0, 0.0, 0.0]])


@pytest.mark.parametrize('name', ['built-in', 'panda'])
def test_on_the_path(name: str) -> None:
    """The tip goes round within a millimetre, and the answer says where it has ended."""
    arm = Led(name, FIRM)
    curve = arm.lead([1.6, 3.2, 4.8], ROUND)
    arm.loop.run(5.4)
    off, (ended,) = arm.off(curve), arm.ended
    print(f'{name}: {1e3 * off.max():.2f} mm off, at the end {ended.text}')
    assert arm.loop.state == 'running', arm.loop.fault
    assert ended.status.value == 'succeeded' and ended.text.startswith('the frame is ')
    assert off.max() < 1e-3
    moved = np.array(arm.loop.tip) - arm.begin
    assert np.abs(moved).max() > 0.075
    assert not arm.publishers  # others may send poses again


def test_too_fast_for_the_tip() -> None:
    """The first point beyond nine tenths of a limit of the reference is named."""
    settings = Arm(mode=FIRM).settings()
    straight = WayPoints(np.array([0.0, 1.0]), np.array([np.zeros(3), [0.3, 0.0, 0.0]]),
                         np.array([np.eye(3)] * 2))  # at most 15/8 of 0.3 m/s, after half a second
    with pytest.raises(GoalError, match=r'linear velocity 0.45\d* m/s, beyond 0.45 \(0.9 of task'):
        list(check_tip_speed(settings, Curve(straight)))
    straight.times[1] = 1.5
    list(check_tip_speed(settings, Curve(straight)))
    straight.times[1] = 0.9
    straight.p[1, 0] = 0.2
    turned = WayPoints(straight.times, straight.p, np.array([np.eye(3), exponential(
        np.array([0.0, 0.0, 0.8]))]))
    with pytest.raises(GoalError, match='angular'):
        list(check_tip_speed(settings, Curve(turned)))


@pytest.mark.parametrize('seed', range(4))
def test_the_fastest_point_of_the_tip(seed: int) -> None:
    """Random paths, pieces of 2 ms to 2 s: the first point too fast is that of 2,000 samples."""
    settings, rng, ends = Arm(mode=FIRM).settings(), np.random.default_rng(seed), set()
    most = [0.9 * settings.number(f'task.{each}') for each in (
        'angular_velocity', 'linear_velocity', 'angular_acceleration', 'linear_acceleration')]
    for _ in range(6):
        h = 10.0**rng.uniform(-2.7, 0.3, int(rng.integers(1, 4)))
        size = 10.0**rng.uniform(-1.5, 0.3) * np.concatenate([[0.0], np.cumsum(h**2)])
        p = size[:, None] * rng.uniform(-1.0, 1.0, (len(size), 3))
        R = [exponential(min(1.4, 2.0 * each) * rng.uniform(-1.0, 1.0, 3)) for each in size]
        curve = Curve(WayPoints(np.concatenate([[0.0], np.cumsum(h)]), p, np.array(R)))
        times = np.concatenate([np.linspace(a, b, 2000 // len(h))
                                for a, b in zip(curve.times, curve.times[1:])])
        points = [curve.at(t) for t in times]
        share = np.max([np.linalg.norm(rows, axis=1) / limit for rows, limit in zip((
            part[:, half] for part in (np.array([each.velocity for each in points]),
                                       np.array([each.acceleration for each in points]))
            for half in (slice(0, 3), slice(3, 6))), most)], axis=0)
        first = int(np.argmax(share > 1.0))
        try:
            list(check_tip_speed(settings, curve))
        except GoalError as error:
            ends.add('refused')
            time = float(str(error).split('followed ')[1].split(' s')[0])
            assert share.max() > 1.0 - 1e-4, error
            assert times[max(first - 1, 0)] - 1e-4 * time <= time <= times[first] + 1e-4 * time
        else:
            ends.add('accepted')
            assert share.max() < 1.0 + 1e-6
    assert ends == {'accepted', 'refused'}


def test_wiping() -> None:
    """Springs press on a plate on the way, no harder than they may, and lift off to the path."""
    stiffness, depth = 500.0, 0.02
    arm = Led('built-in', SOFT, sensors=True, plant={
        'friction': (), 'damping': (), 'step': 1e-3, 'armature': (), 'start': ARM_DOWN,
        'plate_below': 0.02}, **{f'{SOFT}.linear_stiffness': [stiffness]})
    down, aside, up = np.array([0.0, 0.0, -0.02 - depth]), np.array([0.0, 0.06, 0.0]), np.zeros(3)
    curve = arm.lead([1.2, 2.2, 3.4], np.array([down, down + aside, up]))
    arm.loop.run(4.4)
    force = np.linalg.norm(arm.loop.forces, axis=1)[round(1.2 / arm.loop.period):][
        :round(1.0 / arm.loop.period)].mean()  # while it wipes; its first touch is a knock
    off = arm.off(curve)
    print(f'{force:.1f} N, {1e3 * off.max():.1f} mm off, then {1e3 * off[-1]:.2f} mm')
    assert arm.loop.state == 'running', arm.loop.fault
    assert arm.ended[0].status.value == 'succeeded'
    assert 0.5 * stiffness * depth < force < 1.5 * stiffness * depth
    assert 0.01 < off.max() < 0.03  # it is kept away, and gives way
    assert off[-1] < 3e-3


@pytest.mark.parametrize('seed', range(4))
def test_interrupted_at_any_instant(seed: int) -> None:
    """Paused, cancelled, another mode, a stop: neither reference nor robot jumps."""
    rng = np.random.default_rng(seed)
    arm = Led('built-in', (FIRM, SOFT)[seed % 2])
    loop, task = arm.loop, arm.loop.controller.x.references.task
    limits = np.array([loop.controller.settings.number(f'task.{half}_acceleration')
                       for half in ('angular', 'linear')]).repeat(3)
    curve, log = arm.lead([0.7, 1.4, 2.1], ROUND), []
    look = loop.each

    def note(time: float) -> None:
        look(time)
        log.append(task.pose.velocity.copy())
    loop.each = note
    loop.run(float(rng.uniform(0.2, 1.6)))
    assert arm.guide.pause(True) == ''
    loop.run(0.7)
    rested = loop.plant.tip().position.copy()
    loop.run(0.2)
    np.testing.assert_allclose(loop.plant.tip().position, rested, atol=(1e-3, 5e-3)[seed % 2])
    assert not arm.ended and arm.guide.pause(False) == ''
    loop.run(0.3)
    steps = np.abs(np.diff(np.array(log), axis=0)).max(axis=0)
    assert (steps <= 1.01 * limits * loop.period).all()
    assert arm.off(curve).max() < (2e-3, 0.02)[seed % 2]
    interrupt, word = [(arm.guide.cancel, 'canceled'), (arm.guide.cancel, 'canceled'),
                       (lambda: loop.change(mode=taking(Takes.TRAJECTORY)[0]), 'aborted'),
                       (lambda: loop.stop(Cause.OPERATOR_STOP), 'aborted')][seed]
    interrupt()
    loop.run(1.0)
    assert arm.ended[0].status.value == word and not arm.publishers
    print(f'{loop.peak:.2f} rad/s, {np.abs(loop.plant.velocity).max():.3f} rad/s')
    assert loop.peak < 1.5 and np.abs(loop.plant.velocity).max() < 0.1
