# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Our generalised forces drive an engine that keeps every body free.

MuJoCo simulates free bodies that are held together by soft equality constraints. It gets the
wrench on each body that ``algorithms.other_forms.maximal.applied_wrenches`` makes of generalised
forces, from joint positions that are found from its bodies; the motion must be that of the tree.
"""

from __future__ import annotations

import numpy as np
import pytest
import rbd_ros
from rbd_ros import compiler
from rbd_ros.algorithms.other_forms import maximal
from rbd_ros.joints import Revolute, RotationVector
from rbd_ros.spatial import Mat3, quaternion, shapes, Transform, Vec3, xlt
from spatial_oracle import assert_close

mujoco = pytest.importorskip('mujoco')

STEP, TIME = 5e-4, 1.0
AXIS = (0.0, 1.0, 0.0)


def robot():
    """Return a shoulder with a ball joint, an elbow and a wrist, made of boxes."""
    builder = rbd_ros.ModelBuilder('arm')

    def link(m, length):
        return xlt(0.0, 0.0, -0.5 * length).inv_apply(shapes.box(m, 0.15, 0.18, length))
    builder.add_body('upper', 'base', RotationVector(), xlt(0.0, 0.0, 1.0), link(2.0, 0.4))
    builder.add_body('lower', 'upper', Revolute(AXIS), xlt(0.0, 0.0, -0.4), link(1.5, 0.3))
    builder.add_body('hand', 'lower', RotationVector(), xlt(0.0, 0.0, -0.3), link(0.8, 0.2))
    return builder.build()


def drive(t):
    """Return the generalised forces at a time, N m."""
    phase = np.arange(7.0)
    return np.array([0.5, 0.5, 0.03, 0.4, 0.05, 0.05, 0.002]) * np.sin(3.0 * t + phase)


def free_bodies(model, timeconst):
    """Return MuJoCo's model: free bodies and constraints as stiff as a time constant says."""
    bodies, equalities = [], []
    place = Vec3.zero()
    for i in range(1, model.nb + 1):
        name, parent = model.body_names[i], model.body_names[model.parent[i]]
        m, c, I_c = model.inertia[i].com_form()
        place = place + model.X_T[i].r
        full = ' '.join(map(str, (I_c.xx, I_c.yy, I_c.zz, I_c.xy, I_c.xz, I_c.yz)))
        bodies.append(
            f'<body name="{name}" pos="{place.x} {place.y} {place.z}"><freejoint/>'
            f'<inertial pos="{c.x} {c.y} {c.z}" mass="{m}" fullinertia="{full}"/></body>')
        turning = isinstance(model.joint[i], Revolute)
        for anchor in ((0.0, 0.0, 0.0), AXIS) if turning else ((0.0, 0.0, 0.0),):
            other = '' if parent == 'base' else f'body2="{parent}"'
            equalities.append(
                f'<connect body1="{name}" {other} anchor="{" ".join(map(str, anchor))}" '
                f'solref="{timeconst} 1" solimp="0.9999 0.9999 0.001"/>')
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{STEP}" integrator="RK4" tolerance="1e-12" iterations="200">'
        f'<flag contact="disable"/></option><worldbody>{"".join(bodies)}</worldbody>'
        f'<equality>{"".join(equalities)}</equality></mujoco>')


class Engine:
    """MuJoCo's bodies, and what we know of them: joint positions and velocities."""

    def __init__(self, model, timeconst, q):
        self.model, self.engine = model, free_bodies(model, timeconst)
        self.data = mujoco.MjData(self.engine)
        ours = rbd_ros.Dynamics(model, backend='reference')
        for i in range(1, model.nb + 1):
            pose = ours.pose(q, model.body_names[i])
            x, y, z, w = quaternion.from_rotation(Mat3(pose[:3, :3].T.tolist()))
            self.data.qpos[7 * i - 7:7 * i] = [*pose[:3, 3], w, x, y, z]

    def poses(self):
        """Return the transform from base to body of every body; entry 0 is the base."""
        mujoco.mj_kinematics(self.engine, self.data)
        return [Transform.identity(), *(
            Transform(Mat3(self.data.xmat[i].reshape(3, 3).T.tolist()),
                      Vec3(*self.data.xpos[i].tolist())) for i in range(1, self.model.nb + 1))]

    def positions(self):
        """Return the joint positions, found from where the bodies are."""
        X, q = self.poses(), []
        for i in range(1, self.model.nb + 1):
            X_J = X[i] @ X[self.model.parent[i]].inverse() @ self.model.X_T[i].inverse()
            q += self.model.joint[i].locate(X_J)
        return q

    def velocities(self):
        """Return v and w of the centres of mass, as the engine has them."""
        v, w = np.zeros((2, self.model.nb, 3))
        for i in range(1, self.model.nb + 1):
            six = np.zeros(6)
            mujoco.mj_objectVelocity(self.engine, self.data, mujoco.mjtObj.mjOBJ_BODY, i, six, 0)
            w[i - 1], v[i - 1] = six[:3], six[3:]
        return v, w


