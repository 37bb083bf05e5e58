# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The Panda in MuJoCo, from its start to its end."""

from launch import LaunchDescription
import launch_testing.markers
from mujoco_story import description, TestRobot, TestShutdown
import pytest

__all__ = ['TestRobot', 'TestShutdown']


@pytest.mark.launch_test
@pytest.mark.sampled('launches', 1, pool='MuJoCo')
@launch_testing.markers.keep_alive
def generate_test_description() -> tuple[LaunchDescription, dict[str, object]]:
    """Start robot and controller."""
    return description('panda')
