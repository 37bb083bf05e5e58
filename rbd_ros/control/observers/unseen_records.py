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

"""What is known of a motion that no sensor shows, and its bounds."""

from __future__ import annotations

import enum

import numpy as np

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.events import NOBODY, NONE
from rbd_ros.control.observers.momentum import Momentum
from rbd_ros.control.parameters.settings import Settings

__all__ = ['derive_unseen', 'Evidence', 'fill_unseen', 'SHARE', 'UnseenMotion', 'UnseenParameters']

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


def fill_unseen(p: UnseenParameters, settings: Settings) -> None:
    """
    Take new bounds.

    :param p: get them.
    :param settings: valid set.
    """
    p.patience = settings.number('velocity_patience')
    p.period = 1.0 / settings.number('nominal_rate')
    p.most[:] = np.minimum(SHARE * settings.velocity_limits, NONE)
    p.tolerance[:] = np.minimum(settings.joints('state_tolerance'), NONE)
    p.hidden[:] = np.minimum(_HIDDEN * settings.torque_limits, NONE)


def derive_unseen(p: UnseenParameters, coulomb: Vector, friction: Vector) -> None:
    """
    Take the friction of each joint.

    :param p: gets it.
    :param coulomb: dry friction that is compensated, N.m or N.
    :param friction: that a joint may have, N.m or N.
    """
    for i in range(len(coulomb)):
        p.coulomb[i], p.friction[i] = min(coulomb[i], NONE), min(friction[i], NONE)
