# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Joint states from bytes to events: names against dictionaries, in Python and machine code."""

from collections import Counter

from codec_oracle import joint_state
from guarded_bytes import GuardedBytes
import numpy as np
import pytest
from rbd_ros.compiler.procedure import bind
from rbd_ros.control.interface.events import Event, NOBODY
from rbd_ros.control.interface.words import ArrivalWord
from rbd_ros.control.joint_states.forms import MOST_NAMES, ROOM
from rbd_ros.control.joint_states.intake import _read, Intake

JOINTS = ('a', 'ab', 'élan', 'shoulder_pan_joint', 'shoulder_pan_join', 'f')
FIXED = ('f',)
OTHERS = ('', 'x', 'finger_joint', 'shoulder_pan_joint2')
SIZES = {'n': 2, 'm': len(JOINTS)}
SILENCE = 1.0


class Oracle:
    """The same with tuples and dictionaries."""

    def __init__(self):
        self.places, self.heard = [None] * 8, [0.0] * 8

    def read(self, steady, names, q, qd, effort):
        """Return source, renewal, defect, joints with their ranks, and the numbers by joint."""
        index = {name: j for j, name in enumerate(JOINTS) if name not in FIXED}
        ours = [(k, index[name]) for k, name in enumerate(names) if name in index]
        if not ours:
            return NOBODY, 0, 0, {}, None
        renewed = names not in self.places
        if renewed:
            free = [k for k in range(8) if self.places[k] is None] or [
                k for k in np.argsort(self.heard, kind='stable')[:1]
                if steady - self.heard[k] > SILENCE]
            if not free:
                return NOBODY, 0, ArrivalWord.TOO_MANY_KINDS, {}, None
            self.places[free[0]] = names
        place = self.places.index(names)
        self.heard[place] = steady
        rank = {j: k for k, j in ours}
        wrong = [word for word, values, needed in (
            (ArrivalWord.POSITIONS, q, True), (ArrivalWord.VELOCITIES, qd, False),
            (ArrivalWord.EFFORTS, effort, False))
            if len(values) != len(names) and (needed or len(values))]
        if max(Counter(j for _, j in ours).values()) > 1:
            wrong.insert(0, ArrivalWord.TWICE)
        numbers = [{j: values[k] for j, k in rank.items()} if len(values) else {}
                   for values in (q, qd, effort)] if not wrong else None
        return place, int(renewed), wrong[0] if wrong else 0, rank, numbers


class Reader:
    """
    An intake and its event.

    :param backend: of its procedure.
    """

    def __init__(self, backend):
        self.u = Event(SIZES)
        self.intake = Intake(JOINTS, JOINTS[:2], fixed=FIXED, silence=SILENCE)
        self.run = self.intake.bound(self.u, backend)

    def read(self, steady, data):
        """Return what the oracle does."""
        u = self.u
        u.steady = steady
        assert self.intake.load(data) and self.run()
        rank = {j: int(u.rank[j]) for j in range(len(JOINTS)) if u.present[j]}
        has = [True, bool(u.velocities), bool(u.efforts)]
        numbers = [{j: values[j] for j in rank} if given else {}
                   for values, given in zip((u.q, u.qd, u.effort), has)]
        good = u.source >= 0 and not u.defect
        return int(u.source), int(u.renewed), int(u.defect), rank, numbers if good else None


def any_state(rng, known):
    """Return names and numbers of a message, often of a kind that came before."""
    if known and rng.random() < 0.8:
        names = known[rng.integers(len(known))]
    else:
        count = rng.integers(0, 8)
        names = tuple(rng.choice([*JOINTS, *OTHERS], count, replace=bool(rng.random() < 0.2)))
        known.append(names)
    sizes = [len(names) if rng.random() < 0.9 else rng.integers(0, 9),
             *[rng.choice([0, len(names)]) if rng.random() < 0.9 else rng.integers(0, 9)
               for _ in range(2)]]
    return tuple(map(str, names)), [rng.normal(size=size).tolist() for size in sizes]


@pytest.mark.parametrize('backend', ['python', 'llvm'])
def test_events_are_what_dictionaries_say(backend):
    """Partial states, any order, strangers, doubles, wrong lengths, a ninth kind, silent kinds."""
    rng, oracle, reader = np.random.default_rng(3), Oracle(), Reader(backend)
    known, steady, seen = [], 1.0, Counter()
    for _ in range(1500):
        steady += float(rng.choice([0.001, 0.001, 0.3]))
        names, values = any_state(rng, known)
        data = joint_state(names, *values, frame=str(rng.choice(['', 'base'])),
                           padding=int(rng.choice([0, 0, 7])))
        wanted = oracle.read(steady, names, *values)
        assert reader.read(steady, data) == wanted
        if wanted[0] >= 0:
            assert reader.intake.names(wanted[0]) == names
        seen[wanted[1:3]] += 1
        seen['foreign'] += wanted[0] == NOBODY and not wanted[2]
    assert {word for key in seen if key != 'foreign' for word in key[1:]} == {
        0, ArrivalWord.TWICE, ArrivalWord.POSITIONS, ArrivalWord.VELOCITIES, ArrivalWord.EFFORTS,
        ArrivalWord.TOO_MANY_KINDS}
    assert seen[1, 0] > 8 and seen['foreign'] > 20 and seen[0, 0] > 300


def test_a_name_is_no_longer_than_its_letters():
    """A zero byte inside a name is no text: the middleware's own reader is asked."""
    reader = Reader('llvm')
    assert reader.intake.load(joint_state(['a\0b'], [1.0], [], []))
    assert not reader.run()


@pytest.mark.parametrize('count, size, readable', [
    (MOST_NAMES, 9, True), (MOST_NAMES + 1, 9, False), (200, 68, True), (200, 100, False)])
def test_as_many_names_as_there_is_room_for(count, size, readable):
    """More are not read, unless they are all of others; what is kept of others is not touched."""
    names = [f'{k}'.rjust(size, '_') for k in range(count - 1)]
    assert (count * (size + 5) < ROOM) or not readable or count == 200
    reader = Reader('llvm')
    for those, wanted in (([*names, 'a'], readable), ([*names, 'x'], True)):
        assert reader.intake.load(joint_state(those, [0.5] * count, [], []))
        assert reader.run() is wanted
        assert (reader.u.source >= 0) is (wanted and 'a' in those)
    assert not reader.intake.letters.kept[ROOM:].any()


def test_spoiled_messages_read_nothing_outside():
    """Bytes changed at random between forbidden pages; Python finds the same."""
    rng, plain = np.random.default_rng(5), Reader('python')
    good = joint_state(['a', 'x', 'élan'], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [])
    plain.read(1.0, good)
    for _ in range(60):
        data = bytearray(good)
        for _ in range(rng.integers(1, 5)):
            data[rng.integers(4, len(data))] = rng.choice([0, 1, 2, 127, 128, 255])
        data = bytes(data[:rng.integers(0, len(data) + 1)]) if rng.random() < 0.5 else bytes(data)
        native, guarded, found = Reader('python'), GuardedBytes(data), np.zeros(1)
        native.intake.parts.size = len(data)
        bind(_read, guarded.array, native.intake.parts, native.intake.letters, native.u, found,
             backend='llvm')()
        guarded.release()
        other = Reader('python')
        other.intake.load(data)
        assert other.run() == bool(found[0])
        np.testing.assert_array_equal(other.u.memory, native.u.memory)
