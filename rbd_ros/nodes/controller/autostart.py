# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The automatic start: configure and activate once, unless somebody else decides first.

It waits for a description, for states, and for the remains of a killed process on the command
topic. It ends for good as soon as the controller was active, was refused (by the start check, or
because another controller sends), or anybody asked for a transition or a stop: a controller that
was shut down must not come back by itself. It works in a thread of its own, so that a request
finds the thread of the transitions free and can cancel it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import threading

__all__ = ['Autostart', 'LifecycleActions']


@dataclass(frozen=True)
class LifecycleActions:
    """
    What the automatic start needs of the lifecycle node.

    :param label: returns the state of the lifecycle.
    :param wanted: whether it may start by itself at all.
    :param has_description: whether there is a description; logs that it waits for one.
    :param configure: configures; returns whether it succeeded.
    :param activate: activates; returns whether it succeeded.
    :param cancel: ends an activation that still waits; takes who asked for it.
    """

    label: Callable[[], str]
    wanted: Callable[[], bool]
    has_description: Callable[[], bool]
    configure: Callable[[], bool]
    activate: Callable[[], bool]
    cancel: Callable[[str], bool]


class Autostart:
    """One automatic start of one process."""

    def __init__(self, starter: LifecycleActions, log: Callable[[str], None],
                 guard: Callable[[Callable[[], None]], Callable[[], None]]) -> None:
        """
        Start nothing yet; ``step`` does that.

        :param starter: the lifecycle node, as far as it is needed.
        :param log: takes a text for the log.
        :param guard: wraps what runs in that thread: an exception is logged and stops the robot.
        """
        self._starter, self._log, self._guard = starter, log, guard
        self._over = threading.Event()
        self._worker: threading.Thread | None = None
        self.doing = ''  # transition that it began last

    @property
    def over(self) -> bool:
        """Return whether it will not start anything any more."""
        return self._over.is_set()

    @property
    def is_own_thread(self) -> bool:
        """Return whether the calling thread is that of the automatic start."""
        return threading.current_thread() is self._worker

    @property
    def pending(self) -> bool:
        """Return whether it would still start something."""
        return not self._over.is_set() and self._starter.wanted()

    def retire(self, why: str = '') -> bool:
        """
        Start nothing any more; from any thread.

        :param why: who decided otherwise, for the log.
        :returns: whether it would have started something.
        """
        pending = self.pending
        self._over.set()
        if pending and why:
            self._log(f'autostart cancelled by {why}')
        return pending

    def step(self) -> None:
        """Begin what is next, in a thread of its own; called periodically by one thread."""
        if self.over or self.busy:
            return
        if not self._starter.wanted():
            self.retire()
            return
        label = self._starter.label()
        if label not in ('unconfigured', 'inactive'):
            self.retire()
        elif label == 'inactive' or self._starter.has_description():
            self.doing = 'activate' if label == 'inactive' else 'configure'
            self._worker = threading.Thread(target=self._guard(self._work), name='autostart',
                                            daemon=True)
            self._worker.start()

    def _work(self) -> None:
        activates = self.doing == 'activate'
        succeeded = self._starter.activate() if activates else self._starter.configure()
        if activates is succeeded:  # states may come later, a better description does not
            self.retire()

    @property
    def busy(self) -> bool:
        """Return whether a transition of its own is under way."""
        return self._worker is not None and self._worker.is_alive()

    def yield_to(self, wanted: str) -> bool:
        """
        Make room for a transition that somebody asks for; returns when nothing is under way.

        :param wanted: its name. An activation goes on only if this is what is wanted.
        :returns: whether what was under way is what is wanted, or its end is.
        """
        self.retire('a transition request')
        worker, doing = self._worker, self.doing
        if worker is None or not worker.is_alive():
            return False
        if doing == 'activate' and wanted != 'activate':
            self._starter.cancel('a transition request')
        worker.join()
        return wanted in (doing, {'activate': 'deactivate'}.get(doing))

    def join(self, limit: float) -> bool:
        """
        Wait for its thread; the process ends.

        :param limit: s to wait at most.
        :returns: whether it has ended.
        """
        if self._worker is not None:
            self._worker.join(limit)
        return not self.busy
