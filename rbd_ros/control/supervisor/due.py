# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the supervisor is like: which kind of torque is due, and what follows from its state."""

from __future__ import annotations

from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.supervisor.answers import Supervisor
from rbd_ros.control.supervisor.states import Due, LoadTrust, StateCode

__all__ = ['due_now', 'has_touched', 'is_blind', 'is_distrusted', 'is_finished', 'is_frozen',
           'is_late', 'is_live', 'is_silent', 'is_stopping', 'is_working', 'trust_in_load',
           'uses_states']


def due_now(x: Supervisor) -> int:
    """Return the kind of torque that is due in this state, see ``Due``."""
    if x.paused:
        return Due.NOTHING
    if is_working(x):
        return Due.LAW
    if x.state == StateCode.BRAKING:
        return Due.BRAKE
    if x.state == StateCode.HOLDING:
        return Due.HOLD
    if x.state == StateCode.FLOATING:
        return Due.FLOAT
    if x.state == StateCode.COMPLYING:
        return Due.COMPLY
    if x.state == StateCode.RETRACTING:
        return Due.RETRACT
    if x.state == StateCode.LOST:
        return Due.LAST_GRAVITY
    if x.state == StateCode.RAMPING_DOWN:
        return Due.RAMP_BLIND if x.blind else Due.RAMP_LIVE
    if x.state == StateCode.RELEASING:
        return Due.RELEASE
    return Due.NOTHING


def is_live(x: Supervisor) -> bool:
    """Return whether the due torque needs the present state: then only states are answered."""
    due = due_now(x)
    return Due.LAW <= due <= Due.RETRACT or due == Due.RAMP_LIVE


def is_blind(x: Supervisor) -> bool:
    """Return whether the due torque needs no state: the timer sends it."""
    return due_now(x) != Due.NOTHING and not is_live(x)


def is_late(x: Supervisor, now: float) -> bool:
    """Return whether ``advance``, ``fresh`` and ``renewed`` need a diagnosis."""
    return now > x.expiry and (is_live(x) or x.paused)


def is_working(x: Supervisor) -> bool:
    """Return whether the law acts, its gains ramped or not."""
    return x.state == StateCode.RUNNING or x.state == StateCode.RAMPING_IN


def is_stopping(x: Supervisor) -> bool:
    """Return whether a stop sequence is under way."""
    return x.state == StateCode.BRAKING or StateCode.LOST <= x.state <= StateCode.RELEASING


def is_finished(x: Supervisor) -> bool:
    """Return whether nothing more will be published without a new request."""
    return x.state == StateCode.INACTIVE or x.state >= StateCode.RELEASED


def is_distrusted(x: Supervisor) -> bool:
    """Return whether the robot is not the described one, so that g(q) cannot be trusted."""
    return x.faults.has(Cause.WRONG_MODEL)


def is_frozen(x: Supervisor) -> bool:
    """Return whether the sensor of a joint is frozen, so that it cannot be held."""
    return x.faults.has(Cause.FROZEN)


def has_touched(x: Supervisor) -> bool:
    """Return whether the robot has touched something, which must not be taken for a load."""
    return x.faults.has(Cause.CONTACT)


def trust_in_load(x: Supervisor) -> int:
    """Return how far the load that the robot shows is trusted, see ``LoadTrust``."""
    if is_frozen(x):
        return LoadTrust.NONE  # the motion of a joint is not known
    if is_distrusted(x):
        return LoadTrust.LIMIT
    if has_touched(x):
        return LoadTrust.NONE  # it is what is in the way
    return LoadTrust.USUAL


def uses_states(x: Supervisor) -> bool:
    """Return whether the state is one of work, braking, holding or of what follows a contact."""
    return StateCode.RAMPING_IN <= x.state <= StateCode.RETRACTING


def is_silent(state: int) -> bool:
    """
    Return whether nothing is sent in a state.

    :param state: see ``StateCode``.
    """
    return state <= StateCode.PROBING or state >= StateCode.RELEASED
