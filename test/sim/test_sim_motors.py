# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Simulated motors that close their own loop, against formulas of a pendulum and of the arm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rbd_ros import Dynamics, load_urdf
from rbd_ros.errors import NonFiniteError, SettingError, ShapeError
from rbd_ros.sim import Imperfections, Schedule, Sensors, Settings, SimulatedRobot, Simulation
from rbd_ros.sim.motor_gains import GainCheck

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'
BENT = np.array([0.3, 0.5, -0.4, -1.2, 0.6, 0.7, 0.9])
M, LENGTH, INERTIA = 2.0, 0.5, 0.1
PENDULUM = f"""<robot name="pendulum"><link name="base"/><link name="bob"><inertial>
  <mass value="{M}"/><origin xyz="0 0 -{LENGTH}"/>
  <inertia ixx="{INERTIA}" iyy="{INERTIA}" izz="{INERTIA}" ixy="0" ixz="0" iyz="0"/></inertial>
 </link><joint name="swing" type="continuous"><parent link="base"/><child link="bob"/>
  <axis xyz="0 1 0"/><limit effort="30" velocity="50"/></joint></robot>"""


def simulation(description: str | Path, q: list[float] | np.ndarray, *, motors: bool = True,
               **schedule: object) -> Simulation:
    """Return a simulation that starts somewhere."""
    model = load_urdf(description)
    robot = SimulatedRobot(model)
    robot.place(q)
    return Simulation(robot, Sensors(robot, Imperfections()), model.joint_names,
                      Schedule(**schedule), motors=motors)


NOW = [100.0]  # s, a steady clock that never goes back


def run(sim: Simulation, seconds: float) -> list[np.ndarray]:
    """Run a simulation; return the positions of its readings."""
    period, found = sim.schedule.period_ns * 1e-9, []
    for _ in range(round(seconds / period)):
        NOW[0] += period
        sample = sim.tick(NOW[0])
        found += [] if sample is None else [sample.position]
    return found


@pytest.mark.parametrize('stiffness', [50.0, 400.0])
def test_frequency_of_a_spring(stiffness: float) -> None:
    """A pendulum on a motor spring swings about q_d as mass and stiffness say."""
    sim = simulation(PENDULUM, [0.0], substeps=4)
    weight = M * 9.81 * LENGTH
    start = 0.02 / (1.0 + weight / stiffness)  # where the motor's spring carries the weight
    sim.command([[0.02, 0.0, stiffness, 0.0, 0.0]])
    q = np.array(run(sim, 4.0))[:, 0] - start
    # a sine through zero upwards, counted over whole swings
    up = np.flatnonzero((q[:-1] < 0.0) & (q[1:] >= 0.0))
    t = (up - q[up] / (q[up + 1] - q[up])) * sim.schedule.period_ns * 1e-9
    found = 2.0 * np.pi * (len(t) - 1) / (t[-1] - t[0])
    wanted = np.sqrt((stiffness + weight) / (INERTIA + M * LENGTH**2))
    assert found == pytest.approx(wanted, rel=2e-3)


def test_damping_ends_where_the_spring_carries_the_weight() -> None:
    """At rest, Kp (q_d - q) + tau_ff is gravity at q; the limits of the torque hold."""
    sim = simulation(ARM, BENT, substeps=4)
    robot = Dynamics(sim.robot.model)
    stiffness = np.array([900.0, 900.0, 600.0, 600.0, 150.0, 150.0, 60.0])
    goal = BENT + 0.05
    effort = 0.5 * robot.gravity(BENT)
    sim.command(np.column_stack([goal, np.zeros(7), stiffness, 0.05 * stiffness, effort]))
    run(sim, 6.0)
    assert np.abs(sim.robot.v).max() < 1e-3
    left = stiffness * (goal - sim.robot.q) + effort - robot.gravity(sim.robot.q)
    assert (np.abs(left) <= np.array(sim.robot.model.friction) + 0.02).all(), left
    sim.command(np.column_stack([goal + 3.0, np.zeros(7), stiffness, np.zeros(7), effort]))
    run(sim, 0.004)
    np.testing.assert_allclose(sim.robot.motor_torque, sim.robot.model.effort_limit)


def test_without_gains_it_is_a_torque() -> None:
    """Bit for bit the motion of a robot that is commanded by torques."""
    efforts = [1.0, 30.0, -2.0, -12.0, 1.0, -1.0, 0.2]
    plain, drives = simulation(ARM, BENT, motors=False), simulation(ARM, BENT)
    plain.command(efforts)
    drives.command([[9.0, 9.0, 0.0, 0.0, each] for each in efforts])
    np.testing.assert_array_equal(run(plain, 0.5), run(drives, 0.5))
    assert np.abs(plain.robot.q - BENT).max() > 0.01


