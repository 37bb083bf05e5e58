# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Pieces of trajectories: polynomials of fifth degree in a ring that is filled ahead.

A trajectory of any length reaches the step as pieces in a ring of fixed size. Every piece has the
number of its trajectory and a serial number that never comes again; its slot is that modulo the
size. A slot that holds anything else is empty for the trajectory in use, so that pieces of an old
and a new trajectory never mix. ``feeder.Feeder`` writes the ring, the step only reads it. A stop
is one piece that the step makes itself, in the state.
"""

from __future__ import annotations

import enum
import math

from rbd_ros.compiler.language.whole import finite
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import NEVER

__all__ = ['Halt', 'join_late', 'make_stop', 'Path', 'PathKind', 'PIECES', 'Ring', 'sample',
           'Sampled', 'slot_of', 'valid_header']

#: pieces in the ring
PIECES = 64

#: s ahead, at least, at which a trajectory that was taken late is joined, and how many times as
#: late as it was: the reference need not hurry
_JOIN, _JOIN_TIMES = 0.1, 5.0

#: rad or m, /s, /s^2 between states that are the same
_SAME = 1e-9

#: serial numbers beyond which not every integer is a number
_MOST_PIECES = 9e15


class Ring(Record):
    """Pieces ahead, and the trajectory to which the newest of them belong."""

    number: float = field('', '', 'of the newest trajectory')
    first: float = field('', '', 'serial number of its first piece')
    pieces: float = field('', '', 'how many it has')
    start: float = field('', 's', 'control time at which it begins')
    end: float = field('', 's', 'control time at which it ends')
    goal: float = field('', '', 'number of its goal; 0: none')
    goal_time: float = field('', 's', 'after the end within which the goal must be reached')
    window: float = field('', '', '1 for a part of a stream of trajectories, which is joined '
                                  'smoothly')
    shifts: bool = field('', '', 'whether it begins when it is taken over, however late that is')
    of: Vector = field(f'{PIECES}', '', 'number of the trajectory of each piece')
    serial: Vector = field(f'{PIECES}', '', 'serial number of each piece', -1.0)
    begin: Vector = field(f'{PIECES}', 's', 'control time at which each piece begins')
    until: Vector = field(f'{PIECES}', 's', 'control time at which each piece ends')
    final: Vector = field('n', 'rad or m', 'position at the end, held from then on')
    held: Vector = field('n', '', '1 for joints that are held there from the start on')
    path: Matrix = field('3 n', 'rad or m, /s, /s^2', 'tolerances of the goal on its way')
    tolerance: Matrix = field('3 n', 'rad or m, /s, /s^2', 'tolerances of the goal at its end')
    coefficients: Matrix = field(f'{6 * PIECES} n', '', 'of 1, s, s^2 ... s^5; six rows a piece')


class PathKind(enum.IntEnum):
    """What the target of the reference comes from."""

    NONE = 0  # it stands
    STOP = 1  # the piece of the state
    RING = 2


class Halt(enum.IntEnum):
    """Whether a trajectory comes to rest on its way."""

    NONE = 0
    PAUSE = 1  # until it is resumed
    END = 2  # it is over once it rests


class Path(Record):
    """The trajectory in use."""

    kind: float = field('', '', 'what the target comes from, see PathKind')
    number: float = field('', '', 'of the trajectory in the ring')
    first: float = field('', '', 'serial number of its first piece')
    last: float = field('', '', 'serial number after that of its last piece')
    piece: float = field('', '', 'serial number of the piece in use')
    begin: float = field('', 's', 'control time at which the stop begins', NEVER)
    end: float = field('', 's', 'control time of the end', NEVER)
    joined: float = field('', 's', 'time of the trajectory until which the piece counts that '
                                   'joins it to the reference', NEVER)
    joins: float = field('', 's', 'time of the trajectory at which that begins', NEVER)
    late: float = field('', 's', 'by which it is behind its times, because it is slowed down or '
                                 'was taken over late')
    rate: float = field('', '', 'share of its speed at which it is followed', 1.0)
    bend: float = field('', '1/s', 'by which that changes')
    halt: float = field('', '', 'whether it comes to rest on its way, see Halt')
    final: Vector = field('n', 'rad or m', 'position at the end')
    given: Matrix = field('2 n', 'rad/s or m/s, /s^2', 'velocity and acceleration that it has at '
                                                       'its own speed')
    held: Vector = field('n', '', '1 for joints that are held there from the start on')
    join: Matrix = field('6 n', '', 'coefficients of the piece that joins')
    stop: Matrix = field('6 n', '', 'coefficients of the piece that stops')


class Sampled(enum.IntEnum):
    """What the trajectory gave."""

    MOVING = 0
    ENDED = 1  # the last position, at rest
    DRY = 2  # nothing: the piece has not come in time


def slot_of(serial: float, size: int) -> int:
    """
    Return the place of a serial number in a ring.

    :param serial: a whole number, not negative.
    :param size: of the ring.
    """
    return int(serial - size * math.floor(serial / size))


def valid_header(ring: Ring) -> bool:
    """Return whether the newest trajectory can be taken over; never with numbers that are none."""
    if not (0.0 <= ring.first <= _MOST_PIECES and 1.0 <= ring.pieces <= _MOST_PIECES
            and math.floor(ring.first) == ring.first and math.floor(ring.pieces) == ring.pieces):
        return False
    if not (math.isfinite(ring.start) and math.isfinite(ring.end)
            and math.isfinite(ring.number) and math.isfinite(ring.goal)):
        return False
    return all(finite(ring.final))


def sample(path: Path, ring: Ring, now: float, target: Matrix) -> int:
    """
    Evaluate position, velocity and acceleration of the trajectory.

    :param path: the trajectory.
    :param target: receives them, 3 x n; no meaning if the ring is dry.
    :returns: what they are, see ``Sampled``.
    """
    if now >= path.end:
        target[0] = path.final
        target[1] = target[2] = 0.0
        return Sampled.ENDED
    if path.kind == PathKind.STOP:
        finite = _evaluate(path.stop, 0, max(now - path.begin, 0.0), target, len(path.final))
        return Sampled.MOVING if finite else Sampled.DRY
    k = _find(path, ring, now)
    if k < 0:
        return Sampled.DRY
    if now < path.joined:
        finite = _evaluate(path.join, 0, max(now - path.joins, 0.0), target, len(path.final))
    else:
        finite = _evaluate(ring.coefficients, 6 * k, max(now - ring.begin[k], 0.0), target,
                           len(path.final))
    for j in range(len(path.final)):
        if path.held[j] > 0.0:
            target[0, j], target[1, j], target[2, j] = path.final[j], 0.0, 0.0
    return Sampled.MOVING if finite else Sampled.DRY


def join_late(path: Path, ring: Ring, state: Matrix, time: float, now: float) -> None:
    """
    Let a trajectory begin where the reference is, if that has moved on since it was made.

    It was made from the reference of some time ago. From where this is now, one polynomial leads
    to the end of a piece not far ahead. A part of a stream is joined in that way, too: its next
    point may be so near that a small error would need a large acceleration. One that begins when
    it is taken over runs through all of its pieces, later than it was made for: from a reference
    that has rested meanwhile it needs no other beginning.

    :param path: the trajectory, which was just taken over.
    :param state: reference position, velocity and acceleration, 3 x n.
    :param time: control time of these, s.
    """
    path.joined = NEVER
    begin = ring.begin[slot_of(path.first, PIECES)]
    if ring.shifts and now > ring.start:
        path.late = now - ring.start
        if _begins_at(path, ring, state):
            return
    late = time - begin
    time, now = time - path.late, now - path.late
    if not late > 0.0 and not ring.window > 0.0:
        return
    ahead = max(_JOIN, _JOIN_TIMES * late)
    k = _find(path, ring, now)
    if k < 0:
        return
    serial = path.piece
    for _ in range(PIECES):
        following = slot_of(serial + 1.0, PIECES)
        if (ring.until[k] >= now + ahead or ring.of[following] != path.number
                or ring.serial[following] != serial + 1.0):
            break
        serial, k = serial + 1.0, following
    h = ring.until[k] - time
    if not h > 0.0:
        return
    for j in range(len(path.final)):
        if not _join(path, j, h, state, ring.coefficients, 6 * k, ring.until[k] - ring.begin[k]):
            return
    path.joins, path.joined = time, ring.until[k]


def _begins_at(path: Path, ring: Ring, state: Matrix) -> bool:
    """Return whether the first piece begins with a state."""
    row = 6 * slot_of(path.first, PIECES)
    for j in range(len(path.final)):
        c0, c1, c2 = (ring.coefficients[row, j], ring.coefficients[row + 1, j],
                      ring.coefficients[row + 2, j])
        if not (abs(c0 - state[0, j]) <= _SAME and abs(c1 - state[1, j]) <= _SAME
                and abs(2.0 * c2 - state[2, j]) <= _SAME):
            return False
    return True


def _join(path: Path, j: int, h: float, state: Matrix, c: Matrix, row: int, s: float) -> bool:
    """Make the polynomial of a joint from a state to the end of a piece; False: there is none."""
    q, qd, qdd = state[0, j], state[1, j], state[2, j]
    c1, c2, c3, c4, c5 = c[row + 1, j], c[row + 2, j], c[row + 3, j], c[row + 4, j], c[row + 5, j]
    way = c[row, j] + s * (c1 + s * (c2 + s * (c3 + s * (c4 + s * c5)))) - q
    h2 = h * h
    speed, bend = qd * h, qdd * h2
    other = h * (c1 + s * (2.0 * c2 + s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5))))
    late = h2 * (2.0 * c2 + s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5)))
    a3 = (20.0 * way - 12.0 * speed - 8.0 * other - 3.0 * bend + late) / (2.0 * h2 * h)
    a4 = (-30.0 * way + 16.0 * speed + 14.0 * other + 3.0 * bend - 2.0 * late) / (2.0 * h2 * h2)
    a5 = (12.0 * way - 6.0 * speed - 6.0 * other - bend + late) / (2.0 * h2 * h2 * h)
    if not (math.isfinite(a3) and math.isfinite(a4) and math.isfinite(a5)):
        return False
    path.join[0, j], path.join[1, j], path.join[2, j] = q, qd, 0.5 * qdd
    path.join[3, j], path.join[4, j], path.join[5, j] = a3, a4, a5
    return True


def _find(path: Path, ring: Ring, now: float) -> int:
    """Return the slot of the piece for now, which becomes the one in use; -1: it is not there."""
    serial = path.piece
    for _ in range(PIECES):
        k = slot_of(serial, PIECES)
        if ring.of[k] != path.number or ring.serial[k] != serial:
            return _search(path, ring, now)
        if now < ring.begin[k] and serial > path.first:
            serial -= 1.0
        elif now >= ring.until[k] and serial + 1.0 < path.last:
            serial += 1.0
        else:
            path.piece = serial
            return k
    return -1


def _search(path: Path, ring: Ring, now: float) -> int:
    """Return the slot of the piece for now, where the pieces before it were left out."""
    for k in range(PIECES):
        if (ring.of[k] == path.number and path.piece < ring.serial[k] < path.last
                and ring.begin[k] <= now < ring.until[k]):
            path.piece = ring.serial[k]
            return k
    return -1


def _evaluate(c: Matrix, row: int, s: float, target: Matrix, n: int) -> bool:
    """Take value, slope and curvature of n polynomials; return whether all are finite."""
    finite = True
    for j in range(n):
        c0, c1, c2 = c[row, j], c[row + 1, j], c[row + 2, j]
        c3, c4, c5 = c[row + 3, j], c[row + 4, j], c[row + 5, j]
        q = c0 + s * (c1 + s * (c2 + s * (c3 + s * (c4 + s * c5))))
        qd = c1 + s * (2.0 * c2 + s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5)))
        qdd = 2.0 * c2 + s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5))
        if not (math.isfinite(q) and math.isfinite(qd) and math.isfinite(qdd)):
            finite = False
        target[0, j], target[1, j], target[2, j] = q, qd, qdd
    return finite


def make_stop(path: Path, j: int, h: float, q: float, qd: float, qdd: float, end: float) -> bool:
    """
    Make the polynomial by which one joint comes to rest.

    :param path: receives its coefficients and the position at its end.
    :param j: number of the joint.
    :param h: s until it rests, positive.
    :param q: position before.
    :param qd: velocity before.
    :param qdd: acceleration before.
    :param end: position at rest.
    :returns: whether there is one: its coefficients are finite.
    """
    way, h2 = end - q, h * h
    h3 = h2 * h
    path.stop[0, j], path.stop[1, j], path.stop[2, j] = q, qd, 0.5 * qdd
    path.stop[3, j] = (20.0 * way - 12.0 * qd * h - 3.0 * qdd * h2) / (2.0 * h3)
    path.stop[4, j] = (-30.0 * way + 16.0 * qd * h + 3.0 * qdd * h2) / (2.0 * (h2 * h2))
    path.stop[5, j] = (12.0 * way - 6.0 * qd * h - qdd * h2) / (2.0 * (h3 * h2))
    path.final[j] = end
    finite = True
    for k in range(3, 6):
        if not math.isfinite(path.stop[k, j]):
            path.stop[k, j], finite = 0.0, False
    return finite
