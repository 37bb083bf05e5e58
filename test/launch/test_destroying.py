# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Entities of a node come and go in another thread than its executor's."""

import threading

import pytest
from rbd_env.pace import patient
from rbd_ros.nodes.callback_guard import Guard, GuardedNode
from rbd_ros.nodes.executors import make_executor, spin_in_thread
import rclpy
from rclpy.node import Node
from std_msgs.msg import Bool

ROUNDS = 20
KINDS = ('timer', 'publisher', 'subscription')


class Busy(GuardedNode):
    """A node of the controller, without the controller."""

    def __init__(self):
        self.guard = Guard(lambda _: None, lambda _: None)
        super().__init__('busy')


@pytest.mark.parametrize('kind', ['events', 'single'])
def test_destroying_does_not_end_the_executor(kind, monkeypatch):
    """Whoever destroys an entity, the executor does it: it may be looking at it just then."""
    threads = []

    def recorded(destroy):
        def record(self, entity):
            threads.append(threading.current_thread().name)
            return destroy(self, entity)
        return record
    for entity in KINDS:
        name = f'destroy_{entity}'
        monkeypatch.setattr(Node, name, recorded(getattr(Node, name)))
    rclpy.init()
    node, failures, ticks = Busy(), [], threading.Event()
    before = len(list(node.publishers))
    executor = make_executor(kind)
    executor.add_node(node)
    node.served_by = executor
    thread = spin_in_thread(executor, 'test', failures.append)
    try:
        for _ in range(ROUNDS):
            timer = node.create_timer(10.0, lambda: None)
            publisher = node.create_publisher(Bool, 'out', 1)
            subscription = node.create_subscription(Bool, 'in', lambda _: None, 1)
            node.destroy_timer(timer)
            node.destroy_publisher(publisher)
            node.destroy_subscription(subscription)
        node.create_timer(0.01, ticks.set)
        assert ticks.wait(patient(10.0)), 'the executor serves nothing any more'
        assert not failures, failures[0]
        assert threads == ['test'] * ROUNDS * len(KINDS)
        assert len(list(node.publishers)) == before, 'some are left'
    finally:
        executor.shutdown(timeout_sec=2.0)
        thread.join(2.0)
        node.served_by = None
        node.destroy_node()
        rclpy.try_shutdown()
