# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What a robot cannot answer is refused with reasons; nothing simpler is answered."""

import math
import re

import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms import aba, crba, floating, kinematics, rnea
from rbd_ros.compiler.backends import has_llvm
from rbd_ros.dynamics.table import TABLE
from rbd_ros.joints import (
    Free, Prescribed, Prismatic, Reversed, Revolute, Spherical, UserJoint)
from rbd_ros.model.positions import random_position
from rbd_ros.samples import families
from rbd_ros.sim.steps.coordinates import Coordinates
from rbd_ros.sim.steps.engine import compiled_engine
from rbd_ros.spatial import Motion, RigidInertia, rotz, Sym3, Vec3, xlt

pytestmark = pytest.mark.slow

BACKENDS = ['reference', 'python', *(['llvm'] if has_llvm() else [])]
ROD = RigidInertia.from_com(1.0, Vec3(0.2, 0.0, 0.0), Sym3(0.01, 0.0, 0.0, 0.02, 0.0, 0.03))


# --- loops ------------------------------------------------------------------------------------


@pytest.fixture
def four_bar():
    """Return a four-bar linkage: three rods, and a fourth joint that closes the loop."""
    builder = rbd_ros.ModelBuilder('four bar')
    builder.add_body('crank', 'base', Revolute(), None, ROD)
    builder.add_body('coupler', 'crank', Revolute(), xlt(0.4, 0.0, 0.0), ROD)
    builder.add_body('rocker', 'coupler', Revolute(), xlt(0.4, 0.0, 0.0), ROD)
    builder.add_joint('pin', 'rocker', 'base', Revolute(), xlt(0.4, 0.0, 0.0), xlt(0.4, 0.0, 0.0))
    return builder.build()


def test_no_quantity_gives_a_silent_answer_of_the_tree(four_bar):
    """What needs the inverse of H knows loops or refuses them; H itself is that of the tree."""
    robot = rbd_ros.Dynamics(four_bar, backend='reference')
    for name, row in TABLE.items():
        if row.loops.as_tree or row.loops.rules:
            continue
        target = {'frame': 'rocker', 'handles': 'rocker', 'joints': ('crank_joint',)}
        with pytest.raises(rbd_ros.LoopError, match=(
                'joint "pin" of "four bar" closes a kinematic loop between "rocker" and "base", '
                f'and {name} knows trees only.*Take {re.escape(row.loops.instead)}')):
            robot.kernel(name, target.get(row.target))
        words = re.findall(r'[a-z_.]+', row.loops.instead)
        assert any(hasattr(robot, word) for word in words) or 'manifold' in row.loops.instead
    solving = {'inverse_mass_matrix', 'forward_dynamics_derivatives', 'hybrid_dynamics',
               'joint_wrenches', 'floating_base_forward_dynamics', 'handle_inertia'}
    assert not any(TABLE[name].loops.as_tree or TABLE[name].loops.rules for name in solving)
    q = np.zeros(3)
    with pytest.raises(rbd_ros.LoopError, match='"pin".* and inverse_mass_matrix knows trees'):
        robot.inverse_mass_matrix(q)
    open_arm = rbd_ros.Dynamics(four_bar.spanning_tree, backend='reference')
    np.testing.assert_array_equal(robot.mass_matrix(q), open_arm.mass_matrix(q))
    with pytest.raises(rbd_ros.ModelError, match='"four bar" has no closed loops'):
        open_arm.loop_jacobian(q)


def test_loops_are_refused_by_algorithms_of_trees(four_bar):
    """No step of trees is compiled for it, nor any algorithm of trees run."""
    q, calm = [0.1] * 3, kinematics.Conditions(Vec3(0.0, 0.0, -9.81))
    attempts = [
        lambda: compiled_engine(four_bar, 'rk4'),
        lambda: rnea.rnea(four_bar, q, q, q, calm),
        lambda: rnea.newton_euler_3d(four_bar, q, q, q, calm),
        lambda: rnea.gravity_forces(four_bar, q, calm),
        lambda: rnea.inertia_product(four_bar, kinematics.links(four_bar, q), q),
        lambda: crba.crba(four_bar, kinematics.links(four_bar, q)),
        lambda: aba.aba(four_bar, q, q, q, calm)]
    for attempt in attempts:
        with pytest.raises(rbd_ros.LoopError, match='"pin"'):
            attempt()


