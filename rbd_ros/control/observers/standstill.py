# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Torque without motion: a joint that is held, or a sensor that is frozen.

A joint that stands exactly still while its law pushes is held by something, or it moves and its
sensor does not say so. What the other joints feel tells the two apart (``hidden_motion``). If
they feel that it moves, its sensor is frozen: the joint is braked all the same, by its predicted
motion.

If nobody feels anything, a brake may hold it, or friction. Then its sensor is accused if the joint
falls behind after a halt that took more torque than friction has. Whatever the others feel, its
torque may give it no more than a share of its velocity limit while it stands, and no sensor may
leap after it (``unseen_motion``).
"""

from __future__ import annotations


from rbd_ros.compiler.language.whole import minimum
from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import accuse, Joints, NEVER, NOBODY, NONE, Result, Structure
from rbd_ros.control.interface.words import ObserverWord
from rbd_ros.control.kernels.declared import MomentumKernel
from rbd_ros.control.numerics.patience import Patience
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.observers.hidden_motion import (
    count_witnesses, feel, follow_joint, forget_suspect, HiddenMotion)
from rbd_ros.control.observers.momentum import is_time
from rbd_ros.control.observers.observer import Observer, ObserverParameters
from rbd_ros.control.observers.unseen_motion import (
    follow_unseen, is_touched, restart_unseen, speed_shown, too_fast)
from rbd_ros.control.observers.unseen_records import (
    fill_unseen, UnseenMotion, UnseenParameters)
from rbd_ros.control.parameters.given import Inputs, torque_limits
from rbd_ros.control.torque.torque_records import Computed, Doing

__all__ = ['check_standstill', 'fill_standstill', 'is_doubtful', 'is_standstill_calm',
           'predict_unseen', 'replace_frozen', 'restart_standstill', 'since_prediction',
           'Standstill', 'StandstillParameters', 'trust_model']

#: share of the torque limit, and acceleration in rad/s^2 or m/s^2, that move every joint
_MOVING, _PUSHED = 0.02, 2.0

#: share of its tracking limit that a joint may have lagged behind before it moves at all
_STUCK = 0.1

#: share of the torque limit that dry friction may have, and its ratio to what is compensated
_FRICTION, _COMPENSATED = 0.1, 2.0

#: share of the torque limits by which errors of the model can hide a torque
_HIDDEN = 0.02

#: torques on the other joints, where 1 cannot be hidden, that prove something, and what is left of
#: them at most if the joint moves unseen
_FELT, _LEFT = 1.0, 0.5

#: the same for torques that errors of the model could hide, but that the motion of this joint
#: explains as no chance would; and after a halt that friction does not explain
_HINT, _HARDLY = 0.05, 0.1
_HINT_HALTED, _HARDLY_HALTED = 0.1, 0.2

#: other joints that must agree, if there are so many; fewer are misled by one push
_WITNESSES, _FEWEST = 3, 2

#: s for which an abrupt halt is remembered
_REMEMBERED = 1.0

#: s for which a joint stands still before its tracking error means something: the steps of a
#: coarse encoder are shorter at any speed that matters
_STANDS = 0.05

#: s from the start of a standstill for which the errors of a prediction are small
_HORIZON = 0.2

#: s after which what was seen before a gap is forgotten
_GAP = 0.1

#: s of standstill that a joint has from its first message on
_BEGUN = 1e-9

#: keeps a division by zero finite
_TINY = 1e-300


class StandstillParameters(Record):
    """Bounds of what a joint may do that stands still."""

    alone: float = field('', '', '1 if a joint can move alone; 0: in closed loops none can')
    enough: float = field('', '', 'joints that must bear witness')
    patience: float = field('', 's', 'for which others feel a motion before its sensor is accused')
    gate: Vector = field('n', 'N.m or N', 'besides g(q), under which a joint should move')
    hidden: Vector = field('n', 'N.m or N', 'torques that errors of the model can hide')
    friction: Vector = field('n', 'N.m or N', 'that dry friction can have')
    pull: Vector = field('n', 'rad/s^2 or m/s^2', 'what friction can do to a joint that its law '
                                                  'still moves')
    halt: Vector = field('n', 'rad/s or m/s', 'from which friction stops no joint in a period')
    tolerance: Vector = field('n', 'rad or m', 'noise and quantisation of positions')
    far: Vector = field('n', 'rad or m', 'tracking errors of a joint that does not move at all')
    unseen: UnseenParameters = group(UnseenParameters)


class Standstill(Record):
    """Joints of one robot that stand still against a torque."""

    lost: float = field('', '', 'joint for whose sensor the model stands in; -1: none', NOBODY)
    blamed: float = field('', '', 'joint whose sensor was accused last; -1: none', NOBODY)
    place: float = field('', 'rad or m', 'where the suspect stands')
    error: float = field('', 'rad or m', 'its tracking error when it came to stand')
    right: float = field('', '', '1 if the others have felt that the suspect stands')
    now: float = field('', 's', 'control time of the last check', NEVER)
    predicted: float = field('', 's', 'control time of the last prediction', NEVER)
    time: Vector = field('n', 's', 'of standstill; 0: it moves, or nothing pushes it')
    halted: Vector = field('n', '', '1 where a joint came to stand abruptly')
    began: Vector = field('n', '', '1 where a joint stands since the last message')
    patience: Patience = group(Patience)
    suspect: HiddenMotion = group(HiddenMotion)
    unseen: UnseenMotion = group(UnseenMotion)


def fill_standstill(p: StandstillParameters, g: Inputs) -> None:
    """
    Take new bounds, and find what friction can do to each joint.

    :param p: gets them.
    :param g: what was given.
    """
    p.alone = 0.0 if g.robot.loops else 1.0
    p.enough = max(_FEWEST, min(_WITNESSES, len(p.friction) - 1))
    p.patience = g.values.velocity_patience
    p.gate[:] = minimum(minimum(_MOVING * torque_limits(g), _PUSHED * g.robot.inertia), NONE)
    p.hidden[:] = minimum(_HIDDEN * torque_limits(g), NONE)
    p.tolerance[:] = minimum(g.values.state_tolerance, NONE)
    p.far[:] = minimum(_STUCK * g.values.tracking_limits, NONE)
    p.friction[:] = torque_limits(g)
    for j in range(len(p.friction)):
        limit, stiffness = p.friction[j], g.values.stiffness[j]
        friction = max(_FRICTION * limit, _COMPENSATED * g.values.friction.coulomb[j])
        # what friction can do to a joint that its law still moves within its limits
        pull = min(stiffness * g.values.tracking_limits[j], NONE) if stiffness > 0.0 else NONE
        p.friction[j], p.pull[j] = min(friction, NONE), pull
        # speeds from which friction cannot stop a joint within a nominal period
        p.halt[j] = min(min(friction / max(g.robot.inertia[j], _TINY), pull)
                        / g.values.nominal_rate, NONE)
    fill_unseen(p.unseen, p.friction, g)


def restart_standstill(x: Standstill) -> None:
    """
    Forget what was seen.

    :param x: what stands.
    """
    _forget(x)
    restart_unseen(x.unseen)
    x.lost, x.blamed = NOBODY, NOBODY


def _forget(x: Standstill) -> None:
    """Suspect no joint."""
    for i in range(len(x.time)):
        x.time[i] = 0.0
        x.halted[i] = 0.0
    forget_suspect(x.suspect)


def is_standstill_calm(x: Standstill) -> bool:
    """
    Return whether no joint stands still against a torque.

    :param x: what stands.
    """
    for i in range(len(x.time)):
        if x.time[i] > 0.0:
            return False
    return True


def is_doubtful(x: Standstill, joints: Joints) -> bool:
    """
    Return whether a sensor that stands still may be what looks like a contact.

    A joint came to stand in one message, exactly, more abruptly than friction can do it, or a
    sensor that has noise repeats itself. Which of both it is, only the next messages can tell.

    :param x: what stands.
    :param joints: the state.
    """
    for i in range(len(x.halted)):
        if joints.repeated[i] > 0.0 and (x.halted[i] > 0.0 or joints.unusual[i] > 0.0):
            return True
    return False


def check_standstill(x: Standstill, p: StandstillParameters, observer: Observer, joints: Joints,
                     s: Structure, doing: Doing, computed: Computed, y: Result) -> None:
    """
    Check a state whose torque is computed.

    :param x: what stands.
    :param p: bounds.
    :param observer: of external torques; runs whenever something is unusual.
    :param joints: the state.
    :param s: which joints are which.
    :param doing: what the law does; its errors are read if it has them.
    :param computed: g(q), and the torque of the law if it has computed it.
    :param y: gets what is wrong.
    """
    if not is_time(doing.now):
        restart_standstill(x)
        return
    elapsed = doing.now - x.now
    x.now = doing.now
    if x.lost != NOBODY or not (doing.runs or not is_standstill_calm(x)):
        return
    if not 0.0 <= elapsed <= _GAP:
        _forget(x)
        elapsed = 0.0
    if doing.runs:
        _judge_unseen(x, p, joints, s, y)
    _note_halts(x, p, joints, s)
    if not _hold(x, p, joints, computed, doing.runs, elapsed):
        _forget(x)
        return
    _choose_suspect(x, p, observer, joints, s, doing)
    if int(x.suspect.joint) != NOBODY:
        _judge_blocked(x, p, joints, doing, y)
        _judge_frozen(x, p, doing.now, y)


def trust_model(x: Standstill, p: StandstillParameters, joints: Joints, s: Structure,
                stuck: int) -> None:
    """
    Let the model stand in for the sensor that was accused.

    In closed loops it cannot: the prediction knows one joint, not those that it drives.

    :param x: what stands.
    :param p: bounds.
    :param joints: the state.
    :param s: which joints are which.
    :param stuck: the first joint whose sensor lacks its noise for too long; ``NOBODY``: none.
    """
    i = stuck if stuck != NOBODY else int(x.blamed)
    if x.lost == NOBODY and i != NOBODY and p.alone > 0.0 and joints.repeated[i] > 0.0:
        x.lost, x.place = i, joints.q[place_of(s, i)]


def predict_unseen(x: Standstill, p: StandstillParameters, o: ObserverParameters,
                   kernel: MomentumKernel, joints: Joints, s: Structure, gain: Vector,
                   torque: Vector) -> None:
    """
    Predict how each joint moves whose sensor repeats its position.

    :param x: what stands.
    :param p: bounds.
    :param o: parameters of the observer.
    :param kernel: is evaluated.
    :param joints: the state.
    :param s: which joints are which.
    :param gain: bandwidth that suits the delay, 1/s.
    :param torque: total that acts from now on, N.m.
    """
    if p.alone > 0.0 and x.lost == NOBODY:
        follow_unseen(x.unseen, p.unseen, o, kernel, joints, s, gain, torque)


def since_prediction(x: Standstill, now: float) -> float:
    """
    Return s since the motion of a suspect, or of a joint that is lost, was predicted.

    :param x: what stands.
    :param now: control time, s.
    :returns: 0 if nothing can be predicted.
    """
    if not is_time(now):
        restart_standstill(x)
        return 0.0
    elapsed = now - x.predicted
    x.predicted = now
    return elapsed if 0.0 < elapsed <= _GAP else 0.0


def replace_frozen(x: Standstill, joints: Joints, s: Structure) -> None:
    """
    Put the predicted motion in the place of that of a frozen sensor.

    :param x: what stands.
    :param joints: the state that has just arrived.
    :param s: which joints are which.
    """
    for k in range(len(joints.doubted)):
        joints.doubted[k] = 1.0 if k == int(x.blamed) or k == int(x.lost) else 0.0
    i = int(x.lost)
    if i == NOBODY:
        return
    j = place_of(s, i)
    if not joints.repeated[i] > 0.0:  # it shows where it is
        if joints.differenced > 0.0:
            joints.qd[j] = speed_shown(x.unseen, i, joints.q[j] - x.place)
        x.lost = NOBODY
    else:
        joints.q[j] = x.place + x.unseen.way[i]
        joints.qd[j] = x.unseen.speed[i]


def _slower(joints: Joints, s: Structure, i: int) -> float:
    """Return by how much the velocity of a joint has changed in the last period."""
    return abs(joints.speed[i] - joints.qd[place_of(s, i)])


def _note_halts(x: Standstill, p: StandstillParameters, joints: Joints, s: Structure) -> None:
    """Remember which joints came to stand more abruptly than friction can do it."""
    for i in range(len(x.halted)):
        if _slower(joints, s, i) > p.halt[i]:
            x.halted[i] = 1.0
        if not (joints.repeated[i] > 0.0 and x.time[i] < _REMEMBERED):
            x.halted[i] = 0.0


def _hold(x: Standstill, p: StandstillParameters, joints: Joints, computed: Computed, runs: bool,
          elapsed: float) -> bool:
    """Find which joints stand although they should move; return whether one does."""
    stands = False
    for i in range(len(x.time)):
        held = joints.repeated[i] > 0.0
        if runs:
            held = held and (abs(computed.law[i] - computed.gravity[i]) > p.gate[i]
                             or joints.unusual[i] > 0.0 or x.halted[i] > 0.0)
        else:
            held = held and x.time[i] > 0.0
        # A joint that stands is not calm from its first message on. Its time begins there: until
        # then it may have been in motion.
        x.began[i] = 1.0 if held and x.time[i] == 0.0 else 0.0
        if not held:
            x.time[i] = 0.0
        elif x.began[i] > 0.0:
            x.time[i] = _BEGUN
        else:
            x.time[i] += elapsed
        stands = stands or held
    return stands


def _choose_suspect(x: Standstill, p: StandstillParameters, observer: Observer, joints: Joints,
                    s: Structure, doing: Doing) -> None:
    """Choose the joint with the most abrupt halt, or else the one that stands longest."""
    i = int(x.suspect.joint)
    halting = _most_abrupt(x, p, joints, s)
    if i != NOBODY and x.time[i] > 0.0 and (x.halted[i] > 0.0 or halting == NOBODY):
        return
    i = halting if halting != NOBODY else _longest(x, p, observer)
    x.place = joints.q[place_of(s, i)]
    known = doing.tracks and abs(doing.error[i]) <= NONE
    x.error = doing.error[i] if known else 0.0
    follow_joint(x.suspect, i, joints.speed[i] if x.began[i] > 0.0 else 0.0, joints, s)
    x.predicted = doing.now - joints.elapsed
    x.right = 0.0
    x.patience.reset()


def _most_abrupt(x: Standstill, p: StandstillParameters, joints: Joints, s: Structure) -> int:
    """Return the joint that has just come to the most abrupt halt, or nobody."""
    found, most = NOBODY, 0.0
    for i in range(len(x.time)):
        if x.began[i] > 0.0 and x.halted[i] > 0.0:
            halt = _slower(joints, s, i) / max(p.halt[i], _TINY)
            if halt > most:
                found, most = i, halt
    return found


def _longest(x: Standstill, p: StandstillParameters, observer: Observer) -> int:
    """Return the joint that stands longest; among equals the one that is pushed hardest."""
    found, most = 0, 0.0
    for i in range(len(x.time)):
        pushed = abs(observer.momentum.torque[i]) / max(p.hidden[i], _TINY)
        if x.time[i] > x.time[found] or (x.time[i] == x.time[found] and pushed >= most):
            found, most = i, pushed
    return found


def _is_halted(x: Standstill, p: StandstillParameters, i: int) -> bool:
    """Return whether the halt of the suspect took more torque than friction has."""
    enough = p.friction[i]
    if p.alone > 0.0:
        enough = min(enough, x.suspect.inertia * p.pull[i])
    return x.time[i] <= _REMEMBERED and x.suspect.stop > enough


def _judge_unseen(x: Standstill, p: StandstillParameters, joints: Joints, s: Structure,
                  y: Result) -> None:
    """Accuse the sensor of a joint that moved unseen, or that its torque has made too fast."""
    i = int(x.unseen.leapt)
    if i != NOBODY:
        x.blamed = i
        accuse(y, Cause.FROZEN, ObserverWord.LEAPT, i, x.unseen.leap, 0.0, 0.0)
        return
    i = too_fast(x.unseen, p.unseen)
    if i != NOBODY:
        x.blamed = i
        accuse(y, Cause.FROZEN, ObserverWord.PUSHED_UNSEEN, i, joints.q[place_of(s, i)],
               x.unseen.speed[i], 0.0)


def _judge_blocked(x: Standstill, p: StandstillParameters, joints: Joints, doing: Doing,
                   y: Result) -> None:
    """Accuse a joint that falls behind since it stands."""
    i = int(x.suspect.joint)
    seen = feel(x.suspect, x.suspect.seen, p.hidden)
    free = feel(x.suspect, x.suspect.free, p.hidden)
    if free > _HINT and seen < _LEFT * free:
        x.right = 1.0
    if (doing.runs and _is_halted(x, p, i) and not _is_braked(joints)
            and not x.right > 0.0 and not is_touched(x.unseen, i) and x.time[i] >= _STANDS
            and (max(seen, free) < _HINT or free < _LEFT * seen)):  # else an obstacle
        behind = abs(x.suspect.way) if doing.leads and p.alone > 0.0 else 0.0
        if doing.tracks:
            behind = abs(doing.error[i] - x.error)
        if behind > p.far[i]:
            x.blamed = i
            accuse(y, Cause.FROZEN, ObserverWord.STANDS, i, behind, 0.0, 0.0)


def _judge_frozen(x: Standstill, p: StandstillParameters, now: float, y: Result) -> None:
    """Accuse the sensor of a joint that moves, by what the other joints feel."""
    i = int(x.suspect.joint)
    seen = feel(x.suspect, x.suspect.seen, p.hidden)
    free = feel(x.suspect, x.suspect.free, p.hidden)
    unseen = (seen > _FELT and free < _LEFT * seen and x.time[i] <= _HORIZON
              or seen > _HINT and free < _HARDLY * seen
              or _is_halted(x, p, i) and seen > _HINT_HALTED and free < _HARDLY_HALTED * seen)
    bad = (unseen and p.alone > 0.0 and count_witnesses(x.suspect) >= p.enough
           and abs(x.suspect.way) > p.tolerance[i])
    if x.patience.runs_out(p.patience, now, 1 if bad else 0):
        x.blamed = i
        accuse(y, Cause.FROZEN, ObserverWord.MOVES_UNSEEN, i, x.place, 0.0, 0.0)


def _is_braked(joints: Joints) -> bool:
    """Return whether nothing moves at all."""
    for i in range(len(joints.repeated)):
        if not joints.repeated[i] > 0.0:
            return False
    return len(joints.repeated) > 1
