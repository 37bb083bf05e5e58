# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How the process of the dashboard ends."""

import signal
import socket
import subprocess
import sys
import threading
import time
from unittest.mock import MagicMock
import urllib.request

import pytest
from rbd_env.pace import patient
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.dashboard import node as process
from rbd_ros.nodes.process_end import ProcessEnd


def test_an_interrupted_process_ends_with_zero(monkeypatch):
    """What an executor raises because it is shut down under its thread is no failure."""
    raised = threading.Event()

    class Torn:

        def __init__(self):
            self.over = threading.Event()

        def add_node(self, node):
            pass

        def spin(self):
            self.over.wait()
            if not raised.is_set():
                raised.set()
                raise RuntimeError('cannot use Destroyable because destruction was requested')

        def shutdown(self, timeout_sec):
            self.over.set()
            assert raised.wait(patient(10.0))
            time.sleep(0.05)  # until the thread has reported

    monkeypatch.setattr(signal, 'signal', lambda *_: None)
    ending = ProcessEnd()
    shown = MagicMock(problem='')
    clock, waits, wait = MagicMock(now=5.0), [], ending.wait
    clock.monotonic.side_effect = lambda: clock.now

    def waited(seconds):
        waits.append(seconds)
        clock.now += seconds
        return wait(0.0)

    def updated():
        clock.now += 0.015 if len(waits) < 2 else 0.1
        if len(waits) == 3:
            ending._on_signal()
    shown.update.side_effect = updated
    monkeypatch.setattr(ending, 'wait', waited)
    for name, value in {'ProcessEnd': lambda: ending, 'initialise': lambda args: None,
                        'Dashboard': lambda: shown, 'make_executor': lambda kind: Torn(),
                        'kind_that_works': lambda kind, _: kind,
                        'rclpy': MagicMock(), 'time': clock}.items():
        monkeypatch.setattr(process, name, value)
    assert process.main([]) == 0 and raised.is_set()
    # 25 pictures per second, however long they take; what is late rests before the next one
    assert waits == pytest.approx([0.04, 0.025, 0.01, 0.01])


@pytest.mark.parametrize(('file', 'code'), [('good', 0), ('bad', 1)])
def test_the_process_ends_after_two_signals(node, file, code, tmp_path):
    """Ctrl-C reaches it from the terminal and from launch; a bad robot is reported and counts."""
    urdf = find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf')
    if file == 'bad':
        urdf = tmp_path / 'bad.urdf'
        urdf.write_text('<robot name="r"><link name="a"/><link name="b"/></robot>')
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        port = probe.getsockname()[1]
    running = subprocess.Popen(
        [sys.executable, '-m', 'rbd_ros.nodes.dashboard.node', '--ros-args', '-p',
         f'port:={port}', '-p', f'robot_description_file:={urdf}'], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True)
    try:
        assert f'open http://127.0.0.1:{port}' in running.stdout.readline()
        page = urllib.request.urlopen(f'http://127.0.0.1:{port}', timeout=patient(60))
        assert page.status == 200
        if file == 'bad':
            assert '2 links are the child of no joint' in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        words, _ = running.communicate(timeout=patient(60.0))
    finally:
        running.kill()
    assert running.returncode == code, words
    assert 'Traceback' not in words and ('2 links' in words) == (file == 'bad')
