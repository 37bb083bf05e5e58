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

"""Where controlled joints stand among all."""

from __future__ import annotations

from rbd_ros.control.interface.events import Structure

__all__ = ['place_of']


def place_of(s: Structure, j: int) -> int:
    """
    Return the place of a controlled joint among the joints of the model.

    :param j: its place among the controlled ones.
    """
    place = s.index[j]
    return int(place) if 0.0 <= place < len(s.controlled) else 0
