# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""From parameters and a description to a robot with kernels; each refusal has a reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import dataclasses
from typing import cast

import numpy as np
from rbd_ros.compiler import Bound
from rbd_ros.control.interface.row import Value
from rbd_ros.control.interface.sentences import effort_unit
from rbd_ros.control.kernels.kernels import LawKernels
from rbd_ros.control.modes import Mode
from rbd_ros.control.parameters.file import check_file
from rbd_ros.control.parameters.mode_file import read_modes
from rbd_ros.control.parameters.rules import activation_refusals
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults, with_modes
from rbd_ros.control.parameters.validation import refusals
from rbd_ros.control.robot import make_robot, Robot
from rbd_ros.errors import SettingError
from rbd_ros.model.urdf import load_urdf

__all__ = ['build_robot', 'build_settings', 'check_values', 'compile_kernels',
           'describe_end', 'describe_output', 'settings_of_file']

_PART = {
    'none': 'the total torque', 'gravity': 'the torque without gravity',
    'gravity_and_coriolis': 'the torque without gravity and Coriolis torque',
}


def check_values(values: Mapping[str, Value], modes: Sequence[Mode] = ()) -> None:
    """
    Refuse values that fit no robot.

    :param values: every parameter by name.
    :param modes: modes of the user.
    """
    _refuse([*refusals(values, known=with_modes(modes)), *activation_refusals(values)])


def build_robot(values: Mapping[str, Value], text: str, warn: Callable[[str], None],
                modes: Sequence[Mode] = ()) -> Robot:
    """
    Return the robot of a description with the joints that the parameters choose.

    :param values: every parameter by name.
    :param text: URDF.
    :param warn: gets the warnings about the description.
    :param modes: modes of the user.
    """
    model = load_urdf(text, gravity=cast('list[float]', values['gravity']), on_warning=warn,
                      limits_optional=True)  # torque_limits and velocity_limits may give them
    fixed, assembly = (
        dict(zip(cast('list[str]', values[f'{group}.joints']),
                 cast('list[float]', values[f'{group}.values'])))
        for group in ('fixed_positions', 'assembly'))
    robot = make_robot(model, cast('list[str]', values['joints']), fixed=fixed,
                       tip=str(values['task.frame']), payload_frame=str(values['payload.frame']),
                       passive=cast('list[str]', values['passive_joints']), assembly=assembly,
                       sensor=str(values['force_torque.frame']))
    robot = dataclasses.replace(robot, own_modes=tuple(modes))
    if not values['rotor_inertia']:
        return robot
    _refuse(refusals(values, joints=len(robot.joints), known=with_modes(modes)))
    rotors = np.array(model.rotor_inertia)
    rotors[list(robot.index)] = values['rotor_inertia']
    return dataclasses.replace(robot, model=dataclasses.replace(
        model, rotor_inertia=tuple(rotors.tolist())))


def build_settings(robot: Robot, values: Mapping[str, Value], *, simulated: bool) -> Settings:
    """
    Return the settings of a robot, refusing limits with which it must not be driven.

    :param robot: the robot.
    :param values: every parameter by name.
    :param simulated: whether the control clock is that of a simulator.
    """
    _refuse(refusals(values, joints=len(robot.joints), known=with_modes(robot.own_modes)))
    settings = Settings(robot, values, simulated=simulated)
    _refuse(settings.refusals())
    return settings


def settings_of_file(text: str, params: str, node: str, warn: Callable[[str], None], *,
                     simulated: bool, named_by: str) -> Settings:
    """
    Return the settings of a robot whose controller is elsewhere, by its parameter file.

    :param text: URDF of the robot.
    :param params: the file, empty: none.
    :param node: name of the controller in it.
    :param warn: gets the warnings about the robot.
    :param simulated: whether the control clock is that of a simulator.
    :param named_by: how the user names a file.
    :raises SettingError: for what the controller would refuse.
    """
    given = check_file(params, node) if params else {}
    modes = read_modes(str(given.get('mode_file', '')))
    values = defaults(modes)
    values.update((name, cast(Value, value)) for name, value in given.items() if name in values)
    try:
        check_values(values, modes)
        return build_settings(build_robot(values, text, warn, modes), values, simulated=simulated)
    except SettingError as error:
        hint = (f'params_file "{params}"' if params else 'the defaults are not enough: write a '
                f'file with "rbd config", and name it with {named_by}')
        raise SettingError(f'{hint}: {error}') from error


def compile_kernels(settings: Settings) -> dict[str, Bound]:
    """
    Compile every kernel, so that nothing is compiled while active.

    :param settings: of the robot.
    """
    laws = LawKernels(settings.robot, driver_adds=settings.text('driver_adds'),
                      driver_knows_payload=settings.flag('driver_knows_payload'),
                      axes=settings.task_axes)
    return {name: laws.compile(name) for name in laws.names}


def describe_output(settings: Settings, topic: str) -> str:
    """
    Describe what is sent: a wrong assumption about it drops the arm.

    :param settings: of the robot.
    :param topic: of the commands.
    """
    adds = settings.text('driver_adds')
    load = ''
    if adds != 'none':
        known = settings.flag('driver_knows_payload')
        load = ', payload ' + ('known' if known else 'unknown') + ' to the driver'
    limits = ', '.join(f'{name} {most:g} {effort_unit(name.unit)}'
                       for name, most in zip(settings.robot.spoken(), settings.torque_limits))
    return (f'sends {_PART[adds]} on {topic} ({settings.text("command_type")}){load}; limits '
            f'of the total: {limits}')


def describe_end(settings: Settings) -> str:
    """
    Describe what Ctrl-C will do: the arm may fall.

    :param settings: of the robot.
    """
    if settings.release_torque == 'gravity':
        rest = ('the last gravity torque, which the driver must hold, because nothing is sent '
                'afterwards (release_torque gravity)')
    elif settings.text('driver_adds') == 'none':
        rest = ('zero torque: without brakes that close, the robot falls (release_torque '
                'zero; "gravity" leaves the last gravity torque)')
    else:
        rest = 'what the driver adds by itself'
    return (f'Ctrl-C or deactivation: brakes for {settings.number("brake_time"):g} s, then '
            f'ramps within {settings.number("release_time"):g} s to {rest}')


def _refuse(reasons: list[str]) -> None:
    if reasons:
        raise SettingError('; '.join(reasons))
