# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Jacobians of all bodies with their derivatives, by recursion over the tree (thesis 4.4.1).

The thesis has joints of one freedom, for which S x S = 0. Here a joint has any number: what it
carries turns with each of its variables, and its own columns change as S does.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from rbd_ros.algorithms.derivatives import joint_changes
from rbd_ros.algorithms.kinematics import links
from rbd_ros.compiler import Array, Graph, jacobian, Matrix, trace, Values
from rbd_ros.joints import Joint
from rbd_ros.model.model import Model
from rbd_ros.spatial import Motion


class BodyJacobians(NamedTuple):
    """
    Jacobians of all bodies in their own coordinates, angular rows first; n is ``tree_nv``.

    :param J: v_i = J_i qd, (nb + 1, 6, n).
    :param slopes: dJ_i/dq_j along each velocity variable j, (nb + 1, n, 6, n).
    :param rate: dJ_i/dt, entry by entry, (nb + 1, 6, n).
    :param rate2: d2J_i/dt2, (nb + 1, 6, n).
    """

    J: Array
    slopes: Array
    rate: Array
    rate2: Array


def body_jacobians(
    model: Model, q: Sequence[float], qd: Sequence[float], qdd: Sequence[float],
) -> BodyJacobians:
    """Return the Jacobians and their derivatives at tree positions, velocities, accelerations."""
    n, nb = model.tree_nv, model.nb
    tree = links(model, q)
    J, rate, rate2 = (np.zeros((nb + 1, 6, n)) for _ in range(3))
    slopes = np.zeros((nb + 1, n, 6, n))
    for i in range(1, nb + 1):
        p, at = model.parent[i], model.v_index[i]
        X = np.array(tree.Xup[i].to_list(), dtype=float)
        S = _columns(tree.S[i])
        own = _joint_rates(model.joint[i], q[model.q_index[i]], qd[at], qdd[at])
        v_J = S @ np.asarray(qd[at], float)
        a_J = S @ np.asarray(qdd[at], float) + own.rate @ np.asarray(qd[at], float)
        turn, XJ, XJd = ad(v_J), X @ J[p], X @ rate[p]

        J[i] = XJ
        rate[i] = XJd - turn @ XJ
        rate2[i] = X @ rate2[p] - 2.0 * turn @ XJd + (turn @ turn - ad(a_J)) @ XJ
        for matrix, part in ((J, S), (rate, own.rate), (rate2, own.rate2)):
            matrix[i][:, at] += part
        slopes[i] = X @ slopes[p]
        for k, j in enumerate(range(at.start, at.stop)):
            slopes[i][j] = -ad(S[:, k]) @ XJ
            slopes[i][j][:, at] += own.slopes[k]
    return BodyJacobians(J, slopes, rate, rate2)


class _JointRates(NamedTuple):
    slopes: Array       # dS/dq_k, (n, 6, n)
    rate: Array         # dS/dt, (6, n)
    rate2: Array        # d2S/dt2, (6, n)


def _joint_rates(
    joint: Joint, q: Sequence[float], qd: Sequence[float], qdd: Sequence[float],
) -> _JointRates:
    """Return how the columns of S of one joint change in the joint's moving coordinates."""
    n = joint.nv
    if type(joint).bias is Joint.bias:          # S is constant
        return _JointRates(np.zeros((n, 6, n)), np.zeros((6, n)), np.zeros((6, n)))

    rate, by_q, by_qd = _cached(joint) if isinstance(joint, Hashable) else _rates(joint)
    given, shape = (list(q), list(qd)), (n, 6, -1)
    now = np.array(rate.evaluate(*given), float).reshape(n, 6)
    turned = np.array(by_qd.evaluate(*given), float).reshape(shape)     # dS/dq_k, linear in qd
    bent = np.array(by_q.evaluate(*given), float).reshape(shape)
    rate2 = bent @ np.array(joint.q_dot(q, qd), float) + turned @ np.asarray(qdd, float)
    return _JointRates(turned.transpose(2, 1, 0), now.T, rate2.T)


def _rates(joint: Joint) -> tuple[Graph, Graph, Graph]:
    """Return dS/dt of a joint as a graph, and its derivatives by q and qd."""
    def rate(q: Values, qd: Values) -> dict[str, Matrix]:
        columns = [Motion.zero()] * joint.nv
        for change, speed in zip(joint_changes(joint, q, qd, None, 0.0), qd, strict=True):
            columns = [c + s * speed for c, s in zip(columns, change.S, strict=True)]
        return {'S': [column.to_list() for column in columns]}

    graph = trace(rate, {'q': (joint.nq,), 'qd': (joint.nv,)})
    return graph, jacobian(graph, 'S', 'q'), jacobian(graph, 'S', 'qd')


_cached = lru_cache(64)(_rates)


def _columns(motions: Sequence[Motion]) -> Array:
    return np.array([s.to_list() for s in motions], float).reshape(-1, 6).T


def ad(v: Array) -> Array:
    """Return the matrix of v x on motions, 6 x 6."""
    zero, one = np.zeros((3, 3)), np.eye(3)
    w, u = np.cross(v[:3], one).T, np.cross(v[3:], one).T
    return np.block([[w, zero], [u, w]])
