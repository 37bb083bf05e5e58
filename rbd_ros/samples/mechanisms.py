# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Made-up mechanisms with closed loops, for tests, examples and benchmarks."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from rbd_ros.joints import Fixed, Joint, Revolute, Spherical, Universal
from rbd_ros.model.builder import ModelBuilder
from rbd_ros.model.independent import JointData
from rbd_ros.model.model import Model
from rbd_ros.spatial import (
    Mat3, quaternion, RigidInertia, roty, rotz, Sym3, Transform, Vec3, xlt)

#: Gravity of mechanisms that move in the plane of x and y.
DOWN = (0.0, -9.81, 0.0)
#: A half turn about z, exactly.
_BACK = Mat3(((-1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0)))


class Mechanism(NamedTuple):
    """
    A model, and a position that closes its loops but for rounding.

    ``robot.assemble(q)`` closes them to the last digits.
    """

    model: Model
    q: tuple[float, ...]


def rod(length: float, mass: float, about_center: float | None = None) -> RigidInertia:
    """
    Return a thin rod along x that starts at the origin.

    :param about_center: moment of inertia across it; that of a uniform rod by default.
    """
    I = mass * length**2 / 12.0 if about_center is None else about_center
    return RigidInertia.from_com(mass, Vec3(length / 2.0, 0.0, 0.0),
                                 Sym3.diagonal(1e-3 * mass, I, I))


def _closing(a: float, b: float, x: float, y: float) -> tuple[float, float]:
    """Return the directions of two bars of lengths a and b that end at (x, y), elbow up."""
    d = math.hypot(x, y)
    first = math.atan2(y, x) + math.acos((a * a + d * d - b * b) / (2.0 * a * d))
    return first, math.atan2(y - a * math.sin(first), x - a * math.cos(first))


def four_bar(crank: float = 0.9, closing: Joint | None = None) -> Mechanism:
    """
    Return a planar four-bar linkage: bars of 0.3, 0.8 and 0.6 m, pivots 0.9 m apart.

    :param crank: angle of the first bar, rad.
    :param closing: the joint that closes the loop; revolute by default, which imposes five
        constraints of which three are satisfied anyway.
    """
    builder = ModelBuilder('four_bar', gravity=DOWN)
    lengths, masses = (0.3, 0.8, 0.6), (1.0, 2.0, 1.5)
    for i in range(3):
        m, length = masses[i], lengths[i]
        moment = m * length**2 / 12.0
        builder.add_body(
            f'bar_{i + 1}', f'bar_{i}' if i else 'base', Revolute(),
            xlt(lengths[i - 1] if i else 0.0, 0.0, 0.0),
            RigidInertia.from_com(m, Vec3(length / 2.0, 0.0, 0.0),
                                  Sym3.diagonal(0.001, moment, moment)),
            joint_name=f'joint_{i + 1}', data=JointData(effort=20.0, velocity=10.0))
    builder.add_loop_joint('close', 'base', 'bar_3', closing or Revolute(),
                           xlt(0.9, 0.0, 0.0), xlt(0.6, 0.0, 0.0))
    two, three = _closing(0.8, 0.6, 0.9 - 0.3 * math.cos(crank), -0.3 * math.sin(crank))
    return Mechanism(builder.build(), (crank, two - crank, three - two))


def five_bar(closing: Joint | None = None) -> Mechanism:
    """
    Return a planar five-bar linkage: bars of 1, 1.5, 1.5 and 1 m on pivots 1 m apart.

    A serial chain from the left support to the right one, with the inner angles between bars as
    coordinates (Spencer 2004, table 3.1): bar k + 1 points at theta_k + q_k+1 - pi.
    """
    builder = ModelBuilder('five_bar', gravity=DOWN)
    bars = ((1.0, 2.0, 1.0), (1.5, 3.0, 2.0), (1.5, 3.0, 2.0), (1.0, 2.0, 1.0))
    for i, (length, mass, moment) in enumerate(bars):
        placement = Transform(_BACK, Vec3(bars[i - 1][0], 0.0, 0.0)) if i else None
        builder.add_body(f'bar_{i + 1}', f'bar_{i}' if i else 'base', Revolute(), placement,
                         rod(length, mass, moment), joint_name=f'joint_{i + 1}')
    builder.add_loop_joint('support', 'base', 'bar_4', closing or Revolute(),
                           xlt(1.0, 0.0, 0.0), xlt(1.0, 0.0, 0.0))
    inner = math.pi / 3.0 + math.acos(2.0 / 3.0)
    return Mechanism(builder.build(), (2.0 * math.pi / 3.0, inner, 2.0 * math.asin(2.0 / 3.0),
                                       inner))


