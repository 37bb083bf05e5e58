# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The one error that reaches the user: a paragraph that says what to do."""

from __future__ import annotations

import errno


class Failure(Exception):
    """Something that the user must know; the message is one paragraph."""

    def paragraph(self) -> str:
        """Return the message as it is shown; what another program said keeps its lines."""
        import textwrap  # slow to load, and a second use never comes here

        first, break_, rest = f'./run: {self}'.partition('\n')
        return textwrap.fill(first, 95, break_long_words=False, break_on_hyphens=False) \
            + break_ + rest


def from_os_error(error: OSError, doing: str) -> Failure:
    """
    Explain a failed system call.

    :param error: what the system said.
    :param doing: what was being done, as in "unpacking the ROS 2 runtime".
    """
    where = f' ({error.filename})' if error.filename else ''
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Failure(
            f'no disk space was left while {doing}{where}. What was begun has been removed. Free '
            'about 2 GB and run the same command again; XDG_CACHE_HOME moves the shared part to '
            'another disk.')
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR):
        return Failure(
            f'the system refused to write while {doing}{where}. Make the folder writable for this '
            'user, or name others that are, and run the same command again: RBD_ROS_STATE=/folder '
            'for what belongs to this checkout, XDG_CACHE_HOME for what all checkouts share.')
    return Failure(f'{doing} failed{where}: {error.strerror or error}.')
