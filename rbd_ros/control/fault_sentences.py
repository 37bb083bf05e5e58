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
"""The sentences of latched faults, made while the records still say what was seen."""

from __future__ import annotations

from rbd_ros.control.speaker import Speaker
from rbd_ros.control.supervisor.latch import Latch, latched

__all__ = ['FaultSentences']


class FaultSentences:
    """
    One sentence for each latched cause.

    :param faults: causes as the step latches them.
    :param speaker: makes the sentences.
    """

    def __init__(self, faults: Latch, speaker: Speaker) -> None:
        self._faults, self._speaker = faults, speaker
        self._seen = b''  # the causes as they stood in the record when the sentences were made
        #: sentences by the names of their causes, first one first
        self.by_cause: dict[str, str] = {}

    def update(self) -> None:
        """Make the sentences of new causes, and drop those of cleared ones."""
        seen = self._faults.order.tobytes() + self._faults.details.tobytes()
        if seen == self._seen:
            return
        self._seen = seen  # one step may clear a cause and find another one
        self.by_cause = {each.cause.name: self._speaker.fault(each)
                         for each in latched(self._faults)}

    def text(self) -> str:
        """Return all sentences in one line."""
        return '; '.join(self.by_cause.values())
