# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Stories of the recording, as a controller inside ros2_control lives through them.

Interfaces of hardware have no stamps, and each update reads all of them: what a story tells of
single messages is what they hold then. The robots that torques move follow those of the fake
clock, whose calls the C interface of the library for the plugin is given afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
import math
from typing import Any

from hosts_rig import Call, FakeClock, Found, play, program
import numpy as np
import pytest
from rbd_ros.control.interface.events import Kind
from rbd_ros.control.interface.payload import payload_vector
from rbd_ros.control.parameters.assembly import build_settings
from rbd_ros.errors import SettingError
from recorded_events import Event, Reply, STATES
from recorded_robots import controlled_robot
from recorded_step import fixed_clock
from scenarios import Scenario
from test_hosts import differences, told

pytestmark = pytest.mark.slow

#: stories of robots whose C code is soon compiled: one driver, velocities, no simulated clock
SEEDS = (15, 36, 44, 58, 70, 105)
_TASK = {'pose': Kind.POSE, 'twist': Kind.TWIST, 'wrench': Kind.WRENCH}
_PLAIN = {'hold': Kind.HOLD, 'refused': Kind.REFUSED}


class Storyteller(FakeClock):
    """
    The controller of a story, and the calls that it has become.

    :param scenario: the story; it can be used once.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario, self._chosen = scenario, dict(scenario.values)
        self._robot = controlled_robot(scenario.robot)
        super().__init__(build_settings(self._robot, self._chosen, simulated=False))
        self.made = self.settings  # that the library is made for
        self.sets = [self.settings]
        structure = self.controller.p.structure
        self._names = [name for name, measured in zip(
            self._robot.model.independent_joint_names, structure.measured, strict=True)
            if measured]
        self._held = dict.fromkeys(self._names, (math.nan,) * 3)
        self._goals = self._stops = 0
        self.calls: list[Call] = []
        self.found: list[Any] = []

    def tell(self) -> Found:
        """Let the story happen."""
        self._do('init', self.made.given.values.mode, -1)
        self._do('time', 50.0, 50.0)
        self._do('prepare', 1)
        story = self._scenario.events()
        event = next(story)
        try:
            while True:
                begin = len(self.found)
                for name, *numbers in (('time', event.now, event.now), *self._calls(event),
                                       ('look',)):
                    self._do(name, *numbers)
                sent = [row for rows in self.found[begin:] for name, row in rows if name == 'send']
                event = story.send(Reply(STATES.index(self.controller.state),
                                         np.array(sent[-1]) if sent else None))
        except StopIteration:
            return Found(self.found)

    def _do(self, name: str, *numbers: float) -> None:
        self.calls.append((name, tuple(map(float, numbers))))
        self.found += self.play(self.calls[-1:]).rows

    def take_state(self, q: list[float], qd: list[float], effort: list[float]) -> None:
        """Take what the interfaces of the measured joints hold."""
        self.controller.take_state(self.now, self.steady, tuple(self._names), q, qd, effort,
                                   (0, 0))

    def _init(self, mode: float, goal_mode: float) -> None:
        """Stay with the parameters of the story."""

    def _values(self, at: float, *numbers: float) -> None:
        del numbers
        self.settings = self.controller.accepted = self.sets[int(at)]
        self.ask(lambda now, steady: self.controller.apply(self.settings, now, steady))

    # -- what an event is for a plugin --------------------------------------------------------

    def _calls(self, event: Event) -> Iterator[tuple[Any, ...]]:
        kind, data = event.kind, event.data
        if kind == 'state':
            yield from self._read(*data[:4])
        elif kind == 'tick':
            yield 'timer',
        elif kind == 'dead_man':
            yield 'press', data[0]
        elif kind == 'activate':
            yield 'activate',
        elif kind == 'stop':
            self._stops += 1
            yield 'stop', self._stops
        elif kind == 'reset':
            yield 'request', Kind.RESET, self._stops
        elif kind in _PLAIN:
            yield 'request', _PLAIN[kind], self._stops
        elif kind == 'payload':
            yield 'request', Kind.PAYLOAD, self._stops, *payload_vector(*data)
        elif kind == 'gravity':
            yield 'request', Kind.GRAVITY, self._stops, *data[0], event.now - data[1]
        elif kind == 'cancel':
            yield 'request', Kind.CANCEL, self._stops, data[0]
        elif kind == 'parameters':
            yield from self._change(data[0])
        elif kind in _TASK and self.controller.leads:
            numbers = (*data[1], *data[0]) if kind == 'pose' else data[0]
            yield 'request', _TASK[kind], self._stops, *numbers
        elif kind == 'points' and self.controller.tracks:
            yield self._rows(0, *data[:4], data[4], event.now, 0.0)
        elif kind == 'goal' and self.controller.tracks:
            yield self._rows(data[0], *data[1:5], None, event.now, data[5])

    def _read(self, names: tuple[str, ...], position: list[float], velocity: list[float],
              effort: list[float]) -> Iterator[tuple[Any, ...]]:
        """Read the interfaces after a message."""
        for k, name in enumerate(names):
            if name in self._held and k < len(position):
                self._held[name] = (position[k], *(
                    each[k] if k < len(each) else math.nan for each in (velocity, effort)))
        yield 'state', 0, *(each for name in self._names for each in self._held[name])

    def _change(self, changes: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        try:
            changed = build_settings(self._robot, {**self._chosen, **changes}, simulated=False)
        except SettingError:
            return
        self._chosen |= changes
        self.sets.append(changed.with_structure_of(self.settings))
        yield 'values', len(self.sets) - 1, *self.sets[-1].given.values.memory.tolist()

    def _rows(self, goal: float, times: list[float], q: Any, qd: Any, qdd: Any,
              delay: float | None, now: float, settle: float) -> tuple[Any, ...]:
        """Return a trajectory."""
        self._goals += 1
        given = [np.asarray(each) for each in (q, qd, qdd) if len(each)]
        rows = np.column_stack([times, *given])
        return ('points', self._goals % 3, goal, delay is None, len(given) - 1,
                now + (delay or 0.0), len(rows), settle, *rows.ravel().tolist())


@pytest.mark.sampled('recordings', 1)
@pytest.mark.parametrize('seed', SEEDS)
def test_the_plugin_does_what_the_fake_clock_does(seed: int) -> None:
    """All that a story tells: torques, words, answers, ends of goals, and what is seen."""
    with fixed_clock():
        teller = Storyteller(Scenario(seed))
        one = teller.tell()
        other = play(program('story', given=teller.made), teller.calls)
    assert not other.errors
    assert told(teller.calls, one) >= {'send', 'say', 'answer', 'seen'}
    found = differences(teller.calls, one, other)
    assert not found, f'{len(found)} differ\n' + '\n'.join(each[:600] for each in found[:3])
