# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Payloads and orientations of messages and parameters, checked and made into numbers."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np
import numpy.typing as npt

from rbd_ros.compiler.language.whole import dot, finite
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.words import LoadWord
from rbd_ros.errors import RbdError

__all__ = ['about_origin', 'Body', 'judge_body', 'payload_vector', 'PayloadError', 'rotation']

Array = npt.NDArray[np.float64]

#: what no payload has, kg, m and kg.m^2; far beyond, squares overflow
MOST_MASS, MOST_DISTANCE, MOST_INERTIA = 1e4, 100.0, 1e4


class PayloadError(RbdError, ValueError):
    """A payload that no rigid body can be; the message says why."""


class Body(Record):
    """A payload as it is given, in any frame fixed to the payload frame, and its ten numbers."""

    mass: float = field('', 'kg', 'of it')
    word: float = field('', '', 'what is wrong with it, see LoadWord; 0: nothing')
    a: float = field('', '', 'first number of the sentence')
    b: float = field('', '', 'second number')
    c: float = field('', '', 'third number')
    com: Vector = field('3', 'm', 'centre of mass in the given frame')
    inertia: Vector = field('6', 'kg.m^2', 'about the centre of mass, given axes: xx, xy, xz, yy, '
                                           'yz, zz')
    axes: Matrix = field('3 3', '', 'axes of the given frame as columns, in the payload frame')
    origin: Vector = field('3', 'm', 'its origin in the payload frame')
    numbers: Vector = field('10', 'kg, kg.m, kg.m^2', 'mass, first moment, inertia about the '
                                                      'origin of the payload frame')


def rotation(quaternion: Sequence[float]) -> Array:
    """
    Return the rotation matrix of a quaternion; its columns are the axes of the frame.

    :param quaternion: x, y, z, w; normalised here, refused if it is far from unit length.
    """
    x, y, z, w = quaternion
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    if not 0.9 < norm < 1.1:
        raise PayloadError(f'quaternion {tuple(quaternion)} has length {norm:.4g}, not 1')
    x, y, z, w = x / norm, y / norm, z / norm, w / norm
    return np.array([
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)]])


def payload_vector(mass: float, com: Sequence[float], inertia: Sequence[float],
                   R: Array | None = None, p: Sequence[float] = (0.0, 0.0, 0.0)) -> Array:
    """
    Return the ten numbers of a payload given in any frame fixed to the payload frame.

    :param mass: kg.
    :param com: centre of mass in the given frame, m.
    :param inertia: about the centre of mass, given axes: xx, xy, xz, yy, yz, zz, kg.m^2.
    :param R: axes of the given frame as columns, in the payload frame; None: the same axes.
    :param p: origin of the given frame in the payload frame, m.
    :raises PayloadError: for what no rigid body is.
    """
    body = Body({})
    body.mass, body.com[:], body.inertia[:], body.origin[:] = mass, com, inertia, p
    body.axes[:] = np.eye(3) if R is None else R
    judge_body(body.plain())
    if body.word:
        raise PayloadError(LoadWord(int(body.word)).text('', body.a, body.b, body.c))
    return body.numbers.copy()


def judge_body(x: Body) -> None:
    """
    Make the ten numbers of a payload, unless no rigid body is like that.

    :param x: payload; its ``word`` says what is wrong.
    """
    x.word, x.a, x.b, x.c = 0.0, 0.0, 0.0, 0.0
    if not _is_finite(x):
        x.word = LoadWord.BAD_PAYLOAD
    elif x.mass < 0.0:
        x.word, x.a = LoadWord.NEGATIVE_MASS, x.mass
    elif _is_within(x, x.mass, MOST_MASS, 0):
        for i in range(3):
            if not _is_within(x, x.com[i], MOST_DISTANCE, 1):
                return
        for i in range(6):
            if not _is_within(x, x.inertia[i], MOST_INERTIA, 2):
                return
        if _are_moments(x):
            _shift(x)


def _is_finite(x: Body) -> bool:
    """Return whether all that is given are numbers."""
    for i in range(3):
        if not all(finite(x.axes[i])):
            return False
    return (math.isfinite(x.mass) and all(finite(x.com)) and all(finite(x.origin))
            and all(finite(x.inertia)))


def _is_within(x: Body, value: float, most: float, which: int) -> bool:
    """Return whether a number can be that of a payload."""
    if abs(value) <= most:
        return True
    x.word, x.a, x.b, x.c = LoadWord.BEYOND, value, most, which
    return False


def _are_moments(x: Body) -> bool:
    """Return whether the principal moments, which are a, b and c here, are those of a body."""
    xx, xy, xz = x.inertia[0], x.inertia[1], x.inertia[2]
    yy, yz, zz = x.inertia[3], x.inertia[4], x.inertia[5]
    # roots of the characteristic polynomial, by angles a third of a turn apart
    mean = (xx + yy + zz) / 3.0
    u, v, w = xx - mean, yy - mean, zz - mean
    spread = math.sqrt((u * u + v * v + w * w + 2.0 * (xy * xy + xz * xz + yz * yz)) / 6.0)
    det = u * (v * w - yz * yz) - xy * (xy * w - yz * xz) + xz * (xy * yz - v * xz)
    cube = 2.0 * spread * spread * spread
    cosine = min(max(det / cube, -1.0), 1.0) if cube > 0.0 else 1.0
    angle = math.atan2(math.sqrt(1.0 - cosine * cosine), cosine) / 3.0
    x.c = mean + 2.0 * spread * math.cos(angle)
    x.a = mean + 2.0 * spread * math.cos(angle + 2.0 * math.pi / 3.0)
    x.b = 3.0 * mean - x.a - x.c
    size = max(max(abs(x.a), abs(x.c)), 1e-12)
    if x.a < -1e-9 * size or x.c > x.a + x.b + 1e-6 * size:
        x.word = LoadWord.IMPOSSIBLE
    elif x.mass == 0.0 and x.c > 0.0:
        x.word = LoadWord.MASSLESS
    return x.word == 0.0


def _shift(x: Body) -> None:
    """Turn the axes, and move the reference of the moments to the origin."""
    k = 4
    x.numbers[0] = x.mass
    for i in range(3):
        x.numbers[1 + i] = x.origin[i]
        for j in range(3):
            x.numbers[1 + i] += x.axes[i, j] * x.com[j]
        for j in range(i, 3):
            x.numbers[k] = _turned(x, i, j)
            k += 1
    about_origin(x.numbers)


def _turned(x: Body, i: int, j: int) -> float:
    """Return an entry of the inertia about the centre of mass in the axes of the payload frame."""
    value = 0.0
    for m in range(3):
        for n in range(3):
            low, high = min(m, n), max(m, n)
            place = high + (low + 1 if low > 0 else 0)  # in the upper triangle, row by row
            value += x.axes[i, m] * x.inertia[place] * x.axes[j, n]
    return value


def about_origin(numbers: Vector) -> None:
    """
    Make mass, first moment and inertia about the origin of mass, centre and inertia about it.

    :param numbers: ten of them, in place.
    """
    square, k = dot(numbers[1:4], numbers[1:4]), 4
    for i in range(1, 4):
        for j in range(i, 4):
            numbers[k] += numbers[0] * ((square if i == j else 0.0) - numbers[i] * numbers[j])
            k += 1
    numbers[1:4] *= numbers[0]
