# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Find thresholds for contact detection from a recording without contacts.

    rbd contact my_bag --urdf robot.urdf --frame tool0 --out contact.yaml

The recording must contain joint states with velocities, and with efforts in N.m that are the
torques of the motors. Move all joints for a minute, from slow to as fast as the robot will work,
with its tool, and touch nothing. What the model does not explain becomes friction, an offset and a
threshold for each joint; with --frame also a threshold for each direction of force and moment
there. They are written as the parameters contact.* of the controller.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

from rbd_ros.command_line.options import AsJson, Namespace, recording_file
from rbd_ros.command_line.output import number, progress, show, table, warn
import typer


def run(
    bag: Annotated[Path, typer.Argument(
        parser=recording_file, metavar='RECORDING',
        help='File of rbd record, or folder of a rosbag.')],
    urdf: Annotated[str, typer.Option(metavar='ROBOT', help='URDF or xacro file of the robot.')],
    topic: Annotated[Optional[str], typer.Option(
        help='Topic of the joint states; by default that of the robot.')] = None,
    namespace: Namespace = None,
    frame: Annotated[Optional[str], typer.Option(
        metavar='LINK', help='Frame whose directions get thresholds, too: task.frame.')] = None,
    bandwidth: Annotated[float, typer.Option(
        metavar='1/S', help='Bandwidth of the observer: contact.bandwidth.')] = 60.0,
    friction_speed: Annotated[float, typer.Option(
        metavar='RAD/S', help='Speed over which dry friction rises: friction.speed.')] = 0.05,
    margin: Annotated[float, typer.Option(
        help='Factor between the largest value without contact and the threshold.')] = 3.0,
    out: Annotated[Optional[Path], typer.Option(
        metavar='FILE', help='YAML file for the parameters.')] = None,
    as_json: AsJson = False,
) -> None:
    """Fit thresholds to a recording."""
    import numpy as np
    from rbd_ros.command_line.robots import load
    from rbd_ros.control.observers.calibration import (
        calibrated_contact, calibrated_wrench, moving, observed_torques)
    from rbd_ros.dynamics.robot import Dynamics
    from rbd_ros.errors import RbdError
    from rbd_ros.identification.bag import recorded_robot
    from rbd_ros.identification.recording import read_joint_states
    for name, value in (('bandwidth', bandwidth), ('friction-speed', friction_speed)):
        if not 0.0 < value < np.inf:
            raise RbdError(f'--{name} {value:g} must be above 0')
    if not 1.0 <= margin < np.inf:
        raise RbdError(f'--margin {margin:g} must be 1 or more: less would be exceeded without a '
                       'contact')
    model = load(urdf, quiet=as_json).model
    robot, speed = Dynamics(model), np.full(model.nv, friction_speed)
    directions: dict[str, list[float]] = {}
    with progress('reading and observing', 2) as step:
        recording = read_joint_states(
            bag, model, topic or recorded_robot(bag, namespace).joint_states)
        step()
        seen = observed_torques(robot, recording.t, recording.q, recording.qd, recording.tau,
                                bandwidth)
        found = calibrated_contact(seen.qd, seen.torque, speed, margin, seen.settles)
        if frame is not None:
            directions = calibrated_wrench(robot, frame, seen, speed, found, margin)
        step()
    for joint, moves in zip(model.independent_joint_names, moving(seen.qd, speed), strict=True):
        if not moves:
            warn(f'{joint} is never faster than {2.0 * friction_speed:g}: its friction is not '
                 f'identified, and its threshold holds only at rest')
    text = _yaml(found | directions, bandwidth)
    if out is not None:
        out.write_text(text)
    rows = [[joint, *(number(values[j], 3) for values in found.values())]
            for j, joint in enumerate(model.independent_joint_names)]
    columns = ['joint', *(name.removeprefix('contact.') for name in found)]
    shown = [table('Contacts', columns, rows)]
    if directions:
        shown.append(table(f'Directions of {frame}', ('threshold', 'x', 'y', 'z'), [
            [name.removeprefix('contact.'), *(number(value, 3) for value in values)]
            for name, values in directions.items()]))
    show({'joints': list(model.independent_joint_names), 'parameters': found | directions},
         as_json, *shown, f'written to {out}' if out is not None else text, wrap=False)


def _yaml(found: dict[str, list[float]], bandwidth: float) -> str:
    """Return the parameters as a file of the controller."""
    lines = ['/**:', '  controller:', '    ros__parameters:', '      contact:',
             f'        bandwidth: {float(bandwidth)!r}']
    for name, values in found.items():
        numbers = ', '.join(f'{value:.6f}' for value in values)
        lines.append(f'        {name.removeprefix("contact.")}: [{numbers}]')
    return '\n'.join(lines) + '\n'
