# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A controller that does harm to itself on request.

The environment names a file; what is written there is the next thing to break, once, or the harm
to be done.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
import ctypes
import dataclasses
from functools import wraps
import importlib
import os
from pathlib import Path
import random
import sys
import threading
import time

from rbd_ros import Dynamics, load_urdf
from rbd_ros.control.controller import Controller
from rbd_ros.loop.native_loop import NativeLoop
from rbd_ros.nodes import parameters
from rbd_ros.nodes.callback_guard import Guard
from rbd_ros.nodes.controller.action import TrajectoryAction
from rbd_ros.nodes.controller.activation import Activation
from rbd_ros.nodes.controller.announcer import Announcer
from rbd_ros.nodes.controller.attendant import Attendant
from rbd_ros.nodes.controller.description_source import DescriptionSource
from rbd_ros.nodes.controller.diagnostics import Diagnostics
from rbd_ros.nodes.controller.inputs import ReferenceInputs
from rbd_ros.nodes.controller.loop_node import LoopNode
from rbd_ros.nodes.controller.node import ControllerNode
from rbd_ros.nodes.controller.parameter_changes import ParameterChanges
from rbd_ros.nodes.controller.process import main
from rbd_ros.nodes.controller.reports import Reports
from rbd_ros.nodes.process_end import SignalEvent
from rclpy.lifecycle import LifecycleNode
from rclpy.logging import get_logger

#: where to break what
PLACES = {
    'attendant': (NativeLoop, 'read'), 'sign of life': (LoopNode, '_beat'),
    'reset': (Controller, 'reset'), 'stop': (ControllerNode, '_cancel_activation'),
    'request': (Controller, '_take_reference'),
    'goal': (TrajectoryAction, '_read'), 'acceptance': (TrajectoryAction, '_start_goal'),
    'cancellation': (TrajectoryAction, '_cancel_goal'), 'reference': (ReferenceInputs, '_on_pose'),
    'judgement': (parameters, 'check_changes'), 'parameters': (ParameterChanges, '_apply'),
    'report': (Reports, 'drain'), 'announcement': (Announcer, '_publish_saturation'),
    'diagnostics': (Diagnostics, '_parts'), 'description': (DescriptionSource, '_on_description'),
    'configuration': (ControllerNode, '_configure'),
    'activation': (Activation, 'output_is_free'),
    'late activation': (LifecycleNode, 'on_activate'),
    'deactivation': (LifecycleNode, 'on_deactivate'),
    'clean-up': (LoopNode, 'detach'), 'graph': (ReferenceInputs, '_check_publishers'),
}

armed: set[str] = set()

#: in ``armed``: every callback raises, the main thread ends
CALLBACKS, EXIT = 'every callback', 'exit'

#: exit code of a main thread that ends
EXIT_CODE = 7

_ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'


def sabotage(kind: str, owner: object, name: str) -> None:
    """Let a function raise once when it is armed."""
    plain = getattr(owner, name)

    @wraps(plain)
    def broken(*args: object, **more: object) -> object:
        if kind in armed:
            armed.discard(kind)
            raise RuntimeError(f'sabotage of {kind}')
        return plain(*args, **more)
    setattr(owner, name, broken)


# -- what is done at once -------------------------------------------------------------------------

def hold(pipe: str) -> None:
    """
    Keep the lock of the interpreter until a byte comes: nothing of Python runs meanwhile.

    It is kept already when whoever writes can open the pipe, and from then on: no thread asks for
    it between the two calls.
    """
    library, interval = ctypes.PyDLL(None), sys.getswitchinterval()
    sys.setswitchinterval(3600.0)
    time.sleep(10.0 * interval)  # who waits with the usual patience has had it by then
    file = library.open(pipe.encode(), os.O_RDONLY)
    library.read(file, ctypes.create_string_buffer(1), ctypes.c_size_t(1))
    sys.setswitchinterval(interval)
    os.close(file)


def compile_robot(_: str) -> None:
    """Compile a robot that nobody has compiled before."""
    model = load_urdf(_ARM)
    robot = Dynamics(dataclasses.replace(model, rotor_inertia=tuple(
        random.uniform(1e-3, 1e-2) for _ in model.rotor_inertia)))
    q = [0.5] * model.nv
    robot.forward_dynamics(q, q, q)
    robot.operational_space(q, q, 'tool0')


def log(megabytes: str) -> None:
    """Write a long log."""
    for _ in range(round(100 * float(megabytes))):
        get_logger('saboteur').info('x' * 10_000)


def end_threads(names: str) -> None:
    """End threads of Python from outside, until they have ended."""
    doomed = [each for each in threading.enumerate() if each.name in names.split()]
    assert doomed, names
    while any(each.is_alive() for each in doomed):
        for each in doomed:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(each.ident or 0), ctypes.py_object(SystemExit))
        time.sleep(0.01)


def forbid_imports(_: str) -> None:
    """Let an import fail when the interpreter ends, first of all that is done then."""
    atexit.register(importlib.import_module, 'nothing_of_this_name')


HARM: dict[str, Callable[[str], None]] = {
    'hold': hold, 'compile': compile_robot, 'log': log, 'end': end_threads,
    'forbid imports': forbid_imports, 'spare': armed.discard}


def break_callbacks() -> None:
    """Let every callback raise while this is armed."""
    def breaking(wrap: Callable[..., Callable[..., object]]) -> Callable[..., object]:
        def wrapped(self: Guard, callback: Callable[..., object]) -> Callable[..., object]:
            @wraps(callback)
            def broken(*args: object) -> object:
                if CALLBACKS in armed:
                    raise RuntimeError('sabotage of every callback')
                return callback(*args)
            return wrap(self, broken)
        return wrapped
    for kind in ('timer', 'subscription', 'service'):
        setattr(Guard, kind, breaking(getattr(Guard, kind)))
    look = Attendant._look

    def blind(self: Attendant) -> None:
        if CALLBACKS in armed:
            raise RuntimeError('sabotage of every callback')
        look(self)
    Attendant._look = blind


def break_main() -> None:
    """Let the main thread end when this is armed."""
    wait = SignalEvent.wait

    def impatient(self: SignalEvent, seconds: float | None = None) -> bool:
        while not wait(self, 0.02):
            if EXIT in armed:
                sys.exit(EXIT_CODE)
        return True
    SignalEvent.wait = impatient


# -- requests -------------------------------------------------------------------------------------

def listen(file: Path) -> None:
    """Do what is written into a file, at once or the next time its place is reached."""
    while True:
        if file.exists():
            kind, _, more = file.read_text().partition(': ')
            file.unlink()
            if kind in HARM:
                HARM[kind](more)
            else:
                armed.add(kind)
        time.sleep(0.01)


if __name__ == '__main__':
    for kind, (owner, name) in PLACES.items():
        sabotage(kind, owner, name)
    break_callbacks()
    break_main()
    threading.Thread(target=listen, args=(Path(os.environ['SABOTAGE']),), daemon=True).start()
    sys.exit(main())
