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

"""What several results of one quantity are returned as, by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from rbd_ros.dynamics.prescribed import HybridDynamics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


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


#: Type of tuple of each quantity that has one; the machine code of a call makes it itself.
RESULTS: Mapping[str, type[tuple[Any, ...]]] = MappingProxyType({
    'inverse_dynamics_derivatives': InverseDynamicsDerivatives,
    'inverse_dynamics_second_derivatives': SecondDerivatives,
    'forward_dynamics_derivatives': ForwardDynamicsDerivatives,
    'frame_derivatives': FrameDerivatives,
    'hybrid_dynamics': HybridDynamics,
})
