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
"""The demo with its page, and a node that hears what the page sends."""

import os
import re
import signal
import subprocess
import time

from chrome import press, select, wait
from geometry_msgs.msg import PoseStamped
import numpy as np
from ports import free_port
import rbd_ros
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.description import built_in_robot
from rbd_ros.nodes.executors import spin_in_thread
from rcl_interfaces.srv import GetParameters
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import parameter_value_to_python
from sensor_msgs.msg import JointState

PARAMETERS = find_resource('package://rbd_ros/config/controller.yaml')
MODEL = rbd_ros.load_urdf(built_in_robot())
ROBOT = rbd_ros.Dynamics(MODEL)
ELBOW = 22.0  # N.m, limit of joint_4, which needs 15 to hold the arm up


class System:
    """The demo with its page, as the README starts it, but with a weaker elbow."""

    def __init__(self, log):
        self.port, self.log = free_port(), log
        limits = [120.0, 120.0, 80.0, ELBOW, 40.0, 24.0, 16.0]
        # At the usual rate: a slower controller that is also late moves the dragged arm too fast.
        file = log.parent / 'controller.yaml'
        file.write_text(f'{PARAMETERS.read_text()}\n      torque_limits: {limits}\n')
        self.process = subprocess.Popen(
            ['ros2', 'launch', 'rbd_ros', 'controller.launch.py', 'dashboard:=true',
             f'dashboard_port:={self.port}', f'params_file:={file}'],
            stdout=log.open('w'), stderr=subprocess.STDOUT, start_new_session=True)
        #: Where the page is, with the token that only the log has.
        self.url = wait(lambda: re.search(rf'open (http://127\.0\.0\.1:{self.port}/\?token=\S+)',
                                          log.read_text()), 'the page')[1]

    def pid(self, name):
        """Return the process of a node."""
        found = re.search(rf'\[{name}-\d+\]: process started with pid \[(\d+)\]',
                          self.log.read_text())
        return int(found[1])

    def end(self):
        """End as Ctrl-C does; the page ends without a fault."""
        os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(20.0)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        assert re.search(r'\[dashboard-\d+\]: process has finished cleanly', self.log.read_text())


class Watcher:
    """A node in the domain of the page that hears what is sent, and asks."""

    def __init__(self):
        self.node = rclpy.create_node('watcher')
        self.states, self.poses = [], []  # (time, q); targets
        self.node.create_subscription(JointState, 'joint_states', self._on_states, 10)
        self.node.create_subscription(PoseStamped, 'controller/target_pose', self.poses.append, 10)
        self._values = self.node.create_client(GetParameters, 'controller/get_parameters')
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self.failures = []
        self._thread = spin_in_thread(self._executor, 'watcher', self.failures.append)
        wait(lambda: self.states, 'joint states')

    def _on_states(self, message):
        named = dict(zip(message.name, message.position))
        self.states.append((time.monotonic(), np.array([named[n] for n in MODEL.joint_names])))

    @property
    def tool(self):
        """Return where the tool is, and along what axes."""
        H = ROBOT.pose(self.states[-1][1], 'tool0')
        return H[:3, 3], H[:3, :3]

    def parameters(self, *names):
        """Return what the controller has."""
        wait(self._values.service_is_ready, 'the service of the controller')
        future = self._values.call_async(GetParameters.Request(names=names))
        wait(future.done, 'parameters of the controller')
        values = map(parameter_value_to_python, future.result().values)
        return {name: list(value) if hasattr(value, '__len__') else value
                for name, value in zip(names, values)}

    def close(self):
        """End the node; what an executor raises because it is ended is no failure."""
        failures = list(self.failures)
        self._executor.shutdown(timeout_sec=1.0)
        self._thread.join(5.0)
        self.node.destroy_node()
        assert not failures


def choose(page, mode):
    """Choose a mode, and wait for the controller's own word for it."""
    select(page, 'Mode', mode)
    wait(lambda: f'mode {mode}' in page.text, 'the new mode')


def reset(page):
    """Press Reset until the controller runs without a fault."""
    def running():
        press(page, 'Reset')
        time.sleep(1.0)
        return 'State running' in page.text and 'Fault' not in page.text
    wait(running, 'the reset')
