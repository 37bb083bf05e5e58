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

"""When things happen in a simulation, and what happened so far."""

from __future__ import annotations

from dataclasses import dataclass

from rbd_ros.errors import SettingError


@dataclass(frozen=True)
class Schedule:
    """
    When things happen.

    :param period_ns: simulated time between two readings.
    :param substeps: steps of the integrator in a period.
    :param speed: simulated over real time.
    :param most: periods run at once to catch up.
    :param brakes: hold the robot until the first command, and after ``command_timeout``.
    :param command_latency: time from a command to its effect, s.
    :param command_timeout: the brakes close when no command came for so long, s of simulated
        time; 0: the last command stays for ever, as in most drivers.
    :param lockstep: after the first command, integrate only when the answer to the last reading
        has come; the brakes open with the answer to the last reading before time stopped.
    :param resend: in lockstep, time after which an unanswered reading is sent again, s.
    :param patience: in lockstep, time without an answer after which the brakes close, s.
    """

    period_ns: int = 1_000_000
    substeps: int = 1
    speed: float = 1.0
    most: int = 20
    brakes: bool = True
    command_latency: float = 0.0
    command_timeout: float = 0.0
    lockstep: bool = False
    resend: float = 0.05
    patience: float = 2.0

    def __post_init__(self) -> None:
        """Refuse what has no meaning, naming the value."""
        for name in ('period_ns', 'substeps', 'speed', 'most', 'resend', 'patience'):
            if not getattr(self, name) > 0:
                raise SettingError(f'{name} is {getattr(self, name)}; it must be positive')
        for name in ('command_latency', 'command_timeout'):
            if not 0.0 <= getattr(self, name) < float('inf'):
                raise SettingError(f'{name} is {getattr(self, name)}; it must be zero or more')
        if self.lockstep and not self.brakes:
            raise SettingError('lockstep needs brakes: before the first command time runs freely, '
                               'and an unbraked robot would fall by an amount that '
                               'depends on the machine')


@dataclass
class Counters:
    """
    What happened so far.

    :param periods: periods integrated.
    :param commands: commands taken.
    :param refused: commands with a wrong size or a value that is not finite.
    :param outdated: commands for another reading than the one in question.
    :param superseded: readings not sent because a newer one was there.
    :param resent: readings sent again because no answer came.
    :param timeouts: times the brakes closed because no command came.
    """

    periods: int = 0
    commands: int = 0
    refused: int = 0
    outdated: int = 0
    superseded: int = 0
    resent: int = 0
    timeouts: int = 0
