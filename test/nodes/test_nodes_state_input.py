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

"""A flood on joint_states leaves the newest state of the robot, and the time of the loop."""

import struct
from types import SimpleNamespace

from codec_oracle import joint_state
from input_rig import clocked, Node
import pytest
from rbd_ros.control.interface.events import Event
from rbd_ros.control.joint_states.intake import Intake
from rbd_ros.control.parameters.table import PARAMETERS
from rbd_ros.control.throttle import Budget
from rbd_ros.nodes.controller import loop_node as loop_node_module
from rbd_ros.nodes.controller.loop_node import LoopNode, STATES
from rbd_ros.nodes.controller.state_input import BURST, SHARE, StateInput

PERIOD = 0.005  # s, nominal; looked at more often
LOOK = 0.002
OVERHEAD = 1e-4  # s, counted for the executor


class Robot:
    """A driver, a flood and whoever takes their messages, on a fake clock."""

    def __init__(self, monkeypatch, cost, ours=('arm',), depth=100):
        self.node, self.warnings, self.cost, self.ours = clocked(
            monkeypatch, Node(0.0, depth)), [], cost, ours
        self.intake, self.taken = Intake(ours, ours), []
        self.u = Event({'n': len(ours), 'm': len(ours)})
        self.read = self.intake.bound(self.u, 'auto')
        self.input = StateInput(self.node, '/joint_states', self.take, depth, self.warnings.append)
        self.input.begin_robot(PERIOD, self.intake.recogniser('auto'))
        self.count = 0

    def take(self, data):
        """Take a message as the loop does: the first number of its position tells when it left."""
        if not self.input.admit_state(data):
            return
        self.intake.load(data)
        self.u.steady = self.node.now
        assert self.read()
        (position,) = struct.unpack_from('<d', data, int(self.intake.parts.positions_at))
        self.taken.append((self.node.now, self.intake.last_names(), position))
        self.node.now += self.cost
        self.input.spend(self.cost)

    def send(self, *names):
        """Bring a message."""
        self.node.publish(joint_state(list(names), [self.node.now] * len(names), [], []))

    def run(self, seconds, foreign=0, period=PERIOD, names=lambda k: [f'invented_{k}']):
        """Let time pass: states of the arm, and so many other messages per second."""
        begin, sent = self.node.now, 0
        states = 0
        while (past := self.node.now - begin) < seconds:
            self.node.now += 1e-4
            if past >= states * period:
                states += 1
                self.send('arm')
            while sent < past * foreign:
                sent += 1
                self.count += 1
                self.send(*names(self.count))
            self.node.serve_timers()

    def of(self, *names, since=0.0):
        """Return when messages with these names were taken, and how old they were."""
        return [(now, now - left) for now, those, left in self.taken
                if those == names and now >= since]


@pytest.mark.parametrize(('reading', 'left', 'kept'), [
    (False, True, False), (True, False, False), (True, True, False), (False, False, True)])
def test_message_beyond_the_budget_is_kept(reading, left, kept):
    """It is taken at once while there is time, or where it was kept before."""
    subject, held = StateInput.__new__(StateInput), []
    subject._reading, subject.admit, subject._keep = reading, lambda: left, held.append
    subject.polling, subject._budget = False, SimpleNamespace(whole=False)
    assert subject.admit_state(b'state') is not kept
    assert held == ([b'state'] if kept else [])


@pytest.mark.sampled('sweeps', 1)
@pytest.mark.parametrize('cost', [1e-5, 1e-4, 1e-3])
def test_states_are_heard_through_a_flood(monkeypatch, cost):
    """Twenty thousand invented names per second: states come on, others cost one per look."""
    robot = Robot(monkeypatch, cost)
    robot.run(0.2)
    since = robot.node.now + 0.3
    robot.run(1.5, 20_000)
    assert robot.input.polling and len(robot.warnings) == 1
    assert '/joint_states' in robot.warnings[0]
    times = [now for now, _ in robot.of('arm', since=since)]
    assert max(b - a for a, b in zip(times, times[1:])) < 0.05
    assert len(times) > 0.9 * (robot.node.now - since) / (PERIOD + cost)
    others = sum(now >= since and names != ('arm',) for now, names, _ in robot.taken)
    tried = 0.2 * BURST / (cost + OVERHEAD)  # when it is given back to see whether all is over
    assert 100 < others <= (robot.node.now - since) / LOOK + tried


