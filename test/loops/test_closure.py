# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Closed positions: found from anywhere near, all ways to assemble, none where there is none."""

import dataclasses

from loop_rig import MECHANISMS, robot
import numpy as np
import pytest
import rbd_ros
from rbd_ros.joints import Revolute, Spherical
from rbd_ros.model import positions
from rbd_ros.samples import mechanisms
from rbd_ros.spatial import RigidInertia, Sym3, Vec3, xlt

pytestmark = pytest.mark.slow


@pytest.mark.parametrize('name', MECHANISMS)
def test_assembly_closes_all_loops(name):
    """From a position that is off by a tenth the loops close to the last digits."""
    made, q = robot(name)
    rng = np.random.default_rng(4)
    off = positions.integrate(
        made.model, q.tolist(), rng.uniform(-0.1, 0.1, made.model.nv).tolist())
    assert np.abs(made.loop_error(off)).max() > 1e-3
    found = made.assemble(off)
    assert found.success and found.error < 1e-12 and found.iterations < 20
    assert np.linalg.norm(positions.difference(
        made.model, off, found.q.tolist())) < 1.0


def test_assembly_modes_of_a_four_bar():
    """With the crank held there are two, elbow up and elbow down."""
    made, q = robot('four_bar')
    modes = made.assemblies(q, ['joint_1'])
    assert len(modes) == 2
    np.testing.assert_allclose(modes[0], q, atol=1e-12)
    for mode in modes:
        assert mode[0] == q[0] and np.abs(made.loop_error(mode)).max() < 1e-12
    # they are mirror images in the line from the crank's tip to the far pivot
    tips = [made.pose(mode, 'bar_3')[:2, 3] for mode in modes]
    tip, pivot = made.pose(q, 'bar_2')[:2, 3], np.array([0.9, 0.0])
    line = (pivot - tip) / np.linalg.norm(pivot - tip)
    mirrored = tip + 2.0 * line * (line @ (tips[0] - tip)) - (tips[0] - tip)
    np.testing.assert_allclose(tips[1], mirrored, atol=1e-10)


def test_assembly_within_joint_limits():
    """Limits that only one of two modes keeps leave that one, from wherever the search starts."""
    model, q = mechanisms.four_bar()
    narrow = dataclasses.replace(model, lower=(-10.0, -10.0, 0.0), upper=(10.0, 10.0, 3.0))
    made = rbd_ros.Dynamics(narrow, backend='python')
    mode, = made.assemblies([0.9, 0.0, 1.0], ['joint_1'], starts=20)
    assert 0.0 < mode[2] < 3.0 and mode[2] == pytest.approx(-q[2], rel=1e-9)
    assert not made.assemble([0.9, q[1], 0.0], ['joint_1', 'joint_2']).success
    # a closed position beyond the limits is no answer, and a joint that is held stays there
    assert 0.0 <= made.assemble(q).q[2] <= 3.0
    low = dataclasses.replace(model, upper=(0.5, 10.0, 10.0))
    held = rbd_ros.Dynamics(low, backend='python').assemble([0.9, q[1] + 0.1, q[2]], ['joint_1'])
    assert held.success and held.q[0] == 0.9


def test_what_cannot_be_closed():
    """Bars too short, an axis the wrong way round and a rigid frame are named."""
    builder = rbd_ros.ModelBuilder('short')
    builder.add_body('a', 'base', Revolute(), None, mechanisms.rod(0.2, 1.0))
    builder.add_body('b', 'a', Revolute(), xlt(0.2, 0.0, 0.0), mechanisms.rod(0.2, 1.0))
    builder.add_loop_joint('far', 'base', 'b', Spherical(), xlt(1.0, 0.0, 0.0), xlt(0.2, 0.0, 0.0))
    short = rbd_ros.Dynamics(builder.build(), backend='python')
    with pytest.raises(rbd_ros.LoopError, match=(
            r'"short" cannot be assembled from any of \d+ starts: loop joint "far" of "short" '
            r'stays open by 0\.[56]\d* \(m or rad\)')):
        short.forward_dynamics(np.zeros(2), np.zeros(2), np.zeros(2))
    assert short.assemblies([0.3, 0.4], starts=5) == []
    result = short.assemble([0.3, 0.4])
    assert not result.success and result.error > 0.5
    with pytest.raises(rbd_ros.LoopError, match='"far"'):
        result.require()
    builder = rbd_ros.ModelBuilder('triangle')
    ball = RigidInertia.from_com(1.0, Vec3.zero(), Sym3.diagonal(1.0, 1.0, 1.0))
    builder.add_body('a', 'base', Revolute(), None, ball)
    builder.add_body('b', 'base', Revolute(), xlt(0.5, 0.0, 0.0), ball)
    builder.add_loop_joint('tie', 'a', 'b', Revolute(), xlt(0.3, 0.0, 0.0), xlt(0.4, 0.0, 0.0))
    rigid = rbd_ros.Dynamics(builder.build(), backend='python')
    with pytest.raises(rbd_ros.LoopError, match=(
            '"triangle" cannot move: its loop joints take all 2 freedoms')):
        rigid.forward_dynamics(np.zeros(2), np.zeros(2), np.zeros(2))
    # hinged frames that meet upside down: no error delta, but no closed loop either
    turned = rbd_ros.ModelBuilder('turned')
    turned.add_body('a', 'base', Revolute((1.0, 0.0, 0.0)), None, ball)
    turned.add_loop_joint('hinge', 'base', 'a', Revolute())
    upside = rbd_ros.Dynamics(turned.build(), backend='python')
    found = upside.assemble([np.pi])
    assert found.error < 1e-9 and not found.success
    assert 'loop joint "hinge" of "turned" is closed the wrong way round' in found.text


@pytest.mark.seed('RBDA 10-07')
def test_spanning_tree_of_minimum_depth():
    """A ring of bodies becomes two branches of half its length, and moves as the chain does."""
    def ring(spanning_tree):
        builder = rbd_ros.ModelBuilder('ring')
        for k in range(1, 6):
            builder.add_body(f'b{k}', f'b{k - 1}' if k > 1 else 'base', Revolute(),
                             xlt(0.4, 0.0, 0.0), mechanisms.rod(0.4, 1.0), joint_name=f'j{k}')
        builder.add_joint('last', 'b5', 'base', Revolute(), xlt(0.4, 0.0, 0.0))
        return builder.build(spanning_tree)
    chain, branched = ring('order'), ring('depth')
    assert max(map(len, chain.support)) == 5 and max(map(len, branched.support)) == 3
    assert len(chain.loops) == len(branched.loops) == 1
    one, two = (rbd_ros.Dynamics(model, backend='python') for model in (chain, branched))
    q = one.assemble([0.6, 1.0, 1.0, 1.0, 1.0]).require()
    qdd = one.forward_dynamics(q, np.zeros(5), np.zeros(5))
    other = np.zeros(5)
    for name in ('j1', 'j2', 'j3', 'j4', 'j5'):
        if name in branched.joint_names:
            other[branched.position_slice(name)] = q[chain.position_slice(name)]
    # the last joint, turned round, is one of the branched tree
    other[branched.position_slice('last')] = -q.sum()
    other = two.assemble(other).require()
    found = two.forward_dynamics(other, np.zeros(5), np.zeros(5))
    for name in set(branched.joint_names) & set(chain.joint_names):
        assert found[branched.velocity_slice(name)] == pytest.approx(
            qdd[chain.velocity_slice(name)], rel=1e-8)
