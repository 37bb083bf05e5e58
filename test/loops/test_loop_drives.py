# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Closed loops in independent coordinates, their drives, and what their handles feel (RBDA 8)."""

from pathlib import Path

from gear_rig import crane
from loop_rig import MECHANISMS, moving, robot
import numpy as np
import pinocchio as pin
import pytest
import rbd_ros
from rbd_ros.algorithms.linear import quadratic_program
from rbd_ros.algorithms.loops import loop_coordinates
from rbd_ros.joints import Fixed, Prismatic, Revolute
from rbd_ros.model import connectivity
from rbd_ros.samples import mechanisms
from rbd_ros.spatial import xlt

DRIVES = {
    'four_bar': ['joint_1'], 'five_bar': ['joint_1', 'joint_4'],
    'spatial_four_bar': ['crank_joint'], 'delta': ['shoulder_1', 'shoulder_2', 'shoulder_3'],
    'two_arm_grasp': [f'left_joint_{k}' for k in range(1, 7)],
    'ladder': ['a_1_joint', 'b_1_joint']}
FOUR_BAR = (Path(__file__).parents[1] / 'urdf' / 'four_bar.urdf').read_text()


# --- G and g ----------------------------------------------------------------------------------


@pytest.mark.seed('RBDA 8-15', 'RBDA 8-19', 'RBDA 8-20')
@pytest.mark.parametrize('name', MECHANISMS)
def test_motion_in_independent_coordinates(name):
    """KG = 0, Kg = k, y is part of qd, and the projected equations give the same motion."""
    made, q, qd, tau = moving(name)
    K, k, qdd = made.loop_jacobian(q), made.loop_bias(q, qd), made.forward_dynamics(q, qd, tau)
    size = np.abs(qdd).max()
    for independent in ((), DRIVES[name]):
        found = made.loop_map(q, qd, independent)
        n = made.loop_report.mobility
        assert found.G.shape == (made.model.nv, n)
        np.testing.assert_array_equal(found.G[list(found.independent)], np.eye(n))
        assert not found.g[list(found.independent)].any()
        np.testing.assert_allclose(K @ found.G, 0.0, atol=1e-12)
        np.testing.assert_allclose(K @ found.g, k, atol=1e-11 * max(1.0, np.abs(k).max()))
        np.testing.assert_allclose(found.G @ qd[list(found.independent)], qd, atol=1e-11)
        plain = loop_coordinates.eliminate(K, k, found.independent)
        np.testing.assert_allclose(plain.G, found.G, atol=1e-10 * np.abs(found.G).max())
        np.testing.assert_allclose(plain.g, found.g, atol=1e-10 * max(1.0, np.abs(found.g).max()))
        e = made.independent_equations(q, qd, independent)
        ydd = np.linalg.solve(e.H, e.G.T @ tau - e.C)                                      # 8.45
        np.testing.assert_allclose(e.G @ ydd + e.g, qdd, atol=1e-9 * size)


@pytest.mark.seed('RBDA 8-19')
def test_elimination_finds_rank_and_columns():
    """Dependent rows are left out, columns that no loop touches stay independent."""
    rng = np.random.default_rng(0)
    K = np.zeros((5, 6))
    K[:3, 1:5] = rng.normal(size=(3, 4))
    K[3:, 1:5] = rng.normal(size=(2, 3)) @ K[:3, 1:5]
    k = K @ rng.normal(size=6)
    found = loop_coordinates.eliminate(K, k)
    assert len(found.dependent) == 3 and {0, 5} < set(found.independent)
    np.testing.assert_allclose(K @ found.G, 0.0, atol=1e-12)
    np.testing.assert_allclose(K @ found.g, k, atol=1e-12)
    with pytest.raises(rbd_ros.SingularError, match='cannot be the independent ones here'):
        loop_coordinates.eliminate(K, k, [0, 5])
    with pytest.raises(rbd_ros.SingularError, match=r'velocities \(0, 1, 2, 5\) depend on'):
        loop_coordinates.eliminate(K, k, [0, 1, 2, 5])


