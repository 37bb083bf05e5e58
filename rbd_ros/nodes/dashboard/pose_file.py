# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Poses that a person has named, in a file for each robot."""

from __future__ import annotations

from collections.abc import Mapping
import math
import os
from pathlib import Path
import re
from typing import Any

from rbd_ros.errors import RbdError
import yaml

__all__ = ['PoseFile', 'state_folder']

LONGEST_NAME = 40  # characters of the name of a pose
MOST_POSES = 200
HEADER = '# Poses of {}, written by the dashboard: the position of each joint, rad or m\n'


def state_folder(kind: str) -> Path:
    """
    Return a folder for what the page keeps, where programs of this user have their states.

    :param kind: of files.
    """
    base = os.environ.get('XDG_STATE_HOME', '')
    return (Path(base) if base else Path.home() / '.local' / 'state') / 'rbd_ros' / kind


class PoseFile:
    """
    Named poses of a robot.

    :param robot: its name.
    :param folder: of the file.
    """

    def __init__(self, robot: str, folder: Path) -> None:
        self._robot = robot
        self.path = folder / f'{re.sub("[^A-Za-z0-9_-]", "_", robot) or "robot"}.yaml'

    def read(self) -> dict[str, dict[str, float]]:
        """
        Return the poses by name, each a position by joint.

        :raises RbdError: if the file has something else.
        """
        try:
            content = yaml.safe_load(self.path.read_text(encoding='utf-8')) or {}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise RbdError(f'{self.path} cannot be read: {error}') from error
        if not isinstance(content, dict):
            raise RbdError(f'{self.path}: it has no named poses')
        for name, pose in content.items():
            if not (isinstance(name, str) and isinstance(pose, dict)
                    and all(_is_position(*each) for each in pose.items())):
                raise RbdError(f'{self.path}: "{name}" is not a pose: give a finite number for '
                               f'each joint')
        return {name: {joint: float(q) for joint, q in pose.items()}
                for name, pose in content.items()}

    def save(self, name: str, pose: Mapping[str, float]) -> None:
        """
        Add a pose, or exchange that of the same name.

        :raises RbdError: if it has no proper name, or the file cannot be written.
        """
        if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
            raise RbdError(f'A pose needs a name of 1 to {LONGEST_NAME} characters.')
        poses = self.read() | {name: dict(pose)}
        if len(poses) > MOST_POSES:
            raise RbdError(f'{self.path} has {MOST_POSES} poses: forget one first')
        self._write(poses)

    def forget(self, name: str) -> None:
        """
        Remove a pose.

        :raises RbdError: if the file cannot be read or written.
        """
        self._write({key: pose for key, pose in self.read().items() if key != name})

    def _write(self, poses: Mapping[str, Mapping[str, float]]) -> None:
        """Write the file as a whole: whoever reads it meets the old or the new one."""
        new = self.path.with_suffix('.new')
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # ascii(): what a description calls the robot stays in its line
            new.write_text(HEADER.format(ascii(self._robot)) + yaml.safe_dump(
                {name: dict(pose) for name, pose in poses.items()}, sort_keys=False,
                allow_unicode=True), encoding='utf-8')
            new.replace(self.path)
        except OSError as error:
            raise RbdError(f'{self.path} cannot be written: {error}') from error


def _is_position(joint: Any, q: Any) -> bool:
    return (isinstance(joint, str) and isinstance(q, (int, float)) and not isinstance(q, bool)
            and math.isfinite(q))
