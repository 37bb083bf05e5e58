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
Which test carries which mark ``seed``, as it was recorded.

An item may have several tests, each of which checks a part of it. A mark that is deleted, or moved
to a test that checks less, would leave the item with the others and go unseen: the record names
every mark, so that each change of them shows in it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
import csv
from pathlib import Path

RECORD = Path('test') / 'seed_marks.csv'
ORACLE = ' (oracle)'  # after the name of a test that computes the item by itself

Marks = dict[str, list[str]]


def written(root: Path) -> Marks:
    """Return the tests of each item, by the marks in the files of the tests."""
    found: dict[str, set[str]] = {}
    for file in sorted((root / 'test').rglob('test_*.py')):
        text = file.read_text(encoding='utf-8')
        if 'mark.seed' not in text:
            continue
        name = file.relative_to(root / 'test').as_posix()
        for test, item in _marks(ast.parse(text), f'{name}::'):
            found.setdefault(item, set()).add(test)
    return {item: sorted(tests) for item, tests in sorted(found.items())}


def _marks(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """Yield test and item of each mark below a node, whose tests begin with a name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call) and ast.unparse(child.func) == 'pytest.mark.seed':
            oracle = any(word.arg == 'oracle' and ast.unparse(word.value) == 'True'
                         for word in child.keywords)
            for word in child.args:
                for each in ast.walk(word):
                    if isinstance(each, ast.Constant) and isinstance(each.value, str):
                        yield name + (ORACLE if oracle else ''), each.value
        elif isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            inside = name if name.endswith('::') else f'{name}.'
            yield from _marks(child, inside + child.name)
        else:
            yield from _marks(child, name)


def recorded(root: Path) -> Marks:
    """Return the tests of each item, as they were recorded; none where there is no record."""
    try:
        with open(root / RECORD, newline='', encoding='utf-8') as file:
            return {row['id']: row['tests'].split('; ') for row in csv.DictReader(file)}
    except FileNotFoundError:
        return {}


def record(root: Path) -> None:
    """Write the marks as they are now."""
    with open(root / RECORD, 'w', newline='', encoding='utf-8') as file:
        rows = csv.writer(file, lineterminator='\n')
        rows.writerow(['id', 'tests'])
        rows.writerows([item, '; '.join(tests)] for item, tests in written(root).items())


def changes(root: Path) -> list[str]:
    """Return a sentence for each mark that is gone or new since they were recorded."""
    before, now = recorded(root), written(root)
    lines = []
    for item in sorted({*before, *now}):
        old, new = set(before.get(item, ())), set(now.get(item, ()))
        lines += [f'{item}: the mark on {test} is gone' for test in sorted(old - new)]
        lines += [f'{item}: the mark on {test} is new' for test in sorted(new - old)]
    return lines
