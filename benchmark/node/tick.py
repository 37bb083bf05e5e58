# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Time inside one tick of the controller, in its own process, without ROS.

It gets serialized messages, as the middleware gives them; the commands that answer them are kept
as bytes, and looked at in the end: each state must have its torques, and these must be right.
Python calls what the control loop of the node calls from machine code. Messages come back to back,
and at the pace of a robot: a processor that has done something else in between runs the same code
several times slower.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import gc
import json
from pathlib import Path
import sys
import time
from types import ModuleType

from benchmark.node import arm, controller, delta
from benchmark.node.messages import joint_state, STAMP, stamp_into
from benchmark.node.torques import refuse_wrong
import numpy as np
from rbd_ros.command_line.timing import best_times
from rbd_ros.control.controller import Controller
from rbd_ros.control.parameters.assembly import build_robot, build_settings, compile_kernels
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.supervisor.states import SupervisorState as State
import yaml

RATE = 500.0  # Hz
WARM, COUNT = 1000, 3000
KERNELS = ('joint', 'loops')  # of a tick in computed torque; the second where loops are closed


class Tick:
    """
    A controller that takes messages, and keeps how many commands it sent, and the last.

    :param given: its parameters, as they are typed.
    """

    def __init__(self, given: Mapping[str, object]) -> None:
        values = defaults() | {name: yaml.safe_load(str(each)) for name, each in given.items()}
        text = Path(str(values['robot_description_file'])).read_text()
        settings = build_settings(build_robot(values, text, lambda _: None), values,
                                  simulated=False)
        self.controller = Controller(settings, compile_kernels(settings), self._keep)
        self.controller.snapshots.watched = False  # as a node finds out that nobody listens to
        self.count, self.last = 0, b''

    def _keep(self, _: object) -> None:
        self.count, self.last = self.count + 1, self.controller.command.tobytes()

    def __call__(self, message: bytes) -> None:
        """Take a state."""
        now = time.monotonic()
        self.controller.take_message(now, now, message)

    @property
    def torques(self) -> list[float]:
        """The numbers at the end of the last command."""
        return np.frombuffer(self.last[-8 * len(self.controller.y.torque):]).tolist()


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


def probe(loops: bool, tick: Tick, source: Source, period: float) -> None:
    """Raise an error unless the torques of some more states are right."""
    times, torques = [], []
    for _ in range(60):  # at the pace of the motion: torques may change only so fast
        ticks(tick, source, 1, 0.0)
        time.sleep(period)
        times.append(source.time)
        torques.append(tick.torques)
    if loops:
        delta.refuse_wrong(times[-20:], torques[-20:])
    else:
        refuse_wrong('the tick', times[-20:], torques[-20:])


def main() -> None:
    """Measure the arm, or the delta robot if that is named, once and print."""
    loops = 'delta' in sys.argv[1:]
    robot, rate = (delta, delta.RATE) if loops else (arm, RATE)
    tick = Tick(controller.parameters(rate, robot=delta.PARAMETERS if loops else {}))
    made, source = tick.controller, Source(robot, rate)
    made.post(made.activate)
    ticks(tick, source, max(WARM, round(2.5 * rate)), 1.0 / rate)
    gc.collect()
    gc.freeze()
    before = tick.count
    paced = ticks(tick, source, COUNT, 1.0 / rate)
    busy = ticks(tick, source, COUNT, 0.0)
    if made.state is not State.RUNNING or tick.count - before != 2 * COUNT:
        raise RuntimeError(f'the controller is {made.state.value}, and of {2 * COUNT} states '
                           f'{tick.count - before} had torques: this is no tick')
    probe(loops, tick, source, 1.0 / rate)
    kernel = sum(best_times(made.kernels[name].run)[0] for name in KERNELS if name in made.kernels)
    print(json.dumps({'paced': paced, 'busy': busy, 'kernel': 1e6 * kernel}))


if __name__ == '__main__':
    main()
