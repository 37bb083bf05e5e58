# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Simulated robots with closed loops: motion along the loops, friction, brakes, stops, start."""

import dataclasses
from pathlib import Path

from loop_rig import robot as rigged
import numpy as np
from pinocchio_trees import pinned_loop
import pytest
import rbd_ros
from rbd_ros.samples import mechanisms
from rbd_ros.sim import (
    Frames, Imperfections, Physics, Schedule, Sensors, Settings, SimulatedRobot, Simulation)
from rbd_ros.sim.setting_table import default_values
import yaml

H = 1e-3
FOUR_BAR = Path(__file__).parents[1] / 'urdf' / 'four_bar.urdf'
FAST = np.array([2.0, 0.0, 0.0])        # made consistent when placed


def simulated(name, **changes):
    """Return a simulated mechanism at its closed position, and its dynamics."""
    dynamics, q = rigged(name)
    made = SimulatedRobot(dynamics.model, physics=Physics.of(dynamics.model, **changes))
    made.place(q)
    return made, dynamics


def energy(dynamics, made):
    """Return kinetic and potential energy."""
    return float(dynamics.kinetic_energy(made.q, made.v) + dynamics.potential_energy(made.q))


def gap(dynamics, made):
    """Return by how much loops are open, in position and velocity."""
    return max(np.abs(dynamics.loop_error(made.q)).max(),
               np.abs(dynamics.loop_velocity(made.q, made.v)).max())


@pytest.fixture(scope='module')
def four_bar():
    """Return the plain four-bar linkage, shared: place it and give it its physics first."""
    return simulated('four_bar')


def given(four_bar, q=None, v=None, **changes):
    """Return the shared four-bar in a state of its own, released."""
    made, dynamics = four_bar
    made.physics = Physics.of(made.model, **changes)
    made.brake(False)
    made.place(rigged('four_bar')[1] if q is None else q, v)
    return made, dynamics


@pytest.mark.parametrize('name', ['four_bar', 'spatial_four_bar'])
def test_free_motion_keeps_energy_and_loops(name):
    """Over a second of free fall nothing is lost, and no loop opens beyond rounding."""
    made, dynamics = simulated(name)
    made.place(made.q, np.linspace(3.0, 1.0, made.model.nv))
    start, open_by, way = energy(dynamics, made), 0.0, 0.0
    swing = float(dynamics.kinetic_energy(made.q, made.v))
    for _ in range(1000):
        made.step(H)
        open_by = max(open_by, gap(dynamics, made))
        way += H * np.abs(made.v).max()
    assert open_by < 1e-12 and way > 1.0
    assert abs(energy(dynamics, made) - start) < 1e-7 * max(swing, 1.0)


def test_motion_is_that_of_pinocchio(four_bar):
    """Driven and damped, the four-bar is after 0.5 s where that of Pinocchio is."""
    damping, torque = np.array([0.4, 0.1, 0.2]), np.array([6.0, 0.0, 0.0])
    made, _ = given(four_bar, v=FAST, damping=damping)
    made.command(torque)
    q, v = made.q, made.v
    acceleration = pinned_loop(made.model)
    for _ in range(500):
        made.step(H)

        def rate(x):
            return np.concatenate([x[3:], acceleration(x[:3], x[3:], torque - damping * x[3:])])
        x = np.concatenate([q, v])
        k1 = rate(x)
        k2 = rate(x + 0.5 * H * k1)
        k3 = rate(x + 0.5 * H * k2)
        x = x + H / 6.0 * (k1 + 2.0 * (k2 + k3) + rate(x + H * k3))
        q, v = x[:3], x[3:]
    assert np.abs(q - rigged('four_bar')[1]).max() > 0.5
    np.testing.assert_allclose(made.q, q, atol=1e-7)
    np.testing.assert_allclose(made.v, v, atol=1e-6)


def test_semi_implicit_steps_are_projected_too():
    """The rule of order one leaves the loops by h^2 a step; the projection takes that back."""
    made, dynamics = simulated('four_bar', integrator='semi_implicit')
    made.place(made.q, FAST)
    for _ in range(300):
        made.step(H)
        assert gap(dynamics, made) < 1e-12


