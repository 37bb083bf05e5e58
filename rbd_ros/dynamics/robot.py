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

"""The compiled robot: every quantity of a model, as machine code made on first use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TYPE_CHECKING

import numpy as np

from rbd_ros.algorithms.handles.opspace import FULL, Handle
from rbd_ros.compiler.kernel import vector
from rbd_ros.dynamics.derivatives import DerivativeMethods
from rbd_ros.dynamics.floating_base import FloatingBase
from rbd_ros.dynamics.handle_store import cacheable, chosen, HandleStore
from rbd_ros.dynamics.inverse_kinematics import KinematicMethods
from rbd_ros.dynamics.kernel_store import HANDLES
from rbd_ros.dynamics.loop_drives import LoopDriveMethods
from rbd_ros.dynamics.operational_space import (
    bound, invert, OperationalSpace, refuse_singular, TRUSTED_CONDITION)
from rbd_ros.dynamics.prescribed import (
    HybridDynamics, known_side, prescribed_joints, prescribed_variables, refuse_unknown)
from rbd_ros.errors import NonFiniteError, RbdError, ShapeError
from rbd_ros.model.model import Frame, Model
from rbd_ros.spatial import Transform, Vec3

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rbd_ros.dynamics.kernel_store import Call

    Array = NDArray[np.float64]

#: The largest number of directions whose eigenvalues are found inside the kernel.
KERNEL_ROWS = 6
NO_BOUND = bound(None)
_new = tuple.__new__        # of a named tuple, without the named arguments


class Dynamics(
    LoopDriveMethods, KinematicMethods, DerivativeMethods, FloatingBase, HandleStore,
):
    """
    A robot that computes: each method compiles its kernel on first use, and keeps it on disk.

    Arrays are float64 of shape (n,), or (batch, n) for many states at once; ``out=`` takes the
    result without a new array. Every argument is checked for shape and finiteness. One object
    may be used by many threads. The arguments of the constructor are those of
    :class:`rbd_ros.dynamics.kernel_store.KernelStore`.
    """

    def __init__(self, model: Model, **options: Any) -> None:
        super().__init__(model, **options)
        self._hybrids = lru_cache(HANDLES)(self._hybrid)

    def __repr__(self) -> str:
        """Return the robot and how it computes."""
        return f'<Dynamics of {self.model!r}, backend "{self._backend}">'

    # --- joint space --------------------------------------------------------------------------

    def inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, f_ext: ArrayLike | None = None, *,
        out: Array | None = None,
    ) -> Array:
        """
        Return the joint forces that produce ``qdd`` (recursive Newton-Euler, RBDA 5.3).

        :param q: joint positions, (nq,).
        :param qd: joint velocities, (nv,).
        :param qdd: joint accelerations, (nv,).
        :param f_ext: force of the environment on each body, (nb, 6), base coordinates about the
            base origin, angular first.
        :returns: tau, (nv,).
        """
        if f_ext is not None:
            return self._calls['inverse_dynamics', None, True](q, qd, qdd, f_ext, out=out)
        if out is None:
            return self._calls['inverse_dynamics'](q, qd, qdd)
        return self._calls['inverse_dynamics'](q, qd, qdd, out=out)

    def gravity(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return g(q), the joint forces that hold the robot still, (nv,)."""
        if out is None:
            return self._calls['gravity'](q)
        return self._calls['gravity'](q, out=out)

    def bias(
        self, q: ArrayLike, qd: ArrayLike, f_ext: ArrayLike | None = None, *,
        out: Array | None = None,
    ) -> Array:
        """Return C(q, qd), the joint forces at zero acceleration, gravity included, (nv,)."""
        if f_ext is not None:
            return self._calls['bias', None, True](q, qd, f_ext, out=out)
        return self._calls['bias'](q, qd, out=out)

    def joint_wrenches(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, f_ext: ArrayLike | None = None, *,
        out: Array | None = None,
    ) -> Array:
        """
        Return the whole force that each joint transmits to the body it carries, (nb, 6).

        In the coordinates of that body, angular first: bearing loads and drive together.
        """
        if f_ext is not None:
            return self._calls['joint_wrenches', None, True](q, qd, qdd, f_ext, out=out)
        return self._calls['joint_wrenches'](q, qd, qdd, out=out)

    def mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return the symmetric joint-space inertia matrix H(q) (RBDA 6.2), (nv, nv)."""
        if out is None:
            return self._calls['mass_matrix'](q)
        return self._calls['mass_matrix'](q, out=out)

    def inverse_mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return H(q)^-1, (nv, nv)."""
        return self._calls['inverse_mass_matrix'](q, out=out)

    def forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None, *,
        method: str | None = None, out: Array | None = None,
    ) -> Array:
        """
        Return the joint accelerations under joint forces ``tau``.

        :param f_ext: as for ``inverse_dynamics``.
        :param method: ``'aba'`` (articulated bodies, RBDA 7.3), ``'crba'`` (inertia matrix,
            RBDA 6); None takes the one with fewer operations for this robot. A robot with closed
            loops has ``'sparse'`` (RBDA 8.5), a planar one of hinges also ``'hinged'`` (RBDA
            8.13), whose cost grows as the loops; see ``loop_dynamics`` for others and for details.
        :returns: qdd, (nv,).
        """
        if f_ext is not None:
            call = self._calls['forward_dynamics', None, True, method]
            return call(q, qd, tau, f_ext, out=out)
        if method is None and out is None:
            return self._calls['forward_dynamics'](q, qd, tau)
        return self._calls['forward_dynamics', None, False, method](q, qd, tau, out=out)

    def hybrid_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, tau: ArrayLike,
        prescribed: Sequence[str], f_ext: ArrayLike | None = None, *, method: str | None = None,
    ) -> HybridDynamics:
        """
        Return accelerations and forces where some joints have a given motion (RBDA 9.1, 9.2).

        With no joint prescribed this is forward dynamics, with all of them inverse dynamics. Each
        set of joints is a kernel of its own, compiled on first use.

        :param qdd: accelerations, (nv,); those of joints that are not prescribed are not read.
        :param tau: forces, (nv,); those of prescribed joints are not read.
        :param prescribed: names of the joints whose acceleration is given.
        :param f_ext: as for ``inverse_dynamics``.
        :param method: ``'crba'`` (inertia matrix of the free joints) or ``'aba'`` (articulated
            bodies); None takes the one with fewer operations.
        :returns: qdd and tau of all joints.
        """
        flags, call = self._hybrids(
            prescribed if isinstance(prescribed, str) else tuple(prescribed),
            f_ext is not None, method)
        known = known_side(self.model, flags, qdd, tau)
        try:
            return call(q, qd, known) if f_ext is None else call(q, qd, known, f_ext)
        except NonFiniteError:
            refuse_unknown(self.model, flags, qdd, tau)
            raise

    def _hybrid(
        self, prescribed: tuple[str, ...], loaded: bool, method: str | None,
    ) -> tuple[NDArray[np.bool_], Call]:
        """Return what is found once for a set of prescribed joints."""
        names = prescribed_joints(self.model, prescribed)
        call = self._caller(self._item('hybrid_dynamics', names, loaded, method))
        return prescribed_variables(self.model, names), call

    # --- the whole robot ----------------------------------------------------------------------

    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the kinetic energy in J, rotors included."""
        return self._calls['kinetic_energy'](q, qd)[..., 0]

    def potential_energy(self, q: ArrayLike) -> Array:
        """Return the potential energy of gravity in J, zero with all mass at the base origin."""
        return self._calls['potential_energy'](q)[..., 0]

    def center_of_mass(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return the centre of mass of all that moves, base coordinates, (3,)."""
        return self._calls['center_of_mass'](q, out=out)

    def momentum(self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """Return the spatial momentum about the base origin, base coordinates, (6,)."""
        return self._calls['momentum'](q, qd, out=out)

    def coriolis_matrix(
        self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None,
    ) -> Array:
        """
        Return C(q, qd) with C qd + g = bias and dH/dt - 2 C skew-symmetric, (nv, nv).

        :raises ModelError: for a robot with joints that move with time by themselves.
        """
        return self._calls['coriolis_matrix'](q, qd, out=out)

    def christoffel_symbols(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return Gamma with C = Gamma qd, (nv, nv, nv): for small robots, it grows as nv^3."""
        return self._calls['christoffel_symbols'](q, out=out)

    def centroidal_momentum_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return A: A qd is the momentum about the centre of mass, base axes, (6, nv)."""
        return self._calls['centroidal_momentum_matrix'](q, out=out)

    def centroidal_momentum_matrix_rate(
        self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None,
    ) -> Array:
        """Return dA/dt: A qdd + dA/dt qd is the net force on the robot, (6, nv)."""
        return self._calls['centroidal_momentum_matrix_rate'](q, qd, out=out)

    def torque_regressor(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, out: Array | None = None,
    ) -> Array:
        """
        Return Y: Y pi are the joint forces of bodies with the parameters pi, (nv, 10 nb).

        Ten per body, see ``rbd_ros.algorithms.regressor``; those of the model are
        ``rbd_ros.identification.body_parameters(model)``. Rotors, damping, friction and payload
        are not in it: ``rbd_ros.identification`` adds their columns.
        """
        if self.model.nv:
            return self._calls['torque_regressor'](q, qd, qdd, out=out)
        return _empty(self._calls['torque_regressor'](q, qd, qdd), (0, 10 * self.model.nb), out)

    def energy_regressor(
        self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None,
    ) -> Array:
        """Return the rows of kinetic and potential energy per parameter, (2, 10 nb)."""
        return self._calls['energy_regressor'](q, qd, out=out)

    def momentum_regressor(
        self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None,
    ) -> Array:
        """Return the momentum about the base origin per parameter, base axes, (6, 10 nb)."""
        if self.model.nb:
            return self._calls['momentum_regressor'](q, qd, out=out)
        return _empty(self._calls['momentum_regressor'](q, qd), (6, 0), out)

    # --- frames and handles -------------------------------------------------------------------

    def pose(self, q: ArrayLike, frame: str, *, out: Array | None = None) -> Array:
        """Return the homogeneous matrix from frame to base coordinates, (4, 4)."""
        return self._of_frame('pose', frame)(q, out=out)

    def jacobian(self, q: ArrayLike, frame: str, *, out: Array | None = None) -> Array:
        """Return the Jacobian of a frame in its own coordinates, angular rows first, (6, nv)."""
        return self._of_frame('jacobian', frame)(q, out=out)

    def velocity(
        self, q: ArrayLike, qd: ArrayLike, frame: str, *, out: Array | None = None,
    ) -> Array:
        """Return the spatial velocity of a frame in its own coordinates, (6,)."""
        return self._of_frame('velocity', frame)(q, qd, out=out)

    def jacobian_rate(
        self, q: ArrayLike, qd: ArrayLike, frame: str, *, out: Array | None = None,
    ) -> Array:
        """Return J-dot q-dot, the spatial acceleration of a frame at zero qdd, (6,)."""
        return self._of_frame('jacobian_rate', frame)(q, qd, out=out)

    def handle(
        self, frame: str, *, point: ArrayLike = (0.0, 0.0, 0.0),
        rows: Sequence[Sequence[float]] = FULL, mask: Sequence[float] | None = None,
    ) -> Handle:
        """
        Return a handle for ``operational_space``: a frame, moved to a point, and directions.

        :param frame: name of a frame of the model.
        :param point: origin of the handle in that frame, m.
        :param rows: directions of motion that count, six numbers each, angular first; the last
            three of the default (``rows=rbd_ros.POINT``) make the handle a 3-D point.
        :param mask: for each direction 1, or 0 where it does not count now, such as at a foot in
            the air: results keep their shape, with zeros there. Handles that differ in their
            masks alone share a kernel.
        """
        base = self.model.frame(frame)
        origin = vector('point', point, 3).tolist()
        shifted = Transform.translation(Vec3(*origin)) @ base.placement
        directions = tuple(tuple(vector('rows', row, 6).tolist()) for row in rows)
        name = f'{frame} at {origin}' if any(origin) else frame
        if mask is None:
            return Handle(Frame(name, base.body, shifted), directions)
        flags = vector('mask', mask, len(directions))
        if not np.isin(flags, (0.0, 1.0)).all():
            raise RbdError(f'mask of the handle at "{frame}" is {flags.tolist()}; each entry must '
                           'be 0 or 1')
        return Handle(Frame(name, base.body, shifted), directions, tuple(flags.tolist()))

    def operational_space(
        self, q: ArrayLike, qd: ArrayLike, frames: str | Handle | Sequence[str | Handle], *,
        max_condition: float | None = None, method: str | None = 'auto',
    ) -> OperationalSpace:
        """
        Return the operational-space inertia of one or more handles, and all that goes with it.

        At a singular pose some direction of the handles cannot be accelerated and Lambda does
        not exist. Without ``max_condition`` that is an error. With it, eigenvalues of Phi below
        1/max_condition of the largest are raised to that value: Lambda stays bounded, and
        ``condition`` shows by how much the bound was passed.

        :param frames: name of a frame (all six directions), or handles; several are stacked.
        :param max_condition: largest condition number of Phi that Lambda may show.
        :param method: ``'ltl'`` (projection, RBDA 7.2, by the factors of RBDA 6.5), ``'krj'``,
            ``'efpa'``, ``'pv'`` or ``'pvr'`` (articulated bodies; for robots without mimic
            joints); ``'auto'`` takes the cheaper one of ``'ltl'`` and ``'pv'``.
        """
        space = self._spaces(
            cacheable(frames), 'operational_space', KERNEL_ROWS, chosen(method))
        limit = NO_BOUND if max_condition is None else bound(float(max_condition))
        if space.few:
            Lambda, bias, J, J_bar, condition, Phi, b = space.call(q, qd, limit)
        else:
            Lambda, bias, J, J_bar, condition, Phi, b = invert(
                space.call(q, qd), limit[0], space.mask)
        if condition.ndim == 1:         # one state: what follows costs as much as the rest
            size = condition.item()
            if not size <= TRUSTED_CONDITION:
                refuse_singular(space.handles, condition, bounded=max_condition is not None)
            return _new(OperationalSpace, (Lambda, bias, J, J_bar, size, Phi, b))
        refuse_singular(space.handles, condition, bounded=max_condition is not None)
        return OperationalSpace(Lambda, bias, J, J_bar, condition[:, 0], Phi, b)


def _empty(found: Array, shape: tuple[int, int], out: Array | None) -> Array:
    """Return a matrix without entries, whose shape a kernel does not know."""
    shaped = found.reshape(*found.shape[:-1], *shape)
    if out is None:
        return shaped
    if out.shape != shaped.shape:
        raise ShapeError(f'out has shape {out.shape}, expected {shaped.shape}')
    return out
