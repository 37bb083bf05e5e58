# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Leases of goals: a client that has promised signs of life and is silent has gone, or stands still.

An answer names the stamp of its feedback, so that one that was kept back on its way is as old as
that: a client is silent once a feedback has waited too long for an answer. One goal is active at
a time, and only it is told of.
"""

from __future__ import annotations

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.references.pieces import slot_of
from rbd_ros.control.step.progress import Progress

__all__ = ['judge_lease', 'Leases', 'note_feedback', 'take_sign']

#: promises that are kept, of goals that have not come yet among them
_MOST = 100

#: feedbacks without an answer that are kept: those of a lease of 60 s
_FEEDBACKS = 600


class Leases(Record):
    """What is known of the clients of goals."""

    most: float = field('', 's', 'that a feedback may wait for its answer')
    all_clients: bool = field('', '', 'whether it counts without a promise, too')
    steady: float = field('', 's', 'steady time of what comes now')
    stamp_s: float = field('', 's', 'stamp of the feedback that is sent or answered')
    stamp_ns: float = field('', 'ns', 'the rest of it')
    silent: bool = field('', '', 'whether the client of the active goal has been silent too long')
    promised: bool = field('', '', 'whether it gives signs')
    promises: float = field('', '', 'how many there were, ever')
    told: float = field('', '', 'feedbacks that were sent, ever')
    answered: float = field('', '', 'how many of them need no answer any more')
    number: float = field('', '', 'of the goal that was judged last')
    key: Vector = field('4', '', 'goal that is meant now')
    active: Vector = field('4', '', 'goal of the feedbacks')
    known: Matrix = field(f'{_MOST} 4', '', 'goals of the promises')
    sent: Matrix = field(f'{_FEEDBACKS} 3', 's, ns, s', 'stamp and steady time of feedbacks')


def take_sign(leases: Leases) -> None:
    """
    Take a sign of life, for the goal and the stamp that are meant.

    :param leases: what is known.
    """
    if not _is_promised(leases):
        leases.known[slot_of(leases.promises, _MOST)] = leases.key
        leases.promises += 1.0
    if all(leases.key == leases.active):
        leases.promised = True
        while leases.answered < leases.told and _is_answered(leases):
            leases.answered += 1.0


def note_feedback(leases: Leases) -> None:
    """
    Notice that feedback was sent, for the goal, the stamp and the time that are meant.

    :param leases: what is known.
    """
    if not all(leases.key == leases.active):
        leases.active[:] = leases.key
        leases.answered, leases.promised = leases.told, _is_promised(leases)
    k = slot_of(leases.told, _FEEDBACKS)
    leases.sent[k, 0], leases.sent[k, 1] = leases.stamp_s, leases.stamp_ns
    leases.sent[k, 2] = leases.steady
    leases.told += 1.0
    leases.answered = max(leases.answered, leases.told - _FEEDBACKS)


def judge_lease(leases: Leases, progress: Progress) -> None:
    """
    Find out whether the client of the active goal has been silent for too long.

    :param leases: says so.
    :param progress: of the goal; while it rests nothing needs an answer.
    """
    another = leases.number > 0.0 and progress.number != leases.number
    if progress.number == 0.0 or progress.rests or another:  # those were of the one before
        leases.answered = leases.told
    leases.number = progress.number
    waits = leases.answered < leases.told and (leases.promised or leases.all_clients)
    since = leases.sent[slot_of(leases.answered, _FEEDBACKS), 2]
    leases.silent = waits and leases.steady - since > leases.most


def _is_promised(leases: Leases) -> bool:
    for k in range(len(leases.known)):
        if k < leases.promises and all(leases.key == leases.known[k]):
            return True
    return False


def _is_answered(leases: Leases) -> bool:
    """Return whether the oldest feedback is one of those up to the stamp that is meant."""
    k = slot_of(leases.answered, _FEEDBACKS)
    s, ns = leases.sent[k, 0], leases.sent[k, 1]
    return s < leases.stamp_s or (s == leases.stamp_s and ns <= leases.stamp_ns)
