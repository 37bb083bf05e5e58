# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Sensors that freeze or drift, on robots of MuJoCo: ``./run python -m benchmark.frozen_sensors``.

Every joint of four robots freezes in every mode, with sensors of three kinds; the table says after
which time and angle the controller stops the robot, and how fast any joint became. Then sensors
without noise fail at random: in random motions, at random moments, with random friction. At last
the same robots stand at a wall and press on it, are pushed, stick and work behind closed brakes
with good sensors, where nothing must be called frozen.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
import math
from pathlib import Path
import time
from typing import NamedTuple

from benchmark.mujoco_robots import described, DrivenRobot, Measured, ROBOTS
import mujoco
import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.causes import Cause
import yaml

Array = npt.NDArray[np.float64]

#: Standard deviations in rad and rad/s, and the step in rad, of each kind of sensor: encoders have
#: 20, 16 and 14 bits, and 18 and 14 bits without velocities.
SENSORS = {'noisy': (1e-5, 3e-4, 0.0), 'exact': (0.0, 0.0, 0.0),
           'fine': (0.0, 0.0, math.tau / 2 ** 20), 'coarse': (0.0, 0.0, math.tau / 2 ** 16),
           'rough': (0.0, 0.0, math.tau / 2 ** 14), 'positions': (0.0, 0.0, math.tau / 2 ** 18),
           'encoder': (0.0, 0.0, math.tau / 2 ** 14)}
WITHOUT_VELOCITIES = ('positions', 'encoder')
MODES = ('computed_torque', 'operational_space', 'hold', 'gravity_compensation', 'damping')
SITUATIONS = ('free motion', 'wall', 'person', 'stiction', 'stiction and wall',
              'stiction and person', 'closed brakes', 'pressing', 'stiction and pressing')
RATE = 500.0

#: Robots whose sensors fail at random, and ways in which they do.
DRAWN = ('built-in', 'panda', 'ur5')
WAYS = ('freezes', 'sticks', 'drifts')
DRAWN_MODES = ('computed_torque', 'operational_space', 'cartesian_impedance')

#: parameters of the node that a controller without ROS does not have, or has otherwise
_OF_THE_NODE = ('mode', 'driver_adds', 'nominal_rate', 'effort_is_torque', 'dynamics_divider')

#: s between a start and the next, with another mode and other friction
EPISODE = 10.0


class Found(NamedTuple):
    """What came of a sensor that failed."""

    after: float  # s until the robot was stopped; infinite: never
    angle: float  # rad by which the joint had moved by then
    peak: float  # largest velocity of any joint over its limit, until the brakes close
    cause: str


