# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Connectivity graphs, regular numbering, index sets and the expanded parent array."""

from collections import Counter

import pytest

from rbd_ros.errors import ModelError
from rbd_ros.model import connectivity, spanning_trees

# base, crank, rod, slider: one loop of four joints (RBDA Fig 4.4)
CRANK_SLIDER = [(0, 1), (1, 2), (2, 3), (3, 0)]
BOOK_TREE = (-1, 0, 1, 1, 0, 3, 4, 4, 4)              # RBDA Fig 4.6 with lambda(7) = 4


@pytest.mark.seed('RBDA 4-01')
def test_disconnected_graph_is_refused():
    """A body without a path to the base is refused by name; one base reaches all others."""
    with pytest.raises(ModelError, match=r'not connected to the base "ground" .*: "moon"'):
        spanning_trees.spanning_tree(3, [(0, 1)], names=['ground', 'arm', 'moon'])
    found = spanning_trees.spanning_tree(3, [(2, 1), (0, 2)])
    assert sorted(found.order) == [1, 2]


@pytest.mark.seed('RBDA 4-03', 'RBDA 4-04')
@pytest.mark.parametrize(('count', 'arcs'), [
    (4, CRANK_SLIDER),
    (4, [(0, 1), (1, 2), (2, 3)]),
    (5, [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 1), (0, 4), (1, 3)]),
    (3, [(0, 1), (0, 1), (1, 2)]),
])
def test_chords_and_loops(count, arcs):
    """Joints less bodies is the number of loops, and each chord closes exactly one of them."""
    found = spanning_trees.spanning_tree(count, arcs)
    loops = spanning_trees.fundamental_loops(count, arcs)
    assert len(found.chords) == len(arcs) - (count - 1) == len(loops)
    for chord, loop in zip(found.chords, loops, strict=True):
        assert set(loop) & set(found.chords) == {chord}
        ends = Counter(node for arc in loop for node in arcs[arc])
        assert set(ends.values()) == {2}              # a closed walk: every node twice


@pytest.mark.seed('RBDA 4-03')
def test_loop_away_from_the_base():
    """A loop holds the joints around it, not those that lead from the base to it."""
    # 0 -> 1 -> 2, then around 2 -> 3 -> 4 and back to 2; and a branch 1 -> 5
    arcs = [(0, 1), (1, 2), (2, 3), (3, 4), (1, 5), (4, 2)]
    loop, = spanning_trees.fundamental_loops(6, arcs)
    assert loop[0] == 5 and sorted(loop[1:]) == [2, 3]
    # between two branches: up to where they part
    loop, = spanning_trees.fundamental_loops(6, [*arcs[:5], (5, 4)])
    assert loop[0] == 5 and sorted(loop[1:]) == [1, 2, 3, 4]


@pytest.mark.seed('RBDA 4-05', 'RBDA 4-06')
def test_crank_slider_has_eight_regular_numberings():
    """The book's crank-slider has four spanning trees with 1, 1, 3 and 3 numberings."""
    assert len(list(spanning_trees.spanning_trees(4, CRANK_SLIDER))) == 4
    per_tree = Counter()
    for nodes, joints in spanning_trees.regular_numberings(4, CRANK_SLIDER):
        assert nodes[0] == 0 and sorted(nodes) == [0, 1, 2, 3]
        chord = joints.index(0)
        per_tree[chord] += 1
        for arc, number in zip(CRANK_SLIDER, joints, strict=True):
            if number:                                # joint i connects body i to its parent
                numbers = sorted(nodes[node] for node in arc)
                assert numbers[1] == number and numbers[0] < number
    assert sorted(per_tree.values()) == [1, 1, 3, 3]


@pytest.mark.seed('RBDA 4-08', 'RBDA 4-09')
def test_parent_is_the_smaller_end():
    """The parent of a body is the smaller end of its joint, whichever way the joint points."""
    predecessor, successor = (-1, 0, 1, 2), (-1, 1, 2, 3)
    assert connectivity.parent_array(predecessor, successor) == (-1, 0, 1, 2)
    assert connectivity.parent_array((-1, 0, 2, 1), (-1, 1, 0, 3)) == (-1, 0, 0, 1)
    # Fig 4.6: joint 4 points at the base, so s(4) is not 4 and its parent is s(4)
    p, s = [*BOOK_TREE], [*range(len(BOOK_TREE))]
    p[4], s[4] = 4, 0
    assert connectivity.parent_array(p, s) == BOOK_TREE
    assert [i for i in range(1, 9) if s[i] != i] == [4]


