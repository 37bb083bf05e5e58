# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The controller's step on a device does what its machine code does in whole recorded stories.

Each thread has a story of its own: another start of the same kind of robot, with other parameters.
The device is the emulation, which runs the text of a GPU's kernel thread by thread.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from rbd_ros.compiler.records import Record
from rbd_ros.control.step.step import step
from record_command import make
from recorded_robots import KINDS, law_graphs
from recorded_step import fixed_clock, StepController
from recorder import record
from sampling import some
from scenarios import Scenario

pytest.importorskip('llvmlite', reason='llvmlite is not installed')
from rbd_ros.compiler.gpu.emulation import EmulatedDevice  # noqa: I100
from rbd_ros.compiler.gpu.procedures.device_procedure import Bindings, DeviceProcedure

pytestmark = pytest.mark.slow

Array = npt.NDArray[np.float64]

#: stories of a robot whose kernels are soon compiled
FIRST = 5
SEEDS = range(FIRST, FIRST + 5 * len(KINDS), len(KINDS))
#: of torques, as a share of their limits
SHARE = 1e-12


class Event(NamedTuple):
    """What a step was given, and what it gave."""

    given: dict[str, Array]     # u, and p and ring where they have changed
    result: Array
    state: float


class Told:
    """
    A story as a list of what the step was given and what it gave.

    :param seed: of the story.
    """

    def __init__(self, seed: int) -> None:
        scenario = Scenario(seed)
        self.made: StepController = make(scenario)
        self.controller = self.made.controller
        self.start = {name: self._record(name).memory.copy() for name in ('x', 'u', 'p', 'ring')}
        self._last = {name: memory.copy() for name, memory in self.start.items()}
        self.events: list[Event] = []
        self._run, self.controller.run = self.controller.run, self.run
        record(scenario, self.made)
        self.end = self.controller.x.memory.copy()

    def _record(self, name: str) -> Record:
        found: Record = getattr(self.controller, name)
        return found

    def run(self) -> None:
        """Do a step, and note it."""
        u, y = self.controller.u, self.controller.y
        kind = int(u.kind)
        self._run()
        if kind != int(u.kind):
            return      # a message that is no joint state, which no step has seen
        given = {'u': u.memory.copy()}
        for name in ('p', 'ring'):
            memory = self._record(name).memory
            if (memory != self._last[name]).any():
                given[name] = self._last[name] = memory.copy()
        self.events.append(Event(given, y.memory.copy(),
                                 float(self.controller.x.command.supervisor.state)))


def test_whole_stories_one_for_each_thread() -> None:
    """The same states, answers and words, and torques but for rounding, after each event."""
    with fixed_clock():
        stories = [Told(seed) for seed in some('recordings', SEEDS, 2)]
    like = stories[0].controller
    robot = Scenario(FIRST).robot
    graphs = law_graphs(robot, {name: each for name, each in like.kernels.items()
                                if name != 'report'})
    bindings = Bindings(like.given, {}, list(graphs.items()))
    batch = DeviceProcedure(EmulatedDevice(), step, bindings).batch(len(stories))
    records = {'x': like.x, 'u': like.u, 'p': like.p, 'ring': like.ring}
    present = {name: np.array([story.start[name] for story in stories]) for name in records}
    for name, memory in present.items():
        batch.write(records[name].memory, memory)
    supervisor = like.x.command.supervisor
    at = supervisor.single_place('state')
    n, worst, sent = len(like.y.torque), 0.0, 0
    limits = np.array([story.made.limits for story in stories])
    for k in range(max(len(story.events) for story in stories)):
        going = [i for i, story in enumerate(stories) if k < len(story.events)]
        for name in ('u', 'p', 'ring'):
            told = [i for i in going if name in stories[i].events[k].given]
            for i in told:
                present[name][i] = stories[i].events[k].given[name]
            if told:
                batch.write(records[name].memory, present[name])
        batch.run()
        found = batch.read(like.y.memory)
        states = batch.read(supervisor.memory[at:at + 1])[:, 0]
        for i in going:
            want = stories[i].events[k]
            assert states[i] == want.state, (i, k)
            np.testing.assert_array_equal(found[i, :5], want.result[:5], err_msg=f'{i} {k}')
            if want.result[0]:
                sent += 1
                off = np.abs(found[i, 5:5 + n] - want.result[5:5 + n]) / limits[i]
                worst = max(worst, float(off.max()))
                assert worst <= SHARE, (i, k, worst)
    end = batch.read(like.x.memory)
    for i, story in enumerate(stories):
        if len(story.events) == max(len(each.events) for each in stories):
            np.testing.assert_allclose(end[i], story.end, rtol=1e-9, atol=1e-9)
    assert sent > 600 * len(stories) and len({e.state for s in stories for e in s.events}) > 6
