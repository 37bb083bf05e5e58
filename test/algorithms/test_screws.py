# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The screw-theory chapter of Lynch and Park against ``modern_robotics`` and our own code."""

from __future__ import annotations

import math

import numpy as np
import pytest
import rbd_ros
from rbd_ros import compiler
from rbd_ros.algorithms.other_forms import screw_matrices, screws
from rbd_ros.errors import ModelError, ShapeError, SingularError
from rbd_ros.joints import Revolute, RollPitchYaw, Spherical
from rbd_ros.model import screw_tree
from rbd_ros.samples import families
from rbd_ros.spatial import exponential, Force, Motion, RigidInertia, Sym3, Transform, Vec3
from rbd_ros.spatial.matrices import crm, inertia_matrix, motion_matrix
from scipy.linalg import expm
from spatial_oracle import array, assert_close, columns, derivative, Sampler

ONE_AXIS = ('revolute', 'prismatic', 'helical')
ZERO = Vec3.zero()


def peer():
    """Return the reference implementation of the book."""
    return pytest.importorskip('modern_robotics')


class Case:
    """A model, the same robot as screws, and a random state."""

    def __init__(self, model, seed=0, **options):
        self.model, self.tree = model, screw_tree.from_model(model, **options)
        self.robot = rbd_ros.Dynamics(model, backend='reference')
        rng = np.random.default_rng(seed)
        n = self.tree.n
        self.th, self.thd, self.thdd, self.tau = rng.normal(size=(4, n)).tolist()
        self.F = Force.from_list(rng.normal(size=6).tolist())
        self.V0, self.Vd0 = (Motion.from_list(row) for row in rng.normal(size=(2, 6)).tolist())

    def ours(self, x):
        """Return a vector over links in the order of the model."""
        out = np.zeros(len(x))
        out[list(self.tree.order)] = x
        return out


@pytest.fixture(scope='module')
def chain():
    """Return a chain of six: revolute, prismatic and helical joints, general geometry."""
    return Case(families.random_tree(6, 4, joints=ONE_AXIS, branching=0.0))


@pytest.fixture(scope='module')
def branched():
    """Return a tree whose joints of several freedoms become several screws."""
    return Case(families.random_tree(
        5, 11, joints=('revolute', 'universal', 'roll_pitch_yaw', 'cylindrical', 'translation'),
        branching=0.7))


def masses():
    """Return the 2R arm with masses at the ends of its links, as the book's lists."""
    L1, L2, m1, m2 = 1.0, 0.5, 2.0, 1.0
    M = [np.eye(4) for _ in range(3)]
    M[0][0, 3], M[1][0, 3] = L1, L2
    G = [np.diag([0.0, 0.0, 0.0, m, m, m]) for m in (m1, m2)]
    S = np.array([[0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0, -L1, 0.0]]).T
    return screw_tree.from_lists(M, G, S, gravity=(0.0, -9.81, 0.0))


# --- the algebra ------------------------------------------------------------------------------


@pytest.mark.seed('MR A12', 'MR A13', 'SPENCER 52', 'SPENCER 53', 'SPENCER 54')
def test_bracket_is_the_commutator():
    """ad_V W is the commutator of the 4x4 matrices, ad_V^T its transpose on wrenches."""
    s = Sampler(1)
    V, W, U, F = s.motion(), s.motion(), s.motion(), s.force()
    hV, hW = np.array(exponential.hat(V)), np.array(exponential.hat(W))
    bracket = exponential.vee((hV @ hW - hW @ hV).tolist())
    assert_close(array(V.cross(W)), array(bracket))
    assert_close(np.array(screw_matrices.adjoint(V)) @ array(W), array(bracket))
    assert_close(array(V.cross(W)), -array(W.cross(V)))
    jacobi = array(V.cross(W.cross(U))) + array(W.cross(U.cross(V))) + array(U.cross(V.cross(W)))
    assert_close(jacobi, np.zeros(6), 1e-13)
    adT = np.array(screw_matrices.adjoint(V)).T @ array(F)
    assert_close(-array(V.cross(F)), adT)
    m, f, w, v = (np.array(x.to_list()) for x in (F.ang, F.lin, V.ang, V.lin))
    assert_close(adT, np.r_[-np.cross(w, m) - np.cross(v, f), -np.cross(w, f)])
    mr = peer()
    assert_close(screw_matrices.adjoint(V), mr.ad(array(V)))
    assert_close(exponential.hat(V), mr.VecTose3(array(V)))


