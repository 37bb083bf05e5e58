# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The kernels of the controller against the dynamics composed by hand."""

from pathlib import Path

from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from rbd_ros import Dynamics, load_urdf
from rbd_ros.compiler.native import gate
from rbd_ros.control.interface.payload import payload_vector
from rbd_ros.control.kernels.barriers import Barrier
from rbd_ros.control.kernels.kernels import KERNELS, LawKernels
from rbd_ros.control.kernels.tip import AXES
from rbd_ros.control.robot import make_robot
from rbd_ros.samples import families
from sampling import examples
from scipy.spatial.transform import Rotation

pytestmark = pytest.mark.slow

URDF = Path(__file__).parents[1] / 'urdf'
ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'


def set_barrier(bound, **rows):
    """Fill some rows of the barriers."""
    for name, value in rows.items():
        bound.inputs['barrier'][Barrier._fields.index(name)] = value


def quiet(bound):
    """Switch barriers off and set gravity, without payload."""
    for name, value in bound.inputs.items():
        value[...] = np.inf if name in ('joint_speed', 'limit', 'task_speed') else 0.0
        if name == 'barrier':
            set_barrier(bound, lower=-np.inf, upper=np.inf, speed=np.inf, margin=1.0)
        elif name == 'friction_speed':
            value[:] = 1.0
    bound.inputs['gravity'][:] = (0.3, -0.2, -9.7)
    return bound


@pytest.fixture(params=['arm', 'some joints', 'mimic'])
def case(request):
    """Give a robot, its dynamics and a random state."""
    if request.param == 'mimic':
        model = load_urdf(URDF / 'mimic_gripper.urdf', on_warning=lambda _: None)
        robot = make_robot(model)
    else:
        model = load_urdf(ARM)
        joints = () if request.param == 'arm' else ('joint_5', 'joint_2', 'joint_3')
        robot = make_robot(model, joints)
    dynamics = Dynamics(model, payload_frame=robot.payload_frame)
    dynamics.set_gravity((0.3, -0.2, -9.7))
    rng = np.random.default_rng(3)
    q, qd = rng.uniform(-1.0, 1.0, (2, model.nq))
    return robot, dynamics, q, qd, rng


def run(bound, q, qd):
    """Evaluate at a state."""
    bound.inputs['q'][:], bound.inputs['qd'][:] = q, qd
    bound()
    return bound.outputs


def kernels(robot, adds='none', knows=False):
    """Return the kernels of a robot."""
    return LawKernels(robot, driver_adds=adds, driver_knows_payload=knows)


def test_only_what_the_loop_runs_is_compiled(monkeypatch):
    """A kernel is bound and never called with arrays; the call would take as long to compile."""
    monkeypatch.setenv('RBD_ROS_CACHE', 'off')
    monkeypatch.setattr(gate, '_call', lambda *_: pytest.fail('the call was compiled'))
    robot = make_robot(load_urdf(URDF / 'mimic_gripper.urdf', on_warning=lambda _: None))
    assert kernels(robot).compile('stop').outputs['gravity'].shape == (len(robot.joints),)


def test_gravity_and_drivers_part(case):
    """Gravity has the payload; the driver's part has it only if the driver knows it."""
    robot, dynamics, q, qd, _ = case
    index = list(robot.index)
    mass, com, about_com = 2.0, np.array([0.1, 0.0, 0.2]), np.diag([0.02, 0.03, 0.025])
    load = payload_vector(mass, com, [0.02, 0.0, 0.0, 0.03, 0.0, 0.025])
    bare = {'gravity': dynamics.gravity(q)[index],
            'gravity_and_coriolis': dynamics.bias(q, qd)[index]}
    dynamics.set_payload(mass, com, about_com)
    full = {'gravity': dynamics.gravity(q)[index],
            'gravity_and_coriolis': dynamics.bias(q, qd)[index]}
    for adds in ('none', 'gravity', 'gravity_and_coriolis'):
        for knows in (False, True):
            bound = quiet(kernels(robot, adds, knows).compile('stop'))
            bound.inputs['payload'][:] = load
            out = run(bound, q, qd)
            np.testing.assert_allclose(out['gravity'], full['gravity'], rtol=0, atol=1e-11)
            expected = 0.0 if adds == 'none' else (full if knows else bare)[adds]
            np.testing.assert_allclose(out['driver'] - expected, 0.0, rtol=0, atol=1e-11)


