# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Words of bytes that threads share, for procedures: what one writes before, the other sees after.

Whoever reads with ``load_acquire`` what another thread has written with ``store_release`` sees all
that this one had written before, in any array. Nothing else may be relied on: without such a pair
the processor, and LLVM, may let what was written appear in any order, and parts of it never.

A word has eight bytes and begins at a multiple of eight, counted from the beginning of the bytes
and in memory. Elsewhere there is none: what is read is zero, and what is written is lost. In
Python the lock of the interpreter gives the order; machine code in another thread does not know
that lock, and what it shares with Python goes through
:class:`rbd_ros.compiler.shared_words.Words`, or through procedures that are bound.
"""

from __future__ import annotations

import ctypes

from rbd_ros.compiler.language.octets import Bytes, get_i64, put_i64

__all__ = ['add_acq_rel', 'exchange_acq_rel', 'load_acquire', 'SHARED', 'store_release']


def load_acquire(data: Bytes, at: int) -> int:
    """
    Return a word, before anything is read that follows.

    :param data: bytes.
    :param at: place of the first of eight.
    """
    return get_i64(data, at) if _is_word(data, at) else 0


def store_release(data: Bytes, at: int, value: int) -> None:
    """
    Write a word, after all is written that precedes.

    :param data: bytes.
    :param at: place of the first of eight.
    :param value: the number.
    """
    if _is_word(data, at):
        put_i64(data, at, value)


def add_acq_rel(data: Bytes, at: int, value: int) -> int:
    """
    Add to a word in one step, which no other thread comes between, and return what it was.

    :param data: bytes.
    :param at: place of the first of eight.
    :param value: what is added, modulo the range of 64 bits.
    """
    found = load_acquire(data, at)
    store_release(data, at, found + value)
    return found


def exchange_acq_rel(data: Bytes, at: int, value: int) -> int:
    """
    Write a word in one step, which no other thread comes between, and return what it was.

    :param data: bytes.
    :param at: place of the first of eight.
    :param value: the number.
    """
    found = load_acquire(data, at)
    store_release(data, at, value)
    return found


def _is_word(data: Bytes, at: int) -> bool:
    inside = 0 <= at <= len(data) - 8 and at & 7 == 0
    return inside and ctypes.addressof(ctypes.c_char.from_buffer(data)) & 7 == 0


#: What the language knows.
SHARED = (load_acquire, store_release, add_acq_rel, exchange_acq_rel)