@pytest.mark.seed('MR A39')
@pytest.mark.parametrize('angle', [0.0, 1e-9, 1e-3, 0.7, 3.0])
def test_exponential_logarithm_and_adjoint(angle):
    """exp, log, Ad and the change of frame of wrenches are those of the book's own code."""
    mr = peer()
    s = Sampler(3)
    w = np.array(s.vector())
    A = Motion.from_list([*(w / np.linalg.norm(w)), *s.vector()])
    X = exponential.displacement(A, angle)
    T = expm(mr.VecTose3(array(A) * angle))
    T[3] = [0.0, 0.0, 0.0, 1.0]
    assert_close(exponential.homogeneous(X), T, 1e-13)
    assert_close(motion_matrix(X), mr.Adjoint(mr.TransInv(T)), 1e-13)
    assert_close(array(exponential.from_homogeneous(T)), array(X), 1e-13)
    assert_close(array(exponential.displacement_vector(X)), array(A) * angle, 1e-13)
    if angle > 1e-3:                    # the book's code takes angles below 1e-6 for zero
        assert_close(exponential.homogeneous(X), mr.MatrixExp6(mr.VecTose3(array(A) * angle)),
                     1e-13)
        assert_close(array(exponential.displacement_vector(X)), mr.se3ToVec(mr.MatrixLog6(T)),
                     1e-12)
    # a general axis, as a traced one is taken, gives the same displacement
    graph = compiler.trace(
        lambda a, t: exponential.displacement(Motion.from_list(a), t).to_list(),
        {'a': 6, 't': ()})
    assert_close(np.array(graph.evaluate(array(A).tolist(), [angle])).reshape(6, 6),
                 motion_matrix(X), 1e-13)
    V, F = s.motion(), s.force()
    assert X.inv_apply(F).dot(V) == pytest.approx(F.dot(X @ V), rel=1e-12)
    assert_close(array(X.inv_apply(F)), mr.Adjoint(mr.TransInv(T)).T @ array(F))


def test_poses_are_checked():
    """A matrix that is no pose is refused."""
    for wrong in (np.eye(3), np.diag([1.0, 1.0, -1.0, 1.0]), np.diag([1.0, 1.0, 1.1, 1.0]),
                  np.eye(4) * 2.0):
        with pytest.raises(ModelError, match='pose'):
            exponential.from_homogeneous(wrong.tolist())
    half = exponential.displacement_vector(
        Transform(exponential.rotation(Vec3(0.0, 0.0, math.pi)).T, Vec3(0.0, 2.0, 0.0)))
    assert_close(array(half), [0.0, 0.0, math.pi, math.pi, 0.0, 0.0], 1e-12)


@pytest.mark.seed('MR A08', 'MR A10', 'MR A11', 'MR A14')
def test_one_rigid_body():
    """Newton's and Euler's laws in the body frame are F = G Vd - ad_V^T G V, in any frame."""
    s = Sampler(5)
    m, _, I_c = s.com_form()
    I_b = Sym3.from_matrix(I_c.tolist())
    G = RigidInertia.from_com(m, ZERO, I_b)
    V, Vd = s.motion(), s.motion()
    moment, force = screws.newton_euler_3d(m, I_b, V.ang, V.lin, Vd.ang, Vd.lin)
    F = screws.rigid_body_wrench(G, V, Vd)
    assert_close(array(F), [*moment, *force])
    w, v, wd, vd = (np.array(x.to_list()) for x in (V.ang, V.lin, Vd.ang, Vd.lin))
    assert_close(array(force), m * (vd + np.cross(w, v)))
    assert_close(array(moment), I_c @ wd + np.cross(w, I_c @ w))
    # momentum, energy, and the block-diagonal inertia of a frame at the centre of mass
    P = G @ V
    assert_close(array(P), np.r_[I_c @ w, m * v])
    assert_close(inertia_matrix(G), np.block([[I_c, np.zeros((3, 3))],
                                              [np.zeros((3, 3)), m * np.eye(3)]]))
    assert 0.5 * V.dot(P) == pytest.approx(0.5 * m * v @ v + 0.5 * w @ I_c @ w, rel=1e-13)
    # away from the centre of mass the law is the same with the full 6x6 inertia
    X = s.transform()
    assert_close(array(screws.rigid_body_wrench(X @ G, X @ V, X @ Vd)), array(X @ F), 1e-11)
    # the wrench is the rate of the momentum seen at rest: d/dt of exp(V t) carried back
    moved = derivative(lambda t: array(exponential.displacement(V, t).inv_apply(
        G @ Motion.from_list((array(V) + t * array(Vd)).tolist()))))
    assert_close(array(F), moved, 1e-9)


