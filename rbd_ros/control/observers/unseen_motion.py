# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
How fast a joint is by now if its sensor is frozen.

While a sensor repeats its position, its joint is driven on by its own row of the equation of
motion, at the position where it would be, against the friction that it has shown:

    H_ii qdd_i = tau_i - C_i - sum H_ik qdd_k - friction

That is the speed which the torque has given to the joint if nothing else holds it. What may hold
it is seen by the other rows: what the other joints feel is due to the hidden motion, to a
standstill, or to a contact. What a sensor has hidden is known for sure where it leaps to another
position, further away than a joint can go in one period.
"""

from __future__ import annotations

from rbd_ros.compiler.procedure import Vector
from rbd_ros.control.interface.events import Joints, NOBODY, NONE, Structure
from rbd_ros.control.kernels.declared import MomentumKernel
from rbd_ros.control.numerics.angles import turn
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.observers.momentum import settled
from rbd_ros.control.observers.observer import bandwidth, ObserverParameters
from rbd_ros.control.observers.unseen_records import (
    Evidence, SHARE, UnseenMotion, UnseenParameters)

__all__ = ['follow_unseen', 'go_on_unseen', 'is_touched', 'restart_unseen', 'speed_shown',
           'too_fast']

#: ratio of the friction that a joint may have to what it has shown
_FRICTION = 1.5

#: rad/s or m/s above which a joint counts as moving, s of motion after which its friction is
#: known, and which it follows
_MOVES, _ENOUGH, _LEARNT = 0.01, 0.02, 1.0

#: share of what may be unseen that one step of a sensor without velocities may look like
_COARSE = 0.5

#: s after which a robot is braked whose joints all stand
_STANDS = 0.05

#: periods in which friction may stop a joint
_HALT = 1.0

#: steps of a sensor that a joint may make at once, and how much longer a whole message may repeat
#: itself, as from a driver that reads slowly
_STEPS, _WHOLE = 2.0, 5.0

#: ratio of the error of a last speed to that of the mean one: 2 by a torque, 1 by the first speed
_LAST = 1.5

#: what is left of the torques on other joints, at most, if their cause is known
_LEFT = 0.5

#: s after which what was seen before a gap is forgotten
_GAP = 0.1

#: keeps a division by zero finite
_TINY = 1e-300


def restart_unseen(x: UnseenMotion) -> None:
    """
    Forget what was seen.

    :param x: motion.
    """
    x.leapt, x.still = NOBODY, 0.0
    for i in range(len(x.stays)):
        _show(x, i)
        x.place[i] = NONE
        x.moved[i], x.friction[i], x.held[i], x.step[i] = 0.0, 0.0, 0.0, 0.0
    x.seen.reset()


def is_touched(x: UnseenMotion, i: int) -> bool:
    """
    Return whether something pushes other joints, too, and may be what holds a joint.

    :param x: motion.
    :param i: the joint.
    """
    return x.evidence[i] == Evidence.TOUCHED


def too_fast(x: UnseenMotion, p: UnseenParameters) -> int:
    """
    Return the joint that its torque should have made too fast by now; ``NOBODY``: none.

    :param x: motion.
    :param p: bounds.
    """
    found, most = NOBODY, 1.0
    for i in range(len(x.stays)):
        share = abs(x.speed[i]) / max(p.most[i], _TINY)
        if x.stays[i] >= p.patience and share > most and not _may_stand(x, p, i):
            found, most = i, share
    return found


def follow_unseen(x: UnseenMotion, p: UnseenParameters, o: ObserverParameters,
                  kernel: MomentumKernel, joints: Joints, s: Structure, gain: Vector,
                  torque: Vector) -> None:
    """
    Take a state.

    :param x: motion.
    :param p: bounds.
    :param o: parameters of the observer.
    :param kernel: is evaluated at the state, and where joints may be.
    :param joints: the state.
    :param s: which joints are which.
    :param gain: bandwidth that suits the delay, 1/s.
    :param torque: total that acts from now on, N.m.
    """
    dt, x.leapt = joints.elapsed, NOBODY
    if not 0.0 < dt <= _GAP:
        x.seen.reset()
        for i in range(len(x.stays)):
            _show(x, i)
            x.place[i] = NONE
        return
    x.still += dt
    fast, stands = False, x.still
    for i in range(len(x.stays)):
        # beyond its limit whoever watches velocities says so
        fast = fast or not abs(joints.qd[place_of(s, i)]) * SHARE <= p.most[i]
        if not joints.repeated[i] > 0.0:
            _look(x, p, joints, s, i, stands)
            x.still = 0.0
        elif x.stays[i] == 0.0:
            _hide(x, joints, i, dt)
        else:
            x.stays[i] += dt
    _observe(x, o, kernel, joints, s, gain, torque, dt)
    if fast or x.still > _STANDS and len(x.stays) > 1:  # or its brakes are closed
        return
    for i in range(len(x.stays)):
        if x.stays[i] > 0.0 and not _is_coarse(x, p, o, i, joints.differenced):
            qdd = _pull(x, kernel, joints, s, torque, i, x.way[i])
            _weigh(x, p, kernel, joints, s, torque, i, qdd)
            if x.evidence[i] == Evidence.STANDS:
                x.speed[i], x.way[i] = 0.0, 0.0
            elif x.evidence[i] == Evidence.NONE:
                _drive(x, i, qdd, _friction(x, p, i) / max(kernel.H[i, place_of(s, i)], _TINY),
                       dt)


def speed_shown(x: UnseenMotion, i: int, step: float) -> float:
    """
    Return the speed with which a joint has been by the time at which its sensor shows it again.

    :param x: motion, up to then.
    :param i: the joint.
    :param step: from the position that its sensor has repeated, rad or m.
    """
    missed = (step - x.way[i]) / x.stays[i] if x.stays[i] > 0.0 else 0.0
    return min(max(x.speed[i] + _LAST * missed, -NONE), NONE)


def go_on_unseen(x: UnseenMotion, p: UnseenParameters, kernel: MomentumKernel, joints: Joints,
                 s: Structure, torque: Vector, i: int) -> None:
    """
    Predict the motion of a joint whose sensor is not believed any more, up to the present.

    :param x: motion.
    :param p: bounds.
    :param kernel: is evaluated where the joint is by the model.
    :param joints: the state, with the motion that was predicted.
    :param s: which joints are which.
    :param torque: total that acts from now on, N.m.
    :param i: the joint.
    """
    if 0.0 < joints.elapsed <= _GAP:
        qdd = _pull(x, kernel, joints, s, torque, i, 0.0)
        known = _known_friction(x, p, i)
        _drive(x, i, qdd, known / max(kernel.H[i, place_of(s, i)], _TINY), joints.elapsed)
        x.stays[i] += joints.elapsed


def _show(x: UnseenMotion, i: int) -> None:
    """Suppose no motion that a sensor does not show."""
    x.stays[i], x.first[i], x.evidence[i] = 0.0, 0.0, Evidence.NONE
    x.speed[i], x.way[i] = 0.0, 0.0


def _look(x: UnseenMotion, p: UnseenParameters, joints: Joints, s: Structure, i: int,
          stands: float) -> None:
    """
    Take the position that a sensor shows.

    If that is further away than a joint can go in one period, it has moved while its sensor has
    repeated itself.
    """
    j, stays = place_of(s, i), x.stays[i]
    place, x.place[i] = x.place[i], joints.q[j]
    step = joints.q[j] - place
    if s.continuous[j] > 0.0:
        step = turn(step)
    coarse = _coarse(x, p, i)
    patience = p.patience if stays > stands else _WHOLE * p.patience
    speed = speed_shown(x, i, step)
    _show(x, i)
    if not abs(place) < NONE:
        return
    if x.step[i] == 0.0 or abs(step) < x.step[i]:
        x.step[i] = abs(step)
    if stays >= patience and abs(step) > p.most[i] / SHARE * joints.elapsed + coarse:
        x.leapt, x.leap = i, step
        x.seen.known = 0.0  # no torque has done that
        if joints.differenced > 0.0:
            x.first[i] = speed  # else it is shown
    elif stays >= patience:
        x.held[i] = abs(x.seen.torque[i])  # it has stood indeed


def _is_coarse(x: UnseenMotion, p: UnseenParameters, o: ObserverParameters, i: int,
               differenced: float) -> bool:
    """Return whether one step of a sensor looks like a velocity that matters."""
    return differenced > 0.0 and not x.step[i] < _COARSE * p.most[i] * o.velocity_filter


def _coarse(x: UnseenMotion, p: UnseenParameters, i: int) -> float:
    """Return by how much a sensor may be wrong."""
    return min(_STEPS * x.step[i], p.tolerance[i]) if x.step[i] > 0.0 else p.tolerance[i]


def _may_stand(x: UnseenMotion, p: UnseenParameters, i: int) -> bool:
    """Return whether a joint is near enough to where its sensor says that it may stand there."""
    return abs(x.way[i]) <= _coarse(x, p, i) + _HALT * abs(x.first[i]) * p.period


def _hide(x: UnseenMotion, joints: Joints, i: int, dt: float) -> None:
    """Let a joint go on whose sensor repeats its position."""
    x.stays[i] = dt
    if x.first[i] == 0.0:  # else it is known better
        x.first[i] = min(max(joints.speed[i], -NONE), NONE)
    x.speed[i] = x.first[i]
    for k in range(len(x.stays)):
        x.felt[i, k] = x.seen.torque[k]


def _observe(x: UnseenMotion, o: ObserverParameters, kernel: MomentumKernel, joints: Joints,
             s: Structure, gain: Vector, torque: Vector, dt: float) -> None:
    """Observe what acts on all joints where their sensors say; in motion it is friction."""
    kernel(joints, acting=kernel.acting, payload=kernel.payload)
    for i in range(len(gain)):
        x.gain[i] = bandwidth(o, gain[i], joints.differenced)
    x.seen.update(kernel, torque, dt, x.gain, torque, 0.0)
    if not x.seen.is_finite():
        x.seen.reset()
    for i in range(len(x.friction)):
        if abs(joints.qd[place_of(s, i)]) > _MOVES and not joints.repeated[i] > 0.0:
            x.moved[i] = min(x.moved[i] + dt, _LEARNT)
            x.friction[i] += dt / x.moved[i] * (abs(x.seen.torque[i]) - x.friction[i])


def _pull(x: UnseenMotion, kernel: MomentumKernel, joints: Joints, s: Structure, torque: Vector,
          i: int, way: float) -> float:
    """Return the acceleration of a joint by its own row of the equation of motion."""
    j = place_of(s, i)
    for k in range(len(kernel.q)):
        kernel.q[k], kernel.qd[k] = joints.q[k], joints.qd[k]
    kernel.q[j] += way
    kernel.qd[j] = x.speed[i]
    kernel.run()
    inertia, found = kernel.H[i, j], _unexplained(kernel, joints, s, torque, i, i, 0.0)
    return -found / inertia if inertia > 0.0 and abs(found) <= NONE * inertia else 0.0


def _drive(x: UnseenMotion, i: int, qdd: float, friction: float, dt: float) -> None:
    """Let a joint go on for a period, against friction that takes rad/s^2 or m/s^2."""
    speed, slower = x.speed[i] + qdd * dt, friction * dt
    speed = max(speed - slower, 0.0) if speed > 0.0 else min(speed + slower, 0.0)
    x.speed[i] = speed if abs(speed) <= NONE else 0.0
    x.way[i] = min(max(x.way[i] + x.speed[i] * dt, -NONE), NONE)


def _unexplained(kernel: MomentumKernel, joints: Joints, s: Structure, torque: Vector, k: int,
                 i: int, qdd: float) -> float:
    """Return the torque on joint k besides its motor's if joint i has an acceleration, N.m."""
    found = kernel.H[k, place_of(s, i)] * qdd + kernel.bias[k] - torque[k]
    for m in range(len(torque)):
        if m != i:
            j = place_of(s, m)
            found += kernel.H[k, j] * (joints.qd[j] - joints.speed[m]) / joints.elapsed
    return found


