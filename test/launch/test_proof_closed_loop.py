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

"""
The closed loop in lockstep with the simulator: tracking, a payload, a circle.

The arm carries a load, which the controller is told; where the tip is comes from Pinocchio and
the joint states, not from the controller. What ``rbd_ros.identification`` makes of a recording of
the states is sent back as the payload.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
import tempfile
import time
import unittest

import arm
from closed_loop import assert_clean_end, ClosedLoop, description
from geometry_msgs.msg import InertiaStamped, PoseStamped
from launch import LaunchDescription
import launch_testing
import launch_testing.markers
import numpy as np
from paths import Quintic, random_path
import pinocchio
import pytest
from rbd_ros import Dynamics
from rbd_ros.identification import identify_payload, read_joint_states, smooth
from rbd_ros.nodes.driven_robot import write_states
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
import rig
from rosidl_runtime_py.set_message import set_message_fields

RATE = 250.0  # Hz
PERIOD = 4_000_000  # ns
PERFECT = 1e-3  # rad, with the described masses
WRONG = 0.05  # rad, with masses that are 20 % larger
NEAR, STREAM = 0.005, 4  # m from the circle, states per target
SHARE = 0.01  # of the mass, and of the distance of its centre
TIP = 'tool0'
FIRM = {'task.linear_stiffness': 400.0, 'task.linear_damping': 40.0,
        'task.angular_stiffness': 400.0, 'task.angular_damping': 40.0,
        'task.linear_acceleration': 10.0}
USUAL = {'task.linear_stiffness': 100.0, 'task.linear_damping': 20.0,
         'task.angular_stiffness': 100.0, 'task.angular_damping': 20.0,
         'task.linear_acceleration': 2.0}

MASS, COM = 2.4, np.array([0.02, -0.03, 0.09])
MOMENTS = (0.012, 0.010, 0.006)
PAYLOAD = {'payload.mass': MASS, 'payload.com': COM.tolist(),
           'payload.inertia': [MOMENTS[0], 0.0, 0.0, MOMENTS[1], 0.0, MOMENTS[2]]}
LOADED = arm.URDF.read_text().replace('</robot>', f"""
<link name="load"><inertial><origin xyz="{COM[0]} {COM[1]} {COM[2]}"/><mass value="{MASS}"/>
  <inertia ixx="{MOMENTS[0]}" iyy="{MOMENTS[1]}" izz="{MOMENTS[2]}" ixy="0" ixz="0" iyz="0"/>
</inertial></link>
<joint name="grasp" type="fixed"><parent link="tool0"/><child link="load"/></joint></robot>""")


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start arm and controller; a change of the mode takes the default time."""
    return description(arm.Q, rate=RATE, relayed=True, urdf=LOADED, stiffness=[400.0],
                       damping=[40.0], robot_description_file=str(arm.URDF), **PAYLOAD, **{
                           'payload.ramp_time': 0.2, 'payload.frame': TIP, 'task.frame': TIP,
                           'reference.acceleration': [1e3]})


