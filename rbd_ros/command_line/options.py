# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
import re
from typing import Annotated, Optional

import typer

__all__ = ['AsJson', 'decimal_comma', 'Floating', 'Namespace', 'recording_file', 'Robot', 'Seed']

Robot = Annotated[str, typer.Argument(
    metavar='ROBOT', help='URDF or xacro file, package:// address, name (see rbd robots), or '
                          '- for standard input.')]
Floating = Annotated[bool, typer.Option(
    '--floating-base', help='Let the root link move freely, as in a walking robot.')]
AsJson = Annotated[bool, typer.Option('--json', help='Print JSON instead of tables.')]
Namespace = Annotated[Optional[str], typer.Option(
    metavar='NAME', help='Namespace of the robot, if several were recorded; / is none.')]
Seed = Annotated[int, typer.Option(help='Seed of the random states.')]


def decimal_comma(text: str) -> str:
    """
    Return what to do about a number that has a comma where the point belongs, else nothing.

    :param text: as it was typed.
    """
    number = re.fullmatch(r'\s*([-+]?\d*),(\d+(?:[eE][-+]?\d+)?)\s*', text)
    return f': write a decimal point, as in {number[1]}.{number[2]}' if number else ''


def recording_file(text: str) -> Path:
    """
    Return the path of a recording; refuse a robot, which has an option of its own.

    :param text: as it was typed.
    """
    from rbd_ros.identification.bag import BagError, refuse_robot
    try:
        refuse_robot(Path(text))
    except BagError as error:
        raise BagError(f'{error}, and the robot with --urdf') from None
    return Path(text)
