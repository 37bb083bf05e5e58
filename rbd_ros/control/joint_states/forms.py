# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
From the bytes of a joint state to an event, as procedures.

Messages may carry some joints each, in any order, with extra ones. Each list of names that has
joints of the robot is a kind of message with a place of its own in the state. There are few
places: one kind more takes that of a kind that is silent, or is refused. A kind is recognised by
the bytes of its names, which are compared with those of its last message at once; names are looked
up for a kind that is new.
"""

from __future__ import annotations

from typing import NamedTuple

from rbd_ros.compiler.language.octets import Bytes, get_f64, get_u32, get_u8, put_u8
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import Event, Kind, NOBODY
from rbd_ros.control.interface.words import ArrivalWord
from rbd_ros.control.joint_states.sources import SOURCES
from rbd_ros.wire.joint_state import (
    aligned, find_head, find_numbers, names_end, Parts, same_bytes)

__all__ = ['find_form', 'Forms', 'Letters', 'MOST_NAMES', 'read_state', 'ROOM', 'UNREADABLE']

#: names that a message with joints of the robot may have, and bytes that they may take
MOST_NAMES, ROOM = 512, 16384

#: in the place of a kind: the message cannot be read
UNREADABLE = -2


class Forms(Record):
    """The kinds of messages, and the names of the joints."""

    last: float = field('', '', 'place of the last message', NOBODY)
    news: float = field('', '', '1 if the names of the last message may have to be announced')
    silence: float = field('', 's', 'after which a kind may lose its place')
    used: Vector = field('s', '', '1 where there is a kind')
    heard: Vector = field('s', 's', 'steady time of the last message of each kind')
    told: Vector = field('s', '', '1 where the names have been announced')
    twice: Vector = field('s', '', '1 where a joint of the robot stands twice')
    names: Vector = field('s', '', 'number of names')
    length: Vector = field('s', 'bytes', 'that they take')
    big: Vector = field('s', '', 'order of bytes of their lengths')
    joint: Matrix = field(f'{SOURCES + 1} {MOST_NAMES}', '', 'place in the model of each name, or '
                          '-1; the last row is of a message that is being read')
    row_at: Vector = field('t', '', 'where the name of each joint begins in the table')
    row_size: Vector = field('t', 'bytes', 'of that name')
    row_joint: Vector = field('t', '', 'place of that joint in the model')


class Letters(NamedTuple):
    """What is known of names: numbers, names in messages of each kind, names of the joints."""

    forms: Forms
    kept: Bytes
    table: Bytes


def read_state(data: Bytes, parts: Parts, known: Letters, u: Event) -> bool:
    """
    Fill an event from a message; False if that is not a plain joint state.

    :param data: the message.
    :param parts: has its size, and gets where its parts are.
    :param known: kinds of messages.
    :param u: event, whose times are filled.
    """
    known.forms.news = 1.0
    place = find_form(data, parts, known)
    if place == UNREADABLE or not find_numbers(data, parts):
        return False
    u.kind, u.source, u.renewed, u.defect = Kind.STATE, NOBODY, 0.0, 0.0
    u.stamp_s, u.stamp_ns = parts.stamp_s, parts.stamp_ns
    u.velocities = 1.0 if parts.velocities > 0.0 else 0.0
    u.efforts = 1.0 if parts.efforts > 0.0 else 0.0
    for j in range(len(u.present)):
        u.present[j] = 0.0
    if place == NOBODY:
        place = _learn(data, parts, known, u)
        if place == UNREADABLE:
            return False
    if place != NOBODY:
        known.forms.last, known.forms.heard[place] = place, u.steady
        known.forms.news = 1.0 - known.forms.told[place]
        u.source = place
        _fill(data, parts, known.forms, u, place)
    return True


def find_form(data: Bytes, parts: Parts, known: Letters) -> int:
    """
    Return the place of the kind of a message; ``NOBODY``: it has none, or ``UNREADABLE``.

    :param data: the message.
    :param parts: has its size, and gets where its names are.
    :param known: kinds of messages.
    """
    if not find_head(data, int(parts.size), parts):
        return UNREADABLE
    last = int(known.forms.last)
    if 0 <= last and _is_repeated(data, parts, known, last):
        return last
    for place in range(SOURCES):
        if _is_repeated(data, parts, known, place):
            return place
    end = names_end(data, parts)
    if end < 0:
        return UNREADABLE
    parts.names_end = end
    for place in range(SOURCES):
        if _has_names(data, parts, known, place):
            _keep(data, parts, known, place)  # with its padding, which the next one may have too
            return place
    return NOBODY


def _is_repeated(data: Bytes, parts: Parts, known: Letters, place: int) -> bool:
    """Return whether the names are byte for byte those of the last message of a kind."""
    first, length = int(parts.names_at), int(known.forms.length[place])
    if known.forms.used[place] == 0.0 or known.forms.names[place] != parts.names:
        return False
    if known.forms.big[place] != parts.big or first + length > parts.size:
        return False
    parts.names_end = first + length
    return same_bytes(data, first, known.kept, ROOM * place, length)


def _has_names(data: Bytes, parts: Parts, known: Letters, place: int) -> bool:
    """Return whether the names are those of a kind, whatever stands between them."""
    i, j = int(parts.names_at), ROOM * place
    if known.forms.used[place] == 0.0 or known.forms.names[place] != parts.names:
        return False
    for _ in range(int(parts.names)):
        i, j = aligned(i, 4), aligned(j, 4)
        size = get_u32(data, i, int(parts.big))
        if size != get_u32(known.kept, j, int(known.forms.big[place])) or not same_bytes(
                data, i + 4, known.kept, j + 4, size):
            return False
        i, j = i + 4 + size, j + 4 + size
    return True


def _keep(data: Bytes, parts: Parts, known: Letters, place: int) -> None:
    """Keep the bytes of the names."""
    first = int(parts.names_at)
    length = int(parts.names_end) - first
    for k in range(length):
        put_u8(known.kept, ROOM * place + k, get_u8(data, first + k))
    known.forms.length[place], known.forms.big[place] = length, parts.big


# -- a new kind of message ------------------------------------------------------------------------

def _learn(data: Bytes, parts: Parts, known: Letters, u: Event) -> int:
    """Give a new kind of message a place; ``NOBODY``: it has no joint of the robot, or none."""
    ours = _look_up(data, parts, known)
    if ours < 0 or ours > 0 and (
            parts.names > MOST_NAMES or parts.names_end - parts.names_at > ROOM):
        return UNREADABLE
    if ours == 0:
        return NOBODY
    place = _free_place(known.forms, u.steady)
    if place == NOBODY:
        u.defect, u.defect_a, u.defect_b = ArrivalWord.TOO_MANY_KINDS, SOURCES, 0.0
        return NOBODY
    u.renewed = 1.0
    known.forms.used[place], known.forms.told[place] = 1.0, 0.0
    known.forms.names[place] = parts.names
    for k in range(int(parts.names)):
        known.forms.joint[place, k] = known.forms.joint[SOURCES, k]
    known.forms.twice[place] = 1.0 if _is_any_twice(known.forms, place) else 0.0
    _keep(data, parts, known, place)
    return place


def _look_up(data: Bytes, parts: Parts, known: Letters) -> int:
    """Find the joint of each name; return how many have one, -1 if a name is no text."""
    at, ours = int(parts.names_at), 0
    for k in range(int(parts.names)):
        at = aligned(at, 4)
        size = get_u32(data, at, int(parts.big)) - 1
        for letter in range(size):
            if get_u8(data, at + 4 + letter) == 0:
                return -1
        j = _joint_of(data, at + 4, size, known)
        if j >= 0:
            ours += 1
        if k < MOST_NAMES:
            known.forms.joint[SOURCES, k] = j
        at += size + 5
    return ours


def _joint_of(data: Bytes, at: int, size: int, known: Letters) -> int:
    """Return the place in the model of a name, or -1."""
    for k in range(len(known.forms.row_at)):
        if known.forms.row_size[k] == size and same_bytes(
                data, at, known.table, int(known.forms.row_at[k]), size):
            return int(known.forms.row_joint[k])
    return NOBODY


def _free_place(forms: Forms, steady: float) -> int:
    """Return a place that is free, or that of the kind that was silent longest."""
    longest = 0
    for place in range(SOURCES):
        if forms.used[place] == 0.0:
            return place
        if forms.heard[place] < forms.heard[longest]:
            longest = place
    return longest if steady - forms.heard[longest] > forms.silence else NOBODY


def _is_any_twice(forms: Forms, place: int) -> bool:
    """Return whether a joint of the robot stands twice in the messages of a kind."""
    for k in range(int(forms.names[place])):
        for other in range(k):
            if forms.joint[place, k] >= 0.0 and forms.joint[place, k] == forms.joint[place, other]:
                return True
    return False


# -- the event ------------------------------------------------------------------------------------

def _fill(data: Bytes, parts: Parts, forms: Forms, u: Event, place: int) -> None:
    """Fill what a message says of the joints, unless it can never be used."""
    count = int(parts.names)
    for k in range(count):
        j = int(forms.joint[place, k])
        if j >= 0:
            u.present[j], u.rank[j] = 1.0, k
    _check(parts, forms, u, place)
    if u.defect != 0.0:
        return
    _copy(data, int(parts.positions_at), int(parts.big), forms, place, count, u.q)
    if parts.velocities > 0.0:
        _copy(data, int(parts.velocities_at), int(parts.big), forms, place, count, u.qd)
    if parts.efforts > 0.0:
        _copy(data, int(parts.efforts_at), int(parts.big), forms, place, count, u.effort)


def _check(parts: Parts, forms: Forms, u: Event, place: int) -> None:
    """Record why a message can never be used, if it cannot."""
    names = parts.names
    if forms.twice[place] > 0.0:
        _refuse(u, ArrivalWord.TWICE, place, 0.0)
    elif parts.positions != names:
        _refuse(u, ArrivalWord.POSITIONS, parts.positions, names)
    elif parts.velocities != names and parts.velocities != 0.0:
        _refuse(u, ArrivalWord.VELOCITIES, parts.velocities, names)
    elif parts.efforts != names and parts.efforts != 0.0:
        _refuse(u, ArrivalWord.EFFORTS, parts.efforts, names)


def _refuse(u: Event, word: int, a: float, b: float) -> None:
    u.defect, u.defect_a, u.defect_b = word, a, b


def _copy(data: Bytes, at: int, big: int, forms: Forms, place: int, count: int,
          target: Vector) -> None:
    """Copy numbers to their joints."""
    for k in range(count):
        j = int(forms.joint[place, k])
        if j >= 0:
            target[j] = get_f64(data, at + 8 * k, big)
