# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Hybrid dynamics: prescribed joints among free ones (RBDA 9.1, 9.2).

A kernel takes one vector ``known``: the accelerations of the prescribed joints and the forces of
the others. So what is not known has no way into it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_ros.algorithms import hybrid
from rbd_ros.algorithms.linear import ltl
from rbd_ros.compiler import Array, Scalar
from rbd_ros.dynamics.families.tree import GRAVITY, inertia, moves_freely, QD, Results
from rbd_ros.dynamics.kernels.family import Family
from rbd_ros.dynamics.kernels.store import KernelStore
from rbd_ros.dynamics.prescribed import prescribed_joints, prescribed_variables
from rbd_ros.dynamics.quantity import Call, Choice, OnLoops, Quantity, Traits
from rbd_ros.dynamics.state import State
from rbd_ros.errors import NonFiniteError, ShapeError
from rbd_ros.model.model import Model


class HybridDynamics(NamedTuple):
    """
    Accelerations and forces of all joints, those given and those found.

    :param qdd: accelerations, (nv,) or (batch, nv).
    :param tau: forces of the same shape.
    """

    qdd: Array
    tau: Array


# --- rules ----------------------------------------------------------------------------------


def by_inertia_matrix(s: State) -> Results:
    """Return both sides through the inertia matrix of the free joints (RBDA 9.1)."""
    if s.model.coupling is not None:
        return _projected(s)
    known = s.inputs['known']
    return hybrid.by_inertia_matrix(
        s.model, s.q, s.qd, known, known, _free_bodies(s), s.conditions,
        s.model.rotor_inertia)._asdict()


def by_articulated_bodies(s: State) -> Results:
    """Return both sides by articulated bodies (RBDA Table 9.3)."""
    known = s.inputs['known']
    return hybrid.by_articulated_bodies(
        s.model, s.q, s.qd, known, known, _free_bodies(s), s.conditions,
        s.model.rotor_inertia)._asdict()


def _free_bodies(s: State) -> frozenset[int]:
    """Return fd: the bodies whose joints have given forces."""
    return frozenset(i for i, name in enumerate(s.model.joint_names, 1) if name not in s.target)


def _projected(s: State) -> Results:
    """Return both sides where joints follow others, in the independent coordinates (9.26)."""
    known, flags = s.inputs['known'], prescribed_variables(s.model, s.target)
    one = [k for k in range(s.model.nv) if not flags[k]]
    qdd: list[Scalar] = [known[k] if flags[k] else 0.0 for k in range(s.model.nv)]
    C = s.compute('inverse_dynamics', method='3d', qdd=qdd)                                # 9.3
    H = inertia(s)
    H11 = [[H[i][j] for j in one] for i in one]
    found = ltl.solve(H11, range(-1, len(one) - 1), [known[k] - C[k] for k in one])        # 9.2
    tau = [C[k] if flags[k] else known[k] for k in range(s.model.nv)]
    for j, value in zip(one, found, strict=True):
        qdd[j] = value
        for k in range(s.model.nv):
            if flags[k]:
                tau[k] = tau[k] + H[k][j] * value
    return {'qdd': qdd, 'tau': tau}


# --- row of the table -----------------------------------------------------------------------

HYBRID_DYNAMICS = Quantity(
    'hybrid_dynamics', (*QD, 'known'), environment=GRAVITY, target='joints',
    rules={'crba': by_inertia_matrix, 'aba': by_articulated_bodies},
    choice=Choice(where={'aba': moves_freely}),
    loops=OnLoops(instead='actuator_forces, with the joints of unknown force as actuated ones'),
    traits=Traits(HybridDynamics, finite=True, solves='joints'),
    meaning='qdd and tau of all joints, prescribed ones among them (RBDA 9.1, 9.2)')

# --- methods --------------------------------------------------------------------------------


class HybridMethods(Family):
    """Dynamics with prescribed joints."""

    @cached_property
    def _hybrids(self) -> Callable[..., tuple[NDArray[np.bool_], Call]]:
        return self._store.remembered(_hybrid)

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
    store: KernelStore, prescribed: tuple[str, ...], loaded: bool, method: str | None,
) -> tuple[NDArray[np.bool_], Call]:
    """Return what is found once for a set of prescribed joints."""
    names = prescribed_joints(store.model, prescribed)
    call = store.call_of(store.item(HYBRID_DYNAMICS, names, loaded, method))
    return prescribed_variables(store.model, names), call


def known_side(model: Model, flags: NDArray[np.bool_], qdd: ArrayLike, tau: ArrayLike) -> Array:
    """Return accelerations of the prescribed variables and forces of the others, in one array."""
    sides = np.asarray(qdd, dtype=float), np.asarray(tau, dtype=float)
    for name, side in zip(('qdd', 'tau'), sides, strict=True):
        if side.ndim not in (1, 2) or side.shape[-1] != model.nv or side.shape != sides[0].shape:
            raise ShapeError(f'{name} has shape {side.shape}, "{model.name}" needs nv = '
                             f'{model.nv} entries, for one state or for as many as qdd')
    return np.where(flags, *sides)


def refuse_unknown(
    model: Model, flags: NDArray[np.bool_], qdd: ArrayLike, tau: ArrayLike,
) -> None:
    """Raise an error that names a joint whose known side is not finite, if there is one."""
    sides = {'qdd': np.asarray(qdd, dtype=float)[..., flags],
             'tau': np.asarray(tau, dtype=float)[..., ~flags]}
    places = {'qdd': np.flatnonzero(flags), 'tau': np.flatnonzero(~flags)}
    for side, values in sides.items():
        for k, column in zip(places[side], np.atleast_2d(values).T, strict=True):
            bad = column[~np.isfinite(column)]
            if bad.size:
                name = next(each for each in model.independent_joint_names
                            if k in range(model.nv)[model.velocity_slice(each)])
                raise NonFiniteError(f'{side} of joint "{name}" is {bad[0]}: it is '
                                     f'{"" if side == "qdd" else "not "}prescribed, so that its '
                                     f'{side} must be a finite number')
