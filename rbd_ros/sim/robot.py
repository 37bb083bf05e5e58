# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The simulated robot: rigid-body dynamics with the friction, brakes and stops of real joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_ros.compiler import Array
from rbd_ros.compiler.arguments import shaped
from rbd_ros.compiler.procedure import bind
from rbd_ros.dynamics.kernels.no_result import impossible_position
from rbd_ros.errors import NonFiniteError, SettingError, ShapeError
from rbd_ros.model.model import Model
from rbd_ros.sim.contact.rigid_world import RigidContacts, ROOM
from rbd_ros.sim.contact.world import World
from rbd_ros.sim.physics import Physics
from rbd_ros.sim.steps.coordinates import Coordinates
from rbd_ros.sim.steps.engine import (
    compiled_engine, Engine, ForwardDynamics, MassMatrix, PlainEngine)
from rbd_ros.sim.steps.loop_engine import LoopEngine
from rbd_ros.sim.steps.step import UNLIMITED
from rbd_ros.sim.steps.stepping import (
    DIVERGED, FULL, MISSED, NEWS, REPORT, RESIDUAL, Stepping, take_contact_step, take_step,
    UNRESOLVED)


class ContactForce(NamedTuple):
    """
    A force of the world on the robot, or of one link on another.

    :param body: index of the body on which it acts.
    :param obstacle: name of the obstacle, or of the link, on which the opposite force acts.
    :param point: of contact, base coordinates, m.
    :param force: base coordinates, N.
    """

    body: int
    obstacle: str
    point: Array
    force: Array


class Moving(NamedTuple):
    """
    What a step works on, for one who takes steps without the robot's own ``step``.

    :param run: takes a step.
    :param time: what it reads of time; may be empty.
    :param contact: torque of friction, brakes and stops.
    """

    run: Callable[[], None]
    setting: Array
    report: Array
    time: Array
    q: Array
    v: Array
    command: Array
    braked: Array
    motor: Array
    contact: Array


