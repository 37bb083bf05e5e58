# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""From messages to one state: names, fields, velocities, several publishers."""

import itertools

from hypothesis import given, strategies as st
from joint_stream import JointStream, NAMES as ARM

import numpy as np
import pytest

from rbd_ros.control.interface.events import NOBODY
from rbd_ros.control.interface.words import ArrivalWord
from rbd_ros.control.joint_states.intake import Intake
from rbd_ros.control.joint_states.words import arrival_text
from rbd_ros.errors import ModelError, UnknownName

STILL = [0.0] * 3


def test_values_go_to_their_names():
    """Any order of names gives the same vectors; each order proves itself."""
    stream = JointStream()
    for _ in range(2):
        arrival = stream.send(('c', 'a', 'b'), [3.0, 1.0, 2.0], [30.0, 10.0, 20.0],
                              [7.0, 5.0, 6.0])
    assert arrival == 'STATE' and stream.joints.effort_known
    assert stream.joints.q.tolist() == [1.0, 2.0, 3.0]
    assert stream.joints.qd.tolist() == [10.0, 20.0, 30.0]
    assert stream.joints.effort.tolist() == [5.0, 6.0, 7.0]
    assert stream.send(ARM, [4.0, 5.0, 6.0], STILL) == 'PROBE'
    assert stream.joints.q.tolist() == [1.0, 2.0, 3.0]
    assert stream.send(ARM, [4.0, 5.0, 6.0], STILL) == 'STATE'
    assert stream.joints.q.tolist() == [4.0, 5.0, 6.0]


def test_extra_joints_are_ignored_and_announced_once():
    """Joints of another robot are named once, mimic joints never; NaN of theirs does no harm."""
    stream = JointStream(followers=['finger'])
    for _ in range(3):
        arrival = stream.send(('x', *ARM, 'finger'), [np.nan, 1.0, 2.0, 3.0, np.inf],
                              [np.nan, *STILL, np.nan])
    assert arrival == 'STATE'
    assert stream.notices() == ['joints not in the model are ignored: x']
    assert stream.send(('x', 'y'), [1.0, 2.0]) == 'IGNORED'


def test_a_mistyped_joint_is_answered_with_the_one_that_is_missing():
    """The driver spells a joint in another way: the notice has both names."""
    stream = JointStream()
    stream.send((*ARM[:-1], f'{ARM[-1]}_'), [1.0, 2.0, 3.0], STILL)
    assert stream.notices() == [
        f'joints not in the model are ignored: {ARM[-1]}_; did you mean "{ARM[-1]}"?']


def test_invented_names_fill_neither_log_nor_memory():
    """Thousands of new lists of names: a few lines, few kept, and the good stream is not hurt."""
    stream = JointStream()
    for _ in range(3):
        stream.send(ARM, [1.0, 2.0, 3.0], STILL)
    for k in range(2000):
        names = (f'bogus_{k}' * 50, *(['y'] * 50))
        assert stream.send(names, [1.0] * 51, dt=0.0005) == 'IGNORED'
        if k % 100 == 0:
            assert stream.send(ARM, [1.0, 2.0, 3.0], STILL, dt=0.0005) == 'STATE'
    notices = stream.notices()
    assert 2 <= len(notices) <= 10
    assert all(len(text) < 500 for text in notices)
    assert 'further ones are not logged' in notices[-1]
    assert len(stream.intake._seen) <= 64


