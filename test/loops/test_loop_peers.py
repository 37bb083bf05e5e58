# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Closed loops against Pinocchio, and against other forms of their equations: ladders, welds."""

from loop_rig import MECHANISMS, moving, robot
import numpy as np
import pinocchio as pin
from pinocchio_trees import PinocchioTree
import pytest
import rbd_ros
from rbd_ros.algorithms.other_forms import hinged
from rbd_ros.joints import Fixed, Prismatic, Revolute, Spherical
from rbd_ros.samples import mechanisms
from rbd_ros.spatial import Transform, Vec3, xlt


def placed(X):
    """Return our transform to a frame as Pinocchio's placement of it."""
    return pin.SE3(np.array(X.E.to_list()).T, np.array(list(X.r)))


def pinocchio_contacts(tree):
    """
    Return the loop joints of a model as constraints of Pinocchio.

    A ball is a point, a weld all six; a hinge is two points on its axis.
    """
    out = pin.StdVec_RigidConstraintModel()
    for loop in tree.model.loops:
        joint = loop.joint
        points = [Vec3.zero()]
        if type(joint) is Revolute:
            points.append(Vec3(*joint.axis) * 0.2)
        assert type(joint) in (Revolute, Spherical, Fixed)
        kind = pin.ContactType.CONTACT_6D if type(joint) is Fixed else pin.ContactType.CONTACT_3D
        for point in points:
            ends = []
            for body, X in ((loop.predecessor, loop.X_P), (loop.successor, loop.X_S)):
                ends += [body, tree.offset[body] * placed(Transform.translation(point) @ X)]
            out.append(pin.RigidConstraintModel(kind, tree.pin, *ends))
    return out


@pytest.mark.seed('RBDA 8-02')
@pytest.mark.parametrize('name', MECHANISMS)
def test_forward_dynamics_against_pinocchio(name):
    """Accelerations are those of its constrained dynamics, at several states."""
    made, _ = robot(name)
    tree = PinocchioTree(made.model)
    contacts = pinocchio_contacts(tree)
    datas = pin.StdVec_RigidConstraintData()
    for contact in contacts:
        datas.append(contact.createData())
    settings = pin.ProximalSettings(1e-12, 1e-10, 30)
    pin.initConstraintDynamics(tree.pin, tree.data, contacts, datas)
    for seed in range(3):
        _, q, qd, tau = moving(name, seed)
        theirs = pin.constraintDynamics(
            tree.pin, tree.data, tree.position(q), tree.B @ qd, tree.B @ tau, contacts, datas,
            settings)
        ours = made.forward_dynamics(q, qd, tau)
        np.testing.assert_allclose(tree.B.T @ theirs, ours, atol=1e-6 * np.abs(ours).max())


# --- all bodies at once -----------------------------------------------------------------------


@pytest.mark.seed('RBDA 8-28', 'RBDA 8-29')
@pytest.mark.parametrize('name', ['four_bar', 'five_bar', 'ladder'])
def test_hinged_mechanisms_all_bodies_at_once(name):
    """Solved for the forces of all hinges, the mechanism moves as through its tree."""
    made, q, qd, tau = moving(name)
    f_ext = np.random.default_rng(2).normal(size=(made.model.nb, 6))
    for loads in ((), (f_ext,)):
        tree = made.forward_dynamics(q, qd, tau, *loads, method='sparse')
        planar = made.forward_dynamics(q, qd, tau, *loads, method='sparse_planar')
        bodies = made.forward_dynamics(q, qd, tau, *loads, method='hinged')
        np.testing.assert_allclose(planar, tree, atol=1e-10 * np.abs(tree).max())
        np.testing.assert_allclose(bodies, tree, atol=1e-10 * np.abs(tree).max())


