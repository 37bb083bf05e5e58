# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
References that come without messages, one set for each update: they are followed from near.

After a start or a stop the robot is not drawn to where the references have gone meanwhile.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.procedure import Matrix
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import Event, Kind, Result
from rbd_ros.control.step.state import State
from rbd_ros.control.supervisor.due import is_working

__all__ = ['begin_following', 'end_following', 'Following']

#: rad or m between reference and robot within which a reference begins to be followed
_NEAR = 0.05


class Following(Record):
    """Whether references are followed."""

    on: bool = field('', '', 'whether they are those of the robot')
    news: bool = field('', '', 'whether the reason of a refusal is to be said')
    refused: float = field('', '', 'why the last ones were refused; 0: they were not')
    given: Matrix = field('n 3', 'rad or m, /s, /s^2', 'position, velocity and acceleration of '
                          'each joint; NaN where nobody gives one')


def begin_following(following: Following, x: State, u: Event) -> None:
    """
    Make the event of references; nothing is to happen unless ``on`` says so.

    :param following: has them.
    :param x: state of the controller.
    :param u: becomes that event.
    """
    near = is_working(x.command.supervisor)
    goes_on = near and following.on
    for j in range(len(following.given)):
        q = following.given[j, 0]
        u.joints[0, j] = q
        for k in range(1, 3):
            given = following.given[j, k]
            u.joints[k, j] = 0.0 if math.isnan(given) else given  # that nobody gives is 0
        if not abs(q - x.references.joint.profile.state[0, j]) < _NEAR:
            near = False
        if not math.isfinite(q):
            goes_on = False
    following.on = goes_on or near
    u.kind, u.numbers[0] = Kind.SET_POINT, 0.0


def end_following(following: Following, y: Result) -> None:
    """
    Find out whether to say why references are refused: once for each reason.

    :param following: says so.
    :param y: what the step has given.
    """
    following.news = y.answer != 0.0 and y.answer != following.refused
    following.refused = y.answer
