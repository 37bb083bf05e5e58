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
Where a polynomial leaves its bounds, found by its extrema: samples miss what lies between them.

Over u from 0 to 1, a polynomial lies between its least and its largest coefficient in the basis of
Bernstein (Farin, "Curves and Surfaces for CAGD", 5th edition, 2002, 5.1). Most polynomials are
inside their bounds by that alone; only for the others the roots of the derivative are asked for.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
import numpy.typing as npt

__all__ = ['first_beyond', 'first_outside', 'powers']

Array = npt.NDArray[np.float64]

#: what is left out of a polynomial before its roots are asked for, as a share of the largest
#: coefficient
_NOTHING = 1e-14

#: halvings of an interval in which a bound is crossed
_HALVES = 50


def _bernstein(degree: int) -> Array:
    """Return the matrix that makes Bernstein coefficients of those of 1, u, u^2 ..."""
    return np.array([[comb(i, k) / comb(degree, k) for k in range(degree + 1)]
                     for i in range(degree + 1)])


_HULLS = {degree: _bernstein(degree) for degree in range(1, 6)}


def first_beyond(p: Polynomial | Chebyshev, least: float, most: float) -> float | None:
    """
    Return where a polynomial first is outside of two bounds; None: nowhere in its domain.

    :param p: the polynomial.
    :param least: its lower bound.
    :param most: its upper bound.
    """
    begin, end = p.domain.tolist()
    slope = p.deriv()
    size = float(np.abs(slope.coef).max())
    roots = slope.trim(_NOTHING * size).roots() if size > 0.0 else np.zeros(0)
    inner = np.sort(roots.real[(begin < roots.real) & (roots.real < end)])
    at = [begin, *inner.tolist(), end]  # it is monotone in between
    values = p(np.array(at))
    outside = (values < least) | (values > most)
    if not outside.any():
        return None
    k = int(outside.argmax())
    before, found = at[max(k - 1, 0)], at[k]
    for _ in range(_HALVES):
        middle = 0.5 * (before + found)
        if least <= p(middle) <= most:
            before = middle
        else:
            found = middle
    return found


def first_outside(c: Array, least: Array, most: Array) -> float | None:
    """
    Return where the first of several polynomials is outside of its bounds; None: nowhere.

    :param c: coefficients of 1, u, u^2 ... with u from 0 to 1, one column for each.
    :param least: lower bounds.
    :param most: upper bounds.
    """
    hull = _HULLS[len(c) - 1] @ c
    if not np.isfinite(hull).all():
        return 0.0
    inside = (least <= hull.min(axis=0)) & (hull.max(axis=0) <= most)
    found = [first_beyond(Polynomial(c[:, j], domain=[0.0, 1.0], window=[0.0, 1.0]),
                          float(least[j]), float(most[j])) for j in np.flatnonzero(~inside)]
    return min((u for u in found if u is not None), default=None)


def powers(c: Array) -> Array:
    """
    Return the coefficients of 1, u, u^2 ... of polynomials in the basis of Bernstein.

    :param c: one column for each.
    """
    return np.asarray(np.linalg.solve(_HULLS[len(c) - 1], c))
