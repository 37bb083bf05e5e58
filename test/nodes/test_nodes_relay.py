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

"""Relays: serialized messages through a kernel, in machine code."""

import gc
import struct
import sys

import numpy as np
import pytest

from rbd_ros.nodes.relay import Expected, make_copier, make_relay

HEAD = struct.Struct('<2s2xiI8sI4x')  # kind, stamp, a name, a count
N = 3


def message(values, *, kind=b'\x00\x01', name=b'joints__', count=N, stamp=(7, 8)):
    """Return a message of doubles behind a head."""
    return HEAD.pack(kind, *stamp, name, count) + struct.pack(f'<{len(values)}d', *values)


MASK = b'\xff\xff' + bytes(10) + b'\xff' * 12 + bytes(4 + 8 * N)


class Rig:
    """A relay that turns the order of the numbers and doubles them."""

    def __init__(self, fail=False):
        self.q, self.out, self.usual = np.zeros(N), np.zeros(N), np.zeros(1)
        self.calls, self.fail = 0, fail
        gather = [(HEAD.size + 8 * k, self.q, N - 1 - k) for k in range(N)]
        scatter = [(self.out, k, 12 + 8 * k) for k in range(N)]
        self.relay = make_relay(Expected(message([0.0] * N), MASK), gather, self.run, self.usual,
                                b'\xaa' * 12 + bytes(8 * N), scatter, [(4, 0)])

    def run(self):
        """Compute as a kernel would."""
        self.calls += 1
        if self.fail:
            raise RuntimeError('the kernel failed')
        self.out[:] = 2.0 * self.q
        self.usual[0] = 1.0 if np.isfinite(self.q).all() else np.nan


def test_numbers_go_through_the_kernel():
    """Doubles are taken from their places, computed with, and put into the template."""
    rig = Rig()
    answer = rig.relay(message([1.5, -2.0, 1e300], stamp=(12, 34)))
    assert struct.unpack('<iI', answer[:8]) == (12, 34)
    assert answer[8:12] == b'\xaa' * 4
    assert struct.unpack('<3d', answer[12:]) == (2e300, -4.0, 3.0)


@pytest.mark.parametrize('other', [
    message([1.0] * N, kind=b'\x00\x00'), message([1.0] * N, name=b'jointsX_'),
    message([1.0] * N, count=2), message([1.0] * 2), message([1.0] * 4), b'', b'x', None, 3.0,
    bytearray(message([1.0] * N)), np.zeros(6)], ids=repr)
def test_other_messages_are_not_taken(other):
    """What differs where the mask compares, in size or in type, gives None without a call."""
    rig = Rig()
    assert rig.relay(other) is None
    assert rig.calls == 0 and not rig.q.any()


def test_masked_bytes_may_differ():
    """Bytes outside the mask, like padding and options, do not matter."""
    rig = Rig()
    given = bytearray(message([1.0, 2.0, 3.0]))
    for place, mask in enumerate(MASK):
        if not mask and place < HEAD.size:
            given[place] ^= 0xa5
    assert rig.relay(bytes(given)) is not None


@pytest.mark.parametrize('size', [8, 9, 12, 15, 16, 20])
def test_the_last_bytes_are_compared(size):
    """A message whose length is no multiple of eight has no byte that nobody looks at."""
    given = bytes(range(1, size + 1))
    relay = make_relay(Expected(given, b'\xff' * size), [], lambda: None, np.ones(1), b'ok', [])
    assert relay(given) == b'ok'
    for place in range(size):
        other = bytearray(given)
        other[place] ^= 1
        assert relay(bytes(other)) is None


@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf])
def test_unusual_results_are_not_sent(bad):
    """Unless the kernel says 1, there is no message."""
    rig = Rig()
    assert rig.relay(message([1.0, bad, 2.0])) is None
    assert rig.calls == 1


def test_exceptions_of_the_kernel_come_through():
    """What the kernel raises is raised by the relay."""
    with pytest.raises(RuntimeError, match='the kernel failed'):
        Rig(fail=True).relay(message([1.0] * N))


def test_each_answer_is_a_message_of_its_own():
    """An answer is not changed by the next one."""
    rig = Rig()
    first = rig.relay(message([1.0, 2.0, 3.0]))
    kept = bytes(first)
    rig.relay(message([4.0, 5.0, 6.0]))
    assert first == kept


def test_nothing_leaks():
    """Neither messages, answers nor None are kept or lost."""
    rig = Rig()
    given = message([1.0, 2.0, 3.0])
    other = message([1.0, 2.0, np.nan])
    before = sys.getrefcount(given), sys.getrefcount(rig.usual)
    answer = None
    for _ in range(1000):
        answer = rig.relay(given)
        rig.relay(other)
    assert (sys.getrefcount(given), sys.getrefcount(rig.usual)) == before
    assert sys.getrefcount(answer) == 2  # the name and the argument


def test_a_relay_keeps_what_it_needs():
    """Arrays, kernel and template live as long as the relay."""
    relay = Rig().relay
    gc.collect()
    junk = [np.full(N, 7.0) for _ in range(1000)]
    assert struct.unpack('<3d', relay(message([1.0, 2.0, 3.0]))[12:]) == (6.0, 4.0, 2.0)
    assert all((array == 7.0).all() for array in junk)


@pytest.mark.parametrize('gather, scatter, copies', [
    ([(HEAD.size + 8 * N - 7, 0)], [], []), ([(-1, 0)], [], []), ([(0, N)], [], []),
    ([], [(0, 1)], []), ([], [(N, 0)], []), ([], [], [(HEAD.size + 8 * N - 7, 0)]),
    ([], [], [(0, 1)])])
def test_places_outside_are_refused(gather, scatter, copies):
    """No place beyond a message or an array is ever read or written."""
    array = np.zeros(N)
    with pytest.raises(ValueError, match='places within'):
        make_relay(Expected(message([0.0] * N), MASK), [(at, array, k) for at, k in gather],
                   lambda: None, array, bytes(8), [(array, k, at) for k, at in scatter], copies)


@pytest.mark.parametrize('array', [
    np.zeros(N, np.float32), np.zeros(2 * N)[::2], np.zeros(8 * N + 1, np.uint8)[1:].view(float)])
def test_other_arrays_are_refused(array):
    """Only contiguous, aligned float64 arrays have elements where the machine code looks."""
    with pytest.raises(ValueError, match='float64'):
        make_copier([(array, np.zeros(N))])


def test_masks_must_fit():
    """A mask of another size, or a message too short for a word, is refused."""
    for pattern, mask in ((bytes(16), bytes(15)), (bytes(7), bytes(7))):
        with pytest.raises(ValueError, match='mask'):
            make_relay(Expected(pattern, mask), [], lambda: None, np.zeros(1), b'', [])


def test_movers_copy_in_order():
    """Each pair is copied, in the order given."""
    a, b, c = np.arange(5.0), np.zeros(5), np.zeros(5)
    move = make_copier([(a, b), (b, c)])
    assert move() is None
    assert (b == a).all() and (c == a).all()
    a[:] = -1.0
    assert (b == np.arange(5.0)).all()
    with pytest.raises(ValueError, match='sizes'):
        make_copier([(a, np.zeros(4))])
