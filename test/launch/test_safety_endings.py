# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
End the controller in every way: each time the robot is released in order, then the process ends.

Each ending has a controller of its own in a namespace. One of them is fed by the simulator on
simulated time, which is killed before the controller is told to end. A signal while Python stands
still, and an exception, are in files of their own.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from pathlib import Path
import pty
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

import arm
from arm import GRAVITY, HOLD, STATE_TIMEOUT
from launch import LaunchDescription
from launch_ros.actions import Node as NodeAction
from launch_testing.actions import ReadyToTest
import launch_testing.markers
import numpy as np
import pytest
from rbd_env.pace import patient
import rclpy
from rclpy.duration import Duration
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.qos import LivelinessPolicy, QoSProfile
import rig
from sensor_msgs.msg import JointState
from std_msgs.msg import UInt64

#: s from the signal to the end of the process; launch loses its patience after 5 s
DEADLINE = patient(4.0)

#: s that the commands offer by default
DEADLINE_OFFERED, LEASE_OFFERED = 0.1, 0.2


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> tuple[LaunchDescription, dict[str, object]]:
    """Start a controller for each way to end, and a simulator for the one that loses it."""
    driven = {name: rig.controller(name, **arm.PARAMETERS) for name in ('frozen', 'deaf')}
    described = {k: v for k, v in arm.PARAMETERS.items() if k != 'robot_description_file'}
    orphan = rig.controller('orphan', **described, use_sim_time=True, autostart=True)
    simulator = NodeAction(
        package='rbd_ros', executable='simulator', name='simulator', namespace='orphan',
        output='screen', parameters=[{
            'state_rate': arm.RATE, 'publish_clock': True, 'command_type': 'joint_state',
            'initial_positions': arm.Q.tolist(), 'effort_source': 'joint'}])
    processes = driven | {'orphan': orphan, 'simulator': simulator}
    return LaunchDescription([*processes.values(), ReadyToTest()]), processes


def pid(process: object) -> int:
    """Return the number of a process that launch started."""
    return process.process_details['pid']