def test_motors_run_in_every_step() -> None:
    """A damper 3.3 times too large for the rate of the states does not swing."""
    sim = simulation(PENDULUM, [0.05], period_ns=20_000_000, substeps=20)
    inertia = INERTIA + M * LENGTH**2
    sim.command([[0.05, 0.0, 0.0, 3.3 * 2.0 * inertia / 0.02, 0.0]])
    run(sim, 1.0)
    speed = M * 9.81 * LENGTH * 0.05 / (3.3 * 2.0 * inertia / 0.02)  # as it sinks, at most
    assert 0.0 < -sim.robot.v[0] <= 1.01 * speed


def test_bad_commands_change_nothing() -> None:
    """Sizes, NaN and negative gains are refused by name; the last command stays in force."""
    sim = simulation(ARM, BENT)
    hold = np.column_stack([BENT, np.zeros(7), np.full(7, 80.0), np.full(7, 4.0), np.zeros(7)])
    sim.command(hold)
    run(sim, 0.1)
    for rows, error, text in (
            (hold[:, 4], ShapeError, '5 for each of 7 joints'),
            (hold[:6], ShapeError, 'a command has 30 values'),
            (hold * [1.0, np.nan, 1.0, 1.0, 1.0], NonFiniteError, '"joint_1" is not finite'),
            (hold * [1.0, 1.0, -1.0, 1.0, 1.0], SettingError, '"joint_1" is negative')):
        with pytest.raises(error, match=text):
            sim.command(rows)
    assert sim.counters.refused == 4 and sim.counters.commands == 1
    other = simulation(ARM, BENT)
    other.command(hold)
    run(other, 0.1)
    np.testing.assert_array_equal(run(sim, 0.2), run(other, 0.2))


def test_motors_let_go_when_brakes_close() -> None:
    """After a timeout or a reset the gains of before act no more."""
    sim = simulation(ARM, BENT, command_timeout=0.05)
    hold = np.column_stack([BENT, np.zeros(7), np.full(7, 80.0), np.full(7, 4.0), np.zeros(7)])
    sim.command(hold)
    run(sim, 0.2)
    assert sim.counters.timeouts == 1 and sim.braked
    sim.command(hold)
    run(sim, 0.02)
    assert not sim.braked
    sim.reset()
    run(sim, 0.02)
    assert sim.braked
    np.testing.assert_array_equal(sim.robot.q, BENT)


def test_settings() -> None:
    """Lockstep needs stamps, which only one of the layouts has."""
    assert Settings({'command_type': 'motor_array'}).motors_close_loops
    assert Settings({'command_type': 'motor_joint_state', 'lockstep': True}).motors_close_loops
    assert not Settings({'command_type': 'joint_state'}).motors_close_loops
    with pytest.raises(SettingError, match='joint_state or motor_joint_state'):
        Settings({'command_type': 'motor_array', 'lockstep': True})


@pytest.mark.parametrize('seed', range(6))
def test_gains_that_the_steps_cannot_hold(seed: int) -> None:
    """What is called too much swings up, what is not settles; each joint is named once."""
    rng = np.random.default_rng(seed)
    substeps = int(rng.integers(1, 4))
    sim = simulation(PENDULUM, [0.0], substeps=substeps)
    period, felt = sim.schedule.period_ns * 1e-9, INERTIA + M * LENGTH ** 2
    step = period / substeps
    share = rng.choice([rng.uniform(0.5, 0.95), rng.uniform(1.05, 2.0)])
    if rng.random() < 0.5:  # a damper for which a step is too long
        Kd = share * 2.0 * felt / step
        Kp = 0.1 * Kd / step
    else:  # a spring with less damping than the hold takes from it
        Kp = 0.02 * felt / step ** 2
        Kd = Kp * step / 2.0 / share
    check = GainCheck(load_urdf(PENDULUM), ('swing',), substeps, step)
    found = check.look(np.zeros(1), np.array([Kp]), np.array([Kd]))
    sim.command([[1e-7, 0.0, Kp, Kd, 0.0]])
    q = np.abs(np.array(run(sim, 4.0))[:, 0])
    assert bool(found) == (share > 1.0) == (q[-50:].max() > 1e-6)
    assert not check.look(np.zeros(1), np.array([2.0 * Kp]), np.array([2.0 * Kd])) or not found
    if found:
        needed = int(found[0].split('substeps to ')[1].split()[0])
        assert needed > substeps and f'"swing" cannot hold Kp {Kp:g} and Kd {Kd:g}' in found[0]
        better = GainCheck(load_urdf(PENDULUM), ('swing',), needed, period / needed)
        assert not better.look(np.zeros(1), np.array([Kp]), np.array([Kd]))
