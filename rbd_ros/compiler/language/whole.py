# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Functions of whole vectors, for procedures; Python runs them with NumPy.

They give what the same loop over elements would give, to the last bit. NumPy has functions of
these names that do not: it adds in an order of its own, and its minimum with NaN is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ['clip', 'dot', 'finite', 'maximum', 'minimum', 'REDUCTIONS', 'total', 'where', 'WHOLE']


def where(test: Any, yes: Any, no: Any) -> Any:
    """
    Return elements of one of two.

    :param test: truths.
    :param yes: where they are true.
    :param no: elsewhere.
    """
    if isinstance(test, np.ndarray):
        return np.where(test, yes, no)
    return yes if test else no


def minimum(a: Any, b: Any) -> Any:
    """
    Return the smaller elements, those of the first where one is NaN.

    :param a: the first.
    :param b: the second.
    """
    return where(b < a, b, a)


def maximum(a: Any, b: Any) -> Any:
    """
    Return the larger elements, those of the first where one is NaN.

    :param a: the first.
    :param b: the second.
    """
    return where(b > a, b, a)


def clip(values: Any, least: Any, most: Any) -> Any:
    """
    Return elements within bounds; NaN stays NaN.

    :param values: elements.
    :param least: lower bound.
    :param most: upper bound, which wins.
    """
    return minimum(maximum(values, least), most)


def finite(values: Any) -> Any:
    """
    Return which elements are neither NaN nor infinite.

    :param values: elements.
    """
    return np.isfinite(values)


def total(values: Any) -> float:
    """
    Return the sum: 0.0, to which the elements are added from the first to the last.

    :param values: a vector.
    """
    found = 0.0
    for each in values:
        found += float(each)
    return found


def dot(a: Any, b: Any) -> float:
    """
    Return the sum of the products, as ``total`` does.

    :param a: a vector.
    :param b: another one.
    """
    return total(a * b)


#: Functions that give as many numbers as they take, and how many they take.
WHOLE: dict[Callable[..., Any], int] = {where: 3, minimum: 2, maximum: 2, clip: 3, finite: 1}
#: Functions that give one number of many.
REDUCTIONS: dict[Callable[..., Any], int] = {total: 1, dot: 2}
