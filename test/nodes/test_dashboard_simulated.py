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
"""A robot counts as simulated only if its joint states come from the simulator alone."""

import time

from isolation import own_domain
import pytest
from rbd_env.pace import patient
from rbd_ros.nodes.dashboard.operator import Operator
import rclpy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger


@pytest.fixture
def make():
    """Return what makes nodes."""
    nodes = []
    with own_domain():
        rclpy.init()

        def new(name, namespace=''):
            nodes.append(rclpy.create_node(name, namespace=namespace))
            return nodes[-1]
        yield new
        for node in nodes:
            node.destroy_node()
        rclpy.shutdown()


def wait_until(holds):
    """Wait for the middleware to have told this process of the others."""
    end = time.monotonic() + patient(10.0)
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize('loop', ['simulator', 'simulator_loop'])
@pytest.mark.parametrize('namespace', ['', '/left'])
def test_who_moves(make, loop, namespace):
    """Neither a service, nor states alone, nor states beside those of a driver are enough."""
    page = make('dashboard')
    operator = Operator(page, f'{namespace}/controller', f'{namespace}/simulator', allowed=True,
                        joint_states=f'{namespace}/joint_states')
    watching = Operator(page, 'controller', 'simulator', allowed=False)
    simulator = make('simulator', namespace)
    simulator.create_service(Trigger, '~/reset', lambda _, answer: answer)
    states = simulator.create_publisher(JointState, 'joint_states', 1)
    wait_until(lambda: page.count_publishers(states.topic_name) == 1)
    assert not operator.simulated
    listener = simulator if loop == 'simulator' else make(loop, namespace)
    listener.create_subscription(Float64MultiArray, 'controller/commands', lambda _: None, 1)
    wait_until(lambda: operator.simulated)
    assert not watching.simulated
    driver = make('driver', namespace)
    real = driver.create_publisher(JointState, 'joint_states', 1)
    wait_until(lambda: not operator.simulated)
    simulator.destroy_publisher(states)
    wait_until(lambda: page.count_publishers(real.topic_name) == 1)
    assert not operator.simulated
