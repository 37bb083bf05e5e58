# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Rigid contact in fixed steps: impulses with Coulomb friction, solved at the velocity level.

This goes beyond the book, whose rigid contact proceeds from event to event without friction (see
``event_driven``). How a step is taken is described in :mod:`rbd_ros.sim.steps.stepping`.

One kernel computes distances, directions and Jacobians of all pairs, and the inverse of the
inertia matrix. Which pairs are near enough to matter is decided afterwards, so that a new set of
contacts compiles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rbd_ros.algorithms import kinematics
from rbd_ros.algorithms.contact.friction_cones import Cones, cones
from rbd_ros.algorithms.linear import ltl
from rbd_ros.compiler import Array, Matrix
from rbd_ros.dynamics.families.tree import sparsity, tree
from rbd_ros.dynamics.quantity import Quantity
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.dynamics.state import State
from rbd_ros.model.model import Model
from rbd_ros.sim.contact.impulses import Pairs
from rbd_ros.sim.contact.pattern import gaps, Pattern, tangents
from rbd_ros.sim.contact.world import World
from rbd_ros.spatial import Motion, Vec3

#: Contacts for which there is room at first.
ROOM = 16


class RigidContacts:
    """
    The contacts of a robot with a rigid world.

    :param model: the robot.
    :param world: what it may touch.
    :param integrator: of steps without contact.
    :param backend: as for :class:`rbd_ros.Dynamics`.
    :param inertia: H(q) that the impulses act on, for a robot with closed loops; that of the tree
        when not given.
    """

    def __init__(
        self, model: Model, world: World, integrator: str, backend: str = 'auto', *,
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
        inputs, found = self._kernel.inputs, self._kernel.outputs
        for name, values in world.shape_inputs().items():
            inputs[name][:] = values
        balls, obstacles = np.array(pattern.pairs).T
        sides = (np.array(pattern.bodies)[balls], np.array(pattern.carriers)[obstacles])
        count, nv = len(pattern.pairs), model.nv
        self._pairs = Pairs(
            self._kernel if inertia is None else self._with_loops, inputs['q'], inputs['braked'],
            inputs.get('time', np.zeros(0)), found['distance'], found['T'].reshape(-1, nv),
            found['drift'].reshape(-1),
            found['inverse'] if inertia is None else np.zeros((nv, nv)),
            found['frame'].reshape(-1, 3), found['point'],
            np.column_stack(sides).astype(float),
            np.array([world.surface.friction, world.surface.restitution,
                      float(integrator == 'rk4')]),
            near=np.zeros(count), free=np.zeros(nv), last=np.zeros(3 * count),
            row=np.zeros(nv), reach=np.zeros((2, nv)), forces=np.zeros((count, 6)),
            mean=np.zeros((count, 6)),
            wrenches=np.zeros((model.nb + 1, 6)))
        self._cones = cones(0)

    @property
    def forces(self) -> Array:
        """Return contact point and force of each pair, (pairs, 6)."""
        return self._pairs.forces

    @property
    def swept(self) -> int:
        """Return how many sweeps were needed, where guesses did not lead to the end."""
        return int(self._cones.swept[0])

    def with_room(self, contacts: int) -> tuple[Pairs, Cones]:
        """Return what a step needs if no more than so many contacts matter."""
        room = min(contacts, len(self.forces))
        self._cones = cones(room, self._pairs.row.size)
        return self._pairs, self._cones

    def reset(self) -> None:
        """Forget the last step."""
        self._pairs.forces[:], self._pairs.last[:] = 0.0, 0.0

    def _with_loops(self) -> None:
        """Compute what the kernel does, and the inverse of the inertia with stiff loops."""
        self._kernel()
        p = self._pairs
        if self._inertia is None:
            return
        free = np.ix_(p.braked == 0.0, p.braked == 0.0)
        p.inverse[:] = 0.0
        p.inverse[free] = np.linalg.inv(self._inertia(p.q)[free])


def _terms(s: State, pattern: Pattern) -> dict[str, Sequence[Any]]:
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
) -> list[Any]:
    """Return the Jacobian rows of the relative velocity of two bodies at a point, along axes."""
    model = s.model
    rows: Matrix = [[0.0] * model.tree_nv for _ in axes]
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


def _inverse(s: State) -> Matrix:
    """Return the inverse of the inertia matrix, zero for velocities that brakes hold."""
    H, parent = s.compute('mass_matrix'), sparsity(s.model)
    free = [1.0 - b for b in s.inputs['braked']]
    found = ltl.inverse(ltl.masked(H, parent, free), parent)
    return [[x * a for x in row] for row, a in zip(found, free, strict=True)]
