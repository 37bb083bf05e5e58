# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What a process asks of the system for a control loop; each request returns why it was refused.

All of them count for the calling thread or the whole process at once, and end with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import ctypes
import os

import numpy as np
from numpy.typing import NDArray

__all__ = ['name_thread', 'request_arrays', 'request_cores', 'request_heap',
           'request_locked_memory', 'request_priority', 'request_stack']

_MCL_CURRENT, _MCL_FUTURE = 1, 2
#: Of madvise, from Linux 5.14: give pages memory as if each were written to; contents stay.
_MADV_POPULATE_WRITE = 23
_EINVAL = 22
_M_TRIM_THRESHOLD = -1
#: Bytes of the stack that a loop and the middleware under it may use.
_STACK = 2**20
#: Bytes that the middleware may allocate at once, in blocks that come from the heap.
_HEAP, _BLOCK = 4 * 2**20, 64 * 2**10
#: Bytes of a freed heap that are kept.
_KEPT = 64 * 2**20


def name_thread(name: str) -> None:
    """
    Name the calling thread, as tools of the system show it; Python does so from 3.14 on.

    :param name: of it; the system keeps the first 15 bytes.
    """
    try:
        library = ctypes.CDLL(None)
        library.pthread_self.restype = ctypes.c_void_p
        library.pthread_setname_np(ctypes.c_void_p(library.pthread_self()), name.encode()[:15])
    except (OSError, AttributeError):
        pass  # a name changes nothing


def request_priority(priority: int) -> str:
    """
    Schedule the calling thread before all others of lower priority.

    :param priority: of SCHED_FIFO, from 1 to 99.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    except (OSError, AttributeError) as error:
        return _reason(error)
    return ''


def request_cores(cores: Sequence[int]) -> str:
    """
    Let the calling thread run on these cores alone: on all of them, or nothing is changed.

    :param cores: their numbers; isolated ones too, which no thread has unasked.
    """
    missing = []
    try:
        before = os.sched_getaffinity(0)
        for core in cores:      # of a set, the system takes what is there and does not say so
            try:
                os.sched_setaffinity(0, {core})
            except (OSError, ValueError, OverflowError):
                missing.append(core)
        os.sched_setaffinity(0, before if missing else set(cores))
    except (OSError, AttributeError) as error:
        return _reason(error)
    return (f'core {", ".join(map(str, missing))} is not there, or not for this process'
            if missing else '')


def request_locked_memory() -> str:
    """Keep all memory of the process from being paged out."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if library.mlockall(_MCL_CURRENT | _MCL_FUTURE) == 0:
            return ''
        return os.strerror(ctypes.get_errno())
    except (OSError, AttributeError) as error:
        return _reason(error)


def request_stack() -> str:
    """
    Give the stack of the calling thread its memory, so that it never waits for a page.

    The main thread is refused: the system maps its stack as it grows.
    """
    try:
        library = ctypes.CDLL(None, use_errno=True)
        library.pthread_self.restype = ctypes.c_void_p
        attributes = ctypes.create_string_buffer(256)       # pthread_attr_t has at most 64
        begin, size = ctypes.c_void_p(), ctypes.c_size_t()
        thread = ctypes.c_void_p(library.pthread_self())
        if library.pthread_getattr_np(thread, attributes):
            return 'the stack cannot be found'
        library.pthread_attr_getstack(attributes, ctypes.byref(begin), ctypes.byref(size))
        library.pthread_attr_destroy(attributes)
    except (OSError, AttributeError) as error:
        return _reason(error)
    end = (begin.value or 0) + size.value
    return _populate(end - min(_STACK, size.value), end)


def request_heap() -> str:
    """Let the heap of the calling thread have memory that it keeps."""
    try:
        library = ctypes.CDLL(None, use_errno=True)
        library.malloc.restype = ctypes.c_void_p
        if not library.mallopt(_M_TRIM_THRESHOLD, _KEPT):
            return 'mallopt is refused'
        # Each of a size that comes from the heap of the thread, and not from the system.
        blocks = [ctypes.c_void_p(library.malloc(ctypes.c_size_t(_BLOCK)))
                  for _ in range(_HEAP // _BLOCK)]
        try:
            if not all(blocks):
                return 'there is no more memory'
            for block in blocks:
                ctypes.memset(block, 0, _BLOCK)
        finally:
            for block in blocks:
                library.free(block)
    except (OSError, AttributeError) as error:
        return _reason(error)
    return ''


def request_arrays(arrays: Iterable[NDArray[np.generic]]) -> str:
    """
    Give arrays their memory, which fresh ones have only where they were written; contents stay.

    :param arrays: C-contiguous ones.
    """
    for array in arrays:
        begin = array.ctypes.data
        reason = _populate(begin, begin + array.nbytes)
        if reason:
            return reason
    return ''


def _populate(begin: int, end: int) -> str:
    """Give the pages from one address to another memory."""
    page = os.sysconf('SC_PAGE_SIZE')
    begin = begin // page * page
    library = ctypes.CDLL(None, use_errno=True)
    size = ctypes.c_size_t(-(-(end - begin) // page) * page)
    if end <= begin or library.madvise(ctypes.c_void_p(begin), size, _MADV_POPULATE_WRITE) == 0:
        return ''
    error = ctypes.get_errno()
    return 'needs Linux 5.14 or newer' if error == _EINVAL else os.strerror(error)


def _reason(error: Exception) -> str:
    return getattr(error, 'strerror', None) or str(error)
