# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Numbers that no robot has are refused by the builder, which says where they are."""

import numpy as np
import pytest
import rbd_ros
from rbd_ros.joints import Revolute
from rbd_ros.model.builder import JointData, ModelBuilder
from rbd_ros.model.coupling import Mimic
from rbd_ros.spatial import Mat3, RigidInertia, rotx, Sym3, Transform, Vec3, xlt

BALL = RigidInertia(1.0, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(0.1, 0.1, 0.1))
NAN, INF = float('nan'), float('inf')
HUGE = 10**400          # no float has it


def joined(**data):
    """Return a robot of one joint with these properties."""
    return ModelBuilder().add_body('a', 'base', Revolute(), None, BALL,
                                   data=JointData(**data)).build()


def placed(E, r=BALL.h):
    """Return a robot whose joint is placed so."""
    return ModelBuilder().add_body('a', 'base', Revolute(), Transform(E, r), BALL).build()


def heavy(m, h, *moments):
    """Return a robot whose body has this inertia about its frame."""
    return ModelBuilder().add_body('a', 'base', Revolute(), None, RigidInertia(
        m, Vec3(*h), Sym3(*moments))).build()


def followed(*law):
    """Return a robot whose second joint follows the first."""
    builder = ModelBuilder().add_body('a', 'base', Revolute(), None, BALL)
    return builder.add_body('b', 'a', Revolute(), None, BALL, mimic=Mimic('a_joint', *law)).build()


@pytest.mark.parametrize('make, words', [
    (lambda: placed(Mat3.identity() * 2.0), 'placement of joint "a_joint": E = .* not a rotation'),
    (lambda: placed(Mat3(((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)))),
     'not a rotation .* the determinant is -1'),
    (lambda: placed(Mat3(((1.0, 2e-6, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))), 'by 2e-06'),
    (lambda: placed(Mat3.identity(), Vec3(NAN, 0.0, 0.0)), '"a_joint": the origin is not finite'),
    (lambda: placed(Mat3.identity() * NAN), '"a_joint": the rotation is not finite'),
    (lambda: ModelBuilder().add_frame('f', 'base', xlt(INF, 0.0, 0.0)),
     'placement of frame "f": the origin is not finite'),
    (lambda: heavy(1.0, (0.0, 0.0, 0.0), -0.1, 0.0, 0.0, 0.1, 0.0, 0.1), 'moment .* is -0.1 kg'),
    (lambda: heavy(1.0, (0.5, 0.0, 0.0), 0.1, 0.0, 0.0, 0.1, 0.0, 0.1), 'moment .* is -0.15 kg'),
    (lambda: heavy(0.0, (0.5, 0.0, 0.0), 0.1, 0.0, 0.0, 0.1, 0.0, 0.1), 'without mass'),
    (lambda: heavy(0.0, (0.0, 0.0, 0.0), 0.1, 0.0, 0.0, 0.1, 0.0, -0.1), 'moment .* is -0.1 kg'),
    (lambda: heavy(NAN, (0.0, 0.0, 0.0), 0.1, 0.0, 0.0, 0.1, 0.0, 0.1), '"a": the inertia is not'),
    (lambda: heavy(HUGE, (0.0, 0.0, 0.0), 0.1, 0.0, 0.0, 0.1, 0.0, 0.1), '"a": the inertia is no'),
    (lambda: ModelBuilder(base_inertia=BALL * -1.0), 'body "base": mass -1.0 is negative'),
    (lambda: joined(rotor_inertia=INF), '"a_joint": rotor_inertia inf must be finite'),
    (lambda: joined(damping=INF), '"a_joint": damping inf must be finite'),
    (lambda: joined(friction=INF), '"a_joint": friction inf must be finite'),
    (lambda: joined(gear_ratio=0.0), '"a_joint": gear_ratio 0 leaves the drive without effect'),
    (lambda: joined(gear_ratio=-INF), '"a_joint": gear_ratio -inf must be finite'),
    (lambda: joined(lower=INF), '"a_joint": lower limit inf leaves no room'),
    (lambda: joined(upper=-INF), '"a_joint": upper limit -inf leaves no room'),
    (lambda: joined(effort=HUGE), 'effort 1000.* of a joint must be a number'),
    (lambda: joined(lower='low'), "lower 'low' of a joint must be a number"),
    (lambda: followed(NAN), '"b_joint": multiplier and offset of mimic is not finite'),
    (lambda: followed(1.0, INF), '"b_joint": multiplier and offset of mimic is not finite'),
    (lambda: followed('x'), '"b_joint": multiplier and offset of mimic is not finite'),
])
def test_numbers_that_no_robot_has(make, words):
    """The builder refuses them, and says where they are."""
    with pytest.raises(rbd_ros.ModelError, match=words):
        make()


def test_numbers_that_a_robot_may_have():
    """Points, rods, no limits, a rotation in single precision, a gear that turns the other way."""
    joined(effort=INF, velocity=INF, lower=-INF, upper=INF, gear_ratio=-50.0)
    heavy(2.0, (1.0, 0.0, 0.0), 0.0, 0.0, 0.0, 0.5, 0.0, 0.5)       # a point at (0.5, 0, 0)
    rough = np.array(rotx(0.7).E.rows, np.float32)
    placed(Mat3(rough))
    rng = np.random.default_rng(3)
    for _ in range(50):         # particles, three in a plane: the smallest moment is rounding
        masses, places = rng.uniform(1e-6, 1e3, 2), rng.normal(size=(2, 3)) * 10.0**rng.integers(3)
        inertia = RigidInertia.zero()
        for m, place in zip(masses, places, strict=True):
            inertia = inertia + RigidInertia.from_com(m, Vec3(*place), Sym3.zero())
        heavy(inertia.m, inertia.h, *inertia.I.entries())
