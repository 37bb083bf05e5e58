# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Functions of libc and of rcl that the loop calls, and the structs that they take.

Everything here is public in the headers of ROS 2 Jazzy: rcl/publisher.h, rcl/subscription.h,
rcl/service.h, rcutils/types/uint8_array.h, rmw/types.h. The libraries are those that rclpy has
loaded already.
"""

from __future__ import annotations

from collections.abc import Iterable
import ctypes
from functools import cache
import time

import numpy as np

from rbd_ros.compiler.language.foreign import Foreign
from rbd_ros.compiler.language.octets import Bytes
from rbd_ros.errors import RbdError
from rbd_ros.loop.records import Library

__all__ = ['check_callbacks', 'drain', 'growing', 'library', 'LoopUnavailable', 'post_to',
           'publisher_gid', 'release', 'semaphore', 'serialized', 'set_callback', 'take_sender',
           'wait_for', 'zeros']

#: bytes of sem_t on 64-bit Linux, and of rcutils_uint8_array_t: three words, five of its allocator
_SEMAPHORE, _ARRAY = 32, 64

#: bytes of rmw_gid_t and of rmw_message_info_t, with room; where the gid is in each, and its size
_GID, _INFO, _IN_GID, _IN_INFO, _GID_SIZE = 64, 128, 8, 40, 16


class LoopUnavailable(RbdError):
    """A loop of machine code cannot run here; the message says what is missing."""


class _Allocator(ctypes.Structure):
    """A rcutils_allocator_t."""

    _fields_ = [(name, ctypes.c_void_p) for name in (
        'allocate', 'deallocate', 'reallocate', 'zero_allocate', 'state')]


def zeros(size: int) -> Bytes:
    """
    Return memory for C: zeros that begin at a multiple of 64.

    :param size: in bytes.
    """
    room = np.zeros(size + 63, np.uint8)
    begin = -room.ctypes.data % 64
    return room[begin:begin + size]


@cache
def _c() -> ctypes.CDLL:
    return ctypes.CDLL(None)


@cache
def _loaded(name: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        raise LoopUnavailable(f'{name} cannot be loaded: {error}') from None


def _rcl() -> ctypes.CDLL:
    return _loaded('librcl.so')


def _utilities() -> ctypes.CDLL:
    return _loaded('librcutils.so')


def _function(source: ctypes.CDLL, name: str) -> Foreign:
    try:
        return Foreign.of(getattr(source, name))
    except AttributeError:
        raise LoopUnavailable(f'there is no {name} here') from None


def library() -> Library:
    """
    Return the functions that the loop calls.

    :raises LoopUnavailable: naming the one that is missing.
    """
    c, rcl = _c(), _rcl()
    return Library(
        wait=_function(c, 'sem_clockwait'), post=_function(c, 'sem_post'),
        clock=_function(c, 'clock_gettime'), copy=_function(c, 'memcpy'),
        peek=_function(c, 'recv'), take=_function(rcl, 'rcl_take_serialized_message'),
        publish=_function(rcl, 'rcl_publish_serialized_message'),
        assert_liveliness=_function(rcl, 'rcl_publisher_assert_liveliness'),
        take_request=_function(rcl, 'rcl_take_request'),
        send_response=_function(rcl, 'rcl_send_response'),
        reset_error=_function(_utilities(), 'rcutils_reset_error'),
        try_wait=_function(c, 'sem_trywait'))


def semaphore() -> Bytes:
    """Return a semaphore of this process, at zero."""
    memory = zeros(_SEMAPHORE)
    if _c().sem_init(ctypes.c_void_p(memory.ctypes.data), 0, 0) != 0:
        raise LoopUnavailable('sem_init has failed')
    return memory


def wait_for(memory: Bytes, seconds: float) -> bool:
    """
    Wait for a semaphore, without the lock of the interpreter; return whether it was posted.

    :param memory: of the semaphore.
    :param seconds: at most.
    """
    end = time.monotonic_ns() + round(1e9 * seconds)
    until = (ctypes.c_int64 * 2)(end // 10**9, end % 10**9)
    while True:
        if _c().sem_clockwait(ctypes.c_void_p(memory.ctypes.data), time.CLOCK_MONOTONIC,
                              until) == 0:
            return True
        if time.monotonic_ns() >= end:
            return False
        # A signal has ended the wait: its handler runs, then it goes on.


def drain(memory: Bytes) -> None:
    """
    Take all that was posted to a semaphore.

    :param memory: of it.
    """
    while _c().sem_trywait(ctypes.c_void_p(memory.ctypes.data)) == 0:
        pass


def post_to(memory: Bytes) -> None:
    """
    Post a semaphore.

    :param memory: of it.
    """
    _c().sem_post(ctypes.c_void_p(memory.ctypes.data))


def serialized(content: Bytes) -> Bytes:
    """
    Return a rcutils_uint8_array_t around bytes that stay where they are.

    :param content: the message.
    """
    struct = zeros(_ARRAY)
    words = struct.view(np.int64)
    words[:3] = content.ctypes.data, content.size, content.size
    words[3:] = _allocator_words()
    return struct


def growing(capacity: int) -> Bytes:
    """
    Return a rcutils_uint8_array_t with memory of its own, which grows if a message is longer.

    :param capacity: bytes at first.
    """
    struct = zeros(_ARRAY)
    init = _utilities().rcutils_uint8_array_init
    init.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(_Allocator)]
    if init(struct.ctypes.data, capacity, ctypes.byref(_default_allocator())) != 0:
        raise LoopUnavailable(f'no memory for a message of {capacity} bytes')
    return struct


def release(struct: Bytes) -> None:
    """
    Give back the memory of a message.

    :param struct: what ``growing`` has returned.
    """
    _utilities().rcutils_uint8_array_fini(ctypes.c_void_p(struct.ctypes.data))


@cache
def _default_allocator() -> _Allocator:
    get = _utilities().rcutils_get_default_allocator
    get.restype = _Allocator
    found: _Allocator = get()
    return found


def _allocator_words() -> list[int]:
    allocator = _default_allocator()
    return [getattr(allocator, name) or 0 for name, *_ in allocator._fields_]


#: setters of callbacks by kind of entity
_SETTERS = {'subscription': 'rcl_subscription_set_on_new_message_callback',
            'service': 'rcl_service_set_on_new_request_callback'}


def set_callback(kind: str, handle: int, code: int, data: int) -> None:
    """
    Have machine code called in the middleware's thread when something has come.

    :param kind: 'subscription' or 'service'.
    :param handle: address of its rcl struct.
    :param code: address of the function, void (const void * data, size_t number); 0: none any
        more, and once this returns none runs.
    :param data: its first argument.
    :raises LoopUnavailable: if the middleware cannot do that.
    """
    setter = getattr(_rcl(), _SETTERS[kind])
    setter.argtypes = [ctypes.c_void_p] * 3
    if (result := setter(handle, code or None, data or None)) != 0:
        _utilities().rcutils_reset_error()
        raise LoopUnavailable(f'the middleware refuses {_SETTERS[kind]} ({result})')


def check_callbacks(entities: Iterable[tuple[str, int]]) -> None:
    """
    Find out whether the middleware says when something has come; afterwards it calls nobody.

    :param entities: kind of each, and the address of its rcl struct.
    :raises LoopUnavailable: if it does not.
    """
    # A real function: some middlewares refuse that only. This one does not look at its arguments.
    code = Foreign.of(_c().getpid).address
    for kind, handle in entities:
        set_callback(kind, handle, code, 0)
        set_callback(kind, handle, 0, 0)


def publisher_gid(handle: int) -> bytes:
    """
    Return the number by which the middleware knows a publisher.

    :param handle: address of its rcl struct.
    """
    of, find = _rcl().rcl_publisher_get_rmw_handle, _loaded(
        'librmw_implementation.so').rmw_get_gid_for_publisher
    of.restype, of.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    find.argtypes = [ctypes.c_void_p] * 2
    gid = zeros(_GID)
    if find(of(handle), gid.ctypes.data) != 0:
        _utilities().rcutils_reset_error()
        raise LoopUnavailable('the middleware does not tell the number of a publisher')
    return gid[_IN_GID:_IN_GID + _GID_SIZE].tobytes()


def take_sender(handle: int, message: Bytes) -> bytes:
    """
    Take a message of a subscription; return the number of its publisher, nothing if there is none.

    :param handle: address of the rcl struct of the subscription.
    :param message: what ``growing`` has returned; gets the content.
    """
    take = _rcl().rcl_take_serialized_message
    take.argtypes = [ctypes.c_void_p] * 4
    info = zeros(_INFO)
    if take(handle, message.ctypes.data, info.ctypes.data, None) != 0:
        _utilities().rcutils_reset_error()
        return b''
    return info[_IN_INFO:_IN_INFO + _GID_SIZE].tobytes()
