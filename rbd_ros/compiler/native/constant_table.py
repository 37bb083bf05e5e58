# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Constants as loads from a table next to the code.

A processor with instructions of one length has no room for a double in them: LLVM builds each one
from four immediates and copies it to the lanes, six instructions for what one load does. On
aarch64 that was a quarter of a kernel. x86_64 takes constants from memory as operands by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
import re

from rbd_ros.compiler.native.instructions import double, Lanes
from rbd_ros.compiler.native.target import pointer

_NUMBER = '0x[0-9A-F]{16}'
#: What every processor makes in one instruction.
_CHEAP = frozenset(double(sign * x) for sign in (1.0, -1.0) for x in (0.0, 0.5, 1.0, 2.0))


def in_memory(lines: Sequence[str], lanes: Lanes, table: str) -> tuple[list[str], list[str]]:
    """
    Return the declaration of a table, and lines that load constants from it before their use.

    :param lines: of one function; constants in stores, and those that cost nothing, are left.
    :param lanes: that the function computes on.
    :param table: name of the table.
    """
    kind = lanes.scalar.c
    if lanes.count == 1:
        pattern = re.compile(rf'(?<=[ ,])({_NUMBER})(?=,|$)')
    else:
        pattern = re.compile(rf'<{kind} ({_NUMBER})(?:, {kind} \1){{{lanes.count - 1}}}>')
    wanted = [[m[1] for m in pattern.finditer(line) if m[1] not in _CHEAP]
              if '0x' in line and not line.startswith('store') else [] for line in lines]
    place = {number: k for k, number in enumerate(
        dict.fromkeys(number for found in wanted for number in found))}
    if not place:
        return [], list(lines)
    real = lanes.real
    rows = f'[{len(place)} x {real}]'
    values = ', '.join(f'{real} {lanes.splat(kind, number)}' for number in place)
    declared = [f'@{table} = private unnamed_addr constant {rows} [{values}], align 64']
    found: list[str] = []
    for n, (line, numbers) in enumerate(zip(lines, wanted, strict=True)):
        for number in dict.fromkeys(numbers):
            name = f'%const{n}.{place[number]}'
            found += [f'{name}.p = getelementptr {rows}, {pointer(rows)} @{table}, i64 0, '
                      f'i64 {place[number]}',
                      f'{name} = load {real}, {pointer(real)} {name}.p, align {lanes.align}']
            line = line.replace(lanes.splat(kind, number), name)
        found.append(line)
    return declared, found