def test_floating_loops_are_refused():
    """A floating base does not hide a loop."""
    builder = rbd_ros.ModelBuilder('floating')
    builder.add_body('trunk', 'base', Free(), None, ROD)
    for side in 'ab':
        builder.add_body(side, 'trunk', Revolute(), None, ROD)
    builder.add_joint('pin', 'a', 'b', Revolute(), xlt(0.4, 0.0, 0.0), xlt(0.4, 0.0, 0.0))
    builder.add_joint('bar', 'a', 'b', Spherical(), xlt(0.2, 0.0, 0.0), xlt(0.2, 0.0, 0.0))
    model = builder.build()
    with pytest.raises(rbd_ros.LoopError, match=r'joint "\w+" of "floating" \(and 1 more\)'):
        floating.forward_dynamics(model, [0.0] * 6 + [1.0] + [0.0] * 2, [0.0] * 8, [0.0] * 2,
                                  kinematics.Conditions(Vec3(0.0, 0.0, 0.0)))


# --- batches ----------------------------------------------------------------------------------


def everything(robot, frame):
    """Return every quantity of a robot by name, as (call, inputs)."""
    calls = {}
    for name, row in TABLE.items():
        inputs = tuple('qdd' if key == 'tau' else key for key in row.inputs
                       if key not in ('max_condition', 'damping'))
        about = () if row.target == 'robot' else (frame,)
        if row.target == 'joints':      # accelerations of some, forces of others
            inputs, about = ('q', 'qd', 'qdd', 'qdd'), (robot.model.joint_names[1:3],)
        # those with a method of their own; the robots here have a fixed base, and no loops
        if hasattr(robot, name) and 'floating' not in name and row.rules:
            calls[name] = (lambda *x, name=name, about=about: getattr(robot, name)(
                *x, *about)), inputs
    # what operational_space computes with
    trees = {name for name, row in TABLE.items() if row.rules and 'floating' not in name}
    assert trees - set(calls) == {'projection', 'projection_derivatives'}
    return calls


@pytest.mark.parametrize('backend', BACKENDS)
def test_batches_of_every_length(backend):
    """No state, one and many give (count, ...) for every quantity, as one by one."""
    model = families.random_tree(2, 4)
    robot = rbd_ros.Dynamics(model, backend=backend)
    rng = np.random.default_rng(0)
    state = {'q': np.array([random_position(model, rng) for _ in range(3)]),
             'qd': rng.normal(size=(3, model.nv)), 'qdd': rng.normal(size=(3, model.nv))}
    calls = everything(robot, model.frame_names[-1])
    calls['operational_space'] = (
        lambda q, qd: robot.operational_space(q, qd, model.frame_names[-1], max_condition=1e6),
        ('q', 'qd'))
    calls['handle_inertia'] = (
        lambda q: robot.handle_inertia(q, model.frame_names[-1], damping=1e-6)[:2], ('q',))
    for name, (call, inputs) in calls.items():
        singles = [call(*(state[key][k] for key in inputs)) for k in range(3)]
        for count in (0, 1, 3):
            batch = call(*(state[key][:count] for key in inputs))
            several = isinstance(batch, tuple)
            for k, y in enumerate(batch if several else [batch]):
                one = [np.asarray(single[k] if several else single) for single in singles]
                assert y.shape == (count, *one[0].shape), (name, count)
                np.testing.assert_allclose(y, np.array(one[:count]).reshape(y.shape), rtol=1e-9,
                                           atol=1e-9)


