# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Named poses on the page: those that every robot has, and those of a person."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np
from rbd_ros.errors import RbdError
from rbd_ros.nodes.dashboard.operator import VIEW_ONLY
from rbd_ros.quoting import markdown_code, markdown_text

if TYPE_CHECKING:
    from rbd_ros.nodes.dashboard.joint_drive import JointDrive
    from rbd_ros.nodes.dashboard.pose_file import PoseFile

__all__ = ['Poses']

START, ZERO, MIDDLE = 'where it was at first', 'zero', 'middle of the limits'
SWITCH_ON = 'Tick **Drive the joints** first: the page is not driving.'
NOBODY = 'The position of the robot is unknown.'
TAKEN = '"{}" is a built-in pose: choose another name.'


class Poses:
    """
    A list of poses, a button to go to one, and what it takes to save one.

    To go to a pose is to move the sliders there: speed, limits and dead-man are those of the
    sliders.

    :param gui: of the page.
    :param drive: moves the joints.
    :param file: keeps the poses of a person.
    :param allowed: whether the page may command, and write the file.
    """

    def __init__(self, gui: Any, drive: JointDrive, file: PoseFile, *, allowed: bool) -> None:
        self._drive, self._file, self._allowed = drive, file, allowed
        self._start: dict[str, float] | None = None
        off = not allowed
        with gui.add_folder('Poses', expand_by_default=False):
            self.choice = gui.add_dropdown('Pose', (ZERO, MIDDLE), disabled=off)
            go = gui.add_button('Go to the pose', disabled=off)
            self.name = gui.add_text('Name', '', disabled=off)
            save = gui.add_button('Save where it is', disabled=off)
            forget = gui.add_button('Forget the pose', disabled=off)
            self.words = gui.add_markdown('')
        go.on_click(lambda _: self.go())
        save.on_click(lambda _: self.save())
        forget.on_click(lambda _: self.forget())
        self._list()

    def update(self) -> None:
        """Remember where the robot was first seen."""
        if self._start is None:
            self._start = self._drive.positions
            if self._start is not None:
                self._list()

    def built_in(self) -> dict[str, dict[str, float]]:
        """Return the poses that every robot has; a joint without limits is at zero."""
        point, joints = self._drive.point, self._drive.joints
        bounded = np.isfinite(point.lower) & np.isfinite(point.upper)
        middle = 0.5 * (np.where(bounded, point.lower, 0.0) + np.where(bounded, point.upper, 0.0))
        found = {ZERO: dict.fromkeys(joints, 0.0),
                 MIDDLE: dict(zip(joints, middle.tolist(), strict=True))}
        return found if self._start is None else {START: self._start, **found}

    def go(self) -> None:
        """Ask for the pose that is chosen; a joint that it does not name stays."""
        try:
            pose = (self._file.read() | self.built_in()).get(self.choice.value)
        except RbdError as error:
            self.words.content = markdown_text(str(error))
            return
        if pose is None:
            self._list('This pose no longer exists.')
        elif not self._drive.is_driving:
            self.words.content = SWITCH_ON
        else:
            self._drive.ask(pose)
            self.words.content = f'Going to "{markdown_text(self.choice.value)}".'

    def save(self) -> None:
        """Keep where the robot is under the name that was typed."""
        name, pose = str(self.name.value).strip(), self._drive.positions
        if not self._allowed:  # a browser may press a grey button
            self.words.content = VIEW_ONLY
        elif pose is None:
            self.words.content = NOBODY
        elif name in (START, ZERO, MIDDLE):
            self.words.content = TAKEN.format(name)
        else:
            self._change(lambda: self._file.save(name, pose),
                         f'Saved in {markdown_code(str(self._file.path))}.')

    def forget(self) -> None:
        """Remove the pose that is chosen; those that every robot has stay."""
        name = self.choice.value
        if not self._allowed:
            self.words.content = VIEW_ONLY
        elif name in self.built_in():
            self.words.content = f'Every robot has the pose "{name}": it stays.'
        else:
            self._change(lambda: self._file.forget(name), f'Forgotten: "{markdown_text(name)}".')

    def _change(self, change: Any, words: str) -> None:
        try:
            change()
        except RbdError as error:
            self.words.content = markdown_text(str(error))
        else:
            self._list(words)

    def _list(self, words: str = '') -> None:
        """Show the names that there are, and something to say."""
        try:
            own: tuple[str, ...] = tuple(self._file.read())
        except RbdError as error:
            own, words = (), markdown_text(str(error))
        names = (*self.built_in(), *(name for name in own if name not in self.built_in()))
        if tuple(self.choice.options) != names:
            self.choice.options = names
        self.words.content = words
