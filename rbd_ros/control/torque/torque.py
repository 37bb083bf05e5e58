# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The torque of one step: what is due, combined, limited and sent.

This is the only place from which a torque is sent. Whatever the laws compute, what is sent is
finite and within the limits in N.m and N.m/s, or nothing is sent. Laws are evaluated between these
procedures, by those who know them; what they give may be anything and is no part of the state.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.procedure import Vector
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Result
from rbd_ros.control.interface.words import SupervisorWord
from rbd_ros.control.supervisor.answers import moment
from rbd_ros.control.supervisor.due import due_now, is_distrusted, is_live, is_stopping
from rbd_ros.control.supervisor.states import Due, StateCode
from rbd_ros.control.supervisor.supervisor import advance, Diagnosis, fault, published
from rbd_ros.control.torque.limiter import is_finite, most_of, within
from rbd_ros.control.torque.torque_records import (
    Command, CommandLimits, Computed, Need, Torque, TorqueParameters)

__all__ = ['after_timer', 'begin_at', 'brake_torque', 'carry_torque', 'changed',
           'gravity_known', 'law_not_finite', 'leave_torque', 'live_torque', 'need', 'no_brake',
           'relaxes_at', 'send', 'silence', 'turn_blind', 'wants_state']

#: s, time constant with which a torque that no state answers becomes g(q)
_RELAX = 0.002


def need(due: int) -> int:
    """
    Return what is to be computed for a torque that needs the state, see ``Need``.

    :param due: kind of torque, see ``Due``.
    """
    if due == Due.LAW:
        return Need.LAW
    if due == Due.HOLD:
        return Need.HOLD
    if due == Due.FLOAT:
        return Need.FLOAT
    if due == Due.COMPLY:
        return Need.COMPLY
    return Need.RETRACT if due == Due.RETRACT else Need.STOP


def begin_at(x: Torque, known: bool, torque: Vector) -> None:
    """
    Set what acts before the first torque, so that it follows without a step.

    :param known: whether it is known; if not, it is what was sent last.
    :param torque: total torque, N.m.
    """
    x.known = known and is_finite(torque)
    if x.known:
        x.start[:] = torque


# -- the course of a step -------------------------------------------------------------------------

def changed(x: Command, p: CommandLimits) -> bool:
    """Return whether the supervisor is in another state than when this was asked last."""
    if x.supervisor.state == x.torque.state:
        return False
    x.torque.state = x.supervisor.state
    if x.torque.state == StateCode.RAMPING_IN:
        x.torque.fade.arm(p.torque.switch_time)
    elif StateCode.FLOATING <= x.torque.state <= StateCode.RETRACTING:
        x.torque.fade.cancel()  # what pressed must not fade slowly
    return True


def wants_state(x: Command, p: CommandLimits, c: Computed, load: Vector, y: Result, due: int,
                now: float, steady: float) -> bool:
    """
    Return whether the state that has arrived is to be computed; if not, the step is done.

    :param c: place for the torque.
    :param load: torque that the robot showed in addition to g(q).
    :param y: takes what is sent.
    :param due: result of ``advance``.
    """
    if due == Due.NOTHING:
        silence(x.torque)
        return False
    if not is_live(x.supervisor):
        _blind(x, p, c, load, y, due, now, steady)
        return False
    x.torque.ramping = False
    return True


def after_timer(x: Command, p: CommandLimits, c: Computed, load: Vector, y: Result, held: float,
                now: float, steady: float) -> None:
    """
    Send what needs no state; nothing while states arrive.

    :param c: place for the torque.
    :param load: torque that the robot showed in addition to g(q).
    :param y: takes what is sent.
    :param held: s for which a torque may be held that a state has asked for.
    """
    due = due_now(x.supervisor)
    if due == Due.NOTHING and not x.supervisor.paused:
        silence(x.torque)
    if due != Due.NOTHING and not is_live(x.supervisor):
        _blind(x, p, c, load, y, due, now, steady)
    elif Due.LAW <= due <= Due.RETRACT and due != Due.BRAKE and now > x.torque.answered + held:
        _relax(x, p, c, load, y, now - max(x.torque.now, x.torque.answered + held), now, steady)


def relaxes_at(x: Torque, held: float) -> float:
    """
    Return the steady time from which on the last torque fades, if no state comes.

    :param x: torque.
    :param held: s for which it may be held.
    """
    return x.steady if x.now > x.answered else x.steady + held


def silence(x: Torque) -> None:
    """Record that publishing has ceased: the next start resets the limiter."""
    x.sending, x.ramping = False, False
    x.fade.cancel()


