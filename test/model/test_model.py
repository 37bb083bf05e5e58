# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The model and its builder: numbering, merging, polarity, loops, names, identity."""

import dataclasses
import pickle

import numpy as np
import pytest

from rbd_ros.errors import ModelError, UnknownName
from rbd_ros.joints import Fixed, Free, Helical, Prismatic, Reversed, Revolute, Spherical
from rbd_ros.model import positions
from rbd_ros.model.builder import JointData, ModelBuilder
from rbd_ros.model.coupling import Mimic
from rbd_ros.model.model import Model
from rbd_ros.samples import families
from rbd_ros.spatial import RigidInertia, Sym3, Vec3
from spatial_oracle import array

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@pytest.fixture
def rng():
    """Return a generator with a fixed seed."""
    return np.random.default_rng(7)


def ball(mass):
    """Return a uniform inertia around the origin."""
    return RigidInertia(mass, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(0.1, 0.1, 0.1))


def body_poses(model, q):
    """Return i_X_0 of every body as 6x6 matrices, by multiplying plain matrices."""
    q = model.expand_q(q)
    poses = [np.eye(6)]
    for i in range(1, model.nb + 1):
        X_J = array(model.joint[i].transform(q[model.q_index[i]]))
        poses.append(X_J @ array(model.X_T[i]) @ poses[model.parent[i]])
    return poses


def frame_pose(model, q, name):
    """Return the 6x6 matrix from base to frame coordinates."""
    frame = model.frame(name)
    return array(frame.placement) @ body_poses(model, q)[frame.body]


@pytest.mark.seed('RBDA 4-05')
def test_bodies_are_numbered_depth_first_whatever_the_order_given():
    """Parents get smaller numbers than children even if added last, siblings keep their order."""
    builder = ModelBuilder()
    for name in ('tip', 'elbow', 'shoulder', 'head'):
        builder.add_body(name)
    builder.add_joint('j_tip', 'elbow', 'tip', Revolute(X))
    builder.add_joint('j_elbow', 'shoulder', 'elbow', Revolute(X))
    builder.add_joint('j_shoulder', 'base', 'shoulder', Revolute(X))
    builder.add_joint('j_head', 'base', 'head', Revolute(X))
    model = builder.build()
    assert model.body_names == ('base', 'shoulder', 'elbow', 'tip', 'head')
    assert model.joint_names == ('j_shoulder', 'j_elbow', 'j_tip', 'j_head')
    assert model.parent == (-1, 0, 1, 2, 0)
    assert model.children == ((1, 4), (2,), (3,), (), ())
    assert model.subtree[1] == (1, 2, 3) and model.support[3] == (1, 2, 3)


@pytest.mark.seed('RBDA 4-01')
def test_bodies_apart_are_refused():
    """A body that no joint connects to the base is named."""
    builder = ModelBuilder().add_body('arm', 'base', Revolute(X)).add_body('moon')
    with pytest.raises(ModelError, match='not connected to the base "base" by any joint: "moon"'):
        builder.build()


@pytest.mark.seed('RBDA 4-02')
def test_floating_body_adds_six_freedoms_and_no_constraint():
    """A free joint makes a loose body part of the tree: six velocities, T is empty."""
    model = ModelBuilder().add_body('ship', 'base', Free(), inertia=ball(1.0)).build()
    assert (model.nv, model.nq) == (6, 7)
    assert model.joint[1].constraint_subspace(model.joint[1].neutral()) == ()


@pytest.mark.seed('RBDA 4-35')
def test_offsets_of_mixed_joints():
    """Positions and velocities have their own offsets once a joint has more of one kind."""
    builder = ModelBuilder()
    builder.add_body('a', 'base', Revolute(X))
    builder.add_body('b', 'a', Spherical())
    builder.add_body('c', 'b', Prismatic(Z))
    builder.add_body('d', 'a', Free())
    model = builder.build()
    assert model.q_index == (slice(0, 0), slice(0, 1), slice(1, 5), slice(5, 6), slice(6, 13))
    assert model.v_index == (slice(0, 0), slice(0, 1), slice(1, 4), slice(4, 5), slice(5, 11))
    assert (model.tree_nq, model.tree_nv) == (13, 11)
    assert model.expanded_parent == (-1, 0, 1, 2, 3, 0, 5, 6, 7, 8, 9)
    assert model.position_order(['c_joint', 'b_joint']) == [5, 1, 2, 3, 4]
    assert model.velocity_order(['c_joint', 'b_joint']) == [4, 1, 2, 3]


