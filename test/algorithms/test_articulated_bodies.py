# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Articulated bodies (RBDA 7): properties, subtrees, two bodies."""

from hypothesis import given
import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms import aba
from rbd_ros.algorithms.kinematics import Conditions, links, velocities, velocity_products
from rbd_ros.joints import Composite, Fixed, Prismatic, Revolute
from rbd_ros.samples import families
from rbd_ros.spatial import Force, RigidInertia, Sym3, Transform, Vec3
from spatial_oracle import array, columns, crf6, crm6, skew
from tree_oracle import assert_near, DenseTree, examples, SEEDS, spatial_inertia, State, TREES

many = examples(40)


class Articulated:
    """The articulated bodies of a tree in a random state, as arrays in body coordinates."""

    def __init__(self, model, seed, qd=None, tau=None):
        self.model, self.s = model, State(model, seed)
        q = self.s.q.tolist()
        qd = self.s.qd.tolist() if qd is None else qd
        self.tau = self.s.tau.tolist() if tau is None else tau
        forces = [None, *(Force.from_list(row) for row in self.s.f_ext.tolist())]
        self.conditions = Conditions(Vec3(*model.gravity), forces)
        self.tree = links(model, q)
        v, v_J = velocities(model, self.tree, q, qd)
        c = velocity_products(model, q, qd, v, v_J)
        self.v, self.c = [array(x) for x in v], [array(x) for x in c]
        self.bodies = aba.aba(model, q, qd, self.tau, self.conditions)
        self.I_A = [np.array(x.to_list()) for x in self.bodies.I_A]
        self.p_A = [array(x) for x in self.bodies.p_A]
        self.S = [columns(S) for S in self.tree.S]
        self.X = [np.array(X.to_list()) for X in self.tree.Xup]

    def across(self, i):
        """Return I_a and p_a: body i as its parent feels it through the joint (7.24)."""
        I_A, S = self.I_A[i], self.S[i]
        U = I_A @ S
        D = S.T @ U
        I_a = I_A - U @ np.linalg.solve(D, U.T)
        u = self.part(i, self.tau) - S.T @ self.p_A[i]
        return I_a, self.p_A[i] + I_a @ self.c[i] + U @ np.linalg.solve(D, u)

    def part(self, i, x):
        """Return the entries of joint i."""
        return np.array(x)[self.model.v_index[i]]


@pytest.mark.seed('RBDA 7-01')
def test_single_body_is_its_own_articulated_body():
    """With nothing to carry, I_A = I and p_A = v x* I v - f_x."""
    model = families.random_tree(1, 3, joints=('spherical',))
    a = Articulated(model, 2)
    inertia = spatial_inertia(model.inertia[1])
    assert_near(a.I_A[1], inertia, limit=1e-15)
    X = DenseTree(model, a.s.q).X[1]
    bias = crf6(a.v[1]) @ inertia @ a.v[1] - np.linalg.inv(X).T @ a.s.f_ext[0]
    assert_near(a.p_A[1], bias, limit=1e-13)


@pytest.mark.seed('RBDA 7-02', 'RBDA 7-14')
@many
@given(TREES, SEEDS)
def test_articulated_inertia_is_an_inertia(model, seed):
    """It is symmetric and positive definite, and depends on positions alone; so is D."""
    a = Articulated(model, seed)
    still = Articulated(model, seed, [0.0] * model.nv, [1.0] * model.nv)
    for i in range(1, model.nb + 1):
        assert (a.I_A[i] == a.I_A[i].T).all()
        assert np.linalg.eigvalsh(a.I_A[i])[0] > 0.0
        assert (a.I_A[i] == still.I_A[i]).all()
        # it is less than the rigid subtree, and more than the body alone
        assert np.linalg.eigvalsh(a.I_A[i] - spatial_inertia(model.inertia[i]))[0] > -1e-9
        D = a.S[i].T @ a.I_A[i] @ a.S[i]
        assert np.linalg.eigvalsh(D)[0] > 0.0
        x = a.s.rng.normal(size=len(D))
        assert_near(D @ a.bodies.D[i].solve(x.tolist()), x, scale=1e-4 * np.linalg.cond(D))
        assert_near(columns(a.bodies.U[i]), a.I_A[i] @ a.S[i], limit=1e-12)


