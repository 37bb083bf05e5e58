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

"""Callbacks of the simulator, without a middleware and without a robot."""

from types import SimpleNamespace

from codec_oracle import Cdr, joint_state
from geometry_msgs.msg import Vector3, WrenchStamped
import numpy as np
import pytest
from rbd_ros.errors import RbdError
from rbd_ros.nodes.simulator import node as simulator
from rbd_ros.wire.reading import JointStateReader
from std_srvs.srv import SetBool, Trigger


class Simulation:
    """Keeps what it is asked for; its clock is at 5 s."""

    joints, time_ns, released = ('a', 'b'), 5 * 10**9, False

    def __init__(self):
        self.asked, self.counters, self.refusal = [], SimpleNamespace(refused=0), ''

    def __getattr__(self, name):
        def ask(*given):
            self.asked.append((name, *[list(x) if hasattr(x, 'tolist') else x for x in given]))
            if self.refusal:
                raise RbdError(self.refusal)
            return SimpleNamespace(time_ns=4_900_000_000)
        return ask


@pytest.fixture
def node(monkeypatch):
    """Return a simulator at 50 s of steady time and 1000 s of wall time, with what it did."""
    monkeypatch.setattr(simulator, 'time', SimpleNamespace(
        monotonic=lambda: 50.0, time_ns=lambda: 1000 * 10**9))
    made = simulator.Simulator.__new__(simulator.Simulator)
    made.logged, made.sent = [], []
    log = dict.fromkeys(('info', 'warning'), lambda text, **_: made.logged.append(text))
    made.__dict__.update(
        _simulation=Simulation(), _sim_stamps=False, _reader=JointStateReader(),
        get_logger=lambda: SimpleNamespace(**log), last_command=0.0, _clock_publisher=None,
        _deaf_until=-np.inf,
        _base=None, _settings=SimpleNamespace(number=lambda _: 0.5, integer=lambda _: 3,
                                              flag=lambda _: False),
        _writer=SimpleNamespace(write=lambda stamp, sample: ('state', stamp)), _reports=[
            SimpleNamespace(report=lambda stamp: made.sent.append(('report', stamp)))],
        _states=SimpleNamespace(publish=made.sent.append))
    return made


STAMP = (999, 750_000_000)


@pytest.mark.parametrize(('names', 'given', 'efforts'), [
    ('ab', [1.0, 2.0], [1.0, 2.0]), ('cba', [9.0, 2.0, 1.0], [1.0, 2.0]),
    ('ab', [1.0, 2.0, 3.0], [1.0, 2.0, 3.0])])      # read by rclpy; the simulation refuses it
@pytest.mark.parametrize('simulated', [False, True])
def test_commands_by_name(node, names, given, efforts, simulated):
    """Efforts go to their joints; stamps of the wall clock become simulated time."""
    node._sim_stamps = simulated
    node._on_joint_command(joint_state(names, [], [], given, stamp=STAMP))
    (what, given, stamp, now), = node._simulation.asked
    assert (what, list(given), now, node.last_command) == ('command', efforts, 50.0, 50.0)
    assert stamp == (999_750_000_000 if simulated else 4_750_000_000)
    # the state leaves with its own age, by the clock that is asked for
    stamp = 4_900_000_000 if simulated else 999_900_000_000
    assert node.sent == [('state', stamp), ('report', stamp)]


def test_commands_that_cannot_be_taken(node):
    """A joint without effort is named; what the simulation refuses is told."""
    node._on_joint_command(joint_state(('a', 'c'), [], [], [1.0, 2.0]))
    assert not node._simulation.asked and node._simulation.counters.refused == 1
    assert node.logged.pop() == 'a command has no effort for b; it is ignored'
    node._simulation.refusal = 'too long'
    node._on_joint_command(joint_state(('a', 'b'), [], [], [1.0, 2.0]))
    assert node.logged == ['too long'] and not node.sent


