# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Closed loops under payload, gravity, time and stabilisation: all methods heed all of them."""

import dataclasses

from joint_samples import swing
import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms.kinematics import links, placements
from rbd_ros.joints import (
    Cylindrical, Fixed, Planar, Prescribed, Prismatic, Revolute, Spherical, Universal)
from rbd_ros.manifold.loop_system import LoopSystem
from rbd_ros.model import positions
from rbd_ros.model.parts import LoopJoint
from rbd_ros.samples import families, mechanisms
from rbd_ros.spatial import RigidInertia, Sym3, Vec3

AXIS = (0.36, 0.48, 0.8)
CLOSING = (Spherical(), Revolute(AXIS), Cylindrical(AXIS), Planar(AXIS), Universal(), Fixed(),
           Prescribed(Revolute(AXIS), swing))
METHODS = ('auto', 'direct', 'multipliers', 'projection', 'whole_system')
TIME = 0.7
#: Mass, centre of mass and inertia about it, by the body that carries it.
LOADS = {'tip': (2.0, (0.3, 0.1, -0.2), (0.03, 0.04, 0.05)),
         'right': (1.5, (-0.1, 0.2, 0.1), (0.02, 0.03, 0.04))}


def mechanism(joint, seed):
    """Return a tree on a shaking base whose two branches a joint closes, and where it does."""
    rng = np.random.default_rng(seed)
    builder = rbd_ros.ModelBuilder('closed')
    for name, parent, kind in (
            ('shaker', 'base', Prescribed(Revolute(AXIS), swing)), ('trunk', 'shaker', Revolute()),
            ('left', 'trunk', Spherical()), ('tip', 'left', Prismatic(AXIS)),
            ('right', 'trunk', Universal()), ('hand', 'right', Revolute(AXIS))):
        builder.add_body(name, parent, kind, families.random_transform(rng),
                         families.random_inertia(rng))
    tree = builder.build()
    q, q_J = positions.random_position(tree, rng), rng.uniform(-1.0, 1.0, joint.nq).tolist()
    if isinstance(joint, Spherical):
        q_J = [0.5, 0.5, -0.5, 0.5]
    X_0 = placements(tree, links(tree, tree.expand_q(q), TIME))
    p, s, X_S = tree.body_index('tip'), tree.body_index('hand'), families.random_transform(rng)
    X_P = joint.transform(q_J, TIME).inverse() @ X_S @ X_0[s] @ X_0[p].inverse()
    return dataclasses.replace(
        tree, loops=(LoopJoint(name='close', joint=joint, predecessor=p, successor=s, X_P=X_P,
                               X_S=X_S),)), np.array(q)


def loaded(robot, gravity):
    """Set all that a robot with loops may be told."""
    for name, (mass, com, moments) in LOADS.items():
        robot.set_payload(mass, com, np.diag(moments), frame=name)
    robot.set_gravity(gravity)
    robot.set_time(TIME)
    robot.set_stabilization(0.1)


def welded(model):
    """Return a model whose bodies have the payloads in them."""
    inertia = list(model.inertia)
    for name, (mass, com, moments) in LOADS.items():
        inertia[model.body_index(name)] += RigidInertia.from_com(
            mass, Vec3(*com), Sym3.diagonal(*moments))
    return dataclasses.replace(model, inertia=tuple(inertia), loops=())


