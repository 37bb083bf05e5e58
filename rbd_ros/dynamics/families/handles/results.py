# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the operational space of some handles looks like to a caller."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_ros.algorithms.handles.opspace import Handle
from rbd_ros.compiler import Array
from rbd_ros.dynamics.quantity import UNBOUNDED
from rbd_ros.errors import RbdError, SingularError

#: Condition number of Phi beyond which the inverse of Phi is not to be trusted.
TRUSTED_CONDITION = 1e8
#: The same for the mobility of a direction with the others free, over that with them held.
TRUSTED_RATIO = 1e10


class OperationalSpace(NamedTuple):
    """
    The robot as its handles feel it: f = Lambda a + bias (RBDA 7.2.1); m rows in all.

    :param Lambda: operational-space inertia, (m, m).
    :param bias: force that holds the handle acceleration at zero, (m,): velocity and gravity.
    :param J: task Jacobian, (m, nv).
    :param J_bar: dynamically consistent inverse H^-1 J^T Lambda, (nv, m).
    :param condition: condition number of Phi, a float or one per state of a batch; large near
        singular poses.
    :param Phi: inverse inertia J H^-1 J^T, (m, m), valid at every pose.
    :param b: handle acceleration of the unpowered robot, (m,), valid at every pose.
    """

    Lambda: Array
    bias: Array
    J: Array
    J_bar: Array
    condition: Array | float
    Phi: Array
    b: Array

    @property
    def nullspace(self) -> Array:
        """Return N = 1 - J^T J_bar^T: joint forces N tau do not move the handles."""
        J_T = np.swapaxes(self.J, -1, -2)
        return np.eye(J_T.shape[-2]) - J_T @ np.swapaxes(self.J_bar, -1, -2)


class HandleInertia(NamedTuple):
    """
    Inertia of many handles, and what damping has taken: Lambda = (Phi + damping 1)^-1.

    :param Lambda: operational-space inertia, (m, m).
    :param Phi: inverse inertia J H^-1 J^T without damping, (m, m).
    :param damping: what was added to the diagonal of Phi.
    :param handles: whose directions are the rows.
    """

    Lambda: Array
    Phi: Array
    damping: float
    handles: tuple[Handle, ...]

    @property
    def lost(self) -> Array:
        """
        Return the share of each direction that damping has taken, 0 to 1, (m,).

        It is near zero where the handles are independent. Of two equal directions each loses a
        half, one that cannot move loses all.
        """
        return self.damping * np.diagonal(self.Lambda, axis1=-2, axis2=-1)

    @property
    def rank(self) -> Array:
        """Return how many directions are left: their number less all that is lost."""
        return self.lost.shape[-1] - self.lost.sum(axis=-1)

    @property
    def redundant(self) -> tuple[str, ...]:
        """Return the handles of which a direction is lost by more than a hundredth."""
        return _names(self.handles, self.lost > 0.01)


def _names(handles: Sequence[Handle], rows: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return the names of the handles that have one of some directions, in any state."""
    owners = [handle.frame.name for handle in handles for _ in handle.rows]
    chosen = rows.reshape(-1, len(owners)).any(axis=0)
    return tuple(dict.fromkeys(name for name, each in zip(owners, chosen, strict=True) if each))


def damped(Phi: Array, damping: float, mask: Array | None = None) -> Array:
    """Return for many directions, with LAPACK, what the kernel of the inertia returns for few."""
    counted = Phi if mask is None else _without_masked(Phi, mask)
    try:
        Lambda = np.linalg.inv(counted + damping * np.eye(Phi.shape[-1]))
    except np.linalg.LinAlgError:
        return np.full_like(Phi, np.nan)            # the caller names the handles
    return Lambda if mask is None else Lambda * mask * mask[:, None]


def refuse_redundant(handles: Sequence[Handle], Lambda: Array, Phi: Array) -> None:
    """
    Raise an error that names the handles where Lambda does not exist.

    Phi_kk is how easily a force moves direction k, 1 / Lambda_kk the same with all others held:
    their ratio is one for independent directions, and is infinite where the others tell the
    motion of k already. It does not depend on units.
    """
    alone = np.diagonal(Phi, axis1=-2, axis2=-1)
    with np.errstate(invalid='ignore', over='ignore'):
        ratio = np.abs(alone * np.diagonal(Lambda, axis1=-2, axis2=-1))
    sound = ratio <= TRUSTED_RATIO
    if sound.all():
        return
    still = np.zeros_like(sound) if np.isfinite(ratio).all() else ~sound & (alone <= 0.0)
    names = ', '.join(_names(handles, still if still.any() else ~sound))
    reason = (f'no joint moves the handles ({names}) in some of their directions'
              if still.any() else f'the directions of the handles ({names}) are not independent')
    raise SingularError(
        f'{reason} at this pose: Lambda does not exist; give damping=, or fewer '
        'handles or directions (see Dynamics.handle)')


def invert(
    projection: tuple[Array, ...], max_condition: float, mask: Array | None = None,
) -> tuple[Array, ...]:
    """Return for many directions, with LAPACK, what the kernel returns for up to six."""
    J, Phi, b, HinvJT = projection
    w, V = np.linalg.eigh(Phi if mask is None else _without_masked(Phi, mask))
    w_max = w[..., -1:]
    with np.errstate(divide='ignore', invalid='ignore'):    # Phi = 0 shows in the condition
        inverse = 1.0 / np.maximum(w, w_max / max_condition)
        Lambda = (V * inverse[..., None, :]) @ np.swapaxes(V, -1, -2)
        condition = w_max / np.maximum(w[..., :1], w_max * 1e-16)
    if mask is not None:
        Lambda = Lambda * mask * mask[:, None]
    bias = -(Lambda @ b[..., None])[..., 0]
    return Lambda, bias, J, HinvJT @ Lambda, condition, Phi, b


def _without_masked(Phi: Array, mask: Array) -> Array:
    """Return Phi with an inverse, as ``algorithms.handles.opspace.without_masked`` does."""
    mean = np.trace(Phi, axis1=-2, axis2=-1) / mask.sum()
    return Phi + mean[..., None, None] * np.diag(1.0 - mask)


@lru_cache(64)
def bound(max_condition: float | None) -> Array:
    """Return a bound on the condition number as the kernels take it; None bounds nothing."""
    limit = UNBOUNDED if max_condition is None else max_condition
    if not limit >= 1.0:
        raise RbdError(f'max_condition is {limit}; it must be at least 1')
    array = np.array([limit])
    array.flags.writeable = False       # shared by all that ask for the same
    return array


def listed(handles: Sequence[Handle]) -> str:
    """Return handles as a message names them."""
    return f'the handles ({", ".join(handle.frame.name for handle in handles)})'


def refuse_singular(handles: Sequence[Handle], condition: Array, *, bounded: bool) -> None:
    """
    Raise an error that names the handles where Lambda does not exist.

    :param bounded: whether the caller gave a bound: then only what has no Lambda at all is
        refused, handles that cannot be accelerated in any direction.
    """
    worst = float(condition.max(initial=0.0))       # NaN if one is
    if worst <= TRUSTED_CONDITION or (bounded and worst <= np.inf):
        return
    if math.isnan(worst):
        raise SingularError(f'{listed(handles)} cannot be accelerated in any direction at this '
                            'pose: there is no operational space')
    raise SingularError(
        f'{listed(handles)} cannot be accelerated in every direction at this pose: the '
        f'condition number of J H^-1 J^T is {worst:.3g}, above '
        f'{TRUSTED_CONDITION:.0e}; give max_condition= for a bounded Lambda, or fewer '
        'directions (see Dynamics.handle)')
