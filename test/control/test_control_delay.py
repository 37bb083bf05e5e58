# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A constant delay of states is measured by their stamps and told, and damping made for it."""

from __future__ import annotations

from typing import NamedTuple

from controller_rig import AGE, AHEAD, Arm
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Event
from rbd_ros.control.joint_states.sources import AgeLimits
from rbd_ros.control.joint_states.timeliness import ages_known, Delays, restart_delays
from rbd_ros.control.laws.design import UNSAID


class Ages(NamedTuple):
    """Half and 90 % of the ages in a window are below these."""

    middle: float
    high: float


class Watch:
    """Takes reception and stamp of messages; none of them is older than 0.1 s."""

    def __init__(self, offset):
        self.x, self.p, self.u = Delays({}), AgeLimits({}), Event({'n': 1, 'm': 1})
        self.p.clock_offset, self.p.state_timeout = offset, 0.1
        restart_delays(self.x, 1.0)

    def note(self, now, stamp):
        """Return the ages of a window that is complete."""
        self.u.now = now
        self.u.stamp_s, self.u.stamp_ns = divmod(round(1e9 * stamp), 10**9)
        return Ages(self.x.middle, self.x.high) if ages_known(self.x, self.p, self.u) else None


@pytest.mark.parametrize('delay', [0.0, 0.004, 0.05])
def test_ages_are_those_of_the_stamps(delay):
    """Half and 90 % of random ages lie below what is reported, soon and then once per second."""
    rng = np.random.default_rng(int(1e3 * delay))
    watch = Watch(-3.0)
    restart_delays(watch.x, 0.1)
    found, jitter = [], np.minimum(rng.exponential(2e-3, 2600), 0.04)
    for k, late in enumerate(jitter):
        now = 100.0 + 1e-3 * k
        ages = watch.note(now, now + 3.0 - delay - late)
        if ages is not None:
            found.append((k, ages))
    ends = [0] + [k for k, _ in found]
    np.testing.assert_allclose(np.diff(ends), [100, 1000, 1000], atol=1)
    for begin, (end, ages) in zip(ends, found):
        part = delay + jitter[begin + 1:end + 1]
        np.testing.assert_allclose(ages, np.quantile(part, (0.5, 0.9)), atol=4e-4)


@pytest.mark.parametrize('age', [-5e-3, 0.11, 3600.0, -3600.0, None])
def test_what_cannot_be_an_age_is_none(age):
    """Stamps of another clock, or none, are not believed, not even some among others."""
    watch = Watch(0.0)
    for k in range(3000):
        now = 100.0 + 1e-3 * k
        stamp = 0.0 if age is None else now - age
        assert watch.note(now, stamp if k % 500 == 499 else now - 0.02) is None


def test_ages_before_a_gap_do_not_count():
    """What came before a time without states is forgotten."""
    watch = Watch(0.0)
    found = []
    for k in range(2000):
        now = 100.0 + 1e-3 * k + 50.0 * (k >= 900)
        found.append(watch.note(now, now - (0.02 if k < 900 else 0.001)))
    assert [k for k, ages in enumerate(found) if ages] == pytest.approx([1900], abs=1)
    assert max(found[k].high for k in range(2000) if found[k]) == pytest.approx(0.001)


@pytest.mark.parametrize('seed', range(3))
def test_a_busy_machine_is_not_late(seed):
    """Ages of 1 to 3 ms, with halts of 40 ms five times a second, are not told, nor acted upon."""
    rng = np.random.default_rng(seed)
    watch, halt = Watch(0.0), rng.uniform(0.0, 0.15)
    restart_delays(watch.x, 0.1)
    said, last = [], 0.0
    for k in range(5000):
        made = 1e-3 * k
        begin = halt + 0.2 * np.floor((made - halt) / 0.2)
        at = made + 1e-3 * rng.uniform(1.0, 3.0)
        last = max(at, last + 2e-5, begin + 0.04 if made < begin + 0.04 else 0.0)
        said.append(watch.note(100.0 + last, 100.0 + made))
    told = [ages for ages in said if ages]
    assert len(told) == 5
    assert max(ages.middle for ages in told) < UNSAID
    assert max(ages.high for ages in told) > UNSAID


@pytest.mark.parametrize(('given', 'age', 'used'), [
    (0.0, 0.02, 0.02), (0.0, 0.0045, 0.0045), (0.0, 0.0035, 0.0), (0.015, 0.0185, 0.015),
    (0.015, 0.04, 0.04)])
def test_a_constant_delay_is_told_and_damping_is_made_for_it(given, age, used):
    """From 4 ms above the delay that is given it counts, before the first torque, with numbers."""
    arm = Arm(delay=given)
    x, clocks = arm.controller.x, arm.controller.p.states.ages
    before = x.design.brake_damping.copy()
    clocks.clock_offset = AGE - AHEAD - age
    for _ in range(2):  # the second activation begins with what is given
        arm.activate()
        while not arm.sent:
            arm.run(arm.period)
        assert x.design.delay == pytest.approx(used)
        arm.run(1.2)
        assert arm.state == 'running'
        assert x.design.delay == pytest.approx(used)
        told = [text for text in arm.warnings if 'old when they arrive' in text]
        assert len(told) == (used > given)
        if told:
            assert told[0].startswith(f'joint states are {1e3 * age:.3g} to {1e3 * age:.3g} ms')
            assert f'not for delay {1e3 * given:.3g} ms. Set delay' in told[0]
            assert (x.design.brake_damping < before).all()
            arm.apply(stiffness=[90.0])
            assert x.design.delay == pytest.approx(used)
        arm.stop(Cause.DEACTIVATED)
        arm.run(0.2)  # it brakes with what was made for that delay
        np.testing.assert_array_equal(arm.controller.kernels['stop'].inputs['damping'],
                                      x.design.brake_damping)
        arm.silence(3.0)
        arm.controller.events.clear()
        arm.sent.clear()
    clocks.clock_offset = AGE - AHEAD
    arm.activate()
    assert x.design.delay == given


def test_gains_that_a_measured_delay_makes_unstable_are_named():
    """The warning of the delay is followed by what it does to the gains, which nobody refused."""
    arm = Arm(stiffness=[900.0], damping=[60.0])
    arm.controller.p.states.ages.clock_offset = AGE - AHEAD - 0.03
    arm.activate()
    arm.run(0.1)
    late = next(k for k, text in enumerate(arm.warnings) if 'ms old when they arrive' in text)
    assert arm.warnings[late + 1].startswith(
        'damping 60 1/s cannot be stable at nominal_rate 1000 Hz with a delay of 0.03 s and '
        'velocity_filter 0.01 s: give')