@pytest.mark.seed('RBDA 4-14')
def test_fixed_bodies_are_merged_and_their_frames_kept(rng):
    """Merging fixed bodies moves no frame and loses no inertia."""
    place = [families.random_transform(rng) for _ in range(5)]
    parts = [families.random_inertia(rng) for _ in range(4)]

    def build(joint):
        builder = ModelBuilder()
        builder.add_body('a', 'base', Revolute((0.6, 0.0, 0.8)), place[0], parts[0])
        builder.add_body('plate', 'a', joint, place[1], parts[1])
        builder.add_body('sensor', 'plate', joint, place[2], parts[2])
        builder.add_body('b', 'sensor', Prismatic(Y), place[3], parts[3])
        builder.add_frame('tip', 'sensor', place[4])
        return builder.build()

    merged, loose = build(Fixed()), build(Revolute(Z))
    assert merged.nb == 2 and loose.nb == 4
    assert merged.body_names == ('base', 'a', 'b')
    q_merged, q_loose = [0.4, 0.3], [0.4, 0.0, 0.0, 0.3]
    for name in ('a', 'plate', 'sensor', 'b', 'tip'):
        np.testing.assert_allclose(frame_pose(merged, q_merged, name),
                                   frame_pose(loose, q_loose, name), atol=1e-14)
    poses = body_poses(loose, q_loose)
    total = sum(poses[i].T @ array(loose.inertia[i]) @ poses[i] for i in (1, 2, 3))
    lumped = body_poses(merged, q_merged)[1]
    np.testing.assert_allclose(lumped.T @ array(merged.inertia[1]) @ lumped, total, atol=1e-13)
    assert merged.total_mass == pytest.approx(loose.total_mass, rel=1e-15)


@pytest.mark.parametrize('turned', [False, True])
def test_fixed_joint_between_two_frames(turned, rng):
    """A fixed joint makes its two frames coincide, whichever body is given first."""
    on_a, on_b = families.random_transform(rng), families.random_transform(rng)
    builder = ModelBuilder().add_body('a', 'base', Revolute(X)).add_body('b', inertia=ball(1.0))
    if turned:
        builder.add_joint('weld', 'b', 'a', Fixed(), on_b, on_a)
    else:
        builder.add_joint('weld', 'a', 'b', Fixed(), on_a, on_b)
    model = builder.build()
    assert model.nb == 1
    np.testing.assert_allclose(array(on_b) @ array(model.frame('b').placement), array(on_a),
                               atol=1e-14)
    np.testing.assert_allclose(                       # the inertia moved with the frame
        array(model.inertia[1]), (lambda P: P.T @ array(ball(1.0)) @ P)(
            array(model.frame('b').placement)), atol=1e-13)


def test_base_inertia_is_kept_apart():
    """What is fixed to the base is in inertia[0] and not in the total mass."""
    builder = ModelBuilder(base_inertia=ball(5.0))
    builder.add_body('foot', 'base', inertia=ball(2.0))
    builder.add_body('arm', 'foot', Revolute(X), inertia=ball(3.0))
    model = builder.build()
    assert model.inertia[0].m == 7.0 and model.total_mass == 3.0


@pytest.mark.seed('RBDA 4-07', 'RBDA 4-09')
@pytest.mark.parametrize('joint', [Revolute((0.6, 0.0, 0.8)), Prismatic(X), Helical(Z, 0.2),
                                   Spherical()], ids=lambda joint: joint.type_name)
