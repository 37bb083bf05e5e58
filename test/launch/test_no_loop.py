# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Where the control loop cannot run, the node says what is missing and what to do, and ends.

The middleware is a real one whose callbacks for new messages are taken away by a small library
that is loaded before it; it is built by the machine's C compiler.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
import subprocess
import sys

import arm
import preloaded
import pytest
from rbd_env.pace import patient
from standing import CONTROLLER

ROOT = Path(__file__).resolve().parents[2]

#: RMW_RET_UNSUPPORTED
UNSUPPORTED = 3

#: functions of rmw/rmw.h by which somebody is called when something has come
REFUSED = ('rmw_subscription_set_on_new_message_callback',
           'rmw_service_set_on_new_request_callback', 'rmw_client_set_on_new_response_callback',
           'rmw_event_set_callback')

#: a program on a C library without one of the functions that the loop calls
WITHOUT_CLOCK = """
import ctypes, runpy
plain = ctypes.CDLL.__getattr__
def lacking(library, name):
    if name == 'sem_clockwait':
        raise AttributeError(name)
    return plain(library, name)
ctypes.CDLL.__getattr__ = lacking
runpy.run_module('rbd_ros.nodes.controller.process', run_name='__main__', alter_sys=True)
"""

pytestmark = pytest.mark.sampled('launches', 1)


def expect_refusal(code: int, text: str, *missing: str) -> None:
    """Expect one line, with what is missing and what to do, and an exit code of its own."""
    said = [line for line in text.splitlines() if 'the control loop cannot run here: ' in line]
    assert code == 1 and len(said) == 1, (code, text)
    for each in (*missing, 'a middleware that calls back when a message comes', '--ros2-control'):
        assert each in said[0], said
    assert 'Traceback' not in text, text


def run(environment: dict[str, str], program: tuple[str, ...] = CONTROLLER) -> tuple[int, str]:
    """Run a controller of the arm to its end; return its exit code and all that it said."""
    given = [word for name, value in arm.PARAMETERS.items() for word in (
        '-p', f'{name}:={value if isinstance(value, str) else json.dumps(value)}')]
    done = subprocess.run(
        [sys.executable, *program, '--ros-args', *given], env={**os.environ, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        timeout=patient(60.0))
    return done.returncode, done.stdout


def test_a_middleware_that_does_not_call_back(tmp_path: Path) -> None:
    """Its function and its code are named."""
    library = preloaded.build(tmp_path, '\n'.join(
        f'int {name}(void * entity, void * callback, const void * data)\n'
        f'{{ (void)entity; (void)data; return callback ? {UNSUPPORTED} : 0; }}'
        for name in REFUSED))
    expect_refusal(*run({'LD_PRELOAD': str(library)}), 'the middleware refuses '
                   f'rcl_subscription_set_on_new_message_callback ({UNSUPPORTED})',
                   'RMW_IMPLEMENTATION=rmw_fastrtps_cpp')


def test_a_c_library_without_a_function() -> None:
    """The function is named."""
    expect_refusal(*run({}, ('-c', WITHOUT_CLOCK)), 'there is no sem_clockwait here', 'glibc 2.30')


def without_llvm(folder: Path) -> dict[str, str]:
    """Return an environment in which llvmlite is not installed."""
    (folder / 'llvmlite.py').write_text("raise ImportError('no module named llvmlite')\n")
    return {'PYTHONPATH': f'{folder}:{os.environ.get("PYTHONPATH", "")}'}


def test_python_without_machine_code(tmp_path: Path) -> None:
    """What makes it is named, and what to type."""
    expect_refusal(*run(without_llvm(tmp_path)), 'llvmlite is not installed',
                   'pip install llvmlite')


def test_a_launch_without_machine_code(ros2: str, tmp_path: Path) -> None:
    """Who types ros2 launch reads the same line, and that the process has died."""
    (tmp_path / 'arm.yaml').write_text(json.dumps(
        {'controller': {'ros__parameters': {**arm.PARAMETERS, 'effort_is_torque': True}}}))
    done = subprocess.run(
        [ros2, 'launch', 'rbd_ros', 'controller.launch.py', f'urdf:={arm.URDF}',
         f'params_file:={tmp_path}/arm.yaml'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False, timeout=patient(60.0), env={
            **os.environ, **without_llvm(tmp_path), 'ROS_LOG_DIR': str(tmp_path / 'log')})
    expect_refusal(1, done.stdout, 'llvmlite is not installed')
    assert 'process has died' in done.stdout and 'exit code 1' in done.stdout, done.stdout
