# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""An inertia that a sensor shapes: MuJoCo's robot answers a push as if it had it."""

from __future__ import annotations

from mujoco_rig import Driven
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from test_mujoco_impedance import in_frame, TIP_MODE, way_from

pytestmark = pytest.mark.slow

#: about and along the axes of the frame, N.m/rad and N/m
STIFFNESS = np.array([40.0, 60.0, 30.0, 600.0, 400.0, 900.0])

#: kg.m^2 and kg; the robot has 0.1 to 1 times of it in the poses below
INERTIA = np.array([0.7, 0.65, 0.5, 26.0, 17.0, 15.0])

#: hard, with little damping: what is fed back with the wrong sign, or late, hammers on it
PLATE = {'plate_stiffness': 1e5, 'plate_damping': 20.0}

#: rad from the first pose
POSES = ((0.0,) * 7, (0.2, 0.1, -0.1, 0.1, -0.2, 0.1, 0.3), (-0.3, -0.1, 0.1, 0.2, 0.1, -0.1, 0.2))


class Shaped(Driven):
    """A Panda with a sensor, behind which it can be pushed."""

    def __init__(self, ratio: float, lag: float = 0.0, plate: float | None = None,
                 **more: object) -> None:
        super().__init__('panda', rate=1000.0, sensors=True, mode=TIP_MODE, **{
            'effort_is_torque': False, 'force_torque.frame': 'panda_hand',
            'force_torque.convention': 'support', 'force_torque.filter': lag,
            'rotor_inertia': [0.1], 'torque_rate_limits': [5e3], 'posture.stiffness': [0.0],
            f'{TIP_MODE}.angular_stiffness': STIFFNESS[:3].tolist(),
            f'{TIP_MODE}.linear_stiffness': STIFFNESS[3:].tolist(),
            f'{TIP_MODE}.damping_ratio': ratio,
            f'{TIP_MODE}.angular_inertia': INERTIA[:3].tolist(),
            f'{TIP_MODE}.linear_inertia': INERTIA[3:].tolist()},
            plant={'sensor': True, **({} if plate is None else PLATE | {'plate_below': plate})},
            **more)
        self._readings = np.random.default_rng(1)
        self.wanted: np.ndarray | None = None  # N, in the base
        self.each = self.read
        assert not self.controller.settings.refusals()
        self.start(1.6)
        assert self.state == 'running', self.fault

    def read(self, now: float) -> None:
        """Let a reading come; one that repeats to the last digit is broken."""
        self.controller.take_reading(
            now, now, self.plant.sensed() + 1e-6 * self._readings.standard_normal(6))
        if self.wanted is not None:
            self.controller.take_wrench(now, now, [0.0, 0.0, 0.0, *self.wanted])

    def placed(self, way: tuple[float, ...]) -> None:
        """Bring it to a pose, and begin the law there."""
        self.change(mode='computed_torque')
        self.run(0.01)
        self.follow(self.plant.position + np.array(way), 0.8)
        self.run(1.1)
        self.switch(TIP_MODE)

    def push_behind(self, start: object, six: np.ndarray) -> None:
        """Push what the sensor carries by a moment and a force, in the axes of a pose."""
        model, data = self.plant.model, self.plant.data
        behind, tip = model.body('behind_sensor').id, model.body(self.plant.options.tip).id
        moment, force = start.rotation @ six[:3], start.rotation @ six[3:]
        lever = data.xpos[tip] - data.xipos[behind]
        data.xfrc_applied[behind] = np.concatenate([force, moment + np.cross(lever, force)])

    def shares(self) -> np.ndarray:
        """Return the inertia of MuJoCo's robot as shares of the wanted one."""
        return np.linalg.eigvalsh(np.linalg.inv(in_frame(self)[1]) / np.sqrt(
            np.outer(INERTIA, INERTIA)))

    def pulled(self, goal: np.ndarray) -> float:
        """Return the force of the springs to a goal, N downwards."""
        axes = self.plant.tip().rotation
        stiffness = axes @ np.diag(STIFFNESS[3:]) @ axes.T
        return float((stiffness @ (self.plant.tip().position - goal))[2])


def felt(loop: Shaped, start: object, six: np.ndarray, damping: np.ndarray) -> np.ndarray:
    """Push, and return inertia times acceleration, from 4 to 20 ms after the push began."""
    loop.push_behind(start, six)
    rows = []
    for _ in range(21):
        loop.run(loop.period)
        rows.append((in_frame(loop)[0] @ loop.plant.velocity, way_from(loop, start)))
    v, way = np.array(rows).transpose(1, 0, 2)
    acceleration = np.diff(v, axis=0) / loop.period
    left = six - damping * 0.5 * (v[1:] + v[:-1]) - STIFFNESS * 0.5 * (way[1:] + way[:-1])
    return np.abs(acceleration - left / INERTIA)[3:].max(axis=0) / np.abs(six / INERTIA).max()


