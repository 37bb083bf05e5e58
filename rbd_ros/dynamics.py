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

"""The compiled robot: every quantity of a model, as machine code made on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import re
import threading
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from rbd_ros import quantities
from rbd_ros.compiler import Argument, compile as compile_graph, trace
from rbd_ros.compiler.kernel import checked, Kernel
from rbd_ros.errors import RbdError, SingularError
from rbd_ros.interpret import Interpreter
from rbd_ros.model import Frame
from rbd_ros.opspace import FULL, Handle
from rbd_ros.quantities import input_shapes, Quantity, Rule, state
from rbd_ros.spatial import RigidInertia, Sym3, Transform, Vec3

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rbd_ros.compiler import Graph
    from rbd_ros.compiler.kernel import Bound
    from rbd_ros.model import Model

    Array = NDArray[np.float64]

#: Condition number of Phi beyond which the inverse of Phi is not to be trusted.
TRUSTED_CONDITION = 1e8

#: The largest handle set whose eigenvalues are found inside the kernel.
KERNEL_ROWS = 6


class OperationalSpace(NamedTuple):
    """
    The robot as its handles feel it: f = Lambda a + bias (RBDA 7.2.1); m rows in all.

    :param Lambda: operational-space inertia, (m, m).
    :param bias: force that holds the handle acceleration at zero, (m,): velocity and gravity.
    :param J: task Jacobian, (m, nv).
    :param J_bar: dynamically consistent inverse H^-1 J^T Lambda, (nv, m).
    :param condition: condition number of Phi; large near singular poses.
    :param Phi: inverse inertia J H^-1 J^T, (m, m), valid at every pose.
    :param b: handle acceleration of the unpowered robot, (m,), valid at every pose.
    """

    Lambda: Array
    bias: Array
    J: Array
    J_bar: Array
    condition: Array
    Phi: Array
    b: Array

    @property
    def nullspace(self) -> Array:
        """Return N = 1 - J^T J_bar^T: joint forces N tau do not move the handles."""
        J_T = np.swapaxes(self.J, -1, -2)
        return np.eye(J_T.shape[-2]) - J_T @ np.swapaxes(self.J_bar, -1, -2)


class Dynamics:
    """
    A robot that computes: each method compiles its kernel on first use, and keeps it on disk.

    Arrays are float64 of shape (n,), or (batch, n) for many states at once; ``out=`` takes the
    result without a new array. Every argument is checked for shape and finiteness. One object
    may be used by many threads.

    :param model: the robot.
    :param backend: ``'llvm'``, ``'python'`` (no dependency), ``'reference'`` (the algorithms as
        they stand in the source, uncompiled) or ``'auto'``: the first that is there.
    :param payload_frame: name of the frame at which a payload may hang, see ``set_payload``.
    :param cache: whether machine code is kept on disk.
    :param progress: called with a line of text before each kernel that must be compiled.
    """

    def __init__(
        self, model: Model, *, backend: str = 'auto', payload_frame: str | None = None,
        cache: bool = True, progress: Callable[[str], None] | None = None,
    ) -> None:
        self.model = model
        self._backend, self._cache, self._progress = backend, cache, progress
        self._payload_frame = None if payload_frame is None else model.frame(payload_frame)
        self._gravity = np.array(model.gravity)
        self._payload = np.zeros(10)
        self._time = np.zeros(1)
        self._shapes = input_shapes(model)
        self._calls: dict[object, Callable[..., Array]] = {}
        self._kernels: dict[str, Kernel] = {}
        self._lock = threading.RLock()

    def __reduce__(self) -> tuple:
        """Pickle as the recipe; kernels come back from the cache."""
        name = None if self._payload_frame is None else self._payload_frame.name
        return _restore, (self.model, self._backend, name, self._cache,
                          self._gravity.copy(), self._payload.copy())

    # --- what acts on the robot ---------------------------------------------------------------

    @property
    def gravity_vector(self) -> Array:
        """Return the acceleration of free fall in use, base coordinates, m/s^2."""
        return self._gravity.copy()

    def set_gravity(self, gravity: ArrayLike) -> None:
        """
        Change gravity for all later calls; nothing is compiled anew.

        :param gravity: acceleration of free fall, base coordinates, m/s^2.
        """
        self._gravity[:] = _vector('gravity', gravity, 3)

    def set_payload(self, mass: float, com: ArrayLike, inertia: ArrayLike) -> None:
        """
        Hang a rigid body on the payload frame for all later calls; nothing is compiled anew.

        :param mass: kg.
        :param com: centre of mass in the payload frame, m.
        :param inertia: 3 x 3 rotational inertia about the centre of mass, payload-frame axes.
        """
        if self._payload_frame is None:
            raise RbdError('this Dynamics carries no payload: give payload_frame= when making it')
        c = _vector('com', com, 3)
        I = _vector('inertia', np.asarray(inertia, float).ravel(), 9).reshape(3, 3)
        m = float(_vector('mass', [mass], 1)[0])
        if m < 0.0 or np.linalg.eigvalsh(I).min() < -1e-12:
            raise RbdError(f'payload of mass {m} kg: mass and inertia must not be negative')
        load = RigidInertia.from_com(m, Vec3(*c.tolist()), Sym3.from_matrix(I.tolist()))
        self._payload[:] = [load.m, *load.h, *load.I.entries()]

    # --- joint space --------------------------------------------------------------------------

    def inverse_dynamics(
        self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, f_ext: ArrayLike | None = None, *,
        out: Array | None = None,
    ) -> Array:
        """
        Return the joint forces that produce ``qdd`` (recursive Newton-Euler, RBDA 5.3).

        :param q: joint positions, (nq,).
        :param qd: joint velocities, (nv,).
        :param qdd: joint accelerations, (nv,).
        :param f_ext: force of the environment on each body, (nb, 6), base coordinates about the
            base origin, angular first.
        :returns: tau, (nv,).
        """
        if f_ext is None:
            return self._call('inverse_dynamics')(q, qd, qdd, out=out)
        return self._call('inverse_dynamics', loaded=True)(q, qd, qdd, f_ext, out=out)

    def gravity(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return g(q), the joint forces that hold the robot still, (nv,)."""
        return self._call('gravity')(q, out=out)

    def bias(
        self, q: ArrayLike, qd: ArrayLike, f_ext: ArrayLike | None = None, *,
        out: Array | None = None,
    ) -> Array:
        """Return C(q, qd), the joint forces at zero acceleration, gravity included, (nv,)."""
        if f_ext is None:
            return self._call('bias')(q, qd, out=out)
        return self._call('bias', loaded=True)(q, qd, f_ext, out=out)

    def mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return the symmetric joint-space inertia matrix H(q) (RBDA 6.2), (nv, nv)."""
        return self._call('mass_matrix')(q, out=out)

    def inverse_mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return H(q)^-1, (nv, nv)."""
        return self._call('inverse_mass_matrix')(q, out=out)

    def forward_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None, *,
        method: str | None = None, out: Array | None = None,
    ) -> Array:
        """
        Return the joint accelerations under joint forces ``tau``.

        :param f_ext: as for ``inverse_dynamics``.
        :param method: ``'aba'`` (articulated bodies, RBDA 7.3), ``'crba'`` (inertia matrix,
            RBDA 6); None takes the one with fewer operations for this robot.
        :returns: qdd, (nv,).
        """
        if f_ext is None:
            return self._call('forward_dynamics', method=method)(q, qd, tau, out=out)
        call = self._call('forward_dynamics', loaded=True, method=method)
        return call(q, qd, tau, f_ext, out=out)

    # --- the whole robot ----------------------------------------------------------------------

    def kinetic_energy(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the kinetic energy in J, rotors included."""
        return self._call('kinetic_energy')(q, qd)[..., 0]

    def potential_energy(self, q: ArrayLike) -> Array:
        """Return the potential energy of gravity in J, zero with all mass at the base origin."""
        return self._call('potential_energy')(q)[..., 0]

    def center_of_mass(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return the centre of mass of all that moves, base coordinates, (3,)."""
        return self._call('center_of_mass')(q, out=out)

    def momentum(self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """Return the spatial momentum about the base origin, base coordinates, (6,)."""
        return self._call('momentum')(q, qd, out=out)

    # --- frames and handles -------------------------------------------------------------------

    def pose(self, q: ArrayLike, frame: str, *, out: Array | None = None) -> Array:
        """Return the homogeneous matrix from frame to base coordinates, (4, 4)."""
        return self._call('pose', frame)(q, out=out)

    def jacobian(self, q: ArrayLike, frame: str, *, out: Array | None = None) -> Array:
        """Return the Jacobian of a frame in its own coordinates, angular rows first, (6, nv)."""
        return self._call('frame_jacobian', frame)(q, out=out)

    def velocity(
        self, q: ArrayLike, qd: ArrayLike, frame: str, *, out: Array | None = None,
    ) -> Array:
        """Return the spatial velocity of a frame in its own coordinates, (6,)."""
        return self._call('frame_velocity', frame)(q, qd, out=out)

    def jacobian_rate(
        self, q: ArrayLike, qd: ArrayLike, frame: str, *, out: Array | None = None,
    ) -> Array:
        """Return J-dot q-dot, the spatial acceleration of a frame at zero qdd, (6,)."""
        return self._call('frame_bias', frame)(q, qd, out=out)

    def handle(
        self, frame: str, *, point: ArrayLike = (0.0, 0.0, 0.0),
        rows: Sequence[Sequence[float]] = FULL,
    ) -> Handle:
        """
        Return a handle for ``operational_space``: a frame, moved to a point, and directions.

        :param frame: name of a frame of the model.
        :param point: origin of the handle in that frame, m.
        :param rows: directions of motion that count, six numbers each, angular first; the last
            three of the default (``rows=rbd_ros.POINT``) make the handle a 3-D point.
        """
        base = self.model.frame(frame)
        origin = _vector('point', point, 3).tolist()
        shifted = Transform.translation(Vec3(*origin)) @ base.placement
        directions = tuple(tuple(_vector('rows', row, 6).tolist()) for row in rows)
        return Handle(Frame(f'{frame} at {origin}', base.body, shifted), directions)

    def operational_space(
        self, q: ArrayLike, qd: ArrayLike, frames: str | Handle | Sequence[str | Handle], *,
        max_condition: float | None = None,
    ) -> OperationalSpace:
        """
        Return the operational-space inertia of one or more handles (projection method, RBDA 7.2).

        At a singular pose some direction of the handles cannot be accelerated and Lambda does
        not exist. Without ``max_condition`` that is an error. With it, eigenvalues of Phi below
        1/max_condition of the largest are raised to that value: Lambda stays bounded, and
        ``condition`` tells by how much the bound was passed.

        :param frames: name of a frame (all six directions), or handles; several are stacked.
        :param max_condition: largest condition number of Phi that Lambda may show.
        """
        handles = self._handles(frames)
        limit = 1.0 / np.finfo(float).eps if max_condition is None else float(max_condition)
        if not limit >= 1.0:
            raise RbdError(f'max_condition is {limit}; it must be at least 1')
        if sum(len(handle.rows) for handle in handles) <= KERNEL_ROWS:
            call = self._call('operational_space', handles)
            result = OperationalSpace(*call(q, qd, [limit]))
        else:
            result = _invert(self._call('projection', handles)(q, qd), limit)
        result = result._replace(condition=result.condition[..., 0])
        if max_condition is None and np.any(result.condition > TRUSTED_CONDITION):
            names = ', '.join(handle.frame.name for handle in handles)
            raise SingularError(
                f'the handles ({names}) cannot be accelerated in every direction at this pose: '
                f'the condition number of J H^-1 J^T is {np.max(result.condition):.3g}, above '
                f'{TRUSTED_CONDITION:.0e}; give max_condition= for a bounded Lambda, or fewer '
                'directions (see Dynamics.handle)')
        return result

    def _handles(self, frames: str | Handle | Sequence[str | Handle]) -> tuple[Handle, ...]:
        if isinstance(frames, (str, Handle)):
            frames = [frames]
        return tuple(
            Handle(self.model.frame(item)) if isinstance(item, str) else item for item in frames)

    # --- kernels ------------------------------------------------------------------------------

    def kernel(
        self, name: str, target: str | Sequence[Handle] | None = None, *, loaded: bool = False,
        method: str | None = None,
    ) -> Kernel:
        """
        Return the kernel behind a method, with all its inputs, gravity and payload among them.

        :param name: a function of :mod:`rbd_ros.quantities`.
        :param target: frame name or handles, where the quantity needs them.
        :param loaded: with external forces.
        :param method: one of several methods, see ``forward_dynamics``.
        """
        return self._kernel(self._quantity(name, target, loaded, method))

    def bind(self, name: str, target: str | Sequence[Handle] | None = None, **options: object,
             ) -> Bound:
        """
        Return a kernel with buffers of its own for control loops: no check, no allocation.

        Write into ``bound.inputs[...]``, call ``bound()``, read ``bound.outputs[...]``; a bound
        kernel belongs to one thread. Gravity and payload start as they are now.
        """
        bound = self.kernel(name, target, **options).bind()
        for common, value in self._common().items():
            if common in bound.inputs:
                bound.inputs[common][...] = value
        return bound

    def _quantity(
        self, name: str, target: str | Sequence[Handle] | None, loaded: bool, method: str | None,
    ) -> Quantity:
        if isinstance(target, str):
            target = self.model.frame(target)
        quantity = quantities.make(self.model, name, target)
        if method is not None:
            quantity = quantity.by(method)
        if loaded:
            quantity = quantity.loaded()
        if self._payload_frame is not None:
            quantity = quantity.with_common('payload')
        return quantity.with_common('time') if self.model.time_dependent else quantity

    def _kernel(self, quantity: Quantity) -> Kernel:
        with self._lock:
            if quantity.name not in self._kernels:
                self._kernels[quantity.name] = self._compiled(quantity)
            return self._kernels[quantity.name]

    def _compiled(self, quantity: Quantity) -> Kernel:
        arguments = self._arguments(quantity)

        def traced(rule: Rule) -> Graph:
            def function(*values: Sequence) -> Mapping[str, Sequence]:
                given = dict(zip(arguments, values, strict=True))
                return rule(state(self.model, given, self._payload_frame))
            return trace(function, arguments, name=re.sub(r'\W+', '_', quantity.name, flags=re.ASCII))

        def cheapest() -> Graph:
            return min((traced(rule) for rule in quantity.rules.values()),
                       key=lambda graph: graph.count().total)

        return compile_graph(cheapest(), backend=self._backend, cache=self._cache)

    def _arguments(self, quantity: Quantity) -> dict[str, tuple[int, ...]]:
        return {name: self._shapes[name] for name in quantity.inputs + quantity.common}

    def _call(
        self, name: str, target: str | tuple[Handle, ...] | None = None, loaded: bool = False,
        method: str | None = None,
    ) -> Callable[..., Array]:
        """Return what a method calls: a kernel, to which gravity and the like are added."""
        key = (name, target, loaded, method)
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = self._caller(self._quantity(name, target, loaded, method))
        return call

    def _caller(self, quantity: Quantity) -> Callable[..., Array]:
        evaluate: Kernel | Interpreter
        if self._backend == 'reference':
            arguments = [Argument(*item) for item in self._arguments(quantity).items()]
            evaluate = Interpreter(self.model, quantity, arguments, self._payload_frame)
        else:
            evaluate = self._kernel(quantity)
        common = tuple(self._common()[name] for name in quantity.common)

        def call(*arrays: ArrayLike, out: Array | None = None) -> Array:
            return evaluate(*arrays, *common, out=out)
        return call

    def _common(self) -> dict[str, Array]:
        """Return the inputs that the object itself supplies to its kernels."""
        return {'gravity': self._gravity, 'payload': self._payload, 'time': self._time}


def _restore(
    model: Model, backend: str, payload_frame: str | None, cache: bool, gravity: Array,
    payload: Array,
) -> Dynamics:
    robot = Dynamics(model, backend=backend, payload_frame=payload_frame, cache=cache)
    robot._gravity[:], robot._payload[:] = gravity, payload
    return robot


def _vector(name: str, value: ArrayLike, size: int) -> Array:
    """Return a finite float64 vector of the given size, or raise an error that names it."""
    return checked(Argument(name, (size,)), value)


def _invert(projection: tuple[Array, ...], max_condition: float) -> OperationalSpace:
    """Do for many directions, with LAPACK, what the kernel does for up to six."""
    J, Phi, b, HinvJT = projection
    w, V = np.linalg.eigh(Phi)
    w_max = w[..., -1:]
    inverse = 1.0 / np.maximum(w, w_max / max_condition)
    Lambda = (V * inverse[..., None, :]) @ np.swapaxes(V, -1, -2)
    condition = w_max / np.maximum(w[..., :1], w_max * 1e-16)
    bias = -(Lambda @ b[..., None])[..., 0]
    return OperationalSpace(Lambda, bias, J, HinvJT @ Lambda, condition, Phi, b)
