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

import numpy as np

from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import accuse, Joints, NEVER, NOBODY, NONE, Result, Structure
from rbd_ros.control.interface.words import ObserverWord
from rbd_ros.control.numerics.patience import Patience, restart_patience, runs_out
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.observers.hidden_motion import (
    count_witnesses, feel, follow_joint, forget_suspect, HiddenMotion, update_hidden_motion)
from rbd_ros.control.observers.momentum import is_time, MomentumKernel
from rbd_ros.control.observers.observer import Observer, ObserverParameters
from rbd_ros.control.observers.unseen_motion import (
    follow_unseen, go_on_unseen, is_touched, restart_unseen, speed_shown, too_fast)
from rbd_ros.control.observers.unseen_records import (
    derive_unseen, fill_unseen, UnseenMotion, UnseenParameters)
from rbd_ros.control.parameters.settings import Settings

__all__ = ['check_standstill', 'derive_standstill', 'fill_standstill', 'is_doubtful',
           'is_standstill_calm', 'predict_suspect', 'predict_unseen', 'replace_frozen',
           'restart_standstill', 'Standstill', 'StandstillParameters', 'trust_model']

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


def fill_standstill(p: StandstillParameters, settings: Settings) -> None:
    """
    Take new bounds.

    :param p: get them.
    :param settings: valid set.
    """
    robot = settings.robot
    p.alone = float(not robot.model.loops)
    p.enough = max(_FEWEST, min(_WITNESSES, len(robot.joints) - 1))
    p.patience = settings.number('velocity_patience')
    for part, values in (
            (p.gate, settings.standstill_torque), (p.hidden, _HIDDEN * settings.torque_limits),
            (p.tolerance, settings.joints('state_tolerance')),
            (p.far, settings.standstill_errors)):
        part[:] = np.minimum(values, NONE)
    fill_unseen(p.unseen, settings)
    derive_standstill(
        p, settings.joints('stiffness'), settings.joints('tracking_limits'),
        settings.joints('friction.coulomb'), settings.torque_limits,
        np.array(robot.damped_inertia, dtype=float), settings.number('nominal_rate'))


def derive_standstill(p: StandstillParameters, stiffness: Vector, tracking: Vector,
                      coulomb: Vector, limit: Vector, inertia: Vector, rate: float) -> None:
    """
    Find what friction can do to each joint.

    :param p: gets it.
    :param stiffness: of the law, 1/s^2.
    :param tracking: largest tracking errors, rad or m.
    :param coulomb: dry friction that is compensated, N.m or N.
    :param limit: torque limits, N.m or N.
    :param inertia: of the joints, kg.m^2 or kg.
    :param rate: of the states, Hz.
    """
    for j in range(len(limit)):
        friction = max(_FRICTION * limit[j], _COMPENSATED * coulomb[j])
        # what friction can do to a joint that its law still moves within its limits
        pull = min(stiffness[j] * tracking[j], NONE) if stiffness[j] > 0.0 else NONE
        p.friction[j], p.pull[j] = min(friction, NONE), pull
        # speeds from which friction cannot stop a joint within a nominal period
        p.halt[j] = min(min(friction / max(inertia[j], _TINY), pull) / rate, NONE)
    derive_unseen(p.unseen, coulomb, p.friction)


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
                     s: Structure, law: Vector, gravity: Vector, error: Vector, runs: float,
                     tracks: float, leads: float, now: float, y: Result) -> None:
    """
    Check a state whose torque is computed.

    :param x: what stands.
    :param p: bounds.
    :param observer: of external torques; runs whenever something is unusual.
    :param joints: the state.
    :param s: which joints are which.
    :param law: its torque before the limits, N.m; read if it has computed it.
    :param gravity: g(q), N.m.
    :param error: tracking errors of the joints, rad or m; read if the law has them.
    :param runs: 1 if the law has computed the torque; 0: the robot is being stopped.
    :param tracks: 1 if the law has a tracking error of the joints.
    :param leads: 1 if it has one of the tip.
    :param now: control time, s.
    :param y: gets what is wrong.
    """
    if not is_time(now):
        restart_standstill(x)
        return
    elapsed = now - x.now
    x.now = now
    if x.lost != NOBODY or not (runs > 0.0 or not is_standstill_calm(x)):
        return
    if not 0.0 <= elapsed <= _GAP:
        _forget(x)
        elapsed = 0.0
    if runs > 0.0:
        _judge_unseen(x, p, joints, s, y)
    _note_halts(x, p, joints, s)
    if not _hold(x, p, joints, law, gravity, runs, elapsed):
        _forget(x)
        return
    _choose_suspect(x, p, observer, joints, s, error, tracks, now)
    if int(x.suspect.joint) != NOBODY:
        _judge_blocked(x, p, joints, error, runs, tracks, leads, y)
        _judge_frozen(x, p, now, y)


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


