# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Ctrl-C ends a program at once: while it still imports, without a traceback, and later, too.

Where a program is at a time depends on the machine. Python itself tells which module it has just
imported, and the interrupt comes at the modules that are named here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from rbd_env.pace import patient
import rclpy

ROOT = Path(__file__).resolve().parents[2]

#: modules, from the first that follows the handler to one shortly before the node
NODES = ('numpy._core', 'rclpy.node')
CASES = {
    'controller': (*NODES, 'rbd_ros.control.controller', 'rbd_ros.nodes.controller.process'),
    'simulator': (*NODES, 'rbd_ros.nodes.simulator.process'),
    'dashboard': (*NODES, 'rbd_ros.nodes.dashboard.node'),
    'make_config': (*NODES, 'rbd_ros.nodes.make_config'),
    'rbd': ('typer', 'rbd_ros.command_line.app', 'rbd_ros.machine', 'numpy._core')}

#: exit codes: a node that is interrupted has done what it was asked for; a command has not, and
#: Python itself may end it by the signal, which shells call 130, too
CODES = {'controller': (0,), 'simulator': (0,), 'dashboard': (0,), 'make_config': (130,),
         'rbd': (130, -signal.SIGINT)}

#: what asyncio says where it has lost an exit code (gh-87744); launch then takes it for 255
LOST = 'exit status already read'

#: s after which others take a process for dead that has not said that it ends
LEASE = 20.0

#: arguments with which a program has something to do
ARGUMENTS = {'make_config': ('--topic', '/nobody'),
             'rbd': ('doctor', '--seconds', '60')}


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Let programs be interrupted: a job in the background ignores SIGINT, which is inherited."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


def begin(name: str) -> subprocess.Popen[str]:
    """Start a program that tells what it imports."""
    program = (['-m', 'rbd_ros.command_line'] if name == 'rbd'
               else [str(ROOT / 'scripts' / name)])
    return telling([sys.executable, *program, *ARGUMENTS.get(name, ())])


def telling(command: list[str]) -> subprocess.Popen[str]:
    """Start a process, the first of a group, that tells what it imports."""
    return subprocess.Popen(
        command, text=True, bufsize=1, env={**os.environ, 'PYTHONPROFILEIMPORTTIME': '1'},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True)


def read_until(process: subprocess.Popen[str], *awaited: tuple[str, str]) -> None:
    """Read until modules are imported; each is told by a line that begins with a mark."""
    left, lines = set(awaited), []
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        module = line.split('|')[-1].strip()
        left -= {each for each in left if line.startswith(each[0]) and module == each[1]}
        if not left:
            return
    raise AssertionError(f'{left} not imported:\n{"".join(lines)[-3000:]}')


def rest_of(process: subprocess.Popen[str]) -> list[str]:
    """Return what a process says until its end, but for its imports."""
    assert process.stdout is not None
    late = threading.Timer(patient(60.0), os.killpg, (process.pid, signal.SIGKILL))
    late.start()
    try:
        rest = process.stdout.read()
    finally:
        late.cancel()
    process.wait()
    return [line for line in rest.splitlines() if 'import time:' not in line]


def expect_no_traceback(lines: list[str]) -> None:
    """Expect: a person sees no error of Python."""
    assert not [line for line in lines if 'Traceback' in line or 'KeyboardInterrupt' in line], (
        '\n'.join(lines))


@pytest.mark.sampled('launches', 6)
@pytest.mark.parametrize(('name', 'module', 'delay'), [
    *((name, module, 0.0) for name, modules in CASES.items() for module in modules),
    *((name, modules[-1], delay) for name, modules in CASES.items() for delay in (0.1, 0.5))])
def test_interrupt_while_it_imports(name: str, module: str, delay: float) -> None:
    """The program ends with its exit code, without a traceback."""
    process = begin(name)
    try:
        read_until(process, ('', module))
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        said = rest_of(process)
    finally:
        process.kill()
        process.wait()
    expect_no_traceback(said)
    assert process.returncode in CODES[name], said


@pytest.mark.sampled('launches', 1)
@pytest.mark.parametrize(('module', 'delay'), [
    ('numpy._core', 0.0), ('rclpy.node', 0.0), ('rbd_ros.nodes.controller.process', 0.0),
    ('rbd_ros.nodes.controller.process', 0.5)])
def test_interrupt_of_a_launch(module: str, delay: float) -> None:
    """A terminal interrupts ros2 launch and its nodes: each ends cleanly, and so does launch."""
    code, said = interrupted_launch(module, delay)
    expect_no_traceback(said)
    ended = [line for line in said if 'process has finished cleanly' in line or LOST in line]
    assert len(ended) == 2, '\n'.join(said)
    assert code == 0, '\n'.join(said)


def test_the_end_waits_for_no_thread(tmp_path: Path) -> None:
    """
    A node that has ended leaves, whatever still runs in its process, and others see it gone.

    The end of the interpreter waits for threads, at times for those of the middleware. Here one
    never ends, so that a program which waits for it never does.
    """
    (tmp_path / 'sitecustomize.py').write_text(
        'import threading\nthreading.Thread(target=threading.Event().wait).start()\n')
    paths = os.pathsep.join([str(tmp_path), os.environ.get('PYTHONPATH', '')])
    process = subprocess.Popen(
        [sys.executable, str(ROOT / 'scripts' / 'simulator')], text=True,
        env={**os.environ, 'PYTHONPATH': paths}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    rclpy.init()
    client = rclpy.create_node('client')
    try:
        assert process.stdout is not None
        assert any('until the first command' in line for line in process.stdout)
        wait_for(lambda: client.get_publishers_info_by_topic('joint_states'))
        process.send_signal(signal.SIGINT)
        said = rest_of(process)
        assert process.returncode == 0, said
        ended = time.monotonic()
        wait_for(lambda: not client.get_publishers_info_by_topic('joint_states'))
        assert time.monotonic() - ended < LEASE, 'it was not destroyed'
    finally:
        process.kill()
        process.wait()
        client.destroy_node()
        rclpy.shutdown()


def wait_for(condition: Callable[[], object]) -> None:
    """Wait for what is seen of others in the graph."""
    end = time.monotonic() + patient(60.0)
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def interrupted_launch(module: str, delay: float) -> tuple[int, list[str]]:
    """Start all, interrupt when a module is imported; return exit code and what was said."""
    ros2 = shutil.which('ros2')
    assert ros2 is not None
    process = telling([ros2, 'launch', 'rbd_ros', 'controller.launch.py'])
    try:
        read_until(process, ('[controller-', module), ('[simulator-', 'numpy._core'))
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGINT)
        said = rest_of(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return process.returncode, said
