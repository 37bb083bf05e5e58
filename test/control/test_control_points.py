# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Points of trajectories as procedures: against SciPy, and the same numbers in every form."""

from __future__ import annotations

import ctypes

from c_functions import COMPILER, library, STRICT
import numpy as np
import pytest
from rbd_ros.compiler.procedure import bind
from rbd_ros.compiler.source.c_procedures import emit_procedure
from rbd_ros.control.interface.sentences import Sentence
from rbd_ros.control.interface.words import PointWord
from rbd_ros.control.references.feeder import Feed, handle_feed, Turn
from rbd_ros.control.references.pieces import Path, PathKind, Ring
from rbd_ros.control.references.points import PointLimits, Points, Verdict
from rbd_ros.control.references.polynomials import handle_points, Task
from scipy.interpolate import CubicSpline

SIZES = {'n': 2, 'm': 2, 'k': 40}


class Case:
    """A trajectory of two joints, the second one continuous, at random."""

    def __init__(self, seed: int, run: str = 'auto') -> None:
        rng = np.random.default_rng(seed)
        self.points, self.limits, self.verdict = (
            kind(SIZES) for kind in (Points, PointLimits, Verdict))
        self.feed, self.ring, self.path = (kind(SIZES) for kind in (Feed, Ring, Path))
        points, count = self.points, int(rng.integers(1, 41))
        self.limits.continuous[1] = 1.0
        points.count, points.rates = count, rng.integers(0, 3)
        points.linear = float(points.rates == 0.0 and rng.random() < 0.3)
        points.times[:count] = np.cumsum(rng.uniform(0.01, 0.5, count))
        for rows in (points.q, points.qd, points.qdd):
            rows[:count] = rng.uniform(-3.0, 3.0, (count, 2))
        points.start[:] = rng.uniform(-3.0, 3.0, (3, 2))
        points.offset = rng.uniform(-3.0, 3.0)
        points.begin = points.offset + rng.uniform(-0.2, points.times[count - 1])
        self.given = self.points, self.limits, self.verdict
        self.fed = self.feed, self.points, self.ring, self.path
        self.handle, self.put = (bind(handle_points, *self.given, backend=run),
                                 bind(handle_feed, *self.fed, backend=run))

    def go(self) -> None:
        """Check, join, and fill the ring."""
        for task in (Task.CHECK, Task.PREPARE, Task.BEGIN):
            self.points.task = task
            self.handle()
            assert self.verdict.word == 0.0
        for task in (Turn.START, Turn.FEED, Turn.FEED):
            self.feed.task = task
            self.put()
        self.path.kind, self.path.number, self.feed.now = PathKind.RING, 1.0, self.points.end
        self.feed.task = Turn.CATCH_UP
        self.put()

    @property
    def numbers(self) -> np.ndarray:
        """Return all numbers."""
        return np.concatenate([each.memory for each in (*self.given, *self.fed)])


@pytest.mark.parametrize('seed', range(30))
def test_the_spline_is_that_of_scipy(seed) -> None:
    """Wherever it begins among its points, it has the velocities of the clamped spline."""
    case = Case(seed)
    points, first = case.points, 0
    points.rates, points.linear, case.limits.continuous[:] = 0.0, 0.0, 0.0
    case.go()
    first, count = int(points.first), int(points.count)
    times = np.array([points.begin, *(points.times[first:count] + points.offset)])
    q = np.vstack([points.start[0], points.q[first:count]])
    ends = ((1, points.start[1]), (1, np.zeros(2)))
    expected = CubicSpline(times, q, bc_type=ends)(times[1:], 1)
    np.testing.assert_allclose(points.qd[first:count], expected, rtol=1e-9, atol=1e-9)
    assert points.pieces == len(times) - 1 and case.feed.left == 0.0


@pytest.mark.parametrize('seed', range(20))
def test_continuous_joints_go_the_short_way(seed) -> None:
    """No step is longer than half a turn, and all points are met but for full turns."""
    case = Case(seed)
    case.go()
    points, count = case.points, int(case.points.count)
    met = points.q[:count, 1] + points.shift[1]
    way = np.diff([points.start[0, 1], *met])
    assert (np.abs(way) <= np.pi + 1e-9).all()
    np.testing.assert_allclose(case.ring.final[1], met[-1])


@pytest.mark.skipif(COMPILER is None, reason='this machine has no C compiler')
def test_every_form_has_the_same_numbers() -> None:
    """C, called on records of the caller, and machine code do what Python does."""
    case = Case(0)
    files = emit_procedure(handle_points, *case.given, prefix='traj', others={
        handle_points: case.given, handle_feed: case.fed}).files
    made = library(files, [*STRICT, '-O1', '-ffp-contract=off'])
    handle = next(getattr(made, name) for name in ('traj_handle_points_', 'traj_handle_points')
                  if f'{name}(traj_Points' in files['traj.h'])
    for seed in range(40):
        expected, native, compiled = Case(seed, 'python'), Case(seed), Case(seed)
        for function, attribute, given in ((handle, 'handle', compiled.given), (
                made.traj_handle_feed, 'put', compiled.fed)):
            places = [ctypes.c_void_p(each.memory.ctypes.data) for each in given]
            setattr(compiled, attribute, lambda f=function, p=places: f(*p))
        for each in (expected, native, compiled):
            if seed % 3 == 0:  # a joint that is left out has no numbers
                each.points.held[0], each.points.q[:, 0] = 1.0, 0.0
                each.limits.acceleration[:] = 10.0
            each.go()
        np.testing.assert_array_equal(compiled.numbers, expected.numbers)
        np.testing.assert_array_equal(native.numbers, expected.numbers)


@pytest.mark.parametrize(('name', 'at', 'value', 'word'), [
    ('q', (1, 0), np.nan, PointWord.NOT_FINITE), ('qd', (1, 0), np.inf, PointWord.NOT_FINITE),
    ('qdd', (0, 1), np.nan, PointWord.NOT_FINITE), ('times', 1, 0.5, PointWord.TIMES),
    ('times', 0, -1.0, PointWord.TIMES), ('q', (2, 0), 2.1, PointWord.OUTSIDE),
    ('qd', (2, 1), -3.1, PointWord.VELOCITY), ('qdd', (0, 0), 2e5, PointWord.ACCELERATION)])
def test_bad_points_have_their_words(name, at, value, word) -> None:
    """Each defect is found wherever it is, and nothing is said of good points."""
    case = Case(1)
    points, limits = case.points, case.limits
    points.count, points.rates, points.times[:3] = 3, 2, [0.5, 1.0, 1.5]
    for rows in (points.q, points.qd, points.qdd):
        rows[:3] = 1.0
    limits.lower[0], limits.upper[0], limits.speed[:] = -2.0, 2.0, 3.0
    points.task = Task.CHECK
    case.handle()
    assert case.verdict.word == 0.0
    getattr(points, name)[at] = value
    case.handle()
    assert case.verdict.word == word


def test_sentences() -> None:
    """Places take joints, formatted and shifted numbers, and choices."""
    said = Sentence('{joint}: {b|no|one|two} of {a+1:.0f}, {c*100:.3g} %, {a:g}')
    assert said('elbow', 2.0, 1.0, 0.12345) == 'elbow: one of 3, 12.3 %, 2'
    assert Sentence('{b|no|one}')('', 0.0, 9.0, 0.0) == 'one'
    for wrong in ('{d}', '{a:s}', 'half a {place'):
        with pytest.raises(ValueError, match='place'):
            Sentence(wrong)
