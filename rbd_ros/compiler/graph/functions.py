# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Functions of scalars, for floats (evaluated now) and traced values (recorded) alike."""

from __future__ import annotations

from collections.abc import Callable
import math

from rbd_ros.compiler.graph import float_functions
from rbd_ros.compiler.graph.expression import Expr, Scalar


def _unary(op: str, plain: Callable[[float], float]) -> Callable[[Scalar], Scalar]:
    def function(x: Scalar) -> Scalar:
        return x.recorder.apply(op, x) if isinstance(x, Expr) else plain(x)
    function.__name__ = function.__qualname__ = plain.__name__
    function.__doc__ = plain.__doc__
    return function


def _binary(op: str, plain: Callable[[float, float], float],
            ) -> Callable[[Scalar, Scalar], Scalar]:
    def function(a: Scalar, b: Scalar) -> Scalar:
        if isinstance(a, Expr):
            return a.recorder.apply(op, a, b if isinstance(b, Expr) else float(b))
        return b.recorder.apply(op, float(a), b) if isinstance(b, Expr) else plain(a, b)
    function.__name__ = function.__qualname__ = plain.__name__
    function.__doc__ = plain.__doc__
    return function


sqrt = _unary('sqrt', float_functions.sqrt)
sin = _unary('sin', float_functions.sin)
cos = _unary('cos', float_functions.cos)
tan = _unary('tan', float_functions.tan)
asin = _unary('asin', float_functions.asin)
acos = _unary('acos', float_functions.acos)
exp = _unary('exp', float_functions.exp)
log = _unary('log', float_functions.log)
tanh = _unary('tanh', float_functions.tanh)
absolute = _unary('abs', float_functions.absolute)
atan2 = _binary('atan2', float_functions.atan2)
minimum = _binary('min', float_functions.minimum)
maximum = _binary('max', float_functions.maximum)
less = _binary('lt', float_functions.less)
less_equal = _binary('le', float_functions.less_equal)
equal = _binary('eq', float_functions.equal)
logical_and = _binary('and', float_functions.logical_and)
logical_or = _binary('or', float_functions.logical_or)
logical_not = _unary('not', float_functions.logical_not)
is_finite = _unary('finite', float_functions.is_finite)
floor = _unary('floor', float_functions.floor)


def divide(a: Scalar, b: Scalar) -> Scalar:
    """Return a / b, with inf and NaN as in IEEE 754 where the operator of floats raises."""
    return a / b if isinstance(a, Expr) or isinstance(b, Expr) else float_functions.div(a, b)


def clamp(x: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
    """Return x limited to [lower, upper], NaN if any of the three is."""
    return minimum(maximum(x, lower), upper)


def where(condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
    """
    Return a where the condition holds, else b; NaN where the condition is NaN.

    :param condition: value of a comparison, or any number: true if not zero.
    :param a: value if true.
    :param b: value if false.
    """
    if not isinstance(condition, Expr):
        if condition == condition:
            return a if condition else b
        return math.nan
    return condition.recorder.apply('select', condition, *[
        x if isinstance(x, Expr) else float(x) for x in (a, b)])


def is_zero(x: Scalar) -> bool:
    """Return whether x is an exact, constant zero."""
    return type(x) is not Expr and x == 0.0


def is_one(x: Scalar) -> bool:
    """Return whether x is an exact, constant one."""
    return type(x) is not Expr and x == 1.0


#: For each operation of the graph, its function of scalars.
OPERATIONS: dict[str, Callable[..., Scalar]] = {
    'neg': lambda a: -a,
    'add': lambda a, b: a + b,
    'sub': lambda a, b: a - b,
    'mul': lambda a, b: a * b,
    'div': divide,
    'sqrt': sqrt, 'sin': sin, 'cos': cos, 'tan': tan, 'asin': asin, 'acos': acos,
    'atan2': atan2, 'exp': exp, 'log': log, 'tanh': tanh, 'abs': absolute,
    'min': minimum, 'max': maximum, 'lt': less, 'le': less_equal, 'select': where,
    'eq': equal, 'and': logical_and, 'or': logical_or, 'not': logical_not, 'finite': is_finite,
    'floor': floor,
}