def predict_suspect(x: Standstill, p: StandstillParameters, observer: Observer,
                    kernel: MomentumKernel, joints: Joints, s: Structure, gain: Vector,
                    torque: Vector, now: float) -> None:
    """
    Predict how the suspect moves if it is free, after the first observer has taken a state.

    :param x: what stands.
    :param p: bounds.
    :param observer: it has taken the state, the predicted one where a sensor is not believed.
    :param kernel: evaluated there.
    :param joints: the state.
    :param s: which joints are which.
    :param gain: bandwidth that suits the delay, 1/s.
    :param torque: total that acts from now on, N.m.
    :param now: control time, s.
    """
    if not is_time(now):
        restart_standstill(x)
        return
    elapsed = now - x.predicted
    x.predicted = now
    if not 0.0 < elapsed <= _GAP:
        return
    if x.lost == NOBODY:
        update_hidden_motion(x.suspect, kernel, joints, s, gain, torque, elapsed, observer.acted,
                             observer.acts)
    else:
        go_on_unseen(x.unseen, p.unseen, kernel, joints, s, torque, int(x.lost))


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


def _hold(x: Standstill, p: StandstillParameters, joints: Joints, law: Vector, gravity: Vector,
          runs: float, elapsed: float) -> bool:
    """Find which joints stand although they should move; return whether one does."""
    stands = False
    for i in range(len(x.time)):
        held = joints.repeated[i] > 0.0
        if runs > 0.0:
            held = held and (abs(law[i] - gravity[i]) > p.gate[i]
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
                    s: Structure, error: Vector, tracks: float, now: float) -> None:
    """Choose the joint with the most abrupt halt, or else the one that stands longest."""
    i = int(x.suspect.joint)
    halting = _most_abrupt(x, p, joints, s)
    if i != NOBODY and x.time[i] > 0.0 and (x.halted[i] > 0.0 or halting == NOBODY):
        return
    i = halting if halting != NOBODY else _longest(x, p, observer)
    x.place = joints.q[place_of(s, i)]
    known = tracks > 0.0 and abs(error[i]) <= NONE
    x.error = error[i] if known else 0.0
    follow_joint(x.suspect, i, joints.speed[i] if x.began[i] > 0.0 else 0.0, joints, s)
    x.predicted = now - joints.elapsed
    x.right = 0.0
    restart_patience(x.patience)


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


def _judge_blocked(x: Standstill, p: StandstillParameters, joints: Joints, error: Vector,
                   runs: float, tracks: float, leads: float, y: Result) -> None:
    """Accuse a joint that falls behind since it stands."""
    i = int(x.suspect.joint)
    seen = feel(x.suspect, x.suspect.seen, p.hidden)
    free = feel(x.suspect, x.suspect.free, p.hidden)
    if free > _HINT and seen < _LEFT * free:
        x.right = 1.0
    if (runs > 0.0 and _is_halted(x, p, i) and not _is_braked(joints)
            and not x.right > 0.0 and not is_touched(x.unseen, i) and x.time[i] >= _STANDS
            and (max(seen, free) < _HINT or free < _LEFT * seen)):  # else an obstacle
        behind = abs(x.suspect.way) if leads > 0.0 and p.alone > 0.0 else 0.0
        if tracks > 0.0:
            behind = abs(error[i] - x.error)
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
    if runs_out(x.patience, p.patience, now, 1 if bad else 0):
        x.blamed = i
        accuse(y, Cause.FROZEN, ObserverWord.MOVES_UNSEEN, i, x.place, 0.0, 0.0)


def _is_braked(joints: Joints) -> bool:
    """Return whether nothing moves at all."""
    for i in range(len(joints.repeated)):
        if not joints.repeated[i] > 0.0:
            return False
    return len(joints.repeated) > 1
