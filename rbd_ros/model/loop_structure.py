# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The closed loops of a model: constraints, the joints around each, their clusters (RBDA 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from rbd_ros.errors import LoopError
from rbd_ros.model import connectivity
from rbd_ros.model.coupling import Coupling
from rbd_ros.model.parts import LoopJoint

#: What knows loops, where nothing closer to what was asked for does.
_INSTEAD = ('forward_dynamics, loop_dynamics or actuator_forces of rbd_ros.Dynamics, which know '
            'loops')


class LoopStructure:
    """What the loop joints of a model mean for its tree."""

    name: str
    parent: tuple[int, ...]
    body_names: tuple[str, ...]
    coupling: Coupling | None
    loops: tuple[LoopJoint, ...]

    @cached_property
    def loop_rows(self) -> tuple[slice, ...]:
        """Return per loop joint the rows of its constraints in K, k and delta (8.20)."""
        return offsets([loop.constraints for loop in self.loops])

    @cached_property
    def loop_constraints(self) -> int:
        """Return n^c, the number of constraints of all loop joints (8.1)."""
        return sum(loop.constraints for loop in self.loops)

    @cached_property
    def loop_paths(self) -> tuple[Mapping[int, int], ...]:
        """Return per loop epsilon of the tree joints around it, by body: +1 or -1 (8.18)."""
        return tuple(connectivity.loop_path(self.parent, loop.predecessor, loop.successor)
                     for loop in self.loops)

    @cached_property
    def loop_clusters(self) -> tuple[tuple[int, ...], ...]:
        """Return the minimal loop clusters: numbers of loops that share joints (RBDA 8.9)."""
        return connectivity.loop_clusters([self._moved_by(path) for path in self.loop_paths])

    def _moved_by(self, path: Mapping[int, int]) -> set[int]:
        """Return the joints of a path, and those that followers among them follow."""
        joints = set(path)
        if self.coupling is not None:
            for follower, leaders in zip(
                    self.coupling.followers, self.coupling.leaders, strict=True):
                if follower in path:
                    joints.update(leaders)
        return joints

    def refuse_loops(self, what: str = 'this algorithm', instead: str = '') -> None:
        """
        Raise an error if the robot has kinematic loops, where what is asked for knows trees only.

        :param what: what to call it.
        :param instead: what knows loops; that of ``Dynamics`` in general by default.
        :raises LoopError: which names a joint that closes a loop.
        """
        if not self.loops:
            return
        loop = self.loops[0]
        ends = ' and '.join(f'"{self.body_names[k]}"' for k in (loop.predecessor, loop.successor))
        more = f' (and {len(self.loops) - 1} more)' if len(self.loops) > 1 else ''
        raise LoopError(
            f'joint "{loop.name}" of "{self.name}"{more} closes a kinematic loop between {ends}, '
            f'and {what} knows trees only: its answer would be of another robot. Take '
            f'{instead or _INSTEAD}, or model.spanning_tree for the open tree')


def offsets(sizes: Sequence[int]) -> tuple[slice, ...]:
    """Return consecutive slices of some sizes."""
    slices, start = [], 0
    for size in sizes:
        slices.append(slice(start, start + size))
        start += size
    return tuple(slices)
