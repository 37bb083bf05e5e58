# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Serialized messages, against bytes made by hand and against the middleware's own."""

from codec_oracle import joint_state
from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from rbd_ros.wire.reading import JointStateReader
from sampling import examples

NAMES = ('a', 'joint_2', 'élan')


def same(found, names, position, velocity, effort):
    """Return whether a message was read as given, NaN included."""
    return found is not None and found.names == tuple(names) and all(
        np.array_equal(a, np.array(b, dtype=float), equal_nan=True)
        for a, b in ((found.position, position), (found.velocity, velocity),
                     (found.effort, effort)))


names = st.lists(st.text(st.characters(exclude_characters='\x00', codec='utf-8'), max_size=9),
                 max_size=8)


@settings(max_examples=examples('properties', 200))
@given(names, st.text(st.characters(exclude_characters='\x00', codec='utf-8'), max_size=9),
       st.booleans(), st.booleans(), st.booleans(), st.randoms())
def test_any_joint_state_is_read(joints, frame, has_q, has_qd, has_effort, random):
    """Each combination of fields, names and frames is read, twice, with other numbers."""
    reader = JointStateReader()
    for _ in range(2):
        q, qd, effort = ([random.uniform(-9, 9) for _ in joints] if has else []
                         for has in (has_q, has_qd, has_effort))
        message = joint_state(joints, q, qd, effort, frame, padding=random.randrange(256))
        found = reader.read(message + bytes(random.choice([0, 0, 3, 8, 12])))
        assert same(found, joints, q, qd, effort)
        assert found.stamp == 12.5


def test_two_publishers_alternate():
    """A gripper between the messages of the arm confuses nothing."""
    reader = JointStateReader()
    for k in range(4):
        arm = reader.read(joint_state(NAMES, [k, 1, 2], [3, 4, 5], [6, 7, 8], 'base'))
        assert same(arm, NAMES, [k, 1, 2], [3, 4, 5], [6, 7, 8])
        hand = reader.read(joint_state(('finger',), [0.1 * k], [], []))
        assert same(hand, ('finger',), [0.1 * k], [], [])
    assert arm.names is reader.read(joint_state(NAMES, [0] * 3, [], [], 'base')).names


def test_same_length_other_name_is_noticed():
    """A name that changes one letter is another joint."""
    reader = JointStateReader()
    reader.read(joint_state(('ab', 'cd'), [1, 2], [], []))
    assert reader.read(joint_state(('ab', 'ce'), [1, 2], [], [])).names == ('ab', 'ce')


def test_nan_passes_the_codec():
    """What is in the message is judged later: NaN and infinity are delivered as they are."""
    reader = JointStateReader()
    found = reader.read(joint_state(('a', 'b'), [np.nan, np.inf], [-np.inf, 0.0], []))
    assert same(found, ('a', 'b'), [np.nan, np.inf], [-np.inf, 0.0], [])


@pytest.mark.parametrize('change', [
    lambda m: b'\x00\x00' + m[2:],  # big endian, which it is not
    lambda m: b'\x00\x03' + m[2:],  # parameter list
    lambda m: m.replace(NAMES[0].encode() + b'\x00', NAMES[0].encode() + b'x'),  # no end
    lambda m: m[:-1], lambda m: m[:-9], lambda m: m[:20], lambda m: b'',
    lambda m: m + bytes(2 ** 18)])
def test_surprises_are_left_to_the_middleware(change):
    """Other encodings, missing bytes and too many give None, also between good messages."""
    message = joint_state(NAMES, [1, 2, 3], [4, 5, 6], [7, 8, 9])
    assert JointStateReader().read(change(message)) is None
    reader = JointStateReader()
    assert reader.read(message)
    assert reader.read(change(message)) is None
    assert same(reader.read(message), NAMES, [1, 2, 3], [4, 5, 6], [7, 8, 9])


