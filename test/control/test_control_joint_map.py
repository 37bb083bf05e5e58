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

"""From names in messages to the vectors of the model."""

import itertools

from hypothesis import given, strategies as st

import numpy as np
import pytest

from rbd_ros.control.former.joint_states.joint_map import JointMap
from rbd_ros.control.former.joint_states.layout import AgeLimits, Arrival
from rbd_ros.control.interface.causes import Cause
from rbd_ros.errors import ModelError, UnknownName

ARM = ('a', 'b', 'c')
IGNORED, REJECTED, PROBE, PRESCRIBED, STATE = Arrival


def build(joints=ARM, controlled=ARM, **options):
    """Build a map that believes a stream after one probe."""
    limits = AgeLimits(state_timeout=0.1, period=0.0, probes=1)
    return JointMap(joints, controlled, limits=limits, **options)


class Feed:
    """A publisher with a clock."""

    def __init__(self, subject):
        self.subject, self.time = subject, 10.0

    def __call__(self, names, position, velocity=(), effort=(), dt=0.01):
        self.time += dt
        return self.subject.update(self.time, names, position, velocity, effort,
                                   self.time + 500.0)


def test_values_go_to_their_names():
    """Any order of names gives the same vectors."""
    subject = build()
    feed = Feed(subject)
    for _ in range(2):
        arrival = feed(('c', 'a', 'b'), [3.0, 1.0, 2.0], [30.0, 10.0, 20.0], [7.0, 5.0, 6.0])
    assert arrival is STATE
    assert subject.q.tolist() == [1.0, 2.0, 3.0]
    assert subject.qd.tolist() == [10.0, 20.0, 30.0]
    assert subject.effort.tolist() == [5.0, 6.0, 7.0]
    assert subject.effort_known


def test_order_may_change_between_messages():
    """A publisher that reorders its names is followed at once; each order proves itself."""
    subject = build()
    feed = Feed(subject)
    for _ in range(2):
        feed(ARM, [1.0, 2.0, 3.0], [0.0] * 3)
    assert feed(ARM[::-1], [6.0, 5.0, 4.0], [0.0] * 3) is PROBE
    assert subject.q.tolist() == [1.0, 2.0, 3.0]
    assert feed(ARM[::-1], [6.0, 5.0, 4.0], [0.0] * 3) is STATE
    assert subject.q.tolist() == [4.0, 5.0, 6.0]


def test_extra_joints_are_ignored_and_announced_once():
    """Joints of another robot are named once and do no harm, even when NaN."""
    subject = build()
    feed = Feed(subject)
    for _ in range(3):
        arrival = feed(('x', *ARM), [np.nan, 1.0, 2.0, 3.0], [np.nan, 0.0, 0.0, 0.0])
    assert arrival is STATE
    assert [n for n in subject.notices.take() if 'not in the model' in n] == [
        'joints not in the model are ignored: x']
    assert subject.notices.take() == []
    assert feed(('x', 'y'), [1.0, 2.0]) is IGNORED


def test_invented_names_fill_neither_log_nor_memory():
    """Thousands of new lists of names: a few lines, few kept, and the good stream is not hurt."""
    subject = build()
    feed = Feed(subject)
    for _ in range(3):
        feed(ARM, [1.0, 2.0, 3.0], [0.0] * 3)
    generation = subject.generation
    for k in range(2000):
        assert feed((f'bogus_{k}' * 50, *(['y'] * 50)), [1.0] * 51, dt=0.0005) is IGNORED
        if k % 10 == 0:
            assert feed(ARM, [1.0, 2.0, 3.0], [0.0] * 3, dt=0.0005) is STATE
    notices = subject.notices.take()
    assert 2 <= len(notices) <= 10
    assert all(len(text) < 500 for text in notices)
    assert 'further ones are not logged' in notices[-1]
    assert len(subject._layouts) <= 64 and len(subject.notices._announced) <= 10
    assert subject.generation == generation  # nothing that the fast path relies on has gone


def test_orders_without_end_are_forgotten_one_by_one():
    """Of more orders of our own joints than are kept, the one that is in use is never dropped."""
    subject = build(joints=[f'j{k}' for k in range(6)], controlled=['j0'])
    feed = Feed(subject)
    orders = itertools.permutations([f'j{k}' for k in range(6)])
    for names in itertools.islice(orders, 200):
        feed(('j0',), [1.0], [0.0], dt=0.001)
        feed(names, [0.0] * 6, [0.0] * 6, dt=0.001)
    assert feed(('j0',), [1.0], [0.0], dt=0.001) is STATE
    assert len(subject._layouts) <= 64


