# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The simulation behind a driver, on two clocks that are only numbers."""

import math
from pathlib import Path

import numpy as np
import pytest
from rbd_ros import Dynamics, load_urdf
from rbd_ros.errors import NonFiniteError, SettingError, ShapeError
from rbd_ros.sim import (
    Imperfections, Pacer, Physics, Schedule, Sensors, SimulatedRobot, Simulation)

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'
BENT = np.array([0.3, 0.5, -0.4, -1.2, 0.6, 0.7, 0.9])
MS = 1_000_000


@pytest.fixture(scope='module')
def model():
    """Return the built-in arm."""
    return load_urdf(ARM)


def simulation(model, imperfections=None, joints=None, **schedule):
    """Return a simulation of the bent arm."""
    robot = SimulatedRobot(model)
    robot.place(BENT)
    sensors = Sensors(robot, imperfections or Imperfections())
    return Simulation(robot, sensors, joints or model.joint_names, Schedule(**schedule))


class Clock:
    """A steady clock that moves on command."""

    def __init__(self):
        self.now = 100.0

    def run(self, sim, seconds, period=1e-3):
        """Tick a simulation over some time; return all readings."""
        samples = []
        for _ in range(round(seconds / period)):
            self.now += period
            sample = sim.tick(self.now)
            samples += [] if sample is None else [sample]
        return samples


# --- pacing --------------------------------------------------------------------------------


def test_pacer_is_level_in_the_long_run():
    """With a jittering timer the number of periods never differs from time by more than one."""
    rng = np.random.default_rng(0)
    pacer, now, total = Pacer(1e-3), 5.0, 0
    pacer.due(now)
    for _ in range(5000):
        now += 1e-3 * rng.uniform(0.2, 1.8)
        total += pacer.due(now)
        assert abs(total - (now - 5.0) / 1e-3) <= 1.0 + 1e-6
    assert pacer.skipped == 0


def test_pacer_gives_up_what_it_cannot_catch():
    """After a long stall it runs the most allowed, counts the rest, and is level again."""
    pacer = Pacer(1e-3, max_catch_up=20)
    pacer.due(0.0)
    assert pacer.due(0.5) == 20
    assert pacer.skipped == 480 and pacer.late == 1
    assert pacer.due(0.501) == 1


def test_pacer_after_a_pause():
    """After rebasing, the time of the pause is not made up for."""
    pacer = Pacer(1e-3)
    pacer.due(0.0)
    assert pacer.due(1e-3) == 1
    pacer.rebase()
    assert pacer.due(50.0) == 0
    assert pacer.due(50.001) == 1 and pacer.skipped == 0


def test_simulated_time_follows_the_clock(model):
    """One second of ticks is one second of simulated time and a reading per period."""
    sim, clock = simulation(model), Clock()
    samples = clock.run(sim, 1.001)
    assert sim.time_ns == pytest.approx(1_000_000_000, abs=MS)
    assert np.diff([s.time_ns for s in samples]).tolist() == [MS] * (len(samples) - 1)


def test_speed(model):
    """At half speed, time runs half as fast."""
    sim, clock = simulation(model, speed=0.5), Clock()
    clock.run(sim, 1.0)
    assert sim.time_ns == pytest.approx(500_000_000, abs=2 * MS)


def test_late_tick_sends_only_the_newest(model):
    """After a stall of five periods all are integrated, the newest is sent, four are counted."""
    sim, clock = simulation(model), Clock()
    clock.run(sim, 0.01)
    before = sim.time_ns
    clock.now += 5e-3
    sample = sim.tick(clock.now)
    assert sample.time_ns == before + 5 * MS == sim.time_ns
    assert sim.counters.superseded == 4


# --- brakes and commands -------------------------------------------------------------------


def test_brakes_hold_until_the_first_command(model):
    """Nothing moves before the first command; after it the arm does."""
    sim, clock = simulation(model), Clock()
    samples = clock.run(sim, 0.2)
    assert all((s.position == BENT).all() and not s.velocity.any() for s in samples)
    sim.command(np.zeros(7), None, clock.now)
    samples = clock.run(sim, 0.2)
    assert np.abs(samples[-1].position - BENT).max() > 0.05


def test_uncommanded_joints_keep_their_brakes(model):
    """Joints that take no commands stay where they are, command order is that of joints."""
    names = model.joint_names
    sim, clock = simulation(model, joints=[names[6], names[4]]), Clock()
    clock.run(sim, 0.01)
    sim.command([3.0, -5.0], None, clock.now)
    last = clock.run(sim, 0.1)[-1]
    held = [0, 1, 2, 3, 5]
    assert (last.position[held] == BENT[held]).all()
    assert last.effort[6] == 3.0 and last.effort[4] == -5.0
    assert last.position[6] > BENT[6] and last.position[4] < BENT[4]


