# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Run pytest in stages and keep what each test did."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
import json
import os
from pathlib import Path
import subprocess
import sys
import time
from typing import Any

from rbd_env import pace
from rbd_env.layout import made_folder

SHOWN = 8  # files that took longest, in the summary
NO_TESTS = 5  # pytest's exit code when nothing was selected
LINTERS = ('copyright', 'layout', 'mypy', 'ruff', 'xml')
# the plugins of launch_testing import every module to look for launch descriptions
WITHOUT_LAUNCH = ('-p', 'no:launch_testing', '-p', 'no:launch_ros')
# in the order of test/harness/ordering.py
BY_FILE = ('--dist', 'loadfile', '--no-loadscope-reorder', '--max-worker-restart', '0')
# at most; more unit tests at a time would want more memory than they save time
WORKERS = {'linters': 1, 'unit tests': 4, 'launch tests': 6, 'browser tests': 1,
           'scale tests': 1}
# for each processor: launch tests wait for the time that a stop takes, for answers, for an end
FOR_A_PROCESSOR = {'launch tests': 1.5}
# workers have the processors already: more threads of the linear algebra would only spin
ONE_THREAD = {'OPENBLAS_NUM_THREADS': '1'}
# a third of their time was LLVM's, most of that the order of instructions and the choice of
# registers, which change no result to the last bit; benchmarks run the code that users get
QUICK = {'RBD_ROS_COMPILE': 'quick'}
# s of one worker, on a machine of pace 1, that the tests of test/heavy.csv may take in a run of
# the whole suite; the others always run
HEAVY = {'unit tests': 150.0, 'launch tests': 180.0}
# what shows tests as they run, or asks for other workers, wants one process
ONE_PROCESS = ('-s', '--capture', '--pdb', '--trace', '--collect-only', '--co', '-n',
               '--numprocesses', '--dist')


@dataclass
class Stage:
    """A part of the test suite, run by one pytest process."""

    name: str
    arguments: list[str]
    code: int = NO_TESTS
    started: float = 0.0  # s, on the clock that never goes back
    seconds: float = 0.0
    whole: bool = False
    beside: bool = False  # whether another stage runs at the same time
    complete: bool = False  # whether all its tests were asked for, so that none is a failure
    skipped: str = ''  # why it does not run at all
    python: str = ''  # interpreter, if it is not this one
    variables: dict[str, str] | None = None  # of the process, if they are not those of this one

    def distribution(self, extra: list[str]) -> list[str]:
        """
        Return the options that share the stage out among the processors.

        A file is the unit: its tests share fixtures and the machine code that they compile. What
        was named on the command line, or chosen by a word, runs in one process, which starts
        faster: to find its tests, each worker would import them all. Linters fork,
        which a worker with its threads must not. A worker that dies is not replaced (with files
        as units the replacement may wait for ever), and the tests it had left are named as lost.
        """
        processors = len(os.sched_getaffinity(0))
        workers = min(
            int(processors * FOR_A_PROCESSOR.get(self.name, 1)), WORKERS[self.name])
        alone = any(word.partition('=')[0] in ONE_PROCESS or word.startswith('-n')
                    for word in extra) or picks_few(extra)
        if not self.whole or workers < 2 or alone:
            return []
        return ['-n', str(workers), *BY_FILE]

    def run(self, root: Path, extra: list[str]) -> None:
        """Run it; outcomes go to the results folder of the checkout."""
        results = results_file(root, self.name)
        results.parent.mkdir(parents=True, exist_ok=True)
        results.unlink(missing_ok=True)
        results.with_suffix('.sampled').unlink(missing_ok=True)
        print(f'\n######## {self.name}', flush=True)
        if self.skipped:
            print(f'skipped: {self.skipped}', flush=True)
            return
        self.started = time.monotonic()
        made = made_folder(root, os.environ)  # the checkout itself may be read-only
        process = subprocess.Popen(
            [self.python or sys.executable, '-m', 'pytest', '-o', f'cache_dir={made / "pytest"}',
             '-o', f'timeout={pace.patient(pace.LIMIT):.0f}', *self.arguments,
             *self.distribution(extra), *extra], cwd=root,
            env={**QUICK, **(ONE_THREAD if self.name == 'unit tests' else {}),
                 **(os.environ if self.variables is None else self.variables),
                 'RBD_ROS_RESULTS': str(results), 'MYPY_CACHE_DIR': str(made / 'mypy')},
            stdout=subprocess.PIPE if self.beside else None,
            stderr=subprocess.STDOUT if self.beside else None, text=True, errors='replace')
        if self.beside:
            assert process.stdout is not None
            for line in process.stdout:  # whole lines: those of the other stage come between
                print(f'{self.name} | {line}', end='', flush=True)
        self.code = process.wait()
        self.seconds = time.monotonic() - self.started

    @property
    def failed(self) -> bool:
        """Whether anything but tests that pass was seen, or none where all were asked for."""
        if self.skipped:
            return False
        return self.code != 0 and not (self.code == NO_TESTS and not self.complete)

    def counts(self, root: Path) -> Counter[str]:
        """Count the outcomes."""
        return Counter(entry['outcome'] for entry in read_results(root, self.name).values())

    def reasons(self, root: Path) -> list[str]:
        """Return the slowest files and each reason of skips."""
        found = read_results(root, self.name)
        files: Counter[str] = Counter()
        for name, entry in found.items():
            files[Path(name.partition('::')[0]).stem] += entry.get('seconds', 0.0)
        slow = [f'{name} {seconds:.0f} s' for name, seconds in files.most_common(SHOWN)
                if seconds >= 1.0]
        lines = [f'longest: {", ".join(slow)}'] if slow and len(files) > 1 else []
        skips = Counter(entry.get('reason', 'no reason') for entry in found.values()
                        if entry['outcome'] == 'skipped')
        return lines + [f'skipped {count}: {reason}' for reason, count in skips.items()]


