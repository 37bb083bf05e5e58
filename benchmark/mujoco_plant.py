# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A torque-controlled arm simulated by MuJoCo: the robot that no code of rbd_ros knows.

It has what a real arm has and its description leaves out: brakes, friction, rotor inertia, a
payload, another mounting, a plate to press on, a torque that ends at the motor's limit. Only the
URDF is shared with the controller. Shapes are left out; the tip is a small ball, which can touch
nothing but the plate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TYPE_CHECKING
import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = ['Plant', 'PlantOptions', 'Tip']

#: contact bits: the ball at the tip touches the plate, and nothing touches anything else
_TIP, _PLATE = 1, 2

#: kg of a plate that gives way
_PLATE_MASS = 0.1

#: rad/s below which a braked joint is at rest
_REST = 5e-3

#: times the effort limit that a closed brake can hold
_GRIP = 3.0


@dataclass(frozen=True)
class PlantOptions:
    """How the robot differs from its description, and where it stands."""

    joints: Sequence[str]  # commanded, in the order of the commands; others are locked at zero
    start: Sequence[float]  # their positions, rad or m
    tip: str  # link that carries the ball
    step: float = 1e-3  # s
    gravity: Sequence[float] = (0.0, 0.0, -9.81)  # in the base; (0, 0, 9.81): on a ceiling
    armature: Sequence[float] = ()  # rotor inertia at the joint, kg.m^2; none: no rotors
    damping: Sequence[float] = ()  # N.m.s/rad; none: of the description
    friction: Sequence[float] = ()  # dry friction, N.m; none: of the description
    hard_friction: bool = False  # whether dry friction sticks; MuJoCo's own is soft and creeps
    payload_mass: float = 0.0  # kg at the tip, which the controller need not know
    payload_com: Sequence[float] = (0.0, 0.0, 0.0)  # m, in the tip's axes
    payload_inertia: Sequence[float] = ()  # kg.m^2, principal moments; none: next to nothing
    sensor: bool = False  # whether a force-torque sensor carries payload and ball
    plate: Sequence[float] = field(default=())  # point of its surface, in the base; none: no plate
    plate_normal: Sequence[float] = (0.0, 0.0, 1.0)  # towards the robot
    plate_below: float | None = None  # m from the ball to the plate at the start, instead of plate
    plate_friction: float = 0.3
    plate_stiffness: float = 0.0  # N/m of a plate on a spring; 0: it is fixed
    plate_damping: float = 0.0  # N.s/m of that spring
    ball: float = 0.02  # m, radius of the tip
    brakes_hold: bool = True  # whether the robot is held until its brakes are opened


class Tip(NamedTuple):
    """Where the tip is, and what it does to the plate."""

    position: Array  # m, in the base
    rotation: Array  # axes as columns
    force: Array  # N that the robot exerts on the plate, in the base


