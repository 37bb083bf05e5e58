# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What ruff has no rule for: continuation lines, the order of imports, the line after a class.

Its rule of imports (I001) asks for one name per line besides, in a third of the files. Each file
is read into tokens once, which is all that the three need: pycodestyle would look at all lines,
and a tree of all files takes longer than the rest.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
import io
from pathlib import Path
import re
import sys
import tokenize

from linted import PATHS, ROOT
import pytest

pycodestyle = pytest.importorskip('pycodestyle', reason='pycodestyle is not installed')

#: of pycodestyle; E121, E123 and E126 are left out, as they are where nothing is chosen
INDENTATION = ('E122', 'E124', 'E125', 'E127', 'E128', 'E129', 'E131')
FUTURE, STANDARD, FOREIGN, RELATIVE = range(4)
#: tokens that are no word of a statement
BLANK = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT)

Import = ast.Import | ast.ImportFrom
#: a statement, or the head of one, to the end of its last line
Statement = list[tokenize.TokenInfo]


def files() -> list[Path]:
    """Return all Python files that are looked at."""
    return sorted({file for path in PATHS
                   for file in ([Path(path)] if path.endswith('.py') else Path(path).rglob('*.py'))
                   if '.run' not in file.parts})


def statements(text: str) -> Iterator[tuple[tokenize.TokenInfo, Statement]]:
    """Yield the first word and all tokens of each statement."""
    tokens: Statement = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if not tokens and token.type in (tokenize.NL, tokenize.COMMENT):
            continue  # between two statements
        tokens.append(token)
        if token.type == tokenize.NEWLINE:
            yield next(each for each in tokens if each.type not in BLANK), tokens
            tokens = []


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


def import_findings(imports: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each import that is not where Google's style has it."""
    before: Import | None = None
    for node in ast.parse(imports).body:
        assert isinstance(node, Import)
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


def indentation_findings(word: tokenize.TokenInfo, tokens: Statement) -> Iterator[
        tuple[int, str]]:
    """Yield what pycodestyle says about a statement of several lines."""
    comments = ''.join(each.string for each in tokens if each.type == tokenize.COMMENT)
    last = [each.string for each in tokens[:-1] if each.type not in BLANK][-1]
    for place, text in pycodestyle.continued_indentation(
            last, tokens, indent_level=word.start[1], hang_closing=False, indent_char=' ',
            indent_size=4, noqa=pycodestyle.noqa(comments), verbose=0) or ():
        if text.startswith(INDENTATION):
            yield place[0], text


def findings(text: str) -> list[tuple[int, str]]:
    """Return what is wrong with a file."""
    lines = text.splitlines()
    found, imports, head = [], [''] * len(lines), 0
    for word, tokens in statements(text):
        first, last = word.start[0], tokens[-1].start[0]
        if last > first:
            found += indentation_findings(word, tokens)
        if word.string in ('import', 'from') and not word.start[1]:
            imports[first - 1:last] = lines[first - 1:last]
        if head and word.string in ('def', 'async', '@') and all(lines[head:first - 1]):
            found.append(
                (first, 'an empty line is missing between the class and its first method'))
        head = last if word.string == 'class' else 0
    found += import_findings('\n'.join(imports))
    return [each for each in sorted(found) if not re.search('# noqa: .*I100', lines[each[0] - 1])]


@pytest.mark.linter
def test_layout() -> None:
    """Imports are as in ROS packages, a class begins with air, continued lines are indented."""
    found = [f'{file.relative_to(ROOT)}:{line}: {text}'
             for file in files() for line, text in findings(file.read_text())]
    assert not found, '\n' + '\n'.join(found)


@pytest.mark.linter
@pytest.mark.parametrize(('text', 'count'), [
    ('import os\nimport sys\n\nimport numpy as np\nfrom pytest import approx, Config\n', 0),
    ('import sys\nimport os\n', 1), ('from os import sep, path\n', 1),
    ('import os\nimport numpy\n', 1), ('import numpy\n\nimport os\n', 1),
    ('from os import path\nimport abc\n', 1), ('class A:\n    def f(self): pass\n', 1),
    ('try:\n    pass\nexcept OSError:\n    class A:\n        def f(self): pass\n', 1),
    ('import sys\nimport os  # noqa: I100\n', 0), ('class A:\n\n    def f(self): pass\n', 0),
    ('class A:\n    x = 1\n', 0), ('class A(\n        B):\n    @c\n    def f(self): pass\n', 1),
    ('f(1,\n  2)\n', 0), ('f(1,\n   2)\n', 1), ('longer(1,\n    2)\n', 1),
    ('if (a and\n    b):\n    pass\n', 1), ('x = [\n    1,\n    2]\n', 0),
    ('def f():\n    return (1 +\n        2)\n', 1), ('longer(1,\n    2)  # noqa: E128\n', 0)])
def test_the_check_itself(text: str, count: int) -> None:
    """It finds what is wrong, and nothing else."""
    assert len(findings(text)) == count
