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
From the names in messages to the joints of the model.

Messages may carry some joints each, in any order, with extra ones. Each list of names that has
joints of the robot is a kind of message with a place of its own in the state. There are few
places: one kind more takes that of a kind that is silent, or is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.joint_states.words import ArrivalWord
from rbd_ros.control.interface.events import Event, Joints, Kind, NOBODY, Structure
from rbd_ros.control.joint_states.sources import SOURCES
from rbd_ros.control.throttle import short_list
from rbd_ros.errors import ModelError, UnknownName

__all__ = ['fill_structure', 'Intake']

Array = npt.NDArray[np.float64]
Values = Array | Sequence[float]

#: lists of foreign names remembered; a publisher that invents names must not fill the memory
_FOREIGN = 64

#: lists of unknown joints that are announced since an activation
_LISTS = 8


class _Layout:
    """One list of names: where its values come from and go to."""

    def __init__(self, names: tuple[str, ...], index: Mapping[str, int]) -> None:
        self.names, self.count = names, len(names)
        wanted = [(i, index[name]) for i, name in enumerate(names) if name in index]
        self.take = _run([i for i, _ in wanted])
        self.put = _run([j for _, j in wanted])
        self.joints = len(wanted)
        self.rank = [i for i, _ in wanted]
        times = Counter(names[i] for i, _ in wanted)
        self.twice = sorted(name for name, count in times.items() if count > 1)


def _run(places: list[int]) -> slice | npt.NDArray[np.intp]:
    """Return places as a slice where they are a run: NumPy is much faster with slices."""
    if places and places == list(range(places[0], places[0] + len(places))):
        return slice(places[0], places[0] + len(places))
    return np.array(places, dtype=np.intp)


