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
Rigid contact in fixed steps: impulses with Coulomb friction, solved at the velocity level.

Each step is first taken without contact. Impulses then bring the velocity of every touching point
to an admissible value, and the step is taken again with them. This goes beyond the book, whose
rigid contact proceeds from event to event without friction (see ``event_driven``).

One kernel computes distances, directions and Jacobians of all pairs, and the inverse of the
inertia matrix. Which pairs are near enough to matter is decided afterwards, so that a new set of
contacts compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rbd_ros.algorithms import kinematics, ltl
from rbd_ros.algorithms.friction import coulomb
from rbd_ros.compiler import where
from rbd_ros.dynamics.quantity import Quantity
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.dynamics.rules import sparsity, tree
from rbd_ros.sim.contact_pattern import gaps, tangents

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rbd_ros.compiler import Scalar
    from rbd_ros.dynamics.state import State
    from rbd_ros.model.model import Model
    from rbd_ros.sim.contact_pattern import Pattern
    from rbd_ros.sim.world import World
    from rbd_ros.spatial import Motion, Vec3

    Array = NDArray[np.float64]

#: Distance, m, below which a point is part of the contact problem of a step.
NEAR = 0.01

#: Fraction of a penetration that one step removes, and the highest speed of doing so, m/s.
RECOVERY, RECOVERY_SPEED = 0.2, 0.5

#: Approach speed, m/s, below which a contact does not bounce.
REST_SPEED = 0.02

#: Tolerance of the contact conditions: relative to the largest velocity, or absolute in m/s,
#: whichever is looser.
RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = 1e-8, 1e-10

#: Most sweeps of the solver, and the residual, m/s, above which a step counts as unsolved.
SWEEPS, UNSOLVED = 50, 1e-4


class RigidContacts:
    """
    The contacts of a robot with a rigid world.

    :param model: the robot.
    :param world: what it may touch.
    :param backend: as for :class:`rbd_ros.Dynamics`.
    :param inertia: H(q) that the impulses act on, for a robot with closed loops; that of the tree
        when not given.
    """

    def __init__(
        self, model: Model, world: World, backend: str = 'auto', *,
        inertia: Callable[[Array], Array] | None = None,
    ) -> None:
        pattern, self._inertia = world.pattern(), inertia
        robot = Dynamics(model.spanning_tree, backend=backend)
        robot.add(Quantity(
            'rigid_contact', ('q', 'braked', *pattern.shapes()),
            {'rule': lambda s: _terms(s, pattern)},
            shapes={'braked': (model.nv,), **pattern.shapes()}, key=pattern,
            modules=(__name__.rpartition('.')[0],)))
        self._kernel = robot.bind('rigid_contact')
        for name, values in world.shape_inputs().items():
            self._kernel.inputs[name][:] = values
        self._surface, self._nb = world.surface, model.nb
        balls, obstacles = np.array(pattern.pairs).T
        self._bodies = np.array(pattern.bodies)[balls]
        self._carriers = np.array(pattern.carriers)[obstacles]
        #: Contact point and force of each pair, (pairs, 6).
        self.forces = np.zeros((len(pattern.pairs), 6))
        self._last = np.zeros((len(pattern.pairs), 3))     # starting point of the next solution
        #: Velocity error of the contact conditions in the last step, m/s.
        self.residual = 0.0

    def reset(self) -> None:
        """Forget the last step."""
        self.forces[:], self._last[:], self.residual = 0.0, 0.0, 0.0

    def push(
        self, q: Array, v: Array, free: Callable[[], Array], braked: Array, h: float,
        mass_scale: float, t: float = 0.0,
    ) -> Array | None:
        """
        Return the forces on all bodies that prevent penetration in a step; None for no contact.

        :param free: function that returns the velocity after the step without contact, in the
            axes that the bodies have at its start.
        :param braked: 1 for velocities held by brakes, which no impulse changes, else 0.
        :param t: time, s, for joints that move with it.
        """
        inputs, found = self._kernel.inputs, self._kernel.outputs
        inputs['q'][:], inputs['braked'][:] = q, braked
        if 'time' in inputs:
            inputs['time'][:] = t
        self._kernel()
        self.forces[:], self.residual = 0.0, 0.0
        near = np.flatnonzero(found['distance'] < NEAR)
        if not near.size or braked.all():
            return None
        T = found['T'][near].reshape(-1, v.size)
        inverse = found['inverse'] if self._inertia is None else self._stiff_inverse(q, braked)
        response = inverse @ T[2::3].T
        movable = np.abs(response).max(axis=0) > 0.0            # else brakes hold both bodies
        if not movable.all():
            near, T = near[movable], T[np.repeat(movable, 3)]
            if not near.size:
                return None
        M = T @ inverse @ T.T / mass_scale
        drift = found['drift'][near].ravel()
        d = T @ free() + drift
        d[2::3] += self._wanted(found['distance'][near], T[2::3] @ v + drift[2::3], h)
        size = max(float(np.abs(d).max(initial=0.0)), 1e-300)
        solution = coulomb(M, d, self._surface.friction, start=h * self._last[near],
                           tolerance=max(RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE / size),
                           sweeps=SWEEPS)
        self.residual = solution.residual * size
        rates = solution.force / h
        self._last[:] = 0.0
        self._last[near] = rates
        force, point = np.einsum('kai,ka->ki', found['frame'][near], rates), found['point'][near]
        self.forces[near] = np.hstack([point, force])
        return self._on_bodies(near, point, force)

    def _stiff_inverse(self, q: Array, braked: Array) -> Array:
        """Return the inverse of the inertia with stiff loops, zero where brakes hold."""
        assert self._inertia is not None
        free = np.ix_(braked == 0.0, braked == 0.0)
        inverse = np.zeros((braked.size, braked.size))
        inverse[free] = np.linalg.inv(self._inertia(q)[free])
        return inverse

    def _wanted(self, distance: Array, before: Array, h: float) -> Array:
        """Return minus the normal velocity that each contact must have at least."""
        gap = np.where(distance > 0.0, distance / h, np.maximum(
            RECOVERY * distance / h, -RECOVERY_SPEED))
        e = self._surface.restitution
        if e == 0.0:
            return gap
        bounces = (before < -REST_SPEED) & (distance < -before * h)
        return np.where(bounces, e * before, gap)

    def _on_bodies(self, near: NDArray[np.intp], point: Array, force: Array) -> Array:
        x, y, z = point.T
        f, g, k = force.T
        wrench = np.column_stack([y * k - z * g, z * f - x * k, x * g - y * f, f, g, k])
        sums = np.zeros((self._nb + 1, 6))
        np.add.at(sums, self._bodies[near], wrench)
        np.subtract.at(sums, self._carriers[near], wrench)
        return sums[1:]


