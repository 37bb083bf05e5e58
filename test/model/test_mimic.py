# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Mimic joints: q_tree = G y + q0, chains, cycles, and what followers add to their leader."""

from pathlib import Path

import numpy as np
import pytest

from rbd_ros.compiler import compile_python, trace
from rbd_ros.errors import ModelError
from rbd_ros.joints import Prismatic, Revolute, Spherical
from rbd_ros.model.builder import JointData, ModelBuilder
from rbd_ros.model.coupling import Gear, Mimic
from rbd_ros.model.gear_laws import compose
from rbd_ros.model.urdf import load_urdf

X = (1.0, 0.0, 0.0)
GRIPPER = Path(__file__).parents[1] / 'urdf' / 'mimic_gripper.urdf'


@pytest.fixture
def gripper():
    """Load a wrist, a finger, its mirror image, and a pad that follows the mirror image."""
    return load_urdf(GRIPPER)


def test_chain_of_followers(gripper):
    """A follower of a follower moves by the product of the multipliers and both offsets."""
    assert (gripper.nq, gripper.nv, gripper.tree_nq, gripper.tree_nv) == (2, 2, 4, 4)
    expected = [0.5, 0.03, -0.03, 10.0 * -0.03 + 0.3]
    assert gripper.expand_q([0.5, 0.03]) == pytest.approx(expected, abs=1e-15)
    assert gripper.expand_v([0.5, 0.1]) == pytest.approx([0.5, 0.1, -0.1, -1.0], abs=1e-15)
    assert gripper.coupling.G(()) == [[1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, -10.0]]
    assert gripper.coupling.q0 == (0.0, 0.0, 0.0, 0.3)


def test_chains_resolve_in_any_order():
    """Three steps compose whatever the order of the entries, as composing the maps does."""
    steps = {'d': Mimic('c', 2.0, 0.5), 'b': Mimic('a', -3.0, 1.0), 'c': Mimic('b', 0.25, -2.0)}
    y = 0.7
    b = -3.0 * y + 1.0
    c = 0.25 * b - 2.0
    d = 2.0 * c + 0.5
    for order in (['b', 'c', 'd'], ['d', 'c', 'b'], ['c', 'd', 'b']):
        found = compose({name: steps[name] for name in order})
        for name, value in (('b', b), ('c', c), ('d', d)):
            (leader, weight), = found[name].weights.items()
            assert leader == 'a'
            assert weight * y + found[name].offset == pytest.approx(value, 1e-15)


@pytest.mark.parametrize(('mimics', 'ring'), [
    ({'a': Mimic('a')}, 'a -> a'),
    ({'a': Mimic('b'), 'b': Mimic('a')}, 'a -> b -> a'),
    ({'x': Mimic('a'), 'a': Mimic('b'), 'b': Mimic('c'), 'c': Mimic('a')}, 'a -> b -> c -> a'),
    ({'a': Gear(('free', 'b'), max), 'b': Gear(('other', 'a'), max)}, 'a -> b -> a'),
])
def test_cycles_are_refused(mimics, ring):
    """Joints that follow each other in a cycle are refused, and the cycle is written out."""
    with pytest.raises(ModelError, match=f'in a cycle: {ring}; one of them must move freely'):
        compose(mimics)


def test_long_chain():
    """Two thousand followers in a row are resolved without recursion."""
    found = compose({str(i): Mimic(str(i - 1), 1.0, 1.0) for i in range(1, 2001)})
    assert found['2000'] == ({'0': 1.0}, 2000.0)


def test_power_is_kept(gripper):
    """Force reduction is the transpose of velocity expansion: both give the same power."""
    rng = np.random.default_rng(1)
    v, tau = rng.normal(size=2).tolist(), rng.normal(size=4).tolist()
    power = np.dot(gripper.expand_v(v), tau)
    assert np.dot(v, gripper.reduce_force(tau)) == pytest.approx(power, rel=1e-14)


def test_followers_are_felt_by_their_leader(gripper):
    """Damping adds by the multiplier squared (power), friction by its magnitude."""
    assert gripper.damping == pytest.approx((0.0, 2.0 + 3.0 + 100.0 * 0.01), rel=1e-15)
    assert gripper.friction == pytest.approx((0.0, 0.5 + 0.25 + 10.0 * 0.02), rel=1e-15)


def test_rotors_of_followers_add_by_the_multiplier_squared():
    """Kinetic energy of the rotors is the same in tree and independent coordinates."""
    builder = ModelBuilder()
    builder.add_body('a', 'base', Revolute(X), data=JointData(rotor_inertia=0.5))
    builder.add_body('b', 'a', Prismatic(X), data=JointData(rotor_inertia=0.2),
                     mimic=Mimic('a_joint', -3.0))
    assert builder.build().rotor_inertia == (0.5 + 9.0 * 0.2,)


