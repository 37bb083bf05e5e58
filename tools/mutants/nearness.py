# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Which tests can see a fault, the likeliest first.

A test sees a module that it imports, itself or by way of others, or names in a text; the fewer
the steps, the likelier. It counts as well whether the test lies in the folder that is named as the
room of the module, whether it names the function at fault, and which words their names share.
Coverage would not do: what is traced or compiled when it is imported runs later, elsewhere.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
import math
from pathlib import Path
import re

from mutants.faults import Fault

PACKAGE = 'rbd_ros'
#: folders of tests that need more than one process, or something of their own
APART = ('launch', 'browser', 'scale')
LINTERS = tuple(f'test_{name}.py' for name in ('copyright', 'layout', 'mypy', 'ruff', 'xml'))
#: names that say nothing of what a test is about
COMMON = {'__init__', 'run', 'main', 'close', 'open', 'read', 'write', 'name', 'node', 'test',
          'make', 'start', 'stop', 'step', 'init', 'nodes', 'control'}
#: letters that tell a word: identification, identify
STEM = 6
NAMED = re.compile(rf'{PACKAGE}(?:\.\w+)+')


class Suite:
    """
    The tests of a checkout, and what each of them imports.

    :param root: of the checkout.
    :param launch: whether tests that start processes of ROS are among them.
    """

    def __init__(self, root: Path, launch: bool = False) -> None:
        self._root = root
        self._files = {path: _name(path.relative_to(root)) for folder in (PACKAGE, 'test')
                       for path in sorted((root / folder).rglob('*.py'))}
        self._texts = {path: path.read_text() for path in self._files}
        self._names = set(self._files.values())
        self._importers: dict[str, set[str]] = defaultdict(set)
        self._public = self._public_names()
        for path, name in self._files.items():
            for each in self._imports(path, name):
                self._importers[each].add(name)
        apart = APART[1:] if launch else APART
        self.tests = [path.relative_to(root) for path in self._files
                      if path.name.startswith('test_') and path.name not in LINTERS
                      and path.relative_to(root).parts[1] not in apart]

    def order(self, fault: Fault) -> list[tuple[Path, bool]]:
        """Return the tests, the likeliest first, and whether each can see the module at all."""
        module = _name(Path(fault.path))
        far = self._distances(module)
        found = [(self._score(test, fault, far.get(_name(test), math.inf)), str(test), test)
                 for test in self.tests]
        return [(test, _name(test) in far) for score, _, test in sorted(found)]

    def _score(self, test: Path, fault: Fault, steps: float) -> float:
        text = self._text(test)
        room = Path(fault.path).parts[1].removesuffix('.py')
        words = _words(Path(fault.path).with_suffix('').parts[1:]) & _words([test.stem])
        named = any(len(name) > 3 and name not in COMMON and re.search(rf'\b{name}\b', text)
                    for name in (re.sub(r'\W', '', each) for each in fault.inside))
        return (min(steps, 12.0) + 2.0 * (room not in test.parts) - 2.0 * named
                - min(len(words), 2) + 1.0 * ('mark.slow' in text)
                + 3.0 * ('launch' in test.parts))

    def _distances(self, module: str) -> dict[str, int]:
        """Return by how many imports each module is away that imports one."""
        found, border = {module: 0}, [module]
        for steps in range(1, 50):
            border = [each for each in {
                other for name in border for other in self._importers[name]} if each not in found]
            found.update(dict.fromkeys(border, steps))
        return found

    def _text(self, test: Path) -> str:
        return self._texts[self._root / test]

    def _public_names(self) -> dict[str, str]:
        """Return where the names live that the package gives, or its ``public`` module."""
        found: dict[str, str] = {}
        for name in ('__init__.py', 'public.py'):
            file = self._root / PACKAGE / name
            if file.exists():
                for node in ast.walk(ast.parse(file.read_text())):
                    if isinstance(node, ast.ImportFrom) and node.module:
                        found.update({each.asname or each.name: node.module
                                      for each in node.names})
        return found

    def _imports(self, path: Path, own: str) -> set[str]:
        """Return the modules that a file imports or names."""
        tree = ast.parse(self._texts[path])
        found: set[str] = set()
        package = [PACKAGE]
        for node in _without_types(tree):
            if isinstance(node, ast.Import):
                found.update(each.name for each in node.names)
                package += [each.asname for each in node.names
                            if each.name == PACKAGE and each.asname]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for each in node.names:
                    inner = f'{node.module}.{each.name}'
                    found.add(inner if inner in self._names else node.module)
                    if node.module == PACKAGE:
                        found.add(self._public.get(each.name, PACKAGE))
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and (
                    node.value.id in package):
                found.add(self._public.get(node.attr, f'{PACKAGE}.{node.attr}'))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update(NAMED.findall(node.value))
        return {each for each in found & self._names if each != own and each != PACKAGE}


def _without_types(tree: ast.AST) -> Iterable[ast.AST]:
    """Walk through a module without what only type checkers read."""
    todo = [tree]
    while todo:
        node = todo.pop()
        yield node
        for child in ast.iter_child_nodes(node):
            if not (isinstance(child, ast.If) and 'TYPE_CHECKING' in ast.dump(child.test)):
                todo.append(child)


def _name(path: Path) -> str:
    """Return the name of a module: of the package in full, of tests and their rigs the last."""
    parts = path.with_suffix('').parts
    if parts[0] != PACKAGE:
        return parts[-1]
    return '.'.join(parts[:-1] if parts[-1] == '__init__' else parts)


def _words(names: Iterable[str]) -> set[str]:
    """Return the stems of the words of some names, without those that many have."""
    return {word.removesuffix('s')[:STEM] for name in names for word in name.split('_')
            if word not in COMMON}
