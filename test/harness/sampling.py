# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Two sizes, one suite: heavy proofs run on a sample, and whole with ``--all``.

Tests that took a tenth of a second or more in the last whole run stand in ``test/heavy.csv`` with
their times. A run of the whole suite draws from them as many as fit into a budget of time; nobody
marks them. Beyond that there are three ways to say what is heavy, each with its kind, one of
``KINDS``:

- ``@pytest.mark.sampled('recordings', 3)``: of the cases of a test (of all tests of a module,
  where the mark is in its ``pytestmark``) three are run; with ``pool='stories'`` three of all
  tests, or of all modules, that have this pool, in whatever file, or of what has one ``unit=``;
- ``some('robots', cases, 5)`` within a test: five of the cases;
- ``examples('properties', 200)``: how many examples hypothesis looks at, a tenth in a sample.

Which ones hangs on the digest of the sources alone, or on ``--seed N``: the same commit always
runs the same tests, the next one others. A test that is named by its id is always run. What was
left out is told to the summary; nothing is left out unseen.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
import csv
from functools import cache
import hashlib
import os
from pathlib import Path
import random
from typing import Any, TypeVar

import pytest

ROOT = Path(__file__).parents[2]

#: What may be sampled, by its kind, for ``--all KIND``.
KINDS = {
    'configurations': 'settings of a program or a robot that go the same way',
    'examples': 'what the documentation shows, run as it stands there',
    'formats': 'formats of messages and files',
    'heavy': 'tests that take longest, drawn up to a budget of time',
    'launches': 'started graphs of nodes',
    'properties': 'random examples of a property',
    'recordings': 'stories of the recorded behaviour of the controller',
    'robots': 'tables of many robots',
    'simulations': 'long motions of a simulated robot',
    'sweeps': 'rates, delays, steps and the like over a range',
    'walks': 'exhaustive walks through states',
}

#: What notes that all was run, and how long it took: the first changes no test.
RECORD, TIMES = 'whole_runs.csv', 'heavy.csv'

#: Folders whose contents decide which sample is drawn.
SOURCES = ('rbd_ros', 'test', 'config', 'launch', 'scripts', 'urdf', 'tools', 'benchmark')

Case = TypeVar('Case')

_chosen = 'RBD_ROS_TEST_KINDS', 'RBD_ROS_TEST_SEED'  # also for what tests start, and for workers
_running: list[pytest.Item] = []
_left_out: dict[str, Counter[str]] = defaultdict(Counter)


@cache
def digest() -> str:
    """Return the digest of the sources."""
    found = hashlib.sha256()
    for folder in SOURCES:
        for file in sorted((ROOT / folder).rglob('*')):
            if file.is_file() and '__pycache__' not in file.parts and file.name != RECORD:
                found.update(str(file.relative_to(ROOT)).encode() + b'\0')
                found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()[:12]


def seed() -> str:
    """Return what the sample is drawn from."""
    return os.environ.get(_chosen[1]) or digest()


def whole(kind: str) -> bool:
    """Return whether all of a kind is run."""
    if kind not in KINDS:
        raise ValueError(f'no kind of sample "{kind}"; there are {", ".join(KINDS)}')
    return bool({'all', kind} & set(os.environ.get(_chosen[0], '').split(',')))


def _draw(kind: str, name: str, count: int, keep: int) -> list[int]:
    if whole(kind) or keep >= count:
        return list(range(count))
    return sorted(random.Random(f'{seed()} {kind} {name}').sample(range(count), keep))


def some(kind: str, cases: Iterable[Case], keep: int) -> list[Case]:
    """
    Return some of the cases of the test that runs, in their order; all of them with ``--all``.

    :param kind: one of ``KINDS``.
    :param keep: how many are enough.
    """
    cases = list(cases)
    item = _running[-1]
    drawn = _draw(kind, item.nodeid, len(cases), keep)
    item.user_properties.append(('sampled', [kind, len(drawn), len(cases)]))
    return [cases[k] for k in drawn]


