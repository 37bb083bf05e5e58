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

"""Payload and gravity as inputs of the kernels; both may change while they run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from rbd_ros.compiler import Bound
from rbd_ros.control.former.ramps import GravitySource, PayloadRamp
from rbd_ros.control.load.load import payload_of
from rbd_ros.control.parameters.settings import Settings

__all__ = ['Load']

Array = npt.NDArray[np.float64]

_PAYLOAD = ('payload.mass', 'payload.com', 'payload.inertia')

#: kernels that do not: one runs in another thread, one has no weight
_WITHOUT = ('report', 'loops')


class Load:
    """Payload and gravity of one robot, and their copies in every kernel."""

    def __init__(self, settings: Settings, kernels: Mapping[str, Bound]) -> None:
        """
        Start with the payload and the gravity of the parameters.

        :param settings: valid set.
        :param kernels: compiled ticks by name.
        """
        measured = settings.text('gravity_source') != 'parameter'
        self.gravity = GravitySource(
            settings.numbers('gravity'), slew=settings.number('gravity_slew'),
            timeout=settings.number('gravity_timeout') if measured else 0.0)
        self.payload = PayloadRamp(settings.number('payload.ramp_time'))
        self._inputs = [bound.inputs for name, bound in kernels.items() if name not in _WITHOUT]
        self.payload.set(0.0, payload_of(settings), 0.0)
        self.payload.update(0.0)
        self._share()

    def update(self, now: float) -> bool:
        """
        Advance the ramps.

        :param now: control time, s.
        :returns: whether the direction of gravity is known.
        """
        known = self.gravity.update(now)
        if self.payload.update(now) or self.gravity.changed:
            self._share()
        return known

    def apply(self, now: float, before: Settings, settings: Settings) -> None:
        """
        Take new parameters.

        :param now: control time, s.
        :param before: valid set that was in force.
        :param settings: valid set.
        """
        if any(settings.values[name] != before.values[name] for name in _PAYLOAD):
            self.carry(now, payload_of(settings), settings.number('payload.ramp_time'))
        self.gravity.update(now)  # the slew begins now
        self.gravity.configure(settings.numbers('gravity'), settings.number('gravity_slew'))

    def carry(self, now: float, payload: Array, ramp_time: float) -> None:
        """
        Begin a ramp to another payload.

        :param now: control time, s.
        :param payload: ten numbers of ``payload_vector``.
        :param ramp_time: s.
        """
        self.payload.set(now, payload, ramp_time)

    def _share(self) -> None:
        self.gravity.changed = False
        for inputs in self._inputs:
            inputs['payload'][:] = self.payload.value
            inputs['gravity'][:] = self.gravity.value
