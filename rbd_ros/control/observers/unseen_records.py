# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What is known of a motion that no sensor shows, and its bounds."""

from __future__ import annotations

import enum


from rbd_ros.compiler.language.whole import minimum
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.events import NOBODY, NONE
from rbd_ros.control.observers.momentum import Momentum
from rbd_ros.control.parameters.given import Inputs, torque_limits, velocity_limits

__all__ = ['Evidence', 'fill_unseen', 'SHARE', 'UnseenMotion', 'UnseenParameters']

#: share of its velocity limit that a joint may have unseen
SHARE = 0.3

#: share of the torque limits by which errors of the model can hide what others feel
_HIDDEN = 0.03


class Evidence(enum.IntEnum):
    """What the other joints feel of one whose sensor repeats itself."""

    NONE = 0  # nothing that friction could not hide, or that it moves
    STANDS = 1
    TOUCHED = 2


class UnseenParameters(Record):
    """Bounds of a motion that no sensor shows."""

    patience: float = field('', 's', 'for which a sensor repeats itself at least')
    period: float = field('', 's', 'of the states')
    most: Vector = field('n', 'rad/s or m/s', 'velocities that a joint may have unseen')
    tolerance: Vector = field('n', 'rad or m', 'noise and quantisation of positions')
    coulomb: Vector = field('n', 'N.m or N', 'dry friction that is compensated')
    friction: Vector = field('n', 'N.m or N', 'that a joint may have which has not moved')
    hidden: Vector = field('n', 'N.m or N', 'torques that errors of the model can hide')


class UnseenMotion(Record):
    """Motion of each joint whose sensor repeats itself, if it is frozen."""

    still: float = field('', 's', 'for which nothing has moved at all')
    leapt: float = field('', '', 'joint that has just moved unseen; -1: none', NOBODY)
    leap: float = field('', 'rad or m', 'by which it did')
    place: Vector = field('n', 'rad or m', 'last position', NONE)
    step: Vector = field('n', 'rad or m', 'smallest that a sensor has shown; 0: none')
    moved: Vector = field('n', 's', 'of motion from which its friction was learnt')
    friction: Vector = field('n', 'N.m or N', 'that it has shown in motion')
    held: Vector = field('n', 'N.m or N', 'that has held it where it stood last')
    gain: Vector = field('n', '1/s', 'bandwidth with which torques are observed')
    stays: Vector = field('n', 's', 'for which a sensor has repeated its position')
    first: Vector = field('n', 'rad/s or m/s', 'velocity before the first repeated position')
    speed: Vector = field('n', 'rad/s or m/s', 'velocity by the model')
    way: Vector = field('n', 'rad or m', 'since the first repeated position, by the model')
    evidence: Vector = field('n', '', 'see Evidence')
    felt: Matrix = field('n n', 'N.m or N', 'torques on all joints that the motion of one leaves '
                                            'unexplained')
    seen: Momentum = group(Momentum)


def fill_unseen(p: UnseenParameters, friction: Vector, g: Inputs) -> None:
    """
    Take new bounds.

    :param p: get them.
    :param friction: that a joint may have, N.m or N.
    :param g: what was given.
    """
    p.patience, p.period = g.values.velocity_patience, 1.0 / g.values.nominal_rate
    p.most[:] = minimum(SHARE * velocity_limits(g), NONE)
    p.tolerance[:] = minimum(g.values.state_tolerance, NONE)
    p.hidden[:] = minimum(_HIDDEN * torque_limits(g), NONE)
    p.coulomb[:] = minimum(g.values.friction.coulomb, NONE)
    p.friction[:] = minimum(friction, NONE)