def test_an_ordinary_stream_is_taken_at_once(monkeypatch):
    """A kilohertz of states beside a kilohertz of others is no flood."""
    robot = Robot(monkeypatch, 1e-4)
    robot.run(2.0, 1000, period=0.001, names=lambda k: ['gripper'])
    assert not robot.warnings and not robot.input.polling
    assert all(age < 5e-4 for _, age in robot.of('arm'))


def test_the_fastest_states_are_no_flood(monkeypatch):
    """States at the highest nominal_rate fit into the budget while one takes 50 us."""
    period = 1.0 / PARAMETERS['nominal_rate'].upper
    robot = Robot(monkeypatch, 5e-5)
    robot.run(1.0, period=period)
    assert not robot.warnings and not robot.input.polling
    assert len(robot.taken) > 0.9 / period


def test_the_budget_is_a_share_of_the_loops_time(monkeypatch):
    """What is admitted before the flood is warnings takes no more than the budget."""
    robot = Robot(monkeypatch, 1e-3)
    while not robot.warnings:
        robot.send('x')
    count, spent = len(robot.taken), len(robot.taken) * (1e-3 + OVERHEAD)
    assert spent - 1.1e-3 <= BURST + SHARE * robot.node.now <= spent
    for _ in range(10):  # the executor may bring some more
        robot.send('x')
    assert len(robot.taken) == count


def test_the_newest_of_each_kind_in_the_order_they_came(monkeypatch):
    """Two messages share the joints of the robot: both are taken, each once, newest last."""
    robot = Robot(monkeypatch, 1e-4, ours=('arm', 'hand'))
    robot.send('arm')
    robot.send('hand')
    while not robot.input.polling:
        robot.send('x')
    robot.taken.clear()
    for name in ('hand', 'arm', 'x', 'arm', 'y', 'hand', 'z'):
        robot.node.now += 1e-5
        robot.send(name)
    last = robot.node.now
    robot.node.now += LOOK
    robot.node.serve_timers()
    assert sorted(names for _, names, _ in robot.taken) == [('arm',), ('hand',), ('z',)]
    ours = [(names, left) for _, names, left in robot.taken if names != ('z',)]
    assert [names for names, _ in ours] == [('arm',), ('hand',)]
    assert [left for _, left in ours] == pytest.approx([last - 3e-5, last - 1e-5])
    robot.taken.clear()
    robot.node.now += LOOK
    robot.node.serve_timers()
    assert not robot.taken  # once


def test_lists_that_carry_one_joint_of_ours_displace_no_other(monkeypatch):
    """Whoever invents lists around a joint of the robot does not displace its driver's."""
    robot = Robot(monkeypatch, 1e-5)
    robot.run(0.1)
    robot.run(1.0, 20_000, names=lambda k: ['arm', f'invented_{k}'])
    heard = robot.of('arm', since=0.5)
    assert robot.input.polling and robot.intake.letters.forms.used.all()
    assert len(heard) > 0.9 * 0.6 / PERIOD and max(age for _, age in heard) < 2 * LOOK


def test_messages_are_taken_at_once_when_the_flood_has_ended(monkeypatch):
    """The topic goes back to the executor."""
    robot = Robot(monkeypatch, 1e-4)
    robot.run(0.5, 20_000)
    assert robot.input.polling and not robot.node._subscriptions
    robot.run(1.5)
    assert not robot.input.polling and len(robot.node._subscriptions) == 1
    assert all(age < 5e-4 for _, age in robot.of('arm', since=robot.node.now - 0.4))


def test_states_are_looked_for_whatever_was_spent(monkeypatch):
    """A message that took long delays no look, and looks leave no debt."""
    robot = Robot(monkeypatch, 1e-4)
    robot.send('arm')
    robot.input.spend(0.2)
    robot.send('arm')
    assert robot.input.polling and len(robot.taken) == 1
    robot.node.now += LOOK
    robot.node.serve_timers()
    assert len(robot.taken) == 2
    robot.input.spend(100.0)
    robot.run(1.5)
    assert not robot.input.polling


def test_one_look_takes_a_bounded_number(monkeypatch):
    """A middleware that brings messages faster than they are read does not hold the loop."""
    robot = Robot(monkeypatch, 1e-4)
    while not robot.input.polling:
        robot.send('x')
    reads = []
    data = joint_state(['x'], [0.0], [], [])
    robot.input._subscription.handle.take_message = lambda *_: reads.append(1) or (data, None)
    robot.node.now += LOOK
    robot.node.serve_timers()
    assert len(reads) == 200


