# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Measured and predicted torque on the page: the difference of each joint."""

from __future__ import annotations

import math
from typing import Any, TYPE_CHECKING

from rbd_ros.errors import RbdError
from rbd_ros.nodes.dashboard.joint_history import joints_of
from rbd_ros.quoting import markup_text
from rbd_ros.view.torques import Comparison

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rbd_ros.dynamics.robot import Dynamics
    from rbd_ros.view.torques import Motion

__all__ = ['TorqueTable']

TITLE = 'Measured and predicted torque'
WAITING = 'Waiting for joint states with efforts, or for commands.'
NOT_FOR = 'Not for robots with closed loops or joints with several coordinates.'
SOURCES = {'': WAITING,
           'effort': 'measured: effort in joint_states',
           'sent': 'measured: the commanded torque and what the driver adds'}
RIGHT = 'style="text-align:right"'
ELSEWHERE = 'The payload is at another frame and is not included.'


class TorqueTable:
    """
    A folder with a table of all joints.

    :param gui: of the page.
    :param robot: compiled, with a payload at the frame.
    :param frame: the controlled one.
    :param joints: the controlled ones.
    :param limits: their largest torques.
    :param motion: what is known of them.
    """

    def __init__(self, gui: Any, robot: Dynamics, frame: str, joints: Sequence[str],
                 limits: Sequence[float], motion: Motion) -> None:
        model = robot.model
        self._joints, self._limits = tuple(joints), limits
        self._units = [joint.unit('measured_torque') for joint in joints_of(model, joints)]
        self._settings: Mapping[str, Any] = {}
        self._before: Any = None  # rms differences that were remembered
        simple = not model.loops and model.nq == model.nv == len(model.independent_joint_names)
        self.comparison = Comparison(robot, frame, joints, motion) if simple else None
        with gui.add_folder(TITLE, expand_by_default=False):
            self._words = gui.add_html(WAITING if simple else NOT_FOR)
            remember = gui.add_button(
                'Remember', hint='keep the current differences beside later ones; nothing is sent',
                visible=simple)
            remember.on_click(lambda _: self.remember())

    def remember(self) -> None:
        """Keep the differences of now, to compare another model with."""
        self._before = None if self.comparison is None else self.comparison.rms()

    def take(self, settings: Mapping[str, Any]) -> None:
        """Use parameters of the controller."""
        self._settings = settings
        if self.comparison is not None:
            self.comparison.carry(settings)

    @property
    def known(self) -> bool:
        """Return whether there is a difference to see."""
        return self.comparison is not None and self.comparison.rms() is not None

    def update(self) -> None:
        """Add what came, and show it."""
        found = self.comparison
        if found is None:
            return
        try:
            found.update(self._settings)
        except RbdError as error:  # numbers with which there is no dynamics
            self._words.content = markup_text(str(error))
            return
        self._words.content = self._table(found)

    def _table(self, found: Comparison) -> str:
        """Return the rms difference of each joint, in HTML."""
        rms = found.rms()
        if rms is None:
            return WAITING
        before = [''] * len(rms) if self._before is None else [
            f'{value:.2f}' for value in self._before]
        rows = ''.join(
            f'<tr><td>{markup_text(name)}</td><td {RIGHT}>{old}</td>'
            f'<td {RIGHT}>{value:.2f} {unit}</td><td {RIGHT}>{_share(value, limit)}</td></tr>'
            for name, old, value, unit, limit in zip(
                self._joints, before, rms, self._units, self._limits, strict=True))
        notes = [SOURCES[found.source], *([ELSEWHERE] if found.elsewhere else [])]
        return (f'<div style="margin:2px 8px;font-size:12px">{"<br>".join(notes)}'
                '<table class="differences" style="width:100%"><tr><td>rms difference</td>'
                f'<td {RIGHT}>{"" if self._before is None else "before"}</td><td></td>'
                f'<td {RIGHT}>of limit</td></tr>{rows}</table></div>')


def _share(value: float, limit: float) -> str:
    return f'{100.0 * value / limit:.1f} %' if math.isfinite(limit) and limit > 0.0 else ''
