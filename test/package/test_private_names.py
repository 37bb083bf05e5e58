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
Tests prove what a user can see: they reach no private name of the project.

What is looked at is every import, attribute, patched name and embedded program of the rooms
below. Private attributes of ``self``, ``cls`` and ``super()``, and methods of classes that stand
in the same file, are the file's own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
import re

from linted import ROOT
import pytest

#: Rooms whose tests look at their rigs from inside.
OTHER_ROOMS = ('control', 'launch', 'nodes')
#: Private by their look only: Python documents them.
PUBLIC = ('_asdict', '_exit', '_fields', '_make', '_replace')
#: Words before a name that is given as text.
BY_NAME = ('delattr', 'getattr', 'hasattr', 'patch', 'setattr')
OURS = ('benchmark', 'rbd_env', 'rbd_ros')
PRIVATE = re.compile(r'_[a-zA-Z]\w*')
PROGRAM = re.compile(r'^\s*(import|from) \w', re.MULTILINE)


def is_private(name: object) -> bool:
    """Return whether a name, or a part of a dotted one, is private."""
    return isinstance(name, str) and any(
        PRIVATE.fullmatch(part) and part not in PUBLIC for part in name.split('.'))


def reached(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement or an expression reaches."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name.startswith(OURS))
    elif isinstance(node, ast.ImportFrom) and (node.module or '').startswith(OURS):
        yield from (f'{node.module}.{alias.name}' for alias in node.names)
    elif isinstance(node, ast.Attribute):
        if ast.unparse(node.value) not in ('self', 'cls', 'super()'):
            yield node.attr
    elif isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        if called == 'parametrize' or (called in BY_NAME and not _is_of_python(node.args)):
            yield from (text for argument in node.args for text in _texts(argument))


def _texts(node: ast.AST) -> Iterator[str]:
    """Yield the texts in an expression; what is only a part of one is no name."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif not isinstance(node, ast.JoinedStr):
        for child in ast.iter_child_nodes(node):
            yield from _texts(child)


def _is_of_python(arguments: list[ast.expr]) -> bool:
    return bool(arguments) and ast.unparse(arguments[0]) in ('os', 'sys')


def findings(text: str) -> list[tuple[int, str]]:
    """Return line and name of what a file reaches, programs in its texts among them."""
    found, tree = [], ast.parse(text)
    own = {each.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
           for each in node.body if isinstance(each, ast.FunctionDef)}
    for node in ast.walk(tree):
        line = getattr(node, 'lineno', 0)
        found += [(line, name) for name in reached(node) if is_private(name) and name not in own]
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and PROGRAM.search(
                node.value):
            found += [(line, name) for _, name in _inside(node.value)]
    return sorted(found)


def _inside(text: str) -> list[tuple[int, str]]:
    """Return the findings of a text, none if it is not a program."""
    try:
        return findings(text)
    except SyntaxError:
        return []


def files() -> list[Path]:
    """Return the files that are looked at."""
    return sorted(file for file in (ROOT / 'test').rglob('*.py')
                  if file.relative_to(ROOT).parts[1] not in OTHER_ROOMS)


@pytest.mark.linter
def test_no_private_name() -> None:
    """Whoever renames what is private breaks no test."""
    found = [f'{file.relative_to(ROOT)}:{line}: {name}'
             for file in files() for line, name in findings(file.read_text())]
    assert not found, '\n' + '\n'.join(found)


@pytest.mark.linter
@pytest.mark.parametrize(('text', 'count'), [
    ('from rbd_ros.errors import ' + '_text\n', 1), ('import rbd_ros.' + '_hidden\n', 1),
    ('from rbd_ros.errors import RbdError\nfrom _pytest.runner import runtestprotocol\n', 0),
    ('robot.' + '_store\n', 1), ('self.robot.' + '_store\n', 1),
    ('self._store\ncls._made\nsuper()._made()\n', 0),
    ('found._replace(x=1)\nos._exit(0)\nx.__class__\n', 0), ('a_b, _ = c_d\n', 0),
    ('monkeypatch.setattr(robot, "_engine", 1)\n', 1), ('setattr(sys, "_base", 1)\n', 0),
    ('monkeypatch.setattr("rbd_ros.compiler." "_warned", 1)\n', 1),
    ('@pytest.mark.parametrize("name", ["_first", "second"])\ndef f(name): pass\n', 1),
    ('X = """\nimport rbd_ros\nprint(rbd_ros.x.' + '_y)\n"""\n', 1),
    ('X = "import ._y = 3"\n', 0),
    ('class A:\n    def _add(self): pass\nA()._add()\nA()._other()\n', 1)])
def test_the_check_itself(text: str, count: int) -> None:
    """It finds what is private, and nothing else."""
    assert len(findings(text)) == count