@pytest.mark.parametrize('way', POSES)
def test_a_push_accelerates_the_inertia_that_is_wanted(way: tuple[float, ...]) -> None:
    """M x'' + D x' + K x = F to 3 % in each direction, and no other direction moves."""
    ratio = 0.7
    loop, worst = Shaped(ratio), np.zeros(6)
    loop.placed(way)
    shares = loop.shares()
    assert 0.1 < shares[0] and shares[-1] < 1.0
    damping = 2.0 * ratio * np.sqrt(STIFFNESS * INERTIA)
    for axis in range(6):
        loop.plant.data.xfrc_applied[:] = 0.0
        loop.run(1.2)
        six = 4.0 * np.eye(6)[axis] * [0.1, 0.1, 0.1, 1.0, 1.0, 1.0]
        start, natural = loop.plant.tip(), in_frame(loop)[1] @ six
        other = abs(natural[axis] / (six / INERTIA)[axis] - 1.0)
        worst[axis] = felt(loop, start, six, damping).max()
        assert other > 0.15  # without shaping it would be another one
    print(f'{100.0 * worst.max():.2f} %, the robot has {shares[0]:.2f} to {shares[-1]:.2f} of it')
    assert worst.max() < 0.03


def test_frequency_and_damping_are_those_of_the_wanted_inertia() -> None:
    """Let go, each direction swings with sqrt(K / M) and the ratio that was given."""
    ratio = 0.2
    loop, found = Shaped(ratio), []
    for axis in range(6):
        loop.plant.data.xfrc_applied[:] = 0.0
        loop.run(2.5)
        start = loop.plant.tip()
        loop.push_behind(start, 0.005 * STIFFNESS * np.eye(6)[axis])
        loop.run(2.5)
        loop.plant.data.xfrc_applied[:] = 0.0
        trace = []
        w = np.sqrt(STIFFNESS[axis] / INERTIA[axis])
        for _ in range(round(5.0 / w / loop.period)):
            loop.run(loop.period)
            trace.append(way_from(loop, start)[axis])
        least = int(np.argmin(trace))
        swing = np.pi / ((least + 1) * loop.period) / np.sqrt(1.0 - ratio ** 2) / w
        decay = np.log(0.005 / -trace[least])
        found.append((swing, decay / np.hypot(np.pi, decay)))
    swings, ratios = np.array(found).T
    print(f'frequency {swings.min():.3f} to {swings.max():.3f} of the wanted one, ratio '
          f'{ratios.min():.3f} to {ratios.max():.3f}')
    assert np.abs(swings - 1.0).max() < 0.05
    assert np.abs(ratios - ratio).max() < 0.03


@pytest.mark.parametrize('lag', [0.0, 0.01])
def test_a_hard_wall_is_touched_and_not_left(lag: float) -> None:
    """At 0.2 m/s, also with the filter that readings have by default: at last K x presses."""
    loop = Shaped(0.7, lag, 0.03, **{
        'task.linear_velocity': 0.2, 'task.linear_lead': 0.2, 'task.linear_error': 0.5,
        'force_torque.force_jump': 1e4, 'force_torque.moment_jump': 1e3})  # the impact is no fault
    tip = loop.plant.tip()
    goal = tip.position - [0.0, 0.0, 0.05]
    loop.forget()
    loop.aim(goal, Rotation.from_matrix(tip.rotation).as_quat())
    loop.run(3.0)
    force, expected = -np.array(loop.forces)[:, 2], loop.pulled(goal)
    touches = np.flatnonzero(np.diff((force > 0.0).astype(int)) == 1)
    print(f'{len(touches)} touches within {touches[-1] - touches[0]} ms, peak '
          f'{force.max():.0f} N, then {force[-1]:.2f} N of {expected:.2f} N')
    assert loop.state == 'running', loop.fault
    assert touches[-1] - touches[0] < 500  # a hard plate with little damping throws back
    assert force[-200:].std() < 0.02 * force[-1]
    assert force[-200:].mean() == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize('lag', [0.0, 0.01])
def test_a_force_that_is_asked_for_is_felt(lag: float) -> None:
    """As much as without shaping, whatever the inertia is: shaping must not scale it."""
    loop = Shaped(0.7, lag, 0.001, **{
        'force_torque.force_jump': 1e4, 'force_torque.moment_jump': 1e3})
    goal = loop.plant.tip().position
    loop.wanted = np.array([0.0, 0.0, -20.0])
    loop.forget()
    loop.run(3.0)
    force, expected = -np.array(loop.forces)[-200:, 2], 20.0 + loop.pulled(goal)
    print(f'{force.mean():.2f} N of {expected:.2f} N')
    assert loop.state == 'running', loop.fault
    assert force.mean() == pytest.approx(expected, rel=0.03)
