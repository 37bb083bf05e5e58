# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""References of messages as events of the step; what is wrong with them was found out before."""

from __future__ import annotations

from rbd_ros.control.interface.events import Event, Kind
from rbd_ros.control.references.feeder import Feed
from rbd_ros.control.references.joint_requests import Streamed
from rbd_ros.control.references.points import Points, Use

__all__ = ['ask_pieces', 'ask_point', 'ask_stream']


def ask_point(points: Points, u: Event) -> None:
    """
    Make the event of the only point of a message.

    :param points: sorted and good; a trajectory is none.
    :param u: becomes that event.
    """
    passed = points.use == Use.PASSED
    u.kind = Kind.SET_POINT
    u.joints[:] = 0.0
    u.joints[0] = points.q[0]
    if not passed and points.rates > 0.0:
        u.joints[1] = points.qd[0]
    if not passed and points.rates > 1.0:
        u.joints[2] = points.qdd[0]
    u.numbers[0] = points.within


def ask_stream(points: Points, u: Event) -> None:
    """
    Make the event of a message of a stream of positions or velocities.

    :param points: one, whose ``rates`` say which of the two it has, see ``Streamed``.
    :param u: becomes that event.
    """
    u.kind, u.numbers[0] = Kind.STREAM, points.rates
    u.joints[:] = 0.0
    if points.rates == Streamed.VELOCITIES:
        u.joints[1] = points.qd[0]
    else:
        u.joints[0] = points.q[0]


def ask_pieces(feed: Feed, points: Points, u: Event) -> None:
    """
    Make the event of a trajectory whose pieces are in the ring.

    :param feed: has put them there.
    :param points: of the trajectory.
    :param u: becomes that event.
    """
    u.kind, u.numbers[0], u.numbers[1] = Kind.PIECES, feed.number, points.goal
