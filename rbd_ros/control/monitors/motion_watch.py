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

"""Watch that no joint runs away while the torque ramps in: the robot is the described one."""

from __future__ import annotations

from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import NOBODY, NONE
from rbd_ros.control.interface.words import SupervisorWord
from rbd_ros.control.monitors.monitor_parameters import MonitorParameters

__all__ = ['arm_motion', 'check_motion', 'MotionWatch']

#: s; time constant of the filter of accelerations
_FILTER = 0.01


class MotionWatch(Record):
    """What a robot does with its first torques."""

    armed: float = field('', '', '1 while it is watched')
    begin: float = field('', 's', 'control time of the first torque')
    time: float = field('', 's', 'control time of the last state')
    fast: float = field('', '', 'states in a row in which a joint was too fast')
    joint: float = field('', '', 'that ran away', NOBODY)
    a: float = field('', '', 'first number about it')
    b: float = field('', '', 'second number')
    start: Vector = field('n', 'rad or m', 'positions at the first torque')
    first: Vector = field('n', 'rad/s or m/s', 'speeds at the first torque')
    pushed: Vector = field('n', '', '1 or -1 where a barrier pushes a joint up or down')
    qd: Vector = field('n', 'rad/s or m/s', 'velocities of the last state')
    qdd: Vector = field('n', 'rad/s^2 or m/s^2', 'accelerations behind a filter')


def arm_motion(x: MotionWatch, p: MonitorParameters, now: float, q: Vector, qd: Vector) -> None:
    """
    Begin to watch.

    :param now: control time, s, finite.
    :param q: positions.
    :param qd: velocities.
    """
    for j in range(len(q)):
        x.start[j], x.qd[j], x.qdd[j], x.first[j] = q[j], qd[j], 0.0, abs(qd[j])
        below, above = q[j] < p.zone_lower[j], q[j] > p.zone_upper[j]
        x.pushed[j] = (1.0 if below else 0.0) - (1.0 if above else 0.0)
    x.fast = 0.0
    x.begin, x.time, x.armed = now, now, 1.0


def check_motion(x: MotionWatch, p: MonitorParameters, now: float, q: Vector, qd: Vector,
                 rests: int) -> int:
    """
    Check one state.

    :param x: watch; keeps the joint and the numbers of the sentence.
    :param now: control time, s, finite.
    :param q: positions.
    :param qd: velocities.
    :param rests: 1 if the law wants no motion; where it does, only accelerations count.
    :returns: word of what is wrong; 0: nothing.
    """
    if now - x.begin > p.watch_time:
        x.armed = 0.0
        return 0
    dt = now - x.time
    if dt > 0.0:
        for j in range(len(qd)):
            change = dt / (dt + _FILTER) * ((qd[j] - x.qd[j]) / dt - x.qdd[j])
            x.qdd[j] = min(max(x.qdd[j] + change, -NONE), NONE)
            x.qd[j] = qd[j]
        x.time = now
    if rests > 0:
        word = _drift(x, p, now - x.begin, q, qd)
        if word > 0:
            return word
    else:
        for j in range(len(q)):
            x.start[j], x.first[j] = q[j], abs(qd[j])
    return _jolt(x, p)


def _jolt(x: MotionWatch, p: MonitorParameters) -> int:
    """Look for a joint with a large acceleration."""
    k = 0
    for j in range(len(x.qdd)):
        if abs(x.qdd[j]) > abs(x.qdd[k]):
            k = j
    if not abs(x.qdd[k]) > p.acceleration:
        return 0
    x.joint, x.a, x.b = k, x.qdd[k], 0.0
    return SupervisorWord.ACCELERATES


def _drift(x: MotionWatch, p: MonitorParameters, spent: float, q: Vector, qd: Vector) -> int:
    """Look for a joint that moves by itself and is not pushed by a barrier."""
    k, most = 0, _moved(x, q, 0)
    for j in range(len(q)):
        if _moved(x, q, j) > most:
            k, most = j, _moved(x, q, j)
    if most > p.distance:
        x.joint, x.a, x.b = k, min(most, NONE), spent
        return SupervisorWord.MOVED
    k, most = 0, _gained(x, qd, 0)
    for j in range(len(qd)):
        if _gained(x, qd, j) > most:
            k, most = j, _gained(x, qd, j)
    x.fast = x.fast + 1.0 if most > p.gained else 0.0
    if not x.fast > 1.0:
        return 0
    x.joint, x.a, x.b = k, qd[k], spent
    return SupervisorWord.MOVES


def _moved(x: MotionWatch, q: Vector, j: int) -> float:
    """Return how far a joint has moved by itself."""
    way = q[j] - x.start[j]
    return 0.0 if way * x.pushed[j] > 0.0 else abs(way)


def _gained(x: MotionWatch, qd: Vector, j: int) -> float:
    """Return the speed that a joint has gained by itself."""
    return 0.0 if qd[j] * x.pushed[j] > 0.0 else abs(qd[j]) - x.first[j]
