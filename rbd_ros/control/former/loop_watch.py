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
Closed loops: whether they close, how far from a singularity they are, and where joints are.

Passive joints without a sensor are followed from a closed position that the user gives: each state
starts from the last one, and a longer distance is covered in pieces, so that the mechanism keeps
its assembly mode. The kernel takes a fixed number of steps of Newton's method.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.causes import Cause

if TYPE_CHECKING:
    from rbd_ros.compiler import Bound
    from rbd_ros.control.former.joint_states.joint_map import JointMap
    from rbd_ros.control.parameters.settings import Settings

__all__ = ['LoopWatch']

Array = npt.NDArray[np.float64]

#: numbers of pieces to try for a distance, before the first torque and afterwards
_FIRST, _LATER = (1, 16, 256), (1, 4, 16, 64)


class LoopWatch:
    """Watch the loops of one robot; the kernels of the laws have the same bounds."""

    def __init__(self, settings: Settings, joints: JointMap, bound: Bound) -> None:
        """
        Take a kernel.

        :param settings: valid set.
        :param joints: collected states; get the passive joints that are solved.
        :param bound: kernel 'loops'.
        """
        robot = settings.robot
        self._model, self._joints, self._bound = robot.model, joints, bound
        self._inputs, self._outputs = bound.inputs, bound.outputs
        self._driven = list(robot.index)
        self._passive = [i for i in range(len(joints.names)) if i not in self._driven]
        self._endless = np.array(robot.continuous)
        self._named = robot.assembly
        self.q = np.array(robot.assembly or joints.q)  # the last position that closed the loops
        rows = robot.model.loop_rows
        self._loop_of_row = [loop.name for loop, part in zip(robot.model.loops, rows, strict=True)
                             for _ in range(part.start, part.stop)]
        self.apply(settings)

    @property
    def solves(self) -> bool:
        """Return whether passive joints are solved from the driven ones."""
        return bool(self._named)

    def apply(self, settings: Settings) -> None:
        """
        Take new bounds.

        :param settings: valid set.
        """
        self._tolerance = settings.number('loop_tolerance')
        self._least = settings.number('loop_pivot')

    def restart(self) -> None:
        """Forget where the robot was: it is followed from the named position again."""
        if self._named:
            self.q[:] = self._named

    def check(self, fault: Callable[[Cause, str], None], *, starts: bool) -> bool:
        """
        Check one state.

        :param fault: called with what is wrong.
        :param starts: whether no torque was sent yet.
        :returns: whether nothing is wrong.
        """
        if self._named:
            text = self._follow(_FIRST if starts else _LATER)
        else:
            self._run(self._joints.q)
            text = self._open(self._tolerance)
        cause, singular = Cause.IMPLAUSIBLE, self._singular()
        if singular and (self._named or not text):
            cause, text = Cause.BAD_GRAVITY, singular
        if text:
            fault(Cause.START_CHECK if starts else cause, text)
        return not text

    def _run(self, q: Array) -> None:
        self._inputs['q'][:], self._inputs['qd'][:] = q, self._joints.qd
        self._bound()

    def _open(self, most: float) -> str:
        """Return which measured loop does not close, if any."""
        gaps = np.abs(self._outputs['gaps'])
        if gaps.max() <= most:
            return ''
        row = int(np.argmax(gaps))
        return (f'loop joint "{self._loop_of_row[row]}" is open by {gaps[row]:.3g}, '
                f'loop_tolerance {most:g} (rad or m): zero or sign of a sensor, or lengths of '
                'the description?')

    def _singular(self) -> str:
        """Return that the last position is near a singularity, if it is."""
        pivots = self._outputs['pivots']
        row = int(np.argmin(pivots))
        if pivots[row] >= self._least:
            return ''
        return (f'the robot is near a singular position of its closed loops, that of loop joint '
                f'"{self._loop_of_row[row]}": the driven joints do not determine the others there '
                f'(pivot {pivots[row]:.2g} of its usual size, loop_pivot {self._least:g})')

    # -- passive joints that are solved -----------------------------------------------------------

    def _follow(self, pieces: tuple[int, ...]) -> str:
        """Put the passive joints where the driven ones move them; return why that fails."""
        joints, driven, passive = self._joints, self._driven, self._passive
        way = joints.q[driven] - self.q[driven]
        way[self._endless] = np.remainder(way[self._endless] + np.pi, 2.0 * np.pi) - np.pi
        for count in pieces:
            if self._move_driven(way, count):
                break
        else:
            return self._failure()
        self.q[passive] = joints.q[passive] = self._outputs['closed_q'][passive]
        joints.qd[passive] = self._outputs['closed_qd'][passive]
        self.q[driven] = joints.q[driven]
        return ''

    def _move_driven(self, way: Array, count: int) -> bool:
        """Move the driven joints in pieces; return whether the loops stayed closed."""
        q, driven, start = self.q.copy(), self._driven, self.q[self._driven]
        for k in range(1, count + 1):
            q[driven] = start + way * (k / count)
            self._run(q)
            q[:] = self._outputs['closed_q']
            if not np.isfinite(q).all() or not np.isfinite(self._outputs['closed_qd']).all():
                return False
            if self._singular():
                return count == 1  # the caller sees it too; a longer way must not pass through it
        return True

    def _failure(self) -> str:
        """Return why the loops could not be followed, unless a singularity is near."""
        gaps = np.abs(self._outputs['gaps'])
        row = int(np.argmax(gaps)) if np.isfinite(gaps).all() else 0
        return (f'loop joint "{self._loop_of_row[row]}" stays open by {gaps[row]:.3g} (rad or m) '
                'with the driven joints where they are: no passive joints close it near those '
                'before. Zero or sign of a sensor, lengths of the description, or assembly.joints '
                'far from the start?')
