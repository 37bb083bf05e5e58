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

"""What acts on a robot and may change at every call: gravity, payloads and time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rbd_ros.compiler.kernel import vector
from rbd_ros.errors import RbdError, UnknownName
from rbd_ros.spatial import RigidInertia, Sym3, Vec3

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from rbd_ros.model.model import Frame, Model

    Array = NDArray[np.float64]


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
        rows = np.zeros((len(names), 10))
        self.model = model
        self._payload_frames: tuple[Frame, ...] = tuple(model.frame(name) for name in names)
        self._payloads = rows
        self._replaced: dict[int, int] = {}     # by body, the payload frame that replaces it
        self._common: dict[str, Array] = {
            'gravity': np.array(model.gravity), 'time': np.zeros(1), 'stabilization': np.zeros(2),
            'payload': rows if payload_frame is None else rows[0]}

    @property
    def gravity_vector(self) -> Array:
        """Return the acceleration of free fall in use, base coordinates, m/s^2."""
        return self._common['gravity'].copy()

    def set_gravity(self, gravity: ArrayLike) -> None:
        """
        Change gravity for all later calls; nothing is compiled anew.

        :param gravity: acceleration of free fall, base coordinates, m/s^2.
        """
        self._common['gravity'][:] = vector('gravity', gravity, 3)

    def set_payload(
        self, mass: float, com: ArrayLike, inertia: ArrayLike, *, frame: str | None = None,
    ) -> None:
        """
        Hang a rigid body on a payload frame for all later calls; nothing is compiled anew.

        :param mass: kg.
        :param com: centre of mass in the payload frame, m.
        :param inertia: 3 x 3 rotational inertia about the centre of mass, payload-frame axes.
        :param frame: which of the payload frames, where the robot has several.
        """
        place, load = self._place(frame), _ten(_rigid(mass, com, inertia))
        body = self._payload_frames[place].body
        if self._replaced.get(body) == place:
            del self._replaced[body]
        self._payloads[place] = load

    def set_inertia(
        self, frame: str, mass: float, com: ArrayLike, inertia: ArrayLike,
    ) -> None:
        """
        Replace the inertia of a body for all later calls; nothing is compiled anew.

        :param frame: one of the payload frames, such as that of the body itself; what follows is
            given in its coordinates, and replaces all that the model has in that body, or what
            replaced it before. Payloads at other frames of the body stay.
        :param mass: kg.
        :param com: centre of mass, m.
        :param inertia: 3 x 3 rotational inertia about the centre of mass.
        """
        place = self._place(frame)
        at = self._payload_frames[place]
        own = at.placement @ self.model.inertia[at.body]
        load = _ten(_rigid(mass, com, inertia)) - _ten(own)
        if self._replaced.get(at.body, place) != place:
            self._payloads[self._replaced[at.body]] = 0.0
        self._replaced[at.body] = place
        self._payloads[place] = load
        self._inertia_replaced()

    def _inertia_replaced(self) -> None:
        """Hear that a body has another inertia than in the model."""

    def set_time(self, t: float) -> None:
        """Set the time of joints and rules that depend on it, for all later calls, s."""
        self._common['time'][:] = vector('time', [t], 1)

    def _place(self, frame: str | None) -> int:
        names = [each.name for each in self._payload_frames]
        if not names:
            raise RbdError('this robot carries no payload: give payload_frame= when making it')
        if frame is None and len(names) > 1:
            raise RbdError(f'this robot carries payloads at {", ".join(names)}: give frame=')
        if frame is not None and frame not in names:
            raise UnknownName('payload frame', frame, names)
        return 0 if frame is None else names.index(frame)


def _rigid(mass: float, com: ArrayLike, inertia: ArrayLike) -> RigidInertia:
    """Return a checked rigid body from its mass, centre of mass and inertia about that."""
    m, c = float(vector('mass', [mass], 1)[0]), vector('com', com, 3)
    I = vector('inertia', np.ravel(inertia), 9).reshape(3, 3)
    if not np.allclose(I, I.T, rtol=1e-9, atol=1e-12):
        raise RbdError(f'inertia of the payload is {I.tolist()}; it must be symmetric')
    if m < 0.0 or np.linalg.eigvalsh(I).min() < -1e-12:
        raise RbdError(f'payload of mass {m} kg with inertia {I.tolist()}: neither may be '
                       'negative; give kg, and kg m^2 about the centre of mass')
    return RigidInertia.from_com(m, Vec3(*c.tolist()), Sym3.from_matrix(I.tolist()))


def _ten(body: RigidInertia) -> Array:
    """Return a rigid body as the ten numbers of a kernel's input."""
    return np.array([body.m, *body.h, *body.I.entries()], dtype=float)
