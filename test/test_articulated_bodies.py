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

"""Articulated bodies (RBDA 7): properties, joint assembly and its variants, divide and conquer."""

from hypothesis import given, HealthCheck, settings
import numpy as np
import pytest
import rbd_ros
from rbd_ros import families, forward
from rbd_ros.joints import Composite, Fixed, Prismatic, Revolute
from rbd_ros.kinematics import Conditions, links, velocities, velocity_products
from rbd_ros.spatial import Force, RigidInertia, Sym3, Transform, Vec3
from tree_oracle import (assert_near, columns, crf, crm, DenseTree, SEEDS, skew, spatial_inertia,
                         State, TREES, vector)

many = settings(max_examples=40, deadline=None, derandomize=True,
                suppress_health_check=[HealthCheck.too_slow])


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
        self.v, self.c = [vector(x) for x in v], [vector(x) for x in c]
        self.bodies = forward.articulate(model, self.tree, v, c, self.tau, self.conditions)
        self.I_A = [np.array(x.to_list()) for x in self.bodies.I_A]
        self.p_A = [vector(x) for x in self.bodies.p_A]
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
    bias = crf(a.v[1]) @ inertia @ a.v[1] - np.linalg.inv(X).T @ a.s.f_ext[0]
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
        own = crf(a.v[i]) @ inertia @ a.v[i] - np.linalg.inv(dense.X[i]).T @ a.s.f_ext[i - 1]
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
    qdd = forward.aba(model, a.s.q.tolist(), a.s.qd.tolist(), a.tau, a.conditions)
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
        links_ = links(model, q)
        v, v_J = velocities(model, links_, q, qd)
        c = velocity_products(model, q, qd, v, v_J)
        tau = [0.0] * 6 + [1.5] * len(angles)
        bodies = forward.articulate(model, links_, v, c, tau, Conditions(Vec3.zero()))
        return np.array(bodies.I_A[1].to_list()), vector(bodies.p_A[1])
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
    tree = links(model, q)
    still = [rbd_ros.spatial.Motion.zero()] * 3
    bodies = forward.articulate(
        model, tree, still, still, [0.0] * 8, Conditions(Vec3.zero()))
    assert_near(bodies.I_A[1].to_list(), np.diag([0.5, 0.75, 0.75, 5.0, 2.0, 5.0]), limit=1e-15)


class Pair:
    """Two random rigid or articulated bodies about to be joined, in one frame (RBDA 7.4)."""

    def __init__(self, seed, freedoms):
        rng = np.random.default_rng(seed)
        self.I1, self.I2 = (self.inertia(rng) for _ in range(2))
        self.p1, self.p2, self.c, self.f = rng.normal(size=(4, 6))
        self.S = rng.normal(size=(6, freedoms))
        self.T = np.linalg.svd(self.S)[0][:, freedoms:]
        other = rng.normal(size=(freedoms, 6 - freedoms))
        # any T_a with T_a^T S = 1 will do: only the constraint force depends on the choice
        self.T_a = np.linalg.pinv(self.S).T + self.T @ other.T
        self.tau = rng.normal(size=freedoms)

    @staticmethod
    def inertia(rng):
        """Return a positive-definite 6 x 6 matrix."""
        A = rng.normal(size=(6, 6))
        return A @ A.T + np.eye(6)

    def standard(self):
        """Return I_A, p_A, a_1 and qdd by (7.15) to (7.20)."""
        S, I2, c = self.S, self.I2, self.c
        D = S.T @ I2 @ S
        z = self.tau - S.T @ self.p2 - S.T @ I2 @ c
        I_A = self.I1 + I2 - I2 @ S @ np.linalg.solve(D, S.T @ I2)
        p_A = self.p1 + self.p2 + I2 @ c + I2 @ S @ np.linalg.solve(D, z)
        a1 = np.linalg.solve(I_A, self.f - p_A)
        return I_A, p_A, a1, np.linalg.solve(D, z - S.T @ I2 @ a1)


