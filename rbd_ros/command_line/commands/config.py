# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Write a parameter file of the controller for a robot.

    rbd config robot.urdf > my_robot.yaml
    rbd config robot.urdf --driver-adds none --release-torque gravity --effort-is-torque true

Limits come from the URDF. There are three questions that only you can answer: give the answers as
options, or choose among the lines in the file. Until then the controller does not start. --all
adds every other parameter as a comment, with its default and meaning.
"""

from __future__ import annotations

from typing import Annotated, Optional

from rbd_ros.command_line.options import AsJson, Robot
from rbd_ros.command_line.output import show
import typer


def run(
    robot: Robot,
    joints: Annotated[Optional[str], typer.Option(
        metavar='A,B,C', help='Controlled joints, in command order. Default: all.',
    )] = None,
    rate: Annotated[float, typer.Option(metavar='HZ', help='Rate of joint_states.')] = 500.0,
    driver_adds: Annotated[Optional[str], typer.Option(
        help='What the driver adds: none, gravity or gravity_and_coriolis.')] = None,
    release_torque: Annotated[Optional[str], typer.Option(
        help='Torque that remains when the controller ends: gravity or zero.')] = None,
    effort_is_torque: Annotated[Optional[str], typer.Option(
        help='Whether effort in joint_states is the joint torque: true or false.')] = None,
    everything: Annotated[bool, typer.Option(
        '--all', help='Add every other parameter as a comment.')] = False,
    as_json: AsJson = False,
) -> None:
    """Print a parameter file."""
    from rbd_ros.command_line.robots import read
    from rbd_ros.control.parameters.example_file import config_text
    answers = {'driver_adds': driver_adds, 'release_torque': release_torque,
               'effort_is_torque': effort_is_torque}
    text = config_text(
        read(robot), 'standard input' if robot == '-' else robot, rate=rate,
        joints=[name.strip() for name in joints.split(',')] if joints else None,
        choices={name: answer for name, answer in answers.items() if answer is not None},
        everything=everything)
    if as_json:
        show({'file': text}, True)
    else:
        print(text, end='')
