# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Contacts of an arm that MuJoCo simulates: how soon they are found, and how hard they become.

``python -m benchmark.contact_reaction`` prints the tables of ``docs/contact_reaction.md``. The
obstacle is a spring without damping that meets the tip head-on; the arm has friction and noise
of which the controller knows most, and what a minute of free motion shows. A trajectory of the
joints leads the tip straight on.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from benchmark.mujoco_robots import described, DrivenRobot, Measured, ROBOTS
import numpy as np
import numpy.typing as npt
from rbd_ros import Dynamics
from rbd_ros.control.observers.calibration import calibrated_contact
from rbd_ros.control.references.trajectory import read_points

__all__ = ['Arm', 'calibrate', 'FRICTION', 'touch', 'Touched']

Array = npt.NDArray[np.float64]

#: N.m dry and N.m.s/rad viscous friction of the joints
FRICTION = (np.array([2.0, 2.0, 1.5, 1.5, 0.5, 0.4, 0.3]),
            np.array([2.0, 2.0, 1.5, 1.5, 0.5, 0.4, 0.3]))

#: rad and rad/s, standard deviations of measured positions and velocities
NOISE = 2e-6, 2e-3

#: m before the obstacle, and the direction in which the tip meets it
RUN_UP, WAY = 0.12, np.array([0.3, 0.0, -0.9539392])

#: m that the tip is sent, with m/s^2 at the ends; places at which joints are computed
DISTANCE, ACCELERATION = 0.2, 2.0
PLACES = np.linspace(0.0, DISTANCE, 41)

#: share of the friction that the law compensates, so that the tip has the speed of the trajectory
KNOWN = 0.8

STIFFNESSES = (1e3, 1e4, 1e5)
SPEEDS = (0.1, 0.25, 0.5)
REACTIONS = ('report', 'stop', 'float', 'comply', 'retract')


#: s of free motion between two lines
_PART = 300.0


class Touched(NamedTuple):
    """
    What became of a contact.

    :param delay: from the first touch to the first torque of the reaction, s.
    :param force: largest one, N.
    :param mean: of the force between 1 and 2 s after the touch, N.
    :param speed: of the tip when it touched, m/s.
    :param state: of the supervisor in the end.
    """

    delay: float
    force: float
    mean: float
    speed: float
    state: str


class Arm(DrivenRobot):
    """
    The built-in arm with friction, noise and an obstacle.

    :param rate: of its states, Hz.
    :param values: parameters of the controller.
    :param plant: options of the robot.
    :param seed: of the noise.
    """

    def __init__(self, rate: float, values: Mapping[str, object],
                 plant: Mapping[str, object] | None = None, seed: int = 1) -> None:
        dry, viscous = FRICTION
        super().__init__('built-in', rate, values, {
            'friction': dry.tolist(), 'damping': viscous.tolist(), **(plant or {})})
        self._rng = np.random.default_rng(seed)
        self.wall: tuple[Array, Array, float] | None = None  # point, normal, stiffness
        self.frozen: int | None = None  # joint whose sensor repeats its last position
        self._last: Array | None = None
        self.force, self.forces = 0.0, []
        self.states: list[str] = []
        self.share = 0.0  # of a threshold, the largest that was felt
        self.samples: list[tuple[Array, Array]] = []
        self.sampling = False

    def measure(self) -> Measured:
        """Return noisy positions and velocities."""
        n = len(self.robot.joints)
        q = self.plant.position + NOISE[0] * self._rng.standard_normal(n)
        qd = self.plant.velocity + NOISE[1] * self._rng.standard_normal(n)
        if self.frozen is not None and self._last is not None:
            q[self.frozen], qd[self.frozen] = self._last[self.frozen], 0.0
        self._last = q
        return q, qd, ()

    def step(self) -> None:
        """Let the obstacle push."""
        self.force = 0.0
        if self.wall is not None:
            point, normal, stiffness = self.wall
            self.force = stiffness * max(0.0, float(normal @ (point - self.plant.position_of_tip)))
            self.push = np.concatenate([self.force * normal, np.cross(
                self.plant.lever_of_tip, self.force * normal)])
        super().step()
        self.forces.append(self.force)

    def note(self) -> None:
        """Write down what has become of it."""
        self.states.append(self.state)
        x = self.controller.x
        self.share = max(self.share, x.contact.excess)
        if self.sampling:
            self.samples.append((x.joints.qd.copy(), x.contact.momentum.torque.copy()))

    def go(self, speed: float) -> None:
        """Begin a trajectory of the joints on which the tip goes straight on."""
        t, s = _even_motion(DISTANCE, speed)
        points = np.array(_straight_on())
        knots = read_points(self.robot.joints, self.robot.joints, t.tolist(), [
            [float(np.interp(x, PLACES, each)) for each in points.T] for x in s], [], [])
        self.controller.take_points(self.time, self.time, knots, self.time)

    def wander(self, seconds: float, seed: int, reach: float = 0.6) -> None:
        """Move through random points at various speeds."""
        rng, home = np.random.default_rng(seed), np.array(self.plant.options.start)
        end = self.time + seconds
        while self.time < end and self.state == 'running':
            way = rng.uniform(0.8, 2.5)
            self.follow(home + rng.uniform(-reach, reach, len(home)), way)
            self.run(min(way + 0.1, end - self.time + self.period))