def test_arrays_have_no_stamp_and_open_the_brakes_once(node):
    """The first command opens the brakes, which is told once."""
    cdr = Cdr()
    cdr.number('I', 0)
    cdr.number('I', 0)
    cdr.doubles([3.0, 4.0])
    ask = node._simulation.command
    node._simulation.command = lambda *given: (setattr(node._simulation, 'released', True),
                                               ask(*given))[1]
    for _ in range(2):
        node._on_array_command(cdr.message)
    assert node._simulation.asked[-1] == ('command', [3.0, 4.0], None, 50.0)
    assert node.logged == ['the brakes are open']


def test_services(node):
    """Pause, go on, step and start again; a step that is refused says why."""
    def ask(callback, **fields):
        kind = SetBool if fields else Trigger
        answer = callback(kind.Request(**fields), kind.Response())
        return answer.success, answer.message, node._simulation.asked.pop()
    assert ask(node._on_pause, data=True) == (True, 'paused', ('pause', True)) and not node.sent
    assert ask(node._on_pause, data=False) == (True, 'running', ('resume', 50.0))
    assert len(node.sent) == 2
    assert ask(node._on_step) == (True, 'at 5.000000 s', ('step', 3, 50.0))
    assert len(node.sent) == 4
    assert ask(node._on_reset) == (True, 'initial state, brakes closed', ('reset',))
    node._simulation.refusal = 'not paused'
    assert ask(node._on_step) == (False, 'not paused', ('step', 3, 50.0)) and len(node.sent) == 4


def test_a_reset_is_not_undone_by_commands_for_the_pose_before(node, monkeypatch):
    """They are ignored until they pause, as they do after the fault that the jump is."""
    clock = [50.0]
    monkeypatch.setattr(simulator, 'time', SimpleNamespace(
        monotonic=lambda: clock[0], time_ns=lambda: 1000 * 10**9))

    def taken(after):
        clock[0] += after
        node._simulation.asked.clear()
        node._command([1.0, 2.0], None)
        return bool(node._simulation.asked)

    def reset():
        node._on_reset(Trigger.Request(), Trigger.Response())
    assert taken(0.002)
    reset()
    assert not any(taken(0.05) for _ in range(20))
    assert taken(0.2) and taken(0.002)
    reset()  # whoever never pauses has seen the new pose for long
    assert sum(taken(0.05) for _ in range(100)) == pytest.approx(40, abs=1)
    node._settings.flag = lambda name: name == 'lockstep'
    reset()
    assert taken(0.002)  # each state waits for its answer


@pytest.mark.parametrize(('timeout', 'seconds'), [(0.5, 0.5), (0.0, float('inf'))])
def test_wrench_is_moment_first(node, timeout, seconds):
    """Moment and force act in the frame that is named, for their time or for ever."""
    node._settings.number = lambda name: {'wrench_timeout': timeout}[name]
    message = WrenchStamped()
    message.header.frame_id = 'hand'
    message.wrench.torque, message.wrench.force = (
        Vector3(x=1.0, y=2.0, z=3.0), Vector3(x=4.0, y=5.0, z=6.0))
    node._on_wrench(message)
    assert node._simulation.asked == [('push', 'hand', [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], seconds)]
    node._simulation.refusal = 'no such frame'
    node._on_wrench(message)
    assert node.logged == ['a wrench is ignored: no such frame']


def test_clock_is_published_before_the_state(node):
    """Where time is simulated the clock leaves first, and nothing leaves without a sample."""
    clock = SimpleNamespace(clock=SimpleNamespace(sec=0, nanosec=0))
    node._simulation.time_ns = 5_250_000_000
    node.__dict__.update(_sim_stamps=True, _clock_message=clock, _clock_publisher=SimpleNamespace(
        publish=lambda message: node.sent.append((message.clock.sec, message.clock.nanosec))))
    node._on_tick()
    assert node.sent == [(5, 250_000_000), ('state', 4_900_000_000), ('report', 4_900_000_000)]
    node._publish(None)
    assert len(node.sent) == 3
    assert node._now().sec == 5
    node._sim_stamps = False
    assert node._now().sec == 1000
