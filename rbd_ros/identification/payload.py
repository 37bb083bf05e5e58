# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Identification of the payload of a robot whose own parameters are known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.regressor import inertia_from_parameters, inertia_parameters, PARAMETERS
from rbd_ros.compiler import Array
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.errors import RbdError, ShapeError
from rbd_ros.identification.equations import Motion
from rbd_ros.identification.fit import Estimate, fit, Order
from rbd_ros.identification.parameters import is_physical
from rbd_ros.identification.physical import physical_fit


class Payload(NamedTuple):
    """
    A payload as :meth:`rbd_ros.Dynamics.set_payload` and the topic ``~/payload`` take it.

    :param frame: name of the frame in which it is given.
    :param mass: kg.
    :param com: centre of mass, m, (3,).
    :param inertia: about the centre of mass, kg m^2, (3, 3).
    :param estimate: the fit of mass, first moment and inertia about the origin of the frame.
    """

    frame: str
    mass: float
    com: Array
    inertia: Array
    estimate: Estimate

    def message(self) -> dict[str, object]:
        """Return the fields of geometry_msgs/InertiaStamped, for ``ros2 topic pub`` or rclpy."""
        I = self.inertia
        return {
            'header': {'frame_id': self.frame},
            'inertia': {
                'm': self.mass,
                'com': dict(zip('xyz', self.com.tolist(), strict=True)),
                'ixx': float(I[0, 0]), 'ixy': float(I[0, 1]), 'ixz': float(I[0, 2]),
                'iyy': float(I[1, 1]), 'iyz': float(I[1, 2]), 'izz': float(I[2, 2])}}


def identify_payload(
    robot: Dynamics, frame: str, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, tau: ArrayLike, *,
    slowest: float = 0.05,
) -> Payload:
    """
    Return the payload that explains measured torques.

    Damping and friction of the model are taken as known. If noise makes the estimate physically
    impossible, the nearest possible one is returned. Samples are rows in the order of time, at
    even distances: noise that is alike in nearby ones widens the deviations.

    :param frame: name of the frame that carries it.
    :param q: positions, (count, nq).
    :param qd: velocities, (count, nv).
    :param qdd: accelerations, (count, nv).
    :param tau: measured joint forces, (count, nv).
    :param slowest: joints with friction are left out while they are slower than this, rad/s or
        m/s, because the direction of friction near rest is unknown.
    :raises SingularRegressor: if the motion does not determine all ten parameters.
    """
    states = [np.atleast_2d(np.asarray(x, float)) for x in (q, qd, qdd)]
    measured = np.atleast_2d(np.asarray(tau, float))
    A, known = _columns(robot, frame, *states)
    if measured.shape != known.shape:
        raise ShapeError(f'tau has shape {np.shape(tau)}, expected {known.shape}, as qd')
    return _found(robot, frame, A, measured - known, states[1], slowest)


def payload_of(robot: Dynamics, frame: str, motion: Motion, *, slowest: float = 0.05) -> Payload:
    """
    Return the payload that explains a recording, filtered on both sides of its equations.

    :param frame: name of the frame that carries it.
    :param motion: from :func:`rbd_ros.identification.equations.settle`.
    :param slowest: as of :func:`identify_payload`.
    :raises SingularRegressor: if the motion does not determine all ten parameters.
    """
    A, known = _columns(robot, frame, motion.q, motion.qd, motion.qdd)
    kept = motion.kept()
    felt = motion.filtered(A.reshape(len(A), -1))[kept].reshape(len(kept), -1, 10)
    rest = motion.tau[kept] - motion.filtered(known)[kept]
    return _found(robot, frame, felt, rest, motion.qd[kept], slowest)


def _columns(robot: Dynamics, frame: str, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
    """Return the torques of each parameter at a frame, (count, nv, 10), and those of the robot."""
    model = robot.model
    place = model.frame(frame)
    if place.body == 0:
        raise RbdError(f'frame "{frame}" does not move, so that no joint feels a payload there; '
                       'name a frame that moves')
    # Matrix from parameters at the frame to those of the body that carries it.
    carried = np.array([inertia_parameters(place.placement.inv_apply(inertia_from_parameters(e)))
                        for e in np.eye(10).tolist()]).T
    own = slice(10 * (place.body - 1), 10 * place.body)
    known = (robot.inverse_dynamics(q, qd, qdd) + np.array(model.damping) * qd
             + np.array(model.friction) * np.sign(qd))
    return robot.torque_regressor(q, qd, qdd)[:, :, own] @ carried, known


def _found(robot: Dynamics, frame: str, columns: Array, rest: Array, rate: Array, slowest: float,
           ) -> Payload:
    """Return the payload by the samples in which joints move."""
    counts = (np.abs(rate) >= slowest) | (np.array(robot.model.friction) == 0.0)
    if not counts.any():
        raise RbdError(f'no sample can be used: all joints have friction, and none is ever faster '
                       f'than slowest = {slowest:g} rad/s or m/s; record a faster motion')
    A, b = columns[counts], rest[counts]
    estimate = fit(A, b, [f'{word} of the payload' for word in PARAMETERS],
                   Order(*reversed(np.nonzero(counts))))
    x = estimate.parameters
    if not is_physical(x[None])[0]:
        x = physical_fit(A, b, 1, weight=1e-9)
    if x[0] <= 0.0:
        return Payload(frame, 0.0, np.zeros(3), np.zeros((3, 3)), estimate)
    m, c, I_c = inertia_from_parameters(x.tolist()).com_form()
    return Payload(frame, float(m), np.array(c.to_list()), np.array(I_c.to_list()), estimate)
