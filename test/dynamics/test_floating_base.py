# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Floating-base dynamics (RBDA 9.3 to 9.5) against the 6-DoF joint and closed forms."""

from hypothesis import given, strategies as st
import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms import aba, crba, floating, rnea
from rbd_ros.algorithms.kinematics import Conditions, links
from rbd_ros.errors import ModelError
from rbd_ros.joints import Free, Prismatic, Revolute
from rbd_ros.model.positions import random_position
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.samples import families
from rbd_ros.spatial import Force, RigidInertia, Sym3, Vec3
from spatial_oracle import array
from tree_oracle import assert_near, DenseTree, examples, SEEDS, State

few = examples(30)


@st.composite
def floating_trees(draw):
    """Return a random tree on a floating base, all joint types after it."""
    nb, seed = draw(st.integers(1, 8)), draw(SEEDS)
    rng = np.random.default_rng(seed)
    builder = rbd_ros.ModelBuilder(f'floating_{nb}')
    builder.add_body('body_1', 'base', Free(), families.random_transform(rng),
                     families.random_inertia(rng), joint_name='root')
    for i in range(2, nb + 1):
        kind = str(rng.choice(list(families.JOINTS)))
        axis = rng.normal(size=3)
        parent = f'body_{rng.integers(max(1, i - 3), i)}'
        builder.add_body(f'body_{i}', parent, families.JOINTS[kind](tuple((axis / np.linalg.norm(
            axis)).tolist())), families.random_transform(rng), families.random_inertia(rng),
            joint_name=f'joint_{i}')
    return builder.build()


def tree_equations(model, q, qd, conditions):
    """Return the equation of motion from the matrix and the bias force of the tree."""
    H = crba.crba(model, links(model, q), conditions.inertia)
    return floating.equations(model, H, rnea.rnea(model, q, qd, None, conditions).tau)


class Case:
    """A floating tree in a random state, with the fixed-base answer."""

    def __init__(self, model, seed):
        self.model, s = model, State(model, seed)
        self.s, self.q, self.qd = s, s.q.tolist(), s.qd.tolist()
        forces = [None, *(Force.from_list(row) for row in s.f_ext.tolist())]
        self.conditions = Conditions(Vec3(*model.gravity), forces)
        self.tau = s.tau[6:].tolist()
        self.fixed = np.array(aba.aba(
            model, self.q, self.qd, [0.0] * 6 + self.tau, self.conditions).qdd)
        self.scale = np.linalg.norm(self.fixed) * max(1.0, 1e-5 * np.linalg.cond(
            DenseTree(model, s.q).mass_matrix()))

    def equations(self):
        """Return the equation of motion, as arrays."""
        e = tree_equations(self.model, self.q, self.qd, self.conditions)
        n = self.model.nv - 6
        shapes = ((6, 6), (6, n), (n, n), (6,), (n,))
        return e._make(np.reshape(x, shape) for x, shape in zip(e, shapes)), e


@pytest.mark.seed('RBDA 9-08', 'RBDA 9-10')
@few
@given(floating_trees(), SEEDS)
def test_articulated_bodies_on_a_floating_base(model, seed):
    """Table 9.4 gives the accelerations of the fixed-base algorithm with a 6-DoF joint."""
    case = Case(model, seed)
    a_0, qdd = floating.forward_dynamics(model, case.q, case.qd, case.tau, case.conditions)
    assert_near([*array(a_0), *qdd], case.fixed, scale=case.scale)


@pytest.mark.seed('RBDA 9-09', 'RBDA 9-11', 'RBDA 9-12')
@few
@given(floating_trees(), SEEDS)
def test_equation_of_motion_on_a_floating_base(model, seed):
    """Table 9.5's coefficients solve to ABA's accelerations, with and without the base."""
    case = Case(model, seed)
    e, raw = case.equations()
    whole = np.block([[e.I_0, e.F], [e.F.T, e.H]])
    rhs = np.concatenate([-e.p_0, case.s.tau[6:] - e.C])
    assert_near(np.linalg.solve(whole, rhs), case.fixed, scale=case.scale)
    dense = DenseTree(model, case.q, case.qd)
    # I_0 is the inertia of the whole robot as one rigid body, in the coordinates of its base.
    back = np.linalg.inv(dense.X[1])
    assert_near(e.I_0, back.T @ sum(dense.I[1:]) @ back)
    if model.nv > 6:
        H_fl, C_fl = floating.eliminate_base(raw)
        assert np.linalg.eigvalsh(H_fl)[0] > 0.0
        assert_near(np.linalg.solve(H_fl, case.s.tau[6:] - C_fl), case.fixed[6:],
                    scale=case.scale)
        schur = e.H - e.F.T @ np.linalg.solve(e.I_0, e.F)
        assert_near(H_fl, schur, scale=np.linalg.norm(e.H))