def _known_friction(x: UnseenMotion, p: UnseenParameters, i: int) -> float:
    """Return the friction that a joint has shown, or is said to have."""
    return min(max(max(x.friction[i], x.held[i]), p.coulomb[i]), p.friction[i])


def _friction(x: UnseenMotion, p: UnseenParameters, i: int) -> float:
    """
    Return the friction that a joint may have.

    If even that has not stopped it where its sensor says, friction is not what holds it: then it
    gets what it has shown.
    """
    if not (x.moved[i] >= _ENOUGH or p.coulomb[i] > 0.0):
        return p.friction[i]
    known = _known_friction(x, p, i)
    return _FRICTION * known if _may_stand(x, p, i) else known


def _weigh(x: UnseenMotion, p: UnseenParameters, kernel: MomentumKernel, joints: Joints,
           s: Structure, torque: Vector, i: int, qdd: float) -> None:
    """
    Weigh what the other joints feel, if a joint stands or something is touched.

    If it moves, nothing but friction acts on them at its hidden position; if it stands, where its
    sensor says. What neither of the two explains, nor anything between them, is a contact.
    """
    moves, stands, touched = 0.0, 0.0, 0.0
    for k in range(len(x.stays)):
        if k != i:
            found = _unexplained(kernel, joints, s, torque, k, i, qdd)
            if abs(found) <= NONE:
                x.felt[i, k] += settled(x.gain[k] * joints.elapsed) * (found - x.felt[i, k])
            shown = max(min(_FRICTION * x.friction[k], p.friction[k]), p.hidden[k])
            least = max(shown if x.moved[k] > 0.0 else p.friction[k], _TINY)
            free, seen = x.felt[i, k] / least, x.seen.torque[k] / least
            moves, stands = max(moves, abs(free)), max(stands, abs(seen))
            touched = max(touched, max(min(free, seen), -max(free, seen)))
    x.evidence[i] = Evidence.NONE
    if moves > 1.0 and stands < _LEFT * moves:
        x.evidence[i] = Evidence.STANDS
    elif touched > 1.0 and moves >= _LEFT * stands:
        x.evidence[i] = Evidence.TOUCHED
