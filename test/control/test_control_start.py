# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How torque begins, and how it ends: the controller on a fake clock, MuJoCo as the robot."""

from __future__ import annotations

from types import SimpleNamespace

from benchmark.mujoco_robots import ROBOTS
from lever_rig import Lever
from mujoco_rig import Driven
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Joints, Kind, NONE, Result, Structure
from rbd_ros.control.interface.words import LoadWord
from rbd_ros.control.load.load import Load
from rbd_ros.control.monitors.start import Start, StartLimits
from rbd_ros.control.texts import gravity_that_fits, load_text

pytestmark = pytest.mark.slow

CEILING = {'gravity': (0.0, 0.0, 9.81)}


def share(driven: Driven, torque: np.ndarray) -> float:
    """Return the distance of a torque from g(q), as the largest share of a limit."""
    return float(np.abs((torque - driven.gravity) / driven.limit).max())


# -- the first torque -------------------------------------------------------------------------


@pytest.mark.sampled('simulations', 3)
@pytest.mark.parametrize('name', ROBOTS)
@pytest.mark.parametrize('noise', [0.0, 0.1])
def test_brakes_open_without_sag_kick_or_drift(name, noise):
    """Effort reads about zero behind brakes: the first torque is g(q), and nothing moves."""
    driven = Driven(name, noise=noise)
    driven.start(4.0)
    assert driven.state == 'running', driven.fault
    assert share(driven, driven.sent[0]) < 1e-9
    assert driven.peak < 1e-3
    assert driven.drift < 1e-3
    assert 'brakes hold the robot' in driven.text('warning')
    assert 'the first torque is g(q)' in driven.text('warning')


@pytest.mark.sampled('robots', 1)
@pytest.mark.parametrize('name', ['panda', 'ur10'])
def test_wild_samples_of_effort_are_no_start(name):
    """Noise of 5 % of the limits, every tenth sample at 98 %, the last one too: g(q) it is."""
    driven = Driven(name, sensors=True)
    limit, rng = driven.limit, np.random.default_rng(1)
    times: list[float] = []

    def mangle(q, qd, effort):
        times.append(driven.time)
        if len(times) % 10 == 0 or driven.time - times[0] > 0.19:
            return q, qd, 0.98 * limit
        return q, qd, effort + 0.05 * limit * rng.standard_normal(len(q))
    driven.mangle = mangle
    driven.start()
    assert driven.state == 'running', driven.fault
    assert share(driven, driven.sent[0]) < 0.005
    assert driven.peak < 0.1
    assert 'the first torque is its median' in driven.text('info')


def test_a_torque_that_acts_already_is_taken_over_as_far_as_gravity_explains_it():
    """Where somebody holds the robot with 95 % of g(q) it goes on; offsets are not taken over."""
    limit = 10.0 * 1e-3  # share of the torque limit that a step may have
    for factor, offset, begins in ((0.95, 0.0, 0.95), (1.0, 0.1, 1.15), (1.0, -0.1, 0.85)):
        driven = Driven('panda', rate=1000.0, sensors=True, noise=0.1)
        most = driven.limit
        driven.mangle = lambda q, qd, effort, f=factor, o=offset, most=most: (
            q, qd, f * effort + o * np.sign(effort) * most)
        wanted = begins * driven.gravity
        driven.start(0.5)
        assert driven.sent, driven.fault
        assert (np.abs(driven.sent[0] - wanted) / most).max() < 1.5 * limit


def test_what_gravity_cannot_explain_is_refused():
    """Measured 16 % of the limits beyond g(q): refused; 14 % is within the tolerance."""
    for more, refused in ((0.14, False), (0.16, True)):
        driven = Driven('panda', sensors=True)
        excess = more * driven.limit
        driven.mangle = lambda q, qd, effort, excess=excess: (q, qd, effort + excess)
        driven.start(0.5)
        assert ('the start check failed' in driven.fault) is refused
        assert bool(driven.sent) is not refused


def test_a_robot_that_was_pushed_comes_to_rest():
    """Without friction of its own, default parameters end the motion of a push; zero does not."""
    way = {}
    for damping in (None, [0.0]):
        driven = Driven('panda', rate=1000.0,
                        **({} if damping is None else {'free_damping': damping}))
        driven.start(1.5)
        driven.push = np.array([8.0, 8.0, 0.0, 0.0, 0.0, 0.0])
        driven.run(0.1)
        driven.push = None
        driven.run(3.0)
        before = driven.q[-1]
        driven.run(1.0)
        assert driven.state == 'running', driven.fault
        way[damping is None] = np.abs(driven.q[-1] - before).max()
    assert way[True] < 0.05
    assert way[False] > 5.0 * way[True]


