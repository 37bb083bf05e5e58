# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Faults that are detected while the state is good, as procedures.

Too fast, too far from the reference, too slow; a joint that runs away while the torque ramps in,
so that the robot is not the described one; and states that are not plausible: positions that do
not match velocities, or that are outside of the range of their joint. What is wrong is an
accusation, which the supervisor answers.
"""

from __future__ import annotations

from rbd_ros.compiler.language.whole import clip, finite, minimum, where
from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import accuse, Joints, NEVER, NOBODY, NONE, Result
from rbd_ros.control.interface.words import SupervisorWord
from rbd_ros.control.numerics.patience import Patience
from rbd_ros.control.parameters.given import barrier_margins, Inputs, velocity_limits, WINDOW
from rbd_ros.control.supervisor.states import StateCode
from rbd_ros.control.torque.torque_records import Doing

__all__ = ['begin_watch', 'changed_law', 'check_plausible', 'check_watch', 'fill_monitors',
           'first_beyond', 'MonitorParameters', 'MotionWatch', 'Plausible', 'Watch']


#: share of the range of a joint, and rad or m, by which it may be outside
_OUTSIDE = 0.1


class MonitorParameters(Record):
    """What a robot, its sensors and its operators may do."""

    velocity_patience: float = field('', 's', 'for which velocities and positions may be wrong')
    tracking_patience: float = field('', 's', 'for which a tracking error may be too large')
    minimum_rate: float = field('', 'Hz', 'of joint states')
    watch_time: float = field('', 's', 'from the first torque in which a motion is watched')
    distance: float = field('', 'rad or m', 'that a joint may move by itself in that time')
    gained: float = field('', 'rad/s or m/s', 'that it may gain, in two states in a row')
    acceleration: float = field('', 'rad/s^2 or m/s^2', 'that it may show, filtered')
    dead_man_timeout: float = field('', 's', 'within which the next signal must come; 0: none')
    refusals: float = field('', '', 'references in a row that are too many if refused; 0: any '
                                    'number is tolerated')
    velocity: Vector = field('n', 'rad/s or m/s', 'largest velocities', NONE)
    tracking: Vector = field('n', 'rad or m', 'largest tracking errors', NONE)
    task_error: Vector = field('2', 'rad, m', 'largest tracking errors of the tip', NONE)
    differenced: Vector = field('n', 'rad/s or m/s', 'largest velocities of positions', NONE)
    middle: Vector = field('n', 'rad or m', 'of the range of each joint')
    reach: Vector = field('n', 'rad or m', 'largest distance from there', NONE)
    zone_lower: Vector = field('n', 'rad or m', 'positions below which a barrier pushes up', -NONE)
    zone_upper: Vector = field('n', 'rad or m', 'positions above which one pushes down', NONE)


def fill_monitors(p: MonitorParameters, g: Inputs) -> None:
    """
    Take the bounds.

    :param p: gets them.
    :param g: what was given.
    """
    p.velocity_patience, p.tracking_patience = (
        g.values.velocity_patience, g.values.tracking_patience)
    p.minimum_rate = g.values.minimum_rate
    p.watch_time = max(g.values.ramp_time, g.values.start.watch_time)
    p.distance, p.gained = g.values.start.distance, g.values.start.velocity
    p.acceleration, p.dead_man_timeout = g.values.start.acceleration, g.values.dead_man_timeout
    p.refusals = g.values.reference.refusals
    p.velocity[:] = minimum(velocity_limits(g), NONE)
    p.tracking[:] = minimum(g.values.tracking_limits, NONE)
    p.task_error[0], p.task_error[1] = g.values.task.angular_error, g.values.task.linear_error
    p.differenced[:] = minimum(velocity_limits(g) + g.values.state_tolerance / WINDOW, NONE)
    p.middle[:] = where(finite(g.robot.lower) & finite(g.robot.upper),
                        0.5 * (g.robot.lower + g.robot.upper), 0.0)
    p.reach[:] = where(finite(g.robot.lower) & finite(g.robot.upper),
                       (0.5 + _OUTSIDE) * (g.robot.upper - g.robot.lower) + _OUTSIDE, NONE)
    p.zone_lower[:] = clip(g.robot.lower + barrier_margins(g), -NONE, NONE)
    p.zone_upper[:] = clip(g.robot.upper - barrier_margins(g), -NONE, NONE)


#: s; time constant of the filter of accelerations
_FILTER = 0.01


class MotionWatch(Record):
    """What a robot does with its first torques."""

    armed: float = field('', '', '1 while it is watched')
    begin: float = field('', 's', 'control time of the first torque')
    time: float = field('', 's', 'control time of the last state')
    fast: float = field('', '', 'states in a row in which a joint was too fast')
    joint: float = field('', '', 'that ran away', NOBODY)
    a: float = field('', '', 'first number about it')
    b: float = field('', '', 'second number')
    start: Vector = field('n', 'rad or m', 'positions at the first torque')
    first: Vector = field('n', 'rad/s or m/s', 'speeds at the first torque')
    pushed: Vector = field('n', '', '1 or -1 where a barrier pushes a joint up or down')
    qd: Vector = field('n', 'rad/s or m/s', 'velocities of the last state')
    qdd: Vector = field('n', 'rad/s^2 or m/s^2', 'accelerations behind a filter')

    def arm(self, p: MonitorParameters, now: float, q: Vector, qd: Vector) -> None:
        """
        Begin to watch.

        :param now: control time, s, finite.
        :param q: positions.
        :param qd: velocities.
        """
        for j in range(len(q)):
            self.start[j], self.qd[j], self.qdd[j], self.first[j] = q[j], qd[j], 0.0, abs(qd[j])
            below, above = q[j] < p.zone_lower[j], q[j] > p.zone_upper[j]
            self.pushed[j] = (1.0 if below else 0.0) - (1.0 if above else 0.0)
        self.fast = 0.0
        self.begin, self.time, self.armed = now, now, 1.0

    def check(self, p: MonitorParameters, now: float, q: Vector, qd: Vector, rests: int) -> int:
        """
        Check one state; ``joint``, ``a`` and ``b`` are what a sentence says.

        :param now: control time, s, finite.
        :param q: positions.
        :param qd: velocities.
        :param rests: 1 if the law wants no motion; where it does, only accelerations count.
        :returns: word of what is wrong; 0: nothing.
        """
        if now - self.begin > p.watch_time:
            self.armed = 0.0
            return 0
        dt = now - self.time
        if dt > 0.0:
            for j in range(len(qd)):
                change = dt / (dt + _FILTER) * ((qd[j] - self.qd[j]) / dt - self.qdd[j])
                self.qdd[j] = min(max(self.qdd[j] + change, -NONE), NONE)
                self.qd[j] = qd[j]
            self.time = now
        if rests > 0:
            word = self._drift(p, now - self.begin, q, qd)
            if word > 0:
                return word
        else:
            for j in range(len(q)):
                self.start[j], self.first[j] = q[j], abs(qd[j])
        return self._jolt(p)

    def _jolt(self, p: MonitorParameters) -> int:
        """Look for a joint with a large acceleration."""
        k = 0
        for j in range(len(self.qdd)):
            if abs(self.qdd[j]) > abs(self.qdd[k]):
                k = j
        if not abs(self.qdd[k]) > p.acceleration:
            return 0
        self.joint, self.a, self.b = k, self.qdd[k], 0.0
        return SupervisorWord.ACCELERATES

    def _drift(self, p: MonitorParameters, spent: float, q: Vector, qd: Vector) -> int:
        """Look for a joint that moves by itself and is not pushed by a barrier."""
        k, most = 0, self._moved(q, 0)
        for j in range(len(q)):
            if self._moved(q, j) > most:
                k, most = j, self._moved(q, j)
        if most > p.distance:
            self.joint, self.a, self.b = k, min(most, NONE), spent
            return SupervisorWord.MOVED
        k, most = 0, self._gained(qd, 0)
        for j in range(len(qd)):
            if self._gained(qd, j) > most:
                k, most = j, self._gained(qd, j)
        self.fast = self.fast + 1.0 if most > p.gained else 0.0
        if not self.fast > 1.0:
            return 0
        self.joint, self.a, self.b = k, qd[k], spent
        return SupervisorWord.MOVES

    def _moved(self, q: Vector, j: int) -> float:
        """Return how far a joint has moved by itself."""
        way = q[j] - self.start[j]
        return 0.0 if way * self.pushed[j] > 0.0 else abs(way)

    def _gained(self, qd: Vector, j: int) -> float:
        """Return the speed that a joint has gained by itself."""
        return 0.0 if qd[j] * self.pushed[j] > 0.0 else abs(qd[j]) - self.first[j]


#: s from the first torque within which a fault names its likely causes
_EARLY = 5.0


class Watch(Record):
    """Monitors of a running robot."""

    began: float = field('', 's', 'control time of the first torque', NEVER)
    hint: float = field('', '', '1 until a fault has named its likely causes')
    speed: Patience = group(Patience)
    error: Patience = group(Patience)
    lead: Patience = group(Patience)
    motion: MotionWatch = group(MotionWatch)


class Plausible(Record):
    """Monitors of what sensors say."""

    mismatch: Patience = group(Patience)
    differenced: Patience = group(Patience)
    outside: Patience = group(Patience)


def first_beyond(value: Vector, limit: Vector) -> int:
    """
    Return the first joint whose bound is exceeded, or ``NOBODY``; a NaN exceeds each bound.

    :param value: one number per joint.
    :param limit: largest absolute value per joint.
    """
    for j in range(len(limit)):
        if not -limit[j] <= value[j] <= limit[j]:
            return j
    return NOBODY


# -- the robot ------------------------------------------------------------------------------------

def begin_watch(x: Watch, p: MonitorParameters, now: float, q: Vector, qd: Vector) -> None:
    """
    Record that torque begins.

    :param now: control time, s, finite.
    :param q: positions of the controlled joints.
    :param qd: their velocities.
    """
    x.motion.arm(p, now, q, qd)
    x.began, x.hint = now, 1.0
    x.speed.reset()
    changed_law(x)


def changed_law(x: Watch) -> None:
    """Forget the tracking error of another law."""
    x.error.reset()
    x.lead.reset()


def check_watch(x: Watch, p: MonitorParameters, joints: Joints, doing: Doing, y: Result,
                state: int) -> bool:
    """
    Check for faults that are detected while the state is good.

    :param joints: has the rate of states.
    :param doing: what joints and law do; errors are those of the last step.
    :param y: takes what is wrong.
    :param state: of the supervisor.
    :returns: whether all is calm.
    """
    j = first_beyond(doing.qd, p.velocity)
    if x.speed.runs_out(p.velocity_patience, doing.now, _bad(j)):
        accuse(y, Cause.OVER_SPEED, _fast_word(doing.qd[j], SupervisorWord.TOO_FAST), j,
               doing.qd[j], p.velocity[j], _explained(x, doing.now))
    if joints.rate_low > 0.0:
        accuse(y, Cause.LOW_RATE, SupervisorWord.LOW_RATE, NOBODY, joints.rate,
               p.minimum_rate)
    if doing.runs:
        _check_error(x, p, doing, y)
    if x.motion.armed > 0.0 and StateCode.RAMPING_IN <= state <= StateCode.RUNNING:
        word = x.motion.check(p, doing.now, doing.q, doing.qd, 1 if doing.rests else 0)
        if word > 0:
            accuse(y, Cause.WRONG_MODEL, word, int(x.motion.joint), x.motion.a, x.motion.b,
                   _explained(x, doing.now))
    return (not joints.rate_low > 0.0 and not x.motion.armed > 0.0 and x.speed.is_calm()
            and x.error.is_calm() and x.lead.is_calm())


def _check_error(x: Watch, p: MonitorParameters, doing: Doing, y: Result) -> None:
    """Check the tracking error of the joints, or of the tip."""
    if doing.tracks:
        j = first_beyond(doing.error, p.tracking)
        if x.error.runs_out(p.tracking_patience, doing.now, _bad(j)):
            accuse(y, Cause.TRACKING, SupervisorWord.FAR_FROM_REFERENCE, j, doing.error[j],
                   p.tracking[j], _explained(x, doing.now))
    elif doing.leads:
        k = first_beyond(doing.lead, p.task_error)
        if x.lead.runs_out(p.tracking_patience, doing.now, _bad(k)):
            word = SupervisorWord.ORIENTATION_FAR if k == 0 else SupervisorWord.POSITION_FAR
            accuse(y, Cause.TRACKING, word, NOBODY, doing.lead[k], p.task_error[k],
                   _explained(x, doing.now))


def _bad(j: int) -> int:
    """Return 1 if there is a joint beyond its bound."""
    return 0 if j == NOBODY else 1


def _explained(x: Watch, now: float) -> float:
    """Return 1 if what is wrong is to be said with what to look for: soon, and once."""
    early = x.hint > 0.0 and now - x.began < _EARLY
    x.hint = 0.0
    return 1.0 if early else 0.0


# -- its sensors ----------------------------------------------------------------------------------

def check_plausible(x: Plausible, p: MonitorParameters, joints: Joints, doing: Doing, y: Result,
                    stuck: int, repeats: int) -> bool:
    """
    Check whether a state is plausible.

    :param joints: has what positions have shown against velocities.
    :param doing: what the controlled joints do.
    :param y: takes what is wrong.
    :param stuck: joint whose sensor has repeated itself for too long, or ``NOBODY``.
    :param repeats: 1 if a sensor repeats itself that never did.
    :returns: whether nothing was wrong lately.
    """
    j = first_beyond(joints.mismatch, joints.allowed)
    if x.mismatch.runs_out(p.velocity_patience, doing.now, _bad(j)):
        accuse(y, Cause.IMPLAUSIBLE, SupervisorWord.MISMATCH, j, _shown(joints, doing.qd, j),
               doing.qd[j])
    j = _too_fast(p, joints, doing.qd)
    if x.differenced.runs_out(p.velocity_patience, doing.now, _bad(j)):
        shown = _shown(joints, doing.qd, j)
        accuse(y, Cause.OVER_SPEED, _fast_word(shown, SupervisorWord.POSITIONS_TOO_FAST), j,
               shown, p.differenced[j])
    j = _outside(p, doing.q)
    if x.outside.runs_out(p.velocity_patience, doing.now, _bad(j)):
        accuse(y, Cause.IMPLAUSIBLE, SupervisorWord.OUT_OF_RANGE, j, doing.q[j])
    if stuck != NOBODY:
        accuse(y, Cause.FROZEN, SupervisorWord.REPEATS, stuck, doing.q[stuck])
    return (joints.calm > 0.0 and not repeats > 0 and x.mismatch.is_calm()
            and x.differenced.is_calm() and x.outside.is_calm())


def _fast_word(speed: float, word: int) -> int:
    """Return what is said of a velocity that is beyond its limit; one may be no number."""
    return word if abs(speed) <= NONE else SupervisorWord.NO_SPEED


def _shown(joints: Joints, qd: Vector, j: int) -> float:
    """Return the velocity that the positions of a joint show."""
    return joints.mismatch[j] / WINDOW + qd[j]


def _too_fast(p: MonitorParameters, joints: Joints, qd: Vector) -> int:
    """Return the first joint whose positions are too fast, or nobody."""
    for j in range(len(qd)):
        if not -p.differenced[j] <= _shown(joints, qd, j) <= p.differenced[j]:
            return j
    return NOBODY


def _outside(p: MonitorParameters, q: Vector) -> int:
    """Return the first joint that is far outside of its range, or nobody."""
    for j in range(len(q)):
        if not -p.reach[j] <= q[j] - p.middle[j] <= p.reach[j]:
            return j
    return NOBODY
