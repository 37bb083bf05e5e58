# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The automatic start happens once, and gives way to whatever anybody asks for."""

from __future__ import annotations

import threading
import time

import pytest
from rbd_env.pace import patient
from rbd_ros.nodes.controller.autostart import Autostart, LifecycleActions


class Node:
    """A lifecycle whose activation waits until it is cancelled, or until states come."""

    def __init__(self, *, states: bool = True) -> None:
        self.label = 'unconfigured'
        self.wanted = True
        self.described = True
        self.configurable = True
        self.calls: list[str] = []
        self.log: list[str] = []
        self.waits = threading.Event()  # an activation has begun to wait
        self.states, self.cancelled = threading.Event(), threading.Event()
        if states:
            self.states.set()
        self.start = Autostart(LifecycleActions(
            lambda: self.label, lambda: self.wanted, lambda: self.described, self.configure,
            self.activate, self.cancel), self.log.append, lambda work: work)

    def configure(self) -> bool:
        """Configure."""
        self.calls.append('configure')
        if self.configurable:
            self.label = 'inactive'
        return self.configurable

    def activate(self) -> bool:
        """Wait for states, as an activation does."""
        assert self.start.is_own_thread
        self.calls.append('activate')
        self.waits.set()
        end = time.monotonic() + 10.0
        while not self.states.is_set():
            if self.cancelled.wait(0.001) or time.monotonic() > end:
                return False
        self.label = 'active'
        return True

    def cancel(self, who: str) -> bool:
        """Cancel it."""
        self.calls.append(f'cancel for {who}')
        self.cancelled.set()
        return True

    def step(self, times: int = 5) -> None:
        """Let the timer fire, each time until nothing is under way."""
        for _ in range(times):
            self.start.step()
            assert self.start.join(patient(10.0))


def test_it_configures_and_activates_once():
    """Everything is done once; who puts the controller down finds it down for good."""
    node = Node()
    node.step()
    assert node.calls == ['configure', 'activate']
    assert node.start.over
    node.label = 'inactive'  # somebody has deactivated it
    node.step()
    assert node.calls == ['configure', 'activate']


def test_activation_is_tried_again_until_states_come():
    """A driver may come later than the controller; a configuration that fails does not improve."""
    node = Node(states=False)
    node.cancelled.set()  # every attempt ends without states
    node.step(4)
    assert node.calls == ['configure', 'activate', 'activate', 'activate']
    node.states.set()
    node.step(2)
    assert node.label == 'active'
    node = Node()
    node.configurable = False
    node.step()
    assert node.calls == ['configure']


@pytest.mark.parametrize('label', ['unconfigured', 'inactive', 'active'])
def test_a_request_or_a_stop_in_any_state_ends_it(label):
    """Once anybody has asked for a transition or a stop, nothing starts by itself."""
    for decide in (lambda node: node.start.yield_to('cleanup'),
                   lambda node: node.start.retire('~/stop')):
        node = Node()
        node.label = label
        decide(node)
        node.step()
        assert node.calls == []
        assert 'autostart cancelled by' in node.log[0]


def test_a_request_cancels_an_activation_that_waits():
    """A deactivation that comes meanwhile ends it at once, and finds what it wants."""
    node = Node(states=False)
    node.step(1)
    node.start.step()
    assert node.waits.wait(patient(10.0))
    assert node.start.yield_to('deactivate')
    assert not node.start.busy
    assert node.label == 'inactive'
    node.states.set()
    node.step()
    assert node.calls == ['configure', 'activate', 'cancel for a transition request']


def test_a_request_for_what_is_under_way_waits_for_it():
    """Who asks for the activation that is under way gets its result."""
    node = Node(states=False)
    node.step(1)
    node.start.step()
    assert node.waits.wait(patient(10.0))
    threading.Timer(0.05, node.states.set).start()
    assert node.start.yield_to('activate')
    assert node.label == 'active'
    assert node.calls == ['configure', 'activate']
    assert not node.start.yield_to('deactivate')  # nothing is under way: do it


def test_it_does_nothing_unless_wanted_and_described():
    """Without the parameter nothing is started; without a description it waits."""
    node = Node()
    node.described = False
    node.step()
    assert node.calls == []
    assert not node.start.over
    node.described = True
    node.step(1)
    assert node.calls == ['configure']
    node.wanted = False
    node.step()
    assert node.calls == ['configure']
    assert node.start.over
    assert node.log == []
