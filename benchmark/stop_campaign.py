# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Does a stop throw the arm? Moving robots, simulated by MuJoCo, are stopped with late states.

    python -m benchmark.stop_campaign              # every case, some minutes
    python -m benchmark.stop_campaign --every 20   # one case in 20
    python -m benchmark.stop_campaign --unsaid 300 # as many at random; only stamps show the delay
    python -m benchmark.stop_campaign --unknown 135 # nothing shows it: no torque may begin

A case is a robot with or without rotors, a delay of the states or of the commands, a rate, a kind
of sensor and a motion. The model is right, the parameter ``delay`` is given, and no friction
helps. In each case two numbers are measured from the first torque of the stop that acts until the
robot is held: the largest speed of a joint over the larger of its speed until then and 10 % of its
limit, and the largest kinetic energy over that until then.
"""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Sequence
import itertools
from typing import NamedTuple, TYPE_CHECKING

from benchmark.mujoco_plant import Plant, PlantOptions
from benchmark.mujoco_robots import AHEAD, described, make_controller, ROBOTS, stamp_at
import numpy as np
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.laws.design import UNSAID

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ['Case', 'cases', 'is_refused', 'Result', 'run_case', 'unsaid_case']

#: poses amid the range of the joints where those of ``ROBOTS`` are not
POSES = {'panda': (0.2, -0.5, 0.3, -1.8, 0.2, 1.7, 0.6)}
#: kg.m^2 at the joints, of robots with rotors
ROTORS = (0.6, 0.6, 0.4, 0.4, 0.2, 0.15, 0.1)
DELAYS = (0.0, 0.01, 0.02, 0.03, 0.05)
RATES = (100.0, 300.0, 1000.0)
SENSORS = ('velocities', 'positions', '10 bit')

#: share of the velocity limits in the motions before the stop
_SPEED = 0.6

_STEP = 0.5e-3  # s of the plant


class Case(NamedTuple):
    """What is stopped, and how late its states are."""

    robot: str
    rotors: bool
    delay: float  # s
    rate: float  # Hz
    sensor: str
    motion: int  # seed
    late: str = 'states'  # what is late: states or commands


class Result(NamedTuple):
    """What a stop did."""

    speed: float  # largest one of a joint, relative to what it may have
    energy: float  # largest kinetic energy over that at the stop
    left: float  # speed at the end of braking over that at the stop
    states: tuple[str, ...]  # of the supervisor


def cases(motions: int = 2) -> list[Case]:
    """
    Return all cases.

    :param motions: number of motions in each.
    """
    return [Case(*case, late=('states', 'commands')[k % 2]) for k, case in enumerate(
        itertools.product(ROBOTS, (True, False), DELAYS, RATES, SENSORS, range(motions)))]


def unsaid_case(seed: int, robots: Sequence[str] = tuple(ROBOTS)) -> Case:
    """
    Return a case at random, of which nobody says how late its states are.

    Half of them have a delay that is too short to be reported; most have no rotors.

    :param seed: of the random numbers.
    :param robots: to choose from.
    """
    rng = np.random.default_rng(seed)
    most = UNSAID if rng.random() < 0.5 else DELAYS[-1]
    return Case(robots[rng.integers(len(robots))], bool(rng.random() < 0.2),
                _STEP * round(rng.uniform(0.0, most) / _STEP),
                float(rng.choice((100.0, 200.0, 250.0, 400.0, 500.0, 1000.0))),
                SENSORS[rng.integers(len(SENSORS))], seed)


class Stopped:
    """
    One robot in motion under the controller, whose states or commands are late.

    :param case: what to do.
    :param seen: whether the stamps are of our clock, so that they show the delay.
    :param values: parameters of the controller.
    """

    def __init__(self, case: Case, *, seen: bool = False, **values: object) -> None:
        self.case, kind = case, ROBOTS[case.robot]
        n = len(kind.joints)
        rotors = ROTORS[:n] if case.rotors else (0.0,) * n
        text, robot = described(case.robot, rotors)
        self.plant = Plant(text, PlantOptions(
            kind.joints, POSES.get(case.robot, kind.pose), kind.tip, step=_STEP, armature=rotors,
            damping=[0.0] * n, friction=[0.0] * n, brakes_hold=False))
        self.command = np.zeros(n)
        self.controller = make_controller(robot, {
            'nominal_rate': case.rate, 'minimum_rate': 0.5 * case.rate, 'start.time': 0.0,
            'start.watch_time': 0.0, 'ramp_time': 0.0, 'start.velocity': 100.0,
            'delay': max(case.delay, 1e-4), **values},
            lambda torque: np.copyto(self.command, torque))
        self.settings = self.controller.settings
        if seen:
            self.controller.p.states.ages.clock_offset = -AHEAD
        self.time, self.qd, self.energy, self.states = 50.0, [], [], []
        late = round(case.delay / _STEP)
        ours = case.late == 'states'
        self.dead_steps = late * (not ours) + round(1.0 / (case.rate * _STEP))
        self.seen: deque[tuple[float, Array, Array]] = deque(maxlen=late * ours + 1)
        self._acts: deque[Array] = deque(maxlen=late * (not ours) + 1)
        self._moves, self._steps = False, 0
        self.deaf = False  # whether states have ceased

    def run(self, duration: float) -> None:
        """
        Let time pass.

        :param duration: s.
        """
        plant, period = self.plant, round(1.0 / (self.case.rate * _STEP))
        for _ in range(round(duration / _STEP)):
            self.time += _STEP
            self._steps += 1
            self.seen.append((self.time, plant.position, plant.velocity))
            if self._steps % period == 0:
                if not self.deaf:
                    self.send_state(*self.seen[0])
                self.controller.take_timer(self.time, self.time)
            self._acts.append(self.command.copy())
            if self._moves:
                plant.step(self._acts[0])
            self.qd.append(plant.velocity)
            self.energy.append(0.5 * self.qd[-1] @ plant.mass_matrix() @ self.qd[-1])
            self.states.append(self.controller.state.value)

    def send_state(self, measured: float, q: Array, qd: Array) -> None:
        """Hand a state over as the driver does."""
        velocity: Sequence[float] = qd
        if self.case.sensor != 'velocities':
            velocity = ()
        if self.case.sensor == '10 bit':
            q = np.round(q * (1024 / (2.0 * np.pi))) * (2.0 * np.pi / 1024)
        self.controller.take_state(self.time, self.time, self.settings.robot.joints, q, velocity,
                                   (), stamp_at(measured))

    def stop(self, cause: Cause = Cause.OPERATOR_STOP) -> None:
        """
        Ask for a stop, as another thread does.

        :param cause: why.
        """
        self.controller.post(lambda _, steady: self.controller.fault(steady, cause))

    def move(self, qd: Array, duration: float = 0.1) -> None:
        """
        Let strong hands move the robot, faster and faster.

        :param qd: velocities at the end.
        :param duration: s.
        """
        self._moves = True
        steps = round(duration / _STEP)
        for k in range(steps):
            self.plant.data.qvel[self.plant._v] = qd * ((k + 1) / steps)
            self.run(_STEP)


def moving(case: Case, *, seen: bool = False, **values: object) -> Stopped:
    """
    Return a robot that has been pushed under a controller that compensates gravity.

    :param case: what to do.
    :param seen: whether the stamps show the delay.
    :param values: parameters of the controller.
    """
    arm = Stopped(case, seen=seen, **values)
    arm.controller.post(arm.controller.activate)
    arm.run(20.0 / case.rate + case.delay + 0.05 + arm.settings.number('state_timeout'))
    if arm.states[-1] != 'running':
        raise RuntimeError(f'{case}: {arm.states[-1]} {arm.controller.fault_text()}')
    limits = arm.settings.velocity_limits
    rng = np.random.default_rng(case.motion)
    arm.move(_SPEED * limits * rng.uniform(-1.0, 1.0, len(limits)))
    arm.run(case.delay + 0.03)
    return arm


def run_case(case: Case, *, cause: Cause = Cause.OPERATOR_STOP, seen: bool = False,
             **values: object) -> Result:
    """
    Stop a moving robot, and watch for 1.5 s.

    :param case: what to do.
    :param cause: why it is stopped.
    :param seen: whether the stamps show the delay.
    :param values: parameters of the controller.
    """
    arm = moving(case, seen=seen, **values)
    limits, first = arm.settings.velocity_limits, len(arm.qd)
    arm.stop(cause)
    arm.run(1.5)
    before = 1 + arm.dead_steps  # until the first torque of the stop acts, nobody can do anything
    since = np.abs(arm.qd[first - 1:])
    begin, after = since[:before].max(axis=0), since[before:]
    speed = (after / np.maximum(begin, 0.1 * limits)).max()
    braked = arm.states[first:].count('braking')
    left = np.linalg.norm(since[braked]) / np.linalg.norm(begin)
    energy = arm.energy[first - 1:]
    return Result(float(speed), max(energy[before:]) / max(energy[:before]), float(left),
                  tuple(dict.fromkeys(arm.states[first:])))


def is_refused(case: Case) -> bool:
    """
    Activate a robot of which nobody knows how late its states are; return whether nothing is sent.

    :param case: what to do; its stamps are of another clock.
    """
    arm = Stopped(case, delay=0.0)
    arm.controller.post(arm.controller.activate)
    arm.run(20.0 / case.rate + case.delay + 0.05 + arm.settings.number('state_timeout'))
    return arm.states[-1] == 'fault' and not arm.command.any() and (
        'Set delay' in arm.controller.fault_text())


def lose_states(case: Case) -> tuple[float, float, float]:
    """
    Let the states of a moving robot cease until the last gravity torque is no longer held.

    :param case: what to do.
    :returns: largest speed over its limit before and at the end, and the way of the tip in m.
    """
    arm = moving(case)
    limits, start = arm.settings.velocity_limits, arm.plant.tip().position
    before = float((np.abs(arm.qd[-1]) / limits).max())
    arm.deaf = True
    arm.run(arm.settings.number('state_timeout') + arm.settings.number('hold_time'))
    way = float(np.linalg.norm(arm.plant.tip().position - start))
    return before, float((np.abs(arm.qd[-1]) / limits).max()), way


def main(arguments: Sequence[str] | None = None) -> int:
    """
    Run cases and print a table, and every case beyond its bounds.

    :param arguments: of the command line.
    :returns: exit status: 1 if an arm was thrown.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition('\n\n')[0].strip())
    parser.add_argument('--every', type=int, default=1, help='run one case in so many')
    parser.add_argument('--first', type=int, default=0, help='number of the first one')
    parser.add_argument('--unsaid', type=int, default=0, metavar='CASES',
                        help='run so many at random, with delay 0 and stamps that show it')
    parser.add_argument('--unknown', type=int, default=0, metavar='CASES',
                        help='activate so many at random whose delay nothing shows')
    parser.add_argument('--lost', action='store_true', help='let the states cease instead')
    chosen = parser.parse_args(arguments)
    if chosen.lost:
        for robot, rotors, motion in itertools.product(ROBOTS, (True, False), range(2)):
            before, after, way = lose_states(Case(robot, rotors, 0.0, 1000.0, SENSORS[0], motion))
            print(f'{robot:9} rotors {"on" if rotors else "off":3} speed {before:.2f} to '
                  f'{after:.2f} of its limit, tip {way:.2f} m', flush=True)
        return 0
    if chosen.unknown:
        begun = [case for case in map(unsaid_case, range(chosen.unknown)) if not is_refused(case)]
        print(f'{len(begun)} of {chosen.unknown} began to move', *begun, sep='\n')
        return 1 if begun else 0
    worst: dict[tuple[str, bool, float], list[Result]] = {}
    thrown, unsaid = 0, chosen.unsaid > 0
    seeds = range(chosen.first, chosen.first + chosen.unsaid)
    for case in map(unsaid_case, seeds) if unsaid else cases()[chosen.first::chosen.every]:
        result = run_case(case, seen=True, delay=0.0) if unsaid else run_case(case)
        most = case.delay  # or the largest of a class of delays
        if unsaid:
            most = UNSAID if most <= UNSAID else DELAYS[-1]
        worst.setdefault((case.robot, case.rotors, most), []).append(result)
        if result.speed > 1.1 or result.energy > 1.02:
            thrown += 1
            print(f'{case}: speed {result.speed:.3f}, energy {result.energy:.3f}, '
                  f'{result.states}', flush=True)
    print('robot     rotors  delay/ms  cases  speed  energy  left after braking')
    for (robot, rotors, delay), results in worst.items():
        speed, energy, left = (max(r[k] for r in results) for k in range(3))
        print(f'{robot:9} {"on" if rotors else "off":6} {1e3 * delay:9.0f} {len(results):6} '
              f'{speed:6.3f} {energy:7.3f} {left:8.3f}')
    return 1 if thrown else 0


if __name__ == '__main__':
    raise SystemExit(main())
