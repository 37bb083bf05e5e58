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

"""
Compare every quantity with Pinocchio on every robot of example-robot-data, and with MuJoCo.

Run as ``python -m benchmark.crosscheck``. Each robot is loaded with a fixed and with a floating
base, compiled, and asked for 20 random states one by one and as a batch. An error is the norm of
the difference over the root mean square of the quantity's norm in those states; none may pass
1e-10. What comes from solving with an inertia matrix H so ill-conditioned that rounding alone
exceeds the limit may instead pass it as a backward error: it must solve Pinocchio's equation.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
import sys
import time
from typing import NamedTuple, TYPE_CHECKING
import warnings

from benchmark.mujoco_bridge import MujocoRobot
from benchmark.pinocchio_bridge import PinocchioRobot, random_position
from benchmark.robots import all_files, robots_folder
import numpy as np
import rbd_ros
from rbd_ros.errors import ModelError, RbdError, SingularError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LIMIT = 1e-10
TINY = 1e-12
MUJOCO = ('ur5_gripper', 'xarm7', 'go2', 'g1_29dof_rev_1_0', 'talos_reduced', 'bolt',
          'simple_humanoid', 'double_pendulum', 'centauro', 'solo12')


class States(NamedTuple):
    """Random states of one robot; first axis: the states."""

    q: Array
    qd: Array
    qdd: Array
    tau: Array
    f_ext: Array


def random_states(model: rbd_ros.Model, count: int, seed: int = 0) -> States:
    """Return states with positions anywhere and everything else of order one."""
    rng = np.random.default_rng(seed)
    q = np.array([random_position(model, rng) for _ in range(count)])
    qd, qdd, tau = rng.normal(size=(3, count, model.nv))
    return States(q, qd, qdd, tau, rng.normal(size=(count, model.nb, 6)))


class Quantity(NamedTuple):
    """
    Something both libraries can be asked for.

    :param inputs: fields of States that go into it.
    :param by: the method that only ours is told.
    :param solved: whether it comes from solving with H.
    """

    label: str
    method: str
    inputs: tuple[str, ...]
    by: str | None = None
    solved: bool = False
    of_frame: bool = False


QUANTITIES = (
    Quantity('inverse dynamics', 'inverse_dynamics', ('q', 'qd', 'qdd')),
    Quantity('inverse dynamics, f_ext', 'inverse_dynamics', ('q', 'qd', 'qdd', 'f_ext')),
    Quantity('gravity', 'gravity', ('q',)),
    Quantity('bias', 'bias', ('q', 'qd')),
    Quantity('mass matrix', 'mass_matrix', ('q',)),
    Quantity('inverse mass matrix', 'inverse_mass_matrix', ('q',), solved=True),
    Quantity('forward dynamics', 'forward_dynamics', ('q', 'qd', 'tau'), solved=True),
    Quantity('forward dynamics, crba', 'forward_dynamics', ('q', 'qd', 'tau'),
             'crba', solved=True),
    Quantity('forward dynamics, f_ext', 'forward_dynamics', ('q', 'qd', 'tau', 'f_ext'),
             'aba', solved=True),
    Quantity('kinetic energy', 'kinetic_energy', ('q', 'qd')),
    Quantity('potential energy', 'potential_energy', ('q',)),
    Quantity('centre of mass', 'center_of_mass', ('q',)),
    Quantity('momentum', 'momentum', ('q', 'qd')),
    Quantity('frame pose', 'pose', ('q',), of_frame=True),
    Quantity('frame Jacobian', 'jacobian', ('q',), of_frame=True),
    Quantity('frame velocity', 'velocity', ('q', 'qd'), of_frame=True),
    Quantity('Jdot qd', 'jacobian_rate', ('q', 'qd'), of_frame=True),
)
MUJOCO_QUANTITIES = tuple(each for each in QUANTITIES if each.label in (
    'inverse dynamics', 'bias', 'mass matrix', 'forward dynamics'))


def relative_error(ours: Array, theirs: Array) -> float:
    """Return the largest error in a batch, relative to the norm of the quantity over it."""
    flat = theirs.reshape(len(theirs), -1)
    scale = np.sqrt(np.mean(np.sum(flat * flat, axis=1)))
    if scale < TINY:
        scale = 1.0
    difference = np.linalg.norm((ours - theirs).reshape(len(theirs), -1), axis=1)
    return float(np.max(difference) / scale)


def backward_error(quantity: Quantity, ours: Array, states: States, peer: PinocchioRobot) -> float:
    """Return by how much the peer's own equation of motion is not solved by ours."""
    worst = 0.0
    for k, value in enumerate(ours):
        H = peer.mass_matrix(states.q[k])
        if quantity.method == 'inverse_mass_matrix':
            residual, scale = H @ value - np.eye(len(H)), np.linalg.norm(H)
        else:
            f_ext = states.f_ext[k] if 'f_ext' in quantity.inputs else None
            tau = peer.inverse_dynamics(states.q[k], states.qd[k], value, f_ext)
            residual, scale = tau - states.tau[k], np.linalg.norm(H)
        worst = max(worst, np.linalg.norm(residual) / (scale * np.linalg.norm(value)))
    return float(worst)


