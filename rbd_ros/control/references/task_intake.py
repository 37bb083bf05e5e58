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
Messages for the task reference, checked and made into events of the step.

It is called right before the step that takes the event.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.compiler import procedure
from rbd_ros.control.interface.events import Event, Kind
from rbd_ros.control.references.asking import ask_target
from rbd_ros.control.references.points import Verdict
from rbd_ros.control.references.pose_profile import TaskLimits
from rbd_ros.control.references.targets import handle_target, Target
from rbd_ros.control.references.task_reference import TaskReference
from rbd_ros.control.references.trajectory import refusal
from rbd_ros.control.references.words import ReferenceWord

__all__ = ['TaskIntake']


class TaskIntake:
    """Poses, twists and wrenches of one robot."""

    def __init__(self, reference: TaskReference, limits: TaskLimits) -> None:
        """
        Start without a stream.

        :param reference: of the state of the step; only read.
        :param limits: in force; a stream that moves faster is none.
        """
        self._target, self._verdict = Target(reference.sizes), Verdict(reference.sizes)
        self._target.stops = reference.stops
        self._run = procedure.bind(handle_target, self._target, reference, limits, self._verdict)

    def target_pose(self, u: Event, now: float, position: Sequence[float],
                    quaternion: Sequence[float]) -> None:
        """
        Make a pose to go to; poses that are streamed are followed with their own velocity.

        :param u: receives it.
        :param now: control time, s.
        :param position: in the base, m.
        :param quaternion: x, y, z, w.
        :raises GoalError: if it is refused.
        """
        self._take(u, Kind.POSE, now, [*quaternion, *position])

    def target_twist(self, u: Event, now: float, twist: Sequence[float]) -> None:
        """
        Make a velocity, to be repeated within the timeout.

        :param u: receives it.
        :param now: control time, s.
        :param twist: angular, linear; base axes, at the origin of the frame.
        :raises GoalError: if it is refused.
        """
        if len(twist) != 6:
            raise refusal(ReferenceWord.NO_TWIST)
        self._take(u, Kind.TWIST, now, twist)

    def target_wrench(self, u: Event, now: float, wrench: Sequence[float]) -> None:
        """
        Make a wrench to be exerted, to be repeated within the timeout.

        :param u: receives it.
        :param now: control time, s.
        :param wrench: moment, force; base axes, at the origin of the frame.
        :raises GoalError: if it is refused.
        """
        if len(wrench) != 6:
            raise refusal(ReferenceWord.NO_WRENCH)
        self._take(u, Kind.WRENCH, now, wrench)

    def _take(self, u: Event, kind: Kind, now: float, numbers: Sequence[float]) -> None:
        target, verdict = self._target, self._verdict
        target.kind, target.now, target.numbers[:len(numbers)] = kind, now, numbers
        self._run()
        if verdict.word:
            raise refusal(int(verdict.word), verdict.a, verdict.b, verdict.c)
        u.now = now
        ask_target(target, u)
