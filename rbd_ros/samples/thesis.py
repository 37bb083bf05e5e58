# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The mechanisms of the worked examples of Spencer's thesis, and two of the workshop.

Planar ones lie in the x-y plane with gravity along -y, and joints turn about z.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
import math

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.joints import Prismatic, Revolute
from rbd_ros.manifold.constrained import Pin, PinnedTree, VirtualLinks
from rbd_ros.manifold.system import DifferentiableSystem
from rbd_ros.manifold.virtual_links import cut_loops, PLANAR
from rbd_ros.model.builder import ModelBuilder
from rbd_ros.model.model import LoopJoint
from rbd_ros.spatial import RigidInertia, Sym3, Transform, Vec3
from rbd_ros.spatial.constant import rotz, xlt

DOWN = (0.0, -9.81, 0.0)
Z = (0.0, 0.0, 1.0)
#: Length m, mass kg and inertia about the centre kg m^2 of the links of the five-bar (table 3.1).
FIVE_BAR = ((1.0, 2.0, 1.0), (1.5, 3.0, 2.0), (1.5, 3.0, 2.0), (1.0, 2.0, 1.0))
#: Position of the five-bar at which its second example begins, at rest.
FIVE_BAR_START = (2.0 * math.pi / 3.0, math.pi / 3.0 + math.acos(2.0 / 3.0),
                  2.0 * math.asin(2.0 / 3.0), math.pi / 3.0 + math.acos(2.0 / 3.0))
#: Singular position of the five-bar: all links on one line.
FIVE_BAR_SINGULAR = (math.pi, 0.0, math.pi, 0.0)
#: A position away from singular ones, from which it swings about its hanging equilibrium.
FIVE_BAR_SWING = (5.215082, -3.92562171, 6.15493848, -3.076091)