@pytest.mark.parametrize('name', ['joint', 'task'])
def test_a_law_beyond_its_limits_keeps_its_direction(case, name):
    """What the law adds to g(q) is reduced for all joints alike, until no joint is beyond."""
    robot, _, q, qd, rng = case
    bound = quiet(kernels(robot).compile(name))
    if name == 'joint':
        bound.inputs['stiffness'][...] = 300.0
        bound.inputs['reference'][0] = rng.uniform(-1.0, 1.0, len(robot.joints))
    else:
        bound.inputs['max_condition'][...] = 1e9
        bound.inputs['R_ref'][...] = np.eye(3)
        bound.inputs['task_stiffness'][...] = 300.0
    out = run(bound, q, qd)
    wanted, gravity = out['law'].copy(), out['gravity'].copy()
    added = wanted - gravity
    limit = np.abs(gravity) + np.abs(added) * rng.uniform(0.3, 2.0, len(added))
    limit[0] = abs(gravity[0]) + 0.3 * abs(added[0])  # one of them is beyond
    bound.inputs['limit'][...] = limit
    found = run(bound, q, qd)['law']
    room = np.where(added > 0.0, limit - gravity, limit + gravity)
    share = min(1.0, (room / np.abs(added)).min())
    assert share < 0.99
    np.testing.assert_allclose(found, gravity + share * added, rtol=1e-12, atol=1e-12)


