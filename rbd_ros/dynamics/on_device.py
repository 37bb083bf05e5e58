# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A robot that computes on a GPU: the same quantities, for batches of states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from rbd_ros.compiler.fork_lock import ForkLock
from rbd_ros.compiler.gpu.device import cuda_device, Device
from rbd_ros.compiler.gpu.emulation import EmulatedDevice
from rbd_ros.compiler.gpu.kernel import compile_for, compile_rollout, DeviceKernel
from rbd_ros.compiler.graph.graph import Graph
from rbd_ros.compiler.scalar import scalar_type
from rbd_ros.dynamics.kernel_hints import kernel_hints
from rbd_ros.dynamics.kernels.existence import has_weak_body
from rbd_ros.dynamics.kernels.store import KernelStore
from rbd_ros.dynamics.quantity import Computation, Quantity, Target
from rbd_ros.dynamics.step_graph import LENGTH, MEMORY, Policy, step_graph, Surroundings
from rbd_ros.errors import DeviceError, RbdError, UnknownName
from rbd_ros.model.model import Model

#: Where a robot can compute besides the processor.
DEVICES = ('cuda', 'emulation')
#: What quantities of these may be called as a method: the target follows the inputs.
_METHODS = ('robot', 'frame')


class Rollout(NamedTuple):
    """
    A recorded motion, of each state of a batch.

    :param q: positions, (count, records, nq).
    :param qd: velocities, (count, records, nv).
    """

    q: Any
    qd: Any


class Controlled(Protocol):
    """What decides on the torques of a rollout by itself, such as a controller."""

    def rolled(self, gpu: DeviceDynamics, q: Any, qd: Any, step: float, steps: int,
               every: int | None, stream: Any) -> tuple[Any, Any]:
        """Return the recorded positions and velocities of robots, see ``rollout``."""


