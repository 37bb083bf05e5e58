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
