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

"""
List the robots that are known by name.

    rbd robots
    rbd info panda

A name stands for a description wherever a ROBOT is asked for, in load_urdf in Python, and in
ros2 launch rbd_ros controller.launch.py robot:=panda. Most descriptions are in the package
example-robot-data, each under its own licence; ./run fetches it on the first use.
"""

from __future__ import annotations

from rbd_ros.command_line.options import AsJson
from rbd_ros.command_line.output import show, table


def run(as_json: AsJson = False) -> None:
    """List names, licences, and whether the descriptions are here."""
    from rbd_ros.errors import ModelError
    from rbd_ros.model.urdf import find_resource
    from rbd_ros.model.urdf.known_robots import known_robots, KnownRobot

    def here(robot: KnownRobot) -> bool:
        try:
            return find_resource(robot.address).is_file()
        except ModelError:
            return False
    rows = [{**robot._asdict(), 'installed': here(robot)} for robot in known_robots().values()]
    show({'robots': rows}, as_json,
         table('Robots by name', ('name', 'robot', 'licence', 'installed'),
               [[row['name'], row['title'], row['licence'], 'yes' if row['installed'] else 'no']
                for row in rows]),
         *([] if all(row['installed'] for row in rows) else [
             'to install the others: pip install example-robot-data (./run does so by itself)']))
