# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The controller of robots with closed loops: projected torques, faults and refusals."""

import dataclasses
import functools
from pathlib import Path

import numpy as np
from parallel_arm import INDEX, JOINTS, MODEL, NEAR, parts, PERIOD, Rig, START
from pinocchio_trees import pinned_loop
import pytest
import rbd_ros
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.parameters.assembly import build_robot
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import make_robot


#: names the way of assembly with the tip above the pivots
ABOVE = dict(zip(MODEL.joint_names, NEAR, strict=True))


@functools.cache
def pinocchio_arm():
    """Return qdd(q, v, tau) of Pinocchio, with the ends of both rods pinned to each other."""
    return pinned_loop(MODEL)


def test_gravity_compensation_holds_a_parallel_arm():
    """With G^T g in the driven joints nothing moves, and Pinocchio agrees."""
    rig = Rig()
    q = rig.plant.q
    rig.run(0.5)
    assert rig.state == 'running', rig.fault
    np.testing.assert_allclose(rig.plant.q, q, atol=1e-9)
    torque = np.zeros(4)
    torque[INDEX] = rig.sent[-1]
    assert np.abs(torque).max() > 1.0
    assert np.abs(pinocchio_arm()(q, np.zeros(4), torque)).max() < 1e-8


def test_computed_torque_gives_the_wanted_acceleration():
    """Along a trajectory each torque makes in Pinocchio the acceleration that the law asks for."""
    rig = Rig(mode='computed_torque', stiffness=[100.0], damping=[20.0],
              **{'reference.acceleration': [20.0]})  # the trajectory needs 11
    rig.run(0.3)
    goal = START + [0.3, -0.2]
    rig.follow(goal, 0.4)
    begin = len(rig.log)
    rig.run(0.45)
    assert rig.state == 'running', rig.fault
    fastest = 0.0
    for q, v, tau, reference in rig.log[begin + 2::25]:
        torque = -np.array(MODEL.damping) * v
        torque[INDEX] += tau
        wanted = reference[2] + 20.0 * (reference[1] - v[INDEX]) + 100.0 * (
            reference[0] - q[INDEX])
        fastest = max(fastest, np.abs(v).max())
        np.testing.assert_allclose(pinocchio_arm()(q, v, torque)[INDEX], wanted, atol=1e-6)
    assert fastest > 0.5
    np.testing.assert_allclose(rig.plant.q[INDEX], goal, atol=2e-3)


def test_velocities_of_passive_joints_follow_from_the_driven_ones():
    """What a driver says of them does not change the torque."""
    rig = Rig(mode='computed_torque')
    rig.run(0.3)
    assert rig.state == 'running', rig.fault
    joint = rig.controller.kernels['joint']
    joint.inputs['q'][:] = rig.plant.q
    joint.inputs['reference'][0] = START
    found = []
    for passive in (0.0, 3.0):
        joint.inputs['qd'][:] = passive
        joint.inputs['qd'][INDEX] = [0.4, -0.7]
        joint()
        found.append(joint.outputs['law'].copy())
    assert np.abs(found[0] - joint.outputs['gravity']).max() > 1e-3
    np.testing.assert_array_equal(found[0], found[1])


def test_the_observer_finds_nothing_in_a_motion_that_the_model_explains():
    """The momentum of the loop changes as its torques and G^T C say."""
    rig = Rig(mode='computed_torque', stiffness=[100.0], damping=[20.0], observer_feedback=True,
              observer_gain=[200.0], rubs=False)
    rig.run(0.2)
    rig.follow(START + [0.3, -0.2], 0.3)
    largest = 0.0
    for _ in range(200):
        rig.run(PERIOD)
        largest = max(largest, np.abs(rig.controller.x.laws.joint.external).max())
    assert rig.state == 'running', rig.fault
    assert np.abs(rig.plant.v).max() > 0.5
    assert largest < 5e-3


def test_report_of_the_tip_is_projected():
    """H, C, J and the velocity are those of the driven joints with the loop closed."""
    rig = Rig()
    report, q = rig.controller.kernels['report'], rig.plant.q
    v = rig.dynamics.consistent_velocity(q, [1.0, 0.0, -0.5, 0.0])
    report.inputs['q'][:], report.inputs['qd'][:] = q, v
    report.inputs['max_condition'][:] = 1e6
    report()
    e = rig.dynamics.independent_equations(q, v, list(JOINTS))
    turn = np.ix_([1, 0], [1, 0])               # from the order of the model
    np.testing.assert_allclose(report.outputs['H'], e.H[turn], atol=1e-12)
    np.testing.assert_allclose(report.outputs['bias'], e.C[::-1], atol=1e-10)
    J = rig.dynamics.jacobian(q, 'tool')
    np.testing.assert_allclose(report.outputs['J'] @ v[INDEX], J @ v, atol=1e-10)
    np.testing.assert_allclose(report.outputs['velocity'], J @ v, atol=1e-10)


