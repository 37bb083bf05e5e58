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

"""
The fast path from a joint state to its torque: one built-in function for what cycles repeat.

It serves cycles in which nothing is unusual: the law runs, nothing ramps or fades, no bound is
exceeded, and the message has the form of the one before. Everything else takes the slow path,
which handles every case; both give the same torque. The order of the checks is in
``message_checks``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from rbd_ros.control.cycle import Cycle
from rbd_ros.control.joint_states.layout import Arrival, Layout
from rbd_ros.control.modes import Law
from rbd_ros.control.safety.freshness import StateAge
from rbd_ros.control.safety.supervisor import State
from rbd_ros.nodes.codec import ReadState, STAMP
from rbd_ros.nodes.controller.outputs import Output
from rbd_ros.nodes.relay import can_relay, make_copier, make_relay, Relay

__all__ = ['FastPath']

Array = npt.NDArray[np.float64]

_STATE = Arrival.STATE  # looking it up takes time in each cycle


class FastPath:
    """Run the usual cycles of one robot."""

    def __init__(self, cycle: Cycle, output: Output) -> None:
        """
        Start without any message to expect.

        :param cycle: of the robot.
        :param output: its commands.
        """
        self.runs = 0  # messages taken
        self._available = can_relay() and output.form is not None  # compiles now, not in the loop
        self._cycle, self._choice, self._output = cycle, cycle.choice, output
        self._joints, self._loop = cycle.joints, cycle.loop
        self._supervisor, self._checks = cycle.supervisor, cycle.message_checks
        self._effort = cycle.joints.effort.copy()
        self._law: Law | None = None
        self._learned_kind: tuple[object, ...] = ()  # what was learned last
        self._slow_kind: tuple[object, ...] = ()  # what took the slow path last
        self._relay: Relay
        self._layout: Layout
        self._age: StateAge  # of that layout
        self._dt: memoryview[float]
        self._elapsed: memoryview[float]  # s since the state before, by stamps
        self._accepted_seen = -1  # states that the slow path had taken when the kernel was updated
        self._keep_state: Callable[[], None]
        self._keep_results: Callable[[], None]
        self._generation = self._published = self._size = -1

    def run(self, now: float, steady: float, data: bytes, stamp: float) -> bool:
        """
        Take a message, if nothing about it is unusual.

        :param now: control time of reception, s.
        :param steady: steady time, s.
        :param data: the serialized message.
        :param stamp: its stamp, s.
        :returns: whether it was handled; if not, it takes the slow path.
        """
        joints, law, checks = self._joints, self._law, self._checks
        if (law is None or law is not self._choice.law or self._generation != joints.generation
                or len(data) != self._size or not self._age.expects(now, stamp)):
            return False  # decided before ``prepare`` advances the reference
        dt = checks.usual_step(now)
        if not dt >= 0.0:
            return False
        loop, layout = self._loop, self._layout
        if self._published != loop.published:  # the slow path has sent torques meanwhile
            limiter = loop.limiter
            law.inputs['last'][:] = limiter.last
            law.inputs['last_sent'][:] = limiter.last_sent
        if self._accepted_seen != joints.accepted:  # the slow path has taken states meanwhile
            if joints.motion.carrier is not layout:
                return False
            self._accepted_seen = joints.accepted
            law.inputs['before'][:] = layout.last_q
            law.inputs['speed_before'][:] = layout.last_qd
            law.inputs['q'][:] = joints.q
            law.inputs['mismatch'][:] = joints.motion.mismatch
            law.inputs['repeats'][:] = joints.motion.repeats.bound
        self._dt[0] = dt
        time = stamp or now
        self._elapsed[0] = time - layout.last_time
        try:
            law.prepare(now)
            command = self._relay(data)
        except Exception:  # it is raised again on the slow path, which handles it
            return False
        if command is None:
            return False
        self.runs += 1
        arrival = joints.check_age(layout, now, stamp)
        if arrival is _STATE:
            self._keep_state()
            layout.last_time = time
        if not checks.keeps_running(now, steady, arrival):
            checks.arrived(now, steady, arrival)
            return True
        cycle = self._cycle
        law.finish(now)  # with the results before these, as on the slow path
        self._output.publisher.publish(command)
        self._keep_results()
        self._published = loop.note_fast_step(now, steady)
        cycle.now, cycle.steady, cycle.stamp = now, steady, cycle.arriving
        cycle.states += 1
        if cycle.has_listeners:
            cycle.notify_fast_step(now, steady)
        return True

    def learn(self, reading: ReadState, data: bytes) -> None:
        """
        Prepare for messages like one that took the slow path, if the one before was like it.

        :param reading: its kind.
        :param data: the serialized message.
        """
        cycle, joints = self._cycle, self._joints
        law, layout = cycle.law, joints.last
        if not self._available or self._supervisor.state is not State.RUNNING or layout is None:
            return
        kind = (reading, law, len(data), joints.generation)
        other, self._slow_kind = self._slow_kind, (self.runs, *kind)
        if kind == self._learned_kind or other != self._slow_kind:
            return  # known already, or a single one of its kind: not worth a relay
        self._law, self._learned_kind = None, kind  # a kind without a relay is not tried again
        if not layout.whole or not len(reading.velocity) or len(data) < 8:
            return
        relay = self._make_relay(law, layout, reading, data)
        effort = [(self._effort, joints.effort)] if layout.has_effort else []
        q, qd, mismatch = law.inputs['q'], law.inputs['qd'], law.outputs['mismatch']
        solved: list[tuple[Array, Array]] = []
        loops = cycle.checks.loops
        if loops is not None and loops.solves:  # the next state is solved from this one
            closed = law.outputs['closed_q']
            solved = [(closed, q), (closed, loops.q), (law.outputs['closed_qd'], qd)]
        state = make_copier([
            *solved, (q, joints.q), (qd, joints.qd), *effort, (q, layout.last_q),
            (qd, layout.last_qd), (q, law.inputs['before']), (qd, law.inputs['speed_before']),
            (mismatch, joints.motion.mismatch), (mismatch, law.inputs['mismatch'])])
        results = make_copier([*self._loop.results(law.outputs),
                              (law.outputs['total'], law.inputs['last']),
                              (law.outputs['sent'], law.inputs['last_sent'])])
        if relay is None or state is None or results is None:
            return
        self._relay, self._keep_state, self._keep_results = relay, state, results
        self._law, self._layout, self._age = law, layout, layout.age
        self._generation = joints.generation
        self._dt, self._elapsed = _numbers(law.inputs['dt']), _numbers(law.inputs['elapsed'])
        self._accepted_seen = -1
        self._size = len(data)
        self._published = -1
        self._effort[:] = joints.effort

    def _make_relay(self, law: Law, layout: Layout, reading: ReadState, data: bytes,
                    ) -> Relay | None:
        form = self._output.form
        if form is None:
            return None
        fields = [law.inputs['q'], law.inputs['qd']]
        if layout.has_effort:
            fields.append(self._effort)
        gather = [(place + 8 * int(i), field, int(j))
                  for place, field in zip(reading.places, fields)
                  for i, j in zip(layout.source, layout.target)]
        sent = law.outputs['sent']
        scatter = [(sent, k, form.at + 8 * k) for k in range(sent.size)]
        stamps = [] if form.stamp is None else [(STAMP, form.stamp)]
        return make_relay(reading.expected(data), gather, law.bound.run, law.outputs['usual'],
                          form.template, scatter, stamps)


def _numbers(array: Array) -> memoryview[float]:
    """Return a view of an array whose elements are set faster than through NumPy."""
    return memoryview(array).cast('B').cast('d')