class Result(NamedTuple):
    """The outcome of one quantity on one robot."""

    label: str
    error: float
    note: str = ''


def compare(
    robot: rbd_ros.Dynamics, peer: PinocchioRobot | MujocoRobot, states: States,
    quantities: tuple[Quantity, ...] = QUANTITIES, *, batch: bool = True,
) -> Iterator[Result]:
    """
    Yield the error of each quantity; one that H forbids has a note instead.

    :param batch: whether to ask for all states at once as well.
    """
    for quantity in quantities:
        frames = some_frames(robot.model) if quantity.of_frame else ('',)
        for frame in frames:
            try:
                yield _compare_one(robot, peer, states, quantity, frame, batch)
            except SingularError as error:
                yield Result(quantity.label, 0.0, str(error))


def _compare_one(
    robot: rbd_ros.Dynamics, peer: PinocchioRobot | MujocoRobot, states: States,
    quantity: Quantity, frame: str, batch: bool,
) -> Result:
    options = {'method': quantity.by} if quantity.by else {}
    if robot.model.mimic is not None and quantity.by == 'aba':
        options = {}
    inputs = [getattr(states, name) for name in quantity.inputs]
    tail = (frame,) if frame else ()
    ask = getattr(robot, quantity.method)
    answer = getattr(peer, quantity.method)
    ours = np.array([ask(*row, *tail, **options) for row in zip(*inputs)])
    theirs = np.array([answer(*row, *tail) for row in zip(*inputs)])
    error = relative_error(ours, theirs)
    if batch:
        error = max(error, relative_error(ask(*inputs, *tail, **options), theirs))
    if not error <= LIMIT and quantity.solved and isinstance(peer, PinocchioRobot):
        condition = max(np.linalg.cond(peer.mass_matrix(q)) for q in states.q)
        if condition > 1e5:
            note = f'{error:.1e} forward, cond H {condition:.0e}'
            return Result(quantity.label, backward_error(quantity, ours, states, peer), note)
    return Result(quantity.label, error)