class SimulatedRobot:
    """
    A robot that moves under joint torques and external forces, one fixed step at a time.

    The whole step is compiled for the robot; :mod:`rbd_ros.sim.steps.step` describes it. With your
    own ``forward_dynamics`` it runs in plain Python around that. The state of a robot with closed
    loops is projected onto them after each step.

    :param model: the robot.
    :param forward_dynamics: qdd(q, qd, tau, f_ext), where f_ext is None or (nb, 6), a force on
        each body in base coordinates about the base origin, angular first.
    :param mass_matrix: H(q) to go with it; computed from ``forward_dynamics`` when not given.
    :param physics: what acts in the joints; taken from the description when not given. Everything
        but the integrator may be replaced between two steps.
    :param backend: of the compiled step, as for :class:`rbd_ros.Dynamics`.
    :param world: what the robot may touch; nothing when not given.
    """

    def __init__(
        self, model: Model, forward_dynamics: ForwardDynamics | None = None, *,
        mass_matrix: MassMatrix | None = None, physics: Physics | None = None,
        backend: str = 'auto', world: World | None = None,
    ) -> None:
        self.model, self.world = model, world
        soft = world is not None and world.kind == 'soft'
        if soft and forward_dynamics is not None:
            raise SettingError('soft contact is part of the compiled step: leave '
                               'forward_dynamics out, or use rigid contact')
        if model.time_dependent and forward_dynamics is not None:
            raise SettingError(f'"{model.name}" has joints that move with time, which forward '
                               'dynamics of your own is not told: leave forward_dynamics out')
        physics = physics or Physics.of(model)
        pattern = world.pattern() if world is not None and soft else None
        self._engine: Engine
        self._loops: LoopEngine | None = None
        if model.loops:
            if forward_dynamics is not None:
                model.refuse_loops('a simulation around forward dynamics of your own')
            self._engine = self._loops = LoopEngine(
                model, physics.integrator, soft=pattern, backend=backend)
        elif forward_dynamics is None:
            self._engine = compiled_engine(model, physics.integrator, soft=pattern,
                                           backend=backend)
        else:
            self._engine = PlainEngine(model, physics.integrator, forward_dynamics, mass_matrix)
        self._integrator = physics.integrator
        self._in, self._out = self._engine.inputs, self._engine.outputs
        # a procedure stands in the source as Python runs it: that is its reference
        self._procedures = 'python' if backend == 'reference' else backend
        self._rigid = None
        if world is not None and soft:
            for name, values in world.soft_inputs().items():
                self._in[name][:] = values
        elif world is not None:
            self._rigid = RigidContacts(
                model, world, physics.integrator, backend,
                inertia=None if self._loops is None else self._loops.inertia)
        self._pushed, self._report = np.zeros((model.nb, 6)), np.zeros(REPORT)
        self._free_guess = np.zeros((2, model.nv))
        self._take_step = self._bound_step(ROOM)
        #: Time since the robot was placed or reset, s, which joints that move with time follow.
        self.time = 0.0
        #: Number of steps in which friction or rigid contacts were not solved. Friction stays
        #: within its bounds; unsolved contacts may penetrate, see ``contact_residual``.
        self.unresolved = 0
        #: Number of these steps in which rigid contacts were not solved.
        self.unsolved_contacts = 0
        self.physics = physics
        start = (Coordinates(model).neutral() if self._loops is None
                 else self._loops.dynamics.loop_report.q)
        self._put(np.array(start), np.zeros(model.nv))

    # --- what acts on it ------------------------------------------------------------------

    @property
    def physics(self) -> Physics:
        """Return what acts in the joints."""
        return self._physics

    @physics.setter
    def physics(self, physics: Physics) -> None:
        if physics.lower.size != self.model.nv:
            raise ShapeError(f'the physics is for {physics.lower.size} coordinates, '
                             f'"{self.model.name}" has nv = {self.model.nv}')
        if physics.integrator != self._integrator:
            raise SettingError(f'the integrator is "{self._integrator}"; it cannot be changed: '
                               'make a new SimulatedRobot')
        for name in ('friction', 'damping', 'effort_limit', 'lower', 'upper'):
            np.clip(getattr(physics, name), -UNLIMITED, UNLIMITED, out=self._in[name])
        self._in['setting'][1:4] = (
            physics.restitution, physics.recovery_speed, physics.mass_scale)
        self._physics = physics

    @property
    def braked(self) -> NDArray[np.bool_]:
        """Return which velocities are held by brakes, (nv,)."""
        return self._in['braked'] > 0.0

    def brake(self, which: ArrayLike = True) -> None:
        """
        Set the brakes, which are ideal: they stop a joint within one step and do not slip.

        :param which: one boolean for all of them, or (nv,) booleans; true closes a brake.
        """
        self._in['braked'][:] = np.asarray(which, dtype=bool)

    def is_held_by(self, which: ArrayLike) -> bool:
        """
        Return whether brakes in some joints leave the loops no motion, where the robot is now.

        :param which: one boolean for all of them, or (nv,) booleans; true for a brake.
        """
        which = np.broadcast_to(np.asarray(which, dtype=bool), self.model.nv)
        if self._loops is None:
            return bool(which.all())
        free = self._loops.dynamics.loop_jacobian(self.q)[:, ~which]
        return bool(np.linalg.matrix_rank(free, tol=1e-6) == free.shape[1])

    @property
    def motor_torque(self) -> Array:
        """Return the torque of the actuators in the last step: the limited command."""
        return self._out['motor'].copy()

    @property
    def joint_torque(self) -> Array:
        """Return the torque on the links in the last step: motor, friction, brake and stop."""
        return self._out['motor'] + self._out['contact']

    @property
    def contact_torque(self) -> Array:
        """Return the torque of friction, brakes and stops in the last step, (nv,)."""
        return self._out['contact'].copy()

    def command(self, torque: ArrayLike) -> None:
        """
        Set the commanded torque of the actuators, which acts until the next command.

        :param torque: N.m or N, (nv,).
        """
        self._in['command'][:] = self._checked('torque', torque, (self.model.nv,))

    def push(self, f_ext: ArrayLike | None) -> None:
        """
        Set the external forces that act until the next call.

        :param f_ext: (nb, 6), a force on each body in base coordinates about the base origin,
            angular first; None for none.
        """
        self._pushed[:] = 0.0 if f_ext is None else self._checked(
            'f_ext', f_ext, (self.model.nb, 6))
        self._in['f_ext'][:] = self._pushed

    @property
    def contact_forces(self) -> list[ContactForce]:
        """Return the forces of the world on the robot in the last step."""
        if self.world is None:
            return []
        rows = self._out['contact_forces'] if self._rigid is None else self._rigid.forces
        points, found = self.world.points, []
        for pair in np.flatnonzero(np.abs(rows[:, 3:]).max(axis=1, initial=0.0) > 0.0).tolist():
            body = int(points.bodies[points.pairs[pair][0]])
            found.append(ContactForce(body, self.world.name(pair), rows[pair, :3].copy(),
                                      rows[pair, 3:].copy()))
        return found

    @property
    def contact_residual(self) -> float:
        """Return the velocity error of the rigid contacts in the last step, m/s."""
        return float(self._report[RESIDUAL])

    @property
    def contact_sweeps(self) -> int:
        """Return how many sweeps rigid contacts have needed, where guesses were not enough."""
        return 0 if self._rigid is None else self._rigid.swept

    # --- its state ------------------------------------------------------------------------

    @property
    def q(self) -> Array:
        """Return the position, (nq,)."""
        return self._in['q'].copy()

    @property
    def v(self) -> Array:
        """Return the velocity, (nv,)."""
        return self._in['v'].copy()

    @property
    def singular_steps(self) -> int:
        """Return the number of steps in which the loop constraints were singular."""
        return 0 if self._loops is None else self._loops.singular

    def place(
        self, q: ArrayLike, v: ArrayLike | None = None, *, fixed: Sequence[str] = (),
    ) -> None:
        """
        Put the robot into a state, to which ``reset`` also returns from now on.

        A robot with closed loops is put into the nearest state that they allow.

        :param q: position, (nq,).
        :param v: velocity, (nv,); zero when not given.
        :param fixed: names of joints that stay at q while the loops are closed; ignored if they
            have more freedoms than the robot.
        :raises LoopError: if the loops cannot be closed.
        :raises SettingError: if the robot overlaps an obstacle there.
        """
        v = np.zeros(self.model.nv) if v is None else v
        q, v = self._checked('q', q, (self.model.nq,)), self._checked('v', v, (self.model.nv,))
        if reason := impossible_position(self.model, q.tolist()):
            raise NonFiniteError(f'"{self.model.name}" cannot be placed: {reason}')
        if self._loops is not None:
            q = self._loops.assembled(q, fixed)
            v = self._loops.dynamics.consistent_velocity(q, v) if v.any() else v
        self._put(q, v)
        if self.world is not None:
            self.world.refuse_overlap(self.model, self._in['q'])

    def _put(self, q: Array, v: Array) -> None:
        self._initial = (q, v)
        self.reset()

    def reset(self) -> None:
        """Return to the initial state; clears command and external forces, keeps the brakes."""
        self._in['q'][:], self._in['v'][:] = self._initial
        self._set_time(0.0)
        self._pushed[:] = 0.0
        for name in ('command', 'f_ext', 'held', 'sign', 'dents'):
            if name in self._in:
                self._in[name][:] = 0.0
        for name in ('motor', 'contact', 'contact_forces'):
            if name in self._out:
                self._out[name][:] = 0.0
        self._report[:], self._free_guess[:] = 0.0, 0.0
        if self._rigid is not None:
            self._rigid.reset()

    def step(self, h: float) -> None:
        """Advance by ``h`` seconds, zero or more."""
        if not 0.0 <= h < math.inf:
            raise SettingError(f'step is {h} s; it must be finite and not negative')
        if h == 0.0:        # the laws of contact and friction divide by it
            return
        self._in['setting'][0] = h
        self._take_step()
        if self._report[NEWS]:
            self.look()
        self._set_time(self.time + h)

    @property
    def moving(self) -> Moving:
        """Return the arrays of a step and its call; ``moved`` says what was done with them."""
        x, y = self._in, self._out
        return Moving(self._take_step, x['setting'], self._report, x.get('time', np.zeros(0)),
                      x['q'], x['v'], x['command'], x['braked'], y['motor'], y['contact'])

    def moved(self, time: float) -> None:
        """
        Take note of steps that were taken elsewhere.

        :param time: of the robot after them, s.
        """
        self._set_time(time)

    def _bound_step(self, room: int) -> Callable[[], None]:
        """
        Return the call that takes a step.

        :param room: for so many rigid contacts.
        """
        x, y, none = self._in, self._out, np.zeros(0)
        stepping = Stepping(
            self._engine, x['setting'], y['status'], x.get('time', none), x['q'], y['q'], x['v'],
            y['v'], x['held'], y['held'], x['sign'], y['sign'],
            x.get('dents', none).reshape(-1), y.get('new_dents', none).reshape(-1),
            x['braked'], x['f_ext'], self._pushed, y['w'],
            self._free_guess[0], self._free_guess[1], self._report)
        if self._rigid is None:
            return bind(take_step, stepping, backend=self._procedures)
        return bind(take_contact_step, stepping, *self._rigid.with_room(room),
                    backend=self._procedures)

    def look(self) -> None:
        """
        Look at what a step reports.

        :raises NonFiniteError: if the state is no longer finite.
        """
        if self._report[FULL]:
            self._take_step = self._bound_step(2 * int(self._report[FULL]))
            self._take_step()
        self.unresolved += int(self._report[UNRESOLVED])
        self.unsolved_contacts += int(self._report[MISSED])
        if self._report[DIVERGED]:
            raise NonFiniteError(
                f'the simulation of "{self.model.name}" has diverged: its state is no longer '
                'finite; use a shorter step, or check masses, inertias and commands')

    def _set_time(self, t: float) -> None:
        self.time = t
        if 'time' in self._in:
            self._in['time'][:] = t

    def _checked(self, name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
        return shaped(name, value, shape, self.model.name)