@pytest.mark.parametrize('joint', CLOSING, ids=lambda joint: joint.type_name)
def test_methods_agree_whatever_acts(joint):
    """Loops a little open and moving: one motion by all methods, that of Newton and Baumgarte."""
    seed = CLOSING.index(joint)
    model, q = mechanism(joint, seed)
    robot = rbd_ros.Dynamics(model, backend='reference', payload_frames=tuple(LOADS))
    rng = np.random.default_rng(seed)
    gravity = rng.normal(size=3)
    robot.set_time(TIME)
    assert robot.assemble(q).success and np.abs(robot.loop_error(q)).max() < 1e-12
    loaded(robot, gravity)
    q = np.array(positions.integrate(model, q.tolist(),
                                     (0.01 * rng.normal(size=model.nv)).tolist()))
    qd, tau = rng.normal(size=(2, model.nv))
    f_ext = rng.normal(size=(model.nb, 6))
    qdd = robot.forward_dynamics(q, qd, tau, f_ext)
    size = np.abs(qdd).max()
    for method in METHODS:
        found = robot.loop_dynamics(q, qd, tau, f_ext, method=method)
        np.testing.assert_allclose(found.qdd, qdd, atol=1e-9 * size, err_msg=method)
        assert found.residual < 1e-9 * size and found.rank == robot.loop_report.rank
    # Newton: what is missing to the forces of the welded tree is a force of the loop
    tree = rbd_ros.Dynamics(welded(model), backend='reference')
    tree.set_gravity(gravity)
    tree.set_time(TIME)
    K = robot.loop_jacobian(q)
    missing = tree.inverse_dynamics(q, qd, qdd, f_ext) - tau
    lam = np.linalg.lstsq(K.T, missing, rcond=None)[0]
    np.testing.assert_allclose(K.T @ lam, missing, atol=1e-9 * np.abs(missing).max())
    # Baumgarte: d/dt of the loop velocity is -2 a (loop velocity) - a^2 (loop error)
    wanted = -20.0 * robot.loop_velocity(q, qd) - 100.0 * robot.loop_error(q)

    def at(h):
        robot.set_time(TIME + h)
        step = (h * qd + 0.5 * h * h * qdd).tolist()
        there = positions.integrate(robot.model, q.tolist(), step)
        return robot.loop_velocity(there, qd + h * qdd)
    h = 1e-4
    rate = (8.0 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * h)
    np.testing.assert_allclose(rate, wanted, atol=1e-7 * size)


def test_many_bodies_heed_what_acts(monkeypatch):
    """Above the size from which H is computed uncompiled, nothing of it is forgotten."""
    monkeypatch.setattr('rbd_ros.dynamics.families.loops.analysis.LARGE', 4)
    monkeypatch.setattr('rbd_ros.dynamics.families.loops.motion.LARGE', 4)
    model, q = mechanisms.ladder(2)
    robot = rbd_ros.Dynamics(model, backend='python', payload_frame='b_3', closed_near=q)
    assert 'sparse' not in robot.methods('forward_dynamics')
    plain = robot.loop_dynamics(q, np.zeros(6), np.zeros(6)).qdd
    robot.set_payload(50.0, [0.2, 0.0, 0.0], np.eye(3))
    robot.set_gravity([1.0, -5.0, 0.0])
    qdd = robot.loop_dynamics(q, np.zeros(6), np.ones(6)).qdd
    assert np.abs(qdd - plain).max() > 1.0
    for method in METHODS:
        found = robot.loop_dynamics(q, np.zeros(6), np.ones(6), method=method)
        np.testing.assert_allclose(found.qdd, qdd, atol=1e-8)
    np.testing.assert_allclose(robot.forward_dynamics(q, np.zeros(6), np.ones(6)), qdd, atol=1e-8)


def test_time_of_a_loop_joint_alone():
    """A loop joint that moves with time moves, though no joint of the tree does."""
    model, q = mechanisms.four_bar()
    driven = dataclasses.replace(model.loops[0], joint=Prescribed(Revolute(), swing))
    robot = rbd_ros.Dynamics(dataclasses.replace(model, loops=(driven,)), backend='reference')
    for t in (0.0, 0.5):
        robot.set_time(t)
        velocity = robot.loop_velocity(q, np.zeros(3))
        assert np.abs(velocity).max() == pytest.approx(0.6 * np.cos(2.0 * t), rel=1e-12)


def test_closed_where_time_has_turned_a_joint():
    """A bar held at the angle 4 t is closed there, not the wrong way round."""
    builder = rbd_ros.ModelBuilder('clock')
    builder.add_body('hand', 'base', Revolute(), None, mechanisms.rod(1.0, 1.0))
    builder.add_loop_joint('drive', 'base', 'hand', Prescribed(
        Revolute(), lambda t: ([4.0 * t], [4.0], [0.0])))
    robot = rbd_ros.Dynamics(builder.build(), backend='reference')
    robot.set_time(1.0)
    assert robot.assemble([3.8]).require() == pytest.approx([4.0], abs=1e-9)


def test_constrained_systems_share_what_acts():
    """The equations of ``LoopSystem`` have the gravity and the payload of the robot."""
    model, q = mechanisms.four_bar()
    robot = rbd_ros.Dynamics(model, backend='reference', payload_frame='bar_2')
    system, still = LoopSystem(robot), np.zeros(3)
    robot.set_payload(3.0, [0.1, 0.0, 0.0], 0.1 * np.eye(3))
    robot.set_gravity([2.0, 0.0, 0.0])
    np.testing.assert_allclose(system.mass_matrix(np.array(q)), robot.mass_matrix(q), rtol=1e-12)
    np.testing.assert_allclose(system.bias(np.array(q), still), robot.gravity(q), rtol=1e-12)
