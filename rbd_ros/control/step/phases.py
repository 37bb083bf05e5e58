# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
A state that has arrived is checked, supervised, computed, limited and sent.

Decide (bounds, plausibility, supervisor), compute (law, hold or brake, by what was decided),
finish (fade, limits, observers). A law that is not finite falls back to braking in the same step.
"""

from __future__ import annotations

from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import accuse, Event, NEVER, NOBODY, NONE, Result
from rbd_ros.control.interface.words import LoadWord
from rbd_ros.control.joint_states.acceptance import repeats_nothing, stuck
from rbd_ros.control.joint_states.arrival import is_ready
from rbd_ros.control.joint_states.timeliness import in_time_for
from rbd_ros.control.laws.design import UNSAID
from rbd_ros.control.laws.joint_law import is_at_rest
from rbd_ros.control.load.load import check_gravity, share_load, update_load
from rbd_ros.control.monitors.guards import is_alive
from rbd_ros.control.monitors.monitors import check_plausible, check_watch
from rbd_ros.control.monitors.start import is_age_known
from rbd_ros.control.observers.hidden_motion import update_hidden_motion
from rbd_ros.control.observers.standstill import (
    check_standstill, is_doubtful, is_standstill_calm, predict_unseen, replace_frozen,
    since_prediction, trust_model)
from rbd_ros.control.observers.unseen_motion import go_on_unseen
from rbd_ros.control.references.pieces import Ring
from rbd_ros.control.step.compute import compute
from rbd_ros.control.step.entering import advance_all, announce, diagnose_late, pick
from rbd_ros.control.step.state import Kernels, Parameters, State, Work
from rbd_ros.control.supervisor.due import is_frozen, is_live, is_working, trust_in_load
from rbd_ros.control.supervisor.states import StateCode
from rbd_ros.control.supervisor.supervisor import computed, fresh, hear
from rbd_ros.control.torque.torque import (
    begin_at, brake_torque, gravity_known, law_not_finite, live_torque, need, no_brake, send,
    turn_blind, wants_state)
from rbd_ros.control.torque.torque_records import Need

__all__ = ['run_phases']


def run_phases(x: State, u: Event, p: Parameters, ring: Ring, k: Kernels, w: Work,
               y: Result) -> None:
    """
    Decide, compute and finish with the state that has just arrived.

    :param x: state.
    :param u: event.
    :param p: parameters.
    :param ring: pieces of trajectories.
    :param k: kernels.
    :param w: room.
    :param y: result.
    """
    x.now, x.steady, x.stamp_s, x.stamp_ns = u.now, u.steady, u.stamp_s, u.stamp_ns
    x.taken += 1.0
    replace_frozen(x.standstill, x.joints, p.structure)
    update_load(x.load, p.load, u.now)
    x.sensor.update(p.sensor, k.sensor, x.joints, x.load.gravity, x.load.payload, u.now)
    ready = _decide(x, u, p, k, w, y)
    diagnose_late(x, p, u.now)
    fresh(x.command.supervisor, p.command.supervisor, x.diagnosis, u.now, u.steady,
          x.joints.expiry, ready)
    due = advance_all(x, u, p, k, w, y)
    if wants_state(x.command, p.command, w.computed, x.observer.load, y, due, u.now, u.steady):
        _torque(x, u, p, ring, k, w, y, need(due))
    _finish(x, u, p, k, w, y)


# -- decide ---------------------------------------------------------------------------------------

def _decide(x: State, u: Event, p: Parameters, k: Kernels, w: Work, y: Result) -> bool:
    """Check the state; return whether torque may begin, or go on."""
    ready = is_ready(x.joints, u.now) and _loops_are_closed(x, u, p, k, y)
    pick(x, p, w)
    if x.command.supervisor.state == StateCode.PROBING:
        ready = ready and x.states.punctual.runs > 0.0 and _may_start(x, u, p, k, y)
    else:
        # a state that was lost and comes back late would be lost again
        ready = ready and (is_working(x.command.supervisor) or (
            in_time_for(x.states.punctual, u.now) >= p.states.ages.state_timeout
            and not (p.states.ages.asked > x.states.delays.known)))
        _watch(x, u, p, w, y)
    hear(x.command.supervisor, p.command.supervisor, y, u.steady)
    if not check_gravity(x.load, p.load, y):
        hear(x.command.supervisor, p.command.supervisor, y, u.steady)
        return False
    if not x.sensor.check(p.sensor, y, u.now, int(x.command.supervisor.state)):
        hear(x.command.supervisor, p.command.supervisor, y, u.steady)
        ready = False
    return ready


def _loops_are_closed(x: State, u: Event, p: Parameters, k: Kernels, y: Result) -> bool:
    """Return whether the state closes all loops, and passive joints are known."""
    if p.design.closed_loops == 0.0:
        return True
    starts = 1 if x.command.supervisor.state == StateCode.PROBING else 0
    closed = x.closed_loops.check(p.closed_loops, k.loops, x.joints, p.structure, y, starts)
    hear(x.command.supervisor, p.command.supervisor, y, u.steady)
    return closed


def _may_start(x: State, u: Event, p: Parameters, k: Kernels, y: Result) -> bool:
    """Return whether torque may begin; every joint is known."""
    if not is_alive(x.dead_man, p.monitors, u.steady):
        return False
    passed = x.start.passes(p.start, k.stop, x.load, x.joints, p.structure, y, u.now)
    if passed:
        passed = is_age_known(x.states.delays, p.states.ages, y) and _holds_weight(x, p, y)
        begin_at(x.command.torque, x.start.torque_known > 0.0, x.start.torque)
    return passed


def _holds_weight(x: State, p: Parameters, y: Result) -> bool:
    """Return whether the weight of the robot can be held with states as late as most are."""
    if x.design.usual_delay < p.design.weight_delay:
        return True
    accuse(y, Cause.START_CHECK, LoadWord.TOO_LATE, NOBODY, x.design.usual_delay,
           p.design.weight_delay, 0.0)
    return False


def _watch(x: State, u: Event, p: Parameters, w: Work, y: Result) -> None:
    """Watch the bounds of a robot under control, and what its sensors say."""
    _note_law(x, u, w)
    w.doing.rests = _rests(x, p)
    calm = check_watch(x.watch, p.monitors, x.joints, w.doing, y, int(x.command.supervisor.state))
    plausible = check_plausible(
        x.plausible, p.monitors, x.joints, w.doing, y,
        stuck(x.states.repeats, p.monitors.velocity_patience),
        0 if repeats_nothing(x.states.repeats) else 1)
    x.calm = 1.0 if calm and plausible else 0.0


def _note_law(x: State, u: Event, w: Work) -> None:
    """Note what the law does, for those who watch it."""
    w.doing.now, w.doing.runs = u.now, x.command.supervisor.state == StateCode.RUNNING
    w.doing.tracks, w.doing.leads = x.laws.tracks(), x.laws.leads()
    w.doing.error[:] = x.laws.joint.error
    w.doing.lead[:] = x.laws.task.error


def _rests(x: State, p: Parameters) -> bool:
    """Return whether the law wants the robot to stay where it is."""
    if x.laws.tracks():
        return is_at_rest(x.references.joint.profile.state)
    if x.laws.leads():
        return x.force.rests() and x.laws.task.rests(
            p.laws.task, x.references.task.pose.velocity, x.references.task.wrench)
    return True


# -- compute --------------------------------------------------------------------------------------

def _torque(x: State, u: Event, p: Parameters, ring: Ring, k: Kernels, w: Work, y: Result,
            what: int) -> None:
    """Compute what is due, and send it."""
    compute(x, u, p, ring, k, w, y, what)
    if not _gravity_is_known(x, u, p, k, w, y):
        return
    computed(x.command.supervisor)
    if not is_live(x.command.supervisor):  # the computation itself said that it cannot be trusted
        _go_blind(x, u, p, w, y)
        return
    if not live_torque(x.command, p.command, w.computed, x.observer.load, w.doing.qd, u.now):
        law_not_finite(x.command, p.command, u.steady)
        announce(x, p, k, w, y)
        x.command.torque.fade.cancel()
        compute(x, u, p, ring, k, w, y, Need.STOP)
        if not _gravity_is_known(x, u, p, k, w, y):
            return
        if not brake_torque(x.command, w.computed, x.observer.load, w.doing.qd):
            no_brake(x.command, p.command, u.steady)
            _go_blind(x, u, p, w, y)
            return
    send(x.command, p.command, y, u.now, u.steady, live=True)


def _gravity_is_known(x: State, u: Event, p: Parameters, k: Kernels, w: Work, y: Result) -> bool:
    """Take g(q) and the driver's part; go on without the state if they are not finite."""
    if gravity_known(x.command, p.command, w.computed, u.steady):
        return True
    announce(x, p, k, w, y)
    _go_blind(x, u, p, w, y)
    return False


