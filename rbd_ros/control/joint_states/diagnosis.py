# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Which joints made the state too old, and why."""

from __future__ import annotations

from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Joints, NEVER, NOBODY, NONE, Structure
from rbd_ros.control.interface.words import ArrivalWord
from rbd_ros.control.joint_states.arrival import States
from rbd_ros.control.joint_states.sources import (
    AgeLimits, gather, last_arrival, Sources, timeout_of)
from rbd_ros.control.joint_states.words import arrival_text, Kinds
from rbd_ros.control.numerics.places import place_of
from rbd_ros.control.supervisor.supervisor import Diagnosis

__all__ = ['diagnose', 'diagnosis_text', 'missing_joints', 'source_of']


def diagnose(x: Diagnosis, states: States, joints: Joints, structure: Structure, p: AgeLimits,
             now: float) -> int:
    """
    Find which joints made the state too old and why, for the supervisor.

    The answer depends only on the messages: it is the same whether a message or the timer
    finds the state too old.

    :param x: gets the answer.
    :param states: what is remembered of joint states.
    :returns: cause.
    """
    gather(states.sources, joints, structure)
    oldest = NONE
    for j in range(len(joints.until)):
        if structure.measured[j] > 0.0:
            oldest = min(oldest, joints.until[j])
    if joints.calm == 0.0 and now <= oldest:
        x.cause, x.word = Cause.IMPLAUSIBLE, states.motion.reason.word
        x.joint, x.a = states.motion.reason.joint, states.motion.reason.a
        x.b, x.c = states.motion.reason.b, states.motion.reason.c
        return Cause.IMPLAUSIBLE
    lags = 0 if now > oldest else 1  # else the next one came too late
    j = _first(states.sources, joints, structure, p, now, lags)
    x.cause = Cause.STATE_STALE
    if j >= 0 and structure.controlled[j] == 0.0:
        x.cause = Cause.PRESCRIBED_STALE
    _explain(x, states.sources, p, now, j)
    return int(x.cause)


def _first(sources: Sources, joints: Joints, structure: Structure, p: AgeLimits, now: float,
           lags: int) -> int:
    """Return the first joint that is missing, the controlled ones before others."""
    for c in range(len(structure.index)):
        j = place_of(structure, c)
        if _is_missing(sources, joints, p, now, j, lags):
            return j
    for j in range(len(joints.until)):
        if structure.measured[j] > 0.0 and _is_missing(sources, joints, p, now, j, lags):
            return j
    return NOBODY


def _is_missing(sources: Sources, joints: Joints, p: AgeLimits, now: float, j: int,
                lags: int) -> bool:
    """Return whether a joint is too old, or whether its stamps have fallen behind reception."""
    if lags == 0:
        return now > joints.until[j]
    k = source_of(sources, j)
    return k >= 0 and sources.excess[k] > 0.5 * timeout_of(sources, p, k)


def source_of(sources: Sources, j: int) -> int:
    """
    Return the kind of message that had a joint last; NOBODY: none.

    :param sources: kinds of messages.
    :param j: joint of the model.
    """
    found, latest = NOBODY, NEVER
    for k in range(len(sources.probed)):
        if sources.carries[k, j] > 0.0 and (found < 0 or last_arrival(sources, k) > latest):
            found, latest = k, last_arrival(sources, k)
    return found


def _explain(x: Diagnosis, sources: Sources, p: AgeLimits, now: float, j: int) -> None:
    """Say why a joint is too old, or never was."""
    x.word, x.joint, x.a, x.b, x.c = 0.0, j, 0.0, 0.0, 0.0
    if j < 0:
        return
    k = source_of(sources, j)
    if k < 0:
        x.word = ArrivalWord.UNKNOWN
        return
    silent = now - last_arrival(sources, k)
    if silent > 0.5 * timeout_of(sources, p, k):
        x.word, x.a, x.b, x.c = ArrivalWord.STALE, k, silent, sources.excess[k]
    elif sources.word[k] > 0.0:
        x.word, x.a = sources.word[k], sources.word_a[k]
        x.b, x.c = sources.word_b[k], sources.word_c[k]
    else:
        x.word, x.a = ArrivalWord.LAG, sources.excess[k]


