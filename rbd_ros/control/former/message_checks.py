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
What is checked about a message, in which order: written once for the fast and the slow path.

1. requests: what was posted is done before a state is checked;
2. message: names, lengths, finite numbers, plausible positions;
3. age: reception and stamp (``JointMap.check_age``, one call on both paths);
4. load: changes of payload and direction of gravity;
5. bounds: velocity, rate, tracking error, positions against velocities and range;
6. supervisor: what kind of torque is due;
7. torque: law, its limits, and that it is finite.

The slow path checks all of them. The fast path may be taken only if ``usual_step`` finds nothing
to do for 1, 4, 5 and 6; its kernel then checks 2, 5 and 7 and gives one number for the result.
After the age, ``keeps_running`` decides whether its torque may be sent; if not, ``arrived``
continues with the message as on the slow path.
"""

from __future__ import annotations

import math
from typing import Protocol

from rbd_ros.control.former.control_loop import ControlLoop
from rbd_ros.control.former.joint_states.joint_map import JointMap
from rbd_ros.control.former.joint_states.layout import Arrival
from rbd_ros.control.former.load import Load
from rbd_ros.control.former.modes import Law
from rbd_ros.control.former.safety.supervisor import State

__all__ = ['CheckedCycle', 'MessageChecks']

_STATE, _RUNNING = Arrival.STATE, State.RUNNING  # looking them up takes time in each cycle


class CheckedCycle(Protocol):
    """The controller of one robot, as far as the checks need it."""

    joints: JointMap
    loop: ControlLoop
    load: Load
    calm: bool  # no watched bound was exceeded in the last cycle
    now: float  # control time of the last cycle, s

    @property
    def law(self) -> Law:
        """Return the law in force."""

    def run_slow_path(self, now: float, steady: float) -> bool:
        """
        Run a cycle of the slow path.

        :param now: control time of reception, s.
        :param steady: steady time, s.
        :returns: whether a torque was published.
        """


class MessageChecks:
    """The checks of the messages of one robot."""

    def __init__(self, cycle: CheckedCycle) -> None:
        """
        Take the parts of the controller.

        :param cycle: of the robot.
        """
        self._cycle = cycle
        self._joints, self._loop = cycle.joints, cycle.loop
        self._supervisor = cycle.loop.supervisor
        self._gravity, self._payload = cycle.load.gravity, cycle.load.payload

    def usual_step(self, now: float) -> float:
        """
        Return the time of the limiter's next step if everything but the message is as usual.

        :param now: control time of reception, s.
        :returns: s; NaN if something is not as usual. Nothing is changed.
        """
        gravity, loop = self._gravity, self._loop
        if (loop.requests  # 1
                or not gravity.constant or gravity.changed or self._payload.ramping  # 4
                or not self._cycle.calm  # 5
                or self._supervisor.state is not _RUNNING):  # 6
            return math.nan
        return loop.usual_step(now)

    def keeps_running(self, now: float, steady: float, arrival: Arrival) -> bool:
        """
        Return whether the torque that the fast path has computed may be sent.

        :param now: control time of reception, s.
        :param steady: steady time, s.
        :param arrival: what the message brought.
        :returns: whether it may, which is recorded; if not, ``arrived`` must follow.
        """
        joints = self._joints
        return (arrival is _STATE and not joints.rate.low  # 3; 5, by this state
                and self._supervisor.keeps_running(now, steady, joints.expiry))  # 6

    def arrived(self, now: float, steady: float, arrival: Arrival) -> bool:
        """
        Continue with a message whose age is checked and whose numbers are copied.

        :param now: control time of reception, s.
        :param steady: steady time, s.
        :param arrival: what it brought.
        :returns: whether a torque was published.
        """
        if arrival is _STATE:
            return self._cycle.run_slow_path(now, steady)  # 4 to 7
        if arrival is Arrival.PRESCRIBED:
            self._supervisor.renewed(now, steady, self._joints.expiry)
            self._cycle.law.read_state()
        return self.without_state(now, steady)

    def without_state(self, now: float, steady: float) -> bool:
        """
        Continue after a message that gave no state.

        :param now: control time, s.
        :param steady: steady time, s.
        :returns: whether a torque was published.
        """
        late = now > self._joints.expiry or now < self._cycle.now  # do not wait for the timer
        return late and self._supervisor.live and self._loop.tick(now, steady)
