# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""What the commands of ``rbd teach`` share: the robot, its limits, tables, and how it moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rbd_ros.command_line.confirmation import (
    cancelling, confirm, interruptions_told, MOVED)
from rbd_ros.command_line.motion_page import motion_page
from rbd_ros.command_line.output import number, table, warn
from rbd_ros.command_line.robots import load, Loaded
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.errors import RbdError, SettingError, UnknownName
from rbd_ros.model.model import Model
from rbd_ros.model.positions import neutral
from rbd_ros.model.urdf import load_urdf
from rbd_ros.teaching.lesson import Lesson
from rbd_ros.teaching.lesson_file import read_lesson
from rbd_ros.teaching.repeat import approach, refuse_unplanned, Repeated, whole_starts
import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rbd_ros.compiler import Array
    from rbd_ros.identification.excitation import Bounds
    from rbd_ros.nodes.taught_robot import TaughtRobot
    from rbd_ros.teaching.motion import Motion
    from rich.console import Group

__all__ = ['begun', 'followed', 'left_out', 'lesson_table', 'listener', 'loaded_robot', 'move',
           'refuse_beyond', 'standing']


def listener(topic: str, controller: str) -> TaughtRobot:
    """Return what listens to the robot."""
    try:
        from rbd_ros.nodes.taught_robot import TaughtRobot
    except ImportError as error:
        raise RbdError(f'this needs ROS 2 ({error}); source it, or use ./run rbd teach') from None
    return TaughtRobot(topic, controller)


def loaded_robot(urdf: str | None, robot: TaughtRobot | None = None) -> Loaded:
    """
    Return the robot of a file, or the one that is there.

    :param urdf: as the user named it; None: the one that publishes its description.
    """
    if urdf is not None or robot is None:
        loaded = load(urdf or '-', quiet=True)
    else:
        text = robot.description()
        loaded = Loaded(load_urdf(text, limits_optional=True, on_warning=lambda _: None), text, [])
    refuse_unplanned(loaded.model)
    return loaded


def begun(file: Path, given: str | None, model: Model, robot: TaughtRobot) -> Lesson:
    """
    Return the lesson of a file, or an empty one of the joints that are to be taught.

    :param given: joints as the user named them; None: those of the file, or, for a new one, those
        that the controller moves, or all if it does not say so.
    """
    names = model.independent_joint_names
    wanted = None if given is None else _chosen(given, names)
    if file.exists():
        lesson = read_lesson(file).among(names)
        if wanted is not None and wanted != lesson.joints:
            raise SettingError(f'--joints: {file} has {", ".join(lesson.joints)}; leave the '
                               'option out, or name another file')
        return lesson
    if wanted is None:
        moved = robot.controlled()
        wanted = tuple(name for name in names if name in moved)
    return Lesson(wanted or names, ())


