# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Many controlled robots on a device, each thread with a controller of its own.

A thread has the whole state of a controller, as the node has it, and all of its checks run. What
changes in most steps is near: on the stack of the thread. Rings and what only a start needs stay
in the memory of the device. Parameters, and trajectories in the ring, are those of all.

The robot moves by the semi-implicit Euler rule, and its state reaches the controller at once, as
one message with all joints. Brakes hold it until its controller runs for the first time.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from rbd_ros.compiler import Bound, compile as compile_graph, Graph
from rbd_ros.compiler.arguments import check_finite, converted
from rbd_ros.compiler.gpu.arrays import DeviceArray, stream_number, view
from rbd_ros.compiler.gpu.procedures.batch import Batch
from rbd_ros.compiler.gpu.procedures.device_procedure import (
    Bindings, DeviceProcedure, REGISTERS)
from rbd_ros.compiler.gpu.procedures.places import Choice, Memory
from rbd_ros.compiler.graph.graph import Argument
from rbd_ros.compiler.procedure import Kernel, Vector
from rbd_ros.compiler.records import Field, field, Record
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.events import Event, Kind, Result
from rbd_ros.control.kernels.kernels import LawKernels
from rbd_ros.control.laws.law_records import LawCode
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.references.pieces import Ring
from rbd_ros.control.step.state import Kernels, Parameters, State, Work
from rbd_ros.control.step.step import step
from rbd_ros.control.supervisor.states import StateCode, SupervisorState
from rbd_ros.dynamics.on_device import DeviceDynamics
from rbd_ros.dynamics.step_graph import LENGTH, step_graph
from rbd_ros.errors import RbdError

__all__ = ['bindings_of', 'closed_step', 'Fleet', 'FleetMotion', 'law_graphs', 'Plant', 'plant_of',
           'take_set_point', 'UnderControl', 'World']

Array = npt.NDArray[np.float64]

#: kernels that the step calls whatever the mode is
_ALWAYS = ('stop', 'momentum', 'loops', 'joint')
_OF_LAW = {LawCode.FREE: 'float', LawCode.DAMPING: 'damping', LawCode.JOINT: 'joint',
           LawCode.TASK: 'task', LawCode.OWN: 'own', LawCode.OWN_JOINT: 'own',
           LawCode.IMPEDANCE: 'impedance'}
#: numbers of an array past which it stays in the memory of the device
_MOST_NEAR = 64


# -- what each thread does: procedures ------------------------------------------------------------

class World(Record):
    """What else a thread remembers of its robot."""

    started: float = field('', '', '1 once the controller knows who sends states')
    braked: float = field('', '', '1 until the controller runs for the first time', 1.0)
    torque: Vector = field('m', 'N.m or N', 'that acts until the next is sent')


class Plant(NamedTuple):
    """One step of the robot's motion, and what else is remembered of it."""

    world: World
    run: Kernel
    q: Vector
    qd: Vector
    tau: Vector
    time: Vector
    next_q: Vector
    next_qd: Vector
    next_time: Vector


def plant_of(bound: Bound, world: World) -> Plant:
    """
    Return the arrays of one step of motion, for procedures.

    :param bound: kernel of :func:`rbd_ros.dynamics.step_graph.step_graph`.
    :param world: what else is remembered.
    """
    x, y = bound.inputs, bound.outputs
    return Plant(world, bound, x['q'], x['qd'], x['tau'], x['time'], y['q'], y['qd'], y['time'])