def calibrate(rate: float = 500.0, seconds: float = 60.0, seed: int = 3,
              **more: object) -> dict[str, list[float]]:
    """Return the thresholds that a minute of free motion gives."""
    arm = Arm(rate, {'mode': 'computed_torque', 'contact.reaction': 'report',
                     'contact.torque': [1e4], **more})
    arm.activate()
    arm.run(1.5)
    arm.sampling = True
    arm.wander(seconds, seed)
    assert arm.state == 'running', arm.fault
    qd, torque = (np.array(each) for each in zip(*arm.samples))
    settings = arm.controller.settings
    share = -np.expm1(-settings.number('contact.bandwidth') * arm.period)
    return calibrated_contact(qd, torque, settings.joints('friction.speed'),
                              settles=np.full(len(qd), share))


def touch(reaction: str, stiffness: float, speed: float, thresholds: Mapping[str, object],
          rate: float = 500.0, after: float = 2.0,
          meanwhile: Callable[[Arm], object] = lambda _: None, **more: object) -> Touched:
    """
    Run the tip into an obstacle that stands in its way after 12 cm, at that speed.

    :param reaction: of the controller.
    :param stiffness: of the obstacle, N/m.
    :param speed: of the tip, m/s.
    :param thresholds: of the contact.
    :param rate: of the states, Hz.
    :param after: s from the touch to the end.
    :param meanwhile: what happens 50 ms after the touch.
    :param more: parameters of the controller.
    """
    arm = _ready(rate, {'contact.reaction': reaction, **thresholds, **more})
    arm.wall = arm.plant.position_of_tip + RUN_UP * WAY, -WAY, stiffness
    arm.go(speed)
    arm.states.clear()
    arm.forces.clear()
    steps = round(arm.period / arm.plant.options.step)
    while not any(arm.forces[-steps:]) and len(arm.states) < 3.0 / arm.period:
        met = arm.plant.position_of_tip
        arm.run(arm.period)
    reached = float(np.linalg.norm(arm.plant.position_of_tip - met)) / arm.period
    begun = len(arm.states)
    arm.run(0.05)
    meanwhile(arm)
    arm.run(after - 0.05)
    forces = np.array(arm.forces)
    first = int(np.flatnonzero(forces > 0.0)[0])
    found = [k for k in range(begun - 1, len(arm.states)) if arm.states[k] != 'running']
    count = arm.controller.x.contact.found if reaction == 'report' else 0.0
    delay = (found[0] * steps - first) * arm.plant.options.step if found else (
        count - (arm.time - (len(forces) - first) * arm.plant.options.step))
    settled = first + round(1.0 / arm.plant.options.step)
    return Touched(delay, float(forces.max()), float(forces[settled:].mean()), reached, arm.state)


