# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Paths of the tip beside ros2_control: the path server, and controllers that follow it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
import subprocess
import sys
import time

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from isolation import own_domain
import numpy as np
import pytest
from rbd_ros import Dynamics, load_urdf
from rbd_ros.control.supervisor.states import SupervisorState as State
import rclpy
from rclpy.action import ActionClient
from rclpy.executors import SingleThreadedExecutor
from ros2_control_rig import arm_of, compiled, parameter_file, reason_to_skip, Run, run
from tip_path import tip_path
from trajectory_msgs.msg import MultiDOFJointTrajectory

pytestmark = [pytest.mark.slow, pytest.mark.sampled('simulations', 1, pool='plugins'),
              pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or 'none')]

ARM = replace(arm_of('panda'), friction=0.0)
JOINTS = list(ARM.joints)
WAIT = 120.0  # s for what must come
NOT_YET = ('no states', 'is not there', 'send it again')  # while server and controller start
RUNNING = f'until {tuple(State).index(State.RUNNING)} 6000'
WAY = np.array([0.0, 0.08, -0.05])
BROADCASTER = {'type': 'joint_state_broadcaster/JointStateBroadcaster'}
LEADER = {'type': 'joint_trajectory_controller/JointTrajectoryController', 'joints': JOINTS,
          'command_joints': [f'rbd_controller/{joint}' for joint in JOINTS],
          'command_interfaces': ['position', 'velocity'],
          'state_interfaces': ['position', 'velocity']}


def path(pose: np.ndarray, *ways: tuple[float, np.ndarray]) -> MultiDOFJointTrajectory:
    """Return a path: after each time, the tip that far from a pose, with its axes."""
    return tip_path(ARM.tip, pose, *ways)


class Client:
    """A client of the path server."""

    def __init__(self) -> None:
        rclpy.init()
        self._node = rclpy.create_node('client')
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._action = ActionClient(self._node, FollowJointTrajectory,
                                    'path_server/follow_joint_trajectory')

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        rclpy.shutdown()

    def send(self, message: MultiDOFJointTrajectory) -> tuple[int, str, list]:
        """Return how a goal ends: status, text, feedback."""
        assert self._action.wait_for_server(WAIT)
        feedback: list = []
        handle = self._wait(self._action.send_goal_async(
            FollowJointTrajectory.Goal(multi_dof_trajectory=message),
            feedback_callback=lambda each: feedback.append(each.feedback)))
        found = self._wait(handle.get_result_async())
        return found.status, found.result.error_string, feedback

    def _wait(self, future):
        self._executor.spin_until_future_complete(future, WAIT)
        assert future.done(), 'it does not come'
        return future.result()


def served(folder: Path, controller: str, script: list[str],
           controllers: Mapping[str, Mapping[str, object]], *paths: MultiDOFJointTrajectory,
           ) -> tuple[Run, list[tuple[int, str, list]]]:
    """Return a run of the manager in which the path server gets paths, and how these ended."""
    (folder / 'robot.urdf').write_text(ARM.urdf)
    (folder / 'controller.yaml').write_text(parameter_file('panda'))
    program, over = compiled('panda'), folder / 'over'
    with own_domain(), ThreadPoolExecutor(1) as pool:
        server = subprocess.Popen([
            sys.executable, '-m', 'rbd_ros.nodes.path_server.node', '--ros-args', '-p',
            f'controller:={controller}', '-p', f'params_file:={folder / "controller.yaml"}', '-p',
            f'robot_description_file:={folder / "robot.urdf"}'])
        try:
            ran = pool.submit(run, program, ARM, folder / 'run', [
                *script, f'+1 file {over} 300', '+300 see'],
                cycles=0, parameters={'mode': 'computed_torque'}, controllers=controllers,
                domain=False)
            with Client() as client:
                found = []
                for each in paths:
                    ended = client.send(each)
                    while any(text in ended[1] for text in NOT_YET):
                        assert not ran.done(), ran.result()
                        time.sleep(0.2)
                        ended = client.send(each)
                    found.append(ended)
            over.touch()
            return ran.result(), found
        finally:
            over.touch()
            server.terminate()
            server.wait()


@pytest.mark.sampled('simulations', 1)
@pytest.mark.parametrize('name', ['rbd_controller', 'leader'])
def test_a_path_is_followed(name: str, tmp_path: Path) -> None:
    """
    MuJoCo's arm: the tip stays on the line and is at its end; what cannot be is refused.

    The controller is ours, of which joints are measured or told; or a joint_trajectory_controller
    in front of it, of which nothing is known here but its topics.
    """
    dynamics = Dynamics(load_urdf(ARM.urdf, on_warning=lambda _: None), backend='reference')
    model = dynamics.model
    start = np.zeros(model.nq)
    index = [list(model.independent_joint_names).index(joint) for joint in JOINTS]
    start[index] = ARM.start
    pose = dynamics.pose(start, ARM.tip)
    chained = [f'+{name}'] if name != 'rbd_controller' else []
    ran, found = served(tmp_path, f'/{name}', [
        '+100 load rbd_controller', '+1 load broadcaster', '+1 load leader',
        '+100 switch +broadcaster', f'+1 switch +rbd_controller {" ".join(chained)}',
        f'+1 {RUNNING}'], {'broadcaster': BROADCASTER, 'leader': LEADER},
        path(pose, (2.0, 40.0 * WAY)), path(pose, (1.0, 0.5 * WAY), (2.0, WAY)))
    assert found[0][0] == GoalStatus.STATUS_ABORTED
    assert 's from its start, before way-point 0' in found[0][1]
    assert found[1][0] == GoalStatus.STATUS_SUCCEEDED, found[1][1]
    assert found[1][2] and found[1][2][0].multi_dof_joint_names == [ARM.tip]
    q, tips = start.copy(), []
    for row in ran.motion[ran.cycles()[5]::20, :, 0]:
        q[index] = row
        tips.append(dynamics.pose(q, ARM.tip)[:3, 3] - pose[:3, 3])
    moved, line = np.array(tips), WAY / np.linalg.norm(WAY)
    off = np.linalg.norm(moved - np.outer(moved @ line, line), axis=1)
    print(f'{name}: off the line {1e3 * off.max():.2f} mm, '
          f'from its end {1e3 * np.linalg.norm(moved[-1] - WAY):.2f} mm')
    assert off.max() < 0.003
    np.testing.assert_allclose(moved[-1], WAY, atol=0.003)
