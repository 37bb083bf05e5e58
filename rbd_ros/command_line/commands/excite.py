# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Plan a motion that reveals the parameters of a robot, and run it.

    rbd excite robot.urdf --out excite.yaml
    rbd view robot.urdf --plan excite.yaml
    rbd excite robot.urdf --plan excite.yaml --run --record my_bag

The motion starts and ends at rest, stays within fractions of the limits of the URDF, and keeps
clear of the floor and of the robot itself. It is planned for a small condition number of the
regressor. The file is a goal of the action FollowJointTrajectory; its first line has the options
with which it is checked, so that they need not be given again. With --run, a page shows the motion
and the way to its start, and both are sent to the controller after you have typed yes. All limits,
the dead-man switch and the stops of the controller stay in force. Joint states are recorded; rbd
identify reads them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional, TYPE_CHECKING

from rbd_ros.command_line.options import AsJson, Robot, Seed
from rbd_ros.command_line.output import number, progress, show, table
from rbd_ros.signals import as_interrupts
import typer

if TYPE_CHECKING:
    from rbd_ros.command_line.excitation_plan import Checks, Path as Planned, Scene
    from rbd_ros.command_line.robots import Loaded


def run(
    context: typer.Context,
    robot: Robot,
    out: Annotated[Optional[Path], typer.Option(
        metavar='FILE', help='Plan to write, as a goal of FollowJointTrajectory.')] = None,
    plan: Annotated[Optional[Path], typer.Option(
        metavar='FILE', help='Plan to read; it is checked again, with the options it was made '
                             'with unless you give others.')] = None,
    start: Annotated[Optional[str], typer.Option(
        metavar='Q', help='Posture at both ends: numbers, or pairs joint=number.')] = None,
    duration: Annotated[float, typer.Option(metavar='S', help='Duration of the motion.')] = 20.0,
    speed: Annotated[float, typer.Option(help='Fraction of the velocity limits.')] = 0.6,
    acceleration: Annotated[float, typer.Option(
        metavar='RAD/S^2', help='Largest acceleration of each joint.')] = 4.0,
    torque: Annotated[float, typer.Option(help='Fraction of the effort limits.')] = 0.8,
    range_share: Annotated[float, typer.Option(
        '--range', help='Fraction of the range of each joint.')] = 0.9,
    floor: Annotated[float, typer.Option(
        metavar='M', help='Height of the floor in the base frame.')] = 0.0,
    no_floor: Annotated[bool, typer.Option('--no-floor', help='Plan without a floor.')] = False,
    margin: Annotated[float, typer.Option(
        metavar='M', help='Distance to keep from the floor and between links.')] = 0.02,
    ignore: Annotated[Optional[list[str]], typer.Option(
        metavar='A:B', help='Links that may overlap; can be repeated.')] = None,
    seed: Seed = 0,
    evaluations: Annotated[int, typer.Option(help='Number of motions to try.')] = 200,
    move: Annotated[bool, typer.Option(
        '--run', help='Send it to the controller, after a confirmation.')] = False,
    action: Annotated[str, typer.Option(
        help='Name of the action.')] = '/controller/follow_joint_trajectory',
    topic: Annotated[str, typer.Option(help='Topic of the joint states.')] = '/joint_states',
    record: Annotated[Path, typer.Option(
        metavar='FOLDER', help='Rosbag to write with --run.')] = Path('excite_bag'),
    as_json: AsJson = False,
) -> None:
    """Plan, show, and after a confirmation run."""
    from rbd_ros.command_line.excitation_plan import (
        bounds_of, Checks, plan_text, planned, read_plan, Scene)
    from rbd_ros.command_line.robots import load, vector
    loaded = load(robot, quiet=as_json)
    model = loaded.model
    checks = Checks(speed, torque, range_share, None if no_floor else floor, margin,
                    tuple(ignore or ()), acceleration)
    if plan is not None:
        checks = _kept(context, plan, checks)
    bounds = bounds_of(model, speed=checks.speed, acceleration=checks.acceleration,
                       torque=checks.torque, share=checks.range)
    scene = Scene.of(loaded.text, model, checks.floor, checks.ignore, checks.margin)
    if plan is not None:
        path = read_plan(plan, model)
    else:
        given = None if start is None else vector(model, '--start', start, velocities=False)
        with progress('planning', evaluations) as step:
            path = planned(scene, bounds, given, duration, seed, evaluations, step)
    scene.refuse(path, bounds)
    if out is not None:
        out.write_text(plan_text(path, f'rbd excite, seed {seed}', checks))
    _show(scene, path, as_json, robot, out)
    if move:
        _move(robot, loaded, scene, path, action, topic, record)


