# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Connectivity of a tree of bodies: parents, index sets, paths and loops (RBDA 4.1, 6.4, 6.5).

Bodies are nodes, joints are arcs, node 0 is the fixed base. Arrays indexed by body have a
placeholder entry 0, so that ``parent[i]`` is the book's lambda(i). Arrays indexed by joint
variable are 0-based, with -1 for "no ancestor variable".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rbd_ros.model.spanning_trees import Arc


def incidence(count: int, ends: Sequence[Arc]) -> list[list[float]]:
    """
    Return P, one row per body and one column per joint, the base left out (3.69).

    An entry is +1 where the body is the successor of the joint, -1 where it is the predecessor:
    v_J = P^T v, and P f_J are the joint forces on the bodies.

    :param count: number of bodies, the base not counted.
    :param ends: predecessor and successor of each joint, 0 for the base.
    """
    P = [[0.0] * len(ends) for _ in range(count)]
    for j, (p, s) in enumerate(ends):
        if p:
            P[p - 1][j] -= 1.0
        if s:
            P[s - 1][j] += 1.0
    return P


def parent_array(predecessor: Sequence[int], successor: Sequence[int]) -> tuple[int, ...]:
    """Return lambda(i) = min(p(i), s(i)) (4.2); arguments and result have a placeholder 0."""
    return (-1, *(min(p, s) for p, s in zip(predecessor[1:], successor[1:], strict=True)))


def is_regular(parent: Sequence[int]) -> bool:
    """Return whether every body comes after its parent, as the algorithms need."""
    return all(0 <= parent[i] < i for i in range(1, len(parent)))


def children_of(parent: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return mu(i) for every body, base included (RBDA 4.1.4)."""
    children: list[list[int]] = [[] for _ in parent]
    for i in range(1, len(parent)):
        children[parent[i]].append(i)
    return tuple(map(tuple, children))


def support_of(parent: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return kappa(i): the joints between the base and body i, ascending; empty for the base."""
    support: list[tuple[int, ...]] = [()]
    for i in range(1, len(parent)):
        support.append((*support[parent[i]], i))
    return tuple(support)


def subtree_of(parent: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return nu(i): body i and all that it carries, ascending (RBDA 4.1.4)."""
    subtree = [[i] for i in range(len(parent))]
    for i in range(len(parent) - 1, 0, -1):
        subtree[parent[i]] += subtree[i]
    return tuple(tuple(sorted(bodies)) for bodies in subtree)


def expanded_parent(parent: Sequence[int], freedoms: Sequence[int]) -> tuple[int, ...]:
    """
    Return lambda': the ancestor variable of every joint variable (RBDA Table 6.4).

    The book's rule loses ancestors behind a joint without freedom; here such a body passes on
    the last variable of its own parent.

    :param parent: lambda(i) with placeholder entry 0.
    :param freedoms: n_i with placeholder entry 0.
    :returns: 0-based array over velocity variables, -1 where there is no ancestor.
    """
    last = [-1] * len(parent)
    expanded: list[int] = []
    for i in range(1, len(parent)):
        last[i] = last[parent[i]]
        for _ in range(freedoms[i]):
            expanded.append(last[i])
            last[i] = len(expanded) - 1
    return tuple(expanded)


def meeting_point(parent: Sequence[int], i: int, j: int) -> int:
    """Return the nearest common ancestor of two bodies, as the walk of RBDA Table 8.4 finds it."""
    while i != j:
        i, j = (parent[i], j) if i > j else (i, parent[j])
    return i


def loop_path(parent: Sequence[int], predecessor: int, successor: int) -> dict[int, int]:
    """
    Return epsilon of the tree joints that a loop runs through, by body (8.18).

    It is +1 on the way from the meeting point to the successor of the loop joint, -1 on the way
    to the predecessor; joints that the loop does not involve are left out.
    """
    root = meeting_point(parent, predecessor, successor)
    epsilon: dict[int, int] = {}
    for sign, i in ((1, successor), (-1, predecessor)):
        while i != root:
            epsilon[i] = sign
            i = parent[i]
    return epsilon


def loop_clusters(paths: Sequence[Iterable[int]]) -> tuple[tuple[int, ...], ...]:
    """
    Return the minimal loop clusters: sets of loops that share tree joints, 0-based (RBDA 8.9).

    :param paths: for each loop, the tree joints that it runs through.
    """
    clusters: list[tuple[list[int], set[int]]] = []
    for loop, path in enumerate(paths):
        loops, joints = [loop], set(path)
        apart = []
        for others in clusters:
            if joints.isdisjoint(others[1]):
                apart.append(others)
            else:
                loops, joints = others[0] + loops, joints | others[1]
        clusters = [*apart, (loops, joints)]
    return tuple(sorted(tuple(sorted(loops)) for loops, _ in clusters))


def depths(expanded: Sequence[int]) -> tuple[int, ...]:
    """Return the depth d_k of every variable: the number of variables on its path, itself too."""
    depth: list[int] = []
    for above in expanded:
        depth.append(1 if above < 0 else depth[above] + 1)
    return tuple(depth)


class FactorCost(NamedTuple):
    """Counts that fix the cost of sparse factorisation and of the products (RBDA 6.5)."""

    D1: int
    D2: int
    nonzeros: int
    density: float


def factor_cost(expanded: Sequence[int]) -> FactorCost:
    """Return D1, D2 (6.26-6.29), the nonzeros of H and its density from lambda'."""
    d = depths(expanded)
    D1 = sum(d_k - 1 for d_k in d)                    # 6.28
    D2 = sum(d_k * (d_k - 1) // 2 for d_k in d)       # 6.29
    n = len(d)
    nonzeros = n + 2 * D1
    return FactorCost(D1, D2, nonzeros, nonzeros / (n * n) if n else 1.0)


def sparsity(expanded: Sequence[int]) -> list[list[bool]]:
    """Return the pattern of H: true where one variable is the other's ancestor, or itself."""
    n = len(expanded)
    pattern = [[False] * n for _ in range(n)]
    for i in range(n):
        j = i
        while j >= 0:
            pattern[i][j] = pattern[j][i] = True
            j = expanded[j]
    return pattern
