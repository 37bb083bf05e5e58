# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Handles of the middleware that a loop serves, and the structs of C that go with them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rbd_ros.compiler.language.octets import Bytes
from rbd_ros.loop import rcl
from rbd_ros.loop.inputs import TEXTS
from rbd_ros.loop.records import Entities, Handle
from rbd_ros.loop.responder import QUEUE_SIZE

__all__ = ['Endpoints', 'entities']


class Endpoints(NamedTuple):
    """
    Addresses of rcl structs, which must stay until the loop has ended.

    :param clock: 0 if time is not simulated.
    :param signals: socket with the numbers of signals.
    :param sensor: readings of a force-torque sensor; 0 if there is none.
    """

    states: int
    dead_man: int
    stop: int
    output: int
    heartbeat: int
    clock: int
    signals: int
    sensor: int = 0


def entities(endpoints: Endpoints, command: Bytes) -> Entities:
    """
    Return the structs that are passed to the middleware.

    :param endpoints: its handles.
    :param command: the torque as a serialized message.
    """
    encoded = [text.encode() + b'\0' for text in TEXTS]
    content = rcl.zeros(sum(map(len, encoded)))
    content[:] = np.frombuffer(b''.join(encoded), np.uint8)
    sizes = np.array([len(each) - 1 for each in encoded], float)
    beat = np.frombuffer(bytes([0, 1, 0, 0]) + bytes(8), np.uint8).copy()
    handles = rcl.zeros(8 * len(Handle))
    words = handles.view(np.int64)
    for handle, value in (
            (Handle.STATES, endpoints.states), (Handle.DEAD_MAN, endpoints.dead_man),
            (Handle.CLOCK, endpoints.clock), (Handle.STOP, endpoints.stop),
            (Handle.OUTPUT, endpoints.output), (Handle.HEARTBEAT, endpoints.heartbeat),
            (Handle.SIGNALS, endpoints.signals), (Handle.TEXTS, content.ctypes.data),
            (Handle.SENSOR, endpoints.sensor)):
        words[handle // 8] = value
    return Entities(
        handles, rcl.semaphore(), rcl.semaphore(), rcl.semaphore(), rcl.zeros(16),
        rcl.growing(2 ** 16), rcl.serialized(command), rcl.serialized(beat), beat, rcl.zeros(24),
        rcl.zeros(8), rcl.semaphore(), rcl.zeros(QUEUE_SIZE), rcl.zeros(1024),
        np.cumsum([0.0, *(sizes + 1.0)])[:-1].copy(),
        sizes, content)
