# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What the loop and Python hand each other: three ways, none of which lets one wait for the other.

- A mailbox, for requests: the letters, which are any arrays, belong to Python until it posts, then
  to the loop until it answers. There is one request at a time.
- A ring of rows, for what is said: the loop adds, Python takes. Where it is full, the oldest rows
  stay, and what is not added is counted.
- The latest of a vector, for what is looked at: the writer has a row of its own, the reader has
  one, and the third changes hands. The reader gets the newest, whole, however often it looks.

Each has its words, which begin with zeros, and which nothing but the functions below may touch.
Every word has one writer, but for the one that changes hands, and words of different writers are
in different lines of the cache. All else is written by the one whom the words make its owner, and
is handed over by them: acquire and release, see :mod:`rbd_ros.compiler.language.shared`. On each
side one thread works at a time; the lock of the interpreter sees to that where the side is Python,
which calls bound procedures.
"""

from __future__ import annotations

from rbd_ros.compiler.language.octets import get_i64, put_i64
from rbd_ros.compiler.language.shared import exchange_acq_rel, load_acquire, store_release
from rbd_ros.compiler.procedure import Bytes, Matrix, Vector

__all__ = [
    'answer', 'is_answered', 'is_posted', 'LATEST_ROWS', 'look_for_answer', 'lost_rows', 'pop_row',
    'post', 'publish', 'push', 'take_latest', 'WORDS']

#: How many words each of the three has.
WORDS = 24

# Bytes before each word: of the mailbox, whose writers are Python and the loop,
_POSTED, _ANSWERED = 0, 64
# of the ring, where the loop writes the first two and Python the third,
_WRITTEN, _LOST, _READ = 0, 8, 64
# and of the latest, where the first changes hands; the second is the writer's, the third the
# reader's.
_BETWEEN, _BACK, _FRONT = 0, 64, 128

#: Rows of the memory of a vector whose latest value is wanted.
LATEST_ROWS = 3
# In a word is the number of a row less that of the row to begin with, modulo 4: it is zero then.
_MIDDLE, _LAST, _ROW = 1, 2, 3
# In the word that changes hands, besides: nobody has taken that row yet.
_FRESH = 4


# --- mailbox ----------------------------------------------------------------------------------


def post(words: Bytes) -> None:
    """
    Hand the letters to the loop; Python does so once they are its own, and filled.

    :param words: of the mailbox.
    """
    store_release(words, _POSTED, get_i64(words, _POSTED) + 1)


def is_answered(words: Bytes) -> bool:
    """
    Return whether the letters are Python's; its side asks.

    :param words: of the mailbox.
    """
    return load_acquire(words, _ANSWERED) == get_i64(words, _POSTED)


def look_for_answer(words: Bytes, found: Vector) -> None:
    """
    Find out whether the letters are Python's, for a call from there.

    :param words: of the mailbox.
    :param found: gets 1 if they are, else 0.
    """
    found[0] = 1.0 if is_answered(words) else 0.0


def is_posted(words: Bytes) -> bool:
    """
    Return whether the letters are the loop's; its side asks.

    :param words: of the mailbox.
    """
    return load_acquire(words, _POSTED) != get_i64(words, _ANSWERED)


def answer(words: Bytes) -> None:
    """
    Hand the letters to Python; the loop does so once they are its own, and done with.

    :param words: of the mailbox.
    """
    store_release(words, _ANSWERED, get_i64(words, _ANSWERED) + 1)


# --- ring -------------------------------------------------------------------------------------


def push(words: Bytes, rows: Matrix, row: Vector) -> None:
    """
    Add a row; if there is no room it is lost, and counted.

    :param words: of the ring.
    :param rows: its memory, of a power of two of rows.
    :param row: what is added, as long as they are.
    """
    written = get_i64(words, _WRITTEN)
    if written - load_acquire(words, _READ) >= len(rows):
        store_release(words, _LOST, get_i64(words, _LOST) + 1)
        return
    k = written & (len(rows) - 1)
    for i in range(len(row)):
        rows[k, i] = row[i]
    store_release(words, _WRITTEN, written + 1)


def pop_row(words: Bytes, rows: Matrix, row: Vector, found: Vector) -> None:
    """
    Take the oldest row out.

    :param words: of the ring.
    :param rows: its memory.
    :param row: gets it.
    :param found: gets 1, or 0 if there is none.
    """
    found[0] = 0.0
    read = get_i64(words, _READ)
    if read == load_acquire(words, _WRITTEN):
        return
    k = read & (len(rows) - 1)
    for i in range(len(row)):
        row[i] = rows[k, i]
    store_release(words, _READ, read + 1)
    found[0] = 1.0


def lost_rows(words: Bytes, found: Vector) -> None:
    """
    Count the rows that were lost, from the beginning.

    :param words: of the ring.
    :param found: gets their number.
    """
    found[0] = load_acquire(words, _LOST)


# --- latest -----------------------------------------------------------------------------------


def publish(words: Bytes, rows: Matrix, row: Vector) -> None:
    """
    Make a vector the newest.

    :param words: of the latest.
    :param rows: its memory, of ``LATEST_ROWS``.
    :param row: the vector.
    """
    k = get_i64(words, _BACK)
    for i in range(len(row)):
        rows[k, i] = row[i]
    former = exchange_acq_rel(words, _BETWEEN, ((k - _MIDDLE) & _ROW) + _FRESH)
    put_i64(words, _BACK, (former + _MIDDLE) & _ROW)


def take_latest(words: Bytes, rows: Matrix, row: Vector, found: Vector) -> None:
    """
    Take the newest vector, unless it was taken before.

    :param words: of the latest.
    :param rows: its memory.
    :param row: gets it, or is left alone.
    :param found: gets 1, or 0 if nothing was published since the last was taken.
    """
    found[0] = 0.0
    if load_acquire(words, _BETWEEN) < _FRESH:
        return
    own = (get_i64(words, _FRONT) + _LAST) & _ROW
    former = exchange_acq_rel(words, _BETWEEN, (own - _MIDDLE) & _ROW)
    k = (former + _MIDDLE) & _ROW
    put_i64(words, _FRONT, (k - _LAST) & _ROW)
    for i in range(len(row)):
        row[i] = rows[k, i]
    found[0] = 1.0
