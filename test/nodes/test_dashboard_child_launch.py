# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A launch file as a child: it ends when it shall, and leaves nobody behind."""

import os
from pathlib import Path
import signal
import subprocess
import sys
import time

import pytest
from rbd_env.pace import patient
from rbd_ros.errors import RbdError
from rbd_ros.nodes.dashboard import child_launch
from rbd_ros.nodes.dashboard.child_launch import ChildLaunch

#: In the place of ros2: it starts a grandchild, tells both numbers, and waits.
PROGRAM = """#!/bin/sh
{trap}
echo "arguments $*"
sleep 1000 &
echo "numbers $$ $!"
wait
"""


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Return what starts a child that does something on an interrupt."""
    made = []

    def start(trap=''):
        program = tmp_path / 'ros2'
        program.write_text(PROGRAM.format(trap=trap))
        program.chmod(0o755)
        monkeypatch.setenv('PATH', f'{tmp_path}:{os.environ["PATH"]}')
        made.append(ChildLaunch(['some.launch.py', 'a:=b'], tmp_path / 'log'))
        return made[-1], numbers(tmp_path / 'log')
    yield start
    for each in made:
        each.end(0.0)


def numbers(log):
    """Return the numbers of child and grandchild when both run."""
    wait(lambda: log.exists() and 'numbers' in log.read_text(), 'the child')
    return [int(word) for word in log.read_text().split('numbers')[1].split()]


def wait(holds, what):
    """Wait until a condition holds."""
    end = time.monotonic() + patient(60.0)
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def is_alive(number):
    """Return whether a process runs; one that nobody has asked for its end does not."""
    try:
        return Path(f'/proc/{number}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


def test_it_gets_its_words_and_ends_with_all_its_children(make):
    """An interrupt goes to the whole group, as that of a terminal does."""
    child, found = make()
    assert 'arguments launch some.launch.py a:=b' in child.log.read_text()
    assert child.is_running() and all(map(is_alive, found))
    assert os.getpgid(found[1]) == found[0] != os.getpgid(0)
    child.interrupt()
    wait(lambda: not child.is_running(), 'its end')
    wait(lambda: not any(map(is_alive, found)), 'the end of the grandchild')


def test_what_ignores_an_interrupt_is_ended_by_force(make, monkeypatch):
    """After a while; and at once where the dashboard cannot wait."""
    child, found = make("trap '' INT")
    child.interrupt()
    time.sleep(0.3)
    assert child.is_running() and all(map(is_alive, found))
    monkeypatch.setattr(child_launch, 'PATIENCE', 0.0)
    wait(lambda: not child.is_running(), 'its end')
    wait(lambda: not any(map(is_alive, found)), 'the end of the grandchild')
    child, found = make("trap '' INT")
    child.end(0.1)
    wait(lambda: not any(map(is_alive, found)), 'the end')


def test_what_a_child_leaves_behind_is_ended(make):
    """Nobody drives a simulator whose launch has died."""
    child, found = make()
    os.kill(found[0], signal.SIGKILL)
    wait(lambda: not child.is_running(), 'its end')
    wait(lambda: not is_alive(found[1]), 'the end of the grandchild')


PARENT = """
import sys, time
from pathlib import Path
from rbd_ros.nodes.dashboard.child_launch import ChildLaunch
ChildLaunch(['x'], Path(sys.argv[1]))
time.sleep(1000.0)
"""


def test_it_ends_with_a_parent_that_was_killed(make, tmp_path):
    """The system tells it, nobody else can."""
    make()[0].end(1.0)
    log = tmp_path / 'another_log'
    parent = subprocess.Popen([sys.executable, '-c', PARENT, str(log)])
    try:
        found = numbers(log)
        assert is_alive(found[0])
    finally:
        parent.kill()
        parent.wait()
    wait(lambda: not is_alive(found[0]), 'its end')
    os.kill(found[1], signal.SIGKILL)  # launch, unlike a shell, hands the interrupt on


@pytest.mark.parametrize(('text', 'reason'), [
    ('', ''), ('[INFO] [launch]: All log files\n[simulator-1] [INFO] [1.2] [a.b]: fine\n', ''),
    ('[controller-2] [FATAL] [17.1] [dropped.controller]: no such joint\n'
     '[ERROR] [controller-2]: process has died [pid 3, exit code 1]\n', 'no such joint'),
    ('[ERROR] [simulator-1]: process has died [pid 3, exit code -9]\n',
     'process has died [pid 3, exit code -9]'),
    ('Traceback\n  File "x"\nRuntimeError: urdf:=x: there is no such file\n',
     'urdf:=x: there is no such file')])
def test_the_first_error_is_told(make, text, reason):
    """What follows is a consequence of it."""
    child, _ = make()
    child.log.write_text(text)
    assert child.error() == reason


def test_without_ros2(monkeypatch, tmp_path):
    """It is said, and nothing starts."""
    monkeypatch.setenv('PATH', str(tmp_path))
    with pytest.raises(RbdError, match='ros2 is not found'):
        ChildLaunch(['x'], tmp_path / 'log')
    assert not (tmp_path / 'log').exists()


def test_one_that_is_still_ending_writes_to_no_other_log(make):
    """What it says last is not taken for an error of the next one."""
    last = 'echo "[x-1] [ERROR] [1.0] [a]: the old one"'
    old, _ = make(f"trap 'sleep 1; {last}; exit' INT")
    old.interrupt()
    new, _ = make()
    wait(lambda: not old.is_running(), 'the end of the old one')
    assert new.is_running() and new.error() == ''
