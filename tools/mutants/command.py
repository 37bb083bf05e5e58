# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What ``./run mutants`` does: draw faults, share them out among copies, tell what became of each.

A fault is killed if a test fails with it that passes without it, or does not end with it. It
survives if all tests pass that run in the sample of ``./run test``; it is timed out if its time
ended before that. Time that tests wait for a processor does not count.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
import os
from pathlib import Path
import queue
import random
import shutil
import signal
import sys
import tempfile
import threading

from mutants.copies import Copy, Outcome, Stopped
from mutants.faults import differs, Fault, places
from mutants.nearness import PACKAGE, Suite
from rbd_env import pace, progress
from rbd_env.failure import Failure
from rbd_env.layout import user_cache

BUDGET = 600.0  # s for a fault, at the usual pace
LONGEST = 120.0  # s for a test, at the usual pace
FIRST = 4  # files of tests in the first process; each further one has twice as many
INTERRUPTED = 130


@dataclass
class Verdict:
    """
    What became of a fault.

    :param word: killed, survived or timed out.
    :param test: that failed.
    :param near: in how many files that import the module a test was run, and how many do.
    """

    fault: Fault
    word: str = 'survived'
    test: str = ''
    hung: bool = False
    passed: int = 0
    seconds: float = 0.0
    near: tuple[int, int] = (0, 0)

    def told(self, number: int, count: int, source: bytes) -> str:
        """Return what is printed."""
        fault, seen = self.fault, f'{self.near[0]} of {self.near[1]} files that import it'
        if self.word == 'killed':
            why = f'by {self.test}' + (', which did not end' if self.hung else '')
        elif self.word == 'survived':
            why = f'{self.passed} tests passed, all that run'
        else:
            why = f'{self.passed} tests passed, {seen}'
        head = (f'{number:>3} of {count} {self.word:<9} {fault.path}:{fault.line} {fault.kind}, '
                f'{why}, in {self.seconds:.0f} s')
        return '\n'.join([head, *(f'        {line}' for line in fault.diff(source))])


@dataclass
class Trial:
    """
    The trial of drawn faults.

    :param root: of the checkout.
    :param budget: for a fault, in seconds.
    :param longest: for a test, in seconds.
    """

    root: Path
    suite: Suite
    faults: list[Fault]
    budget: float
    longest: float
    verdicts: list[Verdict] = field(default_factory=list)
    _sound: dict[str, bool] = field(default_factory=dict)  # of tests: whether they pass without
    _doing: dict[int, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, copies: Sequence[Copy], bar: progress.Bar) -> None:
        """Try all faults, each copy one at a time."""
        todo: queue.SimpleQueue[int] = queue.SimpleQueue()
        for number in range(len(self.faults)):
            todo.put(number)
        # Not threads that are joined: where that is interrupted, Python 3.12 takes them for ended.
        with ThreadPoolExecutor(len(copies)) as pool:
            working = [pool.submit(self._work, copy, todo, bar) for copy in copies]
            try:
                for each in working:
                    each.result()
            finally:
                for copy in copies:
                    copy.stop()

    def _work(self, copy: Copy, todo: queue.SimpleQueue[int], bar: progress.Bar) -> None:
        try:
            while True:
                number = todo.get_nowait()
                verdict = self._try(copy, self.faults[number], number, bar)
                with self._lock:
                    self.verdicts.append(verdict)
                    self._doing.pop(number, None)
                    source = (self.root / verdict.fault.path).read_bytes()
                    progress.clear()
                    print(verdict.told(number + 1, len(self.faults), source), flush=True)
                    bar.show(len(self.verdicts))
        except (queue.Empty, Stopped):
            pass

    def _try(self, copy: Copy, fault: Fault, number: int, bar: progress.Bar) -> Verdict:
        """Run tests, the likeliest first, until one fails because of the fault."""
        verdict = Verdict(fault)
        order = self.suite.order(fault)
        near, size = [str(test) for test, sees in order if sees], FIRST
        rest = [str(test) for test, _ in order]
        seen: set[str] = set()

        def tell(test: str) -> None:
            self._doing[number] = test
            bar.show(len(self.verdicts), ', '.join(
                f'{self.faults[each].path}:{self.faults[each].line} {name.rpartition("/")[2]}'
                for each, name in list(self._doing.items())))
        while rest and verdict.word == 'survived':
            batch, rest = rest[:size], rest[size:]
            size *= 2
            for group in ([each for each in batch if is_launch == ('/launch/' in each)]
                          for is_launch in (False, True)):
                if not group or verdict.word != 'survived':
                    continue
                outcome = self._kills(copy, fault, group, self.budget - verdict.seconds, tell)
                verdict.passed += outcome.passed
                verdict.seconds += outcome.seconds
                verdict.test, verdict.hung = outcome.failed, outcome.hung
                if outcome.failed:
                    verdict.word = 'killed'
                elif not outcome.complete:
                    verdict.word = 'timed out'
                seen |= outcome.files
        verdict.near = (len(seen.intersection(near)), len(near))
        return verdict

    def _kills(self, copy: Copy, fault: Fault, tests: list[str], seconds: float,
               tell: Callable[[str], None]) -> Outcome:
        """Run tests with a fault until one fails that passes without it."""
        total = Outcome()
        while True:
            unsound = {test for test, sound in self._sound.items() if not sound}
            with copy.planted(fault):
                outcome = copy.run([each for each in tests if each not in unsound], unsound,
                                   seconds - total.seconds, self.longest, tell)
            total.passed += outcome.passed
            total.seconds += outcome.seconds
            total.files |= outcome.files
            if not outcome.failed or self._passes(copy, outcome.failed, tests):
                return replace(outcome, passed=total.passed, seconds=total.seconds,
                               files=total.files)

    def _passes(self, copy: Copy, test: str, tests: list[str]) -> bool:
        """Return whether a test passes without a fault, a file whether it can be read."""
        if test not in self._sound:
            if '::' in test:
                outcome = copy.run([test], set(), 2.0 * self.longest, self.longest)
            else:
                outcome = copy.run([test] if test != 'pytest' else tests, {'all'},
                                   2.0 * self.longest, self.longest)
            self._sound[test] = outcome.complete and not outcome.failed
            if not self._sound[test]:
                print(f'{test} does not pass without a fault either, and is left out:\n'
                      f'{copy.said()}', file=sys.stderr, flush=True)
                if test == 'pytest':
                    raise Failure('pytest ends with an error without any fault')
        return self._sound[test]


