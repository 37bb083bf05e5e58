# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The page: what it shows; what its buttons do is in drive.py."""

from __future__ import annotations

from pathlib import Path
import time
from typing import Any, TYPE_CHECKING

import numpy as np
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.nodes.dashboard import guide
from rbd_ros.nodes.dashboard.adjust import Adjust
from rbd_ros.nodes.dashboard.drawings import Drawings
from rbd_ros.nodes.dashboard.drive import Drive
from rbd_ros.nodes.dashboard.event_watch import EventWatch
from rbd_ros.nodes.dashboard.joint_history import JointHistory, joints_of
from rbd_ros.nodes.dashboard.joint_plots import JointPlots
from rbd_ros.nodes.dashboard.look import Look
from rbd_ros.nodes.dashboard.number_plot import NumberPlot
from rbd_ros.nodes.dashboard.operator import Operator
from rbd_ros.nodes.dashboard.pose_file import state_folder
from rbd_ros.nodes.dashboard.recorder import Recorder
from rbd_ros.nodes.dashboard.recorder_panel import RecorderPanel
from rbd_ros.nodes.dashboard.settings import Settings
from rbd_ros.nodes.dashboard.status import Status, status_of
from rbd_ros.nodes.dashboard.teach_panel import TeachPanel
from rbd_ros.nodes.dashboard.telemetry import BasePose, STALE_AFTER, Telemetry
from rbd_ros.nodes.dashboard.torque_table import TorqueTable
from rbd_ros.quoting import markdown_text, markup_text
from rbd_ros.view.figures import bars
from rbd_ros.view.poses import compiled_poses
from rbd_ros.view.scene import RobotScene, viewpoint
from rbd_ros.view.server_part import origin_of, ServerPart
from rbd_ros.view.shapes import read_shapes
from rbd_ros.view.torques import fixed_positions

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from rbd_ros.model.model import Model

    Array = NDArray[np.float64]

__all__ = ['Page']

SLOW_PERIOD = 0.2  # s between two updates of text, bars and plots
TORQUE_PERIOD = 0.5  # s between two updates of measured and predicted torques
MOTION_THRESHOLD = 1e-4  # rad or m that a joint moves without being drawn anew
MAX_LISTED = 5  # shapes that cannot be drawn, named one by one