# -- refusals before any torque ------------------------------------------------------------------


def expect_refusal(driven: Driven, *words: str) -> None:
    """Expect that the start is refused in these words, without a torque."""
    driven.start()
    assert driven.state == 'fault'
    assert not driven.sent
    for word in ('the start check failed', *words):
        assert word in driven.fault


def test_a_driver_in_degrees_is_refused():
    """Positions far beyond the limits that would fit in degrees are reported as such."""
    driven = Driven('panda')
    driven.mangle = lambda q, qd, effort: (np.degrees(q), np.degrees(qd), effort)
    expect_refusal(driven, 'panda_joint4 is at -120.3 rad, its limits are -3.072 rad and -0.0698 '
                   'rad', 'Does the driver publish degrees?')


class Checked:
    """The start check of a robot that turns and slides; it moves, so that no g(q) is needed."""

    lower, upper = (-2.0, 0.0), (2.0, 0.4)

    def __init__(self, **limits):
        sizes = {'n': 2, 'm': 2}
        self.x, self.p, self.y = Start(sizes), StartLimits(sizes), Result(sizes)
        self.joints, self.load, self.structure = Joints(sizes), Load(sizes), Structure(sizes)
        self.structure.index[:] = 0, 1
        self.joints.qd[:] = 1.0
        self.p.lower[:], self.p.upper[:] = self.lower, self.upper
        for name, value in limits.items():
            setattr(self.p, name, value)

    def take(self, now):
        """Take one state; returns whether torque may begin."""
        return self.x.passes(self.p, None, self.load, self.joints, self.structure, self.y, now)

    def refusal(self, *q):
        """Return what is said against positions."""
        self.joints.q[:], self.y.accused = q, 0.0
        self.take(1.0)
        robot = SimpleNamespace(joints=('turn', 'slide'), units=('rad', 'm'), pick=tuple,
                                model=SimpleNamespace(lower=self.lower, upper=self.upper))
        return load_text(LoadWord.START_POSITIONS, 0, (0.0, 0.0, 0.0), SimpleNamespace(
            robot=robot), self.x) if self.y.accused else ''


def test_positions_are_judged_with_a_margin():
    """Somewhat beyond a limit is a robot, far beyond is none; metres and other hints."""
    def refusal(*q):
        return Checked().refusal(*q)
    assert refusal(2.19, -0.03) == ''
    assert 'turn is at 2.21 rad' in refusal(2.21, 0.0)
    assert 'slide is at -0.05 m' in refusal(0.0, -0.05)  # a tenth of a short range
    assert 'slide is at 0.45 m' in refusal(0.0, 0.45)
    assert 'offset of the encoders' in refusal(150.0, 0.0)  # not even in degrees
    assert 'degrees' in refusal(90.0, 0.2)
    assert 'slide is at 250 m' in refusal(0.0, 250.0)
    assert 'publish mm' in refusal(0.0, 250.0)
    free = Checked()
    free.p.lower[:], free.p.upper[:] = (-NONE, 0.0), (NONE, 0.0)  # no limits
    assert free.refusal(99.0, 9.0) == ''


@pytest.mark.parametrize('q', [0.5, 1.9])  # the lever leans to one side, and to the other
@pytest.mark.parametrize('mass, carried', [(1.0, True), (9e17, False)])
def test_a_gravity_beyond_all_torques_carries_nothing(q, mass, carried):
    """A payload that no number can hold is none, whichever way it pulls."""
    lever = Lever(**{'release_torque': 'gravity', 'payload.ramp_time': 0.0})
    lever.q = q
    lever.activate()
    lever.ask(Kind.PAYLOAD, mass, mass)
    for _ in range(4):
        lever.state()
    sent = []
    lever.watch = lambda before: sent.append(lever.y.send > 0.0)
    lever.carry()
    assert lever.x.load.payload[0] == mass and sent == [carried]


def test_a_rate_that_would_be_a_fault_is_refused():
    """Just as many states as minimum_rate: refused before it drops the arm."""
    for rate in (100.0, 101.0):
        expect_refusal(Driven('panda', rate=rate, nominal_rate=1000.0, minimum_rate=100.0),
                       f'joint states arrive at {rate:g} Hz', 'minimum_rate 100 Hz',
                       'nominal_rate 1000 Hz')
    slow = Driven('panda', rate=95.0, nominal_rate=1000.0, minimum_rate=100.0)
    slow.start()
    assert slow.state == 'probing'  # their age is not even proven
    assert not slow.sent
    driven = Driven('panda', rate=500.0, nominal_rate=1000.0, minimum_rate=100.0)
    driven.start()
    assert driven.state == 'running', driven.fault
    assert 'arrive at 500 Hz, but nominal_rate is 1000 Hz: set it to 500' in driven.text('warning')


