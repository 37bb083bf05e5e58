# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The number types that back ends compute with."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rbd_ros.compiler.graph.graph import Graph


class ScalarType(NamedTuple):
    """
    One type of floating-point number.

    :param name: as NumPy calls it.
    :param c: as C and LLVM call it.
    :param size: bytes of one.
    :param suffix: of the names of C's mathematical functions and of C's constants.
    """

    name: str
    c: str
    size: int
    suffix: str

    def rounded(self, value: float) -> float:
        """Return the number of this type that is nearest to a double."""
        if self is FLOAT64:
            return value
        with np.errstate(over='ignore', under='ignore'):
            return float(np.float32(value))

    def check(self, graph: Graph) -> None:
        """
        Refuse a graph whose constants this type cannot hold.

        :raises ValueError: if a constant would become infinite, or zero.
        """
        for node in graph.nodes:
            if node.op != 'const' or not node.constant or math.isinf(node.constant):
                continue
            near = self.rounded(node.constant)
            if near == 0.0 or math.isinf(near):
                raise ValueError(f'graph "{graph.name}" holds the constant {node.constant}, which '
                                 f'becomes {near} in {self.name}; compile it in float64')


FLOAT64 = ScalarType('float64', 'double', 8, '')
FLOAT32 = ScalarType('float32', 'float', 4, 'f')
_BY_NAME = {name: kind for kind in (FLOAT64, FLOAT32) for name in (kind.name, kind.c)}


def scalar_type(name: str | ScalarType) -> ScalarType:
    """Return a type by its name in NumPy or C, or the one that a copy of it stands for."""
    if isinstance(name, ScalarType):  # a pickled one is another object, and types are compared
        name = name.name
    if name not in _BY_NAME:
        raise ValueError(f'no scalar type "{name}" (known: {", ".join(_BY_NAME)})')
    return _BY_NAME[name]
