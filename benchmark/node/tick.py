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
Time inside one tick of the controller, in its own process, without the middleware.

The callback of the joint states gets serialized messages, as the middleware gives them; what
it publishes is kept, and looked at in the end: each state must have its torques, and these must be
right. An executor runs the loop: a thread of machine code would take no messages from here.
Messages come back to back, and at the pace of a robot: a processor
that has done something else in between runs the same code several times slower.
"""

from __future__ import annotations

from collections.abc import Callable
import gc
import json
import math
import sys
import time
from types import ModuleType

from benchmark.node import arm, controller, delta
from benchmark.node.messages import joint_state, STAMP, stamp_into
from benchmark.node.torques import refuse_wrong
import numpy as np
from rbd_ros.command_line.timing import best_times
from rbd_ros.control.supervisor.states import State
from rbd_ros.nodes.controller import state_input
from rbd_ros.nodes.controller.node import ControllerNode
import rclpy
from rclpy.serialization import deserialize_message
from std_msgs.msg import Float64MultiArray

RATE = 500.0  # Hz
WARM, COUNT = 1000, 3000
KERNELS = ('joint', 'loops')  # of a tick in computed torque; the second where loops are closed


class Sink:
    """A publisher that keeps how much it got, and the last."""

    def __init__(self) -> None:
        self.count, self.last = 0, b''

    def publish(self, message: bytes) -> None:
        """Keep it."""
        self.count, self.last = self.count + 1, bytes(message)


class Source:
    """Messages of a swaying robot with the stamps of now."""

    def __init__(self, robot: ModuleType, rate: float) -> None:
        """Make one period of the motion."""
        zero = np.zeros(len(robot.JOINTS))
        self._states = [bytearray(joint_state(robot.JOINTS, *robot.motion(k / rate), zero))
                        for k in range(round(rate / robot.FREQUENCY))]
        self._count, self._rate = 0, rate

    @property
    def time(self) -> float:
        """Return the time of the motion at which the last message is, s."""
        return self._count % len(self._states) / self._rate

    def __call__(self) -> bytes:
        """Return the next message."""
        self._count += 1
        buffer = self._states[self._count % len(self._states)]
        stamp_into(buffer, STAMP, *divmod(time.time_ns(), 1_000_000_000))
        return bytes(buffer)


def ticks(callback: Callable[[bytes], None], source: Source, count: int,
          period: float) -> list[float]:
    """Return microseconds of each of many ticks, a period in s apart."""
    clock, times = time.perf_counter_ns, []
    due = time.monotonic()
    for _ in range(count):
        due += period
        pause = due - time.monotonic()
        if pause > 0.0:
            time.sleep(pause)
        message = source()
        start = clock()
        callback(message)
        times.append((clock() - start) * 1e-3)
    return times


def probe(loops: bool, callback: Callable[[bytes], None], source: Source, sink: Sink,
          period: float) -> None:
    """Raise an error unless the torques of some more states are right."""
    times, torques = [], []
    for _ in range(60):  # at the pace of the motion: torques may change only so fast
        ticks(callback, source, 1, 0.0)
        time.sleep(period)
        times.append(source.time)
        torques.append(list(deserialize_message(sink.last, Float64MultiArray).data))
    if loops:
        delta.refuse_wrong(times[-20:], torques[-20:])
    else:
        refuse_wrong('the tick', times[-20:], torques[-20:])


def main() -> None:
    """Measure the arm, or the delta robot if that is named, once and print."""
    loops = 'delta' in sys.argv[1:]
    robot, rate = (delta, delta.RATE) if loops else (arm, RATE)
    more = {'loop': 'executor', **(delta.PARAMETERS if loops else {})}
    state_input.BURST = math.inf  # back to back is a flood; here every message is to be measured
    rclpy.init(args=[*controller.arguments(rate, robot=more), '-p', 'autostart:=false'])
    node = ControllerNode()
    node.trigger_configure()
    made, loop_node = node.controller, node.loop_node
    loop_node.output = sink = Sink()
    loop_node.free_period = 0.0  # back to back no state comes too fast
    made.snapshots.watched = False  # as a node finds out that nobody listens to
    callback = next(subscription.callback for subscription in loop_node.subscriptions
                    if subscription.topic_name.endswith('joint_states'))
    source = Source(robot, rate)
    made.post(made.activate)
    ticks(callback, source, max(WARM, round(2.5 * rate)), 1.0 / rate)
    gc.collect()
    gc.freeze()
    before = sink.count
    paced = ticks(callback, source, COUNT, 1.0 / rate)
    busy = ticks(callback, source, COUNT, 0.0)
    if made.state is not State.RUNNING or sink.count - before != 2 * COUNT:
        raise RuntimeError(f'the controller is {made.state.value}, and of {2 * COUNT} states '
                           f'{sink.count - before} had torques: this is no tick')
    probe(loops, callback, source, sink, 1.0 / rate)
    kernel = sum(best_times(made.kernels[name].run)[0] for name in KERNELS if name in made.kernels)
    print(json.dumps({'paced': paced, 'busy': busy, 'kernel': 1e6 * kernel}))
    rclpy.try_shutdown()


if __name__ == '__main__':
    main()
