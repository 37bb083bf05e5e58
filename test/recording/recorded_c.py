# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The C code of the controller, run on what machine code was given in a scenario."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
import re
import subprocess
from tempfile import NamedTemporaryFile
from typing import NamedTuple

from c_functions import COMPILER, compiler_key
from once import once
from rbd_env.pace import patient
from rbd_ros.command_line.c_controller import with_main
from rbd_ros.control.controller import Controller
from rbd_ros.control.parameters.assembly import build_settings
from rbd_ros.control.tape import Tape
from recorded_robots import controlled_robot, law_graphs, law_kernels
from recorded_step import StepController
from scenarios import Scenario

__all__ = ['CodeInC', 'Found']

#: of torques, as a share of their limits; states are the same
SHARE = 1e-12

#: as firmware may be compiled; fused products would be other numbers
FLAGS = ('-std=c99', '-Wall', '-Wextra', '-Werror', '-pedantic', '-ffp-contract=off')


def _compile(files: Mapping[str, str], flags: Sequence[str], folder: Path) -> None:
    """Make the program of some sources."""
    for name, text in files.items():
        (folder / name).write_text(text)
    for name in [name for name in files if name.endswith('.c')]:
        subprocess.run([str(COMPILER), *flags, '-c', name], cwd=folder, check=True,
                       timeout=patient(120))
    subprocess.run([str(COMPILER), 'main.o', 'ctl.o', 'ctl_kernels.o', '-o', 'main', '-lm'],
                   cwd=folder, check=True, timeout=patient(20))


class Found(NamedTuple):
    """
    How C code compares.

    :param steps: that were done.
    :param different: numbers that differ by more than they may.
    :param worst: largest difference of a torque, as a share of what it may be.
    :param text: the first of them.
    """

    steps: int
    different: int
    worst: float
    text: str


class CodeInC:
    """
    The controller of one kind of robot.

    :param scenario: one of its scenarios.
    :param level: to which it is optimised.
    """

    def __init__(self, scenario: Scenario, level: str = '-O2') -> None:
        assert COMPILER is not None, 'this machine has no C compiler'
        kernels, robot = law_kernels(scenario.robot), controlled_robot(scenario.robot)
        settings = build_settings(robot, scenario.values, simulated=scenario.simulated)
        self._like = Controller(settings, kernels, lambda _: None)
        files = with_main(self._like, law_graphs(scenario.robot, kernels), 'ctl')
        flags = (*FLAGS, level)
        self._folder = once('controller', [*compiler_key(), *flags, sorted(files.items())],
                            lambda folder: _compile(files, flags, folder))

    def size(self) -> str:
        """Return how much memory it needs."""
        done = subprocess.run(['size', 'ctl.o', 'ctl_kernels.o', 'main.o'], cwd=self._folder,
                              capture_output=True, text=True, check=True)
        code, kernels, main = [line.split() for line in done.stdout.splitlines()[1:]]
        return (f'{main[2]} bytes of memory, {code[0]} of code and constants of the step, '
                f'{kernels[0]} of kernels')

    def check(self, made: StepController, play: Callable[[], object]) -> Found:
        """
        Let a controller play, and compare with it.

        :param made: the controller as machine code, to which nothing has happened yet.
        :param play: what happens to it.
        """
        with NamedTemporaryFile('w', suffix='.txt') as file:
            tape = Tape(made.controller, file.write, self._like, SHARE)
            play()
            tape.expect_state()
            file.flush()
            done = subprocess.run([str(self._folder / 'main'), file.name, 'y.send'],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  check=False, timeout=patient(120))
        *lines, last = done.stderr.splitlines() or ['nothing']
        found = re.match(r'(\d+) steps, \d+ numbers compared, (\d+) .* (\S+) of', last)
        assert found, f'main ended with {done.returncode}: {last}'
        return Found(int(found[1]), int(found[2]), float(found[3]), lines[0] if lines else '')
