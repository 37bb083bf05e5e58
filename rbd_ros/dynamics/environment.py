# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What acts on a robot and may change at every call: gravity, payloads and time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.errors import RbdError, UnknownName
from rbd_ros.model.model import Frame, Model


class Environment:
    """
    The inputs that all kernels of a robot share; they are read at every call.

    :param model: the robot.
    :param payload_frame: name of the one frame that carries a payload.
    :param payload_frames: names of several.
    """

    def __init__(
        self, model: Model, payload_frame: str | None = None, payload_frames: Sequence[str] = (),
    ) -> None:
        if isinstance(payload_frames, str):
            raise RbdError(f'payload_frames is the text {payload_frames!r}; give a list of names, '
                           'or one name as payload_frame')
        if payload_frame is not None and payload_frames:
            raise RbdError('give payload_frame for one payload or payload_frames for several, '
                           'not both')
        names = payload_frames if payload_frame is None else (payload_frame,)
        if len(set(names)) < len(names):
            raise RbdError(f'payload_frames names a frame twice: {", ".join(names)}')
        #: Where payloads hang.
        self.frames: tuple[Frame, ...] = tuple(model.frame(name) for name in names)
        #: Ten numbers of each payload.
        self.payloads = np.zeros((len(names), 10))
        #: By body, the payload frame that replaces it.
        self.replaced: dict[int, int] = {}
        #: What kernels read, by the name of the input.
        self.inputs: dict[str, Array] = {
            'gravity': np.array(model.gravity), 'time': np.zeros(1), 'stabilization': np.zeros(2),
            'payload': self.payloads if payload_frame is None else self.payloads[0]}

    def share(self, other: Environment) -> None:
        """Take part in all that acts on another robot with the same frames, now and later."""
        self.inputs, self.payloads, self.replaced = other.inputs, other.payloads, other.replaced

    @property
    def time(self) -> float:
        """Return the time of joints and rules that depend on it, s."""
        return float(self.inputs['time'][0])

    def place(self, frame: str | None) -> int:
        """Return which payload hangs at a frame, None for the only one."""
        names = [each.name for each in self.frames]
        if not names:
            raise RbdError('this robot carries no payload: give payload_frame= when making it')
        if frame is None and len(names) > 1:
            raise RbdError(f'this robot carries payloads at {", ".join(names)}: give frame=')
        if frame is not None and frame not in names:
            raise UnknownName('payload frame', frame, names)
        return 0 if frame is None else names.index(frame)

    def put(self, place: int, load: Array) -> None:
        """Hang a payload at a place, of ten numbers, where perhaps an inertia was replaced."""
        if self.replaced.get(self.frames[place].body) == place:
            del self.replaced[self.frames[place].body]
        self.payloads[place] = load

    def replace(self, place: int, difference: Array) -> None:
        """Replace the inertia of the body of a place, by what another one has more."""
        body = self.frames[place].body
        if self.replaced.get(body, place) != place:
            self.payloads[self.replaced[body]] = 0.0
        self.replaced[body] = place
        self.payloads[place] = difference
