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
From joint names in messages to the vectors of the model.

Messages may carry some joints each, in any order, with extra ones. Each set of names is one layout
with its own cached permutation and its own measures of age. A message with an error in a field
that is needed counts as not received; if that goes on, the state becomes too old.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
import math

import numpy as np
import numpy.typing as npt

from rbd_ros.control.former.joint_states.history import History
from rbd_ros.control.former.joint_states.layout import AgeLimits, Arrival, as_slice, Layout, Values
from rbd_ros.control.former.joint_states.motion import Motion
from rbd_ros.control.former.joint_states.notices import Notices
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.former.safety.freshness import Freshness, RateMeter, StateAge
from rbd_ros.control.former.safety.limits import is_finite
from rbd_ros.errors import ModelError, UnknownName

__all__ = ['JointMap']

Array = npt.NDArray[np.float64]

_FRESH, _STATE = Freshness.FRESH, Arrival.STATE  # looking them up takes time in each cycle

#: kinds of name lists remembered; a publisher that invents names must not fill the memory
_MAX_LAYOUTS = 64


class JointMap:
    """Collect joint states into vectors of the model's one-degree joints."""

    def __init__(self, joints: Sequence[str], controlled: Sequence[str], *,
                 limits: AgeLimits | None = None,
                 fixed_positions: Mapping[str, float] | None = None,
                 followers: Sequence[str] = (), continuous: Sequence[str] = ()) -> None:
        """
        Sort the joints.

        :param joints: names of the independent joints in the model's order.
        :param controlled: names of the controlled ones in the order of the commands.
        :param limits: ages and rates.
        :param fixed_positions: joints that nobody publishes, with their positions.
        :param followers: names of mimic joints; they follow their master, and their values in
            messages are ignored.
        :param continuous: names of joints without limits, whose position may wrap.
        """
        self.limits = limits or AgeLimits()
        self._timeout = self.limits.state_timeout
        self.names = tuple(joints)
        self._index = {name: i for i, name in enumerate(self.names)}
        fixed = dict(fixed_positions or {})
        for name in (*controlled, *fixed, *continuous):
            if name not in self._index:
                raise UnknownName('joint', name, self.names)
        if not controlled or len(set(controlled)) != len(controlled):
            raise ModelError(f'joints must name each controlled joint once: {list(controlled)}')
        both = [name for name in controlled if name in fixed]
        if both:
            raise ModelError(f'{both[0]} is controlled and in fixed_positions: choose one')
        n = len(self.names)
        self.q, self.qd, self.effort = np.zeros(n), np.zeros(n), np.zeros(n)
        self.controlled = np.array([self._index[name] for name in controlled], dtype=np.intp)
        self.select = as_slice(self.controlled)  # the same, as a slice where they are a run
        self.prescribed = np.array([i for i, name in enumerate(self.names)
                                    if name not in controlled and name not in fixed],
                                   dtype=np.intp)
        for name, position in fixed.items():
            self.q[self._index[name]] = position
        self._fixed, self._followers = frozenset(fixed), frozenset(followers)
        self._all = (1 << len(controlled)) - 1
        self.rate = RateMeter(self.limits.minimum_rate)
        self.motion = Motion(self.names, self.controlled.tolist(), frozenset(
            self._index[name] for name in continuous), self.limits)
        self.notices = Notices()  # to be announced
        self.rejected = 0
        self.accepted = 0  # messages taken by ``update``
        self.unreadable = 0  # messages whose bytes are no joint state
        self.leaps = 0  # stamps that were ahead of reception
        self.generation = 0  # of the layouts: layouts of an earlier one are no longer used
        self.restart()

    def restart(self) -> None:
        """Forget every message, at activation and reset: each stream is checked anew."""
        self._layouts: dict[tuple[str, ...], Layout] = {}
        self.last: Layout | None = None  # of the last message
        self.generation += 1
        self._has_effort = False  # the last message had efforts of every controlled joint
        self._expiry = np.full(len(self.names), -math.inf)
        self._now = -math.inf  # control time of the last message
        self._seen = 0
        self.notices.restart()
        self.expiry = -math.inf  # control time until which the whole state may be used
        self.reason = ''  # of the last message that was not used; empty: the last one was
        self._garbage = -math.inf, ''  # control time and text of the last unreadable message
        self.rate.restart()
        self.motion.restart()

    def update(self, now: float, names: Sequence[str], position: Values,
               velocity: Values = (), effort: Values = (), stamp: float = 0.0) -> Arrival:
        """
        Take one message.

        :param now: control time of reception, s.
        :param names: names of the joints; a tuple spares a copy.
        :param position: positions, as many as names.
        :param velocity: as many, or none.
        :param effort: as many, or none.
        :param stamp: ``header.stamp`` in s.
        """
        layout = self.last
        if layout is None or names is not layout.names:
            key = names if type(names) is tuple else tuple(names)
            layout = self.last = self._layouts.get(key) or self._learn(key)
        if not len(layout.target) and not layout.defect:
            layout.age.refuse(now, 'none of our joints')
            return Arrival.IGNORED
        reason = (layout.defect or self._take(layout, position, velocity, effort)
                  or self.motion.refusal(layout, now, stamp, velocity))
        if reason:
            self.rejected += 1
            self.reason = reason
            layout.age.refuse(now, reason)
            return Arrival.REJECTED
        arrival = self.check_age(layout, now, stamp)
        if arrival is Arrival.REJECTED:
            return arrival
        self.accepted += 1
        if silent := self.motion.accept(layout, now, velocity, stamp):
            self.notices.no_velocity(silent)
        if doubled := self.motion.two_sources():
            self.notices.once('doubled', doubled)
        if arrival is not Arrival.PROBE:
            self._store(layout, effort)
        return arrival

    def check_age(self, layout: Layout, now: float, stamp: float) -> Arrival:
        """
        Check the age of a message; its numbers are copied elsewhere.

        :param layout: what it carries.
        :param now: control time of reception, s.
        :param stamp: ``header.stamp`` in s.
        """
        if now < self._now - self._timeout:  # the clock went back
            self._forget_ages()
        self._now = now
        age = layout.age
        freshness = age.observe(now, stamp)
        if age.unstamped:
            self.notices.once('stamp', 'joint states have no stamp: their age is judged by '
                                       'reception only')
        if freshness is not _FRESH:
            self.reason = age.reason
            if age.leaps:
                self._note_leap(age)
            return Arrival.PROBE if freshness is Freshness.PROBE else Arrival.REJECTED
        self.reason = ''
        layout.until = age.expiry
        if layout.alone:
            self.expiry = age.expiry
        else:
            expiry = self._ages()
            self.expiry = float(min(expiry[self.controlled].min(),
                                    expiry[self.prescribed].min(initial=math.inf)))
        if not layout.mask:
            return Arrival.PRESCRIBED
        seen = self._seen | layout.mask
        if seen == self._all:
            seen = 0
            self.rate.event(now)
        self._seen = seen
        return _STATE

    def _note_leap(self, age: StateAge) -> None:
        """Announce stamps that are ahead: each time that a clock was set, else once."""
        self.leaps += age.leaps
        text = (f'stamps of joint states are {age.lead:.4g} s ahead: the clock that stamps was '
                'set, or is another one')
        if age.known_offset is None:
            self.notices.append(f'{text}. The states are checked anew')
        else:
            self.notices.once('ahead', f'{text} than that of the controller. They are not used')
        age.leaps = 0

    def ready(self, now: float) -> bool:
        """
        Return whether every joint is known and young enough.

        :param now: control time, s.
        """
        return now <= self.expiry and self.motion.calm

    @property
    def controlled_expiry(self) -> float:
        """Return the control time until which the controlled joints may be used, s."""
        return float(self._ages()[self.controlled].min())

    @property
    def effort_known(self) -> bool:
        """Return whether the last message had a finite effort of every controlled joint."""
        return self._has_effort and is_finite(self.effort[self.select])

    def missing(self, now: float) -> list[str]:
        """
        Name the joints that are unknown or too old.

        :param now: control time, s.
        """
        expiry = self._ages()
        return [self.names[i] for i in (*self.controlled, *self.prescribed) if now > expiry[i]]

    def missing_prescribed(self, now: float) -> list[str]:
        """
        Name the joints that are not controlled and are unknown or too old.

        :param now: control time, s.
        """
        expiry = self._ages()
        return [self.names[i] for i in self.prescribed if now > expiry[i]]

    def refuse_unreadable(self, now: float, text: str) -> Arrival:
        """
        Take a message that cannot be read: it counts as not received, and is announced once.

        :param now: control time of reception, s.
        :param text: what is wrong with it.
        """
        self.unreadable += 1
        self.rejected += 1
        self.reason = f'unreadable: {text}'
        self._garbage = now, text
        self.notices.once('unreadable', f'unreadable message on joint_states ignored: {text}')
        return Arrival.REJECTED

    def diagnose(self, now: float) -> tuple[Cause, str]:
        """
        Return which joints made the state too old and why, for the supervisor.

        The answer depends only on the messages: it is the same whether a message or the timer
        finds the state too old.

        :param now: control time, s.
        """
        joints = [int(i) for i in (*self.controlled, *self.prescribed)]
        expiry = self._ages()
        if not self.motion.calm and now <= expiry[joints].min():
            return Cause.IMPLAUSIBLE, self.motion.reason
        history = History(list(self._layouts.values()), self.limits.state_timeout,
                          self.unreadable, *self._garbage)
        missing = [i for i in joints if now > expiry[i]] or [
            i for i in joints if history.lags(i)]  # the next one came too late
        cause = Cause.PRESCRIBED_STALE
        if not missing or not set(self.controlled.tolist()).isdisjoint(missing):
            cause = Cause.STATE_STALE
        reasons: dict[str, list[str]] = {}
        for i in missing:
            reasons.setdefault(history.explain(i, now), []).append(self.names[i])
        return cause, '; '.join(f'{", ".join(names)}: {why}' for why, names in reasons.items())

    # -- inside -------------------------------------------------------------------------------

    def _learn(self, names: tuple[str, ...]) -> Layout:
        """Build the permutation of a list of names seen for the first time."""
        if len(self._layouts) >= _MAX_LAYOUTS:
            self._drop_oldest()
        wanted = [(i, self._index[name]) for i, name in enumerate(names)
                  if name in self._index and name not in self._fixed]
        count = Counter(names[i] for i, _ in wanted)
        twice = sorted(name for name, times in count.items() if times > 1)
        bits = {int(j): 1 << k for k, j in enumerate(self.controlled)}
        mask = sum(bits.get(j, 0) for j in {j for _, j in wanted})
        asked = {int(j) for j in (*self.controlled, *self.prescribed)}
        layout = Layout(np.array([i for i, _ in wanted], dtype=np.intp),
                        np.array([j for _, j in wanted], dtype=np.intp),
                        mask == self._all, mask, self._age(bool(mask)), names,
                        f'{", ".join(twice)} appears twice in one message' if twice else '',
                        asked <= {j for _, j in wanted}, len(self.names))
        self._layouts = {**self._layouts, names: layout}  # others may iterate over the old one
        extra = [name for name in names if name not in self._index
                 and name not in self._followers]
        if extra:
            self.notices.unknown_joints(extra)
        return layout

    def _drop_oldest(self) -> None:
        """Forget the list of names that was silent longest; first those without our joints."""
        oldest = min(self._layouts.values(), key=lambda layout: (
            len(layout.target) > 0, layout.age.last_arrival))
        self._layouts = {names: layout for names, layout in self._layouts.items()
                         if layout is not oldest}
        if len(oldest.target):
            self.generation += 1

    def _age(self, controlled: bool) -> StateAge:
        limits = self.limits
        if controlled:
            return StateAge(limits.state_timeout, probes=limits.probes, period=limits.period,
                            minimum_rate=limits.minimum_rate, offset=limits.stamp_offset)
        return StateAge(limits.prescribed_timeout, probes=1, offset=limits.stamp_offset)

    def _take(self, layout: Layout, position: Values, velocity: Values, effort: Values) -> str:
        """Copy the positions if all fields can be used, else return why not."""
        if len(position) != layout.count:
            return f'{len(position)} positions for {layout.count} names'
        if len(velocity) not in (0, layout.count):
            return f'{len(velocity)} velocities for {layout.count} names'
        if len(effort) not in (0, layout.count):
            return f'{len(effort)} efforts for {layout.count} names'
        layout.q = layout.part(position)
        if not is_finite(layout.q):
            bad = [self.names[j] for j, x in zip(layout.target, layout.q) if not math.isfinite(x)]
            return f'the position of {", ".join(bad)} is not finite'
        return ''

    def _store(self, layout: Layout, effort: Values) -> None:
        put = layout.put
        self.q[put] = layout.q
        self.qd[put] = layout.qd
        layout.has_effort = len(effort) > 0
        if layout.has_effort:
            self.effort[put] = layout.part(effort)
        if layout.mask:
            self._has_effort = layout.whole and layout.has_effort

    def _ages(self) -> Array:
        """Return until when each joint may be used; the youngest message that has it counts."""
        expiry = self._expiry
        for layout in self._layouts.values():
            expiry[layout.put] = np.maximum(expiry[layout.put], layout.until)
        return expiry

    def _forget_ages(self) -> None:
        """Let every state expire: the times belong to the clock before it jumped back."""
        self._expiry[:] = self.expiry = -math.inf
        for layout in self._layouts.values():
            layout.until = -math.inf