def test_joints_that_cannot_be_independent():
    """Too many, too few and tied ones are refused with reasons."""
    made, _ = robot('five_bar')
    q = made.loop_report.q
    with pytest.raises(rbd_ros.LoopError, match='1 velocities of joint_1 cannot be the indep'):
        made.loop_map(q, None, ['joint_1'])
    with pytest.raises(rbd_ros.UnknownName, match='joint_9'):
        made.loop_map(q, None, ['joint_9', 'joint_1'])
    made, _ = robot('ladder')              # all cells fold together: hinges turn alike
    with pytest.raises(rbd_ros.SingularError, match='tie b_1_joint, b_2_joint to each other'):
        made.loop_map(made.loop_report.q, None, ['b_1_joint', 'b_2_joint'])


def test_map_near_a_dead_centre():
    """Where the compiled steps do not do, others are searched for, and at it there are none."""
    made, _ = robot('four_bar')
    for crank in (1e-2, 1e-6):          # in line with the ground: the far angle stands still
        q = made.assemble(mechanisms.four_bar(crank).q, ['joint_1']).require()
        found = made.loop_map(q, None, ['joint_3'])
        np.testing.assert_allclose(made.loop_jacobian(q) @ found.G / found.G[0], 0.0, atol=1e-10)
        assert abs(found.G[0, 0]) == pytest.approx(1.6 / crank, rel=0.2)
    q = made.assemble(mechanisms.four_bar(0.0).q, ['joint_1']).require()
    with pytest.raises(rbd_ros.SingularError):
        made.loop_map(q, None, ['joint_3'])


@pytest.mark.seed('RBDA 8-21')
def test_loops_that_share_no_joint_are_solved_apart():
    """Fig 8.1: clusters of loops; G has the identity where no loop is, and blocks elsewhere."""
    builder = rbd_ros.ModelBuilder('clusters')
    bar = mechanisms.rod(0.4, 1.0)

    def chain(start, names):
        for name in names:
            builder.add_body(name, start, Revolute(), xlt(0.4, 0.0, 0.0), bar, joint_name=name)
            start = name
        return start
    chain('base', ['a1', 'a2'])
    chain('a2', ['b1', 'b2', 'b3', 'b4', 'b5'])
    chain('b1', ['c1'])
    chain('a2', ['d1', 'd2', 'd3'])
    tip = xlt(0.4, 0.0, 0.0)
    builder.add_loop_joint('one', 'b3', 'a2', Revolute(), tip, xlt(0.5, 0.0, 0.0))
    builder.add_loop_joint('two', 'b5', 'b1', Revolute(), tip, xlt(0.1, 0.0, 0.0))
    builder.add_loop_joint('three', 'd3', 'a2', Revolute(), tip, xlt(0.6, 0.0, 0.0))
    model = builder.build()
    assert model.loop_clusters == ((0, 1), (2,))
    made = rbd_ros.Dynamics(model, backend='python')
    assert made.loop_report.clusters == (('one', 'two'), ('three',))
    rng = np.random.default_rng(1)
    q = made.loop_report.q
    qd = made.consistent_velocity(q, rng.normal(size=model.nv))
    found = made.loop_map(q, qd)
    at = {name: model.velocity_slice(name).start for name in model.joint_names}
    inside = [[at[n] for n in names] for names in (('b1', 'b2', 'b3', 'b4', 'b5'),
                                                   ('d1', 'd2', 'd3'))]
    for name in ('a1', 'a2', 'c1'):
        assert at[name] in found.independent
    G = found.G
    for block in inside:
        columns = [c for c, j in enumerate(found.independent) if j in block]
        others = [c for c, j in enumerate(found.independent) if j not in block]
        assert not G[np.ix_(block, others)].any()
        rows = [i for i, loop in enumerate(model.loop_paths)
                if set(loop) & {j + 1 for j in block}]
        rows = [k for i in rows for k in range(*model.loop_rows[i].indices(99))]
        K, k = made.loop_jacobian(q)[np.ix_(rows, block)], made.loop_bias(q, qd)[rows]
        alone = loop_coordinates.eliminate(
            K, k, [block.index(found.independent[c]) for c in columns])
        np.testing.assert_allclose(alone.G, G[np.ix_(block, columns)], atol=1e-9)
        np.testing.assert_allclose(alone.g, found.g[block], atol=1e-8)


def test_clusters_of_the_figure():
    """Fig 8.1 of the book: loops 1 and 2 share a joint, 3 and 4 stand alone."""
    paths = [{3, 4, 5}, {5, 6, 7}, {10, 11, 12}, {19, 20}]
    assert connectivity.loop_clusters(paths) == ((0, 1), (2,), (3,))
    assert connectivity.loop_clusters([{1}, {2}, {1, 2}]) == ((0, 1, 2),)