def wake(process: object) -> None:
    """Let a process go on that a test may have left frozen."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid(process), signal.SIGCONT)


class TestEndings(unittest.TestCase):
    """Bring one controller up, end it, look at its last commands."""

    def setUp(self) -> None:
        """Begin ROS."""
        rclpy.init()
        self.addCleanup(rclpy.shutdown)

    def client(self, name: str) -> rig.Client:
        """Return a client of a controller."""
        client = rig.Client(name)
        self.addCleanup(client.close)
        return client

    def bring_up(self, name: str) -> rig.Client:
        """Activate a driven controller and wait until it carries the arm."""
        client = self.client(name)
        driver = rig.Driver(client, arm.JOINTS, arm.Q, arm.RATE)
        self.addCleanup(driver.close)
        self.assertTrue(client.transition(rig.CONFIGURE), client.last('log'))
        self.assertTrue(client.transition(rig.ACTIVATE), client.last('log'))
        client.wait_running()
        client.wait(lambda: bool(client.commands) and np.allclose(
            client.commands[-1].effort, GRAVITY, atol=1e-6), 'gravity')
        return client

    def expect_release(self, client: rig.Client, begin: float) -> None:
        """Expect: braking or the last torque, a ramp, zero, and nothing but zero after it."""
        after = np.array([c.effort for c in client.commands if c.time > begin])
        zero = ~after.any(axis=1)
        self.assertTrue(zero[-1])
        self.assertTrue(zero[zero.argmax():].all())
        self.assertTrue((np.abs(after) <= arm.LIMIT * (1.0 + 1e-12)).all())

    def end(self, client: rig.Client, process: object, proc_info: object, begin: float) -> None:
        """Wait for the end of the process, in its time and without an error."""
        proc_info.assertWaitForShutdown(process=process, timeout=patient(30.0))
        took = time.monotonic() - begin
        print(f'{self.id().rpartition(".")[2]}: ended after {took:.2f} s')
        self.assertLess(took - client.stalled(begin), DEADLINE)
        self.assertEqual(proc_info[process].returncode, 0)

    def test_terminal_closes(self) -> None:
        """The terminal goes away, as ssh does: SIGHUP, and nobody takes what is written."""
        keeper, terminal = pty.openpty()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        file = Path(folder.name) / 'hangup.yaml'

        def log_in() -> None:
            fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
        file.write_text(json.dumps({'/hangup/controller': {'ros__parameters': arm.PARAMETERS}}))
        process = subprocess.Popen(
            [sys.executable, '-m', 'rbd_ros.nodes.controller.process', '--ros-args', '-r',
             '__ns:=/hangup', '--params-file', str(file)],
            stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
            preexec_fn=log_in)
        self.addCleanup(process.wait, 30.0)
        self.addCleanup(process.kill)
        os.close(terminal)
        client = self.bring_up('hangup')
        begin = time.monotonic()
        os.close(keeper)
        code = process.wait(patient(30.0))
        took = time.monotonic() - begin
        print(f'terminal_closes: ended after {took:.2f} s with {code}')
        self.expect_release(client, begin)
        self.assertLess(took - client.stalled(begin), DEADLINE)
        self.assertEqual(code, 0)

    def test_freeze_and_signals(self, frozen: object, proc_info: object) -> None:
        """
        Whoever watches sees that the process hangs; an impatient operator ends it in order.

        What waited in the queue of a frozen process looks fresh and is old: nothing is derived
        from it. A second and a third signal do not cut the sequence of the first one short.
        """
        client = self.bring_up('frozen')
        missed: list[float] = []
        alive: list[tuple[float, int]] = []
        watched = QoSProfile(
            depth=1, deadline=Duration(seconds=DEADLINE_OFFERED),
            liveliness=LivelinessPolicy.MANUAL_BY_TOPIC,
            liveliness_lease_duration=Duration(seconds=LEASE_OFFERED))
        commands: list[JointState] = []
        client.node.create_subscription(
            JointState, 'controller/commands', commands.append, watched,
            event_callbacks=SubscriptionEventCallbacks(
                deadline=lambda _: missed.append(time.monotonic()),
                liveliness=lambda info: alive.append((time.monotonic(), info.alive_count))))
        beats = client.listen(UInt64, 'controller/heartbeat')
        client.wait(lambda: len(commands) > 50 and bool(alive) and len(beats) > 10,
                    'commands and signs of life')
        self.assertEqual(alive[-1][1], 1)
        begin = time.monotonic()
        os.kill(pid(frozen), signal.SIGSTOP)
        self.addCleanup(wake, frozen)
        client.wait(lambda: any(t > begin for t in missed), 'a missed deadline')
        client.wait(lambda: alive[-1][1] == 0, 'lost liveliness')
        print(f'frozen: liveliness lost after {alive[-1][0] - begin:.3f} s, offered '
              f'{LEASE_OFFERED}')
        silent = len(beats)
        time.sleep(2.0 * (STATE_TIMEOUT + HOLD))
        self.assertEqual(len(beats), silent, 'a heart that beats in a frozen process')
        woken = time.monotonic()
        wake(frozen)
        client.wait_text('state', 'fault', woken)
        client.wait_text('fault', 'no fresh joint state', woken)
        self.assertNotIn('running', [
            said.text for said in client.texts['state'] if said.time > woken])
        self.assertFalse(client.commands[-1].effort.any())

        client.wait_running()
        begin = time.monotonic()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
            os.kill(pid(frozen), number)
            time.sleep(0.05)
        self.end(client, frozen, proc_info, begin)
        self.expect_release(client, begin)
        client.expect_order(begin, 'braking', 'ramping down', 'releasing', 'released')

    def test_sigint_while_states_are_awaited(self, deaf: object, proc_info: object) -> None:
        """An activation that waits for states does not hold up the end, and sends no torque."""
        client = self.client('deaf')
        self.assertTrue(client.transition(rig.CONFIGURE), client.last('log'))
        client.ask_transition(rig.ACTIVATE)
        client.wait_text('state', 'probing', 0.0)
        begin = time.monotonic()
        os.kill(pid(deaf), signal.SIGINT)
        self.end(client, deaf, proc_info, begin)  # it would have waited for 20 s and more
        self.assertFalse(client.commands)

    def test_dead_simulator(self, orphan: object, simulator: object, proc_info: object) -> None:
        """With the simulator killed, and its clock, the controller still ends in order."""
        client = self.client('orphan')
        client.wait(lambda: client.last('state') == 'running', 'running')
        client.wait(lambda: len(client.commands) > 50, 'commands')
        os.kill(pid(simulator), signal.SIGKILL)
        begin = time.monotonic()
        os.kill(pid(orphan), signal.SIGINT)
        self.end(client, orphan, proc_info, begin)
        self.expect_release(client, begin)
