# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What the shape of a tree costs: operations of inertia matrix and forward dynamics (RBDA 10.3).

The formulas hold for revolute joints with general inertias and placements, without what symbolic
simplification saves: a bound for the kernels, and a way to compare trees before compiling them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.model import connectivity


class Cost(NamedTuple):
    """Multiplications with divisions, and additions with subtractions."""

    m: int
    a: int

    @property
    def total(self) -> int:
        """Return both together."""
        return self.m + self.a

    def __add__(self, other: object) -> Cost:
        """Return the cost of both."""
        if not isinstance(other, Cost):
            return NotImplemented
        return Cost(self.m + other.m, self.a + other.a)

    def times(self, n: int) -> Cost:
        """Return the cost of doing it n times."""
        return Cost(n * self.m, n * self.a)


#: Composite inertia to the parent and added there, force to the parent: through two axial screws
#: where the frames are placed after Denavit and Hartenberg, and through a general transform.
INERTIA_DH, INERTIA_GENERAL = Cost(32, 43), Cost(47, 58)
FORCE_DH, FORCE_GENERAL = Cost(20, 12), Cost(24, 18)


class Counters(NamedTuple):
    """
    How often a tree carries something across a joint (10.4, 10.5, 10.10, 10.11).

    :param D0_dh: composite inertias across joints with Denavit-Hartenberg frames.
    :param D0_g: across the others.
    :param D1_dh: forces across joints with such frames; ``D1_g`` likewise.
    """

    D0_dh: int
    D0_g: int
    D1_dh: int
    D1_g: int

    @property
    def D0(self) -> int:
        """Return the number of bodies that do not hang on the base."""
        return self.D0_dh + self.D0_g

    @property
    def D1(self) -> int:
        """Return the number of nonzero entries of H below its diagonal."""
        return self.D1_dh + self.D1_g


def counters(parent: Sequence[int]) -> Counters:
    """
    Return the counters of a tree, the frames placed so that most joints cost least.

    Each body can share a Denavit-Hartenberg frame with one child: the one with most descendants.

    :param parent: of each body, 0 for the base; entry 0 is not used.
    """
    n = len(parent) - 1
    below = [len(bodies) for bodies in connectivity.subtree_of(parent)]
    best: dict[int, int] = {}
    for i in range(1, n + 1):
        p = parent[i]
        if p != 0 and (p not in best or below[i] > below[best[p]]):
            best[p] = i
    dh = set(best.values())
    general = [i for i in range(1, n + 1) if parent[i] != 0 and i not in dh]
    return Counters(len(dh), len(general), sum(below[i] for i in dh),
                    sum(below[i] for i in general))


def inertia_matrix_cost(parent: Sequence[int]) -> Cost:
    """Return the cost of composite rigid bodies on a tree of revolute joints (10.6, 10.12)."""
    c = counters(parent)
    return (INERTIA_DH.times(c.D0_dh) + INERTIA_GENERAL.times(c.D0_g)
            + FORCE_DH.times(c.D1_dh) + FORCE_GENERAL.times(c.D1_g))


def factor_and_solve_cost(parent: Sequence[int]) -> Cost:
    """Return the cost of H = L^T D L and one solution, without fill-in (Table 6.6)."""
    n = len(parent) - 1
    cost = connectivity.factor_cost([p - 1 for p in parent[1:]])
    return Cost(cost.D1 + cost.D2 + n + 2 * cost.D1, cost.D2 + 2 * cost.D1)


def inverse_dynamics_cost(n: int) -> Cost:
    """Return the best published cost of the recursion for n > 1 revolute joints (Table 10.1)."""
    return Cost(93 * n - 108, 81 * n - 100)


def forward_dynamics_cost(parent: Sequence[int]) -> Cost:
    """Return the cost of forward dynamics through the inertia matrix: O(n d^2) (10.3.2)."""
    return (inverse_dynamics_cost(len(parent) - 1) + inertia_matrix_cost(parent)
            + factor_and_solve_cost(parent))


def articulated_body_cost(n: int) -> Cost:
    """Return the best published cost of articulated bodies for n > 1 joints (Table 10.1)."""
    return Cost(224 * n - 259, 205 * n - 248)


#: Mean number of ancestors from which columns of H are cheaper in base coordinates: that saves
#: 21 operations for each entry and costs some 125 for each body.
DEEP = 8


def is_deep(parent: Sequence[int]) -> bool:
    """Return whether columns of the inertia matrix are best found in base coordinates."""
    return counters(parent).D1 > DEEP * (len(parent) - 1)


def may_use_inertia_matrix(parent: Sequence[int], margin: float = 2.0) -> bool:
    """
    Return whether forward dynamics through H may need fewer operations than articulated bodies.

    :param margin: by how much the formulas may be wrong for a robot whose numbers simplify.
    """
    n = len(parent) - 1
    return n < 2 or forward_dynamics_cost(parent).total < margin * articulated_body_cost(n).total
