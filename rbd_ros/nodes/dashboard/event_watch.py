# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What becomes an event: faults, stops, resets, modes, warnings and what has gone silent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rbd_ros.control.interface.causes import Cause
from rbd_ros.nodes.dashboard.status import is_asked_for
from rbd_ros.nodes.dashboard.telemetry import STALE_AFTER
from rbd_ros.nodes.diagnostic_names import SUPERVISOR

if TYPE_CHECKING:
    from rbd_ros.nodes.dashboard.telemetry import Telemetry

__all__ = ['advice_for', 'EventWatch']

_RANKS = ('OK', 'stale', 'warning', 'error')
LOST = {'states': ('joint states', 'is the driver or the simulator running, and not paused?'),
        'controller': ('the controller', 'start it again')}


def advice_for(fault: str) -> str:
    """Return what to do after a fault, by the sentence that it begins with."""
    return next((cause.advice for cause in Cause if fault.startswith(cause.text)),
                'remove the cause, then reset')


class EventWatch:
    """
    Compare what is heard with what was heard before, and add events to the time line.

    :param telemetry: what is heard.
    """

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._mode, self._faults = '', set[str]()
        self._ranks: dict[str, str] = {}  # of the parts of /diagnostics
        self._silent: dict[str, bool] = {}

    def look(self) -> None:
        """Add what has changed since the last look."""
        self._look_at_faults()
        self._look_at_mode()
        self._look_at_diagnostics()
        self._listen()

    def _look_at_faults(self) -> None:
        heard, timeline = self._telemetry.fault, self._telemetry.timeline
        faults = set(heard.split('; ')) if heard else set()
        for fault in sorted(faults - self._faults):
            timeline.add('stop' if is_asked_for(fault) else 'fault', fault, advice_for(fault))
        if self._faults and not faults:
            timeline.add('reset', 'the faults are cleared')
        self._faults = faults

    def _look_at_mode(self) -> None:
        mode = self._telemetry.mode
        if self._mode and mode and mode != self._mode:
            self._telemetry.timeline.add('mode', f'from {self._mode} to {mode}')
        self._mode = mode or self._mode

    def _look_at_diagnostics(self) -> None:
        for name, (rank, text) in list(self._telemetry.diagnostics.items()):
            before = self._ranks.get(name, 'OK')
            self._ranks[name] = rank
            # what the supervisor calls an error comes as a fault
            if (_RANKS.index(rank) > max(_RANKS.index(before), 1)
                    and not (rank == 'error' and name.endswith(SUPERVISOR))):
                kind = 'fault' if rank == 'error' else 'warning'
                self._telemetry.timeline.add(kind, f'{name}: {text}')

    def _listen(self) -> None:
        for what, (name, advice) in LOST.items():
            age = self._telemetry.age(what)
            silent = age > STALE_AFTER
            if silent and self._silent.get(what) is False:
                self._telemetry.timeline.add('fault', f'{name}: nothing for {age:.0f} s', advice)
            elif not silent and self._silent.get(what):
                self._telemetry.timeline.add('reset', f'{name}: here again')
            if age != float('inf'):
                self._silent[what] = silent
