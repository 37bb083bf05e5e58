# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What a new state of the supervisor sets going: references, stops, observers begin.

Whoever changes the state of the supervisor has :func:`announce` called soon after, in the same
step or in the next.
"""

from __future__ import annotations

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.control.interface.events import Event, NOBODY, Result, tell
from rbd_ros.control.interface.words import FlowWord, ReferenceWord
from rbd_ros.control.joint_states.diagnosis import diagnose
from rbd_ros.control.joint_states.timeliness import restart_delays
from rbd_ros.control.laws.design import design, note_filter
from rbd_ros.control.laws.law_records import LawCode
from rbd_ros.control.load.load import restart_load
from rbd_ros.control.monitors.monitors import begin_watch
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.observers.standstill import restart_standstill
from rbd_ros.control.references.joint_reference import rest_joint_reference, start_joint_reference
from rbd_ros.control.references.task_reference import start_task_reference
from rbd_ros.control.step.compute import move_tip, pull_tip
from rbd_ros.control.step.state import Kernels, Parameters, State, Work
from rbd_ros.control.supervisor.due import has_touched, is_late, trust_in_load
from rbd_ros.control.supervisor.states import LoadTrust, StateCode
from rbd_ros.control.supervisor.supervisor import advance
from rbd_ros.control.torque.torque import changed

__all__ = ['advance_all', 'announce', 'begin_state', 'diagnose_late', 'enter_law', 'pick',
           'rest_law']

#: s over which the first ages of states are compared while a robot brakes
_BRAKES = 0.02


def begin_state(x: State, p: Parameters) -> None:
    """
    Put a state in which nothing has happened yet in accord with parameters.

    :param x: state.
    :param p: parameters.
    """
    x.mode, x.laws.law, x.laws.own = p.mode, p.laws.law, p.laws.own
    restart_load(x.load, p.load)
    x.sensor.restart(p.sensor)
    design(x.design, p.design, p.design.delay, 0.0)


def pick(x: State, p: Parameters, w: Work) -> None:
    """
    Copy position and velocity of the controlled joints.

    :param x: state.
    :param p: parameters.
    :param w: gets them.
    """
    for c in range(len(w.doing.q)):
        j = place_of(p.structure, c)
        w.doing.q[c] = x.joints.q[j]
        w.doing.qd[c] = x.joints.qd[j]


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
        x.observer.drop_load()
    if not changed(x.command, p.command):
        return
    state = int(x.command.supervisor.state)
    pick(x, p, w)
    if state == StateCode.PROBING:
        x.start.restart()
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
    x.states.punctual.reset()  # what comes after a loss counts, not what came before
    enter_law(x, p, k, w)
    x.observer.restart()
    x.contact.restart()
    x.way_back.forget()
    restart_standstill(x.standstill)
    begin_watch(x.watch, p.monitors, x.now, w.doing.q, w.doing.qd)
    x.plausible.reset()


def _enter_holding(x: State, p: Parameters, w: Work) -> None:
    """Hold the robot where it is."""
    x.laws.joint.reset()
    x.laws.joint.external[:] = x.observer.mean
    x.hold.enter(x.joints, p.structure, x.brake.allowed, w.speed)
    start_joint_reference(x.references.joint, p.references.joint, x.joints, p.structure, w.speed)
    rest_joint_reference(x.references.joint, p.references.joint, x.now, p.laws.switch_time)


def _enter_braking(x: State, p: Parameters) -> None:
    """Begin to brake with the next state."""
    restart_delays(x.states.delays, _BRAKES)
    note_filter(x.design, p.design, x.joints.differenced)
    asked = x.command.supervisor.faults.only_operator()
    x.brake.enter(p.stops, urgent=not asked)
    if asked:
        x.observer.forget_load()  # a hand that has pushed the robot is no load
    elif has_touched(x.command.supervisor):
        x.observer.drop_load()  # what was in the way is none either, whatever else is wrong


def _enter_touched(x: State, p: Parameters, k: Kernels, w: Work, state: int) -> None:
    """Float, be held by springs, or go back, after a contact."""
    x.references.joint.goal.abort(ReferenceWord.STOPPED)
    if state == StateCode.COMPLYING:
        _enter_pulling(x, p, k, w, moves=False)  # what was touched is ahead
    elif state == StateCode.RETRACTING:
        x.laws.joint.reset()
        x.way_back.begin(x.joints, p.structure, x.now)


def enter_law(x: State, p: Parameters, k: Kernels, w: Work) -> None:
    """
    Begin the law in force at the present state, and come to rest.

    :param x: state.
    :param p: parameters.
    :param k: kernels.
    :param w: room, with the present state.
    """
    x.laws.springs.rest()
    if x.laws.tracks():
        x.laws.joint.reset()
        start_joint_reference(x.references.joint, p.references.joint, x.joints, p.structure,
                              w.doing.qd)
        rest_joint_reference(x.references.joint, p.references.joint, x.now, p.laws.switch_time)
    elif x.laws.law == LawCode.TASK:
        x.force.reset()
        _be_present(x, p, w)
        move_tip(x, x.references.task, p, k, w, x.force.wrench)
        _start_tip(x, p, w, k.task.R, k.task.p, k.task.velocity, moves=True)
    elif x.laws.law == LawCode.IMPEDANCE:
        _enter_pulling(x, p, k, w, moves=True)


def _enter_pulling(x: State, p: Parameters, k: Kernels, w: Work, moves: bool) -> None:
    """Begin the springs of the tip at its present pose."""
    _be_present(x, p, w)
    pull_tip(x, x.references.task, p, k, w, 0.0)
    _start_tip(x, p, w, k.impedance.R, k.impedance.p, k.impedance.velocity, moves)


def _be_present(x: State, p: Parameters, w: Work) -> None:
    w.present.take(x.joints, x.load.gravity, x.load.payload, p.laws.barrier, x.design)


def _start_tip(x: State, p: Parameters, w: Work, R: Matrix, position: Vector, velocity: Vector,
               moves: bool) -> None:
    """Begin a law of the tip at the pose that its kernel has found, at rest or as it moves."""
    x.laws.task.begin(x.joints, p.structure, x.now)
    x.laws.task.starting = moves
    w.twist[:] = 0.0
    if moves:
        w.twist[:3] = R[:, 0] * velocity[0] + R[:, 1] * velocity[1] + R[:, 2] * velocity[2]
        w.twist[3:6] = R[:, 0] * velocity[3] + R[:, 1] * velocity[4] + R[:, 2] * velocity[5]
    start_task_reference(x.references.task, p.references.task, R, position, w.twist,
                         p.laws.switch_time)


def rest_law(x: State, p: Parameters) -> None:
    """
    Come to rest from the present reference, when another mode has the same law.

    :param x: state.
    :param p: parameters.
    """
    if x.laws.tracks():
        rest_joint_reference(x.references.joint, p.references.joint, x.now, p.laws.switch_time)