@pytest.mark.seed('RBDA 7-16', 'RBDA 7-08', 'RBDA 7-20')
@pytest.mark.parametrize('freedoms', [1, 2, 3, 5])
def test_elimination_of_the_five_equations(freedoms):
    """Gauss elimination of bodies, joint and force balance gives the standard assembly."""
    p = Pair(freedoms, freedoms)
    n, m = freedoms, 6 - freedoms
    S, T, T_a = p.S, p.T, p.T_a
    # unknowns a1, a2, qdd, lambda; f on the handle 1, joint force f_J = T_a tau + T lambda on 2
    rows = [
        np.hstack([p.I1, np.zeros((6, 6)), np.zeros((6, n)), T]),
        np.hstack([np.zeros((6, 6)), p.I2, np.zeros((6, n)), -T]),
        np.hstack([-np.eye(6), np.eye(6), -S, np.zeros((6, m))])]
    active = T_a @ p.tau
    rhs = np.concatenate([p.f - p.p1 - active, active - p.p2, p.c])
    solution = np.linalg.lstsq(np.vstack(rows), rhs, rcond=None)[0]
    assert np.vstack(rows).shape == (18, 18)
    _, _, a1, qdd = p.standard()
    assert_near(solution[:6], a1)
    assert_near(solution[12:12 + n], qdd)
    # the drive as a pair of external forces moves everything the same way
    pushed = Pair(freedoms, freedoms)
    pushed.p1, pushed.p2, pushed.tau = p.p1 + active, p.p2 - active, 0.0 * p.tau
    _, _, other, qdd_pushed = pushed.standard()
    assert_near(other, a1)
    assert_near(qdd_pushed, qdd)


@pytest.mark.seed('RBDA 7-17', 'RBDA 7-18', 'RBDA 7-19', 'RBDA 7-04')
@pytest.mark.parametrize('freedoms', [1, 2, 3, 5])
def test_variants_of_the_joint_assembly(freedoms):
    """With inverse inertias and with constraint forces the assembly is the same (Table 7.2)."""
    p = Pair(10 + freedoms, freedoms)
    I_A, p_A, a1, qdd = p.standard()
    T, active = p.T, p.T_a @ p.tau
    Phi1, Phi2 = np.linalg.inv(p.I1), np.linalg.inv(p.I2)
    b1, b2 = -Phi1 @ p.p1, -Phi2 @ p.p2
    # variant 1: inverse inertias
    Y = T.T @ (Phi1 + Phi2) @ T
    z = T.T @ (p.c + b1 - b2 - (Phi1 + Phi2) @ active)
    Phi = Phi1 - Phi1 @ T @ np.linalg.solve(Y, T.T @ Phi1)
    b = b1 - Phi1 @ active - Phi1 @ T @ np.linalg.solve(Y, z)
    assert_near(Phi, np.linalg.inv(I_A))
    assert_near(b, -Phi @ p_A)
    assert_near(Phi @ p.f + b, a1)
    multipliers = np.linalg.solve(Y, z + T.T @ Phi1 @ p.f)
    a2 = Phi2 @ (active + T @ multipliers) + b2
    assert_near(p.T_a.T @ (a2 - a1 - p.c), qdd)
    # variant 2: inertias and constraint forces
    Y = T.T @ Phi2 @ T
    z = T.T @ (p.c - Phi2 @ (active - p.p2))
    assert_near(p.I1 + T @ np.linalg.solve(Y, T.T), I_A)
    assert_near(p.p1 + active + T @ np.linalg.solve(Y, z), p_A)
    assert_near(np.linalg.solve(Y, z + T.T @ a1), multipliers)


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
    still = [rbd_ros.spatial.Motion.zero()] * 3
    bodies = forward.articulate(
        model, links(model, q), still, still, [0.0] * 7, Conditions(Vec3.zero()))
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
    c = crm(v1) @ v2
    p1, p2 = crf(v1) @ I1 @ v1, crf(v2) @ I2 @ v2
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


# --- handles on both ends, and divide and conquer ------------------------------------------------

class Link:
    """A chain of bodies with a handle at either end, all in base coordinates (RBDA 7.5)."""

    def __init__(self, Phi, b, joints=None):
        self.Phi, self.b, self.joints = Phi, b, joints


