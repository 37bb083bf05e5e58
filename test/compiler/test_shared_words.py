# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Words that threads share: the same in Python and machine code, whole, ordered, in bounds."""

from __future__ import annotations

import re
import threading

from guarded_bytes import GuardedBytes
import numpy as np
import pytest
from rbd_ros.compiler.language.shared import (
    add_acq_rel, exchange_acq_rel, load_acquire, store_release)
from rbd_ros.compiler.native.octet_text import octet_functions
from rbd_ros.compiler.procedure import bind, bind_free, Bytes, Vector
from rbd_ros.compiler.shared_words import Words
from rbd_ros.compiler.source.c_procedures import emit_procedure

SIZE = 64
PLACES = np.array([*range(-9, SIZE + 10), -1e18, 1e18, -2.0 ** 31, 2.0 ** 32, 2.0 ** 40])


def use_all(data: Bytes, at: Vector, found: Vector) -> None:
    """Read, write and add in some places."""
    for k in range(len(at)):
        i = int(at[k])
        found[4 * k] = load_acquire(data, i)
        store_release(data, i, 3 * k - 40)
        found[4 * k + 1] = load_acquire(data, i)
        found[4 * k + 2] = add_acq_rel(data, i, -2 * k)
        found[4 * k + 3] = exchange_acq_rel(data, i, k) + load_acquire(data, i)


@pytest.mark.parametrize('front', [False, True])
def test_machine_code_is_python_and_touches_nothing_outside(front):
    """Words at multiples of eight, and nowhere else; the memory around is forbidden."""
    results = []
    for backend in ('python', 'llvm'):
        guarded = GuardedBytes(np.arange(SIZE, dtype=np.uint8) % 7, front=front)
        found = np.zeros(4 * len(PLACES))
        bind(use_all, guarded.array, PLACES, found, backend=backend)()
        results.append([found, guarded.array.copy()])
        guarded.release()
    for each in zip(*results, strict=True):
        np.testing.assert_array_equal(*each)
    found = results[0][0].reshape(-1, 4)
    for k, at in enumerate(PLACES.astype(int)):
        inside = 0 <= at <= SIZE - 8 and at % 8 == 0
        wanted = [3 * k - 40, 3 * k - 40, 2 * k - 40] if inside else [0.0] * 3
        assert found[k, 1:].tolist() == wanted


@pytest.mark.parametrize('backend', ['python', 'llvm'])
def test_bytes_that_begin_elsewhere_have_no_words(backend):
    """What is not at a multiple of eight in memory cannot be shared."""
    data, found = Words(9).memory[4:68], np.zeros(4 * len(PLACES))
    bind(use_all, data, PLACES, found, backend=backend)()
    assert not found.any() and not data.any()


def test_order_is_in_the_machine_code():
    """A processor with a strict order would hide the lack of it: the text must say it."""
    text = '\n'.join(octet_functions())
    for name, wanted in (('load_acquire', r'load atomic i64, .* acquire, align 8'),
                         ('store_release', r'store atomic i64 .* release, align 8'),
                         ('add_acq_rel', r'atomicrmw add .* acq_rel'),
                         ('exchange_acq_rel', r'atomicrmw xchg .* acq_rel')):
        body = text.split(f'@"rbd.{name}"', 1)[1].split('}', 1)[0]
        assert re.search(wanted, body), name


def test_words_for_python():
    """The same memory, and integers of 64 bits."""
    words = Words(5)
    assert len(words) == 5 and words.memory.ctypes.data % 64 == 0
    words.store(1, -7)
    assert words.add(1, 2 ** 62) == -7 and words.load(1) == 2 ** 62 - 7
    assert words.add(1, 2 ** 62) and words.add(1, 2 ** 62) and words.load(1) == 3 * 2 ** 62 - 7 - (
        2 ** 64)
    words.store(4, 2 ** 64 + 3)
    assert words.memory.view(np.int64).tolist() == [0, words.load(1), 0, 0, 3]
    for access in (words.load, lambda k: words.store(k, 1), lambda k: words.add(k, 1)):
        with pytest.raises(IndexError):
            access(5)
    with pytest.raises(ValueError, match='at least one word, not 0'):
        Words(0)


def test_words_without_llvmlite(monkeypatch):
    """Python alone needs no machine code for the same numbers."""
    monkeypatch.setattr('rbd_ros.compiler.shared_words.has_llvm', lambda: False)
    words = Words(2)
    words.store(1, -7)
    assert (words.add(1, 9), words.load(1), words.load(0)) == (-7, 2, 0)
    assert words.memory.view(np.int64).tolist() == [0, 2]


def add_many(words: Bytes, turns: Vector) -> None:
    """Add one many times."""
    for _ in range(int(turns[0])):
        add_acq_rel(words, 8, 1)


def test_no_addition_is_lost():
    """Two threads of machine code and one of Python add to the same word."""
    words, turns = Words(2), np.array([200_000.0])
    threads = [threading.Thread(target=bind_free(add_many, words.memory, turns))
               for _ in range(2)]
    for each in threads:
        each.start()
    for _ in range(1000):
        words.add(1, 1)
    for each in threads:
        each.join()
    assert words.load(1) == 401_000


def test_c99_refuses_them():
    """It has no order between threads."""
    with pytest.raises(TypeError, match='load_acquire cannot be had in C99'):
        emit_procedure(use_all, Words(8).memory, PLACES, np.zeros(4 * len(PLACES)))
