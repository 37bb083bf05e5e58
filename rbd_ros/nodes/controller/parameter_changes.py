# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Parameter changes at run time: checked as a set, then posted to the control thread."""

from __future__ import annotations

from collections.abc import Mapping
import traceback
from typing import Protocol, TYPE_CHECKING

from rbd_ros.control.interface.row import Parameter as Row
from rbd_ros.control.load.load import payload_of
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import PARAMETERS, with_modes
from rbd_ros.control.payload_check import PayloadCheck
from rbd_ros.errors import RbdError
from rbd_ros.nodes import parameters
from rbd_ros.nodes.callback_guard import last_line
from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter

if TYPE_CHECKING:
    from rbd_ros.control.controller import Controller
    from rbd_ros.control.robot import Robot
    from rclpy.node import Node

__all__ = ['ParameterChanges']


class Host(Protocol):
    """What the controller is doing, and with which robot."""

    doing: str  # transition under way
    active: bool
    robot: Robot | None
    controller: Controller | None


class ParameterChanges:
    """Checks and applies changes of the parameters of a node."""

    def __init__(self, node: Node, host: Host, *, simulated: bool) -> None:
        """
        Listen to changes.

        :param node: whose parameters they are.
        :param host: what the controller is doing.
        :param simulated: whether the control clock is the simulated one.
        """
        self._node, self._host, self._simulated = node, host, simulated
        node.add_on_set_parameters_callback(self._check_changes)
        node.add_post_set_parameters_callback(self._apply)

    def _check_changes(self, changes: list[Parameter]) -> SetParametersResult:
        """Check changes as a set; an exception rejects them, too."""
        try:
            return self._check(changes)
        except RbdError as error:
            return SetParametersResult(successful=False, reason=str(error))
        except Exception:
            trace = traceback.format_exc()
            self._node.get_logger().error(f'parameter change rejected:\n{trace}')
            return SetParametersResult(successful=False, reason=last_line(trace))

    def _rows(self) -> Mapping[str, Row]:
        """Return the parameters of the controller, those of modes of the user among them."""
        robot = self._host.robot
        return PARAMETERS if robot is None else with_modes(robot.own_modes)

    def _check(self, changes: list[Parameter]) -> SetParametersResult:
        if not any(self._node.has_parameter(change.name) for change in changes):
            return SetParametersResult(successful=True)  # declared now, checked as a set later
        if self._host.doing:
            return SetParametersResult(
                successful=False, reason='parameters cannot be changed while the controller '
                                         f'is {self._host.doing}: wait until it has finished')
        if any(change.name == 'use_sim_time' for change in changes):
            return SetParametersResult(successful=False, reason='use_sim_time can only be set '
                                                                'at startup')
        host, rows = self._host, self._rows()
        current = parameters.read(self._node, rows)
        joints = len(host.robot.joints) if host.robot is not None else 0
        started = host.controller.started if host.controller is not None else ()
        result = parameters.check_changes(changes, current, active=host.active, joints=joints,
                                          started=started, rows=rows)
        if result.successful and host.robot is not None:
            merged = current | {change.name: change.value for change in changes}
            settings = Settings(host.robot, merged, simulated=False)
            reasons = settings.refusals()
            if host.controller is not None and any(c.name.startswith('payload.') for c in changes):
                PayloadCheck(host.controller).check(payload_of(settings))
            result = SetParametersResult(successful=not reasons, reason='; '.join(reasons))
        return result

    def _apply(self, changes: list[Parameter]) -> None:
        controller, robot = self._host.controller, self._host.robot
        if controller is None or robot is None:
            return
        rows = self._rows()
        structural = [change.name for change in changes if change.name in rows
                      and rows[change.name].structural]
        if structural:
            self._node.get_logger().warning(
                f'{", ".join(structural)}: takes effect at the next configuration')
        settings = Settings(robot, parameters.read(self._node, rows), simulated=self._simulated)
        controller.accepted = settings  # a goal sent after the answer is checked against it
        controller.post(lambda now, steady: controller.apply(settings, now, steady))