# --- kinematics -------------------------------------------------------------------------------


@pytest.mark.seed('MR A15', 'MR A16', 'SPENCER 60')
def test_forward_kinematics(chain):
    """Link by link and by exponentials in space, the tool is where the book's code puts it."""
    mr, tree = peer(), chain.tree
    lists = screw_tree.to_lists(tree)
    T = mr.FKinSpace(lists.end, lists.S, np.array(chain.th))
    X = screws.product_of_exponentials(tree, chain.th)
    assert_close(exponential.homogeneous(X), T)
    assert_close(array(tree.tip[1] @ screws.placements(tree, chain.th)[6]), array(X))
    B = np.array([array(lists_axis) for lists_axis in tree.space_screws()]).T
    assert_close(B, lists.S)
    assert_close(exponential.homogeneous(X), chain.robot.pose(chain.th, 'body_6'))
    # A_i = Ad(M_i^-1) S_i; with the frame of the link before, the product would be another
    T_1 = np.eye(4)
    for i in range(1, 4):
        T_1 = T_1 @ lists.M[i - 1]
        A = mr.Adjoint(mr.TransInv(T_1)) @ lists.S[:, i - 1]
        assert_close(array(tree.A[i]), A)


@pytest.mark.seed('MR A23', 'MR A17', 'SPENCER 55', 'SPENCER 56')
def test_jacobians_and_twists(chain, branched):
    """J_ib thd is the twist of each link; T^-1 dT/dt says the same."""
    mr, tree = peer(), chain.tree
    lists = screw_tree.to_lists(tree)
    B = mr.Adjoint(mr.TransInv(lists.end)) @ lists.S
    assert_close(columns(screws.body_jacobian(tree, chain.th)), mr.JacobianBody(B, chain.th))
    assert_close(columns(screws.space_jacobian(tree, chain.th)),
                 mr.JacobianSpace(lists.S, chain.th))
    for case in (chain, branched):
        tree, thd = case.tree, np.array(case.thd)
        V = screws.newton_euler(tree, case.th, case.thd, None).V

        def pose(t, link, tree=tree, case=case):
            at = (np.array(case.th) + t * np.array(case.thd)).tolist()
            return np.array(exponential.homogeneous(screws.placements(tree, at)[link]))
        for link in range(1, tree.n + 1):
            assert_close(columns(screws.body_jacobian(tree, case.th, link)) @ thd, array(V[link]))
            hat = np.linalg.inv(pose(0.0, link)) @ derivative(lambda t: pose(t, link))
            assert_close(exponential.hat(V[link]), hat, 1e-9)
        rate = derivative(lambda t, tree=tree, case=case: columns(screws.body_jacobian(
            tree, (np.array(case.th) + t * np.array(case.thd)).tolist())))
        assert_close(columns(screws.body_jacobian_rate(tree, case.th, case.thd)), rate, 1e-9)


# --- the recursion ----------------------------------------------------------------------------


@pytest.mark.seed('MR A20', 'MR A21', 'MR A28', 'MR A18')
def test_recursion_is_that_of_the_book(chain):
    """Joint forces of every part are those of modern_robotics, the wrench at the tool included."""
    mr, tree = peer(), chain.tree
    M, G, S = screw_tree.to_lists(tree)
    g, F = np.array(tree.gravity.to_list()), array(chain.F)
    th, thd, thdd = chain.th, chain.thd, chain.thdd
    found = screws.newton_euler(tree, th, thd, thdd, wrench_on_environment=chain.F)
    assert_close(found.tau, mr.InverseDynamics(np.array(th), np.array(thd), np.array(thdd), g, F,
                                               M, G, S), 1e-11)
    without = screws.newton_euler(tree, th, thd, thdd).tau
    assert_close(np.subtract(found.tau, without), screws.tip_force(tree, th, chain.F), 1e-11)
    assert_close(screws.tip_force(tree, th, chain.F),
                 columns(screws.body_jacobian(tree, th)).T @ F, 1e-12)
    closed = screw_matrices.closed_form(tree, th, thd)
    assert_close(np.array(closed.M) @ thdd + closed.c + closed.g
                 + screws.tip_force(tree, th, chain.F), found.tau, 1e-11)


