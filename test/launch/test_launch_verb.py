# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The verb ``ros2 launch`` of the environment does what users type."""

from __future__ import annotations

from collections.abc import Iterator
import importlib.util
import os
from pathlib import Path
import re
import signal
import subprocess
import sys

import pytest
from rbd_env.pace import patient
from sampling import some

ROOT = Path(__file__).resolve().parents[2]
TALK = """\
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess
from launch.substitutions import LaunchConfiguration


def generate_launch_description():
    return LaunchDescription([
        DeclareLaunchArgument('word', default_value='hello', description='what is said'),
        ExecuteProcess(cmd=['sh', '-c', ['echo said ', LaunchConfiguration('word'), '; {then}']],
                       output='screen')])
"""


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Keep the log files of launch out of the home folder."""
    yield {**os.environ, 'ROS_LOG_DIR': str(tmp_path / 'log')}


def launch_file(folder: Path, then: str = 'true') -> str:
    """Write a launch file that says its argument and then runs a shell command."""
    file = folder / 'talk.launch.py'
    file.write_text(TALK.replace('{then}', then))
    return str(file)


def call(ros2: str, env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run ``ros2 launch`` to its end."""
    return subprocess.run([ros2, 'launch', *words], env=env, capture_output=True, text=True,
                          check=False, timeout=patient(120), stdin=subprocess.DEVNULL)


def test_path_and_argument(ros2: str, logs: dict[str, str], tmp_path: Path) -> None:
    """A path instead of a package works, and name:=value reaches the launch file."""
    done = call(ros2, logs, launch_file(tmp_path), 'word:=moin')
    assert done.returncode == 0, done.stderr
    assert 'said moin' in done.stdout + done.stderr


def test_package_and_file(ros2: str, logs: dict[str, str]) -> None:
    """A launch file is found by package and name; each of its arguments has a meaning."""
    done = call(ros2, logs, 'rbd_ros', 'controller.launch.py', '--show-args')
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^    '(\w+)':\n        (.+)$", done.stdout, re.MULTILINE)
    assert {name for name, _ in rows} >= {
        'params_file', 'urdf', 'use_robot_description', 'simulate', 'namespace', 'use_sim_time',
        'autostart', 'joint_states', 'commands', 'log_level', 'simulator_params_file'}
    assert "(default: 'false')" in done.stdout
    assert all(len(text) > 10 and 'no description' not in text for _, text in rows), rows


@pytest.mark.sampled('examples', 1)
@pytest.mark.parametrize(('words', 'message'), [
    (['no_such_package', 'x.launch.py'], 'no_such_package'),
    (['rbd_ros', 'no_such.launch.py'], 'no_such.launch.py'),
    (['/no/such/file.launch.py'], '/no/such/file.launch.py'),
    (['rbd_ros', 'controller.launch.py', 'word=moin'], 'word=moin'),
])
def test_errors(ros2: str, logs: dict[str, str], words: list[str], message: str) -> None:
    """What cannot be found, or is no argument, is named, and the exit code is not zero."""
    done = call(ros2, logs, *words)
    assert done.returncode != 0
    assert message in done.stderr + done.stdout
    assert 'Traceback' not in done.stderr


