# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The Coriolis matrix, Christoffel symbols and centroidal momentum, against other libraries."""

from hypothesis import given
import numpy as np
import peer
import pinocchio as pin
import pytest
import rbd_ros
from rbd_ros.algorithms import christoffel, coriolis, crba, rnea
from rbd_ros.algorithms.kinematics import Conditions, links
from rbd_ros.joints import Prescribed, Revolute
from rbd_ros.model import positions
from rbd_ros.peers.pinocchio_robot import SWAP
from rbd_ros.samples import families
from rbd_ros.spatial import RigidInertia, Vec3
from tree_oracle import assert_near, DenseTree, examples, SEEDS, State, TREES

few = examples(25)
KINDS = sorted(families.JOINTS)


def matrix(model, s):
    """Return C at a state, uncompiled."""
    q = s.q.tolist()
    return np.array(coriolis.coriolis_matrix(model, links(model, q), q, s.qd.tolist()))


def rate(model, s, function, step=1e-5):
    """Return the derivative of a function of q along qd, by differences of fourth order."""
    def at(scale):
        moved = positions.integrate(model, s.q.tolist(), (scale * step * s.qd).tolist())
        return np.asarray(function(list(moved)), float)
    return (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * step)


@few
@given(TREES, SEEDS)
def test_product_is_the_bias_force(model, seed):
    """C qd is the bias force without gravity, for all joints and branched trees."""
    s = State(model, seed)
    q, qd = s.q.tolist(), s.qd.tolist()
    expected = rnea.rnea(model, q, qd, None, Conditions(Vec3.zero())).tau
    assert_near(matrix(model, s) @ s.qd, expected, scale=1e-3)


@pytest.mark.parametrize('kind', KINDS)
def test_inertia_grows_by_twice_the_symmetric_part(kind):
    """The difference dH/dt - 2 C is skew, so C + C^T is the rate of H; for each joint type."""
    model = families.random_tree(3, 5, joints=(kind, 'revolute'), aligned=0.0)
    s = State(model, 3)
    C = matrix(model, s)
    H_dot = rate(model, s, lambda q: crba.crba(model, links(model, q)))
    # Fourth-order differences at a step of 1e-5 leave 1e-9 of a matrix of size ten.
    assert_near(C + C.T, H_dot, scale=1.0, limit=1e-8)


@pytest.mark.seed('RBDA 5-03', 'RBDA 5-10')
@few
@given(TREES.filter(lambda model: model.nv <= 16), SEEDS)
def test_matrix_is_the_one_of_the_christoffel_symbols(model, seed):
    """The recursion and the derivatives of H give the same matrix, quasi-velocities included."""
    s = State(model, seed)
    Gamma = np.array(christoffel.christoffel_symbols(model, s.q.tolist()))
    assert_near(matrix(model, s), Gamma @ s.qd, scale=1e-3)


def test_both_parts_with_a_ball_joint():
    """Centrifugal is what each velocity does alone, and with Coriolis it is all of C qd."""
    model = families.random_tree(3, 5, joints=('spherical', 'revolute'), aligned=0.0)
    s = State(model, 6)
    Gamma = christoffel.christoffel_symbols(model, s.q.tolist())
    assert np.abs(np.array(Gamma) - np.swapaxes(Gamma, 1, 2)).max() > 0.01    # not symmetric
    centrifugal, crossed = christoffel.split(Gamma, s.qd.tolist())
    q, tree, whole = s.q.tolist(), links(model, s.q.tolist()), matrix(model, s) @ s.qd
    alone = sum(np.array(coriolis.coriolis_matrix(model, tree, q, part.tolist())) @ part
                for part in np.diag(s.qd))
    assert_near(centrifugal, alone)
    assert_near(np.add(centrifugal, crossed), whole)


