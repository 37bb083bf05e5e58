# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Bytes between pages of memory that nobody may touch: a look beside them ends the process."""

import ctypes
import mmap

import numpy as np


class GuardedBytes:
    """
    A row of bytes whose last one, or first one, is next to forbidden memory.

    :param content: the bytes.
    :param front: whether the first byte is at the border, else the last.
    """

    def __init__(self, content, *, front=False):
        page = mmap.PAGESIZE
        pages = -(-max(len(content), 1) // page)
        self._memory = mmap.mmap(-1, (pages + 2) * page)
        whole = np.frombuffer(self._memory, np.uint8)
        address, begin = whole.ctypes.data, page if front else (pages + 1) * page - len(content)
        self.array = whole[begin:begin + len(content)]
        self.array[:] = np.frombuffer(bytes(content), np.uint8)
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        self._borders = [(address, page), (address + (pages + 1) * page, page)]
        self._protect = lambda how: [protect(ctypes.c_void_p(at), ctypes.c_size_t(n), how)
                                     for at, n in self._borders]
        assert self._protect(0) == [0, 0]

    def release(self):
        """Let the memory be used by others again."""
        self._protect(3)
