# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Hosts of a session are compared: one script, the same torques, words, answers and goals.

What the plugin's C interface and its handover do with anything at all is looked at by sanitizers.
"""

from __future__ import annotations

from collections.abc import Iterator

import shutil
import subprocess

from hosts_rig import (
    Call, FakeClock, Found, HERE, MODES, NodeLoop, play, program, TARGETS)
import numpy as np
from once import once
import pytest
from rbd_env.pace import patient
from rbd_ros.command_line.ros2_control.package import PLUGIN, plugin_package
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Kind
from rbd_ros.control.interface.words import ReferenceWord, SupervisorWord
from rbd_ros.control.step.admission import admit_goal, Gate
from rbd_ros.control.supervisor.states import StateCode

pytestmark = pytest.mark.slow

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
    follows = MODES.index('computed_torque')
    yield 'init', (follows, -1)
    yield 'time', (now, now)
    yield 'prepare', (1,)
    yield 'look', ()
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
        elif event < 0.3:
            sent = now - rng.exponential(0.4)
            yield 'lease', (rng.integers(3), 1 + (rng.random() < 0.02), int(sent),
                            int(1e6 * (sent % 1.0)), now + rng.exponential(1.0), 1, 0.0,
                            rng.random() < 0.02)
        elif event < 0.31:
            yield 'mode', (rng.integers(len(MODES)) if rng.random() < 0.5 else follows,
                           rng.choice([-1, follows]))
        elif event < 0.33:
            yield 'crowd', (rng.integers(3), rng.integers(4))
        elif event < 0.3315:
            yield 'look', ()
            yield 'deactivate', ()
            yield 'look', ()
            yield 'prepare', (rng.integers(2),)
            yield 'activate', ()
        yield 'look', ()
    yield 'deactivate', ()


def differences(calls: list[Call], one: Found, other: Found) -> list[str]:
    """Return what two hosts made different."""
    found = []
    for k, (call, a, b) in enumerate(zip(calls, one.rows, other.rows, strict=True)):
        if call[0] == 'request' and call[1][0] in TARGETS:
            a, b = ([row for row in rows if row[0] not in ('answer', 'because')]
                    for rows in (a, b))
        # the warning of a rejected reference and an event of the same call have no order
        a, b = (sorted(rows, key=lambda row: row[0] == 'rejected') for rows in (a, b))
        if [name for name, _ in a] != [name for name, _ in b] or not all(
                _same(x, y) for (_, x), (_, y) in zip(a, b)):
            found.append(f'call {k}: {call}\n  {a}\n  {b}')
    return found


def _same(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return len(a) == len(b) and np.allclose(a, b, rtol=NUMBER, atol=TORQUE, equal_nan=True)


def told(calls: list[Call], found: Found) -> set[str]:
    """Return which kinds of rows there were: a script in which nothing happens shows nothing."""
    return {name for rows in found.rows for name, _ in rows}


def let_in(found: Found) -> set[tuple[float, bool]]:
    """Return what was said of goals: why none is taken, and whether one is in another mode."""
    return {(row[6], row[8] > 0.0) for rows in found.rows for name, row in rows if name == 'seen'}


def crowds(calls: list[Call]) -> list[float]:
    """Return what has to follow from each count of publishers."""
    before, found = dict.fromkeys(range(3), 1), []
    for name, numbers in calls:
        if name == 'crowd':
            topic, count = map(int, numbers)
            found.append(0.0 if count < 2 else 1.0 if before[topic] > 1 else 2.0)
            before[topic] = count
    return found


def leaves(calls: list[Call], found: Found) -> int:
    """Return how often a driven robot was left; whoever leaves one is accused, and told of it."""
    seen, count, left = [(0.0,)], 0, 0.0
    for call, rows in zip(calls, found.rows, strict=True):
        looked = [row for name, row in rows if name == 'seen']
        if call[0] == 'deactivate':
            driven = seen[-1][0] in (StateCode.RAMPING_IN, StateCode.RUNNING)
            assert driven == any(row[0] == SupervisorWord.NOT_BRAKED for _, row in rows if row)
            count, left = count + driven, seen[-1][0]
        if looked:
            seen.append(looked[0])
        if call[0] == 'prepare' and len(seen) > 1:
            accused = int(seen[-1][4]) >> Cause.DEACTIVATED & 1
            assert accused or left in (StateCode.INACTIVE, StateCode.PROBING)  # nothing was sent
    return count


class Doorkeeper(FakeClock):
    """Ask whether a goal is taken before each one, and note what becomes of it."""

    def __init__(self) -> None:
        """Begin with no goal."""
        super().__init__()
        self.judged: list[tuple[bool, bool]] = []
        self.others = self.looks = 0  # goals in other modes; looks

    def _look(self) -> None:
        """Send a goal of its own now and then, to where the reference is."""
        super()._look()
        self.looks += 1
        if self.looks % 25 == 0:
            here = self.controller.x.references.joint.profile.state[0].tolist()
            self._points(0, 1000 + self.looks, 1, 0, self.now, 1, 0.5, 0.3, *here)

    def _points(self, place: float, goal: float, *numbers: float) -> None:
        self.ask(lambda now, steady: None)  # time has passed since the last event
        controller, gate = self.controller, Gate({})
        admit_goal(gate, controller.x, controller.p)
        super()._points(place, goal, *numbers)
        if goal and ('rejected', ()) not in self.rows:
            other = controller.y.answer == ReferenceWord.OTHER_MODE
            self.others += controller.session.due and other
            self.judged.append((not gate.word and not gate.switches,
                                bool(controller.session.due and not other)))


@pytest.mark.parametrize('seed', range(2))
def test_a_goal_is_let_in_where_it_is_followed(seed: int) -> None:
    """What is said of a goal beforehand is what the step does with it."""
    host = Doorkeeper()
    host.play(script(seed))
    assert {said for said, _ in host.judged} == {False, True} and host.others
    assert all(said == done for said, done in host.judged)


@pytest.mark.sampled('simulations', 1)
@pytest.mark.parametrize('seed', range(12))
def test_hosts_do_the_same(seed: int) -> None:
    """The fake clock, the loop of the node and the C interface of the plugin."""
    calls = script(seed)
    one = FakeClock().play(calls)
    assert told(calls, one) >= {'send', 'say', 'answer', 'because', 'seen', 'progress', 'end',
                                'rejected', 'silent', 'crowded'}
    assert len(let_in(one)) >= 4
    assert [row[0] for rows in one.rows for name, row in rows if name == 'crowded'] == crowds(
        calls)
    leaves(calls, one)
    plugin = play(program('plain'), calls)
    assert not plugin.errors
    for name, other in ('loop', NodeLoop().play(calls)), ('plugin', plugin):
        found = differences(calls, one, other)
        assert not found, f'{name}: {len(found)} differ\n' + '\n'.join(found[:3])


# -- sanitizers -----------------------------------------------------------------------------------

#: what a number may be that somebody else has written
HOSTILE = (np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1.0, 2.0, 0.3, 5e-324, 1e300, -1e300, 1e9,
           7.0)
NAMES = ('prepare', 'activate', 'deactivate', 'time', 'stop', 'press', 'request', 'points',
         'stream', 'mode', 'follow', 'leave', 'state', 'carry', 'timer', 'note', 'look', 'lease',
         'crowd')


def hostile(seed: int, count: int = 3000) -> list[Call]:
    """Return calls in any order with any numbers, among them some that make the robot work."""
    rng = np.random.default_rng(seed)
    usual, calls = script(seed, 300), [('init', (1, -1))]
    for call in usual[1:]:
        calls.append(call)
        while rng.random() < 0.7 and len(calls) < count:
            name = str(rng.choice(NAMES))
            numbers = rng.choice(HOSTILE, rng.integers(0, 60))
            if name in ('points', 'stream') and len(numbers):
                numbers[0] = rng.integers(4)  # places are handed out by the host
            calls.append((name, tuple(numbers.tolist())))
    return calls


@pytest.mark.sampled('simulations', 1)
@pytest.mark.parametrize('seed', range(8))
def test_no_call_of_the_interface_does_harm(seed: int) -> None:
    """NaN, lengths of 0 and too large ones, codes that are none, and calls in any order."""
    made = program('sanitized', (
        '-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all'))
    calls = hostile(seed)
    found = play(made, calls)
    assert not found.errors, found.errors[-3000:]
    assert len(found.rows) == len(calls)
    sent = np.reshape([row for rows in found.rows for name, row in rows if name == 'send'],
                      (-1, 2))
    assert np.isfinite(sent).all() and (np.abs(sent) <= (60.0, 30.0)).all()


@pytest.mark.skipif(shutil.which('g++') is None, reason='this machine has no C++ compiler (g++)')
def test_two_threads_hand_over() -> None:
    """Rings, mailboxes and places of the plugin, used by two threads under ThreadSanitizer."""
    header = plugin_package()[f'include/{PLUGIN}/handover.hpp']
    source = (HERE / 'handover_threads.cpp').read_text()

    def make(folder):
        (folder / PLUGIN).mkdir()
        (folder / PLUGIN / 'handover.hpp').write_text(header)
        (folder / 'threads.cpp').write_text(source)
        subprocess.run(['g++', '-std=c++17', '-O1', '-g', '-Wall', '-Wextra', '-Wconversion',
                        '-Werror', '-fsanitize=thread', '-I.', 'threads.cpp', '-o', 'threads',
                        '-pthread'], cwd=folder, check=True, timeout=patient(120))
    # its shadow memory does not go with every layout of addresses
    made = once('threads', [header, source], make) / 'threads'
    done = subprocess.run(['setarch', '-R', str(made)], capture_output=True, text=True,
                          check=False, timeout=patient(120))
    assert (done.returncode, done.stdout.strip()) == (0, '0'), done.stderr[-3000:]
