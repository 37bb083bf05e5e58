# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The force-torque sensor on the fake clock: faults and their times, bias, force control."""

from __future__ import annotations

from collections.abc import Callable
import dataclasses
import math

import controller_rig
from controller_rig import Arm, MODEL
import numpy as np
import numpy.typing as npt
import pytest
from rbd_ros import Dynamics
from rbd_ros.control.force_torque.force_law import ForceGains, ForceLaw
from rbd_ros.control.force_torque.sensor import Sensor
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.parameters.force import (
    gain_limit, largest_gain, largest_stiffness, MARGIN)
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import make_robot
from rbd_ros.errors import ModelError

Array = npt.NDArray[np.float64]

FRAME = 'tool0'


class Sensed(Arm):
    """An arm whose sensor reads what it is told, with noise."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **values: object) -> None:
        robot, dynamics = controller_rig.robot_and_dynamics()
        monkeypatch.setattr(controller_rig, 'robot_and_dynamics', lambda: (
            dataclasses.replace(robot, sensor=FRAME), dynamics))
        super().__init__(**{'force_torque.frame': FRAME} | values)
        self.rng = np.random.default_rng(0)
        self.wrench, self.noise = np.zeros(6), 1e-3
        self.each = self.read

    def read(self, now: float) -> None:
        """Let a reading come."""
        self.controller.take_reading(
            now, now, self.wrench + self.noise * self.rng.standard_normal(6))

    def until_stopped(self, limit: float = 2.0) -> float:
        """Let time pass until the law no longer runs; return how long that took."""
        begin = self.time
        while self.state == 'running' and self.time < begin + limit:
            self.run(self.period)
        return self.time - begin


def test_without_a_sensor_nothing_is_read() -> None:
    """A reading that nobody asked for is refused, and changes nothing."""
    arm = Arm()
    arm.start()
    before = arm.controller.x.sensor.memory.copy()
    arm.controller.take_reading(arm.now, arm.time, np.ones(6))
    assert arm.controller.y.answer
    np.testing.assert_array_equal(arm.controller.x.sensor.memory, before)
    arm.run(0.2)
    assert arm.state == 'running'


def latest_wrench(arm: Sensed) -> Array | None:
    """Return the wrench that the next report would have."""
    snapshots = arm.controller.snapshots
    snapshots.divider = 1
    snapshots.note()
    return snapshots.kept[-1].wrench


@pytest.mark.parametrize('timeout', [0.01, 0.05, 0.123])
def test_silence(monkeypatch: pytest.MonkeyPatch, timeout: float) -> None:
    """The first state that comes more than the timeout after the last reading is a fault."""
    arm = Sensed(monkeypatch, **{'force_torque.timeout': timeout,
                                 'force_torque.freeze_time': 0.0})
    arm.start()
    assert latest_wrench(arm) is not None
    arm.each = None
    took = arm.until_stopped()
    assert arm.causes == [Cause.FORCE_SENSOR]
    assert timeout - 1e-6 < took <= timeout + 2 * arm.period
    assert 'no reading for' in arm.fault and arm.state == 'braking'
    arm.run(1.0)
    assert latest_wrench(arm) is None  # what was measured is no measurement of now
    assert arm.state == 'holding'  # a sensor that stays silent does not release a held robot
    assert not arm.reset()
    arm.run(arm.period)
    assert arm.state == 'braking'
    arm.each = arm.read
    arm.run(1.0)
    assert not arm.reset()
    arm.run(1.0)
    assert arm.state == 'running'


@pytest.mark.parametrize('back', [0.2, 3.0, 1e6])
def test_a_clock_that_is_set_back(monkeypatch: pytest.MonkeyPatch, back: float) -> None:
    """It is a fault, and one reset goes on with the readings by the new time."""
    arm, ahead = Sensed(monkeypatch), [2e6]

    def stamped(now: float) -> None:
        stamp = divmod(round(1e9 * (now + ahead[0])), 1_000_000_000)
        arm.controller.take_reading(now, now, arm.rng.standard_normal(6), stamp)
    arm.each = stamped
    arm.start()
    ahead[0] -= back
    assert arm.until_stopped() < 0.1 and arm.causes == [Cause.FORCE_SENSOR]
    arm.run(1.0)
    assert arm.state == 'holding' and not arm.reset()
    arm.run(1.0)
    assert arm.state == 'running', arm.fault


def test_an_old_reading_that_is_repeated_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that sends its last message for ever, or two old ones in turn, is silent."""
    arm, stamps = Sensed(monkeypatch), [(7, 0), (7, 0), (6, 0), (6, 0)]
    arm.start()
    arm.each = lambda now: arm.controller.take_reading(
        now, now, arm.rng.standard_normal(6), stamps[round(now / arm.period) % 4])
    arm.until_stopped()
    assert arm.causes == [Cause.FORCE_SENSOR]


