# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Steps of robots in contact, compared with MuJoCo: ``./run bench contact``.

Both get the same bodies, shapes, obstacle, step and torques, and start from the same state again
and again. An arm on a table has the shapes of its description; the other scenes have a ball at the
tool or at each foot, on a floor. Links touch the obstacle alone. Contacts of both are soft, those
of MuJoCo by its own law. Joints have no friction and no stops. In the air both must move alike; on
the obstacle contacts must carry the load.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from pathlib import Path
from typing import NamedTuple

from benchmark.robots import robot_file
from benchmark.speed import ARM, verdict
import mujoco
import numpy as np

import rbd_ros
from rbd_ros.command_line.timing import best_times
from rbd_ros.dynamics.contact_system import ContactSystem
from rbd_ros.model.collision_shapes import Box, CollisionShape, Cylinder, HalfSpace, Sphere
from rbd_ros.model.urdf.collisions import load_collisions
from rbd_ros.peers.mujoco_robot import without_shapes
from rbd_ros.sim import Obstacle, Physics, SimulatedRobot, Surface, World
from rbd_ros.sim.contact.distance import Placed
from rbd_ros.spatial import Transform

#: s, of both.
STEP = 1e-3
#: Steps from the start on that are measured.
STEPS = 50
FRICTION = 0.6
#: m, between robot and obstacle: in the air, pressed in by about the load, and just there.
AIR, PRESSED, RESTING = 0.2, -5e-4, 0.0
#: m, of the table.
TABLE = (0.3, 0.3, 0.05)


#: Steps over which contacts must carry the load, and the share of it by which their mean may be
#: off: what momentum the robot has at the end. 5 kg that are pressed by 0.5 mm into 20 kN/m come
#: out with at most 0.03 m/s, which is 0.8 of 10 N for 0.2 s.
CARRIED, SHARE = 200, 0.1


class Scene(NamedTuple):
    """
    A robot over a floor or a table.

    :param q: position at the start.
    :param tools: links that push down.
    :param radius: of a ball at the origin of each tool, over a floor, m; None for the shapes of
        the description over a table.
    :param push: N, of all tools together, besides the weight of a floating robot.
    :param target: simulated seconds per second over those of MuJoCo.
    """

    file: Path
    floating: bool
    q: tuple[float, ...]
    tools: tuple[str, ...]
    radius: float | None
    push: float
    target: float


def scenes() -> dict[str, Scene]:
    """Return an arm with its tool on a table and on a plane, and a quadruped on its feet."""
    legs = tuple(x for hip in (0.068, -0.068) * 2 for x in (hip, 0.785, -1.44))
    return {
        'arm, table': Scene(ARM, False, (0.0, -0.5, 0.0, -1.2, 0.0, -1.44, 0.0), ('tool0',), None,
                            10.0, 1.0),
        'arm, ball': Scene(ARM, False, (0.0, 0.9, 0.0, -1.2, 0.0, 1.0, 0.0), ('tool0',), 0.03,
                           10.0, 1.0),
        'go2': Scene(robot_file('go2'), True, (0.0, 0.0, 0.4, 0.0, 0.0, 0.0, 1.0, *legs),
                     ('FL_foot', 'FR_foot', 'RL_foot', 'RR_foot'), 0.022, 0.0, 1.0)}


class Ours:
    """
    A scene in this package.

    :param kind: of contact, ``'soft'`` or ``'rigid'``.
    :param gap: between the lowest point of the robot and the obstacle at the start, m.
    """

    def __init__(self, scene: Scene, kind: str, gap: float) -> None:
        model = rbd_ros.load_urdf(scene.file, scene.floating, on_warning=lambda text: None)
        robot, q = rbd_ros.Dynamics(model), np.array(scene.q)
        self.shapes = load_collisions(scene.file, model) if scene.radius is None else [
            CollisionShape(name, model.frame(name).body, Sphere(scene.radius),
                           p=np.array(list(model.frame(name).placement.r)))
            for name in scene.tools]
        self.obstacle = _below(scene, model, self.shapes, gap)
        world = World(kind, self.shapes, [Obstacle('obstacle', self.obstacle)],
                      Surface(damping=100.0, friction=FRICTION))
        # Friction and stops of joints follow other laws in MuJoCo, and carry a part of the load.
        self.robot = SimulatedRobot(model, world=world, physics=Physics.of(
            model, integrator='semi_implicit', friction=0.0, lower=-math.inf, upper=math.inf,
            effort_limit=math.inf))
        self.robot.place(q)
        self.torque = _holding(robot, scene, q)
        #: N, of all tools together.
        self.load = scene.push or float(robot.gravity(q)[5])

    def __call__(self) -> None:
        """Take all steps from the start."""
        self.begin()
        for _ in range(STEPS):
            self.step()

    def begin(self) -> None:
        """Go to the start."""
        self.robot.reset()
        self.robot.command(self.torque)

    def step(self) -> None:
        """Take one step."""
        self.robot.step(STEP)

    def carried(self) -> float:
        """Return what contacts carried in the last step, N."""
        return float(sum(each.force[2] for each in self.robot.contact_forces))


