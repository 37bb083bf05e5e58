# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The ``ros2`` program and its verb ``launch``, for a ROS 2 runtime that lacks both."""

from setuptools import setup

setup(
    name='rbd_ros2_launch',
    version='1.0.0',
    description='The verb "ros2 launch" where ros2launch is not installed',
    license='Apache-2.0',
    packages=['rbd_ros2_launch'],
    entry_points={
        'console_scripts': ['ros2 = ros2cli.cli:main'],
        'ros2cli.command': ['launch = rbd_ros2_launch.command:LaunchCommand'],
    },
)
