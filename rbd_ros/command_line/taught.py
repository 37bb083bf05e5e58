# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.


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
from rbd_ros.errors import RbdError
from rbd_ros.model.urdf import load_urdf
from rbd_ros.teaching.lesson import Lesson
from rbd_ros.teaching.repeat import approach, Repeated
import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rbd_ros.compiler import Array
    from rbd_ros.identification.excitation import Bounds
    from rbd_ros.nodes.taught_robot import TaughtRobot
    from rich.console import Group

__all__ = ['lesson_table', 'listener', 'loaded_robot', 'move']


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
    model = loaded.model
    if not model.nq == model.nv == len(model.independent_joint_names):
        raise RbdError(f'"{model.name}" has joints with several coordinates, for which no '
                       'trajectory can be sent')
    return loaded


def lesson_table(lesson: Lesson, title: str) -> Group:
    """Return the points of a lesson as a table."""
    return table(title, ('>point', 'name', *(f'>{joint}' for joint in lesson.joints), '>time',
                         '>dwell'),
                 [[k, point.name, *map(number, point.positions),
                   '-' if point.time is None else number(point.time), number(point.dwell)]
                  for k, point in enumerate(lesson.points, 1)])


def move(loaded: Loaded, found: Repeated, bounds: Bounds, *, gentle: float, loops: int,
         action: str, topic: str, name: str, near: str) -> None:
    """
    Show, ask, go to the start, and repeat.

    :param name: of the lesson, to show.
    :param near: as the user named the robot, whose meshes are near it; '-': on no file.
    """
    from rbd_ros.nodes.driven_robot import DrivenRobot
    robot = Dynamics(loaded.model)
    joints = loaded.model.independent_joint_names
    with (listener(topic, action.rpartition('/')[0]) as seen,
          DrivenRobot(joints, action, topic) as driven, interruptions_told(driven)):
        starts = _starts(seen, joints)
        way = approach(robot, starts, found.once, bounds, gentle)
        legs = [found.once] if way is None else [way, found.once]
        first = 'The robot is at the start; it moves' if way is None else (
            f'The robot moves to the start for {way.t[-1]:.1f} s ({gentle:.0%} of its speed '
            'limits), then')
        times = 'until Ctrl-C' if loops == 0 else f'{loops} times' if loops > 1 else 'once'
        typer.echo(f'{first} through {name} {times}, {found.once.t[-1]:.1f} s each. Keep '
                   'clear of it, with the stop within reach.', err=True)
        with motion_page(near, loaded, legs) as address:
            if address:
                typer.echo(f'To see it move before the robot does, open {address}', err=True)
            if said := seen.refusal_warning():
                warn(said)
            confirm()
        now = _starts(seen, joints)
        if np.abs(now - starts).max() > MOVED:
            way = approach(robot, now, found.once, bounds, gentle)
            typer.echo('The robot has moved in the meantime; its way to the start was planned '
                       'again'
                       + ('.' if way is None else f': {way.t[-1]:.1f} s.'), err=True)
        with cancelling(driven):
            if way is not None:
                driven.follow(way)
            count = 0
            while loops == 0 or count < loops:
                count += 1
                typer.echo(f'round {count}' + (f' of {loops}' if loops else ''), err=True)
                driven.follow(found.once if count == loops else found.cycle())


def _starts(seen: TaughtRobot, joints: Sequence[str]) -> Array:
    """Return where the robot is, and where the controller's reference is, if it says so."""
    here = seen.position(joints)
    reference = seen.reference(joints)
    return np.stack([here, here if reference is None else reference])
