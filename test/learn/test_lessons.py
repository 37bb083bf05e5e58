# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""The lessons prove what they say, and check the answers of a reader."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from rbd_ros.learn.exercise import check
from rbd_ros.learn.lessons import lesson, lessons, NAMES, notebook

pytestmark = pytest.mark.slow

OPEN = 'not answered yet'
#: In each lesson, a formula and a wrong one for it: a sign, a factor, an order.
FAULTS = [
    ('rnea', 'I[i] @ a[i] + v[i].cross(I[i] @ v[i])', 'I[i] @ a[i] - v[i].cross(I[i] @ v[i])'),
    ('rnea', ' + v[i].cross(v_J))', ')'),
    ('rnea', '-Vec3(*model.gravity)', 'Vec3(*model.gravity)'),
    ('crba', 'I_c[p] + X[i].inv_apply(I_c[i])', 'I_c[p] + I_c[i]'),
    ('crba', 'X[j].inv_apply(F), model', 'F, model'),
    ('aba', 'I_a @ c[i]', 'I_A[i] @ c[i]'),
    ('aba', 'I_A[i].minus_dyads([U[i] * (1 / D[i])], [U[i]])', 'I_A[i]'),
    ('operational_space', 'b = Jdqd - J @', 'b = Jdqd + J @'),
    ('operational_space', 'np.linalg.solve(H, J.T) ', 'H @ J.T '),
    ('closed_loops', 'along @ rate**2', '-(along @ rate**2)'),
    ('closed_loops', 'free + np.linalg.solve(H, K.T @ force)', 'free'),
    ('contact', 'np.cross(r, up), *up]', 'np.cross(up, r), *up]'),
    ('contact', '-(1 + e) * (t', '-(1 - e) * (t'),
    ('identification', 'I @ a[i] + v[i].cross(I @ v[i])', 'I @ a[i]'),
    ('identification', '-Vec3(*model.gravity)', 'Vec3(*model.gravity)'),
]


def cells(text: str) -> list[dict[str, Any]]:
    """Return the cells of a lesson, each with its source as one text."""
    found = json.loads(notebook(text))['cells']
    return [{**cell, 'source': ''.join(cell['source'])} for cell in found]


def run_cells(text: str, *, alone: bool = False) -> list[tuple[str, dict[str, Any]]]:
    """
    Run the code of a lesson in this process; return each cell and the names after it.

    :param alone: leave out what compares with the library itself.
    """
    names: dict[str, Any] = {'__name__': 'lesson'}
    ran, skipped = [], False
    for cell in cells(text):
        if cell['cell_type'] == 'markdown':
            skipped = alone and '**By the library' in cell['source']
        elif not skipped:
            exec(compile(cell['source'], 'lesson', 'exec'), names)
            ran.append((cell['source'], dict(names)))
    return ran


@pytest.mark.parametrize('name', NAMES)
def test_answers_are_judged(name: str) -> None:
    """The right answer to every exercise is taken, and another one is not."""
    judged = 0
    for source, names in run_cells(lesson(name).text):
        for given, more in re.findall(r'^check\((\w+), expected(.*)\)$', source, re.MULTILINE):
            assert names[given] is ...
            call = f'check({given}, expected{more})'
            assert eval(call, {**names, given: names['expected']}) == 'right'
            with pytest.raises(AssertionError):
                eval(call, {**names, given: names['expected'] + 1})
            judged += 1
    assert judged >= 2


@pytest.mark.parametrize(('name', 'right', 'wrong'), FAULTS)
def test_a_wrong_formula_is_found(name: str, right: str, wrong: str) -> None:
    """The proofs of a lesson notice it, also without the comparison with the library."""
    text = lesson(name).text
    assert text.count(right) == 1
    with pytest.raises(AssertionError):
        run_cells(text.replace(right, wrong), alone=True)


def test_every_lesson_has_a_fault() -> None:
    """No lesson goes without the test above."""
    assert {name for name, _, _ in FAULTS} == set(NAMES)


@pytest.mark.parametrize('each', lessons(), ids=NAMES)
def test_what_a_lesson_has(each: Any) -> None:
    """A question, the place in the book, numbered equations, a view, exercises, where to go."""
    assert each.title.endswith('?') and each.book.startswith('RBDA ')
    numbered = re.findall(r'```math\n[^`]*\\qquad \(\d+\.\d+[^`]*```', each.text)
    assert len(numbered) >= 2
    assert 'picture(' in each.text and '## Exercises' in each.text
    for name in re.findall('`rbd learn ([a-z_]+)`', each.text):
        assert name in NAMES
    made = notebook(each.text)
    assert '```' not in made and '$$' in made


def test_check() -> None:
    """It names the shape and the size of an error, and does not give the answer away."""
    assert check(..., 1.0).startswith(OPEN)
    assert check([1.0, 2.0], [1.0, 2.0 + 1e-10]) == 'right'
    assert check(0.0, 0.0) == 'right'
    with pytest.raises(AssertionError, match='expected \\(2,\\) numbers, got \\(\\)'):
        check(1.0, [1.0, 2.0])
    with pytest.raises(AssertionError, match='off by 0.5 of the largest'):
        check([1.0, 1.0], [1.0, 2.0])
    with pytest.raises(AssertionError):
        check(float('nan'), 1.0)
