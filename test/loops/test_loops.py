# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Closed loops: constraints of loop joints, motion under them, closed positions (RBDA 8)."""


from joint_samples import lift_drift, lift_drift_rate, lift_subspace, lift_transform, swing
from loop_rig import MECHANISMS, moving, parallelogram, robot
import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms.kinematics import links
from rbd_ros.algorithms.linear.rank import counted
from rbd_ros.algorithms.loops import loop_joints
from rbd_ros.algorithms.loops.motion import (
    METHODS, Nominal, REGULAR_PIVOT, solve, solve_regular)
from rbd_ros.compiler import sin
from rbd_ros.dynamics.families.loops.analysis import LoopAnalysis
from rbd_ros.dynamics.kernels.builder import Options
from rbd_ros.dynamics.kernels.store import KernelStore
from rbd_ros.dynamics.table import TABLE
from rbd_ros.joints import (
    Cylindrical, Fixed, Helical, Planar, Prescribed, Prismatic, RackAndPinion, Reversed, Revolute,
    RollPitchYaw, RotationVector, SphereInCylinder, Spherical, Translation, Universal, UserJoint)
from rbd_ros.model import connectivity, positions, spanning_trees
from rbd_ros.samples import families, mechanisms
from rbd_ros.spatial import Motion, Transform, Vec3, xlt

pytestmark = pytest.mark.slow

#: Loop joints of every type that has constraints; the axis is no coordinate axis.
AXIS = (0.36, 0.48, 0.8)
JOINTS = (Revolute(AXIS), Prismatic(AXIS), Helical(AXIS, 0.3), Cylindrical(AXIS), Planar(AXIS),
          Spherical(), RollPitchYaw(), RotationVector(), Translation(), Fixed(),
          Universal((1.0, 0.0, 0.0), AXIS), RackAndPinion(0.4), SphereInCylinder(AXIS),
          Reversed(Universal()), Reversed(SphereInCylinder()), Prescribed(Revolute(), swing),
          UserJoint(1, 1, transform=lift_transform, subspace=lift_subspace, drift=lift_drift,
                    drift_rate=lift_drift_rate, type_name='lift',
                    locate=lambda X, t: [X.r.z - 0.5 * sin(t)]))


# --- one loop joint ---------------------------------------------------------------------------


@pytest.mark.seed('RBDA 8-09', 'RBDA 8-10')
@pytest.mark.parametrize('joint', JOINTS, ids=lambda joint: joint.type_name)
def test_position_error_of_every_joint_type(joint):
    """It vanishes at every position of the joint, and grows along T as the frame moves away."""
    rng, t = np.random.default_rng(3), 0.4
    X = joint.transform(joint.random(rng), t)
    np.testing.assert_allclose(joint.closure_error(X, t), np.zeros(6 - joint.nv), atol=1e-12)
    T = np.array([f.to_list() for f in joint.constraint_at(X, t)])
    S = np.array([s.to_list() for s in joint.subspace(joint.locate(X, t), t)]).reshape(-1, 6)
    np.testing.assert_allclose(T @ S.T, 0.0, atol=1e-12)
    assert np.linalg.matrix_rank(np.vstack((T, S))) == 6
    for h in (1e-4, 1e-5):
        v = rng.normal(size=6)
        moved = [np.array(joint.closure_error(_moved(X, h * v * sign), t)) for sign in (1.0, -1.0)]
        np.testing.assert_allclose((moved[0] - moved[1]) / (2.0 * h), T @ v, atol=20.0 * h)


def _moved(X, step):
    """Return the transform after its successor frame has moved by a small step."""
    w, v = Vec3(*step[:3].tolist()), Vec3(*step[3:].tolist())
    turn = RotationVector().transform([*w])
    return Transform(turn.E, v) @ X