@pytest.mark.parametrize(('rate', 'minimum', 'nominal', 'word', 'text'), [
    (450.0, 100.0, 500.0, None, ''), (610.0, 0.0, 500.0, None, ''),
    (240.0, 100.0, 500.0, LoadWord.START_RATE_FAR, 'nominal_rate is 500 Hz'),
    (260.0, 100.0, 500.0, LoadWord.START_RATE_FAR, 'may oscillate'),
    (5.0, 0.0, 500.0, LoadWord.START_RATE_FAR, 'nominal_rate is 500 Hz'),  # no minimum
    # what is just above the minimum would be lost a moment later: 2 Hz more are wanted
    (99.9, 100.0, 110.0, LoadWord.START_RATE_LOW, 'arrive at 99.9 Hz, which is not'),
    (100.0, 100.0, 110.0, LoadWord.START_RATE_LOW, 'not clearly above minimum_rate 100 Hz'),
    (101.9, 100.0, 110.0, LoadWord.START_RATE_LOW, 'not clearly above minimum_rate 100 Hz'),
    (102.1, 100.0, 110.0, None, '')])
def test_rates_are_refused_told_or_nothing_to_tell(rate, minimum, nominal, word, text):
    """Within a quarter of the nominal rate nothing is said; at the minimum it is refused."""
    subject = Checked(minimum_rate=minimum, nominal_rate=nominal, duration=0.1, wait=0.1)
    k = 0
    while not subject.take(k / rate) and not subject.y.accused:
        k += 1
    refused = word is LoadWord.START_RATE_LOW
    assert bool(subject.y.accused) is refused
    row = subject.y.accusations[0, 1:] if refused else subject.y.words[0]
    if word is None:
        assert row[0] not in (LoadWord.START_RATE_LOW, LoadWord.START_RATE_FAR)
    else:
        assert row[0] == word
        assert text in word.text('', *row[2:])


@pytest.mark.sampled('robots', 1)
@pytest.mark.parametrize('name', ['panda', 'ur10'])
def test_another_mounting_is_found_by_the_effort(name):
    """Torque sensors feel another gravity: refused, with the vector that explains them."""
    expect_refusal(Driven(name, plant=CEILING, sensors=True, noise=0.02), 'sign reversed?',
                   'Gravity [0.0, 0.0, 9.8] m/s^2 would fit', 'on a ceiling?')
    expect_refusal(Driven(name, plant={'gravity': (9.81, 0.0, 0.0)}, sensors=True),
                   'Gravity [9.8, 0.0, 0.0] m/s^2 would fit')


def test_what_no_gravity_explains_is_told_with_likely_causes():
    """A joint with a reversed sign fits no vector."""
    driven = Driven('panda', sensors=True)
    driven.mangle = lambda q, qd, effort: (q, qd, effort * [1, 1, 1, -1, 1, 1, 1])
    expect_refusal(driven, 'panda_joint4', 'sign reversed?', 'driver_adds "none"',
                   'Likely causes: gravity [0, 0, -9.81]', 'payload.mass 0 kg')


def test_a_vector_is_only_told_where_it_explains_every_joint():
    """Of four joints three may fit any vector; the fourth must agree, and so must its size."""
    columns = np.array([[3.0, 0.0, 1.0], [0.0, 2.0, 0.0], [1.0, 0.0, 4.0], [2.0, 1.0, 1.0]])
    effort, tolerance = columns @ [0.0, 6.0, -8.0], np.full(4, 0.5)
    np.testing.assert_allclose(gravity_that_fits(effort, columns, tolerance), [0.0, 6.0, -8.0],
                               atol=1e-9)
    assert gravity_that_fits(effort * [1.0, 1.0, -1.0, 1.0], columns, tolerance) is None
    assert gravity_that_fits(3.0 * effort, columns, tolerance) is None
    assert gravity_that_fits(effort[:2], columns[:2], tolerance[:2]) is None  # not enough joints


@pytest.mark.parametrize('values, kind, text', [
    ({'effort_is_torque': False}, 'info', 'effort_is_torque is false'),
    ({'effort_is_torque': True}, 'warning', 'joint_states has no effort for some joints')])
