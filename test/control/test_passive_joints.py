# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Joints that are not controlled: passive ones by hybrid dynamics, moved ones in the observer."""

import numpy as np
import pinocchio as pin
import pytest
from rbd_ros import load_urdf
from rbd_ros.control.controller import Controller
from rbd_ros.control.kernels.declared import MomentumKernel
from rbd_ros.control.kernels.kernels import LawKernels
from rbd_ros.control.observers.momentum import Momentum
from rbd_ros.control.parameters.assembly import build_robot, compile_kernels
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import make_robot
from rbd_ros.errors import ModelError, UnknownName
from test_control_kernels import quiet, run

#: a chain of four joints, bent out of its plane, and a hook that hangs on the third link
JOINTS = {          # name: parent, axis, origin, damping
    'j1': ('l0', '0 0 1', '0 0 0.3', 0.0), 'j2': ('l1', '0 1 0.2', '0 0.05 0.2', 0.3),
    'j3': ('l2', '0 1 0', '0 0 0.4', 0.1), 'j4': ('l3', '1 0 0.3', '0.1 0 0.3', 0.0),
    'hook': ('l3', '0.3 1 0', '0.2 0 0.25', 0.05)}
CONTROLLED, PASSIVE = ('j4', 'j1', 'j3'), ('hook', 'j2')
GRAVITY = (0.3, -0.2, -9.7)


def urdf():
    """Return the robot."""
    text = ['<link name="l0"/>']
    for k, (name, (parent, axis, origin, damping)) in enumerate(JOINTS.items(), 1):
        text.append(
            f'<link name="l{k}"><inertial><origin xyz="0.05 {0.02 * k} 0.15"/>'
            f'<mass value="{3.0 / k}"/><inertia ixx="0.03" iyy="{0.02 + 0.01 / k}" izz="0.025" '
            'ixy="0.002" ixz="0.001" iyz="0"/></inertial></link>'
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="l{k}"/>'
            f'<origin xyz="{origin}" rpy="0.1 -0.2 {0.1 * k}"/><axis xyz="{axis}"/>'
            f'<dynamics damping="{damping}"/>'
            '<limit lower="-9" upper="9" effort="50" velocity="9"/></joint>')
    return f'<robot name="crane">{"".join(text)}</robot>'


class Peer:
    """The same robot by Pinocchio, in the order of our joints."""

    def __init__(self, names):
        self.model = pin.buildModelFromXML(urdf())
        self.model.gravity.linear[:] = GRAVITY
        self.data = self.model.createData()
        theirs = list(self.model.names)[1:]
        self.order = [theirs.index(name) for name in names]
        self.damping = np.array([JOINTS[name][3] for name in names])

    def _theirs(self, x):
        out = np.zeros(len(x))
        out[self.order] = x
        return out

    def forward(self, q, qd, tau):
        """Return accelerations; every passive joint is damped as described."""
        return pin.aba(self.model, self.data, *map(self._theirs, (q, qd, tau)))[self.order]

    def inverse(self, q, qd, qdd):
        """Return forces."""
        return pin.rnea(self.model, self.data, *map(self._theirs, (q, qd, qdd)))[self.order]

    def tip(self, q, qd, qdd):
        """Return the classical acceleration of the origin of l4 in base axes."""
        pin.forwardKinematics(self.model, self.data, *map(self._theirs, (q, qd, qdd)))
        frame = self.model.getFrameId('l4')
        pin.updateFramePlacements(self.model, self.data)
        return pin.getFrameClassicalAcceleration(
            self.model, self.data, frame, pin.LOCAL_WORLD_ALIGNED).linear


@pytest.fixture(scope='module')
def case():
    """Give the robot, Pinocchio's, places of joints, and a state."""
    robot = make_robot(load_urdf(urdf(), on_warning=lambda _: None), CONTROLLED, tip='l4',
                       passive=PASSIVE)
    names = list(robot.model.joint_names)
    q, qd = np.random.default_rng(3).uniform(-1.0, 1.0, (2, 5))
    return robot, Peer(names), list(robot.index), robot.passive_index, q, qd


