# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Parameters of the recorded controllers, and changes of them while they run, by chance."""

from __future__ import annotations

from rbd_ros.control.interface.row import Value
from rbd_ros.control.parameters.table import defaults
from recorded_chance import Chance
from recorded_events import MODES
from recorded_robots import controlled_robot, KINDS

__all__ = ['any_change', 'any_payload', 'any_values']

#: Hz; states come within a tenth of these
_RATES = (200.0, 500.0, 1000.0)


def any_values(name: str, random: Chance) -> tuple[dict[str, Value], bool]:
    """
    Return a set of parameters, and whether the clock is simulated.

    :param name: kind of robot.
    :param random: source of chance.
    """
    def one(*choices: Value) -> Value:
        return random.one(choices)

    kind, robot = KINDS[name], controlled_robot(name)
    n = len(robot.joints)
    rate = float(one(*_RATES))
    delay = float(one(0.0, 0.0, 0.0, 0.004))
    values: dict[str, Value] = {
        'driver_adds': kind.driver_adds, 'joints': list(robot.joints), 'task.frame': robot.tip,
        'task.axes': list(kind.axes), 'passive_joints': list(kind.passive), 'nominal_rate': rate,
        'minimum_rate': one(0.0, 0.2 * rate, 0.4 * rate), 'state_timeout': max(0.04, 15.0 / rate),
        'prescribed_timeout': 0.3, 'probe_count': one(2, 5),
        'velocity_filter': one(0.0, 0.005, 0.02), 'delay': delay, 'start.time': one(0.0, 0.05),
        'start.watch_time': one(0.0, 0.1, 0.3), 'ramp_time': one(0.0, 0.1, 0.3),
        'brake_time': one(0.05, 0.2), 'hold_time': one(0.03, 0.1),
        'release_time': one(0.0, 0.05, 0.2), 'stop_time': one(0.3, 0.6),
        'release_repeats': one(1, 5, 40), 'release_torque': one('zero', 'gravity'),
        'fault_action': one('hold', 'release'), 'stop_action': one('hold', 'release'),
        'recover_lost_state': one(True, False), 'pause_limit': 0.3,
        'dead_man_timeout': one(0.0, 0.0, 0.15),
        'gravity_source': one('parameter', 'parameter', 'imu'), 'gravity_timeout': 0.15,
        'effort_is_torque': one(True, False), 'synchronised_stamps': one(True, False, False),
        'mode': one(*MODES), 'switch_time': one(0.05, 0.2), 'free_damping': [one(0.0, 0.5, 2.0)],
        'integral': [one(0.0, 20.0)], 'observer_feedback': one(True, False),
        'friction.coulomb': [one(0.0, 0.3)], 'friction.viscous': [one(0.0, 0.1)],
        'friction.free': [one(0.0, 0.5)], 'task.linear_integral': one(0.0, 10.0),
        'reference.timeout': 0.1, 'reference.refusals': one(0, 3),
        'payload.ramp_time': one(0.0, 0.2), 'reference.linear': one(True, False),
        'tolerance.path': [one(0.0, 0.3)], 'tolerance.goal': [one(0.01, 0.2)],
        'tolerance.goal_time': one(0.1, 0.5), 'tracking_limits': [one(0.2, 0.5, 2.0)],
        'state_divider': one(0, 1, 10)}
    if delay:  # gains that a loop with this delay can carry
        values |= {'stiffness': [25.0], 'damping': [10.0], 'task.linear_stiffness': 25.0,
                   'task.linear_damping': 10.0, 'task.angular_stiffness': 25.0,
                   'task.angular_damping': 10.0, 'integral': [0.0], 'task.linear_integral': 0.0}
    if one(True, False, False):  # limits that act
        values['torque_limits'] = [0.4 * robot.model.effort_limit[i] for i in robot.index]
    if one(True, False):
        values['velocity_limits'] = random.between(0.8, 2.0, n).tolist()
    return defaults() | values, bool(one(True, False, False))


def any_payload(random: Chance, slip: float) -> tuple[float, list[float], list[float]]:
    """
    Return mass, centre of mass and inertia of a payload.

    :param random: source of chance.
    :param slip: share of the usual mass.
    """
    mass = slip * random.one((0.0, 0.5, 1.5))
    size = mass * 1e-3
    return (mass, random.between(-0.05, 0.05, 3).tolist(),
            [size, 0.0, 0.0, size, 0.0, size])


def any_change(name: str, random: Chance, slip: float) -> dict[str, Value]:
    """
    Return some parameters that may be changed while the robot runs.

    :param name: kind of robot.
    :param random: source of chance.
    :param slip: share of the usual changes of what the robot carries.
    """
    n = len(controlled_robot(name).joints)
    mass, com, inertia = any_payload(random, slip)
    changes: tuple[dict[str, Value], ...] = (
        {'stiffness': random.between(10.0, 40.0, n).tolist(), 'damping': [10.0]},
        {'gravity_scale': (1.0 + slip * random.between(-0.2, 0.1, n)).tolist()},
        {'free_damping': random.between(0.0, 2.0, n).tolist()},
        {'velocity_limits': random.between(0.5, 2.5, n).tolist()},
        {'tracking_limits': random.between(0.1, 1.0, n).tolist()},
        {'payload.mass': mass, 'payload.com': com, 'payload.inertia': inertia},
        {'gravity': [slip * random.between(-1.0, 1.0), 0.0, -9.81 + 0.1 * slip]},
        {'observer_feedback': random.below(0.5), 'observer_gain': [20.0]},
        {'hold_torque': random.between(0.1, 0.5), 'brake_rate': 8.0},
        {'barrier.margin': [0.08], 'barrier.velocity': 0.7, 'barrier.torque': 0.2},
        {'posture.position': random.between(-0.5, 0.5, n).tolist(), 'posture.stiffness': [5.0]},
        {'task.linear_stiffness': 20.0, 'task.linear_damping': 9.0, 'task.max_condition': 50.0},
        {'reference.velocity': [0.5], 'reference.acceleration': [4.0]},
        {'state_tolerance': [0.03], 'switch_time': 0.1, 'loop_tolerance': 0.03},
        {'payload.mass': -1.0},  # refused
    )
    return random.one(changes)
