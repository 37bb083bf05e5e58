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

"""Hosts of a session are compared: one script, the same torques, words, answers and goals."""

from __future__ import annotations

from collections.abc import Iterator

from hosts_rig import Call, FakeClock, Found, play, program
import numpy as np
import pytest
from rbd_ros.control.interface.events import Kind

#: s between two states; whole nanoseconds, and exact in binary
PERIOD = 2.0**-9

#: of a torque and of other numbers
TORQUE, NUMBER = 1e-9, 1e-9


def script(seed: int, states: int = 1500) -> list[Call]:
    """Return random calls around states of a motion."""
    rng = np.random.default_rng(seed)
    return list(_calls(rng, states))


def _calls(rng: np.random.Generator, states: int) -> Iterator[Call]:
    now, q, stops, goal = 1000.0, rng.uniform(-0.5, 0.5, 2), 0, 0
    yield 'init', (1,)
    yield 'time', (now, now)
    yield 'prepare', (1,)
    yield 'activate', ()
    moving, place = 0.0, 0
    for k in range(states):
        now += PERIOD
        if rng.random() < 0.003:  # states are late
            now += PERIOD * rng.integers(1, 60)
        yield 'time', (now, now)
        if rng.random() < 0.01:
            moving = rng.choice([0.0, 0.0, 0.2, 0.5, 8.0], p=[0.4, 0.3, 0.2, 0.09, 0.01])
        qd = moving * np.sin(3.0 * now + np.array([0.0, 1.0]))
        q = q + PERIOD * qd
        shown = q.copy()
        if rng.random() < 0.002:
            shown[rng.integers(2)] = rng.choice([np.nan, np.inf, 50.0, 1e300])
        if k == 0 or rng.random() > 0.004:
            numbers = [each for j in range(2) for each in (
                shown[j], qd[j], rng.normal())]
            yield 'state', (float(k == 0), *numbers)
        yield 'timer', ()
        event = rng.random()
        if event < 0.004:
            stops += 1
            yield 'stop', (stops,)
        elif event < 0.03:
            yield 'request', (Kind.RESET, stops)
        elif event < 0.035:
            yield 'request', (Kind.RESET, stops - 1)
        elif event < 0.05:
            yield 'request', (Kind.PAUSE, stops, rng.integers(2))
        elif event < 0.055:
            yield 'request', (rng.choice([Kind.HOLD, Kind.TARE]), stops)
        elif event < 0.06:
            yield 'request', (Kind.CANCEL, stops, goal)
        elif event < 0.065:
            yield 'request', (Kind.TWIST, stops, *rng.choice([0.01, np.nan], p=[0.8, 0.2], size=6))
        elif event < 0.08:
            numbers = rng.choice([0.0, 0.1, np.nan, 9.0], p=[0.4, 0.4, 0.1, 0.1], size=2)
            yield 'stream', (3, rng.integers(2), *numbers)
        elif event < 0.11:
            place, goal = (place + 1) % 3, goal + 1
            count, rates = int(rng.integers(1, 5)), int(rng.integers(3))
            times = np.cumsum(rng.uniform(0.05, 0.4, count))
            rows = [[times[i], *rng.uniform(-1.0, 1.0, 2), *[0.0] * 2 * rates]
                    for i in range(count)]
            if rng.random() < 0.1:
                rows[-1][1] = rng.choice([np.nan, 5.0])
            yield 'points', (place, goal if rng.random() < 0.7 else 0, 1, rates, now, count,
                             0.5, *[each for row in rows for each in row])
        elif event < 0.111:
            yield 'press', (0,)
        yield 'look', ()
    yield 'deactivate', ()


def differences(calls: list[Call], one: Found, other: Found) -> list[str]:
    """Return what two hosts made different."""
    found = []
    for k, (call, a, b) in enumerate(zip(calls, one.rows, other.rows, strict=True)):
        if call[0] == 'request' and call[1][0] == Kind.TWIST:
            a, b = ([row for row in rows if row[0] not in ('answer', 'because')]
                    for rows in (a, b))
        if [name for name, _ in a] != [name for name, _ in b] or not all(
                _same(x, y) for (_, x), (_, y) in zip(a, b)):
            found.append(f'call {k}: {call}\n  {a}\n  {b}')
    return found


def _same(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return len(a) == len(b) and np.allclose(a, b, rtol=NUMBER, atol=TORQUE, equal_nan=True)


@pytest.mark.parametrize('seed', range(3))
def test_fake_clock_and_plugin(seed: int) -> None:
    """The controller of tests and the C interface of the plugin do the same."""
    calls = script(seed)
    found = differences(calls, FakeClock().play(calls), play(program('plain'), calls))
    assert not found, f'{len(found)} differ\n' + '\n'.join(found[:3])