def moved(peer, index, passive, q, qd, law):
    """Return the accelerations under a torque, with passive joints that are free but damped."""
    tau = np.zeros(5)
    tau[index] = law
    tau[passive] = -(peer.damping * qd)[passive]
    return peer.forward(q, qd, tau)


def test_computed_torque_with_passive_joints(case):
    """The controlled joints accelerate as wanted by Pinocchio, while the passive ones swing."""
    robot, peer, index, passive, q, qd = case
    rng = np.random.default_rng(4)
    reference, (kp, kd) = rng.uniform(-1.0, 1.0, (3, 3)), rng.uniform(1.0, 9.0, (2, 3))
    wanted = reference[2] + kd * (reference[1] - qd[index]) + kp * (reference[0] - q[index])
    found = {}
    for free in (PASSIVE, ()):
        other = make_robot(robot.model, CONTROLLED, tip='l4', passive=free)
        bound = quiet(LawKernels(other, driver_adds='none',
                                 driver_knows_payload=False).compile('joint'))
        bound.inputs['gravity'][:] = GRAVITY
        for name, value in (('reference', reference), ('stiffness', kp), ('damping', kd)):
            bound.inputs[name][...] = value
        found[free] = moved(peer, index, passive, q, qd, run(bound, q, qd)['law'].copy())
    np.testing.assert_allclose(found[PASSIVE][index], wanted, rtol=0, atol=1e-9)
    assert np.abs(found[PASSIVE][passive]).max() > 1.0
    # taken for joints that do not accelerate, they disturb the others
    assert np.abs(found[()][index] - wanted).max() > 1.0


def test_operational_space_with_passive_joints(case):
    """The tip accelerates as wanted by Pinocchio, though a joint on the way to it is passive."""
    robot, peer, index, passive, q, qd = case
    bound = quiet(LawKernels(robot, driver_adds='none', driver_knows_payload=False,
                             axes=('x', 'y', 'z')).compile('task'))
    bound.inputs['gravity'][:] = GRAVITY
    bound.inputs['max_condition'][:] = 1e12
    kp, kd = np.array([0, 0, 0, 40.0, 50.0, 60.0]), np.array([0, 0, 0, 7.0, 8.0, 9.0])
    out = run(bound, q, qd)
    R, p, velocity = out['R'].copy(), out['p'].copy(), out['velocity'].copy()
    way, faster = np.array([0.02, -0.03, 0.01]), np.array([0.4, -0.5, 0.3])
    for name, value in (('task_stiffness', kp), ('task_damping', kd), ('R_ref', R),
                        ('p_ref', p + way), ('acceleration_ref', [0, 0, 0, *faster])):
        bound.inputs[name][...] = value
    qdd = moved(peer, index, passive, q, qd, run(bound, q, qd)['law'].copy())
    wanted = faster + R @ (kp[3:] * (R.T @ way) - kd[3:] * velocity[3:])
    np.testing.assert_allclose(peer.tip(q, qd, qdd), wanted, rtol=0, atol=1e-7)


