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

"""Limits, fading and the cycle of the torque do what the classes do, bit by bit."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from functools import cache
import math
import random

import numpy as np
import pytest
from rbd_ros import compiler
from rbd_ros.compiler.procedure import bind
from rbd_ros.control.former.control_loop import ControlLoop, Need, Release, Torques
from rbd_ros.control.former.laws.bumpless import BumplessSwitch
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import make_robot
from rbd_ros.control.former.safety import limits as safety_limits
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.former.safety.limits import torque_step, TorqueLimiter
from rbd_ros.control.supervisor.states import Due, State, Timing
from rbd_ros.control.former.safety.supervisor import Supervisor
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.torque import fade
from rbd_ros.control.torque import limiter
from rbd_ros.control.supervisor.answers import fill_timing
from rbd_ros.control.supervisor.due import due_now
from rbd_ros.control.interface.events import NEVER, Result
from rbd_ros.control.supervisor.latch import latched
from rbd_ros.control.monitors.monitor_parameters import fill_monitors, MonitorParameters
from rbd_ros.control.supervisor.supervisor import Diagnosis
from rbd_ros.control.torque.torque_records import Command, CommandLimits, Computed, fill_command
from rbd_ros.control.supervisor.transition_rows import StateCode
from rigs import step_cycle as flow
from rigs.cycle_rig import MODEL

N = 3
SIZES = {'n': N}
LIMIT, RATE, PERIOD = [10.0, 3.0, 40.0], [100.0, 60.0, 200.0], 0.004


@pytest.fixture(autouse=True, scope='module')
def unfused():
    """Have the class compute without fused products, whose last bit is of the processor."""
    @cache
    def kernel(n: int) -> compiler.Kernel:
        shapes = dict.fromkeys(('torque', 'driver', 'last', 'last_sent', 'limit', 'rate'), (n,))
        return compiler.compile(compiler.trace(torque_step, shapes | {'dt': ()}, name='limits'),
                                backend='python', call=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(safety_limits, 'limit_kernel', kernel)
        yield


def limits() -> limiter.LimiterParameters:
    """Return the limits of three joints."""
    p = limiter.LimiterParameters(SIZES)
    p.period, p.limit[:], p.rate[:] = PERIOD, LIMIT, RATE
    return p


def vector(rng: random.Random, size: float) -> np.ndarray:
    """Return numbers up to a size, some of them zero, at a limit, or the same."""
    return np.array([rng.choice([0.0, most, -most, most * (1.0 - 5e-10),
                                 *[most * rng.uniform(-size, size)] * 4])
                     for most in LIMIT])


def test_limits_by_random_torques():
    """Every result of the limiter, applied or released, is that of the class."""
    rng, acting = random.Random(1), Counter()
    x, p = limiter.Limiter(SIZES).plain(), limits().plain()
    for k in range(1500):
        if k % 50 == 0:
            old = TorqueLimiter(LIMIT, RATE, PERIOD)
            old.driver[:] = driver = vector(rng, 0.5) if rng.random() < 0.7 else np.zeros(N)
            x.driver[:] = memoryview(driver)
            first = vector(rng, 2.0)
            old.reset(first)
            limiter.reset_limiter(x, p, memoryview(first))
        if rng.random() < 0.05:
            old.driver[:] = driver = vector(rng, 2.0)
            x.driver[:] = memoryview(driver)
        torque, dt = vector(rng, 1.5), rng.choice([0.0, -1.0, math.nan, 0.001, 0.004, 0.1])
        if rng.random() < 0.3:
            torque = np.array(old.last) * (1.0 + 1e-10)  # within rounding
        if rng.random() < 0.5:
            old.apply(torque, dt)
            limiter.apply_limits(x, p, memoryview(torque), dt)
        else:
            old.release(torque, dt)
            limiter.release_limits(x, p, memoryview(torque), dt)
        for name in ('sent', 'saturated', 'slewing', 'last', 'last_sent'):
            np.testing.assert_array_equal(getattr(old, name), getattr(x, name), name)
        np.testing.assert_array_equal(old._output, x.total)
        acting.update(saturated=bool(old.saturated.any()), slewing=limiter.is_slewing(x))
        if rng.random() < 0.9:
            old.commit()
            limiter.commit(x)
    assert min(acting.values()) > 100, acting


def test_fading_by_random_switches():
    """Every offset is that of the class; a duration that becomes zero ends it."""
    rng, fading = random.Random(2), 0
    p = limits().plain()
    for _ in range(30):
        duration = rng.choice([0.0, 0.1, 0.5])
        old, x = BumplessSwitch(LIMIT, duration), fade.Fade(SIZES).plain()
        now = 10.0
        for _ in range(60):
            now += rng.choice([0.0, 0.002, 0.02, 0.2]) * rng.random()
            what, torque = rng.random(), vector(rng, 2.0)
            qd = np.array([rng.choice([0.0, rng.uniform(-0.2, 0.2)]) for _ in range(N)])
            if what < 0.1:
                old.switch()
                fade.arm_fade(x, duration)
            elif what < 0.15:
                old.cancel()
                fade.cancel_fade(x)
            elif what < 0.25:
                old.note(torque)
                fade.note_torque(x, memoryview(torque))
            else:
                mine = torque.copy()
                old.apply(now, torque, qd)
                fade.add_offset(x, p.limit, duration, now, memoryview(mine), memoryview(qd))
                np.testing.assert_array_equal(torque, mine)
                fading += fade.is_fading(x)
            assert old.active is fade.is_fading(x)
            assert (old._start is not None, old._valid) == (x.fading > 0.0, x.valid > 0.0)
            if old._start is not None:
                np.testing.assert_array_equal(old._offset, x.offset)
                assert (old._start, old._share) == (x.start, x.share)
            np.testing.assert_array_equal(old._last, x.last)
    assert fading > 200
    x.fading = 1.0
    fade.add_offset(x, p.limit, 0.0, now, memoryview(torque), memoryview(qd))
    assert x.fading == 0.0


class Old:
    """The classes under the events of the flow."""

    def __init__(self, timing: Timing, release: Release, switch_time: float,
                 u: flow.Given) -> None:
        """Wire the classes with laws that are numbers."""
        self.u, self.entered = u, []
        self.supervisor = Supervisor(timing)
        self.torques = Torques(N)
        self.sent: np.ndarray | None = None
        self.loop = ControlLoop(
            self.supervisor, TorqueLimiter(LIMIT, RATE, PERIOD), self.torques, self.compute,
            self.publish, release=release, switch_time=switch_time)
        self.loop.load = u.load
        self.loop.on_enter = self.entered.append

    def publish(self, torque: np.ndarray) -> None:
        """Keep what is sent."""
        self.sent = torque.copy()

    def compute(self, need: Need) -> None:
        """Give the numbers for what is needed."""
        u, k = self.u, list(Need).index(need)
        if u.failing[k]:
            raise ValueError('a law that fails')
        (self.torques.brake if need is Need.STOP else self.torques.law)[:] = u.law[k]
        self.torques.gravity[:], self.torques.driver[:] = u.gravity[k], u.driver[k]
        if u.reports >= 0.0 and not self.supervisor.finished:
            self.supervisor.fault(u.steady, tuple(Cause)[int(u.reports)], '')

    def event(self) -> bool:
        """Take one event; return whether a torque was published."""
        u, self.sent = self.u, None
        self.entered.clear()
        if u.kind == flow.STATE:
            return self.loop.fresh_state(u.now, u.steady, u.expiry, u.ready > 0.0, u.qd)
        if u.kind == flow.TIMER:
            return self.loop.tick(u.now, u.steady)
        if u.kind == flow.SWITCH:
            self.loop.switch.switch()
        elif u.kind == flow.BEGIN_AT:
            self.loop.begin_at(u.first if u.known else None)
        elif u.kind == flow.STOP:
            self.supervisor.fault(u.steady, tuple(Cause)[int(u.cause)], '')
        elif u.kind == flow.ACTIVATE:
            with suppress(RuntimeError):  # while something is sent
                self.supervisor.activate(u.now, u.steady)
        elif u.kind == flow.RESET:
            self.supervisor.reset(u.now, u.steady)
        return False


class New:
    """The procedures under the same events."""

    def __init__(self, timing: Timing, release: Release, switch_time: float, backend: str) -> None:
        """Bind the flow."""
        self.x, self.p = Command(SIZES), CommandLimits(SIZES)
        self.c, self.y, self.u = Computed(SIZES), Result(SIZES), flow.Given(SIZES)
        fill_timing(self.p.supervisor, timing)
        torque = self.p.torque
        torque.switch_time, torque.keeps_gravity = switch_time, release is Release.GRAVITY
        torque.limits.period = PERIOD
        torque.limits.limit[:], torque.limits.rate[:] = LIMIT, RATE
        self.run = bind(flow.run_event, self.x, self.p, self.c, Diagnosis(SIZES), self.u, self.y,
                        backend=backend)


def random_event(rng: random.Random, u: flow.Given, now: float, steady: float,
                 state: State) -> None:
    """Fill in one event and what laws will give: mostly good, at times not."""
    idle = state in (State.INACTIVE, State.FAULT, State.RELEASED)
    u.kind = rng.choices(range(7), [60, 20, 2, 3, 1.5, 15 if idle else 1,
                                    15 if state is State.HOLDING else 1])[0]
    u.now, u.steady = now, steady
    u.load[:] = vector(rng, 0.2)
    u.expiry = now + rng.choice([*[0.1] * 30, -0.01])
    u.ready, u.known = rng.random() < 0.9, rng.random() < 0.7
    u.cause = rng.choice([*range(len(Cause)), 0, 0, 12, 12, 12, 15])
    u.first[:], u.qd[:] = vector(rng, 1.2), [rng.uniform(-1.0, 1.0) for _ in range(N)]
    for k in range(3):
        u.law[k], u.gravity[k] = vector(rng, 1.5), vector(rng, 0.8)
        u.driver[k] = vector(rng, 0.5) if rng.random() < 0.5 else 0.0
    u.failing[:] = [float(rng.random() < 0.02) for _ in range(3)]
    u.reports = rng.randrange(len(Cause)) if rng.random() < 0.01 else -1.0
    bad = rng.choice([math.nan, math.inf, 1e308])
    for each in (u.law, u.gravity, u.driver):
        if rng.random() < 0.02:
            each[rng.randrange(3), rng.randrange(N)] = bad
    if rng.random() < 0.02:
        u.law[:] = bad
        u.qd[0] = rng.choice([math.nan, 1.0])


def test_random_cycles_send_the_same():
    """What is sent, wanted, remembered and announced is that of the classes after each event."""
    seen: Counter[str] = Counter()
    for seed in range(25):
        rng = random.Random(seed)
        timing = Timing(ramp_time=rng.choice([0.0, 0.1]), brake_time=rng.choice([0.0, 0.05]),
                        hold_time=rng.choice([0.0, 0.05]), release_time=rng.choice([0.0, 0.1]),
                        recover=rng.random() < 0.5, fault_action=rng.choice(['hold', 'release']),
                        stop_action=rng.choice(['hold', 'release']), stop_time=0.2,
                        simulated=rng.random() < 0.5)
        choice = (rng.choice(list(Release)), rng.choice([0.0, 0.05, 0.5]))
        python, native = (New(timing, *choice, backend) for backend in ('python', 'llvm'))
        old = Old(timing, *choice, python.u)
        now = steady = 100.0
        for k in range(150):
            dt = rng.choice([0.002, 0.004, 0.004, 0.01, 0.15 * rng.random()])
            steady += dt
            now = now + 0.7 * dt if timing.simulated else steady
            random_event(rng, python.u, now, steady, old.supervisor.state)
            native.u.memory[:] = python.u.memory
            with np.errstate(invalid='ignore', over='ignore'):
                sent = old.event()
            for new in (python, native):
                new.run()
                compare(old, new, sent, (seed, k))
            seen.update([str(old.supervisor.due), f'kind {python.u.kind:g}'] + [
                f.detail for f in old.supervisor.faults[-1:]])
    expected = {*map(str, Due), *[f'kind {k}' for k in range(7)], 'not finite',
                'the velocity is not finite', 'the torque of the control law is not finite',
                'ValueError: a law that fails',
                'the control law failed with ValueError: a law that fails'}
    assert expected <= set(seen), expected - set(seen)


def compare(old: Old, new: New, sent: bool, where: tuple[int, int]) -> None:
    """Compare all that lasts."""
    x, loop = new.x.torque, old.loop
    assert sent is (new.y.send > 0.0), where
    if sent:
        assert np.array_equal(old.sent, new.y.torque), where
    a, b = old.supervisor, new.x.supervisor
    assert list(State).index(a.state) == b.state and a.due.value == due_now(b), where
    assert (a.gain, a.blend, a._since) == (b.gain, b.blend, b.since) or a._since == -math.inf, (
        where)
    assert max(a._gravity_until, NEVER) == b.gravity_until, where
    assert [(f.cause, f.time) for f in a.faults] == [(f.cause, f.time) for f in latched(b.faults)]
    assert [list(State).index(each) for each in old.entered] == list(
        new.u.states[:int(new.u.entered)]), where
    if np.isfinite(loop.wanted).all():
        assert np.array_equal(loop.wanted, x.wanted), where
    for name in ('last', 'last_sent', 'sent', 'driver'):
        assert np.array_equal(getattr(loop.limiter, name), getattr(x.limiter, name)), (name, where)
    assert np.array_equal(loop._gravity, x.gravity), where
    assert loop.published == x.published and (loop._times is not None) is (x.sending > 0.0)
    assert (loop.switch.active, loop.switch._valid) == (fade.is_fading(x.fade), x.fade.valid > 0.0)
    if loop._times is not None:
        assert loop._times == (x.now, x.steady)
    if loop._start_blend is not None:
        assert (loop._start_blend, x.ramping) == (x.start_blend, 1.0)


def test_parameters_are_those_of_the_classes():
    """Supervisor, limits and monitors are filled with what the classes are made of."""
    robot = make_robot(MODEL)
    settings = Settings(robot, defaults() | {'release_torque': 'gravity', 'nominal_rate': 700.0},
                        simulated=False)
    n = len(robot.joints)
    p, m = CommandLimits({'n': n}), MonitorParameters({'n': n})
    fill_command(p, settings)
    fill_monitors(m, settings)
    old = TorqueLimiter(settings.torque_limits.tolist(), settings.torque_rates.tolist(),
                        1.0 / settings.number('nominal_rate'))
    assert np.array_equal(p.torque.limits.limit, old.limit)
    assert np.array_equal(p.torque.limits.rate, old.rate)
    assert p.torque.limits.period == old.period and p.torque.keeps_gravity == 1.0
    assert p.torque.switch_time == settings.number('switch_time') > 0.0
    assert p.supervisor.longest_ramp == settings.timing().longest_ramp
    assert np.isfinite(p.memory).all() and np.isfinite(m.memory).all()
    assert np.array_equal(m.velocity, settings.velocity_limits)
    assert np.array_equal(m.middle, settings.position_range[0])


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf, 1e308, -1e308])
def test_whatever_comes_the_torque_is_finite(bad):
    """Numbers that are none leave a finite state and a torque within finite limits."""
    rng = random.Random(4)
    for k in range(30):
        new = New(Timing(ramp_time=0.05, brake_time=0.02, hold_time=0.02, release_time=0.05),
                  rng.choice(list(Release)), 0.05, 'llvm')
        now, poisoned = 100.0, False
        for _ in range(60):
            now += 0.004
            random_event(rng, new.u, now, now, tuple(State)[int(new.x.supervisor.state)])
            if rng.random() < 0.1:
                new.u.memory[rng.randrange(1, 5)] = bad
            if rng.random() < 0.1:
                new.u.memory[rng.randrange(12, 12 + 12 * N)] = bad
            if k % 2 and rng.random() < 0.1:
                new.p.memory[rng.randrange(new.p.memory.size)] = bad
                poisoned = True
            new.run()
            assert np.isfinite(new.x.memory).all(), k
            assert new.x.supervisor.state in tuple(StateCode)
            if new.y.send:
                assert np.isfinite(new.y.torque).all()
                assert poisoned or (np.abs(new.y.torque) <= LIMIT).all()
