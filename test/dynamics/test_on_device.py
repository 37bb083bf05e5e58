# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A robot on a GPU, emulated: the numbers of Pinocchio and of the compiled robot."""

from pathlib import Path
import pickle
import re
import warnings

import numpy as np
import pytest
import rbd_ros
from rbd_ros.errors import RbdError, ShapeError, UnknownName
from rbd_ros.joints import Free, Revolute
from rbd_ros.spatial import RigidInertia, Sym3, Vec3

pytest.importorskip('llvmlite', reason='llvmlite is not installed')
pin = pytest.importorskip('pinocchio', reason='Pinocchio is not installed')
from benchmark.robots import robot_file  # noqa: E402, I100
from device_arrays import Shown  # noqa: E402
from rbd_ros.compiler.gpu import targets  # noqa: E402
from rbd_ros.compiler.gpu.dialect import EMULATED, NVIDIA  # noqa: E402
from rbd_ros.compiler.gpu.emulation import EmulatedDevice  # noqa: E402
from rbd_ros.compiler.gpu.kernel import compile_for  # noqa: E402
from rbd_ros.compiler.gpu.program import program  # noqa: E402
from rbd_ros.dynamics.kernel_hints import kernel_hints  # noqa: E402
from rbd_ros.model.positions import random_position  # noqa: E402
from rbd_ros.peers.comparison import peer_text  # noqa: E402
from rbd_ros.peers.pinocchio_robot import PinocchioRobot  # noqa: E402

URDF = Path(__file__).parents[1] / 'urdf'
#: Largest error, relative to the largest entry, by number type.
ERRORS = {'float64': 1e-12, 'float32': 1e-5}


@pytest.fixture(scope='module', params=['ur5', 'panda'])
def arm(request):
    """Return a robot, its peer and some states."""
    path = robot_file(request.param)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        robot = rbd_ros.Dynamics(rbd_ros.load_urdf(path))
    peer = PinocchioRobot(robot.model, peer_text(path.read_text()))
    rng = np.random.default_rng(3)
    model = robot.model
    states = {'q': rng.uniform(-3.0, 3.0, (7, model.nq)),
              'qd': rng.uniform(-2.0, 2.0, (7, model.nv)),
              'x': rng.uniform(-5.0, 5.0, (7, model.nv))}
    return robot, peer, states


def error(found, expected):
    """Return the largest deviation, relative to the largest entry."""
    assert np.shape(found) == np.shape(expected)
    return np.abs(found - expected).max() / max(1.0, np.abs(expected).max())


@pytest.mark.sampled('robots', 1)
@pytest.mark.parametrize('path,stages', [
    (robot_file('ur5'), 3), (URDF.parents[1] / 'urdf' / 'seven_joint_arm.urdf', 3)],
    ids=['six', 'seven'])
def test_derivatives_of_pinocchio(path, stages):
    """Derivatives are Pinocchio's own; long ones of forward dynamics are computed in stages."""
    robot = rbd_ros.Dynamics(rbd_ros.load_urdf(path))
    gpu, peer = robot.on('emulation'), PinocchioRobot(
        robot.model, peer_text(path.read_text())).pin
    peer.armature = np.array(robot.model.rotor_inertia)
    data, rng = peer.createData(), np.random.default_rng(4)
    q, qd, x = rng.uniform(-1.5, 1.5, (3, 5, robot.model.nv))
    inverse = gpu.inverse_dynamics_derivatives(q, qd, x)
    forward = gpu.forward_dynamics_derivatives(q, qd, x)
    for k in range(5):
        for found, compute in ((inverse, pin.computeRNEADerivatives),
                               (forward, pin.computeABADerivatives)):
            by_q, by_qd, last = compute(peer, data, q[k], qd[k], x[k])
            symmetric = np.triu(last) + np.triu(last, 1).T
            for mine, theirs in zip(found, (by_q, by_qd, symmetric), strict=True):
                assert error(mine[k], theirs) < 1e-12
    assert len(gpu.kernel('inverse_dynamics_derivatives').functions) == 1
    assert len(gpu.kernel('forward_dynamics_derivatives').functions) == stages


def test_ptx_of_arms(arm):
    """What a GPU is given for arms is one kernel each, which calls nothing and has no stack."""
    robot, _, _ = arm
    for name in ('inverse_dynamics', 'forward_dynamics', 'inverse_dynamics_derivatives'):
        graph = rbd_ros.Dynamics(robot.model, backend='reference').kernel(name).graph
        text, entries, *_ = program(graph, NVIDIA, hints=kernel_hints(robot.model, graph))
        ptx = targets.emit(text, targets.PTX, assembly=True).decode()
        assert re.findall(r'\.visible \.entry (\w+)\(', ptx) == list(entries) == ['rbd_0']
        assert not re.search(r'\bcall\b|\.local|\.extern|\.func', ptx)
        loads = sum(a.size for a in graph.inputs)
        assert ptx.count('ld.global') <= loads
        assert ptx.count('st.global') == sum(a.size for a in graph.outputs)


