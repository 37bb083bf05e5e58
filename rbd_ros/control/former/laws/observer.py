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

"""
External joint torque and wrench by observing the generalised momentum.

The momentum p = H qd obeys p' = tau + tau_ext - C + H' qd. Over one period, with the midpoint
rule for H' qd, its change is H_mid (qd1 - qd0) exactly, so that neither H' nor an
acceleration is needed. Joints that others move count with their measured velocity: H has their
columns. The observer filters what the model does not explain:

    r' = K (tau_ext - r)
"""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np
import numpy.typing as npt

__all__ = ['MomentumObserver', 'external_wrench']

Array = npt.NDArray[np.float64]


class MomentumObserver:
    """Estimate the external joint torque; first-order, exact for constant torques."""

    def __init__(self, gain: Sequence[float], variables: int = 0) -> None:
        """
        Start with nothing observed.

        :param gain: K, bandwidth per joint, 1/s.
        :param variables: velocities that share in the momentum; 0: those of these joints.
        """
        self.gain = np.array(gain, dtype=float)
        if not (np.isfinite(self.gain).all() and (self.gain > 0.0).all()):
            raise ValueError(f'observer gains must be positive and finite: {self.gain}')
        n = len(self.gain)
        m = variables or n
        self.torque = np.zeros(n)  # r, estimate of tau_ext
        self.unexplained = np.zeros(n)  # tau_ext of the last period, not filtered
        self._H, self._qd, self._C, self._tau = (
            np.zeros((n, m)), np.zeros(m), np.zeros(n), np.zeros(n))
        self.known = False

    def reset(self) -> None:
        """Forget everything, after a gap."""
        self.torque[:] = self.unexplained[:] = 0.0
        self.known = False

    def update(self, H: Array, qd: Array, bias: Array, tau: Array, dt: float, *,
               acted: Array | None = None) -> Array:
        """
        Take the state at the end of a period.

        :param H: rows of the inertia matrix, of the observed joints.
        :param qd: velocity, one number for each column.
        :param bias: C(q, qd) with gravity.
        :param tau: torque that acts from now on; the one given before acted in the period.
        :param dt: length of the period, s.
        :param acted: mean torque in the period, where it changed meanwhile.
        :returns: estimate of the external torque, N.m.
        """
        if acted is not None:
            self._tau[:] = acted
        if self.known and dt > 0.0:
            impulse = 0.5 * (H + self._H) @ (qd - self._qd)
            self.unexplained[:] = impulse / dt + 0.5 * (bias + self._C) - self._tau
            self.torque += -np.expm1(-self.gain * dt) * (self.unexplained - self.torque)
        self._H[:], self._qd[:], self._C[:], self._tau[:] = H, qd, bias, tau
        self.known = True
        return self.torque


def external_wrench(J: Array, torque: Array, *, damping: float = 1e-3) -> tuple[Array, float]:
    """
    Return the wrench at a frame that explains an external joint torque: tau = J^T w.

    Directions in which the frame cannot move transmit no torque; they are damped to zero.

    :param J: frame Jacobian, 6 x n, angular rows first.
    :param torque: external joint torque, N.m.
    :param damping: share of the largest singular value below which a direction fades.
    :returns: wrench in the frame, moment first, and the norm of the torque left over.
    """
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    floor = damping * max(float(s[0]), math.ulp(0.0))
    wrench = U @ (s / (s * s + floor * floor) * (Vt @ torque))
    return wrench, float(np.linalg.norm(torque - J.T @ wrench))
