# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Joint states read from bytes: as the middleware reads them, whatever the bytes are."""

import struct

from c_functions import COMPILER
from c_procedure import Built
import codec_oracle as oracle
from guarded_bytes import GuardedBytes
import numpy as np
import pytest
from rbd_ros.compiler.language.octets import Bytes
from rbd_ros.compiler.procedure import bind, Matrix, Vector
from rbd_ros.wire.command import Slots, write_command, write_motor_command
from rbd_ros.wire.joint_state import find_head, find_numbers, names_end, Parts
from rbd_ros.wire.messages import (
    array_command, dynamic_motor_command, effort_command, joint_state, motor_array_command,
    motor_state_command, MOTOR_WORDS)

WORDS = ('', 'a', 'arm_joint_1', 'élan', 'panda_finger_joint2', '日本')


def find(data: Bytes, parts: Parts, found: Vector) -> None:
    """Find all parts of a message of the given size."""
    found[0] = 0.0
    if find_head(data, int(found[1]), parts):
        end = names_end(data, parts)
        if end >= 0:
            parts.names_end = end
            found[0] = 1.0 if find_numbers(data, parts) else 0.0


class Finder:
    """
    The procedure on bytes of its own.

    :param backend: of the procedure.
    """

    def __init__(self, backend):
        self.data, self.found = np.zeros(2048, np.uint8), np.zeros(2)
        self.parts = Parts({})
        self._run = bind(find, self.data, self.parts, self.found, backend=backend)

    def __call__(self, message, stale=0):
        """Return what was found, or None; behind the message there is something else."""
        self.data[:] = stale
        self.data[:len(message)] = np.frombuffer(message, np.uint8)
        self.found[1] = len(message)
        self.parts.memory[:] = 0.0
        self._run()
        return self.parts.memory.copy() if self.found[0] else None


@pytest.fixture(scope='module')
def finders():
    """Return the procedure in Python and as machine code."""
    return [Finder(backend) for backend in ('python', 'llvm')]


def values_of(message, parts, what):
    """Return some of the doubles of a message."""
    count, first = (int(getattr(parts, f'{what}{end}')) for end in ('', '_at'))
    form = f'{">" if parts.big else "<"}{count}d'
    return struct.unpack_from(form, message, first) if count else ()


def any_message(rng):
    """Return a joint state of any names, fields and stamp, with the lists that it was made of."""
    names = tuple(rng.choice(WORDS, rng.integers(0, 9)).tolist())
    sizes = [int(rng.choice([0, len(names), rng.integers(0, 9)])) for _ in range(3)]
    values = [rng.normal(size=size) * 2.0 ** rng.integers(-9, 9) for size in sizes]
    stamp = int(rng.integers(-2 ** 31, 2 ** 31)), int(rng.integers(0, 2 ** 32))
    frame = str(rng.choice(WORDS))
    return joint_state(names, *values, stamp, frame), names, values, stamp, frame


def turned(message, names, values, stamp, frame):
    """Return the same message with the most significant bytes in front."""
    class Big:
        body = b''

        def number(self, form, value):
            size = struct.calcsize(form)
            self.body += bytes(-len(self.body) % size) + struct.pack('>' + form, value)

        def text(self, value):
            self.number('I', len(value.encode()) + 1)
            self.body += value.encode() + bytes(1)
    out = Big()
    out.number('i', stamp[0])
    out.number('I', stamp[1])
    out.text(frame)
    out.number('I', len(names))
    for name in names:
        out.text(name)
    for each in values:
        out.number('I', len(each))
        for value in each:
            out.number('d', value)
    return bytes(4) + out.body


def test_as_the_middleware_reads_it(finders):
    """Random messages in either order of bytes: the numbers that rclpy finds, and its own too."""
    serialization = pytest.importorskip('rclpy.serialization')
    kind = pytest.importorskip('sensor_msgs.msg').JointState
    rng = np.random.default_rng(7)
    for _ in range(150):
        made = any_message(rng)
        wanted = serialization.deserialize_message(made[0], kind)
        for message in (made[0], turned(*made), serialization.serialize_message(wanted)):
            read = serialization.deserialize_message(message, kind)
            assert read == wanted
            for finder in finders:
                assert finder(message, int(rng.integers(256))) is not None
                parts = finder.parts
                assert (parts.stamp_s, parts.stamp_ns) == (
                    wanted.header.stamp.sec, wanted.header.stamp.nanosec)
                assert parts.names == len(wanted.name)
                for what in ('position', 'velocity', 'effort'):
                    plural = {'position': 'positions', 'velocity': 'velocities',
                              'effort': 'efforts'}[what]
                    np.testing.assert_array_equal(
                        values_of(message, parts, plural), getattr(wanted, what))


