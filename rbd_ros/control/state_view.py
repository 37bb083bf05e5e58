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
"""What a controller is like at the moment, in the words of those who watch it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rbd_ros.control.fault_sentences import FaultSentences
from rbd_ros.control.force_torque.sensor import is_fresh
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.joint_states.arrival import is_ready
from rbd_ros.control.joint_states.diagnosis import missing_joints
from rbd_ros.control.joint_states.intake import Intake
from rbd_ros.control.joint_states.sources import Reason
from rbd_ros.control.monitors.guards import is_alive
from rbd_ros.control.references.joint_reference import distance
from rbd_ros.control.speaker import Speaker
from rbd_ros.control.step.state import Parameters, State
from rbd_ros.control.supervisor.due import is_blind, is_finished
from rbd_ros.control.supervisor.states import State as SupervisorState

__all__ = ['StateView']

Array = npt.NDArray[np.float64]

_STATES = tuple(SupervisorState)
_WORKING = (SupervisorState.RAMPING_IN, SupervisorState.RUNNING)
_ASKED = (Cause.DEACTIVATED.name, Cause.SIGNAL.name)


class StateView:
    """
    What can be seen of a controller; nothing here changes anything.

    :param x: state of the controller.
    :param p: its parameters.
    :param intake: knows the joints by name.
    :param speaker: makes sentences.
    :param modes: names of all modes, in the order of their numbers.
    """

    def __init__(self, x: State, p: Parameters, intake: Intake, speaker: Speaker,
                 modes: Sequence[str]) -> None:
        self.x, self.p = x, p
        self.intake, self.speaker = intake, speaker
        self._modes = modes
        self._fault_sentences = FaultSentences(x.command.supervisor.faults, speaker)

    @property
    def sensor_ready(self) -> bool:
        """Return whether the force-torque sensor can be used, or there is none."""
        return bool(is_fresh(self.x.sensor, self.p.sensor, max(
            self.x.now, self.x.command.supervisor.clock)))

    @property
    def state(self) -> SupervisorState:
        """Return the state of the supervisor."""
        return _STATES[int(self.x.command.supervisor.state)]

    @property
    def mode(self) -> str:
        """Return the mode."""
        return self._modes[int(self.x.mode)]

    @property
    def working(self) -> bool:
        """Return whether the law acts, its gains ramped or not."""
        return self.state in _WORKING

    @property
    def finished(self) -> bool:
        """Return whether nothing more will be sent without a new request."""
        return is_finished(self.x.command.supervisor)

    @property
    def blind(self) -> bool:
        """Return whether the torque that is due needs no state: the timer sends it."""
        return is_blind(self.x.command.supervisor)

    @property
    def ready(self) -> bool:
        """Return whether every joint was known and young enough at the last event."""
        return is_ready(self.x.joints, self.x.now)

    @property
    def tracks(self) -> bool:
        """Return whether the law in force follows the reference of the joints."""
        return self.x.laws.tracks()

    @property
    def leads(self) -> bool:
        """Return whether the law in force follows the reference of the tip."""
        return self.x.laws.leads()

    def faults(self) -> dict[str, str]:
        """Return the sentences of all latched faults by cause, first one first."""
        return dict(self._fault_sentences.by_cause)

    def fault_text(self) -> str:
        """Return every latched fault in one line; a requested end is no fault."""
        return '; '.join(text for cause, text in self.faults().items() if cause not in _ASKED)

    def refusal(self) -> str:
        """Return why the last joint state was not used; empty: it was."""
        return self._sentence(self.x.states.sources.reason)

    def lateness(self) -> str:
        """Return in what states do not come in time before the start; empty: they do."""
        return self._sentence(self.x.states.punctual.late)

    def _sentence(self, why: Reason) -> str:
        return self.speaker.text(int(why.word), int(why.joint), why.a, why.b,
                                 why.c) if why.word else ''

    def missing_states(self) -> str:
        """Return which joints are unknown or too old, and why; empty: none."""
        return self.speaker.diagnosis()

    def missing_prescribed(self) -> list[str]:
        """Return the joints that are not controlled and are unknown or too old."""
        x, structure = self.x, self.p.structure
        return [self.intake.joints[j] for j in missing_joints(x.joints, structure, x.now)
                if not structure.controlled[j]]

    def is_pressed(self, steady: float) -> bool:
        """
        Return whether the dead-man switch lets the robot move.

        :param steady: steady time, s.
        """
        return is_alive(self.x.dead_man, self.p.monitors, steady)

    def distance(self, target: Array, q: Array) -> Array:
        """
        Return the difference from measured positions to a target, the short way round.

        :param target: positions of the controlled joints.
        :param q: measured ones.
        """
        return np.array([distance(self.p.references.joint, j, *pair)
                         for j, pair in enumerate(zip(target.tolist(), q.tolist()))])
