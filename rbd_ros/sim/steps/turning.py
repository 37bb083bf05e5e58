# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Joints whose velocity variables turn with their body: free bodies, ball joints, planar joints.

The components of a constant velocity change in axes that turn. An explicit rule that adds up this
change drives the body outward: it multiplies the speed of a free body by exp(w^2 h t / 2). Here
the momentum of all that a joint carries is advanced instead, in axes that stand still. Its change
is that of the forces, and the velocity at the end follows from the momentum in the axes and at the
place that are reached. So what no outer force acts on keeps its momentum to rounding.

The centre of mass of what hangs on nothing moves with the momentum, and its first body turns with
the mean of the angular velocities at both ends. That keeps the energy of a torque-free body but
for the error of the iteration.

Chains with ball joints take a variational rule of order 1. With p the momenta of the joints, u
their mean velocity in the step, and T the kinetic energy,

    d(h u) H(q) u = p + h (tau + dT/dq(q, u)),      q' = q exp(h u),      p' = Ad(exp(h u)) p'',

where p'' is the right side, and d and Ad belong to the rotations of the joints (Bou-Rabee and
Marsden, "Hamilton-Pontryagin integrators on Lie groups", 2009). Its energy swings by O(h) about a
constant: momenta are what a chain keeps, velocities are not, and a rule that adds up forces of
the start drives it outward. Works on lists of plain or traced scalars.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rbd_ros.algorithms import kinematics, rnea
from rbd_ros.algorithms.crba import crba
from rbd_ros.algorithms.kinematics import combine, Conditions, Links
from rbd_ros.algorithms.linear import ltl
from rbd_ros.compiler import less, Rows, Scalar, Values, where
from rbd_ros.dynamics.families.tree import reduce_symmetric, sparsity
from rbd_ros.joints import Free, Planar, Spherical
from rbd_ros.joints.base import has_constant_subspace
from rbd_ros.model.model import Model
from rbd_ros.sim.steps.coordinates import Coordinates
from rbd_ros.sim.steps.mixing import Correction, mixed
from rbd_ros.sim.steps.turning_joints import Turn, turning_joints
from rbd_ros.spatial import Force, Motion, Transform, Vec3

#: Corrections of the mean velocity with which a body turns. Each divides its error by the angle
#: of the step; with these the energy of a body that turns by 0.05 rad in a step changes by less
#: than 1e-6 in a thousand steps.
_CORRECTIONS = 4
#: The same for chains, where each makes use of the two before it (Anderson's mixing).
_CHAIN_CORRECTIONS, _EARLIER = 5, 2


class _Moments(NamedTuple):
    """
    All that each body carries, and the body itself.

    :param links: transforms and motion subspaces.
    :param v: velocities, in coordinates of the body.
    :param h: momenta, in coordinates of the body.
    """

    links: Links
    v: list[Motion]
    h: list[Force]


class _Carried(NamedTuple):
    """
    What decides the velocity of each joint: the part along its axes of what its body carries.

    :param P: momenta of all that each body carries, in coordinates of the body.
    :param along: that part, for joints whose axes change in the body.
    """

    P: list[Force]
    along: dict[int, list[Scalar]]

    def turned(self, X: Mapping[int, Transform]) -> _Carried:
        """Return momenta that stand still, seen from where joints have moved."""
        return self._replace(P=[X[i] @ P if i in X else P for i, P in enumerate(self.P)])

    def bent(self, change: Mapping[int, Vec3]) -> _Carried:
        """Return momenta with moments added to those of some bodies."""
        return self._replace(P=[P + Force(change[i], Vec3.zero()) if i in change else P
                                for i, P in enumerate(self.P)])


class _Place(NamedTuple):
    """
    Where joints are after a step.

    :param q: the position.
    :param trial: that at which velocities of the end are found: q of joints on the ground whose
        axes are not constant in the body, and the start of all others.
    :param X: how far joints with constant axes, or on the ground, have moved, by body.
    """

    q: list[Scalar]
    trial: list[Scalar]
    X: dict[int, Transform]


class _Centre(NamedTuple):
    """
    How the centre of mass of all that a body carries moves in a step.

    :param velocity: of the centre, in the axes of the start.
    :param start: where it is in the body at the start.
    :param end: where the other joints have brought it in the body at the end.
    """

    velocity: Vec3
    start: Vec3
    end: Vec3