@pytest.mark.seed('RBDA 9-13')
@few
@given(floating_trees(), SEEDS)
def test_inverse_dynamics_on_a_floating_base(model, seed):
    """Table 9.6 undoes Table 9.4, and puts no force on the base."""
    case = Case(model, seed)
    qdd = case.fixed[6:].tolist()
    a_0, tau = floating.inverse_dynamics(model, case.q, case.qd, qdd, case.conditions)
    H = DenseTree(model, case.q).mass_matrix()
    assert_near(array(a_0), case.fixed[:6], scale=case.scale)
    assert_near(tau, case.tau, scale=np.linalg.norm(H) * case.scale, limit=1e-12)
    full = rnea.rnea(
        model, case.q, case.qd, [*array(a_0).tolist(), *qdd], case.conditions).tau
    assert_near(full, [0.0] * 6 + case.tau, scale=np.linalg.norm(H) * case.scale, limit=1e-12)


@pytest.mark.seed('RBDA 9-14')
@few
@given(floating_trees(), SEEDS)
def test_momentum_on_a_floating_base(model, seed):
    """I_0 v_0 + F qd is the sum of the momenta, and the energy follows from the same blocks."""
    case = Case(model, seed)
    e, raw = case.equations()
    dense = DenseTree(model, case.q, case.qd)
    total = sum(dense.I[i] @ dense.v[i] for i in dense.bodies)
    h = array(floating.momentum(raw, case.qd))
    assert_near(dense.X[1].T @ h, total)
    v, qd = case.s.qd[:6], case.s.qd[6:]
    energy = 0.5 * v @ e.I_0 @ v + v @ e.F @ qd + 0.5 * qd @ e.H @ qd
    expected = 0.5 * sum(dense.v[i] @ dense.I[i] @ dense.v[i] for i in dense.bodies)
    assert_near(energy, expected, limit=1e-12)


@pytest.mark.seed('RBDA 9-15')
@few
@given(floating_trees(), SEEDS)
def test_floating_jacobian_maps_internal_impulses(model, seed):
    """After joint impulses a frame's velocity has changed by J_fl times the change of qd."""
    case = Case(model, seed)
    if model.nv == 6:
        return
    frame = model.frame(model.body_names[-1])
    H = DenseTree(model, case.q).mass_matrix()
    jump = np.linalg.solve(H, np.concatenate([np.zeros(6), case.s.tau[6:]]))
    robot = rbd_ros.Dynamics(model, backend='reference')
    expected = robot.jacobian(case.q, frame.name) @ jump
    _, raw = case.equations()
    J = np.array(floating.floating_jacobian(raw, robot.jacobian(case.q, frame.name).tolist()))
    # the solve above is as uncertain as H is ill-conditioned
    scale = np.linalg.norm(J) * np.linalg.norm(jump) * max(1.0, 1e-5 * np.linalg.cond(H))
    assert_near(J @ jump[6:], expected, scale=scale)


# --- the compiled robot -----------------------------------------------------------------------


FLOATING_ARM = 'package://rbd_ros/urdf/seven_joint_arm.urdf'


class Peer:
    """A robot on a free flyer, loaded by Pinocchio too, in a random state."""

    def __init__(self, seed):
        pin = pytest.importorskip('pinocchio')
        from peer import load_pinocchio, pinocchio_position, SPATIAL
        path = find_resource(FLOATING_ARM)
        self.model = rbd_ros.load_urdf(path, floating_base=True)
        peer = load_pinocchio(path, floating_base=True)
        # which Pinocchio does not read
        peer.armature = np.array([0.0] * 6 + list(self.model.rotor_inertia[6:]))
        self.pin, self.peer, self.data = pin, peer, peer.createData()
        self.order = np.array([*SPATIAL, *range(6, self.model.nv)])     # ours from theirs
        rng = np.random.default_rng(seed)
        self.q = np.array(random_position(self.model, rng))
        self.qd, self.qdd = rng.normal(size=(2, self.model.nv))
        self.own_q = pinocchio_position(self.model, peer, self.q.tolist())

    def mass_matrix(self):
        """Return the whole inertia matrix of Pinocchio in our order."""
        H = self.pin.crba(self.peer, self.data, self.own_q)
        H = np.triu(H) + np.triu(H, 1).T
        return H[np.ix_(self.order, self.order)]

    def bias(self):
        """Return the bias force of Pinocchio in our order."""
        return self.pin.nonLinearEffects(
            self.peer, self.data, self.own_q, self.qd[self.order])[self.order]

    def forward(self, tau):
        """Return the accelerations of Pinocchio's articulated bodies in our order."""
        return self.pin.aba(self.peer, self.data, self.own_q, self.qd[self.order],
                            tau[self.order])[self.order]


