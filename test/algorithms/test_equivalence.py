# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Dynamic equivalence (RBDA 9.7): inertia moved across joints changes no equation of motion."""

import dataclasses
import pickle

from benchmark.operations import BOOK, chain_counts
from hypothesis import given
import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms import equivalence
from rbd_ros.joints import Fixed, Free, Prismatic, Revolute, Spherical
from rbd_ros.samples import families
from rbd_ros.spatial import RigidInertia, Sym3, Vec3
from tree_oracle import assert_near, DenseTree, examples, SEEDS, State, TREES

few = examples(25)
FORMS = pytest.mark.parametrize('form', equivalence.FORMS)
#: How many parameters of a body can cross its joint (Table 9.7 and the same computation).
DIMENSIONS = {
    'revolute': 3, 'prismatic': 6, 'spherical': 1, 'cylindrical': 1, 'helical': 1, 'planar': 1,
    'translation': 6, 'free': 0, 'roll_pitch_yaw': 1, 'universal': 1}


def numbers(I):
    """Return the ten parameters of an inertia."""
    return np.array([I.m, *I.h, *I.I.entries()], float)


def inertia(x):
    """Return the inertia of ten parameters."""
    return RigidInertia(float(x[0]), Vec3(*x[1:4].tolist()), Sym3(*x[4:].tolist()))


@pytest.mark.seed('RBDA 9-20', 'RBDA 9-21')
@pytest.mark.parametrize('kind', sorted(DIMENSIONS))
@pytest.mark.parametrize('axis', [(0.0, 0.0, 1.0), (0.0, -1.0, 0.0), (0.6, 0.0, 0.8)])
def test_exchangeable_inertias_of_each_joint(kind, axis):
    """The conditions leave as many parameters as Table 9.7, and best_match takes all of them."""
    joint = families.JOINTS[kind](axis)
    rng = np.random.default_rng(1)
    # What holds at several positions is constant in both bodies.
    rows = np.vstack([np.array([equivalence.conditions(
        joint.subspace(joint.random(rng)), inertia(e)) for e in np.eye(10)]).T
        for _ in range(3)])
    _, size, V = np.linalg.svd(rows)
    kernel = V[np.sum(size > 1e-9):]
    assert len(kernel) == DIMENSIONS[kind]
    for form in equivalence.FORMS:
        I = families.random_inertia(rng)
        exchanged, rest = equivalence.best_match(joint, I, form)
        assert_near(kernel.T @ kernel @ numbers(exchanged), numbers(exchanged), scale=1e-3)
        assert_near(numbers(exchanged) + numbers(rest), numbers(I))


@FORMS
def test_zeros_that_are_left(form):
    """Three, six and one exact zeros; in the 3-D form one of them is a second moment."""
    I = families.random_inertia(np.random.default_rng(3))
    for axis in np.eye(3).tolist():
        rest = equivalence.best_match(Revolute(tuple(axis)), I, form).rest
        k = axis.index(1.0)
        diagonal = [rest.I.xx, rest.I.yy, rest.I.zz]
        second = diagonal[(k + 1) % 3] + diagonal[(k + 2) % 3] - diagonal[k]
        assert rest.m == 0.0 and rest.h[k] == 0.0
        assert (second if form == '3d' else diagonal[(k + 2) % 3]) == 0.0
    assert np.count_nonzero(numbers(equivalence.best_match(Prismatic(), I, form).rest)) == 4
    assert np.count_nonzero(numbers(equivalence.best_match(Spherical(), I, form).rest)) == 9
    assert equivalence.best_match(Free(), I, form).rest == I
    assert not numbers(equivalence.best_match(Fixed(), I, form).rest).any()


@pytest.mark.seed('RBDA 9-20', 'RBDA 9-22', 'RBDA 10-14')
@FORMS
@few
@given(model=TREES, seed=SEEDS)
def test_equation_of_motion_stays(form, model, seed):
    """H and the joint forces are the same, gravity and forces of the environment included."""
    s = State(model, seed)
    same = dataclasses.replace(model, inertia=equivalence.simplified_inertias(model, form))
    one, other = DenseTree(model, s.q, s.qd), DenseTree(same, s.q, s.qd)
    H = one.mass_matrix()
    assert_near(other.mass_matrix(), H, scale=1.0)
    gravity = [1.0, -2.0, 9.0]
    assert_near(other.rnea(s.qdd, gravity, s.f_ext), one.rnea(s.qdd, gravity, s.f_ext), scale=1.0)


@pytest.mark.seed('RBDA 10-14')
def test_fewer_operations_than_the_book():
    """The 3-D form on general chains goes below the best counts of Table 10.1."""
    for n, best in zip((6, 7), BOOK['inverse dynamics'], strict=True):
        counts = chain_counts(n)
        simple = counts['inverse dynamics, 3-D, simplified'].total
        assert simple < best
        assert simple < 0.9 * counts['inverse dynamics, 3-D'].total