@pytest.mark.parametrize('backend', BACKENDS)
def test_unequal_batches_are_refused(backend):
    """Two states of q and three of qd are an error that names both, in every back end."""
    robot = rbd_ros.Dynamics(families.regular_tree(7), backend=backend)
    with pytest.raises(rbd_ros.ShapeError, match='qd has 3 states, q has 2; all batched'):
        robot.inverse_dynamics(np.zeros((2, 7)), np.zeros((3, 7)), np.zeros(7))
    with pytest.raises(rbd_ros.ShapeError, match='qd has 0 states, q has 2'):
        robot.bias(np.zeros((2, 7)), np.zeros((0, 7)))
    with pytest.raises(rbd_ros.ShapeError, match='q has shape'):
        robot.gravity(np.zeros((2, 2, 7)))
    out = np.empty((2, 7))
    shared = robot.inverse_dynamics(np.ones((2, 7)), np.ones(7), np.ones((2, 7)), out=out)
    assert shared is out and np.array_equal(out[0], out[1])
    with pytest.raises(rbd_ros.ShapeError, match='out for tau must be'):
        robot.gravity(np.zeros((3, 7)), out=out)


def test_the_reference_is_a_kernel_like_the_others():
    """It has inputs, outputs, a graph, counts, batches and a bound form."""
    model = families.regular_tree(3)
    slow, fast = (rbd_ros.Dynamics(model, backend=name) for name in ('reference', 'python'))
    kernels = [robot.kernel('forward_dynamics', method='crba') for robot in (slow, fast)]
    assert kernels[0].inputs == kernels[1].inputs and kernels[0].outputs == kernels[1].outputs
    assert kernels[0].count() == kernels[1].count() and kernels[0].backend == 'reference'
    bounds = [robot.bind('mass_matrix') for robot in (slow, fast)]
    for bound in bounds:
        bound.inputs['q'][:] = 0.3
        bound()
    np.testing.assert_allclose(bounds[0].outputs['H'], bounds[1].outputs['H'], rtol=1e-13)
    x = np.full((4, 3), 0.2)
    y = slow.inverse_dynamics(x, x, x)
    assert np.array_equal(slow.inverse_dynamics(x, x, x, out=x), y)     # in place


# --- joints without inertia -------------------------------------------------------------------


def wrist(rotor=0.0):
    """Return an arm whose last joint moves nothing but the frame "tool"."""
    builder = rbd_ros.ModelBuilder('wrist')
    builder.add_body('arm', 'base', Revolute((0, 1, 0)), None, ROD)
    builder.add_body('flange', 'arm', Revolute((0, 1, 0)), xlt(0.4, 0.0, 0.0), joint_name='turn',
                     data=rbd_ros.JointData(rotor_inertia=rotor))
    builder.add_frame('tool', 'flange', xlt(0.1, 0.0, 0.0))
    return builder.build()


SOLVED = {
    'forward_dynamics': lambda robot, q: robot.forward_dynamics(q, q, q),
    'aba': lambda robot, q: robot.forward_dynamics(q, q, q, method='aba'),
    'inverse_mass_matrix': lambda robot, q: robot.inverse_mass_matrix(q),
    'operational_space': lambda robot, q: robot.operational_space(
        q, q, robot.handle('arm', point=(0.4, 0, 0), rows=[(0, 0, 0, 0, 0, 1.0)])),
}


@pytest.mark.parametrize('name', SOLVED)
@pytest.mark.parametrize('backend', BACKENDS)
def test_a_joint_that_moves_only_the_payload(name, backend):
    """It can be solved for while a payload hangs there, and is refused by name when none does."""
    robot = rbd_ros.Dynamics(wrist(), backend=backend, payload_frame='tool')
    call, q = SOLVED[name], np.full(2, 0.2)
    refusal = pytest.raises(rbd_ros.SingularError, match=(
        'joint "turn" of "wrist" moves without inertia: .*set_payload can give it one'))
    with refusal:
        call(robot, q)
    robot.set_payload(0.5, [0.0, 0.0, 0.0], np.zeros((3, 3)))       # 0.1 m off the axis
    first = call(robot, q)
    assert all(np.isfinite(y).all() for y in (first if isinstance(first, tuple) else [first]))
    robot.set_payload(0.5, [-0.1, 0.0, 0.0], np.zeros((3, 3)))      # a point on the axis
    with refusal:
        call(robot, q)
    robot.set_payload(0.0, [0.0, 0.0, 0.0], np.zeros((3, 3)))
    with refusal:
        call(robot, q)
    robot.set_payload(0.5, [0.0, 0.0, 0.0], np.zeros((3, 3)))
    assert np.array_equal(np.asarray(call(robot, q)[0]), np.asarray(first[0]))


