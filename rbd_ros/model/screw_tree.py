# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A robot as screws: home poses M_i, screw axes S_i and inertias G_i (Modern Robotics, 8 and 9).

The convention of that book and ours agree in the order of twists (angular first) and wrenches
(moment first); Ad(T_BA) there is the transform from A to B here. They differ in the frames: there
each link has a frame at its centre of mass, and the joint is the exponential of a constant screw.
The converters lead from a :class:`rbd_ros.Model` to that form and back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.compiler import Array
from rbd_ros.errors import ModelError, ShapeError
from rbd_ros.joints import Helical, Joint, Prismatic, Revolute
from rbd_ros.model.builder import ModelBuilder
from rbd_ros.model.model import Frame, Model
from rbd_ros.spatial import decompose, Motion, RigidInertia, Transform, Vec3
from rbd_ros.spatial.exponential import displacement, from_homogeneous, homogeneous
from rbd_ros.spatial.matrices import inertia_matrix, motion_matrix, rigid_inertia

#: Screws that differ by less than this are the same: rounding of a few products.
SAME = 1.0e-12


@dataclass(frozen=True)
class ScrewTree:
    """
    Links 1..n, each on one screw; entry 0 of each list stands for the base.

    :param parent: parent of each link; a chain is -1, 0, 1, ...
    :param M: from the parent's frame to the link's, at home (theta = 0): Ad(M_{i,i-1}).
    :param A: screw axis of the joint in the frame of its link, A_i = Ad(M_i^-1) S_i (9.40).
    :param G: inertia of each link in its own frame; diag(I_c, m 1) where that is at its
        centre of mass.
    :param tip: the link that carries the frame {n+1} of the tool, and the transform from its
        frame to that one.
    :param gravity: acceleration of free fall, base coordinates.
    :param order: for each link, the place of its variable in the tree coordinates of the model.
    """

    parent: tuple[int, ...]
    M: tuple[Transform, ...]
    A: tuple[Motion, ...]
    G: tuple[RigidInertia, ...]
    tip: tuple[int, Transform]
    gravity: Vec3
    order: tuple[int, ...]

    @property
    def n(self) -> int:
        """Return the number of joints."""
        return len(self.parent) - 1

    @property
    def serial(self) -> bool:
        """Return whether it is a chain with the tool on its last link."""
        return self.parent == tuple(range(-1, self.n)) and self.tip[0] == self.n

    def home(self, link: int) -> Transform:
        """Return the transform from base to link coordinates at home."""
        X = Transform.identity()
        while link > 0:
            X = X @ self.M[link]
            link = self.parent[link]
        return X

    def space_screws(self) -> list[Motion]:
        """Return S_i of links 1..n: the axes at home in base coordinates (9.49)."""
        return [self.home(i).inv_apply(self.A[i]) for i in range(1, self.n + 1)]


class ScrewLists(NamedTuple):
    """
    A chain as the functions of the package ``modern_robotics`` want it.

    :param M: M_01, M_12, ..., M_n,n+1: 4x4 poses of each frame in the one before.
    :param G: n matrices 6x6.
    :param S: screw axes in base coordinates, 6 x n.
    """

    M: list[Array]
    G: list[Array]
    S: Array

    @property
    def end(self) -> Array:
        """Return M, the pose of the tool at home."""
        T = np.eye(4)
        for M in self.M:
            T = T @ M
        return T


def from_lists(
    M: Sequence[ArrayLike], G: Sequence[ArrayLike], S: ArrayLike, *,
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
) -> ScrewTree:
    """
    Return the chain of given M_i, G_i, S_i (9.49 to 9.51, with Ad(M_i^-1) in the last).

    :param M: n + 1 poses, each in the frame before: M_01, M_12, ..., M_n,n+1.
    :param G: n inertias 6x6, each in the frame of its link.
    :param S: screw axes in base coordinates, 6 x n; w of unit length, or zero and v of unit
        length.
    """
    screws = np.asarray(S, dtype=float)
    n = len(G)
    if screws.shape != (6, n) or len(M) != n + 1:
        raise ShapeError(f'{n} inertias need a 6 x {n} matrix of screw axes and {n + 1} poses, '
                         f'got {screws.shape} and {len(M)}')
    steps = [from_homogeneous(np.asarray(T, dtype=float).tolist()) for T in M]
    axes, X = [Motion.zero()], Transform.identity()
    for i in range(n):
        X = steps[i] @ X
        axes.append(X @ Motion.from_list(screws[:, i].tolist()))
    inertias = [RigidInertia.zero(), *(_inertia(each, i) for i, each in enumerate(G, 1))]
    g = Vec3(*(float(x) for x in gravity))
    return ScrewTree(tuple(range(-1, n)), (Transform.identity(), *steps[:n]), tuple(axes),
                     tuple(inertias), (n, steps[n]), g, tuple(range(n)))


def _inertia(matrix: ArrayLike, i: int) -> RigidInertia:
    values = np.asarray(matrix, dtype=float)
    if values.shape != (6, 6):
        raise ShapeError(f'G_{i} must be 6 x 6, got {values.shape}')
    found = rigid_inertia(values)
    wrong = np.abs(inertia_matrix(found) - values).max()
    if not wrong <= 1e-9 * max(1.0, np.abs(values).max()):
        raise ModelError(f'G_{i} is not the inertia of a rigid body: it must be symmetric, with '
                         'm 1 below and m [c] next to the rotational inertia')
    return found