@pytest.fixture(scope='module')
def arms():
    """Return the same arm with physical and with simplified inertias."""
    model = families.random_tree(5, 4, joints=('revolute', 'prismatic', 'spherical'), aligned=1.0)
    return [rbd_ros.Dynamics(model, payload_frame='body_5', simplify_inertias=simplify)
            for simplify in (False, True)]


def test_robot_with_simplified_inertias(arms):
    """What multiplies by inertias needs fewer operations and gives the same, with a payload."""
    s = State(arms[0].model, 2)
    for robot in arms:
        robot.set_payload(1.5, [0.1, 0.0, 0.2], np.diag([0.02, 0.03, 0.01]))
    one, other = arms
    assert_near(other.inverse_dynamics(s.q, s.qd, s.qdd, s.f_ext),
                one.inverse_dynamics(s.q, s.qd, s.qdd, s.f_ext))
    assert_near(other.bias(s.q, s.qd), one.bias(s.q, s.qd))
    assert_near(other.gravity(s.q), one.gravity(s.q))
    assert_near(other.mass_matrix(s.q), one.mass_matrix(s.q))
    for name in ('inverse_dynamics', 'bias', 'mass_matrix'):
        assert other.kernel(name).count().total < one.kernel(name).count().total


def test_physical_inertias_stay_where_they_count(arms):
    """Forward dynamics, bearing loads, momentum and the centre of mass are the very same."""
    one, other = arms
    s = State(one.model, 3)
    for name, arguments in (('forward_dynamics', (s.q, s.qd, s.tau)), ('momentum', (s.q, s.qd)),
                            ('joint_wrenches', (s.q, s.qd, s.qdd)), ('center_of_mass', (s.q,))):
        np.testing.assert_array_equal(
            getattr(other, name)(*arguments), getattr(one, name)(*arguments))
    again = pickle.loads(pickle.dumps(other))
    assert again.kernel('bias').count() == other.kernel('bias').count()


@pytest.mark.seed('RBDA 9-23')
def test_augmented_bodies():
    """They weigh a subtree, or the whole system, and less their own mass they move the same."""
    model = families.random_tree(7, 5, joints=('revolute', 'spherical', 'universal'))
    carrying = equivalence.augmented_bodies(model)
    for i in range(1, model.nb + 1):
        weight = sum(model.inertia[j].m for j in model.subtree[i])
        assert carrying[i].m == pytest.approx(weight)
    whole = equivalence.augmented_bodies(model, whole=True)
    assert [body.m for body in whole[1:]] == pytest.approx([model.total_mass] * model.nb)
    rest = [RigidInertia(0.0, body.h, body.I) for body in carrying]
    s = State(model, 6)
    one = DenseTree(model, s.q, s.qd)
    other = DenseTree(dataclasses.replace(model, inertia=tuple(rest)), s.q, s.qd)
    assert_near(other.rnea(s.qdd, model.gravity), one.rnea(s.qdd, model.gravity))


@pytest.mark.seed('RBDA 9-23')
@pytest.mark.parametrize('whole', [False, True])
def test_augmented_bodies_carry_particles_at_their_joints(whole):
    """First and second moments are those of the body and of a particle at each outward joint."""
    model = families.random_tree(7, 5, joints=('revolute', 'spherical', 'universal'))
    found = equivalence.augmented_bodies(model, whole=whole)
    inner = [i for i in range(1, model.nb + 1) if model.children[i]]
    assert len(inner) >= 3
    for i in range(1, model.nb + 1):
        h = np.array(list(model.inertia[i].h))
        second = np.array(model.inertia[i].I.to_list())
        for k in model.children[i]:
            beyond = sum(model.inertia[j].m for j in model.subtree[k])
            r = np.array(list(model.X_T[k].r))
            assert np.linalg.norm(r) > 0.05
            h += beyond * r
            second += beyond * (r @ r * np.eye(3) - np.outer(r, r))
        # what lies towards the base is a particle at the origin: it adds to the mass alone
        np.testing.assert_allclose(list(found[i].h), h, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(found[i].I.to_list(), second, rtol=1e-13, atol=1e-14)


def test_refusals():
    """A joint without a centre and a form that does not exist are named."""
    model = families.random_tree(2, 0, joints=('prismatic',))
    with pytest.raises(rbd_ros.ModelError, match='"joint_1" of .* is prismatic'):
        equivalence.augmented_bodies(model)
    with pytest.raises(rbd_ros.ModelError, match='no form "flat"'):
        equivalence.best_match(Revolute(), families.random_inertia(np.random.default_rng(0)),
                               'flat')