def test_joint_that_points_at_the_base_is_turned_round(joint, rng):
    """A joint given from the outer to the inner body makes the same motion with the same q."""
    inner, outer = families.random_transform(rng), families.random_transform(rng)
    forward = ModelBuilder().add_body('a').add_body('b', inertia=ball(1.0))
    forward.add_joint('hip', 'base', 'a', Revolute(Y))
    forward.add_joint('knee', 'a', 'b', joint, inner, outer)
    backward = ModelBuilder().add_body('a').add_body('b', inertia=ball(1.0))
    backward.add_joint('hip', 'base', 'a', Revolute(Y))
    backward.add_joint('knee', 'b', 'a', joint, outer, inner)
    one, two = forward.build(), backward.build()
    assert one.parent == two.parent == (-1, 0, 1)
    assert isinstance(two.joint[2], Reversed) and not isinstance(one.joint[2], Reversed)
    q = [0.3, *joint.random(rng)]
    # physically: F_s seen from F_p in one model is F_p seen from F_s in the other
    relative = [frame_pose(m, q, 'b') @ np.linalg.inv(frame_pose(m, q, 'a')) for m in (one, two)]
    X_J = array(joint.transform(q[1:]))
    P, S = array(inner), array(outer)
    np.testing.assert_allclose(relative[0], np.linalg.inv(S) @ X_J @ P, atol=1e-13)
    np.testing.assert_allclose(relative[1], np.linalg.inv(S) @ np.linalg.inv(X_J) @ P, atol=1e-13)


@pytest.mark.seed('RBDA 4-14', 'RBDA 4-34')
def test_joints_that_close_loops_become_loop_joints(rng):
    """A four-bar has three tree joints and one loop joint, with frames on both of its bodies."""
    X_P, X_S = families.random_transform(rng), families.random_transform(rng)
    builder = ModelBuilder()
    for name, parent in (('crank', 'base'), ('coupler', 'crank'), ('rocker', 'base')):
        builder.add_body(name, parent, Revolute(Z), families.random_transform(rng), ball(1.0))
    builder.add_body('pin', 'coupler', Fixed(), families.random_transform(rng))
    builder.add_joint('close', 'pin', 'rocker', Revolute(Z), X_P, X_S)
    model = builder.build()
    assert model.nb == 3 and len(model.loops) == 1 and model.nv == 3
    loop = model.loops[0]
    assert (loop.name, loop.predecessor, loop.successor) == ('close', 2, 3)
    # the loop frames are where the user put them: on the pin, which is part of the coupler
    pin = array(model.frame('pin').placement)
    np.testing.assert_allclose(array(loop.X_P), array(X_P) @ pin, atol=1e-14)
    np.testing.assert_allclose(array(loop.X_S), array(X_S), atol=1e-15)
    back = pickle.loads(pickle.dumps(model))
    assert back.loops == model.loops and back == model


def test_digest_sees_every_change():
    """Any change of structure, number or name changes the digest; gravity can be left out."""
    builder = ModelBuilder('r').add_body('a', 'base', Revolute(X), inertia=ball(1.0),
                                         data=JointData(lower=-1.0, upper=1.0, effort=5.0))
    model = builder.build()
    variants = [
        dataclasses.replace(model, name='s'),
        dataclasses.replace(model, joint=(Fixed(), Revolute(Y))),
        dataclasses.replace(model, joint=(Fixed(), Prismatic(X))),
        dataclasses.replace(model, inertia=(model.inertia[0], ball(np.nextafter(1.0, 2.0)))),
        dataclasses.replace(model, effort_limit=(6.0,)),
        dataclasses.replace(model, frames={}),
        model.with_gravity((0.0, 0.0, -1.62)),
        builder.add_frame('tool', 'a').build(),
    ]
    digests = {model.digest(), *(each.digest() for each in variants)}
    assert len(digests) == len(variants) + 1
    assert variants[6].digest(gravity=False) == model.digest(gravity=False)


