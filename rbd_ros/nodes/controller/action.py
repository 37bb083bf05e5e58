# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The action ~/follow_joint_trajectory: goals are checked here and followed by the control thread.

A goal that cannot be followed is aborted before anything moves: a goal that is rejected gets no
text, an aborted one gets its error_code and error_string. Only a flood is rejected. One that can
be followed is answered when the control thread has ended it. No coroutine waits for that: the
executors of rclpy run a waiting coroutine again and again, which would take time from all else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from dataclasses import dataclass
import time
import traceback
from typing import TYPE_CHECKING

from action_msgs.msg import GoalInfo
from control_msgs.action import FollowJointTrajectory
from rbd_ros.control.interface.events import NOBODY
from rbd_ros.control.interface.results import GoalError, Outcome, ResultCode, Status
from rbd_ros.control.interface.words import ReferenceWord
from rbd_ros.control.paths.curve import WayPoints
from rbd_ros.control.paths.plans import PathPlan
from rbd_ros.control.references.goals import read_tolerances, Tolerances
from rbd_ros.control.references.trajectory import Knots
from rbd_ros.control.step.progress import note_progress, Progress
from rbd_ros.errors import RbdError
from rbd_ros.nodes.callback_guard import DEEP, last_line
from rbd_ros.nodes.controller.bounded_topics import BoundedInput
from rbd_ros.nodes.controller.goal_feedback import GoalFeedback, GoalLeases
from rbd_ros.nodes.controller.goal_server import end_goal, GoalServer
from rbd_ros.nodes.controller.inputs import knots_of, start_time
from rbd_ros.nodes.controller.loop_node import LoopNode
from rbd_ros.nodes.controller.path_planner import PathPlanner
from rbd_ros.nodes.goal_signs import ALIVE
from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.clock import Clock, ClockType
from rclpy.parameter import Parameter

if TYPE_CHECKING:
    from builtin_interfaces.msg import Duration
    from control_msgs.msg import JointTolerance
    from rbd_ros.control.controller import Controller
    from rclpy.lifecycle import LifecycleNode

__all__ = ['TrajectoryAction']

_NAME = '~/follow_joint_trajectory'
_PERIOD = 0.02  # s between two checks for goals that have ended
_MAX_JUDGED = 10  # goals between their judgement and their start
_MAX_GOALS = 200  # goals that are not answered yet, or whose results are still kept
RESULTS_KEPT = 10  # s that the result of a goal can be asked for, as in rcl_action


@dataclass
class _Plan:
    """A goal that has passed its checks."""

    goal: FollowJointTrajectory.Goal
    points: Knots | WayPoints
    tolerances: Tolerances
    start: float | None  # control time at which it begins, s; None: now
    mode: str  # to switch to; empty: none


@dataclass
class _Refusal:
    """A goal that has not passed them."""

    goal: FollowJointTrajectory.Goal
    outcome: Outcome


class _TooManyGoals(GoalError):
    """One more goal than can be remembered."""