def test_a_joint_that_no_payload_can_help():
    """A payload elsewhere does not help: refused at once, without advice that could not work."""
    builder = rbd_ros.ModelBuilder('two')
    builder.add_body('arm', 'base', Revolute((0, 1, 0)), None, ROD)
    for name in ('left', 'right'):
        builder.add_body(name, 'arm', Revolute((0, 1, 0)), xlt(0.4, 0.0, 0.0), joint_name=name)
        builder.add_frame(f'{name}_tool', name, xlt(0.1, 0.0, 0.0))
    model, q = builder.build(), np.full(3, 0.2)
    robot = rbd_ros.Dynamics(model, payload_frame='left_tool', backend='reference')
    for mass in (0.0, 1.0):
        robot.set_payload(mass, [0.0, 0.0, 0.0], np.zeros((3, 3)))
        with pytest.raises(rbd_ros.SingularError, match='joint "right" of "two"') as caught:
            robot.forward_dynamics(q, q, q)
        assert 'set_payload' not in str(caught.value)


@pytest.mark.parametrize('larger', [0, 1])
def test_the_named_joint_does_not_depend_on_rounding(larger, monkeypatch):
    """Two joints that turn against each other move as much: the first one is named."""
    builder = rbd_ros.ModelBuilder('pair')
    builder.add_body('ring', 'base', Revolute((0, 0, 1)))
    builder.add_body('disc', 'ring', Revolute((0, 0, 1)), None, ROD)
    solve = np.linalg.eigh

    def rounded(H):
        values, vectors = solve(H)
        vectors[larger, 0] = np.nextafter(1.0, 2.0) * vectors[1 - larger, 0]
        return values, vectors
    monkeypatch.setattr(np.linalg, 'eigh', rounded)
    robot = rbd_ros.Dynamics(builder.build(), backend='reference')
    with pytest.raises(rbd_ros.SingularError, match='joint "ring_joint" of "pair" moves without'):
        robot.forward_dynamics(*[np.zeros(2)] * 3)


@pytest.mark.parametrize('backend', BACKENDS)
def test_kernels_and_bound_kernels_ask_for_the_payload(backend):
    """Neither is handed out while it would divide by zero; a rotor makes all well."""
    robot = rbd_ros.Dynamics(wrist(), backend=backend, payload_frame='tool')
    for attempt in (robot.kernel, robot.bind):
        with pytest.raises(rbd_ros.SingularError, match='joint "turn"'):
            attempt('forward_dynamics')
    robot.bind('inverse_dynamics')
    robot.set_payload(0.5, np.zeros(3), np.zeros((3, 3)))
    robot.bind('forward_dynamics')
    geared = rbd_ros.Dynamics(wrist(1e-3), backend=backend, payload_frame='tool')
    assert np.isfinite(geared.forward_dynamics(*[np.zeros(2)] * 3)).all()


@pytest.mark.parametrize('backend', BACKENDS)
def test_centre_of_mass_of_nothing(backend):
    """Without mass there is none, with a payload it is the payload's."""
    builder = rbd_ros.ModelBuilder('shadow')
    builder.add_body('hand', 'base', Prismatic((1, 0, 0)))
    robot = rbd_ros.Dynamics(builder.build(), backend=backend, payload_frame='hand')
    with pytest.raises(rbd_ros.SingularError, match='no moving mass'):
        robot.center_of_mass([0.5])
    robot.set_payload(2.0, [0.0, 0.1, 0.0], np.zeros((3, 3)))
    np.testing.assert_allclose(robot.center_of_mass([0.5]), [0.5, 0.1, 0.0], atol=1e-15)


def test_the_simulator_refuses_massless_joints():
    """A step of a joint without inertia would be NaN."""
    with pytest.raises(rbd_ros.SingularError, match='joint "turn"'):
        compiled_engine(wrist(), 'semi_implicit')


# --- robots without freedom -------------------------------------------------------------------


