# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The derivatives of a compiled robot: what is returned, rows of the table and methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.handles.opspace import as_handles, Handle
from rbd_ros.algorithms.linear import ltl
from rbd_ros.compiler import Array, Graph, Rows, trace
from rbd_ros.dynamics.families.derivatives import rules
from rbd_ros.dynamics.families.forward_dynamics import FORWARD_DYNAMICS
from rbd_ros.dynamics.families.handles.methods import cacheable, Frames
from rbd_ros.dynamics.families.handles.results import invert, refuse_singular
from rbd_ros.dynamics.families.tree import GRAVITY, QD, QDD, Results, sparsity
from rbd_ros.dynamics.handle_inputs import mask_of
from rbd_ros.dynamics.kernels.family import Family
from rbd_ros.dynamics.kernels.store import KernelStore
from rbd_ros.dynamics.quantity import (
    AS_TREE, Call, InColumns, LINEARISED, OnLoops, Quantity, Traits, UNBOUNDED)


class InverseDynamicsDerivatives(NamedTuple):
    """
    Derivatives of tau = ID(q, qd, qdd), each (nv, nv): row is the force, column the variable.

    :param dtau_dq: by position, along the velocity variables.
    :param dtau_dqd: by velocity.
    :param dtau_dqdd: by acceleration: H(q).
    """

    dtau_dq: Array
    dtau_dqd: Array
    dtau_dqdd: Array


class ForwardDynamicsDerivatives(NamedTuple):
    """
    Derivatives of qdd = FD(q, qd, tau), each (nv, nv): row is the acceleration.

    :param dqdd_dq: by position, along the velocity variables.
    :param dqdd_dqd: by velocity.
    :param dqdd_dtau: by joint force: H(q)^-1.
    """

    dqdd_dq: Array
    dqdd_dqd: Array
    dqdd_dtau: Array


class SecondDerivatives(NamedTuple):
    """
    Second derivatives of tau = ID(q, qd, qdd), each (nv, nv, nv).

    The last axis is the variable of the second differentiation. Between the positions of ball
    joints and free bodies the order matters, as rotations do not commute.

    :param d2tau_dq2: ``dtau_dq`` by position.
    :param d2tau_dqd_dq: ``dtau_dqd`` by position.
    :param d2tau_dqd2: ``dtau_dqd`` by velocity.
    :param dH_dq: H by position.
    """

    d2tau_dq2: Array
    d2tau_dqd_dq: Array
    d2tau_dqd2: Array
    dH_dq: Array


class FrameDerivatives(NamedTuple):
    """
    Derivatives of the spatial velocity v and acceleration a of a frame, each (6, nv).

    In the frame's own coordinates, angular rows first; a is without gravity.

    :param J: of v by qd and of a by qdd; also how the pose moves with q.
    :param dv_dq: of v by position, along the velocity variables.
    :param da_dq: of a by position.
    :param da_dqd: of a by velocity.
    """

    J: Array
    dv_dq: Array
    da_dq: Array
    da_dqd: Array


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


# --- rows of the table ----------------------------------------------------------------------

_TREES = OnLoops(instead=LINEARISED)


def _stages_of_forward_dynamics(store: KernelStore, loaded: bool) -> list[Graph]:
    """Return graphs of qdd, of the derivatives of tau there, and of their products with H^-1."""
    shape = store.model.nv, store.model.nv

    def last(dq: Rows, dqd: Rows, H: Rows) -> Results:
        return rules.products(ltl.Inverse(H, sparsity(store.model)), dq, dqd)
    return [*(store.builder.graph(store.item(quantity, loaded=loaded))
              for quantity in (FORWARD_DYNAMICS, INVERSE_DYNAMICS_DERIVATIVES)),
            trace(last, {'dtau_dq': shape, 'dtau_dqd': shape, 'dtau_dqdd': shape},
                  name='products')] if store.model.nv else []


INVERSE_DYNAMICS_DERIVATIVES = Quantity(
    'inverse_dynamics_derivatives', QDD, environment=GRAVITY,
    rules={'recursion': rules.inverse_dynamics}, loops=AS_TREE,
    traits=Traits(InverseDynamicsDerivatives, finite=True),
    meaning='partial derivatives of inverse_dynamics')