def draw(root: Path, seed: int, room: str, count: int) -> tuple[list[Fault], int]:
    """
    Draw faults: a line, each as likely, and one of those that can be planted there.

    :param room: a folder of the package, '' for all.
    :returns: the faults, and among how many lines they were drawn.
    """
    lines: dict[tuple[str, int], list[Fault]] = {}
    for file in sorted((root / PACKAGE / room).rglob('*.py')):
        path = str(file.relative_to(root))
        for fault in places(path, file.read_bytes()):
            lines.setdefault((path, fault.line), []).append(fault)
    chance = random.Random(f'{seed} {room}')
    order, drawn = list(lines), []
    chance.shuffle(order)
    for path, line in order:
        fault = chance.choice(lines[path, line])
        if len(drawn) < count and differs(fault, (root / path).read_bytes()):
            drawn.append(fault)
        if len(drawn) == count:
            break
    return drawn, len(order)


def at(root: Path, place: str, count: int) -> list[Fault]:
    """Return all faults of a line, of a ``file:line``."""
    path, _, line = place.rpartition(':')
    source = (root / path).read_bytes()
    return [fault for fault in places(path, source)
            if fault.line == int(line) and differs(fault, source)][:count]


def summary(verdicts: list[Verdict]) -> list[str]:
    """Return how many faults of each room were killed, and what was not."""
    rooms: dict[str, Counter[str]] = {}
    for each in verdicts:
        rooms.setdefault(Path(each.fault.path).parts[1], Counter())[each.word] += 1
    total = sum(rooms.values(), Counter())
    lines = ['', '######## summary']
    for room, found in [*sorted(rooms.items()), *([('all', total)] if len(rooms) > 1 else [])]:
        decided = found['killed'] + found['survived']
        share = f', {100 * found["killed"] / decided:.0f} % of those decided' if decided else ''
        lines.append(f'{room:<14} {found["killed"]} killed, {found["survived"]} survived, '
                     f'{found["timed out"]} timed out{share}')
    lines += [f'{each.word:<14} {each.fault.path}:{each.fault.line} {each.fault.kind}'
              for each in sorted(verdicts, key=lambda each: (each.word, each.fault.path))
              if each.word != 'killed']
    return lines


def sample(root: Path) -> str:
    """Return what ``./run test`` draws its sample from: the digest of the sources."""
    harness = root / 'test' / 'harness'
    if not (harness / 'sampling.py').exists():
        return ''
    sys.path.insert(0, str(harness))
    from sampling import digest
    return str(digest())


def warm(cache: Path) -> None:
    """Begin with the compiled code that the user has; what faults lead to stays apart."""
    cache.mkdir(parents=True, mode=0o700)
    wish = os.environ.get('RBD_ROS_CACHE')
    for file in (Path(wish) / PACKAGE if wish else user_cache(dict(os.environ))).glob('*.rbd'):
        try:
            os.link(file, cache / file.name)
        except OSError:  # another file system
            shutil.copy2(file, cache / file.name)


