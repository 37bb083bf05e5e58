# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Chance from an integer, to the last bit the same on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload, TypeVar

import numpy as np
import numpy.typing as npt

__all__ = ['Chance']

Array = npt.NDArray[np.float64]
Thing = TypeVar('Thing')


class Chance:
    """
    Random numbers of which NumPy makes only the bits.

    NumPy's own distributions multiply and add in C, which some compilers fuse on some machines.
    """

    def __init__(self, seed: int) -> None:
        """
        Begin.

        :param seed: decides everything.
        """
        self._bits = np.random.Generator(np.random.PCG64(seed))

    def below(self, share: float) -> bool:
        """
        Return true with a probability.

        :param share: the probability.
        """
        return bool(self._bits.random() < share)

    def whole(self, count: int) -> int:
        """
        Return one of 0, 1 to count - 1.

        :param count: how many.
        """
        return int(self._bits.integers(count))

    def one(self, things: Sequence[Thing]) -> Thing:
        """
        Return one of some things.

        :param things: to choose from.
        """
        return things[self.whole(len(things))]

    def order(self, count: int) -> list[int]:
        """
        Return 0, 1 to count - 1 in some order.

        :param count: how many.
        """
        return [int(i) for i in self._bits.permutation(count)]

    @overload
    def between(self, low: float, high: float) -> float: ...

    @overload
    def between(self, low: float, high: float, shape: int | tuple[int, ...]) -> Array: ...

    def between(self, low: float, high: float, shape: Any = None) -> Any:
        """
        Return numbers within bounds.

        :param low: bound.
        :param high: bound.
        :param shape: of the array; None: one number.
        """
        return low + (high - low) * self._bits.random(shape)
