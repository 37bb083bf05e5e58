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

"""Values at the edges of the dynamics: many handle rows, rotors, payloads, offsets, screws."""

import itertools
import math

import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms import aba, crba, floating, rnea
from rbd_ros.algorithms.handles import opspace
from rbd_ros.algorithms.kinematics import Conditions, links
from rbd_ros.algorithms.other_forms import divide_and_conquer
from rbd_ros.dynamics.state import evaluate, Surroundings, with_payloads
from rbd_ros.dynamics.table import TABLE
from rbd_ros.errors import ModelError, SingularError
from rbd_ros.joints import Cylindrical, Free, Helical, Planar, RackAndPinion, Revolute, Spherical
from rbd_ros.model.builder import JointData
from rbd_ros.model.denavit_hartenberg import chain, Row
from rbd_ros.samples import families
from rbd_ros.spatial import (
    AxialScrew, link_transform, Mat3, Motion, RigidInertia, Sym3, Transform, Vec3)
from spatial_oracle import array, assert_close, Sampler, x6
from tree_oracle import assert_near, DenseTree, State

#: condition number of Phi up to which Lambda is given without being asked for a bound
TRUSTED_CONDITION = 1e8

# --- more than six rows --------------------------------------------------------------------------


@pytest.fixture(scope='module')
def two_hands():
    """Return a tree of two arms on a free body, uncompiled: nineteen freedoms."""
    builder = rbd_ros.ModelBuilder('two_hands')
    rng = np.random.default_rng(6)
    builder.add_body('torso', 'base', Free(), inertia=families.random_inertia(rng),
                     joint_name='root')
    for side in ('left', 'right'):
        last = 'torso'
        for k in range(6):
            name = f'{side}_{k}'
            builder.add_body(name, last, Revolute(tuple(rng.normal(size=3).tolist())),
                             families.random_transform(rng), families.random_inertia(rng),
                             joint_name=f'joint_{name}')
            last = name
    return rbd_ros.Dynamics(builder.build(), backend='reference')


def dense_space(robot, s, rows):
    """Return J, Phi and b of some frames with directions, by dense matrices."""
    model = robot.model
    dense = DenseTree(model, s.q, s.qd)
    H = dense.mass_matrix()
    C = dense.rnea(np.zeros(model.nv), model.gravity)
    J, rate = [], []
    for frame, directions in rows:
        i = model.frame(frame).body
        J.append(np.asarray(directions) @ dense.X[i] @ dense.jacobian(i))
        rate.append(np.asarray(directions) @ dense.X[i] @ dense.velocity_product(i))
    J = np.vstack(J)
    return (J, J @ np.linalg.solve(H, J.T),
            np.concatenate(rate) - J @ np.linalg.solve(H, C), np.linalg.solve(H, J.T))


@pytest.mark.parametrize('count', [5, 6, 7, 12])
def test_values_of_any_number_of_rows(two_hands, count):
    """Lambda, bias, J_bar and condition of up to six rows and of more are those of the oracle."""
    s = State(two_hands.model, 3)
    rows = [('left_5', np.eye(6)[:min(count, 6)])]
    if count > 6:
        rows.append(('right_5', np.eye(6)[6 - (count - 6):]))
    found = two_hands.operational_space(
        s.q, s.qd, [two_hands.handle(frame, rows=directions.tolist())
                    for frame, directions in rows])
    J, Phi, b, HinvJT = dense_space(two_hands, s, rows)
    assert found.Lambda.shape == (count, count)
    assert_near(found.J, J)
    assert_near(found.Phi, Phi)
    assert_near(found.b, b)
    Lambda = np.linalg.inv(Phi)
    assert_near(found.Lambda, Lambda, limit=1e-9)
    # the force that keeps the handles from accelerating
    assert_near(found.bias, -Lambda @ b, limit=1e-9)
    assert_near(Phi @ found.bias, -b, limit=1e-9)
    assert_near(found.J_bar, HinvJT @ Lambda, limit=1e-9)
    assert found.condition == pytest.approx(np.linalg.cond(Phi), rel=1e-7)


