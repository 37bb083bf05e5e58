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
