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
