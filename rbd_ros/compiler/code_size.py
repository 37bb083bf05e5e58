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