@pytest.mark.seed('MR A01', 'MR A19')
def test_recursion_is_ours(chain, branched):
    """A robot as screws has the torques of its model: chains, trees, joints of many screws."""
    for case in (chain, branched):
        q, qd, qdd = (case.ours(x) for x in (case.th, case.thd, case.thdd))
        tau = screws.newton_euler(case.tree, case.th, case.thd, case.thdd).tau
        assert_close(case.ours(tau), case.robot.inverse_dynamics(q, qd, qdd), 1e-11)
        g = screws.newton_euler(case.tree, case.th, [0.0] * case.tree.n, None).tau
        assert_close(case.ours(g), case.robot.gravity(q), 1e-11)
        slope = [derivative(lambda t, k=k, case=case: screws.potential_energy(
            case.tree, [x + t * (i == k) for i, x in enumerate(case.th)]))
            for k in range(case.tree.n)]
        assert_close(g, slope, 1e-9)
        back = screws.joint_acceleration(case.tree, case.th, case.thd, tau)
        assert_close(back, case.thdd, 1e-9)


@pytest.mark.seed('MR A22')
def test_moving_base(chain):
    """A base in motion is a free joint held at that motion."""
    tree = chain.tree
    builder = rbd_ros.ModelBuilder('carried')
    rng = np.random.default_rng(0)
    builder.add_body('cart', 'base', rbd_ros.joints.Free(), None, families.random_inertia(rng))
    model = chain.model
    for i in range(1, 7):
        builder.add_body(model.body_names[i], 'cart' if i == 1 else model.body_names[i - 1],
                         model.joint[i], model.X_T[i], model.inertia[i])
    carried = rbd_ros.Dynamics(builder.build(), backend='reference')
    q = np.r_[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, chain.th]
    tau = carried.inverse_dynamics(q, np.r_[array(chain.V0), chain.thd],
                                   np.r_[array(chain.Vd0), chain.thdd])
    found = screws.newton_euler(tree, chain.th, chain.thd, chain.thdd, base_velocity=chain.V0,
                                base_acceleration=chain.Vd0)
    assert_close(found.tau, tau[6:], 1e-11)


@pytest.mark.seed('MR A24', 'MR A37', 'MR A05')
def test_mass_matrix_three_ways(chain, branched):
    """Sums of J'GJ, unit accelerations and composite bodies give one M; K is its form."""
    mr = peer()
    M, G, S = screw_tree.to_lists(chain.tree)
    assert_close(screws.mass_matrix(chain.tree, chain.th),
                 mr.MassMatrix(np.array(chain.th), M, G, S), 1e-11)
    for case in (chain, branched):
        found = np.array(screws.mass_matrix(case.tree, case.th))
        assert_close(screws.mass_matrix_by_columns(case.tree, case.th), found, 1e-11)
        H = case.robot.mass_matrix(case.ours(case.th))
        assert_close(found, H[np.ix_(case.tree.order, case.tree.order)], 1e-11)
        K = screws.kinetic_energy(case.tree, case.th, case.thd)
        assert K == pytest.approx(0.5 * np.array(case.thd) @ found @ case.thd, rel=1e-12)
        assert K == pytest.approx(case.robot.kinetic_energy(
            case.ours(case.th), case.ours(case.thd)), rel=1e-12)


@pytest.mark.seed('MR A32')
def test_bias_needs_no_inverse(chain):
    """The bias b is the inverse dynamics at zero acceleration: tau - M thdd."""
    b = screws.newton_euler(chain.tree, chain.th, chain.thd, None).tau
    tau = screws.newton_euler(chain.tree, chain.th, chain.thd, chain.thdd).tau
    M = np.array(screws.mass_matrix(chain.tree, chain.th))
    assert_close(b, np.array(tau) - M @ chain.thdd, 1e-10)
    assert_close(b, chain.robot.bias(chain.th, chain.thd), 1e-11)


# --- the closed form --------------------------------------------------------------------------


