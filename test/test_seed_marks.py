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

"""The seed ledger: wrong marks are refused, the report counts what passed."""

from __future__ import annotations

from pathlib import Path

import pytest
from rbd_env import seeds, stages, testing
import seed_marks

ROOT = Path(__file__).resolve().parents[1]

LEDGER = ['RBDA 5-01', 'RBDA 5-02', 'RBDA A-01', 'LIU B01', 'SPENCER 01']


def test_unknown_id_is_an_error() -> None:
    """An id that the ledger lacks is named with the nearest that it has."""
    found = seed_marks.problems('test_x', ['RBDA 5-3'], False, LEDGER)
    assert len(found) == 1
    assert 'test_x: no item "RBDA 5-3"' in found[0]
    assert 'did you mean "RBDA 5-0' in found[0]


def test_many_marks_need_a_reason() -> None:
    """Five marks are fine, six want a reason."""
    many = [f'X {number}' for number in range(6)]
    assert seed_marks.problems('t', many[:5], False, many) == []
    assert 'need a reason' in seed_marks.problems('t', many, False, many)[0]
    assert seed_marks.problems('t', many, True, many) == []


def test_ledger_is_whole() -> None:
    """The ledger has 498 items, each with an id of its own and a chapter."""
    ids = seed_marks.known_ids()
    assert len(ids) == len(set(ids)) == 498
    assert ids == seeds.read_ledger(ROOT / 'test' / 'seed_ledger.csv')


@pytest.mark.parametrize(('name', 'expected'), [
    ('RBDA 5-03', ('RBDA', '5')), ('RBDA A-01', ('RBDA', 'A')), ('LIU B01', ('LIU', 'B')),
    ('SPENCER 07', ('SPENCER', ''))])
def test_chapter(name: str, expected: tuple[str, str]) -> None:
    """An id tells its document and chapter."""
    assert seeds.chapter_of(name) == expected


def test_report_counts_passing_tests_only() -> None:
    """A mark on a failing test counts nothing; items without a passing test are listed."""
    passed = seeds.passing([
        {'outcome': 'passed', 'seeds': ['RBDA 5-01', 'LIU B01']},
        {'outcome': 'failed', 'seeds': ['RBDA 5-02']},
        {'outcome': 'skipped', 'seeds': ['SPENCER 01']}])
    lines = seeds.report(LEDGER, passed).splitlines()
    assert 'RBDA: 1 of 3' in lines
    assert any(line.split() == ['5', '1', 'of', '2', 'without:', '5-02'] for line in lines)
    assert lines[-1] == 'seeds: 2 of 5 items have a passing test'


def test_report_refuses_unknown_ids() -> None:
    """A recorded id that the ledger lacks is an error."""
    with pytest.raises(ValueError, match='not in the ledger: RBDA 99-01'):
        seeds.report(LEDGER, {'RBDA 99-01'})


def test_named_files_choose_their_stage() -> None:
    """A file named on the command line runs in the stage that it belongs to, and no other."""
    named, options = stages.split_paths(ROOT, ['test/test_xml.py', '-k', 'rnea'])
    assert (named, options) == (['test/test_xml.py'], ['-k', 'rnea'])
    assert [stage.name for stage in stages.suite(ROOT, named)] == ['linters']
    assert [stage.name for stage in stages.suite(ROOT, ['test/launch'])] == ['launch tests']
    assert [stage.name for stage in stages.suite(ROOT, [])] \
        == ['linters', 'unit tests', 'launch tests']


def test_summary_ends_with_the_counts(tmp_path: Path) -> None:
    """The last line adds up the stages, and a crash of pytest shows."""
    for name, outcomes in (('unit tests', 'passed passed failed'), ('launch tests', 'skipped')):
        file = stages.results_file(tmp_path, name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('{' + ','.join(
            f'"{n}": {{"outcome": "{word}", "seeds": []}}'
            for n, word in enumerate(outcomes.split())) + '}')
    done = [stages.Stage('unit tests', [], 1), stages.Stage('launch tests', [], 0),
            stages.Stage('linters', [], 3)]
    lines, _ = testing.summary(done, tmp_path)
    assert lines[-1] == 'tests: 2 passed, 1 failed, 1 skipped'
    assert any('pytest ended with code 3' in line for line in lines)
