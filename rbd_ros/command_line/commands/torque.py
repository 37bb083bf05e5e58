# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Compute the joint torques of a motion, split into gravity, Coriolis and inertia.

    rbd torque robot.urdf --q 0,0.4,0,-1.2,0,0.8,0
    rbd torque robot.urdf --q joint_2=0.4,joint_4=-1.2 --qd joint_1=1.5 --qdd joint_1=3

Numbers are in the order of the joints, or pairs joint=number with all others at zero; rad, rad/s,
rad/s^2 (m for prismatic joints). Without --q the robot is in its zero position; without --qd and
--qdd it stands still, and the torque is the one that holds it. Friction in the URDF is ignored.
"""

from __future__ import annotations

from typing import Annotated, Optional

from rbd_ros.command_line.options import AsJson, Floating, Robot
from rbd_ros.command_line.output import number, show, table, warn
import typer


def run(
    robot: Robot,
    q: Annotated[Optional[str], typer.Option(help='Positions.', metavar='NUMBERS')] = None,
    qd: Annotated[Optional[str], typer.Option(help='Velocities.', metavar='NUMBERS')] = None,
    qdd: Annotated[Optional[str], typer.Option(help='Accelerations.', metavar='NUMBERS')] = None,
    gravity: Annotated[str, typer.Option(
        help='Gravity in the base frame, m/s^2.', metavar='X,Y,Z')] = '0,0,-9.81',
    floating_base: Floating = False,
    as_json: AsJson = False,
) -> None:
    """Print the torques of a state."""
    import numpy as np

    from rbd_ros.command_line.robots import coordinate_names, load, vector
    from rbd_ros.dynamics.robot import Dynamics
    from rbd_ros.errors import SettingError
    model = load(robot, floating_base, quiet=as_json).model
    fall = gravity.replace(',', ' ').split()
    try:
        model = model.with_gravity([float(word) for word in fall])
    except ValueError:
        raise SettingError(f'--gravity: "{gravity}" is not three numbers') from None
    position = vector(model, '--q', q, velocities=False)
    rate, acceleration = vector(model, '--qd', qd), vector(model, '--qdd', qdd)
    compiled = Dynamics(model)
    held = compiled.gravity(position)
    coriolis = compiled.bias(position, rate) - held
    total = compiled.inverse_dynamics(position, rate, acceleration)
    names, limit = coordinate_names(model, velocities=True), np.array(model.effort_limit)
    over = [name for name, value, most in zip(names, total, limit) if abs(value) > most]
    outside = [name for name, value, low, high in zip(
        coordinate_names(model), position, model.lower, model.upper) if not low <= value <= high]
    if model.loops:
        warn('the robot has closed loops: these are the torques if every joint has a drive. With '
             'drives at some, take Dynamics.actuator_forces; --q must close the loops')
    if over:
        warn(f'beyond the effort limit: {", ".join(over)}')
    if outside:
        warn(f'outside the position limits: {", ".join(outside)}')
    share = [abs(value) / most if most > 0.0 else np.inf for value, most in zip(total, limit)]
    rows = [[name, float(total[k]), float(held[k]), float(coriolis[k]),
             float(total[k] - held[k] - coriolis[k]), float(limit[k]),
             f'{share[k]:.0%}' if limit[k] < np.inf else '-'] for k, name in enumerate(names)]
    show({'joints': names, 'q': position, 'qd': rate, 'qdd': acceleration, 'torque': total,
          'gravity': held, 'coriolis': coriolis, 'inertia': total - held - coriolis,
          'limit': limit, 'beyond_limit': over, 'outside_position_limits': outside}, as_json,
         table(f'Torques of {model.name}, N.m or N', (
             'joint', '>torque', '>gravity', '>Coriolis', '>inertia', '>limit', '>used'), rows),
         f'largest {number(float(np.abs(total).max(initial=0.0)))}, gravity {gravity} m/s^2')
