# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Find mass and centre of mass of the tool on a force-torque sensor, and the bias of the sensor.

    rbd tool my_bag --urdf robot.urdf --frame tool0 --out tool.yaml

The recording must contain joint states and the readings of the sensor. Move the arm to six or more
poses with gravity along several axes of the sensor, in both directions, stay still for two seconds
in each, and touch nothing. The times at rest are found from the positions. The bias that
~/tare_force_torque finds in one pose includes errors of the assumed masses; this one does not.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional, TYPE_CHECKING

from rbd_ros.command_line.options import AsJson, Namespace, recording_file
from rbd_ros.command_line.output import number, show, table
import typer

if TYPE_CHECKING:
    from rbd_ros.identification.tool import Tool


def run(
    bag: Annotated[Path, typer.Argument(
        parser=recording_file, metavar='RECORDING',
        help='File of rbd record, or folder of a rosbag.')],
    urdf: Annotated[str, typer.Option(metavar='ROBOT', help='URDF or xacro file of the robot.')],
    frame: Annotated[str, typer.Option(
        help='Frame of the sensor, in whose axes it measures, force_torque.frame.')],
    sensor: Annotated[Optional[str], typer.Option(
        help='Topic of the readings, WrenchStamped; by default force_torque of the controller.',
    )] = None,
    topic: Annotated[Optional[str], typer.Option(
        help='Topic of the joint states; by default that of the robot.')] = None,
    namespace: Namespace = None,
    support: Annotated[bool, typer.Option(
        '--support', help='Readings point up when the tool hangs down: force_torque.convention '
                          'is support. Otherwise it is load.')] = False,
    in_urdf: Annotated[bool, typer.Option(
        '--in-urdf', help='The URDF has this tool: it becomes force_torque.tool_*, not the '
                          'payload.')] = False,
    gravity: Annotated[str, typer.Option(
        metavar='X,Y,Z', help='Gravity in the base frame, m/s^2.')] = '0,0,-9.81',
    seconds: Annotated[float, typer.Option(
        metavar='S', help='Shortest time at rest that counts.')] = 1.0,
    out: Annotated[Optional[Path], typer.Option(
        metavar='FILE', help='YAML file for the parameters.')] = None,
    as_json: AsJson = False,
) -> None:
    """Fit tool and bias to a recording."""
    import numpy as np
    from rbd_ros.command_line.robots import load
    from rbd_ros.dynamics.robot import Dynamics
    from rbd_ros.errors import SettingError
    from rbd_ros.identification.bag import recorded_robot
    from rbd_ros.identification.rests import read_rests
    from rbd_ros.identification.tool import identify_tool
    try:
        g = np.array([float(word) for word in gravity.split(',')])
    except ValueError:
        g = np.empty(0)
    if g.shape != (3,) or not np.isfinite(g).all() or not g.any():
        raise SettingError(f'--gravity {gravity}: three numbers that are not all zero are needed, '
                           'as in 0,0,-9.81')
    if not 0.0 < seconds < np.inf:
        raise SettingError(f'--seconds {seconds:g} must be above 0')
    model = load(urdf, quiet=as_json).model
    model.frame(frame)                      # its error lists the frames that there are
    if sensor is None or topic is None:
        recorded = recorded_robot(bag, namespace)
        sensor = sensor or f'{recorded.controller}/force_torque'
        topic = topic or recorded.joint_states
    rests = read_rests(bag, model, sensor, topic, seconds)
    robot = Dynamics(model)
    seen = np.array([robot.pose(q, frame)[:3, :3].T @ g for q in rests.q])
    found = identify_tool(seen, -rests.wrench if support else rests.wrench)
    text = _yaml(found, frame, support, in_urdf)
    if out is not None:
        out.write_text(text)
    half = found.intervals()
    rows = [['mass', 'kg', number(found.mass, 5), number(float(half['mass']), 2)]]
    for name, unit, key in (('centre', 'm', 'com'), ('force bias', 'N', 'force_bias'),
                            ('moment bias', 'N.m', 'moment_bias')):
        rows += [[f'{name} {axis}', unit, number(value, 4), number(side, 2)] for axis, value, side
                 in zip('xyz', getattr(found, key), np.asarray(half[key]), strict=True)]
    moment, force = found.residual
    show({'poses': len(rests.t), **found._asdict(), 'intervals': half,
          'spread': rests.spread.max(axis=0)}, as_json,
         table(f'Tool behind {frame}, from {len(rests.t)} poses',
               ('', 'unit', '>value', '>± (95 %)'), rows),
         f'left unexplained: {number(force, 2)} N and {number(moment, 2)} N.m (rms)',
         f'written to {out}' if out is not None else text, wrap=False)


def _yaml(found: Tool, frame: str, support: bool, in_urdf: bool) -> str:
    """Return the parameters as a file of the controller."""
    def numbers(values: object) -> str:
        return ', '.join(f'{value:.6f}' for value in values)  # type: ignore[attr-defined]
    sign = -1.0 if support else 1.0  # a bias has the sign of the readings
    lines = ['/**:', '  controller:', '    ros__parameters:', '      force_torque:',
             f'        frame: {frame}',
             f'        convention: {"support" if support else "load"}',
             f'        force_bias: [{numbers(sign * found.force_bias)}]',
             f'        moment_bias: [{numbers(sign * found.moment_bias)}]']
    mass, com = f'{found.mass:.6f}', f'[{numbers(found.com)}]'
    if in_urdf:
        lines += [f'        tool_mass: {mass}', f'        tool_com: {com}']
    else:
        lines += ['      payload:', f'        frame: {frame}', f'        mass: {mass}',
                  f'        com: {com}']
    return '\n'.join(lines) + '\n'