def spatial_four_bar(crank: float = 0.6) -> Mechanism:
    """
    Return a crank and a rocker that turn about crossed axes, joined by a rod (RUSR).

    The rod hangs on the crank by a universal joint and ends in a ball: one freedom is left.
    """
    builder = ModelBuilder('spatial_four_bar')
    builder.add_body('crank', 'base', Revolute(), None, rod(0.25, 1.0))
    builder.add_body('rod', 'crank', Universal((0.0, 0.0, 1.0), (0.0, 1.0, 0.0)),
                     xlt(0.25, 0.0, 0.0), rod(0.7, 0.8))
    tilted = Transform(Mat3(((0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))),
                       Vec3(0.6, -0.1, 0.2))              # turns about x, at rest along y
    builder.add_body('rocker', 'base', Revolute(), tilted, rod(0.5, 1.2))
    builder.add_loop_joint('ball', 'rod', 'rocker', Spherical(),
                           xlt(0.7, 0.0, 0.0), xlt(0.5, 0.0, 0.0))
    tip = 0.25 * math.cos(crank), 0.25 * math.sin(crank)
    turn, swing, rocker = _rod_to_rocker(tip, 0.7, 0.5)
    return Mechanism(builder.build(), (crank, turn - crank, swing, rocker))


def _rod_to_rocker(tip: tuple[float, float], rod: float, rocker: float) -> tuple[Any, ...]:
    """Return the angles of rod and rocker that meet, from the crank's tip."""
    x, y, z = 0.6 - tip[0], -0.1 - tip[1], 0.2
    # the end of the rocker is (0, cos a, sin a) rocker from its pivot
    c = (rod**2 - x * x - y * y - z * z - rocker**2) / (2.0 * rocker)
    a = math.atan2(z, y) + math.acos(c / math.hypot(y, z))
    y, z = y + rocker * math.cos(a), z + rocker * math.sin(a)
    return math.atan2(y, x), -math.asin(z / rod), a


