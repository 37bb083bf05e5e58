# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Planar mechanisms of hinges, all bodies and joints at once, at a cost that loops add up to (8.13).

Through the spanning tree a long ladder costs the cube of its length: every rung moves with all
joints below it. Here nothing but neighbours meet. Unknown are the forces in all hinges, those of
the tree included; with the bodies eliminated from (8.64), A = T^T P^T I^-1 P T is left, which is
positive definite and couples only hinges of one body. An order of elimination that is chosen once
(Fig 8.4 for a ladder) keeps its factors as sparse, so that the cost grows as the number of loops.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import NamedTuple

from rbd_ros.algorithms.kinematics import Conditions
from rbd_ros.algorithms.other_forms.planar import find_plane, Plane
from rbd_ros.compiler import cos, divide, minimum, Scalar, sin, Values
from rbd_ros.errors import ModelError
from rbd_ros.joints import Revolute
from rbd_ros.model.model import Model
from rbd_ros.model.parts import LoopJoint
from rbd_ros.spatial import Vec3

Point = tuple[Scalar, Scalar]
Rows = dict[int, dict[int, Scalar]]

#: Sines of angles up to this, rad, are rounding of a description.
_ROUNDING = 2e-11


class Bodies(NamedTuple):
    """
    All bodies in the plane, in axes of the base; entry 0 is the base.

    :param turned: cosine and sine of the orientation.
    :param origin: of the body's frame.
    :param w: angular velocity; ``v`` the velocity of the origin.
    :param com: centre of mass; ``m`` the mass and ``I`` the inertia about it.
    :param f: force at the centre of mass but for those of the hinges, and ``n`` the moment.
    """

    turned: list[Point]
    origin: list[Point]
    w: list[Scalar]
    v: list[Point]
    com: list[Point]
    m: list[Scalar]
    I: list[Scalar]
    f: list[Point]
    n: list[Scalar]


class Hinge(NamedTuple):
    """
    A hinge between two bodies.

    :param r_p: from the predecessor's centre of mass to the hinge; for the base, its place.
    :param r_s: from the successor's centre of mass to the hinge.
    :param gap: how far the two points are apart, for a loop that is not quite closed.
    :param rate: how fast that changes.
    """

    p: int
    s: int
    r_p: Point
    r_s: Point
    gap: Point
    rate: Point


class HingedMotion(NamedTuple):
    """Accelerations of the tree's joints, and the smallest pivot over the diagonal of A."""

    qdd: list[Scalar]
    pivot: Scalar


def is_hinged(model: Model) -> bool:
    """Return whether a model moves in a plane, and hinges are all that joins its bodies."""
    plane = find_plane(model)
    if plane is None or model.coupling is not None or any(model.rotor_inertia):
        return False
    if not all(type(joint) is Revolute for joint in model.joint[1:]):
        return False
    if not all(float(body.m) > 0.0 for body in model.inertia[1:]):
        return False
    return all(_across(plane, loop) for loop in model.loops)


def _across(plane: Plane, loop: LoopJoint) -> bool:
    """Return whether a loop joint is a hinge whose axis stands across the plane, on both sides."""
    joint = loop.joint
    if type(joint) is not Revolute:
        return False
    for body, X in ((loop.predecessor, loop.X_P), (loop.successor, loop.X_S)):
        axis = plane.axes[body] @ X.E.transpose_times(Vec3(*joint.axis))
        if math.hypot(float(axis.x), float(axis.y)) > _ROUNDING:
            return False
    return True


def forward_dynamics(
    model: Model, q: Values, qd: Values, tau: Values, conditions: Conditions,
    stabilisation: tuple[Scalar, Scalar],
) -> HingedMotion:
    """
    Return the accelerations of a planar mechanism of hinges, loops included (8.64).

    :param stabilisation: 2 alpha and beta^2 of Baumgarte's method (8.22); zeros for none.
    """
    plane = find_plane(model)
    if plane is None or not is_hinged(model):
        raise ModelError(f'"{model.name}" is not a planar mechanism of hinges: all joints must be '
                         'revolute with parallel axes; use Dynamics.forward_dynamics')
    bodies = _bodies(model, plane, q, qd, tau, conditions)
    hinges = [*_tree_hinges(model, plane, bodies), *_loop_hinges(model, plane, bodies)]
    A, b = _system(bodies, hinges, stabilisation)
    lam, pivot = _solved(A, b, [2 * j + k for j in elimination_order(model) for k in (0, 1)])
    w_rate = list(bodies.n)
    for j, hinge in enumerate(hinges):
        x, y = lam[2 * j], lam[2 * j + 1]
        for body, r, sign in ((hinge.s, hinge.r_s, 1.0), (hinge.p, hinge.r_p, -1.0)):
            w_rate[body] = w_rate[body] + sign * (r[0] * y - r[1] * x)
    alpha = [0.0, *(n / I for n, I in zip(w_rate[1:], bodies.I[1:], strict=True))]
    qdd = [plane.S[i].ang * (alpha[i] - alpha[model.parent[i]]) for i in range(1, model.nb + 1)]
    return HingedMotion(qdd, pivot)


