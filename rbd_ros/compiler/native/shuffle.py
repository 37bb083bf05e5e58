# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Vectors put together and taken apart, as LLVM assembly text."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.compiler.native.instructions import Lanes
from rbd_ros.compiler.scalar import FLOAT64, ScalarType


def shuffle(target: str, kind: str, a: str, b: str, indices: Sequence[int]) -> str:
    """Return the line that picks lanes of two vectors."""
    mask = ', '.join(f'i32 {k}' for k in indices)
    return (f'{target} = shufflevector {kind} {a}, {kind} {b}, '
            f'<{len(indices)} x i32> <{mask}>')


def join(lines: list[str], tag: str, names: list[str], size: int,
         scalar: ScalarType = FLOAT64) -> str:
    """Put vectors (or scalars) of a size one after another; return the name of the whole."""
    if size == 1:
        value = 'undef'
        for k, name in enumerate(names):
            lines.append(f'{tag}.{k} = insertelement '
                         f'{Lanes(len(names), scalar=scalar).real} {value}, '
                         f'{scalar.c} {name}, i32 {k}')
            value = f'{tag}.{k}'
        return value
    while len(names) > 1:
        merged = []
        for k in range(0, len(names), 2):
            merged.append(f'{tag}.{size}.{k}')
            kind = Lanes(size, scalar=scalar).real
            lines.append(shuffle(merged[-1], kind, names[k], names[k + 1], range(2 * size)))
        names, size = merged, 2 * size
    return names[0]


def piece(target: str, name: str, lanes: Lanes, block: int, c: int) -> str:
    """Return the line that takes one block of c lanes out of a vector."""
    if c == 1:
        return f'{target} = extractelement {lanes.real} {name}, i32 {block}'
    return shuffle(target, lanes.real, name, name, range(block * c, (block + 1) * c))
