# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The launch file as a user meets it: its arguments, and each line that it says to try."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import os
from pathlib import Path
import re
import signal
import subprocess
import threading
import time

import pytest
from rbd_env.pace import patient
from sampling import some
from slow_nodes import slow_nodes

rclpy = pytest.importorskip('rclpy', reason='ROS is not sourced')
rig = pytest.importorskip('rig')

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = patient(60.0)  # s for a command of ros2 to end

#: what each kind of command must say
ANSWERS = {'topic echo': 'data: running', 'param set': 'Set parameter successful',
           'service call': 'success=True', 'topic pub': 'publishing #'}

#: Hz; whether a line can be typed does not depend on it, and slow nodes leave time for commands
RATE = 100.0

#: arguments that change every name, so that the advice must change with them
ARGUMENTS = ('namespace:=cell', 'joint_states:=states', 'commands:=/torques',
             'use_sim_time:=true', 'log_level:=info')


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Keep the log files of launch out of the home folder."""
    return {**os.environ, 'ROS_LOG_DIR': str(tmp_path / 'log')}


class Launched:
    """A launch file that runs, and what it printed so far."""

    def __init__(self, ros2: str, env: dict[str, str], file: Path, *arguments: str,
                 name: str = 'controller.launch.py') -> None:
        self._file = file
        with file.open('wb') as out:
            self._process = subprocess.Popen(
                [ros2, 'launch', 'rbd_ros', name, *arguments], env=env,
                stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                # the shell of a background job ignores SIGINT, and children inherit that
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))

    @property
    def text(self) -> str:
        """Return what it printed."""
        return self._file.read_text()

    def wait(self, condition: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
        """Wait for something."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f'{what}: not within {seconds:g} s\n{self.text}'
            assert self._process.poll() is None, self.text
            time.sleep(0.1)

    def close(self) -> int:
        """Press Ctrl-C; return the exit code."""
        self._process.send_signal(signal.SIGINT)
        return self._process.wait(patient(30.0))


def advised(text: str) -> list[str]:
    """Return the commands that are printed, each in one piece."""
    lines = text.split('In another terminal, try:\n')[1].split('\n[INFO]')[0].splitlines()
    whole = '\n'.join(line for line in lines if not line.strip().startswith('#'))
    return [command.strip() for command in
            re.split(r'(?<!\\)\n', whole) if command.strip()]


def answer(command: str, wanted: str, prepare: Callable[[], object] = lambda: None) -> str:
    """Type a command, again where the daemon of ros2 is too young to know the node, or hangs."""
    for _ in range(5):
        prepare()
        code, said = typed(command, wanted)
        if code == -signal.SIGABRT:
            print(f'{command}\ndid not end within {PATIENCE:g} s and stood at\n{said}')
            if wanted in said:  # the node has answered; what hangs is the end of ros2
                return said
        elif 'Node not found' not in said:
            break
        time.sleep(2.0)
    assert code == 0, said
    return said


def typed(command: str, wanted: str) -> tuple[int, str]:
    """Type a command; return its code and what it says until the wanted text or its end."""
    process = subprocess.Popen(['sh', '-c', f'exec {command}'], cwd=ROOT, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL, start_new_session=True,
                               env={**os.environ, 'PYTHONFAULTHANDLER': '1'})
    lines = []
    patience = threading.Timer(PATIENCE, os.killpg, (process.pid, signal.SIGABRT))
    patience.start()
    try:
        for line in process.stdout or ():
            lines.append(line)
            if wanted in line and 'echo' in command:  # would go on for ever
                return 0, ''.join(lines)
        return process.wait(patient(60.0)), ''.join(lines)
    finally:
        patience.cancel()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(patient(30.0))


@pytest.fixture
def client() -> Iterator[rig.Client]:
    """Return a node in the namespace of the robot."""
    rclpy.init()
    made = rig.Client('cell')
    yield made
    made.close()
    rclpy.shutdown()


