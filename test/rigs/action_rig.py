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

"""The action of the controller between its clients and its loop, without a middleware."""

from contextlib import nullcontext
from types import SimpleNamespace

from builtin_interfaces.msg import Duration, Time
from control_msgs.action import FollowJointTrajectory
from controller_rig import Arm
import numpy as np
from rbd_ros.control.robot_now import ControlledRobot
from rbd_ros.nodes.controller import action, goal_feedback
from rbd_ros.nodes.controller.path_planner import PathPlanner
from rclpy.action import GoalResponse
from trajectory_msgs.msg import JointTrajectoryPoint


def duration(seconds):
    """Return a time as messages have it."""
    return Duration(sec=int(seconds), nanosec=round((seconds % 1.0) * 1e9))


class Handle:
    """One goal as rclpy hands it over."""

    def __init__(self, goal, number):
        self.request, self.goal_id = goal, SimpleNamespace(uuid=bytes([number] * 16))
        self.ended, self.result, self.feedback = '', None, []
        self.is_active, self.is_cancel_requested = True, False
        self.execute = lambda: None
        self.publish_feedback = self.feedback.append

    def succeed(self):
        """End well."""
        self.ended = 'succeeded'

    def abort(self):
        """End otherwise."""
        self.ended = 'aborted'

    def canceled(self):
        """End as asked."""
        self.ended = 'canceled'


class Desk:
    """The action of an arm that moves, between its clients and its loop."""

    def __init__(self, monkeypatch, mode='computed_torque', modes=(), **values):
        self.arm = Arm(mode=mode, modes=modes, ramp_time=0.02, period=0.002, **values)
        self.server = SimpleNamespace(known=0, notify_execute=self._ended)
        self.failed, self.logged, self.timers, self.handles = [], [], [], 0
        monkeypatch.setattr(action, 'GoalServer', self._serve)
        monkeypatch.setattr(goal_feedback, 'time',
                            SimpleNamespace(monotonic=lambda: self.arm.time))
        self.refuses = ''  # why a change of parameters is refused
        node = SimpleNamespace(
            set_parameters_atomically=self._set, create_timer=self._timer,
            get_logger=lambda: SimpleNamespace(
                **dict.fromkeys(('info', 'warning', 'error'), self.logged.append)),
            get_clock=lambda: SimpleNamespace(
                now=lambda: SimpleNamespace(to_msg=lambda: Time(sec=9))))
        self.action = action.TrajectoryAction(node, SimpleNamespace(
            simulated=True, control_time=lambda: self.arm.time, fail=self.failed.append),
            nullcontext())
        self.timer = self.timers[0]
        self.planner = PathPlanner(node, ControlledRobot(self.arm.controller),
                                   self.arm.controller.kernels['report'])
        self.action.attach(self.arm.controller, self.planner)

    def _set(self, changes):
        if self.refuses:
            return SimpleNamespace(successful=False, reason=self.refuses)
        controller = self.arm.controller
        controller.accepted = made = self.arm.settings(
            **{change.name: change.value for change in changes})
        controller.post(lambda now, steady: controller.apply(made, now, steady))
        return SimpleNamespace(successful=True, reason='')

    def _timer(self, _, callback, **__):
        """Return a timer that is called by hand."""
        made = SimpleNamespace(runs=False, callback=callback)
        made.reset = lambda: vars(made).update(runs=True)
        made.cancel = lambda: vars(made).update(runs=False)
        self.timers.append(made)
        return made

    def _serve(self, *_, goal_callback, handle_accepted_callback, cancel_callback, **__):
        self.judge, self.begin, self.cancel = (
            goal_callback, handle_accepted_callback, cancel_callback)
        return self.server

    @staticmethod
    def _ended(handle, finish):
        handle.result = finish(handle)

    def goal(self, *ways, start=0.0, **fields):
        """Return a goal: after each time, all joints that far from here."""
        goal = FollowJointTrajectory.Goal(**fields)
        goal.trajectory.joint_names = list(self.arm.robot.joints)
        goal.trajectory.header.stamp = Time(sec=int(start), nanosec=round((start % 1.0) * 1e9))
        goal.trajectory.points = [JointTrajectoryPoint(
            positions=(self.arm.q + way).tolist(), time_from_start=duration(time))
            for time, way in ways]
        return goal

    def send(self, goal):
        """Return what the client hears, and the handle of an accepted goal."""
        answer = self.judge(goal)
        if answer is GoalResponse.REJECT:
            return answer, None
        self.handles += 1
        handle = Handle(goal, self.handles)
        self.begin(handle)
        return answer, handle

    def run(self, seconds):
        """Let time pass, with a look every 20 ms as the timer has it."""
        for _ in range(round(seconds / 0.02)):
            self.arm.run(0.02)
            for each in self.timers:
                if each.runs:
                    each.callback()

    def check(self):
        """Check the whole path of a goal, however slow the machine is."""
        while self.planner.busy:
            self.planner.work()

    def start(self):
        """Run the arm and let go of it."""
        self.arm.activate()
        self.arm.run(0.2)
        assert self.arm.state == 'running'
        self.arm.external = np.zeros(7)
