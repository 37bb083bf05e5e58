# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Transport of messages without shared memory.

Where Fast DDS sends a message through shared memory, it takes a lock that lies in the memory of
the receiver. A process that is halted (Ctrl-Z) or killed at the wrong moment keeps that lock, and
every sender waits for it: `publish` does not return, and the sender stands still for as long as
the receiver does. The loopback device has no such lock, and is as fast for messages of this size.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path

__all__ = ['avoid_shared_memory', 'PROFILES']

#: what is set for one machine
PROFILES = Path(__file__).parent / 'network_only.xml'

#: settings of the user, which stay as they are
_USER_SETTINGS = ('FASTDDS_BUILTIN_TRANSPORTS', 'FASTRTPS_DEFAULT_PROFILES_FILE')

_RANGE, _LOCALHOST_ONLY = 'ROS_AUTOMATIC_DISCOVERY_RANGE', 'ROS_LOCALHOST_ONLY'


def avoid_shared_memory(middleware: str, environment: MutableMapping[str, str]) -> bool:
    """
    Make this process use the network only; call it before the first node is created.

    :param middleware: identifier of rmw.
    :param environment: of the process; changed.
    :returns: whether anything was changed.
    """
    if 'fastrtps' not in middleware or any(environment.get(name) for name in _USER_SETTINGS):
        return False
    if environment.get(_LOCALHOST_ONLY) == '1' or environment.get(_RANGE) == 'LOCALHOST':
        # For this range, rmw adds shared memory by itself, whatever the transports are. The
        # profile has all the rest of it; rmw changes nothing for SUBNET but to add static peers.
        environment.pop(_LOCALHOST_ONLY, None)
        environment.update({_RANGE: 'SUBNET', 'FASTRTPS_DEFAULT_PROFILES_FILE': str(PROFILES)})
    else:
        environment['FASTDDS_BUILTIN_TRANSPORTS'] = 'UDPv4'
    return True