class DeviceDynamics:
    """
    The quantities of a robot on a GPU, one thread per state.

    Methods are those of the robot: ``inverse_dynamics(q, qd, qdd)``, ``pose(q, frame)`` and every
    other quantity of :mod:`rbd_ros.dynamics.table` that is about the whole robot or one frame;
    ``compute`` has all of them. Each takes ``out=`` and ``stream=``.

    Arrays of NumPy are copied to the device and back. Arrays of PyTorch, CuPy and JAX, and all
    that have ``__cuda_array_interface__`` or DLPack, are used where they lie, if they are on the
    device; such calls return at once, as those of these libraries do, and results are there in
    the order of the stream. Whether all numbers were finite is then known to ``check``. Results
    are views (count, ...) of memory in which the numbers of neighbouring states lie together, so
    that threads side by side write side by side.

    :param robot: what it is of; gravity, payloads and time are those of the robot, now and later.
    :param store: makes its graphs.
    :param kind: of device.
    :param number: of the device.
    :param scalar: type of all numbers.
    """

    def __init__(self, robot: object, store: KernelStore, kind: str, number: int,
                 scalar: str) -> None:
        self._robot, self._store, self._kind = robot, store, kind
        self.scalar = scalar_type(scalar).name
        self.device = _device(kind, number)
        self._kernels: dict[tuple[Quantity, Target, bool, str | None], DeviceKernel] = {}
        self._rollouts: dict[tuple[object, ...], DeviceKernel] = {}
        self._lock = ForkLock()

    def __repr__(self) -> str:
        """Return the robot and where it computes."""
        return f'<{self._store.model.name} on {self.device.name}, {self.scalar}>'

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the recipe; another process opens the device anew."""
        return _again, (self._robot, self._kind, self.device.number, self.scalar)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the method of a quantity."""
        if name.startswith('_') or self._store.table.get(name) is None:
            raise AttributeError(f'no method "{name}" on a device; compute(name, ...) takes '
                                 f'{", ".join(self._store.table)}')
        quantity = self._store.find(name)
        if quantity.target not in _METHODS:
            raise AttributeError(f'{name} is about {quantity.target}: use compute("{name}", ..., '
                                 'target=...)')
        return partial(self._method, quantity)

    def __dir__(self) -> list[str]:
        """Return the names of all methods."""
        return [*super().__dir__(), *[row.name for row in self._store.table.values()
                                      if row.target in _METHODS]]

    def _method(self, quantity: Quantity, *arguments: Any, f_ext: Any = None,
                frame: str | None = None, **options: Any) -> Any:
        """Compute a quantity called as the robot's own method is."""
        wanted = len(quantity.inputs)
        arrays, rest = arguments[:wanted], list(arguments[wanted:])
        if rest and quantity.target == 'frame':
            frame = rest.pop(0)
        if rest:
            f_ext = rest.pop(0)
        if rest or len(arrays) < wanted:
            raise TypeError(f'{quantity.name} takes {", ".join(quantity.inputs)}'
                            f'{", frame" if quantity.target == "frame" else ""}; got '
                            f'{len(arguments)} arguments')
        return self._compute(quantity, arrays, f_ext, frame, **options)

    def compute(self, name: str | Quantity, *arrays: Any, target: Target = None, f_ext: Any = None,
                method: str | None = None, out: Any = None, stream: Any = None) -> Any:
        """
        Return a quantity by name: an array, or a tuple of several.

        :param name: of the table, or the declaration of a quantity.
        :param arrays: its inputs, each of one state or of many, of one place and type.
        :param target: name of a frame, or frames and handles, where the quantity needs them.
        :param f_ext: force of the environment on each body, (nb, 6), as of the robot's methods.
        :param method: one of several methods, see ``Dynamics.forward_dynamics``.
        :param out: arrays to write into, one per result; none may be an input.
        :param stream: number or object of PyTorch or CuPy, by default the current one.
        """
        return self._compute(self._store.find(name), arrays, f_ext, target, method, out, stream)

    def _compute(self, quantity: Quantity, arrays: tuple[Any, ...], f_ext: Any, target: Target,
                 method: str | None = None, out: Any = None, stream: Any = None) -> Any:
        loaded = f_ext is not None
        item, kernel = self._prepared(quantity, target, loaded, method)
        self._store.check_existence(item)
        given: dict[str, Any] = {**self._store.environment.inputs, **item.values}
        found = kernel(*arrays, *([f_ext] if loaded else ()), out=out, stream=stream,
                       fixed=[given[name] for name in item.common])
        result = quantity.traits.result
        return tuple.__new__(result, found) if out is None and isinstance(found, tuple) else found

    def rollout(self, q: Any, qd: Any, tau: Any = None, *, step: float, steps: int,
                every: int | None = None, policy: Policy | None = None,
                parameters: Mapping[str, Any] | None = None, around: Surroundings | None = None,
                controller: Controlled | None = None, stream: Any = None) -> Rollout:
        """
        Return the motion of many robots, each from its own state, in one launch.

        A step is one of the semi-implicit Euler rule; there is no friction and no stop in joints.

        :param q: positions at the start, (count, nq).
        :param qd: velocities at the start, (count, nv).
        :param tau: torques of all steps, (count, nv) or for all states (nv,); or those of each
            step, (count, steps, nv).
        :param step: length of a step, s; time begins as that of the robot.
        :param steps: how many.
        :param every: steps from one record to the next, all by default: then the end alone.
        :param policy: in place of ``tau``, torques as a function of q, qd, time and parameters. It
            runs on traced numbers: take functions such as sin from ``rbd_ros.compiler``.
        :param parameters: of the policy by name: arrays with one row for each state, (count, ...),
            or numbers for all states.
        :param around: what acts on the bodies, as a soft floor of ``rbd_ros.sim.soft_ground``.
        :param controller: in place of ``tau``, a configured controller as ``UnderControl`` of
            :mod:`rbd_ros.control.fleet`: every robot has one that begins like it, is
            started, and sees the robot once in a step. There is nothing around.
        :param stream: as of ``compute``.
        """
        given = dict(parameters or {})
        if sum(each is not None for each in (policy, tau, controller)) != 1 or (
                given and policy is None) or (controller is not None and around is not None):
            raise TypeError('rollout needs one of tau, a policy and perhaps its parameters, or a '
                            'controller without surroundings')
        if controller is not None:
            return Rollout(*controller.rolled(self, q, qd, step, steps, every, stream))
        item = self._store.item(self._store.find('forward_dynamics'))
        self._store.check_existence(item)
        varying = policy is None and len(_shape(tau)) > len(_shape(q))
        # numbers come last, with what else is of all states
        many = {name: x for name, x in given.items() if _shape(x)}
        single = {name: x for name, x in given.items() if not _shape(x)}
        own = {name: _shape(x)[len(_shape(q)) - 1:] for name, x in (many | single).items()}
        kernel = self._rolled(item, policy, tuple(own.items()), varying, around)
        arrays = [q, qd, *([tau] if policy is None else many.values())]
        fixed = {**self._store.environment.inputs, **single, LENGTH: step,
                 **({} if around is None else around.inputs)}
        found = kernel.over(steps, steps if every is None else every)(
            *arrays, stream=stream, fixed=[
                np.asarray(fixed[a.name], float) for a in kernel.inputs[len(arrays):]])
        return Rollout(*found[:2])

    def _rolled(self, item: Computation, policy: Policy | None,
                shapes: tuple[tuple[str, tuple[int, ...]], ...], varying: bool,
                around: Surroundings | None) -> DeviceKernel:
        """Return the kernel of a rollout, compiled on first use."""
        place, store = (policy, shapes, varying, around and around.change), self._store
        store.model.refuse_loops('rollout', 'the simulator, which keeps loops closed')
        self._refuse_weak(item)
        with self._lock:
            kernel = self._rollouts.get(place)
            if kernel is None:
                inertia = None if around is None else store.builder.graph(
                    store.item(store.find('mass_matrix')))
                graph = step_graph(store.model, store.builder.graph(item), policy, dict(shapes),
                                   around, inertia)
                carried = ('q', 'qd', 'time', *(() if around is None else (MEMORY,)))
                kernel = self._rollouts[place] = compile_rollout(
                    self.device, graph, {name: name for name in carried},
                    ('tau',) if varying else (), scalar=self.scalar, cache=store.options.cache)
            return kernel

    @property
    def environment(self) -> Mapping[str, Any]:
        """Return the inputs that all kernels share, such as gravity, as they are now."""
        return self._store.environment.inputs

    def forward_graph(self) -> Graph:
        """Return what forward dynamics computes, for one state after the other."""
        item = self._store.item(self._store.find('forward_dynamics'))
        self._store.check_existence(item)
        self._store.model.refuse_loops('rollout', 'the simulator, which keeps loops closed')
        self._refuse_weak(item)
        return self._store.builder.graph(item)

    def kernel(self, name: str, target: Target = None, *, loaded: bool = False,
               method: str | None = None) -> DeviceKernel:
        """Return the kernel behind a method, with all its inputs; see ``Dynamics.kernel``."""
        return self._prepared(self._store.find(name), target, loaded, method)[1]

    def quantity(self, name: str) -> Quantity:
        """Return the declaration of a quantity of the robot."""
        return self._store.find(name)

    @property
    def model(self) -> Model:
        """Return the robot's model."""
        return self._store.model

    def check(self) -> None:
        """
        Wait for all that was started, and look at the status words.

        :raises NonFiniteError: if since the last check a call had a number that is not finite,
            with the quantity and its first such state.
        """
        for kernel in [*self._kernels.values(), *self._rollouts.values()]:
            kernel.check()

    def synchronize(self) -> None:
        """Wait for all that was started on the device."""
        self.device.synchronize()

    def _prepared(self, quantity: Quantity, target: Target, loaded: bool, method: str | None,
                  ) -> tuple[Computation, DeviceKernel]:
        """Return a computation and its kernel, compiled on first use."""
        if not (target is None or isinstance(target, (str, tuple))):
            target = tuple(target) if isinstance(target, list) else target
        place = quantity, target, loaded, method
        item = self._store.item(*place)
        with self._lock:
            kernel = self._kernels.get(place)
            if kernel is None:
                kernel = self._kernels[place] = self._compiled(item, loaded)
            return item, kernel

    def _compiled(self, item: Computation, loaded: bool) -> DeviceKernel:
        self._refuse_weak(item)
        store, builder, stages = self._store, self._store.builder, item.quantity.traits.stages
        return compile_for(
            self.device, lambda: builder.graph(item), scalar=self.scalar, key=builder.key(item),
            cache=store.options.cache, hints=partial(kernel_hints, store.model),
            stages=lambda: stages(store, loaded) if stages else ())

    def _refuse_weak(self, item: Computation) -> None:
        """Refuse what needs a decision at each state."""
        store = self._store
        if item.quantity.traits.call is not None and (
                has_weak_body(store.model) or store.model.loops and store.loops.massless):
            raise RbdError(
                f'{item.quantity.name} of "{store.model.name}" needs a decision at each state, as '
                'bodies without inertia move: compute it on the processor, or give these bodies '
                'an inertia or their joints a rotor inertia')


def _shape(value: Any) -> tuple[int, ...]:
    """Return the shape of an array of any library, () of a number."""
    return tuple(value.shape) if hasattr(value, 'shape') else np.shape(value)


def _again(robot: Any, kind: str, number: int, scalar: str) -> DeviceDynamics:
    found: DeviceDynamics = robot.on(kind, number, scalar=scalar)
    return found


def _device(kind: str, number: int) -> Device:
    """Return a device by its kind and number."""
    if kind == 'cuda':
        return cuda_device(number)
    if kind == 'emulation':
        if number:
            raise DeviceError(f'no device {number}: there is one emulation, 0')
        return EmulatedDevice()
    raise UnknownName('device', kind, DEVICES)