def leaf(dense, i, tau, f_ext, gravity):
    """Return one body; the drives of its joints act on it as external forces."""
    Phi = np.linalg.inv(dense.I[i])
    v = dense.v[i]
    f = f_ext[i - 1] + dense.I[i] @ gravity - crf(v) @ dense.I[i] @ v
    f = f + drive(dense, i, tau)
    for j in dense.model.children[i]:
        f = f - drive(dense, j, tau)
    b = Phi @ f
    return Link([[Phi, Phi], [Phi, Phi]], [b, b])


def drive(dense, i, tau):
    """Return T_a tau of joint i."""
    return np.linalg.pinv(dense.S[i]).T @ dense.part(i, tau)


def join(one, two, dense, i):
    """Return two chains joined at joint i (7.57 to 7.63)."""
    T, c = dense.T[i], dense.c[i]
    (P1, P12), (P21, P2) = one.Phi
    (P3, P34), (P43, P4) = two.Phi
    Y = T.T @ (P2 + P3) @ T
    W = T @ np.linalg.solve(Y, T.T)
    beta = c - two.b[0] + one.b[1]
    across = P12 @ W @ P34
    Phi = [[P1 - P12 @ W @ P21, across], [across.T, P4 - P43 @ W @ P34]]
    b = [one.b[0] - P12 @ W @ beta, two.b[1] + P43 @ W @ beta]
    return Link(Phi, b, (i, one, two, W, beta))


def conquer(dense, first, last, tau, f_ext, gravity):
    """Return the chain of bodies first..last, divided in the middle."""
    if first == last:
        return leaf(dense, first, tau, f_ext, gravity)
    middle = (first + last) // 2
    return join(conquer(dense, first, middle, tau, f_ext, gravity),
                conquer(dense, middle + 1, last, tau, f_ext, gravity), dense, middle + 1)


def hand_out(link, f1, f4, out):
    """Return the forces at every joint, from those at the ends."""
    if link.joints is None:
        return
    i, one, two, W, beta = link.joints
    f3 = W @ (one.Phi[1][0] @ f1 - two.Phi[0][1] @ f4 + beta)
    out[i] = f3
    hand_out(one, f1, -f3, out)
    hand_out(two, f3, f4, out)


@pytest.mark.seed('RBDA 7-21', 'RBDA 7-23', 'RBDA 3-05')
@pytest.mark.parametrize('seed', range(4))
def test_divide_and_conquer(seed):
    """Chains joined pairwise, handles at both ends, move as the articulated bodies say."""
    model = families.random_tree(7, seed, joints=('revolute', 'spherical', 'prismatic'),
                                 branching=0.0)
    s = State(model, seed)
    dense = DenseTree(model, s.q, s.qd)
    gravity = np.array([0.0, 0.0, 0.0, *model.gravity])
    whole = conquer(dense, 1, model.nb, s.tau, s.f_ext, gravity)
    T = dense.T[1]
    f1 = T @ np.linalg.solve(T.T @ whole.Phi[0][0] @ T, T.T @ (dense.c[1] - whole.b[0]))
    forces = {1: f1}
    hand_out(whole, f1, np.zeros(6), forces)
    robot = rbd_ros.Dynamics(model, backend='reference')
    qdd = robot.forward_dynamics(s.q, s.qd, s.tau, s.f_ext, method='aba')
    wrenches = robot.joint_wrenches(s.q, s.qd, qdd, s.f_ext)
    size = np.linalg.norm(wrenches)
    for i in dense.bodies:
        full = forces[i] + drive(dense, i, s.tau)
        # inverse inertias of single bodies lose some digits on the way
        assert_near(full, dense.X[i].T @ wrenches[i - 1], scale=size, limit=1e-9)
    # block symmetry and rank of the two-handle inverse inertia
    block = np.block(whole.Phi)
    assert_near(block, block.T, limit=1e-9)
    assert np.linalg.eigvalsh(block)[0] > -1e-9 * np.linalg.norm(block)


