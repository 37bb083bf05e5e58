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
The independent coordinates of a model as a space in which a state can move.

Most joints have one coordinate that simply adds; quaternions and the like do not. This object
knows which is which, so that the integrators need not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rbd_ros.joints import Joint
    from rbd_ros.model import Model

    Array = NDArray[np.float64]


class Coordinates:
    """
    Move positions of a model along velocities.

    :param model: the robot; mimic joints own no coordinates and do not appear here.
    """

    def __init__(self, model: Model) -> None:
        self.nq, self.nv = model.nq, model.nv
        single_q, single_v = [], []
        self._others: list[tuple[Joint, slice, slice]] = []
        for name in model.independent_joint_names:
            joint = model.joint[model.joint_index(name)]
            q, v = model.position_slice(name), model.velocity_slice(name)
            if joint.nq == joint.nv == 1:
                single_q.append(q.start)
                single_v.append(v.start)
            else:
                self._others.append((joint, q, v))
        #: Indices into q and v of all joints with one coordinate.
        self.single_q = np.array(single_q, dtype=np.intp)
        self.single_v = np.array(single_v, dtype=np.intp)

    def neutral(self) -> Array:
        """Return the position in which every joint is at its zero."""
        q = np.zeros(self.nq)
        for joint, i, _ in self._others:
            q[i] = joint.neutral()
        return q

    def integrate(self, q: Array, step: Array) -> Array:
        """
        Return the position reached from ``q`` by moving along ``step``.

        :param step: velocity times time, (nv,).
        """
        if not self._others:
            return q + step
        out = np.empty(self.nq)
        out[self.single_q] = q[self.single_q] + step[self.single_v]
        for joint, i, j in self._others:
            out[i] = joint.integrate(q[i].tolist(), step[j].tolist())
        return out

    def q_dot(self, q: Array, v: Array) -> Array:
        """Return the rate of change of the entries of ``q`` at velocity ``v``."""
        if not self._others:
            return v
        out = np.empty(self.nq)
        out[self.single_q] = v[self.single_v]
        for joint, i, j in self._others:
            out[i] = joint.q_dot(q[i].tolist(), v[j].tolist())
        return out

    def land(self, start: Array, q: Array) -> Array:
        """
        Return the valid position nearest to ``q``, which was reached from ``start``.

        :param q: entries that were added up and may have left the space, such as a quaternion
            that is no longer of unit length.
        """
        if not self._others:
            return q
        out = q.copy()
        for joint, i, _ in self._others:
            origin = start[i].tolist()
            out[i] = joint.integrate(origin, joint.difference(origin, q[i].tolist()))
        return out

    def keep(self, kept: NDArray[np.bool_], old: Array, new: Array) -> Array:
        """
        Return ``new`` with the positions of ``old`` for joints of which no velocity moves.

        :param kept: which velocities are held at zero, (nv,).
        """
        held = kept[self.single_v]
        if held.any():
            index = self.single_q[held]
            new[index] = old[index]
        for _, i, j in self._others:
            if kept[j].all():
                new[i] = old[i]
        return new
