# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Mechanisms with closed loops, compiled once, and states of motion that their loops allow."""

import functools

import numpy as np
import rbd_ros
from rbd_ros.joints import Revolute
from rbd_ros.model import positions
from rbd_ros.samples import mechanisms
from rbd_ros.spatial import RigidInertia, Sym3, Transform, Vec3, xlt

MECHANISMS = {
    'four_bar': mechanisms.four_bar, 'five_bar': mechanisms.five_bar,
    'spatial_four_bar': mechanisms.spatial_four_bar, 'delta': mechanisms.delta,
    'two_arm_grasp': mechanisms.two_arm_grasp, 'ladder': lambda: mechanisms.ladder(3)}


@functools.cache
def robot(name):
    """Return a compiled mechanism and a closed position of it."""
    model, q = MECHANISMS[name]()
    made = rbd_ros.Dynamics(model, closed_near=q)
    return made, made.assemble(q).require()


def moving(name, seed=0):
    """Return a robot in some motion that its loops allow: position, velocity, forces."""
    made, q = robot(name)
    rng = np.random.default_rng(seed)
    step = 0.2 * made.consistent_velocity(q, rng.normal(size=made.model.nv))
    q = made.assemble(positions.integrate(made.model, q.tolist(), step.tolist())).require()
    qd = made.consistent_velocity(q, rng.normal(size=made.model.nv))
    return made, q, qd, rng.normal(size=made.model.nv)


@functools.cache
def parallelogram():
    """Return a linkage that is singular when folded flat, in Python."""
    builder = rbd_ros.ModelBuilder('parallelogram', gravity=mechanisms.DOWN)
    rod = mechanisms.rod
    builder.add_body('left', 'base', Revolute(), None, rod(0.5, 1.0))
    builder.add_body('top', 'left', Revolute(), xlt(0.5, 0.0, 0.0), rod(1.0, 1.0))
    builder.add_body('right', 'base', Revolute(), xlt(1.0, 0.0, 0.0), rod(0.5, 1.0))
    builder.add_loop_joint('pin', 'top', 'right', Revolute(), xlt(1.0, 0.0, 0.0),
                           xlt(0.5, 0.0, 0.0))
    return rbd_ros.Dynamics(builder.build(), backend='python', closed_near=[1.0, -1.0, 1.0])


def four_bar(last=None, *, merged=False):
    """
    Return the four-bar of the reference numbers, closed by a hinge or another joint.

    :param merged: whether the loop joint connects links that are fixed to base and bar.
    """
    builder = rbd_ros.ModelBuilder('four_bar', gravity=(0.0, -9.81, 0.0))
    for i, (length, m) in enumerate(((0.3, 1.0), (0.8, 2.0), (0.6, 1.5)), 1):
        moment = m * length**2 / 12.0
        start = (0.0, 0.3, 0.8)[i - 1]
        builder.add_body(
            f'bar_{i}', f'bar_{i - 1}' if i > 1 else 'base', Revolute(),
            Transform.translation(Vec3(start, 0.0, 0.0)),
            RigidInertia.from_com(
                m, Vec3(length / 2.0, 0.0, 0.0), Sym3.diagonal(0.001, moment, moment)),
            joint_name=f'joint_{i}')
    X_P, X_S = (Transform.translation(Vec3(x, 0.0, 0.0)) for x in (0.9, 0.6))
    if merged:
        fixed = rbd_ros.joints.Fixed()
        builder.add_body('post', 'base', fixed, X_P, joint_name='stand')
        builder.add_body('tip', 'bar_3', fixed, X_S, joint_name='weld')
        builder.add_joint('close', 'post', 'tip', last or Revolute())
    else:
        builder.add_joint('close', 'base', 'bar_3', last or Revolute(), X_P, X_S)
    return builder.build()


#: A closed position of it, a velocity, and the acceleration without torques, by other means.
BAR_Q = [0.9, -0.4262239867, -2.0418464295]
BAR_QD = [1.3, -1.641238173, 0.6428154012]
BAR_QDD = [-16.3136955852, 21.1345466729, -7.6139929082]
