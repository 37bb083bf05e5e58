# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Every lesson runs from top to bottom in a fresh kernel of Jupyter."""

from __future__ import annotations

import math

import pytest
from rbd_env.pace import patient
from rbd_ros.learn.lessons import lesson, NAMES, notebook

pytestmark = pytest.mark.slow


@pytest.mark.sampled('examples', 1)
@pytest.mark.parametrize('name', NAMES)
def test_a_lesson_runs_in_jupyter(name: str) -> None:
    """A fresh kernel runs all cells; pictures are frames, exercises wait for their answers."""
    nbformat = pytest.importorskip('nbformat', reason='nbformat is not installed')
    nbclient = pytest.importorskip('nbclient', reason='nbclient is not installed')
    book = nbformat.reads(notebook(lesson(name).text), 4)
    nbformat.validate(book)
    assert not any(cell.get('outputs') for cell in book.cells)
    seconds = math.ceil(patient(120))  # nbclient takes no fractions
    nbclient.NotebookClient(book, timeout=seconds, kernel_name='python3').execute()
    outputs = [output for cell in book.cells for output in cell.get('outputs', ())]
    shown = [output['data'] for output in outputs if 'data' in output]
    assert any('srcdoc=' in data.get('text/html', '') for data in shown)
    answers = [cell for cell in book.cells if cell.metadata.get('jupyter')]
    assert len(answers) >= 2
    for cell in answers:
        assert 'not answered yet' in cell.outputs[-1]['data']['text/plain']
