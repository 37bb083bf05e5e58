# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What does a robot do on a machine that gets loaded? Its states become 20 to 200 ms old.

    python -m benchmark.loaded_machine 135         # as many at random
    python -m benchmark.loaded_machine 1 --first 7 # that with seed 7
    python -m benchmark.loaded_machine 60 --varied # ages also constant, or given as delay; some
                                                   # robots without velocities

A case is a robot with or without rotors in a mode, simulated by MuJoCo without friction, that is
moved while the ages of its states change by steps, ramps and jitter; then it is stopped, and held.
States arrive in order, and of several that wait the newest counts. The stamps show the ages, and
``delay`` is not given; where it is, gains are as low as the node asks. Without rotors ages are
100 ms at most: from 150 ms on, what gravity does to a light wrist meanwhile is not known by its
position and velocity. Measured are the largest speed of a joint over its limit, the largest
kinetic energy of the stop over that until its first torque acts, the largest speed of a joint from
then on over the larger of its speed until then and 10 % of its limit, and what moves in the last
half second that the robot is held.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TYPE_CHECKING

from benchmark.mujoco_robots import described, ROBOTS
from benchmark.stop_campaign import Case, ROTORS, Stopped
import numpy as np
from rbd_ros.control.parameters.early_rules import gain_reasons
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.references.trajectory import read_points

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ['LoadedCase', 'Outcome', 'any_case', 'circling', 'is_bad', 'Loaded', 'run_loaded',
           'varied_case']

#: of the modes that follow something, and one that is moved by hands
MODES = ('operational_space', 'computed_torque', 'joint_impedance', 'cartesian_impedance',
         'gravity_compensation')

#: parameters of simulated robots, see config/simulated.yaml
GAINS = {'stiffness': [400.0], 'damping': [40.0], 'integral': [1000.0],
         'task.linear_stiffness': 400.0, 'task.angular_stiffness': 400.0,
         'task.linear_damping': 40.0, 'task.angular_damping': 40.0,
         'task.linear_integral': 1000.0, 'task.angular_integral': 1000.0}

#: defaults that a long delay does not bear either
_SPRINGS = {'posture.stiffness': [10.0], 'posture.damping': [6.0],
            'cartesian_impedance.linear_stiffness': [500.0] * 3,
            'cartesian_impedance.angular_stiffness': [20.0] * 3}

#: share of its speed at which a law is tried next if the node refuses it
_SLOWER = 0.8

_CALM, _LOADED, _HELD = 1.0, 2.0, 2.5  # s: until the machine is loaded, moved, held
_RADIUS, _TURN = 0.06, 2.0  # m, s of a circle of the tip


class LoadedCase(NamedTuple):
    """A robot in a mode, on a machine that gets loaded."""

    robot: str
    rotors: bool
    rate: float  # Hz
    mode: str
    oldest: float  # s
    kind: str  # how ages change
    seed: int
    sensor: str = 'velocities'
    given: bool = False  # whether the oldest is the parameter delay


class Outcome(NamedTuple):
    """What the robot did."""

    speed: float  # largest one of a joint over its limit
    energy: float  # largest of the stop over that until its first torque acts
    held: float  # largest speed over its limit in the last half second of the hold
    thrown: float  # largest speed of a joint in the stop over the larger of that before and 10 %
    states: tuple[str, ...]  # of the supervisor
    causes: str


def any_case(seed: int) -> LoadedCase:
    """
    Return a case at random.

    :param seed: of the random numbers.
    """
    rng = np.random.default_rng(seed)
    rotors = bool(rng.random() < 0.5)
    return LoadedCase(
        list(ROBOTS)[rng.integers(len(ROBOTS))], rotors,
        float(rng.choice((250.0, 500.0, 1000.0))), MODES[rng.integers(len(MODES))],
        float(rng.uniform(0.02, 0.2 if rotors else 0.1)),
        ('step', 'ramp', 'jitter', 'bursts')[rng.integers(4)], seed)


def varied_case(seed: int) -> LoadedCase:
    """
    Return a case at random of which more is.

    :param seed: of the random numbers.
    """
    rng, case = np.random.default_rng((seed, 1)), any_case(seed)
    return case._replace(
        kind='constant' if rng.random() < 0.3 else case.kind,
        sensor='positions' if rng.random() < 0.3 else 'velocities',
        given=bool(rng.random() < 0.25))


def is_bad(result: Outcome) -> bool:
    """
    Return whether a robot was shaken, thrown, or does not come to rest.

    :param result: what it did.
    """
    return (result.speed > 1.0 or result.energy > 1.02 or result.held > 0.02
            or result.thrown > 1.1)


