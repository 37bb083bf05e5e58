# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Two bodies and a joint, many handles, divide and conquer (RBDA 7.4 and 7.5)."""

from hypothesis import given
import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms import aba
from rbd_ros.algorithms.kinematics import Conditions
from rbd_ros.algorithms.linear import ltl
from rbd_ros.algorithms.other_forms import assembly, divide_and_conquer, joining
from rbd_ros.compiler import compile_python, trace
from rbd_ros.errors import SingularError
from rbd_ros.joints import Revolute
from rbd_ros.samples import families
from rbd_ros.spatial import Force, RigidInertia, Sym3, Transform, Vec3
from spatial_oracle import skew
from tree_oracle import assert_near, DenseTree, examples, SEEDS, State, TREES, with_rotors

FREEDOMS = [0, 1, 2, 3, 5]
VARIANTS = [0, 1, 2]


class Pair:
    """
    Two bodies of positive-definite inertia and a joint between them, in one frame.

    The oracle writes down every equation at once and solves for all that is unknown.
    """

    def __init__(self, seed, freedoms):
        rng = np.random.default_rng(seed)
        self.n = freedoms
        self.I1, self.I2 = (A @ A.T + np.eye(6) for A in rng.normal(size=(2, 6, 6)))
        self.p1, self.p2, self.c, self.f = rng.normal(size=(4, 6))
        self.S = rng.normal(size=(6, freedoms))
        self.T = np.linalg.svd(self.S)[0][:, freedoms:]
        self.plain = np.linalg.pinv(self.S).T
        # any T_a with T_a^T S = 1 will do: only the constraint force depends on the choice
        self.T_a = self.plain + self.T @ rng.normal(size=(6 - freedoms, freedoms))
        self.tau = rng.normal(size=freedoms)

    def joint(self, T_a=None, tau=None):
        """Return the joint as the product takes it."""
        parts = (self.S, self.T, self.T_a if T_a is None else T_a, self.c,
                 self.tau if tau is None else tau)
        return assembly.Connection(*(x.tolist() for x in parts))

    def bodies(self, inverse=False, pushed=(0.0, 0.0)):
        """Return both bodies, by inertia or by inverse inertia, with a further force on each."""
        out = []
        for inertia, p, push in ((self.I1, self.p1, pushed[0]), (self.I2, self.p2, pushed[1])):
            if inverse:
                Phi = np.linalg.inv(inertia)
                out.append(assembly.Handle(Phi.tolist(), (-Phi @ (p - push)).tolist()))
            else:
                out.append(assembly.Handle(inertia.tolist(), (p - push).tolist()))
        return out

    def solved(self, f, T_a=None):
        """Return a_1, a_2, qdd and lambda under a force f on body 1, of one dense system."""
        n, m = self.n, 6 - self.n
        o = np.zeros
        rows = np.block([
            [self.I1, o((6, 6)), o((6, n)), self.T],
            [o((6, 6)), self.I2, o((6, n)), -self.T],
            [-np.eye(6), np.eye(6), -self.S, o((6, m))]])
        active = (self.T_a if T_a is None else T_a) @ self.tau
        right = np.concatenate([f - self.p1 - active, active - self.p2, self.c])
        return np.split(np.linalg.solve(rows, right), [6, 12, 12 + n])

    def inverse_form(self):
        """Return Phi^A and b^A, column by column of the oracle."""
        b = self.solved(np.zeros(6))[0]
        return np.array([self.solved(e)[0] - b for e in np.eye(6)]).T, b


@pytest.mark.seed('RBDA 7-08')
@pytest.mark.parametrize('freedoms', FREEDOMS)
def test_standard_assembly(freedoms):
    """I^A, p^A and qdd of the standard formulae solve the equations of both bodies."""
    p = Pair(freedoms, freedoms)
    found = assembly.standard(*p.bodies(), p.joint())
    Phi, b = p.inverse_form()
    assert_near(found.joined.I, np.linalg.inv(Phi))
    assert_near(found.joined.p, -np.linalg.solve(Phi, b))
    a1, _, qdd, _ = p.solved(p.f)
    assert_near(np.array(found.joined.I) @ a1 + found.joined.p, p.f)
    assert_near(found.qdd(a1.tolist()), qdd)


