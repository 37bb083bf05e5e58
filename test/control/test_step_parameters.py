# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""No parameter is forgotten: each one reaches the step, or it is said who reads it instead."""

from __future__ import annotations

import numpy as np
import pytest
from rbd_ros.control.interface.row import INTEGERS, Parameter, STRINGS, Value
from rbd_ros.control.joint_states.arrival import fill_states
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults, PARAMETERS
from rbd_ros.control.step.state import fill_parameters, Parameters
from recorded_robots import controlled_robot

#: parameters whose change reaches no number of the step, by who reads them instead
OUTSIDE = {
    'feeder, which leaves them in the ring': (
        'tolerance.path', 'tolerance.goal', 'tolerance.goal_velocity', 'tolerance.goal_time',
        'reference.linear', 'allow_partial_joints_goal'),
    'robot, before its numbers are filled in': (
        'robot_description', 'robot_description_file', 'joints', 'passive_joints',
        'fixed_positions.joints', 'fixed_positions.values', 'assembly.joints', 'assembly.values',
        'rotor_inertia', 'task.frame', 'payload.frame', 'force_torque.frame'),
    'rules, which refuse gains': (
        'force_control.environment_stiffness', 'force_control.environment_angular_stiffness'),
    'kernels, when they are traced': (
        'driver_adds', 'driver_knows_payload', 'task.axes', 'mode_file'),
    'limits, which refuse what is too much': ('motor.timeout',),
    'reports': ('dynamics_divider', 'state_divider'),
    'controller inside ros2_control': ('force_torque.sensor_name',),
    'node': (
        'goal_lease', 'goal_lease_for_all',
        'activation_timeout', 'command_type', 'executor',
        'realtime.lock_memory', 'supervision_timeout',
        'realtime.priority', 'realtime.cores', 'realtime.cpu', 'realtime.prefault',
        'realtime.freeze_gc', 'realtime.switch_interval',
        'gravity_frame', 'autostart', 'command_deadline', 'liveliness_lease', 'heartbeat_rate'),
}


def other(row: Parameter, value: Value) -> Value:
    """Return another valid value of a parameter."""
    if row.choices:
        if row.kind == STRINGS:
            return [row.choices[0]]
        return next(choice for choice in row.choices if choice != value)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return f'{value}x'
    if isinstance(value, float):
        return value * 0.9 or min(0.1, row.upper)
    assert isinstance(value, list)
    if row.kind == STRINGS:
        return [*value, 'x']
    if row.kind == INTEGERS:
        return [*value, 1]
    return [x * 0.9 for x in value] if any(value) else [min(0.1, row.upper)]


@pytest.mark.parametrize('structural', [False, True])
def test_every_parameter_reaches_the_step(structural: bool,
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Settings, 'clock_offset', 5.0)  # else it changes all the time
    robot = controlled_robot('measured five-bar')
    sizes = {'n': len(robot.joints), 'm': robot.model.nq, 's': 8}
    # some count only where others have these values
    usual = defaults() | {
        'payload.mass': 1.0, 'payload.com': [0.0, 0.0, 0.1],
        'payload.inertia': [0.01, 0.0, 0.0, 0.01, 0.0, 0.01], 'friction.viscous': [0.1],
        'friction.coulomb': [0.1], 'contact.viscous': [0.3], 'contact.coulomb': [0.3],
        'gravity_source': 'imu', 'ramp_time': 0.1,
        'release_torque': 'zero', 'force_torque.tool_mass': 1.0,
        'force_torque.tool_com': [0.0, 0.0, 0.1],
        'force_torque.tool_inertia': [0.01, 0.0, 0.0, 0.01, 0.0, 0.01],
        'force_torque.force_bias': [1.0] * 3, 'force_torque.moment_bias': [1.0] * 3}

    def numbers(**values: Value) -> np.ndarray:
        given = Settings(robot, usual | values, simulated=False).given.plain()
        p = Parameters(sizes)
        if structural:  # ages are filled once: the offset of the clocks is measured then
            fill_states(p.states.plain(), given)
        fill_parameters(p.plain(), given)
        return p.memory
    before = numbers()
    assert np.array_equal(before, numbers())  # nothing else makes a difference
    assert np.isfinite(before).all()
    forgotten = {name for name, row in PARAMETERS.items() if row.structural is structural
                 and np.array_equal(before, numbers(**{name: other(row, usual[name])}))}
    outside = {name for names in OUTSIDE.values() for name in names}
    assert forgotten == {name for name in outside if PARAMETERS[name].structural is structural}