def test_a_humanoid_in_limbs():
    """Forward dynamics of a humanoid is cut along its limbs, and is the reference's."""
    path = robot_file('talos')
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        model = rbd_ros.load_urdf(path, floating_base=True)
    robot = rbd_ros.Dynamics(model, backend='reference')
    graph = robot.kernel('forward_dynamics').graph
    hints = kernel_hints(model, graph)
    across, along = program(graph, EMULATED), program(graph, EMULATED, hints=hints)
    assert len(along.entries) == 9 and 3 * along.slots < across.slots
    kernel = compile_for(EmulatedDevice(), graph, cache=False, hints=lambda _: hints)
    rng = np.random.default_rng(9)
    q = np.array([random_position(model, rng) for _ in range(2)])
    qd, tau = rng.uniform(-1.0, 1.0, (2, 2, model.nv))
    gravity = np.array(model.gravity)
    expected = [graph.evaluate(*map(list, row), list(gravity)) for row in zip(q, qd, tau)]
    assert error(kernel(q, qd, tau, gravity), np.array(expected)) < 1e-12


def test_environment(arm):
    """Gravity, external forces, frames and handles are those of the robot, now and later."""
    robot, _, states = arm
    robot = rbd_ros.Dynamics(robot.model)
    gpu, q, qd = robot.on('emulation'), states['q'], states['qd']
    shown = Shown(q)
    before = gpu.gravity(shown).numpy()
    robot.set_gravity([1.0, 2.0, -3.0])
    after = gpu.gravity(shown).numpy()
    assert error(after, robot.gravity(q)) < 1e-12 < error(before, robot.gravity(q))
    f_ext = np.random.default_rng(5).normal(size=(7, robot.model.nb, 6))
    assert error(gpu.forward_dynamics(q, qd, states['x'], f_ext),
                 robot.forward_dynamics(q, qd, states['x'], f_ext)) < 1e-12
    frame = robot.model.frame_names[-1]
    assert error(gpu.jacobian(q, frame), robot.jacobian(q, frame)) < 1e-12
    Phi = gpu.compute('inverse_handle_inertia', q, target=(frame,))
    assert error(Phi, robot.inverse_handle_inertia(q, frame)) < 1e-11


def test_asked_wrongly(arm):
    """What a robot on a device has not is refused by name, with what there is."""
    robot, _, states = arm
    gpu = robot.on('emulation')
    with pytest.raises(UnknownName, match='no device "rocm"'):
        robot.on('rocm')
    with pytest.raises(ValueError, match='no scalar type "float16"'):
        robot.on('emulation', scalar='float16')
    with pytest.raises(AttributeError, match='no method "inverse"'):
        gpu.inverse(states['q'])
    with pytest.raises(AttributeError, match='operational_space is about handles: use compute'):
        gpu.operational_space(states['q'])
    with pytest.raises(TypeError, match='gravity takes q; got 3 arguments'):
        gpu.gravity(states['q'], None, None)
    with pytest.raises(ShapeError, match='q has shape'):
        gpu.gravity(states['q'][:, :2])
    assert 'mass_matrix' in dir(gpu) and 'projection' not in dir(gpu)


def test_pickle(arm):
    """A robot on a device pickles as its recipe."""
    robot, _, states = arm
    gpu = pickle.loads(pickle.dumps(robot.on('emulation', scalar='float32')))
    assert gpu.scalar == 'float32'
    assert error(gpu.gravity(states['q']), robot.gravity(states['q'])) < 1e-5


@pytest.mark.sampled('robots', 1)
@pytest.mark.parametrize('scalar', ERRORS)
def test_rollout_under_torques(arm, scalar):
    """A rollout is forward dynamics of Pinocchio, integrated step by step."""
    robot, peer, states = arm
    steps, every, h = 6, 3, 2e-3
    tau = np.random.default_rng(6).uniform(-20.0, 20.0, (7, steps, robot.model.nv))
    q, qd, records = states['q'].copy(), states['qd'].copy(), []
    for k in range(steps):
        qd += h * np.array([peer.forward_dynamics(*row) for row in zip(q, qd, tau[:, k])])
        q += h * qd
        records.append((q.copy(), qd.copy()))
    gpu = robot.on('emulation', scalar=scalar)
    found = gpu.rollout(states['q'], states['qd'], tau, step=h, steps=steps, every=every)
    for mine, *theirs in zip(found, records[2], records[5], strict=True):
        assert error(mine, np.stack(theirs, axis=1)) < 10 * ERRORS[scalar]
    ends = gpu.rollout(states['q'], states['qd'], tau[:, 0], step=h, steps=1)
    assert error(ends.q[:, 0], records[0][0]) < ERRORS[scalar]