@pytest.mark.parametrize('count', [6, 7])
def test_threshold_of_the_condition(two_hands, count):
    """Below the trusted condition number there is a Lambda, above it an error, at any size."""
    s = State(two_hands.model, 3)

    def handles(scale):
        last = np.eye(6)[5] * scale
        if count == 6:
            return [('left_5', np.vstack([np.eye(6)[:5], last]))]
        return [('left_5', np.eye(6)), ('right_5', last[None])]

    def condition(scale):
        return np.linalg.cond(dense_space(two_hands, s, handles(scale))[1])

    def ask(scale, **options):
        return two_hands.operational_space(s.q, s.qd, [
            two_hands.handle(frame, rows=rows.tolist()) for frame, rows in handles(scale)],
            **options)
    # the row made small: the condition grows with the square of its size
    scale = 1e-3 * math.sqrt(condition(1e-3) / TRUSTED_CONDITION)
    fine, too_small = scale * math.sqrt(2.0), scale / math.sqrt(2.0)
    assert condition(fine) < TRUSTED_CONDITION < condition(too_small)
    assert ask(fine).condition == pytest.approx(condition(fine), rel=1e-6)
    with pytest.raises(SingularError, match='the condition number of J H.-1 J.T is'):
        ask(too_small)
    # a bound raises the small eigenvalue to its share of the largest
    bounded = ask(too_small, max_condition=100.0)
    w, V = np.linalg.eigh(dense_space(two_hands, s, handles(too_small))[1])
    assert_near(bounded.Lambda, V @ np.diag(1.0 / np.maximum(w, w[-1] / 100.0)) @ V.T, limit=1e-8)
    assert bounded.condition == pytest.approx(condition(too_small), rel=1e-5)


def test_share_that_is_lost():
    """A direction below the bound loses 1 - w / floor; between two it is split by the squares."""
    found = opspace.conditioned_inverse(
        [[4.0, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.04]], 20.0)     # floor 4 / 20 = 0.2
    assert found.lost == pytest.approx([0.0, 0.5, 0.8], abs=1e-15)
    assert np.diag(found.Lambda) == pytest.approx([0.25, 5.0, 5.0], rel=1e-14)
    assert found.condition == pytest.approx(100.0, rel=1e-14)
    # turned by an angle in the plane of a free and a lost direction
    c, s = math.cos(0.3), math.sin(0.3)
    turned = opspace.conditioned_inverse(
        [[4.0 * c * c, 4.0 * c * s], [4.0 * c * s, 4.0 * s * s + 0.0]], 8.0)
    assert turned.lost == pytest.approx([s * s, c * c], abs=1e-12)      # w = 0: all of it
    rng = np.random.default_rng(2)
    A = rng.normal(size=(6, 6)) * [1.0, 1.0, 1.0, 1.0, 0.1, 0.01]
    Phi = A @ A.T
    w, V = np.linalg.eigh(Phi)
    floor = w[-1] / 50.0
    expected = V**2 @ (1.0 - np.minimum(w, floor) / floor)
    found = opspace.conditioned_inverse(Phi.tolist(), 50.0)
    assert found.lost == pytest.approx(expected, abs=1e-10)
    assert 0.0 < min(found.lost) and max(found.lost) < 1.0
    assert opspace.conditioned_inverse(Phi.tolist(), 1e12).lost == pytest.approx([0.0] * 6)


def test_inverses_with_something_on_the_diagonal():
    """Raised by trace / condition, by a damping, and by the mean where a row does not count."""
    A = np.random.default_rng(8).normal(size=(4, 4))
    Phi = A @ A.T
    found = opspace.damped_inverse(Phi.tolist(), 50.0)
    assert_near(found, np.linalg.inv(Phi + np.trace(Phi) / 50.0 * np.eye(4)))
    found = opspace.inverse_with_damping(Phi.tolist(), 0.7)
    assert_near(found, np.linalg.inv(Phi + 0.7 * np.eye(4)))
    mask = np.array([1.0, 0.0, 1.0, 0.0])
    counted = mask[:, None] * Phi * mask
    mean = (Phi[0, 0] + Phi[2, 2]) / 2.0
    found = opspace.without_masked(counted.tolist(), mask.tolist())
    assert_near(found, counted + mean * np.diag(1.0 - mask))


# --- rotors on several freedoms ------------------------------------------------------------------