def _chosen(given: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the joints that the user named, in the order of the robot."""
    words = given.replace(',', ' ').split()
    for word in words:
        if word not in names:
            raise UnknownName('joint', word, names)
    if not words:
        raise SettingError('--joints: name one or more joints, with commas between them')
    return tuple(name for name in names if name in words)


def left_out(model: Model, joints: Sequence[str]) -> list[str]:
    """Return the joints of a robot that a lesson does not move."""
    return [name for name in model.independent_joint_names if name not in joints]


def standing(model: Model, seen: Mapping[str, float]) -> Array:
    """
    Return where joints stand, for those that a lesson leaves out.

    :param seen: their positions; where nobody knows, zero, or what is nearest to it.
    """
    usual = np.clip(np.array(neutral(model), float), model.lower, model.upper)
    return np.array([seen.get(name, place) for name, place in zip(
        model.independent_joint_names, usual.tolist(), strict=True)], float)


def followed(bounds: Bounds, model: Model, limits: Sequence[Mapping[str, float]]) -> Bounds:
    """
    Return bounds within which the reference of the controller keeps up with a motion.

    :param limits: largest velocities and accelerations of that reference, by joint.
    """
    speed, acceleration = (np.array([each.get(name, np.inf)
                                     for name in model.independent_joint_names])
                           for each in limits)
    if (acceleration < bounds.acceleration)[np.isfinite(bounds.acceleration)].any():
        warn(f'reference.acceleration of the controller is {acceleration.min():g}, less than '
             '--acceleration; the motion keeps that')
    return bounds._replace(speed=np.minimum(bounds.speed, speed),
                           acceleration=np.minimum(bounds.acceleration, acceleration))


def refuse_beyond(model: Model, joints: Sequence[str], q: Array) -> None:
    """Refuse a position that could not be repeated, while somebody can still lead it back."""
    for name, value in zip(joints, q.tolist(), strict=True):
        place = model.independent_joint_names.index(name)
        low, high = model.lower[place], model.upper[place]
        if not low <= value <= high:
            raise RbdError(f'"{name}" is at {value:.6g}, not between its limits {low:.6g} and '
                           f'{high:.6g}; guide it back')


def lesson_table(lesson: Lesson, title: str) -> Group:
    """Return the points of a lesson as a table."""
    return table(title, ('>point', 'name', *(f'>{joint}' for joint in lesson.joints), '>time',
                         '>dwell'),
                 [[k, point.name, *map(number, point.positions),
                   '-' if point.time is None else number(point.time), number(point.dwell)]
                  for k, point in enumerate(lesson.points, 1)])


def move(loaded: Loaded, joints: Sequence[str], found: Repeated, bounds: Bounds, *,
         gentle: float, loops: int, action: str, topic: str, name: str, near: str) -> None:
    """
    Show, ask, go to the start, and repeat.

    :param joints: that the lesson moves; the others stand.
    :param name: of the lesson, to show.
    :param near: as the user named the robot, whose meshes are near it; '-': on no file.
    """
    from rbd_ros.nodes.driven_robot import DrivenRobot
    robot = Dynamics(loaded.model)
    with (listener(topic, action.rpartition('/')[0]) as seen,
          DrivenRobot(joints, action, topic) as driven, interruptions_told(driven)):
        starts = _starts(seen, joints, found.once)
        way = approach(robot, starts, found.once, bounds, gentle)
        legs = [found.once] if way is None else [way, found.once]
        first = 'The robot is at the start; it moves' if way is None else (
            f'The robot moves to the start for {way.t[-1]:.1f} s ({gentle:.0%} of its speed '
            'limits), then')
        times = 'until Ctrl-C' if loops == 0 else f'{loops} times' if loops > 1 else 'once'
        typer.echo(f'{first} through {name} {times}, {found.once.t[-1]:.1f} s each. Keep '
                   'clear of it, with the stop within reach.', err=True)
        if others := left_out(loaded.model, joints):
            typer.echo(f'Joints that stand: {", ".join(others)}.', err=True)
        with motion_page(near, loaded, legs) as address:
            if address:
                typer.echo(f'To see it move before the robot does, open {address}', err=True)
            if said := seen.refusal_warning():
                warn(said)
            confirm()
        now = _starts(seen, joints, found.once)
        if np.abs(now - starts).max() > MOVED:
            way = approach(robot, now, found.once, bounds, gentle)
            typer.echo('The robot has moved in the meantime; its way to the start was planned '
                       'again'
                       + ('.' if way is None else f': {way.t[-1]:.1f} s.'), err=True)
        with cancelling(driven):
            if way is not None:
                driven.follow(way.of(joints))
            count = 0
            while loops == 0 or count < loops:
                count += 1
                typer.echo(f'round {count}' + (f' of {loops}' if loops else ''), err=True)
                driven.follow((found.once if count == loops else found.cycle()).of(joints))


def _starts(seen: TaughtRobot, joints: Sequence[str], motion: Motion) -> Array:
    """
    Return where the robot is, and where the controller's reference is, if it says so.

    :param joints: that move; the others stand where a motion has them.
    """
    here = seen.position(joints)
    reference = seen.reference(joints)
    return whole_starts(motion, joints, [here, here if reference is None else reference])