def test_computed_torque_is_inverse_dynamics(case):
    """The law is RNEA at qdd_ref + Kd e' + Kp e; joints not controlled do not accelerate."""
    robot, dynamics, q, qd, rng = case
    index, n = list(robot.index), len(robot.joints)
    bound = quiet(kernels(robot).compile('joint'))
    reference = rng.uniform(-1.0, 1.0, (3, n))
    kp, kd, z = rng.uniform(1.0, 9.0, (3, n))
    for name, value in (('reference', reference), ('stiffness', kp), ('damping', kd),
                        ('integral', z)):
        bound.inputs[name][...] = value
    out = run(bound, q, qd)
    qdd = np.zeros(len(q))
    qdd[index] = (reference[2] + kd * (reference[1] - qd[index])
                  + kp * (reference[0] - q[index]) + z)
    expected = dynamics.inverse_dynamics(q, qd, qdd)[index]
    np.testing.assert_allclose(out['law'], expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(out['error'], reference[0] - q[index], rtol=0, atol=1e-12)


def graph_and_key(made, name):
    """Return the digest of what a kernel computes, and the key under which it is kept."""
    dynamics, quantity = made._dynamics, made._quantity(name)
    dynamics.add(quantity)
    try:
        item = dynamics._item(quantity.name)
        return dynamics._store.builder.graph(item).digest(), dynamics._store.builder.key(item)
    finally:
        dynamics.remove(quantity)


@pytest.mark.sampled('configurations', 2)
@pytest.mark.parametrize('name', KERNELS)
def test_kernels_of_other_settings_are_shared_only_if_they_are_the_same(name):
    """Whatever the tip, its axes and the driver: one key is one graph, and one graph one key."""
    model, found = families.general_chain(3), set()
    for tip in ('body_2', 'body_3'):
        robot = make_robot(model, tip=tip, payload_frame='body_3')
        for axes in (('x',), ('y', 'rz')):
            for adds in ('none', 'gravity', 'gravity_and_coriolis'):
                for knows in (False, True):
                    found.add(graph_and_key(LawKernels(
                        robot, driver_adds=adds, driver_knows_payload=knows, axes=axes), name))
    graphs, keys = zip(*found)
    assert len(set(graphs)) == len(set(keys)) == len(found)
    tips = 4 if name in ('task', 'impedance', 'report') else 2 if name == 'contact' else 1
    assert len(found) == tips * (5 if name not in ('report', 'momentum', 'contact') else 1)


class Task:
    """The operational-space law of the built-in arm, and what it does to the arm."""

    def __init__(self, axes=AXES, **inputs):
        self.model = load_urdf(ARM)
        self.robot = make_robot(self.model)
        self.dynamics = Dynamics(self.model)
        self.dynamics.set_gravity((0.3, -0.2, -9.7))
        self.bound = quiet(LawKernels(self.robot, driver_adds='none',
                                      driver_knows_payload=False, axes=axes).compile('task'))
        self.set(**{'max_condition': 1e9, 'R_ref': np.eye(3)} | inputs)

    def set(self, **inputs):
        """Fill some inputs."""
        for name, value in inputs.items():
            self.bound.inputs[name][...] = value

    def acceleration(self, q, qd):
        """Return the joint accelerations under the law."""
        return self.dynamics.forward_dynamics(q, qd, run(self.bound, q, qd)['law'])

    def tip(self, q, qd, qdd):
        """Return axes, velocity in them, and classical acceleration in the base, of the tip."""
        d = self.dynamics
        R, v = d.pose(q, 'tool0')[:3, :3], d.velocity(q, qd, 'tool0')
        spatial = d.jacobian(q, 'tool0') @ qdd + d.jacobian_rate(q, qd, 'tool0')
        return R, v, np.concatenate([
            R @ spatial[:3], R @ (spatial[3:] + np.cross(v[:3], v[3:]))])


def test_task_law_accelerates_the_tip_as_wanted():
    """The tip gets a_ref + Kd (v_ref - v) + Kp e, whatever the posture wants meanwhile."""
    task = Task(posture_stiffness=3.0, posture_damping=2.0)
    rng = np.random.default_rng(4)
    q, qd = rng.uniform(-1.0, 1.0, (2, 7))
    kp, kd = rng.uniform(10.0, 90.0, 6), rng.uniform(1.0, 9.0, 6)
    acceleration, velocity = rng.uniform(-1.0, 1.0, (2, 6))  # base axes
    pose = task.dynamics.pose(q, 'tool0')
    R, turn, way = pose[:3, :3], rng.normal(size=3), rng.normal(size=3)
    task.set(acceleration_ref=acceleration, velocity_ref=velocity, task_stiffness=kp,
             task_damping=kd, p_ref=pose[:3, 3] + way,
             R_ref=R @ Rotation.from_rotvec(turn).as_matrix())
    qdd = task.acceleration(q, qd)
    R, v, found = task.tip(q, qd, qdd)
    error = np.concatenate([turn, R.T @ way])
    v_ref = np.concatenate([R.T @ velocity[:3], R.T @ velocity[3:]])
    wanted = kd * (v_ref - v) + kp * error
    expected = acceleration + np.concatenate([R @ wanted[:3], R @ wanted[3:]])
    # 1e-7: the condition number of the inertia enters
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)
    out = task.bound.outputs
    np.testing.assert_allclose(out['R'], R, rtol=0, atol=1e-12)
    np.testing.assert_allclose(out['p'], pose[:3, 3], rtol=0, atol=1e-12)
    np.testing.assert_allclose(out['lead'], np.concatenate([R @ turn, way]), rtol=0, atol=1e-12)


