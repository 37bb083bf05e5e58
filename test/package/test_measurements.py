# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Measured numbers in the documents are those of one record, and nobody writes them by hand."""

from __future__ import annotations

import json
from pathlib import Path
import re
import sys
import types
from typing import Any

from benchmark import __main__ as bench, record, tables
from linted import ROOT
import pytest

#: A time, or how many times faster something is, in a row of a table.
MEASURED = re.compile(r'\d (us|µs|ms)\b|\(\d+(\.\d+)?x\)|^\|[^|]*\b(us|µs)\b[^|]*\|')
#: Tables of limits and settings, whose times nobody has measured.
OTHERS = ('controller_reference.md', 'safety.md', 'safety_proof.md')


def documents() -> list[Path]:
    """Return all documents that may have a table."""
    return [ROOT / 'README.md', *sorted((ROOT / 'docs').rglob('*.md'))]


def test_the_documents_have_the_numbers_of_the_record() -> None:
    """Every table is the one that ``./run bench --tables`` would write."""
    assert {block.part for block in tables.BLOCKS.values()} & set(record.read())
    for document in record.DOCUMENTS:
        text = document.read_text()
        assert record.rendered(text, record.read()) == text, f'{document}: ./run bench --tables'


def test_every_table_stands_somewhere() -> None:
    """No table is written for nobody, none twice in one document, and no other has one."""
    found = {document: re.findall('<!-- bench: (.*?) -->', document.read_text())
             for document in documents()}
    assert {name for names in found.values() for name in names} == {
        record.MACHINE, *tables.BLOCKS}
    assert all(len(names) == len(set(names)) for names in found.values())
    assert {document for document, names in found.items() if names} == set(record.DOCUMENTS)


def test_no_other_table_has_times() -> None:
    """A table with measured times is one of the record."""
    found = [f'{document.name}: {line}' for document in documents()
             if document.name not in OTHERS
             for line in record.without_blocks(document.read_text()).splitlines()
             if line.startswith('|') and MEASURED.search(line)]
    assert not found, '\n'.join(found)


def changed(value: Any) -> Any:
    """Return numbers of the same form, every measured one 1.7 times as large."""
    if isinstance(value, float):
        return 1.7 * value
    if isinstance(value, dict):
        return {key: changed(each) for key, each in value.items()}
    return [changed(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize('name', [
    name for name in tables.BLOCKS if name not in ('operations', 'handles')])
def test_another_measurement_gives_other_tables(name: str) -> None:
    """No table has a number that stays when all times change."""
    kept = record.read()
    other = {part: {**entry, 'numbers': changed(entry['numbers'])} for part, entry in kept.items()}
    text = f'<!-- bench: {name} -->\n<!-- end -->\n'
    measured = 'Not in the record yet' not in record.rendered(text, kept)
    assert (record.rendered(text, other) != record.rendered(text, kept)) == measured


def test_a_number_changed_by_hand_is_found() -> None:
    """Writing the tables restores it."""
    text = (ROOT / 'docs' / 'measurements.md').read_text()
    altered = re.sub(r'\| (\d+)\.(\d)', r'| \1.9\2', text)
    assert altered != text and record.rendered(altered, record.read()) == text


def test_missing_parts_and_unknown_tables() -> None:
    """What was not measured is said; a table that does not exist is named."""
    text = 'a\n<!-- bench: calls -->\nold\n<!-- end -->\nb\n'
    assert 'Not in the record yet: `./run bench speed --record`.' in record.rendered(text, {})
    assert record.without_blocks(text) == 'a\n\nb\n'
    with pytest.raises(ValueError, match='no table "coffee".*known: machine, calls'):
        record.rendered(text.replace('calls', 'coffee'), {})


def test_a_run_is_recorded_part_by_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:
    """A part that fails costs no other; what was measured before stays in the record."""
    file, page = tmp_path / 'results.json', tmp_path / 'page.md'
    file.write_text(json.dumps({'node': {'machine': 'old', 'numbers': {'x': 1.0}}}))
    page.write_text('<!-- bench: machine -->\n<!-- end -->\n'
                    '<!-- bench: operations -->\n<!-- end -->\n')
    monkeypatch.setattr(record, 'FILE', file)
    monkeypatch.setattr(record, 'ROOT', tmp_path)
    monkeypatch.setattr(record, 'DOCUMENTS', (page,))
    monkeypatch.setattr(bench, 'PARTS', {'speed': ('bad', ''), 'ops': ('good', '')})
    monkeypatch.setitem(sys.modules, 'good', types.SimpleNamespace(
        report=lambda: ('text', {'inertia matrix': [643, 876], 'time': 1.23456789e-6})))
    monkeypatch.setitem(sys.modules, 'bad', types.SimpleNamespace(report=lambda: 1 / 0))
    monkeypatch.setattr(sys, 'argv', ['bench', '--record'])
    assert bench.main() == 1
    printed = capsys.readouterr()
    assert 'not measured, see above: speed' in printed.err and 'ZeroDivision' in printed.err
    assert 'written: page.md' in printed.out
    kept = json.loads(file.read_text())
    assert list(kept) == ['node', 'ops'] and kept['ops']['numbers']['time'] == 1.235e-6
    page.write_text(page.read_text().replace('643', '600'))
    monkeypatch.setattr(sys, 'argv', ['bench', '--tables'])
    assert bench.main() == 0 and 'written: page.md' in capsys.readouterr().out
    assert '| inertia matrix | 643 / 876 | 759 / 1017 |' in page.read_text()
    assert '- node: old' in page.read_text() and 'load' in page.read_text()