def ages(case: LoadedCase) -> Callable[[float], float]:
    """
    Return the age of states by the time in s since the machine is loaded.

    :param case: has the oldest one and how they change.
    """
    rng = np.random.default_rng(case.seed)
    span, phase = rng.uniform(0.3, 2.0), rng.uniform(0.0, 6.0)
    levels, low = rng.uniform(0.2, 1.0, 64), rng.uniform(0.1, 0.6)

    def age(since: float) -> float:
        if since < 0.0 and case.kind != 'constant':
            return 5e-4
        if case.kind in ('step', 'constant'):
            share = 1.0
        elif case.kind == 'ramp':
            share = min(since / span, 1.0)
        elif case.kind == 'bursts':
            share = 1.0 if (since + phase) % span < 0.6 * span else 0.01
        else:
            share = low + (1.0 - low) * levels[int(since / 0.05) % 64]
        return case.oldest * share
    return age


def accepted(case: LoadedCase, given: Mapping[str, object]) -> dict[str, object]:
    """
    Return gains that a node accepts with the delay that is given; none: as they are.

    :param case: what to do.
    :param given: parameters that are no defaults.
    """
    if not case.given:
        return {}
    n, pace = len(ROBOTS[case.robot].joints), 1.0
    robot = described(case.robot, ROTORS[:n] if case.rotors else (0.0,) * n)[1]
    while True:
        slower = {name: np.multiply(gain, pace**_power(name)).tolist()
                  for name, gain in (GAINS | _SPRINGS).items()}
        chosen = Settings(robot, defaults() | {
            'driver_adds': 'none', 'nominal_rate': case.rate, **given, **slower}, simulated=False)
        pace *= _SLOWER
        differenced = case.sensor != 'velocities'
        if pace < 0.01 or not (gain_reasons(chosen.values, differenced=differenced)
                               + chosen.live_refusals(differenced=differenced)):
            return slower


def _power(name: str) -> int:
    """Return by which power of its pace a gain of a law is less."""
    return 3 if 'integral' in name else 2 if 'stiffness' in name else 1


class Loaded(Stopped):
    """
    One robot whose states become old.

    :param case: what to do.
    :param values: parameters of the controller that are no defaults.
    """

    def __init__(self, case: LoadedCase, **values: object) -> None:
        kind = ROBOTS[case.robot]
        given = {'mode': case.mode, 'delay': case.oldest * case.given, 'state_timeout': 0.5,
                 'task.frame': kind.tip, 'minimum_rate': 0.0, 'ramp_time': 0.3,
                 'start.velocity': 2.0, 'hold_time': 0.1, 'fault_action': 'hold', **GAINS}
        given |= accepted(case, given)
        super().__init__(
            Case(case.robot, case.rotors, 0.0, case.rate, case.sensor, case.seed), seen=True,
            **given | values)
        self.age = ages(case)
        self.loaded_at = np.inf
        self._queue: list[tuple[float, float, Array, Array]] = []
        self.rng = np.random.default_rng(case.seed + 1)
        self.each: Callable[[float], None] | None = None
        self._center: Array | None = None

    def run(self, duration: float) -> None:
        """
        Let time pass.

        :param duration: s.
        """
        plant, step = self.plant, self.plant.options.step
        period = round(1.0 / (self.case.rate * step))
        for _ in range(round(duration / step)):
            self.time += step
            self._steps += 1
            if self._steps % period == 0:
                at = self.time + self.age(self.time - self.loaded_at)
                self._queue.append((at, self.time, plant.position, plant.velocity))
            due = [each for each in self._queue if each[0] <= self.time + 1e-9]
            if due and max(each[0] for each in self._queue[:len(due)]) <= self.time + 1e-9:
                del self._queue[:len(due)]
                self.send_state(*due[-1][1:])
            if self._steps % period == 0:
                self.controller.take_timer(self.time, self.time)
            if self.each is not None and self._steps % 20 == 0:
                self.each(self.time)
            if self._moves:
                plant.step(self.command)
            self.qd.append(plant.velocity)
            if self._steps % 4 == 0 or not self.energy:
                self.energy.append(0.5 * self.qd[-1] @ plant.mass_matrix() @ self.qd[-1])
            else:
                self.energy.append(self.energy[-1])
            self.states.append(self.controller.state.value)

    def start(self) -> None:
        """Activate it, with its brakes closed until the first torque."""
        self.controller.post(self.controller.activate)
        while self.controller.state.value not in ('ramping in', 'fault') and self.time < 52.0:
            self.run(1.0 / self.case.rate)
        self._moves = self.controller.state.value == 'ramping in'
        self.run(0.5)


