# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Plot a recorded run: tracking, torques, and where they saturate.

    rbd record run.mcap
    rbd plot run.mcap --urdf robot.urdf --out run.png
    rbd plot run.mcap --urdf robot.urdf --out run.html
    rbd plot two_robots.mcap --namespace left

The controller's state has reference, position and commanded torque; joint states alone give
position and effort. If several robots were recorded, --namespace names one. Limits come from
--urdf, or else from the recorded description. The suffix of --out selects PNG, SVG, PDF or HTML.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

from rbd_ros.command_line.options import AsJson, Namespace
from rbd_ros.command_line.output import progress, show, table, warn
import typer


def run(
    bag: Annotated[Path, typer.Argument(
        metavar='RECORDING', help='File of rbd record, or folder of a rosbag.')],
    urdf: Annotated[Optional[str], typer.Option(
        metavar='ROBOT', help='URDF or xacro file of the robot, for its torque limits; by default '
                              'the recorded description.')] = None,
    out: Annotated[Path, typer.Option(metavar='FILE', help='Picture to write.')] = Path('run.png'),
    topic: Annotated[Optional[str], typer.Option(
        help='Topic of the controller state or of joint states; found by its type.')] = None,
    namespace: Namespace = None,
    as_json: AsJson = False,
) -> None:
    """Draw a recorded run."""
    from rbd_ros.command_line.recorded_run import draw, read_description, read_run, summary
    from rbd_ros.command_line.robots import coordinate_names, joint_units, load
    from rbd_ros.errors import ModelError
    from rbd_ros.model.urdf import load_urdf
    limits: dict[str, float] = {}
    units: dict[str, str] = {}
    model = None
    if urdf is not None:
        model = load(urdf, quiet=True).model
    elif topic is None and (text := read_description(bag, namespace)):
        try:
            model = load_urdf(text, limits_optional=True, on_warning=lambda _: None)
        except ModelError as error:
            warn(f'the recorded description has no limits: {error}')
    if model is not None:
        limits = dict(zip(coordinate_names(model, velocities=True), model.effort_limit))
        units = joint_units(model)
    with progress('reading and drawing', 2) as step:
        recorded = read_run(bag, topic, namespace)
        step()
        draw(recorded, limits, out, bag.name, units)
        step()
    found = summary(recorded, limits)
    if model is not None and limits.keys().isdisjoint(each['joint'] for each in found):
        warn(f'"{model.name}" has none of these joints: is it the robot that was recorded?')
    rows = [[each['joint'], each['rms_error'], each['largest_error'], each['largest_torque'],
             each['limit'],
             f'{each["saturated"]:.1%}' if each['joint'] in limits else '-'] for each in found]
    show({'file': str(out), 'samples': len(recorded.t), 'seconds': recorded.t[-1],
          'joints': found}, as_json, table(f'{bag.name}, {recorded.t[-1]:.1f} s', (
              'joint', '>rms error', '>largest error', '>largest torque', '>limit', '>saturated'),
              rows), f'written to {out}')
