# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The timing of a simulation, and the counts of what has happened."""

from __future__ import annotations

from dataclasses import dataclass

from rbd_ros.errors import SettingError


@dataclass(frozen=True)
class Schedule:
    """
    The timing of a simulation.

    :param period_ns: simulated time between two readings, ns.
    :param substeps: integration steps per period.
    :param speed: ratio of simulated to real time.
    :param max_catch_up: most periods to run at once after a delay.
    :param brakes: hold the robot until the first command, and after ``command_timeout``.
    :param command_latency: time from a command to its effect, s.
    :param command_timeout: simulated time without a command after which the brakes close, s;
        0: never, the last command stays in force, as with most drivers.
    :param lockstep: after the first command, integrate only once the answer to the last reading
        has arrived; the brakes open with the answer to the last reading before time stopped.
    :param resend: in lockstep, time after which an unanswered reading is sent again, s.
    :param patience: in lockstep, time without an answer after which the brakes close, s.
    """

    period_ns: int = 1_000_000
    substeps: int = 1
    speed: float = 1.0
    max_catch_up: int = 20
    brakes: bool = True
    command_latency: float = 0.0
    command_timeout: float = 0.0
    lockstep: bool = False
    resend: float = 0.05
    patience: float = 2.0

    def __post_init__(self) -> None:
        """Refuse invalid values, and name them."""
        for name in ('period_ns', 'substeps', 'speed', 'max_catch_up', 'resend', 'patience'):
            if not getattr(self, name) > 0:
                raise SettingError(f'{name} is {getattr(self, name)}; it must be positive')
        for name in ('command_latency', 'command_timeout'):
            if not 0.0 <= getattr(self, name) < float('inf'):
                raise SettingError(f'{name} is {getattr(self, name)}; it must be zero or more')
        if self.lockstep and not self.brakes:
            raise SettingError('lockstep needs brakes: time runs freely before the first command, '
                               'and how far an unbraked robot fell would depend on the machine; '
                               'set brakes to true')


@dataclass
class Counters:
    """
    Counts of what has happened.

    :param periods: periods integrated.
    :param commands: commands accepted.
    :param refused: commands with the wrong size or a value that is not finite.
    :param outdated: commands that answer a reading other than the current one.
    :param superseded: readings not sent because a newer one was available.
    :param resent: readings sent again because no answer arrived.
    :param timeouts: times the brakes closed because no command arrived.
    """

    periods: int = 0
    commands: int = 0
    refused: int = 0
    outdated: int = 0
    superseded: int = 0
    resent: int = 0
    timeouts: int = 0