@pytest.mark.seed('RBDA 8-25')
def test_loop_closure_function_and_loop_joint_are_one_mechanism():
    """Fig 8.3: gamma closes the loop, its G and g are those of K and k."""
    law, loop = crane(closed=False), crane(closed=True)
    made = rbd_ros.Dynamics(loop, backend='python')
    y, yd = [0.7, 0.4], [1.3, -0.6]
    q, G, g = (np.array(x) for x in (law.coupling.gamma(y), law.coupling.G(y),
                                     law.coupling.g(y, yd)))
    np.testing.assert_allclose(made.loop_error(q), 0.0, atol=1e-14)
    np.testing.assert_allclose(made.loop_jacobian(q) @ G, 0.0, atol=1e-14)
    np.testing.assert_allclose(made.loop_jacobian(q) @ g, made.loop_bias(q, G @ yd), atol=1e-13)
    found = made.loop_map(q, G @ yd, ['shoulder', 'elbow'])
    np.testing.assert_allclose(found.G, G, atol=1e-12)
    np.testing.assert_allclose(found.g, g, atol=1e-12)
    assert made.loop_report.mobility == 2 and made.loop_report.rank == 2


# --- drives -----------------------------------------------------------------------------------


@pytest.mark.seed('RBDA 8-26', 'RBDA 8-27', 'RBDA 1-05')
@pytest.mark.parametrize('name', MECHANISMS)
def test_forces_of_some_drives_make_the_motion(name):
    """Forward dynamics undoes them: as many drives as freedoms, more, and too few."""
    made, q, qd, tau = moving(name)
    qdd = made.forward_dynamics(q, qd, tau)
    size = np.abs(qdd).max()
    proper = made.actuator_forces(q, qd, qdd, DRIVES[name])
    assert proper.actuation == 'proper' and proper.residual < 1e-11
    passive = np.ones(made.model.nv, bool)
    passive[made.model.velocity_order(DRIVES[name])] = False
    assert not proper.tau[passive].any()
    np.testing.assert_allclose(made.forward_dynamics(q, qd, proper.tau), qdd, atol=1e-9 * size)
    everywhere = made.actuator_forces(q, qd, qdd, made.model.joint_names)
    assert everywhere.actuation == 'redundant' and everywhere.residual < 1e-11
    np.testing.assert_allclose(made.forward_dynamics(q, qd, everywhere.tau), qdd,
                               atol=1e-9 * size)
    # the smallest of all that do: not those of the tree, and nothing that only strains the loops
    assert np.linalg.norm(everywhere.tau) < np.linalg.norm(made.inverse_dynamics(q, qd, qdd))
    G = made.loop_map(q).G
    strain = everywhere.tau - G @ np.linalg.lstsq(G, everywhere.tau, rcond=None)[0]
    np.testing.assert_allclose(strain, 0.0, atol=1e-10)
    if len(DRIVES[name]) > 1:
        under = made.actuator_forces(q, qd, qdd, DRIVES[name][:1])
        assert under.actuation == 'under' and under.residual > 1e-3
    wrong = qdd + 0.1
    with pytest.raises(rbd_ros.LoopError, match='do not allow these accelerations: K qdd misses'):
        made.actuator_forces(q, qd, wrong, DRIVES[name])
    right = made.consistent_acceleration(q, qd, wrong)
    assert made.actuator_forces(q, qd, right, DRIVES[name]).residual < 1e-10