def some_frames(model: rbd_ros.Model) -> tuple[str, ...]:
    """Return the last link of the deepest body, and a link half-way."""
    depth = [len(path) for path in model.support]
    bodies = [int(np.argmax(depth)), (model.nb + 1) // 2]
    return tuple(dict.fromkeys(
        [name for name, frame in model.frames.items() if frame.body == body][-1]
        for body in bodies))


def short_name(path: Path) -> str:
    """Return the folder of a robot and its file, without what all of them have in common."""
    folder = path.relative_to(robots_folder()).parts[0]
    folder = folder.removesuffix('_description').removesuffix('_data')
    return path.stem if folder == path.stem else f'{folder}/{path.stem}'


def load(path: Path, floating: bool) -> tuple[rbd_ros.Model, str]:
    """Return the robot and what had to be done to load it."""
    try:
        return rbd_ros.load_urdf(path, floating), ''
    except ModelError as error:
        if 'mimics' not in str(error):
            raise
        return rbd_ros.load_urdf(path, floating, mimic=False), f'mimics left free: {error}'


class Report:
    """Prints the table as it grows and remembers what the summary needs."""

    def __init__(self) -> None:
        self.worst: dict[str, tuple[float, str]] = {}
        self.skipped: list[str] = []
        self.notes: list[str] = []
        self.failures: list[str] = []
        self.robots = 0

    def row(self, name: str, nv: int, results: list[Result], seconds: float) -> None:
        """Print one robot."""
        self.robots += 1
        for note in dict.fromkeys(result.note for result in results if result.note):
            labels = ', '.join(each.label for each in results if each.note == note)
            self.notes.append(f'{name}: {note} ({labels})')
        for result in results:
            if not result.error <= LIMIT:
                self.failures.append(f'{name}, {result.label}: {result.error:.1e}')
            if not result.error <= self.worst.get(result.label, (-1.0, ''))[0]:
                self.worst[result.label] = (result.error, name)
        worst = max(results, key=lambda each: (each.error != each.error, each.error))
        state = 'ok' if worst.error <= LIMIT else 'FAILS'
        print(f'{name:<50}{nv:>4}  {worst.error:8.1e}  {worst.label:<24}{seconds:7.1f} s  {state}',
              flush=True)

    def summary(self) -> int:
        """Print what was found and return the exit status."""
        print(f'\n{"worst over all robots":<28}{"error":>9}  robot')
        for label, (error, name) in self.worst.items():
            print(f'{label:<28}{error:9.1e}  {name}')
        for title, lines in (('Notes', self.notes), ('Skipped', self.skipped),
                             ('Over the limit', self.failures)):
            if lines:
                print(f'\n{title} ({len(lines)}):')
                print('\n'.join(f'  {line}' for line in lines))
        print(f'\n{self.robots} comparisons, {len(self.failures)} over the limit of {LIMIT:.0e}')
        return 1 if self.failures or not self.robots else 0


def check_robot(
    report: Report, path: Path, floating: bool, count: int, backend: str,
    peer_of: Callable[..., PinocchioRobot | MujocoRobot], quantities: tuple[Quantity, ...],
) -> None:
    """Compare one robot and add it to the report."""
    name = f'{short_name(path)}, {"floating" if floating else "fixed"}'
    if peer_of is MujocoRobot:
        name += ', MuJoCo'
    start = time.perf_counter()
    try:
        model, note = load(path, floating)
        if model.nb == 0:
            raise RbdError('nothing moves with a fixed base')
        peer = peer_of(model, path.read_text(), floating)
    except (RbdError, ValueError) as error:
        reason = str(error).splitlines()[0].replace(str(path), path.name)
        report.skipped.append(f'{name}: {reason}')
        return
    if note:
        report.notes.append(f'{name}: {note}')
    robot = rbd_ros.Dynamics(model, backend=backend)
    states = random_states(model, count)
    results = list(compare(robot, peer, states, quantities, batch=backend != 'reference'))
    report.row(name, model.nv, results, time.perf_counter() - start)


def main(arguments: list[str] | None = None) -> int:
    """Run the cross-check and return the exit status."""
    parser = argparse.ArgumentParser(prog='crosscheck', description=(__doc__ or '').split('\n')[1])
    parser.add_argument('--backend', default='auto',
                        choices=('auto', 'llvm', 'python', 'reference'))
    parser.add_argument('--quick', action='store_true', help='2 states, robots up to 20 joints')
    parser.add_argument('--only', metavar='NAME', help='robots whose file name contains NAME')
    options = parser.parse_args(arguments)
    count = 2 if options.quick else 20
    warnings.simplefilter('ignore')
    files = [path for path in all_files() if options.only in (None, '') or
             options.only in path.name]
    if not files:
        print(f'no robot has "{options.only}" in its file name')
        return 1
    print(f'{"robot":<50}{"nv":>4}  {"worst":>8}  {"quantity":<24}{"time":>9}')
    report = Report()
    for path in files:
        for floating in (False, True):
            if options.quick and _is_large(path):
                report.skipped.append(f'{short_name(path)}: over 20 joints, left out by --quick')
                break
            check_robot(report, path, floating, count, options.backend, PinocchioRobot,
                        QUANTITIES)
    for path in files:
        if path.stem in MUJOCO:
            for floating in (False, True):
                check_robot(report, path, floating, count, options.backend, MujocoRobot,
                            MUJOCO_QUANTITIES)
    return report.summary()


def _is_large(path: Path) -> bool:
    try:
        return load(path, False)[0].nv > 20
    except RbdError:
        return False


if __name__ == '__main__':
    sys.exit(main())
