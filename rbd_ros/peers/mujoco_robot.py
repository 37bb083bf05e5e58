# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A robot in MuJoCo, with some of the methods of Dynamics, for comparison.

MuJoCo reads the URDF without its shapes. Its free joint has a quaternion with w first, the linear
velocity in world axes and the angular velocity in body axes; ``_set`` and ``_map`` convert them.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.model.model import Model


def without_shapes(urdf: str) -> str:
    """Return a URDF with bodies and joints only, which MuJoCo does not change on reading."""
    robot = ElementTree.fromstring(urdf)
    for link in robot.findall('link'):
        for shape in (*link.findall('visual'), *link.findall('collision')):
            link.remove(shape)
    for other in (*robot.findall('transmission'), *robot.findall('gazebo'),
                  *robot.findall('mujoco')):
        robot.remove(other)
    settings = ElementTree.SubElement(robot, 'mujoco')
    ElementTree.SubElement(settings, 'compiler', {
        'fusestatic': 'false', 'balanceinertia': 'false', 'inertiafromgeom': 'false',
        'strippath': 'true', 'discardvisual': 'true'})
    return ElementTree.tostring(robot, encoding='unicode')


class MujocoRobot:
    """
    A URDF without mimic joints loaded by MuJoCo, in the coordinates of ``model``.

    :param model: the same robot loaded by rbd_ros; names, slices and gravity are used.
    """

    def __init__(self, model: Model, urdf: str, floating_base: bool = False) -> None:
        self.model, self.floating = model, floating_base
        spec = mujoco.MjSpec.from_string(without_shapes(urdf))
        if floating_base:
            if model.body_names[1] == 'world':
                raise ValueError('MuJoCo takes the link "world" for its own, which cannot float: '
                                 'rename the link')
            spec.worldbody.first_body().add_freejoint(name='root_joint')
        self.mj = spec.compile()
        self.mj.opt.gravity[:] = model.gravity
        self.mj.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        self.data = mujoco.MjData(self.mj)
        self.address = [(self.mj.joint(name), model.position_slice(name),
                         model.velocity_slice(name)) for name in model.joint_names]
        if self.mj.nv != model.nv:
            raise ValueError(f'MuJoCo finds {self.mj.nv} degrees of freedom, not {model.nv}')

    def _map(self, q: Array) -> Array:
        """Return B with v_mj = B v."""
        B = np.zeros((self.mj.nv, self.model.nv))
        for joint, at_q, at_v in self.address:
            if joint.type[0] == mujoco.mjtJoint.mjJNT_FREE:
                k, j = joint.dofadr[0], at_v.start
                B[k:k + 3, j + 3:j + 6] = _rotation(q[at_q][3:])
                B[k + 3:k + 6, j:j + 3] = np.eye(3)
            else:
                B[joint.dofadr[0], at_v] = 1.0
        return B

    def _set(self, q: Array, qd: Array | None = None) -> Array:
        """Set the state of MuJoCo, and return B."""
        for joint, at_q, _ in self.address:
            values = q[at_q]
            if joint.type[0] == mujoco.mjtJoint.mjJNT_FREE:
                values = values[[0, 1, 2, 6, 3, 4, 5]]
            self.data.qpos[joint.qposadr[0]:joint.qposadr[0] + len(values)] = values
        B = self._map(q)
        self.data.qvel[:] = 0.0 if qd is None else B @ qd
        mujoco.mj_fwdPosition(self.mj, self.data)
        mujoco.mj_fwdVelocity(self.mj, self.data)
        return B

    def inverse_dynamics(self, q: Array, qd: Array, qdd: Array) -> Array:
        """Return tau by MuJoCo's Newton-Euler recursion."""
        B = self._set(q, qd)
        self.data.qacc[:] = B @ qdd
        for joint, _, at_v in self.address:
            if joint.type[0] == mujoco.mjtJoint.mjJNT_FREE:
                # The rate of R v is R (a + w x v): from spatial to classical acceleration.
                w, v = qd[at_v][:3], qd[at_v][3:]
                k = joint.dofadr[0]
                self.data.qacc[k:k + 3] += B[k:k + 3, at_v.start + 3:at_v.stop] @ np.cross(w, v)
        tau = np.zeros(self.mj.nv)
        mujoco.mj_rne(self.mj, self.data, 1, tau)
        return B.T @ tau

    def bias(self, q: Array, qd: Array) -> Array:
        """Return C(q, qd) with gravity."""
        return self.inverse_dynamics(q, qd, np.zeros(self.model.nv))

    def mass_matrix(self, q: Array) -> Array:
        """Return H(q) by MuJoCo's composite bodies."""
        B = self._set(q)
        H = np.zeros((self.mj.nv, self.mj.nv))
        mujoco.mj_crb(self.mj, self.data)
        mujoco.mj_fullM(self.mj, self.data, H)
        return B.T @ H @ B

    def forward_dynamics(self, q: Array, qd: Array, tau: Array) -> Array:
        """Return qdd from MuJoCo's own H and C."""
        return np.linalg.solve(self.mass_matrix(q), tau - self.bias(q, qd))


def _rotation(p: Array) -> Array:
    """Return the rotation matrix from body to world of a quaternion x, y, z, w."""
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, p[[3, 0, 1, 2]])
    return matrix.reshape(3, 3)
