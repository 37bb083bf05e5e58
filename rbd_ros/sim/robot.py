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

import math
from typing import TYPE_CHECKING

import numpy as np

from rbd_ros.errors import NonFiniteError, SettingError, ShapeError
from rbd_ros.sim.coordinates import Coordinates
from rbd_ros.sim.engine import compiled_engine, PlainEngine
from rbd_ros.sim.physics import Physics
from rbd_ros.sim.step import UNLIMITED

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rbd_ros.model.model import Model
    from rbd_ros.sim.engine import Engine, ForwardDynamics, MassMatrix

    Array = NDArray[np.float64]

#: Times a step is tried with corrected guesses of who sticks; then, as often, one by one.
_TRIES = 8

#: What a step hands on to the next one.
_CARRIED = ('q', 'v', 'held', 'sign')


class SimulatedRobot:
    """
    A robot that moves under joint torques and external forces, one fixed step at a time.

    The step is compiled for the robot as a whole, see :mod:`rbd_ros.sim.step` for its rules; with
    ``forward_dynamics`` given, it runs in plain Python around that.

    :param model: the robot.
    :param forward_dynamics: qdd(q, qd, tau, f_ext), where f_ext is None or (nb, 6), a force on
        each body in base coordinates about the base origin, angular first.
    :param mass_matrix: H(q) to go with it; found from ``forward_dynamics`` when not given.
    :param physics: what acts in the joints; what the description says when not given. All of it
        but the integrator may be replaced between two steps.
    :param backend: of the compiled step, as for :class:`rbd_ros.Dynamics`.
    """

    def __init__(
        self, model: Model, forward_dynamics: ForwardDynamics | None = None, *,
        mass_matrix: MassMatrix | None = None, physics: Physics | None = None,
        backend: str = 'auto',
    ) -> None:
        self.model = model
        physics = physics or Physics.of(model)
        self._engine: Engine
        if forward_dynamics is None:
            self._engine = compiled_engine(model, physics.integrator, backend=backend)
        else:
            self._engine = PlainEngine(model, physics.integrator, forward_dynamics, mass_matrix)
        self._integrator = physics.integrator
        self._in, self._out = self._engine.inputs, self._engine.outputs
        self._carried = [(self._in[name], self._out[name]) for name in _CARRIED]
        #: Steps whose friction was not resolved exactly; its torques stay within their bounds.
        self.unresolved = 0
        self.physics = physics
        self.place(Coordinates(model).neutral())

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
            raise SettingError(f'the integrator is "{self._integrator}"; it cannot be changed '
                               'to another one, make a new SimulatedRobot')
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
        Set the brakes: all of them, or (nv,) booleans, true where one is on.

        A brake is ideal: it stops its joint within the next step and does not slip.
        """
        self._in['braked'][:] = np.asarray(which, dtype=bool)

    @property
    def motor_torque(self) -> Array:
        """Return the torque of the actuators in the last step: the command within the limits."""
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
        Set the torque that the actuators are asked for until the next command.

        :param torque: N.m or N, (nv,).
        """
        self._in['command'][:] = self._checked('torque', torque, (self.model.nv,))

    def push(self, f_ext: ArrayLike | None) -> None:
        """
        Set the external forces that act until the next call.

        :param f_ext: (nb, 6), a force on each body in base coordinates about the base origin,
            angular first; None for none.
        """
        self._in['f_ext'][:] = 0.0 if f_ext is None else self._checked(
            'f_ext', f_ext, (self.model.nb, 6))

    # --- its state ------------------------------------------------------------------------

    @property
    def q(self) -> Array:
        """Return the position, (nq,)."""
        return self._in['q'].copy()

    @property
    def v(self) -> Array:
        """Return the velocity, (nv,)."""
        return self._in['v'].copy()

    def place(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """
        Put the robot into a state, which also becomes the one that ``reset`` returns to.

        :param q: position, (nq,).
        :param v: velocity, (nv,); zero when not given.
        """
        v = np.zeros(self.model.nv) if v is None else v
        self._initial = (self._checked('q', q, (self.model.nq,)),
                         self._checked('v', v, (self.model.nv,)))
        self.reset()

    def reset(self) -> None:
        """Return to the initial state, without command and external force; brakes stay."""
        self._in['q'][:], self._in['v'][:] = self._initial
        for name in ('command', 'f_ext', 'held', 'sign'):
            self._in[name][:] = 0.0
        for name in ('motor', 'contact'):
            self._out[name][:] = 0.0

    def step(self, h: float) -> None:
        """Advance by ``h`` seconds."""
        setting, status = self._in['setting'], self._out['status']
        setting[0], setting[4] = h, 0.0
        self._engine()
        if status[0] != 0.0:
            self._resolve()
        if not math.isfinite(status[1]):
            raise NonFiniteError(
                f'the simulation of "{self.model.name}" has diverged: its state is no longer '
                'finite; use a shorter step, or check masses, inertias and commands')
        for old, new in self._carried:
            old[:] = new

    def _resolve(self) -> None:
        """Take the step again with better guesses until they are right."""
        for attempt in range(2 * _TRIES):
            for name in ('held', 'sign'):
                self._in[name][:] = self._out[name]
            self._in['setting'][4] = float(attempt >= _TRIES)
            self._engine()
            if self._out['status'][0] == 0.0:
                return
        self.unresolved += 1

    def _checked(self, name: str, value: ArrayLike, shape: tuple[int, ...]) -> Array:
        array = np.array(value, dtype=float)
        if array.shape != shape:
            raise ShapeError(f'{name} has shape {array.shape}, "{self.model.name}" needs {shape}')
        if not np.isfinite(array).all():
            raise NonFiniteError(f'{name} holds a value that is not finite')
        return array
