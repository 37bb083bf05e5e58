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
What ruff has no rule for: continuation lines, the order of imports, the line after a class.

Its rule of imports (I001) asks for one name per line besides, in a third of the files.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
import re
import sys

from linted import PATHS, ROOT
import pytest

#: of pycodestyle; E121, E123 and E126 are left out, as they are where nothing is chosen
INDENTATION = ('E122', 'E124', 'E125', 'E127', 'E128', 'E129', 'E131')
FUTURE, STANDARD, FOREIGN, RELATIVE = range(4)

Import = ast.Import | ast.ImportFrom


@cache
def files() -> list[Path]:
    """Return all Python files that are looked at."""
    return sorted({file for path in PATHS
                   for file in ([Path(path)] if path.endswith('.py') else Path(path).rglob('*.py'))
                   if '.run' not in file.parts})


def place(node: Import) -> tuple[int, int, list[str], list[str]]:
    """Return by what imports are sorted: kind, level, module and names, in small letters."""
    names = [alias.name.lower() for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        module, level, modules = node.module or '', node.level, [(node.module or '').lower()]
    else:
        module, level, modules, names = node.names[0].name, 0, names, []
    top = module.partition('.')[0]
    kind = (RELATIVE if level else FUTURE if top == '__future__'
            else STANDARD if top in sys.stdlib_module_names else FOREIGN)
    return kind, level, modules, names


def import_findings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each import that is not where Google's style has it."""
    before: Import | None = None
    for node in tree.body:
        if not isinstance(node, Import):
            continue
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom) and names != sorted(names, key=str.lower):
            yield node.lineno, f'names are not sorted: {", ".join(names)}'
        if before is not None:
            if place(node) < place(before):
                yield node.lineno, 'the import belongs before the one above'
            gap = node.lineno - (before.end_lineno or before.lineno) - 1
            if place(node)[0] != place(before)[0] and not gap:
                yield node.lineno, 'an empty line is missing between kinds of imports'
        before = node


def statements(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield all statements, also inner ones; what they compute has no class in it."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        yield node
        todo += [each for each in ast.iter_child_nodes(node)
                 if isinstance(each, ast.stmt | ast.excepthandler | ast.match_case)]


def class_findings(tree: ast.Module, lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield each class whose first method follows without an empty line."""
    for node in statements(tree):
        if isinstance(node, ast.ClassDef) and isinstance(
                node.body[0], ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.body[0].lineno,
                         *(each.lineno for each in node.body[0].decorator_list)])
            head = max(base.end_lineno or 0 for base in [
                *node.bases, *node.keywords, ast.Pass(end_lineno=node.lineno)])
            if not any(not line.strip() for line in lines[head:first - 1]):
                yield first, 'an empty line is missing between the class and its first method'


def findings(text: str) -> list[tuple[int, str]]:
    """Return what is wrong with a file."""
    tree, lines = ast.parse(text), text.splitlines()
    found = sorted([*import_findings(tree), *class_findings(tree, lines)])
    return [each for each in found if not re.search('# noqa: .*I100', lines[each[0] - 1])]


@pytest.mark.linter
def test_layout() -> None:
    """Imports are in the order of ROS packages, which is Google's; a class begins with air."""
    found = [f'{file.relative_to(ROOT)}:{line}: {text}'
             for file in files() for line, text in findings(file.read_text())]
    assert not found, '\n' + '\n'.join(found)


@pytest.mark.linter
def test_continuation_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Continued lines are indented as pycodestyle wants them, the one thing asked of it."""
    pycodestyle = pytest.importorskip('pycodestyle', reason='pycodestyle is not installed')
    style = pycodestyle.StyleGuide(select=INDENTATION, max_line_length=99)
    style.options.physical_checks.clear()  # it would run all and drop what was not asked for
    style.options.logical_checks[:] = [
        each for each in style.options.logical_checks if each[0] == 'continued_indentation']
    assert style.options.logical_checks
    report = style.check_files([str(file) for file in files()])
    assert report.total_errors == 0, '\n' + capsys.readouterr().out


@pytest.mark.linter
@pytest.mark.parametrize(('text', 'count'), [
    ('import os\nimport sys\n\nimport numpy as np\nfrom pytest import approx, Config\n', 0),
    ('import sys\nimport os\n', 1), ('from os import sep, path\n', 1),
    ('import os\nimport numpy\n', 1), ('import numpy\n\nimport os\n', 1),
    ('from os import path\nimport abc\n', 1), ('class A:\n    def f(self): pass\n', 1),
    ('try:\n    pass\nexcept OSError:\n    class A:\n        def f(self): pass\n', 1),
    ('import sys\nimport os  # noqa: I100\n', 0), ('class A:\n\n    def f(self): pass\n', 0),
    ('class A:\n    x = 1\n', 0)])
def test_the_check_itself(text: str, count: int) -> None:
    """It finds what is wrong, and nothing else."""
    assert len(findings(text)) == count
