# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Feedback: how far the active goal has come."""

from __future__ import annotations

from rbd_ros.compiler.procedure import Matrix
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.references.joint_reference import distance
from rbd_ros.control.references.pieces import Halt
from rbd_ros.control.step.state import Parameters, State

__all__ = ['note_progress', 'Progress']


class Progress(Record):
    """Feedback of the active goal."""

    number: float = field('', '', 'of the goal; 0: none is active')
    since: float = field('', 's', 'on its way, less what that is behind its times')
    rests: bool = field('', '', 'whether it rests on its way, or is about to')
    desired: Matrix = field('3 n', 'rad or m, /s, /s^2', 'the reference')
    actual: Matrix = field('2 n', 'rad or m, /s', 'what is measured')
    error: Matrix = field('2 n', 'rad or m, /s', 'the difference, the short way round')


def note_progress(progress: Progress, x: State, p: Parameters) -> None:
    """
    Note how far the active goal has come.

    :param progress: gets it.
    :param x: state of the controller.
    :param p: its parameters.
    """
    progress.number = x.references.joint.goal.active
    progress.since = max(
        x.now - x.references.joint.path.late - x.references.joint.goal.start, 0.0)
    progress.rests = x.references.joint.path.halt != Halt.NONE
    progress.desired[:] = x.references.joint.profile.target
    for j in range(len(x.references.joint.profile.pace)):
        k = place_of(p.structure, j)
        progress.actual[0, j], progress.actual[1, j] = x.joints.q[k], x.joints.qd[k]
        progress.error[0, j] = distance(
            p.references.joint, j, progress.desired[0, j], x.joints.q[k])
        progress.error[1, j] = progress.desired[1, j] - x.joints.qd[k]
