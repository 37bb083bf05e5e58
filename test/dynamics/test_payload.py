# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A payload at a frame does what the same body welded there does, in every quantity."""

import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms import aba, crba, floating, rnea
from rbd_ros.algorithms.kinematics import Conditions, links
from rbd_ros.algorithms.other_forms import divide_and_conquer
from rbd_ros.dynamics.state import evaluate, Surroundings, with_payloads
from rbd_ros.dynamics.table import TABLE
from rbd_ros.joints import Free, Revolute
from rbd_ros.samples import families
from rbd_ros.spatial import RigidInertia, Sym3, Vec3
from tree_oracle import assert_near, State

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
