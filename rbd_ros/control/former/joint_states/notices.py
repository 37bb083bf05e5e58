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

"""Log lines about joint states: each of them once per activation."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.control.throttle import short_list

__all__ = ['Notices']

#: lists of unknown joints that are announced since an activation
_MAX_LISTS = 8


class Notices(list[str]):
    """Texts that wait to be announced; empty in nearly every cycle."""

    def __init__(self) -> None:
        """Start without any."""
        super().__init__()
        self.restart()

    def restart(self) -> None:
        """Let everything be announced once more."""
        self._announced: set[str] = set()
        self._lists = 0  # of unknown joints

    def take(self) -> list[str]:
        """Return what must be announced, once."""
        notices = list(self)
        self.clear()
        return notices

    def once(self, key: str, text: str) -> None:
        """
        Add a text, unless one of its kind was added before.

        :param key: its kind.
        :param text: what to announce.
        """
        if key not in self._announced:
            self._announced.add(key)
            self.append(text)

    def unknown_joints(self, extra: Sequence[str]) -> None:
        """
        Announce unknown joints, unless a sender keeps inventing names.

        :param extra: their names.
        """
        text = f'joints not in the model are ignored: {short_list(extra)}'
        if text in self._announced:
            return
        if self._lists < _MAX_LISTS:
            self._lists += 1
            self.once(text, text)
        else:
            self.once('extra', 'joint_states keeps bringing new names that are not in '
                               'the model; further ones are not logged')

    def no_velocity(self, joints: Sequence[str]) -> None:
        """
        Name joints whose velocity is missing.

        :param joints: their names.
        """
        new = [name for name in joints if f'velocity {name}' not in self._announced]
        if new:
            self._announced.update(f'velocity {name}' for name in new)
            self.append(f'no velocity for {", ".join(new)}: using the filtered '
                        'derivative of the position')
