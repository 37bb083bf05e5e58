# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Closed loops: whether they close, how far from a singularity they are, and where joints are.

Passive joints without a sensor are followed from a closed position that the user gives: each state
starts from the last one, and a longer distance is covered in pieces, so that the mechanism keeps
its assembly mode. The kernel takes a fixed number of steps of Newton's method.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import accuse, Joints, NONE, Result, Structure
from rbd_ros.control.interface.words import LoadWord
from rbd_ros.control.kernels.declared import LoopKernel
from rbd_ros.control.numerics.angles import turn
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.parameters.given import Inputs

__all__ = ['ClosedLoops', 'LoopLimits']

#: largest number of pieces to try for a distance, before the first torque and afterwards, and by
#: which factor more each time
_FIRST, _FIRST_FACTOR = 256, 16
_LATER, _LATER_FACTOR = 64, 4


class ClosedLoops(Record):
    """Where the passive joints are that are solved."""

    q: Vector = field('m', 'rad or m', 'the last position that closed the loops')
    trial: Vector = field('m', 'rad or m', 'position on the way to the next one')
    way: Vector = field('n', 'rad or m', 'from there to the present state')

    def restart(self, p: LoopLimits) -> None:
        """Forget where the robot was: it is followed from the named position again."""
        for i in range(len(self.q)):
            if abs(p.assembly[i]) < NONE:
                self.q[i] = p.assembly[i]

    def check(self, p: LoopLimits, kernel: LoopKernel, joints: Joints, s: Structure, y: Result,
              starts: int) -> bool:
        """
        Return whether a state closes all loops; put solved joints where the driven ones move them.

        :param kernel: of the loops.
        :param joints: the state; gets the passive joints that are solved.
        :param starts: 1 if no torque was sent yet.
        """
        if p.solves > 0.0:
            return self._follow(p, kernel, joints, s, y, starts)
        kernel(joints, acting=0.0, payload=0.0)
        row = _widest(kernel.gaps)
        gap = abs(kernel.gaps[row])
        if not gap <= p.tolerance:
            _accuse(y, starts, Cause.IMPLAUSIBLE, LoadWord.LOOP_OPEN, row, gap, p.tolerance)
            return False
        return _is_regular(p, kernel, y, starts)

    # -- passive joints that are solved -----------------------------------------------------------

    def _follow(self, p: LoopLimits, kernel: LoopKernel, joints: Joints, s: Structure, y: Result,
                starts: int) -> bool:
        """Put the passive joints where the driven ones move them; return whether that succeeds."""
        for j in range(len(self.way)):
            i = place_of(s, j)
            self.way[j] = joints.q[i] - self.q[i]
            if s.continuous[i] > 0.0:
                self.way[j] = turn(self.way[j])
            if not abs(self.way[j]) < NONE:
                self.way[j] = 0.0
                _accuse_lost(kernel, y, starts)
                return False
        count, most = 1, _FIRST if starts > 0 else _LATER
        while not self._moves(p, kernel, joints, s, count):
            count *= _FIRST_FACTOR if starts > 0 else _LATER_FACTOR
            if count > most:
                if _is_regular(p, kernel, y, starts):
                    _accuse_lost(kernel, y, starts)
                return False
        for i in range(len(self.q)):
            if s.controlled[i] > 0.0:
                self.q[i] = joints.q[i]
            else:
                self.q[i] = kernel.closed_q[i]
                joints.q[i] = kernel.closed_q[i]
                joints.qd[i] = kernel.closed_qd[i]
        return _is_regular(p, kernel, y, starts)

    def _moves(self, p: LoopLimits, kernel: LoopKernel, joints: Joints, s: Structure,
               count: int) -> bool:
        """Move the driven joints in pieces; return whether the loops stayed closed."""
        for i in range(len(self.q)):
            self.trial[i] = self.q[i]
        for k in range(1, count + 1):
            for j in range(len(self.way)):
                i = place_of(s, j)
                self.trial[i] = self.q[i] + self.way[j] * (float(k) / float(count))
            kernel(q=self.trial, qd=joints.qd, acting=0.0, payload=0.0)
            for i in range(len(self.q)):
                if not (abs(kernel.closed_q[i]) < NONE and abs(kernel.closed_qd[i]) < NONE):
                    return False
                self.trial[i] = kernel.closed_q[i]
            if _is_singular(p, kernel):
                return count == 1  # the caller sees it too; a longer way must not pass through it
        return True


class LoopLimits(Record):
    """Bounds of the loops."""

    tolerance: float = field('', 'rad or m', 'by which measured loops may be open', NONE)
    least_pivot: float = field('', '', 'share of its usual size that a pivot has at least')
    solves: float = field('', '', '1 if passive joints are solved from the driven ones')
    assembly: Vector = field('m', 'rad or m', 'a closed position, from which they are followed')

    def fill(self, g: Inputs) -> None:
        """
        Take the bounds.

        :param g: what was given.
        """
        self.tolerance, self.least_pivot = g.values.loop_tolerance, g.values.loop_pivot
        self.solves = 1.0 if g.robot.solves else 0.0
        self.assembly[:] = g.robot.assembly


def _accuse(y: Result, starts: int, cause: int, word: int, row: int, a: float, b: float) -> None:
    """Say what is wrong; before the first torque it is the start that fails."""
    accuse(y, Cause.START_CHECK if starts > 0 else cause, word, row, a, b, 0.0)


def _widest(gaps: Vector) -> int:
    """Return the row with the widest gap; the first that is NaN, if any is."""
    row = 0
    for k in range(len(gaps)):
        if math.isnan(gaps[row]):
            break
        if not abs(gaps[k]) <= abs(gaps[row]):
            row = k
    return row


def _weakest(pivots: Vector) -> int:
    """Return the row with the smallest pivot; the first that is NaN, if any is."""
    row = 0
    for k in range(len(pivots)):
        if math.isnan(pivots[row]):
            break
        if not pivots[k] >= pivots[row]:
            row = k
    return row


def _is_singular(p: LoopLimits, kernel: LoopKernel) -> bool:
    """Return whether the last position is near a singularity; NaN is."""
    return not kernel.pivots[_weakest(kernel.pivots)] >= p.least_pivot


def _is_regular(p: LoopLimits, kernel: LoopKernel, y: Result, starts: int) -> bool:
    """Return whether the last position is not; say so if it is."""
    if not _is_singular(p, kernel):
        return True
    row = _weakest(kernel.pivots)
    _accuse(y, starts, Cause.BAD_GRAVITY, LoadWord.LOOP_SINGULAR, row, kernel.pivots[row],
            p.least_pivot)
    return False


def _accuse_lost(kernel: LoopKernel, y: Result, starts: int) -> None:
    """Say that the loops could not be followed."""
    row = _widest(kernel.gaps)
    for k in range(len(kernel.gaps)):
        if not math.isfinite(kernel.gaps[k]):
            row = 0
    _accuse(y, starts, Cause.IMPLAUSIBLE, LoadWord.LOOP_LOST, row, abs(kernel.gaps[row]), 0.0)