def test_observer_counts_the_momentum_of_joints_that_others_move(case):
    """A joint that is moved with force by others is no external torque; a push is one."""
    robot, peer, index, _, q, _ = case
    driven = robot.passive_index[1]                       # j2, moved by somebody else here
    bound = quiet(LawKernels(robot, driver_adds='none',
                             driver_knows_payload=False).compile('momentum'))
    bound.inputs['gravity'][:] = GRAVITY
    kernel, gain = MomentumKernel.of(bound), np.full(3, 20.0)
    narrow = MomentumKernel.idle(bound, {'n': 3, 'm': 3})
    for push in (np.zeros(3), np.array([0.5, -1.0, 2.0])):
        observer, blind, dt = Momentum({'n': 3, 'm': 5}), Momentum({'n': 3, 'm': 3}), 0.001
        for k in range(800):
            t = dt * k
            angle = q.copy()
            angle[driven] += 0.4 * np.sin(5.0 * t)
            speed, acceleration = np.zeros(5), np.zeros(5)
            speed[driven] = 2.0 * np.cos(5.0 * t)
            acceleration[driven] = -10.0 * np.sin(5.0 * (t + 0.5 * dt))    # in the next period
            out = run(bound, angle, speed)
            torque = peer.inverse(angle, speed, acceleration)[index] - push
            observer.update(kernel, torque, dt, gain, torque, 0.0)
            narrow.H[:], narrow.qd[:] = out['H'][:, index], speed[index]
            narrow.bias[:] = out['bias']
            blind.update(narrow, torque, dt, gain, torque, 0.0)
            if k > 500:
                np.testing.assert_allclose(observer.torque, push, rtol=0, atol=0.03)
        # without the columns of that joint its push of several N.m would look like a collision
        assert np.abs(blind.torque - push).max() > 0.5


def test_the_controller_with_a_passive_joint(case):
    """On the clock of a test: the arm follows its set-point while the hook swings freely."""
    robot, peer, index, passive, q, _ = case
    values = defaults() | {
        'driver_adds': 'none', 'release_torque': 'gravity', 'mode': 'computed_torque',
        'gravity': list(GRAVITY), 'start.time': 0.0, 'start.watch_time': 0.0,
        'passive_joints': list(PASSIVE), 'joints': list(CONTROLLED), 'task.frame': 'l4'}
    made = build_robot(values, urdf(), lambda _: None)
    assert made.passive == PASSIVE and made.joints == CONTROLLED
    settings, sent = Settings(made, values, simulated=False), []
    controller = Controller(settings, compile_kernels(settings),
                            lambda torque: sent.append(torque.copy()))
    controller.p.states.ages.clock_offset = -1e4  # its clock is that of the stamps
    controller.post(controller.activate)
    q, qd, dt, time = 0.3 * q, np.zeros(5), 0.001, 50.0
    names = tuple(robot.model.joint_names)

    def go(count, free):
        nonlocal q, qd, time
        for _ in range(count):
            time += dt
            controller.take_state(time, time, names, q, qd, (),
                                  divmod(round(1e9 * (time + 1e4)), 1_000_000_000))
            controller.take_timer(time, time)
            if free:
                qd = qd + dt * moved(peer, index, passive, q, qd, sent[-1])
                q = q + dt * qd
    go(1200, free=False)
    assert controller.state.value == 'running', controller.fault_text()
    held = q[index].copy()
    go(300, free=True)
    assert controller.state.value == 'running', controller.fault_text()
    assert np.abs(qd[passive]).max() > 0.5                # it swings
    # within what the damper lets a sampled torque wander; without hybrid dynamics 20 times more
    assert np.abs(q[index] - held).max() < 2e-3


def test_passive_joints_that_cannot_be(case):
    """An unknown joint, one named twice, one that is driven, and one that stands are refused."""
    model = case[0].model
    with pytest.raises(UnknownName, match='"hok"'):
        make_robot(model, CONTROLLED, passive=('hok',))
    with pytest.raises(ModelError, match='"hook" is named twice in passive_joints'):
        make_robot(model, CONTROLLED, passive=('hook', 'hook'))
    with pytest.raises(ModelError, match='"j1" is controlled and in passive_joints'):
        make_robot(model, CONTROLLED, passive=('j1',))
    with pytest.raises(ModelError, match='"hook" is in fixed_positions and in passive_joints'):
        make_robot(model, CONTROLLED, fixed={'hook': 0.1}, passive=('hook',))
    assert make_robot(model, passive=('hook',)).joints == ('j1', 'j2', 'j3', 'j4')