@pytest.mark.seed('MR A25')
def test_stacked_matrices(chain):
    """Gamma is nilpotent, L its finite sum with Ad(T_ij) in its blocks."""
    tree = chain.tree
    A, G, Gamma, L = (np.array(x) for x in screw_matrices.stacked(tree, chain.th))
    assert not np.linalg.matrix_power(Gamma, 6).any() and np.linalg.matrix_power(Gamma, 5).any()
    assert_close(L, np.linalg.inv(np.eye(36) - Gamma), 1e-12)
    X = screws.placements(tree, chain.th)
    for i in range(1, 7):
        assert_close(G[6 * i - 6:6 * i, 6 * i - 6:6 * i], inertia_matrix(tree.G[i]))
        for j in range(1, i + 1):
            Ad = motion_matrix(X[i] @ X[j].inverse())
            assert_close(L[6 * i - 6:6 * i, 6 * j - 6:6 * j], Ad, 1e-12)
        J = (L @ A)[6 * i - 6:6 * i]
        assert_close(J, columns(screws.body_jacobian(tree, chain.th, i)), 1e-12)
    V = screws.newton_euler(tree, chain.th, chain.thd, None).V[1:]
    blocks = np.array(screw_matrices.adjoints(V))
    assert_close(blocks[6:12, 6:12], crm(V[1]))
    assert not blocks[6:12, :6].any()


@pytest.mark.seed('MR A26')
def test_stacked_recursions(chain, branched):
    """All links at once give V, Vd, F of the recursion, on a base that moves."""
    for case in (chain, branched):
        given = {'base_velocity': case.V0, 'base_acceleration': case.Vd0,
                 'wrench_on_environment': case.F}
        one = screws.newton_euler(case.tree, case.th, case.thd, case.thdd, **given)
        all_ = screw_matrices.stacked_recursion(case.tree, case.th, case.thd, case.thdd, **given)
        for name in ('V', 'Vd', 'F'):
            stacked = [x for each in getattr(one, name)[1:] for x in each.to_list()]
            assert_close(getattr(all_, name), stacked, 1e-11)
        assert_close(all_.tau, one.tau, 1e-11)


@pytest.mark.seed('MR A27')
def test_closed_form(chain):
    """M, c and g of the closed form are those of modern_robotics."""
    mr = peer()
    M, G, S = screw_tree.to_lists(chain.tree)
    th, thd, g = np.array(chain.th), np.array(chain.thd), np.array(chain.tree.gravity.to_list())
    found = screw_matrices.closed_form(chain.tree, chain.th, chain.thd)
    assert_close(found.M, mr.MassMatrix(th, M, G, S), 1e-11)
    assert_close(found.c, mr.VelQuadraticForces(th, thd, M, G, S), 1e-11)
    assert_close(found.g, mr.GravityForces(th, g, M, G, S), 1e-11)


# --- forward dynamics -------------------------------------------------------------------------


@pytest.mark.seed('MR A33')
def test_joint_acceleration(chain):
    """The accelerations are those of ForwardDynamics of modern_robotics and our ABA."""
    mr = peer()
    M, G, S = screw_tree.to_lists(chain.tree)
    g, F = np.array(chain.tree.gravity.to_list()), array(chain.F)
    found = screws.joint_acceleration(chain.tree, chain.th, chain.thd, chain.tau,
                                      wrench_on_environment=chain.F)
    expected = mr.ForwardDynamics(*(np.array(x) for x in (chain.th, chain.thd, chain.tau)), g, F,
                                  M, G, S)
    assert_close(found, expected, 1e-9)
    free = screws.joint_acceleration(chain.tree, chain.th, chain.thd, chain.tau)
    assert_close(free, chain.robot.forward_dynamics(chain.th, chain.thd, chain.tau, method='aba'),
                 1e-9)


@pytest.mark.seed('MR A31', 'MR A34')
def test_euler_integration():
    """The free fall of the 2R arm has the errors of a first-order rule: known, and halving."""
    tree = masses()
    exact = np.array([-0.827909768128, 1.130357289139, -3.637855064642, -3.990045097797])
    errors = []
    for h in (1e-2, 5e-3):
        steps = round(0.5 / h)
        th, thd = screws.euler_integration(
            tree, [0.3, 0.7], [0.0, 0.0], lambda k, th, thd: [0.0, 0.0], h, steps)
        assert len(th) == len(thd) == steps + 1 and th[0] == [0.3, 0.7] and thd[0] == [0.0, 0.0]
        errors.append(np.abs(np.r_[th[-1], thd[-1]] - exact).max())
    assert_close(errors, [0.3986, 0.1967], 1e-4)


