# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Constrained systems made of a compiled tree: points held together, and loops cut at a joint.

They are what the methods of :mod:`rbd_ros.manifold` work on. All that depends on the
state comes from compiled kernels of the tree; its derivatives come from the recursions of
:mod:`rbd_ros.algorithms.derivatives`, which take joints of any number of freedoms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.errors import ModelError
from rbd_ros.joints import Joint
from rbd_ros.manifold.body_jacobians import ad
from rbd_ros.manifold.system import derivative, derivatives, DifferentiableSystem
from rbd_ros.manifold.virtual_links import Closure
from rbd_ros.model import positions
from rbd_ros.spatial import exponential


class Pin(NamedTuple):
    """
    Two frames whose origins are held together.

    :param frame: name of a frame.
    :param to: name of another one, which may belong to the base.
    :param rows: which of x, y, z of the base are held.
    """

    frame: str
    to: str
    rows: tuple[int, ...] = (0, 1, 2)


class TreeSystem(DifferentiableSystem):
    """
    The part of a constrained system that the tree answers.

    :param robot: a tree.
    """

    def __init__(self, robot: Dynamics) -> None:
        self.robot, self.model = robot, robot.model
        self.nv = self.model.nv
        self._flat = all(type(joint).q_dot is Joint.q_dot for joint in self.model.joint[1:])

    def mass_matrix(self, q: Array) -> Array:
        """Return H(q)."""
        return self.robot.mass_matrix(q)

    def bias(self, q: Array, qd: Array) -> Array:
        """Return C(q, qd)."""
        return self.robot.bias(q, qd)

    def energy(self, q: Array, qd: Array) -> float:
        """Return the energy of the tree."""
        return float(self.robot.kinetic_energy(q, qd) + self.robot.potential_energy(q))

    def dynamics_derivatives(self, q: Array, qd: Array, qdd: Array) -> tuple[Array, Array]:
        """Return the derivatives of inverse dynamics (4.3)."""
        found = self.robot.inverse_dynamics_derivatives(q, qd, qdd)
        return found.dtau_dq, found.dtau_dqd

    def integrate(self, q: Array, step: Array) -> Array:
        """Return the position along a step."""
        if self._flat:
            return q + step
        return np.array(positions.integrate(self.model, q.tolist(), step.tolist()))

    def difference(self, q_bar: Array, q: Array) -> Array:
        """Return the step between two positions."""
        if self._flat:
            return q - q_bar
        return np.array(positions.difference(self.model, q_bar.tolist(), q.tolist()))

    def q_dot(self, q: Array, qd: Array) -> Array:
        """Return the rate of q."""
        return qd if self._flat else np.array(
            positions.q_dot(self.model, q.tolist(), qd.tolist()))

    def normalise(self, start: Array, q: Array) -> Array:
        """Return a valid position near added-up entries."""
        if self._flat:
            return q
        return np.array(positions.normalise(self.model, start.tolist(), q.tolist()))

    def chart_velocity(self, q_bar: Array, q: Array, qd: Array) -> Array:
        """Return the rate of the step from q_bar to q."""
        if self._flat:
            return qd
        return derivative(
            lambda t: self.difference(q_bar, self.integrate(q, t * qd)), 1e-2)

    def chart_rate(self, q: Array, qd: Array) -> Array:
        """Return the derivative of that rate by position."""
        if self._flat:
            return np.zeros((self.nv, self.nv))
        return derivatives(
            lambda step: self.chart_velocity(q, self.integrate(q, step), qd), self.nv, 1e-2)