def test_rollout_with_a_policy(arm):
    """A traced policy closes the loop inside of the kernel, with parameters of its own."""
    robot, _, states = arm

    def policy(q, qd, t, gain, damping, goal):
        return [gain * (g - a) - damping * b + t for g, a, b in zip(goal, q, qd)]
    rng, h, steps = np.random.default_rng(7), 1e-3, 5
    gain, goal = rng.uniform(10.0, 20.0, 7), rng.uniform(-1.0, 1.0, (7, robot.model.nq))
    q, qd = states['q'].copy(), states['qd'].copy()
    robot = rbd_ros.Dynamics(robot.model)
    robot.set_time(0.25)
    for k in range(steps):
        tau = gain[:, None] * (goal - q) - 2.0 * qd + (0.25 + k * h)
        qd += h * robot.forward_dynamics(q, qd, tau)
        q += h * qd
    gpu = robot.on('emulation')
    found = gpu.rollout(states['q'], states['qd'], step=h, steps=steps, policy=policy,
                        parameters={'gain': gain, 'damping': 2.0, 'goal': goal})
    assert error(found.q[:, 0], q) < 1e-12 and error(found.qd[:, 0], qd) < 1e-12
    there = gpu.rollout(Shown(states['q']), Shown(states['qd']), step=h, steps=steps,
                        policy=policy, parameters={
                            'gain': Shown(gain), 'damping': 2.0, 'goal': Shown(goal)})
    np.testing.assert_array_equal(there.q.numpy(), found.q)
    gpu.check()


def test_rollout_asked_wrongly(arm):
    """A rollout needs torques or a policy, and records that divide its steps."""
    robot, _, states = arm
    gpu, q, qd = robot.on('emulation'), states['q'], states['qd']
    with pytest.raises(TypeError, match='rollout needs one of tau, a policy'):
        gpu.rollout(q, qd, step=1e-3, steps=4)
    with pytest.raises(ShapeError, match='4 steps with a record after every 3'):
        gpu.rollout(q, qd, qd, step=1e-3, steps=4, every=3)
    with pytest.raises(RbdError, match='the policy gives 1 torques'):
        gpu.rollout(q, qd, step=1e-3, steps=4, policy=lambda q, qd, t: [0.0])


def test_floating_rollout():
    """A free body in a rollout keeps its quaternion of length one, and its momentum."""
    builder = rbd_ros.ModelBuilder('satellite', gravity=(0.0, 0.0, 0.0))
    builder.add_body('hull', 'base', Free(), None, RigidInertia.from_com(
        3.0, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(0.4, 0.5, 0.6)))
    robot = rbd_ros.Dynamics(builder.build())
    rng = np.random.default_rng(8)
    q = np.zeros((3, 7))
    q[:, 6] = 1.0
    qd, steps = rng.uniform(-1.0, 1.0, (3, 6)), 200
    found = robot.on('emulation').rollout(
        q, qd, np.zeros(6), step=1e-3, steps=steps, every=steps // 2)
    assert np.abs(np.linalg.norm(found.q[..., 3:], axis=-1) - 1.0).max() < 1e-12
    before = robot.momentum(q, qd)
    for k in range(2):
        after = robot.momentum(found.q[:, k], found.qd[:, k])
        assert np.abs(after - before).max() < 2e-3        # the rule is of first order
        assert np.abs(found.q[:, k, 3:6]).max() > 0.01


def test_weak_bodies():
    """Where each state needs a decision, forward dynamics is refused and all else computed."""
    builder = rbd_ros.ModelBuilder('wrist')
    builder.add_body('a', 'base', Revolute((0, 0, 1)))
    builder.add_body('b', 'a', Revolute((0, 1, 0)), None, RigidInertia.from_com(
        1.0, Vec3(0.0, 0.0, 0.1), Sym3.diagonal(0.01, 0.02, 0.005)))
    robot = rbd_ros.Dynamics(builder.build())
    gpu, q = robot.on('emulation'), np.full((2, 2), 0.3)
    assert error(gpu.inverse_dynamics(q, q, q), robot.inverse_dynamics(q, q, q)) < 1e-12
    with pytest.raises(RbdError, match='forward_dynamics of "wrist" needs a decision'):
        gpu.forward_dynamics(q, q, q)