# --- task space -------------------------------------------------------------------------------


@pytest.mark.seed('MR A35', 'MR A36')
def test_task_space(chain):
    """J^T (Lambda Vd + eta) is tau, in the frame of the tool and in base coordinates."""
    tree = chain.tree
    space = screw_matrices.task_space(tree, chain.th, chain.thd)
    J = np.array(space.J)
    V = Motion.from_list((J @ chain.thd).tolist())
    Vd = Motion.from_list((J @ chain.thdd + np.array(space.Jd) @ chain.thd).tolist())
    tau = screws.newton_euler(tree, chain.th, chain.thd, chain.thdd).tau
    F = np.array(space.Lambda) @ array(Vd) + space.eta
    assert_close(J.T @ F, tau, 1e-9)
    thd, thdd = screw_matrices.joint_motion(tree, chain.th, V, Vd)
    assert_close(thd, chain.thd, 1e-9)
    assert_close(thdd, chain.thdd, 1e-9)
    # square J: the book's own formulas
    back = np.linalg.inv(J)
    Lambda = back.T @ np.array(screws.mass_matrix(tree, chain.th)) @ back
    assert_close(space.Lambda, Lambda, 1e-8)
    X = screws.product_of_exponentials(tree, chain.th).inverse()
    in_base, eta = screw_matrices.in_other_frame(space, X)
    J_s = columns(screws.space_jacobian(tree, chain.th))
    assert_close(J_s.T @ (np.array(in_base) @ array(X @ Vd) + eta), tau, 1e-8)
    assert_close(in_base, np.linalg.inv(J_s @ np.linalg.inv(
        np.array(screws.mass_matrix(tree, chain.th))) @ J_s.T), 1e-7)
    ours = chain.robot.operational_space(chain.th, chain.thd, 'body_6')
    assert_close(space.Lambda, ours.Lambda, 1e-8)
    with pytest.raises(SingularError, match='determines 6 joints, the robot has 2'):
        screw_matrices.joint_motion(masses(), [0.3, 0.7], V, Vd)


@pytest.mark.seed('MR A36')
def test_task_space_of_two_masses():
    """Lambda and eta of the tip in the plane have the exact numbers of their closed form."""
    tree, th, thd = masses(), [0.3, 0.7], [0.5, -1.2]
    plane = ((0.0, 0.0, 0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 1.0, 0.0))
    space = screw_matrices.task_space(tree, th, thd, rows=plane)
    c, s = math.cos(1.0), math.sin(1.0)
    R = np.array([[c, -s], [s, c]])
    Lambda = R @ np.array(space.Lambda) @ R.T
    assert_close(Lambda, [[2.406819401084712, 2.190991402443713],
                          [2.190991402443713, 4.412266934818317]], 1e-13)
    # of components that do not turn the acceleration is w x v more
    v = R @ np.array(space.J) @ thd
    spin = sum(thd) * np.array([-v[1], v[0]])
    assert_close(v, [0.146754741352094, 0.2885624375089541], 1e-13)
    assert_close(R @ space.eta - Lambda @ spin, [16.85604260341432, 36.06173095766960], 1e-12)


# --- converters -------------------------------------------------------------------------------


def test_round_trip_through_lists(chain):
    """Model to M_i, S_i, G_i, to a tree, to a model: the same robot with the same torques."""
    lists = screw_tree.to_lists(chain.tree)
    tree = screw_tree.from_lists(*lists, gravity=chain.model.gravity)
    for name in ('M', 'A'):
        for one, other in zip(getattr(tree, name), getattr(chain.tree, name), strict=True):
            assert_close(array(one), array(other), 1e-13)
    model = screw_tree.to_model(tree)
    robot = rbd_ros.Dynamics(model, backend='reference')
    assert_close(robot.inverse_dynamics(chain.th, chain.thd, chain.thdd),
                 chain.robot.inverse_dynamics(chain.th, chain.thd, chain.thdd), 1e-11)
    assert_close(robot.pose(chain.th, 'tool'), chain.robot.pose(chain.th, 'body_6'), 1e-13)
    kinds = [type(joint) for joint in model.joint[1:]]
    assert kinds == [type(joint) for joint in chain.model.joint[1:]]


