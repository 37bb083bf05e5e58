# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Periods as machine code next to those of Python: the same commands give the same states."""

import functools
import math

import numpy as np
import pytest
from rbd_ros import load_urdf
from rbd_ros.compiler import procedure
from rbd_ros.compiler.language.octets import get_i64
from rbd_ros.compiler.procedure import Vector
from rbd_ros.errors import RbdError
from rbd_ros.sim import Imperfections, Schedule, Sensors, SimulatedRobot, Simulation
from rbd_ros.sim.native.commands import read_command
from rbd_ros.sim.native.loop import Endpoints, interruption, obstacle, SimulatorLoop, StateMessage
from rbd_ros.sim.native.period import due, run_periods
from rbd_ros.sim.native.records import Count, Defect, Look, Loop
from rbd_ros.sim.native.serve import write_state
from rbd_ros.wire.messages import array_command, effort_command, joint_state

pytest.importorskip('llvmlite', reason='machine code is made by llvmlite')

START = 7_000_000_123


def link(name):
    """Return a heavy rod."""
    return f"""<link name="{name}"><inertial><origin xyz="0.1 0 0.02"/><mass value="1.5"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>"""


def joint(name, parent, child, more):
    """Return a hinge."""
    return f"""<joint name="{name}" type="revolute"><parent link="{parent}"/>
    <child link="{child}"/><origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="9" effort="20"/>{more}</joint>"""


@functools.cache
def arm():
    """Return an arm with dry friction, stops, a follower, and a joint that takes no command."""
    rub = '<dynamics damping="0.1" friction="0.3"/>'
    return load_urdf(
        '<robot name="arm"><link name="base"/>' + ''.join(map(link, 'abcd'))
        + joint('one', 'base', 'a', rub) + joint('two', 'a', 'b', '')
        + joint('three', 'b', 'c', '<mimic joint="two" multiplier="-0.5" offset="0.1"/>')
        + joint('four', 'c', 'd', rub) + '</robot>')


def simulation(imperfections, **schedule):
    """Return a simulation of the arm."""
    robot = SimulatedRobot(arm())
    robot.place([0.2, -0.1, 0.3])
    return Simulation(robot, Sensors(robot, imperfections), ('four', 'one'),
                      Schedule(**schedule), start_ns=START)


def tick(loop: Loop, given: Vector) -> None:
    """Read a command, if ``given`` has its size, and run what is due at the time after it."""
    if given[0] > 0.0:
        read_command(loop, int(given[0]), given[1], get_i64(loop.counts, Count.TIME))
    given[2] = 0.0
    if run_periods(loop, due(loop, given[1])):
        given[2] = 1.0
        write_state(loop, get_i64(loop.counts, Count.TIME))


