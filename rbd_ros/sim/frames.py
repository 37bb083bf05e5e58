# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The frames of a moving robot: for external forces at a frame, and for tf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms import kinematics
from rbd_ros.compiler import Array
from rbd_ros.compiler.arguments import check_finite
from rbd_ros.dynamics.families.tree import tree
from rbd_ros.dynamics.quantity import Quantity
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.dynamics.state import State
from rbd_ros.errors import ShapeError
from rbd_ros.model.model import Model
from rbd_ros.spatial import Mat3
from rbd_ros.spatial.quaternion import from_rotation


class Pose(NamedTuple):
    """
    A frame relative to its parent, in the convention of ROS.

    :param parent: name of the parent frame.
    :param child: name of the frame.
    :param translation: origin of the child in the parent, m.
    :param rotation: unit quaternion x, y, z, w from child to parent coordinates.
    """

    parent: str
    child: str
    translation: tuple[float, float, float]
    rotation: tuple[float, float, float, float]


class Frames:
    """
    The frames of a robot; the poses of all bodies come from one kernel.

    :param model: the robot.
    :param backend: as for :class:`rbd_ros.Dynamics`.
    """

    def __init__(self, model: Model, *, backend: str = 'auto') -> None:
        self.model = model
        robot = Dynamics(model.spanning_tree, backend=backend)  # loop joints move no frame
        robot.add(Quantity('placements', ('q',), {'path': _placements}, inertial=False,
                           modules=(__name__,)))
        self._kernel = robot.bind('placements')

    def moving(self, q: ArrayLike, t: float = 0.0) -> list[Pose]:
        """
        Return the pose of every movable body relative to its parent.

        :param q: position.
        :param t: time, s, for joints that move with it; likewise below.
        """
        E, r = self._bodies(q, t)
        names, poses = self.model.body_names, []
        for i in range(1, self.model.nb + 1):
            j = self.model.parent[i]
            poses.append(_pose(names[j], names[i], E[i] @ E[j].T, E[j] @ (r[i] - r[j])))
        return poses

    def fixed(self) -> list[Pose]:
        """Return the pose of every other frame relative to the body that carries it."""
        names = self.model.body_names
        return [_pose(names[frame.body], name, np.array(frame.placement.E.rows),
                      np.array(list(frame.placement.r)))
                for name, frame in self.model.frames.items() if name != names[frame.body]]

    def push(self, q: ArrayLike, wrenches: dict[str, Array], t: float = 0.0) -> Array:
        """
        Return the external forces on all bodies due to wrenches at some frames.

        :param q: position.
        :param wrenches: by frame name, moment then force in the coordinates of that frame, at
            its origin.
        :returns: ``f_ext`` (nb, 6), in base coordinates about the base origin.
        """
        E, r = self._bodies(q, t)
        f_ext = np.zeros((self.model.nb, 6))
        for name, wrench in wrenches.items():
            frame = self.model.frame(name)
            if frame.body == 0:
                continue        # the base does not move
            R = (np.array(frame.placement.E.rows) @ E[frame.body]).T
            p = r[frame.body] + E[frame.body].T @ np.array(list(frame.placement.r))
            force = R @ wrench[3:]
            f_ext[frame.body - 1, :3] += R @ wrench[:3] + np.cross(p, force)
            f_ext[frame.body - 1, 3:] += force
        return f_ext

    def at_body(
        self, q: ArrayLike, body: int, point: Array, force: Array, t: float = 0.0,
    ) -> Array:
        """
        Return a force at a point as a wrench at the origin of a body, in body coordinates.

        :param point: in base coordinates, m.
        :param force: in base coordinates, N.
        :returns: moment then force, (6,).
        """
        E, r = self._bodies(q, t)
        return np.concatenate([E[body] @ np.cross(point - r[body], force), E[body] @ force])

    def checked_wrench(self, name: str, wrench: ArrayLike) -> Array:
        """
        Return a wrench, checked for use in ``push``.

        :param name: of the frame; it must exist.
        :param wrench: six finite numbers.
        """
        self.model.frame(name)
        array = np.array(wrench, dtype=float)
        if array.shape != (6,):
            raise ShapeError(f'the wrench at "{name}" has shape {array.shape}; it needs (6,), '
                             'moment first')
        check_finite(f'the wrench at "{name}"', array)
        return array

    def _bodies(self, q: ArrayLike, t: float) -> tuple[Array, Array]:
        """Return E and r of i_X_0 for all bodies, the base included."""
        self._kernel.inputs['q'][:] = q
        if 'time' in self._kernel.inputs:
            self._kernel.inputs['time'][:] = t
        self._kernel()
        return self._kernel.outputs['E'], self._kernel.outputs['r']


def _placements(s: State) -> dict[str, Sequence[Any]]:
    X_0 = kinematics.placements(s.model, tree(s))
    return {'E': [X.E.rows for X in X_0], 'r': [list(X.r) for X in X_0]}


def _pose(parent: str, child: str, E: Array, r: Array) -> Pose:
    """Return a pose from the transform from parent to child coordinates."""
    x, y, z, w = map(float, from_rotation(Mat3(E.tolist())))
    return Pose(parent, child, tuple(r.tolist()), (x, y, z, w))