def still():
    """Return a base alone."""
    return rbd_ros.ModelBuilder('rock').build()


def driven():
    """Return a body that time alone moves."""
    builder = rbd_ros.ModelBuilder('clock')
    builder.add_body('hand', 'base', Prescribed(Revolute(), lambda t: ([t], [1.0], [0.0])), None,
                     ROD)
    return builder.build()


@pytest.mark.parametrize('make', [still, driven])
@pytest.mark.parametrize('backend', BACKENDS)
def test_nothing_to_move(make, backend):
    """With nv = 0 every result has the shape its formula says, for one state and batches."""
    model = make()
    assert model.nv == model.nq == 0
    robot = rbd_ros.Dynamics(model, backend=backend)
    shapes = {'inverse_dynamics': (0,), 'bias': (0,), 'gravity': (0,), 'forward_dynamics': (0,),
              'joint_wrenches': (model.nb, 6), 'mass_matrix': (0, 0),
              'inverse_mass_matrix': (0, 0), 'kinetic_energy': (), 'potential_energy': (),
              'center_of_mass': (3,), 'momentum': (6,), 'pose': (4, 4), 'jacobian': (6, 0),
              'velocity': (6,), 'jacobian_rate': (6,)}
    calls = everything(robot, model.frame_names[-1])
    for name, shape in shapes.items():
        call, inputs = calls[name]
        if name == 'center_of_mass' and not model.nb:
            with pytest.raises(rbd_ros.SingularError, match='no moving mass'):
                call([])
            continue
        for leading in ((), (1,), (5,), (0,)):
            found = call(*[np.zeros((*leading, 0))] * len(inputs))
            assert found.shape == (*leading, *shape), name
            assert np.isfinite(found).all()
    with pytest.raises(rbd_ros.SingularError, match=r'no joint moves the handles \('):
        robot.operational_space([], [], model.frame_names[-1])
    J, Phi, b, HinvJT = robot.kernel('projection', model.frame_names[-1])(
        *[np.zeros(a.shape) for a in robot.kernel('projection', model.frame_names[-1]).inputs])
    assert (J.shape, Phi.shape, b.shape, HinvJT.shape) == ((6, 0), (6, 6), (6,), (0, 6))
    assert random_position(model, np.random.default_rng(0)) == []
    bound = robot.bind('mass_matrix')
    bound()
    assert bound.outputs['H'].shape == (0, 0)


@pytest.mark.parametrize('backend', BACKENDS)
def test_handles_that_nothing_moves(backend):
    """A frame of the base, or a direction without motion, is refused and never NaN."""
    builder = rbd_ros.ModelBuilder('turntable')
    builder.add_body('table', 'base', Revolute(), None, ROD)
    robot = rbd_ros.Dynamics(builder.build(), backend=backend)
    lift = robot.handle('table', rows=[(0.0, 0.0, 0.0, 0.0, 0.0, 1.0)])
    for limit in (None, 1e4):
        with pytest.raises(rbd_ros.SingularError, match=r'no joint moves the handles \(base\)'):
            robot.operational_space([0.1], [0.0], 'base', max_condition=limit)
        with pytest.raises(rbd_ros.SingularError, match='in any direction|divides by zero'):
            robot.operational_space([0.1], [0.0], lift, max_condition=limit)
    many = [robot.handle('table', rows=[(0.0, 0.0, 0.0, 0.0, 0.0, 1.0)] * 7)]
    with pytest.raises(rbd_ros.SingularError, match='in any direction'):
        robot.operational_space([0.1], [0.0], many, max_condition=1e4)


# --- positions --------------------------------------------------------------------------------


@pytest.mark.parametrize(('lower', 'upper'), [
    (-math.inf, -2.0), (2.5, math.inf), (-0.1, math.inf), (-math.inf, 10.0), (0.3, 0.4),
    (-math.inf, math.inf), (1.0, 1.0)])
