# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Motions as points with time, position, velocity and acceleration, joined by quintics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.identification.drive import own_drives
from rbd_ros.quoting import in_comment, yaml_text

__all__ = ['goal_text', 'Motion', 'torques', 'trajectory_text']


class Motion(NamedTuple):
    """
    Points of a motion.

    :param joints: their names.
    :param t: s from the start, (count,).
    :param q: positions, (count, nv); ``qd`` and ``qdd`` likewise.
    """

    joints: tuple[str, ...]
    t: Array
    q: Array
    qd: Array
    qdd: Array

    def of(self, joints: Sequence[str]) -> Motion:
        """Return the motion of some of its joints."""
        places = [self.joints.index(name) for name in joints]
        return Motion(tuple(joints), self.t, *(each[:, places] for each in (
            self.q, self.qd, self.qdd)))

    def curve(self) -> Any:
        """Return the polynomials that the controller uses, as one function of time."""
        from scipy.interpolate import BPoly
        return BPoly.from_derivatives(self.t, np.stack([self.q, self.qd, self.qdd], axis=1))

    def position(self, t: Array) -> Array:
        """Return positions at any times."""
        return np.asarray(self.curve()(t))


def torques(robot: Dynamics, motion: Motion) -> Array:
    """Return the torques that the described robot needs, friction included."""
    damping, friction, _ = own_drives(robot.model, 'simple').reshape(3, -1)
    return (robot.inverse_dynamics(motion.q, motion.qd, motion.qdd) + damping * motion.qd
            + friction * np.sign(motion.qd))


def goal_text(motion: Motion, title: str) -> str:
    """Return a motion as a goal of FollowJointTrajectory, in YAML."""
    lines = trajectory_text(motion, title).splitlines()
    return '\n'.join([lines[0], 'trajectory:', *(f'  {line}' for line in lines[1:])]) + '\n'


def trajectory_text(motion: Motion, title: str) -> str:
    """Return a motion as a trajectory_msgs/JointTrajectory, in YAML."""
    lines = [f'# {in_comment(title)}',
             f'joint_names: [{", ".join(map(yaml_text, motion.joints))}]', 'points:']
    for t, *rows in zip(motion.t, motion.q, motion.qd, motion.qdd, strict=True):
        nanoseconds = round(1e9 * t)
        parts = [f'{word}: [{", ".join(f"{x:.9g}" for x in row)}]' for word, row in zip(
            ('positions', 'velocities', 'accelerations'), rows, strict=True)]
        lines.append(f'- {{{", ".join(parts)}, time_from_start: {{sec: '
                     f'{nanoseconds // 10**9}, nanosec: {nanoseconds % 10**9}}}}}')
    return '\n'.join(lines) + '\n'
