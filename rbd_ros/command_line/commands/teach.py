# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Teach a motion by hand and repeat it.

    rbd teach record pick.yaml
    rbd teach edit pick.yaml --dwell 2=0.5
    rbd teach play pick.yaml --speed 0.5 --loop 3
    rbd teach export pick.yaml --urdf robot.urdf --trajectory pick_trajectory.yaml

While the arm floats, guide it by hand. Enter stores a point, or with --continuous starts and ends
a motion. The file is plain YAML. The motion is repeated at any speed within the limits of the
robot, through the action FollowJointTrajectory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional, TYPE_CHECKING

from rbd_ros.command_line.options import AsJson, decimal_comma
from rbd_ros.command_line.output import show, warn
from rbd_ros.signals import as_interrupts, noted
import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rbd_ros.command_line.robots import Loaded
    from rbd_ros.identification.excitation import Bounds
    from rbd_ros.nodes.taught_robot import TaughtRobot
    from rbd_ros.teaching.lesson import Lesson
    from rbd_ros.teaching.repeat import Repeated

app = typer.Typer(no_args_is_help=True)

File = Annotated[Path, typer.Argument(metavar='FILE', help='Lesson, a YAML file.')]
Urdf = Annotated[Optional[str], typer.Option(
    metavar='ROBOT', help='URDF or xacro file; by default that of the running robot.')]
Topic = Annotated[str, typer.Option(help='Topic of the joint states.')]
Controller = Annotated[str, typer.Option(help='Node of the controller, with its namespace.')]
Speed = Annotated[float, typer.Option(
    help='Factor of the shown speed; on straight moves, fraction of the limits.')]
Acceleration = Annotated[float, typer.Option(
    metavar='RAD/S^2', help='Largest acceleration of each joint.')]
Torque = Annotated[float, typer.Option(help='Fraction of the effort limits.')]


@app.command('record')
def record(
    file: File, urdf: Urdf = None,
    continuous: Annotated[bool, typer.Option(
        '--continuous', help='Store whole motions, not single points.')] = False,
    tolerance: Annotated[float, typer.Option(
        metavar='RAD', help='How far a repeated motion may deviate from the shown one.')] = 0.01,
    chosen: Annotated[Optional[str], typer.Option(
        '--joints', metavar='A,B', help='Joints of a new lesson; by default those that the '
                                        'controller moves.')] = None,
    topic: Topic = '/joint_states', controller: Controller = '/controller',
) -> None:
    """Store points, or motions, while you guide the robot; appends to an existing file."""
    from rbd_ros.command_line.taught import (
        begun, left_out, lesson_table, listener, loaded_robot)
    with as_interrupts(), listener(topic, controller) as robot:
        loaded = loaded_robot(urdf, robot)
        before = begun(file, chosen, loaded.model, robot)
        _refuse_unwritable(file)
        robot.position(before.joints)
        if others := left_out(loaded.model, before.joints):
            typer.echo(f'Joints that are left out: {", ".join(others)}.', err=True)
        kept = [before]
        try:
            _teach(robot, loaded, kept, tolerance if continuous else None)
        except KeyboardInterrupt:
            typer.echo('', err=True)
        finally:  # whatever ends it, such as a terminal that was closed
            lesson = kept[-1]
            if lesson.points and lesson != before:
                _write(file, lesson)
    if not lesson.points or lesson == before:
        typer.echo('nothing was stored; ' + (
            f'{file} is unchanged' if file.exists() else 'no file was written'), err=True)
        return
    show({}, False, lesson_table(lesson, str(file)), f'written to {file}')


def _refuse_unwritable(file: Path) -> None:
    """Find out before somebody shows what cannot be kept."""
    import os

    from rbd_ros.errors import SettingError
    folder = next(each for each in file.absolute().parents if each.exists())
    if file.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise SettingError(f'{file} cannot be written; name another file')


def _write(file: Path, lesson: Lesson) -> None:
    """Write a lesson; say what the file has no more."""
    from rbd_ros.teaching.lesson_file import has_comments, write_lesson
    had = file.exists() and has_comments(file)
    write_lesson(file, lesson)
    if had:
        warn(f'your comments in {file} are lost, because the whole file is rewritten; names are '
             f'kept')


def _teach(robot: TaughtRobot, loaded: Loaded, kept: list[Lesson], tolerance: float | None,
           ) -> None:
    """
    Do what the keys say until the end.

    :param kept: lessons, of which the last one is in force; u takes it back.
    :param tolerance: of motions; None: points are stored.
    """
    stores = 'stores a point' if tolerance is None else 'begins and ends a motion'
    last = 'point' if tolerance is None else 'motion'
    keys = f'Enter {stores}, u removes the last {last}, q saves and ends.'
    typer.echo(keys, err=True)
    told = ''
    while True:
        if (said := robot.stiffness_warning()) != told:
            told = said
            warn(said or 'the robot can be guided by hand again')
        word = _typed(_prompt(kept[-1]))
        if word == 'q':
            return
        if word == 'u':
            _take_back(kept)
        elif word:
            typer.echo(f'"{word}" is none of the keys. {keys}', err=True)
        elif tolerance is None:
            _keep_point(robot, loaded, kept)
        else:
            _keep_motion(robot, loaded, kept, tolerance)