@pytest.mark.parametrize('time', [0.02, 0.1])
def test_a_sensor_that_repeats_itself(monkeypatch: pytest.MonkeyPatch, time: float) -> None:
    """Six numbers that stay the same are a frozen sensor after freeze_time; five are not."""
    arm = Sensed(monkeypatch, **{'force_torque.freeze_time': time})
    arm.start()
    last = arm.controller.x.sensor.reading.copy()

    def five(now: float) -> None:
        last[2] += 1e-9
        arm.controller.take_reading(now, now, last)
    arm.each = five
    assert arm.until_stopped(3 * time) > 2.9 * time
    arm.each = lambda now: arm.controller.take_reading(now, now, last)
    took = arm.until_stopped()
    assert arm.causes == [Cause.FORCE_SENSOR] and 'exactly the same' in arm.fault
    assert time - 1e-6 < took <= time + 2 * arm.period


def test_repeats_may_be_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With freeze_time 0 a sensor may repeat itself for ever."""
    arm = Sensed(monkeypatch, **{'force_torque.freeze_time': 0.0})
    arm.noise = 0.0
    arm.start()
    assert arm.until_stopped(1.0) > 0.9


@pytest.mark.parametrize(('bad', 'said'), [
    ([math.nan, 0, 0, 0, 0, 0], 'not finite'), ([0, 0, 0, 0, math.inf, 0], 'not finite'),
    ([0, 0, 0, 0, 0, 501.0], 'beyond force_torque.force_range 500'),
    ([0, 0, -50.1, 0, 0, 0], 'beyond force_torque.moment_range 50'),
    ([0, 0, 0, 0, 101.0, 0], 'jumped by 101 N between'),
    ([0, 20.5, 0, 0, 0, 0], 'jumped by 20.5 N.m between')])
def test_one_bad_reading(monkeypatch: pytest.MonkeyPatch, bad: list[float], said: str) -> None:
    """A reading that cannot be is a fault at once; the next state is braked."""
    arm = Sensed(monkeypatch)
    arm.noise = 1e-6
    arm.start()
    arm.controller.take_reading(arm.now, arm.time, bad)
    assert arm.causes == [Cause.FORCE_SENSOR]
    assert said in arm.fault
    arm.run(arm.period)
    assert arm.state == 'braking'


@pytest.mark.parametrize('good', [[0, 0, 0, 0, 0, 99.0], [0, 0, 19.5, 0, 0, 0]])
def test_quick_readings_are_no_jump(monkeypatch: pytest.MonkeyPatch, good: list[float]) -> None:
    """Below the bounds nothing happens."""
    arm = Sensed(monkeypatch)
    arm.start()
    arm.wrench[:] = good
    assert arm.until_stopped(0.1) > 0.09


def test_start_waits_for_the_sensor(monkeypatch: pytest.MonkeyPatch) -> None:
    """No torque is sent before readings come."""
    arm = Sensed(monkeypatch)
    arm.each = None
    arm.activate()
    arm.run(1.0)
    assert arm.state == 'probing' and not arm.sent and not arm.controller.sensor_ready
    arm.each = arm.read
    arm.run(1.0)
    assert arm.state == 'running'


def test_stamps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stamp that stands is no reading; one that lags makes the reading old by its delay."""
    arm = Sensed(monkeypatch, **{'force_torque.timeout': 0.05})
    lag = [0.0]

    def stamped(now: float) -> None:
        stamp = divmod(round(1e9 * (now - lag[0] + 77.0)), 1_000_000_000)
        arm.controller.take_reading(now, now, arm.rng.standard_normal(6), stamp)
    arm.each = stamped
    arm.start()
    lag[0] = 0.04
    assert arm.until_stopped(0.3) > 0.29
    stands = divmod(round(1e9 * (arm.now + 77.0)), 1_000_000_000)
    arm.each = lambda now: arm.controller.take_reading(
        now, now, arm.rng.standard_normal(6), stands)
    took = arm.until_stopped()
    assert arm.causes == [Cause.FORCE_SENSOR] and 'no reading' in arm.fault
    assert took <= 0.05 + 2 * arm.period