def _bodies(
    model: Model, plane: Plane, q: Values, qd: Values, tau: Values, conditions: Conditions,
) -> Bodies:
    """Walk outward through the tree: where bodies are, how they move, and what acts on them."""
    base, inertia = plane.axes[0], conditions.inertia or model.inertia
    g = base @ conditions.gravity
    out = Bodies([(1.0, 0.0)], [(0.0, 0.0)], [0.0], [(0.0, 0.0)], [(0.0, 0.0)], [0.0], [0.0],
                 [(0.0, 0.0)], [0.0])
    for i in range(1, model.nb + 1):
        p, k, sign = model.parent[i], model.v_index[i].start, plane.S[i].ang
        step = _rotated(out.turned[p], plane.r[i])
        c, s = out.turned[p]
        cq, sq = cos(q[k]), sign * sin(q[k])
        out.turned.append((c * cq - s * sq, s * cq + c * sq))
        out.origin.append(_plus(out.origin[p], step))
        out.v.append(_plus(out.v[p], _spun(out.w[p], step)))
        out.w.append(out.w[p] + sign * qd[k])
        body, axes = inertia[i], plane.axes[i]
        h, normal = axes @ body.h, Vec3(*axes.rows[2])
        d = _rotated(out.turned[i], (h.x / body.m, h.y / body.m))
        out.com.append(_plus(out.origin[i], d))
        out.m.append(body.m)
        out.I.append(normal.dot(body.I @ normal) - (h.x * h.x + h.y * h.y) / body.m)
        f, n = (body.m * g.x, body.m * g.y), sign * tau[k]
        given = None if conditions.f_ext is None else conditions.f_ext[i]
        if given is not None:
            push, moment = base @ given.lin, (base @ given.ang).z
            n = n + (moment - (out.com[i][0] * push.y - out.com[i][1] * push.x))
            f = (f[0] + push.x, f[1] + push.y)
        out.f.append(f)
        out.n.append(n)
        out.n[p] = out.n[p] - sign * tau[k]                 # the drive pushes back
    return out


def _tree_hinges(model: Model, plane: Plane, bodies: Bodies) -> list[Hinge]:
    zero = (0.0, 0.0)
    return [Hinge(model.parent[i], i, _minus(bodies.origin[i], bodies.com[model.parent[i]]),
                  _minus(bodies.origin[i], bodies.com[i]), zero, zero)
            for i in range(1, model.nb + 1)]


def _loop_hinges(model: Model, plane: Plane, bodies: Bodies) -> list[Hinge]:
    hinges = []
    for loop in model.loops:
        ends = []
        for body, X in ((loop.predecessor, loop.X_P), (loop.successor, loop.X_S)):
            place = plane.axes[body] @ X.r
            arm = _rotated(bodies.turned[body], (place.x, place.y))
            point = _plus(bodies.origin[body], arm)
            ends.append((point, _plus(bodies.v[body], _spun(bodies.w[body], arm))))
        (x_p, v_p), (x_s, v_s) = ends
        p, s = loop.predecessor, loop.successor
        hinges.append(Hinge(p, s, _minus(x_p, bodies.com[p]), _minus(x_s, bodies.com[s]),
                            _minus(x_s, x_p), _minus(v_s, v_p)))
    return hinges


