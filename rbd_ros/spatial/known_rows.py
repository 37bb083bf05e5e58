# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rows that the structure of a motion subspace makes exact, whatever the inertia (RBDA A.4)."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.compiler import is_zero, Scalar
from rbd_ros.spatial.vectors import Motion


def vanishing_rows(S: Sequence[Motion]) -> tuple[int, ...]:
    """
    Find the rows and columns that vanish in I^a = I^A - U D^-1 U^T (RBDA A.4).

    When all but d rows of a 6 x d subspace are exact zeros, I^a S = 0 makes the rows and columns
    of the other d vanish.

    :param S: columns of the joint's motion subspace.
    :returns: coordinates 0..5, angular first; empty when the rule does not apply.
    """
    columns = [s.to_list() for s in S]
    used = tuple(i for i in range(6) if not all(is_zero(s[i]) for s in columns))
    return used if len(used) == len(columns) else ()


def unit_rows(S: Sequence[Motion]) -> dict[int, list[Scalar]]:
    """
    Find the rows of U D^-1 that are exactly those of a unit matrix, but for order and sign.

    When all but d rows of S are exact zeros and the others are a signed permutation, D = S^T U
    makes these rows of U D^-1 the same as those of S.

    :param S: columns of the joint's motion subspace.
    :returns: the entries by coordinate 0..5, angular first; empty when the rule does not apply.
    """
    columns = [s.to_list() for s in S]
    rows = {i: [s[i] for s in columns] for i in vanishing_rows(S)}
    entries = [x for row in rows.values() for x in row if not is_zero(x)]
    exact = len(entries) == len(rows) and all(type(x) is float and abs(x) == 1.0 for x in entries)
    return rows if exact else {}
