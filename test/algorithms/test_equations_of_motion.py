# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The equation of motion as a whole (RBDA 1, 3) and the worked examples of the 6-D guides."""

import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms import rnea
from rbd_ros.algorithms.kinematics import Conditions
from rbd_ros.errors import ModelError
from rbd_ros.joints import (Helical, Prismatic, Revolute)
from rbd_ros.model import connectivity
from rbd_ros.samples import families
from rbd_ros.spatial import (RigidInertia, rotx, rotz, Sym3,
                             Vec3, xlt)
from tree_oracle import assert_near, DenseTree, reference, State

Z = (0.0, 0.0, 1.0)


def point_masses():
    """Return the 2R arm of the guides: 2 kg at 1 m, 1 kg at 0.5 m, gravity along -z."""
    def mass(m, x):
        return RigidInertia.from_com(m, Vec3(x, 0.0, 0.0), Sym3.zero())
    builder = rbd_ros.ModelBuilder('masses')
    builder.add_body('upper', 'base', Revolute(Z), rotx(np.pi / 2), mass(2.0, 1.0),
                     joint_name='shoulder')
    builder.add_body('lower', 'upper', Revolute(Z), xlt(1.0, 0.0, 0.0), mass(1.0, 0.5),
                     joint_name='elbow')
    return builder.build()


def mixed_tree():
    """Return the six-body fixture: revolute, prismatic and helical joints on a tree."""
    joints = (Revolute(Z), Prismatic(Z), Helical(Z, 0.1), Revolute(Z), Helical(Z, 0.05),
              Prismatic(Z))
    builder = rbd_ros.ModelBuilder('mixed')
    for i, (joint, parent) in enumerate(zip(joints, (0, 1, 2, 1, 2, 4))):
        X = rotx(0.1 * i + 0.2) @ rotz(-0.3 * i) @ xlt(0.1 * i + 0.1, -0.2, 0.05 * i)
        inertia = RigidInertia.from_com(
            1.0 + 0.5 * i, Vec3(0.1, -0.05 * i, 0.2),
            Sym3.diagonal(0.1 + 0.02 * i, 0.15, 0.12 + 0.01 * i))
        builder.add_body(f'body_{i + 1}', f'body_{parent}' if parent else 'base', joint, X,
                         inertia, joint_name=f'joint_{i + 1}')
    return builder.build()


# --- golden numbers ------------------------------------------------------------------------------

@pytest.mark.seed('SIXD P09', 'SIXD P22', 'SIXD P24', 'MR A04')
def test_two_point_masses():
    """tau, M, forward dynamics and energies of the arm with masses at the ends of its links."""
    robot = reference(point_masses())
    q, qd, qdd = [0.3, 0.7], [0.5, -1.2], [1.5, -0.8]
    M = [[4.014842187284488, 0.6324210936422442], [0.6324210936422442, 0.25]]
    g = [30.76573568524981, 2.650182810283225]
    assert_near(robot.mass_matrix(q), M, limit=1e-14)
    assert_near(robot.gravity(q), g, limit=1e-14)
    c = [-0.07730612246852293, 0.08052721090471138]
    assert_near(robot.bias(q, qd) - robot.gravity(q), c, limit=1e-12)
    tau = [36.20475596879422, 3.479341661651303]
    assert_near(robot.inverse_dynamics(q, qd, qdd), tau, limit=1e-14)
    assert robot.kinetic_energy(q, qd) == pytest.approx(0.3024026172252145, rel=1e-13)
    assert robot.potential_energy(q) == pytest.approx(12.82457486252596, rel=1e-13)
    for method in ('aba', 'crba'):
        found = robot.forward_dynamics(q, qd, [5.0, -1.0], method=method)
        assert_near(found, [-6.729109799841936, 2.099683830667375], limit=1e-13)
        found = robot.forward_dynamics(q, [0.0, 0.0], [0.0, 0.0], method=method)
        assert_near(found, [-9.96333165931, 14.603353176072], limit=1e-12)


@pytest.mark.seed('SIXD P16', 'MR A21')
def test_push_at_the_tip_of_the_arm():
    """A robot that pushes (3, -4) N and 0.5 Nm on its surroundings needs J^T f more."""
    robot = reference(point_masses())
    q, qd, qdd = [0.3, 0.7], [0.5, -1.2], [1.5, -0.8]
    tip = np.array([np.cos(0.3) + 0.5 * np.cos(1.0), 0.0, np.sin(0.3) + 0.5 * np.sin(1.0)])
    # the plane of the arm is x-z here; a turn about the arm's own z is one about -y
    force = np.array([3.0, 0.0, -4.0])
    moment = np.array([0.0, -0.5, 0.0]) + np.cross(tip, force)
    f_ext = np.zeros((2, 6))
    f_ext[1] = -np.concatenate([moment, force])
    tau = robot.inverse_dynamics(q, qd, qdd, f_ext)
    assert_near(tau, [29.65403830336, 1.636530572703], limit=1e-12)