@few
@given(TREES, SEEDS)
def test_momentum_about_the_centre_of_mass(model, seed):
    """A qd is the sum of I v about the centre of mass, of bodies one by one."""
    s = State(model, seed)
    dense = DenseTree(model, s.q, s.qd)
    h = sum(dense.I[i] @ dense.v[i] for i in dense.bodies)
    first = sum(dense.I[i] for i in dense.bodies)[:3, 3:]
    com = np.array([first[2, 1], first[0, 2], first[1, 0]]) / model.total_mass
    h[:3] -= np.cross(com, h[3:])
    columns = coriolis.centroidal_momentum_matrix(model, links(model, s.q.tolist()))
    A = np.array([column.to_list() for column in columns]).T
    assert_near(A @ s.qd, h, scale=1e-3)


@pytest.mark.parametrize('kind', KINDS)
def test_rate_of_the_momentum_matrix(kind):
    """The columns of dA/dt are the derivatives of those of A, for each joint type."""
    model = families.random_tree(4, 8, joints=(kind, 'revolute'), aligned=0.0)
    s = State(model, 4)
    q, qd = s.q.tolist(), s.qd.tolist()
    rates = coriolis.centroidal_momentum_rate(model, links(model, q), q, qd)

    def A(q):
        return [column.to_list() for column in coriolis.centroidal_momentum_matrix(
            model, links(model, q))]
    assert_near([column.to_list() for column in rates], rate(model, s, A), scale=1.0, limit=1e-8)


@pytest.fixture(scope='module', params=[False, True], ids=['fixed', 'floating'])
def pair(request):
    """Return a compiled arm, on a fixed and on a floating base, and Pinocchio's twin."""
    return peer.arm_and_twin(request.param)


def test_against_pinocchio(pair):
    """Compiled C, A and dA/dt are those of Pinocchio, angular rows first."""
    robot, twin = pair
    s = State(robot.model, 11)
    y, v, B = twin.position(s.q), twin.B @ s.qd, twin.B
    C = B.T @ pin.computeCoriolisMatrix(twin.pin, twin.data, y, v) @ B
    assert_near(robot.coriolis_matrix(s.q, s.qd), C)
    A = pin.ccrba(twin.pin, twin.data, y, v)[SWAP] @ B
    assert_near(robot.centroidal_momentum_matrix(s.q), A)
    A_dot = pin.dccrba(twin.pin, twin.data, y, v)[SWAP] @ B
    assert_near(robot.centroidal_momentum_matrix_rate(s.q, s.qd), A_dot)


def test_refusals():
    """A joint that moves with time has no C, a robot without mass no centre of mass."""
    builder = rbd_ros.ModelBuilder('wave')
    swing = Prescribed(Revolute((0, 0, 1)), lambda t: ([t], [1.0], [0.0]))
    builder.add_body('a', 'base', swing, None,
                     families.random_inertia(np.random.default_rng(0)), joint_name='swing')
    robot = rbd_ros.Dynamics(builder.build(), backend='reference')
    with pytest.raises(rbd_ros.ModelError, match='"swing" of "wave" moves with time'):
        robot.coriolis_matrix(np.zeros(robot.model.nq), np.zeros(robot.model.nv))
    with pytest.raises(rbd_ros.ModelError, match='no Christoffel symbols'):
        robot.christoffel_symbols(np.zeros(robot.model.nq))
    light = rbd_ros.ModelBuilder('ghost')
    light.add_body('a', 'base', Revolute((0, 0, 1)), None, RigidInertia.zero())
    robot = rbd_ros.Dynamics(light.build(), backend='python', cache=False)
    with pytest.raises(rbd_ros.SingularError, match='no centre of mass'):
        robot.centroidal_momentum_matrix([0.0])


def test_nothing_moves():
    """A robot without joints has empty matrices of the right shape."""
    builder = rbd_ros.ModelBuilder('rock')
    robot = rbd_ros.Dynamics(builder.build(), backend='python', cache=False)
    none = np.zeros(0)
    assert robot.coriolis_matrix(none, none).shape == (0, 0)
    assert robot.christoffel_symbols(none).shape == (0, 0, 0)
