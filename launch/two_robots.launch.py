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

"""Start two simulated arms with a controller each, in the namespaces left and right."""

from launch import LaunchDescription
from launch.actions import GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import PathJoinSubstitution
from launch_ros.substitutions import FindPackageShare


def generate_launch_description() -> LaunchDescription:
    """Include the launch file of one robot twice; each group keeps its arguments to itself."""
    one = PathJoinSubstitution([FindPackageShare('rbd_ros'), 'launch', 'controller.launch.py'])
    return LaunchDescription([
        GroupAction([IncludeLaunchDescription(
            PythonLaunchDescriptionSource(one), launch_arguments={'namespace': side}.items())])
        for side in ('left', 'right')])
