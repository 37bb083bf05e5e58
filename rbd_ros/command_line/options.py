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
