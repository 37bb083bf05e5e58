# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Real functions of floats that answer as IEEE 754 hardware does, without exceptions.

Python raises where a compiled kernel returns inf or NaN (``1.0 / 0.0``, ``math.sqrt(-1.0)``);
the reference, the straight-line Python backend and machine code must agree there too.
NaN goes through every function, the selections included: a limiter that swallowed it would turn
a broken sensor into full torque. ``is_finite`` alone answers it with a number.
"""

import math


def div(a: float, b: float) -> float:
    """Return a / b, with inf and NaN as in IEEE 754."""
    try:
        return a / b
    except ZeroDivisionError:
        if a == 0.0 or a != a:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)


def sqrt(x: float) -> float:
    """Return the square root, NaN below zero."""
    return math.sqrt(x) if x >= 0.0 else math.nan


def sin(x: float) -> float:
    """Return the sine, NaN at infinity."""
    return math.sin(x) if -math.inf < x < math.inf else math.nan


def cos(x: float) -> float:
    """Return the cosine, NaN at infinity."""
    return math.cos(x) if -math.inf < x < math.inf else math.nan


def tan(x: float) -> float:
    """Return the tangent, NaN at infinity."""
    return math.tan(x) if -math.inf < x < math.inf else math.nan


def asin(x: float) -> float:
    """Return the arc sine, NaN outside [-1, 1]."""
    return math.asin(x) if -1.0 <= x <= 1.0 else math.nan


def acos(x: float) -> float:
    """Return the arc cosine, NaN outside [-1, 1]."""
    return math.acos(x) if -1.0 <= x <= 1.0 else math.nan


def atan2(y: float, x: float) -> float:
    """Return the angle of the point (x, y)."""
    return math.atan2(y, x)


def exp(x: float) -> float:
    """Return e to the power x, inf on overflow."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def log(x: float) -> float:
    """Return the natural logarithm, -inf at zero and NaN below."""
    if x > 0.0:
        return math.log(x)
    return -math.inf if x == 0.0 else math.nan


def tanh(x: float) -> float:
    """Return the hyperbolic tangent."""
    return math.tanh(x)


def absolute(x: float) -> float:
    """Return the absolute value."""
    return math.fabs(x)


def minimum(a: float, b: float) -> float:
    """Return the smaller number, NaN if either is."""
    return a if a < b or a != a else b


def maximum(a: float, b: float) -> float:
    """Return the larger number, NaN if either is."""
    return a if a > b or a != a else b


def less(a: float, b: float) -> float:
    """Return 1.0 if a < b, else 0.0, NaN if either is."""
    return 1.0 if a < b else (0.0 if a >= b else math.nan)


def less_equal(a: float, b: float) -> float:
    """Return 1.0 if a <= b, else 0.0, NaN if either is."""
    return 1.0 if a <= b else (0.0 if a > b else math.nan)


def equal(a: float, b: float) -> float:
    """Return 1.0 if a equals b, else 0.0, NaN if either is."""
    return 1.0 if a == b else (0.0 if a == a and b == b else math.nan)


def logical_and(a: float, b: float) -> float:
    """Return 1.0 if neither is zero, else 0.0, NaN if either is: zero does not hide it."""
    if a != a or b != b:
        return math.nan
    return 1.0 if a != 0.0 and b != 0.0 else 0.0


def logical_or(a: float, b: float) -> float:
    """Return 1.0 if one is not zero, else 0.0, NaN if either is: a true one does not hide it."""
    if a != a or b != b:
        return math.nan
    return 1.0 if a != 0.0 or b != 0.0 else 0.0


def logical_not(a: float) -> float:
    """Return 1.0 for zero, else 0.0, NaN for NaN."""
    return a if a != a else float(a == 0.0)


def is_finite(x: float) -> float:
    """Return 1.0 for a finite number, 0.0 for inf and NaN: the one function that stops NaN."""
    return 1.0 if -math.inf < x < math.inf else 0.0


def floor(x: float) -> float:
    """Return the largest whole number that is not larger, inf and NaN as they are."""
    return math.copysign(math.floor(x), x) if -math.inf < x < math.inf else x


def select(c: float, a: float, b: float) -> float:
    """Return a where c is not zero, else b, NaN if c is."""
    return c if c != c else (a if c != 0.0 else b)