def _system(
    bodies: Bodies, hinges: Sequence[Hinge], stabilisation: tuple[Scalar, Scalar],
) -> tuple[Rows, list[Scalar]]:
    """Return A by rows, without what is zero, and the right-hand side for the hinge forces."""
    two_alpha, beta_squared = stabilisation
    A: Rows = {i: {} for i in range(2 * len(hinges))}
    b: list[Scalar] = []
    at: dict[int, list[tuple[int, float, Point]]] = {}
    for j, hinge in enumerate(hinges):
        right = [-two_alpha * rate - beta_squared * gap
                 for rate, gap in zip(hinge.rate, hinge.gap, strict=True)]
        for body, r, sign in ((hinge.s, hinge.r_s, 1.0), (hinge.p, hinge.r_p, -1.0)):
            square = bodies.w[body] * bodies.w[body]
            right = [x + sign * (square * arm) for x, arm in zip(right, r, strict=True)]
            if body:                                        # the base does not give way
                at.setdefault(body, []).append((j, sign, r))
                spin = bodies.n[body] / bodies.I[body]
                free = (bodies.f[body][0] / bodies.m[body] - spin * r[1],
                        bodies.f[body][1] / bodies.m[body] + spin * r[0])
                right = [x - sign * a for x, a in zip(right, free, strict=True)]
        b += right
    for body, ends in at.items():
        light, loose = 1.0 / bodies.m[body], 1.0 / bodies.I[body]
        for j, sign_j, r in ends:
            u = (-(loose * r[1]), loose * r[0])
            for k, sign_k, r_k in ends:
                if k > j:
                    continue
                sign, across = sign_j * sign_k, (-r_k[1], r_k[0])
                for m in (0, 1):
                    for n in (0, 1):
                        if k == j and n > m:
                            continue
                        entry = sign * (u[m] * across[n] + (light if m == n else 0.0))
                        row = A[2 * j + m]
                        row[2 * k + n] = row[2 * k + n] + entry if 2 * k + n in row else entry
    for i, row in A.items():
        for k, value in row.items():
            A[k][i] = value
    return A, b


def elimination_order(model: Model) -> list[int]:
    """
    Return the joints of a model, those of the tree first by number, in the order of elimination.

    At each step the joint with the fewest neighbours left goes (minimum degree).
    """
    ends = [(model.parent[i], i) for i in range(1, model.nb + 1)]
    ends += [(loop.predecessor, loop.successor) for loop in model.loops]
    near: dict[int, set[int]] = {j: set() for j in range(len(ends))}
    for j, one in enumerate(ends):
        for k in range(j):
            if {*one} & {*ends[k]} - {0}:
                near[j].add(k)
                near[k].add(j)
    order = []
    while near:
        j = min(near, key=lambda k: (len(near[k]), k))
        order.append(j)
        around = near.pop(j)
        for k in around:
            near[k] = (near[k] | around) - {j, k}
    return order


def _solved(A: Rows, b: Values, order: Sequence[int]) -> tuple[list[Scalar], Scalar]:
    """Return A^-1 b by sparse elimination in a given order, and the smallest scaled pivot."""
    A = {i: dict(row) for i, row in A.items()}
    diagonal = {i: row[i] for i, row in A.items()}
    x, pivot = list(b), 1.0
    smallest: Scalar = pivot
    factors: dict[int, dict[int, Scalar]] = {}
    done: set[int] = set()
    for i in order:
        d = A[i][i]
        smallest = minimum(smallest, divide(d, diagonal[i]))
        done.add(i)
        rest = [k for k in A[i] if k not in done]
        factors[i] = {k: divide(A[i][k], d) for k in rest}
        for m, k in enumerate(rest):
            share = factors[i][k]
            x[k] = x[k] - share * x[i]
            for other in rest[:m + 1]:
                value = A[k].get(other, 0.0) - share * A[i][other]
                A[k][other] = A[other][k] = value
        x[i] = divide(x[i], d)
    for i in reversed(order):
        for k, share in factors[i].items():
            x[i] = x[i] - share * x[k]
    return x, smallest


def _rotated(turned: Point, r: Point) -> Point:
    c, s = turned
    return c * r[0] - s * r[1], s * r[0] + c * r[1]


def _spun(w: Scalar, r: Point) -> Point:
    return -(w * r[1]), w * r[0]


def _plus(a: Point, b: Point) -> Point:
    return a[0] + b[0], a[1] + b[1]


def _minus(a: Point, b: Point) -> Point:
    return a[0] - b[0], a[1] - b[1]
