# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Gains for the delay of the control loop: what dampers, brake, hold and observer may have at most.

States can turn out to be later than somebody has said. Then the gains are made anew, inside the
step, for a delay and for the age that was measured; both are numbers of the state. What most
states of a window were like is kept until the next start; a state that is later than that is
answered by what suits it, alone: a machine that gets loaded does not wait for the end of a window.

A law is made slower then. With a Kd, a^2 Kp and a^3 Ki it does the same in 1 / a times the time,
and bears 1 / a times the delay.
"""

from __future__ import annotations

import math

from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import NEVER, NOBODY, NONE, Result, tell
from rbd_ros.control.interface.words import LoadWord
from rbd_ros.control.joint_states.timeliness import AGREES
from rbd_ros.control.parameters.given import Inputs, weight_delay

__all__ = ['DAMPED', 'Design', 'design', 'DesignLimits', 'fill_design', 'follow_lateness',
           'note_delay', 'note_filter', 'redesign', 'restart_design', 'UNSAID']

#: fraction of the stable damping that each damper may use: barriers add up
_DAMPER = 0.5

#: the same fraction where states are old by their stamps: more helps against a load that nobody
#: described, and what is stable is a third of it away
_AGED_DAMPER = 0.65

#: s by which states may be later than the delay that is given before anything is said; dampers
#: are made for the age that is measured, laws, stops and holds do not need it
UNSAID = AGREES

#: s per s by which what was late is forgotten: slowly for a law that is made for it
_FORGOTTEN = 0.1

#: s by which states may become later before dampers are made anew
_SPARE = 0.0005

#: largest rate of a damper times the delay of its loop, where that is given: x' = -r x(t - T)
#: overshoots from r T = 1/e on and diverges from pi/2 on
DAMPED = 0.3

#: the same for what observes a load and compensates it
_OBSERVED = 0.6

#: the same for the brake, which extrapolates velocities by the delay
_BRAKED = 0.45

#: rate of both dampers of a hold times their delay, for what its weight leaves of an inertia; the
#: share of their usual rates that they keep at least
_TOGETHER, _LEAST = 1.25, 0.1

#: largest stiffness of a barrier times the delay of its loop over its damping: a spring that
#: answers later than damping over stiffness gives more than its damper takes, whatever it pushes;
#: before a quarter of its depth, where the damper has no more than that share
_SOFT = 0.25

#: share of the product of its stiffness and damping that the integral of a soft hold may have
_INTEGRAL = 0.25

_QUARTER_TURN = 0.5 * math.pi


class Design(Record):
    """Gains that hold now, and the lateness that they are made for."""

    usual_delay: float = field('', 's', 'that is given, or was measured since the start')
    usual_age: float = field('', 's', 'that was measured since the start')
    delay: float = field('', 's', 'for which stops and holds are made; 0: nobody says')
    age: float = field('', 's', 'of states when they arrive, for which dampers are made')
    recent: float = field('', 's', 'of late, for which laws are made; it shrinks slowly')
    seen: float = field('', 's', 'control time at which it was found', NEVER)
    unsaid: float = field('', 's', 'by which laws extrapolate positions: more than is given')
    joint_pace: float = field('', '', 'share of its speed at which computed torque acts', 1.0)
    task_pace: float = field('', '', 'the same of the operational space', 1.0)
    spring_pace: Vector = field('n', '', 'the same of the springs of a law function', 1.0)
    tip_pace: Vector = field('6', '', 'the same of springs at the tip, angular part first', 1.0)
    answer_time: float = field('', 's', 'from a motion to the torque that answers it')
    feedback_delay: float = field('', 's', 'the same where a delay is given; 0: nobody says')
    safe_rate: float = field('', '1/s', 'at which a sampled damper may let a velocity decay, for '
                                        'states that are as old as was measured')
    fastest_damper: float = field('', '1/s', 'the same with the delay of the control loop')
    brake_rate: float = field('', '1/s', 'at which a stop lets velocities decay')
    late: float = field('', 's', 'by which positions are late when their torque acts')
    later: float = field('', 's', 'by which differences of positions are late then')
    held: float = field('', 's', 'for which a torque may be held that a state has asked for')
    ahead: float = field('', 's', 'by which stops and holds extrapolate positions; 0: they do not')
    free_damping: Vector = field('n', 'N.m.s/rad or N.s/m', 'damping of a robot that is guided')
    brake_damping: Vector = field('n', 'N.m.s/rad or N.s/m', 'damping of a stop')
    barrier_stiffness: Vector = field('n', 'N.m/rad or N/m', 'stiffness before a joint limit')
    barrier_damping: Vector = field('n', 'N.m.s/rad or N.s/m', 'damping before a joint limit')
    barrier_speed_damping: Vector = field('n', 'N.m.s/rad or N.s/m',
                                          'damping before a velocity limit')
    hold_stiffness: Vector = field('n', '1/s^2', 'stiffness of a hold')
    hold_damping: Vector = field('n', '1/s', 'damping of a hold')
    hold_integral: Vector = field('n', '1/s^3', 'integral of a hold')
    observer_gain: Vector = field('n', '1/s', 'bandwidth of the momentum observer')


class DesignLimits(Record):
    """What was asked for, of which the delay may leave less."""

    delay: float = field('', 's', 'that the user gives; 0: none')
    nominal_rate: float = field('', 'Hz', 'of the joint states', 1.0)
    velocity_filter: float = field('', 's', 'time constant of differenced velocities')
    brake_rate: float = field('', '1/s', 'at which a stop lets velocities decay')
    weight_delay: float = field('', 's', 'with which its weight can no longer be held', NONE)
    closed_loops: float = field('', '', '1 for a robot with closed loops: what is extrapolated '
                                        'would not close them')
    same_clock: bool = field('', '', 'whether the clock of the stamps is known to be ours')
    joint_time: float = field('', 's', 'by which computed torque may be late', NONE)
    task_time: float = field('', 's', 'the same of the operational space', NONE)
    spring_time: Vector = field('n', 's', 'the same of the springs of a law function', NONE)
    tip_time: Vector = field('6', 's', 'the same of springs at the tip, angular part first', NONE)
    tip_inertia: Vector = field('6', 'kg.m^2, kg', 'least one of the tip, angular part first; 0: '
                                                   'none', 0.0)
    inertia: Vector = field('n', 'kg.m^2 or kg', 'such that a damper of inertia over period is '
                                                 'stable')
    free_damping: Vector = field('n', 'N.m.s/rad or N.s/m', 'damping of a robot that is guided')
    brake_damping: Vector = field('n', 'N.m.s/rad or N.s/m', 'damping of a stop')
    barrier_stiffness: Vector = field('n', 'N.m/rad or N/m', 'stiffness before a joint limit')
    barrier_damping: Vector = field('n', 'N.m.s/rad or N.s/m', 'damping before a joint limit')
    barrier_speed_damping: Vector = field('n', 'N.m.s/rad or N.s/m',
                                          'damping before a velocity limit')
    stiffness: Vector = field('n', '1/s^2', 'Kp')
    damping: Vector = field('n', '1/s', 'Kd')
    integral: Vector = field('n', '1/s^3', 'Ki')
    observer_gain: Vector = field('n', '1/s', 'bandwidth of the momentum observer')


def fill_design(p: DesignLimits, g: Inputs) -> None:
    """
    Take what was asked for.

    :param p: gets them.
    :param g: what was given.
    """
    p.delay, p.nominal_rate = g.values.delay, g.values.nominal_rate
    p.weight_delay = weight_delay(g)
    p.velocity_filter, p.brake_rate = g.values.velocity_filter, g.values.brake_rate
    p.closed_loops = 1.0 if g.robot.loops else 0.0
    p.same_clock = g.simulated or g.values.synchronised_stamps
    p.inertia[:] = g.robot.inertia
    p.tip_inertia[:] = g.robot.tip_inertia
    p.free_damping[:] = g.values.free_damping
    p.brake_damping[:] = g.values.brake_damping
    p.barrier_stiffness[:] = g.values.barrier.stiffness
    p.barrier_damping[:] = g.values.barrier.damping
    p.barrier_speed_damping[:] = g.values.barrier.velocity_damping
    p.stiffness[:] = g.values.stiffness
    p.damping[:] = g.values.damping
    p.integral[:] = g.values.integral
    p.observer_gain[:] = g.values.observer_gain


# -- what happens to the lateness -----------------------------------------------------------------

def restart_design(x: Design, p: DesignLimits) -> None:
    """
    Believe the delay that is given, when states are checked anew: their age is measured again.

    :param x: gets the gains.
    :param p: what was asked for.
    """
    if x.usual_age != 0.0 or x.age != 0.0:
        design(x, p, p.delay, 0.0)


def note_delay(x: Design, p: DesignLimits, y: Result, middle: float, high: float) -> None:
    """
    Make damping, stops and holds for states that are later than somebody has said.

    :param x: gets the gains.
    :param p: what was asked for.
    :param y: result.
    :param middle: median of the ages in a window, s.
    :param high: an age that few of them exceed, s.
    """
    if middle <= x.usual_delay + UNSAID:
        if middle > max(x.usual_delay, x.usual_age):
            design(x, p, x.usual_delay, middle + _SPARE)
        return
    word = LoadWord.LATE_BY_OUR_CLOCK if p.same_clock else LoadWord.LATE_IF_OUR_CLOCK
    tell(y, word, NOBODY, middle, high, p.delay)
    design(x, p, high, high)
    tell(y, LoadWord.GAINS_FOR_DELAY, NOBODY, x.delay, 0.0, 0.0)


def note_filter(x: Design, p: DesignLimits, differenced: float) -> None:
    """
    Make damping for velocities that are coarse and late: differences behind a filter.

    :param x: gets the gains.
    :param p: what was asked for.
    :param differenced: above 0 if the last state had no velocities.
    """
    if differenced > 0.0 and x.usual_delay == 0.0:
        design(x, p, _SPARE, max(x.usual_age, _SPARE))


def follow_lateness(x: Design, p: DesignLimits, late: float, now: float) -> None:
    """
    Make all for a state that is later than most, and as before for the next one that is not.

    Laws become fast again slowly: they have fallen behind, and would hurry to catch up with a
    torque that the next gap holds.

    :param x: gets the gains.
    :param p: what was asked for.
    :param late: by how much its torque will be, s.
    :param now: control time, s.
    """
    delay = late if late > x.usual_delay + UNSAID else x.usual_delay
    age = max(x.usual_age, late)
    if delay != x.delay or age != x.age:
        _make(x, p, delay, age)
    left = x.recent - _FORGOTTEN * max(now - x.seen, 0.0) if x.seen > NEVER else 0.0
    x.seen = now
    recent = max(x.delay, left)
    if recent != x.recent and recent < 1e300:
        x.recent = recent
        _follow_recent(x, p)


# -- the gains ------------------------------------------------------------------------------------

def design(x: Design, p: DesignLimits, delay: float, age: float) -> None:
    """
    Make the gains for a delay and an age; where a number is not finite, the one before stays.

    :param x: gets the gains.
    :param p: what was asked for.
    :param delay: for which damping, stops and holds are made, s.
    :param age: for which dampers are made, s.
    """
    if 0.0 <= delay < 1e300 and abs(age) < 1e300:
        x.usual_delay, x.usual_age, x.recent = delay, age, delay
        _make(x, p, delay, age)


def redesign(x: Design, p: DesignLimits) -> None:
    """
    Make the gains anew for what is asked for now, and for states as they are.

    :param x: gets the gains.
    :param p: what was asked for.
    """
    _make(x, p, x.delay, x.age)


def _make(x: Design, p: DesignLimits, delay: float, age: float) -> None:
    """Make the gains for a delay and an age."""
    if not (0.0 < p.nominal_rate < 1e300 and p.velocity_filter >= 0.0 and 0.0 <= delay < 1e300
            and abs(age) < 1e300):
        return
    x.delay = delay
    x.age = age
    period = 1.0 / p.nominal_rate
    _find_lateness(x, p, period)
    x.recent = max(x.recent, delay)
    x.safe_rate = _known(_sampled_rate(period, max(delay, age)), x.safe_rate)
    x.fastest_damper = x.safe_rate
    if x.feedback_delay > 0.0:
        x.fastest_damper = min(x.safe_rate, _felt(x, p) * DAMPED / x.feedback_delay)
    rate = min(p.brake_rate, _BRAKED / x.answer_time if x.answer_time > 0.0 else p.brake_rate)
    x.brake_rate = _known(min(rate, x.safe_rate), x.brake_rate)
    for j in range(len(x.free_damping)):
        _design_joint(x, p, j)
    _follow_recent(x, p)


def _find_lateness(x: Design, p: DesignLimits, period: float) -> None:
    """
    Find how late torques answer.

    A state waits for up to a period, a torque acts half a period late on average, and velocities
    that are missing are differences behind a filter. g(q) of a late position acts like a damper
    with the stiffness of gravity times the delay, which is negative for an arm that stands
    upright: stops and holds extrapolate it.
    """
    x.answer_time = _known(x.delay + 1.5 / p.nominal_rate + p.velocity_filter, x.answer_time)
    x.feedback_delay = x.answer_time if x.delay != 0.0 else 0.0
    x.late = _known(x.delay + 0.5 * period, x.late)
    x.held = _known(x.delay + UNSAID + 2.0 * period, x.held)
    x.later = _known(x.late + 0.5 * period + p.velocity_filter, x.later)
    x.ahead = x.late if x.delay != 0.0 and not p.closed_loops > 0.0 else 0.0
    x.unsaid = 0.0
    if _is_unsaid(x.delay, p) and not p.closed_loops > 0.0:
        x.unsaid = _known(x.delay - p.delay, 0.0)


def _follow_recent(x: Design, p: DesignLimits) -> None:
    """Find how fast laws and holds may be; each spring has the inertia on which it acts alone."""
    x.joint_pace, x.task_pace = _pace(x, p, p.joint_time), _pace(x, p, p.task_time)
    for j in range(len(x.spring_pace)):
        x.spring_pace[j] = _pace(x, p, p.spring_time[j])
    for i in range(6):
        x.tip_pace[i] = _pace(x, p, p.tip_time[i])
    _design_hold(x, p)


def _is_unsaid(delay: float, p: DesignLimits) -> bool:
    """Return whether states are later than was said when gains were chosen."""
    return delay > p.delay + UNSAID


def _pace(x: Design, p: DesignLimits, time: float) -> float:
    """Return the share of its speed at which a law acts that may be late by a time."""
    held = max(x.late - x.delay, 0.0)
    if not (_is_unsaid(x.recent, p) and x.recent > 0.0):
        return 1.0
    pace = max(time, p.delay + held) / (x.recent + held)
    return pace if 0.0 <= pace < 1.0 else 1.0


def _felt(x: Design, p: DesignLimits) -> float:
    """
    Return the share of its usual rates that dampers of a hold may have, for what weight leaves.

    What is held of the weight is wrong as the square of the delay, see ``Robot.weight_time``: an
    arm that stands upright feels lighter, and is damped more.
    """
    lighter = 1.0 - (x.delay / p.weight_delay) * (x.delay / p.weight_delay)
    return min(max(_TOGETHER / (2.0 * DAMPED) * lighter, _LEAST), 1.0)


def _sampled_rate(period: float, late: float) -> float:
    """Return the rate in 1/s at which a damper in a sampled loop may let a velocity decay."""
    most = 2.0 / period
    if late != 0.0:
        most = min(most, _QUARTER_TURN / (late + 0.5 * period))
    return min(_DAMPER / period, _AGED_DAMPER * most)


def _design_joint(x: Design, p: DesignLimits, j: int) -> None:
    """Make the dampers and the observer of a joint."""
    most = x.fastest_damper * p.inertia[j]
    x.free_damping[j] = _known(min(p.free_damping[j], most), x.free_damping[j])
    x.brake_damping[j] = _known(min(p.brake_damping[j], most), x.brake_damping[j])
    x.barrier_damping[j] = _known(min(p.barrier_damping[j], most), x.barrier_damping[j])
    x.barrier_speed_damping[j] = _known(min(p.barrier_speed_damping[j], most),
                                        x.barrier_speed_damping[j])
    most = p.barrier_stiffness[j]
    if x.feedback_delay > 0.0:
        most = min(most, _SOFT * x.barrier_damping[j] / x.feedback_delay)
    x.barrier_stiffness[j] = _known(most, x.barrier_stiffness[j])
    gain = p.observer_gain[j]
    if x.feedback_delay > 0.0:
        gain = min(gain, _OBSERVED / x.feedback_delay)
    x.observer_gain[j] = _known(gain, x.observer_gain[j])


def _design_hold(x: Design, p: DesignLimits) -> None:
    """Make the hold soft enough for the delay; where none is given, only if it must be."""
    n = len(x.hold_damping)
    most = x.safe_rate
    soft = 0
    if x.feedback_delay > 0.0 or x.recent > 0.0:
        late = max(x.recent - x.delay, 0.0) + x.answer_time
        most = min(min(most, x.brake_rate), _felt(x, p) * DAMPED / late)
        soft = 1
    if not all(p.damping <= most):
        soft = 1
    for j in range(n):
        damping = p.damping[j]
        stiffness = p.stiffness[j]
        integral = p.integral[j]
        if soft > 0:
            damping = min(damping, most)
            stiffness = min(stiffness, 0.25 * damping * damping)
            integral = min(integral, _INTEGRAL * stiffness * damping)
        x.hold_damping[j] = _known(damping, x.hold_damping[j])
        x.hold_stiffness[j] = _known(stiffness, x.hold_stiffness[j])
        x.hold_integral[j] = _known(integral, x.hold_integral[j])


def _known(value: float, before: float) -> float:
    """Return a number, or the one before if it is none: parameters may hold anything."""
    return value if math.isfinite(value) else before