def test_limits_of_followers_hold(gripper):
    """
    Wherever and however fast a leader may be, no follower of it leaves its range or its velocity.

    The effort is that of the leader's drive. Of the gripper, the pad allows its leader 0.1 m/s in
    1 rad/s: as much as the leader itself.
    """
    assert gripper.lower == (-1.0, 0.0) and gripper.upper == (1.0, 0.04)
    assert gripper.effort_limit == (10.0, 20.0) and gripper.velocity_limit == (2.0, 0.1)
    rng, narrowed = np.random.default_rng(0), 0
    for _ in range(50):
        builder, own = ModelBuilder(), np.sort(rng.uniform(-2.0, 2.0, (3, 2)), axis=1)
        fast, law = rng.uniform(0.1, 3.0, 3), rng.choice([-1.0, 1.0], 2) * rng.uniform(0.2, 4.0, 2)
        offset = rng.uniform(-0.5, 0.5, 2)
        for k, (leader, data) in enumerate(zip(('', 'a', 'b'), (
                JointData(lower=low, upper=high, velocity=v)
                for (low, high), v in zip(own.tolist(), fast.tolist())))):
            builder.add_body('abc'[k], 'base', Revolute(X), joint_name='abc'[k], data=data, mimic=(
                Mimic(leader, law[k - 1], offset[k - 1]) if leader else None))
        model, weight, shift = builder.build(), 1.0, 0.0
        room = [own[0]]
        for k in range(2):
            weight, shift = law[k] * weight, law[k] * shift + offset[k]
            room.append(np.sort((own[k + 1] - shift) / weight))
        low, high = np.max(room, axis=0)[0], np.min(room, axis=0)[1]
        if not low < high:  # limits that leave nowhere to go are none
            continue
        assert (model.lower[0], model.upper[0]) == pytest.approx((low, high), abs=1e-12)
        for q in np.linspace(model.lower[0], model.upper[0], 5):
            tree = np.array(model.expand_q([q]))
            assert (tree >= own[:, 0] - 1e-12).all() and (tree <= own[:, 1] + 1e-12).all()
        speeds = np.abs(model.expand_v([model.velocity_limit[0]]))
        assert (speeds <= fast * (1.0 + 1e-12)).all()
        assert np.isclose(speeds, fast).any()  # no less than they allow
        narrowed += (model.lower[0], model.upper[0]) != tuple(own[0])
    assert narrowed > 5


def test_limits_that_are_none():
    """Equal limits, the velocity 0, and limits for another direction are none, but stand there."""
    for factor, low, high in ((1.0, 0.0, 0.0), (-1.0, 0.0, 0.5)):
        builder = ModelBuilder()
        builder.add_body('a', 'base', Revolute(X),
                         data=JointData(lower=0.0, upper=1.0, velocity=2.0))
        builder.add_body('b', 'a', Revolute(X), mimic=Mimic('a_joint', factor),
                         data=JointData(lower=low, upper=high, velocity=0.0))
        model = builder.build()
        assert (model.lower, model.upper, model.velocity_limit) == ((0.0,), (1.0,), (2.0,))
    text = GRIPPER.read_text().replace('lower="-0.04" upper="0"', 'lower="0" upper="0.04"')
    told = []
    load_urdf(text, on_warning=told.append)
    assert any('nowhere to go' in note and 'right' in note for note in told)


def test_follower_has_no_coordinate_of_its_own(gripper):
    """Names distinguish leaders from followers, and asking for a follower's slice says why not."""
    assert gripper.joint_names == ('wrist', 'left', 'right', 'pad')
    assert gripper.independent_joint_names == ('wrist', 'left')
    assert gripper.velocity_slice('left') == slice(1, 2)
    with pytest.raises(ModelError, match='joint "pad" mimics another and has no coordinate'):
        gripper.position_slice('pad')
    assert gripper.coupling.coupled == {2, 3, 4}


def test_mimic_can_be_switched_off():
    """With mimic=False every joint moves freely and keeps its own properties."""
    free = load_urdf(GRIPPER, mimic=False)
    assert free.coupling is None and free.nv == 4
    assert free.damping == (0.0, 2.0, 3.0, 0.01)
    assert free.expand_q([1.0, 2.0, 3.0, 4.0]) == [1.0, 2.0, 3.0, 4.0]


def test_only_joints_with_one_coordinate_follow():
    """A ball joint neither follows nor leads; the message names it."""
    builder = ModelBuilder()
    builder.add_body('a', 'base', Spherical())
    builder.add_body('b', 'a', Revolute(X), mimic=Mimic('a_joint'))
    with pytest.raises(ModelError, match='"b_joint" mimics "a_joint", but "a_joint" has 3 degr'):
        builder.build()


def test_unknown_leader_in_the_builder():
    """A leader that is not a movable joint of the tree is named."""
    builder = ModelBuilder().add_body('a', 'base', Revolute(X), mimic=Mimic('ghost'))
    with pytest.raises(ModelError, match='joint "a_joint" mimics "ghost", which is not a mov'):
        builder.build()


def test_quaternions_pass_through():
    """Next to a mimic joint, a ball joint's four positions and three velocities are untouched."""
    builder = ModelBuilder()
    builder.add_body('a', 'base', Spherical())
    builder.add_body('b', 'a', Revolute(X))
    builder.add_body('c', 'b', Revolute(X), mimic=Mimic('b_joint', 2.0, 0.1))
    model = builder.build()
    assert (model.nq, model.nv, model.tree_nq, model.tree_nv) == (5, 4, 6, 5)
    q = [0.1, 0.2, 0.3, 0.9, 0.5]
    assert model.expand_q(q) == [*q, 2.0 * 0.5 + 0.1]
    assert model.expand_v([1.0, 2.0, 3.0, 4.0]) == [1.0, 2.0, 3.0, 4.0, 8.0]


def test_traced_expansion_costs_only_what_differs(gripper):
    """Traced, a row that copies is free: one multiplication and one addition remain."""
    graph = trace(lambda y: {'q': gripper.expand_q(y)}, {'y': (2,)})
    count = graph.count()
    assert (count.mul, count.add) == (1, 1)
    result = np.asarray(compile_python(graph)(np.array([0.5, 0.03])))
    assert result == pytest.approx(gripper.expand_q([0.5, 0.03]), abs=1e-15)