@pytest.mark.seed('RBDA 8-10')
def test_table_of_position_errors():
    """Table 8.1: entries of the 6 x 6 transform, to first order in the error."""
    small = np.array([2.0, -3.0, 1.0, 1.5, -2.5, 3.5]) * 1e-5
    z = (0.0, 0.0, 1.0)
    expected = {
        Fixed(): lambda X: 0.5 * np.array([
            X[1, 2] - X[2, 1], X[2, 0] - X[0, 2], X[0, 1] - X[1, 0],
            X[4, 2] - X[5, 1], X[5, 0] - X[3, 2], X[3, 1] - X[4, 0]]),
        Revolute(z): lambda X: np.array([
            X[1, 2], -X[0, 2], X[4, 2], -X[3, 2], X[3, 0] * X[1, 0] + X[3, 1] * X[1, 1]]),
        Cylindrical(z): lambda X: np.array([X[1, 2], -X[0, 2], X[4, 2], -X[3, 2]]),
        Prismatic(z): lambda X: np.array([
            0.5 * (X[1, 2] - X[2, 1]), 0.5 * (X[2, 0] - X[0, 2]), 0.5 * (X[0, 1] - X[1, 0]),
            X[4, 2], -X[3, 2]]),
        Spherical(): lambda X: np.array([
            X[4, :3] @ X[2, :3], X[5, :3] @ X[0, :3], X[3, :3] @ X[1, :3]])}
    for joint, table in expected.items():
        q = joint.random(np.random.default_rng(1))
        X = _moved(joint.transform(q), small)
        full = np.array([(X @ Motion.unit(i)).to_list() for i in range(6)]).T
        np.testing.assert_allclose(joint.closure_error(X), table(full), atol=2e-9)
        assert np.abs(table(full)).max() > 1e-5


# --- constraints of a mechanism ---------------------------------------------------------------


def loop_of(joint, seed=5):
    """Return a tree of joints of all kinds whose two branches a joint connects."""
    rng = np.random.default_rng(seed)
    builder = rbd_ros.ModelBuilder('loop')
    names = ('trunk', 'left', 'tip', 'right')
    kinds = (Revolute(AXIS), Spherical(), Prismatic(AXIS), Universal())
    for name, parent, kind in zip(names, ('base', 'trunk', 'left', 'trunk'), kinds, strict=True):
        builder.add_body(name, parent, kind, families.random_transform(rng),
                         families.random_inertia(rng))
    builder.add_loop_joint('close', 'tip', 'right', joint, families.random_transform(rng),
                           families.random_transform(rng))
    return builder.build()


@pytest.mark.seed('RBDA 8-03', 'RBDA 8-04', 'RBDA 8-05', 'RBDA 8-06', 'RBDA 8-17')
@pytest.mark.parametrize('joint', JOINTS, ids=lambda joint: joint.type_name)
def test_constraints_of_every_joint_type(joint):
    """Everywhere, closed or not, K qd is T^T v_J, and its derivative K qdd - k."""
    model, rng, t = loop_of(joint), np.random.default_rng(7), 0.4
    q = np.array(positions.random_position(model, rng))
    qd, qdd = rng.normal(size=(2, model.nv))
    found = loop_joints.constraints(model, q.tolist(), qd.tolist(), t=t)
    K, k = np.array(found.K), np.array(found.k)
    assert K.shape == (6 - joint.nv, model.nv)
    np.testing.assert_array_equal(K, loop_joints.jacobian(model, q.tolist(), t))
    assert not K[:, model.velocity_slice('trunk_joint')].any()         # outside of the loop
    sigma = np.array(loop_joints.constraints(model, q.tolist(), [0.0] * model.nv, t=t).velocity)
    np.testing.assert_allclose(K @ qd + sigma, found.velocity, atol=1e-12)

    def at(h):
        there = positions.integrate(model, q.tolist(), (h * qd + 0.5 * h * h * qdd).tolist())
        return np.array(loop_joints.constraints(
            model, there, (qd + h * qdd).tolist(), t=t + h).velocity)
    h = 1e-4
    rate = (8.0 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12.0 * h)
    np.testing.assert_allclose(rate, K @ qdd - k, atol=1e-8)


@pytest.mark.seed('RBDA 8-05')
def test_loop_jacobian_has_the_signs_of_the_two_sides():
    """Epsilon is +1 towards the successor, -1 towards the predecessor, and 0 elsewhere."""
    model = loop_of(Fixed())
    path, = model.loop_paths
    index = {name: model.body_index(name) for name in ('trunk', 'left', 'tip', 'right')}
    assert path == {index['right']: 1, index['left']: -1, index['tip']: -1}
    assert connectivity.meeting_point(model.parent, index['tip'], index['right']) == index['trunk']
    # J_L of a body-fixed pair of frames is the difference of their Jacobians, in one frame
    arm = rbd_ros.Dynamics(model.spanning_tree, backend='reference')
    q = np.array(positions.random_position(model, np.random.default_rng(2)))
    loop, tree = model.loops[0], links(model, q.tolist())
    at = loop_joints.position(model, tree, loop)
    J = {name: arm.jacobian(q, name) for name in ('tip', 'right')}
    to_s = np.array([(loop.X_S @ Motion.unit(i)).to_list() for i in range(6)]).T
    to_p = np.array([(at.X @ (loop.X_P @ Motion.unit(i))).to_list() for i in range(6)]).T
    np.testing.assert_allclose(loop_joints.jacobian(model, q.tolist()),
                               to_s @ J['right'] - to_p @ J['tip'], atol=1e-13)


