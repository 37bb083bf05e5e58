# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The loop waits for nobody who listens: a page or a listener, halted or killed."""

from __future__ import annotations

import os
from pathlib import Path
import signal
import subprocess
import sys
import time

from rig import MARGIN
from standing import Standing

#: s, longer than any gap that a busy machine may make
HALTED = 2.0 * MARGIN

LISTENER = """
import rclpy
from sensor_msgs.msg import JointState
rclpy.init()
node = rclpy.create_node('listener')
node.create_subscription(
    JointState, '/controller/commands', lambda _: print('heard', flush=True), 1)
rclpy.spin(node)
"""


def test_who_listens_halts_or_dies() -> None:
    """Commands go on at their pace, whatever becomes of a page, and of a listener."""
    system = Standing({})
    try:
        system.run()
        mapped = Path(f'/proc/{system.process.pid}/maps').read_text()
        assert '/dev/shm/' not in mapped  # no lock of another process can be waited for
        expect_pace_beside_a_listener(system)
        expect_pace_beside_a_page(system)
    finally:
        assert system.close() == 0


def expect_pace_beside_a_page(system: Standing) -> None:
    """Expect commands at their pace while a dashboard stands still, and when it is killed."""
    client = system.client
    page = subprocess.Popen(
        ['ros2', 'run', 'rbd_ros', 'dashboard', '--ros-args', '-p', 'port:=18471', '-p',
         'robot_description_file:=package://rbd_ros/urdf/seven_joint_arm.urdf'],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        assert page.stdout is not None
        assert any('open http://127.0.0.1' in line for line in page.stdout)
        gaps = {}
        for what, number in (('halted', signal.SIGSTOP), ('killed', signal.SIGKILL)):
            client.wait_running()       # the start of the page may have held our driver up
            begin = time.monotonic()
            os.killpg(page.pid, number)
            time.sleep(HALTED)
            gaps[what] = system.largest_gap(begin)
            assert gaps[what] < client.margin(begin), what
    finally:
        os.killpg(page.pid, signal.SIGKILL)
        page.wait()
    print(', '.join(f'{what}: largest gap {1e3 * gap:.1f} ms' for what, gap in gaps.items()))
    system.check_running(begin)


def expect_pace_beside_a_listener(system: Standing) -> None:
    """Expect that Ctrl-Z in a terminal that shows the commands stops nobody but itself."""
    listener = subprocess.Popen([sys.executable, '-c', LISTENER], stdout=subprocess.PIPE)
    try:
        assert listener.stdout is not None
        assert listener.stdout.readline() == b'heard\n'  # commands do reach it
        system.client.wait_running()
        begin = time.monotonic()
        listener.send_signal(signal.SIGSTOP)
        time.sleep(HALTED)
        gap = system.largest_gap(begin)
        assert gap < system.client.margin(begin)
    finally:
        listener.kill()
        listener.wait()
    print(f'a listener halted: largest gap {1e3 * gap:.1f} ms')
    system.check_running(begin)
