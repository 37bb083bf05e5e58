# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Bytes of messages, taken without the detours of rclpy.

It makes a dictionary and a buffer for each message, which takes twice as long as to take it.
"""

from __future__ import annotations

from collections.abc import Callable
import ctypes
from typing import Any, TYPE_CHECKING
import weakref

from rbd_ros.loop.rcl import growing, LoopUnavailable, release, zeros

if TYPE_CHECKING:
    from rclpy.subscription import Subscription

__all__ = ['Take', 'taker']

#: Gives when a message was received, ns, and its bytes; None: there is none.
Take = Callable[[], tuple[int, bytes] | None]
ROOM, INFO = 1024, 128  # bytes of a message at first, and more than a rmw_message_info_t has
_BUFFER, _LENGTH, _RECEIVED = 0, 1, 1  # words of a rcutils_uint8_array_t and of the information


def taker(subscription: Subscription[Any]) -> Take:
    """
    Return what takes the next message of a subscription, while its handle is held.

    :param subscription: raw; nobody else takes from it.
    """
    try:
        return _ByRcl(subscription)
    except (LoopUnavailable, OSError, AttributeError):
        return _by_rclpy(subscription)


class _ByRcl:
    """Takes with memory that is used for each message."""

    def __init__(self, subscription: Subscription[Any]) -> None:
        self._take = ctypes.CDLL('librcl.so').rcl_take_serialized_message
        self._reset = ctypes.CDLL('librcutils.so').rcutils_reset_error
        message, self._info = growing(ROOM), zeros(INFO)
        weakref.finalize(self, release, message)
        self._array = (ctypes.c_size_t * 3).from_address(message.ctypes.data)
        self._times = (ctypes.c_int64 * 2).from_address(self._info.ctypes.data)
        self._words = (*map(ctypes.c_void_p, (
            subscription.handle.pointer, message.ctypes.data, self._info.ctypes.data)), None)

    def __call__(self) -> tuple[int, bytes] | None:
        if self._take(*self._words) != 0:
            self._reset()
            return None
        array = self._array
        return self._times[_RECEIVED], ctypes.string_at(array[_BUFFER], array[_LENGTH])


def _by_rclpy(subscription: Subscription[Any]) -> Take:
    handle, kind = subscription.handle, subscription.msg_type

    def next_one() -> tuple[int, bytes] | None:
        found = handle.take_message(kind, True)
        return None if found is None else (found[1]['received_timestamp'], found[0])
    return next_one
