# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Answers to exercises, checked."""

from __future__ import annotations

from types import EllipsisType

import numpy as np
from numpy.typing import ArrayLike

__all__ = ['check']


def check(given: ArrayLike | EllipsisType, expected: ArrayLike, *, tolerance: float = 1e-9) -> str:
    """
    Return what to say to the answer to an exercise.

    :param given: the answer; ``...`` as long as there is none.
    :param expected: what is right.
    :param tolerance: of the difference, relative to the largest number that is expected.
    :raises AssertionError: if the answer is wrong; says by how much, not what is right.
    """
    if given is ...:
        return 'not answered yet: put your answer in place of the three dots'
    right, found = np.asarray(expected, float), np.asarray(given, float)
    assert found.shape == right.shape, f'expected {right.shape} numbers, got {found.shape}'
    size = max(float(np.abs(right).max(initial=0.0)), np.finfo(float).tiny)
    error = float(np.abs(found - right).max(initial=0.0)) / size
    assert error <= tolerance, f'not yet: off by {error:.2g} of the largest number'
    return 'right'
