# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What hangs behind a force-torque sensor: the wrench with which it pulls, traced as a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TYPE_CHECKING

from rbd_ros.algorithms.linear import dense
from rbd_ros.control.kernels.terms import Terms
from rbd_ros.spatial import Force, Motion, RigidInertia, Sym3, Vec3

if TYPE_CHECKING:
    from rbd_ros.compiler import Scalar
    from rbd_ros.dynamics.state import State

__all__ = ['carried_wrench', 'sensor_outputs']


def carried_wrench(inertia: RigidInertia, v: Motion, a: Motion, g: Vec3) -> Force:
    """
    Return the wrench with which a body pulls at what carries it.

    :param inertia: of the body, in the frame of the sensor.
    :param v: velocity of that frame, in its own axes.
    :param a: derivative of these six numbers.
    :param g: gravity in its axes, m/s^2.
    """
    falling = Motion(Vec3.zero(), g)
    return inertia @ (falling - a) - v.cross(inertia @ v)                              # 2.14


def sensor_outputs(s: State, terms: Terms) -> dict[str, Sequence[Any]]:
    """
    Return what is known of the sensor: its velocity, what pulls at it, where it is from the tip.

    :param s: state, with the velocity before and 1 over the time since.
    :param terms: of the robot.
    """
    x, robot = s.inputs, terms.robot
    velocity = list(terms.velocity(s, robot.sensor))
    rate = x['rate'][0]
    a = [(v - before) * rate for v, before in zip(velocity, x['before'], strict=True)]
    R, p = _pose(s, robot.sensor)
    R_tip, p_tip = _pose(s, robot.tip)
    g = [dense.dot([row[i] for row in R], x['gravity']) for i in range(3)]
    sensor, carrier = (s.model.frame(name) for name in (robot.sensor, robot.payload_frame))
    load = _inertia(x['tool']) + sensor.placement @ carrier.placement.inv_apply(
        _inertia(x['payload']))
    pull = carried_wrench(load, Motion.from_list(velocity), Motion.from_list(a), Vec3(*g))
    way = [there - here for there, here in zip(p, p_tip)]
    return {
        'velocity': velocity, 'load': pull.to_list(), 'axes': R_tip,
        'turn': [[dense.dot([row[i] for row in R_tip], [row[j] for row in R])
                  for j in range(3)] for i in range(3)],
        'arm': [dense.dot([row[i] for row in R_tip], way) for i in range(3)]}


def _pose(s: State, frame: str) -> tuple[list[Sequence[Scalar]], list[Scalar]]:
    pose = s.compute('pose', frame)
    return [row[:3] for row in pose[:3]], [row[3] for row in pose[:3]]


def _inertia(ten: Sequence[Any]) -> RigidInertia:
    m, hx, hy, hz, *I = ten
    return RigidInertia(m, Vec3(hx, hy, hz), Sym3(*I))