def to_lists(tree: ScrewTree) -> ScrewLists:
    """Return M_i, G_i, S_i of a chain, for the package ``modern_robotics``."""
    if not tree.serial:
        raise ModelError('M_i, S_i, G_i as lists describe a chain with the tool at its end; this '
                         f'tree has the parents {tree.parent[1:]} and the tool on link '
                         f'{tree.tip[0]}')
    poses = [np.array(homogeneous(X)) for X in (*tree.M[1:], tree.tip[1])]
    S = np.array([s.to_list() for s in tree.space_screws()]).reshape(-1, 6).T
    return ScrewLists(poses, [inertia_matrix(G) for G in tree.G[1:]], S)


def from_model(model: Model, tool: str | None = None, *, at_com: bool = True) -> ScrewTree:
    """
    Return a model as screws; a joint of several becomes links without mass between.

    Rotor inertias, friction and limits have no place there. The variables are the tree
    coordinates of the model, ``q[order]``.

    :param tool: frame {n+1}; by default that of the last body.
    :param at_com: put the frame of each link at its centre of mass, as the book does; False
        leaves it where the model has it.
    :raises ModelError: for a joint that is no product of constant screws, such as a ball joint
        with a quaternion, or moves with time.
    """
    model.refuse_loops()
    shift = [Transform.identity()]
    parent, M, A, G, order = [-1], [Transform.identity()], [Motion.zero()], \
        [RigidInertia.zero()], []
    last = [0]
    for i in range(1, model.nb + 1):
        inertia, p = model.inertia[i], model.parent[i]
        heavy = at_com and inertia.m > 0.0
        shift.append(Transform.translation(inertia.com_form()[1]) if heavy
                     else Transform.identity())
        link, step = last[p], shift[i] @ model.X_T[i] @ shift[p].inverse()
        for column, screw in _screws(model, i):
            parent.append(link)
            M.append(step)
            A.append(shift[i] @ screw)
            G.append(RigidInertia.zero())
            order.append(model.v_index[i].start + column)
            link, step = len(parent) - 1, Transform.identity()
        G[link] = shift[i] @ inertia
        last.append(link)
    frame = Frame('', model.nb, Transform.identity()) if tool is None else model.frame(tool)
    tip = last[frame.body], frame.placement @ shift[frame.body].inverse()
    return ScrewTree(tuple(parent), tuple(M), tuple(A), tuple(G), tip, Vec3(*model.gravity),
                     tuple(order))


def _screws(model: Model, i: int) -> list[tuple[int, Motion]]:
    """
    Return the constant screws whose exponentials multiply to a joint, in the order of the path.

    They are the columns of S at home, in one order or the other, if these give the transform of
    the joint and its S elsewhere too.
    """
    joint = model.joint[i]
    name = f'joint "{model.joint_names[i - 1]}"'
    if joint.time_dependent:
        raise ModelError(f'{name} moves with time and has no constant screw')
    home = [0.0] * joint.nq
    if joint.nq != joint.nv or not joint.additive or joint.neutral() != home:
        raise ModelError(f'{name} ({joint.type_name}) is no product of constant screws: its '
                         'velocities are not the rates of its positions. Use one-axis joints, '
                         'universal or roll-pitch-yaw in its place')
    columns = list(enumerate(joint.subspace(home)))
    for ordered in (columns, columns[::-1]):
        if all(_is_product(joint, ordered, phase) for phase in (0.3, -0.8)):
            return ordered
    raise ModelError(f'{name} ({joint.type_name}) is no product of constant screws')


def _is_product(joint: Joint, ordered: Sequence[tuple[int, Motion]], phase: float) -> bool:
    """Compare a joint with the product of exponentials of its screws, away from home."""
    q = [phase + 0.37 * k for k in range(joint.nq)]
    X, S = Transform.identity(), [Motion.zero()] * joint.nv
    for k, screw in ordered:
        step = displacement(screw, q[k])
        S = [step @ s for s in S]
        S[k] = step @ screw
        X = step @ X
    wrong = motion_matrix(X) - motion_matrix(joint.transform(q))
    away = [np.array(s.to_list()) - np.array(t.to_list())
            for s, t in zip(S, joint.subspace(q), strict=True)]
    return max(np.abs(x).max(initial=0.0) for x in (wrong, *away)) < SAME


def to_model(tree: ScrewTree, name: str = 'screws') -> Model:
    """
    Return the model of a tree of screws, each link with its frame under the name ``link_<i>``.

    The frame of the tool is ``tool``; joints are revolute, prismatic or helical.
    """
    builder = ModelBuilder(name, gravity=[float(x) for x in tree.gravity])
    for i in range(1, tree.n + 1):
        joint, at_axis = _joint(tree.A[i], i)
        builder.add_body(f'link_{i}', inertia=tree.G[i])
        above = f'link_{tree.parent[i]}' if tree.parent[i] else 'base'
        builder.add_joint(f'joint_{i}', above, f'link_{i}', joint, at_axis @ tree.M[i], at_axis)
    link, X = tree.tip
    builder.add_frame('tool', f'link_{link}' if link else 'base', X)
    return builder.build()


def _joint(A: Motion, i: int) -> tuple[Joint, Transform]:
    """Return the joint of a screw axis, and the transform from the link's frame to the axis."""
    screw = decompose(A)
    if abs(screw.magnitude - 1.0) > 1e-9:
        raise ModelError(f'the screw axis of joint {i} has length {screw.magnitude:.9g}; w must '
                         'be a unit vector, or zero and v a unit vector')
    x, y, z = (float(x) for x in screw.direction)
    axis = x, y, z
    at_axis = Transform.translation(screw.point)
    if math.isinf(screw.pitch):
        return Prismatic(axis), at_axis
    if abs(screw.pitch) < SAME:
        return Revolute(axis), at_axis
    return Helical(axis, screw.pitch), at_axis