@pytest.mark.seed('RBDA 7-21', 'RBDA 7-05')
@pytest.mark.parametrize('seed', range(3))
def test_chain_with_two_handles(seed):
    """The joined chain's two-handle equation is the projection of its equation of motion."""
    builder = rbd_ros.ModelBuilder('chain')
    rng = np.random.default_rng(seed)
    for i in range(1, 5):
        axis = tuple(rng.normal(size=3).tolist())
        joint = rbd_ros.joints.Free() if i == 1 else Revolute(axis)
        builder.add_body(f'body_{i}', f'body_{i - 1}' if i > 1 else 'base', joint,
                         families.random_transform(rng), families.random_inertia(rng),
                         joint_name=f'joint_{i}')
    model = builder.build()
    s = State(model, seed)
    dense = DenseTree(model, s.q, s.qd)
    gravity = np.array([0.0, 0.0, 0.0, *model.gravity])
    whole = conquer(dense, 1, 4, 0.0 * s.tau, np.zeros((4, 6)), gravity)
    robot = rbd_ros.Dynamics(model, backend='reference')
    found = robot.operational_space(s.q, s.qd, ['body_1', 'body_4'], max_condition=1e12)
    turn = np.zeros((12, 12))
    turn[:6, :6], turn[6:, 6:] = dense.X[1], dense.X[4]
    assert_near(found.Phi, turn @ np.block(whole.Phi) @ turn.T)
    assert_near(found.b, turn @ np.concatenate(whole.b))
    # six freedoms of the base and three joints: the rank of the two-handle equation
    assert np.linalg.matrix_rank(found.Phi, 1e-9 * np.linalg.norm(found.Phi)) == 9


@pytest.mark.seed('RBDA 7-22')
def test_two_joints_at_once():
    """Two balls between two bodies, joined as a set with dependent constraints, are a hinge."""
    rng = np.random.default_rng(8)
    axis = rng.normal(size=3)
    inertias = [families.random_inertia(rng) for _ in range(2)]
    builder = rbd_ros.ModelBuilder('hinged')
    builder.add_body('one', 'base', rbd_ros.joints.Free(), inertia=inertias[0], joint_name='root')
    builder.add_body('two', 'one', Revolute(tuple(axis.tolist())),
                     Transform.translation(Vec3(0.3, 0.1, -0.2)), inertias[1], joint_name='hinge')
    model = builder.build()
    s = State(model, 1)
    dense = DenseTree(model, s.q)
    robot = rbd_ros.Dynamics(model, backend='reference')
    robot.set_gravity([0.0, 0.0, 0.0])
    qdd = robot.forward_dynamics(s.q, 0.0 * s.qd, 0.0 * s.tau, s.f_ext)
    expected = dense.accelerations(qdd)
    # each ball is a handle of its own on both bodies: sets of two handles, T block-diagonal
    hinge = dense.S[2][:, 0]
    direction = hinge[:3]
    centre = np.cross(direction, hinge[3:]) / (direction @ direction)
    T = np.zeros((12, 6))
    for k, offset in enumerate((0.2, -0.4)):
        point = centre + offset * direction
        T[6 * k:6 * k + 6, 3 * k:3 * k + 3] = np.vstack([skew(point), np.eye(3)])
    one, two = (np.tile(np.linalg.inv(dense.I[i]), (2, 2)) for i in (1, 2))
    b = [np.tile(np.linalg.solve(dense.I[i], s.f_ext[i - 1]), 2) for i in (1, 2)]
    Y = T.T @ (one + two) @ T
    assert np.linalg.matrix_rank(Y, 1e-9 * np.linalg.norm(Y)) == 5
    f = T @ np.linalg.pinv(Y, rcond=1e-10, hermitian=True) @ T.T @ (b[0] - b[1])
    a1, a2 = b[0] - one @ f, b[1] + two @ f
    assert_near(a1[:6], expected[1], limit=1e-9)                # through a singular system
    assert_near(a2[:6], expected[2], limit=1e-9)
    assert_near(a2[6:], a2[:6], limit=1e-12)
