# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Traced scalars: numbers that write down what is done to them (RBDA 10.4, symbolic executor).

An Expr belongs to a Recorder and names one of its nodes, or the negative of one. Python floats
mix freely with it. The plain Recorder of this module writes down every operation as it comes; the
Simplifier of ``simplify`` derives from it and folds and shares while recording.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from numbers import Real
from typing import Union


def _number(value: object) -> float:
    """Return an operand as float, or NotImplemented where it is no real number."""
    return float(value) if isinstance(value, Real) else NotImplemented


def _refuse_order(self: Expr, other: object) -> bool:
    raise TypeError(
        'a traced value cannot be compared: it has no number yet; write '
        'where(less(a, b), x, y), minimum, maximum or clamp, or branch on model constants')


class Expr:
    """
    One traced scalar.

    Operators take Expr, float, int and NumPy scalars. It has no truth value and no order:
    a compiled kernel has no branches, ``where`` selects between values.
    """

    __slots__ = ('index', 'negative', 'recorder', 'twin')
    __array_ufunc__ = None
    __hash__ = object.__hash__
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refuse_order

    def __init__(self, recorder: Recorder, index: int, negative: int = 0) -> None:
        self.recorder, self.index, self.negative = recorder, index, negative
        self.twin: Expr | None = None

    def __add__(self, other: Scalar) -> Scalar:
        """Return self + other."""
        if type(other) not in _OWN and (other := _number(other)) is NotImplemented:
            return NotImplemented
        return self.recorder.add(self, other)

    def __radd__(self, other: Scalar) -> Scalar:
        """Return other + self."""
        if type(other) not in _OWN and (other := _number(other)) is NotImplemented:
            return NotImplemented
        return self.recorder.add(other, self)

    def __sub__(self, other: Scalar) -> Scalar:
        """Return self - other."""
        if type(other) not in _OWN and (other := _number(other)) is NotImplemented:
            return NotImplemented
        return self.recorder.sub(self, other)

    def __rsub__(self, other: Scalar) -> Scalar:
        """Return other - self."""
        if type(other) not in _OWN and (other := _number(other)) is NotImplemented:
            return NotImplemented
        return self.recorder.sub(other, self)

    def __mul__(self, other: Scalar) -> Scalar:
        """Return self * other."""
        if type(other) not in _OWN and (other := _number(other)) is NotImplemented:
            return NotImplemented
        return self.recorder.mul(self, other)

    def __rmul__(self, other: Scalar) -> Scalar:
        """Return other * self."""
        if type(other) not in _OWN and (other := _number(other)) is NotImplemented:
            return NotImplemented
        return self.recorder.mul(other, self)

    def __truediv__(self, other: Scalar) -> Scalar:
        """Return self / other."""
        if type(other) not in _OWN and (other := _number(other)) is NotImplemented:
            return NotImplemented
        return self.recorder.div(self, other)

    def __rtruediv__(self, other: Scalar) -> Scalar:
        """Return other / self."""
        if type(other) not in _OWN and (other := _number(other)) is NotImplemented:
            return NotImplemented
        return self.recorder.div(other, self)

    def __neg__(self) -> Expr:
        """Return -self."""
        return self.recorder.neg(self)

    def __pos__(self) -> Expr:
        """Return self."""
        return self

    def __abs__(self) -> Scalar:
        """Return the absolute value."""
        return self.recorder.apply('abs', self)

    def __pow__(self, power: int) -> Scalar:
        """Return self raised to a whole number, by repeated products."""
        if not isinstance(power, int):
            raise TypeError(
                f'a traced value takes whole exponents only, not {power!r}; '
                'use sqrt, or exp and log')
        if power < 0:
            return 1.0 / self ** -power
        if power < 2:
            return self if power else 1.0
        half = self ** (power // 2)
        return half * half * self if power % 2 else half * half

    def __bool__(self) -> bool:
        """Refuse: a traced value is neither true nor false."""
        raise TypeError(
            'a traced value has no truth value: use where(condition, a, b) instead of if')

    def __float__(self) -> float:
        """Refuse: a traced value has no number yet."""
        raise TypeError(
            'a traced value has no number yet and cannot become a float; '
            'use the functions of rbd_ros.compiler instead of math and numpy')

    def __repr__(self) -> str:
        """Return the operation that made this value."""
        op, refs, value = self.recorder.nodes[self.index]
        inside = ', '.join(f'{"-" * (ref & 1)}%{ref >> 1}' for ref in refs)
        shown = value if value is not None else inside
        return f'<Expr {"-" * self.negative}%{self.index} = {op}({shown})>'


#: Types that need no conversion; looked at first, as tracing spends its time in the operators.
_OWN = frozenset((Expr, float))
#: A scalar of an algorithm: a number now, or a traced one.
Scalar = Union[float, Expr]
#: Several of them in a row; rows of them; a matrix whose entries may be written.
Values = Sequence[Scalar]
Rows = Sequence[Values]
Matrix = list[list[Scalar]]


class Recorder:
    """
    Writes down operations one by one, as they come.

    A recorded node is ``(op, refs, value)``; a ref is twice the index of a node, plus one for its
    negative. The plain recorder makes negations nodes of their own and folds nothing.
    """

    def __init__(self) -> None:
        self.nodes: list[tuple[str, tuple[int, ...], object]] = []
        self.known: dict[tuple[str, tuple[int, ...], object], Expr] = {}

    def node(self, op: str, refs: tuple[int, ...], value: object = None) -> Expr:
        """Return a new node."""
        self.nodes.append((op, refs, value))
        return Expr(self, len(self.nodes) - 1)

    def shared(self, op: str, refs: tuple[int, ...], value: object = None) -> Expr:
        """Return the node of exactly these arguments, new only if there is none yet."""
        key = (op, refs, value)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = Expr(self, len(self.nodes))
            self.nodes.append(key)
        return found

    def input(self, argument: int, element: int) -> Expr:
        """Return one element of one argument."""
        return self.shared('input', (), (argument, element))

    def ref(self, value: Scalar) -> int:
        """Return the ref of a scalar, whose constant becomes a node."""
        if type(value) is Expr:
            if value.recorder is not self:
                raise ValueError(
                    'two traces were mixed: a traced value was kept from an earlier trace; '
                    'pass it as an argument of the traced function instead')
            return 2 * value.index + value.negative
        if value != value:
            return 2 * self.shared('const', (), math.nan).index
        negative = math.copysign(1.0, value) < 0.0
        return 2 * self.shared('const', (), abs(value)).index + negative

    def add(self, a: Scalar, b: Scalar) -> Scalar:
        """Return a + b."""
        return self.apply('add', a, b)

    def sub(self, a: Scalar, b: Scalar) -> Scalar:
        """Return a - b."""
        return self.apply('sub', a, b)

    def mul(self, a: Scalar, b: Scalar) -> Scalar:
        """Return a * b."""
        return self.apply('mul', a, b)

    def div(self, a: Scalar, b: Scalar) -> Scalar:
        """Return a / b."""
        return self.apply('div', a, b)

    def neg(self, a: Expr) -> Expr:
        """Return -a."""
        return self.node('neg', (self.ref(a),))

    def apply(self, op: str, *args: Scalar) -> Scalar:
        """Return the value of any operation of the graph."""
        return self.node(op, tuple([self.ref(a) for a in args]))