class Machine:
    """
    Periods as machine code, on a clock that is only a number.

    :param made: what is simulated.
    """

    def __init__(self, made, *, joint_states=False):
        self.simulation = made
        self.loop = SimulatorLoop(made, Endpoints(0, 0, 0), joint_states=joint_states,
                                  simulated=False, silence=0.1)
        x = made.sensors.imperfections
        names, n = made.sensors.names, len(made.sensors.names)
        fields = [[1e150 + 1.0] * n, [1e150 + 2e140] * n * (x.velocity != 'none'),
                  [1e150 + 3e140] * n * (x.effort != 'none')]
        content = joint_state(tuple(names), *fields, (0, 0))
        places = [content.find(np.array(each).tobytes()) if each else 0 for each in fields]
        self.loop.load(StateMessage(content, tuple(places)), -math.inf, -math.inf)
        self.given = np.zeros(3)
        self.run = procedure.bind(tick, self.loop.given, self.given)

    def tick(self, now, message=b''):
        """Run what is due; return the state that would be sent."""
        inputs = self.loop.given.inputs
        inputs.message[:len(message)] = np.frombuffer(message, np.uint8)
        self.given[:2] = len(message), now
        self.run()
        if not self.given[2]:
            return None
        readings, counts = self.loop.given.readings, self.loop.given.counts
        content, at = readings.content.tobytes(), readings.places.astype(int)
        stamp = int.from_bytes(content[4:8], 'little') * 10**9 + int.from_bytes(
            content[8:12], 'little')
        assert stamp == counts.view(np.int64)[Count.TIME // 8]
        return stamp, [np.frombuffer(content, '<f8', len(readings.position), each) if each
                       else np.empty(0) for each in at]


def command(values):
    """Return a serialized array."""
    made = array_command(values)
    return made.content[:made.values_at] + np.array(values, '<f8').tobytes()


@pytest.mark.parametrize(('imperfections', 'schedule'), [
    (Imperfections(), {}),
    (Imperfections(velocity='difference', effort='joint', resolution=[1e-3, 0.0, 2e-4, 1e-4]),
     {'substeps': 2, 'command_timeout': 0.04, 'max_catch_up': 3}),
    (Imperfections(velocity='none', effort='none'), {'brakes': False, 'speed': 0.5})])
def test_both_ways_give_the_same_states(imperfections, schedule):
    """Random commands and wake-ups, with stops, brakes, timeouts and catching up."""
    python = simulation(imperfections, **schedule)
    machine = Machine(simulation(imperfections, **schedule))
    rng, now, states, moved = np.random.default_rng(5), 50.0, 0, 0.0
    for k in range(1500):
        now += machine.loop.given.drive.period * rng.choice([0.3, 1.0, 1.1, 2.6, 9.0],
                                                            p=[0.1, 0.5, 0.3, 0.08, 0.02])
        message = b''
        if rng.random() < (0.9 if k % 300 < 200 else 0.01):
            values = 12.0 * rng.normal(size=rng.choice([2, 3], p=[0.95, 0.05]))
            values[0] = rng.choice([values[0], math.nan], p=[0.95, 0.05])
            message = command(values)
            try:
                python.command(values, None, now)
            except RbdError:
                pass
        sample, found = python.tick(now), machine.tick(now, message)
        assert (sample is None) == (found is None)
        if sample is not None:
            states += 1
            assert found[0] == sample.time_ns
            for one, other in zip(found[1], sample[1:4], strict=True):
                assert one == pytest.approx(other, rel=1e-12, abs=1e-12)
            moved = max(moved, np.abs(sample.position).max())
        assert (machine.loop.given.body.braked > 0.0).tolist() == python.robot.braked.tolist()
    machine.simulation.take_back(machine.loop.progress())
    assert states > 1000 and moved > 0.9
    assert machine.simulation.counters == python.counters and python.counters.refused > 20
    assert vars(machine.simulation.pacer) == vars(python.pacer) and python.pacer.late > 10
    assert machine.simulation.released == python.released
    if python.schedule.command_timeout:
        assert python.counters.timeouts > 2 and python.pacer.skipped
    # Python goes on where machine code has ended.
    for _ in range(5):
        now += 1e-3
        ours, theirs = machine.simulation.tick(now), python.tick(now)
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert ours.time_ns == theirs.time_ns
            for one, other in zip(ours[1:], theirs[1:], strict=True):
                assert one == pytest.approx(other, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(('names', 'efforts', 'defect'), [
    (('four', 'one'), [1.0, 2.0], None), (('x', 'one', 'four'), [9.0, 2.0, 1.0], None),
    (('one', 'four', 'one'), [9.0, 1.0, 2.0], None),
    (('four', 'one'), [1.0], (Defect.SIZE, 1)), (('four', 'one'), [1.0, 2.0, 3.0], (1, 3)),
    (('four', 'on'), [1.0, 2.0], (Defect.MISSING, 2)),
    (('one', 'four'), [1.0], (Defect.MISSING, 1)), ((), [], (Defect.MISSING, 3)),
    (('four', 'one'), [1.0, math.inf], (Defect.NOT_FINITE, 1))])
def test_joint_states_as_commands(names, efforts, defect):
    """Efforts go to their joints by name; what cannot be is refused with its reason."""
    machine = Machine(simulation(Imperfections()), joint_states=True)
    message = joint_state(names, [0.5] * len(names), [], efforts, (7, 500), 'frame')
    machine.tick(50.0, message)
    drive, seen = machine.loop.given.drive, machine.loop.given.seen
    found = (int(seen[Look.DEFECT]), int(seen[Look.ABOUT]))
    if defect is not None:
        assert found == defect and not drive.pending
        return
    assert found == (0, 0) and drive.pending
    assert machine.loop.given.inputs.values.tolist() == [1.0, 2.0]


def test_each_number_has_a_place_of_its_own():
    """Counts have eight bytes each, what is looked at has a number each, none left out."""
    assert [each.value for each in Count] == list(range(0, 8 * len(Count), 8))
    assert [each.value for each in Look] == list(range(len(Look)))


def stamped(loop: Loop, given: Vector) -> None:
    """Write a state with a stamp of seconds and nanoseconds."""
    write_state(loop, int(given[0]) * 1_000_000_000 + int(given[1]))


def test_stamps_beside_whole_seconds():
    """Seconds and nanoseconds are those of the whole number, however it is as a float."""
    loop, given = Machine(simulation(Imperfections())).loop.given, np.zeros(2)
    run = procedure.bind(stamped, loop, given)
    for seconds in (0, 1, 3, 7, 1_700_000_009, 2_147_483_647):
        for rest in (0, 1, 999_999_999):
            given[:] = seconds, rest
            run()
            content = loop.readings.content.tobytes()
            assert [int.from_bytes(content[k:k + 4], 'little') for k in (4, 8)] == [seconds, rest]


def test_commands_of_before_the_start_are_outdated():
    """A joint state with an older stamp does nothing."""
    machine = Machine(simulation(Imperfections()), joint_states=True)
    for stamp, outdated in (((6, 999_999_999), 1), ((7, 122), 2), ((7, 123), 2)):
        machine.tick(50.0, joint_state(('four', 'one'), [], [], [1.0, 2.0], stamp))
        assert machine.loop.progress().counts.counters.outdated == outdated
    assert machine.loop.progress().counts.counters.commands == 1


def test_messages_that_are_cut_are_refused():
    """Whatever is missing at the end of a message, nothing of it is taken."""
    for joint_states in (False, True):
        machine = Machine(simulation(Imperfections()), joint_states=joint_states)
        whole = command([1.0, 2.0])
        if joint_states:
            whole = joint_state(('four', 'one'), [], [], [1.0, 2.0], (8, 0))
            assert len(whole) == len(effort_command(('four', 'one')).content)
        for size in range(1, len(whole)):
            machine.tick(50.0, whole[:size])
            assert machine.loop.given.seen[Look.DEFECT] == Defect.UNREADABLE
        counters = machine.loop.progress().counts.counters
        assert (counters.refused, counters.commands) == (len(whole) - 1, 0)


@pytest.mark.parametrize(('last', 'events'), [
    (49.95, [(50.0, 0), (50.05, 0), (50.3, 1), (50.31, 2)]),    # until it pauses
    (52.95, [(52.96, 0), (53.0, 1)])])                          # or for some time
def test_a_stream_of_commands_is_ignored_after_a_reset(last, events):
    """It is for the pose before."""
    machine = Machine(simulation(Imperfections()))
    machine.loop.given.drive.deaf_until, machine.loop.given.drive.last_command = 53.0, last
    for now, commands in events:
        machine.tick(now, command([0.0, 0.0]))
        assert machine.loop.progress().counts.counters.commands == commands
        assert machine.loop.last_command == now


def test_encoders_round_halves_to_even():
    """As numpy does."""
    x = Imperfections(resolution=0.25)
    made = simulation(x), simulation(x)
    for each in made:
        each.robot.place([0.125, 0.375, -0.625])
    python, machine = made[0], Machine(made[1])
    for now in (50.0, 50.001):
        sample, found = python.tick(now), machine.tick(now)
    assert found[1][0].tolist() == sample.position.tolist() == [0.0, 0.5, 0.0, -0.5]


@pytest.mark.parametrize(('imperfections', 'schedule', 'why'), [
    (Imperfections(), {}, ''), (Imperfections(latency=0.01), {}, 'readings are'),
    (Imperfections(loss=0.1), {}, 'readings are'),
    (Imperfections(velocity_noise=0.1), {}, 'readings are'),
    (Imperfections(), {'command_latency': 0.01}, 'commands have a latency'),
    (Imperfections(), {'lockstep': True}, 'lockstep')])
def test_what_machine_code_does_not_know(imperfections, schedule, why):
    """Python runs these periods, and says why."""
    made = simulation(imperfections, **schedule)
    found = obstacle(made) or interruption(made)
    assert (why in found) == (found == '' or bool(why))
    made.push('d', [0.0] * 6, 1.0)
    assert obstacle(made) or interruption(made)
    made.pause(True)
    assert why or interruption(made) == 'it is paused'


def test_a_state_that_is_not_finite_is_left_to_python():
    """The loop stops, and the same error comes as without it."""
    machine = Machine(simulation(Imperfections(), brakes=False))
    machine.loop.given.body.v[:] = 1e200
    machine.tick(50.0)
    assert machine.tick(50.001) is None and machine.loop.given.drive.failed
    with pytest.raises(RbdError, match='has diverged'):
        machine.simulation.robot.look()
