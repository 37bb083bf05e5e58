# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""``./run record``: record the controller anew, or compare it with its recording."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
import sys
import time

from recorded_c import CodeInC
from recorded_step import fixed_clock, StepController
from recorder import Comparison, Record, record, replay
from recording_file import Coverage, FILE, read, seeds, write
from scenarios import FIRST_FROZEN, Scenario

__all__ = ['main']

HELP = """\
usage: ./run record [--check [--python | --c] | --cover]

Run the controller through random stories on a fake clock, each made from one seed, and write all
that is seen of it to test/recording/data. --check compares the controller with what is there
instead: its machine code or, with --python, the same functions in Python; with --c its C code is
compared with its machine code, step by step. --cover prints what is recorded.
"""

#: the words that go together
_FORMS: tuple[set[str], ...] = (
    set(), {'--cover'}, {'--check'}, {'--check', '--python'}, {'--check', '--c'})

#: the usual stories, and those of joints that stand by their sensors
SEEDS = FIRST_FROZEN + 42

#: of torques, as a share of their limits; rounding differs from machine to machine
TOLERANCE = 2e-9


def make(scenario: Scenario, backend: str = 'llvm') -> StepController:
    """
    Return a controller for a scenario.

    :param scenario: has robot and parameters.
    :param backend: 'llvm' or 'python'.
    """
    return StepController(scenario.robot, scenario.values, simulated=scenario.simulated,
                          backend=backend)


def _record_all() -> Iterator[tuple[int, Record]]:
    with fixed_clock():
        for seed in range(SEEDS):
            scenario = Scenario(seed)
            made = record(scenario, make(scenario))
            print(f'\r{seed + 1} of {SEEDS}: {scenario.robot}'.ljust(40), end='', flush=True)
            yield seed, made
    print()


def _check_all(backend: str) -> int:
    kinds: Counter[str] = Counter()
    events = torques = 0
    worst = 0.0
    with fixed_clock():
        for seed, recorded in read(seeds()):
            scenario = Scenario(seed)
            found = replay(scenario, make(scenario, backend), recorded,
                           Comparison(seed, TOLERANCE))
            events, torques = events + found.compared, torques + found.torques
            worst = max(worst, found.worst)
            for each in found.differences:
                kinds[each.column] += 1
                print(*each)
    print(f'{events} events and {torques} torques compared, largest difference {worst:.3g} of a '
          f'limit; differences: {dict(kinds) or "none"}')
    return 1 if kinds else 0


def _check_c() -> int:
    steps = different = 0
    worst, places = 0.0, {}
    with fixed_clock():
        for seed, recorded in read(seeds()):
            scenario = Scenario(seed)
            made = make(scenario)
            if scenario.robot not in places:
                places[scenario.robot] = CodeInC(scenario)
                print(f'{scenario.robot}: {places[scenario.robot].size()}')
            found = places[scenario.robot].check(made, lambda made=made, scenario=scenario: replay(
                scenario, made, recorded, Comparison(scenario.seed, TOLERANCE)))
            steps, worst = steps + found.steps, max(worst, found.worst)
            if found.different:
                different += 1
                print(f'seed {seed}, {scenario.robot}: {found.text}')
    print(f'{steps} steps in C, largest difference {worst:.3g} of its tolerance; seeds that '
          f'differ: {different}')
    return 1 if different else 0


def main(arguments: list[str]) -> int:
    """
    Do what is asked.

    :param arguments: of the command line.
    """
    asked = {*arguments}
    if asked not in _FORMS:
        print(HELP, end='')
        return 0 if asked <= {'-h', '--help'} else 2
    begin = time.process_time()
    status = 0
    if '--c' in asked:
        status = _check_c()
    elif '--check' in asked:
        status = _check_all('python' if '--python' in asked else 'llvm')
    else:
        if '--cover' not in asked:
            FILE.parent.mkdir(exist_ok=True)
            write(FILE, _record_all())
        print(Coverage.of(read(seeds())).table())
    print(f'{FILE.stat().st_size / 1e6:.2f} MB, {time.process_time() - begin:.0f} s of processor '
          'time')
    return status


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
