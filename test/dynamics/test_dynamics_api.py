# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The compiled robot as its users call it: arrays, batches, threads, payload, errors."""

from concurrent.futures import ThreadPoolExecutor
import inspect
import pickle
import pydoc
import subprocess
import sys

import numpy as np
import pytest

import rbd_ros
from rbd_ros import ModelBuilder
from rbd_ros.dynamics.kernels.family import Family
from rbd_ros.dynamics.kernels.store import KernelStore
from rbd_ros.dynamics.table import TABLE
from rbd_ros.joints import Revolute
from rbd_ros.model.positions import random_position
from rbd_ros.samples.families import random_tree
from rbd_ros.spatial import RigidInertia, Sym3, Transform, Vec3
from rbd_ros.version import VERSION

AXES = ('revolute', 'prismatic', 'spherical')


@pytest.fixture(scope='module')
def model():
    """Return a small branched tree with joints of one and three freedoms."""
    return random_tree(6, 3, joints=AXES)


@pytest.fixture(scope='module')
def robot(model):
    """Return the tree, compiled."""
    return rbd_ros.Dynamics(model)


def state(model, seed=0):
    """Return a random position and three random vectors of nv."""
    rng = np.random.default_rng(seed)
    return np.array(random_position(model, rng)), *rng.normal(size=(3, model.nv))


def pendulum(mass=2.0, length=0.5):
    """Return a point-like mass on a horizontal axis, with a frame at its end."""
    builder = ModelBuilder('pendulum')
    inertia = RigidInertia.from_com(mass, Vec3(0.0, 0.0, -length), Sym3.zero())
    builder.add_body('rod', 'base', Revolute((0.0, 1.0, 0.0)), Transform.identity(), inertia,
                     joint_name='hinge')
    builder.add_frame('end', 'rod', Transform.translation(Vec3(0.0, 0.0, -length)))
    return builder.build()


def test_errors_name_the_argument(robot, model):
    """A wrong shape, NaN and a wrong kind are refused with the name of the argument."""
    q, qd, qdd, _ = state(model)
    words = rf'qd has shape \(2,\), expected \({model.nv},\)'
    with pytest.raises(rbd_ros.ShapeError, match=words):
        robot.inverse_dynamics(q, qd[:2], qdd)
    bad = qdd.copy()
    bad[1] = np.inf
    with pytest.raises(rbd_ros.NonFiniteError, match=r'qdd\[1\] is inf'):
        robot.inverse_dynamics(q, qd, bad)
    with pytest.raises(rbd_ros.ShapeError, match='q must be an array of real numbers'):
        robot.gravity('upright')
    with pytest.raises(rbd_ros.UnknownName, match='did you mean "body_6"'):
        robot.jacobian(q, 'bodi_6')
    with pytest.raises(rbd_ros.RbdError, match='no method "newton".*"crba" and "aba"'):
        robot.forward_dynamics(q, qd, qdd, method='newton')
    with pytest.raises(rbd_ros.ShapeError, match='out for tau must be a writable float64 array'):
        robot.gravity(q, out=np.empty(model.nv + 1))


def test_frames_and_handles_are_named_where_they_belong(robot, model):
    """A quantity says whether it wants a frame, handles or nothing, and refuses the rest."""
    q, qd, *_ = state(model)
    with pytest.raises(rbd_ros.RbdError, match='jacobian needs the name of a frame, got None'):
        robot.jacobian(q, None)
    with pytest.raises(rbd_ros.RbdError, match='gravity is of the whole robot and takes no frame'):
        robot.bind('gravity', 'body_6')
    for nothing in ([], robot.handle('body_6', rows=[])):
        with pytest.raises(rbd_ros.RbdError, match='at least one frame or handle with a direct'):
            robot.operational_space(q, qd, nothing)
    with pytest.raises(rbd_ros.UnknownName, match='no quantity "jacobi"; did you mean "jacobian"'):
        robot.kernel('jacobi')


def test_a_robot_is_made_from_a_model(model):
    """A path in place of a model, swapped arguments and unknown backends are refused."""
    with pytest.raises(TypeError, match='made from a Model, got str; use load_urdf'):
        rbd_ros.Dynamics('arm.urdf')
    with pytest.raises(TypeError, match='argument must be a Model, got ndarray; use load_urdf'):
        rbd_ros.gravity(np.zeros(model.nq), model)
    with pytest.raises(rbd_ros.RbdError, match='no backend "gpu".*auto, llvm, python, reference'):
        rbd_ros.Dynamics(model, backend='gpu')


def test_the_reference_checks_alike(model):
    """The uncompiled functions refuse what the compiled ones refuse."""
    q, qd, qdd, _ = state(model)
    with pytest.raises(rbd_ros.ShapeError, match='qd has shape'):
        rbd_ros.inverse_dynamics(model, q, qd[:2], qdd)
    with pytest.raises(rbd_ros.NonFiniteError, match=r'q\[0\] is nan'):
        rbd_ros.gravity(model, np.full(model.nq, np.nan))


def test_gravity_changes_without_compiling(model):
    """After set_gravity the same kernel gives the torques of the new direction."""
    robot = rbd_ros.Dynamics(model)
    q, *_ = state(model)
    kernel = robot.kernel('gravity')
    for vector in ([0.0, 0.0, -9.81], [3.0, -2.0, 1.0], [0.0, 0.0, 0.0]):
        robot.set_gravity(vector)
        expected = rbd_ros.gravity(model.with_gravity(vector), q)
        np.testing.assert_allclose(robot.gravity(q), expected, rtol=1e-12, atol=1e-12)
    assert robot.kernel('gravity') is kernel
    with pytest.raises(rbd_ros.NonFiniteError, match=r'gravity\[2\] is nan'):
        robot.set_gravity([0.0, 0.0, np.nan])
    np.testing.assert_array_equal(robot.gravity_vector, np.zeros(3))