@pytest.mark.seed('RBDA 8-29')
def test_cost_of_a_ladder_grows_as_its_loops():
    """Operations per loop are the same from the third loop on, in the order of elimination."""
    counts = {}
    for n in (4, 8, 12):
        made = rbd_ros.Dynamics(mechanisms.ladder(n).model, cache=False)
        counts[n] = made.kernel('forward_dynamics', method='hinged').count().total
    assert counts[12] - counts[8] == counts[8] - counts[4]
    model = mechanisms.ladder(8).model
    order = hinged.elimination_order(model)
    assert sorted(order) == list(range(model.nb + len(model.loops)))


def test_long_ladders_take_the_linear_way():
    """Above thirty velocities the tree is not offered, and the motion is that of short ladders."""
    model, q = mechanisms.ladder(16)
    made = rbd_ros.Dynamics(model, backend='python', closed_near=q)
    assert made.methods('forward_dynamics') == ('hinged',)
    # hinged on the ground at one end of one bar and let go: all cells fold alike at first
    qdd = made.forward_dynamics(q, np.zeros(model.nv), np.zeros(model.nv))
    np.testing.assert_allclose(qdd[3::2], qdd[1], rtol=1e-6)
    np.testing.assert_allclose(qdd[2::2], -qdd[1], rtol=1e-6)
    K = np.array(made.loop_jacobian(q))
    np.testing.assert_allclose(K @ qdd, 0.0, atol=1e-8)
    found = made.loop_dynamics(q, np.zeros(model.nv), np.zeros(model.nv))
    assert found.method == 'multipliers' and found.rank == 32
    np.testing.assert_allclose(found.qdd, qdd, rtol=1e-6, atol=1e-6)
    with pytest.raises(rbd_ros.RbdError, match='has no method "sparse" for this robot'):
        made.forward_dynamics(q, qdd, qdd, method='sparse')


def test_what_is_no_hinged_mechanism():
    """A slider, a ball in space or an axis in the plane is not."""
    assert hinged.is_hinged(mechanisms.five_bar().model)
    assert not hinged.is_hinged(mechanisms.delta().model)
    assert not hinged.is_hinged(mechanisms.four_bar(0.9, Prismatic()).model)
    tilted = mechanisms.four_bar(0.9, Revolute((0.0, 1.0, 0.0))).model
    assert not hinged.is_hinged(tilted)
    with pytest.raises(rbd_ros.ModelError, match='is not a planar mechanism of hinges'):
        hinged.forward_dynamics(tilted, [0.0] * 3, [0.0] * 3, [0.0] * 3, None, (0.0, 0.0))


# --- over time --------------------------------------------------------------------------------


@pytest.mark.seed('RBDA 8-11')
def test_weld_behind_a_massless_body():
    """A hinge of the tree on a massless body, welded on: a loop joint of any type (8.3)."""
    model = mechanisms.four_bar().model
    builder = rbd_ros.ModelBuilder('universal', gravity=mechanisms.DOWN)
    for i in range(1, 4):
        builder.add_body(f'bar_{i}', f'bar_{i - 1}' if i > 1 else 'base', Revolute(),
                         model.X_T[i], model.inertia[i], joint_name=f'joint_{i}')
    builder.add_body('pin', 'bar_3', Revolute(), xlt(0.6, 0.0, 0.0), joint_name='massless')
    builder.add_loop_joint('weld', 'base', 'pin', Fixed(), xlt(0.9, 0.0, 0.0))
    made = rbd_ros.Dynamics(builder.build(), backend='python')
    q = np.array([0.9, -0.4262239867, -2.0418464295])
    qd = np.array([1.3, -1.641238173, 0.6428154012])
    found = made.loop_dynamics([*q, -q.sum()], [*qd, -qd.sum()], [0.7, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(found.qdd, [-16.3136955852, 21.1345466729, -7.6139929082,
                                           2.79314182], atol=1e-6)
    assert found.method == 'projection' and made.loop_report.mobility == 1
    np.testing.assert_allclose(
        made.forward_dynamics([*q, -q.sum()], [*qd, -qd.sum()], [0.7, 0.0, 0.0, 0.0]), found.qdd,
        rtol=1e-12)