@pytest.mark.seed('RBDA 7-02')
def test_articulated_inertia_transforms_as_an_inertia():
    """X I_A X^-1 with forces transformed to match keeps f . v (X* I X^-1)."""
    rng = np.random.default_rng(0)
    a = Articulated(families.random_tree(5, 1), 1)
    X = families.random_transform(rng)
    matrix = np.array(X.to_list())
    moved = np.array((X @ a.bodies.I_A[1]).to_list())
    back = np.linalg.inv(matrix)
    assert_near(moved, back.T @ a.I_A[1] @ back, limit=1e-12)


@pytest.mark.seed('RBDA 7-09', 'RBDA 7-10', 'SIXD P25')
@many
@given(TREES, SEEDS)
def test_subtree_assembly(model, seed):
    """A body's I_A and p_A are its own and those of its children seen through their joints."""
    a = Articulated(model, seed)
    dense = DenseTree(model, a.s.q)
    for i in range(1, model.nb + 1):
        inertia = spatial_inertia(model.inertia[i])
        own = crf6(a.v[i]) @ inertia @ a.v[i] - np.linalg.inv(dense.X[i]).T @ a.s.f_ext[i - 1]
        for order in (1, -1):
            I_A, p_A = inertia.copy(), own.copy()
            for j in model.children[i][::order]:
                I_a, p_a = a.across(j)
                # no force along S is felt by the parent
                assert_near(I_a @ a.S[j], np.zeros_like(a.S[j]), limit=1e-9,
                            scale=np.linalg.norm(a.I_A[j]))
                I_A += a.X[j].T @ I_a @ a.X[j]
                p_A += a.X[j].T @ p_a
            assert_near(a.I_A[i], I_A, limit=1e-9)          # cancels where a joint is light
            assert_near(a.p_A[i], p_A, scale=np.linalg.norm(I_A), limit=1e-9)


@pytest.mark.seed('RBDA 7-11', 'SIXD P26')
@many
@given(TREES, SEEDS)
def test_force_across_a_joint_from_either_side(model, seed):
    """I_A a_i + p_A from the child's acceleration = I_a a_parent + p_a from the parent's."""
    a = Articulated(model, seed)
    qdd = a.bodies.qdd
    acc = [np.array([0.0, 0.0, 0.0, *(-np.array(model.gravity))])]
    condition = np.linalg.cond(DenseTree(model, a.s.q).mass_matrix())
    for i in range(1, model.nb + 1):
        before = a.X[i] @ acc[model.parent[i]]
        acc.append(before + a.c[i] + a.S[i] @ a.part(i, qdd))
        f = a.I_A[i] @ acc[i] + a.p_A[i]
        I_a, p_a = a.across(i)
        size = np.linalg.norm(a.I_A[i]) * np.linalg.norm(acc[i]) + np.linalg.norm(a.p_A[i])
        assert_near(I_a @ before + p_a, f, scale=size * max(1.0, 1e-5 * condition))
        assert_near(a.S[i].T @ f, a.part(i, a.tau), scale=size * max(1.0, 1e-5 * condition))


@pytest.mark.seed('RBDA 7-10')
def test_joint_about_z_leaves_row_and_column_three_empty():
    """For S = e3 the inertia seen through the joint has exact zeros in row and column 3."""
    a = Articulated(families.general_chain(4, 1), 1)
    exact = a.bodies.I_A[4].minus_dyads(
        a.bodies.D[4].solve_columns(a.bodies.U[4]), a.bodies.U[4], (2,))
    I_a = np.array(exact.to_list())
    assert not I_a[2].any() and not I_a[:, 2].any()
    assert_near(I_a, a.across(4)[0], limit=1e-13, scale=np.linalg.norm(a.I_A[4]))