# -- without the tool -----------------------------------------------------------------------------

def test_tool_and_payload_are_removed_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """What remains in random poses is what was added; by poses of the uncompiled dynamics."""
    rng = np.random.default_rng(2)
    tool, com = 0.8, [0.01, 0.02, 0.05]
    load, load_com = 1.2, [0.03, -0.02, 0.1]
    arm = Sensed(monkeypatch, **{
        'force_torque.tool_mass': tool, 'force_torque.tool_com': com, 'payload.mass': load,
        'payload.com': load_com, 'force_torque.filter': 0.0, 'state_tolerance': [100.0],
        'force_torque.force_bias': [1.0, 2.0, 3.0], 'force_torque.moment_bias': [0.1, 0.2, 0.3]})
    dynamics, x = Dynamics(MODEL, backend='reference'), arm.controller.x.sensor
    arm.activate()
    for _ in range(5):
        q = rng.uniform(-1.0, 1.0, 7)
        down = dynamics.pose(q, FRAME)[:3, :3].T @ [0.0, 0.0, -9.81]
        added = rng.uniform(-1.0, 1.0, 6)
        reading = added + [0.1, 0.2, 0.3, 1.0, 2.0, 3.0]
        reading[3:] += (tool + load) * down
        reading[:3] += np.cross(com, tool * down) + np.cross(load_com, load * down)
        for _ in range(3):
            arm.controller.take_reading(arm.now, arm.time, reading)
            arm.give(q, np.zeros(7))
        np.testing.assert_allclose(x.external, added, rtol=0, atol=1e-9)


def test_frame_must_carry_the_payload() -> None:
    """A sensor that moves relative to the payload is refused by name."""
    with pytest.raises(ModelError, match='moves relative to payload.frame "tool0"'):
        make_robot(MODEL, sensor='link_3')


# -- bias -----------------------------------------------------------------------------------------