class Intake:
    """
    Fill events from messages.

    :param joints: names of the independent joints in the model's order.
    :param controlled: names of the controlled ones.
    :param fixed: names of joints that nobody publishes; what messages say of them is ignored.
    :param followers: names of mimic joints; they follow their master, and their values in
        messages are ignored.
    :param silence: s after which a kind of message may lose its place to another one: longer than
        any state may be used.
    """

    def __init__(self, joints: Sequence[str], controlled: Sequence[str], *,
                 fixed: Sequence[str] = (), followers: Sequence[str] = (),
                 silence: float = 1.0) -> None:
        self.joints = tuple(joints)
        for name in (*controlled, *fixed):
            if name not in self.joints:
                raise UnknownName('joint', name, self.joints)
        if not controlled or len(set(controlled)) != len(controlled):
            raise ModelError(f'joints must name each controlled joint once: {list(controlled)}')
        both = [name for name in controlled if name in fixed]
        if both:
            raise ModelError(f'{both[0]} is controlled and in fixed_positions: choose one')
        self._index = {name: j for j, name in enumerate(joints) if name not in fixed}
        self._known = {*joints, *followers}
        self._silence = silence
        self._places: list[_Layout | None] = [None] * SOURCES
        self._heard = [0.0] * SOURCES  # steady time of the last message of each kind
        self._place_of: dict[tuple[str, ...], int] = {}
        self._foreign: dict[tuple[str, ...], None] = {}
        #: names of the last kind of message for which there was no place
        self.refused: tuple[str, ...] = ()
        #: what was wrong with the last message that could not be read
        self.unreadable = ''
        #: texts that wait to be announced
        self.notices: list[str] = []
        self.restart()

    def restart(self) -> None:
        """Let everything be announced once more; kinds of messages keep their places."""
        self._last_names: tuple[str, ...] | None = None
        self._last_place: int | None = None
        self._filled: _Layout | None = None  # kind of message that the event is filled for
        self._announced: set[str] = set()
        self._seen: set[tuple[str, ...]] = set()

    def names(self, source: float) -> tuple[str, ...]:
        """
        Return the names in messages of a kind.

        :param source: its place.
        """
        layout = self._places[int(source)]
        return () if layout is None else layout.names

    def twice(self, source: float) -> list[str]:
        """
        Return the names that stand twice in messages of a kind.

        :param source: its place.
        """
        layout = self._places[int(source)]
        return [] if layout is None else layout.twice

    def read(self, u: Event, names: Sequence[str], position: Values, velocity: Values = (),
             effort: Values = (), stamp: tuple[int, int] = (0, 0)) -> None:
        """
        Fill an event from a message; its times are filled by the caller, before.

        :param u: event.
        :param names: names of the joints; a tuple spares a copy.
        :param position: positions, as many as names.
        :param velocity: as many, or none.
        :param effort: as many, or none.
        :param stamp: ``header.stamp``, s and ns.
        """
        u.stamp_s, u.stamp_ns = stamp
        u.velocities, u.efforts = float(len(velocity) > 0), float(len(effort) > 0)
        layout = self._filled
        if layout is None or names is not self._last_names or len(position) != layout.count or (
                len(velocity) not in (0, layout.count) or len(effort) not in (0, layout.count)):
            layout = self._fill(u, names, position, velocity, effort)
            if layout is None:
                return
        self._heard[self._last_place or 0] = u.steady
        u.q[layout.put] = np.asarray(position, dtype=float)[layout.take]
        if len(velocity):
            u.qd[layout.put] = np.asarray(velocity, dtype=float)[layout.take]
        if len(effort):
            u.effort[layout.put] = np.asarray(effort, dtype=float)[layout.take]

    def _fill(self, u: Event, names: Sequence[str], position: Values, velocity: Values,
              effort: Values) -> _Layout | None:
        """Fill what is the same in all messages of a kind; None: this one cannot be used."""
        self._filled = None
        u.kind, u.source, u.renewed, u.defect = Kind.STATE, NOBODY, 0.0, 0.0
        u.present[:] = 0.0
        layout = self._find(u, names if type(names) is tuple else tuple(names))
        if layout is None:
            return None
        u.present[layout.put] = 1.0
        u.rank[layout.put] = layout.rank
        self._check(u, layout, position, velocity, effort)
        if u.defect:
            return None
        if not u.renewed:  # what was renewed is not so in the next message
            self._filled = layout
        return layout

    def refuse_unreadable(self, u: Event, text: str) -> None:
        """
        Fill an event from a message that cannot be read.

        :param u: event.
        :param text: what is wrong with it.
        """
        u.kind, self.unreadable = Kind.UNREADABLE, text

    # -- inside -------------------------------------------------------------------------------

    def _find(self, u: Event, names: tuple[str, ...]) -> _Layout | None:
        """Return how messages with these names are read; None: not at all."""
        place = self._last_place
        if names is not self._last_names:  # most often the same ones, which a reader keeps
            self._announce_unknown(names)
            if names in self._foreign:
                return None
            place = self._place_of.get(names)
        if place is None:
            layout = _Layout(names, self._index)
            if not layout.joints:
                self._ignore(names)
                return None
            place = self._free_place(u.steady)
            if place is None:
                self.refused = names
                u.defect, u.defect_a = ArrivalWord.TOO_MANY_KINDS, SOURCES
                return None
            self._settle(layout, place)
            u.renewed = 1.0
        self._last_names, self._last_place, self._heard[place] = names, place, u.steady
        u.source = place
        return self._places[place]

    def _check(self, u: Event, layout: _Layout, position: Values, velocity: Values,
               effort: Values) -> None:
        """Record why a message can never be used, if it cannot."""
        word = ArrivalWord
        if layout.twice:
            u.defect, u.defect_a, u.defect_b = word.TWICE, u.source, 0.0
            return
        for defect, values, optional in ((word.POSITIONS, position, False),
                                         (word.VELOCITIES, velocity, True),
                                         (word.EFFORTS, effort, True)):
            if len(values) != layout.count and (len(values) or not optional):
                u.defect, u.defect_a, u.defect_b = defect, len(values), layout.count
                return

    def _ignore(self, names: tuple[str, ...]) -> None:
        """Remember a list of names that has none of our joints."""
        if len(self._foreign) >= _FOREIGN:
            del self._foreign[next(iter(self._foreign))]
        self._foreign[names] = None

    def _free_place(self, steady: float) -> int | None:
        """Return a place that is free, or that of the kind that was silent longest."""
        if None in self._places:
            return self._places.index(None)
        longest = min(range(SOURCES), key=lambda k: self._heard[k])
        return longest if steady - self._heard[longest] > self._silence else None

    def _settle(self, layout: _Layout, place: int) -> None:
        before = self._places[place]
        if before is not None:
            del self._place_of[before.names]
        self._places[place], self._place_of[layout.names] = layout, place

    def _announce_unknown(self, names: tuple[str, ...]) -> None:
        """Announce joints that the model does not have, unless a sender keeps inventing names."""
        if names in self._seen:
            return
        if len(self._seen) < _FOREIGN:
            self._seen.add(names)
        extra = [name for name in names if name not in self._known]
        text = f'joints not in the model are ignored: {short_list(extra)}'
        if not extra or text in self._announced or len(self._announced) > _LISTS:
            return
        if len(self._announced) == _LISTS:
            text = ('joint_states keeps bringing new names that are not in the model; further '
                    'ones are not logged')
        self._announced.add(text)
        self.notices.append(text)


def fill_structure(structure: Structure, joints: Joints, settings: Settings) -> Intake:
    """
    Say which joints are which, and return what reads messages about them.

    :param structure: gets which joints are which.
    :param joints: get the positions of joints that nobody publishes.
    :param settings: valid set, of the robot.
    """
    robot, model = settings.robot, settings.robot.model
    names = model.independent_joint_names
    fixed = {**robot.fixed, **{name: x for name, x in zip(names, robot.assembly)
                               if name not in robot.joints}}
    followers = () if model.coupling is None else tuple(
        model.joint_names[i - 1] for i in model.coupling.followers)
    endless = {name for name, is_endless in zip(robot.joints, robot.continuous) if is_endless}
    structure.index[:] = [names.index(name) for name in robot.joints]
    for j, name in enumerate(names):
        structure.controlled[j] = name in robot.joints
        structure.measured[j] = name not in fixed
        structure.continuous[j] = name in endless
        if name in fixed:
            joints.q[j] = fixed[name]
    silence = max(settings.number('state_timeout'), settings.number('prescribed_timeout'))
    return Intake(names, robot.joints, fixed=tuple(fixed), followers=followers, silence=silence)