@pytest.mark.seed('RBDA 8-27')
def test_two_arms_share_a_load():
    """Weights move it from one arm to the other, limits cut it off, all without other motion."""
    made, q, _, _ = moving('two_arm_grasp')
    zero, names = np.zeros(12), made.model.joint_names
    equal = made.actuator_forces(q, zero, zero, names)
    heavy = np.array([100.0 if name.startswith('left') else 1.0 for name in names])
    spared = made.actuator_forces(q, zero, zero, names, weights=heavy)
    left = made.model.velocity_order([n for n in names if n.startswith('left')])
    assert np.linalg.norm(spared.tau[left]) < 0.6 * np.linalg.norm(equal.tau[left])
    limit = np.full(12, 0.8 * np.abs(equal.tau).max())
    limited = made.actuator_forces(q, zero, zero, names, limits=limit)
    assert limited.at_limits and (np.abs(limited.tau) <= limit * (1.0 + 1e-12)).all()
    share = np.delete(np.abs(limited.tau) / limit, limited.at_limits)
    assert share.max() < 1.0 - 1e-3                     # nothing is left to rounding
    assert limited.residual < 1e-8
    near = made.actuator_forces(q, zero, zero, names, preferred=equal.tau + 1.0)
    for found in (equal, spared, limited, near):           # all of them hold the load still
        np.testing.assert_allclose(made.forward_dynamics(q, zero, found.tau), 0.0, atol=1e-6)
    assert np.linalg.norm(near.tau - equal.tau - 1.0) < np.linalg.norm(np.ones(12))
    weak = made.actuator_forces(q, zero, zero, names, limits=np.full(12, 1.0))
    assert weak.residual > 1.0 and (np.abs(weak.tau) <= 1.0 + 1e-9).all()
    # no other choice of multipliers does with less: the gradient is along the constraint
    direction = spared.tau * heavy
    G = made.loop_map(q).G
    np.testing.assert_allclose(direction, G @ np.linalg.lstsq(G, direction, rcond=None)[0],
                               atol=1e-8)
    for bad, words in (({'weights': np.zeros(12)}, 'weights must be 12 positive'),
                       ({'limits': np.ones(3)}, 'limits must be 12 positive'),
                       ({'preferred': np.ones(3)}, 'preferred must be 12 numbers'),
                       ({'preferred': np.full(12, np.nan)}, 'preferred must be 12 numbers')):
        with pytest.raises(rbd_ros.RbdError, match=words):
            made.actuator_forces(q, zero, zero, names, **bad)


@pytest.mark.parametrize('size', [1e-9, 1.0, 1e9])
@pytest.mark.parametrize('noise', [0.0, 1e-16, 1e-14])
def test_program_without_a_gradient(size, noise):
    """Nearest to zero with x + y >= s: both are s / 2, whatever rounding leaves of a gradient."""
    found = quadratic_program.minimise(
        np.eye(2), noise * size * np.array([1.0, -1.0]), np.array([[-1.0, -1.0], [1.0, 0.0]]),
        size * np.array([-1.0, 1e3]), purpose='a test')
    np.testing.assert_allclose(found / size, [0.5, 0.5], atol=1e-7)
    with pytest.raises(quadratic_program.Infeasible, match='a test: nothing satisfies all'):
        quadratic_program.minimise(np.eye(1), np.zeros(1), np.array([[1.0], [-1.0]]),
                                   size * np.array([-1.0, -1.0]), purpose='a test')


@pytest.mark.seed('RBDA 8-27')
def test_drives_of_the_crane():
    """Example 8.2: a cylinder and the elbow; no answer at the dead centre of the cylinder."""
    loop = crane(closed=True)
    made = rbd_ros.Dynamics(loop, backend='python')
    q = np.array(crane(closed=False).coupling.gamma([0.7, 0.4]))
    tau = np.array([3.0, -1.0, 2.0, 0.5])
    order = loop.velocity_order(['shoulder', 'cylinder', 'piston', 'elbow'])
    forces = np.zeros(4)
    forces[order] = tau
    u1, u2 = -0.02680793859, 0.29992041175
    found = loop_coordinates.actuator_forces(
        made.loop_map(q).G, forces, loop.velocity_order(['piston', 'elbow']))
    np.testing.assert_allclose(found.tau[order], [0.0, 0.0, (tau[0] + u1 * tau[1]) / u2 + tau[2],
                                                  tau[3]], rtol=1e-9)
    for actuated, kind in ((['elbow'], 'under'), (['shoulder', 'piston'], 'under and redundant'),
                           (['shoulder', 'elbow'], 'proper'),
                           (['shoulder', 'piston', 'elbow'], 'redundant')):
        found = loop_coordinates.actuator_forces(
            made.loop_map(q).G, forces, loop.velocity_order(actuated))
        assert found.actuation == kind


# --- handles ----------------------------------------------------------------------------------


