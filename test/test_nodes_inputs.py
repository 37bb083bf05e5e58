# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""A flood on a topic costs a bounded share of the time, and its newest message is heard."""

import contextlib
from types import SimpleNamespace

import pytest
from rbd_ros.control.repeats import Budget
from rbd_ros.nodes.controller import bounded_topics
from rbd_ros.nodes.controller.bounded_topics import BoundedInput, BURST, SHARE


def test_budget_is_a_share_of_time():
    """Whoever always spends all that is left gets the share, and the burst once."""
    budget, spent = Budget(0.2, 0.1), 0.0
    for k in range(10_000):
        while budget.left(0.001 * k):
            budget.spend(0.003)
            spent += 0.003
    assert spent == pytest.approx(0.2 * 10.0 + 0.1, abs=0.004)
    budget.cut()
    assert not budget.left(0.0)  # time that goes back earns nothing


class Node:
    """What a bounded input needs of a node: entities, and a middleware that keeps the newest."""

    def __init__(self, cost, depth=1):
        self.now = self.cpu = 0.0
        self.cost, self.kept, self.depth = cost, [], depth
        self._subscriptions, self.timers, self.woken = [], [], 0
        self.handed = []

    def create_subscription(self, kind, topic, callback, qos):
        """Return a subscription that is read like one of rclpy."""
        handle = Handle(lambda *_: (self.kept.pop(0), None) if self.kept else None)
        made = SimpleNamespace(callback=callback, handle=handle, msg_type=kind, raw=False,
                               qos_profile=SimpleNamespace(depth=self.depth))
        self._subscriptions.append(made)
        return made

    def create_timer(self, period, callback, **_):
        """Return a timer that begins when it is reset."""
        timer = SimpleNamespace(runs=False, callback=callback, due=0.0, period=period)
        timer.reset = lambda: vars(timer).update(runs=True, due=self.now + period)
        timer.cancel = lambda: vars(timer).update(runs=False)
        self.timers.append(timer)
        return timer

    def destroy_timer(self, timer):
        """Forget it."""
        self.timers.remove(timer)

    def destroy_subscription(self, subscription):
        """Forget it; like rclpy, only what is known can be destroyed."""
        self._subscriptions.remove(subscription)

    def _wake_executor(self):
        self.woken += 1

    def take(self, message):
        """Use processor time for a message."""
        self.handed.append((self.now, message))
        self.cpu += self.cost

    def publish(self, message):
        """Bring a message: to the executor, or into the history of the middleware."""
        for subscription in self._subscriptions:
            subscription.callback(message)
        if not self._subscriptions:
            self.kept = [*self.kept, message][-self.depth:]

    def run(self, seconds, rate=0.0):
        """Let time pass with so many messages per second; returns the last message."""
        message, steps = None, round(seconds * 10_000)
        for k in range(steps):
            self.now += 1e-4
            if rate and k % round(10_000 / rate) == 0:
                message = self.now
                self.publish(message)
            for timer in self.timers:
                if timer.runs and self.now >= timer.due:
                    timer.due += timer.period
                    timer.callback()
        return message


class Handle:
    """A handle that must be entered before it is used."""

    def __init__(self, take):
        self._take, self.entered = take, False

    def __enter__(self):
        self.entered = True

    def __exit__(self, *_):
        self.entered = False

    def take_message(self, *given):
        """Return a message and something about it, or None."""
        assert self.entered
        return self._take(*given)


def build(monkeypatch, cost, depth=1):
    """Return a node on a fake clock, an input of it, and what it complains about."""
    node, told = Node(cost, depth), []
    monkeypatch.setattr(bounded_topics, 'time', SimpleNamespace(
        monotonic=lambda: node.now, thread_time=lambda: node.cpu))
    return node, BoundedInput(node, str, '/topic', node.take, 1, told.append), told


@pytest.mark.parametrize('cost', [1e-5, 3e-4, 5e-3])
def test_a_flood_gets_its_share_and_no_more(monkeypatch, cost):
    """Ten thousand messages per second take their share of time; the last one is heard."""
    node, _, told = build(monkeypatch, cost)
    last = node.run(5.0, 10_000)
    allowed = SHARE * 5.0 + BURST + cost
    assert node.cpu <= allowed and len(node.handed) > 100
    assert len(node.handed) * 1e-4 <= allowed + 1e-4 * len(node.timers)
    assert len(told) == 1 and '/topic' in told[0]
    node.run(1.0)
    assert node.handed[-1][1] == last
    gaps = [b - a for (a, _), (b, _) in zip(node.handed[50:], node.handed[51:])]
    assert max(gaps) < 0.02 + 2.0 * cost / SHARE  # heard all the time


def test_an_ordinary_stream_is_taken_as_it_comes(monkeypatch):
    """Five hundred messages per second of a tenth of a millisecond wait for nothing."""
    node, subject, told = build(monkeypatch, 1e-4)
    node.run(5.0, 500)
    assert not told and not subject.polling
    assert len(node.handed) == 2500
    assert all(at == message for at, message in node.handed)


def test_after_a_flood_messages_are_taken_as_they_come_again(monkeypatch):
    """The topic goes back to the executor, and a new flood is told anew."""
    node, subject, told = build(monkeypatch, 3e-4)
    node.run(3.0, 10_000)
    assert subject.polling and not node._subscriptions
    node.run(9.0)
    assert not subject.polling and len(node._subscriptions) == 1
    count = len(node.handed)
    node.run(1.0, 100)
    assert len(node.handed) == count + 100
    node.run(2.0, 10_000)
    assert len(told) == 2


def test_a_callback_that_raises_is_paid_for(monkeypatch):
    """What raises costs as much as what does not; the exception goes to the guard."""
    node, subject, _ = build(monkeypatch, 1e-3)

    def bad(message):
        node.take(message)
        raise ValueError('bad message')
    subject._callback = bad
    for _ in range(1000):
        with contextlib.suppress(ValueError):
            node.publish('x')
    assert subject.polling
    assert node.cpu <= BURST + 1e-3


def test_destroyed_while_flooded(monkeypatch):
    """Nothing is left behind, though the executor did not know the topic any more."""
    node, subject, _ = build(monkeypatch, 1e-3)
    node.run(0.5, 10_000)
    assert subject.polling
    subject.destroy()
    assert not node._subscriptions and not node.timers
