# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A law that keeps a robot with a floating base on its feet: static equilibrium, and springs.

The floor holds the robot through its feet. At rest the forces f of the floor satisfy

    J_b^T f = g_b,          tau = g_j - J_j^T f

b for the six coordinates of the base, which nothing drives, and j for those of the joints; J has
the Jacobians of the points of contact, g is the gravity force (RBDA 11.2 with qdd = 0). Of all
forces that do it the smallest are taken. Springs and dampers hold the posture.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.errors import SettingError
from rbd_ros.model.collision_shapes import CollisionShape, Sphere
from rbd_ros.model.model import Model
from rbd_ros.sim.floating import base_body

__all__ = ['Stance']

#: rad or m of deflection at which a spring takes all of the effort limit
FULL_EFFORT = 0.25
#: N.m or N, taken for the limit of a joint that has none
MAX_EFFORT = 1e3
#: s, damping over stiffness
DAMPING_TIME = 0.02
#: 1/s, of the base: sways of a tall robot die out
SLOWING = 4.0
#: part of the damping that stops the joint in one period, alone in the air
STABLE_PART = 0.5


class Stance:
    """
    Torques that keep a robot standing as it is at the first call.

    :param model: with a floating base.
    :param feet: balls that touch the floor.
    :param period: s between two torques.
    :raises SettingError: for a fixed base, or without feet.
    """

    def __init__(self, model: Model, feet: Sequence[CollisionShape], period: float) -> None:
        if base_body(model) != 1:
            raise SettingError(f'"{model.name}" has no floating base')
        if not feet:
            raise SettingError(f'no feet of "{model.name}" are given')
        self._model, self._robot, self._period = model, Dynamics(model), period
        self._feet: dict[str, list[tuple[Array, float]]] = {}  # centres and radii, by body
        for ball in feet:
            assert isinstance(ball.shape, Sphere)
            name = model.body_names[ball.body]
            self._feet.setdefault(name, []).append((ball.p, ball.shape.radius))
        self._posture: Array | None = None  # positions of the joints to keep
        self._stiffness = self._damping = np.zeros(model.nv - 6)

    def torques(self, q: Array, v: Array) -> Array:
        """
        Return the torques of the joints.

        :param q: of the robot, the base first.
        :param v: its velocities.
        """
        posture = self._kept(q)
        g, H, J = self._robot.gravity(q), self._robot.mass_matrix(q), self._contact_jacobian(q)
        p = g - SLOWING * H[:, :6] @ v[:6]  # the force that slows the base without turning it back
        f = np.linalg.lstsq(J[:, :6].T, p[:6], rcond=None)[0]
        held = p[6:] - J[:, 6:].T @ f
        return held + self._stiffness * (posture - q[7:]) - self._damping * v[6:]

    def _kept(self, q: Array) -> Array:
        """Return the posture; that of the first call stays, with the springs chosen for it."""
        if self._posture is None:
            self._posture = q[7:].copy()
            limit = np.minimum(self._model.effort_limit[6:], MAX_EFFORT)
            # what a joint feels while all others give way
            inertia = 1.0 / np.diag(np.linalg.inv(self._robot.mass_matrix(q)))[6:]
            self._damping = np.minimum(limit / FULL_EFFORT * DAMPING_TIME,
                                       STABLE_PART * inertia / self._period)
            self._stiffness = self._damping / DAMPING_TIME
        return self._posture

    def forget(self) -> None:
        """Take the posture of the next call."""
        self._posture = None

    def _contact_jacobian(self, q: Array) -> Array:
        """Return the Jacobian of the lowest points of all feet, in world axes."""
        rows = []
        for body, balls in self._feet.items():
            R, J = self._robot.pose(q, body)[:3, :3], self._robot.jacobian(q, body)
            for center, radius in balls:
                p = center - radius * R[2]  # R[2]: up, in coordinates of the body
                rows.append(R @ (J[3:] - cross(p) @ J[:3]))
        return np.vstack(rows)


def cross(p: Array) -> Array:
    """Return p x as a matrix."""
    x, y, z = p
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
