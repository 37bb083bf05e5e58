# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""No posture takes a frame farther from the base than the bound of its reach."""

from dataclasses import replace
import math
from pathlib import Path

import numpy as np
import pinocchio as pin
from pinocchio_trees import PinocchioTree
import pytest

from rbd_ros import load_urdf, Mimic
from rbd_ros.command_line.reach import reach
from rbd_ros.compiler import sin
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.joints import Planar, Prismatic, Revolute
from rbd_ros.model.builder import ModelBuilder
from rbd_ros.model.coupling import Gear
from rbd_ros.model.independent import JointData
from rbd_ros.model.positions import random_position
from rbd_ros.model.reach_bound import reach_bound
from rbd_ros.samples.families import random_inertia, random_transform, random_tree
from rbd_ros.spatial import Transform, Vec3

#: joints that turn, and that move along an axis
JOINTS = ('revolute', 'prismatic', 'prismatic', 'helical', 'spherical', 'universal',
          'roll_pitch_yaw')
URDF = Path(__file__).parents[2] / 'urdf'


def limited(seed: int, joints=JOINTS):
    """Return a random chain of six bodies whose joints have limits on both sides."""
    rng = np.random.default_rng(seed)
    model = random_tree(6, seed, joints=joints, branching=0.0)
    lower, upper = np.array(model.lower), np.array(model.upper)
    for name in model.joint_names:
        at = model.position_slice(name)
        if model.joint[model.joint_index(name)].nq == 1:
            lower[at], upper[at] = np.sort(rng.uniform(-2.0, 2.0, 2))
    return replace(model, lower=tuple(lower), upper=tuple(upper))


def distances(tree: PinocchioTree, positions, body: int) -> np.ndarray:
    """Return how far Pinocchio finds a body from the base."""
    found = []
    for q in positions:
        pin.forwardKinematics(tree.pin, tree.data, tree.position(np.array(q, float)))
        found.append(np.linalg.norm((tree.data.oMi[body] * tree.offset[body]).translation))
    return np.array(found)


def at_limits(model, rng):
    """Return a random position of which joints with one coordinate are at a limit."""
    q = np.array(random_position(model, rng))
    ends = np.where(rng.random(model.nq) < 0.5, model.lower, model.upper)
    return np.where(np.isfinite(ends), ends, q)


@pytest.mark.parametrize('seed', range(40))
def test_no_posture_is_beyond_the_bound(seed):
    """Of random chains, within and at their limits; it is at most all offsets and travels."""
    model, rng = limited(seed), np.random.default_rng(seed)
    tree, bound = PinocchioTree(model), reach_bound(model, 'body_6')
    positions = [*(random_position(model, rng) for _ in range(100)),
                 *(at_limits(model, rng) for _ in range(100))]
    assert distances(tree, positions, 6).max() <= bound * (1.0 + 1e-12)
    most = 0.0
    for i in range(1, 7):
        ends = model.lower[model.q_index[i]] + model.upper[model.q_index[i]]
        per_unit = {'prismatic': 1.0, 'helical': 0.3}.get(model.joint[i].type_name, 0.0)
        most += math.hypot(*model.X_T[i].r)
        most += per_unit * max(map(abs, ends)) if per_unit else 0.0
    assert bound <= most * (1.0 + 1e-12)


@pytest.mark.parametrize('seed', range(10))
def test_one_slide_reaches_its_bound(seed):
    """The bound of the first body is the reach itself, at one of the limits."""
    model = limited(seed, ('prismatic',))
    ends = distances(PinocchioTree(model), [model.lower, model.upper], 1)
    assert reach_bound(model, 'body_1') == pytest.approx(ends.max(), rel=1e-12)


def straight(*slides: tuple[float, float], mimic=None):
    """Return links of 1 m along x that turn about z, then slides along x, then a last one."""
    builder, rng = ModelBuilder('straight'), np.random.default_rng(1)
    along = Transform.translation(Vec3(1.0, 0.0, 0.0))
    builder.add_body('link', 'base', Revolute((0.0, 0.0, 1.0)), along, random_inertia(rng),
                     joint_name='turn')
    parent = 'link'
    for k, (low, high) in enumerate(slides):
        builder.add_body(f'slide_{k}', parent, Prismatic((1.0, 0.0, 0.0)), along,
                         random_inertia(rng), joint_name=f'slide_{k}',
                         data=JointData(lower=low, upper=high))
        parent = f'slide_{k}'
    builder.add_body('last', parent, Prismatic((1.0, 0.0, 0.0)), along, random_inertia(rng),
                     joint_name='last', data=JointData(lower=0.0, upper=0.5), mimic=mimic)
    return builder.add_body('tool', 'last', None, along).build()


def test_an_arm_that_stretches_out_reaches_its_bound():
    """Offsets and travels along one line simply add up, the frame on the last link too."""
    assert reach_bound(straight((-0.1, 0.25)), 'tool') == pytest.approx(4.0 + 0.25 + 0.5)
    assert reach_bound(straight((-3.0, 0.25)), 'tool') == pytest.approx(3.0 + 2.0 + 0.5)
    assert reach_bound(straight((-3.0, 0.25)), 'base') == 0.0


def test_joints_that_follow_and_joints_that_are_held():
    """A follower slides with its leader; a joint that is held has no travel but its position."""
    follows = straight((-0.5, 0.25), mimic=Mimic('slide_0', -2.0, 0.1))
    # from 0 to 0.5 m the last one may slide, which leaves slide_0 from -0.2 to 0.05 m
    assert reach_bound(follows, 'tool') == pytest.approx(4.0 + 0.05 + 0.5)
    model = straight((-math.inf, math.inf))
    assert reach_bound(model, 'tool') == math.inf
    assert reach_bound(model, 'tool', {'slide_0': 0.7}) == pytest.approx(4.0 + 0.7 + 0.5)
    assert reach_bound(model, 'tool', {'slide_0': 0.7, 'last': 0.0}) == pytest.approx(4.7)
    assert reach_bound(model, 'link') == pytest.approx(1.0)  # before the slide


def test_what_has_no_bound():
    """Laws that are not linear, and joints that move in a plane."""
    bent = straight((0.0, 0.2), mimic=Gear(('slide_0',), lambda x: sin(x)))
    assert reach_bound(bent, 'tool') == math.inf
    rng = np.random.default_rng(0)
    model = ModelBuilder('cart').add_body(
        'cart', 'base', Planar(), random_transform(rng), random_inertia(rng)).build()
    assert reach_bound(model, 'cart') == math.inf


@pytest.mark.parametrize('name, frame', [('iiwa14', 'tool0'), ('seven_joint_arm', 'tool0')])
def test_what_info_finds_is_within(name, frame):
    """The search of rbd info ends below the bound, and not far below."""
    model = load_urdf(URDF / f'{name}.urdf')
    found, bound = reach(Dynamics(model), frame), reach_bound(model, frame)
    assert 0.75 * bound < found <= bound * (1.0 + 1e-12)
