# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the torque of a step is made from, what is kept of it, and its parameters."""

from __future__ import annotations

import enum

from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, group, Record
from rbd_ros.control.interface.row import ContactReaction
from rbd_ros.control.parameters.given import blind_period, Inputs, torque_limits, torque_rates
from rbd_ros.control.supervisor.answers import Supervisor, SupervisorParameters
from rbd_ros.control.supervisor.states import longest_ramp, longest_release
from rbd_ros.control.torque.fade import Fade
from rbd_ros.control.torque.limiter import Limiter, LimiterParameters

__all__ = ['Command', 'CommandLimits', 'Computed', 'Doing', 'fill_command',
           'fill_timing', 'Need', 'Torque', 'TorqueParameters']


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


class Doing(Record):
    """What the controlled joints and their law do in this step."""

    now: float = field('', 's', 'control time')
    runs: bool = field('', '', 'whether the law computes the torque; else the robot is stopped')
    tracks: bool = field('', '', 'whether it has a tracking error of the joints')
    leads: bool = field('', '', 'whether it has one of the tip')
    rests: bool = field('', '', 'whether it wants no motion')
    q: Vector = field('n', 'rad or m', 'positions')
    qd: Vector = field('n', 'rad/s or m/s', 'velocities')
    error: Vector = field('n', 'rad or m', 'tracking errors of the joints')
    lead: Vector = field('2', 'rad, m', 'of orientation and position of the tip')


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


def fill_timing(p: SupervisorParameters, g: Inputs) -> None:
    """
    Take times and choices.

    :param p: gets them.
    :param g: what was given.
    """
    p.state_timeout, p.hold_time = g.values.state_timeout, g.values.hold_time
    p.brake_time, p.release_time = g.values.brake_time, g.values.release_time
    p.ramp_time, p.release_repeats = g.values.ramp_time, g.values.release_repeats
    p.pause_limit, p.retract_time = g.values.pause_limit, g.values.contact.retract_time
    p.longest_ramp = longest_ramp(p.release_time, g.values.stop_time)
    p.longest_release = longest_release(p.release_repeats, blind_period(g.values.nominal_rate))
    p.simulated, p.recover = g.simulated, g.values.recover_lost_state
    p.fault_holds = g.values.fault_action == 0
    p.stop_holds = 1.0 if g.values.stop_action == 0 else 0.0
    p.contact_floats = g.values.contact.reaction == ContactReaction.FLOAT
    p.contact_complies = g.values.contact.reaction == ContactReaction.COMPLY
    p.contact_retracts = g.values.contact.reaction == ContactReaction.RETRACT


def fill_command(p: CommandLimits, g: Inputs) -> None:
    """
    Take the parameters of supervisor and torque.

    :param p: gets them.
    :param g: what was given.
    """
    fill_timing(p.supervisor, g)
    p.torque.switch_time = g.values.switch_time
    p.torque.keeps_gravity = g.values.release_torque == 1
    p.torque.limits.period = 1.0 / g.values.nominal_rate
    p.torque.limits.limit[:] = torque_limits(g)
    p.torque.limits.rate[:] = torque_rates(g)