class PinnedTree(TreeSystem):
    """
    A tree with points held together: loops closed by ball joints, or by pins in a plane.

    :param robot: the tree.
    :param pins: which points, and in which directions of the base.
    """

    def __init__(self, robot: Dynamics, pins: Sequence[Pin]) -> None:
        super().__init__(robot)
        self.model.refuse_loops('a tree with pins')
        self.pins = tuple(pins)
        if not self.pins:
            raise ModelError(f'"{self.model.name}": name at least one pair of frames to pin')
        for pin in self.pins:
            for name in (pin.frame, pin.to):
                self.model.frame(name)

    def constraint(self, q: Array) -> Array:
        """Return the gaps between the points, base axes, m."""
        return np.concatenate([
            (self.robot.pose(q, pin.frame) - self.robot.pose(q, pin.to))[list(pin.rows), 3]
            for pin in self.pins])

    def jacobian(self, q: Array) -> Array:
        """Return the Jacobian of the gaps."""
        def of(frame: str) -> Array:
            return self.robot.pose(q, frame)[:3, :3] @ self.robot.jacobian(q, frame)[3:]
        return np.vstack([(of(pin.frame) - of(pin.to))[list(pin.rows)] for pin in self.pins])

    def constraint_bias(self, q: Array, qd: Array) -> Array:
        """Return minus the acceleration of the gaps at zero qdd."""
        def of(frame: str) -> Array:
            v, a = self.robot.velocity(q, qd, frame), self.robot.jacobian_rate(q, qd, frame)
            return self.robot.pose(q, frame)[:3, :3] @ (a[3:] + _skew(v[:3]) @ v[3:])
        return -np.concatenate([(of(pin.frame) - of(pin.to))[list(pin.rows)]
                                for pin in self.pins])

    def jacobian_derivative(self, q: Array, w: Array) -> Array:
        """Return the derivative of the gaps' velocity at joint velocities w."""
        zero = np.zeros(self.nv)

        def of(frame: str) -> Array:
            d = self.robot.frame_derivatives(q, w, zero, frame)
            v = d.J[3:] @ w
            # the axes of the frame turn with the position, by the angular rows of J
            return self.robot.pose(q, frame)[:3, :3] @ (d.dv_dq[3:] - _skew(v) @ d.J[:3])
        return np.vstack([(of(pin.frame) - of(pin.to))[list(pin.rows)] for pin in self.pins])

    def constraint_bias_derivatives(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the derivatives of k."""
        zero = np.zeros(self.nv)

        def of(frame: str) -> Array:
            d = self.robot.frame_derivatives(q, qd, zero, frame)
            v, a = d.J @ qd, self.robot.jacobian_rate(q, qd, frame)
            classical = a[3:] + _skew(v[:3]) @ v[3:]
            w, u = _skew(v[:3]), _skew(v[3:])
            by_q = d.da_dq[3:] - _skew(classical) @ d.J[:3] - u @ d.dv_dq[:3] + w @ d.dv_dq[3:]
            by_qd = d.da_dqd[3:] - u @ d.J[:3] + w @ d.J[3:]
            return self.robot.pose(q, frame)[:3, :3] @ np.stack([by_q, by_qd])
        both = -np.concatenate([(of(pin.frame) - of(pin.to))[:, list(pin.rows)]
                                for pin in self.pins], axis=1)
        return both[0], both[1]


class VirtualLinks(TreeSystem):
    """
    A tree whose loops are closed by virtual links, with the cut joints among its coordinates.

    The virtual bodies have no mass, so that H is singular; the null space moves mass all the
    same. A coordinate of a cut joint may be an independent one (A.3.2, A.3.3).

    :param robot: the tree, virtual bodies included.
    :param closures: which frames meet.
    """

    def __init__(self, robot: Dynamics, closures: Sequence[Closure]) -> None:
        super().__init__(robot)
        self.model.refuse_loops('a tree with virtual links')
        self.closures = tuple(closures)
        if not self.closures:
            raise ModelError(f'"{self.model.name}": name at least one virtual link to close')
        for closure in self.closures:
            for name in (closure.virtual, closure.partner):
                self.model.frame(name)

    def _offset(self, q: Array, closure: Closure) -> tuple[Array, Array]:
        """Return the step from the partner to the virtual frame, and the transform of motions."""
        pose = np.linalg.solve(self.robot.pose(q, closure.partner),
                               self.robot.pose(q, closure.virtual))
        pose[3] = 0.0, 0.0, 0.0, 1.0
        X = exponential.from_homogeneous(pose.tolist())
        return np.array(exponential.displacement_vector(X).to_list()), np.array(X.to_list())

    def constraint(self, q: Array) -> Array:
        """Return the screws that lead from the partners to the virtual frames."""
        return np.concatenate([self._offset(q, each)[0][list(each.rows)]
                               for each in self.closures])

    def jacobian(self, q: Array) -> Array:
        """Return J_i - J_i' of every closure, in the virtual frame (A.9)."""
        return np.vstack([
            (self.robot.jacobian(q, each.virtual)
             - self._offset(q, each)[1] @ self.robot.jacobian(q, each.partner))[list(each.rows)]
            for each in self.closures])

    def constraint_bias(self, q: Array, qd: Array) -> Array:
        """Return minus the relative acceleration at zero qdd (A.3.3)."""
        out = []
        for each in self.closures:
            X = self._offset(q, each)[1]
            v = X @ self.robot.velocity(q, qd, each.partner)
            slip = self.robot.velocity(q, qd, each.virtual) - v
            a = (self.robot.jacobian_rate(q, qd, each.virtual)
                 - X @ self.robot.jacobian_rate(q, qd, each.partner) + ad(slip) @ v)
            out.append(-a[list(each.rows)])
        return np.concatenate(out)

    def jacobian_derivative(self, q: Array, w: Array) -> Array:
        """Return the derivative of K w where the loops are closed."""
        return np.vstack([self._velocity_slope(q, w, each)[list(each.rows)]
                          for each in self.closures])

    def _velocity_slope(self, q: Array, w: Array, each: Closure) -> Array:
        zero = np.zeros(self.nv)
        one = self.robot.frame_derivatives(q, w, zero, each.virtual)
        two = self.robot.frame_derivatives(q, w, zero, each.partner)
        # the transform between the frames changes where they part: d(X v) = -(J_i - J_i') x v
        return one.dv_dq - two.dv_dq - ad(two.J @ w) @ (one.J - two.J)

    def constraint_bias_derivatives(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Return the derivatives of k where the loops are closed and stay so."""
        zero, by_q, by_qd = np.zeros(self.nv), [], []
        for each in self.closures:
            one = self.robot.frame_derivatives(q, qd, zero, each.virtual)
            two = self.robot.frame_derivatives(q, qd, zero, each.partner)
            v, a = two.J @ qd, self.robot.jacobian_rate(q, qd, each.partner)
            apart = one.J - two.J
            slope = (one.da_dq - two.da_dq - ad(a) @ apart
                     - ad(v) @ self._velocity_slope(q, qd, each))
            by_q.append(-slope[list(each.rows)])
            by_qd.append(-(one.da_dqd - two.da_dqd - ad(v) @ apart)[list(each.rows)])
        return np.vstack(by_q), np.vstack(by_qd)


def _skew(v: Array) -> Array:
    """Return the matrix of v x."""
    x, y, z = v.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
