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

"""The supervisor of the step with the methods of the class, so that the same tests drive both."""

from __future__ import annotations

from collections.abc import Callable

from rbd_ros.control.interface.causes import Cause, Fault
from rbd_ros.control.supervisor.states import Due, State, Timing
from rbd_ros.control.supervisor import due
from rbd_ros.control.supervisor import supervisor as step
from rbd_ros.control.supervisor.answers import fill_timing
from rbd_ros.control.interface.events import NOBODY, Result
from rbd_ros.control.supervisor.latch import Latch, latched
from rbd_ros.control.supervisor.words import supervisor_text, SupervisorWord
from rbd_ros.control.supervisor.transition_rows import StateCode

STATES, DUES, CAUSES = tuple(State), tuple(Due), tuple(Cause)


#: lists that were made before: a walk asks for the same ones again and again
_MADE: dict[bytes, list[Fault]] = {}


def fault_list(latch: Latch) -> list[Fault]:
    """Return latched faults as the class has them; not to be changed."""
    if latch.causes == 0.0:
        return []
    key = latch.memory.tobytes()
    if key not in _MADE:
        _MADE[key] = _list(latch)
    return _MADE[key]


def _list(latch: Latch) -> list[Fault]:
    return [Fault(each.cause, each.time, supervisor_text(each.word, '', *each.numbers, '')
                  if each.word else '') for each in latched(latch)]


class _Shared:
    """One record for thousands of supervisors: making one takes longer than using it."""

    record = step.Supervisor({}).plain()
    owner: StepSupervisor | None = None


class StepSupervisor:
    """Procedures behind the methods of the former supervisor."""

    def __init__(self, timing: Timing | None = None) -> None:
        """Start inactive."""
        self.timing = timing or Timing()
        self.saved = step.Supervisor({}).memory
        self.d = step.Diagnosis({}).plain()
        self.y = Result({'n': 1}).plain()
        p = step.SupervisorParameters({})
        fill_timing(p, self.timing)
        self.p = p.plain()
        self.diagnose: Callable[[float], tuple[Cause, int, float]] | None = None

    def __copy__(self) -> StepSupervisor:
        """Return another one in the same situation."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.saved = self.x.memory.copy()
        return other

    @property
    def x(self) -> step.Supervisor:
        """Return the state: one record for all, which takes the numbers of who is asked."""
        if _Shared.owner is not self:
            if _Shared.owner is not None:
                _Shared.owner.saved[:] = _Shared.record.memory
            _Shared.record.memory[:] = self.saved
            _Shared.owner = self
        return _Shared.record

    def _diagnosed(self, now: float) -> None:
        """Fill the diagnosis as the flow does: only where it is needed."""
        if due.is_late(self.x, now) and self.diagnose:
            cause, word, number = self.diagnose(now)
            self.d.cause, self.d.word, self.d.a = CAUSES.index(cause), word, number

    def activate(self, now: float, steady: float) -> None:
        """Begin to check states."""
        if not step.activate(self.x, self.p, self.y, now, steady):
            raise RuntimeError(supervisor_text(int(self.y.answer), '', self.x.state, 0.0, 0.0, ''))

    def reset(self, now: float, steady: float) -> str:
        """Clear the latched faults and ramp in again."""
        if step.reset(self.x, self.p, self.y, now, steady):
            return ''
        return supervisor_text(int(self.y.answer), '', self.x.state, 0.0, 0.0, '')

    def fault(self, steady: float, cause: Cause, number: float = 0.0) -> None:
        """Report a cause; a number stands for what was seen."""
        word = SupervisorWord.PAUSED if number else 0
        step.fault(self.x, self.p, steady, CAUSES.index(cause), word, NOBODY, number, 0.0, 0.0)

    def fresh(self, now: float, steady: float, expiry: float, ready: bool = True) -> None:
        """Report a fresh state."""
        self._diagnosed(now)
        step.fresh(self.x, self.p, self.d, now, steady, expiry, int(ready))

    def renewed(self, now: float, steady: float, expiry: float) -> None:
        """Report a message of joints that are not controlled."""
        self._diagnosed(now)
        step.renewed(self.x, self.p, self.d, now, steady, expiry)

    def computed(self) -> None:
        """Report that the gravity torque is known."""
        step.computed(self.x)

    def published(self, steady: float, reached: bool) -> None:
        """Report that a torque was sent."""
        step.published(self.x, self.p, steady, int(reached))

    def advance(self, now: float, steady: float) -> Due:
        """Advance to the present."""
        self._diagnosed(now)
        return DUES[step.advance(self.x, self.p, self.d, now, steady)]

    @property
    def state(self) -> State:
        """Return the state."""
        return STATES[StateCode(int(self.x.state))]

    @property
    def due(self) -> Due:
        """Return what is due."""
        return DUES[due.due_now(self.x)]

    @property
    def faults(self) -> list[Fault]:
        """Return the latched faults."""
        return fault_list(self.x.faults)

    @property
    def recovered(self) -> list[Fault]:
        """Return the faults that ended by themselves."""
        return fault_list(self.x.recovered)

    @property
    def live(self) -> bool:
        """Return whether the due torque needs the state."""
        return due.is_live(self.x)

    @property
    def distrusted(self) -> bool:
        """Return whether g(q) cannot be trusted."""
        return due.is_distrusted(self.x)

    @property
    def frozen(self) -> bool:
        """Return whether a sensor is frozen."""
        return due.is_frozen(self.x)

    @property
    def paused(self) -> bool:
        """Return whether the simulated clock stands still."""
        return self.x.paused > 0.0

    @property
    def final(self) -> bool:
        """Return whether it ends in release."""
        return self.x.final > 0.0

    @property
    def _blind(self) -> bool:
        return self.x.blind > 0.0

    @property
    def blend(self) -> float:
        """Return the share of the ramp."""
        return self.x.blend

    @property
    def repeats(self) -> int:
        """Return how often the release torque was sent."""
        return int(self.x.repeats)

    @property
    def _expiry(self) -> float:
        return self.x.expiry
