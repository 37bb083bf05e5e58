# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
``ros2 run rbd_ros path_server``: timed paths of the tip for any controller of joint trajectories.

Beside ros2_control nothing that takes long may run in an update, and to check a path takes long.
This node offers the topic and the action of paths that the controller's node has, checks each path
with the same code, and hands the joint motion to the action of the controller.
"""

from __future__ import annotations

from collections.abc import Callable
import sys
import time

from rbd_ros.control.kernels.kernels import LawKernels
from rbd_ros.control.parameters.assembly import settings_of_file
from rbd_ros.errors import RbdError
from rbd_ros.nodes.controller.description_source import DescriptionSource
from rbd_ros.nodes.controller.path_planner import PathPlanner
from rbd_ros.nodes.one_node import run_until_interrupted
from rbd_ros.nodes.parameters import declare_fixed
from rbd_ros.nodes.path_server.follower import Follower
from rbd_ros.nodes.path_server.guide import Guide
from rbd_ros.nodes.path_server.path_goals import PathGoals
from rbd_ros.nodes.path_server.robot_elsewhere import RobotElsewhere
from rclpy.clock import Clock, ClockType
from rclpy.executors import Executor
from rclpy.node import Node
from std_srvs.srv import SetBool

__all__ = ['main', 'PathServer']

#: of the controller in its parameter file
_SECTION = '/controller'
#: Default and meaning of each parameter.
PARAMETERS = {
    'robot_description': ('', 'URDF text. If empty, the file, or the topic robot_description.'),
    'robot_description_file': ('', 'URDF file, if robot_description is empty.'),
    'params_file': ('', 'Parameter file of the controller.'),
    'controller': ('controller', 'Name of the controller that follows the paths.')}
_PERIOD = 0.2  # s between two looks for a description
_LEAVE = 1.0  # s in which the controller must have heard that nobody leads it any more


class PathServer(Node):
    """Wait for the description, then serve."""

    def __init__(self, failed: Callable[[str], None]) -> None:
        """
        Declare the parameters.

        :param failed: gets a reason why nothing can be served.
        :raises SettingError: for a parameter of another type.
        """
        super().__init__('path_server')
        self._failed = failed
        declare_fixed(self, PARAMETERS)
        self._controller = self.resolve_topic_name(str(self.get_parameter('controller').value))
        self.serves = False
        self._goals: PathGoals | None = None
        self._description = DescriptionSource(self, in_use=lambda: self.serves)
        self._timer = self.create_timer(_PERIOD, self._start,
                                        clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _start(self) -> None:
        """Begin to serve once there is a description."""
        if not self._description.is_known():
            return
        self.destroy_timer(self._timer)
        try:
            self._serve()
        except (RbdError, ValueError) as error:
            self._failed(str(error))

    def _serve(self) -> None:
        text, origin = self._description.find()
        log = self.get_logger()
        settings = settings_of_file(
            text, str(self.get_parameter('params_file').value), _SECTION, log.warning,
            simulated=bool(self.get_parameter('use_sim_time').value),
            named_by='-p params_file:=FILE')
        robot = settings.robot
        kernels = LawKernels(robot, driver_adds=settings.text('driver_adds'),
                             driver_knows_payload=settings.flag('driver_knows_payload'),
                             axes=settings.task_axes)
        now = RobotElsewhere(self, settings, self._controller)
        planner = PathPlanner(self, now, kernels.compile('report'))
        action = f'{self._controller}/follow_joint_trajectory'
        self._guide = Guide(self, now, planner, self._controller)
        self._goals = PathGoals(self, now, planner, Follower(self, action), self._guide)
        self.create_service(SetBool, '~/pause', self._on_pause)
        self._description.configured, self.serves = text, True
        log.info(f'robot "{robot.model.name}" from {origin}: paths of {robot.tip} are checked '
                 f'here and followed by {action}')

    def leave(self) -> None:
        """Let the controller come to rest, and take no more paths."""
        if self._goals is not None:
            self._goals.leave()

    @property
    def rests(self) -> bool:
        """Return whether the controller follows nothing that came from here."""
        return self._goals is None or self._goals.rests

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        refused = self._guide.pause(request.data)
        response.success = not refused
        response.message = (
            f'{refused}; to pause a joint motion, call {self._controller}/pause'
            if refused else 'the path comes to rest' if request.data else 'the path goes on')
        return response


def _leave(node: PathServer, executor: Executor) -> None:
    """Cancel what is followed, in the thread of the node, and wait for it."""
    limit = time.monotonic() + _LEAVE
    left = executor.create_task(node.leave)
    while not (left.done() and node.rests) and time.monotonic() < limit:
        time.sleep(0.01)


def main(args: list[str] | None = None) -> int:
    """
    Run until the process is interrupted.

    :returns: 0 after a clean end, 1 if it did not start or failed.
    """
    return run_until_interrupted('path_server', PathServer, args, leave=_leave)


if __name__ == '__main__':
    sys.exit(main())
