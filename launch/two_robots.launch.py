# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

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
