# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Limits of how often something is logged or handled: a flood must not stop anything else."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
import math

__all__ = ['Budget', 'Throttle', 'short_list', 'with_suppressed']

#: kinds of texts remembered; a sender that invents new ones must not fill the memory
_MAX_KINDS = 256

_NAMES, _LETTERS = 8, 40  # shown of a list of names, and of each name


class Throttle:
    """Let some texts of each kind pass in a period, and count the others."""

    def __init__(self, period: float = 1.0, most: int = 1) -> None:
        """
        Start with nothing logged.

        :param period: s.
        :param most: texts of one kind that pass within a period.
        """
        self.period, self.most = period, most
        # by kind: begin of its period, texts that passed in it, texts left out since the last
        self._kinds: dict[Hashable, tuple[float, int, int]] = {}

    def take(self, kind: Hashable, steady: float) -> int | None:
        """
        Return whether a text may be logged now.

        :param kind: what it is about.
        :returns: None if it is left out, else how many were left out before it.
        """
        begin, passed, left = self._kinds.get(kind, (steady, 0, 0))
        if steady - begin >= self.period:
            begin, passed = steady, 0
        if passed >= self.most:
            self._kinds[kind] = begin, passed, left + 1
            return None
        if kind not in self._kinds and len(self._kinds) >= _MAX_KINDS:
            self._kinds.pop(next(iter(self._kinds)))  # the oldest one
        self._kinds[kind] = begin, passed + 1, 0
        return left

    def overdue(self, steady: float) -> dict[Hashable, int]:
        """Forget the kinds that have become quiet; return how many texts of each were left."""
        found = {kind: left for kind, (begin, _, left) in self._kinds.items()
                 if left and steady - begin >= 1.5 * self.period}
        for kind in found:
            del self._kinds[kind]
        return found


def with_suppressed(text: str, left: int) -> str:
    """
    Return a text with the number of similar ones that were left out before it.

    :param text: to be logged.
    :param left: number of those.
    """
    return f'{text} ({left} similar lines suppressed)' if left else text


def short_list(names: Sequence[str]) -> str:
    """
    Return names as a text of bounded length, whatever was received.

    :param names: any number of any length.
    """
    shown = [name if len(name) <= _LETTERS else f'{name[:_LETTERS]}...' for name in names[:_NAMES]]
    more = len(names) - len(shown)
    return ', '.join(shown) + (f' and {more} more' if more else '')


class Budget:
    """Time that may be spent on something: a share in the long run, and a burst at once."""

    def __init__(self, share: float, burst: float) -> None:
        """
        Start with all that may be spent at once.

        :param share: of all time, in the long run.
        :param burst: s at once.
        """
        self.share, self.burst = share, burst
        self._left = burst
        self._time = -math.inf

    def left(self, steady: float) -> bool:
        """Ask whether anything may be spent now."""
        earned = self.share * (steady - self._time)
        self._left = min(self._left + earned, self.burst) if earned > 0.0 else self._left
        self._time = steady
        return self._left > 0.0

    def spend(self, cost: float) -> None:
        """
        Charge a cost; the budget may become negative.

        :param cost: s.
        """
        self._left -= cost

    def cut(self) -> None:
        """Reduce the budget to a tenth of a burst, after a flood."""
        self._left = min(self._left, 0.1 * self.burst)
