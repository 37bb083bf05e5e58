# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What a callback raises is logged and handled, and never leaves it."""

import inspect
import threading

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed: source ROS 2 or use ./run')
from rbd_ros.nodes.callback_guard import Guard, last_line


class Heard:
    """Who receives exceptions."""

    def __init__(self):
        self.traces, self.texts = [], []
        self.guard = Guard(self.traces.append, self.texts.append)


class Answer:
    """A response of a service."""

    success = True
    message = ''


def broken(*_):
    """Raise."""
    raise KeyError('joint_9')


def test_each_kind_of_callback_is_caught():
    """Timer, subscription and service: the exception stops the robot and is logged."""
    heard = Heard()
    heard.guard.timer(lambda: broken())()
    heard.guard.subscription(broken)(object())
    answer = heard.guard.service(broken)(object(), Answer())
    assert not answer.success
    assert answer.message == "KeyError: 'joint_9'"
    assert [last_line(trace) for trace in heard.traces] == ["KeyError: 'joint_9'"] * 3
    assert all('the robot is stopped' in text and 'joint_9' in text for text in heard.texts)
    assert 'exception in broken' in heard.texts[1]


def test_the_same_exception_is_told_once_but_always_stops():
    """A timer that raises again and again does not fill the log; each time the stop is asked."""
    heard = Heard()
    timer = heard.guard.timer(broken)
    for _ in range(100):
        timer()
    assert len(heard.texts) == 1
    assert len(heard.traces) == 100


def test_good_callbacks_pass_through():
    """Arguments and answers are those of the callback; nothing is reported."""
    heard, seen = Heard(), []
    heard.guard.timer(lambda: seen.append('timer'))()
    heard.guard.subscription(seen.append)('message')
    assert heard.guard.service(lambda request, answer: (request, answer))(1, 2) == (1, 2)
    assert seen == ['timer', 'message']
    assert not heard.traces and not heard.texts


def test_subscription_has_one_argument():
    """The library counts arguments: with two it would give message and info, and crash."""
    guarded = Heard().guard.subscription(lambda *anything: None)
    assert len(inspect.signature(guarded).parameters) == 1
    assert not inspect.signature(Heard().guard.timer(broken)).parameters


def test_lock_is_held_and_given_back():
    """While a callback runs others wait; after an exception they do not wait for ever."""
    lock = threading.RLock()
    heard = Heard()
    guard = Guard(heard.traces.append, heard.texts.append, lock)
    free = []

    def other():
        free.append(lock.acquire(blocking=False))
        if free[-1]:
            lock.release()

    def look():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        raise RuntimeError

    guard.timer(look)()
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert free == [False, True]