def _below(
    scene: Scene, model: rbd_ros.Model, shapes: Sequence[CollisionShape], gap: float,
) -> Placed:
    """Return a floor, or a table, this far under the lowest point of the tools."""
    high = Placed(HalfSpace(), np.eye(3), np.zeros(3))
    points = World('soft', shapes, [Obstacle('floor', high)]).points
    motions = ContactSystem(model).motions(scene.q, np.zeros(model.nv))
    tools = [model.frame(name).body for name in scene.tools]
    heights = np.where(np.isin(points.bodies, tools), points.distances(motions), np.inf)
    lowest, top = int(np.argmin(heights)), float(heights.min()) - gap
    if scene.radius is not None:
        return Placed(HalfSpace(), np.eye(3), np.array([0.0, 0.0, top]))
    body = int(points.bodies[lowest])
    x, y, _ = motions.r[body] + motions.E[body].T @ points.points[lowest]
    return Placed(Box(TABLE), np.eye(3), np.array([x, y, top - 0.5 * TABLE[2]]))


def _holding(robot: rbd_ros.Dynamics, scene: Scene, q: np.ndarray) -> np.ndarray:
    """Return torques against gravity and for the push; a floating base is carried by the balls."""
    g = robot.gravity(q)
    J = np.vstack([robot.pose(q, name)[:3, :3] @ robot.jacobian(q, name)[3:]
                   for name in scene.tools])
    if not scene.floating:
        return g - J.T @ np.tile([0.0, 0.0, scene.push / len(scene.tools)], len(scene.tools))
    held = g - J.T @ np.linalg.lstsq(J[:, :6].T, g[:6], rcond=None)[0]
    held[:6] = 0.0
    return held