def test_a_check_that_is_left_out_is_told(values, kind, text):
    """Without a measured torque nothing compares gravity before the start: the log says so."""
    driven = Driven('panda', **values)
    driven.mangle = lambda q, qd, effort: (q, qd, effort[:0])
    driven.start()
    assert driven.state == 'running', driven.fault
    assert text in driven.text(kind)
    assert 'cannot be compared' in driven.text(kind)
    assert share(driven, driven.sent[0]) < 1e-9


# -- while torque comes in -----------------------------------------------------------------------


@pytest.mark.sampled('simulations', 3)
@pytest.mark.parametrize('name, most', [
    ('panda', 2.0), ('ur5', 1.2), ('ur10', 1.0), ('built-in', 2.2)])
@pytest.mark.parametrize('release', ['gravity', 'zero'])
def test_a_wrong_gravity_behind_brakes_is_caught_and_braked(name, most, release):
    """
    Nobody can see a ceiling behind closed brakes; when they open the robot falls upwards.

    It is seen within milliseconds; then the torque turns as fast as its rate limit allows, to what
    the robot shows. That limit alone makes the speed: 2 g(q) take up to 60 ms.
    """
    driven = Driven(name, plant=CEILING, release_torque=release)
    driven.start(0.2 + 0.55)
    assert driven.states.index('braking') - driven.states.index('ramping in') <= 10  # ms
    assert driven.fault.count('does not match the mounting') == 1
    assert driven.peak < most
    assert driven.state == 'ramping down' or driven.states[-60] == 'braking'
    braked = np.abs(driven.qd[driven.states.index('ramping down') - 1]).max()
    assert braked < 0.3 * driven.peak + 0.3
    driven.run(1.0)
    assert driven.state == 'fault'  # and never held: its position law has the same g(q)
    assert 'holding' not in driven.states
    if release == 'gravity':  # of the real robot, as it showed it
        off = np.abs(driven.sent[-1] - driven.gravity) / driven.limit
        assert off.max() < 0.15


def test_motion_is_watched_for_the_whole_ramp():
    """What moves late in a long ramp is seen, with likely causes; a reference may move it."""
    driven = Driven('panda', ramp_time=3.0)
    driven.start(2.5)
    assert driven.state == 'ramping in', driven.fault
    driven.push = np.array([0.0, 0.0, -15.0, 0.0, 0.0, 0.0])  # a load that nobody declared
    driven.run(0.5)
    assert 'the robot does not move as described' in driven.fault
    assert 'payload.mass 0 kg' in driven.fault
    assert driven.fault.count('Likely causes') == 1


def test_a_reference_may_move_the_robot_while_it_ramps_in():
    """Motion that the law wants is no robot that runs away."""
    driven = Driven('panda', mode='computed_torque', ramp_time=1.0,
                    reference__velocity=[1.0], reference__acceleration=[3.0])
    driven.start(0.3)
    goal = np.array(driven.q[-1]) + 0.6
    for _ in range(120):
        driven.follow(goal, 0.0)
        driven.run(0.01)
    assert driven.drift > 0.5
    assert driven.state == 'running', driven.fault


def test_a_late_fault_names_no_causes_of_the_start():
    """Seconds later a push is a push."""
    driven = Driven('panda', velocity_limits=[0.05])
    driven.start(6.5)
    driven.push = np.array([0.0, 0.0, -30.0, 0.0, 0.0, 0.0])
    driven.run(0.2)
    assert 'velocity' in driven.fault
    assert 'Likely causes' not in driven.fault


# -- the end -------------------------------------------------------------------------------------


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('name', ROBOTS)
def test_ctrl_c_with_gravity_leaves_the_robot_where_it_is(name):
    """Until the last torque, and while the driver keeps it, the tip of no robot falls."""
    driven = Driven(name, sensors=True, noise=0.2)
    driven.start(1.5)
    before = driven.tip[-1]
    driven.stop(Cause.SIGNAL)
    driven.run(2.0)
    assert driven.state == 'released'
    assert driven.fault == ''
    assert np.linalg.norm(driven.tip[-1] - before) < 1e-3


def test_ctrl_c_with_zero_falls_without_an_error():
    """An arm without brakes that is let go as requested falls, and that is no fault."""
    driven = Driven('panda', release_torque='zero')
    driven.start(1.5)
    driven.stop(Cause.SIGNAL)
    driven.run(2.0)
    assert driven.state == 'released'
    assert driven.peak > 3.0
    assert driven.fault == ''
