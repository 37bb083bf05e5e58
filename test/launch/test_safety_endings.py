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
End the controller in every way: each time the robot is released in order, then the process ends.

Each ending has a controller of its own in a namespace. One of them is fed by the simulator on
simulated time, which is killed before the controller is told to end.
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
from arm import BRAKE, GRAVITY, HOLD, RELEASE, REPEATS, STATE_TIMEOUT
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

DRIVEN = ('interrupt', 'terminate', 'twice', 'occupied', 'deaf', 'frozen')

#: s that the commands offer by default
DEADLINE_OFFERED, LEASE_OFFERED = 0.1, 0.2
FOLDER = Path(tempfile.mkdtemp())


@pytest.mark.launch_test
@launch_testing.markers.keep_alive
def generate_test_description() -> tuple[LaunchDescription, dict[str, object]]:
    """Start a controller for each way to end, and a simulator for the one that loses it."""
    driven = {name: rig.controller(name, **arm.PARAMETERS) for name in DRIVEN}
    driven['broken'] = rig.saboteur(FOLDER, 'broken', **arm.PARAMETERS, loop='executor')
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


def threads_of(number: int) -> str:
    """Return name, state (R: runs, D: waits for a disk) and place in the system of each thread."""
    rows = []
    for task in Path(f'/proc/{number}/task').iterdir():
        with contextlib.suppress(OSError):
            name, _, rest = (task / 'stat').read_text().partition('(')[2].rpartition(')')
            rows.append(f'{task.name} {name}: {rest.split()[0]} {(task / "wchan").read_text()}')
    return '\n'.join(rows)