def test_bias_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mean of a time at rest becomes the bias, nothing moves and no torque changes."""
    arm = Sensed(monkeypatch, **{'force_torque.tare_time': 0.2})
    arm.noise = 0.1
    arm.start()
    arm.wrench[:] = 0.3, -0.2, 0.1, 4.0, -3.0, 2.0
    arm.run(0.5)
    before = arm.sent[-1]
    assert arm.controller.tare(arm.now, arm.time) == ''
    arm.run(arm.period)
    np.testing.assert_array_equal(arm.sent[-1], before)
    # 200 readings with a standard deviation of 0.1: six times what their mean may be off
    np.testing.assert_allclose(arm.controller.x.sensor.bias, arm.wrench, rtol=0, atol=0.045)
    arm.run(0.1)
    assert np.abs(arm.controller.x.sensor.external).max() < 0.2


@pytest.mark.parametrize(('change', 'said'), [
    (lambda arm: arm.qd.__setitem__(3, 0.02), 'at rest for 0 s only'),
    (lambda arm: setattr(arm, 'noise', 2.0), 'spread by'),
    (lambda arm: arm.wrench.__setitem__(5, 21.0), 'beyond force_torque.tare_force'),
    (lambda arm: arm.wrench.__setitem__(1, 4.5), 'beyond force_torque.tare_moment')])
def test_bias_is_refused(monkeypatch: pytest.MonkeyPatch, change: Callable[[Arm], None],
                         said: str) -> None:
    """A robot that moves, vibrates or is in contact keeps its bias."""
    arm = Sensed(monkeypatch, **{'force_torque.tare_time': 0.1})
    arm.still = True
    arm.start()
    change(arm)
    arm.run(0.3)
    refused = arm.controller.tare(arm.now, arm.time)
    assert said in refused
    assert not arm.controller.x.sensor.bias.any()
    arm.each = None
    arm.run(0.06)
    assert 'no fresh reading' in arm.controller.tare(arm.now, arm.time)


# -- force control --------------------------------------------------------------------------------

def gains(**values: object) -> ForceGains:
    """Return gains of a law that controls z."""
    p = ForceGains({})
    p.used, p.gain, p.axes[5] = 1.0, 2.0, 1.0
    p.limit[:], p.rate[:], p.speed[:] = (4.0, 20.0), (20.0, 100.0), (0.2, 0.05)
    for name, value in values.items():
        setattr(p, name, value)
    return p


def unloaded() -> Sensor:
    """Return a sensor that nothing touches, at a tip with the axes of the base."""
    sensor = Sensor({})
    sensor.axes[:] = np.eye(3)
    return sensor


def test_law_along_its_axes_only() -> None:
    """Other directions get what is wanted, turned to the base and back; z is corrected."""
    rng = np.random.default_rng(3)
    R = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    x, p, wanted = ForceLaw({}), gains(), rng.uniform(-5.0, 5.0, 6)
    local = np.concatenate([R.T @ wanted[:3], R.T @ wanted[3:]])
    sensor = Sensor({})
    sensor.axes[:] = R
    for k in range(1000):  # the surroundings give a force that is 3 N short
        sensor.wrench[5] = -(x.reference[5] + x.integral[5] - 3.0)
        x.advance(p, wanted, 1, sensor, np.zeros(6), 1.0, 1.0 + 0.005 * k)
    found = np.concatenate([R.T @ x.wrench[:3], R.T @ x.wrench[3:]])
    np.testing.assert_allclose(found[:5], local[:5], rtol=1e-12)
    assert abs(found[5] - (local[5] + 3.0)) < 1e-3
    assert abs(x.integral[5] - 3.0) < 1e-3


def test_force_never_steps_and_is_bounded() -> None:
    """It begins and ends at its rate, and the integral keeps to its bound."""
    x, p, seen = ForceLaw({}), gains(), [0.0]
    for k in range(4000):
        asked, wanted = (1, -40.0) if k < 2000 else (0, 0.0)
        x.advance(p, np.array([0, 0, 0, 0, 0, wanted]), asked, unloaded(), np.zeros(6), 1.0,
                  1.0 + 0.001 * k)
        seen.append(float(x.wrench[5]))
        assert abs(x.integral[5]) <= 20.0
    steps = np.abs(np.diff(seen))
    # reference and integral move together, each at 100 N/s at most; the gain adds 2 x 40 N/s
    assert steps.max() <= 0.2 + 1e-9
    assert min(seen) == pytest.approx(-60.0) and seen[-1] == 0.0 and x.rests()


def test_integral_waits_while_the_tool_is_fast() -> None:
    """Beyond half of the speed it grows no more, but it may shrink."""
    for speed, grows in ((-0.02, True), (-0.03, False), (0.03, True), (math.nan, False)):
        x, p = ForceLaw({}), gains()
        for k in range(100):
            x.advance(p, np.array([0, 0, 0, 0, 0, -10.0]), 1, unloaded(),
                      np.array([0, 0, 0, 0, 0, speed]), 1.0, 1.0 + 0.01 * k)
        assert bool(x.integral[5]) is grows, speed


def swings(gain: float, k: float, T: float, F: float, w0: float) -> bool:
    """Return whether the loop of force control diverges, integrated in small steps."""
    h = min(T / 20.0, 0.02 / w0, 0.05 / k)
    late = max(round(T / h), 1)
    n = int(60.0 * max(1.0 / gain, 1.0 / w0, 1.0 / k) / h)
    y, v, z, f = 1.0, 0.0, 0.0, 0.0
    speeds, forces, peak = [0.0] * late, [0.0] * late, []
    for _ in range(n):
        speeds.append(v)
        forces.append(f)
        v += h * (w0 * w0 * (z - y) - k * speeds[-1 - late])
        y += h * v
        f += h / (F + h) * (y - f)
        z -= h * gain * forces[-1 - late]
        peak.append(abs(y))
        if abs(y) > 1e6:
            return True
    half = n // 2
    return max(peak[half:]) > 1.0 * max(peak[n // 4:half])


def test_limit_of_the_gain() -> None:
    """Loops with 0.8 of the limit come to rest and with 1.25 of it swing, integrated over time."""
    rng, tried = np.random.default_rng(4), 0
    while tried < 12:
        k, T = rng.uniform(10.0, 40.0), 10.0 ** rng.uniform(-3.0, -2.0)
        F, w0 = rng.choice([0.0, 0.01, 0.03]), 10.0 ** rng.uniform(1.0, 2.3)
        if w0 ** 2 >= largest_stiffness(k, T, 0.8):
            continue
        tried += 1
        limit = gain_limit(k, T, F, w0)
        assert not swings(0.8 * limit, k, T, F, w0), (k, T, F, w0, limit)
        assert swings(1.25 * limit, k, T, F, w0), (k, T, F, w0, limit)


def test_without_filter_the_damping_is_the_limit() -> None:
    """For G = k the loop has the factor s^2 + w0^2, whatever the delay is; without one: Routh."""
    for delay in (1e-6, 2e-3, 8e-3):
        assert largest_gain(20.0, delay, 0.0, 100.0) == pytest.approx(20.0, rel=0.01)


@pytest.mark.parametrize(('k', 'T'), [(20.0, 0.02), (10.0, 0.01)])
def test_largest_stiffness(k: float, T: float) -> None:
    """Below it a tool that presses comes to rest, above it the late damper makes it swing."""
    w0 = math.sqrt(largest_stiffness(k, T, 1.0))
    assert not swings(0.05 * k, k, T, 0.0, 0.9 * w0)
    assert swings(0.05 * k, k, T, 0.0, 1.1 * w0)


@pytest.mark.parametrize(('changes', 'said'), [
    ({'force_torque.frame': ''}, 'needs a sensor'),
    ({'task.axes': ['tx', 'tz']}, 'z: in force_control.axes and in task.axes'),
    ({'force_control.axes': ['tz', 'z']}, 'names a direction twice'),
    ({'force_control.gain': 50.0}, 'give at most'),
    ({'force_control.environment_stiffness': 1e8}, 'give less than'),
    ({'delay': 0.02}, 'cannot be stable at nominal_rate')])
def test_refusals_name_what_would_do(changes: dict[str, object], said: str) -> None:
    """What cannot be stable is refused with the largest value that is accepted, and that is."""
    robot = dataclasses.replace(controller_rig.robot_and_dynamics()[0], sensor=FRAME)
    values = defaults() | {'force_torque.frame': FRAME, 'force_control.axes': ['tz'],
                           'task.axes': ['rx', 'ry', 'rz', 'tx', 'ty']}

    def reasons_of(changes: dict[str, object]) -> list[str]:
        settings = Settings(robot, values | changes, simulated=False)
        settings.given.robot.tip_inertia[:] = [0.05] * 3 + [3.0] * 3
        return settings.force_refusals() or settings.live_refusals()

    assert reasons_of({}) == []
    reasons = reasons_of(changes)
    assert len(reasons) == 1 and said in reasons[0], reasons
    if 'force_control.gain' in changes:
        most = float(reasons[0].split()[-2])
        assert reasons_of({'force_control.gain': 0.999 * most}) == []
        assert reasons_of({'force_control.gain': 1.001 * most})
        assert most < MARGIN * 20.0