@pytest.mark.seed('RBDA 9-08', 'RBDA 9-09', 'RBDA 9-10', 'RBDA 9-11', 'RBDA 9-12', 'RBDA 9-13',
                  'RBDA 9-14', 'RBDA 9-15', reason='one state and one peer serve all of them')
@pytest.mark.parametrize('seed', [1, 2])
def test_floating_quantities_against_pinocchio(seed):
    """Each quantity of a floating base is what Pinocchio's free flyer gives."""
    peer = Peer(seed)
    robot = rbd_ros.Dynamics(peer.model, backend='python')
    q, qd, H, C = peer.q, peer.qd, peer.mass_matrix(), peer.bias()
    e = robot.floating_base_equations(q, qd)
    # a rotor turns with its joint alone, so that Pinocchio's armature is in H only
    for found, right in zip(e, (H[:6, :6], H[:6, 6:], H[6:, 6:], C[:6], C[6:])):
        np.testing.assert_allclose(found, right, atol=1e-11 * np.abs(right).max())
    composite = peer.data.Ycrb[1].matrix()[np.ix_(peer.order[:6], peer.order[:6])]
    np.testing.assert_allclose(e.I_0, composite, atol=1e-12 * np.abs(composite).max())

    tau = peer.qdd[6:]
    expected = peer.forward(np.concatenate([np.zeros(6), tau]))
    size = np.abs(expected).max()
    for method in (None, *robot.methods('floating_base_forward_dynamics')):
        kernel = robot.kernel('floating_base_forward_dynamics', method=method)
        a_0, qdd = kernel(q, qd, tau, robot.gravity_vector)
        np.testing.assert_allclose([*a_0, *qdd], expected, atol=1e-10 * size)
    found = robot.floating_base_forward_dynamics(q, qd, tau)
    np.testing.assert_allclose(found.qdd, expected[6:], atol=1e-10 * size)
    back = robot.floating_base_inverse_dynamics(q, qd, expected[6:])
    np.testing.assert_allclose(back.a_0, expected[:6], atol=1e-10 * size)
    np.testing.assert_allclose(back.tau, tau, atol=1e-9 * np.abs(H).max() * size)

    H_fl, C_fl = robot.floating_base_reduced_equations(q, qd)
    recoil = np.linalg.solve(H[:6, :6], H[:6, 6:])
    np.testing.assert_allclose(H_fl, H[6:, 6:] - H[6:, :6] @ recoil, atol=1e-10 * np.abs(H).max())
    np.testing.assert_allclose(C_fl, C[6:] - recoil.T @ C[:6], atol=1e-10 * np.abs(C).max())
    np.testing.assert_allclose(robot.floating_base_momentum(q, qd), H[:6] @ qd,
                               atol=1e-11 * np.abs(H[:6] @ qd).max())
    pin, frame = peer.pin, peer.peer.getFrameId('tool0')
    J = pin.computeFrameJacobian(peer.peer, peer.data, peer.own_q, frame, pin.LOCAL)
    J = J[np.ix_(peer.order[:6], peer.order)]
    np.testing.assert_allclose(robot.floating_base_jacobian(q, 'tool0'),
                               J[:, 6:] - J[:, :6] @ recoil, atol=1e-10 * np.abs(J).max())


def test_floating_quantities_with_loads_and_followers():
    """External forces, payloads and joints that follow others act as in the whole robot."""
    builder = rbd_ros.ModelBuilder('crawler')
    rng = np.random.default_rng(3)
    builder.add_body('trunk', 'base', Free(), inertia=families.random_inertia(rng))
    for k, mimic in enumerate((None, rbd_ros.Mimic('hip_0', -2.0), None)):
        builder.add_body(f'leg_{k}', 'trunk' if k < 2 else 'leg_1', Prismatic((0.6, 0.8, 0.0)),
                         families.random_transform(rng), families.random_inertia(rng),
                         joint_name=f'hip_{k}', mimic=mimic,
                         data=rbd_ros.JointData(rotor_inertia=0.3 if k == 2 else 0.0))
    model = builder.build()
    robot = rbd_ros.Dynamics(model, backend='python', payload_frame='leg_1')
    robot.set_payload(2.0, [0.1, 0.2, 0.0], np.eye(3))
    q = np.array(random_position(model, rng))
    qd, x = rng.normal(size=(2, model.nv))
    f_ext = rng.normal(size=(model.nb, 6))
    tau = np.concatenate([np.zeros(6), x[6:]])
    whole = robot.forward_dynamics(q, qd, tau, f_ext)
    found = robot.floating_base_forward_dynamics(q, qd, x[6:], f_ext)
    np.testing.assert_allclose(np.concatenate(found), whole, atol=1e-10 * np.abs(whole).max())
    back = robot.floating_base_inverse_dynamics(q, qd, found.qdd, f_ext)
    np.testing.assert_allclose(np.concatenate(back), [*whole[:6], *x[6:]],
                               atol=1e-9 * np.abs(whole).max())
    assert robot.methods('floating_base_forward_dynamics') == ('crba',)
    many = robot.floating_base_equations(np.array([q, q]), np.array([qd, -qd]))
    assert many.F.shape == (2, 6, 2)
    with pytest.raises(rbd_ros.ShapeError, match='joint_qdd has shape'):
        robot.floating_base_inverse_dynamics(q, qd, x)


