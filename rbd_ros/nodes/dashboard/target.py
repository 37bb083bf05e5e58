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
"""A handle in the scene that the controlled frame follows."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from rbd_ros.control.modes.modes import names_in, Takes, taking
from rbd_ros.nodes.dashboard.drawings import OF_ROBOT
from rbd_ros.view.figures import quaternion

if TYPE_CHECKING:
    from rbd_ros.dynamics.robot import Dynamics
    from rbd_ros.nodes.dashboard.operator import Operator
    from rbd_ros.nodes.dashboard.telemetry import Telemetry

__all__ = ['TargetHandle']


class TargetHandle:
    """
    A checkbox, and the handle that it shows.

    :param server: of the page.
    :param robot: its kinematics.
    :param frame: the controlled frame.
    :param telemetry: where the robot is.
    :param operator: sends the target.
    """

    def __init__(self, server: Any, robot: Dynamics, frame: str,
                 telemetry: Telemetry, operator: Operator) -> None:
        self._robot, self._frame = robot, frame
        self._telemetry, self._operator = telemetry, operator
        self._on = server.gui.add_checkbox(
            'Drag a target', False, disabled=not operator.allowed,
            hint=f'in mode {names_in(taking(Takes.TARGET), "or")} the controlled frame '
                 'follows it')
        self._on.on_update(lambda _: self.show())
        self._gizmo = server.scene.add_transform_controls(f'{OF_ROBOT}/target', scale=0.25,
                                                          visible=False)
        self._gizmo.on_update(lambda _: operator.target(self._gizmo.position, self._gizmo.wxyz))

    def show(self) -> None:
        """Put the target where the frame is, and let it be dragged."""
        q = self._telemetry.position(self._robot.model)
        if self._on.value and q is not None:
            H = self._robot.pose(q, self._frame)
            self._gizmo.position, self._gizmo.wxyz = H[:3, 3], quaternion(H[:3, :3])
        # Without a position it would be at the origin of the base: no place to start from.
        self._gizmo.visible = bool(self._on.value and q is not None)
        self._operator.aim(self._gizmo.visible)