@pytest.mark.seed('SIXD P20')
@pytest.mark.parametrize('name,frame', [('delta', 'tool'), ('two_arm_grasp', 'bar')])
def test_operational_space_with_closed_loops(name, frame):
    """Phi is J G (G'HG)^-1 G'J', and a force at the frame moves it by Phi f (RBDA 7.2, 8.5)."""
    made, q, qd, _ = moving(name)
    handle = made.handle(frame, rows=rbd_ros.POINT)
    space = made.operational_space(q, qd, [handle])
    J = made.jacobian(q, frame)[3:]
    e = made.independent_equations(q, qd)
    Phi = J @ e.G @ np.linalg.solve(e.H, e.G.T @ J.T)
    np.testing.assert_allclose(space.Phi, Phi, atol=1e-9 * np.abs(Phi).max())
    f = np.array([1.0, -2.0, 0.5])
    still = made.forward_dynamics(q, qd, np.zeros(made.model.nv))
    pushed = made.forward_dynamics(q, qd, J.T @ f)
    np.testing.assert_allclose(J @ (pushed - still), space.Phi @ f, atol=1e-9)
    rate = made.jacobian_rate(q, qd, frame)[3:]
    np.testing.assert_allclose(space.b, J @ still + rate, atol=1e-9 * np.abs(still).max())
    np.testing.assert_allclose(space.Lambda @ space.Phi, np.eye(3), atol=1e-8)
    tree = rbd_ros.Dynamics(made.model.spanning_tree, backend='reference')
    loose = tree.operational_space(q, qd, [handle])
    assert np.linalg.eigvalsh(loose.Phi - space.Phi).min() > -1e-9       # loops only stiffen


# --- descriptions -----------------------------------------------------------------------------


def test_loop_joints_of_a_urdf():
    """The element closes the loop here, and a program that does not know it loads the tree."""
    model = rbd_ros.load_urdf(FOUR_BAR, gravity=mechanisms.DOWN)
    built = mechanisms.four_bar().model
    assert model.loops == built.loops and model.nv == 3
    made = rbd_ros.Dynamics(model, backend='python')
    q = [0.9, -0.4262239867, -2.0418464295]
    qd = [1.3, -1.641238173, 0.6428154012]
    np.testing.assert_allclose(made.forward_dynamics(q, qd, [0.7, 0.0, 0.0]),
                               [-16.3136955852, 21.1345466729, -7.6139929082], atol=2e-7)
    peer = pin.buildModelFromXML(FOUR_BAR)
    assert peer.nv == 3 and list(peer.names)[1:] == ['joint_1', 'joint_2', 'joint_3']


@pytest.mark.parametrize('kind,more,joint', [
    ('prismatic', '', Prismatic((0.0, 0.0, 1.0))), ('fixed', '', Fixed()),
    ('cylindrical', '', rbd_ros.joints.Cylindrical()), ('planar', '', rbd_ros.joints.Planar()),
    ('spherical', '', rbd_ros.joints.Spherical()), ('continuous', '', Revolute()),
    ('sphere_in_cylinder', '', rbd_ros.joints.SphereInCylinder()),
    ('helical" pitch="0.02', '', rbd_ros.joints.Helical((0.0, 0.0, 1.0), 0.02)),
    ('universal', '<axis2 xyz="1 0 0"/>',
     rbd_ros.joints.Universal((0.0, 0.0, 1.0), (1.0, 0.0, 0.0)))])
def test_every_type_of_loop_joint_in_urdf(kind, more, joint):
    """The model has the joint that was written."""
    start, end = FOUR_BAR.split('<loop_joint name="close" type="revolute">')
    text = start + f'<loop_joint name="close" type="{kind}">' + more + end
    assert rbd_ros.load_urdf(text).loops[0].joint == joint


@pytest.mark.parametrize('old,new,words', [
    ('<predecessor link="base">', '<predecessor link="bass">',
     'predecessor link "bass" does not exist; did you mean "base"'),
    ('<predecessor link="base">', '<predecessor link="bar_3">', 'connects link "bar_3" to itself'),
    ('name="close" type="revolute"', 'name="close" type="revolut"',
     'type "revolut" is unknown; did you mean "revolute"'),
    ('name="close" type="revolute"', 'name="close" type="universal"', 'needs <axis2 xyz'),
    ('name="close" type="revolute"', 'name="close" type="helical"', 'needs the attribute "pitch"'),
    ('name="close" type="revolute"', 'name="joint_2" type="revolute"', 'name is already that of'),
    ('<successor link="bar_3"><origin xyz="0.6 0 0"/></successor>', '', 'needs a <successor')])
def test_errors_in_loop_joints(old, new, words):
    """What is wrong with an element is said with its name and its line."""
    assert old in FOUR_BAR
    with pytest.raises(rbd_ros.LoopError, match=words):
        rbd_ros.load_urdf(FOUR_BAR.replace(old, new))
