# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Whether torques that were measured are those of computed torque, by Pinocchio.

A node that fails, holds or sends zeros answers as quickly as one that works, and quicker. From
each torque follows the posture that its law holds: q_r = q + (H^-1 (tau - C) + Kd qd) / Kp. It is
the same for all states, and near to where the driver sways. The arm has rotors, which a plain node
leaves out of H; either will do.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmark.node.arm import DAMPING, motion, POSTURE, STIFFNESS, URDF
import numpy as np
import pinocchio as pin
import rbd_ros

__all__ = ['held', 'refuse_wrong']

#: rad by which postures of one law may differ: the accuracy of the robot's numbers
_SAME = 1e-6

#: rad from the middle of its motion at which a robot may be held: as far as it comes to rest
_NEAR = 0.05


def held(q: np.ndarray, qd: np.ndarray, tau: np.ndarray, rotors: np.ndarray) -> np.ndarray:
    """
    Return the posture that each torque holds, (count, 7).

    :param rotors: inertias of the rotors at the joints, (7,).
    """
    model, found = pin.buildModelFromUrdf(str(URDF)), []
    data = model.createData()
    for a, v, t in zip(q, qd, tau, strict=True):
        C = pin.nonLinearEffects(model, data, a, v)
        H = np.triu(pin.crba(model, data, a))
        H = H + np.triu(H, 1).T + np.diag(rotors)
        found.append(a + (np.linalg.solve(H, t - C) + DAMPING * v) / STIFFNESS)
    return np.array(found)


def refuse_wrong(name: str, times: Sequence[float], tau: Sequence[Sequence[float]]) -> None:
    """
    Raise an error unless torques are those of computed torque.

    :param name: of what has sent them.
    :param times: of the motion of the driver at which the states of these torques were, s.
    :param tau: the torques.
    :raises RuntimeError: which says what they are instead.
    """
    found = np.asarray(tau, float)
    if len(found) < 3 or found.shape != (len(times), len(POSTURE)):
        raise RuntimeError(f'{name}: {len(found)} torques for {len(times)} states to look at: it '
                           'does not do its work')
    q, qd = (np.array(rows) for rows in zip(*map(motion, times), strict=True))
    own = np.array(rbd_ros.load_urdf(URDF, on_warning=lambda text: None).rotor_inertia)
    spread, away = min((np.ptp(posture, axis=0).max(), np.abs(posture - POSTURE).max())
                       for posture in (held(q, qd, found, rotors) for rotors in (own, 0.0 * own)))
    if not (away <= _NEAR and spread <= _SAME):
        raise RuntimeError(
            f'{name}: its torques are not those of computed torque at the states that it got: '
            f'they hold postures {spread:.3g} rad apart, {away:.3g} rad from where the robot is')