class Trial(DrivenRobot):
    """
    A robot whose sensors can fail; its brakes close at the end.

    :param name: of ``ROBOTS``.
    :param mode: of the controller.
    :param sensor: of ``SENSORS``.
    :param seed: of noise, targets and pushes.
    :param plant: options of the robot.
    :param values: parameters of the controller.
    """

    def __init__(self, name: str, mode: str, sensor: str = 'exact', *, seed: int = 0,
                 plant: dict[str, object] | None = None, **values: object) -> None:
        super().__init__(name, RATE, {'mode': mode, **values},
                         {'step': 0.5 / RATE, **(plant or {})})
        self.fastest = self.controller.settings.velocity_limits
        self.start_pose, model = self.plant.position, self.robot.model
        self.bounds = [np.array(self.robot.pick(x)) for x in (model.lower, model.upper)]
        self.frozen: int | None = None
        self.drifts: tuple[int, float] | None = None  # joint, rad/s
        self.sticks = 0.0  # s for which a frozen sensor stands, until it shows the truth once
        self._drifted = 0.0
        self.peak = 0.0  # of any velocity over its limit
        self._sensor, self._silent = SENSORS[sensor], sensor in WITHOUT_VELOCITIES
        self._mode, self._rng = mode, np.random.default_rng(seed)
        self._shown = self.plant.position

    def measure(self) -> Measured:
        """Return what the sensors say."""
        noise, jitter, step = self._sensor
        q, qd = self.plant.position, self.plant.velocity
        n = len(q)
        q += noise * self._rng.standard_normal(n)
        qd += jitter * self._rng.standard_normal(n)
        if step:
            q = step * np.round(q / step)
            qd = step * np.round(qd / step)
        if self.drifts is not None:
            joint, speed = self.drifts
            self._drifted += speed / RATE
            q[joint] += self._drifted
            qd[joint] += speed
        if self.frozen is not None and not self._shows():
            q[self.frozen], qd[self.frozen] = self._shown[self.frozen], 0.0
        self._shown = q
        return q, () if self._silent else qd, ()

    def _shows(self) -> bool:
        """Return whether a sensor that sticks shows the truth in this period."""
        return self.sticks > 0.0 and round(self.time * RATE) % round(self.sticks * RATE) == 0

    def note(self) -> None:
        """Note the largest velocity, and close the brakes of a robot that is let go."""
        self.controller.events.clear()
        self.peak = max(self.peak, float((np.abs(self.plant.velocity) / self.fastest).max()))
        if self.controller.finished:
            self.plant.brake(True)

    def begin(self) -> None:
        """Activate, and wait until the law runs."""
        self.activate()
        self.run(1.6)
        if self.state != 'running':
            raise RuntimeError(f'{self.state}: {self.fault}')

    def move(self, way: float = 0.8, seconds: float = 1.2) -> None:
        """Begin a motion of all joints, of the tip, or by a hand, as the mode has it."""
        if self._mode == 'operational_space':
            tip = self.plant.tip()
            quaternion = np.zeros(4)
            mujoco.mju_mat2Quat(quaternion, tip.rotation.ravel())
            target = tip.position + way * np.array([0.0, 0.4, -0.15])
            self.aim(target, np.roll(quaternion, -1))
        elif self._mode == 'computed_torque':
            lower, upper = self.bounds
            target = np.clip(self.plant.position + way, lower + 0.1, upper - 0.1)
            self.follow(target, seconds)
        else:  # hold, gravity_compensation and damping: somebody pushes
            self.push = np.array([0.0, 15.0 * np.sign(way), 0.0, 0.0, 0.0, 0.0])

    def wander(self) -> None:
        """Begin a motion to somewhere near the start."""
        if self._mode != 'computed_torque':
            self.move(float(self._rng.uniform(-0.6, 0.6)))
        else:
            lower, upper = self.bounds
            away = self._rng.uniform(-0.5, 0.5, len(lower))
            self.follow(np.clip(self.start_pose + away, lower + 0.1, upper - 0.1),
                        float(self._rng.uniform(0.6, 2.0)))

    def press(self) -> None:
        """Slide along the plate below the tip, which is out of reach by some centimetres."""
        tip, quaternion = self.plant.tip(), np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, tip.rotation.ravel())
        slide = self._rng.uniform(-0.05, 0.05, 3) * (self._rng.random() < 0.7)
        below = self._rng.uniform(0.01, 0.06) * np.array(self.plant.options.plate_normal)
        self.aim(tip.position + slide - below, np.roll(quaternion, -1))

    def fail(self, duration: float = 2.0) -> Found:
        """Watch what comes of a sensor that has begun to fail."""
        joint = self.drifts[0] if self.frozen is None and self.drifts else self.frozen or 0
        begin, place = self.time, self.plant.position[joint]
        after, angle, self.peak = math.inf, math.nan, 0.0
        while self.time < begin + duration and not self.controller.finished:
            self.run(2.0 / RATE)
            if after == math.inf and self.state != 'running':
                after = self.time - begin
                angle = abs(self.plant.position[joint] - place)
        return Found(after, angle, self.peak, '+'.join(self.controller.faults()))


def failing(name: str, mode: str, sensor: str, joint: int, drift: float = 0.0) -> Found:
    """
    Return what comes of one failing sensor, in motion.

    :param name: of ``ROBOTS``.
    :param mode: of the controller.
    :param sensor: of ``SENSORS``.
    :param joint: that fails.
    :param drift: rad/s; 0: it freezes.
    """
    trial = Trial(name, mode, sensor)
    trial.begin()
    trial.move()
    trial.run(0.2)
    if drift:
        trial.drifts = joint, drift
    else:
        trial.frozen = joint
    return trial.fail()


def own_values() -> dict[str, object]:
    """Return the parameters that the built-in arm comes with, and a longer stop."""
    file = Path(__file__).parents[1] / 'config' / 'controller.yaml'
    given = yaml.safe_load(file.read_text())['/**']['controller']['ros__parameters']
    return {name: x for name, x in given.items() if name not in _OF_THE_NODE} | {
        'brake_time': 1.0}