@pytest.mark.sampled('launches', 1)
@pytest.mark.parametrize('number', (signal.SIGINT, signal.SIGTERM), ids=('interrupt', 'terminate'))
def test_interrupt(ros2: str, logs: dict[str, str], tmp_path: Path, number: int) -> None:
    """Ctrl-C and SIGTERM end the processes by SIGINT, and then ros2 launch ends by itself."""
    if number == signal.SIGTERM and importlib.util.find_spec('ros2launch') is not None:
        pytest.skip('this machine has the package ros2launch, which leaves its processes behind')
    mark = tmp_path / 'stopped'
    then = f'trap "echo yes > {mark}; exit 0" INT; echo trapped; while :; do sleep 0.05; done'
    process = subprocess.Popen(
        [ros2, 'launch', launch_file(tmp_path, then.replace('"', '\\"'))], env=logs, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        # the shell of a background job ignores SIGINT, and children inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    lines = []
    for line in process.stdout or ():
        lines.append(line)
        if 'trapped' in line:
            break
    process.send_signal(number)
    rest, _ = process.communicate(timeout=patient(60))
    assert process.returncode == 0, ''.join(lines) + rest
    assert mark.read_text() == 'yes\n'


#: What the launch file below does to launch: a signal comes in the middle of something.
INTERRUPTED = """\
import os
import signal
import time


def interrupt():
    while not os.path.exists('{begun}'):
        time.sleep(0.01)
    signal.raise_signal(signal.SIGINT)

"""
MIDDLE = {
    'the start is told': """
from launch import LaunchContext
tell = LaunchContext.emit_event

async def emit_event(self, event):
    if event.name.endswith('ProcessStarted'):
        interrupt()
    await tell(self, event)
LaunchContext.emit_event = emit_event
""",
    'output is taken': """
from launch.events.process import ProcessStdout
make = ProcessStdout.__init__

def init(self, **words):
    ProcessStdout.__init__ = make
    interrupt()
    make(self, **words)
ProcessStdout.__init__ = init
"""}
#: Others, before anything is started.
BEFORE = {
    'the file is read': 'signal.raise_signal(signal.SIGINT)\n',
    'the file computes for long': """
signal.raise_signal(signal.SIGINT)
try:
    signal.raise_signal(signal.SIGINT)
    time.sleep(600.0)
except KeyboardInterrupt:
    print('second', flush=True)
    raise
"""}
needs_ours = pytest.mark.skipif(importlib.util.find_spec('ros2launch') is not None, reason=(
    'this machine has the package ros2launch, which may wait for ever'))


@needs_ours
@pytest.mark.sampled('launches', 1)
@pytest.mark.parametrize('moment', [*MIDDLE, *BEFORE])
def test_interrupt_in_the_middle(
        ros2: str, logs: dict[str, str], tmp_path: Path, moment: str) -> None:
    """Whatever launch does when Ctrl-C comes: what was started gets its signal, and it ends."""
    mark, begun = tmp_path / 'stopped', tmp_path / 'begun'
    then = (f'trap "echo yes > {mark}; exit 0" INT; touch {begun}; '
            'while :; do sleep 0.05; done').replace('"', '\\"')
    file = Path(launch_file(tmp_path, then))
    file.write_text(INTERRUPTED.format(begun=begun) + {**MIDDLE, **BEFORE}[moment]
                    + file.read_text())
    done = call(ros2, logs, str(file))
    assert 'Traceback' not in done.stderr
    said = done.stdout + done.stderr
    assert said.count('process started') == said.count('process has'), said
    assert ('second' in said) == (moment == 'the file computes for long')
    if moment in MIDDLE:
        assert done.returncode == 0 and mark.read_text() == 'yes\n', said


@needs_ours
def test_interrupt_before_it_listens(logs: dict[str, str], tmp_path: Path) -> None:
    """Ctrl-C and SIGTERM between the command and the loop of launch start nothing."""
    code = ('import signal, sys; from pathlib import Path; from rbd_ros2_launch import api; '
            'plain = api.LaunchService.run; '
            'api.LaunchService.run = lambda self: (signal.raise_signal(int(sys.argv[2])), '
            'plain(self))[1]; '
            'sys.exit(api.run(Path(sys.argv[1]), [], noninteractive=True, debug=False))')
    for number in some('launches', (signal.SIGINT, signal.SIGTERM), 1):
        done = subprocess.run(
            [sys.executable, '-c', code, launch_file(tmp_path), str(int(number))], env=logs,
            capture_output=True, text=True, check=False, timeout=patient(60))
        assert done.returncode == 0, done.stderr
        assert 'said hello' not in done.stdout + done.stderr


@pytest.mark.sampled('examples', 2)
@pytest.mark.parametrize('name, real, cls, ours', [
    ('launch', 'ros2launch', 'LaunchCommand', 'ros2_launch/rbd_ros2_launch.command'),
    ('action', 'ros2action', 'ActionCommand', 'ros2_verbs/rbd_ros2_verbs.action'),
    ('interface', 'ros2interface', 'InterfaceCommand', 'ros2_verbs/rbd_ros2_verbs.interface'),
    ('lifecycle', 'ros2lifecycle', 'LifecycleCommand', 'ros2_verbs/rbd_ros2_verbs.lifecycle')])
def test_steps_aside(tmp_path: Path, name: str, real: str, cls: str, ours: str) -> None:
    """Where the real package is installed, its command is the one that runs."""
    pytest.importorskip('ros2cli', reason='ROS is not sourced')
    package = tmp_path / real / 'command'
    package.mkdir(parents=True)
    (tmp_path / real / '__init__.py').touch()
    (package / '__init__.py').touch()
    (package / f'{name}.py').write_text(f'class {cls}:\n    """The real one."""\n')
    folder, module = ours.split('/')
    code = f'from {module} import {cls} as c; print(c.__module__)'
    path = f'{tmp_path}:{ROOT / "tools" / folder}:{os.environ.get("PYTHONPATH", "")}'
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True,
                          check=False, env={**os.environ, 'PYTHONPATH': path})
    assert done.stdout.strip() == f'{real}.command.{name}', done.stderr


@pytest.mark.sampled('examples', 2)
@pytest.mark.parametrize('words, said, fine', [
    ('interface show sensor_msgs/msg/JointState', 'float64[] effort', True),
    ('interface list', 'control_msgs/action/FollowJointTrajectory', True),
    ('interface show sensor_msgs/msg/NoSuch', 'NoSuch', False),
    ('lifecycle --help', 'make a transition', True),
    ('action send_goal /x no_such/action/Type {}', '"no_such/action/Type" is no type', False),
    ('action send_goal /x control_msgs/action/FollowJointTrajectory {no:1}',
     'the goal does not fit FollowJointTrajectory', False),
])
def test_other_commands(ros2: str, words: str, said: str, fine: bool) -> None:
    """The other commands that are supplied answer, or say what is wrong, without a traceback."""
    if importlib.util.find_spec('ros2action'):
        pytest.skip('this machine has the real commands, and ours step aside')
    done = subprocess.run([ros2, *words.split()], capture_output=True, text=True, check=False,
                          timeout=patient(60))
    assert said in done.stdout + done.stderr
    assert 'Traceback' not in done.stderr
    assert (done.returncode == 0) == fine
