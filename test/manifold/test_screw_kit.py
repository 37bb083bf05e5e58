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

"""The kit of appendix A of Spencer's thesis: screws, adjoints, joints, recursions of a tree."""

import manifold_rig as rig
import numpy as np
import pytest
from rbd_ros import Dynamics
from rbd_ros.algorithms.other_forms.screw_matrices import adjoint
from rbd_ros.joints import Cylindrical, Helical, Prismatic, Revolute, RollPitchYaw, Universal
from rbd_ros.manifold.body_jacobians import ad
from rbd_ros.manifold.nullspace import reduced_inertia
from rbd_ros.manifold.system import derivative, derivatives
from rbd_ros.model import positions
from rbd_ros.samples import families
from rbd_ros.spatial import Force, Motion, RigidInertia, Sym3, Vec3
from rbd_ros.spatial.exponential import displacement, from_homogeneous, hat, homogeneous, vee
from scipy.linalg import expm
from spatial_oracle import array

RNG = np.random.default_rng(12)
SCREWS = [RNG.normal(size=6), np.array([0.0, 0.0, 0.0, 0.3, -1.0, 2.0]),
          np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.4])]
TREE = families.random_tree(5, 4, joints=(
    'revolute', 'prismatic', 'helical', 'universal', 'spherical', 'cylindrical'), branching=0.4)


def pose():
    """Return a random pose, 4 x 4."""
    return expm(np.array(hat(Motion.from_list(RNG.normal(size=6).tolist())), float))


def big_ad(T):
    """Return Ad of a pose by its definition: [R 0; [p] R R]."""
    R, p = T[:3, :3], T[:3, 3]
    cross = np.array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])
    return np.block([[R, np.zeros((3, 3))], [cross @ R, R]])


@pytest.fixture(scope='module')
def state():
    """Return a tree with joints of many freedoms, and a state of it."""
    rng = np.random.default_rng(7)
    q = np.array(positions.random_position(TREE, rng))
    return Dynamics(TREE), q, *rng.normal(size=(3, TREE.nv))


@pytest.mark.seed('SPENCER 52', 'SPENCER 53')
@pytest.mark.parametrize('screw', SCREWS, ids=str)
def test_exponential_of_a_screw(screw):
    """Angular first; closed form and series agree with the power series of the matrix."""
    S = Motion.from_list(screw.tolist())
    np.testing.assert_array_equal(vee(hat(S)).to_list(), screw)
    w, v = screw[:3], screw[3:]
    expected = np.zeros((4, 4))
    expected[:3, :3], expected[:3, 3] = np.cross(w, np.eye(3)).T, v
    np.testing.assert_array_equal(np.array(hat(S), float), expected)
    for angle in (1e-9, 1e-4, 0.7, 2.0, -3.0):
        ours = np.array(homogeneous(displacement(S, angle)), float)
        np.testing.assert_allclose(ours, expm(angle * expected), rtol=1e-13, atol=1e-14)


@pytest.mark.seed('SPENCER 54')
def test_adjoints_of_poses_and_screws():
    """Products, the Jacobi identity, and Ad_G (g x h) = Ad_G g x Ad_G h; forces by transposes."""
    one, two = pose(), pose()
    X, Y = from_homogeneous(one.tolist()), from_homogeneous(two.tolist())
    np.testing.assert_allclose(array(X), big_ad(np.linalg.inv(one)), atol=1e-13)
    np.testing.assert_allclose(array(Y @ X), big_ad(np.linalg.inv(one @ two)), atol=1e-13)
    g, h, k = RNG.normal(size=(3, 6))
    G, H = Motion.from_list(g.tolist()), Motion.from_list(h.tolist())
    np.testing.assert_allclose(G.cross(H).to_list(), ad(g) @ h, atol=1e-14)
    np.testing.assert_allclose(np.array(adjoint(G)), ad(g), atol=1e-15)
    np.testing.assert_allclose(
        ad(g) @ ad(h) @ k + ad(h) @ ad(k) @ g + ad(k) @ ad(g) @ h, 0.0, atol=1e-13)
    np.testing.assert_allclose((X @ G.cross(H)).to_list(), (X @ G).cross(X @ H).to_list(),
                               atol=1e-13)
    f = Force.from_list(k.tolist())
    np.testing.assert_allclose(G.cross(f).to_list(), -ad(g).T @ k, atol=1e-14)   # minus ad*
    np.testing.assert_allclose(X.inv_apply(f).to_list(), array(X).T @ k, atol=1e-13)


