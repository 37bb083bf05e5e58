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
What a new state of the supervisor sets going: references, stops, observers begin.

Whoever changes the state of the supervisor has :func:`announce` called soon after, in the same
step or in the next.
"""

from __future__ import annotations

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.control.force_torque.force_law import begin_force_law
from rbd_ros.control.interface.events import Event, NOBODY, Result, tell
from rbd_ros.control.interface.words import FlowWord, ReferenceWord
from rbd_ros.control.joint_states.diagnosis import diagnose
from rbd_ros.control.joint_states.timeliness import restart_delays, restart_punctual
from rbd_ros.control.laws.design import note_filter
from rbd_ros.control.laws.law_records import LawCode, LawKernel
from rbd_ros.control.laws.laws import begin_joint_law, feed_law, law_tracks
from rbd_ros.control.laws.springs import rest_springs
from rbd_ros.control.laws.stops import enter_brake, enter_hold
from rbd_ros.control.laws.task_law import begin_task_law
from rbd_ros.control.laws.way_back import begin_return, forget_way
from rbd_ros.control.monitors.monitors import begin_watch, restart_plausible
from rbd_ros.control.monitors.start import restart_start
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.observers.contact import restart_contact
from rbd_ros.control.observers.observer import drop_load, forget_load, reset_observer
from rbd_ros.control.observers.standstill import restart_standstill
from rbd_ros.control.references.joint_reference import rest_joint_reference, start_joint_reference
from rbd_ros.control.references.task_reference import start_task_reference
from rbd_ros.control.step.state import Kernels, Parameters, State, Work
from rbd_ros.control.supervisor.due import has_touched, is_late, trust_in_load
from rbd_ros.control.supervisor.states import LoadTrust, StateCode
from rbd_ros.control.supervisor.supervisor import advance
from rbd_ros.control.torque.torque import changed

__all__ = ['advance_all', 'announce', 'diagnose_late', 'enter_law', 'pick', 'rest_law']

#: s over which the first ages of states are compared while a robot brakes
_BRAKES = 0.02


def pick(x: State, p: Parameters, w: Work) -> None:
    """
    Copy position and velocity of the controlled joints.

    :param x: state.
    :param p: parameters.
    :param w: gets them.
    """
    for c in range(len(w.q)):
        j = place_of(p.structure, c)
        w.q[c] = x.joints.q[j]
        w.qd[c] = x.joints.qd[j]


def diagnose_late(x: State, p: Parameters, now: float) -> None:
    """
    Find out why the state is too old, if the supervisor is about to say that it is.

    :param x: state.
    :param p: parameters.
    :param now: control time, s.
    """
    if is_late(x.command.supervisor, now):
        diagnose(x.diagnosis, x.states, x.joints, p.structure, p.states.ages, now)


def advance_all(x: State, u: Event, p: Parameters, k: Kernels, w: Work, y: Result) -> int:
    """
    Advance the supervisor; states that last no time are announced, too.

    :param x: state.
    :param u: event.
    :param p: parameters.
    :param k: kernels.
    :param w: room.
    :param y: result.
    :returns: what is due, see ``Due``.
    """
    announce(x, p, k, w, y)
    diagnose_late(x, p, u.now)
    due = advance(x.command.supervisor, p.command.supervisor, x.diagnosis, u.now, u.steady)
    announce(x, p, k, w, y)
    return due


def announce(x: State, p: Parameters, k: Kernels, w: Work, y: Result) -> None:
    """
    React to a new state of the supervisor, if there is one.

    :param x: state.
    :param p: parameters.
    :param k: kernels.
    :param w: room.
    :param y: result.
    """
    if trust_in_load(x.command.supervisor) == LoadTrust.NONE:
        drop_load(x.observer)
    if not changed(x.command, p.command):
        return
    state = int(x.command.supervisor.state)
    pick(x, p, w)
    if state == StateCode.PROBING:
        restart_start(x.start)
    elif state == StateCode.RAMPING_IN:
        _enter_ramping_in(x, p, k, w, y)
    elif state == StateCode.RUNNING:
        x.states.repeats.learning = 0.0
    elif state == StateCode.HOLDING:
        _enter_holding(x, p, w)
    elif StateCode.FLOATING <= state <= StateCode.RETRACTING:
        _enter_touched(x, p, k, w, state)
    elif (state == StateCode.BRAKING or state == StateCode.LOST
          or state == StateCode.RAMPING_DOWN or state == StateCode.FAULT):
        if state == StateCode.BRAKING:
            _enter_braking(x, p)
        x.references.joint.goal.abort(ReferenceWord.STOPPED)
    tell(y, FlowWord.STATE, NOBODY, state, 0.0, 0.0)


def _enter_ramping_in(x: State, p: Parameters, k: Kernels, w: Work, y: Result) -> None:
    """Begin the law and all that watches it."""
    if x.command.supervisor.recovered.causes > 0.0:  # it may have been lost between two states
        tell(y, FlowWord.RECOVERS, NOBODY, 0.0, 0.0, 0.0)
    note_filter(x.design, p.design, x.joints.differenced)
    restart_punctual(x.states.punctual)  # what comes after a loss counts, not what came before
    enter_law(x, p, k, w)
    reset_observer(x.observer)
    restart_contact(x.contact)
    forget_way(x.way_back)
    restart_standstill(x.standstill)
    begin_watch(x.watch, p.monitors, x.now, w.q, w.qd)
    restart_plausible(x.plausible)


def _enter_holding(x: State, p: Parameters, w: Work) -> None:
    """Hold the robot where it is."""
    enter_hold(x.hold, x.laws.joint, x.joints, p.structure, x.brake.allowed, x.observer.mean,
               w.speed)
    start_joint_reference(x.references.joint, p.references.joint, x.joints, p.structure, w.speed)
    rest_joint_reference(x.references.joint, p.references.joint, x.now, p.laws.switch_time)


def _enter_braking(x: State, p: Parameters) -> None:
    """Begin to brake with the next state."""
    restart_delays(x.states.delays, _BRAKES)
    note_filter(x.design, p.design, x.joints.differenced)
    asked = x.command.supervisor.faults.only_operator()
    enter_brake(x.brake, p.stops, 0.0 if asked else 1.0)
    if asked:
        forget_load(x.observer)  # a hand that has pushed the robot is no load
    elif has_touched(x.command.supervisor):
        drop_load(x.observer)  # what was in the way is none either, whatever else is wrong


def _enter_touched(x: State, p: Parameters, k: Kernels, w: Work, state: int) -> None:
    """Float, be held by springs, or go back, after a contact."""
    x.references.joint.goal.abort(ReferenceWord.STOPPED)
    if state == StateCode.COMPLYING:
        _enter_tip(x, p, k.laws.impedance, k.laws.impedance_inputs.R, k.laws.impedance_inputs.p,
                   k.laws.impedance_inputs.velocity, w, 0.0)
    elif state == StateCode.RETRACTING:
        begin_joint_law(x.laws.joint)
        begin_return(x.way_back, x.joints, p.structure, x.now)


def enter_law(x: State, p: Parameters, k: Kernels, w: Work) -> None:
    """
    Begin the law in force at the present state, and come to rest.

    :param x: state.
    :param p: parameters.
    :param k: kernels.
    :param w: room, with the present state.
    """
    rest_springs(x.laws.springs)
    if law_tracks(x.laws):
        begin_joint_law(x.laws.joint)
        start_joint_reference(x.references.joint, p.references.joint, x.joints, p.structure, w.qd)
        rest_joint_reference(x.references.joint, p.references.joint, x.now, p.laws.switch_time)
    elif x.laws.law == LawCode.TASK:
        begin_force_law(x.force)
        _enter_tip(x, p, k.laws.task, k.laws.task_inputs.R, k.laws.task_inputs.p,
                   k.laws.task_inputs.velocity, w, 1.0)
    elif x.laws.law == LawCode.IMPEDANCE:
        _enter_tip(x, p, k.laws.impedance, k.laws.impedance_inputs.R, k.laws.impedance_inputs.p,
                   k.laws.impedance_inputs.velocity, w, 1.0)


def _enter_tip(x: State, p: Parameters, kernel: LawKernel, R: Matrix, position: Vector,
               velocity: Vector, w: Work, moves: float) -> None:
    """Begin a law of the tip at the present pose, which its kernel finds; 0: it is at rest."""
    feed_law(kernel, x.joints, x.load.gravity, x.load.payload, p.laws.barrier, x.design)
    begin_task_law(x.laws.task, kernel, R, velocity, x.joints, p.structure, w.twist, x.now)
    if not moves > 0.0:  # what was touched is ahead
        x.laws.task.starting = False
        for i in range(6):
            w.twist[i] = 0.0
    start_task_reference(x.references.task, p.references.task, R, position, w.twist,
                         p.laws.switch_time)


def rest_law(x: State, p: Parameters) -> None:
    """
    Come to rest from the present reference, when another mode has the same law.

    :param x: state.
    :param p: parameters.
    """
    if law_tracks(x.laws):
        rest_joint_reference(x.references.joint, p.references.joint, x.now, p.laws.switch_time)
