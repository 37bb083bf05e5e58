# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Commands of ``ros2`` for a ROS 2 runtime that lacks them: action, interface, lifecycle."""

from setuptools import setup

setup(
    name='rbd_ros2_verbs',
    version='1.0.0',
    description='ros2 action, interface and lifecycle where their packages are not installed',
    license='Apache-2.0',
    packages=['rbd_ros2_verbs'],
    entry_points={
        'ros2cli.command': [
            'action = rbd_ros2_verbs.action:ActionCommand',
            'interface = rbd_ros2_verbs.interface:InterfaceCommand',
            'lifecycle = rbd_ros2_verbs.lifecycle:LifecycleCommand',
        ],
    },
)