class Turning:
    """
    The end of a step of a robot with joints whose velocity variables turn.

    :param model: the robot; its loops are left open.
    :param space: where its positions live.
    """

    def __init__(self, model: Model, space: Coordinates) -> None:
        self._model, self._space = model.spanning_tree, space
        self._turns = turning_joints(self._model)
        # Momenta of loops, and of gears whose ratio changes, are not those of the tree alone.
        self._chained = (any(each.joint.nv < model.nv and (isinstance(each.joint, Spherical)
                                                           or not each.grounded)
                             for each in self._turns)
                         and not model.loops
                         and (model.coupling is None or model.coupling.constant))
        self._led = [float(self._chained)] * model.nv
        for each in self._turns:
            self._led[each.v] = [1.0] * (each.v.stop - each.v.start)

    def __bool__(self) -> bool:
        """Return whether there is such a joint."""
        return bool(self._turns)

    def apparent(self, v: Values) -> list[Scalar]:
        """Return what the rotation of its axes subtracts from the acceleration of each joint."""
        return apparent(self._turns, v)

    def ahead(self, q: Values, v: Values, w: Values, h: Scalar, t: Scalar) -> list[Scalar]:
        """
        Return the mean velocity of a step less ``w``, for chains; zeros for other robots.

        What touches, rubs or stops in a step answers to the velocity with which bodies move.

        :param w: velocity at the end by the accelerations of the start.
        """
        if not self._chained:
            return [0.0] * len(v)
        mean, _ = self._mean(q, w, self._given(q, v, w, h, t), self._led, h, t)
        return [a - b for a, b in zip(mean, w, strict=True)]

    def end(
        self, q: Values, v: Values, w: Values, ahead: Values, held: Values, h: Scalar, t: Scalar,
    ) -> tuple[list[Scalar], list[Scalar]]:
        """
        Return the state after a step.

        :param q: position at the start.
        :param v: velocity at the start.
        :param w: velocity at the end, in the axes that the bodies have at the start.
        :param ahead: the part of it by which accelerations of the start are not enough.
        :param held: not zero for velocities that friction, brakes or stops hold.
        :param h: length of the step, s.
        :param t: time at its start, s.
        """
        P = self._given(q, v, [a - b for a, b in zip(w, ahead, strict=True)], h, t)
        free = [led * less(code, 0.5) for led, code in zip(self._led, held, strict=True)]
        q_end, carried = self._moved(q, w, P, free, h, t)
        return q_end, self._velocity(q_end, w, free, carried, self._moments(q_end, w, t + h))

    def _given(
        self, q: Values, v: Values, w: Values, h: Scalar, t: Scalar,
    ) -> list[Force]:
        """Return the momentum of all that each body carries, with what forces give it."""
        now = self._moments(q, [a - h * b for a, b in zip(w, self.apparent(v), strict=True)], t)
        return [a + b * h for a, b in zip(now.h, self._velocity_forces(q, v, t), strict=True)]

    def _moved(
        self, q: Values, w: Values, P: Sequence[Force], free: Values, h: Scalar, t: Scalar,
    ) -> tuple[list[Scalar], _Carried]:
        """Return the position at the end of a step, and the momenta there."""
        mean, start = self._mean(q, w, P, free, h, t)
        centres = self._centres(start.links, self._space.integrate(q, [h * x for x in mean]), P,
                                t + h)
        place = self._placed(q, mean, free, centres, h)
        return place.q, self._pushed(q, mean, P, h, t).turned(place.X)

    def _mean(
        self, q: Values, w: Values, P: Sequence[Force], free: Values, h: Scalar, t: Scalar,
    ) -> tuple[Values, _Moments]:
        """
        Return the mean velocity in a step, and the momenta at its start by ``w``.

        Torque-free, the change of momentum over the step is at right angles to the mean of the
        velocities at both ends, if the body turns with that mean: so its energy stays. What moves
        a body besides its own joint changes the momentum of that joint, by the same mean.

        :param P: momentum of all that each body carries, with what forces give it in the step.
        :param free: 1 for velocities that follow from momenta.
        """
        start = self._moments(q, w, t)
        centres = self._centres(start.links, self._space.integrate(q, [h * x for x in w]), P,
                                t + h)
        place = _Place(list(q), list(q), {})
        found = list[Correction]()
        mean: Values = w
        H = self._inertia(q, start.links)
        for k in range(_CHAIN_CORRECTIONS if self._chained else _CORRECTIONS):
            if k:
                place = self._placed(q, mean, free, centres, h)
            pushed = self._pushed(q, mean, P, h, t)
            there = self._moments(place.trial, w, t)
            first = self._velocity(q, w, free, pushed.bent(self._bends(q, mean, h, t)), start)
            last = self._velocity(place.trial, w, free, pushed.turned(place.X).bent(
                self._bends(q, mean, h, t)), there)
            better = [0.5 * (a + b) for a, b in zip(first, last, strict=True)]
            off = [a - b for a, b in zip(better, mean, strict=True)]
            found.append(Correction(better, off, ltl.multiply_symmetric(
                H, sparsity(self._model), off)))
            mean = mixed(found[-1], found[-1 - _EARLIER:-1]) if self._chained else better
        return mean, start

    def _placed(
        self, q: Values, mean: Values, free: Values, centres: Mapping[int, _Centre], h: Scalar,
    ) -> _Place:
        """Return where joints are that move with a mean velocity."""
        out, trial, X = (self._space.integrate(q, [h * x for x in mean]), list(q),
                         dict[int, Transform]())
        for each in self._turns:
            at = q[each.q]
            if each.turns:
                out[each.q] = _with_centre(each, at, mean[each.v], free[each.v],
                                           centres.get(each.body), h)
            if each.grounded or each.steady:
                X[each.body] = (each.joint.transform(out[each.q])
                                @ each.joint.transform(at).inverse())
            if each.grounded and not each.steady:
                trial[each.q] = out[each.q]
        return _Place(out, trial, X)

    def _bends(self, q: Values, mean: Values, h: Scalar, t: Scalar) -> dict[int, Vec3]:
        """
        Return what the means of momenta lack, as their directions turn in the step.

        It makes the rule of a chain variational. A single body keeps its energy without it.
        """
        if not self._chained:
            return {}
        at, found = self._moments(q, mean, t), dict[int, Vec3]()
        for each in self._turns:
            if isinstance(each.joint, Spherical):
                turn = Vec3(*mean[each.v])
                found[each.body] = turn.cross(at.h[each.body].ang.cross(turn)) * (h * h / 12.0)
        return found

    def _pushed(
        self, q: Values, mean: Values, P: Sequence[Force], h: Scalar, t: Scalar,
    ) -> _Carried:
        """Return the momenta with what they gain because bodies move with a velocity."""
        model = self._model
        tree_q, tree_v = model.expand_q(q), model.expand_v(mean, q)
        at = self._moments(q, mean, t)
        out, along = [P[0]], dict[int, list[Scalar]]()
        grounded = {each.body for each in self._turns if each.grounded}
        for i in range(1, model.nb + 1):
            joint, moving, S = model.joint[i], at.v[i], at.links.S[i]
            q_i, v_i = tree_q[model.q_index[i]], tree_v[model.v_index[i]]
            constant = i in grounded or has_constant_subspace(joint)
            if constant:
                moving = combine(moving, S, [-x for x in v_i])
            out.append(P[i] - moving.cross(at.h[i]) * h)
            if not constant:
                along[i] = [s.dot(out[i]) + h * rate.dot(at.h[i]) for s, rate in zip(
                    S, joint.subspace_rate(q_i, v_i, t), strict=True)]
        return _Carried(out, along)

    def _velocity(
        self, q: Values, w: Values, free: Values, carried: _Carried, at: _Moments,
    ) -> list[Scalar]:
        """Return the velocity that belongs to momenta; ``w`` where it is not free."""
        model = self._model
        missing: list[Scalar] = [0.0] * model.tree_nv
        for i in range(1, model.nb + 1):
            P, h = carried.P[i], at.h[i]
            missing[model.v_index[i]] = [s.dot(P - h) for s in at.links.S[i]]
            if i in carried.along:
                missing[model.v_index[i]] = [a - s.dot(h) for a, s in zip(
                    carried.along[i], at.links.S[i], strict=True)]
        change = self._solved(q, at.links, list(model.reduce_force(missing, q)), free)
        return [a + b for a, b in zip(w, change, strict=True)]

    def _moments(self, q: Values, v: Values, t: Scalar) -> _Moments:
        model = self._model
        tree_q = model.expand_q(q)
        links = kinematics.links(model, tree_q, t)
        moving, _ = kinematics.velocities(model, links, tree_q, model.expand_v(v, q), t)
        h = [inertia @ x for inertia, x in zip(model.inertia, moving, strict=True)]
        for i in range(model.nb, 0, -1):
            if model.parent[i] != 0:
                h[model.parent[i]] = h[model.parent[i]] + links.Xup[i].inv_apply(h[i])
        return _Moments(links, moving, h)

    def _centres(
        self, start: Links, q_end: Values, P: Sequence[Force], t: Scalar,
    ) -> dict[int, _Centre]:
        model = self._model
        end = kinematics.links(model, model.expand_q(q_end), t)
        (m, before), (_, after) = _first_moments(model, start), _first_moments(model, end)
        return {i: _Centre(P[i].lin * (1.0 / m[i]), before[i] * (1.0 / m[i]),
                           after[i] * (1.0 / m[i]))
                for i in (each.body for each in self._turns if each.grounded) if m[i]}

    def _velocity_forces(self, q: Values, v: Values, t: Scalar) -> list[Force]:
        """Return the force on all that each body carries, at zero joint acceleration."""
        model = self._model
        still = Conditions(Vec3.zero(), t=t)
        return rnea.rnea(model, model.expand_q(q), model.expand_v(v, q), model.gear_bias(v, q),
                         still).f

    def _inertia(self, q: Values, links: Links) -> Rows:
        H = reduce_symmetric(self._model, crba(self._model, links), q)
        for i, rotor in enumerate(self._model.rotor_inertia):
            H[i][i] = H[i][i] + rotor
        return H

    def _solved(self, q: Values, links: Links, rhs: Values, mask: Values) -> list[Scalar]:
        """Return the change of velocity of the masked joints for a change of momentum."""
        parent, H = sparsity(self._model), self._inertia(q, links)
        found = ltl.solve(ltl.masked(H, parent, mask), parent,
                          [x * m for x, m in zip(rhs, mask, strict=True)])
        return [x * m for x, m in zip(found, mask, strict=True)]


