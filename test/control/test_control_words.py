# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Everything that the controller says has one code and one sentence, and stands in the docs."""

from collections import Counter
from pathlib import Path

import pytest

from rbd_ros.control.interface.causes import Cause, Reaction
from rbd_ros.control.interface.sentences import Sentence
from rbd_ros.control.interface.words import Saying, TABLES, word_of

ROOT = Path(__file__).parents[2]
WORDS = [word for table in TABLES for word in table]
#: codes that each table may take, so that the next word of a room has a place
RANGES = dict(zip(TABLES, (1, 100, 200, 300, 350, 370, 400, 450, 500, 600)))


def test_each_code_has_one_sentence():
    """No two words share a code, each has its text, and each table its range of codes."""
    assert [code for code, n in Counter(map(int, WORDS)).items() if n > 1] == []
    assert WORDS == sorted(WORDS) and {type(word) for word in WORDS} == set(TABLES)
    starts = [*RANGES.values(), 10**6]
    for word in WORDS:
        assert word_of(float(word)) is word and word.kind in ('warning', 'info', 'state', 'mode')
        assert isinstance(word.sentence, Sentence) and word.sentence.template.strip()
        k = TABLES.index(type(word))
        assert starts[k] <= word < starts[k + 1], word
    assert word_of(0) is None
    assert all(table.__members__.keys() == {word.name for word in table} for table in TABLES)


def test_each_cause_has_its_row():
    """Code, reaction, sentence and what to do; a sentence tells its cause from all others."""
    assert [int(cause) for cause in Cause] == list(range(len(Cause)))
    assert all(cause.text and cause.advice for cause in Cause)
    texts = [cause.text for cause in Cause]
    assert not any(a != b and a.startswith(b) for a in texts for b in texts)
    order = [list(Reaction).index(cause.reaction) for cause in Cause]
    assert order == sorted(order)  # a comparison of codes tells the family


def test_each_stands_in_the_reference():
    """docs/controller_reference.md lists causes and words as the tables have them."""
    page = (ROOT / 'docs' / 'controller_reference.md').read_text()
    for cause in Cause:
        row = f'| {cause.value} | {cause.text} | {cause.reaction.value} | {cause.advice} |'
        assert page.count(row) == 1, row
    for word in WORDS:
        text = word.sentence.template.replace('|', '\\|')
        assert page.count(f'| {word.value} | `{text}` |') == 1, word


@pytest.mark.parametrize('word', WORDS, ids=lambda word: f'{type(word).__name__}.{word.name}')
def test_each_sentence_can_be_made(word: Saying):
    """Of any numbers, with all of its places filled."""
    for numbers in ((0.0, 0.0, 0.0), (-1.5, 2.5, 1.0), (1e18, 3.0, 7.0)):
        names = {name: f'<{name}>'
                 for name in word.sentence.names - {'joint', 'model_joint', 'loop'}}
        text = word.text('elbow', *numbers, **names)
        assert text and '{' not in text and '}' not in text
        assert all(name in text for name in names.values())
        assert ('elbow' in text) is (names.keys() != word.sentence.names)