def picks_few(options: list[str]) -> bool:
    """Whether ``-k`` names what shall run; with a ``not`` in it, it may be nearly everything."""
    chosen = [option[2:] or following for option, following in
              zip(options, [*options, ''][1:], strict=True) if option.startswith('-k')]
    return any('not' not in each.replace('(', ' ').split() for each in chosen)


def results_file(root: Path, stage: str) -> Path:
    """Return where the outcomes of a stage are kept."""
    return made_folder(root, os.environ) / 'results' / f'{stage.replace(" ", "-")}.json'


def read_sampled(root: Path, stage: str) -> dict[str, dict[str, int]]:
    """Return of each kind of heavy tests how many the last run of a stage took, of how many."""
    try:
        return dict(json.loads(results_file(root, stage).with_suffix('.sampled').read_text()))
    except (OSError, ValueError):
        return {}


def read_results(root: Path, stage: str) -> dict[str, dict[str, Any]]:
    """Return the outcome of each test of the last run of a stage."""
    try:
        return dict(json.loads(results_file(root, stage).read_text()))
    except (OSError, ValueError):
        return {}


def linter_files(root: Path) -> list[str]:
    """Return the test modules that run linters."""
    return [f'test/package/test_{name}.py' for name in LINTERS
            if (root / 'test' / 'package' / f'test_{name}.py').exists()]


def split_paths(root: Path, arguments: list[str]) -> tuple[list[str], list[str]]:
    """Divide the arguments into files or test ids that were named, and options."""
    def exists(word: str) -> bool:
        try:
            return (root / word.partition('::')[0]).exists()
        except OSError:  # longer than a name of a file may be: an expression of -k
            return False
    named = [word for word in arguments if not word.startswith('-') and exists(word)]
    return named, [word for word in arguments if word not in named]


def kind(path: str, root: Path) -> str:
    """Return which stage a named file or folder belongs to."""
    file = Path(os.path.relpath(root / path.partition('::')[0], root))
    if file.parts[:2] == ('test', 'launch'):
        return 'launch tests'
    if file.parts[:2] == ('test', 'browser'):
        return 'browser tests'
    if file.parts[:2] == ('test', 'scale'):
        return 'scale tests'
    return 'linters' if str(file) in linter_files(root) else 'unit tests'


def suite(root: Path, named: list[str]) -> list[Stage]:
    """Return the stages: of the whole suite, to which scale does not belong, or of the named."""
    linters = linter_files(root)
    default = {
        'linters': linters,
        'unit tests': ['test', '--ignore', 'test/launch', '--ignore', 'test/browser',
                       '--ignore', 'test/scale',
                       *(word for file in linters for word in ('--ignore', file))],
        'launch tests': ['test/launch'],
        'browser tests': ['test/browser'],
    }
    whole = not named or named == ['test']
    if not whole:
        default = {name: [path for path in named if kind(path, root) == name]
                   for name in (*default, 'scale tests')}
    fixed = {'linters': (*WITHOUT_LAUNCH, '--show-capture=no'), 'unit tests': WITHOUT_LAUNCH,
             'launch tests': (), 'browser tests': WITHOUT_LAUNCH, 'scale tests': WITHOUT_LAUNCH}
    drawn = {name: [f'--budget={seconds}'] if whole else [] for name, seconds in HEAVY.items()}
    return [Stage(name, [*fixed[name], *drawn.get(name, ()), *paths], whole=whole)
            for name, paths in default.items() if paths]
