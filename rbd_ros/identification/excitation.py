# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Motions that tell the parameters of a robot: planned for the condition of the regressor.

Each joint follows a finite Fourier series that begins and ends at rest at the start posture. The
series are scaled to the limits of the joints, shrunk until torques and clearance allow them, and
improved step by step. Nothing leaves the limits at any time: a trigonometric polynomial of degree
N that is at most m at M even times of its period, M > 2 N, is at most m / cos(pi N / M) between
them (Ehlich and Zeller, "Schwankung von Polynomen zwischen Gitterpunkten", Mathematische
Zeitschrift 86, 1964), so that the number of samples follows from the fastest harmonic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.errors import RbdError, SettingError
from rbd_ros.identification.drive import own_drives
from rbd_ros.identification.whole_robot import stacked, structural

__all__ = ['Bounds', 'Clear', 'excite', 'Series']

#: Samples in each period of the fastest harmonic: of torques, which have faster ones of their own,
#: of the limits of joints, and of what must keep clear.
_TORQUES, _LIMITS, _CLEAR = 160, 40, 16
#: Times at which the regressor is evaluated while searching, at least, and in each such period.
_COARSE, _EACH = 100, 4
#: Share of the objective that rewards larger torques, next to the condition number.
_SIZE = 0.3
#: How much amplitudes shrink until a limit is kept, and how often.
_SHRINK, _TIMES = 0.75, 15

#: Returns whether positions of a path, (count, nq), are clear of all obstacles.
Clear = Callable[[Array], bool]


class Bounds(NamedTuple):
    """Limits of each joint that a motion keeps, (nv,) each, in SI units."""

    lower: Array
    upper: Array
    speed: Array
    acceleration: Array
    torque: Array