@pytest.mark.seed('RBDA 7-16')
@pytest.mark.parametrize('variant', VARIANTS)
@pytest.mark.parametrize('freedoms', FREEDOMS)
def test_elimination_of_the_five_equations(freedoms, variant):
    """Gauss elimination of the composite equation gives the handle, and qdd or lambda."""
    p = Pair(20 + freedoms, freedoms)
    handle, last = assembly.by_elimination(
        *p.bodies(inverse=variant == 1), p.joint(), variant)
    Phi, b = p.inverse_form()
    expected = (Phi, b) if variant == 1 else (np.linalg.inv(Phi), -np.linalg.solve(Phi, b))
    assert_near(handle.I, expected[0])
    assert_near(handle.p, expected[1])
    a1, _, qdd, multipliers = p.solved(p.f)
    given_vector = p.f if variant == 1 else a1
    rows = len(last.p)
    found = np.reshape(last.I, (rows, 6)) @ given_vector + np.reshape(last.p, rows)
    assert_near(found, multipliers if variant else qdd)


@pytest.mark.seed('RBDA 7-17', 'RBDA 7-04')
@pytest.mark.parametrize('freedoms', FREEDOMS)
def test_variant_with_inverse_inertias(freedoms):
    """Variant 1 gives Phi^A, b^A and lambda; it needs no inertia of a body on a fixed base."""
    p = Pair(10 + freedoms, freedoms)
    found = assembly.variant_1(*p.bodies(inverse=True), p.joint())
    Phi, b = p.inverse_form()
    assert_near(found.joined.I, Phi)
    assert_near(found.joined.p, b)
    assert_near(found.multipliers(p.f.tolist()), p.solved(p.f)[3])
    # a base that cannot move at all has Phi = 0: the other body moves along S alone
    grounded = assembly.variant_1(
        p.bodies(inverse=True)[0], assembly.Handle(np.zeros((6, 6)).tolist(), [0.0] * 6),
        p.joint(tau=0.0 * p.tau))
    expected = p.S @ np.linalg.solve(p.S.T @ p.I1 @ p.S, p.S.T)                           # 3.54
    assert_near(grounded.joined.I, expected, scale=1.0)


@pytest.mark.seed('RBDA 7-18')
@pytest.mark.parametrize('freedoms', FREEDOMS)
def test_variant_with_constraint_forces(freedoms):
    """Variant 2 gives I^A, p^A and lambda from inertias and T."""
    p = Pair(30 + freedoms, freedoms)
    found = assembly.variant_2(*p.bodies(), p.joint())
    Phi, b = p.inverse_form()
    assert_near(found.joined.I, np.linalg.inv(Phi))
    assert_near(found.joined.p, -np.linalg.solve(Phi, b))
    a1, _, _, multipliers = p.solved(p.f)
    assert_near(found.multipliers(a1.tolist()), multipliers)


@pytest.mark.seed('RBDA 7-19')
@pytest.mark.parametrize('freedoms', FREEDOMS[1:])
def test_joint_acceleration_from_both_bodies(freedoms):
    """The variants find qdd = T_a^T (a_2 - a_1 - c), with any T_a."""
    p = Pair(40 + freedoms, freedoms)
    a1, a2, qdd, _ = p.solved(p.f)
    assert_near(p.joint().qdd(a1.tolist(), a2.tolist()), qdd)
    assert_near(p.joint(p.plain).qdd(a1.tolist(), a2.tolist()), qdd)


