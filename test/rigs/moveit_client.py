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

"""What moveit_simple_controller_manager and MoveIt Servo send, as messages of ROS."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from builtin_interfaces.msg import Duration, Time
from control_msgs.action import FollowJointTrajectory
from moveit_rig import Plan, random_plan
import numpy as np
import numpy.typing as npt
from rbd_ros.control.references.trajectory import Knots
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
import yaml

Array = npt.NDArray[np.float64]

_FILE = Path(__file__).parents[2] / 'config' / 'moveit_controllers.yaml'
_EXECUTION = yaml.safe_load(_FILE.read_text())['trajectory_execution']


def trajectory_message(names: Sequence[str], knots: Knots, stamp: float = 0.0) -> JointTrajectory:
    """Return points as a message; stamp zero: from now on."""
    message = JointTrajectory(joint_names=list(names))
    message.header.stamp = Time(**_split(stamp))
    fields = {name: rows for name, rows in (
        ('positions', knots.q), ('velocities', knots.qd), ('accelerations', knots.qdd))
        if rows is not None}
    message.points = [JointTrajectoryPoint(
        time_from_start=Duration(**_split(float(time))),
        **{name: rows[k].tolist() for name, rows in fields.items()})
        for k, time in enumerate(knots.times)]
    return message


def _split(seconds: float) -> dict[str, int]:
    whole, rest = divmod(round(seconds * 1e9), 10**9)
    return {'sec': whole, 'nanosec': rest}


class Planner:
    """
    Plans from measured positions, as goals of one controller.

    :param joints: of the controller.
    :param seed: of the random plans.
    """

    def __init__(self, joints: Sequence[str], seed: int = 0) -> None:
        self.joints, self.rng = tuple(joints), np.random.default_rng(seed)
        self.plan: Plan  # the last one, of all joints

    def goal(self, q: Array, seconds: float = 1.0, size: float = 0.15,
             group: Sequence[int] | None = None, **fields: object) -> FollowJointTrajectory.Goal:
        """
        Return a goal as MoveIt sends it: stamp zero, no tolerances, 200 full points.

        :param q: where the arm is measured; the first point of the plan.
        :param group: joints of the planning group in their order; the others stay where they are.
        """
        plan = random_plan(self.rng, q.copy(), seconds, size)
        order = self.rng.permutation(len(self.joints)) if group is None else np.array(group)
        moves = np.isin(np.arange(len(q)), order)
        self.plan = Plan(plan.start, moves * plan.way, moves * plan.sway, seconds)
        knots = self.plan.knots()
        assert knots.qd is not None and knots.qdd is not None
        return FollowJointTrajectory.Goal(trajectory=trajectory_message(
            [self.joints[k] for k in order],
            Knots(knots.times, knots.q[:, order], knots.qd[:, order], knots.qdd[:, order])),
            **fields)

    @property
    def allowed(self) -> float:
        """Return for how long MoveIt waits for the end of the last plan before it cancels, s."""
        return (_EXECUTION['allowed_execution_duration_scaling'] * self.plan.seconds
                + _EXECUTION['allowed_goal_duration_margin'])