def test_no_part_of_a_message_is_one(finders):
    """A message cut anywhere is none; what follows a whole one does not count."""
    rng = np.random.default_rng(8)
    for _ in range(12):
        message = any_message(rng)[0]
        for finder in finders:
            whole = finder(message)
            assert whole is not None
            longer = finder(message + bytes(rng.integers(0, 256, 9, dtype=np.uint8)))
            np.testing.assert_array_equal(longer[1:], whole[1:])
            for size in range(len(message)):
                assert finder(message[:size], stale=size % 256) is None


def spoiled(rng):
    """Return a message with some bytes or lengths that are not its own, or anything at all."""
    message = bytearray(any_message(rng)[0])
    for _ in range(rng.integers(1, 4)):
        how, at = rng.integers(0, 4), int(rng.integers(0, len(message) - 3))
        if how == 0:
            message[at] = rng.integers(0, 256)
        elif how == 1:
            lengths = [0, 1, 5, 255, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 29, len(message)]
            struct.pack_into('<I', message, at & ~3, int(rng.choice(lengths)))
        elif how == 2:
            del message[at:]
            message += bytes(4)
        else:
            message[4:] = rng.integers(0, 256, len(message) - 4, dtype=np.uint8).tobytes()
    return bytes(message)


def test_whatever_the_bytes_nothing_outside_is_read(finders):
    """Spoiled messages between forbidden pages: Python and machine code find the same."""
    rng = np.random.default_rng(9)
    readable = 0
    for k in range(400):
        message = spoiled(rng)
        found = [finder(message) for finder in finders]
        assert (found[0] is None) == (found[1] is None)
        if found[0] is not None:
            readable += 1
            np.testing.assert_array_equal(*found)
            for what in ('positions', 'velocities', 'efforts'):
                values_of(message, finders[0].parts, what)  # raises if they are not inside
        if k % 8:
            continue
        guarded, numbers = GuardedBytes(message), np.array([0.0, len(message)])
        bind(find, guarded.array, Parts({}), numbers, backend='llvm')()
        assert bool(numbers[0]) == (found[0] is not None)
        guarded.release()
    assert 20 < readable < 380


@pytest.mark.skipif(COMPILER is None, reason='this machine has no C compiler')
def test_c_finds_what_python_does():
    """The same reader as C."""
    finder, rng = Finder('python'), np.random.default_rng(10)
    built = Built(find, finder.data, finder.parts, finder.found)
    sizes = [place.numbers.nbytes for place in built.places]
    memory = built.memory.view(np.uint8)
    parts, found, data = np.split(memory[:sum(sizes)], np.cumsum(sizes)[:-1])
    for _ in range(200):
        message = spoiled(rng)
        wanted = finder(message)
        data[:], found[:] = finder.data, np.array([0.0, len(message)]).view(np.uint8)
        parts[:] = 0
        built.run()
        assert bool(found.view(float)[0]) == (wanted is not None)
        np.testing.assert_array_equal(parts.view(float), finder.parts.memory)


@pytest.mark.parametrize('backend', ['python', 'llvm'])
@pytest.mark.parametrize('make', [array_command, effort_command])
def test_commands_are_what_the_middleware_reads(make, backend):
    """Names, stamp and numbers arrive; NaN would, too."""
    serialization = pytest.importorskip('rclpy.serialization')
    joints = ['a', 'élan', 'joint_3']
    made = make(joints)
    data, slots = np.frombuffer(made.content, np.uint8).copy(), Slots({})
    slots.values_at, slots.stamp_at = made.values_at, made.stamp_at
    values, stamp = np.array([0.1, -1e308, np.inf]), np.array([2.0 ** 31 - 1, 999999999.0])
    bind(write_it, data, slots, values, stamp, backend=backend)()
    if make is array_command:
        kind = pytest.importorskip('std_msgs.msg').Float64MultiArray
        found = serialization.deserialize_message(bytes(data), kind)
        assert list(found.data) == values.tolist() and not found.layout.dim
        return
    kind = pytest.importorskip('sensor_msgs.msg').JointState
    found = serialization.deserialize_message(bytes(data), kind)
    assert list(found.effort) == values.tolist() and found.name == joints
    assert [found.header.stamp.sec, found.header.stamp.nanosec] == stamp.tolist()
    assert not found.position and not found.velocity and not found.header.frame_id


