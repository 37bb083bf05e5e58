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
Rigid contact in fixed steps: impulses with Coulomb friction, solved on velocities.

Each step is first taken without contact. Impulses then bring the velocity of every touching point
to where it may be, and the step is taken again under them. Beyond the book, whose rigid contact
goes from event to event and knows no friction (see ``event_driven`` for that).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from rbd_ros.algorithms.friction import contact_frame, coulomb
from rbd_ros.dynamics.contact_system import ContactSystem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rbd_ros.model.model import Model
    from rbd_ros.sim.world import World

    Array = NDArray[np.float64]

#: m, up to which a point over a surface is part of the problem of a step.
NEAR = 0.01

#: Share of a penetration that a step takes back, and the fastest way out, m/s.
RECOVERY, FASTEST = 0.2, 0.5

#: Approach speed, m/s, below which a contact does not bounce.
REST_SPEED = 0.02


class RigidContacts:
    """
    The contacts of a robot with a rigid world.

    :param model: the robot.
    :param world: what it may touch.
    :param backend: as for :class:`rbd_ros.Dynamics`.
    """

    def __init__(self, model: Model, world: World, backend: str = 'auto') -> None:
        self._system = ContactSystem(model, backend=backend)
        self._world = world
        #: Point and force of each pair, (pairs, 6).
        self.forces = np.zeros((len(world.points.pairs), 6))
        self._last = np.zeros((len(world.points.pairs), 3))     # where the next solution begins

    def push(
        self, q: Array, v: Array, free: Callable[[], Array], braked: NDArray[np.bool_], h: float,
        mass_scale: float,
    ) -> Array | None:
        """
        Return the forces on all bodies that keep a step from penetrating, or None for none.

        :param free: gives the velocity after the step without contact.
        :param braked: velocities that no impulse changes.
        """
        motions, points = self._system.motions(q, v), self._world.points
        self.forces[:] = 0.0
        near = np.flatnonzero(points.distances(motions) < NEAR).tolist()
        gaps = {pair: points.gap(pair, motions) for pair in near}
        if not gaps:
            return None
        frames = [contact_frame(gap.contact.point, gap.contact.direction)
                  for gap in gaps.values()]
        T = np.hstack([motions.J[gap.contact.successor].T @ N
                       for gap, N in zip(gaps.values(), frames, strict=True)])
        moving = ~braked
        if not moving.any():
            return None
        H = mass_scale * motions.H[np.ix_(moving, moving)]
        M = T[moving].T @ np.linalg.solve(H, T[moving])
        d = T.T @ free()
        before = T.T @ v
        e = self._world.surface.restitution
        for k, gap in enumerate(gaps.values()):
            normal = 3 * k + 2
            meets = before[normal] < -REST_SPEED and gap.distance < -before[normal] * h
            if e > 0.0 and meets:
                d[normal] += e * before[normal]
            elif gap.distance > 0.0:
                d[normal] += gap.distance / h
            else:
                d[normal] -= min(-RECOVERY * gap.distance / h, FASTEST)
        pairs = list(gaps)
        impulses = coulomb(M, d, self._world.surface.friction, start=h * self._last[pairs],
                           tolerance=1e-8, sweeps=50).force
        self._last[:] = 0.0
        self._last[pairs] = impulses / h
        f_ext = np.zeros((self._system.model.nb, 6))
        for pair, gap, N, impulse in zip(gaps, gaps.values(), frames, impulses, strict=True):
            force = N @ impulse / h
            f_ext[gap.contact.successor - 1] += force
            self.forces[pair] = [*gap.contact.point, *force[3:]]
        return f_ext
