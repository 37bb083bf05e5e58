# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A C99 project of the controller of a robot: its step, a program that runs it, CMake file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import enum
import re

import numpy as np
import numpy.typing as npt
from rbd_ros.command_line.c_main import c_main
from rbd_ros.command_line.cmake_head import CMAKE_HEAD
from rbd_ros.command_line.prefixes import check_prefix
from rbd_ros.compiler import Bound, Graph
from rbd_ros.compiler.records import Record
from rbd_ros.compiler.source.c_procedures import emit_procedure
from rbd_ros.compiler.source.c_structs import comment, summary
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.entries import EntryWord
from rbd_ros.control.interface.events import Kind
from rbd_ros.control.interface.results import ResultCode
from rbd_ros.control.interface.words import TABLES
from rbd_ros.control.kernels.kernels import LawKernels
from rbd_ros.control.parameters.assembly import settings_of_file
from rbd_ros.control.parameters.judging import RuleWord
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.references.feeder import Turn
from rbd_ros.control.references.goal_watch import GoalStatus
from rbd_ros.control.references.joint_requests import Streamed
from rbd_ros.control.references.points import Use
from rbd_ros.control.references.polynomials import Task
from rbd_ros.control.robot import Robot
from rbd_ros.control.step.step import step
from rbd_ros.control.supervisor.states import StateCode
from rbd_ros.control.tape import RECORDS, Tape
from rbd_ros.model.positions import neutral
from rbd_ros.quoting import in_comment

__all__ = ['common_codes', 'controller_codes', 'controller_of', 'controller_project',
           'controller_settings', 'emit_controller', 'law_kernels', 'with_main']

#: Name of the node in parameter files.
NODE = '/controller'
#: Share of its limit by which a torque of the sample may differ.
SHARE = 1e-9
#: What numbers of the records stand for.
_CODES: tuple[type[enum.IntEnum], ...] = (
    Kind, StateCode, Cause, GoalStatus, *TABLES, Streamed, Task, Turn, Use, ResultCode,
    EntryWord, RuleWord)
#: s of joint states in the sample before somebody stops the robot, and after that.
_START, _STOP = 2.0, 0.2
#: Joint states between two events of the timer.
_TIMER = 10

_CMAKE = CMAKE_HEAD + """\
# The source refuses -ffast-math, which breaks the handling of NaN. Without fused products the
# numbers are those of rbd_ros on every processor.
add_library({prefix} STATIC {prefix}.c {prefix}_kernels.c)
target_include_directories({prefix} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})
target_compile_options({prefix} PRIVATE -ffp-contract=off)
target_link_libraries({prefix} PUBLIC m)

add_executable(main main.c)
target_link_libraries(main PRIVATE {prefix})

enable_testing()
add_test(NAME sample COMMAND main ${{CMAKE_CURRENT_SOURCE_DIR}}/events.txt)
"""


def controller_settings(text: str, params: str, warn: Callable[[str], None]) -> Settings:
    """
    Return the settings of a controller.

    :param text: URDF of the robot.
    :param params: parameter file of the controller, empty: none.
    :param warn: gets the warnings about the robot.
    :raises SettingError: for what the controller would refuse.
    """
    # Times of firmware are those of its own clock.
    return settings_of_file(text, params, NODE, warn, simulated=False, named_by='--params')


def law_kernels(settings: Settings) -> LawKernels:
    """Return what makes the kernels of a controller."""
    return LawKernels(settings.robot, driver_adds=settings.text('driver_adds'),
                      driver_knows_payload=settings.flag('driver_knows_payload'),
                      axes=settings.task_axes)


def controller_project(settings: Settings, prefix: str) -> dict[str, str]:
    """
    Return the files of a project by name.

    :param settings: of the controller.
    :param prefix: of every name in the C code, and name of the files.
    """
    check_prefix(prefix)
    robot = settings.robot
    controller, graphs = controller_of(settings)
    files = with_main(controller, graphs, prefix)
    momentum = law_kernels(settings).compile('momentum')
    q = _home(robot)
    momentum.inputs['q'][:] = q
    momentum()
    return {**files, f'{prefix}_codes.h': controller_codes(robot, prefix),
            'events.txt': _sample(controller, q, momentum.outputs['gravity']),
            'CMakeLists.txt': _CMAKE.format(
                prefix=prefix,
                subject=f': the controller of the robot "{in_comment(robot.model.name)}"')}