def test_operational_space_moves_the_tip():
    """The end of the rods goes where the target pose is, and is inert as the loops make it."""
    rig = Rig(mode='operational_space')
    rig.run(0.2)
    pose = rig.dynamics.pose(rig.plant.q, 'tool')
    turn = 0.5 * np.arctan2(pose[0, 2], pose[0, 0])
    goal = pose[:3, 3] + [0.03, 0.0, -0.04]
    rig.controller.take_pose(rig.time, rig.time, goal.tolist(),
                             [0.0, np.sin(turn), 0.0, np.cos(turn)])
    rig.run(1.5)
    assert rig.state == 'running', rig.fault
    found = rig.dynamics.pose(rig.plant.q, 'tool')[:3, 3]
    np.testing.assert_allclose(found[[0, 2]], goal[[0, 2]], atol=1e-3)


# --- passive joints that nobody measures ---------------------------------------------------------


def moved(**values):
    """Return a rig after some motion."""
    rig = Rig(mode='computed_torque', stiffness=[100.0], damping=[20.0], **values)
    rig.run(0.2)
    rig.follow(START + [0.3, -0.2], 0.3)
    rig.run(0.2)
    assert rig.state == 'running', rig.fault
    return rig


def test_solved_joints_are_those_of_the_plant():
    """Positions, velocities and torques are the same as with sensors at the passive joints."""
    solved, measured = moved(assembly=ABOVE), moved()
    assert np.abs(solved.plant.v).max() > 0.5
    before = solved.log[-1]
    np.testing.assert_allclose(solved.controller.x.joints.q, before[0], atol=1e-9)
    np.testing.assert_allclose(solved.controller.x.joints.qd, before[1], atol=1e-9)
    np.testing.assert_allclose([row[2] for row in solved.log], [row[2] for row in measured.log],
                               atol=1e-6)


@pytest.mark.parametrize('at', [START, [0.6, 2.6]], ids=['there', 'elsewhere'])
def test_the_named_assembly_is_the_one(at):
    """Each way of assembly is followed from where it was named, and its gravity compensated."""
    dynamics = parts()[0]
    whole = np.array(NEAR)
    whole[INDEX] = START
    ways = dynamics.assemblies(whole, fixed=JOINTS)
    assert len(ways) == 2
    found = []
    for way in ways:
        rig = Rig(dict(zip(MODEL.joint_names, way.tolist(), strict=True)), near=way, start=at)
        rig.run(0.3)
        assert rig.state == 'running', rig.fault
        np.testing.assert_allclose(rig.controller.x.joints.q, rig.plant.q, atol=1e-9)
        torque = np.zeros(4)
        torque[INDEX] = rig.sent[-1]
        assert np.abs(pinocchio_arm()(rig.plant.q, np.zeros(4), torque)).max() < 1e-6
        found.append(torque)
    assert np.abs(found[0] - found[1]).max() > 0.5


def test_a_solved_arm_stops_before_its_singularity():
    """Where the rods get into line there is a fault that names the loop, and no wild torque."""
    rig = Rig(ABOVE, velocity_limits=[5.0])
    rig.run(0.3)
    q, v, sent = rig.plant.q, np.zeros(4), len(rig.sent)
    v[INDEX] = np.array([0.0, np.pi]) - q[INDEX]        # both rods along x after one second
    for _ in range(round(1.0 / PERIOD)):
        rig.time += PERIOD
        q = q + v * PERIOD
        rig.see(q, v)
        if rig.causes:
            break
    assert rig.causes[0] is Cause.BAD_GRAVITY
    assert 'singular position of its closed loops, that of loop joint "tip"' in (
        rig.fault)
    assert 0.01 < np.pi - q[INDEX][1] < 0.1 and np.isfinite(rig.sent[sent:]).all()
    rig.run(0.1)                                        # what follows is finite, too
    assert np.isfinite(rig.sent[sent:]).all()