KINDS = {'cylindrical': Cylindrical(), 'planar': Planar(), 'spherical': Spherical(),
         'tilted cylindrical': Cylindrical((0.6, 0.0, 0.8))}


@pytest.mark.parametrize('name', KINDS)
def test_rotors_on_some_freedoms_of_a_joint(name):
    """Whichever freedoms of a joint have rotors, all algorithms add them to H's diagonal."""
    joint = KINDS[name]
    for which in itertools.product((0.0, 1.0), repeat=joint.nv):
        rotors = [0.3 * (k + 1) * used for k, used in enumerate(which)]
        rng = np.random.default_rng(5)
        builder = rbd_ros.ModelBuilder('geared')
        for i, (kind, data) in enumerate((
                (Revolute(), JointData(rotor_inertia=0.07)),
                (joint, JointData(rotor_inertia=tuple(rotors))), (Revolute(), None))):
            builder.add_body(f'b{i}', f'b{i - 1}' if i else 'base', kind,
                             families.random_transform(rng), families.random_inertia(rng),
                             joint_name=f'j{i}', data=data)
        model = builder.build()
        assert model.rotor_inertia == pytest.approx([0.07, *rotors, 0.0])
        robot = rbd_ros.Dynamics(model, backend='reference')
        s = State(model, 4)
        dense = DenseTree(model, s.q, s.qd)
        H = dense.mass_matrix() + np.diag(model.rotor_inertia)
        C = dense.rnea(np.zeros(model.nv), model.gravity)
        qdd = np.linalg.solve(H, s.tau - C)
        assert_near(robot.mass_matrix(s.q), H)
        for method in ('aba', 'crba'):
            assert_near(robot.forward_dynamics(s.q, s.qd, s.tau, method=method), qdd)
        assert_near(robot.inverse_dynamics(s.q, s.qd, qdd), s.tau)
        assert_near(robot.inverse_mass_matrix(s.q), np.linalg.inv(H))
        assert robot.kinetic_energy(s.q, s.qd) == pytest.approx(0.5 * s.qd @ H @ s.qd)


# --- payload -------------------------------------------------------------------------------------

LOAD = RigidInertia.from_com(
    1.7, Vec3(0.1, -0.2, 0.15), Sym3(0.05, 0.01, -0.02, 0.06, 0.015, 0.07))


def carrying():
    """Return a floating tree with a frame for a payload, and the same with the payload welded."""
    models = []
    for welded in (False, True):
        rng = np.random.default_rng(9)
        builder = rbd_ros.ModelBuilder('carrier')
        builder.add_body('torso', 'base', Free(), families.random_transform(rng),
                         families.random_inertia(rng), joint_name='root')
        for i, (parent, axis) in enumerate((('torso', (0.0, 0.0, 1.0)), ('b0', (0.6, 0.8, 0.0)),
                                            ('b1', (0.0, 1.0, 0.0)), ('b0', (1.0, 0.0, 0.0)))):
            builder.add_body(f'b{i}', parent, Revolute(axis), families.random_transform(rng),
                             families.random_inertia(rng), joint_name=f'j{i}')
        grip = families.random_transform(rng)
        builder.add_frame('grip', 'b1', grip)
        if welded:
            builder.add_body('load', 'grip', rbd_ros.joints.Fixed(), inertia=LOAD,
                             joint_name='weld')
        models.append(builder.build())
    return models


TEN = [LOAD.m, *LOAD.h, *LOAD.I.entries()]
ABOUT = {'robot': None, 'frame': 'b2', 'handles': 'b2', 'joints': ('j0', 'j2')}
EVERY = [(name, ABOUT[row.target]) for name, row in TABLE.items() if row.rules]
WITHOUT_INERTIA = {name for name, row in TABLE.items() if not row.inertial}


