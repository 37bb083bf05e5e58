# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Teach and repeat as a user does it: the arm floats, is pushed about, and repeats what it was shown.

The layout of Foxglove is compared with what is really published meanwhile.
"""

from __future__ import annotations

from pathlib import Path
import tempfile
import time
import unittest

from foxglove_layout import check_paths, paths, read_layout, TYPES, values
from geometry_msgs.msg import WrenchStamped
from launch import LaunchDescription
from launch_testing.actions import ReadyToTest
import launch_testing.markers
import numpy as np
import pytest
import rbd_ros
from rbd_ros.command_line.app import app
from rbd_ros.control.modes import Takes, taking
from rbd_ros.nodes.taught_robot import TaughtRobot
from rbd_ros.teaching.demonstration import shown_points, TOLERANCE
from rbd_ros.teaching.lesson import Lesson
from rbd_ros.teaching.lesson_file import read_lesson, write_lesson
from rbd_ros.teaching.repeat import repeated
from rbd_ros.teaching.strokes import limits_of
import rclpy
import rig
from rosidl_runtime_py.utilities import get_message
from typer.testing import CliRunner
import yaml

ROOT = Path(__file__).parents[2]
MODEL = rbd_ros.load_urdf(ROOT / 'urdf' / 'seven_joint_arm.urdf')
JOINTS = MODEL.independent_joint_names
#: N on the tool, one after the other
PUSHES = ((7.0, 3.0, 0.0), (-7.0, 5.0, 2.0))
MOVED = 0.1  # rad, by each
#: what the simulator publishes only where the robot can touch something; and commands, which have
#: stamps here, as lockstep needs them
OTHERWISE = ('/simulator/contact_markers', '/controller/commands')
#: rad/s^2, enough for a robot that was not led but pushed
ACCELERATION = 30.0
#: rad by which the controller may be behind its reference
BEHIND = 0.03


@pytest.mark.launch_test
@pytest.mark.sampled('launches', 2, pool='stories')
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start the simulated arm, which waits for the answer to each state, and its controller."""
    file = Path(tempfile.mkdtemp()) / 'simulator.yaml'
    content = yaml.safe_load((ROOT / 'config' / 'simulator.yaml').read_text())
    content['/**']['simulator']['ros__parameters']['lockstep_timeout'] = 60.0
    file.write_text(yaml.safe_dump(content))
    return LaunchDescription([
        rig.launched(command_type='joint_state', lockstep='true', use_sim_time='true',
                     simulator_params_file=str(file)), ReadyToTest()])


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

    def push(self, robot: TaughtRobot) -> None:
        """Lead the arm about: each push lasts until it has moved."""
        tool = self.client.node.create_publisher(WrenchStamped, '/simulator/wrench', 10)
        self.client.wait(lambda: tool.get_subscription_count() > 0, 'the simulator')
        for force in PUSHES:
            message, start = WrenchStamped(), np.array(robot.position(JOINTS))
            message.header.frame_id = 'tool0'
            hand = message.wrench.force
            hand.x, hand.y, hand.z = force
            with self.client.repeating(0.005, lambda message=message: tool.publish(message)):
                self.client.wait(lambda start=start: np.abs(
                    np.subtract(robot.position(JOINTS), start)).max() > MOVED, 'a motion')

    def test_story(self) -> None:
        """Points and a motion are kept and repeated, and the layout shows what is published."""
        heard = {path: self.client.listen(get_message(TYPES[topic]), topic)
                 for path in (each for _, each in paths(read_layout()) if '[:]' in each)
                 for topic in [path.split('.')[0]]}
        self.rbd('teach', 'record', self.file, answer='\n\nu\nq\n')
        self.assertEqual(len(read_lesson(self.file).points), 1)
        with TaughtRobot('/joint_states', '/controller') as robot:
            self.assertEqual(robot.stiffness_warning(), '')
            robot.begin()
            self.push(robot)
            time.sleep(0.3)
            t, q = robot.shown(JOINTS)
        self.assertGreater(np.ptp(q, axis=0).max(), MOVED)
        lesson = Lesson(JOINTS, tuple(shown_points(t, q, MODEL)))
        write_lesson(self.file, lesson)
        self.assertEqual(self.client.set({'mode': taking(Takes.TRAJECTORY)[0]}), (True, ''))
        with TaughtRobot('/joint_states', '/controller') as robot:
            robot.position(JOINTS)
            self.client.wait(lambda: 'in mode' in robot.stiffness_warning(), 'the other mode')
            robot.begin()
            self.rbd('teach', 'play', self.file, '--speed', 0.5, '--acceleration', ACCELERATION,
                     answer='yes\n')
            time.sleep(0.3)
            _, repeats = robot.shown(JOINTS)
        self.assertEqual((self.client.last('state'), self.client.last('fault')), ('running', ''))
        self.near(lesson, q, repeats)
        check_paths(read_layout(), self.published)
        for path, messages in heard.items():  # what the layout picks out of lists is there once
            self.client.wait(lambda messages=messages: len(messages) > 0, path)
            self.assertEqual(max(len(values(path, each)) for each in messages), 1, path)

    def published(self, topic: str) -> str | None:
        """Return the type of a topic, as its publisher has it."""
        if topic in OTHERWISE:
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


TestShutdown = rig.CleanEnd