def controller_of(settings: Settings) -> tuple[Controller, dict[Bound, Graph]]:
    """
    Return a controller, and what each of its kernels computes.

    :param settings: of the controller.
    """
    laws = law_kernels(settings)
    kernels = {name: laws.compile(name) for name in laws.names}
    controller = Controller(settings, kernels)
    controller.p.states.ages.clock_offset = 0.0  # there is no other clock
    controller.p.states.ages.asked = 0.0  # who calls it hands over what was just measured
    return controller, {bound: laws.graph(name) for name, bound in kernels.items()}


def emit_controller(controller: Controller, graphs: Mapping[Bound, Graph], prefix: str,
                    others: Mapping[Callable[..., object], Sequence[Record]]) -> dict[str, str]:
    """
    Return the C code of a controller as it is now.

    :param controller: gives sizes and first values.
    :param graphs: what each of its bound kernels computes.
    :param prefix: of every name.
    :param others: procedures besides the step, with records of their sizes.
    """
    return dict(emit_procedure(step, *controller.given, kernels=graphs, prefix=prefix,
                               others=others).files)


def with_main(controller: Controller, graphs: Mapping[Bound, Graph], prefix: str,
              ) -> dict[str, str]:
    """
    Return the C code of a controller as it is now, and of the program that runs it.

    :param controller: gives sizes and first values.
    :param graphs: what each of its bound kernels computes.
    :param prefix: of every name.
    """
    code = emit_procedure(step, *controller.given, kernels=graphs, prefix=prefix)
    name = controller.settings.robot.model.name
    return {**code.files, 'main.c': c_main(name, prefix, code.places, RECORDS)}


def controller_codes(robot: Robot, prefix: str) -> str:
    """
    Return the header that says what numbers stand for.

    :param robot: model and controlled joints.
    :param prefix: of every name.
    """
    modes = {re.sub(r'\W', '_', name, flags=re.ASCII): k for k, name in enumerate(robot.modes)}
    return _codes_header(prefix, [
        comment('Joints, in the order of torques: ' + ', '.join(robot.joints) + '.'),
        comment('Joints, in the order of joint states: '
                + ', '.join(robot.model.independent_joint_names) + '.'), '',
        *_enumeration(prefix, 'mode', 'How the robot is driven.', modes)])


def common_codes() -> str:
    """Return the header that says what numbers stand for whatever the robot is."""
    return _codes_header('rbd', [])


def _codes_header(prefix: str, first: list[str]) -> str:
    guard = f'{prefix.upper()}_CODES_H_'
    return '\n'.join([
        '/* Generated by rbd_ros. What numbers in the records stand for. */',
        f'#ifndef {guard}', f'#define {guard}', '', *first,
        *[line for kind in _CODES for line in _enumeration(
            prefix, re.sub('(?<!^)(?=[A-Z])', '_', kind.__name__), summary(kind),
            {each.name: each.value for each in kind})],
        f'#endif /* {guard} */', ''])


def _enumeration(prefix: str, name: str, text: str, members: Mapping[str, int]) -> list[str]:
    return [comment(text.replace(':class:', '').replace('`', '').replace('~', '')), 'enum {',
            ',\n'.join(f'    {f"{prefix}_{name}_{member}".upper()} = {value}'
                       for member, value in members.items()), '};', '']


# -- events to try it with ------------------------------------------------------------------------

def _home(robot: Robot) -> npt.NDArray[np.float64]:
    """Return a position in which the robot can stand."""
    model = robot.model
    return np.array(robot.assembly) if robot.assembly else np.clip(
        neutral(model), model.lower, model.upper)


def _sample(controller: Controller, q: npt.NDArray[np.float64],
            effort: npt.NDArray[np.float64]) -> str:
    """Return events of a robot that is started, moves a little and is stopped."""
    settings = controller.settings
    joints = settings.robot.model.independent_joint_names
    rate = settings.number('nominal_rate')
    lines = ['# The robot stands almost still while it is started, and then stopped.\n']
    Tape(controller, lines.append, share=SHARE)
    whole = np.zeros(len(joints))
    whole[list(settings.robot.index)] = effort
    controller.activate(1.0, 1.0)
    end = int(_START * rate)
    for k in range(end + int(_STOP * rate)):
        now = 1.0 + k / rate
        if k == end:
            controller.fault(now, Cause.OPERATOR_STOP)
        phase = 2.0 * np.pi * k / rate
        controller.take_state(
            now, now, joints, q + 1e-4 * np.sin(phase), np.full(
                len(q), 2e-4 * np.pi * np.cos(phase)), whole, (int(now), round(1e9 * (now % 1.0))))
        if k % _TIMER == 0:
            controller.take_timer(now, now)
    return ''.join(lines)
