# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Joints whose velocity variables turn with their body: free bodies, ball joints, planar joints.

The components of a constant velocity change in axes that turn. An explicit rule that adds up this
change drives the body outward: it multiplies the speed of a free body by exp(w^2 h t / 2). Here
the momentum of all that a joint carries is advanced instead, in axes that stand still. Its change
is that of the forces, and the velocity at the end follows from the momentum in the axes and at the
place that are reached. So what no outer force acts on keeps its momentum to rounding.

The centre of mass of what hangs on nothing moves with the momentum, and its first body turns with
the mean of the angular velocities at both ends. That keeps the energy of a torque-free body but
for the error of the iteration. Works on lists of plain or traced scalars.
"""

from __future__ import annotations

from typing import NamedTuple

from rbd_ros.algorithms import kinematics, rnea
from rbd_ros.algorithms.crba import crba
from rbd_ros.algorithms.kinematics import Conditions, Links
from rbd_ros.algorithms.linear import ltl
from rbd_ros.compiler import less, Scalar, Values, where
from rbd_ros.dynamics.families.tree import reduce_symmetric, sparsity
from rbd_ros.joints import Free, Planar
from rbd_ros.model.model import Model
from rbd_ros.sim.steps.coordinates import Coordinates
from rbd_ros.sim.steps.turning_joints import Turn, turning_joints
from rbd_ros.spatial import Force, Transform, Vec3

#: Corrections of the mean velocity with which a body turns. Each divides its error by the angle
#: of the step; with three of them the energy of a body that turns by 0.05 rad in a step changes
#: by less than 1e-6 in a thousand steps.
_CORRECTIONS = 3


class _Moments(NamedTuple):
    """
    All that each body carries, and the body itself.

    :param links: transforms and motion subspaces.
    :param X_0: placements i_X_0.
    :param h: momenta, in coordinates of the body.
    """

    links: Links
    X_0: list[Transform]
    h: list[Force]


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

    def __bool__(self) -> bool:
        """Return whether there is such a joint."""
        return bool(self._turns)

    def apparent(self, v: Values) -> list[Scalar]:
        """
        Return what the rotation of its axes subtracts from the acceleration of each joint, (nv,).

        With it added, accelerations are those in the axes that the body has at this moment.
        """
        rate: list[Scalar] = [0.0] * len(v)
        for each in self._turns:
            at = v[each.v]
            if isinstance(each.joint, Free):
                side = Vec3(*at[:3]).cross(Vec3(*at[3:]))
                rate[each.v] = [0.0, 0.0, 0.0, *side]
            elif isinstance(each.joint, Planar):
                rate[each.v] = [0.0, -at[0] * at[2], at[0] * at[1]]
        return rate

    def end(
        self, q: Values, v: Values, w: Values, held: Values, h: Scalar, t: Scalar,
    ) -> tuple[list[Scalar], list[Scalar]]:
        """
        Return the state after a step.

        :param q: position at the start.
        :param v: velocity at the start.
        :param w: velocity at the end, in the axes that the bodies have at the start.
        :param held: not zero for velocities that friction, brakes or stops hold.
        :param h: length of the step, s.
        :param t: time at its start, s.
        """
        now = self._moments(q, [a - h * b for a, b in zip(w, self.apparent(v), strict=True)], t)
        force = self._velocity_forces(q, v, t)
        P = {each.body: now.h[each.body] + force[each.body] * h for each in self._turns}
        free = [less(code, 0.5) for code in held]
        q_end = self._moved(q, w, P, free, h, t)
        later = self._moments(q_end, w, t + h)
        missing: list[Scalar] = [0.0] * len(w)
        mask: list[Scalar] = [0.0] * len(w)
        for each in self._turns:
            i = each.body
            X = later.X_0[i] @ now.X_0[i].inverse()
            missing[each.v] = [s.dot(X @ P[i] - later.h[i]) for s in later.links.S[i]]
            mask[each.v] = free[each.v]
        change = self._solved(q_end, later.links, missing, mask)
        return q_end, [a + b for a, b in zip(w, change, strict=True)]

    def _moved(
        self, q: Values, w: Values, P: dict[int, Force], free: Values, h: Scalar, t: Scalar,
    ) -> list[Scalar]:
        """
        Return the position at the end of a step.

        Torque-free, the change of momentum over the step is at right angles to the mean of the
        velocities at both ends, if the body turns with that mean: so its energy stays. Other
        joints count as locked while the mean is found.
        """
        out = self._space.integrate(q, [h * x for x in w])
        for each in self._turns:
            if each.turns and not each.grounded:
                out[each.q] = _straight(each, q[each.q], w[each.v], w[each.v], h)
        grounded = [each for each in self._turns if each.grounded]
        if not grounded:
            return out
        start = self._moments(q, w, t)
        centres = self._centres(start.links, out, P, t + h)
        mask: list[Scalar] = [0.0] * len(w)
        for each in grounded:
            mask[each.v] = free[each.v]

        steady = all(each.steady for each in grounded)

        def velocity(X: dict[int, Transform], trial: Values) -> list[Scalar]:
            missing: list[Scalar] = [0.0] * len(w)
            there = start if steady else self._moments(trial, w, t)
            for each in grounded:
                i = each.body
                gap = X[i] @ P[i] - there.h[i]
                missing[each.v] = [s.dot(gap) for s in there.links.S[i]]
            change = self._solved(trial, there.links, missing, mask)
            return [a + b for a, b in zip(w, change, strict=True)]

        trial = list(q)
        first = mean = velocity({each.body: Transform.identity() for each in grounded}, trial)
        for k in range(_CORRECTIONS + 1):
            X = {}
            for each in grounded:
                at = q[each.q]
                out[each.q] = _with_centre(
                    each, at, w[each.v], free[each.v], mean[each.v], centres.get(each.body), h)
                X[each.body] = (each.joint.transform(out[each.q])
                                @ each.joint.transform(at).inverse())
                if not each.steady:
                    trial[each.q] = out[each.q]
            if k < _CORRECTIONS:
                last = velocity(X, trial)
                mean = [0.5 * (a + b) for a, b in zip(first, last, strict=True)]
        return out

    def _moments(self, q: Values, v: Values, t: Scalar) -> _Moments:
        model = self._model
        tree_q = model.expand_q(q)
        links = kinematics.links(model, tree_q, t)
        moving, _ = kinematics.velocities(model, links, tree_q, model.expand_v(v, q), t)
        h = [inertia @ x for inertia, x in zip(model.inertia, moving, strict=True)]
        for i in range(model.nb, 0, -1):
            if model.parent[i] != 0:
                h[model.parent[i]] = h[model.parent[i]] + links.Xup[i].inv_apply(h[i])
        return _Moments(links, kinematics.placements(model, links), h)

    def _centres(
        self, start: Links, q_end: Values, P: dict[int, Force], t: Scalar,
    ) -> dict[int, _Centre]:
        model = self._model
        end = kinematics.links(model, model.expand_q(q_end), t)
        (m, before), (_, after) = _first_moments(model, start), _first_moments(model, end)
        return {i: _Centre(P[i].lin * (1.0 / m[i]), before[i] * (1.0 / m[i]),
                           after[i] * (1.0 / m[i])) for i in P if m[i]}

    def _velocity_forces(self, q: Values, v: Values, t: Scalar) -> list[Force]:
        """Return the force on all that each body carries, at zero joint acceleration."""
        model = self._model
        still = Conditions(Vec3.zero(), t=t)
        return rnea.rnea(model, model.expand_q(q), model.expand_v(v, q), model.gear_bias(v, q),
                         still).f

    def _solved(self, q: Values, links: Links, rhs: Values, mask: Values) -> list[Scalar]:
        """Return the change of velocity of the masked joints for a change of momentum."""
        parent = sparsity(self._model)
        H = reduce_symmetric(self._model, crba(self._model, links), q)
        for i, rotor in enumerate(self._model.rotor_inertia):
            H[i][i] = H[i][i] + rotor
        found = ltl.solve(ltl.masked(H, parent, mask), parent,
                          [x * m for x, m in zip(rhs, mask, strict=True)])
        return [x * m for x, m in zip(found, mask, strict=True)]


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
    turn: Turn, q: Values, w: Values, free: Values, mean: Values, centre: _Centre | None,
    h: Scalar,
) -> list[Scalar]:
    """Return the same where it is the centre of mass that moves straight, not the origin."""
    if centre is None or len(turn.turns) == len(w):
        return _straight(turn, q, w, mean, h)
    joint = turn.joint
    turned = joint.transform(_straight(turn, q, [0.0] * len(w), mean, h))
    E = (turned @ joint.transform(q).inverse()).E
    shift = centre.velocity + (centre.start - E.transpose_times(centre.end)) * (1.0 / h)
    along = [where(flag, s.lin.dot(shift), x)
             for flag, s, x in zip(free, joint.subspace(q), w, strict=True)]
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