def _go_blind(x: State, u: Event, p: Parameters, w: Work, y: Result) -> None:
    diagnose_late(x, p, u.now)
    turn_blind(x.command, p.command, w.computed, x.diagnosis, x.observer.load, y, u.now, u.steady)


# -- finish ---------------------------------------------------------------------------------------

def _finish(x: State, u: Event, p: Parameters, k: Kernels, w: Work, y: Result) -> None:
    """Look for joints that do not move as they should, and observe what the model leaves out."""
    if y.send == 0.0:
        return
    _note_law(x, u, w)
    if w.doing.runs or is_frozen(x.command.supervisor):
        share_load(x.load, k.momentum.payload, k.momentum.acting)
        predict_unseen(x.standstill, p.standstill, p.observer, k.momentum, x.joints, p.structure,
                       x.design.observer_gain, x.command.torque.limiter.last)
    check_standstill(x.standstill, p.standstill, x.observer, x.joints, p.structure, w.doing,
                     w.computed, y)
    hear(x.command.supervisor, p.command.supervisor, y, u.steady)
    if not is_standstill_calm(x.standstill):
        x.calm = 0.0
    if is_frozen(x.command.supervisor):
        trust_model(x.standstill, p.standstill, x.joints, p.structure,
                    stuck(x.states.repeats, p.standstill.patience))
    if p.observer.observed > 0.0 or x.calm == 0.0 or p.contact.is_watched() or (
            x.command.supervisor.state != StateCode.RUNNING):
        _observe(x, u, p, k)
    if p.observer.observed > 0.0:
        x.laws.joint.external[:] = x.observer.external
    if p.contact.is_watched():
        _feel(x, u, p, k, w, y)
    else:
        x.references.task.pose.most, x.references.joint.share = NONE, 1.0


