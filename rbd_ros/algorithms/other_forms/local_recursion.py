# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Inverse dynamics by recursion in link axes, about centres of mass (Liu and Jain, section 7).

The 3-D form of the tutorial: velocities and classical accelerations of centres of mass outward,
forces and moments about joints inward, with joints that turn and slide. The form of the book,
:func:`rbd_ros.algorithms.rnea.newton_euler_3d`, keeps the origins of links in place of the
centres of mass and is the cheaper one. A star marks an equation that is mended.
"""

from __future__ import annotations

from typing import NamedTuple

from rbd_ros.algorithms import kinematics
from rbd_ros.algorithms.other_forms.link_jacobians import centre
from rbd_ros.compiler import Scalar, Values
from rbd_ros.model.model import Model
from rbd_ros.spatial import Vec3


class LocalRecursion(NamedTuple):
    """
    What the recursion in link axes finds, indexed by link.

    :param w: angular velocities.
    :param wd: their rates.
    :param v: velocities of the centres of mass.
    :param a: classical accelerations of the centres, with the offset -g of the base in them.
    :param f: force received from the parent.
    :param tau: moment received from the parent, about the joint: the origin of the link.
    :param Q: generalised forces.
    """

    w: list[Vec3]
    wd: list[Vec3]
    v: list[Vec3]
    a: list[Vec3]
    f: list[Vec3]
    tau: list[Vec3]
    Q: list[Scalar]


def local_recursion(
    model: Model, q: Values, qd: Values, qdd: Values, gravity: Vec3,
) -> LocalRecursion:
    """
    Return the inverse dynamics by the recursion in link axes about centres of mass (section 7).

    The joint may turn and slide: with u the velocity of the link's origin in the parent, the true
    acceleration has 2 w_p x u, where the printed (84) has once that. What a grounded root
    receives is the reaction of the ground.
    """
    model.refuse_loops()
    zero = Vec3.zero()
    tree = kinematics.links(model, q)
    w, wd, v, a, c = [zero], [zero], [zero], [-gravity], [zero]                         # 81, 85
    for i in range(1, model.nb + 1):
        p, joint, X = model.parent[i], model.joint[i], tree.Xup[i]
        q_i, qd_i = q[model.q_index[i]], qd[model.v_index[i]]
        v_J = joint.velocity(q_i, qd_i)
        a_J = kinematics.combine(joint.bias(q_i, qd_i), tree.S[i], qdd[model.v_index[i]])
        c.append(centre(model, i)[1])
        w_p, r = X.turn(w[p]), X.r - c[p]
        w.append(w_p + v_J.ang)                                                           # 78
        wd.append(X.turn(wd[p]) + a_J.ang + w_p.cross(v_J.ang))                           # 80
        v.append(X.turn(v[p] + w[p].cross(r)) + v_J.lin + w[i].cross(c[i]))           # 76, 83
        u = v_J.lin
        slide = a_J.lin + v_J.ang.cross(u) + w_p.cross(u) * 2.0                         # 84 *
        a.append(X.turn(a[p] + wd[p].cross(r) + w[p].cross(w[p].cross(r))) + slide
                 + wd[i].cross(c[i]) + w[i].cross(w[i].cross(c[i])))                      # 79
    f, tau = [zero] * (model.nb + 1), [zero] * (model.nb + 1)
    Q: list[Scalar] = [0.0] * model.tree_nv
    for i in range(model.nb, 0, -1):
        m, _, I_0 = centre(model, i)
        f[i] = f[i] + a[i] * m                                                            # 72
        # the moments of the children came in about this joint already
        tau[i] = tau[i] + I_0 @ wd[i] + w[i].cross(I_0 @ w[i]) + c[i].cross(a[i] * m)     # 73
        Q[model.v_index[i]] = [s.ang.dot(tau[i]) + s.lin.dot(f[i]) for s in tree.S[i]]
        p, X = model.parent[i], tree.Xup[i]
        force = X.E.transpose_times(f[i])
        f[p] = f[p] + force
        tau[p] = tau[p] + X.E.transpose_times(tau[i]) + X.r.cross(force)
    return LocalRecursion(w, wd, v, a, f, tau, Q)
