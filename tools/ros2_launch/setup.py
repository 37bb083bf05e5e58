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