@pytest.fixture(scope='module')
def arm():
    """Return the arm, its start, the kernel of wrenches and where our simulation ends."""
    model = robot()
    kernel = compiler.compile(compiler.trace(
        lambda q, Q: {'F': maximal.applied_wrenches(model, q, Q)}, {'q': 7, 'Q': 7},
        name='wrenches'))
    robot_ = rbd_ros.Dynamics(model)
    start = np.array([0.3, 0.4, -0.2, 0.5, 0.2, -0.3, 0.1])

    def slope(t, x):
        return np.r_[x[7:], robot_.forward_dynamics(x[:7], x[7:], drive(t))]
    x, h = np.r_[start, np.zeros(7)], 1e-3
    for k in range(round(TIME / h)):
        t = k * h
        k1 = slope(t, x)
        k2 = slope(t + 0.5 * h, x + 0.5 * h * k1)
        k3 = slope(t + 0.5 * h, x + 0.5 * h * k2)
        k4 = slope(t + h, x + h * k3)
        x = x + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
    return model, start, kernel, x


def simulate(arm, timeconst):
    """Return the engine after a second of motion under our wrenches."""
    model, start, kernel, _ = arm
    engine, before = Engine(model, timeconst, start), start
    for k in range(round(TIME / STEP)):
        q = np.array(engine.positions())
        # the engine holds a wrench for the whole step: take that of its middle
        wrenches = kernel(1.5 * q - 0.5 * before, drive((k + 0.5) * STEP))
        before = q
        engine.data.xfrc_applied[1:] = wrenches
        mujoco.mj_step(engine.engine, engine.data)
    return engine


def angles(arm, engine):
    """Return by how much each body is turned against ours, rad."""
    model, _, _, x = arm
    ours = rbd_ros.Dynamics(model, backend='reference')
    out = []
    for i, X in enumerate(engine.poses()[1:], 1):
        R = ours.pose(x[:7], model.body_names[i])[:3, :3]
        turn = quaternion.logarithm(quaternion.from_rotation(
            Mat3((np.array(X.E.to_list()) @ R).tolist())))
        out.append(np.sqrt(turn.dot(turn)))
    return np.array(out)


@pytest.mark.seed('LIU B49')
def test_engine_of_free_bodies_moves_like_the_tree(arm):
    """Within 1e-3 rad after a second, and nearer where the constraints are stiffer."""
    errors = []
    for timeconst in (0.02, 0.004):
        engine = simulate(arm, timeconst)
        errors.append(angles(arm, engine).max())
        # joint velocities from those of the bodies: near ours, near to respecting the joints
        found = maximal.joint_velocities(arm[0], engine.positions(), *engine.velocities())
        assert np.abs(found.qd - arm[3][7:]).max() < 1e-2 and found.residual < 1e-2
    # seen: 1.4e-5 and 3e-6 rad; the wrench that is held for a step costs less than that
    assert max(errors) < 1e-3
    assert errors[1] < 0.5 * errors[0]
    assert np.abs(arm[3][:7] - arm[1]).max() > 0.5              # the arm did move


def test_engine_reads_back_what_was_set(arm):
    """The bridge of this test: positions and velocities of bodies are those of the joints."""
    model, start, _, _ = arm
    engine = Engine(model, 0.01, start)
    assert_close(engine.positions(), start, 1e-12)
