# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Standard output and error that never make this process wait.

A terminal halted with Ctrl-S, or a launch process that does not read, takes no more lines. A write
would then block, and with it everything that needs the interpreter: no torque, no answer to
``~/stop``. Lines that nobody reads are dropped; they remain in the log file and on /rosout.
"""

from __future__ import annotations

import contextlib
import os
import select
import stat

__all__ = ['accepts_output', 'make_nonblocking', 'print_line']


def make_nonblocking(*descriptors: int) -> None:
    """
    Let writes to terminals and pipes fail rather than block.

    Each is opened a second time, for this process alone: O_NONBLOCK belongs to the open file
    description, which the shell and other processes share.

    :param descriptors: file descriptors; none: standard output and standard error.
    """
    for number in descriptors or (1, 2):
        try:
            mode = os.fstat(number).st_mode
            if stat.S_ISSOCK(mode):  # cannot be opened again
                os.set_blocking(number, False)
            if not (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)):
                continue  # a file on a disk
            new = os.open(f'/proc/self/fd/{number}',
                          os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_APPEND)
        except OSError:  # closed, or cannot be opened again: leave it as it is
            continue
        os.dup2(new, number)
        os.close(new)


def accepts_output(number: int) -> bool:
    """
    Return whether a write would succeed now, or fail for good because the reader has gone.

    :param number: file descriptor.
    """
    poller = select.poll()
    poller.register(number, select.POLLOUT)
    try:
        return bool(poller.poll(0))
    except OSError:
        return True


def print_line(text: str) -> None:
    """
    Write a line to standard error; it is dropped if nobody reads.

    :param text: without the end of the line.
    """
    with contextlib.suppress(OSError):
        os.write(2, f'{text}\n'.encode(errors='replace'))
