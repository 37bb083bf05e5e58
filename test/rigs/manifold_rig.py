# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Mechanisms and states that the tests of constrained systems share."""

from functools import cache

import numpy as np
from rbd_ros import Dynamics, ModelBuilder
from rbd_ros.joints import Revolute, Spherical, Universal
from rbd_ros.manifold import projection, underlying
from rbd_ros.manifold.constrained import Pin, PinnedTree
from rbd_ros.manifold.system import State
from rbd_ros.model import positions
from rbd_ros.samples import families, thesis
from rbd_ros.spatial.constant import xlt

START = np.array(thesis.FIVE_BAR_START)
SINGULAR = np.array(thesis.FIVE_BAR_SINGULAR)
SWING = np.array(thesis.FIVE_BAR_SWING)
#: The hanging equilibrium of the five-bar.
HANGING = np.array([4.815082, -2.976091, 5.746795, -2.976091])
five_bar = cache(thesis.five_bar)
virtual = cache(thesis.five_bar_with_virtual_link)
parallel = cache(thesis.parallel_four_bar)
four_bar = cache(thesis.four_bar)
slider_crank = cache(thesis.slider_crank)
NONE = np.zeros(4)
#: A state of the five-bar in motion.
MOVING = State(START, np.array([0.7, -0.7702712101, 0.5108136433, -0.4]))


def moving_five_bar():
    """Return the five-bar and a state in motion, exactly on the manifold."""
    system = five_bar()
    return system, State(START, projection.project_velocity(system, START, MOVING.qd))


@cache
def spatial():
    """Return an arm of ball, universal and revolute joints, its end pinned in space: nq = 7."""
    rng = np.random.default_rng(3)
    builder = ModelBuilder('pinned_arm')
    inertia = [families.random_inertia(rng) for _ in range(3)]
    builder.add_body('upper', 'base', Spherical(), None, inertia[0])
    builder.add_body('middle', 'upper', Universal((1.0, 0.0, 0.0), (0.0, 0.6, 0.8)),
                     xlt(0.7, 0.1, 0.0), inertia[1])
    builder.add_body('lower', 'middle', Revolute((0.0, 0.8, 0.6)), xlt(0.6, 0.0, 0.2),
                     inertia[2])
    builder.add_frame('end', 'lower', xlt(0.5, 0.1, -0.1))
    builder.add_frame('hook', 'base', xlt(0.9, 0.4, -0.2))
    return PinnedTree(Dynamics(builder.build()), [Pin('end', 'hook')])


def spatial_state(seed=1):
    """Return the pinned arm and a random state of it on the manifold."""
    system, rng = spatial(), np.random.default_rng(seed)
    q = np.array(positions.random_position(system.model, rng))
    q, _ = projection.project_position(system, q, tolerance=1e-13, largest=0.3)
    return system, State(q, projection.project_velocity(system, q, rng.normal(size=system.nv)))


def lagrange(system):
    """Return the underlying equation of a system without joint forces, as a function."""
    def acceleration(q, qd):
        return underlying.acceleration(system, q, qd, np.zeros(system.nv)).qdd
    return acceleration


def equilibrium():
    """Return the five-bar at rest where it hangs, to rounding."""
    system, q = five_bar(), HANGING
    for _ in range(20):     # Newton's method in the tangent space
        q, _ = projection.project_position(system, q, tolerance=1e-13)
        free = np.linalg.svd(system.jacobian(q))[2][2:].T
        multipliers = np.linalg.lstsq(system.jacobian(q).T, system.bias(q, NONE), rcond=None)[0]
        slope = system.dynamics_derivatives(q, NONE, NONE)[0]
        bend = np.stack([multipliers @ system.jacobian_derivative(q, e) for e in np.eye(4)])
        left = system.bias(q, NONE) - system.jacobian(q).T @ multipliers
        q = q - free @ np.linalg.solve(free.T @ (slope - bend) @ free, free.T @ left)
    return system, State(projection.project_position(system, q, tolerance=1e-13)[0], NONE)
