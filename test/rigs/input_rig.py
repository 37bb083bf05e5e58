# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What tests of bounded inputs share: a node, its entities and its middleware on a fake clock."""

from types import SimpleNamespace

from rbd_ros.nodes.controller import bounded


class Node:
    """What a bounded input needs of a node: entities, and a middleware that keeps the newest."""

    def __init__(self, cost, depth=1):
        self.now = self.cpu = 0.0
        self.cost, self.kept, self.depth = cost, [], depth
        self._subscriptions, self._services, self.timers, self.woken = [], [], [], 0
        self.handed = []

    @property
    def subscribed(self):
        """Subscriptions that its executor knows."""
        return self._subscriptions

    @property
    def served(self):
        """Services that its executor knows."""
        return self._services

    def create_subscription(self, kind, topic, callback, qos, **_):
        """Return a subscription that is read like one of rclpy."""
        handle = Handle(lambda *_: (self.kept.pop(0), None) if self.kept else None)
        made = SimpleNamespace(callback=callback, handle=handle, msg_type=kind, raw=False,
                               qos_profile=SimpleNamespace(depth=self.depth))
        self._subscriptions.append(made)
        return made

    def create_timer(self, period, callback, **_):
        """Return a timer that begins when it is reset."""
        timer = SimpleNamespace(runs=False, callback=callback, due=0.0,
                                timer_period_ns=period * 1e9)
        timer.reset = lambda: vars(timer).update(
            runs=True, due=self.now + 1e-9 * timer.timer_period_ns)
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
            self.serve_timers()
        return message

    def serve_timers(self):
        """Call each timer that is due."""
        for timer in self.timers:
            if timer.runs and self.now >= timer.due:
                timer.due += 1e-9 * timer.timer_period_ns
                timer.callback()


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
        assert self.entered and [isinstance(each, bool) for each in given] == [False, True]
        return self._take(*given)


def clocked(monkeypatch, node):
    """Return a node by whose time budgets are counted."""
    monkeypatch.setattr(bounded, 'time', SimpleNamespace(
        monotonic=lambda: node.now, thread_time=lambda: node.cpu))
    return node