@pytest.mark.parametrize('name,target', EVERY, ids=[name for name, _ in EVERY])
def test_payload_counts_in_every_quantity(name, target):
    """By every rule, a payload at a frame does what the same body welded there does."""
    model, welded = carrying()
    s = State(model, 8)
    inputs = {'q': s.q.tolist(), 'qd': s.qd.tolist(), 'qdd': s.qdd.tolist(),
              'tau': s.tau.tolist(), 'gravity': [0.3, -0.5, -9.7], 'max_condition': [1e12],
              'f_ext': s.f_ext.tolist(), 'payload': TEN, 'time': [0.0], 'damping': [1e-3],
              'known': s.tau.tolist(), 'joint_qdd': s.qdd.tolist()[6:],
              'joint_tau': s.tau.tolist()[6:]}
    empty = {**inputs, 'payload': [0.0] * 10}
    changes = 0.0
    item = TABLE[name].of(model, target)
    expected = TABLE[name].of(welded, target)
    rules, others = TABLE[name].suitable(model), TABLE[name].suitable(welded)
    assert list(rules) == list(others)
    here = Surroundings(TABLE, (model.frame('grip'),))
    for method in rules:
        found = evaluate(model, item, rules[method], inputs, here)
        bare = evaluate(model, item, rules[method], empty, here)
        right = evaluate(welded, expected, others[method],
                         {k: v for k, v in inputs.items() if k != 'payload'}, Surroundings(TABLE))
        for key, value in right.items():
            assert_near(found[key], value, limit=1e-9)
            changes = max(changes, np.abs(np.array(bare[key]) - np.array(value)).max())
    assert (changes < 1e-9) == (name in WITHOUT_INERTIA)


def test_payload_counts_in_the_other_forms():
    """Floating-base forms and divide and conquer take the inertias of the state, too."""
    model, welded = carrying()
    s = State(model, 8)
    q, qd = s.q.tolist(), s.qd.tolist()
    gravity = Vec3(0.3, -0.5, -9.7)
    loaded = Conditions(gravity, inertia=with_payloads(model, [model.frame('grip')], TEN))
    plain = Conditions(gravity)

    def all_forms(model, conditions):
        e = floating.equations(
            model, crba.crba(model, links(model, q), conditions.inertia),
            rnea.rnea(model, q, qd, None, conditions).tau)
        out = [e.I_0, e.F, e.H, e.p_0, e.C]
        for result in (
                floating.forward_dynamics(model, q, qd, s.tau.tolist()[6:], conditions),
                floating.inverse_dynamics(model, q, qd, s.qdd.tolist()[6:], conditions)):
            out += [result.a_0.to_list(), result.joints]
        out.append(divide_and_conquer.divide_and_conquer(model, q, qd, s.tau.tolist(), conditions))
        out.append(aba.aba(model, q, qd, s.tau.tolist(), conditions).qdd)
        return out
    for found, bare, expected in zip(all_forms(model, loaded), all_forms(model, plain),
                                     all_forms(welded, plain), strict=True):
        assert_near(found, expected, limit=1e-9)
        assert np.abs(np.array(bare) - np.array(expected)).max() > 1e-6


# --- whole turns of a screw ----------------------------------------------------------------------

@pytest.mark.parametrize('pitch', [0.3, -0.05])
@pytest.mark.parametrize('angle', [0.4, 3.0, 3.3, -3.3, 7.0, -20.0, 100.0])
def test_screw_is_located_with_its_turns(pitch, angle):
    """The distance along the axis shows how many turns a screw has made, in either direction."""
    for joint in (Helical((0.0, 0.6, 0.8), pitch), RackAndPinion(pitch)):
        assert joint.locate(joint.transform([angle]))[0] == pytest.approx(angle, abs=1e-12)
    # a gap along the axis of less than half a turn's advance does not change the count
    screw = Helical((0.0, 0.0, 1.0), pitch)
    X = screw.transform([angle])
    off = Transform(X.E, X.r + Vec3(0.0, 0.0, 0.4 * 2.0 * math.pi * pitch))
    assert screw.locate(off)[0] == pytest.approx(angle, abs=1e-12)
    off = Transform(X.E, X.r + Vec3(0.0, 0.0, 0.6 * 2.0 * math.pi * pitch))
    assert screw.locate(off)[0] == pytest.approx(angle + 2.0 * math.pi, abs=1e-12)


# --- small offsets -------------------------------------------------------------------------------

def rotations():
    """Return constant rotations of each kind: none, right angle, axial, nearly axial, general."""
    c, s = math.cos(0.7), math.sin(0.7)
    quarter = Mat3(((0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, 1.0)))
    axial = [AxialScrew(k, c, s).E for k in range(3)]
    return [Mat3.identity(), quarter, *axial, axial[0] @ axial[1], quarter @ axial[0],
            Mat3(Sampler(3).rotation().tolist())]


