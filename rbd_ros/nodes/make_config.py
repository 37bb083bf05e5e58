# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""``ros2 run rbd_ros make_config``: the parameter file of a robot, from its description."""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import cast

from rbd_ros.control.parameters.example_file import config_text
from rbd_ros.control.parameters.template import CHOICES
from rbd_ros.errors import RbdError, SettingError
from rbd_ros.nodes.description import description_text
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

__all__ = ['main']

_TIMEOUT = 10.0  # s for a latched description to come


def _description_from_topic(topic: str) -> str:
    """Return a description that somebody publishes, latched."""
    rclpy.init()
    node = rclpy.create_node(f'make_config_{os.getpid()}')
    found: list[str] = []
    qos = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(String, topic, lambda message: found.append(message.data), qos)
    end = time.monotonic() + _TIMEOUT
    try:
        while not found and time.monotonic() < end:
            rclpy.spin_once(node, timeout_sec=0.1)
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    if not found:
        raise SettingError(f'there is no robot description on {topic} within '
                           f'{_TIMEOUT:g} s; give a file with --urdf')
    return found[0]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='ros2 run rbd_ros make_config',
        description='Print a controller parameter file for a robot: limits from its '
                    'description, and questions that only a person can answer, as lines to '
                    'choose from.')
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument('--urdf', metavar='FILE', help='URDF or xacro file, or package:// address')
    source.add_argument('--topic', nargs='?', const='/robot_description', metavar='NAME',
                        help='take the description from this topic (/robot_description)')
    parser.add_argument('--joints', metavar='A,B,C',
                        help='controlled joints in the order of the commands; default: all')
    parser.add_argument('--rate', type=float, default=500.0, metavar='HZ',
                        help='rate of joint_states (500)')
    for name, (question, answers) in CHOICES.items():
        parser.add_argument(f'--{name.replace("_", "-")}', choices=list(answers), help=question)
    return parser


def main(args: list[str] | None = None) -> int:
    """Print the file; errors go to standard error."""
    given = _parser().parse_args(args)
    choices = {name: cast(str, getattr(given, name)) for name in CHOICES if getattr(given, name)}
    joints = [name.strip() for name in given.joints.split(',')] if given.joints else None
    try:
        urdf = (description_text('', given.urdf) if given.urdf
                else _description_from_topic(given.topic))
        origin = given.urdf or f'the topic {given.topic}'
        text = config_text(urdf, origin, joints=joints, rate=given.rate, choices=choices)
    except RbdError as error:
        print(f'make_config: {error}', file=sys.stderr)
        return 1
    print(text, end='')
    return 0


if __name__ == '__main__':
    sys.exit(main())
