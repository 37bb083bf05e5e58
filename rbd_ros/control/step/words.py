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
"""What the flow of a step says, as codes; the sentences are made outside."""

from __future__ import annotations

import enum

__all__ = ['FlowWord']


class FlowWord(enum.IntEnum):
    """What is said of the step as a whole."""

    STATE = 1  # the supervisor is in a new state, the first number
    MODE = 2  # the mode is the first number
    RECOVERS = 3  # what was lost has come back by itself
    OUTSIDE = 4  # a cause from outside, whose text is kept there
    NO_TIME = 5  # an event without a time that can be used
    NO_KIND = 6  # an event of no kind that is known