def drawn(name: str, mode: str, way: str, seed: int,
          make: Callable[..., Trial] = Trial) -> tuple[Trial, int]:
    """
    Return a robot whose sensor fails from now on, in a random motion, and the joint.

    :param name: of ``DRAWN``.
    :param mode: of ``DRAWN_MODES``.
    :param way: of ``WAYS``.
    :param seed: of all that is random.
    :param make: makes the robot.
    """
    rng = np.random.default_rng(seed)
    trial = make(name, mode, str(rng.choice(['exact', 'coarse', 'encoder'])), seed=seed,
                 plant=_friction(name, rng), **(own_values() if name == 'built-in' else {}))
    trial.begin()
    n, seconds = len(trial.start_pose), float(rng.uniform(0.7, 2.5))
    joint = int(rng.integers(n))
    if mode == 'computed_torque':
        lower, upper = trial.bounds
        away = rng.uniform(-0.8, 0.8, n)
        trial.follow(np.clip(trial.start_pose + away, lower + 0.1, upper - 0.1), seconds)
    else:
        _turn(trial, rng)
    trial.run(round(float(rng.uniform(0.05, 0.9)) * seconds * RATE) / RATE)
    if way == 'drifts':
        trial.drifts = joint, float(rng.choice([-1.0, 1.0]) * rng.uniform(0.02, 0.5))
    else:
        trial.frozen, trial.sticks = joint, float(rng.uniform(0.02, 0.2)) * (way == 'sticks')
    return trial, joint


def _friction(name: str, rng: np.random.Generator) -> dict[str, object]:
    """Draw none, that of the description, or dry friction that nobody knows."""
    _, robot = described(name)
    effort = np.array(robot.pick(robot.model.effort_limit))
    kind = rng.choice(['none', 'described', 'dry'], p=[0.2, 0.5, 0.3])
    if kind == 'described':
        return {'friction': (), 'damping': ()}
    if kind == 'none':
        return {}
    return {'friction': (rng.uniform(0.005, 0.03, len(effort)) * effort).tolist(),
            'hard_friction': True}


def _turn(trial: Trial, rng: np.random.Generator) -> None:
    """Hand over a pose near that of the tip."""
    tip, quaternion, turned = trial.plant.tip(), np.zeros(4), np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, tip.rotation.ravel())
    axis, half = rng.normal(size=3), 0.5 * float(rng.uniform(0.0, 0.6))
    by = np.append(math.cos(half), math.sin(half) * axis / np.linalg.norm(axis))
    mujoco.mju_mulQuat(turned, by, quaternion)
    trial.aim(tip.position + rng.uniform(-0.25, 0.25, 3), np.roll(turned, -1))


def distribution(names: Sequence[str], modes: Sequence[str], way: str, count: int,
                 seed: int) -> None:
    """Print what comes of sensors that fail at random; one line per robot and mode."""
    for name in names:
        for mode in modes:
            found = {}
            for k in range(seed, seed + count):
                trial, _ = drawn(name, mode, way, k)
                if trial.state == 'running':  # else it was stopped before its sensor failed
                    found[k] = trial.fail(4.0)
            peaks = {k: x.peak for k, x in found.items()}
            worst = max(peaks, key=lambda k: peaks[k])
            missed = [k for k, x in found.items() if x.after == math.inf]
            print(f'{name:10} {mode:18} {way:8} {len(found)} of {count}: {len(missed)} missed '
                  f'({sum(peaks[k] > 0.3 for k in missed)} in motion), '
                  f'{sum(x > 1.0 for x in peaks.values())} beyond the limit, '
                  f'{sum(x > 2.0 for x in peaks.values())} beyond twice, '
                  f'worst {peaks[worst]:.2f} (seed {worst})', flush=True)
            for k, x in found.items():
                if x.peak > 1.0:
                    print(f'    seed {k}: {x}', flush=True)


