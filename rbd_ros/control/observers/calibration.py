# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Thresholds of contacts from motion without any: what the observer shows, its mean and its spread.

The mean is friction and an offset, fitted for each joint. The observer is late, and the controller
takes away friction as late: so does the fit. What is left spreads, and spreads more the faster a
joint moves: the threshold is a bound of that, which grows with the speed. Seen as a wrench at a
frame, what is left gives a threshold for each direction.
"""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from rbd_ros.control.observers.external import external_wrench
from rbd_ros.errors import RbdError

if TYPE_CHECKING:
    from rbd_ros.dynamics.robot import Dynamics

__all__ = ['calibrated_contact', 'calibrated_wrench', 'LEAST_SAMPLES', 'MARGIN', 'moving',
           'Observed', 'observed_torques']

Array = npt.NDArray[np.float64]

#: states from which nothing can be learned
LEAST_SAMPLES = 1000

#: by which a threshold exceeds the largest rest that was seen at its speed; one minute does not
#: show the rarest: with twice, an hour had 20 false alarms, of 1.36 thresholds at most
MARGIN = 3.0

#: parts of the speeds, with equally many states each, whose largest rests are compared
_PARTS = 12

#: rounds in which the mean is fitted again without what stands out
_ROUNDS = 3

#: share of what was before the first state that may be left where friction counts as known
_UNKNOWN = 1e-3

#: s between two states over which nothing is observed
_GAP = 0.1


class Observed(NamedTuple):
    """
    What the observer of contacts saw, a row for each state.

    :param q: positions.
    :param qd: velocities.
    :param torque: observed, nothing taken away, N.m.
    :param settles: share by which the observer has settled since the state before; 0: none was.
    """

    q: Array
    qd: Array
    torque: Array
    settles: Array


def observed_torques(robot: Dynamics, t: Array, q: Array, qd: Array, tau: Array,
                     bandwidth: float) -> Observed:
    """
    Return what the observer of contacts sees of recorded states.

    It is the observer of :mod:`rbd_ros.control.observers.momentum`. The first states, and those
    after gaps, are left out until it has settled.

    :param robot: model.
    :param t: times, s.
    :param q: positions.
    :param qd: velocities.
    :param tau: torques of the motors, measured with the states.
    :param bandwidth: 1/s.
    """
    if not (np.isfinite(qd).all() and np.isfinite(tau).all()):
        raise RbdError('states without velocities or efforts: record both')
    H, bias, dt = robot.mass_matrix(q), robot.bias(q, qd), np.diff(t)
    rows: list[int] = []
    felt, settles, r, since = [], [], np.zeros(qd.shape[1]), 0.0
    for k, h in enumerate(dt.tolist()):
        if not 0.0 < h <= _GAP:
            r[:], since = 0.0, 0.0
            continue
        change = 0.5 * (H[k] + H[k + 1]) @ (qd[k + 1] - qd[k])
        rest = change / h + 0.5 * (bias[k] + bias[k + 1] - tau[k] - tau[k + 1])
        share = -float(np.expm1(-bandwidth * h))
        r = r + share * (rest - r)
        since += h
        if since > 5.0 / bandwidth:
            settles.append(share if rows and rows[-1] == k else 0.0)
            rows.append(k + 1)
            felt.append(r)
    return Observed(q[rows], qd[rows], np.array(felt).reshape(len(rows), qd.shape[1]),
                    np.array(settles))


def calibrated_contact(qd: Array, observed: Array, speed: Array, margin: float = MARGIN,
                       settles: Array | None = None) -> dict[str, list[float]]:
    """
    Return the parameters ``contact.*`` that free motion of a robot asks for.

    :param qd: velocities, a row for each state.
    :param observed: torques that the observer saw, nothing taken away, N.m.
    :param speed: over which dry friction rises, ``friction.speed``.
    :param margin: factor between the largest rest that was seen and the threshold.
    :param settles: share by which the observer has settled since the state before, 0: none was;
        None: it is not late.
    :raises RbdError: says what the motion lacks.
    """
    if qd.shape != observed.shape or qd.ndim != 2:
        raise RbdError(f'velocities {qd.shape} and torques {observed.shape} must have one shape, '
                       'a row for each state')
    if not (np.isfinite(qd).all() and np.isfinite(observed).all()):
        raise RbdError('a velocity or an observed torque is not finite: leave such states out')
    found: dict[str, list[float]] = {name: [] for name in (
        'contact.torque', 'contact.torque_speed', 'contact.coulomb', 'contact.viscous',
        'contact.offset')}
    rubs, slides, known = _friction(qd, speed, settles)
    qd, observed, rubs, slides = qd[known], observed[known], rubs[known], slides[known]
    if len(qd) < LEAST_SAMPLES:
        raise RbdError(f'{len(qd)} states are not enough: record at least a minute of motion '
                       f'without contact and without gaps, {LEAST_SAMPLES} states or more')
    moves = moving(qd, speed)
    if not moves.any():
        raise RbdError('no joint moves: what is seen at rest says nothing of motion without '
                       'contact')
    for j in range(qd.shape[1]):
        dry, viscous, offset, rest = _mean(rubs[:, j], slides[:, j], observed[:, j],
                                           bool(moves[j]))
        level, slope = _spread(np.abs(qd[:, j]), np.abs(rest))
        for name, value in zip(found, (margin * level, margin * slope, dry, viscous, offset)):
            found[name].append(float(value))
    return found


def moving(qd: Array, speed: Array) -> npt.NDArray[np.bool_]:
    """
    Return of each joint whether its friction is in the motion.

    :param qd: velocities, a row for each state.
    :param speed: over which dry friction rises, ``friction.speed``.
    """
    return np.asarray(np.abs(qd).max(axis=0, initial=0.0) > 2.0 * speed)


def calibrated_wrench(robot: Dynamics, frame: str, seen: Observed, speed: Array,
                      found: dict[str, list[float]],
                      margin: float = MARGIN) -> dict[str, list[float]]:
    """
    Return ``contact.force`` and ``contact.moment`` that free motion of a robot asks for.

    They have one number for each axis of the frame, whatever the speed: the wrench that explains
    what friction and offsets leave depends on the motion of all joints.

    :param robot: model.
    :param frame: whose directions have thresholds, ``task.frame``.
    :param seen: what the observer saw.
    :param speed: over which dry friction rises, ``friction.speed``.
    :param found: what ``calibrated_contact`` has found for the joints.
    :param margin: factor between the largest wrench that was seen and the threshold.
    """
    dry, viscous, offset = (np.array(found[f'contact.{name}'])
                            for name in ('coulomb', 'viscous', 'offset'))
    rubs, slides, known = _friction(seen.qd, speed, seen.settles)
    rest = (seen.torque - offset + dry * rubs + viscous * slides)[known]
    J = robot.jacobian(seen.q[known], frame)
    most = margin * np.max([np.abs(external_wrench(*each)[0]) for each in zip(J, rest)], axis=0)
    return {'contact.force': most[3:].tolist(), 'contact.moment': most[:3].tolist()}


def _friction(qd: Array, speed: Array,
              settles: Array | None) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """Return dry and viscous friction of size 1, as late as the observer, and where known."""
    found, known = np.stack([np.tanh(qd / speed), qd]), np.ones(len(qd), dtype=bool)
    if settles is not None:
        unknown = 1.0
        for k, share in enumerate(settles.tolist()):
            if k == 0 or share <= 0.0:
                unknown = 1.0
            else:
                found[:, k] = found[:, k - 1] + share * (found[:, k] - found[:, k - 1])
                unknown *= 1.0 - share
            known[k] = unknown < _UNKNOWN
    return found[0], found[1], known


def _mean(rubs: Array, slides: Array, torque: Array,
          moves: bool) -> tuple[float, float, float, Array]:
    """Return dry and viscous friction, an offset, and what they leave."""
    columns = np.column_stack([-rubs, -slides, np.ones_like(rubs)])
    used = [0, 1, 2] if moves else [2]
    kept = np.ones(len(rubs), dtype=bool)
    fitted = np.zeros(3)
    for _ in range(_ROUNDS):
        fitted[used] = np.linalg.lstsq(columns[kept][:, used], torque[kept], rcond=None)[0]
        fitted[:2] = np.maximum(fitted[:2], 0.0)
        rest = torque - columns @ fitted
        kept = np.abs(rest) <= 4.0 * rest[kept].std() + 1e-12
    fitted[2] = float(np.mean((torque - columns[:, :2] @ fitted[:2])[kept]))
    return fitted[0], fitted[1], fitted[2], torque - columns @ fitted


def _spread(speed: Array, rest: Array) -> tuple[float, float]:
    """Return level and slope of a line over the speed that no rest exceeds."""
    order = np.argsort(speed)
    parts = np.array_split(order, _PARTS)
    at = np.array([speed[part].mean() for part in parts])
    most = np.array([rest[part].max() for part in parts])
    slope = max(0.0, float(np.polyfit(at, most, 1)[0])) if np.ptp(at) > 0.0 else 0.0
    slope = min(slope, float(most.max() / max(at.max(), 1e-9)))
    level = float(np.max(rest - slope * speed))
    if level <= 0.0:
        slope, level = 0.0, float(rest.max())
    return max(level, 1e-6), slope