class TestClosedLoop(ClosedLoop):
    """Move the arm."""

    relayed = True

    @classmethod
    def prepare(cls) -> None:
        """Make what moves the tip."""
        node = cls.client.node
        cls.targets = node.create_publisher(PoseStamped, 'controller/target_pose', 10)
        cls.payload = node.create_publisher(InertiaStamped, 'controller/payload', 1)
        cls.client.wait(lambda: cls.targets.get_subscription_count() > 0
                        and cls.payload.get_subscription_count() > 0, 'subscriptions')

    def aim(self, position: np.ndarray, upright: np.ndarray) -> None:
        """Send a target with the axes of a pose."""
        message = PoseStamped()
        p, o = message.pose.position, message.pose.orientation
        p.x, p.y, p.z = position.tolist()
        o.x, o.y, o.z, o.w = pinocchio.Quaternion(upright[:3, :3]).coeffs().tolist()
        self.targets.publish(message)

    def follow(self, path: Quintic) -> np.ndarray:
        """Follow a path in computed torque; return the errors of all joints at each state."""
        begin = self.send(path)
        end = begin + round(path.times[-1] * 1e9)
        self.wait_until(end)
        motion = self.positions(begin, end)
        self.assertGreater(len(motion), 0.9 * (end - begin) / PERIOD)
        self.assert_running()
        return np.array([q - path((s - begin) * 1e-9)[0] for s, q in motion.items()])

    def send(self, path: Quintic) -> int:
        """Send a path, which begins soon; return the stamp of its beginning."""
        publisher = self.client.trajectory
        with self.held():
            begin = self.last + 100_000_000
            publisher.publish(rig.trajectory_message(
                arm.JOINTS, path.times.tolist(), list(zip(path.q, path.qd, path.qdd)),
                stamp=begin))
        return begin

    def path(self, seed: int, speed: float = 0.8) -> Quintic:
        """Return a path from the start and back, up to a share of the speed limits."""
        model = arm.MODEL
        start = arm.Q
        lower = np.maximum(np.array(model.lower) + 0.3, start - 1.0)
        upper = np.minimum(np.array(model.upper) - 0.3, start + 1.0)
        path = random_path(np.random.default_rng(seed), start, lower, upper,
                           speed * np.array(model.velocity_limit), 6, 0.5)
        path.q[-1] = start
        return path

    def settle(self) -> None:
        """Go to computed torque and to the start of all paths, unless the arm rests there."""
        if self.rests():
            return
        if self.client.last('state') != 'running':
            self.client.wait(lambda: self.client.trigger('reset').success, 'the reset')
            self.client.wait(lambda: self.client.last('state') == 'running', 'running')
        self.client.must_set({'mode': 'computed_torque'})
        self.client.wait(lambda: self.client.last('mode') == 'computed_torque', 'the mode')
        self.pass_time(0.6)  # until a reference that was moving has come to rest
        rest = np.zeros(7)
        publisher = self.client.trajectory
        with self.held():
            publisher.publish(rig.trajectory_message(arm.JOINTS, [0.7], [(arm.Q, rest, rest)]))
        self.pass_time(1.0)

    def rests(self) -> bool:
        """Return whether computed torque has held the arm at the start of all paths for 0.2 s."""
        recent = self.positions(self.last - 200_000_000)
        return (self.client.last('state') == 'running'
                and self.client.last('mode') == 'computed_torque' and len(recent) > 0.18 * RATE
                and max(np.abs(q - arm.Q).max() for q in recent.values()) < 1e-4)

    def simulate(self, **values: object) -> None:
        """Change parameters of the simulator."""
        node = self.client.node
        setter = node.create_client(SetParameters, 'simulator/set_parameters')
        self.client.wait_found(setter.service_is_ready, 'the simulator')
        future = setter.call_async(SetParameters.Request(parameters=[
            Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]))
        self.client.wait(future.done, 'the answer of the simulator')
        assert future.result().results[0].successful

    def test_perfect_model(self) -> None:
        """With the described masses a fast trajectory is followed within a milliradian."""
        self.settle()
        path = self.path(1)
        fastest = max(np.abs(path(t)[1]).max() for t in np.linspace(0.0, path.times[-1], 500))
        error = np.abs(self.follow(path)).max()
        print(f'perfect model: largest error {error:.2e} rad at up to {fastest:.2f} rad/s')
        self.assertGreater(fastest, 1.5)
        self.assertLess(error, PERFECT)

    def test_wrong_masses(self) -> None:
        """With masses 20 % larger than described the error is bounded."""
        self.settle()
        self.simulate(mass_scale=1.2)
        self.addCleanup(self.simulate, mass_scale=1.0)
        self.pass_time(0.5)
        error = np.abs(self.follow(self.path(1))).max()
        print(f'masses 20 % larger: largest error {error:.4f} rad')
        self.assertLess(error, WRONG)

    def test_circle(self) -> None:
        """The tip is streamed around a circle of 10 cm radius, turned as before."""
        self.settle()
        self.client.must_set(FIRM)
        self.addCleanup(self.client.must_set, USUAL)
        self.client.must_set({'mode': 'operational_space'})
        self.client.wait(lambda: self.client.last('mode') == 'operational_space', 'the mode')
        upright, radius, turn = arm.PEER.pose(arm.Q, TIP), 0.1, np.pi
        centre = upright[:3, 3] - [0.0, radius, 0.0]

        def circle(t: float) -> np.ndarray:
            phase = turn * (t - 0.25 if t > 0.5 else t * t)  # gently off
            return centre + radius * np.array([0.0, np.cos(phase), np.sin(phase)])
        with self.held():
            begin = self.last
            while self.last < begin + 2.8e9:
                self.aim(circle((self.last - begin) * 1e-9), upright)
                self.taken()
                self.go_on(STREAM)
        self.assert_running()
        motion = list(self.positions(begin + 800_000_000).values())[::3]
        poses = [arm.PEER.pose(q, TIP) for q in motion]
        away = np.array([pose[:3, 3] - centre for pose in poses])
        off = np.hypot(np.hypot(away[:, 1], away[:, 2]) - radius, away[:, 0])
        turned = max(np.linalg.norm(pinocchio.log3(upright[:3, :3].T @ pose[:3, :3]))
                     for pose in poses)
        around = np.ptp(np.unwrap(np.arctan2(away[:, 2], away[:, 1])))
        print(f'circle: at most {1e3 * off.max():.2f} mm off, {turned:.4f} rad turned, '
              f'{around / (2.0 * np.pi):.2f} turns')
        self.assertLess(off.max(), NEAR)
        self.assertLess(turned, 0.02)
        self.assertGreater(around, 1.6 * np.pi)

    def test_the_load_is_found_and_carried(self) -> None:
        """Mass and centre within 1 % from a bag; a wrong payload sags, this one does not."""
        client = self.client
        self.settle()
        cls = type(self)
        cls.recorded = []
        path = self.path(6, 0.5)
        self.follow(path)
        states, cls.recorded = cls.recorded, None
        client.must_set({'payload.mass': 2.0, 'payload.com': [0.0, 0.0, 0.08],
                         'payload.inertia': [0.01, 0.0, 0.0, 0.01, 0.0, 0.01]})
        sagging = self.deviation()
        self.assertGreater(sagging, 5e-3)
        folder = Path(tempfile.mkdtemp(), 'bag')
        write_states(folder, '/joint_states', states)
        # this arm has no friction, whatever its description says
        model = dataclasses.replace(arm.MODEL, damping=(0.0,) * 7, friction=(0.0,) * 7)
        found = identify_payload(Dynamics(model), TIP, *smooth(
            read_joint_states(folder, model), cutoff=15.0, effort_delay=0.5e-9 * PERIOD)[1:])
        print(f'found {found.mass:.4f} of {MASS} kg, {found.com} of {COM} m; sagging '
              f'{sagging:.4f} rad')
        self.assertLess(abs(found.mass - MASS), SHARE * MASS, found)
        self.assertLess(np.linalg.norm(found.com - COM), SHARE * np.linalg.norm(COM), found)
        message = InertiaStamped()
        set_message_fields(message, found.message())
        begin = time.monotonic()
        self.payload.publish(message)
        client.wait_text('log', 'blended in', begin)
        self.assertLess(self.deviation(), 0.03 * sagging)
        client.must_set(PAYLOAD)

    def deviation(self) -> float:
        """Return how far the arm at rest is from where it should be, without an integral."""
        self.pass_time(1.2)
        begin = self.last
        self.pass_time(0.2)
        self.assert_running()
        return float(np.abs(np.mean(list(self.positions(begin).values()), axis=0) - arm.Q).max())


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how the nodes ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """Both end cleanly when they are told to."""
        assert_clean_end(proc_info)