@pytest.mark.parametrize('joint', [Revolute(), Prismatic()])
def test_random_positions_stay_within_one_sided_limits(joint, lower, upper):
    """A joint with one limit keeps it, and is drawn from more than one place."""
    builder = rbd_ros.ModelBuilder()
    builder.add_body('a', 'base', joint, None, ROD,
                     data=rbd_ros.JointData(lower=lower, upper=upper))
    model, rng = builder.build(), np.random.default_rng(1)
    drawn = np.array([random_position(model, rng)[0] for _ in range(300)])
    assert np.isfinite(drawn).all() and (drawn >= lower).all() and (drawn <= upper).all()
    assert lower == upper or len(np.unique(drawn)) == 300


def test_random_positions_of_a_limited_free_body():
    """Limits on where a free body is leave its quaternion one of unit length."""
    builder = rbd_ros.ModelBuilder()
    builder.add_body('a', 'base', Free(), None, ROD, data=rbd_ros.JointData(
        lower=[2.0, 2.0, 0.5, *[-math.inf] * 4], upper=[3.0, 2.5, math.inf, *[math.inf] * 4]))
    model, rng = builder.build(), np.random.default_rng(1)
    for _ in range(100):
        x, y, z, *turn = random_position(model, rng)
        assert 2.0 <= x <= 3.0 and 2.0 <= y <= 2.5 and z >= 0.5
        assert math.hypot(*turn) == pytest.approx(1.0, rel=1e-14)


def geared(ratio=2.0, **more):
    """Return a joint whose position runs at a multiple of its velocity."""
    return UserJoint(1, 1, transform=lambda q, t: rotz(q[0] / ratio),
                     subspace=lambda q, t: (Motion.unit(2),),
                     q_dot=lambda q, qd: [ratio * qd[0]], **more)


@pytest.mark.parametrize('wrap', [lambda joint: joint, Reversed])
def test_the_simulator_uses_a_joints_own_q_dot(wrap):
    """Coordinates move a user's joint as it says, which is not by adding the velocity."""
    builder = rbd_ros.ModelBuilder()
    builder.add_body('a', 'base', wrap(geared()), None, ROD)
    builder.add_body('b', 'a', Reversed(Revolute()), None, ROD)
    space = Coordinates(builder.build())
    assert space.single == [(1, 1)]
    assert space.q_dot([0.1, 0.2], [0.5, 0.25]) == [1.0, 0.25]
    assert space.integrate([0.1, 0.2], [0.5, 0.25]) == pytest.approx([1.1, 0.45], rel=1e-14)
    assert space.normalise([0.1, 0.2], [1.0, 0.5]) == [1.0, 0.5]


@pytest.mark.parametrize('integrator', ['rk4', 'semi_implicit'])
def test_a_geared_pendulum_swings_like_the_plain_one(integrator):
    """The same arm in other coordinates, q = 2 angle, has the same angles after some steps."""
    ends = []
    for joint, ratio in ((Revolute(), 1.0), (geared(2.0), 2.0)):
        builder = rbd_ros.ModelBuilder(gravity=(0.0, -9.81, 0.0))
        builder.add_body('a', 'base', joint, None, ROD)
        engine = compiled_engine(builder.build(), integrator)
        for name, value in (('effort_limit', 1e300), ('upper', 1e300), ('lower', -1e300)):
            engine.inputs[name][:] = value
        engine.inputs['setting'][:] = [1e-3, 0.0, 1.0, 1.0, 0.0, 0.0]
        engine.inputs['q'][:] = 0.4 * ratio
        for _ in range(200):
            engine()
            for name in ('q', 'v', 'held', 'sign'):
                engine.inputs[name][:] = engine.outputs[name]
        ends.append((engine.outputs['q'][0] / ratio, engine.outputs['v'][0]))
    assert ends[1] == pytest.approx(ends[0], rel=1e-11) and abs(ends[0][0] - 0.4) > 0.1


def test_stops_of_such_a_joint_are_refused():
    """A limit that no simulated stop could hold is not left aside silently."""
    builder = rbd_ros.ModelBuilder()
    builder.add_body('a', 'base', geared(), None, ROD, joint_name='own',
                     data=rbd_ros.JointData(upper=1.0))
    with pytest.raises(rbd_ros.ModelError, match='joint "own" has a limit and a q_dot of its own'):
        Coordinates(builder.build())
