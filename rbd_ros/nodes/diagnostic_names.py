# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Names of parts and values in /diagnostics that the controller writes and the dashboard reads."""

__all__ = ['BALANCE', 'CONTACT', 'CONTACT_COUNT', 'CONTACT_FORCE', 'CONTACT_PLACE',
           'CONTACT_REACTION', 'CONTACT_TIME', 'CONTACT_TORQUE', 'JOINT_STATES', 'LAST_GOAL',
           'LATENCY', 'MEDIAN', 'RATE', 'REFERENCE', 'spread_key', 'SUPERVISOR']

SUPERVISOR, JOINT_STATES, CONTACT = 'supervisor', 'joint states', 'contact'
#: Of the node that keeps a robot on its feet.
BALANCE = 'balance'
#: Of the last contact, and how many there were.
CONTACT_REACTION, CONTACT_COUNT, CONTACT_TIME = 'reaction', 'contacts', 'last contact'
CONTACT_PLACE = 'last contact felt by'
CONTACT_TORQUE, CONTACT_FORCE = 'last contact torque', 'last contact force, N'
REFERENCE, LAST_GOAL = 'reference', 'last goal'
RATE = 'rate [Hz]'
MEDIAN = 'p50'


def spread_key(name: str, part: str, unit: str) -> str:
    """Return the key of a part of a distribution, such as its median."""
    return f'{name} {part} [{unit}]'


LATENCY = spread_key('latency', MEDIAN, 'ms')