def closed_step(x: State, u: Event, p: Parameters, ring: Ring, k: Kernels, w: Work, y: Result,
                plant: Plant) -> None:
    """
    Let a controller see its robot, and its torque move the robot until the next time.

    :param x: state of the controller, see :func:`rbd_ros.control.step.step.step`.
    :param u: gets the state of the robot.
    :param w: room for what lasts for one step.
    :param y: gets what is to be sent.
    :param plant: the robot.
    """
    whole = math.floor(plant.time[0])
    u.kind, u.now, u.steady = Kind.STATE, plant.time[0], plant.time[0]
    u.source, u.defect, u.stamp_s = 0.0, 0.0, whole
    u.stamp_ns = math.floor(1e9 * (plant.time[0] - whole))
    u.renewed, plant.world.started = 1.0 - plant.world.started, 1.0
    u.velocities, u.efforts = 1.0, 0.0
    u.present[:] = 1.0
    for j in range(len(u.rank)):
        u.rank[j] = j
    u.q[:] = plant.q
    u.qd[:] = plant.qd
    step(x, u, p, ring, k, w, y)
    if y.send > 0.0:
        for c in range(len(y.torque)):
            plant.world.torque[place_of(p.structure, c)] = y.torque[c]
    plant.tau[:] = plant.world.torque
    if x.command.supervisor.state == StateCode.RUNNING:
        plant.world.braked = 0.0
    plant.run()
    if plant.world.braked == 0.0:
        plant.q[:] = plant.next_q
        plant.qd[:] = plant.next_qd
    plant.time[0] = plant.next_time[0]


def take_set_point(x: State, u: Event, p: Parameters, ring: Ring, k: Kernels, w: Work, y: Result,
                   plant: Plant) -> None:
    """
    Let the controller take the set-point that stands in the event.

    :param x: state of the controller.
    :param u: ``joints`` and ``numbers[0]`` say where to, and within what time.
    :param w: room for what lasts for one step.
    :param y: says if it is refused.
    :param plant: the robot.
    """
    u.kind, u.now, u.steady = Kind.SET_POINT, plant.time[0], plant.time[0]
    step(x, u, p, ring, k, w, y)


# -- all of them ----------------------------------------------------------------------------------

class FleetMotion(NamedTuple):
    """
    A recorded motion, of each robot.

    Arrays are of NumPy, or on the device; see ``Fleet.rollout``.

    :param q: positions, (count, records, nq).
    :param qd: velocities, (count, records, nv).
    :param torque: last ones that were sent, of the controlled joints, N.m or N.
    :param state: of the supervisor, its place in ``StateCode``, (count, records).
    """

    q: Any
    qd: Any
    torque: Any
    state: Any

    def share(self, state: SupervisorState) -> float:
        """Return the share of robots that are in a state of the supervisor at the end."""
        last = self.state[:, -1]
        last = last.numpy() if isinstance(last, DeviceArray) else last
        return float((last == StateCode[state.name]).sum()) / last.shape[0]


def law_graphs(settings: Settings, kernels: dict[str, Bound] | Any) -> list[tuple[Bound, Graph]]:
    """
    Return the kernels of a controller with what they compute.

    Without those of laws that the mode in force has no use for, which give NaN if they are called.

    :param settings: of the controller.
    :param kernels: its kernels by name.
    """
    laws = LawKernels(settings.robot, driver_adds=settings.text('driver_adds'),
                      driver_knows_payload=settings.flag('driver_knows_payload'),
                      axes=settings.task_axes)
    return [(bound, laws.graph(name)) for name, bound in kernels.items()]


def bindings_of(controller: Controller, plant: tuple[Bound, Graph]) -> Bindings:
    """
    Return what the threads of a fleet work on, and where it is.

    :param controller: whose records they begin with.
    :param plant: one step of the robot's motion, and its graph.
    """
    settings = controller.settings
    needed = {*_ALWAYS, _OF_LAW[LawCode(int(controller.x.laws.law))]}
    if controller.p.contact.is_watched():
        needed |= {'contact', 'float', 'impedance'}
    kernels: list[tuple[Bound, Graph | None]] = [*law_graphs(settings, {
        name: bound for name, bound in controller.kernels.items() if name in needed})]
    kernels += [(bound, None) for name, bound in controller.kernels.items()
                if name not in (*needed, 'report')]
    given = *controller.given, plant_of(plant[0], World(controller.x.sizes))
    choices: dict[int, Choice | Memory] = {
        0: _near, 1: Memory.NEAR, 2: Memory.COMMON, 3: Memory.COMMON, 4: Memory.NEAR,
        5: Memory.NEAR, 6: Memory.NEAR, 7: Memory.NEAR}
    supervisor, parts = controller.x.command.supervisor, given[7]
    at = supervisor.single_place('state')
    watched = [parts.q, parts.qd, controller.y.torque, supervisor.memory[at:at + 1]]
    return Bindings(given, choices, [*kernels, plant], watched)