def _observe(x: State, u: Event, p: Parameters, k: Kernels) -> None:
    """Observe what moves the robot besides the torque, and what moves unseen."""
    delay, age = x.design.usual_delay, x.states.delays.age
    if max(delay, age) > p.design.delay + UNSAID:
        delay = age
    k.momentum(x.joints, acting=x.load.gravity, payload=x.load.payload)
    elapsed = x.observer.observe(
        p.observer, k.momentum, x.design.observer_gain, delay, x.joints.differenced,
        x.command.torque.limiter.last, u.now)
    if elapsed > NEVER:
        x.observer.share(p.observer, trust_in_load(x.command.supervisor), x.joints, p.structure,
                         elapsed)
    dt = since_prediction(x.standstill, u.now)
    if dt > 0.0 and x.standstill.lost == NOBODY:
        update_hidden_motion(x.standstill.suspect, k.momentum, x.joints, p.structure,
                             x.design.observer_gain, x.command.torque.limiter.last, dt, x.observer)
    elif dt > 0.0:
        go_on_unseen(x.standstill.unseen, p.standstill.unseen, k.momentum, x.joints, p.structure,
                     x.command.torque.limiter.last, int(x.standstill.lost))


def _feel(x: State, u: Event, p: Parameters, k: Kernels, w: Work, y: Result) -> None:
    """Look for contacts of a robot that works or goes back, and keep the path that it comes."""
    state = int(x.command.supervisor.state)
    if x.contact.observe(p.contact, k.momentum, x.joints, p.structure, x.observer,
                         x.command.torque.limiter.last, u.now):
        k.contact(x.joints, acting=x.load.gravity, payload=x.load.payload)
        x.contact.locate(p.contact, w.contact, k.contact, k.momentum.H, x.joints, p.structure)
    x.references.task.pose.most = x.contact.energy_speed(p.contact)
    x.references.joint.share = x.contact.energy_share(p.contact, k.contact.J,
                                                      x.references.joint.profile.target,
                                                      x.references.joint.path.rate)
    if state == StateCode.RUNNING:
        x.contact.check(p.contact, u.now, y)
        x.way_back.note(p.way_back, x.joints, p.structure)
    elif state == StateCode.RETRACTING:  # one accusation at most: a second one brakes
        x.contact.check_return(x.way_back.since, u.now, y)
        x.contact.check(p.contact, u.now, y)
    x.command.supervisor.doubted = is_doubtful(x.standstill, x.joints)
    hear(x.command.supervisor, p.command.supervisor, y, u.steady)