@pytest.mark.seed('RBDA 7-20', 'RBDA 3-26', 'RBDA 3-22')
@pytest.mark.parametrize('freedoms', FREEDOMS[1:])
def test_drive_as_a_pair_of_external_forces(freedoms):
    """T_a tau on body 2 and its opposite on body 1 replace tau: same motion, same lambda."""
    p = Pair(50 + freedoms, freedoms)
    active = np.array(p.joint().active)
    assert_near(p.S.T @ active, p.tau)
    still = p.joint(tau=0.0 * p.tau)
    pushed = (-active, active)
    a1, _, qdd, multipliers = p.solved(p.f)
    for inverse, join, given_vector in (
            (True, assembly.variant_1, p.f), (False, assembly.variant_2, a1)):
        found = join(*p.bodies(inverse, pushed), still)
        driven = join(*p.bodies(inverse), p.joint())
        for one, two in zip(found.joined, driven.joined, strict=True):
            assert_near(one, two)
        assert_near(found.multipliers(given_vector.tolist()), multipliers)
        # another T_a moves the bodies alike, and loads the bearings otherwise
        other = join(*p.bodies(inverse), p.joint(p.plain))
        assert_near(other.joined.p, driven.joined.p)
        loads = np.array(other.multipliers(given_vector.tolist()))
        assert_near(loads, p.solved(p.f, p.plain)[3])
        assert np.abs(loads - multipliers).max() > 0.1
    assert_near(assembly.standard(*p.bodies(pushed=pushed), still).qdd(a1.tolist()), qdd)


def test_drive_along_the_joint_itself():
    """T_a = S (S^T S)^-1 is the pseudo-inverse of S."""
    for freedoms in FREEDOMS:
        p = Pair(60 + freedoms, freedoms)
        found = np.reshape(assembly.active_subspace(p.S.tolist(), freedoms), (6, freedoms))
        assert_near(found, p.plain, limit=1e-12)


# --- many handles --------------------------------------------------------------------------------

def conditions_of(model, s):
    """Return gravity and the external forces of a state."""
    return Conditions(Vec3(*model.gravity), [
        None, *(Force.from_list(row) for row in s.f_ext.tolist())])


@pytest.mark.seed('RBDA 7-23', 'RBDA 3-05')
@examples(25)
@given(TREES, SEEDS)
def test_divide_and_conquer(model, seed):
    """Halves of halves, joined, move as body by body (ABA), with all joints and branches."""
    s = State(model, seed)
    arguments = s.q.tolist(), s.qd.tolist(), s.tau.tolist(), conditions_of(model, s)
    found = divide_and_conquer.divide_and_conquer(model, *arguments)
    expected = aba.aba(model, *arguments).qdd
    # compare forces: accelerations of light joints magnify the rounding of either method
    tau = DenseTree(model, s.q, s.qd).rnea(np.array(found), model.gravity, s.f_ext)
    size = np.linalg.norm(DenseTree(model, s.q).mass_matrix()) * np.linalg.norm(expected)
    assert_near(tau, s.tau, scale=size, limit=1e-11)


@pytest.mark.seed('RBDA 7-23')
def test_divide_and_conquer_runs_traced():
    """The same source traces, with gravity as an input."""
    model = families.random_tree(5, 3, joints=('revolute', 'spherical'), branching=0.5)
    s = State(model, 1)

    def function(q, qd, tau, g):
        given = Conditions(Vec3(*g))
        return {'qdd': divide_and_conquer.divide_and_conquer(model, q, qd, tau, given)}
    shapes = {'q': (model.nq,), 'qd': (model.nv,), 'tau': (model.nv,), 'g': (3,)}
    found = compile_python(trace(function, shapes))(s.q, s.qd, s.tau, np.array(model.gravity))
    robot = rbd_ros.Dynamics(model, backend='reference')
    assert_near(found, robot.forward_dynamics(s.q, s.qd, s.tau), limit=1e-9)