def test_a_lonely_base():
    """A body without joints has matrices of no rows, and falls."""
    model = families.random_tree(1, 0, joints=('free',))
    robot = rbd_ros.Dynamics(model, backend='python')
    q, still = [0.0] * 6 + [1.0], [0.0] * 6
    e = robot.floating_base_equations(q, still)
    assert e.H.shape == (0, 0) and e.F.shape == (6, 0) and e.C.shape == (0,)
    a_0, qdd = robot.floating_base_forward_dynamics(q, still, [])
    X = DenseTree(model, q).X[1]
    assert_near(a_0, X @ np.array([0.0, 0.0, 0.0, *model.gravity]), limit=1e-13)
    assert qdd.shape == (0,)


def test_floating_quantities_of_a_fixed_robot_are_refused():
    """The message says how to load the robot."""
    robot = rbd_ros.Dynamics(families.random_tree(7, 0, joints=('revolute',)), backend='python')
    with pytest.raises(ModelError, match='has no floating base: load it with floating_base=True'):
        robot.floating_base_equations(np.zeros(7), np.zeros(7))
    builder = rbd_ros.ModelBuilder('point')
    builder.add_body('mass', 'base', Free(), inertia=RigidInertia.from_com(
        1.0, Vec3.zero(), Sym3.diagonal(0.0, 0.0, 0.0)))
    with pytest.raises(rbd_ros.SingularError, match='moves without inertia'):
        rbd_ros.Dynamics(builder.build(), backend='python').floating_base_inverse_dynamics(
            [0.0] * 6 + [1.0], [0.0] * 6, [])


def test_massless_joints_do_not_hold_up_the_base():
    """Where the joints' motion is given, they need no inertia: the base falls as it does alone."""
    builder = rbd_ros.ModelBuilder('lamp')
    body = families.random_inertia(np.random.default_rng(4))
    builder.add_body('foot', 'base', Free(), inertia=body)
    foot = rbd_ros.Dynamics(builder.build(), backend='python')
    builder.add_body('arm', 'foot', Revolute((0.0, 1.0, 0.0)))
    builder.add_body('shade', 'arm', Revolute((1.0, 0.0, 0.0)))
    lamp = rbd_ros.Dynamics(builder.build(), backend='python')
    q, v = [0.1, 0.2, 0.3, 0.5, -0.5, 0.1, 0.7], [0.3, -0.2, 0.5, 0.1, 0.0, 0.2]
    a_0, tau = lamp.floating_base_inverse_dynamics([*q, 0.4, -0.3], [*v, 2.0, 1.0], [5.0, -4.0])
    assert_near(a_0, foot.floating_base_inverse_dynamics(q, v, [])[0])
    assert_near(tau, [0.0, 0.0])
    with pytest.raises(rbd_ros.SingularError, match='joint "arm_joint" of "lamp" moves without'):
        lamp.floating_base_forward_dynamics([*q, 0.4, -0.3], [*v, 2.0, 1.0], [0.0, 0.0])


def test_two_roots_are_no_floating_base():
    """A free body next to another tree on the world has momentum of its own: refused."""
    builder = rbd_ros.ModelBuilder('pair')
    rng = np.random.default_rng(1)
    builder.add_body('free', 'base', Free(), inertia=families.random_inertia(rng),
                     joint_name='root')
    alone = builder.build()
    builder.add_body('other', 'base', Revolute(), inertia=families.random_inertia(rng),
                     joint_name='hinge')
    model = builder.build()
    q, qd = [0.0] * 6 + [1.0], [0.0] * 6
    conditions = Conditions(Vec3(0.0, 0.0, -9.81))
    assert floating.forward_dynamics(alone, q, qd, [], conditions).a_0.to_list() == pytest.approx(
        [0.0] * 5 + [-9.81])
    match = '"pair" has no floating base: .*one body alone'
    state = [*q, 0.1], [*qd, 0.0]
    with pytest.raises(ModelError, match=match):
        floating.equations(model, np.eye(7).tolist(), [0.0] * 7)
    for form in (floating.forward_dynamics, floating.inverse_dynamics):
        with pytest.raises(ModelError, match=match):
            form(model, *state, [0.0], conditions)
