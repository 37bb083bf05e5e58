# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What is measured must be done, and done right: a row of numbers that differ is no row."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ['same']


def same(what: str, got: Any, wanted: Any, share: float = 1e-8) -> None:
    """
    Raise an error unless a result is that of another computation.

    :param what: is measured, for the message.
    :param got: its result.
    :param wanted: the other one, which must not be zero.
    :param share: of the largest number by which they may differ.
    :raises RuntimeError: which says by how much they differ.
    """
    a, b = np.asarray(got, float), np.asarray(wanted, float)
    size = float(np.abs(b).max(initial=0.0))
    if a.shape != b.shape or not size > 0.0:
        raise RuntimeError(f'{what}: a result of shape {a.shape} and size '
                           f'{np.abs(a).max(initial=0.0):.3g} is compared with one of shape '
                           f'{b.shape} and size {size:.3g}')
    off = float(np.abs(a - b).max())
    if not off <= share * size:
        raise RuntimeError(f'{what}: the result is {off:.3g} off another computation of size '
                           f'{size:.3g}: what was measured is something else')
