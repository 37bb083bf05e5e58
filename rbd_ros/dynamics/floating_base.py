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

"""A compiled robot on a floating base, which gives way to what the joints do (RBDA 9.3 to 9.5)."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

from rbd_ros.dynamics.kernel_store import KernelStore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]


class FloatingInverseDynamics(NamedTuple):
    """
    What given joint accelerations do to a robot on a floating base.

    :param a_0: spatial acceleration of the base in its own coordinates, (6,): what ``qdd[:6]`` is.
    :param tau: joint forces, (nv - 6,).
    """

    a_0: Array
    tau: Array


class FloatingForwardDynamics(NamedTuple):
    """
    What given joint forces do to a robot on a floating base.

    :param a_0: spatial acceleration of the base in its own coordinates, (6,).
    :param qdd: joint accelerations, (nv - 6,).
    """

    a_0: Array
    qdd: Array


class FloatingEquations(NamedTuple):
    """
    [I_0 F; F^T H] [a_0; qdd] + [p_0; C] = [0; tau], the floating-base equation of motion (9.13).

    :param I_0: composite inertia of the whole robot at its base, (6, 6).
    :param F: forces at the base for unit accelerations of the joints, (6, n).
    :param H: inertia matrix of the joints with the base held, (n, n).
    :param p_0: bias force at the base, gravity included, (6,).
    :param C: bias forces at the joints, (n,).
    """

    I_0: Array
    F: Array
    H: Array
    p_0: Array
    C: Array


class FloatingBase(KernelStore):
    """
    Quantities of robots whose body 1 hangs on the world by a free joint without drive.

    Vectors of the joints have n = nv - 6 entries; q and qd are those of the whole robot. For any
    other robot each method raises a ModelError.
    """

    def floating_base_inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, f_ext: ArrayLike | None = None,
    ) -> FloatingInverseDynamics:
        """
        Return joint forces for joint accelerations, and how the base gives way (RBDA Table 9.6).

        :param qdd: accelerations of the joints, (n,).
        :param f_ext: as for ``inverse_dynamics``.
        """
        return FloatingInverseDynamics(
            *self._floating('floating_base_inverse_dynamics', q, qd, qdd, f_ext))

    def floating_base_forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None,
    ) -> FloatingForwardDynamics:
        """
        Return the accelerations of base and joints under joint forces (RBDA Table 9.4).

        :param tau: forces of the joints, (n,).
        :param f_ext: as for ``inverse_dynamics``.
        """
        return FloatingForwardDynamics(
            *self._floating('floating_base_forward_dynamics', q, qd, tau, f_ext))

    def _floating(
        self, name: str, q: ArrayLike, qd: ArrayLike, joints: ArrayLike, f_ext: ArrayLike | None,
    ) -> tuple[Array, ...]:
        if f_ext is None:
            return self._calls[name](q, qd, joints)
        return self._calls[name, None, True](q, qd, joints, f_ext)

    def floating_base_equations(self, q: ArrayLike, qd: ArrayLike) -> FloatingEquations:
        """Return the coefficients of the equation of motion (RBDA Table 9.5)."""
        return FloatingEquations(*self._calls['floating_base_equations'](q, qd))

    def floating_base_reduced_equations(
        self, q: ArrayLike, qd: ArrayLike,
    ) -> tuple[Array, Array]:
        """Return H_fl and C_fl of H_fl qdd + C_fl = tau, the base eliminated (9.14 to 9.16)."""
        return self._calls['floating_base_reduced_equations'](q, qd)

    def floating_base_momentum(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return I_0 v_0 + F qd, the momentum at the base in base-body coordinates, (6,)."""
        return self._calls['floating_base_momentum'](q, qd)

    def floating_base_jacobian(self, q: ArrayLike, frame: str) -> Array:
        """Return the motion of a frame by joints alone while the base gives way, (6, n)."""
        return self._calls['floating_base_jacobian', frame](q)
