# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The simulator whose periods are machine code: what is left to Python, and its stalls."""

import ctypes
import time

from geometry_msgs.msg import WrenchStamped
import pytest
from rbd_ros.sim.native.records import Look
from rclpy.parameter import Parameter
from simulator_rig import simulator
from std_srvs.srv import SetBool, Trigger

pytest.importorskip('llvmlite', reason='machine code is made by llvmlite')


@pytest.fixture
def rig():
    """Return a running simulator."""
    with simulator() as made:
        yield made


def test_states_go_on_while_python_stands_still(rig):
    """Nobody else gets the lock for 2 s; states come at their rate, and no more than one late."""
    rig.more()
    rig.command(1.0, lambda: abs(rig.states[-1].velocity[0]) > 0.0)
    loop = rig.node.loop
    before = loop.look()[Look.PERIODS]
    ctypes.PyDLL(None).usleep(2_000_000)
    # A thread that had waited for the lock would have run one period by now: max_catch_up. One
    # that did not has 200 wake-ups, of which a busy machine may let it miss most.
    assert loop.look()[Look.PERIODS] > before + 5
    seen = len(rig.states)
    rig.spin(lambda: len(rig.states) > seen + 20)
    stamps = [state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec for state in rig.states]
    assert sorted(stamps) == stamps


def test_requests_take_the_simulation_back(rig):
    """Pause, step, reset, a parameter and noise: as without the thread, which then goes on."""
    rig.more()
    node, loop, clock = rig.node, rig.node.loop, []
    assert loop.away
    assert rig.ask(Trigger, 'step').message.startswith('the simulation is running')
    assert rig.ask(SetBool, 'pause', data=True).message == 'paused' and not loop.away
    for _ in range(2):
        answer = rig.ask(Trigger, 'step')
        assert answer.success and not loop.away
        clock.append(float(answer.message.removeprefix('at ').removesuffix(' s')))
    assert clock[1] - clock[0] == pytest.approx(0.01, abs=3e-6)  # they are told to 1e-6 s
    assert rig.ask(SetBool, 'pause', data=False).message == 'running' and loop.away
    rig.command(2.0, lambda: abs(rig.states[-1].position[0]) > 0.05)
    assert rig.more().effort[0] == pytest.approx(2.0)
    assert rig.ask(Trigger, 'reset').success and loop.away
    rig.spin(lambda: rig.states[-1].position[0] == 0.0)
    assert node.set_parameters([Parameter('position_noise', value=[0.1])])[0].successful
    assert not loop.away
    rig.spin(lambda: rig.states[-1].position[0] not in (0.0, rig.states[-2].position[0]))
    assert node.set_parameters([Parameter('position_noise', value=[0.0]),
                                Parameter('effort_source', value='none')])[0].successful
    assert loop.away
    rig.spin(lambda: rig.more().position[0] == 0.0 and not rig.states[-1].effort)
    periods, commands = (int(each.split()[0]) for each in rig.close().split(', ')[:2])
    assert periods >= len(rig.states) and 0 < commands <= rig.sent


def test_a_command_from_before_a_reset_does_not_act_after_it():
    """It waits to be taken, as after a stall: it would throw the robot from its first pose."""
    with simulator(state_rate=1.0) as rig:
        rig.spin(rig.commands.get_subscription_count)
        rig.more(1)
        assert rig.ask(SetBool, 'pause', data=True).success
        rig.send(2.0)  # nothing takes commands before the next period, in 1 s
        assert rig.ask(Trigger, 'reset').success
        assert rig.ask(SetBool, 'pause', data=False).success
        assert rig.more(2).position[0] == 0.0


def test_a_stream_of_pushes_does_not_stop_time(rig):
    """Python runs the periods while something pushes, however often, and then the thread does."""
    rig.more()
    pushes = rig.other.create_publisher(WrenchStamped, '/simulator/wrench', 10)
    message = WrenchStamped()
    message.header.frame_id, message.wrench.torque.y = 'rod', 2.0
    rig.command(0.0, lambda: rig.node.loop.look()[Look.RELEASED])

    def push():
        pushes.publish(message)
        rig.executor.spin_once(timeout_sec=2e-3)
        return not rig.node.loop.away
    rig.spin(push)
    before, end = rig.states[-1].header.stamp, time.monotonic() + 0.5
    while time.monotonic() < end:   # more often than there are periods
        push()
    after = rig.states[-1].header.stamp
    assert after.sec - before.sec + 1e-9 * (after.nanosec - before.nanosec) > 0.05
    rig.spin(lambda: push() and abs(rig.states[-1].position[0]) > 0.01)
    assert not rig.node.loop.away
    rig.spin(lambda: rig.node.loop.away)
    rig.more()


def test_a_command_that_is_refused_is_named(rig):
    """Wrong size, and not a number."""
    rig.more()
    rig.is_told('the command of joint "swing" is not finite', float('nan'))
    rig.is_told('a command has 2 values, 1 joints', 1.0, 2.0)


def test_what_is_left_to_the_executor():
    """Settings that machine code does not know are run as before."""
    with simulator(command_latency=0.02, publish_clock=True) as made:
        assert made.node.loop is None
        made.more()