def circling(arm: Loaded) -> Callable[[float], None]:
    """
    Return what streams the poses of a circle of the tip at 100 Hz.

    :param arm: whose tip it is.
    """
    robot = arm.settings.robot
    tip = arm.plant.tip()
    w = 0.5 * np.sqrt(max(1.0 + np.trace(tip.rotation), 1e-9))
    R = tip.rotation
    turn = [(R[2, 1] - R[1, 2]) / (4 * w), (R[0, 2] - R[2, 0]) / (4 * w),
            (R[1, 0] - R[0, 1]) / (4 * w), w]
    begin, center = arm.time, tip.position - [_RADIUS, 0.0, 0.0]
    assert robot.tip

    def each(time: float) -> None:
        angle = 2.0 * np.pi * (time - begin) / _TURN
        goal = center + _RADIUS * np.array([np.cos(angle), np.sin(angle), 0.0])
        arm.controller.take_pose(time, time, goal.tolist(), turn)
    return each


def waving(arm: Loaded) -> Callable[[float], None]:
    """
    Return what streams set-points of all joints at 100 Hz.

    :param arm: that is waved with.
    """
    joints, home, begin = arm.settings.robot.joints, arm.plant.position, arm.time
    most = 0.25 * np.minimum(arm.settings.velocity_limits, 2.0)
    pace = arm.rng.uniform(1.0, 3.0, len(joints))

    def each(time: float) -> None:
        target = home + most / pace * np.sin(pace * (time - begin))
        arm.controller.take_points(time, time, read_points(
            joints, joints, [0.0], [target.tolist()], [], []), time)
    return each


def run_loaded(case: LoadedCase, **values: object) -> Outcome:
    """
    Move a robot on a machine that gets loaded, stop it, and hold it.

    :param case: what to do.
    :param values: parameters of the controller that are no defaults.
    :returns: zeros if it refuses to begin.
    """
    arm = Loaded(case, **values)
    arm.start()
    if arm.states[-1] == 'fault' and not arm.command.any():
        return Outcome(0.0, 0.0, 0.0, 0.0, ('refused',), arm.controller.fault_text())
    if arm.states[-1] != 'running':
        raise RuntimeError(f'{case}: {arm.states[-1]} {arm.controller.fault_text()}')
    limits = arm.settings.velocity_limits
    if case.mode in ('operational_space', 'cartesian_impedance'):
        arm.each = circling(arm)
    elif case.mode != 'gravity_compensation':
        arm.each = waving(arm)
    else:
        arm.move(0.4 * limits * arm.rng.uniform(-1.0, 1.0, len(limits)))
    begun = len(arm.qd)
    arm.run(_CALM * arm.rng.random())
    arm.loaded_at = arm.time
    if case.mode == 'gravity_compensation':
        arm.run(0.3 * arm.rng.random())
    else:
        arm.run(_LOADED)
    first = next((k for k in range(begun, len(arm.states)) if arm.states[k] == 'braking'),
                 len(arm.states))
    arm.each = None
    arm.stop()
    arm.run(_HELD)
    late = first + round((case.oldest + 1.0 / case.rate) / arm.plant.options.step)
    before = max(arm.energy[max(first - 600, begun):late])
    speeds = np.abs(np.array(arm.qd)) / limits
    begin = np.maximum(speeds[max(first - 1, begun):late].max(axis=0), 0.1)
    return Outcome(float(speeds[begun:].max()), max(arm.energy[late:]) / max(before, 1e-3),
                   float(speeds[-1000:].max()), float((speeds[late:] / begin).max()),
                   tuple(dict.fromkeys(arm.states[begun:])), arm.controller.fault_text())


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run cases and print the worst, and every case beyond its bounds.

    :param arguments: of the command line.
    :returns: exit status: 1 if a robot was shaken.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition('\n\n')[0].strip())
    parser.add_argument('cases', type=int, nargs='?', default=135)
    parser.add_argument('--first', type=int, default=0, help='seed of the first one')
    parser.add_argument('--all', action='store_true', help='print every case')
    parser.add_argument('--varied', action='store_true',
                        help='ages also constant or given, some robots without velocities')
    chosen = parser.parse_args(arguments)
    found, bad = [], 0
    for seed in range(chosen.first, chosen.first + chosen.cases):
        case = varied_case(seed) if chosen.varied else any_case(seed)
        result = run_loaded(case)
        found.append((case, result))
        bad += is_bad(result)
        if chosen.all or is_bad(result):
            print(f'{case}: speed {result.speed:.3f}, energy {result.energy:.3f}, held '
                  f'{result.held:.4f}, thrown {result.thrown:.3f}, {result.states} '
                  f'{result.causes}', flush=True)
    for name in ('speed', 'energy', 'held', 'thrown'):
        case, result = max(found, key=lambda each: getattr(each[1], name))
        print(f'worst {name} of {len(found)}: {getattr(result, name):.3f}, seed {case.seed}')
    refused = sum('refused' in result.states for _, result in found)
    print(f'{bad} of {len(found)} beyond their bounds, {refused} refused to begin')
    return 1 if bad else 0


if __name__ == '__main__':
    raise SystemExit(main())
