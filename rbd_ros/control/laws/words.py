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

"""What the laws have to say."""

from __future__ import annotations

from collections.abc import Callable
import enum

from rbd_ros.control.interface.sentences import Sentence

__all__ = ['LawWord', 'TEXTS']


class LawWord(enum.IntEnum):
    """Words of laws, brake and hold."""

    HOLD_YIELDS = 350


#: texts of a joint's name and three numbers
TEXTS: dict[int, Callable[[str, float, float, float], str]] = {
    LawWord.HOLD_YIELDS: Sentence(
        'the hold yields to a push: {joint} has moved by {a:.3g} {unit} so far. If nobody is '
        'pushing, the payload or the description is wrong'),
}