def test_digest_ignores_what_was_computed_before():
    """Using a model does not change its digest, though transforms remember their structure."""
    model, twin = families.random_tree(4, 5), families.random_tree(4, 5)
    for placement in model.X_T:
        placement @ RigidInertia.zero()
    assert model.subtree and model.digest() == twin.digest() and model == twin


def test_model_cannot_be_changed():
    """Neither a field nor the table of frames can be assigned."""
    model = families.regular_tree(2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.gravity = (0.0, 0.0, 0.0)
    with pytest.raises(TypeError):
        model.frames['x'] = None


def test_gravity_is_replaced_in_a_copy():
    """The copy has the new gravity, the original the old one; three finite numbers are needed."""
    model = families.regular_tree(2)
    moon = model.with_gravity([0.0, 0.0, -1.62])
    assert moon.gravity == (0.0, 0.0, -1.62) and model.gravity == (0.0, 0.0, -9.81)
    for wrong in ([0.0, 1.0], [0.0, 0.0, float('nan')], [0.0, 0.0, float('inf')]):
        with pytest.raises(ModelError, match='must be three finite numbers in m/s'):
            model.with_gravity(wrong)


@pytest.mark.parametrize(('kind', 'find'), [
    ('joint', Model.joint_index), ('body', Model.body_index), ('frame', Model.frame),
    ('joint', Model.position_slice), ('joint', Model.velocity_slice)])
def test_unknown_names_are_answered_with_the_nearest(kind, find):
    """A wrong name is answered with its kind, the nearest name and all known ones."""
    model = families.regular_tree(3)
    near = {'joint': 'joint_2', 'body': 'body_2', 'frame': 'body_2'}[kind]
    with pytest.raises(UnknownName, match=f'no {kind} "{near}x"; did you mean "{near}"'):
        find(model, f'{near}x')
    with pytest.raises(UnknownName, match=f'did you mean "{near}"'):
        find(model, near.upper())


def test_lookups():
    """Joints, bodies and frames are found by name."""
    model = families.regular_tree(3)
    assert model.joint_index('joint_2') == model.body_index('body_2') == 2
    assert model.body_index('base') == 0 and model.frame('base').body == 0
    assert model.frame('body_3').body == 3
    assert model.frame_names == ('base', 'body_1', 'body_2', 'body_3')


@pytest.mark.parametrize(('break_it', 'words'), [
    (lambda b: b.add_body('a', 'base', Revolute(X)), 'two bodies or frames are named "a"'),
    (lambda b: b.add_frame('a', 'base'), 'two bodies or frames are named "a"'),
    (lambda b: b.add_body('c', 'a', Revolute(X), joint_name='j'), 'two joints are named "j"'),
    (lambda b: b.add_joint('k', 'a', 'a', Revolute(X)), 'joint "k" connects body "a" to itself'),
    (lambda b: b.add_body('c', 'a', Revolute(X), data=JointData(effort=[1.0, 2.0])).build(),
     'joint "c_joint": effort has 2 entries, the joint needs 1'),
    (lambda b: b.add_body('c', 'a', Revolute(X), data=JointData(damping=-1.0)).build(),
     'joint "c_joint": damping -1.0 must be a number that is not negative'),
    (lambda b: b.add_body('c', 'a', Revolute(X), data=JointData(lower=float('nan'))).build(),
     'joint "c_joint": lower nan must be a number$'),
    (lambda b: b.add_body('c', 'a', Revolute(X), data=JointData(lower=2.0, upper=1.0)).build(),
     r'joint "c_joint": lower limit \[2.0\] is above upper limit \[1.0\]'),
    (lambda b: b.add_body('c', 'a', Revolute(X), inertia=ball(float('nan'))),
     'body "c": the inertia is not finite'),
    (lambda b: b.add_body('c', 'a', Revolute(X), inertia=ball(-1.0)),
     'body "c": mass -1.0 is negative'),
    (lambda b: b.add_body('c', 'a', Revolute('z')), 'three finite numbers, not .z'),
    (lambda b: ModelBuilder(gravity=(0.0, 9.81)), 'must be three finite numbers'),
    (lambda b: b.add_body('c', 'a').add_joint('k', 'c', 'a', Revolute(X)).build(),
     'loop joint "k" connects body "a" to itself: the links at its ends are fixed'),
    (lambda b: b.add_body('c').add_loop_joint('k', 'a', 'c', Revolute(X)).build(),
     'joint "k" closes no loop: nothing else connects "c" to the base'),
    (lambda b: b.add_body('c', 'base', Revolute(X)).add_joint(
        'k', 'a', 'c', Revolute(X), mimic=Mimic('j')).build(),
     'loop joint "k" has no coordinate and cannot follow'),
    (lambda b: b.build(spanning_tree='breadth'), 'it is "order" or "depth"'),
])
def test_builder_refuses(break_it, words):
    """The builder names what is wrong."""
    builder = ModelBuilder().add_body('a', 'base', Revolute(X), joint_name='j')
    with pytest.raises(ModelError, match=words):
        break_it(builder)


def test_builder_names_unknown_parents():
    """An unknown parent is answered with the known bodies."""
    builder = ModelBuilder()
    with pytest.raises(UnknownName, match=r'no body "bese"; did you mean "base"'):
        builder.add_body('a', 'bese', Revolute(X))
    assert builder.add_body('a', 'base', Revolute(X)).build().nb == 1    # nothing half-added


@pytest.mark.parametrize(('given', 'words'), [
    ({'joint': Revolute}, 'joint "c_joint" must be a Joint, got the class Revolute'),
    ({'placement': [0.0, 0.0, 1.0]}, 'placement of joint "c_joint" must be a Transform, got list'),
    ({'inertia': 1.0}, 'inertia of body "c" must be a RigidInertia, got float'),
    ({'data': {'lower': 0.0}}, 'data of joint "c_joint" must be a JointData, got dict'),
    ({'mimic': 'j'}, 'mimic of joint "c_joint" must be a Mimic or a Gear, got str'),
])
def test_builder_names_what_is_of_the_wrong_kind(given, words):
    """A class in place of a joint, an array in place of a transform and the like are named."""
    with pytest.raises(TypeError, match=words):
        ModelBuilder().add_body('c', 'base', **{'joint': Revolute(X), **given})


def test_model_refuses_wrong_sizes():
    """A model put together by hand with a wrong array is refused by the array's name."""
    model = families.regular_tree(3)
    with pytest.raises(ModelError, match='effort_limit has 2 entries, the model needs 3'):
        dataclasses.replace(model, effort_limit=(1.0, 2.0))
    with pytest.raises(ModelError, match='not numbered so that each comes before its children'):
        dataclasses.replace(model, parent=(-1, 2, 0, 0))


def test_properties_per_coordinate():
    """One number serves all coordinates of a joint, a list gives one each."""
    builder = ModelBuilder()
    builder.add_body('a', 'base', Spherical(), data=JointData(damping=0.5,
                                                              friction=[1.0, 2.0, 3.0]))
    model = builder.build()
    assert model.damping == (0.5, 0.5, 0.5) and model.friction == (1.0, 2.0, 3.0)
    assert model.lower == (-np.inf,) * 4 and model.effort_limit == (np.inf,) * 3


@pytest.mark.parametrize('seed', range(4))
def test_configuration_moves_by_velocity(seed, rng):
    """Difference undoes integration, and q_dot is the derivative of integration, on any tree."""
    model = families.random_tree(8, seed)
    q = positions.random_position(model, rng)
    v = rng.uniform(-0.4, 0.4, model.nv).tolist()
    step = positions.difference(model, q, positions.integrate(model, q, v))
    np.testing.assert_allclose(step, v, atol=1e-12)
    # central difference of step h = 1e-4: error h^2 / 6 of third derivatives below one
    h = 1e-4
    ahead, behind = (positions.integrate(model, q, [s * h * x for x in v]) for s in (1, -1))
    rate = (np.array(ahead) - np.array(behind)) / (2.0 * h)
    np.testing.assert_allclose(rate, positions.q_dot(model, q, v), atol=1e-8)