@pytest.mark.parametrize('names, position, velocity, effort, reason', [
    (ARM, [1.0, np.nan, 3.0], [], [], 'position of b is not finite'),
    (ARM, [1.0, 2.0, np.inf], [], [], 'position of c is not finite'),
    (ARM, [], [0.0] * 3, [], '0 positions for 3 names'),
    (ARM, [1.0, 2.0], [], [], '2 positions for 3 names'),
    (ARM, [1.0] * 4, [], [], '4 positions for 3 names'),
    (ARM, [1.0] * 3, [0.0], [], '1 velocities for 3 names'),
    (ARM, [1.0] * 3, [], [0.0] * 2, '2 efforts for 3 names'),
    (('a', 'b', 'c', 'a'), [1.0] * 4, [], [], 'a appears twice')])
def test_bad_fields_do_not_renew_the_state(names, position, velocity, effort, reason):
    """A message with a wrong field counts as not received, and the reason is kept."""
    subject = build()
    feed = Feed(subject)
    for _ in range(3):
        feed(ARM, [1.0, 2.0, 3.0], [0.0] * 3)
    expiry = subject.expiry
    for _ in range(3):
        assert feed(names, position, velocity, effort) is REJECTED
    assert reason in subject.reason
    assert subject.expiry == expiry
    assert subject.q.tolist() == [1.0, 2.0, 3.0]
    assert reason in subject.diagnose(feed.time + 1.0)[1]


def test_missing_velocity_is_a_filtered_difference():
    """A steady ramp without velocities gives its slope after the filter has settled."""
    subject = build()
    feed = Feed(subject)
    for k in range(300):
        feed(ARM, [0.002 * k, 1.0, -0.004 * k], dt=0.002)
    np.testing.assert_allclose(subject.qd, [1.0, 0.0, -2.0], atol=1e-9)
    assert subject.notices.take() == [
        'no velocity for a, b, c: using the filtered derivative of the position']


def test_joints_without_velocity_are_told_once_each():
    """One notice names all that came without a velocity; one that loses it later follows."""
    subject = build()
    feed = Feed(subject)
    for k in range(20):
        feed(ARM, [0.002 * k, 1.0, 2.0], [np.nan, 7.0, np.nan if k > 10 else 8.0])
    notices = [text for text in subject.notices.take() if 'no velocity' in text]
    assert [text.partition(':')[0] for text in notices] == [
        'no velocity for a', 'no velocity for c']


def test_difference_filter_is_first_order():
    """One step of the filter takes the share dt / (dt + T) of the new slope."""
    subject = build()
    feed = Feed(subject)
    feed(ARM, [0.0] * 3)
    feed(ARM, [0.01, 0.0, 0.0])
    assert subject.qd[0] == pytest.approx(0.5 * 1.0, rel=1e-9)  # T = dt = 0.01


def test_single_nan_velocity_is_differenced_alone():
    """The measured velocities of the other joints stay measured."""
    subject = build()
    feed = Feed(subject)
    for k in range(300):
        feed(ARM, [0.002 * k, 1.0, 2.0], [np.nan, 7.0, 8.0], dt=0.002)
    np.testing.assert_allclose(subject.qd, [1.0, 7.0, 8.0], atol=1e-9)


def test_velocity_is_differenced_by_stamps_not_by_reception():
    """A stream that arrives unevenly but was sampled evenly has an even velocity."""
    limits = AgeLimits(state_timeout=0.1, period=0.0, probes=1, velocity_filter=0.0)
    subject = JointMap(ARM, ARM, limits=limits)
    for k, late in enumerate((0.0, 0.006, 0.001, 0.009, 0.0, 0.004)):
        subject.update(10.0 + 0.01 * k + late, ARM, [0.02 * k, 0.0, -0.03 * k], (), (),
                       500.0 + 0.01 * k)
        if k > 1:
            np.testing.assert_allclose(subject.qd, [2.0, 0.0, -3.0], rtol=0, atol=1e-9)


