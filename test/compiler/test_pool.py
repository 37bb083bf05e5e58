# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Threads of a batch: none outlives its call, and no accident stops later ones."""

import os
from queue import SimpleQueue
import subprocess
import sys
import threading
import time

import pytest
from rbd_env.pace import patient
from rbd_ros.compiler.native import pool

pytestmark = pytest.mark.slow

#: Interrupts a batch of many states as Ctrl-C does, again and again, and looks whether anything
#: is written after the call has ended.
INTERRUPTED = """
import os, signal, sys, threading, time
import numpy as np
from rbd_ros.compiler import compile, sin, trace

def deep(x):
    y = x[0]
    for k in range(300):
        y = sin(y + x[k % 7] * (k + 1.0))
    return [y] * 7

kernel = compile(trace(deep, {'x': 7}), backend='llvm', cache=False)
x = np.random.default_rng(0).normal(size=(150_000, 7))
kernel.prepare_batch()
whole = float('inf')
for _ in range(3):                      # the machine may have been busy with something else
    start = time.perf_counter()
    expected = kernel.batch(x, threads=8)
    whole = min(whole, time.perf_counter() - start)

def interrupt(_, frame):                # not in this script itself, whose lines must go on
    if 'rbd_ros' in frame.f_code.co_filename:
        raise KeyboardInterrupt

signal.signal(signal.SIGINT, interrupt)

def strike(times, wait):
    time.sleep(wait)
    for _ in range(times):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.002)

interrupted = 0
for times in (1, 1, 30, 30):
    out = np.full(x.shape, np.nan)
    thread = threading.Thread(target=strike, args=(times, 0.3 * whole))
    thread.start()
    try:
        kernel.batch(x, out=out, threads=8)
    except KeyboardInterrupt:
        interrupted += 1
    ended = out.copy()
    thread.join()                       # the strikes may outlast the call
    time.sleep(1.5 * whole)
    if not np.array_equal(out, ended, equal_nan=True):
        sys.exit(f'{np.sum(out != ended) - np.sum(np.isnan(out))} numbers came late')
    if not np.array_equal(kernel.batch(x, threads=8), expected):
        sys.exit('a later batch is wrong')
if interrupted < 2:
    sys.exit(f'only {interrupted} calls were interrupted')
"""


@pytest.fixture
def alone():
    """Return a pool of its own."""
    return pool.Pool()


def helpers():
    """Return how many threads of pools there are."""
    return sum(thread.name == 'rbd_ros batch' for thread in threading.enumerate())


def test_nothing_is_written_after_ctrl_c():
    """Real interrupts in the middle of 150,000 states: no row is written once it has raised."""
    pytest.importorskip('llvmlite', reason='llvmlite is not installed')
    done = subprocess.run([sys.executable, '-c', INTERRUPTED], timeout=patient(300), text=True,
                          stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize('kind', [KeyboardInterrupt, ValueError])
def test_an_error_of_the_caller_waits_for_the_others(kind, alone):
    """The call raises only when every task that was begun has ended."""
    begun, ended = threading.Event(), []

    def slow():
        begun.set()
        time.sleep(0.1)
        ended.append(True)

    def failing():
        if threading.current_thread() is threading.main_thread():
            begun.wait(patient(10.0))
            raise kind('mine')
        slow()
    with pytest.raises(kind, match='mine'):
        alone.run([failing, failing])
    assert ended == [True]


def test_an_error_of_a_helper_reaches_the_caller(alone):
    """A task that raises in another thread raises in the call; the thread goes on to serve."""
    begun = threading.Event()

    def failing():
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            raise ZeroDivisionError('theirs')
        begun.wait(patient(10.0))
    before = helpers()
    for _ in range(5):
        begun.clear()
        with pytest.raises(ZeroDivisionError, match='theirs'):
            alone.run([failing] * 3)
        seen = []
        alone.run([lambda: seen.append(threading.get_ident())] * 20)
        assert len(seen) == 20
    assert helpers() - before == 19


def test_interruptions_while_waiting(alone, monkeypatch):
    """However often the wait itself is interrupted, it goes on to the end, and then raises."""
    waits, get = [], SimpleQueue.get

    class Restless(SimpleQueue):

        def get(self, block=True, timeout=None):
            if threading.current_thread() is threading.main_thread():
                waits.append(time.monotonic())
                if len(waits) % 2:
                    raise KeyboardInterrupt
            return get(self, block, timeout)
    monkeypatch.setattr(pool, 'SimpleQueue', Restless)
    ended, begun = [], threading.Event()

    def task():
        if threading.current_thread() is threading.main_thread():
            begun.wait(patient(10.0))
            return
        begun.set()
        time.sleep(0.25)
        ended.append(True)
    with pytest.raises(KeyboardInterrupt):
        alone.run([task, task])
    assert ended and len(waits) >= 3


def test_without_threads_the_caller_does_it_all(alone, monkeypatch):
    """Where the system gives no thread, the work is done all the same."""
    def refuse(self):
        raise RuntimeError("can't start new thread")
    monkeypatch.setattr(threading.Thread, 'start', refuse)
    seen = []
    alone.run([lambda: seen.append(os.getpid())] * 4)
    assert len(seen) == 4


def test_tasks_that_nobody_has_begun_are_given_up(alone, monkeypatch):
    """After an error nothing new is begun."""
    def refuse(self):
        raise RuntimeError("can't start new thread")
    monkeypatch.setattr(threading.Thread, 'start', refuse)
    seen = []

    def failing():
        raise ValueError
    with pytest.raises(ValueError):
        alone.run([failing, lambda: seen.append(1)])
    assert not seen