class Plant:
    """
    An arm with brakes, stepped by whoever owns it.

    :param urdf: text of the description.
    :param options: what the description leaves out.
    """

    def __init__(self, urdf: str, options: PlantOptions) -> None:
        self.options = options
        robot = ElementTree.fromstring(urdf)
        self.locked = _lock_others(robot, options.joints)
        self.effort_limit = np.array([_effort(robot, name) for name in options.joints])
        self.model = self._compile(_without_shapes(robot), carried=True)
        self._described = self._compile(_without_shapes(robot), carried=False)
        self.data = mujoco.MjData(self.model)
        self._shadow = mujoco.MjData(self._described)
        joints = [self.model.joint(name) for name in options.joints]
        self._q = np.array([joint.qposadr[0] for joint in joints])
        self._v = np.array([joint.dofadr[0] for joint in joints])
        self._tip = self.model.body(options.tip).id
        # MuJoCo makes a new view at each look, which takes longer than a step of an arm
        self._qpos, self._qvel = self.data.qpos, self.data.qvel
        self._applied, self._push = self.data.qfrc_applied, self.data.xfrc_applied[self._tip]
        self._xpos = self.data.xpos[self._tip]
        self._xmat = self.data.xmat[self._tip].reshape(3, 3)
        self._least = -self.effort_limit
        self._qpos[self._q] = options.start
        self._friction = self.model.dof_frictionloss.copy()
        self._grip = np.full(self.model.nv, _GRIP * max(self.effort_limit))
        self._braked = self._frozen = options.brakes_hold
        self._command = np.zeros(len(joints))
        mujoco.mj_forward(self.model, self.data)

    # -- making ---------------------------------------------------------------------------------

    def _compile(self, urdf: str, carried: bool) -> mujoco.MjModel:
        """Return the robot as it is, or as described: without what it carries."""
        o, spec = self.options, mujoco.MjSpec.from_string(urdf)
        tip = spec.body(o.tip)
        if o.sensor:
            tip = tip.add_body(name='behind_sensor')
            tip.add_site(name='sensor')
            for kind, name in ((mujoco.mjtSensor.mjSENS_TORQUE, 'moment'),
                               (mujoco.mjtSensor.mjSENS_FORCE, 'force')):
                spec.add_sensor(type=kind, name=name, objtype=mujoco.mjtObj.mjOBJ_SITE,
                                objname='sensor')
        if carried and o.payload_mass > 0.0:
            load = tip.add_body(name='payload', pos=list(o.payload_com), ipos=[0.0] * 3,
                                mass=o.payload_mass,
                                inertia=list(o.payload_inertia) or [1e-6 * o.payload_mass] * 3)
            load.explicitinertial = True
        tip.add_geom(name='ball', type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[o.ball, 0.0, 0.0],
                     mass=0.0, contype=_TIP, conaffinity=_PLATE, condim=3)
        if len(o.plate) or o.plate_below is not None:
            self._add_plate(spec)
        model = spec.compile()
        model.opt.timestep, model.opt.gravity[:] = o.step, o.gravity
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        order = [model.joint(name).dofadr[0] for name in o.joints]
        for values, own in ((o.armature, model.dof_armature), (o.damping, model.dof_damping),
                            (o.friction, model.dof_frictionloss)):
            if len(values):
                own[order] = values
        _harden(model, o.hard_friction)
        return model

    def _add_plate(self, spec: mujoco.MjSpec) -> None:
        o = self.options
        normal = np.array(o.plate_normal) / np.linalg.norm(o.plate_normal)
        thickness, turn = 0.05, np.zeros(4)
        mujoco.mju_quatZ2Vec(turn, normal)
        carrier = spec.worldbody
        if o.plate_stiffness > 0.0:
            carrier = carrier.add_body(name='spring', gravcomp=1.0, mass=_PLATE_MASS,
                                       ipos=[0.0] * 3, inertia=[1e-3] * 3)
            carrier.explicitinertial = True
            carrier.add_joint(name='spring', type=mujoco.mjtJoint.mjJNT_SLIDE, axis=list(normal),
                              stiffness=o.plate_stiffness, damping=o.plate_damping)
        plate = carrier.add_geom(
            name='plate', type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.5, 0.5, thickness], quat=turn,
            contype=_PLATE, conaffinity=_TIP, condim=3, friction=[o.plate_friction, 0.0, 0.0])
        plate.solref[:] = (0.002 if o.plate_stiffness else 0.005), 1.0  # s: stiff
        plate.priority = 1
        if len(o.plate):
            surface = np.array(o.plate)
        else:
            surface = self._start_of_tip(spec) - (o.ball + o.plate_below) * normal
        plate.pos[:] = surface - thickness * normal

    def _start_of_tip(self, spec: mujoco.MjSpec) -> Array:
        model = spec.compile()
        data = mujoco.MjData(model)
        for name, value in zip(self.options.joints, self.options.start, strict=True):
            data.qpos[model.joint(name).qposadr[0]] = value
        mujoco.mj_kinematics(model, data)
        return data.body(self.options.tip).xpos.copy()

    # -- running --------------------------------------------------------------------------------

    @property
    def position(self) -> Array:
        """Return the positions of the commanded joints."""
        return self._qpos[self._q]

    @property
    def velocity(self) -> Array:
        """Return their velocities."""
        return self._qvel[self._v]

    @property
    def braked(self) -> bool:
        """Return whether the brakes are closed."""
        return self._braked

    def brake(self, closed: bool) -> None:
        """Close or open the brakes; closed, they slide until the joints are at rest."""
        o = self.options
        if closed != self._braked:
            self._braked, self._frozen = closed, False
            self.model.dof_frictionloss[:] = self._grip if closed else self._friction
            _harden(self.model, closed or o.hard_friction)

    def step(self, command: Array, push: Array | None = None) -> None:
        """
        Advance by one step.

        :param command: torques of the motors, in the order of the joints; their limits count.
        :param push: force and moment upon the tip from outside, in the base.
        """
        if self._braked:
            self._command[:] = 0.0
        else:
            np.minimum(np.maximum(command, self._least), self.effort_limit, out=self._command)
        self._applied[self._v] = self._command
        self._push[:] = 0.0 if push is None else push
        if self._braked and not self._frozen and np.abs(self._qvel).max() < _REST:
            self._frozen = True
        if not self._frozen:
            mujoco.mj_step(self.model, self.data)
            return
        self._qvel[:] = 0.0  # a brake at rest does not creep
        mujoco.mj_forward(self.model, self.data)
        self.data.time += self.options.step

    @property
    def position_of_tip(self) -> Array:
        """Return where the tip is, in the base."""
        return self._xpos.copy()

    @property
    def lever_of_tip(self) -> Array:
        """Return the way from the centre of mass of the tip, where pushes act, to its origin."""
        return self._xpos - self.data.xipos[self._tip]

    def motor_torque(self) -> Array:
        """Return what the motors exert: nothing behind closed brakes."""
        return self._command.copy()

    def joint_torque(self) -> Array:
        """Return what torque sensors between gear and link feel, brakes included."""
        d = self.data
        if self._frozen:
            return d.qfrc_bias[self._v] - d.qfrc_passive[self._v]
        ours = np.isin(d.efc_type[:d.nefc], (mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF,
                                             mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT))
        held = d.efc_J.reshape(-1, self.model.nv)[:d.nefc][ours].T @ d.efc_force[:d.nefc][ours]
        felt = d.qfrc_applied + d.qfrc_passive + held - self.model.dof_armature * d.qacc
        return felt[self._v]

    def described_gravity(self) -> Array:
        """Return g(q) of the robot as described, which some drivers add by themselves."""
        self._shadow.qpos[:] = self.data.qpos
        mujoco.mj_forward(self._described, self._shadow)
        return self._shadow.qfrc_bias[self._v].copy()

    def sensed(self) -> Array:
        """Return what the force-torque sensor reads: moment and force in the tip's axes."""
        m, d = self.model, self.data
        mujoco.mj_forward(m, d)  # of the present state, not of that before the last step
        if self._frozen:
            d.qacc[:] = 0.0
            mujoco.mj_rnePostConstraint(m, d)
            mujoco.mj_sensorAcc(m, d)
        return d.sensordata[:6].copy()

    def mass_matrix(self) -> Array:
        """Return the inertia of the joints, rotors included."""
        H = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, H)
        return H[np.ix_(self._v, self._v)]

    def tip(self) -> Tip:
        """Return the truth about the tip."""
        force = np.zeros(3)
        for k in range(self.data.ncon):
            wrench, contact = np.zeros(6), self.data.contact[k]
            mujoco.mj_contactForce(self.model, self.data, k, wrench)
            # axes of the contact are rows; the force acts on the second geom
            sign = 1.0 if self.model.geom(contact.geom[1]).name == 'plate' else -1.0
            force += sign * contact.frame.reshape(3, 3).T @ wrench[:3]
        return Tip(self._xpos.copy(), self._xmat.copy(), force)


