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

"""``./run seeds``: which items of the source documents have a passing test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import csv
import hashlib
import os
from pathlib import Path
import re
import sys
from typing import Any, NamedTuple

from rbd_env import marks, stages
from rbd_env.layout import made_folder

HELP = """\
usage: ./run seeds [--last | --record]

Print, per document and chapter, how many items of test/seed_ledger.csv have a passing test and
which have none. An item counts only if every test that is marked with it passes, with all of its
parameters. What is marked with oracle=True, because a test computes it and the package does not,
is counted apart. Runs the marked tests first unless the last full test run was of these files;
--last reports that run whatever has changed since. The exit code is 0 only if each item has a
passing test, and all marks are those of test/seed_marks.csv; --record writes them there.
"""
MARKS_CHANGED = (f'the marks are not those of {marks.RECORD}: if that is meant, '
                 './run seeds --record writes them there')
STAGES = ('unit tests', 'launch tests')
PASSED = ('passed', 'repeated')
# whatever the outcome of a test may depend on
COVERED = ('rbd_ros', 'test', 'launch', 'config', 'urdf', 'examples', 'tools', 'docs', 'benchmark',
           'resource', 'run', 'requirements.txt', 'pyproject.toml', 'setup.py', 'setup.cfg',
           'package.xml', 'README.md', 'CONTRIBUTING.md', 'CHANGELOG.rst',
           'QUALITY_DECLARATION.md')


def read_ledger(path: Path) -> list[str]:
    """Return the ids of all items, in the order of the file."""
    with open(path, newline='', encoding='utf-8') as file:
        return [row['id'] for row in csv.DictReader(file)]


def chapter_of(name: str) -> tuple[str, str]:
    """Return the document and the chapter that an id such as "RBDA 5-03" belongs to."""
    document, _, rest = name.rpartition(' ')
    found = re.match(r'(\w+)-|([A-Z]+)', rest)
    return document, (found[1] or found[2]) if found else ''


class Tally(NamedTuple):
    """
    Ids by how their tests ended.

    :param passed: every test that carries the id has passed, with all its parameters.
    :param oracle: the same, but each of these tests computes the item by itself.
    :param failed: some test that carries the id has failed or was skipped.
    """

    passed: set[str]
    oracle: set[str]
    failed: set[str]


def tally(results: Iterable[Mapping[str, Any]]) -> Tally:
    """
    Return what the recorded outcomes say of each id.

    :param results: outcome of each test, with the ids that it is marked with.
    """
    good: set[str] = set()
    oracle: set[str] = set()
    bad: set[str] = set()
    for entry in results:
        ids, inside = set(entry['seeds']), set(entry.get('oracle', ()))
        if entry['outcome'] in PASSED:
            good |= ids - inside
            oracle |= inside
        else:
            bad |= ids
    return Tally(good - bad, oracle - good - bad, bad)


def report(ids: list[str], found: Tally) -> str:
    """Return the table; an id that the ledger lacks is an error."""
    unknown = sorted(set().union(*found) - set(ids))
    if unknown:
        raise ValueError(f'not in the ledger: {", ".join(unknown)}')
    chapters: dict[tuple[str, str], list[str]] = {}
    for name in ids:
        chapters.setdefault(chapter_of(name), []).append(name)
    lines, document = [], None
    for (title, chapter), items in chapters.items():
        if title != document:
            document = title
            mine = [name for name in ids if chapter_of(name)[0] == title]
            lines += ['', f'{title}: {len(found.passed & set(mine))} of {len(mine)}']
        have = len(found.passed & set(items))
        groups = {'failing': found.failed, 'oracle': found.oracle,
                  'without': set(items).difference(*found)}
        tail = ''.join(
            f'   {word}: {" ".join(name.rpartition(" ")[2] for name in items if name in group)}'
            for word, group in groups.items() if group & set(items))
        lines.append(f'  {chapter:>4} {have:>4} of {len(items):<4}{tail}'.rstrip())
    lines += ['', f'seeds: {len(found.passed)} of {len(ids)} items have a passing test']
    if found.oracle:
        lines[-1] += f', {len(found.oracle)} more are computed in a test only (oracle)'
    return '\n'.join(lines)


def fingerprint(root: Path) -> str:
    """Return a digest of the files that the outcome of a test depends on."""
    digest = hashlib.sha256()
    for top in COVERED:
        for path in sorted([root / top, *(root / top).rglob('*')]):
            if path.is_file() and '__pycache__' not in path.parts:
                digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()


def stamp(root: Path) -> Path:
    """Return the file that says of which files the kept outcomes are."""
    return made_folder(root, os.environ) / 'results' / 'fingerprint'


def run_marked(root: Path) -> bool:
    """Run all tests that carry the mark; return whether all of them pass."""
    fine = True
    for stage in stages.suite(root, []):
        if stage.name in STAGES:
            stage.run(root, ['-m', 'seed', '-q', '--no-header'])
            fine = fine and not stage.failed
    if fine:
        keep(root)
    return fine


def keep(root: Path) -> None:
    """Note that the outcomes are those of all marked tests with the files as they are."""
    stamp(root).write_text(fingerprint(root))


def main(arguments: list[str], root: Path) -> int:
    """Print the report."""
    if arguments not in ([], ['--last'], ['--record']):
        print(HELP, end='', file=sys.stderr)
        return 0 if arguments[0] in ('-h', '--help') else 2
    changed = marks.changes(root)
    if arguments == ['--record']:
        marks.record(root)
        print('\n'.join([*changed, f'{marks.RECORD} is written']))
        return 0
    kept = stamp(root)
    fine = True
    if not arguments and not (kept.exists() and kept.read_text() == fingerprint(root)):
        fine = run_marked(root)
    results = [entry for name in STAGES for entry in stages.read_results(root, name).values()]
    try:
        ids, found = read_ledger(root / 'test' / 'seed_ledger.csv'), tally(results)
        print(report(ids, found))
    except ValueError as error:
        print(f'./run seeds: {error}', file=sys.stderr)
        return 1
    missing = set(ids) - found.passed - found.oracle
    if missing:
        print(f'./run seeds: {len(missing)} items have no passing test', file=sys.stderr)
    if changed:
        print('\n'.join([*changed, MARKS_CHANGED]), file=sys.stderr)
    return 0 if fine and not missing and not changed else 1


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:], Path(os.environ['RBD_ROS_ROOT'])))
