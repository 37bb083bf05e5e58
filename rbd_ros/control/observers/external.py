# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""External torque and wrench of reports: the observer of the step, fed with snapshots."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from rbd_ros.compiler import Bound
from rbd_ros.control.kernels.declared import MomentumKernel
from rbd_ros.control.observers.momentum import Momentum

__all__ = ['external_wrench', 'ExternalTorque']

Array = npt.NDArray[np.float64]


class ExternalTorque:
    """Estimate the external torque of the driven joints from what the kernel 'report' gives."""

    def __init__(self, report: Bound, count: int) -> None:
        """
        Start with nothing observed.

        :param report: kernel, evaluated at each state before ``update``.
        :param count: number of driven joints.
        """
        sizes = {'n': count, 'm': count}
        self._report, self._kernel = report.outputs, MomentumKernel.idle(report, sizes)
        self._momentum = Momentum(sizes)

    def reset(self) -> None:
        """Forget everything, after a gap."""
        self._momentum.reset()

    def update(self, qd: Array, torque: Array, dt: float, gain: Array) -> Array:
        """
        Take the state at the end of a period.

        :param qd: velocities of the driven joints.
        :param torque: mean torque in the period, N.m.
        :param dt: length of the period, s.
        :param gain: bandwidth per joint, 1/s.
        :returns: estimate of the external torque, N.m.
        """
        self._kernel.qd[:] = qd
        self._kernel.H[:], self._kernel.bias[:] = self._report['H'], self._report['bias']
        self._momentum.update(self._kernel, torque, dt, gain, torque, 1.0)
        return self._momentum.torque


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
