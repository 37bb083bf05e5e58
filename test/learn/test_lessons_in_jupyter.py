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