def gravity_known(x: Command, p: CommandLimits, c: Computed, steady: float) -> bool:
    """
    Take g(q) and the driver's part; report a fault without them.

    :param c: what was computed.
    """
    if not (is_finite(c.gravity) and is_finite(c.driver)):
        fault(x.supervisor, p.supervisor, steady, Cause.BAD_GRAVITY,
              SupervisorWord.GRAVITY_NOT_FINITE)
        return False
    x.torque.gravity[:] = c.gravity
    x.torque.limiter.driver[:] = c.driver
    return True


def live_torque(x: Command, p: CommandLimits, c: Computed, load: Vector, qd: Vector, now: float,
                ) -> bool:
    """
    Put the wanted torque of the present state together.

    :param c: what was computed.
    :param load: torque that the robot showed in addition to g(q).
    :param qd: velocity of the controlled joints.
    :returns: whether it is finite.
    """
    due = due_now(x.supervisor)
    x.torque.answered = moment(now, x.torque.answered)
    if not x.torque.sending:
        _begin(x.torque, p.torque)
    if Due.LAW <= due <= Due.RETRACT and due != Due.BRAKE:
        gain = x.supervisor.gain if due == Due.LAW else 1.0
        return _law_torque(x.torque, p.torque, c, gain, qd, now)
    _brake(x.torque, c, load, qd)
    if due == Due.RAMP_LIVE:
        c.wanted[:] = within(c.wanted, most_of(p.torque.limits.limit))
        _mix(x, p, c, load, c.wanted, x.supervisor.blend)
    if not _want(x.torque, c):
        return False
    x.torque.fade.take(x.torque.wanted)
    return True


def law_not_finite(x: Command, p: CommandLimits, steady: float) -> None:
    """Report a law without a finite torque; what brakes is to be computed in the same step."""
    fault(x.supervisor, p.supervisor, steady, Cause.BAD_COMMAND, SupervisorWord.LAW_NOT_FINITE)


def brake_torque(x: Command, c: Computed, load: Vector, qd: Vector) -> bool:
    """
    Take the torque that brakes as the wanted one.

    :param c: what was computed.
    :param load: torque that the robot showed in addition to g(q).
    :param qd: velocity of the controlled joints.
    :returns: whether it is finite.
    """
    _brake(x.torque, c, load, qd)
    return _want(x.torque, c)


def no_brake(x: Command, p: CommandLimits, steady: float) -> None:
    """Report that there is not even a torque that brakes."""
    fault(x.supervisor, p.supervisor, steady, Cause.BAD_GRAVITY,
          SupervisorWord.VELOCITY_NOT_FINITE)


def turn_blind(x: Command, p: CommandLimits, c: Computed, d: Diagnosis, load: Vector, y: Result,
               now: float, steady: float) -> None:
    """
    Go on without the state, which has turned out to be of no use.

    :param c: place for the torque.
    :param d: why the state is too old, if it is.
    :param load: torque that the robot showed in addition to g(q).
    :param y: takes what is sent.
    """
    due = advance(x.supervisor, p.supervisor, d, now, steady)
    _blind(x, p, c, load, y, due, now, steady)


def send(x: Command, p: CommandLimits, y: Result, now: float, steady: float, live: bool) -> None:
    """
    Limit the wanted torque and send it.

    :param y: takes what is sent.
    :param live: whether it needs the state, so that the control clock counts.
    """
    due = due_now(x.supervisor)
    dt = now - x.torque.now if live else steady - x.torque.steady
    if not x.torque.sending:
        dt = p.torque.limits.period
    if Due.RAMP_LIVE <= due <= Due.RELEASE:
        x.torque.limiter.release(p.torque.limits, x.torque.wanted, dt)
    else:
        x.torque.limiter.apply(p.torque.limits, x.torque.wanted, dt)
    y.send = 1.0
    y.torque[:] = x.torque.limiter.sent
    x.torque.limiter.commit()
    x.torque.now, x.torque.steady = moment(now, x.torque.now), moment(steady, x.torque.steady)
    x.torque.sending = True
    x.torque.published += 1.0
    if is_stopping(x.supervisor):
        published(x.supervisor, p.supervisor, steady, not x.torque.limiter.is_slewing())


# -- inside ---------------------------------------------------------------------------------------

def _want(x: Torque, c: Computed) -> bool:
    """Take the torque that was put together, if it is finite."""
    if not is_finite(c.wanted):
        return False
    x.wanted[:] = c.wanted
    return True


def _begin(x: Torque, p: TorqueParameters) -> None:
    """Start the limiter from what acts now: never from zero under a loaded arm."""
    if not x.known:
        x.start[:] = x.limiter.sent + x.limiter.driver
    x.limiter.begin(p.limits, x.start)
    x.known = False