@pytest.mark.parametrize('name', ['pose', 'jacobian', 'velocity', 'jacobian_rate'])
def test_kernels_carry_the_names_of_the_methods(robot, model, name):
    """What a method computes for a frame is bound under the name of the method."""
    q, qd, *_ = state(model)
    bound = robot.bind(name, 'body_6')
    for key, value in {'q': q, 'qd': qd}.items():
        if key in bound.inputs:
            bound.inputs[key][:] = value
    bound()
    given = (q, qd) if 'qd' in bound.inputs else (q,)
    np.testing.assert_array_equal(*bound.outputs.values(), getattr(robot, name)(*given, 'body_6'))


def test_threads_share_one_robot(robot, model):
    """Many threads on one object, checked and bound, all get their own right results."""
    states = [state(model, k) for k in range(40)]
    expected = [robot.forward_dynamics(q, qd, tau) for q, qd, _, tau in states]

    def work(start):
        bound = robot.bind('forward_dynamics')
        for turn in range(200):
            k = (start + turn) % len(states)
            q, qd, _, tau = states[k]
            bound.inputs['q'][:], bound.inputs['qd'][:], bound.inputs['tau'][:] = q, qd, tau
            bound()
            np.testing.assert_array_equal(robot.forward_dynamics(q, qd, tau), expected[k])
            np.testing.assert_array_equal(bound.outputs['qdd'], expected[k])
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_first_use_from_many_threads(model):
    """Threads that ask a new robot for the same quantity at once all get it."""
    robot = rbd_ros.Dynamics(model, cache=False)
    q, *_ = state(model)
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda _: robot.gravity(q), range(12)))
    assert all(np.array_equal(result, results[0]) for result in results)


def test_a_bound_operational_space_starts_without_a_bound():
    """Bound to a handle or a frame, the inertia is the true one until max_condition is set."""
    robot = rbd_ros.Dynamics(pendulum(2.0, 0.5))
    bound = robot.bind('operational_space', robot.handle('end', rows=[(0, 0, 0, 1, 0, 0)]))
    bound.inputs['q'][:] = 0.3
    bound()
    np.testing.assert_allclose(bound.outputs['Lambda'], [[2.0]], rtol=1e-13)
    assert robot.bind('operational_space', 'end').outputs['Lambda'].shape == (6, 6)


def test_families_are_side_by_side():
    """No family of methods stands on another; what each knows of a robot is the store."""
    families = rbd_ros.Dynamics.__bases__
    assert len(families) > 10 and all(each.__bases__ == (Family,) for each in families)
    names = [name for each in families for name in vars(each) if not name.startswith('_')]
    assert len(set(names)) == len(names)        # none hides a method of another


def test_help_is_complete():
    """Every method and every argument of the constructor is in the help, with its words."""
    text = pydoc.plain(pydoc.render_doc(rbd_ros.Dynamics))
    for name in dir(rbd_ros.Dynamics):
        if not name.startswith('_'):
            assert name in text and inspect.getdoc(getattr(rbd_ros.Dynamics, name)), name
    for name in inspect.signature(rbd_ros.Dynamics).parameters:
        assert f':param {name}:' in rbd_ros.Dynamics.__doc__


def test_a_later_call_does_not_ask_the_store(model, monkeypatch):
    """The first call compiles and keeps what it calls; a method finds the call of its own row."""
    robot = rbd_ros.Dynamics(model, backend='reference')
    q, qd, qdd, _ = state(model)
    given = {'q': q, 'qd': qd, 'qdd': qdd, 'tau': qdd}
    plain = [name for name, row in TABLE.items() if row.target == 'robot' and row.rules
             and set(row.inputs) <= set(given) and hasattr(robot, name)
             and 'floating' not in name and 'second' not in name and 'christoffel' not in name]
    assert len(plain) > 15
    first = {name: getattr(robot, name)(*(given[key] for key in TABLE[name].inputs))
             for name in plain}

    def refuse(*_, **__):
        raise AssertionError('asked again')
    monkeypatch.setattr(KernelStore, 'call', refuse)
    with pytest.raises(AssertionError, match='asked again'):
        rbd_ros.Dynamics(model, backend='reference').gravity(q)
    for name in plain:
        again = getattr(robot, name)(*(given[key] for key in TABLE[name].inputs))
        np.testing.assert_array_equal(again, first[name])


def test_import_needs_neither_ros_nor_scipy():
    """The library, its control part too, imports without ROS, SciPy and the JIT: fast."""
    program = ('import sys, rbd_ros.dynamics.robot, rbd_ros.control.parameters.assembly;'
               'print(sorted({"rclpy", "scipy", "llvmlite", "pinocchio"} & set(sys.modules)))')
    result = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True,
                            check=True)
    assert result.stdout.strip() == '[]'


def test_what_a_newcomer_asks_first():
    """A version, a robot that says what it is, and where gravity torques are to be had."""
    model = random_tree(3, 0, joints=('revolute',))
    assert rbd_ros.__version__ == VERSION
    assert repr(rbd_ros.Dynamics(model)).startswith(f'<Dynamics of {model!r}, backend')
    with pytest.raises(TypeError, match=r'rbd_ros.Dynamics\(model\).gravity\(q\)'):
        model.gravity(np.zeros(3))
    assert model.gravity == (0.0, 0.0, -9.81) and pickle.loads(pickle.dumps(model)) == model