@pytest.mark.seed('RBDA 8-18')
@pytest.mark.parametrize('distance', [1e4, 1e7])
def test_constraints_do_not_depend_on_where_the_base_is(distance):
    """Far from the origin not a digit of K, k and delta is lost."""
    far = rbd_ros.ModelBuilder('far')
    far.add_body('cart', 'base', Prismatic((1.0, 0.0, 0.0)), None, families.random_inertia(
        np.random.default_rng(0)))
    for i, length in ((1, 0.3), (2, 0.8), (3, 0.6)):
        far.add_body(f'bar_{i}', 'cart' if i == 1 else f'bar_{i - 1}', Revolute(),
                     xlt((0.0, 0.3, 0.8)[i - 1], 0.0, 0.0), mechanisms.rod(length, 1.0))
    far.add_loop_joint('close', 'cart', 'bar_3', Revolute(), xlt(0.9, 0.0, 0.0),
                       xlt(0.6, 0.0, 0.0))
    model = far.build()
    q, qd = [0.3, 0.9, -0.4, -2.0], [distance, 1.3, -1.6, 0.6]
    near = loop_joints.constraints(model, [0.0, *q[1:]], [0.0, *qd[1:]])
    there = loop_joints.constraints(model, [distance, *q[1:]], qd)
    for name in near._fields:
        np.testing.assert_array_equal(getattr(there, name), getattr(near, name))


# --- motion -----------------------------------------------------------------------------------


@pytest.mark.seed('RBDA 8-02', 'RBDA 8-13', 'RBDA 8-14', 'RBDA 8-22', 'RBDA 8-24',
                  reason='one fixture of the reference has the numbers of all')
def test_golden_four_bar():
    """The four-bar linkage of the reference: K, accelerations, mobility, with and without SIC."""
    made, _ = robot('four_bar')
    q = np.array([0.9, -0.4262239867, -2.0418464295])
    qd, tau = np.array([1.3, -1.641238173, 0.6428154012]), np.array([0.7, 0.0, 0.0])
    qdd = [-16.3136955852, 21.1345466729, -7.6139929082]
    K = made.loop_jacobian(q)
    expected = np.zeros((5, 3))
    expected[2] = -0.8999966562, -0.7128737757, 0.0
    expected[3] = 0.0024533165, 0.2369421809, 0.6
    assert not K[[0, 1, 4]].any()
    # the reference has rows in base coordinates, here they are in those of the last bar
    np.testing.assert_allclose(K[2:4].T @ K[2:4], expected.T @ expected, atol=1e-9)
    np.testing.assert_allclose(made.forward_dynamics(q, qd, tau), qdd, atol=2e-7)
    report = made.loop_report
    assert (report.mobility, report.constraints, report.rank) == (1, 5, 2)
    assert report.overconstraint == 3
    sic = rbd_ros.Dynamics(mechanisms.four_bar(0.9, SphereInCylinder())[0], backend='python')
    found = sic.loop_dynamics(q, qd, tau)
    np.testing.assert_allclose(found.qdd, qdd, atol=2e-7)
    np.testing.assert_allclose(found.multipliers, [0.3799206432, 21.6837549739], atol=1e-6)
    assert (found.rank, sic.loop_report.overconstraint, found.method) == (2, 0, 'regular')


