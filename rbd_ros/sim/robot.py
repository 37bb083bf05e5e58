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

"""The simulated robot: rigid-body dynamics with the friction, brakes and stops of real joints."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from rbd_ros.errors import NonFiniteError, ShapeError
from rbd_ros.sim.coordinates import Coordinates
from rbd_ros.sim.integrators import rk4_step
from rbd_ros.sim.nonsmooth import solve_velocity, VelocityStep
from rbd_ros.sim.physics import Physics

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rbd_ros.model import Model

    Array = NDArray[np.float64]
    ForwardDynamics = Callable[[Array, Array, Array, Array | None], Array]
    MassMatrix = Callable[[Array], Array]

#: Approach speed, rad/s or m/s, below which a joint comes to rest on its stop and does not bounce.
BOUNCE_SPEED = 1e-2


class SimulatedRobot:
    """
    A robot that moves under joint torques and external forces, one fixed step at a time.

    Steps without an event (a joint starts or stops sliding, or meets a stop) are taken by the
    integrator that ``physics`` names, with dry friction constant over the step; a step with an
    event is taken by the semi-implicit rule, for which the implicit impulses are exact.

    :param model: the robot.
    :param forward_dynamics: qdd(q, qd, tau, f_ext), where f_ext is None or (nb, 6), a force on
        each body in base coordinates about the base origin, angular first.
    :param mass_matrix: H(q); found from ``forward_dynamics`` when not given.
    :param physics: what acts in the joints; what the description says when not given.
    """

    def __init__(
        self, model: Model, forward_dynamics: ForwardDynamics, *,
        mass_matrix: MassMatrix | None = None, physics: Physics | None = None,
    ) -> None:
        self.model = model
        self.space = Coordinates(model)
        self._forward = forward_dynamics
        self._mass = mass_matrix or self._mass_by_columns
        self._initial = (self.space.neutral(), np.zeros(model.nv))
        self.q, self.v = (part.copy() for part in self._initial)
        self._command = np.zeros(model.nv)
        self._f_ext: Array | None = None
        self._braked = np.zeros(model.nv, dtype=bool)
        #: Torque that friction, brakes and stops gave in the last step, (nv,).
        self.contact_torque = np.zeros(model.nv)
        self._resting = False
        self.physics = physics or Physics.of(model)

    # --- what acts on it ------------------------------------------------------------------

    @property
    def physics(self) -> Physics:
        """Return what acts in the joints; may be replaced between two steps."""
        return self._physics

    @physics.setter
    def physics(self, physics: Physics) -> None:
        if physics.lower.size != self.model.nv:
            raise ShapeError(f'the physics is for {physics.lower.size} coordinates, '
                             f'"{self.model.name}" has nv = {self.model.nv}')
        self._physics = physics
        self._resting = False

    @property
    def braked(self) -> NDArray[np.bool_]:
        """Return which velocities are held by brakes, (nv,)."""
        return self._braked

    def brake(self, which: ArrayLike = True) -> None:
        """
        Set the brakes: all of them, or (nv,) booleans that say which are on.

        A brake is ideal: it stops its joint within the next step and does not slip.
        """
        self._braked = np.broadcast_to(np.asarray(which, dtype=bool), self.v.shape).copy()
        self._resting = False

    @property
    def motor_torque(self) -> Array:
        """Return the torque that the actuators give now: the command within the limits, (nv,)."""
        limit = self._physics.effort_limit
        return np.where(self._braked, 0.0, np.minimum(np.maximum(self._command, -limit), limit))

    @property
    def joint_torque(self) -> Array:
        """Return the torque on the links in the last step: motor, friction, brake and stop."""
        return self.motor_torque + self.contact_torque

    def command(self, torque: ArrayLike) -> None:
        """
        Set the torque that the actuators are asked for until the next command.

        :param torque: N.m or N, (nv,).
        """
        self._command = self._vector('torque', torque, self.model.nv)

    def push(self, f_ext: ArrayLike | None) -> None:
        """
        Set the external forces that act until the next call.

        :param f_ext: (nb, 6), a force on each body in base coordinates about the base origin,
            angular first; None for none.
        """
        self._resting = False
        if f_ext is None:
            self._f_ext = None
            return
        array = np.array(f_ext, dtype=float)
        if array.shape != (self.model.nb, 6):
            raise ShapeError(f'f_ext has shape {array.shape}, '
                             f'"{self.model.name}" needs ({self.model.nb}, 6)')
        if not np.isfinite(array).all():
            raise NonFiniteError('f_ext holds a value that is not finite')
        self._f_ext = array if array.any() else None

    # --- its state ------------------------------------------------------------------------

    def place(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """
        Put the robot into a state, which also becomes the one that ``reset`` returns to.

        :param q: position, (nq,).
        :param v: velocity, (nv,); zero when not given.
        """
        position = self._vector('q', q, self.model.nq)
        velocity = np.zeros(self.model.nv) if v is None else self._vector('v', v, self.model.nv)
        self._initial = (position, velocity)
        self.reset()

    def reset(self) -> None:
        """Return to the initial state, without command and external force; brakes stay."""
        self.q, self.v = (part.copy() for part in self._initial)
        self._command = np.zeros(self.model.nv)
        self.contact_torque = np.zeros(self.model.nv)
        self._f_ext = None
        self._resting = False

    def step(self, h: float) -> None:
        """Advance by ``h`` seconds."""
        if self._resting:
            return
        p, v = self._physics, self.v
        if self._braked.all() and not v.any():
            self._rest()
            return
        tau = self.motor_torque
        a = self._acceleration(self.q, v, tau)
        v_free = v + h * a
        if (self._braked.any() or p.friction.any() or p.damping.any()
                or self._hits(v_free, h)):
            self._rough(tau, a, h)
        else:
            self.contact_torque = np.zeros(self.model.nv)
            self._smooth(tau, np.zeros(self.model.nv), v_free, h)
        if not (np.isfinite(self.q).all() and np.isfinite(self.v).all()):
            raise NonFiniteError(
                f'the simulation of "{self.model.name}" has diverged: its state is no longer '
                'finite; use a shorter step, or check masses, inertias and commands')

    # --- one step -------------------------------------------------------------------------

    def _acceleration(self, q: Array, v: Array, tau: Array) -> Array:
        """Return qdd; masses times s move under tau as the model's own do under tau / s."""
        s, f = self._physics.mass_scale, self._f_ext
        if s == 1.0:
            return self._forward(q, v, tau, f)
        return self._forward(q, v, tau / s, None if f is None else f / s)

    def _inertia(self) -> Array:
        return self._physics.mass_scale * self._mass(self.q)

    def _rest(self) -> None:
        """Hold everything: only the torques of the brakes are new, and they do not change."""
        zero = np.zeros(self.model.nv)
        self.contact_torque = -self._inertia() @ self._acceleration(self.q, self.v, zero)
        self._resting = True

    def _smooth(self, tau: Array, damping: Array, v_free: Array, h: float) -> None:
        """
        Take a step without events; with RK4, ``damping`` acts inside the stages.

        ``v_free`` keeps all joints within their stops; where RK4 does not, it missed an event.
        """
        if self._physics.integrator == 'rk4':
            def acceleration(q: Array, v: Array) -> Array:
                return self._acceleration(q, v, tau - damping * v)
            q, v = rk4_step(self.space, acceleration, self.q, self.v, h)
            if not self._beyond(q[self.space.single_q]):
                self.q, self.v = q, v
                return
        self.q, self.v = self.space.integrate(self.q, h * v_free), v_free

    def _beyond(self, q: Array) -> bool:
        """Return whether a joint with one coordinate is beyond a stop."""
        p, i = self._physics, self.space.single_v
        return bool(((q < p.lower[i]) | (q > p.upper[i])).any())

    def _rough(self, tau: Array, a: Array, h: float) -> None:
        """Take a step with friction, brakes or stops."""
        p, q, v = self._physics, self.q, self.v
        H = self._inertia()
        explicit = np.zeros(self.model.nv)
        if p.integrator == 'rk4' and self._damping_is_slow(H, h):
            explicit = p.damping
            a = self._acceleration(q, v, tau - explicit * v)
        v_free = v + h * a
        low, high = self._bounds(v_free, h)
        solved = solve_velocity(
            H, v_free, dry=np.where(self._braked, np.inf, h * p.friction),
            viscous=h * (p.damping - explicit), low=low, high=high)
        reaction = solved.impulse / h
        self.contact_torque = reaction - explicit * v
        if p.integrator == 'semi_implicit' or self._event(solved):
            stuck = solved.w == 0.0
            self.q, self.v = self.space.integrate(q, h * solved.w), solved.w
        else:
            stuck = (solved.w == 0.0) & (v == 0.0)
            self._smooth(tau + reaction, explicit, solved.w, h)
            self.v[stuck] = 0.0
        self.q = self.space.keep(stuck, q, self.q)

    def _event(self, solved: VelocityStep) -> bool:
        """Return whether a joint meets a stop, or begins, ends or reverses its sliding."""
        if solved.stopped.any():
            return True
        dry = self._braked | (self._physics.friction > 0.0)
        return bool((dry & (np.sign(solved.w) != np.sign(self.v))).any())

    def _damping_is_slow(self, H: Array, h: float) -> bool:
        """Return whether an explicit rule may treat damping: h times its fastest rate is small."""
        damping = self._physics.damping
        if not damping.any():
            return False
        return h * float(damping @ np.diagonal(np.linalg.inv(H))) < 0.5

    def _hits(self, v_free: Array, h: float) -> bool:
        """Return whether a joint would end the step beyond a stop."""
        return self._beyond(self.q[self.space.single_q] + h * v_free[self.space.single_v])

    def _bounds(self, v_free: Array, h: float) -> tuple[Array, Array]:
        """Return the velocities between which every joint ends the step within its stops."""
        p, i = self._physics, self.space.single_v
        q, v = self.q[self.space.single_q], self.v[i]
        low, high = np.full(self.model.nv, -np.inf), np.full(self.model.nv, np.inf)
        low[i] = self._rebound(p.lower[i] - q, v, v_free[i], h)
        high[i] = -self._rebound(q - p.upper[i], -v, -v_free[i], h)
        return low, np.maximum(low, high)

    def _rebound(self, gap: Array, v: Array, v_free: Array, h: float) -> Array:
        """
        Return the least velocity away from a stop; towards it is negative.

        :param gap: way back to the stop: positive for a joint beyond it.
        :param v: velocity at the start of the step.
        :param v_free: velocity at the end of the step if there were no stop.
        """
        p = self._physics
        landing = np.minimum(gap / h, p.recovery_speed)
        bounces = (v < -BOUNCE_SPEED) & (v_free < landing) & (p.restitution > 0.0)
        return np.where(bounces, np.maximum(-p.restitution * v, landing), landing)

    def _mass_by_columns(self, q: Array) -> Array:
        """Return H from forward dynamics alone: its inverse maps torques to accelerations."""
        zero = np.zeros(self.model.nv)
        bias = self._forward(q, zero, zero, None)
        columns = [self._forward(q, zero, unit, None) - bias for unit in np.eye(self.model.nv)]
        H = np.linalg.inv(np.array(columns))
        return 0.5 * (H + H.T)

    def _vector(self, name: str, value: ArrayLike, size: int) -> Array:
        array = np.array(value, dtype=float)
        if array.shape != (size,):
            raise ShapeError(f'{name} has shape {array.shape}, '
                             f'"{self.model.name}" needs ({size},)')
        if not np.isfinite(array).all():
            raise NonFiniteError(f'{name} holds a value that is not finite')
        return array