@pytest.mark.seed('SIXD P09', 'SIXD P22', 'SIXD P23', 'SIXD P24', 'SIXD P05')
def test_mixed_tree_fixture():
    """tau, C and H of the six-body tree of revolute, prismatic and helical joints."""
    robot = reference(mixed_tree())
    # the guide's numbers are in its own order, ours goes down each branch to its end
    order = robot.model.velocity_order([f'joint_{i}' for i in range(1, 7)])
    ours = np.argsort(order)
    q = np.array([0.1, -0.2, 0.3, -0.4, 0.5, -0.6])[ours]
    qd = np.array([0.6, -0.5, 0.4, -0.3, 0.2, -0.1])[ours]
    qdd = np.array([1.0, -1.0, 0.5, -0.5, 0.25, -0.25])[ours]
    tau = [18.000247334063594, 48.380699107424626, 2.524147645257219, 8.045816593781156,
           2.105013224192542, 27.179392474950944]
    C = [9.628960946879749, 55.65449251689961, 2.511046503998159, 6.918726531655302,
         2.258419031905988, 28.62968737156358]
    assert_near(robot.inverse_dynamics(q, qd, qdd)[order], tau, limit=1e-14)
    assert_near(robot.bias(q, qd)[order], C, limit=1e-14)
    H = robot.mass_matrix(q)[np.ix_(order, order)]
    assert_near(np.diag(H), [7.998210471031766, 6.5, 0.2, 2.284694250617715, 0.3175, 3.5],
                limit=1e-14)
    assert_near([H[0, 1], H[0, 3], H[3, 5]],
                [-1.023329880943782, 2.076688122832178, -0.770996258410142], limit=1e-13)
    for i, j in ((2, 4), (3, 4), (3, 5), (4, 5), (2, 6), (3, 6), (5, 6)):
        assert H[i - 1, j - 1] == 0.0
    for method in ('aba', 'crba'):
        found = robot.forward_dynamics(q, qd, np.array(tau)[ours], method=method)
        assert_near(found, qdd, limit=1e-13)


# --- one algorithm, any model --------------------------------------------------------------------

@pytest.mark.seed('RBDA 1-04', 'SIXD P01', 'SIXD P28')
def test_one_source_for_every_model():
    """The same function moves a chain, a branched tree and a floating base, given as data."""
    for model in (families.general_chain(4), families.regular_tree(7, 2), mixed_tree(),
                  families.random_tree(3, 0, joints=('free',)), point_masses()):
        s = State(model, 1)
        tau = rnea.rnea(model, s.q.tolist(), s.qd.tolist(), s.qdd.tolist(),
                        Conditions(Vec3(*model.gravity))).tau
        assert_near(tau, DenseTree(model, s.q, s.qd).rnea(s.qdd, model.gravity))
        assert len(model.parent) == len(model.joint) == len(model.X_T) == len(model.inertia)
        assert connectivity.is_regular(model.parent)
    # each joint carries its own parameters: two helical joints with different pitch
    pitches = [joint.pitch for joint in mixed_tree().joint if isinstance(joint, Helical)]
    assert pitches == [0.1, 0.05]
    with pytest.raises(ModelError, match='are not numbered so that each comes before'):
        broken = mixed_tree()
        type(broken)(**{**broken.__getstate__(), 'parent': (-1, 2, 1, 1, 1, 2, 4)})


@pytest.mark.seed('SIXD P02')
def test_index_sets_of_the_figure():
    """lambda, mu, kappa and nu of the guide's six-body tree."""
    parent = (-1, 0, 1, 2, 1, 2, 4)
    assert connectivity.children_of(parent)[2] == (3, 5)
    assert connectivity.children_of(parent)[5] == ()
    assert connectivity.support_of(parent)[3] == (1, 2, 3)
    assert connectivity.subtree_of(parent)[4] == (4, 6)
    # a model keeps the sets under its own numbers
    model = mixed_tree()
    names = [model.body_names[i] for i in model.children[model.body_index('body_2')]]
    assert names == ['body_3', 'body_5']
    names = [model.body_names[i] for i in model.subtree[model.body_index('body_4')]]
    assert names == ['body_4', 'body_6']
