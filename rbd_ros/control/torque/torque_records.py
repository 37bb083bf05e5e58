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

"""What the torque of a step is made from, what is kept of it, and its parameters."""

from __future__ import annotations

import enum

from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.supervisor.answers import fill_timing, Supervisor, SupervisorParameters
from rbd_ros.control.torque.fade import Fade
from rbd_ros.control.torque.limiter import Limiter, LimiterParameters

__all__ = ['Command', 'CommandLimits', 'Computed', 'fill_command', 'Need', 'Torque',
           'TorqueParameters']


class Need(enum.IntEnum):
    """What is to be computed."""

    LAW = 0  # law of the mode, gravity, driver's part
    HOLD = 1  # law of holding where the robot was when holding began, gravity, driver's part
    STOP = 2  # the torque that brakes, gravity, driver's part
    FLOAT = 3  # gravity and a little damping, driver's part
    COMPLY = 4  # springs at the tip, gravity, driver's part
    RETRACT = 5  # law of the way back, gravity, driver's part


class Computed(Record):
    """What the laws give for the present state; it may be anything, and lasts for one step."""

    law: Vector = field('n', 'N.m or N', 'torque of the law, or of the hold')
    brake: Vector = field('n', 'N.m or N', 'torque that brakes')
    gravity: Vector = field('n', 'N.m or N', 'g(q), with payload')
    driver: Vector = field('n', 'N.m or N', 'what the driver adds by itself')
    wanted: Vector = field('n', 'N.m or N', 'total torque that is being put together')


class Torque(Record):
    """What was sent, and what is needed to go on from it."""

    state: float = field('', '', 'of the supervisor that was announced last')
    sending: bool = field('', '', 'whether a torque was sent since the last silence')
    now: float = field('', 's', 'control time of the last command')
    answered: float = field('', 's', 'control time of the last one that answers a state')
    steady: float = field('', 's', 'steady time of the last command')
    published: float = field('', '', 'number of torques sent')
    known: bool = field('', '', 'whether start is what acts before the first torque')
    ramping: bool = field('', '', 'whether it is in a ramp that uses no state')
    start_blend: float = field('', '', 'share at which that ramp began')
    start: Vector = field('n', 'N.m or N', 'torque from which a ramp or an activation begins')
    wanted: Vector = field('n', 'N.m or N', 'total torque before the limiter')
    gravity: Vector = field('n', 'N.m or N', 'g(q) of the last good state')
    limiter: Limiter = group(Limiter)
    fade: Fade = group(Fade)


class TorqueParameters(Record):
    """Limits and choices of the torque."""

    switch_time: float = field('', 's', 'over which a change of the law fades')
    keeps_gravity: bool = field('', '', 'whether the last gravity torque stays after release')
    limits: LimiterParameters = group(LimiterParameters)


class Command(Record):
    """The supervisor and its torque."""

    supervisor: Supervisor = group(Supervisor)
    torque: Torque = group(Torque)


class CommandLimits(Record):
    """Parameters of both."""

    supervisor: SupervisorParameters = group(SupervisorParameters)
    torque: TorqueParameters = group(TorqueParameters)


def fill_command(p: CommandLimits, settings: Settings) -> None:
    """
    Take the parameters of supervisor and torque; ordinary Python.

    :param p: takes them.
    :param settings: valid set.
    """
    fill_timing(p.supervisor, settings.timing())
    p.torque.switch_time = settings.number('switch_time')
    p.torque.keeps_gravity = settings.release_torque == 'gravity'
    limits = p.torque.limits
    limits.period = 1.0 / settings.number('nominal_rate')
    limits.limit[:], limits.rate[:] = settings.torque_limits, settings.torque_rates