def test_bad_commands_are_refused_and_change_nothing(model):
    """A command of wrong size or with NaN is refused with a reason, brakes stay."""
    sim, clock = simulation(model), Clock()
    with pytest.raises(ShapeError, match='a command has 3 values, 7 joints take commands'):
        sim.command(np.zeros(3))
    with pytest.raises(NonFiniteError, match='not finite; it is ignored'):
        sim.command([0.0] * 6 + [math.nan])
    clock.run(sim, 0.05)
    assert sim.counters.refused == 2 and not sim.released
    assert (sim.robot.q == BENT).all()


def test_command_timeout_closes_the_brakes(model):
    """Without a command for the stated time the brakes close and hold; a new one opens them."""
    sim, clock = simulation(model, command_timeout=0.05), Clock()
    clock.run(sim, 0.01)
    sim.command(np.zeros(7), None, clock.now)
    clock.run(sim, 0.04)
    assert sim.released and sim.robot.v.any()
    clock.run(sim, 0.03)
    assert not sim.released and not sim.robot.v.any()
    assert sim.counters.timeouts == 1
    sim.command(np.zeros(7), None, clock.now)
    clock.run(sim, 0.01)
    assert sim.released and sim.robot.v.any()


def test_command_latency(model):
    """A command has its effect after its latency, on simulated time."""
    sim, clock = simulation(model, command_latency=0.01), Clock()
    clock.run(sim, 0.01)
    sim.command(np.full(7, 1.0), None, clock.now)
    efforts = [s.effort[0] for s in clock.run(sim, 0.02)]
    assert efforts.index(1.0) == 10


# --- pause, step, reset --------------------------------------------------------------------


def test_pause_stops_time(model):
    """While paused no time passes and nothing is sent; afterwards nothing is made up for."""
    sim, clock = simulation(model), Clock()
    clock.run(sim, 0.02)
    sim.pause(True)
    before = sim.time_ns
    assert clock.run(sim, 1.0) == [] and sim.time_ns == before
    sim.pause(False)
    clock.run(sim, 0.011)
    assert sim.time_ns == pytest.approx(before + 10 * MS, abs=MS)
    assert sim.pacer.skipped == 0


def test_step_advances_a_paused_simulation(model):
    """Stepping advances by whole periods and is refused while time runs."""
    sim, clock = simulation(model), Clock()
    clock.run(sim, 0.02)
    with pytest.raises(SettingError, match='pause it before stepping'):
        sim.step()
    sim.pause(True)
    before = sim.time_ns
    sample = sim.step(3)
    assert sim.time_ns == sample.time_ns == before + 3 * MS


def test_reset_restores_state_but_not_time(model):
    """Reset brings back pose and brakes; time goes on; a late command does not open the brakes."""
    sim, clock = simulation(model), Clock()
    clock.run(sim, 0.02)
    old = sim.time_ns
    sim.command(np.zeros(7), old, clock.now)
    clock.run(sim, 0.2)
    assert (sim.robot.q != BENT).any()
    before = sim.time_ns
    sim.reset()
    assert sim.time_ns > before and (sim.robot.q == BENT).all()
    sim.command(np.zeros(7), old, clock.now)
    clock.run(sim, 0.1)
    assert (sim.robot.q == BENT).all() and sim.counters.outdated == 1


def test_pushes_end_with_their_time_their_successor_and_a_reset(model):
    """Whatever else is pushed; without brakes and gravity nothing else moves the arm."""
    weightless = model.with_gravity((0.0, 0.0, 0.0))

    def pushed(first, seconds, then=None, reset=False):
        robot = SimulatedRobot(weightless, physics=Physics.of(
            weightless, friction=0.0, damping=0.0))
        robot.place(BENT)
        sim, clock = Simulation(robot, Sensors(robot, Imperfections()), model.joint_names,
                                Schedule(brakes=False)), Clock()
        clock.run(sim, 0.005)
        sim.push('tool0', first, seconds)
        if reset:
            sim.reset()
        clock.run(sim, 0.01)
        if then is not None:
            sim.push('tool0', then, 1.0)
        moving = sim.robot.v
        clock.run(sim, 0.01)
        return moving, sim.robot.v
    force, none = [0.0, 0.0, 0.0, 5.0, 0.0, 3.0], np.zeros(6)
    during, after = pushed(force, 0.010)
    speed = np.abs(during).max()
    assert speed > 0.01 and np.abs(after - during).max() < 0.05 * speed
    assert np.abs(pushed(force, 1.0)[1]).max() > 1.8 * speed
    during, after = pushed(force, 1.0, none)
    assert np.abs(after - during).max() < 0.05 * speed
    assert not np.any(pushed(force, 1.0, reset=True))


# --- lockstep ------------------------------------------------------------------------------


def closed_loop(model, delays, periods=300, imperfections=None, **schedule):
    """Return the readings of a PD loop in lockstep whose answers take the given times."""
    dynamics = Dynamics(model)
    sim, clock = simulation(model, imperfections, lockstep=True, **schedule), Clock()
    sample = clock.run(sim, 0.0105)[-1]
    samples = []
    for k in range(periods):
        wait = delays[k % len(delays)]
        clock.now += wait
        sim.tick(clock.now)         # the timer goes on and must not move time
        torque = (dynamics.gravity(sample.position) + 30.0 * (BENT + 0.2 - sample.position)
                  - 3.0 * sample.velocity)
        sample = sim.command(torque, sample.time_ns, clock.now)
        samples.append(sample)
    return sim, samples, clock


