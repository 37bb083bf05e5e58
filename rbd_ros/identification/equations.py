# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A recording as linear equations in the parameters, filtered and thinned.

Torques and the columns of the regressor pass the same filter, so that a step of dry friction has
the same shape on both sides. Samples are then taken so far apart that the filter makes the noise
of one no more like that of the next; how much alike it is by itself, the residuals tell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_ros.compiler import Array
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.errors import RbdError
from rbd_ros.identification.bag import BagError
from rbd_ros.identification.drive import drive_columns, terms_of
from rbd_ros.identification.fit import Order
from rbd_ros.identification.recording import longest_gap, Recording

__all__ = ['Equations', 'equations', 'Motion', 'settle']

#: Shortest recording, s: less has no motion to speak of.
SHORTEST = 1.0
#: Rate at which the regressor is evaluated, in multiples of the cutoff.
_FINE = 40.0
#: Distance of the samples that remain, in periods of the cutoff: their noise is uncorrelated.
_APART = 0.55
#: What is left out at both ends, in the same periods: a motion may begin there at any speed.
_EDGE = 3.0
#: Weights of a difference over nine points: exact for polynomials of degree eight.
_DIFFERENCE = np.array([3.0, -32.0, 168.0, -672.0, 0.0, 672.0, -168.0, 32.0, -3.0]) / 840.0


class Motion(NamedTuple):
    """
    Recorded motion on an even grid, with derivatives, and what filters it.

    :param rate: of the grid, Hz.
    :param cutoff: of the filter, Hz.
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    rate: float
    cutoff: float

    def filtered(self, x: Array) -> Array:
        """Return columns after the filter that torques have passed."""
        return _filtered(x, self.cutoff, self.rate)

    def kept(self) -> NDArray[np.intp]:
        """Return the indices of samples whose noise is independent, without the ends."""
        edge = int(_EDGE * self.rate / self.cutoff) + 5
        step = max(1, int(np.ceil(_APART * self.rate / self.cutoff)))
        return np.arange(edge, len(self.t) - edge, step, dtype=np.intp)


class Equations(NamedTuple):
    """
    Equations A x = b for all parameters, a row for each sample and joint.

    :param A: (rows, p): ten columns for each body, then those of the drives.
    :param b: torques, (rows,).
    :param joint: index of the velocity variable of each row.
    :param t: time of each row, s.
    :param place: number of the sample of each row; those that are left out count too.
    """

    A: Array
    b: Array
    joint: NDArray[np.intp]
    t: Array
    place: NDArray[np.intp]

    @property
    def order(self) -> Order:
        """Return which rows follow each other."""
        return Order(self.joint, self.place)


def _filtered(x: Array, cutoff: float, rate: float) -> Array:
    from scipy.signal import butter, filtfilt
    b, a = butter(4, 2.0 * cutoff / rate)
    return np.asarray(filtfilt(b, a, x, axis=0))


def _derivative(x: Array, step: float) -> Array:
    """Return differences; those of the four rows at each end are of lower order."""
    out = np.gradient(x, step, axis=0)
    count = len(x) - 8
    out[4:-4] = sum(w * x[k:k + count] for k, w in enumerate(_DIFFERENCE)) / step
    return out


def settle(recording: Recording, cutoff: float, effort_delay: float = 0.0) -> Motion:
    """
    Return a recording on an even grid, filtered without delay, with its derivatives.

    :param cutoff: of the filter, Hz; about ten times the fastest motion.
    :param effort_delay: time, s, by which efforts lag the positions of the same message.
    :raises BagError: for a recording that is too short, or not finite.
    """
    from scipy.interpolate import CubicSpline
    t = recording.t
    for what, values in (('time', t[:, None]), ('position', recording.q),
                         ('effort', recording.tau)):
        bad = np.argwhere(~np.isfinite(values))
        if bad.size:
            raise BagError(f'{what} of joint {bad[0][1] + 1} is not finite at sample {bad[0][0]} '
                           f'({len(bad)} such numbers); leave these samples out')
    span = float(t[-1] - t[0]) if len(t) else 0.0
    if span < SHORTEST:
        raise BagError(f'the recording has {len(t)} samples in {span:.3g} s, which is too short: '
                       f'record {SHORTEST:g} s or more, better 20 s')
    step = float(np.median(np.diff(t)))
    if not 0.0 < cutoff < 0.4 / step:
        raise RbdError(f'cutoff of {cutoff:g} Hz must be positive and at most '
                       f'{0.4 / step:.4g} Hz, 0.4 times the rate of the recording')
    gap = float(np.diff(t).max())
    if gap > longest_gap(t, cutoff):
        raise BagError(f'the recording has a gap of {gap:.3g} s after '
                       f'{t[int(np.diff(t).argmax())] - t[0]:.3f} s; record again, or use a '
                       'smaller cutoff')
    if not abs(effort_delay) < 0.1 * span:
        raise RbdError(f'effort_delay of {effort_delay:g} s must be far shorter than the '
                       f'recording: at most {0.1 * span:.3g} s')
    even = np.arange(max(t[0], t[0] - effort_delay), min(t[-1], t[-1] - effort_delay), step)
    q = _filtered(CubicSpline(t, recording.q)(even), cutoff, 1.0 / step)
    tau = _filtered(CubicSpline(t - effort_delay, recording.tau)(even), cutoff, 1.0 / step)
    qd = _derivative(q, step)
    qdd = _derivative(qd, step)
    thin = max(1, int(1.0 / (step * _FINE * cutoff)))
    return Motion(even[::thin], q[::thin], qd[::thin], qdd[::thin], tau[::thin],
                  1.0 / (step * thin), cutoff)


def equations(robot: Dynamics, motion: Motion, kind: str, bodies: Array,
              slowest: float = 0.02) -> Equations:
    """
    Return the equations of a motion.

    :param kind: of friction, see :func:`rbd_ros.identification.drive.terms_of`.
    :param bodies: parameters of the bodies, (10 nb,), for the load that gears carry.
    :param slowest: rad/s or m/s; below it a joint may stick, and its row is left out.
    """
    nv = robot.model.nv
    Y = robot.torque_regressor(motion.q, motion.qd, motion.qdd)
    drives = drive_columns(kind, motion.qd, motion.qdd, Y @ bodies)
    terms, kept = drives.shape[2], motion.kept()
    rows, torques, joints, times, places = [], [], [], [], []
    for j in range(nv):
        felt = np.abs(Y[:, j]).max(axis=0) > 0.0
        A = np.zeros((len(kept), Y.shape[2] + terms * nv))
        A[:, :Y.shape[2]][:, felt] = motion.filtered(Y[:, j, felt])[kept]
        A[:, Y.shape[2] + j::nv] = motion.filtered(drives[:, j])[kept]
        use = np.ones(len(kept), bool)
        if 'coulomb' in terms_of(kind):
            use = np.abs(motion.qd[kept, j]) >= slowest
        rows.append(A[use])
        torques.append(motion.tau[kept, j][use])
        joints.append(np.full(int(use.sum()), j, dtype=np.intp))
        times.append(motion.t[kept][use])
        places.append(np.flatnonzero(use))
    return Equations(np.vstack(rows), np.concatenate(torques), np.concatenate(joints),
                     np.concatenate(times), np.concatenate(places))
