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
Teach and repeat as a user does it: the arm floats, is pushed about, and repeats what it was shown.

All of it is recorded by ``rbd record`` meanwhile, and the recording is looked at. The layout of
Foxglove is compared with what is really published.
"""

from __future__ import annotations

import json
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from foxglove_layout import check_paths, paths, read_layout, TYPES, values
from geometry_msgs.msg import WrenchStamped
from launch import LaunchDescription
from launch_testing.actions import ReadyToTest
import launch_testing.asserts
import launch_testing.markers
import numpy as np
import pytest
import rbd_ros
from rbd_ros.command_line.app import app
from rbd_ros.control.modes.modes import Takes, taking
from rbd_ros.identification.bag import JOINT_STATE, read_messages
from rbd_ros.nodes.taught_robot import TaughtRobot
from rbd_ros.teaching.demonstration import shown_points, TOLERANCE
from rbd_ros.teaching.lesson import Lesson
from rbd_ros.teaching.lesson_file import read_lesson, write_lesson
from rbd_ros.teaching.repeat import repeated
from rbd_ros.teaching.strokes import limits_of
import rclpy
import rig
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
MODEL = rbd_ros.load_urdf(ROOT / 'urdf' / 'seven_joint_arm.urdf')
JOINTS = MODEL.independent_joint_names
#: N on the tool, one after the other
PUSHES = ((14.0, 0.0, 0.0), (0.0, 12.0, 4.0), (-10.0, -8.0, 0.0))
#: what the simulator publishes only where the robot can touch something
SILENT = ('/simulator/contact_markers',)
#: rad/s^2, enough for a robot that was not led but pushed
ACCELERATION = 30.0
#: rad by which the controller may be behind its reference, on a busy machine
BEHIND = 0.03


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start the simulated arm and its controller."""
    return LaunchDescription([rig.launched(), ReadyToTest()])


class TestTeaching(unittest.TestCase):
    """One lesson."""

    def setUp(self) -> None:
        """Wait until the arm floats, and record from then on."""
        rclpy.init()
        self.addCleanup(rclpy.shutdown)
        self.client = rig.Client()
        self.addCleanup(self.client.close)
        self.client.wait_running()
        self.folder = Path(tempfile.mkdtemp())
        self.file = self.folder / 'lesson.yaml'

    def rbd(self, *words: object, answer: str = '') -> str:
        """Run a command; return what it said."""
        done = CliRunner().invoke(app, [str(word) for word in words], input=answer)
        self.assertEqual(done.exit_code, 0, done.output)
        return done.stdout

    def push(self) -> None:
        """Lead the arm about."""
        tool = self.client.node.create_publisher(WrenchStamped, '/simulator/wrench', 10)
        for force in PUSHES:
            message = WrenchStamped()
            message.header.frame_id = 'tool0'
            hand = message.wrench.force
            hand.x, hand.y, hand.z = force
            end = time.monotonic() + 0.7
            while time.monotonic() < end:
                tool.publish(message)
                time.sleep(0.01)
            time.sleep(0.5)

    def test_story(self) -> None:
        """Points and a motion are kept, edited, exported, repeated and found in the recording."""
        recording = self.folder / 'run.mcap'
        recorder = subprocess.Popen(
            [sys.executable, '-m', 'rbd_ros.command_line', 'record', '--out', str(recording),
             '--json'], stdout=subprocess.PIPE, text=True)
        self.addCleanup(recorder.kill)
        self.rbd('teach', 'record', self.file, answer='\n\nu\nq\n')
        self.assertEqual(len(read_lesson(self.file).points), 1)
        with TaughtRobot('/joint_states', '/controller') as robot:
            self.assertEqual(robot.stiffness_warning(), '')
            robot.begin()
            self.push()
            time.sleep(0.5)
            t, q = robot.shown(JOINTS)
        self.assertGreater(np.ptp(q, axis=0).max(), 0.1)
        lesson = Lesson(JOINTS, tuple(shown_points(t, q, MODEL)))
        write_lesson(self.file, lesson)
        self.rbd('teach', 'edit', self.file, '--name', '1=start')
        self.rbd('teach', 'export', self.file, '--urdf', ROOT / 'urdf' / 'seven_joint_arm.urdf',
                 '--trajectory', self.folder / 'out.yaml')
        self.assertEqual(self.client.set({'mode': taking(Takes.TRAJECTORY)[0]}), (True, ''))
        with TaughtRobot('/joint_states', '/controller') as robot:
            robot.position(JOINTS)
            self.client.wait(lambda: 'in mode' in robot.stiffness_warning(), 'the other mode')
            robot.begin()
            self.rbd('teach', 'play', self.file, '--speed', 0.5, '--loop', 2, '--acceleration',
                     ACCELERATION, answer='yes\n')
            time.sleep(0.3)
            _, repeats = robot.shown(JOINTS)
        self.assertEqual((self.client.last('state'), self.client.last('fault')), ('running', ''))
        self.near(lesson, q, repeats)
        recorder.send_signal(signal.SIGINT)
        told = json.loads(recorder.communicate(timeout=rig.PATIENCE)[0])
        self.assertEqual(recorder.returncode, 0)
        self.assertGreater(told['topics']['/controller/controller_state'], 10)
        self.assertGreater(told['topics']['/controller/commands'], 10)
        check_paths(read_layout(), self.published)
        self.filters_select_one(recording)
        states = read_messages(recording, '/joint_states', JOINT_STATE)
        self.assertEqual(len(states), told['topics']['/joint_states'])
        stamps = [rig.to_ns(each.header.stamp) for each in states]
        self.assertEqual(stamps, sorted(stamps))

    def filters_select_one(self, recording: Path) -> None:
        """Expect that what the layout picks out of lists was recorded, once in a message."""
        for _, path in paths(read_layout()):
            topic = path.split('.')[0]
            if '[:]' in path:
                found = [len(values(path, each))
                         for each in read_messages(recording, topic, TYPES[topic])]
                self.assertEqual(max(found), 1, path)

    def published(self, topic: str) -> str | None:
        """Return the type of a topic, as its publisher has it."""
        if topic in SILENT:
            return TYPES[topic]
        kinds = {each.topic_type for each in self.client.node.get_publishers_info_by_topic(topic)}
        self.assertLessEqual(len(kinds), 1, topic)
        return kinds.pop() if kinds else None

    def near(self, lesson: Lesson, shown: np.ndarray, repeats: np.ndarray) -> None:
        """Expect that the arm was near every shown position, and near every planned one."""
        bounds = limits_of(MODEL, acceleration=ACCELERATION, torque=0.8)
        motion = repeated(rbd_ros.Dynamics(MODEL), lesson, bounds, 0.5).once
        planned = motion.position(np.linspace(0.0, motion.t[-1], 60))
        for what, wanted, most in (('shown', shown[::50], TOLERANCE + BEHIND),
                                   ('planned', planned, BEHIND)):
            off = [np.abs(repeats - q).max(axis=1).min() for q in wanted]
            print(f'{what}: within {max(off):.4f} of {most:.4f} rad')
            self.assertLess(max(off), most)


@launch_testing.post_shutdown_test()
class TestShutdown(unittest.TestCase):
    """See how they ended."""

    def test_exit_codes(self, proc_info: launch_testing.ProcInfoHandler) -> None:
        """Both end cleanly when they are told to."""
        launch_testing.asserts.assertExitCodes(proc_info)