@pytest.mark.parametrize('joints', [('revolute', 'spherical'), ('free', 'prismatic')])
def test_divide_and_conquer_with_rotors(joints):
    """The rotor of a joint yields as H with its inertia on the diagonal says, branches too."""
    model = with_rotors(families.random_tree(6, 4, joints=joints, branching=0.6))
    s = State(model, 2)
    found = divide_and_conquer.divide_and_conquer(
        model, s.q.tolist(), s.qd.tolist(), s.tau.tolist(), conditions_of(model, s))
    dense = DenseTree(model, s.q, s.qd)
    H = dense.mass_matrix() + np.diag(model.rotor_inertia)
    bias = dense.rnea(np.zeros(model.nv), model.gravity, s.f_ext)
    assert_near(found, np.linalg.solve(H, s.tau - bias), limit=1e-9)


def test_what_divide_and_conquer_refuses():
    """A body without an inverse inertia is an error that says so."""
    builder = rbd_ros.ModelBuilder('rod')
    rod = RigidInertia.from_com(1.0, Vec3(0.1, 0.0, 0.0), Sym3.diagonal(0.0, 0.2, 0.2))
    builder.add_body('rod', 'base', Revolute(), inertia=rod, joint_name='hinge')
    with pytest.raises(SingularError, match='body "rod" of "rod" has no inverse inertia'):
        divide_and_conquer.divide_and_conquer(
            builder.build(), [0.1], [0.2], [0.3], Conditions(Vec3(0.0, 0.0, -9.81)))


def free_chain(seed, count=4):
    """Return a chain of bodies that floats, its joints turning about random axes."""
    builder = rbd_ros.ModelBuilder('chain')
    rng = np.random.default_rng(seed)
    for i in range(1, count + 1):
        axis = tuple(rng.normal(size=3).tolist())
        joint = rbd_ros.joints.Free() if i == 1 else Revolute(axis)
        builder.add_body(f'body_{i}', f'body_{i - 1}' if i > 1 else 'base', joint,
                         families.random_transform(rng), families.random_inertia(rng),
                         joint_name=f'joint_{i}')
    return builder.build()


def bodies_and_joints(model, s):
    """Return every body as a set with one handle, and every joint, of the dense oracle."""
    dense = DenseTree(model, s.q, s.qd)
    net = dense.net_forces([np.zeros(6)] * (model.nb + 1))                # v x* I v alone
    a_g = np.array([0.0, 0.0, 0.0, *model.gravity])
    leaves, joints = [None], [None]
    for i in dense.bodies:
        Phi = np.linalg.inv(dense.I[i])
        leaves.append(joining.Handles((i,), Phi.tolist(), (a_g - Phi @ net[i]).tolist()))
        joints.append(joining.Constraint(
            model.parent[i], i, dense.T[i].tolist(), dense.c[i].tolist()))
    return dense, leaves, joints


@pytest.mark.seed('RBDA 7-21', 'RBDA 7-05')
@pytest.mark.parametrize('seed', range(3))
def test_chain_with_two_handles(seed):
    """The joined chain's two-handle equation is J H^-1 J^T of its whole equation of motion."""
    model = free_chain(seed)
    s = State(model, seed)
    dense, leaves, joints = bodies_and_joints(model, s)
    halves = [
        joining.join(joining.side_by_side(leaves[1], leaves[2]), [joints[2]], [1, 2]).handles,
        joining.join(joining.side_by_side(leaves[3], leaves[4]), [joints[4]], [3, 4]).handles]
    whole = joining.join(joining.side_by_side(*halves), [joints[3]], [1, 4])
    # the projection method, with dense matrices (7.10 to 7.12)
    J = np.vstack([dense.jacobian(1), dense.jacobian(4)])
    H = dense.mass_matrix()
    C = dense.rnea(np.zeros(model.nv), model.gravity)
    Jdqd = np.concatenate([dense.velocity_product(1), dense.velocity_product(4)])
    assert_near(whole.handles.Phi, J @ np.linalg.solve(H, J.T))
    assert_near(whole.handles.b, Jdqd - J @ np.linalg.solve(H, C))
    assert whole.handles.bodies == (1, 4)
    # forces on both ends: the joint between the halves passes on what moves the far one
    f = s.rng.normal(size=12)
    a = np.array(whole.handles.Phi) @ f + whole.handles.b
    forces = np.array(whole.forces(f.tolist()))
    qdd = np.linalg.solve(H, dense.jacobian(1).T @ f[:6] + dense.jacobian(4).T @ f[6:] - C)
    expected = dense.accelerations(qdd)
    assert_near(a, np.concatenate([expected[1], expected[4]]))
    net = dense.net_forces(expected)
    a_g = np.array([0.0, 0.0, 0.0, *model.gravity])
    push = [None, f[:6], np.zeros(6), np.zeros(6), f[6:]]
    across = sum(net[i] - dense.I[i] @ a_g - push[i] for i in (3, 4))
    assert_near(forces[12:18], across, scale=np.linalg.norm(f), limit=1e-9)
    assert_near(forces[6:12], -across, scale=np.linalg.norm(f), limit=1e-9)


