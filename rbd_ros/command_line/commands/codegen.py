# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Write C99 code for a robot, without dependencies: functions, header, example, CMake file.

    rbd codegen robot.urdf --out firmware
    cmake -S firmware -B firmware/build
    cmake --build firmware/build
    firmware/build/example

The functions keep no state and allocate nothing; gravity is an argument of those that need it. The
example calls each of them and compares the result with the one computed here.

    rbd codegen robot.urdf --out firmware --controller --params my_robot.yaml

writes the controller instead: one function that takes joint states, requests and timer ticks, and
returns torques, with all limits, checks and stops. Its memory is one struct, initialised with the
parameters in the file; "rbd config" writes such a file. The program main runs it on recorded
events.

    rbd codegen robot.urdf --out src --ros2-control --params my_robot.yaml

writes the same controller as a library for ros2_control, and the plugin that loads such libraries
into a controller manager: two packages for colcon, see docs/ros2_control.md.

    rbd codegen robot.urdf --out web --target wasm
    node web/example.js

writes the functions as WebAssembly, with a script for web pages and node.js.

    rbd codegen robot.urdf --out firmware --target cortex-m4
    make -C firmware run

writes them as an object file for a microcontroller, with a header and a test firmware for QEMU.
docs/embedded.md explains both.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Optional, TYPE_CHECKING, Union

from rbd_ros.command_line.options import AsJson, Floating, Robot
from rbd_ros.command_line.output import progress, show, table
from rbd_ros.command_line.prefixes import usual_prefix
from rbd_ros.errors import SettingError
import typer

if TYPE_CHECKING:
    from rbd_ros.model.model import Model

#: Contents of files by name.
Files = Mapping[str, Union[str, bytes]]
#: Quantities of a frame, which --frame adds.
FRAME_QUANTITIES = ('pose', 'jacobian', 'jacobian_rate')


def run(
    robot: Robot,
    out: Annotated[Path, typer.Option(
        metavar='DIR', file_okay=False, help='Folder to write to.')],
    quantity: Annotated[Optional[list[str]], typer.Option(
        help='A quantity of the Python API, such as gravity; may be repeated. Default: those of '
             'joint space.')] = None,
    frame: Annotated[Optional[str], typer.Option(
        help='Add the pose, the Jacobian and its rate for this frame.')] = None,
    prefix: Annotated[Optional[str], typer.Option(
        help='Prefix of every name. Default: the name of the robot.')] = None,
    scalar: Annotated[Optional[str], typer.Option(
        help='Type of the numbers: double or float. Default: double, or what --target has.',
    )] = None,
    target: Annotated[Optional[str], typer.Option(
        help='Write machine code instead of C: wasm, cortex-m4 or cortex-m7.')] = None,
    floating_base: Floating = False,
    controller: Annotated[bool, typer.Option(
        '--controller', help='Write the controller instead of single functions.')] = False,
    ros2_control: Annotated[bool, typer.Option(
        '--ros2-control', help='Write the controller as packages for ros2_control.')] = False,
    params: Annotated[Optional[Path], typer.Option(
        metavar='FILE', help='Parameter file of the controller.')] = None,
    as_json: AsJson = False,
) -> None:
    """Write a C project."""
    from rbd_ros.command_line.robots import load
    loaded = load(robot, floating_base, quiet=as_json)
    name = loaded.model.name
    start = prefix or usual_prefix(name)
    with progress('tracing and writing', 1) as step:
        if controller or ros2_control:
            if controller and ros2_control:
                raise SettingError('--controller and --ros2-control exclude each other: the '
                                   'second includes the code of the first')
            _refuse_for_controller(quantity=quantity, frame=frame, floating_base=floating_base,
                                   scalar=scalar not in (None, 'double'), target=target)
            files = _controller(loaded.text, params, start, ros2_control)
        elif params is not None:
            raise SettingError('--params is for --controller and --ros2-control: functions have '
                               'no parameters')
        else:
            files = _functions(loaded.model, quantity, frame, start, scalar, target)
        step()
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, content in files.items():
        code = content.encode() if isinstance(content, str) else content
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(code)
        rows.append([name, content.count('\n') if isinstance(content, str) else '', len(code)])
    advice = {None: f'build: colcon build --base-paths {out}' if ros2_control else
              f'build: cmake -S {out} -B {out}/build && cmake --build {out}/build',
              'wasm': f'try it: node {out}/example.js'}
    show({'folder': str(out), 'files': list(files), 'prefix': start}, as_json,
         table(f'Written to {out}', ('file', '>lines', '>bytes'), rows),
         advice.get(target, f'build and try it: make -C {out} run'))


def _functions(model: Model, quantity: list[str] | None, frame: str | None, prefix: str,
               scalar: str | None, target: str | None) -> Files:
    from rbd_ros.dynamics.robot import STANDARD
    chosen: list[tuple[str, str | None]] = [(name, None) for name in quantity or STANDARD]
    if frame is not None:
        chosen += [(name, frame) for name in FRAME_QUANTITIES]
    if target is None:
        from rbd_ros.command_line.c_project import c_project
        return c_project(model, chosen, prefix=prefix, scalar=scalar or 'double')
    from rbd_ros.command_line.embedded.firmware import firmware_project
    from rbd_ros.command_line.embedded.web import web_project
    from rbd_ros.compiler.embedded.processors import processor, WASM
    kind = processor(target)
    if kind is WASM:
        return web_project(model, chosen, prefix=prefix, scalar=scalar)
    return firmware_project(model, chosen, prefix=prefix, processor=kind, scalar=scalar)


def _controller(text: str, params: Path | None, prefix: str, ros2_control: bool) -> Files:
    from rbd_ros.command_line.c_controller import controller_project, controller_settings
    # the warnings about the robot have been shown
    settings = controller_settings(text, str(params or ''), lambda _: None)
    if ros2_control:
        from rbd_ros.command_line.ros2_control.package import ros2_control_package
        return ros2_control_package(settings, prefix)
    return controller_project(settings, prefix)


def _refuse_for_controller(**given: object) -> None:
    for option, value in given.items():
        if value:
            raise SettingError(f'--{option.replace("_", "-")} cannot be combined with '
                               f'--controller, which writes all that it needs, in double '
                               f'precision, for a fixed base')