def _harden(model: mujoco.MjModel, hard: bool) -> None:
    """Let dry friction stick, or be as soft as MuJoCo has it."""
    model.dof_solref[:, 0] = 2.0 * model.opt.timestep if hard else 0.02
    model.dof_solimp[:, :2] = (0.9999, 0.9999) if hard else (0.9, 0.95)


def _lock_others(robot: ElementTree.Element, joints: Sequence[str]) -> list[str]:
    """Fix every joint that is not commanded, in place; return the names of those locked."""
    locked, known = [], {joint.get('name') for joint in robot.findall('joint')}
    missing = [name for name in joints if name not in known]
    if missing:
        raise ValueError(f'the description has no joint {", ".join(missing)}')
    for joint in robot.findall('joint'):
        if joint.get('type') != 'fixed' and joint.get('name') not in joints:
            joint.set('type', 'fixed')
            locked.append(joint.get('name', ''))
    return locked


def _effort(robot: ElementTree.Element, name: str) -> float:
    """Return the effort limit of a joint; none is infinite."""
    limit = robot.find(f'joint[@name="{name}"]/limit')
    return float(limit.get('effort', 'inf')) if limit is not None else np.inf


def _without_shapes(robot: ElementTree.Element) -> str:
    """Return the bodies and joints of a URDF, to be taken by MuJoCo as they are."""
    made = ElementTree.Element('robot', robot.attrib)
    for part in robot:
        if part.tag == 'joint':
            made.append(part)
        elif part.tag == 'link':
            link = ElementTree.SubElement(made, 'link', part.attrib)
            link.extend(part.findall('inertial'))
    settings = ElementTree.SubElement(made, 'mujoco')
    ElementTree.SubElement(settings, 'compiler', {
        'fusestatic': 'false', 'balanceinertia': 'false', 'inertiafromgeom': 'false',
        'strippath': 'true', 'discardvisual': 'false'})
    return ElementTree.tostring(made, encoding='unicode')