def test_one_kind_too_many_is_refused_and_named():
    """Unless one of the eight is silent; foreign messages take no place."""
    stream = JointStream()
    intake, u = stream.intake, stream.event
    kinds = [('a', *('x',) * k) for k in range(9)]
    for names in kinds[:8]:
        intake.read(u, ('y', *names[1:]), [0.0] * len(names))
        assert (u.source, u.defect) == (NOBODY, 0.0)
        intake.read(u, names, [0.0] * len(names))
        assert (u.source, u.renewed, u.defect) == (len(names) - 1, 1.0, 0.0)
    intake.read(u, kinds[8], [0.0] * 9)
    assert (u.source, u.defect) == (NOBODY, ArrivalWord.TOO_MANY_KINDS)
    assert arrival_text(intake, u.defect, '', u.defect_a, 0.0, 0.0) == (
        '8 other kinds of messages have joints of the robot: messages of '
        'a, x, x, x, x, x, x, x and 1 more are ignored')
    u.steady = 0.9
    for names in [*kinds[:3], *kinds[4:8]]:
        intake.read(u, names, [0.0] * len(names))
        assert (u.renewed, u.defect) == (0.0, 0.0)
    u.steady = 1.1
    intake.read(u, kinds[8], [0.0] * 9)
    assert (u.source, u.renewed, u.defect) == (3, 1.0, 0.0)
    intake.read(u, kinds[3], [0.0] * 4)
    assert (u.source, u.defect) == (NOBODY, ArrivalWord.TOO_MANY_KINDS)


def test_orders_without_end_never_displace_the_one_in_use():
    """Nor does a stream lose its state to orders of our own joints that somebody invents."""
    joints = [f'j{k}' for k in range(6)]
    stream = JointStream(joints, ['j0'])
    for names in itertools.islice(itertools.permutations(joints), 200):
        stream.send(('j0',), [1.0], [0.0], dt=0.001)
        stream.send(names, [1.0] * 6, [0.0] * 6, dt=0.001)
    assert stream.send(('j0',), [1.0], [0.0], dt=0.001) == 'STATE'
    assert [text for text in stream.notices() if 'other kinds of messages' in text]


def test_a_new_kind_inherits_nothing():
    """What takes the place of another kind must prove itself, and may not jump."""
    stream = JointStream(speed=1.0, tolerance=1e-3)
    stream.intake = Intake(ARM, ARM, silence=0.0)

    def send(k, q):
        names = (*ARM, *('x',) * k)
        return stream.send(names, [q] * len(names), [0.0] * len(names), stamp=0.0)
    for k in range(10):
        assert [send(k, 0.0), send(k, 0.0)] == ['PROBE', 'STATE']
        assert (stream.x.motion.source == k % 8).all() and stream.x.sources.last == k % 8
    assert send(10, 1.0) == 'REJECTED'
    assert stream.reason == ('a has two sources that disagree: 0 rad in messages of '
                             'a, b, c, x, x, x, x, x and 4 more, 1 rad in those of '
                             'a, b, c, x, x, x, x, x and 5 more')
    assert send(9, 0.0) == 'STATE'


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
    stream = JointStream()
    for _ in range(3):
        stream.send(ARM, [1.0, 2.0, 3.0], STILL)
    expiry = stream.joints.expiry
    for _ in range(3):
        assert stream.send(names, position, velocity, effort) == 'REJECTED'
    assert reason in stream.reason
    assert stream.joints.expiry == expiry
    assert stream.joints.q.tolist() == [1.0, 2.0, 3.0]
    assert reason in stream.diagnose(1.0)[1]


# -- velocities and efforts -----------------------------------------------------------------------

def test_missing_velocity_is_a_filtered_difference():
    """Of first order: dt / (dt + T) of the new slope at first, the slope of a ramp at last."""
    stream = JointStream()
    for k in range(300):
        stream.send(ARM, [0.01 * k, 1.0, -0.02 * k])
        if k == 1:
            assert stream.joints.qd[0] == pytest.approx(0.5 * 1.0, rel=1e-6)  # T = dt
    np.testing.assert_allclose(stream.joints.qd, [1.0, 0.0, -2.0], atol=1e-6)
    assert stream.joints.differenced
    assert stream.notices() == [
        'no velocity for a, b, c: using the filtered derivative of the position']