def follow_advice(command: str, launched: Launched, client: rig.Client, states: list) -> None:
    """
    Type a line of the advice and wait for what it says.

    The simulated robot runs in real time: where the machine stalls, its states come late, and the
    controller rightly holds it. What was typed is then typed again, after a reset, and so is a
    message that was lost: of ``--once``, ros2 does not wait until the controller has it.
    """
    kind = next(kind for kind in ANSWERS if kind in command)
    stopped = '/stop ' in command or '/reset ' in command

    def prepare() -> None:
        if not stopped and client.last('state') != 'running':
            launched.wait(lambda: client.trigger('reset').success, 'a reset after a stall')
            launched.wait(lambda: client.last('state') == 'running', 'running after a stall')
    for _ in range(4):
        prepare()
        before, begin = states[-1].position, time.monotonic()
        said = answer(command, ANSWERS[kind], prepare)
        print(f'{time.monotonic() - begin:.1f} s: {command}\n'
              f'{said.splitlines()[-1] if said else said}')
        assert ANSWERS[kind] in said, f'{command}\n{said}'
        effects = {
            'wrench': lambda: max(abs(a - b) for a, b in zip(states[-1].position, before)) > 0.02,
            'joint_trajectory': lambda: abs(states[-1].position[0] - 0.5) < 0.05,
            '/stop ': lambda: client.last('state') == 'holding',
            '/reset ': lambda: client.last('state') == 'running'}
        reached = next((each for word, each in effects.items() if word in command), lambda: True)
        try:
            launched.wait(lambda: reached() or not stopped and client.last('state') != 'running',
                          f'what "{command}" says')
        except AssertionError:
            if '--once' not in command:  # ros2 may end before the controller has found it
                raise
        if reached():
            return
    raise AssertionError(f'{command}: the controller held the robot each time; fault '
                         f'{client.last("fault")!r}\n{launched.text}')


def test_advice(ros2: str, env: dict[str, str], tmp_path: Path, client: rig.Client) -> None:
    """Everything that the launch file says to try works as printed, in any namespace."""
    from sensor_msgs.msg import JointState
    from std_msgs.msg import Float64MultiArray
    states = client.listen(JointState, 'states', 1000)
    commands = client.listen(Float64MultiArray, '/torques', 1000)
    launched = Launched(ros2, env, tmp_path / 'out', *ARGUMENTS, *slow_nodes(tmp_path, RATE))
    try:
        launched.wait(lambda: '[cell.controller]: running' in launched.text, 'running')
        launched.wait(lambda: states and commands, 'states and commands')
        todo = advised(launched.text)
        assert len(todo) == 8, todo
        watch, hold, stop, reset, floating, push, follow, trajectory = todo
        for lines in some('examples', (
                (watch,), (hold,), (stop, reset), (floating, push), (follow, trajectory)), 2):
            for command in lines:
                follow_advice(command, launched, client, states)
        assert len(commands[-1].data) == 7
        assert client.node.count_publishers('/clock') == 1
    finally:
        before = len(launched.text)
        ended = launched.close()
        subprocess.run([ros2, 'daemon', 'stop'], env=env, check=False, timeout=patient(60))
    assert ended == 0, launched.text
    expect_quiet_end(launched.text[before:])


def expect_quiet_end(text: str) -> None:
    """Expect what Ctrl-C on a healthy run prints: no error, and the robot leaves last."""
    for wrong in ('ERROR', 'FATAL', 'Traceback', 'state lost', 'exceeds'):
        assert wrong not in text, text
    ends = [line.split(']')[1] for line in text.splitlines() if 'process has finished' in line]
    assert {name.partition('-')[0].strip(' [') for name in ends} == {'controller', 'simulator'}
    # How long each process then takes to close its nodes is open.
    released, left = text.index('controller]: released'), text.index(' periods skipped')
    assert released < left, text


def test_refused_argument(ros2: str, env: dict[str, str]) -> None:
    """What cannot be used ends the launch with a sentence, and nothing is left behind."""
    process = subprocess.Popen(
        [ros2, 'launch', 'rbd_ros', 'controller.launch.py', 'dashboard:=true',
         'namespace:=left/arm-1'],
        env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True)
    said, _ = process.communicate(timeout=patient(120))
    with pytest.raises(ProcessLookupError):  # nobody of its session is alive
        os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode != 0
    assert 'namespace:=left/arm-1: a namespace has letters, digits and _ only' in said


def test_wrong_parameters(ros2: str, env: dict[str, str], tmp_path: Path) -> None:
    """A parameter of the wrong type is refused with what to write instead."""
    file = tmp_path / 'wrong.yaml'
    file.write_text('/**:\n  ros__parameters:\n    nominal_rate: 500\n')
    for node, known in (('controller', True), ('simulator', False)):
        done = subprocess.run(
            [ros2, 'run', 'rbd_ros', node, '--ros-args', '--params-file', str(file), '-p',
             'state_rate:=100'], env=env, capture_output=True, text=True, check=False,
            timeout=patient(60))
        said = done.stderr + done.stdout
        assert done.returncode != 0
        assert 'Traceback' not in said
        name = 'nominal_rate' if known else 'state_rate'
        assert re.search(rf'{name} must be of type double, got \d+; write numbers with a', said)
