# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What drives the robot: its mode, stop and reset, and what belongs to one kind of driving."""

from __future__ import annotations

from collections.abc import Sequence
import math
import time
from typing import Any, TYPE_CHECKING

from rbd_ros.control.modes import MODES
from rbd_ros.nodes.dashboard.adjust import by_hand
from rbd_ros.nodes.dashboard.joint_drive import JointDrive
from rbd_ros.nodes.dashboard.pose_file import PoseFile
from rbd_ros.nodes.dashboard.poses import Poses
from rbd_ros.nodes.dashboard.settings import READ_PERIOD
from rbd_ros.nodes.dashboard.simulated import SimulatedRobot
from rbd_ros.nodes.dashboard.target import TargetHandle

if TYPE_CHECKING:
    from pathlib import Path

    from rbd_ros.dynamics.robot import Dynamics
    from rbd_ros.nodes.dashboard.operator import Operator
    from rbd_ros.nodes.dashboard.settings import Settings
    from rbd_ros.nodes.dashboard.telemetry import Telemetry
    from rbd_ros.view.scene import RobotScene

__all__ = ['Drive']


class Drive:
    """
    The controls that send something; without permission they are grey.

    :param server: of the page.
    :param drawn: the robot in the scene.
    :param robot: its kinematics.
    :param frame: the controlled frame.
    :param joints: that the controller commands.
    :param telemetry: what the robot does.
    :param operator: sends it.
    :param settings: parameters of the controller.
    """

    def __init__(self, server: Any, drawn: RobotScene, robot: Dynamics, frame: str,
                 joints: Sequence[str], telemetry: Telemetry, operator: Operator,
                 settings: Settings, poses: Path) -> None:
        self._telemetry, self._operator = telemetry, operator
        self._mode_shown, self._look_again = '', math.inf  # and when to look, a steady time
        gui, off = server.gui, not operator.allowed
        with gui.add_folder('Drive'):
            self._mode = gui.add_dropdown('Mode', tuple(MODES), disabled=off)
            self._mode.on_update(by_hand(self.choose_mode))
            stop = gui.add_button('Stop', color='red', disabled=off)
            stop.on_click(lambda _: operator.stop())
            reset = gui.add_button('Reset', disabled=off)
            reset.on_click(lambda _: operator.reset())
            self._target = TargetHandle(server, robot, frame, telemetry, operator, settings)
        self._joints = JointDrive(gui, robot.model, joints, telemetry, operator)
        self._poses = Poses(gui, self._joints, PoseFile(robot.model.name, poses),
                            allowed=operator.allowed)
        self._simulated = SimulatedRobot(server, drawn, frame, telemetry, operator)

    def send(self) -> None:
        """Send what lasts; to be called some 25 times per second."""
        self._target.send()
        self._joints.send()
        self._simulated.send()

    def update(self) -> None:
        """Show what the robot does; to be called some times per second."""
        self._target.update()
        self._joints.update()
        self._poses.update()
        self._simulated.update()
        self._show_mode()

    def choose_mode(self) -> None:
        """Ask for the mode that is chosen on the page."""
        self._look_again = time.monotonic() + READ_PERIOD
        self._operator.set({'mode': self._mode.value})

    def _show_mode(self) -> None:
        """
        Show the mode when it changes, which others may do, too, and after a choice by hand.

        Written all the time, it would undo a choice before that is read, and send the old mode.
        """
        mode, now = self._telemetry.mode, time.monotonic()
        if mode.isidentifier() and (mode != self._mode_shown or now >= self._look_again):
            self._look_again, self._mode_shown = math.inf, mode
            if mode not in MODES:  # one of the user's
                self._mode.options = (*MODES, mode)
            self._mode.value = mode