def test_a_single_velocity_may_be_missing():
    """Others stay measured; one notice names all that lack it, one that loses it later follows."""
    stream = JointStream(velocity_filter=0.0)
    for k in range(20):
        told = [np.nan if k % 4 == 3 else 2.0, 7.0, np.nan if k > 10 else 8.0]
        stream.send(ARM, [0.02 * k, 0.5, 0.08 * k], told)
        np.testing.assert_allclose(stream.joints.qd, [2.0, 7.0, 8.0] if k else STILL, atol=1e-6)
    assert [text.partition(':')[0] for text in stream.notices()] == [
        'no velocity for a', 'no velocity for c']


def test_velocity_is_differenced_by_stamps_not_by_reception():
    """A stream that arrives unevenly but was sampled evenly has an even velocity."""
    stream = JointStream(velocity_filter=0.0)
    for k, late in enumerate((0.0, 0.006, 0.001, 0.009, 0.0, 0.004)):
        stream.send(ARM, [0.02 * k, 0.0, -0.03 * k], late=late)
        if k > 1:
            np.testing.assert_allclose(stream.joints.qd, [2.0, 0.0, -3.0], rtol=0, atol=1e-6)


def test_continuous_joint_wraps_without_velocity_spike():
    """A continuous joint that jumps from pi to -pi keeps its slope."""
    stream = JointStream(continuous=['a'])
    for k in range(400):
        stream.send(ARM, [np.remainder(0.02 * k + np.pi, 2 * np.pi) - np.pi, 0.0, 0.0])
        assert -1e-6 <= stream.joints.qd[0] <= 2.0 + 1e-6
    assert stream.joints.qd[0] == pytest.approx(2.0, abs=1e-6)


def test_effort_of_a_partial_message_is_kept_but_not_the_whole():
    """A part with efforts fills its places; efforts are known once one message has them all."""
    stream = JointStream()
    joints = stream.joints
    for _ in range(2):
        stream.send(ARM, STILL, STILL, [1.0, 2.0, 3.0])
    assert joints.effort_known
    for _ in range(2):
        stream.send(('c', 'a'), [0.0] * 2, [0.0] * 2, [30.0, 10.0])
    assert joints.effort.tolist() == [10.0, 2.0, 30.0] and not joints.effort_known
    stream.send(ARM, STILL, STILL, [1.0, 2.0, 3.0])
    assert joints.effort_known
    for effort in ([], [1.0, np.nan, 3.0], [1e308, 1e308, 0.0]):
        stream.send(ARM, STILL, STILL, effort)
        assert not joints.effort_known and np.isfinite(joints.effort).all()


# -- several publishers, and joints that are not controlled ---------------------------------------

def test_pieces_from_several_publishers():
    """The state is whole once each kind is proven, and expires with its oldest joint."""
    stream = JointStream()
    assert stream.send(('a',), [1.0], [0.0]) == 'PROBE'
    assert stream.send(('c', 'b'), [3.0, 2.0], [0.0, 0.0]) == 'PROBE'
    assert stream.send(('a',), [1.0], [0.0]) == 'STATE'
    assert not stream.ready and stream.missing() == ['b', 'c']
    assert stream.send(('c', 'b'), [3.0, 2.0], [0.0, 0.0]) == 'STATE'
    assert stream.ready
    assert stream.joints.expiry == pytest.approx(stream.time - 0.01 + 0.1, abs=1e-9)
    for _ in range(12):
        stream.send(('c', 'b'), [3.0, 2.0], [0.0, 0.0])
    assert not stream.ready
    assert stream.diagnose() == (
        'STATE_STALE', 'a: no message for 0.13 s, while other messages arrive')


def test_of_two_messages_with_a_joint_the_younger_one_counts():
    """A second publisher that falls silent takes nothing from the first."""
    stream = JointStream()
    for names in (ARM, ('a',), ARM, ('a',)):
        stream.send(names, [0.0] * len(names), [0.0] * len(names))
    for _ in range(12):
        stream.send(ARM, STILL, STILL)
    assert stream.ready and stream.diagnose()[1] == '' and stream.missing() == []


