# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The made-up robots are what tests and benchmarks take them for."""

import numpy as np
import pytest

from rbd_ros.algorithms import kinematics
from rbd_ros.model import connectivity, positions
from rbd_ros.samples import families


@pytest.mark.parametrize('seed', range(3))
def test_random_tree_of_forty_bodies(seed):
    """The same seed gives the same tree, another seed another one; all joint types occur."""
    tree = families.random_tree(40, seed)
    assert tree == families.random_tree(40, seed) != families.random_tree(40, seed + 1)
    assert tree.nb == 40 and connectivity.is_regular(tree.parent)
    assert len({joint.type_name for joint in tree.joint[1:]}) >= 8
    assert max(len(children) for children in tree.children) >= 2


@pytest.mark.parametrize('kind', families.JOINTS)
def test_each_joint_can_be_chosen(kind):
    """A tree of one joint type has that type only, about axes that are unit vectors."""
    tree = families.random_tree(4, 1, joints=(kind,))
    assert len({type(joint) for joint in tree.joint[1:]}) == 1
    q = positions.random_position(tree, np.random.default_rng(0))
    for X in kinematics.placements(tree, kinematics.links(tree, q)):
        E = np.array(X.E.to_list())
        np.testing.assert_allclose(E @ E.T, np.eye(3), atol=1e-12)


def test_random_inertia_is_physical():
    """Principal moments about the centre of mass are positive and obey the triangle rule."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        _, _, moments = families.random_inertia(rng).com_form()
        a, b, c = np.linalg.eigvalsh(np.array(moments.to_list()))
        assert a > 0.0 and a + b > c


@pytest.mark.seed('RBDA 10-09')
@pytest.mark.parametrize('n', [2, 6, 7])
def test_general_chain_is_general(n):
    """GU(n): no branch, revolute joints, no inertia or Denavit-Hartenberg parameter is zero."""
    chain = families.general_chain(n)
    assert chain.parent == (-1, *range(n)) and chain.nv == n
    assert {joint.type_name for joint in chain.joint[1:]} == {'revolute'}
    for i in range(1, n + 1):
        inertia = chain.inertia[i]
        numbers = [inertia.m, *inertia.h, *inertia.I.entries()]
        if i > 1:                                     # the base is aligned with joint 1
            X = chain.X_T[i]
            numbers += [*X.r, *X.E.rows[1][1:]]       # a, d and both parts of the twist
        assert not {0.0, 1.0, -1.0} & set(numbers)


@pytest.mark.parametrize('branching', [1, 2, 3])
def test_regular_tree_branches_as_told(branching):
    """Bodies that have children have the given number of them, but for one, and lighter ones."""
    tree = families.regular_tree(20, branching)
    counts = [len(children) for children in tree.children[1:] if children]
    assert len([count for count in counts if count != branching]) <= 1
    assert max(counts) == branching
    assert tree.children[0] == (1,)
    assert all(tree.inertia[k].m < tree.inertia[above].m
               for k, above in enumerate(tree.parent) if above > 0)