class Page:
    """
    One page for all who open it.

    :param server: of the page.
    :param model: the robot.
    :param urdf: the text of its description.
    :param frame: the controlled frame.
    :param joints: those that the controller commands, in its order.
    :param telemetry: what there is to show.
    :param operator: what can be sent.
    :param settings: parameters of the controller.
    :param near: file of the description, for meshes; None: there is none.
    :param kept: returns the folder of a kind of files, as poses and lessons.
    """

    def __init__(self, server: Any, model: Model, urdf: str, frame: str,
                 joints: tuple[str, ...], telemetry: Telemetry, operator: Operator,
                 settings: Settings, near: Path | None = None,
                 kept: Callable[[str], Path] = state_folder) -> None:
        self._model, self._frame, self._joints = model, frame, joints
        self.telemetry, self._operator = telemetry, operator
        self._server, self._gui = server, server.gui
        self.settings, self._taken = settings, settings.values
        self._robot = Dynamics(model, payload_frame=frame)
        # in a part of a scene floor and camera are those of all robots
        beside = (0.0, 0.0, 0.0) if isinstance(server, ServerPart) else None
        self._drawn = RobotScene(server, model, read_shapes(urdf), near=near, beside=beside,
                                 poses=compiled_poses(self._robot))
        self._limits = [float(model.effort_limit[model.velocity_slice(name).start])
                        for name in joints]
        self._next_slow = self._next_torques = 0.0  # steady times
        self._shown: Array | None = None  # position that is drawn
        self._figures_late = True  # they are drawn for every other picture of a motion
        self._base: BasePose | None = None  # of the base that is drawn
        self._status = self._gui.add_html(Status('waiting', 'Waiting for the robot').html())
        self._answer = self._gui.add_html(answer_html(operator.answer))
        self._drive = Drive(server, self._drawn, self._robot, frame, joints, telemetry,
                            operator, settings, kept('poses'))
        if self._drawn.problems:  # below the button that stops
            self._gui.add_markdown(problems_text(self._drawn.problems))
        self._adjust = Adjust(self._gui, operator, settings)
        self._figures = Drawings(server, self._robot, frame, joints, telemetry, settings)
        Look(server, self._drawn, frame)
        history = JointHistory(joints_of(model, joints))
        units = sorted({joint.unit('measured_torque') for joint in history.joints}, reverse=True)
        with self._gui.add_folder(f'Torques, {" or ".join(units)}'):
            self._bars = self._gui.add_html('')
        with self._gui.add_folder('Events', expand_by_default=False):
            self._events = self._gui.add_html('')
        self._watch, self._recorder = EventWatch(telemetry), Recorder(history, telemetry)
        self._over_time = JointPlots(self._gui, history, telemetry.timeline)
        self._numbers = NumberPlot(self._gui, {
            'Joint states, Hz': telemetry.rate, 'Latency, ms': telemetry.latency,
            'Condition number': self._figures.condition})
        self._torques = TorqueTable(self._gui, self._robot, frame, joints, self._limits,
                                    telemetry.motion)
        self._record = RecorderPanel(self._gui, telemetry.controller, telemetry.joint_states,
                                     kept('recordings'), allowed=operator.allowed)
        self._teach = TeachPanel(self._gui, self._robot, joints, telemetry, operator,
                                 kept('lessons'))
        with self._gui.add_folder(guide.TITLE, expand_by_default=False):
            self._guide = self._gui.add_html('')

    @property
    def simulated(self) -> bool:
        """Return whether the robot that moves is a simulated one, which the page may drive."""
        return self._operator.simulated

    @property
    def edge(self) -> float:
        """Return where the room of the robot ends in the world, along y, m."""
        return float(origin_of(self._server)[1]) + 0.5 * viewpoint(self._model).floor

    def close(self) -> None:
        """End what was begun here; the page is not shown again."""
        self._record.end()
        self._teach.end()
        self.telemetry.close()

    def update(self) -> None:
        """Show the present; to be called some 25 times per second."""
        self.telemetry.take()
        self._watch.look()
        self._recorder.record()
        slow = time.monotonic() >= self._next_slow
        with self._server.atomic():  # one message for a picture, not one for each link
            if self._server.get_clients():
                self._draw(slow)
            self._drive.send()
            if slow:
                self._next_slow = time.monotonic() + SLOW_PERIOD
                self._update_panel()

    def _draw(self, slow: bool) -> None:
        """Show the robot, and what is drawn around it."""
        q, base = self.telemetry.position(self._model), self.telemetry.base
        if base is not None and base is not self._base and base.link in self._drawn.links:
            self._drawn.place(*base)
            self._base = base
        if q is None:
            return
        # What does not change is not sent: a browser would draw it all the same.
        if self._shown is None or np.abs(q - self._shown).max(initial=0.0) > MOTION_THRESHOLD:
            self._drawn.show(q)
            self._shown = q
            self._figures_late = not self._figures_late  # which take as long as the robot
            if not self._figures_late:
                self._figures.show_ellipsoids(q)
        elif slow or self._figures_late:
            self._figures_late = False
            self._figures.show_ellipsoids(q)
        if slow:
            self._figures.record_condition()
            self._figures.show_numbers()
        self._figures.show_forces(q)

    def _update_panel(self) -> None:
        """Show words, bars and plots."""
        self._status.content = status_of(self.telemetry, commands=self._operator.allowed).html()
        self._answer.content = answer_html(self._operator.answer)
        self._drive.update()
        self._record.update()
        self._teach.update()
        self._show_bars()
        self._operator.expire()
        self.settings.refresh()
        if self.settings.values is not self._taken:
            self._taken = self.settings.values
            self.telemetry.fixed = fixed_positions(self._taken)
            self._adjust.take(self._taken)
            self._torques.take(self._taken)
        self._events.content = self.telemetry.timeline.html()
        self._adjust.show(self.telemetry.mode)
        if time.monotonic() >= self._next_torques:
            self._next_torques = time.monotonic() + TORQUE_PERIOD
            self._torques.update()
            if self._torques.comparison is not None:
                self._recorder.expect(self._torques.comparison)
            self._over_time.update()
            self._numbers.update()
            self._guide.content = guide.guide(self.telemetry, self._taken, self._torques.known)

    def _show_bars(self) -> None:
        """Show the torques that are sent; without a controller those that are measured."""
        command = self.telemetry.command
        if len(command) != len(self._joints) or self.telemetry.age('commands') > STALE_AFTER:
            command = tuple(self.telemetry.efforts.get(name, 0.0) for name in self._joints)
        self._bars.content = bars(self._joints, command, self._limits, self.telemetry.saturation)


def answer_html(text: str) -> str:
    """Return what became of a command, in words of the controller, as HTML."""
    return text and f'<div style="margin:2px 16px 8px;font-size:14px">{markup_text(text)}</div>'


def problems_text(problems: list[str]) -> str:
    """Return what cannot be drawn, as Markdown; of many, some."""
    more = len(problems) - MAX_LISTED
    return '\n\n'.join([
        '**Not drawn as described**, but as boxes with the inertia of the link:',
        # a path may be broken at its slashes, the panel is narrow
        *(markdown_text(each).replace('/', '/\u200b') for each in problems[:MAX_LISTED]),
        *([f'and {more} more'] if more > 0 else [])])
