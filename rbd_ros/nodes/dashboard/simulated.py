# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What can be done to a simulated robot, and to no other."""

from __future__ import annotations

import time
from typing import Any, TYPE_CHECKING

from rbd_ros.nodes.dashboard.adjust import by_hand
from rbd_ros.nodes.dashboard.pull import LinkPull

if TYPE_CHECKING:
    from rbd_ros.nodes.dashboard.operator import Operator
    from rbd_ros.nodes.dashboard.telemetry import Telemetry
    from rbd_ros.view.scene import RobotScene

__all__ = ['PUSH_DURATION', 'SimulatedRobot']

PUSH_DURATION = 0.5  # s that a push lasts
HOME_PAUSE, HOME_TIMEOUT = 0.5, 4.0  # s, earliest and latest reset on the way home


class SimulatedRobot:
    """
    The way home, pushes and a pause; shown where there is a simulator.

    :param server: of the page.
    :param drawn: the robot in the scene.
    :param frame: that is pushed.
    :param telemetry: what the controller says.
    :param operator: sends it.
    """

    def __init__(self, server: Any, drawn: RobotScene, frame: str, telemetry: Telemetry,
                 operator: Operator) -> None:
        self._frame, self._telemetry, self._operator = frame, telemetry, operator
        self._push_until = 0.0  # a steady time
        self._homing: tuple[float, float] | None = None  # when a way home began and is given up
        gui, off = server.gui, not operator.allowed
        self._folder = gui.add_folder('Simulated robot', visible=False)  # until there is one
        with self._folder:
            home = gui.add_button('Back to the start pose', disabled=off)
            home.on_click(lambda _: self.start_home())
            self._force = gui.add_vector3('Push, N', (15.0, 0.0, 0.0), step=1.0, disabled=off)
            push = gui.add_button('Push', disabled=off, hint='the tool, for half a second')
            push.on_click(lambda _: self.start_push())
            self._pull = LinkPull(server, drawn, operator)
            paused = gui.add_checkbox('Pause the simulator', False, disabled=off)
            paused.on_update(by_hand(lambda: operator.pause(paused.value)))

    def send(self) -> None:
        """Push while the push lasts; to be called some 25 times per second."""
        self._pull.send()
        if time.monotonic() < self._push_until:
            self._operator.push(self._frame, self._force.value)

    def update(self) -> None:
        """Show whether there is a simulator, and finish a way home."""
        self._folder.visible = self._operator.simulated
        self._finish_home()

    def start_push(self) -> None:
        """Begin a push."""
        self._push_until = time.monotonic() + PUSH_DURATION

    def start_home(self) -> None:
        """Put the robot back to where it started, if it is a simulated one."""
        if not self._operator.simulated:
            return
        now = time.monotonic()
        self._homing = now + HOME_PAUSE, now + HOME_TIMEOUT
        self._operator.home()

    def _finish_home(self) -> None:
        """
        Reset the controller, too, as soon as it has noticed that the robot is elsewhere.

        A robot that jumps is a fault, which ends in silence; only then it can start again.
        """
        if not self._operator.simulated:  # never the controller of another robot
            self._homing = None
        if self._homing is None or time.monotonic() < self._homing[0]:
            return
        late = time.monotonic() > self._homing[1]
        if self._telemetry.state == 'fault' or (late and self._telemetry.fault):
            self._operator.reset()
            self._homing = None
        elif late:
            self._homing = None