def test_task_law_leaves_axes_that_are_not_chosen():
    """With x, y, z alone the origin of the tip follows, and no rotation is asked for."""
    rng = np.random.default_rng(5)
    q, qd = rng.uniform(-1.0, 1.0, (2, 7))
    task = Task(('x', 'y', 'z'), task_stiffness=50.0, task_damping=7.0)
    pose = task.dynamics.pose(q, 'tool0')
    results = []
    for turn in ([0.0, 0.0, 0.0], [0.5, -0.4, 0.3]):
        task.set(p_ref=pose[:3, 3] + [0.1, 0.2, -0.1],
                 R_ref=Rotation.from_rotvec(turn).as_matrix() @ pose[:3, :3])
        qdd = task.acceleration(q, qd)
        R, v, found = task.tip(q, qd, qdd)
        np.testing.assert_allclose(found[3:], 50.0 * np.array([0.1, 0.2, -0.1])
                                   - 7.0 * R @ v[3:], rtol=0, atol=1e-8)
        assert not task.bound.outputs['lead'][:3].any()
        results.append(qdd)
    np.testing.assert_array_equal(results[0], results[1])


def test_wrench_is_exerted_in_statics():
    """At rest, at the reference, the torque is gravity plus J^T of the wrench."""
    rng = np.random.default_rng(6)
    q = rng.uniform(-1.0, 1.0, 7)
    task = Task(task_stiffness=50.0, task_damping=7.0)
    pose = task.dynamics.pose(q, 'tool0')
    R, wrench = pose[:3, :3], np.array([1.0, -2.0, 0.5, 10.0, -5.0, 3.0])
    task.set(p_ref=pose[:3, 3], R_ref=R, wrench=wrench)
    local = np.concatenate([R.T @ wrench[:3], R.T @ wrench[3:]])
    expected = task.dynamics.gravity(q) + task.dynamics.jacobian(q, 'tool0').T @ local
    np.testing.assert_allclose(run(task.bound, q, np.zeros(7))['law'], expected,
                               rtol=0, atol=1e-10)


def posture_part(task, q):
    """Return the joint accelerations that the posture causes at rest."""
    task.set(posture=q)
    plain = run(task.bound, q, np.zeros(7))['law'].copy()
    task.set(posture=q + [0.3, -0.2, 0.25, 0.1, -0.3, 0.2, 0.15])
    torque = run(task.bound, q, np.zeros(7))['law'] - plain
    return np.linalg.solve(task.dynamics.mass_matrix(q), torque)


@pytest.mark.parametrize('axes, force, pressed', [
    (('rx', 'ry', 'rz', 'x', 'y'), [0.0, 0.0, 0.0, 0.0, 0.0, 8.0], (5,)),
    (('rz', 'x', 'y'), [0.0, 0.0, 0.0, 0.0, 0.0, -30.0], (5,)),
    (('x',), [0.0, 3.0, 0.0, 0.0, 0.2, 30.0], (1, 5)),
    (('rz', 'x'), [2.0, -2.0, 0.0, 0.0, 20.0, 30.0], (0, 1, 4, 5))])
def test_posture_leaves_pressed_directions_alone(axes, force, pressed):
    """Where the tip moves or presses J H^-1 of the posture is zero; elsewhere it still acts."""
    rng = np.random.default_rng(8)
    q = np.array([0.2, 0.5, -0.4, -1.2, 0.6, 0.7, 0.9]) + rng.uniform(-0.1, 0.1, 7)
    task = Task(axes, task_stiffness=50.0, task_damping=7.0, posture_stiffness=10.0,
                posture_damping=6.0)
    pose, J = task.dynamics.pose(q, 'tool0'), task.dynamics.jacobian(q, 'tool0')
    R = pose[:3, :3]
    task.set(p_ref=pose[:3, 3], R_ref=R)
    moved = [AXES.index(axis) for axis in axes]
    left = [i for i in range(6) if i not in moved]
    free = J @ posture_part(task, q)
    np.testing.assert_allclose(free[moved], 0.0, atol=1e-8)
    assert (np.abs(free[left]) > 0.002).all()  # the posture holds what nothing else holds
    local = np.array(force)
    task.set(wrench=np.concatenate([R @ local[:3], R @ local[3:]]))
    found = J @ posture_part(task, q)
    np.testing.assert_allclose(found[[*moved, *pressed]], 0.0, atol=1e-8)
    rest = [i for i in left if i not in pressed and force[i] == 0.0]
    np.testing.assert_array_less(0.003, np.abs(found[rest]))


