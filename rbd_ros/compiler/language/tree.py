# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What procedures consist of once they are read: every name is known, and every type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Union

from rbd_ros.compiler.language.signatures import Function, Kind, Parameter


class Held(NamedTuple):
    """
    An array, a kernel, a function of C, a record or a named tuple.

    :param kind: which of them.
    :param root: the parameter that it is, or that has it.
    :param path: attributes on the way from there.
    :param at: its first word among those of the parameter.
    """

    kind: Kind
    root: str
    path: tuple[str, ...] = ()
    at: int = 0


# --- expressions, each with its type in Python ------------------------------------------------


class Constant(NamedTuple):
    """A number that is known."""

    kind: str
    value: float


class Local(NamedTuple):
    """A variable."""

    kind: str
    name: str


class Number(NamedTuple):
    """A single number of a record."""

    record: Held
    name: str
    kind: str = 'float'


class Element(NamedTuple):
    """An element of an array."""

    array: Held
    places: tuple[Expression, ...]
    kind: str = 'float'


class Length(NamedTuple):
    """The number of rows of an array, or of its columns."""

    array: Held
    axis: int = 0
    kind: str = 'int'


class Converted(NamedTuple):
    """An integer as a floating-point number."""

    value: Expression
    kind: str = 'float'


class Negative(NamedTuple):
    """A number with its sign changed."""

    kind: str
    value: Expression


class Not(NamedTuple):
    """A truth turned round."""

    value: Expression
    kind: str = 'bool'


class Arithmetic(NamedTuple):
    """An operation, ``+``, ``-``, ``*``, ``/`` or ``&``, of two numbers of its type."""

    kind: str
    operation: str
    a: Expression
    b: Expression


class Comparison(NamedTuple):
    """
    Comparisons of neighbours, of which as many are evaluated as are true.

    :param operations: ``<`` and the like.
    :param values: one more than operations; where one of two is a float, both are.
    """

    operations: tuple[str, ...]
    values: tuple[Expression, ...]
    kind: str = 'bool'


class Logic(NamedTuple):
    """Truths joined by ``and`` or ``or``, of which as many are evaluated as needed."""

    operation: str
    values: tuple[Expression, ...]
    kind: str = 'bool'


class Choice(NamedTuple):
    """One of two, of which one is evaluated."""

    kind: str
    test: Expression
    yes: Expression
    no: Expression


class BuiltIn(NamedTuple):
    """A function of Python, or of its module ``math``, of numbers of known types."""

    kind: str
    name: str
    given: tuple[Expression, ...]


class Octets(NamedTuple):
    """A number in a row of bytes, read or written, see :mod:`.octets` and :mod:`.shared`."""

    kind: str
    name: str
    data: Held
    given: tuple[Expression, ...]


class Call(NamedTuple):
    """Another procedure."""

    kind: str
    function: Function
    given: tuple[Expression | Held, ...]


class KernelCall(NamedTuple):
    """A kernel."""

    kernel: Held
    kind: str = 'int'


class ForeignCall(NamedTuple):
    """A function of C, see :mod:`.foreign`."""

    function: Held
    given: tuple[Expression | Held, ...]
    kind: str = 'int'


Expression = Union[Constant, Local, Number, Element, Length, Converted, Negative, Not, Arithmetic,
                   Comparison, Logic, Choice, BuiltIn, Octets, Call, KernelCall,
                   ForeignCall]
Target = Union[Local, Number, Element]


def below(node: Any) -> Iterator[Any]:
    """Yield a part of a tree, and all parts of it, but for what is held."""
    if isinstance(node, Held):
        return
    if hasattr(node, '_fields'):
        yield node
    for part in node:
        if isinstance(part, tuple):
            yield from below(part)


# --- statements -------------------------------------------------------------------------------


class Assign(NamedTuple):
    """Values, all of them found before the first is assigned."""

    targets: tuple[Target, ...]
    values: tuple[Expression, ...]


class Do(NamedTuple):
    """A call whose result is not used."""

    call: Call | KernelCall | ForeignCall | Octets


class If(NamedTuple):
    """One of two blocks."""

    test: Expression
    yes: tuple[Statement, ...]
    no: tuple[Statement, ...]


class While(NamedTuple):
    """A block as long as something is true."""

    test: Expression
    body: tuple[Statement, ...]


class For(NamedTuple):
    """
    A block for each number of a range, whose ends are found once.

    :param target: what the number is assigned to before the block.
    """

    target: Local
    first: Expression
    last: Expression
    step: int
    body: tuple[Statement, ...]


class Break(NamedTuple):
    """The end of a loop."""


class Continue(NamedTuple):
    """The next turn of a loop."""


class Return(NamedTuple):
    """The end of a procedure, with its result if it has one."""

    value: Expression | None


Statement = Union[Assign, Do, If, While, For, Break, Continue, Return]


class Procedure(NamedTuple):
    """
    A function that was read.

    :param function: where it comes from.
    :param parameters: what it takes.
    :param result: type of its result, or 'None'.
    :param variables: types of all its variables, parameters that are numbers included.
    :param body: what it does.
    :param called: functions that it calls.
    """

    function: Function
    parameters: tuple[Parameter, ...]
    result: str
    variables: dict[str, str]
    body: tuple[Statement, ...]
    called: tuple[Function, ...]