@pytest.mark.sampled('robots', 2)
@pytest.mark.seed('RBDA 8-13', 'RBDA 8-14', 'RBDA 8-15', 'RBDA 8-28')
@pytest.mark.parametrize('name', MECHANISMS)
def test_all_methods_agree(name):
    """Compiled, direct, multipliers first, projected, and all bodies at once: one motion."""
    made, q, qd, tau = moving(name)
    f_ext = np.random.default_rng(9).normal(size=(made.model.nb, 6))
    for loads in ((), (f_ext,)):
        qdd = made.forward_dynamics(q, qd, tau, *loads)
        size = np.abs(qdd).max()
        for method in ('auto', 'direct', 'multipliers', 'projection', 'whole_system'):
            found = made.loop_dynamics(q, qd, tau, *loads, method=method)
            np.testing.assert_allclose(found.qdd, qdd, atol=1e-10 * size)
            assert found.rank == made.loop_report.rank and found.residual < 1e-9 * size
            assert found.method == ('regular' if method == 'auto' else method)
        K, H = made.loop_jacobian(q), made.mass_matrix(q)
        np.testing.assert_allclose(K @ qdd, made.loop_bias(q, qd), atol=1e-10 * size)
        C = made.bias(q, qd, *loads)
        np.testing.assert_allclose(H @ qdd + C - tau, K.T @ found.multipliers, atol=1e-8)   # 8.6
    # every row that constrains anything is either solved for or watched
    store = KernelStore(made.model, Options('python'), TABLE, LoopAnalysis)
    rows, dependent, _ = store.loops.nominal()
    assert len(rows) == np.linalg.matrix_rank(K[list(rows)]) == made.loop_report.rank
    assert not set(rows) & set(dependent)
    assert {*rows, *dependent} >= set(np.flatnonzero(np.abs(K).max(axis=1) > 1e-9).tolist())
    np.testing.assert_allclose(made.loop_error(q), 0.0, atol=1e-12)
    np.testing.assert_allclose(made.loop_velocity(q, qd), 0.0, atol=1e-12)


@pytest.mark.seed('RBDA 8-23')
def test_dead_centre_of_a_parallelogram():
    """Folded flat it loses a constraint; the rank is reported, and the motion goes on."""
    made = parallelogram()
    assert made.loop_report.mobility == 1
    zero = np.zeros(3)
    for angle, rank, method in ((1.0, 2, 'regular'), (0.1, 2, 'regular'), (1e-4, 2, 'multipliers'),
                                (0.0, 1, 'multipliers')):
        q = angle * np.array([1.0, -1.0, 1.0])
        found = made.loop_dynamics(q, zero, zero)
        assert (found.rank, found.method) == (rank, method)
        # a parallelogram: both sides turn together, the top stays level
        moment = 2.0 * 0.5**2 / 3.0 + 1e-18 + 1.0 * 0.5**2
        qdd = -9.81 * np.cos(angle) * (2.0 * 0.25 + 0.5) / moment
        np.testing.assert_allclose(found.qdd, [qdd, -qdd, qdd], rtol=1e-9)
        np.testing.assert_allclose(made.forward_dynamics(q, zero, zero), found.qdd, rtol=1e-12)
    bound = made.bind('forward_dynamics')           # the regular solution alone says when it fails
    for angle, sure in ((1.0, True), (0.1, True), (1e-4, False), (0.0, False)):
        bound.inputs['q'][:] = angle * np.array([1.0, -1.0, 1.0])
        bound()
        assert np.isfinite(bound.outputs['qdd']).all() == sure
    many = np.outer([1.0, 0.0, 0.5, 1e-4], [1.0, -1.0, 1.0])       # some regular, some not
    for q, qdd in zip(many, made.forward_dynamics(many, zero, zero), strict=True):
        np.testing.assert_allclose(qdd, made.loop_dynamics(q, zero, zero).qdd, rtol=1e-9)
    out = np.empty(3)
    assert made.forward_dynamics(zero, zero, zero, out=out) is out
    np.testing.assert_allclose(out, [-23.544, 23.544, -23.544], rtol=1e-9)


@pytest.mark.seed('RBDA 8-12', 'RBDA 8-16')
@pytest.mark.parametrize('name', ['four_bar', 'spatial_four_bar'])
def test_drives_in_loop_joints(name):
    """Forces at loop joints do their power, and both ways to C - tau^a agree."""
    made, q, qd, _ = moving(name)
    n = sum(loop.joint.nv for loop in made.model.loops)
    loop_tau = np.random.default_rng(1).normal(size=n)
    tau_a = made.loop_drive(q, loop_tau)
    C = made.bias(q, qd) - tau_a
    np.testing.assert_allclose(made.bias_with_drives(q, qd, loop_tau), C, atol=1e-12)
    for method in ('recursion', 'jacobian'):
        kernel = made.kernel('bias_with_drives', method=method)
        np.testing.assert_allclose(kernel(q, qd, loop_tau, made.gravity_vector), C, atol=1e-12)
    # power: tau_k times the velocity across the loop joint
    loop = made.model.loops[0]
    tree = links(made.model, q.tolist())
    at = loop_joints.position(made.model, tree, loop)
    v_J = np.array([column.to_list() for column in at.J.values()]).T @ qd[list(at.J)]
    S = np.array([s.to_list() for s in loop.joint.subspace(loop.joint.locate(at.X))]).T
    rate = np.linalg.lstsq(S, v_J, rcond=None)[0]
    assert qd @ tau_a == pytest.approx(loop_tau @ rate, rel=1e-10)