@pytest.mark.parametrize('size', [1e-3, 1e-6, 1e-9, 1e-14, 1e-15])
@pytest.mark.parametrize('kind', range(8))
def test_small_offsets_of_a_link_are_kept(kind, size):
    """An offset of a micrometre or less next to one of a metre moves what it carries."""
    E = rotations()[kind]
    joints = [Revolute(axis).transform([0.9]) for axis in (
        (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.6, 0.8))]
    joints.append(rbd_ros.joints.Prismatic((0.0, 0.0, 1.0)).transform([0.4]))
    for X_J in joints:
        for along, across in itertools.permutations(range(3), 2):
            r = [0.0, 0.0, 0.0]
            r[along], r[across] = 1.0, size
            X = link_transform(X_J, Transform(E, Vec3(*r)))
            expected = array(X_J) @ x6(E.to_list(), r)
            without = list(r)
            without[across] = 0.0
            gone = array(X_J) @ x6(E.to_list(), without)
            # what the offset does to a turning motion, to a tenth of it
            turn = Motion.from_list([0.3, -0.5, 0.7, 0.0, 0.0, 0.0])
            effect = (expected - gone) @ turn.to_list()
            found = array(X @ turn) - gone @ turn.to_list()
            assert np.abs(found - effect).max() <= max(0.1 * np.abs(effect).max(), 1e-15)
            # and an inertia that passes by its own steps: its first moment shifts by m r
            body = RigidInertia(1.0, Vec3.zero(), Sym3.diagonal(1.0, 1.0, 1.0))
            moved = array(X.inv_apply(body))
            assert_close(moved, expected.T @ array(body) @ expected, 2e-15)
            h = np.array([moved[2, 4], moved[0, 5], moved[1, 3]])
            place = r + np.array(E.T @ X_J.r)
            assert abs(h[across] - place[across]) <= max(0.1 * size, 5e-16)


# --- one root, Denavit-Hartenberg ----------------------------------------------------------------

def test_two_roots_are_no_floating_base():
    """A free body next to another tree on the world has momentum of its own: refused."""
    builder = rbd_ros.ModelBuilder('pair')
    rng = np.random.default_rng(1)
    builder.add_body('free', 'base', Free(), inertia=families.random_inertia(rng),
                     joint_name='root')
    alone = builder.build()
    builder.add_body('other', 'base', Revolute(), inertia=families.random_inertia(rng),
                     joint_name='hinge')
    model = builder.build()
    q, qd = [0.0] * 6 + [1.0], [0.0] * 6
    conditions = Conditions(Vec3(0.0, 0.0, -9.81))
    assert floating.forward_dynamics(alone, q, qd, [], conditions).a_0.to_list() == pytest.approx(
        [0.0] * 5 + [-9.81])
    match = '"pair" has no floating base: .*one body alone'
    state = [*q, 0.1], [*qd, 0.0]
    with pytest.raises(ModelError, match=match):
        floating.equations(model, np.eye(7).tolist(), [0.0] * 7)
    for form in (floating.forward_dynamics, floating.inverse_dynamics):
        with pytest.raises(ModelError, match=match):
            form(model, *state, [0.0], conditions)


@pytest.mark.parametrize('theta_0, d_0', [(0.4, 0.0), (0.0, -0.6), (0.4, -0.6), (0.0, 0.0)])
def test_base_of_a_chain_with_one_parameter(theta_0, d_0):
    """theta_0 alone turns the first row's x axis, d_0 alone lifts it."""
    (_, X_T), = chain([Row(a=0.3, alpha=0.5)], theta_0=theta_0, d_0=d_0).joints
    (_, plain), = chain([Row(a=0.3, alpha=0.5)]).joints
    c, s = math.cos(theta_0), math.sin(theta_0)
    base = x6([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]], [0.0, 0.0, d_0])
    assert_close(array(X_T), array(plain) @ base)
    # where the first joint is: 0.3 along the turned x axis, d_0 up
    assert_close(X_T.r.to_list(), [0.3 * c, 0.3 * s, d_0])
