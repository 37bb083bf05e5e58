# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The words that the loop shares with Python and with the middleware's threads."""

from __future__ import annotations

import enum

__all__ = ['ENDED', 'RUN', 'SIZE', 'STOP_AND_END', 'Word']


class Word(enum.IntEnum):
    """
    Where each word is, in bytes. Each has one writer.

    Words of different writers are in different cache lines.
    """

    # Python
    END = 0  # what the loop is to do: RUN, STOP_AND_END, ENDED
    ALIVE = 8  # grows while the program around the loop works
    STARTING = 16  # what ~/stop would cancel, see Starting
    STOP = 32  # 1 if the robot is to be stopped: the process ends
    NEWS_READ = 24  # number of the last list of names that was read
    # the middleware's threads, by adding
    STATES_ARRIVED = 64
    DEAD_MAN_ARRIVED = 128
    STOPS_ARRIVED = 192
    # the loop
    NEWS = 256  # number of the last list of names that was left
    STATES = 264  # messages of states that were handled
    WAITING = 272  # of these, those whose successor was waiting when their torque left
    UNREADABLE = 280  # messages that were no joint states
    STOPS = 288  # requests on ~/stop
    FAILED = 296  # calls of the middleware that failed, but for torques
    UNSENT = 328  # torques that could not be sent
    PASSES = 304  # passes of the loop
    FINISHED = 312  # 1 once nothing will be sent any more
    UNANSWERED = 384  # answers that could not be sent; written by the thread that sends them
    UNREADABLE_SIZE = 320  # bytes of the last message that was no joint state


#: bytes of all words
SIZE = 448

#: values of Word.END
RUN, STOP_AND_END, ENDED = 0, 1, 2