def _near(path: str, of: Field) -> Memory:
    """Return where a field of the state is: what only a start needs, and rings, are far."""
    long = any(dim.isdecimal() and int(dim) > _MOST_NEAR for dim in of.dims)
    return Memory.OWN if long or path.startswith('start.') else Memory.NEAR


class Fleet:
    """
    Many robots of one kind, each under a controller that begins like one of the processor.

    Parameters of the controller are those of all. There is no timer between the states, so none
    that watches a dead-man switch.

    :param controller: configured; it is left as it is. What it is told, and what it has learned,
        all robots begin with.
    :param gpu: where, and the dynamics of the robots: ``robot.on('cuda')``, in double precision.
    :param count: how many.
    :param step: length of a step, s: the period of the controller.
    :param registers: most of a thread, for experiments.
    """

    def __init__(self, controller: Controller, gpu: DeviceDynamics, count: int, *, step: float,
                 registers: int = REGISTERS) -> None:
        if gpu.scalar != 'float64':
            raise RbdError(f'a controller computes in float64, this device in {gpu.scalar}: give '
                           "robot.on('cuda')")
        model = controller.settings.robot.model
        if gpu.model.nv != model.nv or gpu.model.nq != model.nq or model.loops:
            raise RbdError(f'the controller is for "{model.name}" with {model.nv} joints, the '
                           f'device has "{gpu.model.name}" with {gpu.model.nv}; both must be one '
                           'tree without closed loops')
        if controller.p.monitors.dead_man_timeout > 0.0:
            raise RbdError('nobody holds the dead-man switches of a fleet: configure the '
                           'controller with dead_man_timeout 0')
        if not 0.0 < step < np.inf:
            raise RbdError(f'a step of {step} s: give the period of the controller, above 0')
        if not isinstance(count, (int, np.integer)) or count < 1:
            raise RbdError(f'a fleet of {count} robots: give a whole number, at least 1')
        self._controller, self._gpu, self.count, self.step = controller, gpu, count, step
        self._registers = registers
        graph = step_graph(gpu.model, gpu.forward_graph(), None, {})
        self._plant = compile_graph(graph).bind()
        for name, value in gpu.environment.items():
            if name in self._plant.inputs:
                self._plant.inputs[name][...] = value
        self._plant.inputs[LENGTH][...] = step
        self._bindings = bindings_of(controller, (self._plant, graph))
        self._procedure = self._compiled(closed_step)
        self._other: DeviceProcedure | None = None
        self._plant.inputs['time'][:] = max(0.0, controller.x.now)
        self._batch = self._begun()

    def _compiled(self, function: Any) -> DeviceProcedure:
        return DeviceProcedure(self._gpu.device, function, self._bindings,
                               registers=self._registers)

    def _begun(self) -> Batch:
        """Return threads whose controllers have been activated, and leave that of the caller."""
        records = [each for each in self._controller.given if isinstance(each, Record)]
        before = [each.memory.copy() for each in records]
        now = float(self._plant.inputs['time'][0])
        try:
            if self._controller.state is SupervisorState.INACTIVE:
                refusal = self._controller.activate(now, now)
                if refusal:
                    raise RbdError(f'the controller cannot be activated: {refusal}')
            return self._procedure.batch(self.count)
        finally:
            for each, memory in zip(records, before, strict=True):
                each.memory[:] = memory

    @property
    def bytes(self) -> int:
        """Return how much memory of the device the robots have."""
        return self._batch.bytes

    @property
    def procedure(self) -> DeviceProcedure:
        """Return the kernels, with their registers and local memory."""
        return self._procedure

    def place(self, q: Any, qd: Any = 0.0, *, stream: Any = None) -> None:
        """
        Put the robots somewhere, before their first step: their controllers would see a jump.

        Arrays on the device are used where they lie, here as in the other methods, and nobody
        looks whether their numbers are finite. A controller takes no such state.

        :param q: positions, (count, nq), or (nq,) for all.
        :param qd: velocities.
        :param stream: number or object of PyTorch or CuPy, by default the current one.
        """
        for name, given in (('q', q), ('qd', qd)):
            self._write(self._plant.inputs[name], name, given, stream)

    def load(self, name: str, values: Any, *, stream: Any = None) -> None:
        """
        Give the robots, not their controllers, surroundings of their own.

        :param name: an input of forward dynamics, such as ``'gravity'`` or ``'payload'``.
        :param values: (count, ...), or of all.
        :param stream: as of ``place``.
        """
        if name not in self._gpu.environment or name not in self._plant.inputs:
            known = [each for each in self._gpu.environment if each in self._plant.inputs]
            raise RbdError(f'robots of this fleet have no "{name}" (known: {", ".join(known)})')
        self._write(self._plant.inputs[name], name, values, stream)

    def set_point(self, q: Any, within: float = 0.0, *, stream: Any = None) -> None:
        """
        Give the controllers a position to go to; those that do not run take none.

        :param q: of the controlled joints, (count, n), or (n,) for all.
        :param within: s of motion at an even speed; 0: as fast as the limits allow, and held as
            long as the controller holds one point of a stream.
        :param stream: as of ``place``.
        """
        if not 0.0 <= within < np.inf:
            raise RbdError(f'within is {within} s: give a time, or 0 for as fast as limits allow')
        u, number = self._controller.u, stream_number(stream, q)
        if self._other is None:
            self._other = self._compiled(take_set_point)
        self._write(u.joints[0], 'q', q, number)
        self._batch.write(u.joints[1:], 0.0, stream=number)
        self._batch.write(u.numbers[:1], float(within), stream=number)
        self._batch.start(1, 2, 0, stream=number, procedure=self._other)

    def rollout(self, steps: int, every: int | None = None, *, like: Any = None,
                stream: Any = None) -> FleetMotion:
        """
        Let time pass, in one launch.

        :param steps: how many.
        :param every: steps from one record to the next, all by default: then the end alone.
        :param like: an array on the device. The motion comes as arrays of its library, at once,
            and is there in the order of the stream. Otherwise it comes as arrays of NumPy.
        :param stream: as of ``place``.
        """
        found = self._batch.run(steps, every, like=like, stream=stream)
        ends = np.cumsum([each.size for each in self._bindings.watched]).tolist()
        q, qd, torque = (found[..., begin:end] for begin, end in zip([0, *ends], ends[:3]))
        return FleetMotion(q, qd, torque, found[..., ends[2]])

    @property
    def batch(self) -> Batch:
        """Return the threads: any number of a controller can be read there."""
        return self._batch

    def _write(self, target: Array, name: str, values: Any, stream: Any) -> None:
        """Give each robot numbers; those of the process must be finite."""
        number = stream_number(stream, values)
        if view(name, values, self._gpu.device, number) is None:
            values = converted(Argument(name, target.shape), values)
            check_finite(name, values)
        self._batch.write(target, values, name=name, stream=number)


class UnderControl(NamedTuple):
    """
    What ``gpu.rollout`` takes as ``controller=``.

    :param controller: configured; every robot has one that begins like it.
    """

    controller: Controller

    def rolled(self, gpu: DeviceDynamics, q: Any, qd: Any, step: float, steps: int,
               every: int | None, stream: Any) -> tuple[Any, Any]:
        """Return the recorded positions and velocities of robots, where the first ones were."""
        number = stream_number(stream, q)
        there = view('q', q, gpu.device, number)
        shape = np.shape(q) if there is None else there.shape
        fleet = Fleet(self.controller, gpu, shape[0] if len(shape) > 1 else 1, step=step)
        fleet.place(q, qd, stream=number)
        found = fleet.rollout(steps, every, like=None if there is None else q, stream=number)
        return found.q, found.qd