def test_lockstep_does_not_depend_on_the_machine(model):
    """Whatever time the answers take, the motion is the same to the last bit."""
    noise = Imperfections(position_noise=1e-4, velocity_noise=1e-3, seed=3)
    _, fast, _ = closed_loop(model, [1e-5], imperfections=noise)
    _, slow, _ = closed_loop(model, [3e-4, 0.02, 1e-5, 0.3], imperfections=noise, patience=1.0)
    assert all((a.position == b.position).all() and (a.velocity == b.velocity).all()
               for a, b in zip(fast, slow))
    assert np.diff([s.time_ns for s in fast]).tolist() == [MS] * 299


def test_lockstep_waits(model):
    """After the first command time stands until the answer to the last reading comes."""
    sim, samples, _ = closed_loop(model, [1e-4], periods=5)
    clock = Clock()
    clock.now = 200.0
    before = sim.time_ns
    sim.command(np.zeros(7), samples[-2].time_ns, clock.now)     # answers another reading
    assert sim.waiting and sim.time_ns == before and sim.counters.outdated == 1
    sim.command(np.zeros(7), None, clock.now)                    # answers nothing at all
    assert sim.time_ns == before
    sim.command(np.zeros(7), samples[-1].time_ns, clock.now)
    assert sim.time_ns == before + MS


def test_lockstep_begins_with_the_answer_to_the_newest_reading(model):
    """A late first answer stops time; the brakes open with the answer to the newest reading."""
    sim, clock = simulation(model, lockstep=True), Clock()
    samples = clock.run(sim, 0.01)
    assert sim.command(np.zeros(7), samples[-3].time_ns, clock.now) is None
    assert sim.waiting and not sim.released
    assert clock.run(sim, 0.02) == [] and sim.time_ns == samples[-1].time_ns
    assert sim.command(np.zeros(7), samples[-2].time_ns, clock.now) is None
    sample = sim.command(np.zeros(7), samples[-1].time_ns, clock.now)
    assert sim.released and sample.time_ns == samples[-1].time_ns + MS


def test_lockstep_sends_an_unanswered_reading_again(model):
    """A reading that was lost on its way is sent again with the same stamp."""
    sim, samples, clock = closed_loop(model, [1e-4], periods=5, resend=0.05, patience=10.0)
    again = clock.run(sim, 0.2)
    assert {s.time_ns for s in again} == {samples[-1].time_ns}
    assert 3 <= len(again) <= 4 == sim.counters.resent + 4 - len(again)


def test_lockstep_ends_with_its_patience(model):
    """Without an answer the brakes close, time runs again, and a new command starts anew."""
    sim, samples, clock = closed_loop(model, [1e-4], periods=50, patience=0.5)
    clock.run(sim, 1.0)
    assert not sim.waiting and not sim.released and sim.counters.timeouts == 1
    assert sim.time_ns > samples[-1].time_ns + 400 * MS
    assert not sim.robot.v.any()
    assert sim.command(np.zeros(7), sim.time_ns, clock.now) is not None
    assert sim.waiting


def test_lockstep_with_latency_and_losses(model):
    """Late and lost readings do not stop the exchange; each answer is to the newest reading."""
    imperfect = Imperfections(latency=4e-3, loss=0.2, seed=2)
    sim, samples, _ = closed_loop(model, [1e-4], periods=100, imperfections=imperfect)
    assert all(s is not None for s in samples)
    assert sim.counters.periods > 100
    assert sim.time_ns - samples[-1].time_ns == 4 * MS


def test_lockstep_pause_keeps_the_answer(model):
    """An answer that comes while paused is used when time goes on."""
    sim, samples, _ = closed_loop(model, [1e-4], periods=5)
    sim.pause(True)
    before = sim.time_ns
    assert sim.command(np.zeros(7), samples[-1].time_ns, 0.0) is None
    assert sim.time_ns == before
    sample = sim.resume(0.0)
    assert sample.time_ns == before + MS and sim.waiting


@pytest.mark.parametrize('settings, message', [
    ({'substeps': 0}, 'substeps is 0; it must be positive'),
    ({'command_latency': -1.0}, 'command_latency is -1.0; it must be zero or more'),
    ({'lockstep': True, 'brakes': False}, 'lockstep needs brakes'),
])
def test_messages(settings, message):
    """Wrong settings are refused with their name and what they may be."""
    with pytest.raises(SettingError, match=message):
        Schedule(**settings)


def test_joints_must_be_joints(model):
    """A joint that does not exist, or is named twice, is refused."""
    robot = SimulatedRobot(model)
    sensors = Sensors(robot, Imperfections())
    with pytest.raises(SettingError, match='joints is .*; name each joint once'):
        Simulation(robot, sensors, [model.joint_names[0]] * 2, Schedule())
    with pytest.raises(KeyError, match='no joint "elbow"'):
        Simulation(robot, sensors, ['elbow'], Schedule())