def apparent(turns: Sequence[Turn], v: Values) -> list[Scalar]:
    """
    Return what the rotation of its axes subtracts from the acceleration of each joint, (nv,).

    With it added, accelerations are those in the axes that the body has at this moment.
    """
    rate: list[Scalar] = [0.0] * len(v)
    for each in turns:
        at = v[each.v]
        if isinstance(each.joint, Free):
            side = Vec3(*at[:3]).cross(Vec3(*at[3:]))
            rate[each.v] = [0.0, 0.0, 0.0, *side]
        elif isinstance(each.joint, Planar):
            rate[each.v] = [0.0, -at[0] * at[2], at[0] * at[1]]
    return rate


def _straight(
    turn: Turn, q: Values, shift: Values, mean: Values, h: Scalar,
) -> list[Scalar]:
    """Return the position of a joint whose origin moves straight while its body turns."""
    first: list[Scalar] = [h * x for x in shift]
    then: list[Scalar] = [0.0] * len(first)
    for k in turn.turns:
        first[k], then[k] = 0.0, h * mean[k]
    moved = turn.joint.integrate(q, first) if len(turn.turns) < len(first) else q
    return turn.joint.integrate(moved, then)


def _with_centre(
    turn: Turn, q: Values, mean: Values, free: Values, centre: _Centre | None, h: Scalar,
) -> list[Scalar]:
    """Return the same where it is the centre of mass that moves straight, not the origin."""
    if centre is None or len(turn.turns) == len(mean):
        return _straight(turn, q, mean, mean, h)
    joint = turn.joint
    turned = joint.transform(_straight(turn, q, [0.0] * len(mean), mean, h))
    E = (turned @ joint.transform(q).inverse()).E
    shift = centre.velocity + (centre.start - E.transpose_times(centre.end)) * (1.0 / h)
    along = [where(flag, s.lin.dot(shift), x)
             for flag, s, x in zip(free, joint.subspace(q), mean, strict=True)]
    return _straight(turn, q, along, mean, h)


def _first_moments(model: Model, links: Links) -> tuple[list[Scalar], list[Vec3]]:
    """Return mass and first moment of all that each body carries, in its coordinates."""
    m: list[Scalar] = [body.m for body in model.inertia]
    moment = [body.h for body in model.inertia]
    for i in range(model.nb, 0, -1):
        p = model.parent[i]
        moment[p] = moment[p] + links.Xup[i].inv_first_moment(m[i], moment[i])
        m[p] = m[p] + m[i]
    return m, moment
