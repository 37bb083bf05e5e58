# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A robot in Pinocchio, with the methods of Dynamics, for comparison.

Pinocchio puts linear parts first, gives continuous joints two coordinates (cosine and sine),
has its own order of joints, and takes external forces in joint coordinates. All of this is
converted here: positions by :meth:`PinocchioRobot.position`, velocities by a matrix ``B``
(v_pin = B v), forces by its transpose.
"""

from __future__ import annotations

from typing import NamedTuple
import xml.etree.ElementTree as ElementTree

import numpy as np
from numpy.typing import ArrayLike
import pinocchio as pin

from rbd_ros.compiler import Array
from rbd_ros.model.model import Model

# Linear-first to angular-first and back.
SWAP = np.array([3, 4, 5, 0, 1, 2])


class Follower(NamedTuple):
    """A joint that moves as another one: q = multiplier * q[leader] + offset."""

    leader: str
    multiplier: float
    offset: float


def read_mimics(urdf: str) -> dict[str, Follower]:
    """Return the mimic joints of a URDF text, each with the independent joint that leads it."""
    found = {}
    for joint in ElementTree.fromstring(urdf).iter('joint'):
        mimic = joint.find('mimic')
        if mimic is not None and joint.get('type') != 'fixed':
            found[joint.attrib['name']] = Follower(
                mimic.attrib['joint'], float(mimic.get('multiplier', 1.0)),
                float(mimic.get('offset', 0.0)))
    for name, (leader, multiplier, offset) in found.items():
        while leader in found:
            leader, factor, shift = found[leader]
            multiplier, offset = multiplier * factor, multiplier * shift + offset
        found[name] = Follower(leader, multiplier, offset)
    return found


class PinocchioRobot:
    """
    A URDF loaded by Pinocchio, in the coordinates of ``model``.

    Pinocchio refuses a mimic joint that comes before its leader in its own order, and some of its
    algorithms do not support mimic joints. In these cases all joints are loaded as independent,
    and ``B`` projects them.

    :param model: the same robot loaded by rbd_ros; its names, slices, gravity and rotors are used.
    :param urdf: the text of the URDF.
    :param floating_base: whether the root link moves freely.
    :param mimic: False to load all joints as independent in any case.
    """

    def __init__(self, model: Model, urdf: str, floating_base: bool = False, *,
                 mimic: bool = True) -> None:
        self.model = model
        root = (pin.JointModelFreeFlyer(),) if floating_base else ()
        self.mimics = read_mimics(urdf) if model.coupling is not None else {}
        try:
            self.pin = pin.buildModelFromXML(urdf, *root, mimic=mimic and bool(self.mimics))
        except ValueError as error:
            if 'mimic' not in str(error):
                raise
            self.pin = pin.buildModelFromXML(urdf, *root)
        self.pin.gravity.linear = np.array(model.gravity)
        self.B = self._velocity_map()
        self.pin.armature = np.zeros(self.pin.nv)
        self.data = self.pin.createData()
        own_mimics = any('Mimic' in joint.shortname() for joint in self.pin.joints)
        self.projected = own_mimics or self.pin.nv != model.nv
        self.free = PinocchioRobot(
            model, urdf, floating_base, mimic=False) if own_mimics else self

    def _moving(self) -> list[tuple[str, pin.JointModel]]:
        """Return the joints that have coordinates of their own, with their names."""
        return [(self.pin.names[i], joint) for i, joint in enumerate(self.pin.joints)
                if i > 0 and joint.nv > 0 and 'Mimic' not in joint.shortname()]

    def _velocity_map(self) -> Array:
        B = np.zeros((self.pin.nv, self.model.nv))
        for name, joint in self._moving():
            rows = np.arange(joint.idx_v, joint.idx_v + joint.nv)
            follower = self.mimics.get(name)
            source = self.model.velocity_slice(follower.leader if follower else name)
            columns = np.arange(source.start, source.stop)
            if joint.nv == 6:
                columns = columns[SWAP]
            elif joint.shortname() == 'JointModelPlanar':
                columns = columns[[1, 2, 0]]
            B[rows, columns] = follower.multiplier if follower else 1.0
        return B

    def position(self, q: ArrayLike) -> Array:
        """Return a position in Pinocchio's coordinates."""
        q = np.asarray(q, float)
        out = pin.neutral(self.pin)
        for name, joint in self._moving():
            follower = self.mimics.get(name)
            values = q[self.model.position_slice(follower.leader if follower else name)]
            if follower:
                values = follower.multiplier * values + follower.offset
            if joint.shortname() == 'JointModelPlanar':
                angle, x, y = values
                values = np.array([x, y, np.cos(angle), np.sin(angle)])
            elif joint.nq == 2:
                values = np.array([np.cos(values[0]), np.sin(values[0])])
            out[joint.idx_q:joint.idx_q + joint.nq] = values
        return out

    def _forces(self, q: Array, f_ext: Array) -> list[pin.Force]:
        """Return base-coordinate forces on our bodies as joint-coordinate forces on theirs."""
        pin.forwardKinematics(self.pin, self.data, q)
        forces = [pin.Force.Zero() for _ in range(self.pin.njoints)]
        for name, wrench in zip(self.model.joint_names, f_ext):
            i = self.pin.getJointId(name)
            forces[i] = self.data.oMi[i].actInv(pin.Force(wrench[3:], wrench[:3]))
        return forces

    # --- the quantities, named as in Dynamics ---------------------------------------------

    def inverse_dynamics(
        self, q: Array, qd: Array, qdd: Array, f_ext: Array | None = None,
    ) -> Array:
        """Return tau."""
        y, v, a = self.position(q), self.B @ qd, self.B @ qdd
        args = () if f_ext is None else (self._forces(y, f_ext),)
        tau = pin.rnea(self.pin, self.data, y, v, a, *args)
        return self.B.T @ tau + np.array(self.model.rotor_inertia) * qdd

    def gravity(self, q: Array) -> Array:
        """Return g(q)."""
        return self.B.T @ pin.computeGeneralizedGravity(self.pin, self.data, self.position(q))

    def bias(self, q: Array, qd: Array) -> Array:
        """Return C(q, qd) with gravity."""
        return self.B.T @ pin.nonLinearEffects(
            self.pin, self.data, self.position(q), self.B @ qd)

    def mass_matrix(self, q: Array) -> Array:
        """Return H(q) with the rotors."""
        H = np.triu(pin.crba(self.pin, self.data, self.position(q)))
        H = H + np.triu(H, 1).T
        return self.B.T @ H @ self.B + np.diag(self.model.rotor_inertia)

    def inverse_mass_matrix(self, q: Array) -> Array:
        """Return H(q)^-1; with mimic joints or rotors, the inverse of Pinocchio's H."""
        if self.projected or any(self.model.rotor_inertia):
            return np.linalg.inv(self.mass_matrix(q))
        M = np.triu(pin.computeMinverse(self.pin, self.data, self.position(q)))
        return self.B.T @ (M + np.triu(M, 1).T) @ self.B

    def forward_dynamics(
        self, q: Array, qd: Array, tau: Array, f_ext: Array | None = None,
    ) -> Array:
        """Return qdd by Pinocchio's ABA; with mimic joints or rotors, from its H and C."""
        if self.projected or any(self.model.rotor_inertia):
            C = self.inverse_dynamics(q, qd, np.zeros(self.model.nv), f_ext)
            return np.linalg.solve(self.mass_matrix(q), tau - C)
        y, v = self.position(q), self.B @ qd
        args = () if f_ext is None else (self._forces(y, f_ext),)
        return self.B.T @ pin.aba(self.pin, self.data, y, v, self.B @ tau, *args)

    def kinetic_energy(self, q: Array, qd: Array) -> float:
        """Return the kinetic energy with the rotors."""
        rotors = 0.5 * np.array(self.model.rotor_inertia) @ (qd * qd)
        return rotors + pin.computeKineticEnergy(
            self.free.pin, self.free.data, self.free.position(q), self.free.B @ qd)

    def potential_energy(self, q: Array) -> float:
        """Return the potential energy."""
        return pin.computePotentialEnergy(
            self.free.pin, self.free.data, self.free.position(q))

    def center_of_mass(self, q: Array) -> Array:
        """Return the centre of mass in base coordinates."""
        return pin.centerOfMass(self.pin, self.data, self.position(q)).copy()

    def momentum(self, q: Array, qd: Array) -> Array:
        """Return the momentum about the base origin, angular first."""
        h = pin.computeCentroidalMomentum(
            self.pin, self.data, self.position(q), self.B @ qd)
        com = self.data.com[0]
        return np.concatenate([h.angular + np.cross(com, h.linear), h.linear])

    def _frame(self, name: str) -> int:
        return self.pin.getFrameId(name, pin.FrameType.BODY)

    def pose(self, q: Array, frame: str) -> Array:
        """Return the homogeneous matrix of a link."""
        pin.framesForwardKinematics(self.pin, self.data, self.position(q))
        return self.data.oMf[self._frame(frame)].homogeneous.copy()

    def jacobian(self, q: Array, frame: str) -> Array:
        """Return the Jacobian of a link in its own coordinates, angular first."""
        J = pin.computeFrameJacobian(
            self.pin, self.data, self.position(q), self._frame(frame), pin.LOCAL)
        return np.reshape(J, (6, -1))[SWAP] @ self.B  # one column comes as a vector

    def velocity(self, q: Array, qd: Array, frame: str) -> Array:
        """Return the velocity of a link in its own coordinates, angular first."""
        pin.forwardKinematics(self.pin, self.data, self.position(q), self.B @ qd)
        return pin.getFrameVelocity(
            self.pin, self.data, self._frame(frame), pin.LOCAL).vector[SWAP]

    def jacobian_rate(self, q: Array, qd: Array, frame: str) -> Array:
        """Return the spatial acceleration of a link at zero qdd, angular first."""
        pin.forwardKinematics(self.pin, self.data, self.position(q), self.B @ qd,
                              np.zeros(self.pin.nv))
        return pin.getFrameAcceleration(
            self.pin, self.data, self._frame(frame), pin.LOCAL).vector[SWAP]
