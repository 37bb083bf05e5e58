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

"""The derivatives of a compiled robot: what its methods return, and the methods."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from rbd_ros.algorithms.handles.opspace import as_handles, Handle
from rbd_ros.dynamics.handle_inputs import mask_of
from rbd_ros.dynamics.kernel_store import HANDLES, KernelStore
from rbd_ros.dynamics.operational_space import invert, refuse_singular, UNBOUNDED
from rbd_ros.dynamics.results import (
    ForwardDynamicsDerivatives, FrameDerivatives, InverseDynamicsDerivatives, SecondDerivatives)
from rbd_ros.model.model import Model

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rbd_ros.dynamics.kernel_store import Call

    Array = NDArray[np.float64]

#: Velocity variables up to which products with H^-1 are part of the kernel; beyond, a matrix
#: product by BLAS is faster, and so is the compilation.
PRODUCTS_IN_KERNEL = 16
#: Methods that, once compiled, are called without a line of Python.
STRAIGHT = ('inverse_dynamics_derivatives', 'forward_dynamics_derivatives')


class OperationalSpaceDerivatives(NamedTuple):
    """
    Derivatives of the operational space of some handles, m rows in all; see OperationalSpace.

    :param dLambda_dq: of the inertia Lambda by position, (m, m, nv).
    :param dbias_dq: of the bias force by position, (m, nv).
    :param dbias_dqd: of the bias force by velocity, (m, nv).
    :param dPhi_dq: of the inverse inertia Phi by position, (m, m, nv), valid at every pose.
    :param db_dq: of the unpowered acceleration b by position, (m, nv), valid at every pose.
    :param db_dqd: the same by velocity.
    """

    dLambda_dq: Array
    dbias_dq: Array
    dbias_dqd: Array
    dPhi_dq: Array
    db_dq: Array
    db_dqd: Array


class DerivativeMethods(KernelStore):
    """
    The part of ``Dynamics`` that differentiates.

    Derivatives by position are along the velocity variables of each joint: nv columns, also where
    nq is larger. External forces stay as they are in base coordinates while the robot moves.
    """

    def __init__(self, model: Model, **options: Any) -> None:
        super().__init__(model, **options)
        self._projections = lru_cache(HANDLES)(self._projection)

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, f_ext: ArrayLike | None = None, *,
        out: Sequence[Array] | None = None,
    ) -> InverseDynamicsDerivatives:
        """
        Return the derivatives of the joint forces by q, qd and qdd.

        :param f_ext: as for ``inverse_dynamics``.
        :param out: three arrays (nv, nv) to write into; returned as given.
        """
        if f_ext is not None:
            call = self._calls['inverse_dynamics_derivatives', None, True]
            return call(q, qd, qdd, f_ext, out=out)
        if out is None:
            return self._calls['inverse_dynamics_derivatives'](q, qd, qdd)
        return self._calls['inverse_dynamics_derivatives'](q, qd, qdd, out=out)

    def forward_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None,
    ) -> ForwardDynamicsDerivatives:
        """
        Return the derivatives of the joint accelerations by q, qd and tau.

        :param f_ext: as for ``forward_dynamics``.
        """
        if self.model.nv <= PRODUCTS_IN_KERNEL:
            if f_ext is None:
                return self._calls['forward_dynamics_derivatives'](q, qd, tau)
            return self._calls['forward_dynamics_derivatives', None, True](q, qd, tau, f_ext)
        name = 'forward_dynamics_derivative_factors'
        Hinv, dtau_dq, dtau_dqd = (self._calls[name](q, qd, tau) if f_ext is None else
                                   self._calls[name, None, True](q, qd, tau, f_ext))
        minus = -Hinv
        return ForwardDynamicsDerivatives(minus @ dtau_dq, minus @ dtau_dqd, Hinv)

    def inverse_dynamics_second_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
    ) -> SecondDerivatives:
        """Return the second derivatives of the joint forces: for arms, they grow as nv^3."""
        return self._calls['inverse_dynamics_second_derivatives'](q, qd, qdd)

    def frame_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, frame: str,
    ) -> FrameDerivatives:
        """Return the derivatives of the velocity and acceleration of a frame."""
        return self._of_frame('frame_derivatives', frame)(q, qd, qdd)

    def operational_space_derivatives(
        self, q: ArrayLike, qd: ArrayLike, frames: str | Handle | Sequence[str | Handle],
    ) -> OperationalSpaceDerivatives:
        """
        Return the derivatives of inertia and bias force of one or more handles.

        :param frames: as for ``operational_space``.
        :raises SingularError: where Lambda does not exist.
        """
        handles, call = self._projections(tuple(frames) if type(frames) is list else frames)
        Phi, b, dPhi_dq, db_dq, db_dqd = call(q, qd)
        mask = mask_of(handles)
        Lambda, bias, _, _, condition, *_ = invert(
            (Phi, Phi, b, Phi), UNBOUNDED, None if mask is None else np.array(mask, float))
        refuse_singular(handles, condition, bounded=False)
        # d(Phi^-1) = -Phi^-1 dPhi Phi^-1, and the bias force is -Lambda b.
        dLambda_dq = -np.einsum('...ij,...jkn,...kl->...iln', Lambda, dPhi_dq, Lambda)
        dbias_dq = -Lambda @ (np.einsum('...jkn,...k->...jn', dPhi_dq, bias) + db_dq)
        return OperationalSpaceDerivatives(
            dLambda_dq, dbias_dq, -Lambda @ db_dqd, dPhi_dq, db_dq, db_dqd)

    def _call_made(self, key: str | tuple[Any, ...]) -> None:
        """
        Let later calls of a method begin in machine code; it hands back what it does not take.

        For an arm, a frame of Python before the kernel takes a tenth to a fifth of the call.
        """
        if key in STRAIGHT and getattr(type(self), key) is getattr(DerivativeMethods, key):
            vars(self)[key] = self._caller(self._item(key), otherwise=getattr(self, key))

    def _projection(
        self, frames: str | Handle | Sequence[str | Handle],
    ) -> tuple[tuple[Handle, ...], Call]:
        """Return what is found once for a set of handles."""
        handles = as_handles(self.model, frames)
        return handles, self._caller(self._item('projection_derivatives', handles))