@pytest.mark.seed('RBDA 7-03')
def test_gluing_handles_adds_articulated_bodies():
    """Two articulated bodies glued at their handles add up, as a joint without freedom does."""
    rng = np.random.default_rng(2)
    parts = [families.random_inertia(rng) for _ in range(4)]
    X = [families.random_transform(rng) for _ in range(3)]
    axes = [(0.0, 0.0, 1.0), (1.0, 0.0, 0.0)]

    def tree(first, second):
        builder = rbd_ros.ModelBuilder('glued')
        if first:
            builder.add_body('a', 'base', rbd_ros.joints.Free(), inertia=parts[0], joint_name='r')
            builder.add_body('a1', 'a', Revolute(axes[0]), X[0], parts[1], joint_name='ja')
        if second:
            where = ('a', Fixed()) if first else ('base', rbd_ros.joints.Free())
            builder.add_body('b', *where, inertia=parts[2], joint_name='rb')
            builder.add_body('b1', 'b', Revolute(axes[1]), X[1], parts[3], joint_name='jb')
        return builder.build()

    def handle(model, angles):
        q = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, *angles]
        qd = [0.3, -0.2, 0.5, 0.1, 0.4, -0.6] + [0.7] * len(angles)
        tau = [0.0] * 6 + [1.5] * len(angles)
        bodies = aba.aba(model, q, qd, tau, Conditions(Vec3.zero()))
        return np.array(bodies.I_A[1].to_list()), array(bodies.p_A[1])
    one, two, both = (handle(tree(*which), angles) for which, angles in (
        ((True, False), [0.4]), ((False, True), [-0.8]), ((True, True), [0.4, -0.8])))
    assert_near(one[0] + two[0], both[0], limit=1e-13)
    assert_near(one[1] + two[1], both[1], limit=1e-13)


# --- two bodies, one joint -----------------------------------------------------------------------

@pytest.mark.seed('RBDA 7-08')
def test_example_of_the_book():
    """A box that carries a cylinder, free along y and about x (Example 7.1)."""
    def isotropic(mass, moment):
        return RigidInertia.from_com(mass, Vec3.zero(), Sym3.diagonal(moment, moment, moment))
    builder = rbd_ros.ModelBuilder('example')
    builder.add_body('box', 'base', rbd_ros.joints.Free(), inertia=isotropic(2.0, 0.5),
                     joint_name='root')
    joint = Composite((Prismatic((0.0, 1.0, 0.0)), Revolute((1.0, 0.0, 0.0))))
    builder.add_body('cylinder', 'box', joint, inertia=isotropic(3.0, 0.25), joint_name='slider')
    model = builder.build()
    q = [0.0] * 6 + [1.0, 0.0, 0.0]
    bodies = aba.aba(model, q, [0.0] * 8, [0.0] * 8, Conditions(Vec3.zero()))
    assert_near(bodies.I_A[1].to_list(), np.diag([0.5, 0.75, 0.75, 5.0, 2.0, 5.0]), limit=1e-15)


@pytest.mark.seed('SIXD C20', 'SIXD C21')
@pytest.mark.parametrize('seed', range(5))
def test_two_body_problem_in_3d_and_spatial_vectors(seed):
    """Four 3 x 3 formulas and one spatial formula give the inertia felt at the first body."""
    rng = np.random.default_rng(seed)
    one, two = families.random_inertia(rng), families.random_inertia(rng)
    m1, c1, I1 = (one.m, np.zeros(3), np.array(one.com_form()[2].to_list()))
    m2, c2, I2 = (two.m, rng.normal(size=3), np.array(two.com_form()[2].to_list()))
    P, s = rng.normal(size=3), rng.normal(size=3)
    s /= np.linalg.norm(s)
    r1, r2 = skew(P - c1), skew(P - c2)
    J = I2 - m2 * r2 @ r2
    K = J + m2 * r1 @ r2
    d = s @ J @ s
    ss = np.outer(s, s)
    A = (m1 + m2) * np.eye(3) + m2**2 * r2 @ ss @ r2 / d
    B = m2 * (r2 - r1) - m2 * r2 @ ss @ K.T / d
    D = I1 + I2 - m2 * (r1 - r2) @ (r1 - r2) - K @ ss @ K.T / d
    spatial1 = np.block([[I1, np.zeros((3, 3))], [np.zeros((3, 3)), m1 * np.eye(3)]])
    shift = skew(c2)
    spatial2 = np.block([[I2 - m2 * shift @ shift, m2 * shift], [-m2 * shift, m2 * np.eye(3)]])
    S = np.concatenate([s, np.cross(P, s)])
    Lam = spatial1 + spatial2 - np.outer(spatial2 @ S, spatial2 @ S) / (S @ spatial2 @ S)
    assert_near(np.block([[D, B.T], [B, A]]), Lam, limit=1e-13)
    # the library: body 1 free at its centre of mass, body 2 hinged on P
    builder = rbd_ros.ModelBuilder('two')
    builder.add_body('one', 'base', rbd_ros.joints.Free(), joint_name='root',
                     inertia=RigidInertia.from_com(m1, Vec3.zero(), Sym3.from_matrix(I1.tolist())))
    builder.add_body('two', 'one', Revolute(tuple(s.tolist())),
                     Transform.translation(Vec3(*P.tolist())), joint_name='hinge',
                     inertia=RigidInertia.from_com(
                         m2, Vec3(*(c2 - P).tolist()), Sym3.from_matrix(I2.tolist())))
    model = builder.build()
    q = [0.0] * 6 + [1.0, 0.0]
    bodies = aba.aba(model, q, [0.0] * 7, [0.0] * 7, Conditions(Vec3.zero()))
    assert_near(bodies.I_A[1].to_list(), Lam, limit=1e-13)
    a1 = rng.normal(size=6)
    alpha = -(S @ spatial2 @ a1) / (S @ spatial2 @ S)
    robot = rbd_ros.Dynamics(model, backend='reference')
    robot.set_gravity([0.0, 0.0, 0.0])
    tau = robot.inverse_dynamics(q, np.zeros(7), [*a1, alpha])
    assert_near(tau, [*(Lam @ a1), 0.0], limit=1e-13)