@pytest.mark.seed('SPENCER 55', 'SPENCER 56')
def test_velocities_seen_from_body_and_base(state):
    """The body velocity is G^-1 dG/dt and moves with a frame; in the base it is dG/dt G^-1."""
    robot, q, qd, _, _ = state
    name = TREE.body_names[-1]

    def at(t):
        return robot.pose(np.array(positions.integrate(TREE, q.tolist(), (t * qd).tolist())), name)

    T, rate = at(0.0), derivative(at)
    body = robot.velocity(q, qd, name)
    np.testing.assert_allclose(vee((np.linalg.inv(T) @ rate).tolist()).to_list(), body, atol=1e-9)
    base = vee((rate @ np.linalg.inv(T)).tolist()).to_list()
    np.testing.assert_allclose(from_homogeneous(T.tolist()).inv_apply(
        Motion.from_list(body.tolist())).to_list(), base, atol=1e-9)
    fixed = pose()      # a frame fixed in the body: T -> T fixed
    moved = np.linalg.inv(T @ fixed) @ rate @ fixed
    X = from_homogeneous(fixed.tolist())
    np.testing.assert_allclose(vee(moved.tolist()).to_list(),
                               (X @ Motion.from_list(body.tolist())).to_list(), atol=1e-9)
    np.testing.assert_allclose(rate @ fixed @ np.linalg.inv(T @ fixed), rate @ np.linalg.inv(T),
                               atol=1e-12)
    # power is the same in both frames if forces move by the inverse transpose
    v, f = Motion.from_list(body.tolist()), Force.from_list(RNG.normal(size=6).tolist())
    assert (X @ v).dot(X @ f) == pytest.approx(v.dot(f), abs=1e-12)
    np.testing.assert_allclose((X @ f).to_list(), np.linalg.inv(array(X)).T @ f.to_list(),
                               atol=1e-12)


@pytest.mark.seed('SPENCER 57')
@pytest.mark.parametrize('screw', SCREWS, ids=str)
def test_derivatives_of_adjoints(screw):
    """Identities 1 to 4 of A.1.6, f = M exp(S q): Ad of f and of its inverse, and the duals."""
    S, M = Motion.from_list(screw.tolist()), from_homogeneous(pose().tolist())

    def inverse(q):         # Ad of f^-1
        return array(displacement(S, 0.4 + q) @ M)

    X, A = inverse(0.0), ad(screw)
    np.testing.assert_allclose(derivative(inverse), -A @ X, atol=1e-9)
    np.testing.assert_allclose(derivative(lambda q: inverse(q).T), -X.T @ A.T, atol=1e-9)
    Y = np.linalg.inv(X)
    np.testing.assert_allclose(derivative(lambda q: np.linalg.inv(inverse(q))), Y @ A, atol=1e-9)
    np.testing.assert_allclose(derivative(lambda q: np.linalg.inv(inverse(q)).T), A.T @ Y.T,
                               atol=1e-9)


@pytest.mark.seed('SPENCER 60')
@pytest.mark.parametrize('joint, screw', [
    (Revolute((0.0, 0.0, 1.0)), [0, 0, 1, 0, 0, 0]),
    (Prismatic((0.0, 0.0, 1.0)), [0, 0, 0, 0, 0, 1]),
    (Helical((0.0, 0.0, 1.0), 0.25), [0, 0, 1, 0, 0, 0.25])])
def test_joints_are_exponentials_of_their_screws(joint, screw):
    """The transform of a joint of one freedom is exp(S q), S its only column."""
    column, = joint.subspace([0.3])
    np.testing.assert_allclose(column.to_list(), screw, atol=1e-15)
    for q in (0.0, 0.3, -2.0):
        np.testing.assert_allclose(
            array(joint.transform([q])), array(displacement(column, q)), atol=1e-14)


@pytest.mark.seed('SPENCER 61')
def test_inertia_moves_to_the_frame_of_its_link():
    """The closed form is Ad* diag(J, m 1) Ad, symmetric, and positive."""
    T = pose()
    X = from_homogeneous(T.tolist())        # from the link's frame to that of the centre
    own = RigidInertia.from_com(2.0, Vec3(0.0, 0.0, 0.0), Sym3(0.4, 0.01, 0.02, 0.5, -0.03, 0.6))
    dense = np.diag([0.0, 0.0, 0.0, 2.0, 2.0, 2.0])
    dense[:3, :3] = [[0.4, 0.01, 0.02], [0.01, 0.5, -0.03], [0.02, -0.03, 0.6]]
    found = X.inv_apply(own)
    columns = [(found @ Motion.unit(k)).to_list() for k in range(6)]
    expected = array(X).T @ dense @ array(X)
    np.testing.assert_allclose(np.array(columns).T, expected, atol=1e-13)
    assert np.linalg.eigvalsh(expected).min() > 0.0
    R, p = T[:3, :3], T[:3, 3]
    shifted = RigidInertia.from_com(2.0, Vec3(*p.tolist()), Sym3.from_matrix(
        (R @ dense[:3, :3] @ R.T).tolist()))
    np.testing.assert_allclose(np.array(columns).T, np.array(
        [(shifted @ Motion.unit(k)).to_list() for k in range(6)]).T, atol=1e-13)