class Pendulum(DifferentiableSystem):
    """
    A unit mass on a circle of radius 1, in the coordinates of the plane (thesis 2.3).

    :param gravity: along -y, m/s^2.
    """

    nv = 2

    def __init__(self, gravity: float = 9.81) -> None:
        self.gravity = gravity

    def mass_matrix(self, q: Array) -> Array:
        """Return the unit matrix."""
        return np.eye(2)

    def bias(self, q: Array, qd: Array) -> Array:
        """Return the force that holds the weight."""
        return np.array([0.0, self.gravity])

    def constraint(self, q: Array) -> Array:
        """Return |q|^2 - 1."""
        return np.array([q @ q - 1.0])

    def jacobian(self, q: Array) -> Array:
        """Return 2 q^T."""
        return 2.0 * q[None, :]

    def constraint_bias(self, q: Array, qd: Array) -> Array:
        """Return -2 |qd|^2."""
        return np.array([-2.0 * (qd @ qd)])

    def energy(self, q: Array, qd: Array) -> float:
        """Return the energy, zero at rest at the centre."""
        return float(0.5 * qd @ qd + self.gravity * q[1])

    def dynamics_derivatives(self, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
        """Return zeros: H and C are constant."""
        return np.zeros((2, 2)), np.zeros((2, 2))

    def jacobian_derivative(self, q: Array, w: Array) -> Array:
        """Return 2 w^T."""
        return 2.0 * w[None, :]

    def constraint_bias_derivatives(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return 0 and -4 qd^T."""
        return np.zeros((1, 2)), -4.0 * qd[None, :]


def rod(length: float, mass: float, inertia: float) -> RigidInertia:
    """Return a link along x with its centre in the middle, and inertia about its centre."""
    return RigidInertia.from_com(mass, Vec3(length / 2.0, 0.0, 0.0),
                                 Sym3.diagonal(inertia, inertia, inertia))


def _chain(
    builder: ModelBuilder, names: Sequence[str], links: Sequence[tuple[float, float, float]], *,
    start: Transform | None = None, fold: float = 0.0,
) -> None:
    """Add links joined end to end by revolute joints, each zero at an angle to the one before."""
    parent, placement = 'base', start
    for name, link in zip(names, links, strict=True):
        builder.add_body(name, parent, Revolute(Z), placement, rod(*link))
        parent, placement = name, rotz(fold) @ xlt(link[0], 0.0, 0.0)


def five_bar() -> PinnedTree:
    """
    Return the five-bar of the thesis (table 3.1): four links in a row, the last one's end pinned.

    Coordinates are the angle of the first link and the interior angles between links. The text
    leaves out base width, centres of mass and gravity: 1 m, mid-link and 9.81 m/s^2 reproduce
    its times.
    """
    builder = ModelBuilder('five_bar', gravity=DOWN)
    _chain(builder, ('link_1', 'link_2', 'link_3', 'link_4'), FIVE_BAR, fold=-math.pi)
    builder.add_frame('end', 'link_4', xlt(1.0, 0.0, 0.0))
    builder.add_frame('support', 'base', xlt(1.0, 0.0, 0.0))
    return PinnedTree(Dynamics(builder.build()), [Pin('end', 'support', (0, 1))])


def five_bar_with_virtual_link() -> VirtualLinks:
    """
    Return the same five-bar as the tree of figure A.2, its loop cut between links 1 and 4.

    Link 1 stands on the left support; 2, 3 and 4 begin at the right one; the virtual link 5
    behind the cut joint on link 1 must meet the end of link 4.
    """
    builder = ModelBuilder('five_bar_with_virtual_link', gravity=DOWN)
    _chain(builder, ('link_1',), FIVE_BAR[:1])
    _chain(builder, ('link_2', 'link_3', 'link_4'), FIVE_BAR[:0:-1], start=xlt(1.0, 0.0, 0.0))
    cut = LoopJoint('cut', Revolute(Z), 1, 4, xlt(1.0, 0.0, 0.0), xlt(1.5, 0.0, 0.0))
    tree, closures = cut_loops(replace(builder.build(), loops=(cut,)), PLANAR)
    return VirtualLinks(Dynamics(tree), closures)


def parallel_four_bar(long: float = 1.3, short: float = 0.8) -> PinnedTree:
    """
    Return the parallel robot of 2.4.1: link 1 parallel to the chain 2, 3, 4, their ends pinned.

    Its manifold is q = (q_1, q_2, q_1 - q_2, q_2 - q_1 - pi).

    :param long: length of links 1 and 3, m.
    :param short: length of links 2 and 4, m.
    """
    builder = ModelBuilder('parallel_four_bar', gravity=DOWN)
    links = [(size, 2.0 * size, size**3 / 6.0) for size in (long, short)]
    _chain(builder, ('link_1',), links[:1])
    _chain(builder, ('link_2', 'link_3', 'link_4'), (links[1], links[0], links[1]))
    builder.add_frame('end_1', 'link_1', xlt(long, 0.0, 0.0))
    builder.add_frame('end_4', 'link_4', xlt(short, 0.0, 0.0))
    return PinnedTree(Dynamics(builder.build()), [Pin('end_4', 'end_1', (0, 1))])


def four_bar(
    lengths: Sequence[float] = (0.4, 1.0, 0.8), ground: float = 1.0,
) -> tuple[PinnedTree, Array]:
    """
    Return a crank-rocker of one freedom, and a closed position.

    :param lengths: crank, coupler and rocker, m.
    :param ground: distance of the supports, m.
    """
    builder = ModelBuilder('four_bar', gravity=DOWN)
    crank, coupler, rocker = ((size, 3.0 * size, 0.25 * size**3) for size in lengths)
    _chain(builder, ('crank', 'coupler'), (crank, coupler))
    _chain(builder, ('rocker',), (rocker,), start=xlt(ground, 0.0, 0.0))
    builder.add_frame('coupler_end', 'coupler', xlt(lengths[1], 0.0, 0.0))
    builder.add_frame('rocker_end', 'rocker', xlt(lengths[2], 0.0, 0.0))
    system = PinnedTree(Dynamics(builder.build()), [Pin('coupler_end', 'rocker_end', (0, 1))])
    # the crank at 1 rad; the other two meet where two circles do
    tip = lengths[0] * np.exp(1j)
    gap = ground - tip
    along = (lengths[1]**2 - lengths[2]**2 + abs(gap)**2) / (2.0 * abs(gap))
    meet = tip + gap / abs(gap) * (along + 1j * math.sqrt(lengths[1]**2 - along**2))
    angles = [1.0, float(np.angle(meet - tip)) - 1.0, float(np.angle(meet - ground))]
    return system, np.array(angles)


def slider_crank(crank: float = 0.3, rod_length: float = 0.9) -> tuple[PinnedTree, Array]:
    """
    Return a crank whose rod drives a slider along x, and a closed position.

    :param crank: length of the crank, m.
    :param rod_length: length of the rod, m.
    """
    builder = ModelBuilder('slider_crank', gravity=DOWN)
    _chain(builder, ('crank', 'rod'), ((crank, 1.0, 0.02), (rod_length, 2.0, 0.15)))
    builder.add_body('slider', 'base', Prismatic((1.0, 0.0, 0.0)), None, rod(0.0, 3.0, 0.1))
    builder.add_frame('rod_end', 'rod', xlt(rod_length, 0.0, 0.0))
    system = PinnedTree(Dynamics(builder.build()), [Pin('rod_end', 'slider', (0, 1))])
    tilt = -math.asin(crank * math.sin(1.0) / rod_length)
    reach = crank * math.cos(1.0) + rod_length * math.cos(tilt)
    return system, np.array([1.0, tilt - 1.0, reach])
