# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What is found out about a machine: a verdict, what it rests on, and what to change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
import enum

__all__ = ['bad', 'better', 'Finding', 'megabytes', 'ok', 'unknown', 'Verdict', 'worst']


class Verdict(enum.Enum):
    """How good something is for a control loop, from best to worst."""

    OK = 'ok'
    UNKNOWN = 'unknown'
    BETTER = 'could be better'
    BAD = 'bad'


@dataclass(frozen=True)
class Finding:
    """
    What a check found.

    :param verdict: how good it is.
    :param found: what the machine has.
    :param advice: why it matters and what to change; empty if nothing.
    :param command: that changes it, to be typed as it is; empty where there is none.
    """

    verdict: Verdict
    found: str
    advice: str = ''
    command: str = ''


def ok(found: str, advice: str = '') -> Finding:
    """Return a finding that needs no change."""
    return Finding(Verdict.OK, found, advice)


def better(found: str, advice: str, command: str = '') -> Finding:
    """Return a finding that a loop can live with."""
    return Finding(Verdict.BETTER, found, advice, command)


def bad(found: str, advice: str, command: str = '') -> Finding:
    """Return a finding that spoils a loop."""
    return Finding(Verdict.BAD, found, advice, command)


def unknown(found: str = 'the system does not tell', advice: str = '') -> Finding:
    """Return a finding about something that could not be found out."""
    return Finding(Verdict.UNKNOWN, found, advice)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst of some verdicts; what is not known counts as fine."""
    order = list(Verdict)
    found = max(verdicts, key=order.index, default=Verdict.OK)
    return Verdict.OK if found is Verdict.UNKNOWN else found


def megabytes(size: float) -> str:
    """
    Return a size in words.

    :param size: bytes.
    """
    return f'{size / 2**20:.3g} MB' if size < 1000 * 2**20 else f'{size / 2**30:.3g} GB'