def examples(kind: str, count: int) -> int:
    """Return how many examples of a property are looked at: a tenth, 5 at least, in a sample."""
    return count if whole(kind) else min(count, max(5, count // 10))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--all`` and ``--seed``."""
    group = parser.getgroup('rbd_ros')
    group.addoption('--all', nargs='?', const='all', default='', metavar='KINDS', dest='kinds',
                    help='run all of what is heavy, or of these kinds: ' + ', '.join(KINDS))
    group.addoption('--budget', type=float, default=0.0, metavar='S',
                    help='s that the tests of heavy.csv may take, of one worker; 0: all run')
    group.addoption('--seed', default='', metavar='N', dest='sample_seed',
                    help='draw another sample of what is heavy')
    group.addoption('--shuffle', default='', metavar='N', dest='order_seed',
                    help='run tests in a random order')


def choose(config: pytest.Config) -> None:
    """Take over what the command line says, for this process and those that it starts."""
    for kind in filter(None, config.option.kinds.split(',')):
        if kind != 'all':
            try:
                whole(kind)
            except ValueError as error:
                raise pytest.UsageError(str(error)) from None
    for name, value in zip(_chosen, (config.option.kinds, config.option.sample_seed)):
        if value:
            os.environ[name] = str(value)
    os.environ.setdefault(_chosen[1], digest())


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what is not in the sample."""
    named = {word for word in config.args if '::' in word}
    groups: dict[tuple[str, str], dict[str, list[pytest.Item]]] = defaultdict(dict)
    keeps: dict[tuple[str, str], float] = {}
    touched: dict[str, set[pytest.Item]] = defaultdict(set)
    for item in items:
        if any(item.nodeid.startswith(word) for word in named):
            continue
        for node, mark in item.iter_markers_with_node('sampled'):
            kind, keep = mark.args
            pool = mark.kwargs.get('pool')
            group = kind, pool or (item.nodeid.partition('[')[0] if node is item else node.nodeid)
            unit = mark.kwargs.get('unit', node.nodeid) if pool else item.nodeid
            groups[group].setdefault(unit, []).append(item)
            keeps[group] = keep
            touched[kind].add(item)
    dropped: set[pytest.Item] = set()
    for (kind, base), units in groups.items():
        keep, names = keeps[kind, base], sorted(units)
        count = keep if isinstance(keep, int) else max(1, round(keep * len(names)))
        kept = {names[k] for k in _draw(kind, base, len(names), count)}
        dropped.update(item for name in names if name not in kept for item in units[name])
    for kind, found in touched.items():
        _left_out[kind].update(kept=len(found - dropped), of=len(found))
    dropped |= _beyond_budget([item for item in items if item not in dropped],
                              config.option.budget, heavy_tests(config.rootpath))
    if hasattr(config, 'workeroutput'):
        config.workeroutput['left_out'] = {kind: dict(each) for kind, each in _left_out.items()}
    if dropped:
        config.hook.pytest_deselected(items=sorted(dropped, key=lambda each: each.nodeid))
        items[:] = [item for item in items if item not in dropped]


def heavy_tests(root: Path) -> dict[str, float]:
    """Return the tests that take longest, without their cases, and their s of one worker."""
    try:
        with open(root / 'test' / TIMES, newline='', encoding='utf-8') as file:
            return {row['test']: float(row['seconds']) for row in csv.DictReader(file)}
    except OSError:
        return {}


def _beyond_budget(items: list[pytest.Item], budget: float,
                   times: dict[str, float]) -> set[pytest.Item]:
    """Return what is left out of the tests that take longest: they are drawn while they fit."""
    found: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        name = item.nodeid.partition('[')[0]
        if name in times and not any(mark.kwargs.get('pool')
                                     for mark in item.iter_markers('sampled')):
            found[name].append(item)
    order = sorted(found)
    random.Random(f'{seed()} heavy').shuffle(order)
    left, dropped = budget, set()
    for name in order if budget > 0.0 and not whole('heavy') else ():
        if times[name] <= left:
            left -= times[name]
        else:
            dropped.update(found[name])
    if found:
        count = sum(map(len, found.values()))
        _left_out['heavy'].update(kept=count - len(dropped), of=count)
    return dropped


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over what a worker left out; all of them collect the same."""
    for kind, counts in getattr(node, 'workeroutput', {}).get('left_out', {}).items():
        _left_out[kind] = Counter(counts)


def begin(item: pytest.Item) -> None:
    """Note which test runs, for ``some``."""
    _running[:] = [item]


def told(sampled: Sequence[Sequence[object]]) -> dict[str, dict[str, int]]:
    """Return what was run of each kind: of marks, and of what tests say of themselves."""
    total: dict[str, Counter[str]] = defaultdict(Counter)
    for kind, counts in _left_out.items():
        total[kind].update(counts)
    for kind, kept, of in sampled:
        total[str(kind)].update(kept=int(str(kept)), of=int(str(of)))
    return {kind: dict(counts) for kind, counts in sorted(total.items())}
