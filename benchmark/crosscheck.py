# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Compare every quantity with Pinocchio on every robot of example-robot-data, and with MuJoCo.

Run as ``python -m benchmark.crosscheck``. Each robot is loaded with a fixed and with a floating
base, compiled, and asked for 20 random states one by one and as a batch; both are judged alike,
by :mod:`rbd_ros.peers.deviation`. No error may pass 1e-10, and what comes from solving with the
inertia matrix must solve Pinocchio's equation of motion to 1e-13. Robots that cannot be read, and
robots that have no acceleration because a joint moves without inertia, are those named here, no
others.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
import sys
import time
import warnings

from benchmark.robots import all_files, robots_folder
import rbd_ros
from rbd_ros.errors import ModelError, RbdError
from rbd_ros.peers.comparison import (
    compare, MUJOCO_QUANTITIES, peer_text, QUANTITIES, Quantity, random_states, Result)
from rbd_ros.peers.deviation import Verdict
from rbd_ros.peers.mujoco_robot import MujocoRobot
from rbd_ros.peers.pinocchio_robot import PinocchioRobot

# Neither Pinocchio nor we can read these: a link is missing, a file has no robot in it.
UNREADABLE = ('falcon', 'ur3')
# The fingers of these have no mass, and so no acceleration.
SINGULAR = ('bravo7_gripper', 'bluevolta_bravo7_gripper', 'falcon_bravo7_gripper', 'romeo',
            'romeo_laas_small')
# what is no robot with a fixed base, and what the other library cannot have
NOT_COMPARED = ('nothing moves with a fixed base', 'cannot float')
MUJOCO = ('ur5_gripper', 'xarm7', 'go2', 'g1_29dof_rev_1_0', 'talos_reduced', 'bolt',
          'simple_humanoid', 'double_pendulum', 'centauro', 'solo12')


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
        self.worst: dict[str, tuple[Verdict, str]] = {}
        self.skipped: list[str] = []
        self.notes: list[str] = []
        self.failures: list[str] = []
        self.robots = 0

    def row(self, name: str, nv: int, results: list[Result], seconds: float) -> None:
        """Print one robot."""
        self.robots += 1
        for note in dict.fromkeys(each.verdict.note for each in results if each.verdict.note):
            labels = ', '.join(each.label for each in results if each.verdict.note == note)
            self.notes.append(f'{name}: {note} ({labels})')
        for label, verdict in results:
            if not verdict.passes:
                self.failures.append(f'{name}, {label}: {verdict.error:.1e}')
            if not verdict.ratio <= self.worst.get(label, (Verdict(-1.0, 1.0), ''))[0].ratio:
                self.worst[label] = (verdict, name)
        label, verdict = max(results, key=lambda each: each.verdict.ratio)
        state = 'ok' if all(each.verdict.passes for each in results) else 'FAILS'
        print(f'{name:<50}{nv:>4}  {verdict.error:8.1e} of {verdict.limit:.0e}  {label:<24}'
              f'{seconds:7.1f} s  {state}', flush=True)

    def summary(self) -> int:
        """Print what was found and return the exit status."""
        print(f'\n{"worst over all robots":<28}{"error":>9} {"of":>9}  robot')
        for label, (verdict, name) in self.worst.items():
            print(f'{label:<28}{verdict.error:9.1e} {verdict.limit:9.0e}  {name}')
        for title, lines in (('Notes', self.notes), ('Skipped', self.skipped),
                             ('Over the limit', self.failures)):
            if lines:
                print(f'\n{title} ({len(lines)}):')
                print('\n'.join(f'  {line}' for line in lines))
        print(f'\n{self.robots} comparisons, {len(self.failures)} over the limit')
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
        peer = peer_of(model, peer_text(path.read_text()), floating)
    except (RbdError, ValueError) as error:
        reason = str(error).splitlines()[0].replace(str(path), path.name)
        expected = path.stem in UNREADABLE or any(word in reason for word in NOT_COMPARED)
        (report.skipped if expected else report.failures).append(f'{name}: {reason}')
        return
    if note:
        report.notes.append(f'{name}: {note}')
    robot = rbd_ros.Dynamics(model, backend=backend)
    states = random_states(model, count)
    results = list(compare(robot, peer, states, quantities, batch=backend != 'reference',
                           singular=path.stem in SINGULAR))
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
    print(f'{"robot":<50}{"nv":>4}  {"worst":>8} {"of":>8}  {"quantity":<24}{"time":>9}')
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