def test_dry_friction_takes_its_work_out(four_bar):
    """What the energy loses is c times the way, in whichever joint of the loop friction is."""
    friction = np.array([0.2, 0.3, 0.5])
    made, dynamics = given(four_bar, v=2.0 * FAST, friction=friction)
    start, work = energy(dynamics, made), 0.0
    for _ in range(300):
        before = made.q
        made.step(H)
        work += float(friction @ np.abs(made.q - before))
        assert gap(dynamics, made) < 1e-12
    assert work > 0.5
    assert start - energy(dynamics, made) == pytest.approx(work, rel=2e-3)


def test_a_brake_in_one_joint_holds_the_loop(four_bar):
    """It carries the projected gravity G^T g, and nothing moves; with all brakes, to the bit."""
    made, dynamics = given(four_bar)
    q = made.q
    made.brake([True, False, False])
    for _ in range(50):
        made.step(H)
    assert made.q[0] == q[0]
    np.testing.assert_allclose(made.q, q, atol=1e-12)
    np.testing.assert_allclose(made.v, 0.0, atol=1e-12)
    G = dynamics.loop_map(q, independent=['joint_1']).G
    assert made.joint_torque[0] == pytest.approx(float(G[:, 0] @ dynamics.gravity(q)), rel=1e-6)
    assert np.abs(made.joint_torque[1:]).max() < 1e-6
    made.brake()
    q = made.q
    for _ in range(5):
        made.step(H)
    assert (made.q == q).all() and not made.v.any()


def test_friction_of_a_passive_joint_holds_the_loop(four_bar):
    """Enough of it in one passive joint keeps the crank from falling, a bit less does not."""
    made, dynamics = given(four_bar)
    G = dynamics.loop_map(made.q, independent=['joint_1']).G[:, 0]
    needed = abs(float(G @ dynamics.gravity(made.q)) / G[2])
    for share, moves in ((1.05, False), (0.9, True)):
        made, _ = given(four_bar, friction=[0.0, 0.0, share * needed])
        q = made.q
        for _ in range(50):
            made.step(H)
        assert bool(np.abs(made.q - q).max() > 1e-4) is moves


def test_a_stop_stops_the_loop(four_bar):
    """The crank lands on its stop and rests there with the loop closed."""
    q = rigged('four_bar')[1]
    made, dynamics = given(four_bar, lower=np.array([q[0] - 0.2, -np.inf, -np.inf]),
                           damping=[0.5, 0.5, 0.5])
    for _ in range(1500):
        made.step(H)
        assert gap(dynamics, made) < 1e-12
    assert made.q[0] == pytest.approx(q[0] - 0.2, abs=1e-8)
    assert np.abs(made.v).max() < 1e-6


def test_singular_steps_are_taken_with_a_decision_on_the_rank():
    """A parallelogram passes its dead centre, where all bars are in line."""
    builder = rbd_ros.ModelBuilder('parallelogram', gravity=(0.0, 0.0, 0.0))
    X = rbd_ros.spatial.xlt
    builder.add_body('crank', 'base', rbd_ros.joints.Revolute(), None, mechanisms.rod(0.5, 1.0))
    builder.add_body('coupler', 'crank', rbd_ros.joints.Revolute(), X(0.5, 0.0, 0.0),
                     mechanisms.rod(1.0, 1.0))
    builder.add_body('rocker', 'base', rbd_ros.joints.Revolute(), X(1.0, 0.0, 0.0),
                     mechanisms.rod(0.5, 1.0))
    builder.add_loop_joint('pin', 'coupler', 'rocker', rbd_ros.joints.Revolute(),
                           X(1.0, 0.0, 0.0), X(0.5, 0.0, 0.0))
    model = builder.build()
    made = SimulatedRobot(model)
    made.place([0.2, -0.2, 0.2], [-1.0, 1.0, -1.0])
    dynamics = rbd_ros.Dynamics(model)
    # Steps of 0.02 rad: the tenth meets the dead centre within rounding.
    for _ in range(20):
        made.step(0.02)
        assert gap(dynamics, made) < 1e-9
    assert made.singular_steps > 0
    np.testing.assert_allclose(made.q, [-0.2, 0.2, -0.2], atol=1e-6)
    np.testing.assert_allclose(made.v, [-1.0, 1.0, -1.0], atol=1e-6)


# --- behind a driver --------------------------------------------------------------------------


