# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How gravity, payloads and time of a compiled robot are set."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.compiler import Array
from rbd_ros.compiler.arguments import vector
from rbd_ros.dynamics.kernels.family import Family
from rbd_ros.errors import RbdError
from rbd_ros.spatial import RigidInertia, Sym3, Vec3


class EnvironmentMethods(Family):
    """What acts on the robot; all of it is input of the kernels, and nothing is compiled anew."""

    @property
    def gravity_vector(self) -> Array:
        """Return the acceleration of free fall in use, base coordinates, m/s^2."""
        return self._store.environment.inputs['gravity'].copy()

    def set_gravity(self, gravity: ArrayLike) -> None:
        """
        Change gravity for all later calls; nothing is compiled anew.

        :param gravity: acceleration of free fall, base coordinates, m/s^2.
        """
        self._store.environment.inputs['gravity'][:] = vector('gravity', gravity, 3)

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
        environment = self._store.environment
        environment.put(environment.place(frame), _ten(_rigid(mass, com, inertia)))

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
        environment = self._store.environment
        place = environment.place(frame)
        at = environment.frames[place]
        own = at.placement @ self.model.inertia[at.body]
        environment.replace(place, _ten(_rigid(mass, com, inertia)) - _ten(own))
        # an inertia that was replaced may be one of nothing
        self._store.drop_calls(lambda quantity: quantity.traits.solves == 'joints')

    def set_time(self, t: float) -> None:
        """Set the time of joints and rules that depend on it, for all later calls, s."""
        self._store.environment.inputs['time'][:] = vector('time', [t], 1)


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