def test_small_wrench_changes_the_posture_smoothly():
    """A force that turns out of a direction gives that direction back without a step."""
    q = np.array([0.2, 0.5, -0.4, -1.2, 0.6, 0.7, 0.9])
    task = Task(('rx', 'ry', 'rz', 'x'), task_stiffness=50.0, task_damping=7.0,
                posture_stiffness=10.0, posture_damping=6.0)
    pose = task.dynamics.pose(q, 'tool0')
    R = pose[:3, :3]
    task.set(p_ref=pose[:3, 3], R_ref=R)
    parts = []
    for angle in np.linspace(0.04, 0.06, 401):
        local = 20.0 * np.array([0.0, np.sin(angle), np.cos(angle)])
        task.set(wrench=np.concatenate([np.zeros(3), R @ local]))
        parts.append(posture_part(task, q))
    steps = np.abs(np.diff(parts, axis=0)).max(axis=1)
    whole = np.abs(parts[0] - parts[-1]).max()
    assert whole > 0.5
    assert steps.max() < 0.03 * whole


@settings(max_examples=examples('properties', 60), deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_task_law_asks_no_joint_for_too_much(seed, stretched):
    """At any pose, whatever the reference, the law damps towards a bounded joint velocity."""
    task, rng = _hard_task(), np.random.default_rng(seed)
    model = task.model
    q = rng.uniform(model.lower, model.upper)
    if stretched:
        q[[2, 4]], q[5] = 0.0, rng.choice([0.0, 1e-9, 1e-3])
        q[3] = 0.229 + rng.choice([0.0, 1e-9, 1e-4])  # both halves of the arm in one line
    wider = 0.5 if stretched else 0.06  # so that the barriers leave the law as it is
    set_barrier(task.bound, lower=np.subtract(model.lower, wider),
                upper=np.add(model.upper, wider))
    qd = rng.uniform(-1.0, 1.0, 7) * model.velocity_limit
    task.set(p_ref=rng.normal(size=3), R_ref=Rotation.random(random_state=rng).as_matrix(),
             velocity_ref=rng.normal(size=6), acceleration_ref=3.0 * rng.normal(size=6),
             posture=rng.uniform(model.lower, model.upper))
    qdd = task.acceleration(q, qd)
    sought = np.abs(qdd + 20.0 * qd) / 20.0  # k is the damping
    assert (sought <= 1.5 * 0.5 * np.array(model.velocity_limit) * (1.0 + 1e-6)).all()


def test_task_law_does_not_push_a_joint_into_its_limit():
    """A joint near its limit is asked for no more speed towards it than the room allows."""
    task = _hard_task()
    rng = np.random.default_rng(7)
    lower, upper = np.array(task.model.lower), np.array(task.model.upper)
    towards = 0
    for _ in range(200):
        q = rng.uniform(lower + 0.2, upper - 0.2)
        j = rng.integers(7)
        left = rng.choice([0.0, 0.001, 0.02])  # before the margin of 0.05
        q[j] = upper[j] - 0.05 - left
        pose = task.dynamics.pose(q, 'tool0')
        task.set(p_ref=pose[:3, 3] + rng.normal(size=3), R_ref=pose[:3, :3], posture=q,
                 velocity_ref=0.0, acceleration_ref=0.0)
        qdd = task.acceleration(q, np.zeros(7))
        assert qdd[j] <= 20.0 * 0.25 * 20.0 * left + 1e-8  # k times 0.25 k of the room
        towards += qdd[j] > 0.0
    assert towards > 20


def _hard_task():
    model = load_urdf(ARM)
    task = Task(max_condition=1e3, task_stiffness=100.0, task_damping=20.0,
                posture_stiffness=10.0, posture_damping=6.0,
                joint_speed=0.5 * np.array(model.velocity_limit))
    set_barrier(task.bound, lower=model.lower, upper=model.upper, margin=0.05)
    return task
