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
What is judged about a message, in which order: written once for the fast and the slow path.

1. requests: what was posted is done before a state is checked;
2. message: names, lengths, finite numbers, positions that can be true;
3. age: reception and stamp (``JointMap.heard``, one call on both paths);
4. load: payload and direction of gravity, as they change;
5. bounds: velocity, rate, tracking error, positions against velocities and range;
6. supervisor: what kind of torque is due;
7. torque: law, its limits, and that it is finite.

The slow path judges each of them in full. The fast path may be taken only where ``glance`` finds
that 1, 4, 5 and 6 have nothing to say; its kernel then sees 2, 5 and 7 by one number and changes
nothing. From the age on both paths are one function, ``arrived``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from rbd_ros.control.joint_states.joint_map import JointMap
from rbd_ros.control.joint_states.layout import Arrival
from rbd_ros.control.load import Load
from rbd_ros.control.loop import ControlLoop
from rbd_ros.control.modes import Law
from rbd_ros.control.safety.supervisor import State

__all__ = ['Judged', 'Judgement']


class Judged(Protocol):
    """What is judged: the controller of one robot, as far as it is needed."""

    joints: JointMap
    loop: ControlLoop
    load: Load
    calm: bool  # no watched bound was exceeded in the last cycle
    now: float  # control time of the last cycle, s

    @property
    def law(self) -> Law:
        """Return the law in force."""

    def judge(self, now: float, steady: float) -> bool:
        """
        Run a cycle of the slow path.

        :param now: control time of reception, s.
        :param steady: steady time, s.
        :returns: whether a torque was published.
        """


class Judgement:
    """The judgements about the messages of one robot."""

    def __init__(self, cycle: Judged) -> None:
        """
        Take the parts that judge.

        :param cycle: of the robot.
        """
        self._cycle = cycle
        self._joints, self._loop = cycle.joints, cycle.loop
        self._supervisor = cycle.loop.supervisor
        self._gravity, self._payload = cycle.load.gravity, cycle.load.payload

    def glance(self) -> bool:
        """Return whether everything but the message itself is as usual; changes nothing."""
        gravity = self._gravity
        return not (
            self._loop.requests  # 1
            or not gravity.constant or gravity.changed or self._payload.ramping  # 4
            or not self._cycle.calm  # 5
            or self._supervisor.state is not State.RUNNING)  # 6

    def arrived(self, now: float, steady: float, arrival: Arrival,
                usual: Callable[[float, float], None] | None = None) -> bool:
        """
        Go on with a message whose age has been judged and whose numbers are in place.

        :param now: control time of reception, s.
        :param steady: steady time, s.
        :param arrival: what it brought.
        :param usual: sends the torque that the fast path has computed; None: the slow path.
        :returns: whether a torque was published.
        """
        cycle, joints = self._cycle, self._joints
        if arrival is not Arrival.STATE:  # 3
            if arrival is Arrival.PRESCRIBED:
                self._supervisor.renewed(now, steady, joints.expiry)
                cycle.law.see()
            return self.unheard(now, steady)
        if (usual is None or joints.rate.low  # 5, by this state
                or not self._supervisor.runs_on(now, steady, joints.expiry)):  # 6
            return cycle.judge(now, steady)  # 4 to 7
        usual(now, steady)
        return True

    def unheard(self, now: float, steady: float) -> bool:
        """
        Go on without the message that has just come.

        :param now: control time, s.
        :param steady: steady time, s.
        :returns: whether a torque was published.
        """
        late = now > self._joints.expiry or now < self._cycle.now  # do not wait for the timer
        return late and self._supervisor.live and self._loop.tick(now, steady)
