# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The text of a robot description, from a parameter, a URDF or a xacro file."""

from __future__ import annotations

from pathlib import Path

from ament_index_python.packages import get_package_share_directory, PackageNotFoundError
from rbd_ros.model.urdf.description import read_description

BUILT_IN = 'seven_joint_arm.urdf'

#: A pose of the built-in arm from which it can move in every direction, rad.
BUILT_IN_POSE = (0.0, 0.4, 0.0, -1.2, 0.0, 0.8, 0.0)


def built_in_robot() -> Path:
    """Return the file of the built-in arm, installed or in the source tree."""
    try:
        share = Path(get_package_share_directory('rbd_ros'))
    except PackageNotFoundError:
        share = Path(__file__).parents[2]
    return share / 'urdf' / BUILT_IN


def description_text(text: str, file: str) -> str:
    """
    Return URDF text.

    :param text: taken as it is, unless empty.
    :param file: URDF or xacro file, also ``package://``; empty for the built-in arm.
    :raises ModelError: for a file that cannot be read.
    """
    if text:
        return text
    return read_description(file or str(built_in_robot()))