INVERSE_DYNAMICS_SECOND_DERIVATIVES = Quantity(
    'inverse_dynamics_second_derivatives', QDD, environment=GRAVITY,
    rules={'differentiated': rules.inverse_dynamics_second}, loops=AS_TREE,
    traits=Traits(SecondDerivatives),
    meaning='derivatives by q and qd of the derivatives of inverse_dynamics')
FORWARD_DYNAMICS_DERIVATIVES = Quantity(
    'forward_dynamics_derivatives', ('q', 'qd', 'tau'), environment=GRAVITY,
    rules={'inverse': rules.forward_dynamics}, loops=_TREES,
    traits=Traits(
        ForwardDynamicsDerivatives, finite=True, solves='joints',
        stages=_stages_of_forward_dynamics,
        columns=InColumns(rules.forward_dynamics_first, rules.forward_dynamics_column,
                          (('dtau_dq', 'dqdd_dq'), ('dtau_dqd', 'dqdd_dqd')))),
    meaning='partial derivatives of forward_dynamics')
FRAME_DERIVATIVES = Quantity(
    'frame_derivatives', QDD, target='frame', inertial=False, rules={'path': rules.frame},
    loops=AS_TREE, traits=Traits(FrameDerivatives, finite=True),
    meaning='derivatives of velocity and acceleration of a frame in its own coordinates')
PROJECTION_DERIVATIVES = Quantity(
    'projection_derivatives', QD, environment=GRAVITY, target='handles',
    rules={'differentiated': rules.projection}, loops=_TREES, traits=Traits(solves='joints'),
    meaning='partial derivatives of projection')

# --- methods --------------------------------------------------------------------------------


class DerivativeMethods(Family):
    """
    The part of ``Dynamics`` that differentiates.

    Derivatives by position are along the velocity variables of each joint: nv columns, also where
    nq is larger. External forces stay as they are in base coordinates while the robot moves.
    """

    @cached_property
    def _projections(self) -> Callable[..., tuple[tuple[Handle, ...], Call]]:
        return self._store.remembered(_projection)

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
            call = self._store.call(INVERSE_DYNAMICS_DERIVATIVES, loaded=True)
            return call(q, qd, qdd, f_ext, out=out)
        call = self._calls[INVERSE_DYNAMICS_DERIVATIVES]
        return call(q, qd, qdd) if out is None else call(q, qd, qdd, out=out)

    def forward_dynamics_derivatives(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None,
    ) -> ForwardDynamicsDerivatives:
        """
        Return the derivatives of the joint accelerations by q, qd and tau.

        :param f_ext: as for ``forward_dynamics``.
        """
        if f_ext is not None:
            call = self._store.call(FORWARD_DYNAMICS_DERIVATIVES, loaded=True)
            return call(q, qd, tau, f_ext)
        return self._calls[FORWARD_DYNAMICS_DERIVATIVES](q, qd, tau)

    def inverse_dynamics_second_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
    ) -> SecondDerivatives:
        """Return the second derivatives of the joint forces: for arms, they grow as nv^3."""
        return self._calls[INVERSE_DYNAMICS_SECOND_DERIVATIVES](q, qd, qdd)

    def frame_derivatives(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, frame: str,
    ) -> FrameDerivatives:
        """Return the derivatives of the velocity and acceleration of a frame."""
        return self._store.call(FRAME_DERIVATIVES, frame)(q, qd, qdd)

    def operational_space_derivatives(
        self, q: ArrayLike, qd: ArrayLike, frames: Frames,
    ) -> OperationalSpaceDerivatives:
        """
        Return the derivatives of inertia and bias force of one or more handles.

        :param frames: as for ``operational_space``.
        :raises SingularError: where Lambda does not exist.
        """
        handles, call = self._projections(cacheable(frames))
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


def _projection(store: KernelStore, frames: Frames) -> tuple[tuple[Handle, ...], Call]:
    """Return what is found once for a set of handles."""
    handles = as_handles(store.model, frames)
    return handles, store.call_of(store.item(PROJECTION_DERIVATIVES, handles))