@pytest.mark.seed('SPENCER 62')
@pytest.mark.parametrize('joint', [
    Cylindrical((0.0, 0.0, 1.0)), Universal((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), RollPitchYaw()])
def test_joints_of_many_freedoms(joint):
    """S v is the body velocity of the joint's motion, and S vd + c its rate."""
    q, v, vd = RNG.normal(size=(3, joint.nv))

    def at(t):
        return np.array(homogeneous(joint.transform((q + t * v + 0.5 * t * t * vd).tolist())))

    def velocity(t):
        S = joint.subspace((q + t * v + 0.5 * t * t * vd).tolist())
        return np.array([s.to_list() for s in S]).T @ (v + t * vd)

    rate = np.linalg.inv(at(0.0)) @ derivative(at)
    np.testing.assert_allclose(velocity(0.0), vee(rate.tolist()).to_list(), atol=1e-9)
    S = np.array([s.to_list() for s in joint.subspace(q.tolist())]).T
    bias = np.array(joint.bias(q.tolist(), v.tolist()).to_list(), float)
    np.testing.assert_allclose(derivative(velocity), S @ vd + bias, atol=1e-9)
    if isinstance(joint, Cylindrical):
        np.testing.assert_array_equal(S, np.eye(6)[:, [2, 5]])


@pytest.mark.seed('SPENCER 63', 'SPENCER 64', 'SPENCER 70', 'SPENCER 71')
def test_recursions_of_a_tree(state):
    """Newton-Euler, unit accelerations, composite and articulated bodies agree."""
    robot, q, qd, qdd, tau = state
    columns = reduced_inertia(robot.inverse_dynamics, q, np.eye(TREE.nv))
    H = robot.mass_matrix(q)
    np.testing.assert_allclose(columns, H, atol=1e-11)
    np.testing.assert_allclose(H, H.T, atol=1e-13)
    rest = robot.inverse_dynamics(q, qd, np.zeros(TREE.nv))
    np.testing.assert_allclose(robot.inverse_dynamics(q, qd, qdd), H @ qdd + rest, atol=1e-10)
    forward = np.linalg.solve(columns, tau - rest)
    for method in ('aba', 'crba'):
        found = robot.forward_dynamics(q, qd, tau, method=method)
        np.testing.assert_allclose(found, forward, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(robot.inverse_dynamics(q, qd, found), tau, atol=1e-9)

    def energy(t):          # d(qd)/dt = qdd: the power of the joint forces is dE/dt
        moved = positions.integrate(TREE, q.tolist(), (t * qd + 0.5 * t * t * qdd).tolist())
        now = qd + t * qdd
        return np.asarray(robot.kinetic_energy(moved, now) + robot.potential_energy(moved))

    assert float(derivative(energy)) == pytest.approx(
        qd @ robot.inverse_dynamics(q, qd, qdd), rel=1e-7)


@pytest.mark.seed('SPENCER 46', 'SPENCER 47')
def test_derivatives_of_newton_and_euler(state):
    """By differences along the velocity variables; those by velocity know no qdd and no weight."""
    robot, q, qd, qdd, _ = state
    found = robot.inverse_dynamics_derivatives(q, qd, qdd)

    def moved(step):
        return np.array(positions.integrate(TREE, q.tolist(), step.tolist()))

    by_q = derivatives(lambda e: robot.inverse_dynamics(moved(e), qd, qdd), TREE.nv)
    by_qd = derivatives(lambda e: robot.inverse_dynamics(q, qd + e, qdd), TREE.nv)
    np.testing.assert_allclose(found.dtau_dq, by_q, atol=1e-7)
    np.testing.assert_allclose(found.dtau_dqd, by_qd, atol=1e-7)
    light = Dynamics(TREE.with_gravity((0.0, 0.0, 0.0)))
    np.testing.assert_allclose(
        light.inverse_dynamics_derivatives(q, qd, 0.0 * qdd).dtau_dqd, found.dtau_dqd, atol=1e-10)
    system = rig.spatial()      # what a constrained system hands to its linearisation
    state = rig.spatial_state()[1]
    np.testing.assert_array_equal(
        system.dynamics_derivatives(*state, state.qd)[0],
        system.robot.inverse_dynamics_derivatives(*state, state.qd).dtau_dq)
