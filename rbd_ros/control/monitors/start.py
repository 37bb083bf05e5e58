# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Checks before the first torque: positions, rate, effort against gravity.

No torque has been sent and nothing is lost by waiting: states are collected for ``start.time``, at
least for ``state_timeout``, and from the beginning after each one that is late. Then the start is
refused with the reason, or begins with the torque that seems to act already.
"""

from __future__ import annotations

import math


from rbd_ros.compiler.language.whole import maximum, minimum, where
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import accuse, Joints, NOBODY, NONE, Result, Structure, tell
from rbd_ros.control.interface.words import LoadWord
from rbd_ros.control.joint_states.sources import AgeLimits
from rbd_ros.control.joint_states.timeliness import Delays
from rbd_ros.control.kernels.declared import StopKernel
from rbd_ros.control.laws.stops import find_gravity
from rbd_ros.control.load.load import Load
from rbd_ros.control.numerics.medians import (
    halve, is_full, is_wanted, median, ROOM, row_median, SampleCount, thin_out)
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.parameters.given import Inputs, torque_limits

__all__ = ['BEYOND', 'BEYOND_SHARE', 'gravity_before', 'is_age_known', 'Start', 'StartLimits']

#: rad/s or m/s below which a joint counts as at rest
_REST_SPEED = 0.02

#: measurements of effort that make a verdict, and intervals that make a rate
_EFFORTS, _INTERVALS = 20, 5

#: share of the torque limit below which a measured effort counts as none
_NOTHING = 0.05

#: standard error of a median of normal noise, times the root of the number of samples, over the
#: median absolute deviation; and how many of them count as more than noise
_MEDIAN_ERROR, _SURE = 1.858, 3.0

#: rad or m by which a joint may be beyond its limits at the start, and its share of the range
BEYOND, BEYOND_SHARE = 0.2, 0.1

#: rate over nominal_rate beyond which the user should correct one of them
_FAR = 1.25

#: Hz that a stream needs above minimum_rate: one state in a window of the meter, 0.5 s
_ROOM = 2.0

#: s; no interval between two states counts as shorter
_SHORTEST = 1e-9


class Start(Record):
    """What was measured since the activation, and what came of it."""

    passed: float = field('', '', '1 if torque may begin')
    states: float = field('', '', 'number of states since the beginning')
    first: float = field('', 's', 'control time of the first of them')
    last: float = field('', 's', 'control time of the last of them')
    torque_known: float = field('', '', '1 if the torque is known that acts already')
    interval_count: SampleCount = group(SampleCount)
    effort_count: SampleCount = group(SampleCount)
    torque: Vector = field('n', 'N.m or N', 'that acts before the first one')
    q: Vector = field('n', 'rad or m', 'positions that were refused')
    effort: Vector = field('n', 'N.m or N', 'median of the measured efforts, at the verdict')
    predicted: Vector = field('n', 'N.m or N', 'median of the gravity torques, at the verdict')
    axis: Vector = field('3', 'm/s^2', 'unit vector of gravity')
    columns: Matrix = field('n 3', 'kg.m', 'gravity torques of the three unit vectors, where '
                                           'effort and gravity do not match')
    intervals: Matrix = field(f'1 {ROOM}', 's', 'times between states')
    efforts: Matrix = field(f'n {ROOM}', 'N.m or N', 'measured efforts of the robot at rest')
    predictions: Matrix = field(f'n {ROOM}', 'N.m or N', 'gravity torques at the same time')
    spare: Vector = field(f'{ROOM}', '', 'room for finding a median')

    def restart(self) -> None:
        """Forget what was measured before; what a refusal was about is kept for its text."""
        self.passed = 0.0
        self.states = 0.0
        self.torque_known = 0.0
        self.interval_count.reset()
        self.effort_count.reset()

    def passes(self, p: StartLimits, kernel: StopKernel, load: Load, joints: Joints, s: Structure,
               y: Result, now: float) -> bool:
        """
        Take one state before the first torque; return whether torque may begin.

        :param kernel: computes g(q).
        :param load: payload and gravity that count now.
        :param joints: the state, every joint of it known.
        """
        if self.passed > 0.0:
            return True
        if not abs(now) < NONE or (self.states < 1.0 and not self._positions_fit(p, joints, s, y)):
            return False
        self._count(now)
        compare = 1 if p.compare > 0.0 and joints.effort_known > 0.0 else 0
        if compare > 0:
            self._add_effort(kernel, load, joints, s)
        least = max(_EFFORTS if compare > 0 else 1, _INTERVALS + 1 if p.duration != 0.0 else 1)
        if not (self.states >= least and now - self.first >= p.wait):
            return False
        if not (self._rate_fits(p, y)
                and self._gravity_fits(p, kernel, load, joints, y, compare)):
            return False
        self.passed = 1.0
        if not self.torque_known > 0.0 and _rests(joints, s):
            # at rest this torque acts, whatever holds the robot
            self._begin_with_gravity(kernel, load, joints)
        return True

    def _positions_fit(self, p: StartLimits, joints: Joints, s: Structure, y: Result) -> bool:
        """Refuse positions that cannot be those of the robot; NaN is none."""
        wrong = NOBODY
        for j in range(len(p.lower)):
            if wrong == NOBODY and not _is_within(p, j, joints.q[place_of(s, j)]):
                wrong = j
        if wrong == NOBODY:
            return True
        for j in range(len(self.q)):
            q = joints.q[place_of(s, j)]
            self.q[j] = q if abs(q) < NONE else NONE
        accuse(y, Cause.START_CHECK, LoadWord.START_POSITIONS, wrong, self.q[wrong], 0.0, 0.0)
        return False

    def _count(self, now: float) -> None:
        """Count a state, and keep its distance from the one before."""
        if self.states < 1.0:
            self.first = now
        elif is_wanted(self.interval_count):
            if is_full(self.interval_count):
                thin_out(self.intervals)
                halve(self.interval_count)
            self.intervals[0, int(self.interval_count.kept)] = now - self.last
            self.interval_count.kept += 1.0
        self.last = now
        self.states += 1.0

    def _add_effort(self, kernel: StopKernel, load: Load, joints: Joints, s: Structure) -> None:
        """Keep effort and g(q) of a robot at rest."""
        if not _rests(joints, s):
            return
        for j in range(len(s.index)):
            if not abs(joints.effort[place_of(s, j)]) < NONE:
                return
        if not _find_gravity(kernel, load, joints) or not is_wanted(self.effort_count):
            return
        if is_full(self.effort_count):
            thin_out(self.efforts)
            thin_out(self.predictions)
            halve(self.effort_count)
        k = int(self.effort_count.kept)
        for j in range(len(s.index)):
            self.efforts[j, k] = joints.effort[place_of(s, j)]
            self.predictions[j, k] = kernel.gravity[j]
        self.effort_count.kept += 1.0

    def _rate_fits(self, p: StartLimits, y: Result) -> bool:
        """Refuse a rate that would soon be a fault; tell one that is far from nominal."""
        if self.states <= _INTERVALS:
            return True
        interval = row_median(self.intervals, 0, int(self.interval_count.kept), self.spare)
        rate = 1.0 / max(interval, _SHORTEST)
        if p.minimum_rate > 0.0 and rate < p.minimum_rate + _ROOM:
            accuse(y, Cause.START_CHECK, LoadWord.START_RATE_LOW, NOBODY, rate, p.minimum_rate,
                   p.nominal_rate)
            return False
        if p.nominal_rate > 0.0 and not 1.0 / _FAR <= rate / p.nominal_rate <= _FAR:
            tell(y, LoadWord.START_RATE_FAR, NOBODY, rate, p.minimum_rate, p.nominal_rate)
        return True

    def _gravity_fits(self, p: StartLimits, kernel: StopKernel, load: Load, joints: Joints,
                      y: Result, compare: int) -> bool:
        """Compare the medians of effort and g(q); find the torque that acts already."""
        if compare < 1:
            word = LoadWord.START_NO_EFFORT if p.compare > 0.0 else LoadWord.START_NOT_COMPARED
            tell(y, word, NOBODY, 0.0, 0.0, 0.0)
            return True
        count = int(self.effort_count.kept)
        if count < 1:
            tell(y, LoadWord.START_UNMEASURED, NOBODY, 0.0, 0.0, 0.0)
            return True
        for j in range(len(self.effort)):
            self.effort[j] = row_median(self.efforts, j, count, self.spare)
            self.predicted[j] = row_median(self.predictions, j, count, self.spare)
        if self._is_held(p):
            most = self._most_loaded(p)
            tell(y, LoadWord.START_BRAKED, most, self.predicted[most], 0.0, 0.0)
            self._begin_with_gravity(kernel, load, joints)
            return True
        worst = 0.0
        far = 0
        wrong = NOBODY
        for j in range(len(self.effort)):
            if abs(self.effort[j] - self.predicted[j]) > worst:
                worst = abs(self.effort[j] - self.predicted[j])
                far = j
            if wrong == NOBODY and not (
                    abs(self.effort[j] - self.predicted[j]) <= p.tolerance * p.limit[j]):
                wrong = j
        if wrong != NOBODY:
            self._find_columns(kernel, load, joints)
            accuse(y, Cause.START_CHECK, LoadWord.START_MISMATCH, wrong, self.effort[wrong],
                   self.predicted[wrong], 0.0)
            return False
        tell(y, LoadWord.START_MATCH, far, worst, 0.0, 0.0)
        self._begin_with_effort(p, kernel, load, joints, count)
        return True

    def _is_held(self, p: StartLimits) -> bool:
        """Return whether nothing is measured where gravity acts: something else holds it."""
        measured = 0.0
        missing = 0.0
        for j in range(len(self.effort)):
            if not p.limit[j] > 0.0:
                return False
            share = abs(self.effort[j] / p.limit[j])
            if not share <= _NOTHING:
                return False
            lacks = (self.effort[j] - self.predicted[j]) / p.limit[j]
            measured += share * share
            missing += lacks * lacks
        return measured < missing

    def _most_loaded(self, p: StartLimits) -> int:
        """Return the joint that gravity loads most, of those with a limit."""
        most = 0
        for j in range(len(self.predicted)):
            if abs(self.predicted[j] / p.limit[j]) > abs(self.predicted[most] / p.limit[most]):
                most = j
        return most

    def _begin_with_gravity(self, kernel: StopKernel, load: Load, joints: Joints) -> None:
        """Begin with g(q): a robot that is held by brakes needs it at the moment they open."""
        if not _find_gravity(kernel, load, joints):
            return
        for j in range(len(self.torque)):
            self.torque[j] = kernel.gravity[j]
        self.torque_known = 1.0

    def _begin_with_effort(self, p: StartLimits, kernel: StopKernel, load: Load, joints: Joints,
                           count: int) -> None:
        """
        Begin with the torque that acts, as far as it can be known.

        It is the measured effort where it differs from g(q) by more than its noise, as far as
        gravity explains it: a light joint jumps easily.
        """
        if not _find_gravity(kernel, load, joints):
            return
        for j in range(len(self.torque)):
            for k in range(count):
                self.spare[k] = abs(self.efforts[j, k] - self.effort[j])
            unsure = _SURE * _MEDIAN_ERROR * median(self.spare, count) / math.sqrt(count)
            gravity = kernel.gravity[j]
            more = self.effort[j] - gravity
            known = math.copysign(max(abs(more) - unsure, 0.0), more)
            most = min(p.tolerance * p.limit[j], p.tolerance * abs(gravity))
            self.torque[j] = gravity + min(max(known, -most), most)
            if not abs(self.torque[j]) < NONE:
                self.torque[j] = gravity
        self.torque_known = 1.0

    def _find_columns(self, kernel: StopKernel, load: Load, joints: Joints) -> None:
        """Compute g(q) of the three unit vectors, which show which gravity would fit."""
        for axis in range(3):
            for i in range(3):
                self.axis[i] = 1.0 if i == axis else 0.0
            find_gravity(kernel, joints.q, joints.qd, self.axis, load.payload)
            for j in range(len(self.torque)):
                self.columns[j, axis] = kernel.gravity[j] if abs(kernel.gravity[j]) < NONE else 0.0


class StartLimits(Record):
    """Bounds of the start check."""

    tolerance: float = field('', '', 'largest difference of effort and gravity, share of limit')
    duration: float = field('', 's', 'of the check; 0: rates are not checked')
    wait: float = field('', 's', 'for which states are collected at least')
    compare: float = field('', '', '1 if efforts are torques that include gravity')
    minimum_rate: float = field('', 'Hz', 'below which the rate is a fault; 0: none')
    nominal_rate: float = field('', 'Hz', 'for which gains are designed', 1.0)
    lower: Vector = field('n', 'rad or m', 'joint limit', -NONE)
    upper: Vector = field('n', 'rad or m', 'joint limit', NONE)
    limit: Vector = field('n', 'N.m or N', 'largest torque', 1.0)

    def fill(self, g: Inputs) -> None:
        """
        Take the bounds.

        :param g: what was given.
        """
        self.tolerance, self.duration = g.values.start.tolerance, g.values.start.time
        self.wait = max(self.duration, g.values.state_timeout)
        self.compare = 1.0 if g.values.effort_is_torque else 0.0
        self.minimum_rate, self.nominal_rate = g.values.minimum_rate, g.values.nominal_rate
        self.lower[:] = maximum(g.robot.lower, -NONE)
        self.upper[:] = minimum(g.robot.upper, NONE)
        self.limit[:] = torque_limits(g)


def is_age_known(x: Delays, p: AgeLimits, y: Result) -> bool:
    """
    Return whether torque may begin by what is known of the age of states, which may take longer.

    :param p: whether they must be known.
    """
    if not p.asked > x.known:
        return True
    if x.taken == 0.0:
        accuse(y, Cause.START_CHECK, LoadWord.START_AGE, NOBODY, x.strange, 0.0, 0.0)
    return False


def gravity_before(p: StartLimits, kernel: StopKernel, load: Load, joints: Joints, s: Structure,
                   q: Vector) -> bool:
    """
    Compute g(q) of positions that have not yet proved to be current; return whether it is known.

    :param kernel: computes g(q), and what the driver adds.
    :param load: payload and gravity that count now.
    :param joints: positions of joints that nobody measures.
    :param q: positions of the others, rad or m.
    """
    for i in range(len(s.measured)):
        if s.measured[i] > 0.0 and not abs(q[i]) < NONE:
            return False
    for j in range(len(p.lower)):
        if not _is_within(p, j, q[place_of(s, j)]):
            return False
    kernel(load, q=where(s.measured > 0.0, q, joints.q), qd=joints.qd, acting=load.gravity,
           brake_rate=0.0, load=0.0, limit=0.0, damping=0.0, allowed=0.0)
    return _are_usable(kernel.gravity)


def _is_within(p: StartLimits, j: int, q: float) -> bool:
    """Return whether a position can be that of the joint."""
    span = p.upper[j] - p.lower[j]
    margin = min(BEYOND, BEYOND_SHARE * span) if span > 0.0 else 2.0 * NONE
    return p.lower[j] - margin <= q <= p.upper[j] + margin


def _rests(joints: Joints, s: Structure) -> bool:
    """Return whether all joints are at rest; a velocity that is NaN is no rest."""
    for j in range(len(s.index)):
        if not abs(joints.qd[place_of(s, j)]) <= _REST_SPEED:
            return False
    return True


def _find_gravity(kernel: StopKernel, load: Load, joints: Joints) -> bool:
    """Compute g(q) of the present state; return whether it is known."""
    find_gravity(kernel, joints.q, joints.qd, load.gravity, load.payload)
    return _are_usable(kernel.gravity)


def _are_usable(values: Vector) -> bool:
    for j in range(len(values)):
        if not abs(values[j]) < NONE:
            return False
    return True
