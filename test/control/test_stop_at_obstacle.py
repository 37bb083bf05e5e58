# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What was touched is not pushed on by the stop that follows, whatever happens meanwhile."""

from benchmark.contact_reaction import Arm, touch
import controller_rig
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause

#: what a minute of free motion gives, rounded up
THRESHOLDS = {'contact.torque': [3.0, 3.0, 2.5, 2.5, 1.0, 1.0, 0.8],
              'contact.torque_speed': [3.0, 3.0, 2.5, 2.5, 1.5, 1.5, 1.0]}


def changes_a_tolerance(arm: Arm) -> None:
    """Change a parameter that has no part in a stop."""
    arm.change(**{'tolerance.goal': [0.03]})


def comes_later(arm: Arm) -> None:
    """Let states come 1.8 instead of 1.0 ms late."""
    arm.age = 1.8e-3


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('stiffness, speed', [(1e4, 0.5), (1e3, 0.25)])
@pytest.mark.parametrize('meanwhile', [lambda _: None, changes_a_tolerance, comes_later])
def test_a_stop_leaves_what_it_has_touched(stiffness, speed, meanwhile):
    """A second after the touch the robot rests without a force, or pushes as little as before."""
    found = touch('stop', stiffness, speed, THRESHOLDS, after=1.6, meanwhile=meanwhile)
    assert found.state in ('braking', 'holding') and found.force > 10.0
    assert found.mean < 3.0, found


def test_complying_leaves_the_posture_as_it_is():
    """Only the springs at the tip act: a posture that is named is for the law of the mode."""
    arm = controller_rig.Arm(**{
        'contact.reaction': 'comply', 'posture.position': [1.0, -0.5, 1.0, -0.3, 1.0, 1.0, 1.0],
        'tracking_limits': [10.0]})
    arm.release()
    arm.stop(Cause.CONTACT)
    before = arm.q
    arm.run(2.0)
    assert arm.state == 'complying'
    assert np.abs(arm.q - before).max() < 0.01