@pytest.mark.seed('RBDA 7-22')
def test_two_joints_at_once():
    """Two balls between two bodies, joined as a set with dependent constraints, are a hinge."""
    rng = np.random.default_rng(8)
    builder = rbd_ros.ModelBuilder('hinged')
    builder.add_body('one', 'base', rbd_ros.joints.Free(), joint_name='root',
                     inertia=families.random_inertia(rng))
    builder.add_body('two', 'one', Revolute(tuple(rng.normal(size=3).tolist())),
                     Transform.translation(Vec3(0.3, 0.1, -0.2)), families.random_inertia(rng),
                     joint_name='hinge')
    model = builder.build()
    s = State(model, 1)
    robot = rbd_ros.Dynamics(model, backend='reference')
    qdd = robot.forward_dynamics(s.q, s.qd, 0.0 * s.tau)
    dense, leaves, joints = bodies_and_joints(model, s)
    expected = dense.accelerations(qdd)
    hinge = dense.S[2][:, 0]
    direction = hinge[:3]
    centre = np.cross(direction, hinge[3:]) / (direction @ direction)
    balls = []
    for offset in (0.2, -0.4):
        T = np.vstack([skew(centre + offset * direction), np.eye(3)])
        balls.append(joining.Constraint(1, 2, T.tolist(), dense.c[2].tolist()))
    both = joining.side_by_side(leaves[1], leaves[2])
    one_by_one = joining.join(both, balls[:1], [1, 2]).handles
    for joined in (joining.join(both, balls, [1, 2], redundant=True),
                   joining.join(one_by_one, balls[1:], [1, 2], redundant=True)):
        # through a singular system
        assert_near(joined.handles.b, np.concatenate(expected[1:]), limit=1e-9)
    # the hinge as one joint says the same of forces on both bodies
    hinged = joining.join(both, [joints[2]], [1, 2]).handles
    assert_near(joined.handles.Phi, hinged.Phi, limit=1e-9)
    # a set of handles on the base: two joints close a loop through it
    axis = dense.T[2].tolist()
    fixed = joining.join(both, [
        joints[2], joining.Constraint(0, 1, np.eye(6).tolist(), [0.0] * 6),
        joining.Constraint(0, 2, axis, [0.0] * 6)], [2], redundant=True)
    S = dense.S[2]
    assert_near(fixed.handles.Phi, S @ np.linalg.solve(S.T @ dense.I[2] @ S, S.T), limit=1e-8)


def test_pseudo_inverse_of_a_singular_matrix():
    """The shortest solution is that of numpy, and what cannot be reached is left out."""
    A = np.random.default_rng(4).normal(size=(8, 5))
    Y, b = A @ A.T, np.random.default_rng(5).normal(size=8)
    assert_near(joining.PseudoInverse(Y.tolist()).solve(b.tolist()),
                np.linalg.pinv(Y, rcond=1e-10) @ b, limit=1e-8)
    regular = A.T @ A
    assert_near(joining.PseudoInverse(regular.tolist()).solve(b[:5].tolist()),
                ltl.Dense(regular.tolist()).solve(b[:5].tolist()), limit=1e-10)
