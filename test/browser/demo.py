# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The demo with its page, a node that hears what is said, and what several tests do with both."""

from contextlib import contextmanager
import os
import re
import signal
import subprocess
import time
from typing import Any, NamedTuple

from chrome import COARSE, field, fill, press, select, wait
import numpy as np
from ports import free_port
from rbd_env.pace import patient
import rbd_ros
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.description import built_in_robot
from rbd_ros.nodes.executors import spin_in_thread
import rclpy
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from sight import pixel

PARAMETERS = find_resource('package://rbd_ros/config/controller.yaml')
MODEL = rbd_ros.load_urdf(built_in_robot())
ROBOT = rbd_ros.Dynamics(MODEL)
ELBOW = 22.0  # N.m, limit of joint_4, which needs 15 to hold the arm up
REST = 0.01  # rad, within which a robot stands still
DEPTH = 1000  # messages that wait for a node which stalls


@contextmanager
def started(*words, log=subprocess.DEVNULL, **variables):
    """
    Run a command of ros2 until the end of the block, and end it as Ctrl-C does.

    :param words: behind ros2.
    :param log: file for what it says.
    :param variables: of its environment.
    """
    process = subprocess.Popen(['ros2', *words], stdout=log, stderr=subprocess.STDOUT,
                               start_new_session=True, env=os.environ | variables)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(patient(20.0))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def shown(page, folder, *words):
    """
    Run robot, controller and dashboard, and open the page, which ends without a fault.

    They are started as the README does, but with a weaker elbow.

    :param folder: for the log, and for what the page keeps.
    :param words: further arguments of the launch file.
    """
    log, file = folder / 'log', folder / 'controller.yaml'
    limits = [120.0, 120.0, 80.0, ELBOW, 40.0, 24.0, 16.0]
    # At the usual rate: a slower controller that is also late moves the dragged arm too fast.
    file.write_text(f'{PARAMETERS.read_text()}\n      torque_limits: {limits}\n')
    with log.open('w') as told, started(
            'launch', 'rbd_ros', 'controller.launch.py', 'dashboard:=true',
            f'dashboard_port:={free_port()}', f'params_file:={file}', *words,
            log=told, XDG_STATE_HOME=str(folder / 'state')):
        page.folder = folder
        # with the token that only the log has
        found = wait(lambda: re.search(r'open (http://127\.0\.0\.1:\d+/\?token=\S+)',
                                       log.read_text()), 'the page')
        page.get(found[1] + COARSE.replace('/?', '&'))
        await_controller(page)
        yield page
    # asyncio may lose the exit code of a child, CPython gh-87744
    assert re.search(r'\[dashboard-\d+\]: process has finished cleanly|exit status already read',
                     log.read_text())


class State(NamedTuple):
    """A joint state: when it came and when it was measured, s, and its numbers."""

    time: float
    stamp: float
    q: Any
    qd: Any
    tau: Any


class Watcher:
    """
    A node in the domain of the page that hears what is sent, and asks.

    :param namespace: of the robot.
    :param joints: their names, in the order of the numbers.
    """

    def __init__(self, namespace='', joints=MODEL.joint_names):
        self._context = rclpy.Context()
        rclpy.init(context=self._context)
        self.node = rclpy.create_node('watcher', namespace=namespace, context=self._context)
        self.states, self._joints = [], joints
        self.node.create_subscription(JointState, 'joint_states', self._on_states, DEPTH)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.failures = []
        self._thread = spin_in_thread(self._executor, 'watcher', self.failures.append)
        wait(lambda: self.states, 'joint states')

    def _on_states(self, message):
        order = [message.name.index(name) for name in self._joints]
        stamp = message.header.stamp
        self.states.append(State(
            time.monotonic(), stamp.sec + 1e-9 * stamp.nanosec, *(
                np.array(each)[order] for each in (message.position, message.velocity,
                                                   message.effort))))

    def hear(self, kind, topic):
        """Return a list that gets what comes on a topic."""
        heard = []
        self.node.create_subscription(kind, topic, heard.append, DEPTH)
        return heard

    @property
    def q(self):
        """Return where the joints are."""
        return self.states[-1].q

    @property
    def tool(self):
        """Return where the tool is, and along what axes."""
        H = ROBOT.pose(self.q, 'tool0')
        return H[:3, 3], H[:3, :3]

    def moves(self, seconds=1.0):
        """Return whether a joint moves in the time that follows."""
        del self.states[:-1]
        time.sleep(seconds)
        wait(lambda: len(self.states) > 2, 'joint states')
        return bool(np.ptp([state.q for state in self.states], axis=0).max() > REST)

    def close(self):
        """End the node; what an executor raises because it is ended is no failure."""
        failures = list(self.failures)
        self._executor.shutdown(timeout_sec=1.0)
        self._thread.join(5.0)
        self.node.destroy_node()
        rclpy.shutdown(context=self._context)
        assert not failures, failures


@contextmanager
def watching(namespace='', **more):
    """Give a watcher until the end of the block."""
    made = Watcher(namespace, **more)
    try:
        yield made
    finally:
        made.close()


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


def revive(page):
    """Reset the controller if it does not run, as after a stall of the machine; say whether."""
    if 'State running' in page.text:
        return False
    reset(page)
    return True


def await_controller(page):
    """Wait until the controller of a new page runs."""
    wait(lambda: any(words in page.text for words in ('State running', 'press Reset')),
         'the controller')
    revive(page)


def ask(page, joint, goal):
    """Move the slider of a joint; a goal has one digit behind the point, of which a zero goes."""
    # of two fields the first is hidden, that of the slider
    if float(field(page, joint, 2).value or 'nan') != goal:
        fill(page, joint, f'{goal:g}', 2)


def drag_target(page, watcher, poses):
    """Pull at each of the three handles around the tool until a target pose is sent."""
    canvas = page.find('canvas')
    left, top, *size = canvas.box

    def pulled():
        tool, R = watcher.tool
        for axis in R.T:
            for reach in (0.12, 0.2, 0.16):
                x, y = pixel(MODEL, tool + reach * axis, size)
                page.drag((left + x, top + y), (left + x + 40.0, top + y - 30.0))
                time.sleep(0.5)
                if poses:
                    return True
        return False
    wait(pulled, 'a target from the mouse')
