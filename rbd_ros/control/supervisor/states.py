# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""States of the supervisor, kinds of torque, and the times between them."""

from __future__ import annotations

from dataclasses import dataclass
import enum

__all__ = ['Due', 'LoadTrust', 'longest_ramp', 'longest_release', 'StateCode', 'STOP_LIMIT',
           'SupervisorState', 'Timing']

#: s by which the timer that sends the last torques may be late
_LATE = 0.05


class SupervisorState(enum.Enum):
    """Where the supervisor is; the values are what diagnostics print."""

    INACTIVE = 'inactive'  # nothing is checked or published
    PROBING = 'probing'  # states are checked, nothing is published
    RAMPING_IN = 'ramping in'  # full gravity at the rate limit, gains from 0 to 1
    RUNNING = 'running'  # the law of the mode
    BRAKING = 'braking'  # live g(q) - D qd
    HOLDING = 'holding'  # live position hold, fault latched
    FLOATING = 'floating'  # after a contact: live g(q) and a little damping, fault latched
    COMPLYING = 'complying'  # after a contact: springs at the tip, fault latched
    RETRACTING = 'retracting'  # after a contact: back along the path, fault latched
    LOST = 'state lost'  # the last gravity torque, at most hold_time
    RAMPING_DOWN = 'ramping down'  # to the release torque
    RELEASING = 'releasing'  # the release torque, several times
    RELEASED = 'released'  # nothing more is published; ended as asked
    FAULT = 'fault'  # nothing more is published; latched until reset


class StateCode(enum.IntEnum):
    """The place of a state in :class:`SupervisorState`: what procedures know it by."""

    INACTIVE = 0
    PROBING = 1
    RAMPING_IN = 2
    RUNNING = 3
    BRAKING = 4
    HOLDING = 5
    FLOATING = 6
    COMPLYING = 7
    RETRACTING = 8
    LOST = 9
    RAMPING_DOWN = 10
    RELEASING = 11
    RELEASED = 12
    FAULT = 13


class Due(enum.IntEnum):
    """What kind of torque is due."""

    NOTHING = 0
    LAW = 1  # g + gain (law - g)
    BRAKE = 2  # live g(q) - D qd
    HOLD = 3  # live position hold
    FLOAT = 4  # live g(q) and a little damping
    COMPLY = 5  # springs at the tip
    RETRACT = 6  # the way back
    LAST_GRAVITY = 7  # the last gravity torque, frozen
    RAMP_LIVE = 8  # blend from live g(q) - D qd to the release torque
    RAMP_BLIND = 9  # blend from what was last published to the release torque
    RELEASE = 10  # the release torque


class LoadTrust(enum.IntEnum):
    """How far the torque that the robot shows besides g(q) is taken for its load."""

    NONE = 0  # not at all
    USUAL = 1  # up to the part of the torque limits that a hold may have
    LIMIT = 2  # up to the torque limits: g(q) of the description is wrong


#: s that a stop may take by its parameters: then the process ends, because launch escalates at 5 s
STOP_LIMIT = 4.0


@dataclass(frozen=True)
class Timing:
    """Times and choices of the supervisor, in seconds."""

    state_timeout: float = 0.1
    hold_time: float = 0.3
    brake_time: float = 0.5
    release_time: float = 0.5
    ramp_time: float = 1.0
    release_repeats: int = 5
    pause_limit: float = 60.0  # simulated clock at rest
    simulated: bool = False
    recover: bool = False  # a lost state may end its own fault
    fault_action: str = 'hold'  # after braking: 'hold' or 'release'
    stop_action: str = 'hold'  # the same where an operator stopped
    stop_time: float = 1.0  # from a torque limit to zero at the rate limit
    period: float = 0.002  # between two torques that need no state
    contact: str = 'stop'  # what follows a contact: 'stop', 'float', 'comply' or 'retract'
    retract_time: float = 1.0  # of the way back at most

    @property
    def longest_ramp(self) -> float:
        """Return when a ramp ends at the latest: it may begin at the limit of the other side."""
        return longest_ramp(self.release_time, self.stop_time)

    @property
    def longest_release(self) -> float:
        """Return how long the release torque is sent at most."""
        return longest_release(self.release_repeats, self.period)

    @property
    def longest_stop(self) -> float:
        """Return how long the longest stop takes: the state is lost at the end of braking."""
        return (self.brake_time + self.state_timeout + self.hold_time + self.longest_ramp
                + self.longest_release)


def longest_ramp(release_time: float, stop_time: float) -> float:
    """
    Return when a ramp ends at the latest: it may begin at the limit of the other side, s.

    :param release_time: of the ramp, s.
    :param stop_time: from a torque limit to zero at the rate limit, s.
    """
    return release_time + 2.0 * stop_time


def longest_release(repeats: float, period: float) -> float:
    """
    Return how long the release torque is sent at most, s.

    :param repeats: how often it is sent.
    :param period: between two torques that need no state, s.
    """
    return (repeats + 2.0) * period + _LATE
