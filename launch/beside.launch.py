# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Start a simulated robot beside another one: what it says stays in its namespace.

Transforms and diagnostics, which robots share otherwise, are in the namespace, too. If the
simulator or the controller ends, so does the other.
"""

from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument, IncludeLaunchDescription, RegisterEventHandler, Shutdown)
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import SetRemap
from launch_ros.substitutions import FindPackageShare
from rbd_ros.nodes.shared_topics import SHARED

ARGUMENTS = {'namespace': 'namespace of nodes and topics', 'urdf': 'URDF file of the robot'}


def generate_launch_description() -> LaunchDescription:
    """Include the launch file of one robot."""
    one = PathJoinSubstitution([FindPackageShare('rbd_ros'), 'launch', 'controller.launch.py'])
    return LaunchDescription([
        *(DeclareLaunchArgument(name, description=text) for name, text in ARGUMENTS.items()),
        RegisterEventHandler(OnProcessExit(on_exit=[Shutdown(reason='a process has ended')])),
        *(SetRemap(f'/{name}', name) for name in SHARED),
        IncludeLaunchDescription(PythonLaunchDescriptionSource(one), launch_arguments={
            'simulate': 'true',
            **{name: LaunchConfiguration(name) for name in ARGUMENTS}}.items()),
    ])