@pytest.mark.seed('RBDA 8-07', 'RBDA 8-08', 'RBDA 3-32')
def test_stabilised_errors_die_out():
    """An error follows (1 + t/T) exp(-t/T); without stabilisation it stays, and drifts."""
    model, q = mechanisms.four_bar(0.9, Spherical())
    made = rbd_ros.Dynamics(model, backend='python')
    period, h = 0.1, 1e-3
    start = np.array(q) + [0.0, 1e-6, 0.0]
    still = np.zeros(3)
    plain = made.forward_dynamics(start, still, still)
    for stabilised in (False, True):                 # none at the start
        if stabilised:
            made.set_stabilization(period)
        q, qd = start.copy(), np.zeros(3)
        first = made.loop_error(q)
        for _ in range(200):                         # 0.2 s by the classic Runge-Kutta method
            k1 = made.forward_dynamics(q, qd, np.zeros(3))
            k2 = made.forward_dynamics(q + 0.5 * h * qd, qd + 0.5 * h * k1, np.zeros(3))
            k3 = made.forward_dynamics(
                q + 0.5 * h * qd + 0.25 * h * h * k1, qd + 0.5 * h * k2, np.zeros(3))
            k4 = made.forward_dynamics(
                q + h * qd + 0.5 * h * h * k2, qd + h * k3, np.zeros(3))
            q, qd = (q + h * qd + h * h / 6.0 * (k1 + k2 + k3),
                     qd + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4))
        share = np.linalg.norm(made.loop_error(q)) / np.linalg.norm(first)
        expected = 3.0 * np.exp(-2.0) if stabilised else 1.0
        assert share == pytest.approx(expected, rel=2e-3)
    assert not np.allclose(made.forward_dynamics(start, still, still), plain, rtol=1e-9)
    made.set_stabilization(None)
    np.testing.assert_allclose(made.forward_dynamics(start, still, still), plain, rtol=1e-12)
    with pytest.raises(rbd_ros.RbdError, match='period is 0.0; it must be a positive number'):
        made.set_stabilization(0.0)


# --- counts and ranks -------------------------------------------------------------------------


@pytest.mark.seed('RBDA 8-01', 'RBDA 8-22')
@pytest.mark.parametrize('name', MECHANISMS)
def test_counts_of_loops_and_constraints(name):
    """N_L = N_J - N_B, n^c is the sum of 6 - n_k, and both formulas of mobility agree."""
    made, _ = robot(name)
    model, report = made.model, made.loop_report
    ends = [(model.parent[i], i) for i in range(1, model.nb + 1)]
    ends += [(loop.predecessor, loop.successor) for loop in model.loops]
    assert len(spanning_trees.fundamental_loops(model.nb + 1, ends)) == len(model.loops)      # 8.1
    constraints = sum(6 - loop.joint.nv for loop in model.loops)
    assert model.loop_constraints == report.constraints == constraints
    assert [rows.stop - rows.start for rows in model.loop_rows] == [
        6 - loop.joint.nv for loop in model.loops]
    assert model.loop_rows[-1].stop == constraints == len(made.loop_error(report.q))
    total = model.nv + sum(loop.joint.nv for loop in model.loops)
    assert report.mobility == model.nv - report.rank                                        # 8.52
    assert report.mobility == total - 6 * len(model.loops) + report.overconstraint          # 8.54
    np.testing.assert_allclose(made.loop_error(report.q), 0.0, atol=1e-9)


@pytest.mark.seed('RBDA 8-23')
def test_decision_on_the_rank():
    """It is relative, and near the tolerance it stays what it was."""
    for size in (1e-6, 1.0, 1e6):
        values = size * np.array([1.0, 1e-3, 3e-8, 1e-12])
        assert counted(values) == 3
        assert counted(values, previous=2) == 2 and counted(values, previous=3) == 3
        assert counted(values, previous=4) == 3 and counted(values, previous=1) == 2
    assert counted(np.zeros(3)) == 0 and counted(np.zeros(0)) == 0
    made, q, qd, tau = moving('five_bar')
    assert made.loop_dynamics(q, qd, tau, method='multipliers', rank=2).rank == 2