def _ready(rate: float, values: Mapping[str, object]) -> Arm:
    """Return an arm that runs, and follows trajectories."""
    arm = Arm(rate, {
        'mode': 'computed_torque', 'stiffness': [400.0], 'damping': [40.0],
        'tracking_limits': [3.0], 'reference.acceleration': [100.0],
        'friction.coulomb': (KNOWN * FRICTION[0]).tolist(),
        'friction.viscous': (KNOWN * FRICTION[1]).tolist(), **values})
    arm.activate()
    arm.run(1.5)
    assert arm.state == 'running', arm.fault
    return arm


@cache
def _straight_on() -> tuple[tuple[float, ...], ...]:
    """Return positions of the joints at which the tip is at PLACES, with its axes as at first."""
    arm = Dynamics(described('built-in')[1].model)
    q = np.array(ROBOTS['built-in'].pose)
    pose, found = arm.pose(q, 'tool0'), []
    start = pose[:3, 3].copy()
    for place in PLACES:
        pose[:3, 3] = start + place * WAY
        q = arm.inverse_kinematics({'tool0': pose}, q).q
        found.append(tuple(q.tolist()))
    return tuple(found)


def _even_motion(distance: float, speed: float) -> tuple[Array, Array]:
    """Return times and places of a motion with an even speed, but for its ends."""
    rise = speed / ACCELERATION
    total = distance / speed + rise
    t = np.linspace(0.0, total, 41)[1:]
    s = np.where(t < rise, 0.5 * ACCELERATION * t ** 2, np.where(
        t > total - rise, distance - 0.5 * ACCELERATION * (total - t) ** 2,
        speed * (t - 0.5 * rise)))
    return t, s


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--free', type=float, default=0.0, metavar='S',
                        help='s of free motion in which false alarms are counted')
    parser.add_argument('--rate', type=float, default=500.0, help='Hz')
    parser.add_argument('--reactions', nargs='+', default=REACTIONS, choices=REACTIONS)
    parser.add_argument('--stiffnesses', nargs='+', type=float, default=STIFFNESSES, help='N/m')
    parser.add_argument('--speeds', nargs='+', type=float, default=SPEEDS, help='m/s')
    options = parser.parse_args()
    found = calibrate(options.rate)
    for name, values in found.items():
        print(f'{name}: {np.round(values, 3).tolist()}')
    if options.free > 0.0:
        arm = Arm(options.rate, {'mode': 'computed_torque', 'contact.reaction': 'report', **found})
        arm.activate()
        arm.run(1.5)
        begin, part = arm.time, 0
        while arm.time < begin + options.free and arm.state == 'running':
            arm.wander(min(_PART, begin + options.free - arm.time), 1000 + part)
            part += 1
            print(f'{arm.controller.x.contact.count:.0f} false alarms in {arm.time - begin:.0f} '
                  f's, up to {arm.share:.2f} of a threshold, {arm.state}', flush=True)
        return
    print('| reaction | N/m | m/s | reaction after, ms | largest force, N | later, N | state |')
    print('|---|---|---|---|---|---|---|')
    for reaction in options.reactions:
        for stiffness in options.stiffnesses:
            for speed in options.speeds:
                one = touch(reaction, stiffness, speed, found, options.rate)
                print(f'| {reaction} | {stiffness:.0e} | {one.speed:.2f} | {1e3 * one.delay:.0f} '
                      f'| {one.force:.0f} | {one.mean:.1f} | {one.state} |', flush=True)


if __name__ == '__main__':
    main()
