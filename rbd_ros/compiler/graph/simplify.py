# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Symbolic simplification while recording (RBDA 10.4).

Exact zeros and ones are folded, equal subexpressions become one node, and a negation is a bit on
the reference, not a node: a*b and (-a)*b, a - b and b - a, sin(x) and sin(-x) share their
work, and a sign travels outward until a sum absorbs it. Every rule keeps the rounding of every
operation; only the sign of a zero, and the inf or NaN that 0*x, 0/x and x - x would hide, are
given up: finiteness is tested at the boundary of a kernel.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.graph.expression import Expr, Recorder, Scalar

_ODD = frozenset(('sin', 'tan', 'asin', 'tanh'))
_EVEN = frozenset(('cos', 'abs'))
#: Truth does not depend on the sign, nor on the order.
_TRUTH = frozenset(('and', 'or', 'not', 'finite'))
_MIRROR = {'min': 'max', 'max': 'min'}


class Simplifier(Recorder):
    """Records only what is new and cannot be folded."""

    def neg(self, a: Expr) -> Expr:
        """Return -a: the other sign of the same node."""
        twin = a.twin
        if twin is None:
            twin = a.twin = Expr(self, a.index, 1 - a.negative)
            twin.twin = a
        return twin

    def _signed(self, a: Scalar, negative: int) -> Scalar:
        return -a if negative else a

    def add(self, a: Scalar, b: Scalar) -> Scalar:
        """Return a + b; x + 0 is x, x - x is 0."""
        if type(a) is float:
            a, b = b, a
        if type(b) is float and b == 0.0:
            return a
        i, j = self.ref(a), self.ref(b)
        if (i ^ j) & 1:
            return self._difference(j, i - 1) if i & 1 else self._difference(i, j - 1)
        # A constant stays second, whatever its index; the same sum is always the same node.
        refs = (i & -2, j & -2) if i <= j or type(b) is float else (j & -2, i & -2)
        return self._signed(self.shared('add', refs), i & 1)

    def sub(self, a: Scalar, b: Scalar) -> Scalar:
        """Return a - b."""
        return self.add(a, -b)

    def _difference(self, i: int, j: int) -> Scalar:
        """Return the difference of two positive refs, in the order in which it was first met."""
        if i == j:
            return 0.0
        reverse = self.known.get(('sub', (j, i), None))
        return self.shared('sub', (i, j)) if reverse is None else self.neg(reverse)

    def mul(self, a: Scalar, b: Scalar) -> Scalar:
        """Return a * b; 0 x is 0, 1 x is x, 2 x is x + x."""
        if type(b) is float:
            a, b = b, a
        if type(a) is float:
            size = abs(a)
            if size == 0.0:
                return 0.0
            if size == 1.0:
                return b if a > 0.0 else -b
            if size == 2.0:
                return self._signed(self.add(b, b), a < 0.0)
        i, j = self.ref(a), self.ref(b)
        refs = (i & -2, j & -2) if i <= j or type(a) is float else (j & -2, i & -2)
        return self._signed(self.shared('mul', refs), (i ^ j) & 1)

    def div(self, a: Scalar, b: Scalar) -> Scalar:
        """Return a / b; a power of two divides as the product with its exact reciprocal."""
        if type(a) is float and a == 0.0:
            return 0.0
        if type(b) is float and b and b == b and abs(math.frexp(b)[0]) == 0.5:
            exponent = 1 - math.frexp(b)[1]
            if exponent < 1024:         # beyond, the reciprocal of a subnormal number overflows
                return self.mul(a, math.copysign(math.ldexp(1.0, exponent), b))
        i, j = self.ref(a), self.ref(b)
        return self._signed(self.shared('div', (i & -2, j & -2)), (i ^ j) & 1)

    def apply(self, op: str, *args: Scalar) -> Scalar:
        """Return the value of any operation, with signs taken out of odd and even functions."""
        if op in _ARITHMETIC:
            return getattr(self, op)(*args)
        refs = tuple([self.ref(a) for a in args])
        first = refs[0]
        if op in _ODD:
            return self._signed(self.shared(op, (first & -2,)), first & 1)
        if op in _EVEN:
            return self.shared(op, (first & -2,))
        if op == 'atan2':
            return self._signed(self.shared(op, (first & -2, refs[1])), first & 1)
        if op in _TRUTH:
            return self.shared(op, tuple(sorted([ref & -2 for ref in refs])))
        if op == 'eq':
            return self.shared(op, tuple(sorted([ref ^ (first & 1) for ref in refs])))
        if op in _MIRROR:
            return self._extreme(op, args, refs)
        if op == 'select' and refs[1] & refs[2] & 1:
            return self.neg(self.shared(op, (first, refs[1] - 1, refs[2] - 1)))
        return self.shared(op, refs)

    def _extreme(self, op: str, args: tuple[Scalar, ...], refs: tuple[int, ...]) -> Scalar:
        """Return min or max; a limit at infinity is none, and min(-a, -b) is -max(a, b)."""
        (a, b), (i, j) = args, refs
        none = math.inf if op == 'min' else -math.inf
        if i == j or (type(b) is float and b == none):
            return a
        if type(a) is float and a == none:
            return b
        negative = i & j & 1
        if negative:
            op, i, j = _MIRROR[op], i - 1, j - 1
        # The order as written: at a tie the derivative is that of the first argument.
        reverse = self.known.get((op, (j, i), None))
        return self._signed(self.shared(op, (i, j)) if reverse is None else reverse, negative)


_ARITHMETIC = frozenset(('add', 'sub', 'mul', 'div', 'neg'))
