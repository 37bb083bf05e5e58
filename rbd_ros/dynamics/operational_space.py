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

"""What the operational space of some handles looks like to a caller."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from rbd_ros.errors import RbdError, SettingError, SingularError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rbd_ros.algorithms.opspace import Handle

    Array = NDArray[np.float64]

#: Condition number of Phi beyond which the inverse of Phi is not to be trusted.
TRUSTED_CONDITION = 1e8
#: A bound on the condition number that bounds nothing.
UNBOUNDED = 1.0 / float(np.finfo(float).eps)


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


def invert(
    projection: tuple[Array, ...], max_condition: float, mask: Array | None = None,
) -> tuple[Array, ...]:
    """Return for many directions, with LAPACK, what the kernel returns for up to six."""
    J, Phi, b, HinvJT = projection
    w, V = np.linalg.eigh(Phi if mask is None else _without_masked(Phi, mask))
    w_max = w[..., -1:]
    with np.errstate(divide='ignore', invalid='ignore'):    # Phi = 0 is told by the condition
        inverse = 1.0 / np.maximum(w, w_max / max_condition)
        Lambda = (V * inverse[..., None, :]) @ np.swapaxes(V, -1, -2)
        condition = w_max / np.maximum(w[..., :1], w_max * 1e-16)
    if mask is not None:
        Lambda = Lambda * mask * mask[:, None]
    bias = -(Lambda @ b[..., None])[..., 0]
    return Lambda, bias, J, HinvJT @ Lambda, condition, Phi, b


def _without_masked(Phi: Array, mask: Array) -> Array:
    """Return Phi with an inverse, as :func:`rbd_ros.algorithms.opspace.without_masked` does."""
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
    if worst != worst:
        raise SingularError(f'{listed(handles)} cannot be accelerated in any direction at this '
                            'pose: there is no operational space')
    raise SingularError(
        f'{listed(handles)} cannot be accelerated in every direction at this pose: the '
        f'condition number of J H^-1 J^T is {worst:.3g}, above '
        f'{TRUSTED_CONDITION:.0e}; give max_condition= for a bounded Lambda, or fewer '
        'directions (see Dynamics.handle)')


def damped_inverse(handles: Sequence[Handle], Phi: Array, damping: float) -> Array:
    """
    Return (Phi + damping 1)^-1: the inertia of handles that may be more than the robot can move.

    :raises SingularError: without damping, where Phi has no inverse.
    """
    if not 0.0 <= damping < np.inf:
        raise SettingError(f'damping is {damping}; it must be zero or positive, and finite')
    raised = Phi + damping * np.eye(Phi.shape[-1])
    if damping == 0.0:
        values = np.linalg.eigvalsh(Phi)
        condition = values[..., -1] / np.maximum(values[..., 0], 1e-300)
        if not np.all(condition <= TRUSTED_CONDITION):
            raise SingularError(
                f'{listed(handles)} cannot be accelerated in every direction: the condition '
                f'number is {float(np.max(condition)):.3g}; give damping=, or fewer directions')
    return np.linalg.inv(raised)