def _kept(context: typer.Context, plan: Path, given: Checks) -> Checks:
    """Return the options of a plan, but those that were given now."""
    from rbd_ros.command_line.excitation_plan import read_checks
    kept = read_checks(plan)
    if kept is None:
        return given
    names = {'range': ('range_share',), 'floor': ('floor', 'no_floor')}
    now = {each: getattr(given, each) for each in given._fields
           if any(_typed(context, name) for name in names.get(each, (each,)))}
    found = kept._replace(**now)
    typer.echo(f'checked as the plan says: {found.words()}', err=True)
    return found


def _typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == 'COMMANDLINE'


def _show(scene: Scene, path: Planned, as_json: bool, robot: str, out: Path | None) -> None:
    from rbd_ros.command_line.excitation_plan import excitation_of, extremes
    found = extremes(scene, path)
    excitation = excitation_of(scene, path)
    rows = [[joint, *(float(values[k]) for values in found.values())]
            for k, joint in enumerate(path.joints)]
    show({'joints': list(path.joints), 'duration': path.t[-1], 'excitation': excitation,
          'points': len(path.t), **found, 'start': path.q[0],
          'file': None if out is None else str(out)}, as_json,
         table(f'Motion of {path.t[-1]:.1f} s, {len(path.t)} points', (
             'joint', *(f'>{name.replace("_", " ")}' for name in found)), rows),
         f'excitation {number(excitation, 3)} (below 100 is good); clear of '
         f'{scene.words()} by {scene.margin:g} m over the whole path',
         *([] if out is None else [
             f'written to {out}; to see it move: rbd view {robot} --plan {out}']))


def _move(robot: str, loaded: Loaded, scene: Scene, path: Planned, action: str, topic: str,
          record: Path) -> None:
    """Show and ask, move to the start, move along the path, record."""
    from rbd_ros.command_line.confirmation import (
        cancelling, confirm, interruptions_told, MOVED)
    from rbd_ros.command_line.excitation_plan import approach
    from rbd_ros.command_line.motion_page import motion_page
    from rbd_ros.errors import RbdError
    if record.exists():
        raise RbdError(f'{record} exists already; name another folder with --record')
    try:
        from rbd_ros.nodes.driven_robot import DrivenRobot
    except ImportError as error:
        raise RbdError(f'--run needs ROS 2 ({error}); source it, or use ./run rbd excite'
                       ) from None
    with (as_interrupts(), DrivenRobot(path.joints, action, topic) as driven,
          interruptions_told(driven)):
        way = approach(scene, driven.position(), path)
        typer.echo(f'The robot moves to the start for {way.t[-1]:.1f} s, then for '
                   f'{path.t[-1]:.1f} s. Keep clear of it, with the stop within reach.', err=True)
        with motion_page(robot, loaded, (way, path)) as address:
            if address:
                typer.echo(f'To see it move before the robot does, open {address}', err=True)
            confirm()
        now = driven.position()
        if abs(now - way.q[0]).max() > MOVED:
            way = approach(scene, now, path)
            typer.echo('The robot has moved in the meantime; its way to the start was planned '
                       f'again: {way.t[-1]:.1f} s.', err=True)
        with cancelling(driven), progress('moving', 2) as step:
            driven.follow(way)
            step()
            driven.follow(path, record)
            step()
    typer.echo(f'recorded in {record}; next: rbd identify {record} --urdf {robot}', err=True)