def trial(root: Path, faults: list[Fault], budget: float, launch: bool) -> int:
    """Try faults in copies, which are removed however it ends; return the exit code."""
    place = Path(tempfile.mkdtemp(prefix='rbd_ros_mutants_'))
    count = min(len(os.sched_getaffinity(0)), len(faults))
    tried = Trial(root, Suite(root, launch), faults, budget, pace.patient(LONGEST))
    interrupted = False
    # a shell that starts it in the background has it ignore SIGINT
    before = {each: signal.signal(each, signal.default_int_handler)
              for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        warm(place / 'cache' / PACKAGE)
        seed = sample(root)
        copies = [Copy(root, place / str(number), place / 'cache', seed)
                  for number in range(count)]
        for copy in copies:
            copy.make()
        with progress.Bar('trying faults', len(faults), 'faults') as bar:
            tried.run(copies, bar)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        for each in before:
            signal.signal(each, signal.SIG_IGN)  # what follows is short
        shutil.rmtree(place, ignore_errors=True)
        if prefix := os.environ.get('PYTHONPYCACHEPREFIX'):
            shutil.rmtree(Path(prefix) / place.relative_to('/'), ignore_errors=True)
        for each, handler in before.items():
            signal.signal(each, handler)
    print('\n'.join(summary(tried.verdicts)), flush=True)
    if interrupted:
        print(f'./run mutants: interrupted after {len(tried.verdicts)} of {len(faults)} faults; '
              'the copies are removed', file=sys.stderr)
        return INTERRUPTED
    return int(any(each.word != 'killed' for each in tried.verdicts))


def parser(root: Path) -> argparse.ArgumentParser:
    """Return what reads the command line."""
    rooms = sorted(path.name for path in (root / PACKAGE).iterdir()
                   if path.is_dir() and any(path.glob('*.py')))

    def number(text: str) -> int:
        if not text.isdecimal():
            raise argparse.ArgumentTypeError(f'"{text}" is no whole number, such as 7')
        return int(text)

    def positive(text: str) -> int:
        if number(text) < 1:
            raise argparse.ArgumentTypeError('at least 1 is expected')
        return int(text)

    def room(text: str) -> str:
        if text not in rooms:
            raise argparse.ArgumentTypeError(
                f'no room "{text}" below {PACKAGE}; there are {", ".join(rooms)}')
        return text

    def line(text: str) -> str:
        path, _, row = text.rpartition(':')
        if not row.isdecimal() or not path.startswith(f'{PACKAGE}/') or not (
                root / path).is_file():
            raise argparse.ArgumentTypeError(
                f'"{text}" is no line of the package, such as {PACKAGE}/errors.py:30')
        return text
    made = argparse.ArgumentParser(
        prog='./run mutants', description='Plant faults at random in copies of the checkout, and '
        'see whether the tests find them. Without --launch, tests that start processes of ROS are '
        'left out. Exit codes: 0 all were killed, 1 some were not, 2 usage, 130 interrupted.')
    which = made.add_mutually_exclusive_group(required=True)
    which.add_argument('--seed', type=number, metavar='N',
                       help='what is drawn; the same for the same sources')
    which.add_argument('--at', type=line, metavar='FILE:LINE',
                       help='all faults of this line instead')
    made.add_argument('--room', type=room, metavar='R',
                      help=f'draw in one folder of the package: {", ".join(rooms)}')
    made.add_argument('--count', type=positive, default=0, metavar='K',
                      help='how many faults; 10 if it is not said')
    made.add_argument('--budget', type=positive, default=0, metavar='SECONDS',
                      help=f'for a fault; {BUDGET:.0f} on a machine that is quiet')
    made.add_argument('--launch', action='store_true', help='run test/launch as well')
    made.add_argument('--list', action='store_true', help='show the faults, run nothing')
    return made


def main(arguments: list[str], root: Path) -> int:
    """Run the command; return the exit code."""
    asked = parser(root).parse_args(arguments)
    if asked.at:
        faults = at(root, asked.at, asked.count or sys.maxsize)
        told = f'{len(faults)} faults of {asked.at}'
    else:
        faults, lines = draw(root, asked.seed, asked.room or '', asked.count or 10)
        told = f'{len(faults)} faults of {lines} lines, seed {asked.seed}'
    if not faults or asked.list:
        print(told)
        for fault in faults:
            print(f'{fault.path}:{fault.line} {fault.kind}')
            print('\n'.join(f'        {line}' for line in fault.diff(
                (root / fault.path).read_bytes())))
        return 0
    if pace.VARIABLE not in os.environ:
        os.environ[pace.VARIABLE] = f'{pace.measure():.2f}'
    budget = float(asked.budget) or pace.patient(BUDGET)
    print(f'{told}; {budget:.0f} s for each', flush=True)
    try:
        return trial(root, faults, budget, asked.launch)
    except Failure as failure:
        print(failure.paragraph(), file=sys.stderr)
        return 1
