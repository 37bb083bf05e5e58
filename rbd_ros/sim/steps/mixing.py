# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Solving x = g(x) in a few turns, each of which uses those before it (Anderson's mixing)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.compiler import less, Scalar, Values, where


class Correction(NamedTuple):
    """
    A corrected velocity.

    :param better: the velocity.
    :param off: by what it differs from the one before.
    :param momentum: H off.
    """

    better: Values
    off: Values
    momentum: Values


def mixed(last: Correction, earlier: Sequence[Correction]) -> Values:
    """Return the combination of corrections in which the differences cancel best."""
    better, off, known = last.better, last.off, list[tuple[Values, Values, Values, Scalar]]()
    for each in reversed(earlier):
        step, change, weight = (_less(a, b) for a, b in zip(last, each, strict=True))
        size = _dot(change, weight)
        for x, y, z, inverse in known:
            share = _dot(change, z) * inverse
            step, change, weight = (_less(a, b, share) for a, b in zip(
                (step, change, weight), (x, y, z), strict=True))
        rest = _dot(change, weight)
        new = less(1e-8 * size, rest)           # another direction than the others
        inverse = where(new, 1.0 / where(new, rest, 1.0), 0.0)
        share = _dot(off, weight) * inverse
        better, off = _less(better, step, share), _less(off, change, share)
        known.append((step, change, weight, inverse))
    return better


def _less(a: Values, b: Values, share: Scalar = 1.0) -> list[Scalar]:
    return [x - share * y for x, y in zip(a, b, strict=True)]


def _dot(a: Values, b: Values) -> Scalar:
    found: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        found = found + x * y
    return found