def test_rate_counts_whole_states():
    """Two kinds at 100 Hz each are 100 whole states per second, not 200."""
    stream = JointStream(minimum_rate=90.0)
    for _ in range(120):
        stream.send(('a', 'b'), [1.0, 2.0], [0.0, 0.0], dt=0.005)
        stream.send(('c',), [3.0], [0.0], dt=0.005)
    assert stream.joints.rate == pytest.approx(100.0, rel=0.03) and not stream.joints.rate_low


def test_prescribed_joint_has_its_own_age():
    """A gripper at 5 Hz suffices; without it the state is not ready, then stale."""
    stream = JointStream((*ARM, 'finger'))
    for _ in range(3):
        stream.send(ARM, [1.0, 2.0, 3.0], STILL)
    assert not stream.ready and stream.missing() == ['finger']
    assert stream.send(('finger',), [0.04], [0.0]) == 'PROBE'
    assert stream.send(('finger',), [0.04], [0.0]) == 'PRESCRIBED'
    for _ in range(20):
        stream.send(ARM, [1.0, 2.0, 3.0], STILL)
    assert stream.ready
    assert stream.joints.q.tolist() == [1.0, 2.0, 3.0, 0.04]
    for _ in range(100):
        stream.send(ARM, [1.0, 2.0, 3.0], STILL)
    assert stream.diagnose() == (
        'PRESCRIBED_STALE', 'finger: no message for 1.2 s, while other messages arrive')


def test_a_clock_that_went_back_makes_nothing_last_longer():
    """With several publishers, too, no state lasts until a time of the clock before."""
    stream = JointStream(['arm', 'gripper'], ['arm'])

    def feed(start, names):
        stream.time = start
        for _ in range(5):
            for name in names:
                stream.send((name,), [0.1], [0.0])
    feed(1000.0, ['arm', 'gripper'])
    assert stream.ready
    feed(900.0, ['arm'])
    assert not stream.ready and stream.missing() == ['gripper']
    feed(901.0, ['arm', 'gripper'])
    assert stream.ready
    assert stream.joints.expiry == pytest.approx(stream.time - 0.01 + 0.1)
    stream.time += 0.5
    assert stream.missing() == ['arm']


def test_fixed_position_needs_no_message():
    """A joint in fixed_positions has that position and is never waited for or overwritten."""
    stream = JointStream((*ARM, 'lift'), fixed={'lift': 0.3})
    for _ in range(2):
        arrival = stream.send((*ARM, 'lift'), [1.0, 2.0, 3.0, 9.0], [0.0] * 4)
    assert arrival == 'STATE' and stream.ready
    assert stream.joints.q[3] == 0.3


def test_no_stamp_is_announced():
    """A publisher that does not stamp works, and is named once."""
    stream = JointStream()
    for _ in range(5):
        arrival = stream.send(ARM, STILL, STILL, stamp=0.0)
    assert arrival == 'STATE'
    assert stream.notices() == ['joint states have no stamp: their age is judged by reception '
                                'only']


def test_wrong_configuration_is_refused_by_name():
    """Unknown, repeated and contradictory joints raise with the name in the message."""
    with pytest.raises(UnknownName, match='no joint "d"'):
        Intake(ARM, ('a', 'd'))
    with pytest.raises(ModelError, match='each controlled joint once'):
        Intake(ARM, ('a', 'a'))
    with pytest.raises(ModelError, match='a is controlled and in fixed_positions'):
        Intake(ARM, ('a',), fixed=('a',))


NAMES = st.lists(st.sampled_from((*ARM, 'x', '')), max_size=6)
VALUES = st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=6)


@given(st.lists(st.tuples(NAMES, VALUES, VALUES, VALUES, st.floats(-0.1, 0.3)), max_size=30))
def test_any_message_leaves_a_finite_state(messages):
    """Whatever arrives, all that is remembered stays finite and nothing raises."""
    stream = JointStream(continuous=['b'])
    for names, position, velocity, effort, dt in messages:
        stream.send(names, position, velocity, effort, dt=dt)
        assert np.isfinite(stream.joints.memory).all()
        assert np.isfinite(stream.x.memory).all()
