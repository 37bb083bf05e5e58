# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The robots of the recording: small, and together of every kind that the controller knows."""

from __future__ import annotations

from collections.abc import Mapping
import dataclasses
from functools import cache
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rbd_ros import Dynamics, load_urdf
from rbd_ros.compiler import Bound, Graph
from rbd_ros.control.kernels.kernels import LawKernels
from rbd_ros.control.parameters.values import direction
from rbd_ros.control.robot import make_robot, Robot

__all__ = ['KINDS', 'Kind', 'controlled_robot', 'law_graphs', 'law_kernels', 'plant']

Array = npt.NDArray[np.float64]

_ROOT = Path(__file__).parents[2]

#: joints of the made-up robots: parent, type, axis, origin, range
_ARM = {
    'waist': ('l0', 'revolute', '0 0 1', '0 0 0.2', 3.0),
    'shoulder': ('l1', 'revolute', '0 1 0', '0 0.05 0.2', 2.5),
    'elbow': ('l2', 'revolute', '0 1 0.1', '0 0 0.35', 2.6)}
_TURRET = {
    'turn': ('l0', 'continuous', '0 0.2 1', '0 0 0.2', 0.0),
    'lift': ('l1', 'prismatic', '0 0.1 1', '0.05 0 0.2', 0.4),
    'nod': ('l2', 'continuous', '0 1 0', '0.1 0 0.1', 0.0)}
_CRANE = {
    'slew': ('l0', 'revolute', '0 0 1', '0 0 0.3', 9.0),
    'luff': ('l1', 'revolute', '0 1 0.2', '0 0.05 0.2', 9.0),
    'jib': ('l2', 'revolute', '0 1 0', '0 0 0.4', 9.0),
    'twist': ('l3', 'revolute', '1 0 0.3', '0.1 0 0.3', 9.0),
    'hook': ('l3', 'revolute', '0.3 1 0', '0.2 0 0.25', 9.0)}


class Kind(NamedTuple):
    """
    A robot and how it is driven.

    :param joints: controlled ones, in the order of the commands; none: all.
    :param home: positions of all joints around which it moves, by joint.
    :param reach: rad or m by which it moves away from there.
    :param passive: joints that no motor moves.
    :param assembly: whether its passive joints are solved from the driven ones.
    :param free: whether torques move it; else it follows a path, whatever they are.
    """

    source: Path | Mapping[str, tuple[str, str, str, str, float]]
    home: Mapping[str, float]
    joints: tuple[str, ...] = ()
    reach: float = 0.3
    driver_adds: str = 'none'
    tip: str = ''
    axes: tuple[str, ...] = ('tx', 'ty', 'tz')
    passive: tuple[str, ...] = ()
    assembly: bool = False
    free: bool = False


_FIVE_BAR = Kind(_ROOT / 'test' / 'urdf' / 'five_bar.urdf',
                 {'left_shoulder': 2.2, 'left_elbow': -1.4, 'right_shoulder': 0.9,
                  'right_elbow': 1.4}, ('right_shoulder', 'left_shoulder'), 0.15, tip='tool',
                 axes=('tx', 'tz'))
_SEVEN = Kind(_ROOT / 'urdf' / 'seven_joint_arm.urdf',
              {f'joint_{k + 1}': x for k, x in enumerate((0.1, 0.4, 0.3, -1.2, 0.5, 0.6, 0.7))},
              axes=('rx', 'ry', 'rz', 'tx', 'ty', 'tz'))
_THREE = Kind(_ARM, {'waist': 0.2, 'shoulder': 0.6, 'elbow': 0.9})

KINDS = {
    'arm': _THREE,
    'free arm': _THREE._replace(free=True),
    'turret': Kind(_TURRET, {'turn': 3.1, 'lift': 0.1, 'nod': -3.0}, ('nod', 'turn', 'lift'),
                   0.2, driver_adds='gravity'),
    'crane': Kind(_CRANE, {'slew': 0.3, 'luff': 0.2, 'jib': 0.4, 'twist': -0.3, 'hook': 0.2},
                  ('twist', 'slew', 'jib'), passive=('hook',), tip='l4'),
    'solved five-bar': _FIVE_BAR._replace(assembly=True),
    'measured five-bar': _FIVE_BAR._replace(driver_adds='gravity_and_coriolis'),
    'free seven': _SEVEN._replace(free=True),
}


def _urdf(joints: Mapping[str, tuple[str, str, str, str, float]]) -> str:
    """Return a description: links that differ in everything."""
    text = ['<link name="l0"/>']
    for k, (name, (parent, kind, axis, origin, most)) in enumerate(joints.items(), 1):
        bounds = f'lower="{-most}" upper="{most}" ' if most else ''
        text.append(
            f'<link name="l{k}"><inertial><origin xyz="0.05 {0.02 * k} 0.15"/>'
            f'<mass value="{3.0 / k}"/><inertia ixx="0.03" iyy="{0.02 + 0.01 / k}" izz="0.025" '
            'ixy="0.002" ixz="0.001" iyz="0"/></inertial></link>'
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="l{k}"/>'
            f'<origin xyz="{origin}" rpy="0.1 -0.2 {0.1 * k}"/><axis xyz="{axis}"/>'
            f'<dynamics damping="{0.05 * k}"/>'
            f'<limit {bounds}effort="{80.0 / k}" velocity="3"/></joint>')
    return f'<robot name="made_up">{"".join(text)}</robot>'


@cache
def controlled_robot(name: str) -> Robot:
    """
    Return the robot that a controller gets.

    :param name: of its kind.
    """
    kind = KINDS[name]
    text = kind.source if isinstance(kind.source, Path) else _urdf(kind.source)
    model = load_urdf(text, on_warning=lambda _: None)
    if kind.source == _SEVEN.source:  # the light wrist is the harder robot
        model = dataclasses.replace(model, rotor_inertia=(0.0,) * 7)
    robot = make_robot(model, kind.joints, tip=kind.tip, passive=kind.passive,
                       assembly=kind.home if kind.assembly else None)
    robot.__dict__['reach'] = math.inf  # the recorded controller took poses from any distance
    return robot


@cache
def _laws(name: str) -> LawKernels:
    kind = KINDS[name]
    return LawKernels(controlled_robot(name), driver_adds=kind.driver_adds,
                      driver_knows_payload=False, axes=[direction(x) for x in kind.axes])


def law_kernels(name: str) -> dict[str, Bound]:
    """
    Return kernels with buffers of their own.

    :param name: of the kind of robot.
    """
    laws = _laws(name)
    return {each: laws.compile(each) for each in laws.names}


def law_graphs(name: str, bound: Mapping[str, Bound]) -> dict[Bound, Graph]:
    """
    Return what kernels compute.

    :param name: of the kind of robot.
    :param bound: its kernels.
    """
    return {kernel: _laws(name).graph(each) for each, kernel in bound.items()}


@cache
def plant(name: str) -> Dynamics:
    """
    Return the dynamics of a robot.

    :param name: of its kind.
    """
    return Dynamics(controlled_robot(name).model)