def _law_torque(x: Torque, p: TorqueParameters, c: Computed, gain: float, qd: Vector, now: float,
                ) -> bool:
    """Put the torque of a law together; False if it is not finite."""
    c.wanted[:] = c.law
    if gain < 1.0:  # gravity is never ramped
        c.wanted[:] = (c.law - x.gravity) * gain + x.gravity
    if not is_finite(c.wanted):
        return False
    x.fade.add(p.limits.limit, p.switch_time, moment(now, x.now), c.wanted, qd)
    return _want(x, c)


def _brake(x: Torque, c: Computed, load: Vector, qd: Vector) -> None:
    """
    Put the torque together that brakes, which carries the load that the robot showed.

    Velocities that are finite and absurd may have none: then gravity is all.
    """
    c.wanted[:] = c.brake
    if not is_finite(c.wanted) and is_finite(qd):
        c.wanted[:] = x.gravity - load


def _mix(x: Command, p: CommandLimits, c: Computed, load: Vector, start: Vector, share: float,
         ) -> None:
    """Put the given share of the way from start to the release torque together."""
    c.wanted[:] = start + (_target(x, p, load) - start) * share


def leave_torque(x: Command, p: CommandLimits, load: Vector, y: Result) -> None:
    """
    Give at once what remains after release, for whoever takes the motors away without a stop.

    :param load: that the observer sees.
    :param y: gets the torque, if one was ever sent.
    """
    if not x.torque.sending:
        return
    y.torque[:] = within(_target(x, p, load) - x.torque.limiter.driver,
                         most_of(p.torque.limits.limit))
    y.send = 1.0


def carry_torque(x: Torque, p: TorqueParameters, gravity: Vector, driver: Vector,
                 y: Result) -> None:
    """
    Give what remains after release before anything was sent: nobody else holds the robot.

    :param x: torque, which begins with it.
    :param gravity: g(q) of the present state, N.m.
    :param driver: what the driver adds, N.m.
    :param y: gets the torque, if g(q) is to remain and is known.
    """
    if not (p.keeps_gravity and is_finite(gravity) and is_finite(driver)):
        return
    x.limiter.driver[:] = driver
    x.limiter.begin(p.limits, gravity)
    x.limiter.sent[:] = x.limiter.last_sent  # from which the first torque begins
    y.torque[:] = x.limiter.sent
    y.send = 1.0


def _target(x: Command, p: CommandLimits, load: Vector) -> Vector:
    """Total torque after release; sending nothing leaves what the driver adds."""
    # The load may be a person who pushes: keep it only if g(q) is known to be wrong.
    return (x.torque.limiter.driver if not p.torque.keeps_gravity else
            x.torque.gravity - load if is_distrusted(x.supervisor) else x.torque.gravity[:])


def _relax(x: Command, p: CommandLimits, c: Computed, load: Vector, y: Result, since: float,
           now: float, steady: float) -> None:
    """
    Let what a torque adds to g(q) fade: the robot has moved, and nobody knows how far.

    That of a stop stays: a joint that is let go while the others slow down is thrown by them.

    What remains is what a lost state begins with.
    """
    if not (x.torque.sending and since > 0.0):
        return
    left = math.exp(-min(since / _RELAX, 100.0))
    c.wanted[:] = x.torque.gravity
    if is_distrusted(x.supervisor):
        c.wanted[:] = x.torque.gravity - load
    c.wanted[:] = c.wanted + left * (x.torque.limiter.last - c.wanted)
    if _want(x.torque, c):
        send(x, p, y, now, steady, live=True)


def _blind(x: Command, p: CommandLimits, c: Computed, load: Vector, y: Result, due: int,
           now: float, steady: float) -> None:
    """Send what needs no state."""
    if not x.torque.sending:  # nothing was ever sent in this activation
        published(x.supervisor, p.supervisor, steady, True)
        return
    x.torque.fade.cancel()
    if due == Due.LAST_GRAVITY:
        c.wanted[:] = x.torque.gravity
    elif due == Due.RAMP_BLIND:
        blend = x.supervisor.blend
        if not x.torque.ramping:
            x.torque.start[:] = x.torque.limiter.last
            x.torque.ramping, x.torque.start_blend = True, min(blend, 1.0 - 1e-9)
        begun = x.torque.start_blend
        _mix(x, p, c, load, x.torque.start, (blend - begun) / (1.0 - begun))
    elif due == Due.RELEASE:
        c.wanted[:] = _target(x, p, load)
    else:
        return
    if _want(x.torque, c):
        send(x, p, y, now, steady, live=False)
