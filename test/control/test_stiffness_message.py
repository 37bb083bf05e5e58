# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Stiffness as a list of numbers: which parameters it changes, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from rbd_ros.control.modes import MODES
from rbd_ros.control.parameters.stiffness_message import stiffness_changes
from rbd_ros.errors import SettingError

TIP = 'cartesian_impedance.'
JOINT = 'joint_impedance.'


def test_numbers_reach_their_parameters():
    """One row is the stiffness, two are stiffness and damping; angular ones come first."""
    mode, tip = MODES['joint_impedance'], MODES['cartesian_impedance']
    assert stiffness_changes(mode, 2, [3.0, 4.0]) == {JOINT + 'stiffness': [3.0, 4.0]}
    assert stiffness_changes(mode, 2, np.array([3.0, 4.0, 0.5, 0.7]), [2, 2]) == {
        JOINT + 'stiffness': [3.0, 4.0], JOINT + 'damping': [0.5, 0.7]}
    six = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    expected = {TIP + 'angular_stiffness': six[:3], TIP + 'linear_stiffness': six[3:]}
    assert stiffness_changes(tip, 7, six) == expected
    damping = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert stiffness_changes(tip, 7, six + damping, [12]) == expected | {
        TIP + 'angular_damping': damping[:3], TIP + 'linear_damping': damping[3:]}


@pytest.mark.parametrize('data, sizes, reason', [
    ([], [], 'takes 6 numbers, the stiffness, or 12'),
    ([1.0] * 7, [], 'got 7'), ([1.0] * 18, [], 'got 18'),
    ([1.0] * 6, [2, 6], '2 x 6 numbers, its data 6')])
def test_other_counts_are_refused(data, sizes, reason):
    """Too many, too few, or another layout than the data."""
    with pytest.raises(SettingError, match=reason):
        stiffness_changes(MODES['cartesian_impedance'], 7, data, sizes)
