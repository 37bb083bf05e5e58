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

"""The verb ``ros2 launch`` of the environment does what users type."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import re
import signal
import subprocess
import sys
import time

import pytest

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
                          check=False, timeout=120, stdin=subprocess.DEVNULL)


def test_path_and_argument(ros2: str, logs: dict[str, str], tmp_path: Path) -> None:
    """A path instead of a package works, and name:=value reaches the launch file."""
    done = call(ros2, logs, launch_file(tmp_path), 'word:=moin')
    assert done.returncode == 0, done.stderr
    assert 'said moin' in done.stdout + done.stderr


def test_show_args(ros2: str, logs: dict[str, str], tmp_path: Path) -> None:
    """The arguments of a launch file are listed with their meaning and default."""
    done = call(ros2, logs, launch_file(tmp_path), '--show-args')
    assert done.returncode == 0, done.stderr
    assert "'word':" in done.stdout
    assert 'what is said' in done.stdout
    assert "default: 'hello'" in done.stdout


def test_package_and_file(ros2: str, logs: dict[str, str]) -> None:
    """A launch file is found by package and name; each of its arguments has a meaning."""
    done = call(ros2, logs, 'rbd_ros', 'controller.launch.py', '--show-args')
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^    '(\w+)':\n        (.+)$", done.stdout, re.MULTILINE)
    assert {name for name, _ in rows} >= {
        'params_file', 'urdf', 'use_robot_description', 'simulate', 'namespace', 'use_sim_time',
        'autostart', 'joint_states', 'commands', 'log_level', 'simulator_params_file'}
    assert all(len(text) > 10 and 'no description' not in text for _, text in rows), rows


@pytest.mark.parametrize(('words', 'message'), [
    (['no_such_package', 'x.launch.py'], 'no_such_package'),
    (['rbd_ros', 'no_such.launch.py'], 'no_such.launch.py'),
    (['/no/such/file.launch.py'], '/no/such/file.launch.py'),
])
def test_errors(ros2: str, logs: dict[str, str], words: list[str], message: str) -> None:
    """What cannot be found is named, and the exit code is not zero."""
    done = call(ros2, logs, *words)
    assert done.returncode != 0
    assert message in done.stderr + done.stdout
    assert 'Traceback' not in done.stderr


def test_malformed_argument(ros2: str, logs: dict[str, str], tmp_path: Path) -> None:
    """A word that is no argument is refused."""
    done = call(ros2, logs, launch_file(tmp_path), 'word=moin')
    assert done.returncode != 0
    assert 'word=moin' in done.stderr + done.stdout


def test_interrupt(ros2: str, logs: dict[str, str], tmp_path: Path) -> None:
    """Ctrl-C is passed on to the processes, and ros2 launch ends by itself."""
    mark = tmp_path / 'stopped'
    then = f'trap "echo yes > {mark}; exit 0" INT; while :; do sleep 0.05; done'
    process = subprocess.Popen(
        [ros2, 'launch', launch_file(tmp_path, then.replace('"', '\\"'))], env=logs, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        # the shell of a background job ignores SIGINT, and children inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    lines = []
    for line in process.stdout or ():
        lines.append(line)
        if 'said hello' in line:
            break
    time.sleep(0.2)  # for the trap to be set
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    assert process.returncode == 0, ''.join(lines) + rest
    assert mark.read_text() == 'yes\n'


def test_steps_aside(tmp_path: Path) -> None:
    """Where the real ros2launch is installed, its command is the one that runs."""
    pytest.importorskip('ros2cli', reason='ROS is not sourced')
    package = tmp_path / 'ros2launch' / 'command'
    package.mkdir(parents=True)
    (tmp_path / 'ros2launch' / '__init__.py').touch()
    (package / '__init__.py').touch()
    (package / 'launch.py').write_text('class LaunchCommand:\n    """The real one."""\n')
    code = 'from rbd_ros2_launch.command import LaunchCommand as c; print(c.__module__)'
    path = f'{tmp_path}:{ROOT / "tools" / "ros2_launch"}:{os.environ.get("PYTHONPATH", "")}'
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True,
                          check=False, env={**os.environ, 'PYTHONPATH': path})
    assert done.stdout.strip() == 'ros2launch.command.launch', done.stderr