# -- the whole sentence, made outside -------------------------------------------------------------

class _Text:
    """The records, asked for sentences."""

    def __init__(self, states: States, p: AgeLimits, kinds: Kinds, now: float) -> None:
        self._sources, self._p, self._kinds, self._now = states.sources, p, kinds, now

    def word(self, word: float, joint: float, a: float, b: float, c: float) -> str:
        """Return the sentence of a word; empty for none."""
        if not word:
            return ''
        name = self._kinds.joints[int(joint)] if joint >= 0.0 else ''
        return arrival_text(self._kinds, word, name, float(a), float(b), float(c))

    def reason(self, k: int) -> str:
        """Return why the last message of a kind was not fresh; empty if it was."""
        x = self._sources
        return self.word(x.word[k], x.word_joint[k], x.word_a[k], x.word_b[k], x.word_c[k])

    def age(self, k: int) -> str:
        """
        Return why the last state of a kind of messages may no longer be used.

        The age has two parts: what the message had when it arrived, and the time since. The larger
        one is the reason, unless messages came that could not be used.
        """
        x, timeout = self._sources, timeout_of(self._sources, self._p, k)
        silent, reason = self._now - last_arrival(x, k), self.reason(k)
        if silent > 0.5 * timeout:
            text = f'no message for {silent:.4g} s'
            if reason:
                return f'{text} (of the last one: {reason})'
            late = f', and the last state was {x.excess[k]:.4g} s old when it arrived'
            return text + (late if x.excess[k] > 0.1 * timeout else '')
        return reason or self.word(ArrivalWord.LAG, NOBODY, x.excess[k], 0.0, 0.0)

    def joint(self, j: int) -> str:
        """Return why the state of one joint is too old, or never was."""
        x, now, k = self._sources, self._now, source_of(self._sources, j)
        limit = timeout_of(x, self._p, k) if k >= 0 else self._p.state_timeout
        if k >= 0 and now - last_arrival(x, k) <= 0.5 * limit:
            return self.age(k)
        text = 'in no message so far' if k < 0 else self.age(k)
        if now - x.unreadable_at <= limit:
            return (f'{text}; {x.unreadable:.0f} unreadable, the last one: '
                    f'{self._kinds.unreadable}')
        times = [x.others_at, *[last_arrival(x, i) for i in range(len(x.probed))]]
        if any(now - time <= 0.5 * limit for time in times):
            text += ', while other messages arrive'
        return text


def missing_joints(joints: Joints, structure: Structure, now: float) -> list[int]:
    """Return the joints that are unknown or too old, the controlled ones first."""
    driven = [int(j) for j in structure.index]
    others = [j for j, needed in enumerate(structure.measured) if needed and j not in driven]
    return [j for j in (*driven, *others) if now > joints.until[j]]


def diagnosis_text(states: States, joints: Joints, structure: Structure, p: AgeLimits,
                   kinds: Kinds, now: float) -> str:
    """
    Return which joints made the state too old and why; to be called after :func:`diagnose`.

    :param states: what is remembered of joint states.
    :param kinds: of messages that were received.
    :param now: control time of the diagnosis, s.
    """
    text, motion = _Text(states, p, kinds, now), states.motion
    missing = missing_joints(joints, structure, now)
    if not missing and not joints.calm:
        why = motion.reason
        return text.word(why.word, why.joint, why.a, why.b, why.c)
    if not missing:
        missing = [j for j in missing_joints(joints, structure, NONE)
                   if _is_missing(states.sources, joints, p, now, j, 1)]
    reasons: dict[str, list[str]] = {}
    for j in missing:
        reasons.setdefault(text.joint(j), []).append(kinds.joints[j])
    return '; '.join(f'{", ".join(names)}: {why}' for why, names in reasons.items())