def _prompt(lesson: Lesson) -> str:
    """Return how many points there are, to be typed behind."""
    return f'{len(lesson.points)} point{"" if len(lesson.points) == 1 else "s"}> '


def _typed(prompt: str) -> str:
    """Return a line; the end of input, or Ctrl-C, is the end of teaching."""
    typer.echo(prompt, err=True, nl=False)
    try:
        return input().strip()
    except (EOFError, KeyboardInterrupt):
        typer.echo('', err=True)
        return 'q'


def _take_back(kept: list[Lesson]) -> None:
    """Undo the last Enter; then remove the points of the file one by one."""
    if len(kept) > 1:
        kept.pop()
    elif kept[0].points:
        kept[0] = kept[0].without(len(kept[0].points))
    else:
        typer.echo('there is nothing to remove', err=True)


def _keep_point(robot: TaughtRobot, loaded: Loaded, kept: list[Lesson]) -> None:
    from rbd_ros.command_line.taught import refuse_beyond
    from rbd_ros.errors import RbdError
    from rbd_ros.teaching.lesson import Point
    try:
        here = robot.position(kept[-1].joints)
        refuse_beyond(loaded.model, kept[-1].joints, here)
    except RbdError as error:
        warn(f'no point was stored: {error}')
        return
    kept.append(kept[-1].added(Point(tuple(here.tolist()))))


def _keep_motion(robot: TaughtRobot, loaded: Loaded, kept: list[Lesson], tolerance: float,
                 ) -> None:
    from rbd_ros.errors import RbdError
    from rbd_ros.teaching.demonstration import shown_points
    robot.begin()
    _typed('show the motion; Enter ends it> ')
    with noted() as ended:  # a second Ctrl-C does not lose what was shown
        lesson = kept[-1]
        try:
            points = shown_points(*robot.shown(lesson.joints), loaded.model, tolerance,
                                  lesson.joints)
        except RbdError as error:
            warn(f'no motion was stored: {error}')
        else:
            for point in points:
                lesson = lesson.added(point)
            kept.append(lesson)
            typer.echo(f'stored {len(points)} points', err=True)
    if ended.is_set():
        raise KeyboardInterrupt


@app.command('edit')
def edit(
    file: File,
    delete: Annotated[Optional[list[int]], typer.Option(
        metavar='N', help='Point to delete; can be repeated, numbers are those of the list.',
    )] = None,
    move: Annotated[Optional[str], typer.Option(
        metavar='N,TO', help='Point to move to another place.')] = None,
    insert: Annotated[Optional[str], typer.Option(
        metavar='N=Q', help='Point to insert: its number, and its positions.')] = None,
    dwell: Annotated[Optional[list[str]], typer.Option(
        metavar='N=S', help='Time to stay at a point; can be repeated.')] = None,
    name: Annotated[Optional[list[str]], typer.Option(
        metavar='N=TEXT', help='Name of a point; can be repeated.')] = None,
    as_json: AsJson = False,
) -> None:
    """List the points; options change them, in this order: name, dwell, delete, move, insert."""
    from rbd_ros.command_line.taught import lesson_table
    from rbd_ros.teaching.lesson import Point
    from rbd_ros.teaching.lesson_file import read_lesson
    before = lesson = read_lesson(file)
    for word in name or []:
        place, text = _pair('--name', word, '=')
        lesson = lesson.changed(place, name=text)
    for word in dwell or []:
        place, text = _pair('--dwell', word, '=')
        lesson = lesson.changed(place, dwell=_positive('--dwell', text))
    for place in sorted(delete or [], reverse=True):
        lesson = lesson.without(place)
    if move is not None:
        place, text = _pair('--move', move, ',')
        lesson = lesson.moved(place, int(_positive('--move', text)))
    if insert is not None:
        place, text = _pair('--insert', insert, '=')
        lesson = lesson.added(Point(tuple(
            _number('--insert', each) for each in text.replace(',', ' ').split())), place)
    if lesson != before:
        _write(file, lesson)
    show({'joints': list(lesson.joints), 'points': [vars(point) for point in lesson.points]},
         as_json, lesson_table(lesson, str(file)),
         *([f'written to {file}'] if lesson != before else []))


def _pair(option: str, word: str, sign: str) -> tuple[int, str]:
    from rbd_ros.errors import SettingError
    place, found, text = word.partition(sign)
    if not (found and place.strip().isdigit()):
        raise SettingError(f'{option} {word}: give the number of a point and the value, as in '
                           f'2{sign}1')
    return int(place), text.strip()