def _terms(s: State, pattern: Pattern) -> dict[str, Sequence]:
    """Return all that the impulses of the pairs depend on."""
    model, links = s.model, tree(s)
    X_0 = kinematics.placements(model, links)
    columns: list[Motion] = []
    for i in range(1, model.nb + 1):
        columns += [X_0[i].inv_apply(axis) for axis in links.S[i]]
    # What moves with time by itself moves at zero joint velocity, too.
    still, _ = kinematics.velocities(model, links, s.q, [0.0] * model.tree_nv, s.conditions.t)
    drift = []
    distance, point, frame, T = [], [], [], []
    for (i, k), gap in zip(pattern.pairs, gaps(pattern, X_0, s.inputs), strict=True):
        carrier, body = pattern.carriers[k], pattern.bodies[i]
        place, normal = gap.center - gap.normal * s.inputs['balls'][i][3], gap.normal
        if carrier:
            place, normal = X_0[carrier].inv_point(place), X_0[carrier].E.transpose_times(normal)
        axes = (*tangents(normal), normal)
        distance.append(gap.distance)
        point.append(list(place))
        frame.append([list(axis) for axis in axes])
        T.append(_rows(s, columns, place, axes, body, carrier))
        moving = X_0[body].inv_apply(still[body]) - X_0[carrier].inv_apply(still[carrier])
        drift.append([axis.dot(moving.lin + moving.ang.cross(place)) for axis in axes])
    return {'distance': distance, 'point': point, 'frame': frame, 'T': T, 'drift': drift,
            'inverse': _inverse(s)}


def _rows(
    s: State, columns: Sequence[Motion], place: Vec3, axes: Sequence[Vec3], body: int,
    carrier: int,
) -> list:
    """Return the Jacobian rows of the relative velocity of two bodies at a point, along axes."""
    model = s.model
    rows: list[list[Scalar]] = [[0.0] * model.tree_nv for _ in axes]
    signs = dict.fromkeys(model.support[body], 1.0)
    for i in model.support[carrier]:
        signs[i] = signs.get(i, 0.0) - 1.0              # a joint that moves both changes nothing
    for i, sign in signs.items():
        if sign == 0.0:
            continue
        at = model.v_index[i]
        for j in range(at.start, at.stop):
            u = columns[j].lin + columns[j].ang.cross(place)
            for row, axis in zip(rows, axes, strict=True):
                row[j] = sign * axis.dot(u)
    return [s.reduce(row) for row in rows]


def _inverse(s: State) -> list[list[Scalar]]:
    """Return the inverse of the inertia matrix, zero for velocities that brakes hold."""
    H, parent = s.compute('mass_matrix'), sparsity(s.model)
    free = [1.0 - b for b in s.inputs['braked']]
    held: list[list[Scalar]] = [[0.0] * len(H) for _ in H]
    for i, row in enumerate(H):
        held[i][i] = where(free[i], row[i], 1.0)
        for j in ltl.ancestors(parent, i):
            held[i][j] = row[j] * (free[i] * free[j])
    found = ltl.inverse(held, parent)
    return [[x * a for x in row] for row, a in zip(found, free, strict=True)]