class Theirs:
    """The same scene in MuJoCo."""

    def __init__(self, scene: Scene, ours: Ours) -> None:
        spec = mujoco.MjSpec.from_string(without_shapes(scene.file.read_text()))
        if scene.floating:
            spec.worldbody.first_body().add_freejoint(name='root_joint')
        for each in ours.shapes:
            _add(spec.body(each.link), each, ours.robot.model.frame(each.link).placement)
        top = ours.obstacle
        table = isinstance(top.shape, Box)
        spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_BOX if table else mujoco.mjtGeom.mjGEOM_PLANE,
            size=[0.5 * side for side in TABLE] if table else [9.0, 9.0, 1.0], pos=top.p,
            contype=2, conaffinity=1, condim=3, friction=[FRICTION, 0.0, 0.0])
        self.model = spec.compile()
        self.model.opt.timestep = STEP
        self.model.opt.disableflags = int(mujoco.mjtDisableBit.mjDSBL_LIMIT) | int(
            mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS)
        self.data = mujoco.MjData(self.model)
        own, self.floating = ours.robot.model, scene.floating
        self.q, self.torque = self.model.qpos0.copy(), np.zeros(self.model.nv)
        if scene.floating:
            self.q[:7] = [*scene.q[:3], scene.q[6], *scene.q[3:6]]      # w first
        for name in own.independent_joint_names[1 if scene.floating else 0:]:
            joint = self.model.joint(name)
            self.q[joint.qposadr[0]] = scene.q[own.position_slice(name).start]
            self.torque[joint.dofadr[0]] = ours.torque[own.velocity_slice(name).start]
            self.model.dof_armature[joint.dofadr[0]] = own.rotor_inertia[
                own.velocity_slice(name).start]

    def position(self, ours: Ours) -> np.ndarray:
        """Return where our robot is, in coordinates of MuJoCo."""
        q, own, found = ours.robot.q, ours.robot.model, self.data.qpos.copy()
        if self.floating:
            found[:7] = [*q[:3], q[6], *q[3:6]]                         # w first
        for name in own.independent_joint_names[1 if self.floating else 0:]:
            found[self.model.joint(name).qposadr[0]] = q[own.position_slice(name).start]
        return found

    def __call__(self) -> None:
        """Take all steps from the start."""
        self.begin()
        for _ in range(STEPS):
            self.step()

    def begin(self) -> None:
        """Go to the start."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = self.q
        self.data.qfrc_applied[:] = self.torque

    def step(self) -> None:
        """Take one step."""
        mujoco.mj_step(self.model, self.data)

    def carried(self) -> float:
        """Return what contacts carried in the last step, N; all normals are vertical."""
        total, force = 0.0, np.zeros(6)
        for k in range(self.data.ncon):
            mujoco.mj_contactForce(self.model, self.data, k, force)
            total += force[0]
        return total


def _add(body: mujoco.MjsBody, each: CollisionShape, X: Transform) -> None:
    """Add a shape to a link of MuJoCo: its place on our body, seen from the link."""
    E = np.array(X.E.rows, float)
    R = E @ each.R
    if isinstance(each.shape, Cylinder):
        kind, size = mujoco.mjtGeom.mjGEOM_CYLINDER, [
            each.shape.radius, 0.5 * each.shape.length, 0.0]
    else:
        assert isinstance(each.shape, Sphere)
        kind, size = mujoco.mjtGeom.mjGEOM_SPHERE, [each.shape.radius, 0.0, 0.0]
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, R.ravel())
    body.add_geom(type=kind, size=size, pos=E @ (each.p - np.array(list(X.r))), quat=quaternion,
                  mass=0.0, contype=1, conaffinity=2, condim=3, friction=[FRICTION, 0.0, 0.0])


def refuse_another_motion(what: str, ours: Ours, theirs: Theirs) -> None:
    """
    Raise an error unless both robots end at the same place without contacts.

    Two rules of order one may differ by a step's share of the motion.

    :param what: is measured, for the message.
    :raises RuntimeError: which says how far apart they are.
    """
    ours()
    theirs()
    off, moved = (float(np.abs(theirs.data.qpos - q).max())
                  for q in (theirs.position(ours), theirs.q))
    if ours.carried() or theirs.carried() or not off <= moved / STEPS:
        raise RuntimeError(f'{what}: the robots, which move by {moved:.2g}, end {off:.2g} apart '
                           f'and with {ours.carried():.3g} and {theirs.carried():.3g} N of '
                           'contact: the scenes differ')


def refuse_another_load(what: str, ours: Ours, theirs: Theirs) -> None:
    """
    Raise an error unless the contacts of both carry the load.

    :param what: is measured, for the message.
    :raises RuntimeError: which says what they carry.
    """
    means = []
    for each in (ours, theirs):
        each.begin()
        total = 0.0
        for _ in range(CARRIED):
            each.step()
            total += each.carried()
        means.append(total / CARRIED)
    if not all(abs(mean - ours.load) <= SHARE * ours.load for mean in means):
        raise RuntimeError(f'{what}: contacts carry {means[0]:.4g} N here and {means[1]:.4g} N in '
                           f'MuJoCo; the load is {ours.load:.4g} N')


def report() -> tuple[str, dict[str, object]]:
    """Return the table as text and as data: microseconds per step, and the ratio of speeds."""
    lines = [f'{"robot":11}{"contact":16}{"MuJoCo us":>10}{"ours us":>9}{"s per s":>9}'
             f'{"ratio":>7}{"target":>8}']
    numbers: dict[str, object] = {}
    for name, scene in scenes().items():
        for title, kind, gap in (('in the air', 'soft', AIR), ('soft, touching', 'soft', PRESSED),
                                 ('rigid, touching', 'rigid', RESTING)):
            ours = Ours(scene, kind, gap)
            theirs = Theirs(scene, ours)
            (refuse_another_motion if gap > 0.0 else refuse_another_load)(
                f'{name}, {title}', ours, theirs)
            own, other = (time / STEPS for time in best_times(
                ours, theirs, repetitions=200 if kind == 'soft' else 60))
            goal = scene.target if gap <= 0.0 else None
            met = '' if goal is None else f'{goal:8.1f}{verdict(other / own >= goal)}'
            lines.append(f'{name:11}{title:16}{other * 1e6:10.1f}{own * 1e6:9.1f}'
                         f'{STEP / own:9.1f}{other / own:7.2f}{met}')
            numbers[f'{name}, {title}'] = {
                'mujoco_us': other * 1e6, 'ours_us': own * 1e6, 'ratio': other / own}
    return '\n'.join(lines), numbers
