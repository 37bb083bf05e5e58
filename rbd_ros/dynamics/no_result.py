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

"""Why a quantity has no finite value for the arguments of a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
from typing import Any, TYPE_CHECKING

import numpy as np

from rbd_ros.dynamics.singular_inertia import massless_joint, SOLVING
from rbd_ros.errors import NonFiniteError, RbdError, SingularError
from rbd_ros.model.model import Model

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rbd_ros.spatial import RigidInertia

    Array = NDArray[np.float64]
    Call = Callable[..., Any]

#: Largest difference of forces, relative to the largest force, of a result that is returned.
WRONG = 1e-6
#: Quantities whose results are finite for every state that a robot can have.
FINITE = frozenset((
    'inverse_dynamics', 'gravity', 'bias', 'joint_wrenches', 'mass_matrix', 'inverse_mass_matrix',
    'forward_dynamics', 'hybrid_dynamics', 'kinetic_energy', 'potential_energy', 'center_of_mass',
    'momentum', 'coriolis_matrix', 'christoffel_symbols', 'centroidal_momentum_matrix',
    'centroidal_momentum_matrix_rate', 'torque_regressor', 'energy_regressor',
    'momentum_regressor', 'pose', 'jacobian', 'velocity', 'jacobian_rate',
    'inverse_dynamics_derivatives', 'forward_dynamics_derivatives', 'frame_derivatives'))


def no_result(
    model: Model, quantity: str, arrays: Sequence[ArrayLike], inertia: Sequence[RigidInertia],
    state: int | None = None,
) -> RbdError:
    """
    Return the error for a result that is not finite.

    :param quantity: its name.
    :param arrays: arguments of the call, q first, of one state or of many.
    :param inertia: of each body, payloads included.
    :param state: number of the one to look at, None for all.
    """
    positions = np.atleast_2d(np.asarray(arrays[0], float)).tolist()
    several = len(positions) > 1
    for k in range(len(positions)) if state is None or not several else (state,):
        q, where = positions[k], f' (state {k})' if several else ''
        if reason := impossible_position(model, q):
            return NonFiniteError(f'{quantity}{where}: {reason}')
        if quantity in SOLVING:
            joint = massless_joint(model.spanning_tree, inertia, at=q)
            if joint is not None:
                return SingularError(
                    f'{quantity} of "{model.name}" does not exist{where}: at this position joint '
                    f'"{joint}" can move while no inertia does; move away from it, or give what '
                    'it carries a mass or the joint a rotor inertia')
    return NonFiniteError(f'{quantity} of "{model.name}" is not finite: some arguments, or '
                          'numbers of the robot, are too large or too small for float64')


def watched(call: Call, inverse: Callable[[], Call], name: str) -> Call:
    """
    Return forward dynamics whose result is checked by inverse dynamics.

    Where bodies without inertia are between others, H is regular but at some positions, and near
    them nothing is left of the digits of a result.

    :param call: of forward dynamics.
    :param inverse: returns that of inverse dynamics, with external forces where ``call`` has them.
    :param name: of the robot.
    """
    def checked(*arrays: ArrayLike, out: Array | None = None) -> Array:
        if out is not None:         # it may be one of the inputs
            arrays = tuple(np.array(x) if isinstance(x, np.ndarray) else x for x in arrays)
        qdd = call(*arrays, out=out)
        q, qd, tau, *f_ext = arrays
        given = np.asarray(tau, float)
        off = np.abs(inverse()(q, qd, qdd, *f_ext) - given).max(axis=-1, initial=0.0)
        bias = inverse()(q, qd, np.zeros_like(qdd), *f_ext)
        size = np.maximum(np.abs(bias), np.abs(given)).max(axis=-1, initial=0.0)
        if np.any(off > WRONG * size):
            raise SingularError(
                f'forward_dynamics of "{name}": the inertia matrix is so nearly singular at this '
                f'position that the forces of the result differ by {np.max(off):.1e} from tau; '
                'move away from it, or give bodies without inertia one, or joints a rotor inertia')
        return qdd
    return checked


def impossible_position(model: Model, q: Sequence[float]) -> str:
    """Return which joint has a position that is none, such as a quaternion of zeros; or ''."""
    tree = model.expand_q(q)
    for i, name in enumerate(model.joint_names, 1):
        own = [float(x) for x in tree[model.q_index[i]]]
        try:
            E = model.joint[i].transform(own).E
            sound = all(math.isfinite(x) for row in E.rows for x in row)
        except (ZeroDivisionError, OverflowError):
            sound = False
        if not sound:
            return (f'joint "{name}" cannot be at q = {own}; a quaternion (x, y, z, w) has length '
                    '1, and its length must not vanish')
    return ''
