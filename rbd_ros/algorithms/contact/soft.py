# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Soft contact: a massless surface on a spring and a damper (RBDA 11.8), plain or traced.

A body touches the surface at height p above its unloaded place; the surface itself is at z, and
both are negative where it is dented. Forces follow from the state alone, so that any forward
dynamics takes them as external forces. After the body has left, the dent recovers by itself, and
the body is met again where the surface is then.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from rbd_ros.compiler import exp, less, less_equal, maximum, minimum, Scalar, sqrt, Values, where
from rbd_ros.errors import SettingError
from rbd_ros.spatial import Force, Motion, Vec3


class Normal(NamedTuple):
    """
    A soft contact along its normal.

    :param force: f_c on the body, along the normal; never negative.
    :param rate: of z.
    """

    force: Scalar
    rate: Scalar


class Tangential(NamedTuple):
    """
    Friction of a soft contact.

    :param force: f_t on the body, along the surface.
    :param rate: of x, the displacement of the patch of the surface.
    """

    force: list[Scalar]
    rate: list[Scalar]


def check_positive(**values: float) -> None:
    """Refuse stiffness or damping that is not positive and finite; names it."""
    for name, value in values.items():
        if not 0.0 < value < math.inf:
            raise SettingError(f'{name} is {value}; it must be positive and finite')


# --- along the normal -----------------------------------------------------------------------


def normal_force(
    stiffness: Scalar, damping: Scalar, z: Scalar, p: Scalar, p_rate: Scalar,
) -> Normal:
    """
    Return the force of a spring-damper surface, and how the surface moves (11.73, 11.74).

    In contact z is p, which two integrations do not keep: move z by :func:`height_after`. The
    force jumps to damping times speed at the first touch, and ends before p is zero again.

    :param z: height of the surface, zero unloaded.
    :param p: height of the body, minus the penetration of the undeformed shapes.
    :param p_rate: its rate, n . (v_body - v_surface).
    """
    touching = less_equal(p, z)
    level = minimum(p, z)
    force = where(touching, maximum(0.0, -(stiffness * level) - damping * p_rate), 0.0)   # 11.74
    return Normal(force, -(stiffness * level + force) / damping)                          # 11.73


def recovered(z_0: Scalar, stiffness: Scalar, damping: Scalar, elapsed: Scalar) -> Scalar:
    """
    Return the height of a surface that was left at z_0 some time ago (RBDA 11.8).

    With this, and z = p in contact, z need not be integrated: z_0 and the time of the last
    contact are all that is kept.
    """
    return z_0 * exp(-(stiffness * elapsed) / damping)


def height_after(
    stiffness: Scalar, damping: Scalar, level: Scalar, force: Scalar, p: Scalar, h: Scalar,
) -> Scalar:
    """
    Return z after a step of time: that of the body while it is touched, else by its recovery.

    :param level: the lower one of z and p before the step.
    :param force: in the step.
    :param p: height of the body after the step.
    """
    alone = minimum(p, recovered(level, stiffness, damping, h))
    return minimum(0.0, where(less(0.0, force), p, alone))


def lumped(
    stiffness_1: float, damping_1: float, stiffness_2: float, damping_2: float,
) -> tuple[float, float]:
    """
    Return stiffness and damping of one surface that stands for two compliant ones (RBDA 11.8).

    :raises SettingError: unless both recover at the same rate; take :func:`two_surfaces` then.
    """
    check_positive(stiffness_1=stiffness_1, damping_1=damping_1, stiffness_2=stiffness_2,
                   damping_2=damping_2)
    one, two = stiffness_1 / damping_1, stiffness_2 / damping_2
    if abs(one - two) > 1e-9 * max(one, two):
        raise SettingError(
            f'stiffness over damping is {one:g} and {two:g}: only surfaces that recover at one '
            'rate act as one; give each its own z (two_surfaces)')
    return (1.0 / (1.0 / stiffness_1 + 1.0 / stiffness_2),
            1.0 / (1.0 / damping_1 + 1.0 / damping_2))


def two_surfaces(
    stiffness: Values, damping: Values, z: Values, p: Scalar, p_rate: Scalar,
) -> tuple[Scalar, list[Scalar]]:
    """
    Return the force between two compliant surfaces, and the rates of both (RBDA 11.8).

    The same force dents both; together they give way as the bodies approach.

    :param stiffness: of both; damping likewise.
    :param z: height of both, each zero unloaded.
    :param p: distance of the undeformed shapes, negative where they overlap.
    """
    touching = less_equal(p, z[0] + z[1])
    free = [-(k * each) / d for k, d, each in zip(stiffness, damping, z, strict=True)]
    give = 1.0 / damping[0] + 1.0 / damping[1]
    force = where(touching, maximum(0.0, (free[0] + free[1] - p_rate) / give), 0.0)
    return force, [rate - force / d for rate, d in zip(free, damping, strict=True)]


