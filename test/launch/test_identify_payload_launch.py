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

"""A payload that nobody described: recorded in a bag, identified, sent to the controller."""

from __future__ import annotations

import dataclasses
from pathlib import Path
import tempfile
import time
import unittest

import arm
from closed_loop import assert_clean_end, ClosedLoop, description, PERIOD
from geometry_msgs.msg import InertiaStamped
from launch import LaunchDescription
import launch_testing
import launch_testing.markers
import numpy as np
from paths import Quintic, random_path
import pytest
import rbd_ros
from rbd_ros.identification import identify_payload, read_joint_states, smooth
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
import rig
from rosbags.rosbag2 import Writer
from rosbags.typesys import get_typestore, Stores
from rosidl_runtime_py.set_message import set_message_fields
from sensor_msgs.msg import JointState

MASS, COM = 2.4, np.array([0.02, -0.03, 0.09])
MOMENTS = np.array([0.012, 0.010, 0.006])
TYPE = 'sensor_msgs/msg/JointState'
SHARE = 0.01  # of the mass, and of the distance of its centre
RECORDED = QoSProfile(depth=10000)  # reliable: a recorder that is held up loses nothing

LOADED = arm.URDF.read_text().replace('</robot>', f"""
<link name="load"><inertial><origin xyz="{COM[0]} {COM[1]} {COM[2]}"/><mass value="{MASS}"/>
  <inertia ixx="{MOMENTS[0]}" iyy="{MOMENTS[1]}" izz="{MOMENTS[2]}" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<joint name="grasp" type="fixed"><parent link="tool0"/><child link="load"/></joint></robot>""")


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """
    Start an arm with a load, and a controller that has a guess of it.

    The guess is bad enough for the checks at the start to stop the arm: they are widened.
    """
    return description(
        arm.Q, urdf=LOADED, relayed=True, robot_description_file=str(arm.URDF),
        mode='computed_torque', stiffness=[400.0], damping=[40.0], tracking_limits=[10.0],
        **{'reference.acceleration': [1e3], 'payload.ramp_time': 0.2, 'payload.mass': 2.2,
           'payload.com': [0.0, 0.0, 0.08], 'payload.inertia': [0.01, 0.0, 0.0, 0.01, 0.0, 0.01],
           'payload.frame': 'tool0', 'start.velocity': 5.0, 'start.distance': 1.0,
           'start.acceleration': 500.0})


class TestIdentification(ClosedLoop):
    """Move the arm, and learn what it carries."""

    relayed = True

    @classmethod
    def prepare(cls) -> None:
        """Listen to all states, as a recorder does."""
        cls.states: list[JointState] = []
        cls.client.node.create_subscription(
            JointState, 'joint_states', cls.states.append, RECORDED)
        cls.payload = cls.client.node.create_publisher(InertiaStamped, 'controller/payload', 1)

    def record(self, seconds: float) -> Path:
        """Move along a path from the start and back; return a bag of the states."""
        model = arm.MODEL
        lower = np.maximum(np.array(model.lower) + 0.3, arm.Q - 1.0)
        upper = np.minimum(np.array(model.upper) - 0.3, arm.Q + 1.0)
        path = random_path(np.random.default_rng(6), arm.Q, lower, upper,
                           0.6 * np.array(model.velocity_limit), round(seconds / 0.6), 0.6)
        path.q[-1] = arm.Q
        for _ in range(8):  # simulated time may also run faster than this process can read
            taken, whole = self.follow(path)
            if len(taken) > 0.9 * whole:
                break
            print(f'{len(taken)} of {whole:.0f} states were read: the motion is repeated')
        self.assertGreater(len(taken), 0.9 * whole)
        folder = Path(tempfile.mkdtemp(), 'bag')
        store = get_typestore(Stores.ROS2_JAZZY)
        with Writer(folder, version=9) as writer:
            connection = writer.add_connection('/joint_states', TYPE, typestore=store)
            for state in taken:
                writer.write(connection, rig.to_ns(state.header.stamp), serialize_message(state))
        return folder

    def follow(self, path: Quintic) -> tuple[list[JointState], float]:
        """Move along a path; return the states that were read, and how many there were."""
        begin = self.last + 1_000_000_000  # simulated time may run faster than the message does
        self.client.trajectory.publish(rig.trajectory_message(
            arm.JOINTS, path.times.tolist(), list(zip(path.q, path.qd, path.qdd)), stamp=begin))
        end = begin + round(path.times[-1] * 1e9)
        self.wait_until(end)
        self.client.wait(lambda: rig.to_ns(self.states[-1].header.stamp) >= end, 'all states')
        self.assert_running()
        return ([s for s in self.states if begin < rig.to_ns(s.header.stamp) < end],
                (end - begin) / PERIOD)

    def deviation(self) -> float:
        """Return how far the arm at rest is from where it should be, without an integral."""
        self.pass_time(1.5)
        begin = self.last
        self.pass_time(0.2)
        self.assert_running()
        return float(np.abs(np.mean(list(self.positions(begin).values()), axis=0) - arm.Q).max())

    def test_the_load_is_found_and_carried(self) -> None:
        """Mass and centre within 1 % from a bag; sent to the controller, it lifts the arm."""
        bag = self.record(6.0)
        sagging = self.deviation()
        self.assertGreater(sagging, 5e-3)
        # this arm has no friction, whatever its description says
        model = dataclasses.replace(arm.MODEL, damping=(0.0,) * 7, friction=(0.0,) * 7)
        found = identify_payload(rbd_ros.Dynamics(model), 'tool0', *smooth(
            read_joint_states(bag, model), cutoff=15.0, effort_delay=0.5e-9 * PERIOD)[1:])
        self.assertLess(abs(found.mass - MASS), SHARE * MASS, found)
        self.assertLess(np.linalg.norm(found.com - COM), SHARE * np.linalg.norm(COM), found)
        message = InertiaStamped()
        set_message_fields(message, found.message())
        begin = time.monotonic()
        self.payload.publish(message)
        self.client.wait_text('log', 'blended in', begin)
        self.assertLess(self.deviation(), 0.03 * sagging)


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):
    """When they were told to end."""

    def test_clean_end(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """Both end cleanly."""
        assert_clean_end(proc_info)