def test_regular_solution_knows_when_it_is_not():
    """Pivots show a constraint that is lost, and of one more than usual."""
    H, force = [[2.0, 0.0], [0.0, 2.0]], [1.0, -3.0]
    usual = Nominal((0,), (1,), (0.5, 0.5))
    parallel = solve_regular(H, (-1, -1), force, [[1.0, 0.0], [1.0, 0.0]], [0.0, 0.0], usual)
    np.testing.assert_allclose(parallel.qdd, [0.0, -1.5], atol=1e-15)
    assert parallel.pivot == pytest.approx(1.0) and abs(parallel.excess) < 1e-12
    apart = solve_regular(H, (-1, -1), force, [[1.0, 0.0], [1.0, 0.1]], [0.0, 0.0], usual)
    assert apart.excess == pytest.approx(0.01) and apart.excess > REGULAR_PIVOT
    both = Nominal((0, 1), (), (0.5, 0.5))
    lost = solve_regular(H, (-1, -1), force, [[1.0, 0.0], [1.0, 1e-5]], [0.0, 0.0], both)
    assert lost.pivot == pytest.approx(1e-10, rel=1e-3) and lost.pivot < REGULAR_PIVOT


@pytest.mark.seed('RBDA 8-14')
def test_constraints_that_contradict_each_other():
    """Dependent rows are satisfied as well as can be by every method; the rest is reported."""
    made, q, qd, tau = moving('two_arm_grasp')
    H, K, k = made.mass_matrix(q), made.loop_jacobian(q), made.loop_bias(q, qd)
    force = tau - made.bias(q, qd)
    K, k = np.vstack((K, K[2:4])), np.concatenate((k, k[2:4] + [0.02, -0.01]))
    scale = np.ones(8)
    found = [solve(H, force, K, k, scale, method=method) for method in METHODS]
    g = np.linalg.pinv(K) @ k
    for each in found:
        assert each.rank == 6 and each.residual == pytest.approx(0.01, rel=1e-6)
        np.testing.assert_allclose(K @ each.qdd, K @ g, atol=1e-9)
        np.testing.assert_allclose(each.qdd, found[0].qdd, atol=1e-9 * np.abs(found[0].qdd).max())
        np.testing.assert_allclose(each.multipliers, found[0].multipliers, atol=1e-6)
        np.testing.assert_allclose(H @ each.qdd - force, K.T @ each.multipliers, atol=1e-8)
    with pytest.raises(rbd_ros.RbdError, match='no method "magic" for loops'):
        solve(H, force, K, k, method='magic')
    with pytest.raises(rbd_ros.RbdError, match=r'no method "magic" for loops \(known: auto, '):
        made.loop_dynamics(q, qd, tau, method='magic')


# --- loops with followers and payloads --------------------------------------------------------


@pytest.mark.parametrize('followers', [('right',), ('right', 'top')])
def test_loops_of_joints_that_follow_others(followers):
    """A parallelogram whose sides are geared together moves as that of the loop alone."""
    def build(gears):
        builder = rbd_ros.ModelBuilder('geared', gravity=mechanisms.DOWN)
        law = {'right': rbd_ros.Mimic('left', 1.0), 'top': rbd_ros.Mimic('left', -1.0)}
        rod = mechanisms.rod
        builder.add_body('left', 'base', Revolute(), None, rod(0.5, 1.0), joint_name='left')
        builder.add_body('top', 'left', Revolute(), xlt(0.5, 0.0, 0.0), rod(1.0, 1.0),
                         joint_name='top', mimic=law['top'] if 'top' in gears else None)
        builder.add_body('right', 'base', Revolute(), xlt(1.0, 0.0, 0.0), rod(0.5, 1.0),
                         joint_name='right', mimic=law['right'] if 'right' in gears else None)
        builder.add_loop_joint('pin', 'top', 'right', Revolute(), xlt(1.0, 0.0, 0.0),
                               xlt(0.5, 0.0, 0.0))
        return rbd_ros.Dynamics(builder.build(), backend='python')
    plain, geared = build(()), build(followers)
    free = [1.0, -1.0, 1.0][:3 - len(followers)]
    assert geared.loop_report.mobility == 1
    assert geared.loop_report.rank == 2 - len(followers)
    qdd = plain.forward_dynamics([1.0, -1.0, 1.0], [0.5, -0.5, 0.5], [0.7, 0.0, 0.0])
    found = geared.forward_dynamics(free, 0.5 * np.array(free), [0.7, 0.0][:len(free)])
    np.testing.assert_allclose(found, qdd[:len(free)], rtol=1e-10)
