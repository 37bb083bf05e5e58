# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The token of the dashboard: who reads it, and where it may come from."""

import re
import signal
import subprocess
import sys
import time

from isolation import own_domain
from ports import free_port
import pytest
from rbd_env.pace import patient
from rbd_ros.errors import RbdError
from rbd_ros.nodes.dashboard.node import Dashboard
from rcl_interfaces.msg import Log, ParameterEvent
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from visitor import cookie_for


def test_only_who_started_it_reads_the_token(tmp_path, monkeypatch):
    """It is on the output of the process; not on /rosout, among parameters, or in a log file."""
    monkeypatch.setenv('ROS_LOG_DIR', str(tmp_path / 'log'))
    with own_domain():
        rclpy.init()
        node, heard = rclpy.create_node('listener'), []
        node.create_subscription(Log, '/rosout', lambda each: heard.append(each.msg), QoSProfile(
            depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        node.create_subscription(ParameterEvent, '/parameter_events',
                                 lambda each: heard.append(str(each)), 1000)
        running = subprocess.Popen(
            [sys.executable, '-m', 'rbd_ros.nodes.dashboard.node', '--ros-args', '-p',
             f'port:={free_port()}', '-p', 'allow_commands:=true'],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            address, token = re.match(r'open (http://[0-9.:]+)/\?token=(\S+) in a browser',
                                      running.stdout.readline()).groups()
            end = time.monotonic() + patient(30.0)
            while not any(address in each for each in heard):
                assert time.monotonic() < end, heard
                rclpy.spin_once(node, timeout_sec=0.1)
            running.send_signal(signal.SIGINT)
            running.communicate(timeout=patient(60.0))
        finally:
            running.kill()
            node.destroy_node()
            rclpy.shutdown()
    files = ''.join(each.read_text() for each in (tmp_path / 'log').rglob('*') if each.is_file())
    assert address in files and token not in files and token not in ''.join(heard)


@pytest.mark.parametrize(('mode', 'text', 'reason'), [
    (0o600, 'a-secret\n', ''), (0o640, 'a-secret', 'may be read by others'),
    (0o604, 'a-secret', 'may be read by others'), (0o600, 'a b', 'letters, digits'),
    (None, '', 'cannot be read')])
def test_a_token_from_a_file(tmp_path, mode, text, reason):
    """Only its owner may read it."""
    file, port = tmp_path / 'token', free_port()
    if mode is not None:
        file.write_text(text)
        file.chmod(mode)
    with own_domain():
        rclpy.init(args=['--ros-args', '-p', f'token_file:={file}', '-p', 'allow_commands:=true',
                         '-p', f'port:={port}'])
        made = Dashboard()
        try:
            if reason:
                with pytest.raises(RbdError, match=reason):
                    made.open()
            else:
                made.open()
                assert cookie_for(port, 'a-secret') and not cookie_for(port, 'a-secret2')
                made.close()
        finally:
            made.destroy_node()
            rclpy.shutdown()