def _number(option: str, text: str) -> float:
    import math

    from rbd_ros.errors import SettingError
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SettingError(f'{option}: "{text}" is not a number{decimal_comma(text)}')
    return value


def _positive(option: str, text: str) -> float:
    from rbd_ros.errors import SettingError
    value = _number(option, text)
    if value < 0.0:
        raise SettingError(f'{option}: {text} is negative')
    return value


def _planned(lesson: Lesson, loaded: Loaded, speed: float, acceleration: float, torque: float,
             seen: Mapping[str, float], limits: Sequence[Mapping[str, float]] = ({}, {}),
             ) -> tuple[Repeated, Bounds]:
    """
    Return the motion of a lesson, and say what is slower than asked for.

    :param seen: where joints are, for those that it leaves out.
    :param limits: of the controller's reference, see ``followed``.
    """
    from rbd_ros.command_line.taught import followed, standing
    from rbd_ros.dynamics.robot import Dynamics
    from rbd_ros.teaching.repeat import repeated
    from rbd_ros.teaching.strokes import limits_of
    bounds = followed(limits_of(loaded.model, acceleration=acceleration, torque=torque,
                                joints=lesson.joints), loaded.model, limits)
    found = repeated(Dynamics(loaded.model), lesson, bounds, speed, standing(loaded.model, seen))
    for text in found.slowed:
        warn(text)
    return found, bounds


@app.command('play')
def play(
    file: File, urdf: Urdf = None, speed: Speed = 1.0,
    loop: Annotated[int, typer.Option(
        min=0, help='How many times; 0: until Ctrl-C. The move back to the first point is '
                    'straight.')] = 1,
    gentle: Annotated[float, typer.Option(
        '--approach', help='Fraction of the limits on the way to the first point.')] = 0.25,
    acceleration: Acceleration = 4.0, torque: Torque = 0.8,
    action: Annotated[Optional[str], typer.Option(
        help='Name of the action; by default follow_joint_trajectory of --controller.')] = None,
    topic: Topic = '/joint_states', controller: Controller = '/controller',
) -> None:
    """Repeat a lesson on the robot, after a confirmation; Ctrl-C stops the robot smoothly."""
    from rbd_ros.command_line.taught import listener, loaded_robot, move as move_robot
    from rbd_ros.errors import SettingError
    from rbd_ros.teaching.lesson_file import read_lesson
    if not 0.0 < gentle <= 1.0:
        raise SettingError(f'--approach is {gentle:g}; it must be positive and at most 1')
    lesson = read_lesson(file)
    with listener(topic, controller) as robot:
        loaded = loaded_robot(urdf, robot)
        lesson = lesson.among(loaded.model.independent_joint_names)
        robot.position(lesson.joints)
        seen, limits = robot.seen(), robot.limits()
    found, bounds = _planned(lesson, loaded, speed, acceleration, torque, seen, limits)
    with as_interrupts():
        move_robot(loaded, lesson.joints, found, bounds, gentle=gentle, loops=loop,
                   action=action or f'{controller}/follow_joint_trajectory', topic=topic,
                   name=file.name, near=urdf or '-')


@app.command('export')
def export(
    file: File,
    urdf: Annotated[str, typer.Option(metavar='ROBOT', help='URDF or xacro file of the robot.')],
    trajectory: Annotated[Path, typer.Option(
        metavar='FILE', help='trajectory_msgs/JointTrajectory to write, as YAML.')],
    speed: Speed = 1.0,
    loop: Annotated[bool, typer.Option('--loop', help='End at the first point again.')] = False,
    acceleration: Acceleration = 4.0, torque: Torque = 0.8, as_json: AsJson = False,
) -> None:
    """Write a lesson as a trajectory with times, velocities and accelerations."""
    from rbd_ros.command_line.taught import loaded_robot
    from rbd_ros.teaching.lesson_file import read_lesson
    from rbd_ros.teaching.motion import trajectory_text
    loaded = loaded_robot(urdf)
    lesson = read_lesson(file).among(loaded.model.independent_joint_names)
    found, _ = _planned(lesson, loaded, speed, acceleration, torque, {})
    motion = (found.cycle() if loop else found.once).of(lesson.joints)
    trajectory.write_text(trajectory_text(motion, f'{file.name} at {speed:g} times the speed'))
    show({'file': str(trajectory), 'points': len(motion.t), 'seconds': motion.t[-1],
          'slowed': found.slowed}, as_json,
         f'{len(motion.t)} points, {motion.t[-1]:.2f} s, written to {trajectory}',
         'send it: ros2 topic pub --once /controller/joint_trajectory '
         f'trajectory_msgs/msg/JointTrajectory "$(cat {trajectory})"', wrap=False)