def hunt_crossley(
    stiffness: Scalar, damping: Scalar, p: Scalar, p_rate: Scalar, *, exponent: float = 1.5,
) -> Scalar:
    """
    Return k d^n + c d^n d', with d = -p, the force of Hunt and Crossley. Beyond the book.

    It needs no state, and begins and ends at zero: no jump at the first touch.

    :param exponent: 1.5 for a sphere on a plane (Hertz), or 1.
    """
    if exponent not in (1.0, 1.5):
        raise SettingError(f'exponent is {exponent}; it is 1.5 (a sphere on a plane) or 1')
    depth = maximum(0.0, -p)
    power = depth if exponent == 1.0 else depth * sqrt(depth)
    return maximum(0.0, power * (stiffness - damping * p_rate))


def restitution(stiffness: float, damping: float, mass: float) -> float:
    """Return the share of its speed that a mass has after one bounce, without gravity."""
    check_positive(stiffness=stiffness, damping=damping, mass=mass)
    ratio = 0.5 * damping / math.sqrt(stiffness * mass)
    if ratio >= 1.0:        # overdamped: the same formula with hyperbolic functions
        root = math.sqrt(ratio ** 2 - 1.0)
        turn = math.log(ratio + root) / root if root > 1e-9 else 1.0
    else:
        turn = math.acos(ratio) / math.sqrt(1.0 - ratio ** 2)
    return math.exp(-2.0 * ratio * turn)


def damping_for(share: float, stiffness: float, mass: float) -> float:
    """Return the damping with which a mass bounces back with a share of its speed."""
    if not 0.0 < share < 1.0:
        raise SettingError(f'the share is {share}; a soft contact gives one between 0 and 1')
    low, high = 1e-12, 1e6
    for _ in range(200):
        middle = math.sqrt(low * high)
        if restitution(stiffness, middle * math.sqrt(stiffness * mass), mass) > share:
            low = middle
        else:
            high = middle
    return middle * math.sqrt(stiffness * mass)


# --- along the surface ----------------------------------------------------------------------


def friction_force(
    stiffness: Scalar, damping: Scalar, mu: Scalar, x: Values, v: Values, normal: Scalar,
) -> Tangential:
    """
    Return the friction of a patch of surface on springs (RBDA 11.75 to 11.79).

    The book treats one direction; here the force is shortened to the circle of radius mu f_n.

    :param x: displacement of the patch along the surface.
    :param v: velocity of the touching point of the body along the surface.
    :param normal: f_n.
    """
    stick = [-(stiffness * a) - damping * b for a, b in zip(x, v, strict=True)]           # 11.78
    square: Scalar = 0.0
    for each in stick:
        square = square + each * each
    limit = mu * normal
    size = sqrt(maximum(square, 1e-300))
    share = where(less(limit, size), limit / size, 1.0)
    force = [share * each for each in stick]                                              # 11.79
    return Tangential(force, [-(stiffness * a + f) / damping
                              for a, f in zip(x, force, strict=True)])                    # 11.77


def dent_drag(coefficient: Scalar, normal: Scalar, travel: Values) -> list[Scalar]:
    """
    Return the force of moving a dent along (RBDA 11.8): viscous, and none without a dent.

    :param coefficient: N of drag per N of normal force and m/s.
    :param normal: f_n.
    :param travel: velocity of the point of contact across the surface; rolling moves it too.
    """
    return [-(coefficient * normal) * each for each in travel]


# --- in space -------------------------------------------------------------------------------


class Approach(NamedTuple):
    """
    How a body moves against a surface at a point of contact.

    :param rate: p-dot, along the normal.
    :param sliding: velocity along the surface, three numbers in the same coordinates.
    """

    rate: Scalar
    sliding: Vec3


def approach(point: Vec3, direction: Vec3, v_body: Motion, v_surface: Motion) -> Approach:
    """
    Return the motion of a body against a surface where they touch (RBDA 11.8).

    :param direction: unit normal out of the surface.
    """
    relative = v_body - v_surface
    u = relative.lin + relative.ang.cross(point)
    rate = direction.dot(u)
    return Approach(rate, u - direction * rate)


def wrench(point: Vec3, direction: Vec3, normal: Scalar, tangential: Vec3) -> Force:
    """Return the force on the body as a spatial vector; the surface gets its opposite."""
    force = direction * normal + tangential
    return Force(point.cross(force), force)