@pytest.mark.seed('SIXD C21')
def test_two_body_fixture():
    """Unit spheres, the second hinged half a metre away: effective mass 1.5 along y."""
    one = RigidInertia.from_com(1.0, Vec3.zero(), Sym3.diagonal(1.0, 1.0, 1.0))
    two = RigidInertia.from_com(1.0, Vec3(1.0, 0.0, 0.0), Sym3.diagonal(1.0, 1.0, 1.0))
    S = [rbd_ros.spatial.Motion.unit(2)]
    U = [two @ S[0]]
    found = np.array((one + two.articulated().minus_dyads(
        [U[0] * (1.0 / S[0].dot(U[0]))], U)).to_list())
    expected = np.diag([2.0, 3.0, 1.0, 2.0, 1.5, 2.0])
    expected[1, 5] = expected[5, 1] = -1.0
    assert_near(found, expected, limit=1e-15)


@pytest.mark.seed('SIXD C22')
@pytest.mark.parametrize('seed', range(4))
def test_two_bodies_in_motion(seed):
    """With velocities and a drive, a_1 and qdd follow from the articulated pair."""
    model = families.random_tree(2, seed, joints=('free', 'revolute'), branching=0.0)
    while [model.joint[i].type_name for i in (1, 2)] != ['free', 'revolute']:
        seed += 100
        model = families.random_tree(2, seed, joints=('free', 'revolute'), branching=0.0)
    s = State(model, seed)
    dense = DenseTree(model, s.q, s.qd)
    S, I1, I2, v1, v2 = dense.S[2][:, 0], dense.I[1], dense.I[2], dense.v[1], dense.v[2]
    c = crm6(v1) @ v2
    p1, p2 = crf6(v1) @ I1 @ v1, crf6(v2) @ I2 @ v2
    d, tau = S @ I2 @ S, s.tau[6]
    I2_a = I2 - np.outer(I2 @ S, I2 @ S) / d
    p2_a = p2 + I2_a @ c + I2 @ S * (tau - S @ p2) / d
    f = s.f_ext[0]
    a1 = np.linalg.solve(I1 + I2_a, f - p1 - p2_a)
    qdd = (tau - S @ p2 - S @ I2 @ (a1 + c)) / d
    robot = rbd_ros.Dynamics(model, backend='reference')
    robot.set_gravity([0.0, 0.0, 0.0])
    push = np.array([f, np.zeros(6)])
    found = robot.forward_dynamics(s.q, s.qd, [0.0] * 6 + [tau], push, method='aba')
    assert found[6] == pytest.approx(qdd, rel=1e-10, abs=1e-10)
    assert_near(dense.accelerations(found)[1], a1, limit=1e-10)