@pytest.mark.parametrize('backend', ['python', 'llvm'])
@pytest.mark.parametrize('make', [motor_array_command, motor_state_command,
                                  dynamic_motor_command])
@pytest.mark.parametrize('joints', [['a'], ['bb', 'élan'], ['ccc', 'joint_3', 'dddd', 'a']])
def test_commands_to_motors_are_what_the_middleware_reads(make, backend, joints):
    """Five numbers of each joint arrive under their names, with stamp and dimensions."""
    serialization = pytest.importorskip('rclpy.serialization')
    made, n = make(joints), len(joints)
    data, slots = np.frombuffer(made.content, np.uint8).copy(), Slots({})
    slots.values_at, slots.stamp_at, slots.step = made.values_at, made.stamp_at, made.step
    slots.motor_at[:] = made.motor_at
    values, stamp = np.arange(1.0, 5 * n + 1).reshape(5, n), np.array([2.0 ** 31 - 1, 999999999.0])
    bind(write_motors, data, slots, values, np.zeros(n), stamp, backend=backend)()
    if make is motor_array_command:
        kind = pytest.importorskip('std_msgs.msg').Float64MultiArray
        found = serialization.deserialize_message(bytes(data), kind)
        np.testing.assert_array_equal(np.reshape(found.data, (n, 5)).T, values)
        assert [(dim.label, dim.size, dim.stride) for dim in found.layout.dim] == [
            ('joint', n, 5 * n), ('position velocity stiffness damping effort', 5, 5)]
        assert len(data) == 92 + 40 * n and found.layout.data_offset == 0
        return
    if make is motor_state_command:
        kind = pytest.importorskip('sensor_msgs.msg').JointState
        found = serialization.deserialize_message(bytes(data), kind)
        assert list(found.name) == [*joints, *(f'{joint}/gains' for joint in joints)]
        assert list(found.position) == [*values[0], *values[2]]
        assert list(found.velocity) == [*values[1], *values[3]]
        assert list(found.effort) == [*values[4], *np.zeros(n)]
    else:
        kind = pytest.importorskip('control_msgs.msg').DynamicJointState
        found = serialization.deserialize_message(bytes(data), kind)
        assert list(found.joint_names) == joints
        assert [list(each.interface_names) for each in found.interface_values] == [
            list(MOTOR_WORDS)] * n
        np.testing.assert_array_equal([each.values for each in found.interface_values], values.T)
    assert [found.header.stamp.sec, found.header.stamp.nanosec] == stamp.tolist()


@pytest.mark.parametrize('joints', [('a',), ('bb',), ('ccc',), ('dddd', 'ccc', 'bb', 'a', 'bb'),
                                    tuple('abcdefg')])
def test_bytes_are_those_of_the_oracle(joints):
    """Strings of every length stand last and before others; every byte is as it should be."""
    zeros = [0.0] * len(joints)
    assert effort_command(joints).content == oracle.joint_state(
        joints, [], [], zeros, stamp=(0, 0))
    for frame in ('', 'bb', 'ccc', 'base_link'):
        assert joint_state(joints, zeros, [], zeros, (12, 500000000), frame) == (
            oracle.joint_state(joints, zeros, [], zeros, frame))
    cdr = oracle.Cdr()
    cdr.number('I', 0)
    cdr.number('I', 0)
    cdr.doubles(zeros)
    assert array_command(joints).content == cdr.message


def write_it(data: Bytes, slots: Slots, values: Vector, stamp: Vector) -> None:
    """Write a command."""
    write_command(data, slots, values, stamp[0], stamp[1])


def write_motors(data: Bytes, slots: Slots, values: Matrix, joints: Vector,
                 stamp: Vector) -> None:
    """Write a command to motors."""
    write_motor_command(data, slots, values, len(joints), stamp[0], stamp[1])
