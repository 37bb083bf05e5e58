# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Signals that end a process: each is taken once, whenever and wherever it comes."""

import contextlib
import signal
import sys
import threading
import time

import pytest
from rbd_env.pace import patient
from rbd_ros.nodes.process_end import ProcessEnd


def test_an_end_is_taken_once(monkeypatch):
    """The second signal of launch does not interrupt the end that the first one began."""
    monkeypatch.setattr(signal, 'signal', lambda *_: None)
    ending = ProcessEnd()
    ending.start()
    with pytest.raises(KeyboardInterrupt):
        ending._on_signal()
    ending._on_signal()
    assert ending.wait()
    set_to = []
    monkeypatch.setattr(signal, 'signal', lambda *given: set_to.append(given))
    ending.fail('lost')
    ending.close()
    ending.fail('torn down')
    assert ending.failure == 'lost'
    assert set_to == [(signal.SIGINT, signal.SIG_IGN)]  # Python itself takes no part any more


def test_a_signal_before_the_start(monkeypatch):
    """One that comes while handlers are set raises where the start can be given up, no sooner."""
    monkeypatch.setattr(signal, 'signal', lambda *_: None)
    ending = ProcessEnd()
    ending._on_signal()
    with pytest.raises(KeyboardInterrupt):
        ending.start()


@pytest.fixture
def handlers():
    """Give the signals back to those who had them."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    waker = signal.set_wakeup_fd(-1)
    yield
    signal.set_wakeup_fd(-1)
    with contextlib.suppress(OSError):  # what an earlier test set may be closed by now
        signal.set_wakeup_fd(waker)
    for number, handler in before.items():
        signal.signal(number, handler)


def test_signals_interrupt_each_other(handlers):
    """A second signal may come at any line of a handler, as when a terminal closes."""
    ending = ProcessEnd()
    places = set()

    def trace(frame, event, _):
        place = frame.f_code, frame.f_lineno
        if event == 'line' and place not in places:
            places.add(place)
            signal.raise_signal(signal.SIGHUP)
        return trace
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        signal.raise_signal(signal.SIGTERM)
    finally:
        sys.settrace(before)
    assert ending.wait(0.0)
    assert len({code for code, _ in places}) > 1  # the handler, and what it calls


def test_a_signal_in_another_thread_ends_the_wait(handlers):
    """The system may give a signal to any thread; the main thread must not sleep on."""
    ending = ProcessEnd()
    began = threading.Event()

    def take():
        began.wait()
        time.sleep(0.05)  # the main thread waits
        signal.pthread_kill(threading.get_ident(), signal.SIGHUP)
    taker = threading.Thread(target=take)
    taker.start()
    assert not ending.wait(0.001)
    began.set()
    assert ending.wait(patient(10.0))
    taker.join()
