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
"""What a translated function takes and returns, read from its annotations."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
import inspect
import textwrap
from typing import NamedTuple

from rbd_ros.compiler.native.target import pointer

Function = Callable[..., object]
TYPES = {'float': 'double', 'int': 'i64', 'bool': 'i1', 'None': 'void'}
ARRAYS = {'Vector': 1, 'Matrix': 2}
#: A compiled kernel, or any call without arguments; see ``procedure.bind``.
KERNEL = 'Kernel'


@cache
def definition(function: Function) -> ast.FunctionDef:
    """
    Return the syntax of a function.

    :raises OSError: if its source cannot be read.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


def symbol(function: Function) -> str:
    """Return the name of a function in LLVM."""
    return f'@"{function.__module__}.{function.__name__}"'


class Parameter(NamedTuple):
    """
    A parameter of a function.

    :param kind: the name of its type.
    :param fields: names and types of what it holds: those of a record, or one without a name.
    """

    name: str
    kind: str
    fields: tuple[tuple[str, str], ...]

    def parts(self, name: str) -> list[tuple[str, str]]:
        """Return names and types of what is passed for it, if it is given by this name."""
        return [(f'{name}.{field}' if field else name, kind) for field, kind in self.fields]


@cache
def parameters_of(function: Function) -> list[Parameter]:
    """Return the parameters of a function."""
    a = definition(function).args
    if a.vararg or a.kwarg or a.kwonlyargs or a.defaults:
        raise TypeError(f'{function.__name__} may have plain parameters only')
    found = []
    for each in a.args:
        kind = ast.unparse(each.annotation) if each.annotation else ''
        found.append(Parameter(each.arg, kind, _fields(function, kind)))
        if any(part not in (*ARRAYS, KERNEL, 'int', 'float') for _, part in found[-1].fields):
            raise TypeError(f'{function.__name__}: {each.arg} is {kind or "of no type"}; it must '
                            'be Vector, Matrix, Kernel, int, float, or a named tuple of these')
    return found


def _fields(function: Function, kind: str) -> tuple[tuple[str, str], ...]:
    record = function.__globals__.get(kind)
    if not (isinstance(record, type) and issubclass(record, tuple)):
        return (('', kind),)
    # the module of a record keeps its annotations as text
    return tuple((name, getattr(each, '__forward_arg__', str(each)))
                 for name, each in record.__annotations__.items())


def passed(name: str, kind: str) -> list[str]:
    """Return how LLVM passes an array or a kernel: its address, and two numbers."""
    if kind == KERNEL:
        return [f'i64 %{name}.run', f'i64 %{name}.block']
    return [f'{pointer("double")} %{name}.data', f'i64 %{name}.rows', f'i64 %{name}.columns']


def result_of(tree: ast.FunctionDef) -> str:
    """Return the name of the type that a function returns."""
    kind = ast.unparse(tree.returns) if tree.returns else 'None'
    if kind not in TYPES:
        raise TypeError(f'{tree.name} returns {kind}; it must be float, int, bool or None')
    return kind
