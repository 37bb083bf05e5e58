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

"""References for the law: accepted while it runs, else refused and counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from rbd_ros.control.former.joint_states.joint_map import JointMap
from rbd_ros.control.former.modes import JointLaw, Law, TaskLaw
from rbd_ros.control.former.references.joint_space import JointReference
from rbd_ros.control.former.references.operational_space import task_limits, TaskReference
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.former.safety.guards import RefusalCount
from rbd_ros.control.former.safety.start_check import REST_SPEED
from rbd_ros.control.former.safety.supervisor import State, Supervisor
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.throttle import Throttle, with_suppressed
from rbd_ros.errors import RbdError

__all__ = ['Controlled', 'ReferenceIntake']

#: rad/s or m/s below which a reference counts as at rest
_REST = 1e-3

_RUNNING = (State.RAMPING_IN, State.RUNNING)


class Controlled(Protocol):
    """The controller of one robot, as far as references need it."""

    supervisor: Supervisor
    joints: JointMap
    reference: JointReference
    task_reference: TaskReference
    steady: float  # time of the last cycle, s

    @property
    def law(self) -> Law:
        """Return the law in force."""

    def fault(self, steady: float, cause: Cause, detail: str) -> None:
        """
        Stop the robot.

        :param steady: steady time, s.
        :param cause: why.
        :param detail: what exactly.
        """

    def announce(self, kind: str, text: str) -> None:
        """
        Have something announced.

        :param kind: of event.
        :param text: of the event.
        """


class ReferenceIntake:
    """Take references of one robot in the control thread."""

    def __init__(self, cycle: Controlled, settings: Settings) -> None:
        """
        Start without a refusal.

        :param cycle: of the robot.
        :param settings: valid set.
        """
        self._cycle = cycle
        self._refusals = RefusalCount(settings.integer('reference.refusals'))
        self._repeats = Throttle()  # of log lines about references

    def apply(self, settings: Settings) -> None:
        """
        Take new limits of the references.

        :param settings: valid set.
        """
        self._refusals.limit = settings.integer('reference.refusals')
        joint, task = self._cycle.reference, self._cycle.task_reference
        joint.timeout = settings.number('reference.timeout')
        joint.speed[:] = settings.velocity_limits
        joint.limiter.limit(settings.reference_velocity,
                            settings.joints('reference.acceleration'))
        task.timeout = settings.number('task.timeout')
        task.limits = task_limits(settings)
        task.wrench_limit[:] = settings.wrench_limit()

    def hold(self) -> None:
        """Come to rest and stay there, whatever the reference was."""
        self._cycle.reference.goals.abort('the reference is held')
        self._cycle.reference.hold()
        self._cycle.task_reference.hold()

    def take(self, action: Callable[[], object]) -> None:
        """
        Take a new reference while the law runs; a rejected one is logged and changes nothing.

        :param action: passes it to the reference.
        """
        state = self._cycle.supervisor.state
        if state not in _RUNNING:
            self._warn(state, f'the controller is {state.value}')
            return
        try:
            action()
        except RbdError as error:
            self._warn(type(error), str(error))
            self.refuse(str(error))
        else:
            self._refusals.accepted()

    def _warn(self, kind: object, reason: str) -> None:
        """Log that a reference is rejected, once per kind of reason and second."""
        left = self._repeats.take(kind, self._cycle.steady)
        if left is not None:
            self._cycle.announce('warning', with_suppressed(f'reference rejected: {reason}', left))

    def refuse(self, reason: str) -> None:
        """
        Count a refused reference: several in a row while the robot moves are a fault.

        :param reason: why it was refused.
        """
        cycle = self._cycle
        if cycle.supervisor.state not in _RUNNING:
            return
        if self._refusals.refused(cycle.steady) and self._moves():
            text = (f'{self._refusals.count} references in a row were rejected while the robot '
                    f'was moving; the last one: {reason}')
            cycle.fault(cycle.steady, Cause.BAD_COMMAND, text)

    def _moves(self) -> bool:
        """Return whether the robot moves, or is meant to move."""
        cycle, wanted = self._cycle, np.zeros(1)
        if isinstance(cycle.law, JointLaw):
            wanted = cycle.reference.state[1]
        elif isinstance(cycle.law, TaskLaw):
            wanted = cycle.task_reference.velocity
        measured = cycle.joints.qd[cycle.joints.controlled]
        return bool(np.abs(wanted).max() > _REST or np.abs(measured).max() > REST_SPEED)
