# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The controller as one function: state, event and parameters in; next state, torque and words out.

    x', y = step(x, u, p)

A step changes ``x`` and ``y`` in place and nothing else. It allocates nothing, and waits for
nobody.
"""

from __future__ import annotations

import math

from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import (
    accuse, Event, Kind, NEVER, NOBODY, NONE, Result, tell)
from rbd_ros.control.interface.words import FlowWord, ReferenceWord, SupervisorWord
from rbd_ros.control.joint_states.arrival import (
    Arrival, arrive, is_in_time, is_overdue, is_ready, refuse_unreadable, restart_states,
    time_left)
from rbd_ros.control.joint_states.motion import accuse_implausible
from rbd_ros.control.joint_states.timeliness import (
    ages_known, lateness, restart_delays, restart_rate)
from rbd_ros.control.laws.design import (
    follow_lateness, note_delay, redesign, restart_design)
from rbd_ros.control.laws.law_records import MOST_MODES
from rbd_ros.control.laws.stops import find_gravity
from rbd_ros.control.load.load import apply_load, judge_weight, take_gravity, take_payload
from rbd_ros.control.monitors.guards import check_dead_man, is_alive, press
from rbd_ros.control.monitors.monitors import changed_law
from rbd_ros.control.monitors.start import gravity_before
from rbd_ros.control.observers.standstill import restart_standstill
from rbd_ros.control.references.joint_requests import cancel_goal, pause_path
from rbd_ros.control.references.pieces import Ring
from rbd_ros.control.references.references import hold_references, moves, take_reference
from rbd_ros.control.step.admission import follows_goals
from rbd_ros.control.step.entering import (
    advance_all, diagnose_late, enter_law, pick, rest_law)
from rbd_ros.control.step.motors import command_motors
from rbd_ros.control.step.phases import run_phases
from rbd_ros.control.step.state import Kernels, Parameters, State, Work
from rbd_ros.control.supervisor.answers import moment
from rbd_ros.control.supervisor.due import is_live, is_working
from rbd_ros.control.supervisor.states import StateCode
from rbd_ros.control.supervisor.supervisor import (
    activate, fault, hear, renewed, reset, take_cause)
from rbd_ros.control.torque.torque import after_timer, carry_torque, leave_torque

__all__ = ['step']


def step(x: State, u: Event, p: Parameters, ring: Ring, k: Kernels, w: Work, y: Result) -> None:
    """
    Let one thing happen.

    :param x: state, which becomes the next one.
    :param u: what happened.
    :param p: parameters.
    :param ring: pieces of trajectories, filled by a slower thread.
    :param k: kernels.
    :param w: room for what lasts for one step.
    :param y: gets what is to be sent and said.
    """
    y.send, y.answer, y.told, y.accused = 0.0, 0.0, 0.0, 0.0
    if not (math.isfinite(u.now) and math.isfinite(u.steady)):
        y.answer = FlowWord.NO_TIME
        return
    if u.kind == Kind.STATE:
        _take_state(x, u, p, ring, k, w, y)
    elif u.kind == Kind.TIMER:
        _look(x, u, p, y)
        _take_timer(x, u, p, k, w, y)
    elif u.kind == Kind.UNREADABLE:
        refuse_unreadable(x.states.sources, u, y)
        _go_on_without(x, u, p, k, w, y)
    elif u.kind == Kind.LOOK:
        _look(x, u, p, y)
    elif u.kind == Kind.DEAD_MAN:
        press(x.dead_man, p.monitors, y, u.steady, 1 if u.pressed > 0.0 else 0,
              int(x.command.supervisor.state))
        hear(x.command.supervisor, p.command.supervisor, y, u.steady)
    elif u.kind == Kind.ADVANCE:
        advance_all(x, u, p, k, w, y)
    else:
        _request(x, u, p, ring, k, w, y)
    if y.send > 0.0 and p.motor.used:
        command_motors(x, u, p, y)


# -- states and the timer -------------------------------------------------------------------------

def _take_state(x: State, u: Event, p: Parameters, ring: Ring, k: Kernels, w: Work,
                y: Result) -> None:
    """Take a joint state; decide, compute and finish if it carries controlled joints."""
    working = is_working(x.command.supervisor)
    left = 0.0 if working else time_left(x.states, x.joints, p.structure, u.now)
    arrival = arrive(x.states, x.joints, u, p.structure, p.states, y)
    if not working and not is_in_time(x.states, p.states, u, left, arrival):
        x.start.restart()
        if not is_live(x.command.supervisor):  # a robot that is braked or held needs its rate
            restart_delays(x.states.delays, p.states.ages.state_timeout)
            restart_rate(x.states.rate, x.joints)  # a halt before the start is no low rate
    if x.states.sources.driven > 0.0:
        late = lateness(x.states.delays, x.states.sources, p.states.ages, u, p.design.delay)
        if ages_known(x.states.delays, p.states.ages, u):
            note_delay(x.design, p.design, y, x.states.delays.middle, x.states.delays.high)
        if arrival == Arrival.STATE:
            follow_lateness(x.design, p.design, late, u.now)
    accuse_implausible(x.states.motion, y)
    hear(x.command.supervisor, p.command.supervisor, y, u.steady)
    if x.joints.calm == 0.0:
        x.calm = 0.0
    if arrival == Arrival.STATE:
        run_phases(x, u, p, ring, k, w, y)
        return
    if arrival == Arrival.PRESCRIBED:
        diagnose_late(x, p, u.now)
        renewed(x.command.supervisor, p.command.supervisor, x.diagnosis, u.now, u.steady,
                x.joints.expiry)
    _go_on_without(x, u, p, k, w, y)


def _go_on_without(x: State, u: Event, p: Parameters, k: Kernels, w: Work, y: Result) -> None:
    """Continue after a message that gave no state: do not wait for the timer if it is late."""
    if is_overdue(x.joints, u.now, x.now) and is_live(x.command.supervisor):
        _take_timer(x, u, p, k, w, y)


def _take_timer(x: State, u: Event, p: Parameters, k: Kernels, w: Work, y: Result) -> None:
    """Send what needs no state: nothing while states arrive."""
    advance_all(x, u, p, k, w, y)
    held = NONE if p.motor.used else x.design.held  # such motors damp by themselves
    after_timer(x.command, p.command, w.computed, x.observer.load, y, held, u.now, u.steady)
    if y.send > 0.0 and is_live(x.command.supervisor):
        x.observer.note_sent(x.command.torque.limiter.last, u.now)


def _look(x: State, u: Event, p: Parameters, y: Result) -> None:
    """Look at the clocks and at the dead-man switch."""
    x.now, x.steady = u.now, u.steady
    check_dead_man(x.dead_man, p.monitors, y, u.steady, int(x.command.supervisor.state))
    hear(x.command.supervisor, p.command.supervisor, y, u.steady)


# -- requests -------------------------------------------------------------------------------------

def _request(x: State, u: Event, p: Parameters, ring: Ring, k: Kernels, w: Work,
             y: Result) -> None:
    """Do what somebody asks for."""
    if u.kind == Kind.ACTIVATE:
        if activate(x.command.supervisor, p.command.supervisor, y, u.now, u.steady):
            _restart_checks(x, p)
    elif u.kind == Kind.RESET:
        _reset(x, u, p, y)
    elif u.kind == Kind.FAULT:
        take_cause(x.command.supervisor, p.command.supervisor, u)
    elif u.kind == Kind.PARAMETERS:
        _apply(x, p, k, w, y)
    elif u.kind == Kind.HOLD:
        hold_references(x.references, p.references)
    elif u.kind == Kind.LEAVE:
        _leave(x, u, p, y)
    elif u.kind == Kind.CARRY:
        _carry(x, u, p, k, y)
    elif u.kind == Kind.CANCEL:
        cancel_goal(x.references.joint, p.references.joint, u, y)
    elif u.kind == Kind.PAUSE:
        pause_path(x.references.joint, u, y)
    elif u.kind == Kind.PAYLOAD:
        take_payload(x.load, p.load, u, y)
    elif u.kind == Kind.WEIGH:
        _weigh(x, u, p, k, y)
    elif u.kind == Kind.GRAVITY:
        take_gravity(x.load, p.load, u, y)
    elif u.kind == Kind.READING:
        x.sensor.take(p.sensor, u, y, int(x.command.supervisor.state))
        hear(x.command.supervisor, p.command.supervisor, y, u.steady)
    elif u.kind == Kind.TARE:
        x.sensor.tare(p.sensor, u, y)
    elif u.kind == Kind.OUTPUT:
        x.command.supervisor.free_until = moment(u.numbers[0], NEVER)
    elif (Kind.SET_POINT <= u.kind <= Kind.WRENCH or u.kind == Kind.STREAM
          or u.kind == Kind.REFUSED):
        if take_reference(x.references, p.references, p.monitors, ring, u, y,
                          int(x.command.supervisor.state), follows_goals(x, p)) and moves(
                              x.references, x.joints, p.structure, int(x.laws.law)):
            accuse(y, Cause.BAD_COMMAND, SupervisorWord.REFUSED_IN_A_ROW, NOBODY,
                   x.references.refusals.row)
        hear(x.command.supervisor, p.command.supervisor, y, x.steady)
    else:
        y.answer = FlowWord.NO_KIND


def _leave(x: State, u: Event, p: Parameters, y: Result) -> None:
    """End without a stop sequence: who takes the motors away lets nothing follow."""
    if is_working(x.command.supervisor):
        tell(y, SupervisorWord.NOT_BRAKED, NOBODY, 0.0, 0.0, 0.0)
    leave_torque(x.command, p.command, x.observer.load, y)
    fault(x.command.supervisor, p.command.supervisor, u.steady, Cause.DEACTIVATED,
          FlowWord.OUTSIDE)


def _carry(x: State, u: Event, p: Parameters, k: Kernels, y: Result) -> None:
    """Carry the robot before the first torque; passive joints of loops are not known yet."""
    if (x.command.supervisor.state == StateCode.PROBING and p.design.closed_loops == 0.0
            and gravity_before(p.start, k.stop, x.load, x.joints, p.structure, u.q)):
        carry_torque(x.command.torque, p.command.torque, k.stop.gravity, k.stop.driver, y)


def _weigh(x: State, u: Event, p: Parameters, k: Kernels, y: Result) -> None:
    """Refuse a payload that the torque limits cannot hold; without a known pose none is."""
    if is_ready(x.joints, u.now):
        find_gravity(k.stop, x.joints.q, x.joints.qd, x.load.gravity, u.numbers)
        judge_weight(k.stop.gravity, p.stops.limit, u.numbers[0], y)


def _restart_checks(x: State, p: Parameters) -> None:
    """Forget every message: each stream must prove again that it is fresh."""
    restart_states(x.states, x.joints, p.states)
    x.start.restart()
    if p.design.closed_loops > 0.0:
        x.closed_loops.restart(p.closed_loops)
    restart_design(x.design, p.design)  # its age is measured again
    x.sensor.forget()
    restart_standstill(x.standstill)  # the start believes the sensors, not the model


def _reset(x: State, u: Event, p: Parameters, y: Result) -> None:
    """Clear latched faults, unless the dead-man switch is not held."""
    if not is_alive(x.dead_man, p.monitors, u.steady):
        y.answer = SupervisorWord.NO_DEAD_MAN
        return
    if reset(x.command.supervisor, p.command.supervisor, y, u.now, u.steady) and (
            x.command.supervisor.state == StateCode.PROBING):
        _restart_checks(x, p)


def _apply(x: State, p: Parameters, k: Kernels, w: Work, y: Result) -> None:
    """Take new parameters, all at once between two steps."""
    redesign(x.design, p.design)
    apply_load(x.load, p.load, x.now)
    if p.mode == x.mode or not _is_mode(p):
        return
    x.mode = math.floor(p.mode)
    other = x.laws.choose(p.laws)
    x.references.joint.goal.abort(ReferenceWord.MODE_CHANGED, x.mode)
    if is_working(x.command.supervisor):
        if other:
            pick(x, p, w)
            enter_law(x, p, k, w)
            x.command.torque.fade.arm(p.command.torque.switch_time)
        else:
            rest_law(x, p)
    changed_law(x.watch)
    tell(y, FlowWord.MODE, NOBODY, x.mode, 0.0, 0.0)


def _is_mode(p: Parameters) -> bool:
    """Return whether the mode is one; what is none changes nothing."""
    return 0.0 <= p.mode < p.modes <= MOST_MODES and p.laws.is_law()