def test_a_loop_that_cannot_be_closed_is_no_start():
    """Driven joints where the rods do not meet, by a wrong zero: the loop is named."""
    rig = Rig(ABOVE)
    rig.controller.x.closed_loops.q[[1, 3]] += 2.0      # lost: far from any closed position
    cause, text = rig.close([np.pi, 0.0], starts=False)  # arms cross: too near, if rods differ
    assert cause is Cause.IMPLAUSIBLE and 'loop joint "tip" stays open' in text
    rig.controller.activate(rig.time, rig.time)
    assert rig.close(START, starts=True) == (None, '')


def test_an_impossible_assembly_is_refused():
    """Also names that are not there, and robots without loops."""
    with pytest.raises(rbd_ros.UnknownName, match='no joint "elbow"'):
        make_robot(MODEL, JOINTS, assembly={'elbow': 0.0})
    short = MODEL.loops[0]
    short = dataclasses.replace(short, X_P=rbd_ros.spatial.xlt(0.05, 0.0, 0.0))
    model = dataclasses.replace(MODEL, loops=(short,))
    with pytest.raises(rbd_ros.LoopError, match='loop joint "tip" of "five_bar" stays open'):
        make_robot(model, JOINTS, assembly={'right_shoulder': 0.0, 'left_shoulder': np.pi})
    arm = rbd_ros.load_urdf(Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf')
    with pytest.raises(rbd_ros.ModelError, match='no closed loops: leave assembly.joints empty'):
        make_robot(arm, assembly={'joint_1': 0.0})


# --- faults -----------------------------------------------------------------------------------


def test_a_loop_that_does_not_close_is_a_fault():
    """A sensor of a passive joint that is off by more than the tolerance stops the robot."""
    rig = Rig()
    rig.run(0.3)
    rig.offset[1] = 0.01                        # 5 mm at the end of its rod
    rig.run(0.05)
    assert rig.state == 'running', rig.fault
    rig.offset[1] = 0.1
    rig.run(PERIOD)
    assert rig.causes == [Cause.IMPLAUSIBLE]
    assert 'loop joint "tip" is open by 0.0496 (rad or m), loop_tolerance 0.02 (rad' in rig.fault


def test_no_torque_where_a_loop_is_open_from_the_start():
    """Then nothing is sent at all."""
    rig = Rig()
    rig.offset[3] = 0.2
    rig.run(0.3)
    assert rig.causes == [Cause.START_CHECK] and not rig.sent
    assert 'loop joint "tip" is open by' in rig.fault


def test_a_singular_position_is_a_fault():
    """Where both rods are in line the driven joints do not determine the others."""
    rig = Rig(loop_tolerance=5.0, state_tolerance=[10.0])
    rig.run(0.3)
    assert rig.state == 'running', rig.fault
    flat = np.array([np.pi / 2, -np.pi / 2, np.pi / 2, np.pi / 2])
    rig.offset[:] = flat - rig.plant.q          # both rods along x, towards each other
    sent = len(rig.sent)
    rig.run(3 * PERIOD)
    assert rig.causes[0] is Cause.BAD_GRAVITY
    assert 'near a singular position of its closed loops, that of loop joint "tip"' in (
        rig.fault)
    assert np.isfinite(rig.sent[sent:]).all()


def test_refusals():
    """Too few, too many and dependent joints, unknown names, fixed ones, each in words."""
    with pytest.raises(rbd_ros.LoopError, match=r'leave 2 freedom\(s\), but 4 joint\(s\) are'):
        make_robot(MODEL)
    with pytest.raises(rbd_ros.LoopError, match=r'but 1 joint\(s\) are controlled \(left_sh'):
        make_robot(MODEL, ['left_shoulder'])
    with pytest.raises(rbd_ros.UnknownName, match='no joint "elbow"'):
        make_robot(MODEL, ['left_shoulder', 'elbow'])
    with pytest.raises(rbd_ros.UnknownName, match='no joint "tip"'):
        make_robot(MODEL, ['left_shoulder', 'tip'])
    with pytest.raises(rbd_ros.LoopError, match='"left_elbow" cannot be in fixed_positions'):
        make_robot(MODEL, JOINTS, fixed={'left_elbow': 0.0})
    with pytest.raises(rbd_ros.ModelError, match='is controlled and in passive_joints'):
        make_robot(MODEL, JOINTS, passive=['left_shoulder'])
    values = defaults() | {'joints': list(JOINTS), 'passive_joints': ['left_elbow']}
    text = (Path(__file__).parents[1] / 'urdf' / 'five_bar.urdf').read_text()
    assert build_robot(values, text, lambda _: None).joints == JOINTS