class TrajectoryAction:
    """Serve the action for the configured robot."""

    def __init__(self, node: LifecycleNode, loop_node: LoopNode,
                 lock: AbstractContextManager[object]) -> None:
        """
        Create the server; it refuses goals until a controller is attached and active.

        :param node: the lifecycle node.
        :param loop_node: has the control clock; stops the robot if a goal cannot be cancelled.
        :param lock: held by callbacks.
        """
        self._node, self._loop_node, self._lock = node, loop_node, lock
        self._controller: Controller | None = None
        self._planner: PathPlanner | None = None
        self._paths: set[Hashable] = set()  # goals that are paths of the tip
        self._handles: dict[Hashable, ServerGoalHandle] = {}
        self._judged: dict[int, _Plan | _Refusal] = {}  # not yet accepted, by their identity
        self._leases = GoalLeases()
        self._signs = BoundedInput(
            node, GoalInfo, f'{node.resolve_topic_name(_NAME)}/{ALIVE}', self._leases.take, 10,
            node.get_logger().warning, newest=False)
        self._silent: Hashable = None  # goal that ends because its client is silent
        self._feedback = GoalFeedback(node, self._leases.tell)
        self.refused = 0
        self.refusal = ''  # reason of the last one
        self.last: Outcome | None = None  # of the goal that ended last
        self._server = GoalServer(
            node, FollowJointTrajectory, _NAME,
            execute_callback=self._unused,
            goal_callback=self._on_goal, handle_accepted_callback=self._on_accepted,
            cancel_callback=self._on_cancel, result_timeout=RESULTS_KEPT,
            **dict.fromkeys(('goal_service_qos_profile', 'result_service_qos_profile',
                             'cancel_service_qos_profile'), DEEP))
        self._timer = node.create_timer(  # runs while there are goals
            _PERIOD, self.drain, clock=Clock(clock_type=ClockType.STEADY_TIME), autostart=False)

    def attach(self, controller: Controller, planner: PathPlanner) -> None:
        """
        Send goals to a controller.

        :param controller: of a configured robot.
        :param planner: checks paths of its tip.
        """
        self._controller, self._planner = controller, planner

    def detach(self) -> None:
        """Answer what is left and refuse goals from now on."""
        self.drain()
        self._controller = self._planner = None
        outcome = Outcome(Status.ABORTED, ResultCode.INVALID_GOAL, 'the robot was cleaned up')
        for key in list(self._handles):
            self._answer(key, outcome)

    @property
    def goals(self) -> int:
        """Return how many goals are not answered yet."""
        return len(self._handles)

    # -- a goal arrives ------------------------------------------------------------------------

    # The events executor does not survive an exception out of an action: no callback raises.

    def _log_exception(self, what: str) -> str:
        """Log the current exception; return its last line."""
        trace = traceback.format_exc()
        self._node.get_logger().error(f'{what}:\n{trace}')
        return last_line(trace)

    def _on_goal(self, goal: FollowJointTrajectory.Goal) -> GoalResponse:
        try:
            with self._lock:
                judged: _Plan | _Refusal = self._read(goal)
        except RbdError as error:  # other than of a goal: a frame that is not there
            code = error.code if isinstance(error, GoalError) else ResultCode.INVALID_GOAL
            self.refused += 1
            self.refusal = str(error)
            self._node.get_logger().warning(f'goal rejected ({code.name}): {error}')
            if isinstance(error, _TooManyGoals):
                return GoalResponse.REJECT
            judged = _Refusal(goal, Outcome(Status.ABORTED, code, str(error)))
        except Exception:
            self.refused += 1
            self.refusal = self._log_exception('goal rejected')
            judged = _Refusal(goal, Outcome(Status.ABORTED, ResultCode.INVALID_GOAL,
                                            self.refusal))
        while len(self._judged) >= _MAX_JUDGED:
            del self._judged[next(iter(self._judged))]
        self._judged[id(goal)] = judged
        return GoalResponse.ACCEPT

    def _read(self, goal: FollowJointTrajectory.Goal) -> _Plan:
        """Return what the controller needs; a goal that cannot be followed raises GoalError."""
        if self._server.known >= _MAX_GOALS:  # each is named in every message of status
            raise _TooManyGoals(ResultCode.INVALID_GOAL, f'{_MAX_GOALS} goals within '
                                f'{RESULTS_KEPT} s: wait for the answer to a goal')
        controller, mode = _ready(self._controller)
        if goal.multi_dof_trajectory.points or goal.multi_dof_trajectory.joint_names:
            if mode:  # it is planned from the reference that the joints follow
                raise GoalError(ResultCode.INVALID_GOAL, controller.speaker.text(
                    ReferenceWord.OTHER_MODE, NOBODY, 0.0, 0.0, 0.0))
            return self._read_path(goal, controller)
        knots = knots_of(goal.trajectory, controller.accepted)
        start = start_time(goal.trajectory, self._node.get_clock(),
                           simulated=self._loop_node.simulated)
        controller.check_goal(knots, start, self._loop_node.control_time())
        return _Plan(goal, knots, _tolerances(goal, controller), start, mode)

    def _read_path(self, goal: FollowJointTrajectory.Goal, controller: Controller) -> _Plan:
        """Return the same for a path of the tip, which is checked when it is accepted."""
        if goal.trajectory.points or goal.trajectory.joint_names:
            raise GoalError(ResultCode.INVALID_GOAL, 'a goal has a trajectory of the joints or of '
                                                     'a frame (multi_dof_trajectory), not both')
        if goal.component_path_tolerance or goal.component_goal_tolerance:
            raise GoalError(
                ResultCode.INVALID_GOAL,
                'give the tolerances of a path by joint: path_tolerance and goal_tolerance')
        assert self._planner is not None  # there is one while there is a controller
        points = self._planner.read(goal.multi_dof_trajectory)
        return _Plan(goal, points, _tolerances(goal, controller), start_time(
            goal.multi_dof_trajectory, self._node.get_clock(),
            simulated=self._loop_node.simulated), '')

    def _on_accepted(self, handle: ServerGoalHandle) -> None:
        key = bytes(handle.goal_id.uuid)
        try:
            with self._lock:
                self._handles[key] = handle
                if self._timer.is_canceled():  # to reset one that runs would put it off
                    self._timer.reset()
                handle.execute()
                self._start_goal(key, handle)
        except GoalError as error:
            self._answer(key, Outcome(Status.ABORTED, error.code, str(error)))
        except Exception:
            text = self._log_exception('goal aborted')
            self._answer(key, Outcome(Status.ABORTED, ResultCode.INVALID_GOAL, text))

    def _start_goal(self, key: bytes, handle: ServerGoalHandle) -> None:
        """Hand an accepted goal to the control thread."""
        plan, controller = self._judged.pop(id(handle.request), None), self._controller
        if isinstance(plan, _Refusal):
            end_goal(self._server, self._handles.pop(key), plan.outcome)
            return
        if controller is None or plan is None:
            self._answer(key, Outcome(
                Status.ABORTED, ResultCode.INVALID_GOAL, 'the controller is not configured'
                if controller is None else 'too many goals came at once'))
            return
        if plan.mode:
            _ready(controller)  # a stop may have come since it was judged
            self._switch(plan.mode)
        if isinstance(plan.points, WayPoints):
            self._start_path(key, plan, plan.points, controller)
        else:
            knots = plan.points
            self._pursue(key, plan, controller, lambda now: knots)

    def _start_path(self, key: bytes, plan: _Plan, points: WayPoints,
                    controller: Controller) -> None:
        """Have a path checked, and hand it to the control thread if it can be followed."""
        assert self._planner is not None

        def checked(path: PathPlan | GoalError) -> None:
            if isinstance(path, GoalError):
                controller.ended.append((key, Outcome(Status.ABORTED, path.code, str(path))))
            else:
                self._pursue(key, plan, controller, lambda now: path.knots(now, plan.start))
        self._paths.add(key)
        self._planner.begin(points, checked, key)

    def _pursue(self, key: bytes, plan: _Plan, controller: Controller,
                knots: Callable[[float], Knots]) -> None:
        """Hand the motion of a goal to the control thread."""
        def request(now: float, steady: float) -> None:
            """Run in the control thread."""
            try:
                controller.pursue(now, steady, knots(now), plan.start, key, plan.tolerances)
            except GoalError as error:
                controller.ended.append((key, Outcome(Status.ABORTED, error.code, str(error))))
            except Exception as error:  # nobody knows whether it has begun
                controller.ended.append((key, Outcome(
                    Status.ABORTED, ResultCode.INVALID_GOAL, str(error))))
                controller.post(controller.hold)
                raise
        controller.post(request)

    def _switch(self, mode: str) -> None:
        """Set the parameter mode; what is asked of the control thread from now on comes later."""
        result = self._node.set_parameters_atomically(
            [Parameter('mode', Parameter.Type.STRING, mode)])
        if not result.successful:
            raise GoalError(ResultCode.INVALID_GOAL,
                            f'the mode cannot be switched to {mode}: {result.reason}')
        self._node.get_logger().info(f'the mode is switched to {mode} by a goal')

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        try:
            with self._lock:
                return self._cancel_goal(handle)
        except Exception:
            # The client wants it to end, and it cannot be cancelled cleanly: stop the robot.
            self._log_exception('a goal cannot be cancelled, the robot is stopped')
            self._loop_node.fail(traceback.format_exc())
            return CancelResponse.REJECT

    def _cancel_goal(self, handle: ServerGoalHandle) -> CancelResponse:
        """Ask the control thread to end a goal."""
        controller, key = self._controller, bytes(handle.goal_id.uuid)
        if controller is None or key not in self._handles:
            return CancelResponse.REJECT

        if self._planner is not None and self._planner.drop(key):
            controller.ended.append((key, Outcome(
                Status.CANCELED, ResultCode.SUCCESSFUL, 'canceled while the path was checked')))
            return CancelResponse.ACCEPT
        on_path = key in self._paths
        controller.post(lambda now, steady: controller.cancel(
            now, steady, key, on_path=on_path))
        return CancelResponse.ACCEPT

    # -- a goal ends ----------------------------------------------------------------------------

    def drain(self) -> None:
        """Answer goals that have ended and publish feedback of the present one."""
        controller = self._controller
        if controller is None or not self._handles:
            self._timer.cancel()
            return
        ended = controller.ended
        while ended:
            self._answer(*ended.popleft())
        if self._handles:
            self._feedback.update(controller, self._handles,
                                  self._planner if controller.goal in self._paths else None)
            self._end_silent(controller)

    def _end_silent(self, controller: Controller) -> None:
        """Bring the robot to rest if the client of the active goal gives no sign of life."""
        key, settings = controller.goal, controller.accepted
        if key is None or key == self._silent:
            return
        progress = Progress({'n': len(settings.robot.joints)})
        note_progress(progress, controller.x, controller.p)
        if self._leases.is_silent(progress, time.monotonic(), settings.number('goal_lease'),
                                  all_clients=settings.flag('goal_lease_for_all')):
            self._silent = key
            on_path = key in self._paths
            controller.post(lambda now, steady: controller.cancel(
                now, steady, key, on_path=on_path, silent=True))

    def _answer(self, key: Hashable, outcome: Outcome) -> None:
        handle = self._handles.pop(key, None)
        self._paths.discard(key)
        if handle is None:
            return
        self.last = outcome
        text = f'goal {outcome.status.value} ({outcome.code.name}): {outcome.text}'
        if outcome.status is Status.ABORTED:
            self._node.get_logger().warning(text)
        else:
            self._node.get_logger().info(text)
        end_goal(self._server, handle, outcome)

    @staticmethod
    def _unused(_: ServerGoalHandle) -> FollowJointTrajectory.Result:
        return FollowJointTrajectory.Result()


def _ready(controller: Controller | None) -> tuple[Controller, str]:
    """
    Return the controller, and the mode that a goal has to switch to, if any.

    :raises GoalError: if it cannot follow a goal now.
    """
    if controller is None:
        raise GoalError(ResultCode.INVALID_GOAL, 'the controller is not configured')
    controller.refresh()
    return controller, controller.admit_goal()


def _tolerances(goal: FollowJointTrajectory.Goal, controller: Controller) -> Tolerances:
    return read_tolerances(
        controller.settings.robot.joints, controller.accepted.tolerances(),
        _entries(goal.path_tolerance), _entries(goal.goal_tolerance),
        _seconds(goal.goal_time_tolerance))


def _entries(tolerances: list[JointTolerance]) -> list[tuple[str, float, float, float]]:
    return [(t.name, t.position, t.velocity, t.acceleration) for t in tolerances]


def _seconds(duration: Duration) -> float:
    return duration.sec + 1e-9 * duration.nanosec
