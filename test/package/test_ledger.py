# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The ledger of the source documents: each of its items has a test that carries its mark."""

from __future__ import annotations

import ast
from collections.abc import Iterator
import csv

from linted import ROOT
import pytest

#: More marks than these on one test need a reason.
WITHOUT_REASON = 5


def marks(text: str) -> Iterator[tuple[str, list[str], bool]]:
    """Yield of each mark in a test module the test, the items, and whether a reason is given."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith('test_'):
            for call in (each for above in node.decorator_list for each in ast.walk(above)):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == 'pytest.mark.seed':
                    items = [ast.literal_eval(word) for word in call.args]
                    yield node.name, items, any(word.arg == 'reason' for word in call.keywords)


def problems(tests: dict[str, str], known: list[str]) -> list[str]:
    """Return what is wrong with the marks of test modules: unknown items, and those without."""
    found, carried = [], set()
    for name, text in tests.items():
        for test, items, reason in marks(text) if 'mark.seed' in text else ():
            carried.update(items)
            found += [f'{name}: {test}: no item "{item}"' for item in items if item not in known]
            if len(items) > WITHOUT_REASON and not reason:
                found.append(f'{name}: {test}: {len(items)} marks on one test need a reason=')
    return found + [f'no test is marked with "{item}"' for item in known if item not in carried]


def test_each_item_has_a_test() -> None:
    """498 items have a mark somewhere, before any sample is drawn; no mark is of another item."""
    with open(ROOT / 'test' / 'seed_ledger.csv', newline='', encoding='utf-8') as file:
        known = [row['id'] for row in csv.DictReader(file)]
    assert len(known) == len(set(known)) == 498
    found = problems({path.name: path.read_text() for path in sorted(
        (ROOT / 'test').rglob('test_*.py'))}, known)
    assert not found, '\n'.join(found)


@pytest.mark.parametrize(('text', 'expected'), [
    ("@pytest.mark.seed('A 1', 'A 2')\ndef test_x(): pass", []),
    ("@pytest.mark.seed('A 1')\n@pytest.mark.seed('A 2', oracle=True)\ndef test_x(): pass", []),
    ("@pytest.mark.seed('A 1')\ndef test_x(): pass", ['no test is marked with "A 2"']),
    ("@pytest.mark.seed('A 1', 'A 2')\ndef x(): pass", [
        'no test is marked with "A 1"', 'no test is marked with "A 2"']),
    ("@pytest.mark.seed('A 1', 'A 2', 'B')\ndef test_x(): pass", ['t: test_x: no item "B"']),
    (f"@pytest.mark.seed{('A 1', 'A 2') * 3}\ndef test_x(): pass", [
        't: test_x: 6 marks on one test need a reason='])])
def test_the_check_itself(text: str, expected: list[str]) -> None:
    """A missing item, an unknown one, and many without a reason are named."""
    assert problems({'t': text}, ['A 1', 'A 2']) == expected