def false_alarms(situation: str, name: str, sensor: str, modes: Sequence[str], seconds: float,
                 seed: int) -> tuple[float, int, int]:
    """
    Return simulated seconds, sensors called frozen, and joints that did not move at all.

    :param situation: of ``SITUATIONS``.
    :param name: of ``ROBOTS``.
    :param sensor: of ``SENSORS``.
    :param modes: of the controller, one after the other.
    :param seconds: to simulate.
    :param seed: of noise, friction, targets and pushes.
    """
    rng = np.random.default_rng(seed)
    spent, frozen, stands, tries = 0.0, 0, 0, seed
    while spent < seconds:
        trial = _situated(situation, name, sensor, modes[tries % len(modes)], rng)
        begin, tries = trial.time, tries + 1
        while trial.state == 'running' and trial.time < begin + EPISODE:
            if 'pressing' in situation:
                trial.press()
            elif rng.random() < 0.4:
                trial.wander()
            if 'person' in situation:
                trial.push = np.append(rng.normal(0.0, 25.0, 3), rng.normal(0.0, 2.0, 3))
            trial.run(0.5)
        spent += trial.time - begin
        frozen += Cause.FROZEN in trial.causes
        stands += 'at all' in trial.fault
    return spent, frozen, stands


def _situated(situation: str, name: str, sensor: str, mode: str,
              rng: np.random.Generator) -> Trial:
    """Return a robot that runs in a situation."""
    _, robot = described(name)
    effort = np.array(robot.pick(robot.model.effort_limit))
    plant: dict[str, object] = {}
    if 'wall' in situation or 'pressing' in situation:
        normal = rng.normal(size=3)
        plant = {'plate_below': 0.01, 'plate_normal': (normal / np.linalg.norm(normal)).tolist()}
    if 'stiction' in situation:
        plant |= {'friction': (rng.uniform(0.01, 0.08, len(effort)) * effort).tolist(),
                  'hard_friction': True}
    trial = Trial(name, mode, sensor, seed=int(rng.integers(1 << 30)), plant=plant)
    trial.opens = situation != 'closed brakes'
    trial.begin()
    return trial


def table(names: Sequence[str], sensors: Sequence[str], modes: Sequence[str],
          drift: float) -> None:
    """Print what comes of every failing sensor; one line per robot, mode and kind of sensor."""
    print('robot      mode                  sensor   joint: s to the stop, rad until then, '
          'largest velocity over its limit')
    for name in names:
        for mode in modes:
            for sensor in sensors:
                words = []
                for joint in range(len(ROBOTS[name][1])):
                    found = failing(name, mode, sensor, joint, drift)
                    words.append(f'{joint + 1}: {found.after:.3f} {found.angle:.3f} '
                                 f'{found.peak:.2f} {found.cause}')
                print(f'{name:10} {mode:21} {sensor:8} ' + '; '.join(words), flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--robots', nargs='+', default=list(ROBOTS), choices=ROBOTS)
    parser.add_argument('--sensors', nargs='+', default=list(SENSORS), choices=SENSORS)
    parser.add_argument('--modes', nargs='+', default=None, choices={*MODES, *DRAWN_MODES})
    parser.add_argument('--random', type=int, default=0, metavar='N',
                        help='random failures per robot and mode, instead of the table')
    parser.add_argument('--ways', nargs='+', default=list(WAYS), choices=WAYS)
    parser.add_argument('--drift', type=float, default=0.0, help='rad/s; 0: they freeze')
    parser.add_argument('--seconds', type=float, default=60.0,
                        help='simulated for each situation, robot and kind of sensor; 0: none')
    parser.add_argument('--situations', nargs='+', default=list(SITUATIONS), choices=SITUATIONS)
    parser.add_argument('--seed', type=int, default=0, help='of false alarms')
    parser.add_argument('--only-alarms', action='store_true', help='leave out failing sensors')
    chosen = parser.parse_args()
    modes = chosen.modes or MODES
    if chosen.random:
        for way in chosen.ways:
            distribution([name for name in chosen.robots if name in DRAWN],
                         chosen.modes or DRAWN_MODES, way, chosen.random, chosen.seed)
    elif not chosen.only_alarms:
        table(chosen.robots, chosen.sensors, modes, chosen.drift)
    for situation in chosen.situations if chosen.seconds > 0.0 else ():
        for sensor in chosen.sensors:
            began = time.perf_counter()
            total = np.sum([false_alarms(situation, name, sensor, modes, chosen.seconds,
                                         chosen.seed + k)
                            for k, name in enumerate(chosen.robots)], axis=0)
            print(f'{situation:19} {sensor:7} {total[0]:7.0f} s: {total[1]:.0f} called frozen, '
                  f'{total[2]:.0f} stand still at their limit '
                  f'({time.perf_counter() - began:.0f} s to simulate)', flush=True)


if __name__ == '__main__':
    main()