def loop_node(admitted, took=0.0):
    """Return what ``_on_state`` of the loop needs, and what it asked for."""
    asked = SimpleNamespace(admitted=[], spent=[], taken=[], counted=[], caught=[])

    def take(*given):
        asked.taken.append(given)
        if took is ValueError:
            raise took('planted')
        return took
    node = SimpleNamespace(
        _controller=SimpleNamespace(take_message=take, stamp=0.0), simulated=False,
        _take_unusual=lambda *_: None, free_period=0.1, _free=-1.0,
        guard=SimpleNamespace(report_exception=asked.caught.append),
        statistics=SimpleNamespace(add=lambda *given: asked.counted.append(given)),
        _states=SimpleNamespace(admit_state=lambda data: asked.admitted.append(data) or admitted,
                                spend=asked.spent.append, whole=True))
    return node, asked


def test_states_pay_the_time_they_took():
    """Each asks for a budget, and pays when it is admitted, unless a torque was due."""
    data = joint_state(['arm'], [0.0], [], [])
    node, asked = loop_node(False)
    LoopNode._on_state(node, data)
    assert asked.admitted == [data]
    assert not asked.taken and not asked.counted and not asked.spent
    node, asked = loop_node(True, took=True)
    LoopNode._on_state(node, data)
    assert len(asked.taken) == len(asked.counted) == 1
    assert not asked.spent and not asked.caught  # it got a torque
    LoopNode._on_state(node, data)
    assert len(asked.taken) == 2 and len(asked.spent) == 1  # so soon it pays
    node._free, node._states.whole = -1.0, False
    LoopNode._on_state(node, data)
    assert len(asked.spent) == 2  # and so do those after it, until all is paid
    node, asked = loop_node(True, took=False)  # it got none
    LoopNode._on_state(node, data)
    assert len(asked.taken) == len(asked.counted) == len(asked.spent) == 1
    assert 0.0 <= asked.spent[0] < 1.0 and not asked.caught
    node, asked = loop_node(True, took=None)  # it is no state
    LoopNode._on_state(node, data)
    assert len(asked.taken) == len(asked.spent) == 1 and not asked.counted
    node, asked = loop_node(True, took=ValueError)
    LoopNode._on_state(node, data)
    assert len(asked.caught) == len(asked.spent) == 1  # what raises has cost as much


@pytest.mark.parametrize('took', [3e-5, 1e-4, 3e-4, 1e-3])
@pytest.mark.parametrize('gap', [5e-5, 1e-4])
@pytest.mark.parametrize('rate', [100.0, 500.0, 1000.0])
def test_a_flood_of_good_states_is_a_flood(monkeypatch, rate, gap, took):
    """States that give a torque, one after the other, may not take the thread for themselves."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(loop_node_module, 'monotonic', lambda: clock.now)
    budget = Budget(SHARE, BURST)
    starved: list[float] = []

    def take(*_):
        clock.now += took
        return True
    node, asked = loop_node(True)
    node._controller.take_message, node.free_period = take, 0.25 / rate

    class States:
        whole = property(lambda self: budget.whole)

        def admit_state(self, data):
            if budget.whole or budget.left(clock.now):
                return True
            starved.append(clock.now)
            return False

        def spend(self, seconds):
            budget.spend(seconds + OVERHEAD, clock.now - seconds)
    node._states = States()
    while clock.now < 101.0 and not starved:
        LoopNode._on_state(node, b'')
        clock.now += gap
    busy = (took + OVERHEAD) / (took + gap) > SHARE
    assert bool(starved) == busy and not asked.caught


@pytest.mark.parametrize('rate', [100.0, 500.0, 1000.0])
def test_states_at_their_rate_are_no_flood(monkeypatch, rate):
    """An ordinary stream pays nothing, though a step takes half of its period."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(loop_node_module, 'monotonic', lambda: clock.now)
    node, asked = loop_node(True)

    def take(*_):
        clock.now += 0.5 / rate
        return True
    node._controller.take_message, node.free_period = take, 0.25 / rate
    for _ in range(100):
        LoopNode._on_state(node, b'')
        clock.now += 0.5 / rate
    assert not asked.spent and not asked.caught


def test_the_middleware_keeps_what_comes_between_two_looks():
    """Its depth covers twenty thousand messages per second for more than one look."""
    assert STATES.depth >= 2 * 20_000 * LOOK
