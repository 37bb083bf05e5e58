# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Stiffness on its way to what is wanted, no faster than a given power allows.

A spring that becomes stiffer while it is deflected gets energy.

With the stiffness K_k and the deflection e_k of step k the stored energy e K e / 2 grows by
K_k+1 (e_k+1^2 - e_k^2) / 2, the work of the motion, and by (K_k+1 - K_k) e_k^2 / 2, the work of
the change. The change is therefore measured with the deflection of the step before it, exactly.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.language.whole import dot
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import NEVER

__all__ = ['Springs']

#: s that count at most between two steps: a pause saves nothing up
_LONGEST = 0.1


class Springs(Record):
    """Stiffness in force."""

    time: float = field('', 's', 'control time of the last step', NEVER)
    energy: float = field('', 'J', 'that changes of stiffness have put in since the law began')
    joint: Vector = field('n', 'N.m/rad or N/m', 'stiffness at the joints')
    tip: Vector = field('6', 'N.m/rad, N/m', 'stiffness at the tip, angular part first')
    way: Vector = field('6', 'rad, m', 'deflection of the springs at the tip in the last step; '
                                       'axes of the frame')

    def rest(self) -> None:
        """Begin at the reference, where a change of stiffness puts no energy in."""
        self.energy = 0.0
        self.way[:] = 0.0

    def note_way(self, R: Matrix, lead: Vector) -> None:
        """Keep the deflection at the tip, in the axes of the frame."""
        for k in range(3):
            turn, way = dot(R[:, k], lead[:3]), dot(R[:, k], lead[3:])
            if math.isfinite(turn) and math.isfinite(way):
                self.way[k], self.way[3 + k] = turn, way

    def stiffen(self, stiffness: Vector, wanted: Vector, at: int, pace: Vector, way: Vector,
                power: float, now: float) -> None:
        """
        Let stiffness become what is wanted at a pace; what rises does so within the power.

        :param stiffness: that of the joints or of the tip.
        :param wanted: numbers that have the wanted one.
        :param at: where it begins there.
        :param pace: share of its speed at which each spring acts.
        :param way: deflection of each spring in the last step.
        :param power: W; 0: no bound.
        :param now: control time, s.
        """
        dt = min(max(now - self.time, 0.0), _LONGEST) if self.time > NEVER else 0.0
        if math.isfinite(now):
            self.time = now
        needed, part = 0.0, 1.0
        for j in range(len(stiffness)):
            rise = pace[j] * pace[j] * wanted[at + j] - stiffness[j]
            needed += 0.5 * max(rise, 0.0) * way[j] * way[j]
        if power > 0.0 and needed > power * dt:
            part = power * dt / needed
        for j in range(len(stiffness)):
            goal = pace[j] * pace[j] * wanted[at + j]
            rise = goal - stiffness[j]
            after = stiffness[j] + part * rise if part < 1.0 and rise > 0.0 else goal
            if math.isfinite(after):
                stiffness[j] = after
        if math.isfinite(self.energy + part * needed):
            self.energy += part * needed