def test_a_nan_between_velocities_is_differenced_from_the_last_position():
    """Velocities that came before do not make the next difference unknown, let alone 0."""
    limits = AgeLimits(state_timeout=0.1, period=0.0, probes=1, velocity_filter=0.0)
    subject = JointMap(ARM, ARM, limits=limits)
    feed = Feed(subject)
    for k in range(20):
        told = [np.nan if k % 4 == 3 else 2.0, 0.0, 1.0]
        feed(ARM, [0.02 * k, 0.0, 0.01 * k], told)
        if k > 1:
            np.testing.assert_allclose(subject.qd, [2.0, 0.0, 1.0], rtol=0, atol=1e-9)


def test_effort_of_a_partial_message_is_kept_but_not_the_whole():
    """A part with efforts fills its places; efforts are known once one message has them all."""
    subject = build()
    feed = Feed(subject)
    for _ in range(2):
        feed(ARM, [0.0] * 3, [0.0] * 3, [1.0, 2.0, 3.0])
    assert subject.effort_known
    for _ in range(2):
        feed(('c', 'a'), [0.0] * 2, [0.0] * 2, [30.0, 10.0])
    assert subject.effort.tolist() == [10.0, 2.0, 30.0]
    assert not subject.effort_known
    for _ in range(2):
        feed(('b',), [0.0], [0.0], [20.0])
    assert not subject.effort_known
    feed(ARM, [0.0] * 3, [0.0] * 3, [1.0, 2.0, 3.0])
    assert subject.effort_known
    feed(ARM, [0.0] * 3, [0.0] * 3)
    assert not subject.effort_known
    assert subject.effort.tolist() == [1.0, 2.0, 3.0]


def test_continuous_joint_wraps_without_velocity_spike():
    """A continuous joint that jumps from pi to -pi keeps its slope."""
    subject = build(continuous=['a'])
    feed = Feed(subject)
    for k in range(400):
        feed(ARM, [np.remainder(0.02 * k + np.pi, 2 * np.pi) - np.pi, 0.0, 0.0])
        assert -1e-9 <= subject.qd[0] <= 2.0 + 1e-9
    assert subject.qd[0] == pytest.approx(2.0, abs=1e-9)


def test_pieces_from_several_publishers():
    """The state is whole once each layout is proven, and expires with its oldest joint."""
    subject = build()
    feed = Feed(subject)
    assert feed(('a',), [1.0], [0.0]) is PROBE
    assert feed(('c', 'b'), [3.0, 2.0], [0.0, 0.0]) is PROBE
    assert feed(('a',), [1.0], [0.0]) is STATE
    assert not subject.ready(feed.time)
    assert subject.missing(feed.time) == ['b', 'c']
    assert feed(('c', 'b'), [3.0, 2.0], [0.0, 0.0]) is STATE
    assert subject.ready(feed.time)
    assert subject.expiry == pytest.approx(feed.time - 0.01 + 0.1, abs=1e-12)
    for _ in range(12):
        feed(('c', 'b'), [3.0, 2.0], [0.0, 0.0])
    assert not subject.ready(feed.time)
    assert subject.diagnose(feed.time) == (
        Cause.STATE_STALE, 'a: no message for 0.13 s, while other messages arrive')


def test_rate_counts_whole_states():
    """Two layouts at 100 Hz each are 100 whole states per second, not 200."""
    subject = build()
    feed = Feed(subject)
    for _ in range(120):
        feed(('a', 'b'), [1.0, 2.0], [0.0, 0.0], dt=0.005)
        feed(('c',), [3.0], [0.0], dt=0.005)
    assert subject.rate.rate == pytest.approx(100.0, rel=0.03)


def test_prescribed_joint_has_its_own_age():
    """A gripper at 5 Hz suffices; without it the state is not ready, then stale."""
    subject = build(joints=(*ARM, 'finger'))
    feed = Feed(subject)
    for _ in range(3):
        feed(ARM, [1.0, 2.0, 3.0], [0.0] * 3)
    assert not subject.ready(feed.time)
    assert subject.missing(feed.time) == ['finger']
    assert feed(('finger',), [0.04], [0.0]) is PROBE
    assert feed(('finger',), [0.04], [0.0]) is PRESCRIBED
    for _ in range(20):
        feed(ARM, [1.0, 2.0, 3.0], [0.0] * 3)
    assert subject.ready(feed.time)
    assert subject.q.tolist() == [1.0, 2.0, 3.0, 0.04]
    for _ in range(100):
        feed(ARM, [1.0, 2.0, 3.0], [0.0] * 3)
    assert subject.diagnose(feed.time) == (
        Cause.PRESCRIBED_STALE, 'finger: no message for 1.2 s, while other messages arrive')