def test_a_message_cut_anywhere_is_left_to_the_middleware():
    """Whatever is missing at the end, nothing is read and nothing raised."""
    message = joint_state(NAMES, [1, 2, 3], [4, 5, 6], [7, 8, 9], 'base')
    reader = JointStateReader()
    assert reader.read(message)
    for size in range(len(message)):
        assert reader.read(message[:size]) is None, size


@pytest.mark.parametrize('fields', [([1.0], [], []), ([1, 2, 3], [1.0], []),
                                    ([1, 2, 3], [], [1, 2, 3, 4])])
def test_unequal_lengths_are_left_to_the_middleware(fields):
    """Fields whose length is not that of the names are not read here."""
    assert JointStateReader().read(joint_state(NAMES, *fields)) is None


def place_of_count(message, field):
    """Return where the count of three velocities (0) or efforts (1) stands: before its padding."""
    return len(message) - (2 - field) * (4 + 4 + 3 * 8)


@pytest.mark.parametrize('field', [0, 1])
@pytest.mark.parametrize('count', [0, 1, 2, 4, 0x01000003, 0xffffffff])
def test_count_of_a_known_message_is_looked_at(field, count):
    """What has not as many velocities or efforts as names is not taken; none may be left out."""
    fields = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]
    message = joint_state(NAMES, *fields)
    place = place_of_count(message, field)
    assert message[place:place + 4] == b'\x03\x00\x00\x00'
    reader = JointStateReader()
    assert reader.read(message) is not None
    other = message[:place] + count.to_bytes(4, 'little') + message[place + 4:]
    found = reader.read(other)
    assert found is None if count else not len((found.velocity, found.effort)[field])


def test_same_length_with_other_fields_is_read_anew():
    """Velocities alone and efforts alone can have one length: the numbers go where they belong."""
    q, x = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]
    moving, pushed = joint_state(NAMES, q, x, []), joint_state(NAMES, q, [], x)
    size = max(len(moving), len(pushed))
    moving, pushed = (m + bytes(size - len(m)) for m in (moving, pushed))
    reader = JointStateReader()
    for _ in range(2):
        state = reader.read(moving)
        assert (state.velocity.tolist(), state.effort.tolist()) == (x, [])
        state = reader.read(pushed)
        assert (state.velocity.tolist(), state.effort.tolist()) == ([], x)


@settings(max_examples=examples('properties', 200))
@given(st.binary(max_size=200))
def test_garbage_never_raises(data):
    """No bytes whatever make the reader raise."""
    JointStateReader().read(b'\x00\x01\x00\x00' + data)
    JointStateReader().read(data)


@settings(max_examples=examples('properties', 200))
@given(st.data())
def test_damaged_messages_never_raise(data):
    """A message with one byte changed is read or refused."""
    message = bytearray(joint_state(NAMES, [1, 2, 3], [4, 5, 6], [7, 8, 9], 'base'))
    reader = JointStateReader()
    reader.read(bytes(message))
    message[data.draw(st.integers(0, len(message) - 1))] = data.draw(st.integers(0, 255))
    reader.read(bytes(message))
    JointStateReader().read(bytes(message))


def test_against_the_middleware():
    """Messages of rclpy are read as they are."""
    reason = 'rclpy is not installed: source ROS 2 or use ./run'
    serialization = pytest.importorskip('rclpy.serialization', reason=reason)
    JointState = pytest.importorskip('sensor_msgs.msg', reason=reason).JointState
    reader = JointStateReader()
    for fields in (([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]),
                   ([1.0, 2.0, 3.0], [], []), ([], [], [1.0, 2.0, 3.0])):
        message = JointState(name=list(NAMES), position=fields[0], velocity=fields[1],
                             effort=fields[2])
        message.header.frame_id = 'base'
        message.header.stamp.sec, message.header.stamp.nanosec = 12, 500000000
        assert same(reader.read(serialization.serialize_message(message)), NAMES, *fields)