@pytest.mark.seed('RBDA 4-10')
def test_index_sets_of_the_book():
    """Children, subtrees and supports of Fig 4.6 are those of the text."""
    children = connectivity.children_of(BOOK_TREE)
    subtree = connectivity.subtree_of(BOOK_TREE)
    support = connectivity.support_of(BOOK_TREE)
    assert children[:3] == ((1, 4), (2, 3), ()) and children[8] == ()
    assert subtree[1] == (1, 2, 3, 5) and subtree[2] == (2,) and subtree[8] == (8,)
    assert support[:4] == ((), (1,), (1, 2), (1, 3)) and support[8] == (4, 8)
    assert subtree[0] == tuple(range(9))


@pytest.mark.seed('RBDA 4-10', 'RBDA 4-11')
@pytest.mark.parametrize('parent', [
    BOOK_TREE, (-1, 0, 1, 2, 3), (-1, 0, 0, 0), (-1, 0, 1, 1, 2, 2)])
def test_support_and_subtree_are_inverse(parent):
    """Joint j supports body i exactly when i is in the subtree of j, so both sums agree."""
    support, subtree = connectivity.support_of(parent), connectivity.subtree_of(parent)
    bodies = range(1, len(parent))
    up = [(i, j) for i in bodies for j in support[i]]
    down = [(i, j) for j in bodies for i in subtree[j]]
    assert sorted(up) == sorted(down)                 # 4.3
    for i in bodies:
        assert set(connectivity.children_of(parent)[i]) <= set(subtree[i])


def test_numbering_against_the_order_is_seen():
    """A parent that comes after its child is not a regular numbering."""
    assert connectivity.is_regular(BOOK_TREE)
    assert not connectivity.is_regular((-1, 2, 0))


@pytest.mark.seed('RBDA 6-15')
def test_expanded_parent_of_the_book():
    """Table 6.4: bodies with several freedoms become chains of variables."""
    expanded = connectivity.expanded_parent((-1, 0, 1, 1, 2, 2, 3), (0, 1, 3, 1, 1, 1, 1))
    assert [k + 1 for k in expanded] == [0, 1, 2, 3, 1, 4, 4, 5]


@pytest.mark.seed('RBDA 6-15')
def test_expanded_parent_looks_through_joints_without_freedom():
    """A body behind a fixed joint keeps the ancestor variable that the book's table loses."""
    assert connectivity.expanded_parent((-1, 0, 0, 1, 3), (0, 1, 1, 0, 1)) == (-1, -1, 0)
    assert connectivity.expanded_parent((-1, 0, 1), (0, 1, 0)) == (-1,)


def _dense_factor_counts(pattern):
    """Count divisions and updates of the book's LTL on a pattern, without using lambda'."""
    n, divisions, updates = len(pattern), 0, 0
    for k in reversed(range(n)):
        below = [i for i in range(k) if pattern[k][i]]
        divisions += len(below)
        updates += len(below) * (len(below) + 1) // 2
    return divisions, updates


@pytest.mark.seed('RBDA 6-12', 'RBDA 6-18')
@pytest.mark.parametrize(('parent', 'freedoms', 'D1', 'D2', 'density'), [
    ((-1, 0, 1, 1, 2, 2, 3), (0, 1, 3, 1, 1, 1, 1), 17, 34, 0.65625),
    ((-1, 0, 1, 1, 2, 2, 3, 3), (0,) + (1,) * 7, 10, 14, 27 / 49),
    ((-1, *range(9)), (0,) + (1,) * 9, (81 - 9) // 2, (729 - 9) // 6, 1.0),
    ((-1, 0, 0, 0), (0, 1, 1, 1), 0, 0, 1 / 3),
])
def test_factorisation_cost(parent, freedoms, D1, D2, density):
    """D1, D2 and the density are the book's, and count what the pattern makes LTL do."""
    expanded = connectivity.expanded_parent(parent, freedoms)
    cost = connectivity.factor_cost(expanded)
    pattern = connectivity.sparsity(expanded)
    assert (cost.D1, cost.D2) == (D1, D2) == _dense_factor_counts(pattern)
    assert cost.nonzeros == sum(map(sum, pattern)) and cost.density == density
