# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The reference: the algorithms as they stand in the source, uncompiled, as functions of a model.

They run on plain floats, so that a reader can step through them; :class:`rbd_ros.Dynamics` gives
the same numbers from machine code, thousands of times faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from numpy.typing import ArrayLike

from rbd_ros.algorithms.handles.opspace import Handle
from rbd_ros.compiler import Array
from rbd_ros.dynamics.families.derivatives.methods import InverseDynamicsDerivatives
from rbd_ros.dynamics.families.handles.results import OperationalSpace
from rbd_ros.dynamics.families.hybrid import HybridDynamics
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.model.model import Model


def _robot(model: Model) -> Dynamics:
    if not isinstance(model, Model):
        raise TypeError(f'the first argument must be a Model, got {type(model).__name__}; use '
                        'load_urdf or ModelBuilder')
    # By identity: two models that look alike may hold joints of different code.
    return _made(_Same(model))


class _Same(NamedTuple):
    """A model that is equal to itself alone."""

    model: Model

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.model is other.model

    def __hash__(self) -> int:
        return id(self.model)


@lru_cache(maxsize=32)
def _made(same: _Same) -> Dynamics:
    return Dynamics(same.model, backend='reference')


def inverse_dynamics(
    model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, f_ext: ArrayLike | None = None,
) -> Array:
    """Return tau that produces ``qdd``; see :meth:`Dynamics.inverse_dynamics`."""
    return _robot(model).inverse_dynamics(q, qd, qdd, f_ext)


def gravity(model: Model, q: ArrayLike) -> Array:
    """Return g(q); see :meth:`Dynamics.gravity`."""
    return _robot(model).gravity(q)


def bias(
    model: Model, q: ArrayLike, qd: ArrayLike, f_ext: ArrayLike | None = None,
) -> Array:
    """Return C(q, qd), gravity included; see :meth:`Dynamics.bias`."""
    return _robot(model).bias(q, qd, f_ext)


def mass_matrix(model: Model, q: ArrayLike) -> Array:
    """Return H(q); see :meth:`Dynamics.mass_matrix`."""
    return _robot(model).mass_matrix(q)


def inverse_dynamics_derivatives(
    model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike,
) -> InverseDynamicsDerivatives:
    """Return how tau changes; see :meth:`Dynamics.inverse_dynamics_derivatives`."""
    return _robot(model).inverse_dynamics_derivatives(q, qd, qdd)


def forward_dynamics(
    model: Model, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None, *,
    method: str | None = None,
) -> Array:
    """Return qdd under joint forces ``tau``; see :meth:`Dynamics.forward_dynamics`."""
    return _robot(model).forward_dynamics(q, qd, tau, f_ext, method=method)


def hybrid_dynamics(
    model: Model, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, tau: ArrayLike,
    prescribed: Sequence[str], f_ext: ArrayLike | None = None, *, method: str | None = None,
) -> HybridDynamics:
    """Return qdd and tau of all joints; see :meth:`Dynamics.hybrid_dynamics`."""
    return _robot(model).hybrid_dynamics(q, qd, qdd, tau, prescribed, f_ext, method=method)


def jacobian(model: Model, q: ArrayLike, frame: str) -> Array:
    """Return the Jacobian of a frame; see :meth:`Dynamics.jacobian`."""
    return _robot(model).jacobian(q, frame)


def operational_space(
    model: Model, q: ArrayLike, qd: ArrayLike, frames: str | Handle | Sequence[str | Handle], *,
    max_condition: float | None = None, method: str | None = 'auto',
) -> OperationalSpace:
    """Return the operational-space inertia; see :meth:`Dynamics.operational_space`."""
    return _robot(model).operational_space(
        q, qd, frames, max_condition=max_condition, method=method)
