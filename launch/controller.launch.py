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

"""Start the controller and a simulated robot."""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments, then the nodes."""
    parameters = PathJoinSubstitution([FindPackageShare('rbd_ros'), 'config', 'controller.yaml'])
    return LaunchDescription([
        DeclareLaunchArgument('params', default_value=parameters, description='parameter file'),
        DeclareLaunchArgument('simulate', default_value='true', choices=['true', 'false'],
                              description='whether to start the simulated robot too'),
        Node(package='rbd_ros', executable='controller', name='controller', output='screen',
             parameters=[LaunchConfiguration('params')]),
        Node(package='rbd_ros', executable='simulator', name='simulator', output='screen',
             parameters=[LaunchConfiguration('params')],
             condition=IfCondition(LaunchConfiguration('simulate'))),
    ])
