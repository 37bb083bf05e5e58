# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
How much machine code a kernel is: the price of straight lines (RBDA 10.4).

Code without loops grows with the number of operations, not with the text of the algorithm. Past
the instruction cache of a processor (32 to 64 kB in its first level) it is fetched anew at every
call, so that what a long kernel saves in operations it may lose in fetching.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.compiler.native.target import binding


def code_size(objects: Sequence[bytes]) -> int:
    """
    Return how many bytes of instructions are in object code.

    :param objects: what ``emit_objects`` gave, for any processor.
    """
    return sum(section.size() for data in objects
               for section in binding().ObjectFileRef.from_data(data).sections()
               if section.is_text())
