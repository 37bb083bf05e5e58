# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Messages of joint states on their way into the step: their bytes, and what is said of their names.

How they are read is in :mod:`.forms`; here are the names as texts, for people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
import struct

import numpy as np
import numpy.typing as npt

from rbd_ros.compiler import procedure
from rbd_ros.compiler.language.octets import Bytes
from rbd_ros.compiler.procedure import Vector
from rbd_ros.control.interface.events import Event, Joints, Structure
from rbd_ros.control.joint_states.forms import Forms, Letters, MOST_NAMES, read_state, ROOM
from rbd_ros.control.joint_states.sources import SOURCES
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.throttle import short_list
from rbd_ros.errors import ModelError, nearest, UnknownName
from rbd_ros.wire.joint_state import Parts
from rbd_ros.wire.messages import joint_state
from rbd_ros.wire.reading import MOST_BYTES, strings_in

__all__ = ['fill_structure', 'Intake']

Array = npt.NDArray[np.float64]
Values = Array | Sequence[float]

_SIZE = Parts.single_place('size')

#: lists of foreign names remembered; a publisher that invents names must not fill the memory
_FOREIGN = 64

#: lists of unknown joints that are announced since an activation
_LISTS = 8


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
        self._known = {*joints, *followers}
        measured = [name for name in joints if name not in fixed]
        self._wanted = set(measured)
        forms, table = _table(measured, self.joints)
        forms.silence = silence
        #: what procedures know of names
        self.letters = Letters(forms, np.zeros(SOURCES * ROOM, np.uint8), table)
        self._forms = forms
        #: the last message, and where its parts are
        self.message: Bytes = np.zeros(MOST_BYTES, np.uint8)
        self.parts = Parts({})
        self._bytes, self._numbers = memoryview(self.message), self.parts.singles
        self._reader: tuple[Event, Callable[[], bool]] | None = None
        #: names of the last kind of message for which there was no place
        self.refused: tuple[str, ...] = ()
        #: what was wrong with the last message that could not be read
        self.unreadable = ''
        #: texts that wait to be announced
        self.notices: list[str] = []
        self.restart()

    def restart(self) -> None:
        """Let everything be announced once more; kinds of messages keep their places."""
        self._forms.told[:] = 0.0
        self._announced: set[str] = set()
        self._seen: set[int] = set()  # lists of names, by their bytes

    def names(self, source: float) -> tuple[str, ...]:
        """
        Return the names in messages of a kind.

        :param source: its place.
        """
        forms, k = self._forms, int(source)
        kept = bytes(self.letters.kept[ROOM * k:ROOM * (k + 1)])
        try:
            return tuple(strings_in(kept, 0, int(forms.names[k]), forms.big[k]))
        except struct.error:  # asked by another thread while the place is given to another kind
            return ()

    def twice(self, source: float) -> list[str]:
        """
        Return the names that stand twice in messages of a kind.

        :param source: its place.
        """
        times = Counter(name for name in self.names(source) if name in self._wanted)
        return sorted(name for name, count in times.items() if count > 1)

    def load(self, data: bytes) -> bool:
        """
        Put a message where it is read from; False if there is no room for it.

        :param data: serialized sensor_msgs/JointState.
        """
        size = len(data)
        if size > MOST_BYTES:
            return False
        self._bytes[:size] = data
        self._numbers[_SIZE] = size
        return True

    def bound(self, u: Event, backend: str) -> Callable[[], bool]:
        """
        Return a call that reads the loaded message; it returns False if that is no joint state.

        :param u: event that is filled.
        :param backend: see :func:`rbd_ros.compiler.procedure.bind`.
        """
        found = np.zeros(1)
        run = procedure.bind(_read, self.message, self.parts, self.letters, u, found,
                             backend=backend)

        def read() -> bool:
            run()
            return bool(found[0])
        return read

    def read(self, u: Event, names: Sequence[str], position: Values, velocity: Values = (),
             effort: Values = (), stamp: tuple[int, int] = (0, 0)) -> None:
        """
        Fill an event; its times are filled by the caller, before.

        :param names: names of the joints.
        :param position: positions, as many as names.
        :param velocity: as many, or none.
        :param effort: as many, or none.
        :param stamp: ``header.stamp``, s and ns.
        """
        self.load(joint_state(tuple(names), position, velocity, effort, stamp))
        if self._reader is None or self._reader[0] is not u:
            self._reader = u, self.bound(u, 'python')
        self._reader[1]()
        self.look(u)

    def look(self, u: Event) -> None:
        """
        Announce the names of the message that was read, if they are new.

        :param u: event that was filled.
        """
        parts = self.parts
        if u.source >= 0:
            self._forms.told[int(u.source)] = 1.0
        if parts.names > MOST_NAMES:
            return
        self._hear(int(u.source), u.defect, int(parts.names), parts.big,
                   bytes(self._bytes[int(parts.names_at):int(parts.names_end)]))

    def learn(self, place: int, defect: float, count: int, big: float, letters: bytes) -> None:
        """
        Take the names of a message that another one has read, who keeps the kinds of messages.

        :param place: of its kind; below 0: it has none.
        :param defect: a word if it can never be used, else 0.
        :param count: number of names.
        :param big: order of bytes of their lengths.
        :param letters: the names as they stand in the message.
        """
        if count > MOST_NAMES:
            return
        if 0 <= place and len(letters) <= ROOM:
            self.letters.kept[ROOM * place:ROOM * place + len(letters)] = np.frombuffer(
                letters, np.uint8)
            self._forms.names[place], self._forms.big[place] = count, big
        self._hear(place, defect, count, big, letters)

    # -- inside -------------------------------------------------------------------------------

    def _hear(self, place: int, defect: float, count: int, big: float, letters: bytes) -> None:
        """Announce names, if they are new."""
        if place < 0 and defect:
            self.refused = tuple(strings_in(letters, 0, count, big))
        # Reading names takes long: a list that was seen is known by its bytes.
        seen = hash(letters)
        if seen in self._seen or len(self._announced) > _LISTS:
            return
        if len(self._seen) < _FOREIGN:
            self._seen.add(seen)
        self._announce_unknown(tuple(strings_in(letters, 0, count, big)))

    def _announce_unknown(self, names: tuple[str, ...]) -> None:
        """Announce joints that the model does not have, unless a sender keeps inventing names."""
        extra = [name for name in names if name not in self._known]
        text = f'joints not in the model are ignored: {short_list(extra)}'
        if extra:
            text += nearest(extra[0], [name for name in self._known if name not in names])
        if not extra or text in self._announced or len(self._announced) > _LISTS:
            return
        if len(self._announced) == _LISTS:
            text = ('joint_states keeps bringing new names that are not in the model; further '
                    'ones are not logged')
        self._announced.add(text)
        self.notices.append(text)


def _read(data: Bytes, parts: Parts, letters: Letters, u: Event, found: Vector) -> None:
    """Read a message, for a caller in Python."""
    found[0] = 1.0 if read_state(data, parts, letters, u) else 0.0


def _table(measured: Sequence[str], joints: Sequence[str]) -> tuple[Forms, Bytes]:
    """Return the names of joints as bytes, and where they are."""
    forms = Forms({'s': SOURCES, 't': len(measured)})
    encoded = [name.encode('utf-8', 'replace') for name in measured]
    sizes = [len(each) for each in encoded]
    forms.row_size[:], forms.row_at[1:] = sizes, np.cumsum(sizes)[:-1]
    forms.row_joint[:] = [joints.index(name) for name in measured]
    return forms, np.frombuffer(b''.join(encoded), np.uint8).copy()


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
    return Intake(robot.spoken(names), robot.joints, fixed=tuple(fixed), followers=followers,
                  silence=silence)
