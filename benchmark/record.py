# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The record of the last measurement, and the documents that quote it.

``./run bench --record`` writes ``results.json`` and every table of the documents that stands
between ``<!-- bench: NAME -->`` and ``<!-- end -->``; nobody writes a measured number by hand.
"""

from __future__ import annotations

from collections.abc import Collection
from importlib.metadata import PackageNotFoundError, version
import json
import os
from pathlib import Path
import re
import shutil
from typing import Any

from benchmark.tables import BLOCKS

from rbd_ros.command_line.timing import machine

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / 'benchmark' / 'results.json'
#: Documents with tables, and the pictures that a measurement draws.
DOCUMENTS = tuple(ROOT / name for name in (
    'README.md', 'docs/comparison.md', 'docs/measurements.md'))
PICTURES = {'scaling': 'scaling.png', 'handles': 'handles.png'}     # by part
#: Distributions that the numbers depend on.
PEERS = {'pin': 'Pinocchio', 'mujoco': 'MuJoCo', 'numpy': 'NumPy', 'llvmlite': 'llvmlite'}
MACHINE = 'machine'
_BLOCK = re.compile(r'(<!-- bench: (?P<name>[^>]*) -->\n).*?(<!-- end -->)', re.DOTALL)

Record = dict[str, dict[str, Any]]      # by part: the machine, and its numbers


def read() -> Record:
    """Return what was measured last, by part; nothing if nothing was."""
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def add(part: str, where: str, numbers: object) -> None:
    """
    Write the numbers of one part, with four digits, and leave those of the others.

    :param part: as ``./run bench`` names it.
    :param where: machine and versions, see :func:`described`.
    :param numbers: of JSON's types, or of NumPy's.
    """
    plain = json.loads(json.dumps(numbers, default=float))
    record = read() | {part: {MACHINE: where, 'numbers': _rounded(plain)}}
    unfinished = FILE.with_suffix('.tmp')
    unfinished.write_text(json.dumps(dict(sorted(record.items())), indent=1) + '\n')
    os.replace(unfinished, FILE)


def described() -> str:
    """Return this machine, what else it does now, and the versions that matter."""
    found = []
    for name, title in PEERS.items():
        try:
            found.append(f'{title} {version(name)}')
        except PackageNotFoundError:
            continue
    return f'{machine()}, load {os.getloadavg()[0]:.1f} at the start; {", ".join(found)}'


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f'{value:.4g}')
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value


def machines(record: Record) -> str:
    """Return where the numbers come from, in words."""
    found: dict[str, list[str]] = {}
    for part, entry in record.items():
        found.setdefault(entry[MACHINE], []).append(part)
    if len(found) == 1:
        return f'All from one run: {next(iter(found))}.'
    return '\n'.join(f'- {", ".join(parts)}: {where}' for where, parts in found.items())


def rendered(text: str, record: Record) -> str:
    """
    Return a document with its tables as the record has them.

    :raises ValueError: for a table that does not exist.
    """
    def content(found: re.Match[str]) -> str:
        name = found['name']
        if name == MACHINE:
            return machines(record)
        if name not in BLOCKS:
            raise ValueError(f'no table "{name}" (known: {", ".join((MACHINE, *BLOCKS))})')
        part, make, key = BLOCKS[name]
        numbers = record.get(part, {}).get('numbers')
        if numbers is None or (key and key not in numbers):
            return f'Not in the record yet: `./run bench {part} --record`.'
        return make(numbers)
    return _BLOCK.sub(lambda found: f'{found[1]}{content(found)}\n{found[3]}', text)


def without_blocks(text: str) -> str:
    """Return what of a document was written by hand."""
    return _BLOCK.sub('', text)


def publish(measured: Collection[str] = ()) -> list[Path]:
    """
    Write the tables into the documents, and return what was written.

    :param measured: parts whose pictures were drawn now, and are to be shown.
    """
    record, written = read(), []
    for document in DOCUMENTS:
        before = document.read_text()
        after = rendered(before, record)
        if after != before:
            document.write_text(after)
            written.append(document)
    for name in (PICTURES[part] for part in measured if part in PICTURES):
        written.append(Path(shutil.copy(ROOT / 'benchmark' / name, ROOT / 'docs' / 'pictures')))
    return written