def delta(arm: float = 0.4) -> Mechanism:
    """
    Return a delta robot: three driven arms, six rods in pairs, and a platform that stays level.

    Each rod hangs on its arm by a universal joint and carries the platform in a ball. The
    platform belongs to the first rod in the tree; the other five balls close loops.

    :param arm: angle of all three arms below the horizontal, rad.
    """
    base, length, reach, platform, half = 0.20, 0.30, 0.75, 0.06, 0.05
    data = JointData(effort=60.0, velocity=10.0)
    builder = ModelBuilder('delta')
    gap = base + length * math.cos(arm) - platform
    steep = math.atan2(math.sqrt(reach**2 - gap**2), -gap)   # of the rods, from the horizontal
    turned = [rotz(2.0 * math.pi * leg / 3.0) for leg in range(3)]
    tips = {}
    for leg, X in enumerate(turned, 1):
        builder.add_body(
            f'arm_{leg}', 'base', Revolute((0.0, 1.0, 0.0)), xlt(base, 0.0, 0.0) @ X,
            rod(length, 0.6), joint_name=f'shoulder_{leg}', data=data)
        for side, y in (('a', half), ('b', -half)):
            name = f'rod_{leg}{side}'
            builder.add_body(name, f'arm_{leg}', Universal((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
                             xlt(length, y, 0.0), rod(reach, 0.1), joint_name=f'elbow_{leg}{side}')
            tips[name] = X.inv_point(Vec3(platform, y, 0.0))
    first = tips['rod_1a']
    plate = RigidInertia.from_com(0.5, -first, Sym3.diagonal(6e-4, 6e-4, 1.2e-3))
    builder.add_body('plate', 'rod_1a', Spherical(), xlt(reach, 0.0, 0.0), plate,
                     joint_name='wrist')
    builder.add_frame('tool', 'plate', Transform.translation(-first))
    for name, tip in tips.items():
        if name != 'rod_1a':
            builder.add_loop_joint(f'ball_{name[4:]}', name, 'plate', Spherical(),
                                   xlt(reach, 0.0, 0.0), Transform.translation(tip - first))
    level = quaternion.from_rotation(roty(-steep).E)         # undoes the slope of the rod
    model = builder.build()
    parts = {'shoulder': [arm], 'elbow': [steep - arm, 0.0], 'wrist': map(float, level)}
    q = [x for name in model.joint_names for x in list(parts[name.split('_')[0]])]
    return Mechanism(model, tuple(q))


def two_arm_grasp() -> Mechanism:
    """
    Return two arms of six joints that hold one bar between them, welded to both hands.

    The bar belongs to the left arm in the tree; the weld to the right hand closes the loop.
    """
    builder = ModelBuilder('two_arm_grasp')
    axes = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0),
            (1.0, 0.0, 0.0))
    steps = (0.0, 0.0, 0.4, 0.2, 0.2, 0.1)
    pose = (0.3, -0.5, 1.1, 0.4, 0.6, 0.2)
    for side, sign in (('left', 1.0), ('right', -1.0)):
        for i, (axis, step) in enumerate(zip(axes, steps, strict=True), 1):
            place = xlt(0.0, 0.3 * sign, 0.5) if i == 1 else xlt(step, 0.0, 0.0)
            length = (*steps[1:], 0.1)[i - 1] or 0.1
            builder.add_body(
                f'{side}_{i}', f'{side}_{i - 1}' if i > 1 else 'base', Revolute(axis), place,
                rod(length, 4.0 * 0.7**i), joint_name=f'{side}_joint_{i}',
                data=JointData(effort=100.0, velocity=3.0))
    mirrored = tuple(x * s for x, s in zip(pose, (-1, 1, 1, -1, 1, -1), strict=True))
    grip = _hand(axes, steps, pose, 0.3), _hand(axes, steps, mirrored, -0.3)
    builder.add_body('bar', 'left_6', Fixed(), xlt(0.1, 0.0, 0.0), rod(0.3, 2.0))
    builder.add_loop_joint('weld', 'bar', 'right_6', Fixed(),
                           grip[1] @ grip[0].inverse(), xlt(0.1, 0.0, 0.0))
    return Mechanism(builder.build(), (*pose, *mirrored))


def _hand(
    axes: tuple[Any, ...], steps: tuple[Any, ...], q: tuple[Any, ...], y: float,
) -> Transform:
    """Return the transform from base coordinates to a hand."""
    X = Transform.identity()
    for i, (axis, step, angle) in enumerate(zip(axes, steps, q, strict=True)):
        place = xlt(0.0, y, 0.5) if i == 0 else xlt(step, 0.0, 0.0)
        X = Revolute(axis).transform([angle]) @ place @ X
    return xlt(0.1, 0.0, 0.0) @ X


def ladder(loops: int, angle: float = 0.7) -> Mechanism:
    """
    Return lazy tongs of ``loops`` cells: pairs of crossed bars, hinged at middles and ends.

    The connectivity is that of a ladder (RBDA Fig 8.4): two bars a rung. All cells fold together,
    so that with the hinge on the ground two freedoms are left, however many loops there are.

    :param angle: of the bars above the horizontal, rad.
    """
    builder = ModelBuilder(f'ladder_{loops}', gravity=DOWN)
    half, bar = 0.5, rod(1.0, 1.0)
    apart = math.pi - 2.0 * angle
    q = []
    for k in range(1, loops + 2):
        builder.add_body(f'a_{k}', f'b_{k - 1}' if k > 1 else 'base', Revolute(),
                         xlt(half, 0.0, 0.0) if k > 1 else None, bar)
        # the frame of the other bar is in its middle, at the hinge
        builder.add_body(f'b_{k}', f'a_{k}', Revolute(), xlt(half, 0.0, 0.0),
                         xlt(half, 0.0, 0.0) @ bar)
        if k > 1:
            builder.add_loop_joint(f'close_{k - 1}', f'a_{k - 1}', f'b_{k}', Revolute(),
                                   xlt(2.0 * half, 0.0, 0.0), xlt(-half, 0.0, 0.0))
        q += [-apart if k > 1 else angle, apart]
    return Mechanism(builder.build(), tuple(q))