class TestEndings(unittest.TestCase):
    """Bring one controller up, end it, look at its last commands."""

    def setUp(self) -> None:
        """Begin ROS."""
        rclpy.init()
        self.addCleanup(rclpy.shutdown)

    def bring_up(self, name: str) -> tuple[rig.Client, rig.Driver]:
        """Activate a driven controller and wait until it carries the arm."""
        client = rig.Client(name)
        self.addCleanup(client.close)
        driver = rig.Driver(client, arm.JOINTS, arm.Q, arm.RATE)
        self.addCleanup(driver.close)
        self.assertTrue(client.transition(rig.CONFIGURE), client.last('log'))
        self.activate(client)
        return client, driver

    def activate(self, client: rig.Client) -> None:
        """Activate and wait until the controller carries the arm."""
        self.assertTrue(client.transition(rig.ACTIVATE), client.last('log'))
        client.wait_running()
        client.wait(lambda: bool(client.commands) and np.allclose(
            client.commands[-1].effort, GRAVITY, atol=1e-6), 'gravity')

    def expect_release(self, client: rig.Client, begin: float, end: float,
                       start: np.ndarray, lost: float = 0.0) -> None:
        """Expect: braking, a ramp to zero, zero several times, nothing more."""
        after = [c for c in client.commands if begin < c.time <= end]
        zeros = [c for c in after if not c.effort.any()]
        # The middleware keeps the newest command only: who stands still misses those before it,
        # and a loop that is late sends fewer in the time that it has; both leave a gap.
        gap = max(np.diff([c.time for c in after[-3 * REPEATS:]]), default=np.inf)
        late = client.stalled(begin) > 0.0 or gap > 3.0 / arm.RATE
        self.assertGreaterEqual(len(zeros), 1 if late else REPEATS, gap)
        self.assertTrue(all(not c.effort.any() for c in after[-min(REPEATS, len(zeros)):]))
        self.assertLess(zeros[0].time - begin, BRAKE + lost + RELEASE + client.margin(begin))
        limit, period = 10.0 * arm.LIMIT, 1.0 / arm.RATE
        steps = np.abs(np.diff([c.effort for c in after], axis=0))
        self.assertTrue((steps <= limit * 2.0 * period * (1.0 + 1e-9)).all())
        early = [c.effort for c in after if c.time < begin + BRAKE - 0.05]
        for torque in early:
            np.testing.assert_allclose(torque, start, atol=2.0)
        print(f'{self.id().rpartition(".")[2]}: first zero after {zeros[0].time - begin:.3f} s, '
              f'{len(zeros)} zeros')

    def end(self, client: rig.Client, process: object, proc_info: object, begin: float) -> float:
        """Wait for the end of the process; return how long it took, without stalls."""
        proc_info.assertWaitForShutdown(process=process, timeout=patient(30.0))
        took = time.monotonic() - begin
        print(f'{self.id().rpartition(".")[2]}: ended after {took:.2f} s')
        time.sleep(0.3)
        return took - client.stalled(begin)

    def test_sigint(self, interrupt: object, proc_info: object) -> None:
        """Ctrl-C releases the robot in order, then the process ends, all within 4 s."""
        client, _ = self.bring_up('interrupt')
        with self.subTest('deactivation'):
            begin = time.monotonic()
            self.assertTrue(client.transition(rig.DEACTIVATE))
            self.assertLess(time.monotonic() - begin, BRAKE + RELEASE + client.margin(begin, 2))
            time.sleep(0.3)
            self.expect_release(client, begin, time.monotonic(), GRAVITY)
            self.assertEqual(client.lifecycle(), 'inactive')
            self.activate(client)
        begin = time.monotonic()
        os.kill(pid(interrupt), signal.SIGINT)
        self.assertLess(self.end(client, interrupt, proc_info, begin), DEADLINE)
        self.expect_release(client, begin, time.monotonic(), GRAVITY)
        self.assertEqual(proc_info[interrupt].returncode, 0)

    def test_sigterm(self, terminate: object, proc_info: object) -> None:
        """The same for a termination."""
        client, _ = self.bring_up('terminate')
        begin = time.monotonic()
        os.kill(pid(terminate), signal.SIGTERM)
        self.assertLess(self.end(client, terminate, proc_info, begin), DEADLINE)
        self.expect_release(client, begin, time.monotonic(), GRAVITY)
        self.assertEqual(proc_info[terminate].returncode, 0)

    def test_second_signal(self, twice: object, proc_info: object) -> None:
        """An impatient operator does not cut the sequence short."""
        client, _ = self.bring_up('twice')
        begin = time.monotonic()
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM):
            os.kill(pid(twice), number)
            time.sleep(0.1)
        self.assertLess(self.end(client, twice, proc_info, begin), DEADLINE)
        self.expect_release(client, begin, time.monotonic(), GRAVITY)
        last = [c.time for c in client.commands if c.effort.any()][-1]
        self.assertGreater(last - begin, BRAKE + RELEASE - 0.1)
        self.assertEqual(proc_info[twice].returncode, 0)

    def test_terminal_closes(self) -> None:
        """The terminal goes away, as ssh does: SIGHUP, and nobody takes what is written."""
        keeper, terminal = pty.openpty()
        file = FOLDER / 'hangup.yaml'

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
        client, _ = self.bring_up('hangup')
        begin = time.monotonic()
        os.close(keeper)
        try:
            code = process.wait(DEADLINE)
        except subprocess.TimeoutExpired:  # its own words are lost: see where its threads are
            print(threads_of(process.pid), *(
                f'{said.time - begin:.3f} s: {said.text}' for kind in ('state', 'log')
                for said in client.texts[kind] if said.time > begin), sep='\n')
            code = process.wait(patient(30.0))
        took = time.monotonic() - begin
        print(f'terminal_closes: ended after {took:.2f} s with {code}')
        time.sleep(0.3)
        self.expect_release(client, begin, time.monotonic(), GRAVITY)
        self.assertLess(took - client.stalled(begin), DEADLINE)
        self.assertEqual(code, 0)

    def test_exception(self, broken: object, proc_info: object) -> None:
        """An exception in a loop of Python ends as a stop does, and the exit code shows it."""
        client, _ = self.bring_up('broken')
        begin = time.monotonic()
        rig.break_it(FOLDER, 'state')
        client.wait(lambda: client.last('state') == 'released', 'the end', 20.0)
        time.sleep(0.3)
        self.expect_release(client, begin, time.monotonic(), GRAVITY)
        self.assertIn('exception', client.last('fault'))
        begin = time.monotonic()
        os.kill(pid(broken), signal.SIGINT)
        self.assertLess(self.end(client, broken, proc_info, begin), DEADLINE)
        self.assertEqual(proc_info[broken].returncode, 1)

    def test_frozen_process(self, frozen: object, proc_info: object) -> None:
        """A driver that asks for deadline and liveliness sees that the process hangs."""
        client, _ = self.bring_up('frozen')
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
        client.wait(lambda: len(commands) > 100 and bool(alive) and len(beats) > 10,
                    'commands and signs of life')
        self.assertEqual(alive[-1][1], 1)
        begin = time.monotonic()
        os.kill(pid(frozen), signal.SIGSTOP)
        self.addCleanup(wake, frozen)
        client.wait(lambda: any(t > begin for t in missed), 'a missed deadline', 20.0)
        client.wait(lambda: alive[-1][1] == 0, 'lost liveliness', 20.0)
        at = next(t for t in missed if t > begin)
        print(f'frozen: deadline missed after {at - begin:.3f} s, offered {DEADLINE_OFFERED}; '
              f'liveliness lost after {alive[-1][0] - begin:.3f} s, offered {LEASE_OFFERED}')
        self.assertLess(at - begin, DEADLINE_OFFERED + client.margin(begin))
        self.assertLess(alive[-1][0] - begin, LEASE_OFFERED + client.margin(begin))
        time.sleep(STATE_TIMEOUT + HOLD)
        silent = len(beats)
        time.sleep(0.5)
        self.assertEqual(len(beats), silent, 'a heart that beats in a frozen process')
        woken = time.monotonic()
        os.kill(pid(frozen), signal.SIGCONT)
        # What waited in the queue looks fresh and is old: nothing is derived from it.
        client.wait_text('state', 'fault', woken, 20.0)
        client.wait_text('fault', 'no fresh joint state', woken, 20.0)
        states = [said.text for said in client.texts['state'] if said.time > woken]
        self.assertNotIn('running', states)
        self.assertFalse(client.commands[-1].effort.any())
        begin = time.monotonic()
        os.kill(pid(frozen), signal.SIGINT)
        self.assertLess(self.end(client, frozen, proc_info, begin), DEADLINE)

    def end_activation(self, client: rig.Client, process: object, proc_info: object) -> None:
        """Interrupt a process whose activation waits; it ends at once, without a torque."""
        begin = time.monotonic()
        os.kill(pid(process), signal.SIGINT)
        took = self.end(client, process, proc_info, begin)
        self.assertLess(took, DEADLINE)  # it would have waited for 20 s and more
        self.assertFalse(client.commands)
        self.assertEqual(proc_info[process].returncode, 0)

    def test_sigint_while_the_output_is_awaited(self, occupied: object,
                                                proc_info: object) -> None:
        """An activation that waits for another publisher to leave does not hold up the end."""
        client = rig.Client('occupied')
        self.addCleanup(client.close)
        client.node.create_publisher(JointState, 'controller/commands', 1)
        client.be_discovered()
        self.assertTrue(client.transition(rig.CONFIGURE), client.last('log'))
        client.ask_transition(rig.ACTIVATE)
        client.wait_text('log', 'was killed stays visible', 0.0)
        self.end_activation(client, occupied, proc_info)

    def test_sigint_while_states_are_awaited(self, deaf: object, proc_info: object) -> None:
        """The same while it waits for states."""
        client = rig.Client('deaf')
        self.addCleanup(client.close)
        self.assertTrue(client.transition(rig.CONFIGURE), client.last('log'))
        client.ask_transition(rig.ACTIVATE)
        client.wait_text('state', 'probing', 0.0)
        self.end_activation(client, deaf, proc_info)

    def test_dead_simulator(self, orphan: object, simulator: object, proc_info: object) -> None:
        """With the simulator killed, and its clock, the controller still ends in order."""
        client = rig.Client('orphan')
        self.addCleanup(client.close)
        client.wait(lambda: client.last('state') == 'running', 'running')
        client.wait(lambda: len(client.commands) > 50, 'commands')
        held = client.commands[-1].effort
        os.kill(pid(simulator), signal.SIGKILL)
        begin = time.monotonic()
        os.kill(pid(orphan), signal.SIGINT)
        self.assertLess(self.end(client, orphan, proc_info, begin), DEADLINE)
        self.expect_release(client, begin, time.monotonic(), held, STATE_TIMEOUT + HOLD)
        self.assertEqual(proc_info[orphan].returncode, 0)
