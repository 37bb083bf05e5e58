# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

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
