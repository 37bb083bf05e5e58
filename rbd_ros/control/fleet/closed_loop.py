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
A controller and its robot, step after step: what each thread of a fleet does.

These are procedures over the controller's own step. The robot moves by the semi-implicit Euler
rule, and its state reaches the controller at once, as one message with all joints. Brakes hold it
until its controller runs for the first time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from rbd_ros.compiler import Bound
from rbd_ros.compiler.procedure import Kernel, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import Event, Kind, Result
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.references.pieces import Ring
from rbd_ros.control.step.state import Kernels, Parameters, State, Work
from rbd_ros.control.step.step import step
from rbd_ros.control.supervisor.states import StateCode

__all__ = ['closed_step', 'Plant', 'plant_of', 'take_set_point', 'World']


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
    :param p: parameters.
    :param ring: pieces of trajectories.
    :param k: kernels.
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
    :param p: parameters.
    :param ring: pieces of trajectories.
    :param k: kernels.
    :param w: room for what lasts for one step.
    :param y: says if it is refused.
    :param plant: the robot.
    """
    u.kind, u.now, u.steady = Kind.SET_POINT, plant.time[0], plant.time[0]
    step(x, u, p, ring, k, w, y)