def test_a_clock_that_went_back_makes_nothing_last_longer():
    """With several publishers, too, no state lasts until a time of the clock before."""
    joints = JointMap(['arm', 'gripper'], ['arm'], limits=AgeLimits(probes=1, period=0.0))

    def feed(start, names):
        for k in range(5):
            for name in names:
                joints.update(start + 0.01 * k, (name,), [0.1], [0.0], (), start + 0.01 * k)
    feed(1000.0, ['arm', 'gripper'])
    assert joints.ready(1000.05)
    feed(900.0, ['arm'])
    assert not joints.ready(900.05)
    assert joints.missing(900.05) == ['gripper']
    feed(901.0, ['arm', 'gripper'])
    assert joints.ready(901.05)
    assert joints.missing(901.5) == ['arm']
    assert joints.expiry == pytest.approx(901.14)


def test_fixed_position_needs_no_message():
    """A joint in fixed_positions has that position and is never waited for or overwritten."""
    subject = build(joints=(*ARM, 'lift'), fixed_positions={'lift': 0.3})
    feed = Feed(subject)
    for _ in range(2):
        arrival = feed((*ARM, 'lift'), [1.0, 2.0, 3.0, 9.0], [0.0] * 4)
    assert arrival is STATE
    assert subject.ready(feed.time)
    assert subject.q[3] == 0.3


def test_mimic_followers_are_neither_extra_nor_needed():
    """A published follower is passed over without a notice."""
    subject = build(followers=['finger2'])
    feed = Feed(subject)
    for _ in range(2):
        arrival = feed((*ARM, 'finger2'), [1.0, 2.0, 3.0, np.nan], [0.0] * 4)
    assert arrival is STATE
    assert subject.notices.take() == []


def test_no_stamp_is_announced():
    """A publisher that does not stamp works, and is named once."""
    subject = build()
    for k in range(5):
        arrival = subject.update(1.0 + 0.01 * k, ARM, [0.0] * 3, [0.0] * 3)
    assert arrival is STATE
    assert [n for n in subject.notices.take() if 'no stamp' in n]


def test_wrong_configuration_is_refused_by_name():
    """Unknown, repeated and contradictory joints raise with the name in the message."""
    with pytest.raises(UnknownName, match='no joint "d"'):
        build(controlled=('a', 'd'))
    with pytest.raises(ModelError, match='each controlled joint once'):
        build(controlled=('a', 'a'))
    with pytest.raises(ModelError, match='a is controlled and in fixed_positions'):
        build(controlled=('a',), fixed_positions={'a': 0.0})


NAMES = st.lists(st.sampled_from((*ARM, 'x', '')), max_size=6)
VALUES = st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=6)


@given(st.lists(st.tuples(NAMES, VALUES, VALUES, VALUES, st.floats(-0.1, 0.3)), max_size=30))
def test_any_message_leaves_a_finite_state(messages):
    """Whatever arrives, position and velocity stay finite and nothing raises."""
    subject = build(continuous=['b'])
    time = 5.0
    for names, position, velocity, effort, dt in messages:
        time += dt
        subject.update(time, names, position, velocity, effort, time + 50.0)
        assert np.isfinite(subject.q).all()
        assert np.isfinite(subject.qd).all()


def test_invented_names_between_two_states_displace_none_of_ours():
    """A hundred lists of foreign names per state fill the memory of lists, and cost no state."""
    subject = JointMap(('a', 'b'), ('a', 'b'), limits=AgeLimits(period=0.005))
    arrivals = []
    for k in range(40):
        now = 100.0 + 0.005 * k
        for i in range(100):
            assert subject.update(now - 1e-3, (f'other_{100 * k + i}',), [0.0]) is Arrival.IGNORED
        arrivals.append(subject.update(now, ('a', 'b'), [0.1, 0.2], [0.0, 0.0], (), now + 1e4))
    assert set(arrivals[:6]) == {Arrival.PROBE, Arrival.STATE}
    assert set(arrivals[6:]) == {Arrival.STATE}