def test_passive_joints_move_and_are_published():
    """Only the crank takes commands; the loop moves the others, which are in every reading."""
    model = rbd_ros.load_urdf(FOUR_BAR, gravity=mechanisms.DOWN)
    settings = Settings({'joints': ['joint_1'], 'initial_positions': [0.7]})
    made = SimulatedRobot(model)
    made.place(settings.initial_positions(model, made.q), fixed=settings.placed_joints(model))
    dynamics = rbd_ros.Dynamics(model)
    assert made.q[0] == 0.7 and gap(dynamics, made) < 1e-12
    start = made.q
    sensors = Sensors(made, Imperfections())
    frames = Frames(model)
    sim = Simulation(made, sensors, settings.joints(model), Schedule(period_ns=1_000_000),
                     frames=frames)
    assert len(frames.moving(made.q)) == 3
    assert sensors.names == ('joint_1', 'joint_2', 'joint_3')
    sim.pause(True)
    held = sim.step(20).position
    assert held[0] == start[0] and np.abs(held - start).max() < 1e-12      # brakes
    sim.pause(False)
    sim.command([15.0])
    sim.pause(True)
    sample = sim.step(100)
    assert np.abs(sample.position - start).min() > 0.01
    assert np.abs(dynamics.loop_error(sample.position)).max() < 1e-12
    assert sample.effort.tolist() == [15.0, 0.0, 0.0]
    sim.reset()
    assert (made.q == start).all()


def test_brakes_of_the_drives_carry_the_weight():
    """A parallel robot by name measures gravity before its first command, as trees do."""
    root = Path(__file__).parents[2]
    content = yaml.safe_load((root / 'config' / 'five_bar.yaml').read_text())
    settings = Settings(default_values() | content['/**']['simulator']['ros__parameters'])
    model = rbd_ros.load_urdf(root / 'urdf' / 'five_bar.urdf')
    made = SimulatedRobot(model)
    made.place(settings.initial_positions(model, made.q), fixed=settings.placed_joints(model))
    sensors = Sensors(made, settings.imperfections())
    sim = Simulation(made, sensors, settings.joints(model), settings.schedule())
    sim.pause(True)
    effort = dict(zip(sensors.names, sim.step(20).effort, strict=True))
    dynamics = rbd_ros.Dynamics(model)
    G = dynamics.loop_map(made.q, independent=sim.joints).G
    assert [effort.pop(name) for name in sim.joints] == pytest.approx(
        G.T @ dynamics.gravity(made.q), abs=1e-6)
    assert list(effort.values()) == pytest.approx([0.0] * len(effort), abs=1e-6)
    assert (sim.can_brake == made.braked).all() and not made.braked.all()


def test_passive_joints_keep_brakes_that_the_robot_needs(four_bar):
    """Where the brakes of the drives would leave a loop free, its passive joints have some."""
    made, dynamics = four_bar
    made.place(rigged('four_bar')[1])
    nothing = np.zeros(made.model.nv, dtype=bool)
    assert not made.is_held_by(nothing)
    assert made.is_held_by(np.arange(made.model.nv) == 0) and made.is_held_by(True)
    assert not made.is_held_by(False) and made.is_held_by([True] * made.model.nv)
    assert not SimulatedRobot(dynamics.model.spanning_tree).is_held_by(nothing)


def test_bad_starts_and_drives_are_refused():
    """An impossible start and own dynamics, with the loop joint named."""
    model = rbd_ros.load_urdf(FOUR_BAR, gravity=mechanisms.DOWN)
    made = SimulatedRobot(model)
    settings = Settings({'joints': ['joint_3'], 'initial_positions': [0.0]})
    with pytest.raises(rbd_ros.LoopError, match='loop joint "close" of "four_bar" stays open by'):
        made.place(settings.initial_positions(model, made.q), fixed=settings.placed_joints(model))
    with pytest.raises(rbd_ros.UnknownName, match='no joint "joint_9"'):
        Settings({'joints': ['joint_9']}).joints(model)
    with pytest.raises(rbd_ros.LoopError, match='"close".* dynamics of your own knows trees only'):
        SimulatedRobot(model, lambda q, v, tau, f: np.zeros(3))
    loop = dataclasses.replace(model.loops[0], X_P=rbd_ros.spatial.xlt(5.0, 0.0, 0.0))
    with pytest.raises(rbd_ros.LoopError, match='"four_bar" cannot be assembled'):
        SimulatedRobot(dataclasses.replace(model, loops=(loop,)))
