# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Soft contacts of a robot with obstacles, over plain or traced scalars (RBDA 11.8).

An obstacle is fixed in the base or carried by another body. Each contact is computed in the
coordinates of the body that carries the obstacle, in which the dents of its surface are at rest.

In a step of the simulator springs act with lengths, and dampers with velocities, between those of
its begin and its end, linearised: all contacts enter the inertia (Baraff and Witkin, "Large steps
in cloth simulation", 1998). With the heights p and the velocities u = J v at the start, shares r
and s of the step, and X = r D + s h K,

    (H + h J^T X J) a = tau + J^T f,  f = -K p - (D + s h K) u,

and each contact has the force f - h X J a. With r = 1 and s = 1/2 a surface is stable for whatever
lies on it, at any step. Smaller shares do where the step is short, and are accurate to its square:
along the normals s = h w/2 and r = (1 + h d)/2, where w is the frequency and d the decay of all
that touches. At rest the forces are -K p. Contacts that would pull are left out, the others solved
again (semismooth Newton). A patch that slides has the coefficient with which its force is that of
friction. Should the last answer still have a contact that pulls, it does so for that step: forces
that belong to one solution never add energy.

Along the surface u is the velocity in the middle of the step, u = J v + (h/2) J' v. A body that
rolls turns about another point at the end of a step than at its start: held there alone, it gains
energy with each step, in proportion to h (Cortes and Martinez, "Non-holonomic integrators", 2001,
where the constraint is of the displacement, and its force of the start).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from rbd_ros.algorithms import kinematics
from rbd_ros.algorithms.contact.soft import approach, height_after
from rbd_ros.algorithms.linear import ltl
from rbd_ros.compiler import (
    less, less_equal, maximum, minimum, Rows, Scalar, sqrt, Values, where)
from rbd_ros.model.model import Model
from rbd_ros.sim.contact.pattern import Gap, gaps, Pattern
from rbd_ros.sim.steps.step import Touch, Touched
from rbd_ros.sim.steps.turning import apparent
from rbd_ros.sim.steps.turning_joints import turning_joints
from rbd_ros.spatial import Force, Motion, Transform, Vec3

#: How often the contacts of a step are solved, each time with those that push after the last one.
PASSES = 3

#: Entries of the input ``surface``: normal and tangential stiffness and damping, and friction.
SURFACE = ('stiffness', 'damping', 'tangential_stiffness', 'tangential_damping', 'friction')


def soft_shapes(pattern: Pattern | None) -> dict[str, tuple[int, ...]]:
    """
    Return the shapes of the inputs: those of the pattern, of the surface and of its dents.

    Each row of ``dents`` belongs to a pair: the height of the surface, the last normal force, and
    the displacement of the contact patch in coordinates of the body that carries the obstacle.
    A robot that can touch nothing has none of these inputs.
    """
    if pattern is None:
        return {}
    return pattern.shapes() | {'surface': (len(SURFACE),), 'dents': (len(pattern.pairs), 5)}


def touching(
    model: Model, pattern: Pattern | None, x: Mapping[str, Sequence[Any]],
) -> Touch | None:
    """Return a function for the forces of soft contacts; None for a robot without them."""
    return None if pattern is None else partial(implicit_contacts, model, pattern, x)


class _Contact(NamedTuple):
    """
    A contact in a step, in base coordinates.

    :param along: force along the normal at the velocity of the start, f.
    :param hard: X along the normal, zero where nothing touches.
    :param firm: X along the surface, likewise.
    :param pull: the velocity along the surface at which a damper X has the force of the start.
    :param stretch: of the surface along itself, m.
    :param level: the lower one of body and surface.
    :param carried: normal force, as far as it is known.
    """

    point: Vec3
    normal: Vec3
    along: Scalar
    hard: Scalar
    firm: Scalar
    pull: Vec3
    stretch: Vec3
    level: Scalar
    carried: Scalar

    def after(self, change: Motion, h: Scalar) -> Scalar:
        """Return the normal force if the body gets an acceleration."""
        rate = approach(self.point, self.normal, change, Motion.zero()).rate
        return maximum(0.0, self.along - h * self.hard * rate)

    def soft(self, mu: Scalar) -> Scalar:
        """Return X along the surface, or what has the force of friction where it slides."""
        size = sqrt(maximum(self.pull.dot(self.pull), 1e-300))
        return minimum(self.firm, mu * self.carried / size)


def implicit_contacts(
    model: Model, pattern: Pattern, x: Mapping[str, Sequence[Any]], q: Values, v: Values,
    h: Scalar, H: Rows, sparsity: Sequence[int], push: Values,
) -> Touched:
    """
    Return the joint forces of all contacts in a step, and the new state of the surfaces.

    :param x: inputs by the names of ``soft_shapes``, and ``time`` if it matters.
    :param H: inertia matrix.
    :param sparsity: its expanded parent array.
    :param push: H a without contacts.
    """
    t = x['time'][0] if 'time' in x else 0.0
    tree = kinematics.links(model, model.expand_q(q), t)
    X_0 = kinematics.placements(model, tree)
    moving, bend = _path(model, tree, q, v, t)
    bodies = {*pattern.bodies, *pattern.carriers}
    velocity, change = ({b: X_0[b].inv_apply(each[b]) for b in bodies} for each in (moving, bend))
    placed, groups = [], dict[tuple[int, int], list[int]]()
    for pair, (gap, (i, k)) in enumerate(zip(gaps(pattern, X_0, x), pattern.pairs, strict=True)):
        body, carrier = pattern.bodies[i], pattern.carriers[k]
        relative, turned = velocity[body], change[body]
        if carrier:
            relative = relative - velocity[carrier]
            turned = turned - change[carrier] - velocity[carrier].cross(relative)
        placed.append(_place(gap, x['balls'][i][3], X_0[carrier] if carrier else None, relative,
                             turned, x['surface'], x['dents'][pair], h))
        groups.setdefault((body, carrier), []).append(pair)
    # Contacts of one body with another act on the six coordinates of their motion.
    rows = {group: _jacobian(model, q, tree.S, X_0, *group) for group in groups}
    lightness = _lightness(placed, groups, rows, H, sparsity)
    found = [_contact(each, x['surface'], dent, lightness, h)
             for each, dent in zip(placed, x['dents'], strict=True)]
    if any(pattern.carriers):  # they join what the tree does not
        sparsity = range(-1, len(v) - 1)
    mu = x['surface'][4]
    changes: dict[tuple[int, int], Motion] = {}
    for k in range(PASSES):
        M, right = [list(row) for row in H], list(push)
        for group, pairs in groups.items():
            if k:
                for pair in pairs:
                    found[pair] = found[pair]._replace(carried=found[pair].after(
                        changes[group], h))
            pushed, resisting = Force.zero(), list[_Resistance]()
            for pair in pairs:
                c = found[pair]
                pushes, soft = less(0.0, c.carried), h * c.soft(mu)
                resisting.append(_Resistance(c.point, c.normal, h * pushes * c.hard - soft, soft))
                pushed = pushed + _at(c.point, c.normal * (pushes * c.along) - c.pull * c.soft(mu))
            _add(right, rows[group], pushed)
            _add_square(M, rows[group], _resistance(resisting))
        a = ltl.solve(M, sparsity, right)
        changes = {group: Motion.from_list([_dot(row, a) for row in rows[group]])
                   for group in groups}
    tau: list[Scalar] = [0.0] * len(v)
    contact: Scalar = 0.0
    forces: list[Any] = [None] * len(found)
    dents: list[Any] = [None] * len(found)
    for group, pairs in groups.items():
        pushed = Force.zero()
        for pair in pairs:
            c = found[pair]
            moved = approach(c.point, c.normal, changes[group], Motion.zero())
            pushes = less(0.0, c.carried)
            f_n = pushes * (c.along - h * c.hard * moved.rate)
            rubs = (c.pull + moved.sliding * h) * c.soft(mu)
            force = c.normal * f_n - _shortened(rubs, mu * maximum(0.0, f_n))
            f_n = maximum(0.0, f_n)
            stretch = _shortened(c.stretch, mu * f_n / x['surface'][2])
            contact = maximum(contact, pushes)
            pushed = pushed + _at(c.point, force)
            forces[pair] = [*c.point, *force]
            stretch = X_0[group[1]].E @ stretch if group[1] else stretch
            dents[pair] = [c.level, f_n, *stretch]
        _add(tau, rows[group], pushed)
    return Touched(tau, contact, {'contact_forces': forces, 'new_dents': dents})


class _Place(NamedTuple):
    """
    Where a contact is at the start of a step, in base coordinates.

    :param rate: of the distance, m/s.
    :param slide: velocity along the surface, m/s.
    :param stretch: of the surface along itself, m.
    :param level: the lower one of body and surface.
    :param touches: 1 if they touch.
    """

    point: Vec3
    normal: Vec3
    rate: Scalar
    slide: Vec3
    stretch: Vec3
    level: Scalar
    touches: Scalar


def _path(model: Model, tree: kinematics.Links, q: Values, v: Values,
          t: Scalar) -> tuple[list[Motion], list[Motion]]:
    """Return velocities of bodies, and how they change on the way on which a step moves them."""
    tree_q, tree_v = model.expand_q(q), model.expand_v(v, q)
    moving, own = kinematics.velocities(model, tree, tree_q, tree_v, t)
    straight = [-a for a in apparent(turning_joints(model), v)]
    bias = model.gear_bias(v, q) or [0.0] * model.tree_nv
    rate = [a + b for a, b in zip(model.expand_v(straight, q), bias, strict=True)]
    c = kinematics.velocity_products(model, tree_q, tree_v, moving, own, t)
    return moving, kinematics.accelerations(model, tree, c, rate, Motion.zero())


def _place(gap: Gap, radius: Scalar, X: Transform | None, relative: Motion, turned: Motion,
           surface: Values, dent: Values, h: Scalar) -> _Place:
    """
    Return where a contact is at the start of a step.

    :param X: placement of the body that carries the obstacle, if one does.
    :param relative: velocity of the body against it, in base coordinates.
    :param turned: its rate on the way of the step, seen from that body.
    """
    K, D, _, _, _ = surface
    z_old, f_old, *shift = dent
    center, normal, stretch = gap.center, gap.normal, Vec3(*shift)
    if X is not None:
        center, normal = X.inv_point(center), X.E.transpose_times(normal)
        stretch = X.E.transpose_times(stretch)
    point = center - normal * radius
    motion = approach(point, normal, relative, Motion.zero())
    # In the middle of the step, where the point of contact has moved on with the centre.
    ahead = (turned.lin + turned.ang.cross(point) + relative.ang.cross(
        relative.lin + relative.ang.cross(center))) * (0.5 * h)
    slide = motion.sliding + (ahead - normal * normal.dot(ahead))
    p = gap.distance
    z = height_after(K, D, z_old, f_old, p, h)
    stretch = stretch - normal * normal.dot(stretch)    # the normal may have turned
    return _Place(point, normal, motion.rate, slide, stretch, minimum(z, p), less_equal(p, z))


def _lightness(placed: Sequence[_Place], groups: Mapping[tuple[int, int], Sequence[int]],
               rows: Mapping[tuple[int, int], Sequence[Sequence[Scalar | None]]], H: Rows,
               sparsity: Sequence[int]) -> Scalar:
    """
    Return the sum of n^T J H^-1 J^T n over all that touches, 1/kg.

    The square of the fastest frequency of the springs is at most K times that, the fastest decay
    by the dampers at most D times that.
    """
    L, D = ltl.ltdl(H, sparsity)
    total: Scalar = 0.0
    for group, pairs in groups.items():
        # J H^-1 J^T of the body, on which each of its contacts acts.
        moved = [ltl.solve_transposed(L, sparsity, [0.0 if x is None else x for x in row])
                 for row in rows[group]]
        share = [[None if isinstance(x, float) and x == 0.0 else x / d
                  for x, d in zip(row, D, strict=True)] for row in moved]
        lower = [[_dot(share[i], moved[j]) for j in range(i + 1)] for i in range(6)]
        A = [[lower[max(i, j)][min(i, j)] for j in range(6)] for i in range(6)]
        for pair in pairs:
            at = placed[pair]
            along = [*at.point.cross(at.normal), *at.normal]
            total = total + at.touches * _dot(along, [_dot(row, along) for row in A])
    return total


def _contact(at: _Place, surface: Values, dent: Values, lightness: Scalar, h: Scalar) -> _Contact:
    """
    Return a contact at the start of a step.

    :param lightness: of all that touches, 1/kg.
    """
    K, D, K_t, D_t, _ = surface
    f_old, touches = dent[1], at.touches
    spring = minimum(0.5, 0.5 * h * sqrt(K * lightness)) * h * K
    damper = minimum(1.0, 0.5 + 0.5 * h * D * lightness) * D
    firm = D_t + 0.5 * h * K_t
    along = -(touches * (K * at.level + (D + spring) * at.rate))
    carried = where(less(0.0, f_old), f_old, maximum(0.0, along))
    stretch = (at.stretch + at.slide * h) * (touches * less(0.0, f_old))
    pull = at.slide + stretch * (K_t / firm)
    return _Contact(at.point, at.normal, along, touches * (damper + spring), touches * firm, pull,
                    stretch, at.level, touches * carried)


def _shortened(x: Vec3, limit: Scalar) -> Vec3:
    size = sqrt(maximum(x.dot(x), 1e-300))
    return x * where(less(limit, size), limit / size, 1.0)


class _Resistance(NamedTuple):
    """
    How a contact resists a velocity of its point.

    :param along: force per velocity along the normal, beyond that in every direction.
    :param about: the latter.
    """

    point: Vec3
    normal: Vec3
    along: Scalar
    about: Scalar


def _resistance(contacts: Sequence[_Resistance]) -> list[list[Scalar]]:
    """Return how all contacts of a body resist its motion: 6 x 6, lower triangle."""
    G: list[list[Scalar]] = [[0.0] * (i + 1) for i in range(6)]
    total: Scalar = 0.0
    first, square = Vec3.zero(), [[0.0] * (i + 1) for i in range(3)]
    for c in contacts:
        line = [*c.point.cross(c.normal), *c.normal]
        for i, x in enumerate(line):
            for j in range(i + 1):
                G[i][j] = G[i][j] + c.along * x * line[j]
        moment, point = [*(c.point * c.about)], [*c.point]
        total, first = total + c.about, first + c.point * c.about
        for i in range(3):
            for j in range(i + 1):
                square[i][j] = square[i][j] + moment[i] * point[j]
    # A point moves with lin + ang x r: the rest is that of bodies with mass, of their moments.
    trace = square[0][0] + square[1][1] + square[2][2]
    x, y, z = first
    for i, row in enumerate(([0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0])):
        for j in range(3):
            G[3 + i][j] = G[3 + i][j] + row[j]
        for j in range(i + 1):
            G[i][j] = G[i][j] - square[i][j]
        G[i][i] = G[i][i] + trace
        G[3 + i][3 + i] = G[3 + i][3 + i] + total
    return G


def _jacobian(model: Model, q: Values, S: Any, X_0: Sequence[Transform], body: int,
              carrier: int) -> list[list[Scalar | None]]:
    """Return how a body moves against another in base coordinates, 6 x nv; None: not at all."""
    columns: list[Motion | None] = [None] * model.tree_nv
    for end, sign in ((body, 1.0), (carrier, -1.0)):
        for i in model.support[end] if end else ():
            for k, s in zip(range(model.v_index[i].start, model.v_index[i].stop), S[i],
                            strict=True):
                s = X_0[i].inv_apply(s)
                before = columns[k]
                # Joints that carry both do not move one against the other.
                columns[k] = None if before is not None else s * sign
    parts = [None if s is None else s.to_list() for s in columns]
    if model.coupling is None:
        return [[None if s is None else s[i] for s in parts] for i in range(6)]
    return [list(model.reduce_force([0.0 if s is None else s[i] for s in parts], q))
            for i in range(6)]


def _add_square(M: list[list[Scalar]], rows: Sequence[Sequence[Scalar | None]],
                G: Sequence[Sequence[Scalar]]) -> None:
    """Add J^T G J to the lower triangle of a matrix."""
    moved = [k for k, entry in enumerate(rows[0]) if entry is not None]
    for k in moved:
        column = [row[k] for row in rows]
        felt = [_dot([G[max(i, j)][min(i, j)] for j in range(6)], column) for i in range(6)]
        for j in moved:
            if j <= k:
                M[k][j] = M[k][j] + _dot([row[j] for row in rows], felt)


def _dot(row: Sequence[Scalar | None], v: Sequence[Any]) -> Scalar:
    found: Scalar = 0.0
    for a, b in zip(row, v, strict=True):
        if a is not None:
            found = found + a * b
    return found


def _at(point: Vec3, force: Vec3) -> Force:
    """Return a force at a point as a spatial vector."""
    return Force(point.cross(force), force)


def _add(tau: list[Scalar], rows: Sequence[Sequence[Scalar | None]], force: Force) -> None:
    """Add the joint forces of a force on a body."""
    wrench = force.to_list()
    for k, entry in enumerate(rows[0]):
        if entry is not None:
            tau[k] = tau[k] + _dot([row[k] for row in rows], wrench)