class Series(NamedTuple):
    """
    A motion as a finite Fourier series, which begins and ends at rest.

    :param start: position at the beginning and the end, (nv,).
    :param sine: amplitudes of the harmonics, (harmonics, nv), ``cosine`` likewise.
    :param duration: s, one period.
    :param excitation: condition number of its regressor.
    """

    start: Array
    sine: Array
    cosine: Array
    duration: float
    excitation: float

    def at(self, t: Array) -> tuple[Array, Array, Array]:
        """Return position, velocity and acceleration, (count, nv) each."""
        w = 2.0 * np.pi / self.duration * np.arange(1, len(self.sine) + 1)
        s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
        return (self.start + s @ self.sine + (c - 1.0) @ self.cosine,
                (c * w) @ self.sine - (s * w) @ self.cosine,
                -(s * w**2) @ self.sine - (c * w**2) @ self.cosine)

    def even(self, count: int) -> tuple[Array, Array, Array]:
        """Return the same at even times of its duration, without the end."""
        order = np.arange(1, len(self.sine) + 1)
        lines = np.zeros((count // 2 + 1, len(self.start)), complex)
        lines[order] = 0.5 * count * (self.cosine - 1j * self.sine)
        turn = np.zeros((len(lines), 1), complex)
        turn[order, 0] = 2j * np.pi / self.duration * order
        q, qd, qdd = (np.fft.irfft(turn**k * lines, count, axis=0) for k in range(3))
        return self.start + q - self.cosine.sum(axis=0), qd, qdd


def excite(
    robot: Dynamics, start: Array, bounds: Bounds, clear: Clear, *, duration: float = 20.0,
    harmonics: int = 0, kind: str = 'full', seed: int = 0, evaluations: int = 200,
    told: Callable[[], None] = lambda: None,
) -> Series:
    """
    Return a motion with a small condition number of the base-parameter regressor.

    :param start: posture at which it begins and ends.
    :param clear: whether positions touch nothing.
    :param duration: s.
    :param harmonics: of the series; 0 for one up to 0.5 Hz.
    :param kind: of friction, whose columns count too.
    :param seed: of the search: the same seed gives the same motion.
    :param evaluations: motions that are tried.
    :param told: called after each.
    :raises RbdError: if the start breaks a limit or is not clear.
    """
    count = harmonics or max(5, round(0.5 * duration))
    if duration <= 0.0 or count < 3:
        raise SettingError(f'{duration:g} s with {count} harmonics is no motion: the duration '
                           'must be positive, and there must be 3 harmonics or more')
    search = _Search(robot, np.asarray(start, float), bounds, clear, duration, count, kind)
    search.refuse_start()
    rng = np.random.default_rng(seed)
    first = max(1, evaluations // 10)
    best, value = None, np.inf
    for _ in range(first):
        found = search.shrunk(rng.normal(size=(2, count, robot.model.nv)), value)
        if found is not None:
            best, value = found
        told()
    if best is None:
        raise RbdError('no motion that keeps clear was found around this start; choose another '
                       'one, with more room on all sides')
    step = 0.5
    for _ in range(evaluations - first):
        noise = rng.normal(size=best.shape) * (rng.random(best.shape) < 0.3)
        scale = np.abs(best).mean(axis=(0, 1), keepdims=True)
        found = search.shrunk(best + step * scale * noise, value, most=3)
        if found is not None:
            best, value = found
        step = min(1.0, 1.6 * step) if found is not None else max(0.02, 0.96 * step)
        told()
    return search.series(best)


class _Search:
    """What is asked of a motion; a motion is its amplitudes, (2, harmonics, nv)."""

    def __init__(self, robot: Dynamics, start: Array, bounds: Bounds, clear: Clear,
                 duration: float, harmonics: int, kind: str) -> None:
        self.robot, self.start, self.bounds, self.clear = robot, start, bounds, clear
        self.duration, self.kind = duration, kind
        self.base = list(structural(robot, kind).independent)
        self.drives = own_drives(robot.model, 'simple').reshape(3, -1)
        order = np.arange(1.0, harmonics + 1)
        # At rest: no velocity (sines) and no acceleration (cosines) at the beginning.
        self.rest = [np.eye(harmonics) - np.outer(n, n) / (n @ n) for n in (order, order**2)]
        self.count, self.coarse = harmonics, max(_COARSE, _EACH * harmonics)
        self.weight = np.where(np.isfinite(bounds.torque), bounds.torque, 1.0)

    def series(self, x: Array, excitation: float | None = None) -> Series:
        made = Series(self.start, x[0], x[1], self.duration, 0.0)
        return made._replace(excitation=self.condition(made)[0] if excitation is None
                             else excitation)

    def refuse_start(self) -> None:
        """Raise an error if the robot cannot even stand at the start."""
        b, names = self.bounds, self.robot.model.independent_joint_names
        for k in np.flatnonzero((self.start <= b.lower) | (self.start >= b.upper)):
            raise RbdError(f'the start has "{names[k]}" at {self.start[k]:.4g}, not between '
                           f'{b.lower[k]:.4g} and {b.upper[k]:.4g}, which the motion may use')
        still = np.zeros_like(self.start)
        torque = np.abs(self.robot.inverse_dynamics(self.start, still, still))
        for k in np.flatnonzero(torque >= b.torque):
            raise RbdError(f'"{names[k]}" needs {torque[k]:.4g} N.m to stand at the start, more '
                           f'than the {b.torque[k]:.4g} N.m that the motion may use')
        if not self.clear(self.start[None]):
            raise RbdError('the start is not clear of obstacles; choose another one')

    def within(self, x: Array) -> Array:
        """Return amplitudes at rest at both ends, scaled down to the limits of the joints."""
        x = np.array([P @ part for P, part in zip(self.rest, x, strict=True)])
        q, qd, qdd = Series(self.start, x[0], x[1], self.duration, 0.0).even(
            _LIMITS * self.count)
        b, way = self.bounds, q - self.start
        between = 1.0 / np.cos(np.pi / _LIMITS)
        middle = 0.5 * (way.max(axis=0) + way.min(axis=0))
        half = between * 0.5 * (way.max(axis=0) - way.min(axis=0))
        tiny = 1e-12
        sizes = [(middle + half) / (b.upper - self.start), (half - middle) / (
            self.start - b.lower), between * np.abs(qd).max(axis=0) / b.speed,
            between * np.abs(qdd).max(axis=0) / b.acceleration, np.full(len(self.start), tiny)]
        return x * np.minimum(1.0, 1.0 / np.max(sizes, axis=0))

    def filled(self, x: Array) -> Array:
        """Return amplitudes as large as the limits of the joints allow."""
        return self.within(1e3 * x / np.abs(x).max(axis=(0, 1)))

    def strong_enough(self, made: Series) -> bool:
        q, qd, qdd = made.even(_TORQUES * self.count)
        damping, friction, _ = self.drives
        torque = (self.robot.inverse_dynamics(q, qd, qdd) + damping * qd
                  + friction * np.sign(qd))
        return bool((np.abs(torque) <= self.bounds.torque).all())

    def condition(self, made: Series) -> tuple[float, float]:
        """Return the condition number, and the mean size of the columns as a logarithm."""
        A = stacked(self.robot, self.kind, *made.even(self.coarse))[:, self.base]
        A = A / np.tile(self.weight, self.coarse)[:, None]
        size = np.linalg.norm(A, axis=0)
        if not size.min() > 0.0:
            return np.inf, -np.inf
        A = A / size
        squares = np.linalg.eigvalsh(A.T @ A)       # far faster than singular values
        return float(np.sqrt(squares[-1] / max(squares[0], 1e-16))), float(np.mean(np.log(size)))

    def shrunk(self, x: Array, beat: float, most: int = _TIMES) -> tuple[Array, float] | None:
        """
        Return a motion made of x that keeps all limits, and its objective, if it beats another.

        :param most: how often it may shrink; the first motions may as often as they need.
        """
        y = self.filled(x) if most == _TIMES else self.within(x)
        for _ in range(most):
            made = self.series(y, 0.0)
            condition, size = self.condition(made)
            value = np.log(condition) - _SIZE * size
            if not value < beat:
                return None
            if self.strong_enough(made) and self.clear(
                    made.even(_CLEAR * self.count)[0]):
                return y, value
            y = _SHRINK * y
        return None