def test_trees_round_trip_too(branched):
    """A branched model as screws and back has the same torques; as lists it is refused."""
    robot = rbd_ros.Dynamics(screw_tree.to_model(branched.tree), backend='reference')
    order = robot.model.velocity_order([f'joint_{i}' for i in range(1, branched.tree.n + 1)])
    inverse = np.argsort(order)
    tau = robot.inverse_dynamics(*(np.array(x)[inverse] for x in (
        branched.th, branched.thd, branched.thdd)))[order]
    assert_close(tau, screws.newton_euler(
        branched.tree, branched.th, branched.thd, branched.thdd).tau, 1e-11)
    with pytest.raises(ModelError, match='describe a chain with the tool at its end'):
        screw_tree.to_lists(branched.tree)


def test_frames_of_the_links_do_not_matter(chain):
    """Frames at the joints in place of the centres of mass leave every torque as it is."""
    other = screw_tree.from_model(chain.model, at_com=False)
    assert any(abs(x) > 1e-3 for x in other.G[1].h)
    assert_close([x for G in chain.tree.G for x in G.h], np.zeros(21), 1e-15)
    assert_close(screws.newton_euler(other, chain.th, chain.thd, chain.thdd).tau,
                 screws.newton_euler(chain.tree, chain.th, chain.thd, chain.thdd).tau, 1e-11)


def one_body(joint):
    """Return a body on a joint."""
    builder = rbd_ros.ModelBuilder('one')
    builder.add_body('body', 'base', joint, None, families.random_inertia(
        np.random.default_rng(0)), joint_name='neck')
    return builder.build()


def test_what_is_no_screw_is_refused():
    """The message names the joint, the matrix or the axis."""
    with pytest.raises(ModelError, match=r'joint "neck" \(spherical\) is no product of constant'):
        screw_tree.from_model(one_body(Spherical()))
    with pytest.raises(ModelError, match='"neck" .* is no product of constant screws'):
        screw_tree.from_model(one_body(rbd_ros.joints.RackAndPinion(0.2)))
    assert screw_tree.from_model(one_body(RollPitchYaw())).order == (2, 1, 0)
    good = screw_tree.to_lists(screw_tree.from_model(one_body(Revolute())))
    with pytest.raises(ShapeError, match='1 inertias need a 6 x 1 matrix'):
        screw_tree.from_lists(good.M, good.G, np.zeros((6, 2)))
    with pytest.raises(ModelError, match='G_1 is not the inertia of a rigid body'):
        screw_tree.from_lists(good.M, [np.diag([1.0, 1.0, 1.0, 1.0, 2.0, 1.0])], good.S)
    with pytest.raises(ModelError, match='screw axis of joint 1 has length 2'):
        screw_tree.to_model(screw_tree.from_lists(good.M, good.G, 2.0 * good.S))


def test_recursion_compiles(chain):
    """The traced recursion gives the same numbers, for fewer operations than a dense form."""
    tree = chain.tree
    graph = compiler.trace(
        lambda th, thd, thdd: {'tau': screws.newton_euler(tree, th, thd, thdd).tau},
        {'th': 6, 'thd': 6, 'thdd': 6}, name='screws')
    kernel = compiler.compile(graph, backend='python')
    assert_close(kernel(chain.th, chain.thd, chain.thdd),
                 screws.newton_euler(tree, chain.th, chain.thd, chain.thdd).tau, 1e-12)
    forward = compiler.trace(
        lambda th, thd, tau: {'thdd': screws.joint_acceleration(tree, th, thd, tau)},
        {'th': 6, 'thd': 6, 'tau': 6}, name='accelerations')
    assert_close(forward.evaluate(chain.th, chain.thd, chain.tau),
                 screws.joint_acceleration(tree, chain.th, chain.thd, chain.tau), 1e-9)
    task = compiler.trace(
        lambda th, thd: {'eta': screw_matrices.task_space(tree, th, thd).eta},
        {'th': 6, 'thd': 6}, name='task')
    assert_close(task.evaluate(chain.th, chain.thd),
                 screw_matrices.task_space(tree, chain.th, chain.thd).eta, 1e-8)
    closed = compiler.trace(
        lambda th, thd: screw_matrices.closed_form(tree, th, thd)._asdict(),
        {'th': 6, 'thd': 6}, name='closed')
    assert graph.count().total < closed.count().total
