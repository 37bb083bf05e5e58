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

"""Observer, payload, gravity source, bumpless switch, start-up checks, guards."""

import math

from hypothesis import given, strategies as st
import numpy as np
import pytest
from rbd_ros.control.former.laws.bumpless import BumplessSwitch, smooth_step
from rbd_ros.control.former.laws.observer import external_wrench, MomentumObserver
from rbd_ros.control.load.payload import (
    GravitySource, payload_vector, PayloadError, PayloadRamp, rotation)
from rbd_ros.control.former.safety.guards import (
    Access, DeadMan, OutputGuard, ReferenceGuard, RefusalCount)
from rbd_ros.control.former.safety.start_check import GravityCheck, MotionWatch, Verdict
from scipy.spatial.transform import Rotation

# -- observer ---------------------------------------------------------------------------------


def test_observer_follows_a_first_order_lag_exactly():
    """For a constant inertia and torque the estimate is tau_ext (1 - exp(-K t)) to rounding."""
    inertia, external, gain, dt = 2.0, 3.0, 20.0, 0.004
    observer = MomentumObserver([gain])
    for k in range(200):
        t = k * dt
        qd = (1.5 + external) / inertia * t  # exact motion under 1.5 N.m and the external torque
        estimate = observer.update(np.array([[inertia]]), np.array([qd]), np.zeros(1),
                                   np.array([1.5]), dt)
        assert estimate[0] == pytest.approx(external * (1 - math.exp(-gain * t)), abs=1e-9)


def test_observer_on_a_swinging_pendulum():
    """On an analytic pendulum with length changing H the lag is met with second order in dt."""
    errors = []
    for dt in (0.002, 0.001):
        observer, worst = MomentumObserver([30.0]), 0.0
        for k in range(int(1.0 / dt)):
            t = k * dt
            q, qd = math.sin(3 * t), 3 * math.cos(3 * t)
            H = 2.0 + math.cos(q)  # inertia that depends on q; C = H' qd^2 / 2
            bias = -0.5 * math.sin(q) * qd * qd + 9.81 * math.sin(q)
            tau_mid = _torque_at(t + 0.5 * dt) - 1.0  # the external torque is 1 N.m
            estimate = observer.update(np.array([[H]]), np.array([qd]), np.array([bias]),
                                       np.array([tau_mid]), dt)
            worst = max(worst, abs(estimate[0] - (1.0 - math.exp(-30.0 * t))))
        errors.append(worst)
    assert errors[0] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


def _torque_at(t):
    """Return the whole torque that the prescribed swing needs at a time."""
    q, qd, qdd = math.sin(3 * t), 3 * math.cos(3 * t), -9 * math.sin(3 * t)
    return (2.0 + math.cos(q)) * qdd - 0.5 * math.sin(q) * qd * qd + 9.81 * math.sin(q)


def test_observer_reset_and_gains():
    """Reset forgets; gains must be positive."""
    observer = MomentumObserver([5.0])
    observer.update(np.eye(1), np.zeros(1), np.zeros(1), np.zeros(1), 0.01)
    observer.update(np.eye(1), np.ones(1), np.zeros(1), np.zeros(1), 0.01)
    assert observer.torque[0] > 0.0
    observer.reset()
    assert observer.torque[0] == 0.0
    with pytest.raises(ValueError, match='positive'):
        MomentumObserver([0.0])


def test_wrench_from_joint_torque():
    """A wrench is found again from its joint torque; what no wrench explains is left over."""
    rng = np.random.default_rng(6)
    J, wrench = rng.normal(size=(6, 7)), rng.normal(size=6)
    found, left = external_wrench(J, J.T @ wrench, damping=1e-9)
    np.testing.assert_allclose(found, wrench, atol=1e-10)
    assert left < 1e-10
    null = np.linalg.svd(J)[2][-1]
    assert external_wrench(J, null)[1] == pytest.approx(1.0, rel=1e-9)


def test_wrench_is_bounded_at_a_singular_pose():
    """A direction that the frame cannot move in gets no force, not an infinite one."""
    J = np.diag([1.0, 1.0, 1.0, 1.0, 1.0, 1e-12])
    assert abs(external_wrench(J, np.full(6, 1e-6))[0]).max() < 1e-5


# -- payload ----------------------------------------------------------------------------------


def test_payload_in_another_frame_has_the_same_energy():
    """The kinetic energy of any motion is that of the body, whatever frame it was given in."""
    rng = np.random.default_rng(7)
    mass, com = 2.5, rng.normal(size=3)
    A = rng.normal(size=(3, 3))
    points = A @ rng.normal(size=(3, 8))  # eight equal point masses
    points -= points.mean(axis=1, keepdims=True)
    m = mass / 8
    I_c = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for x in points.T)
    R, p = Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)
    vector = payload_vector(mass, com, [I_c[i, j] for i, j in
                                        ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))], R, p)
    w, v = rng.normal(size=3), rng.normal(size=3)
    at = (R @ (points + com[:, None])).T + p
    energy = sum(0.5 * m * np.sum((v + np.cross(w, x)) ** 2) for x in at)
    h = vector[1:4]
    xx, xy, xz, yy, yz, zz = vector[4:]
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    ours = 0.5 * mass * v @ v + v @ np.cross(w, h) + 0.5 * w @ J @ w
    assert ours == pytest.approx(energy, rel=1e-12)


def test_a_torque_of_no_law_ends_the_fading():
    """After a brake the next law acts as it is, unless it is switched to."""
    switch, still = BumplessSwitch([10.0], 0.5), np.zeros(1)
    switch.apply(0.0, np.array([4.0]), still)
    switch.switch()
    assert switch.active
    assert switch.apply(0.1, np.array([1.0]), still)[0] == pytest.approx(4.0)
    switch.note(np.array([-2.0]))
    assert not switch.active
    assert switch.apply(0.2, np.array([1.0]), still)[0] == 1.0
    switch.note(np.array([-2.0]))
    switch.switch()
    assert switch.apply(0.3, np.array([1.0]), still)[0] == pytest.approx(-2.0)
    half = switch.apply(0.55, np.array([1.0]), still)[0]
    assert half == pytest.approx(1.0 - 3.0 * 0.5)
    assert switch.apply(0.8, np.array([1.0]), still)[0] == 1.0 and not switch.active
    switch.switch()
    switch.cancel()
    assert not switch.active
    switch.switch()                              # nothing to take over from
    assert not switch.active


@pytest.mark.parametrize('mass, com, inertia, word', [
    (-1.0, [0, 0, 0], [0.1, 0, 0, 0.1, 0, 0.1], 'negative'),
    (1.0, [0, 0, math.nan], [0.1, 0, 0, 0.1, 0, 0.1], 'not finite'),
    (1.0, [0, 0, 0], [0.1, 0, 0, 0.1, 0, 0.5], 'impossible for a rigid body'),
    (1.0, [0, 0, 0], [0.1, 0, 0, 0.1, 0, 0.2001], 'impossible for a rigid body'),
    (1.0, [0, 0, 0], [-0.1, 0, 0, 0.1, 0, 0.1], 'impossible for a rigid body'),
    (0.0, [0, 0, 0], [0.1, 0, 0, 0.1, 0, 0.1], 'without mass'),
    (1e300, [0, 0, 0], [0.1, 0, 0, 0.1, 0, 0.1], r'mass 1e\+300 kg is beyond 10000 kg'),
    (1.0, [0, -1e300, 0], [0.1, 0, 0, 0.1, 0, 0.1], r'centre of mass -1e\+300 m is beyond 100'),
    (1.0, [0, 0, 0], [1e300, 0, 0, 1e300, 0, 1e300], r'inertia 1e\+300 kg.m\^2 is beyond')])
@pytest.mark.filterwarnings('error')
def test_impossible_payloads_are_refused(mass, com, inertia, word):
    """Each impossible payload has its reason."""
    with pytest.raises(PayloadError, match=word):
        payload_vector(mass, com, inertia)


def test_a_plate_without_thickness_is_a_payload():
    """One principal moment may be the sum of the others."""
    vector = payload_vector(1.0, [0, 0, 0], [0.1, 0, 0, 0.1, 0, 0.2])
    np.testing.assert_allclose(vector, [1, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.2], atol=1e-15)


def test_a_clock_that_goes_back_does_not_turn_a_ramp_around():
    """Before its begin a ramp is where it began, not beyond."""
    ramp = PayloadRamp(2.0)
    one = payload_vector(1.0, [0.1, 0, 0], [0.01, 0, 0, 0.01, 0, 0.01])
    ramp.set(10.0, one)
    ramp.update(12.0)
    ramp.set(12.0, 3.0 * one)
    ramp.update(11.0)
    np.testing.assert_allclose(ramp.value, one, atol=1e-15)


def test_payload_ramp_is_linear():
    """Half of the ramp time gives the mean; a new payload starts from where the ramp is."""
    ramp = PayloadRamp(2.0)
    one = payload_vector(1.0, [0.1, 0, 0], [0.01, 0, 0, 0.01, 0, 0.01])
    ramp.set(10.0, one)
    assert ramp.update(11.0)
    np.testing.assert_allclose(ramp.value, one / 2, atol=1e-15)
    ramp.set(11.0, np.zeros(10))
    ramp.update(12.0)
    np.testing.assert_allclose(ramp.value, one / 4, atol=1e-15)
    ramp.update(13.0)
    assert not ramp.value.any()
    assert not ramp.update(14.0)


# -- gravity ----------------------------------------------------------------------------------


def test_gravity_follows_the_orientation_of_the_base():
    """A base tilted by a rotation feels gravity turned back by it."""
    rng = np.random.default_rng(8)
    for _ in range(5):
        turn = Rotation.random(random_state=rng)
        source = GravitySource([0.0, 0.0, -9.81], timeout=0.5)
        source.update(0.0)
        source.orientation(0.0, turn.as_quat())
        assert source.update(0.1)
        np.testing.assert_allclose(source.value, turn.inv().apply([0, 0, -9.81]), atol=1e-12)
        np.testing.assert_allclose(rotation(turn.as_quat()), turn.as_matrix(), atol=1e-12)


def test_gravity_source_times_out_and_slews():
    """An orientation too old is reported, and the vector changes no faster than allowed."""
    source = GravitySource([0.0, 0.0, -10.0], timeout=0.5, slew=5.0)
    assert not source.update(0.0)
    source.orientation(0.0, [0.0, 0.0, 0.0, 1.0])
    source.orientation(0.0, [1.0, 0.0, 0.0, 0.0])  # upside down
    before = source.value.copy()
    assert source.update(0.1)
    assert np.linalg.norm(source.value - before) == pytest.approx(0.5, rel=1e-12)
    assert source.update(0.5)  # exactly as old as it may be
    assert not source.update(math.nextafter(0.5, 1.0))
    assert GravitySource([0, 0, -9.81]).update(1e9)  # a constant does not age
    with pytest.raises(PayloadError, match='length'):
        source.orientation(0.0, [0.0, 0.0, 0.0, 0.0])


def test_age_of_a_measured_direction():
    """It is that of the measurement at the last update, and endless before the first one."""
    source = GravitySource([0.0, 0.0, -9.81], timeout=0.5)
    assert source.age == math.inf and not source.update(3.0) and source.age == math.inf
    source.direction(3.2, [0.0, 0.0, -1.0])
    assert source.update(3.5) and source.age == pytest.approx(0.3)
    source.direction(3.6, [0.0, 0.0, -1.0])
    source.update(3.5)
    assert source.age == 0.0
    constant = GravitySource([0.0, 0.0, -9.81])
    assert constant.update(3.0) and constant.age == 0.0
    with pytest.raises(ValueError, match='not finite'):
        GravitySource([0.0, math.nan, 0.0])
    with pytest.raises(PayloadError, match='not finite'):
        source.orientation(3.0, (0.0, 0.0, math.nan, 1.0))


def test_gravity_may_have_been_none():
    """Where there was no gravity a new size counts from the next direction on."""
    source = GravitySource([0.0, 0.0, 0.0], timeout=1.0)
    source.direction(1.0, [0.0, 0.0, -1.0])
    source.configure([0.0, 0.0, 3.7], math.inf)
    source.direction(1.1, [0.0, -1.0, 0.0])
    source.update(1.1)
    source.update(1.2)
    np.testing.assert_allclose(source.value, [0.0, -3.7, 0.0])


def test_first_direction_counts_at_once():
    """Before the first measurement nothing was made of the vector: it need not slew."""
    source = GravitySource([0.0, 0.0, -10.0], timeout=0.5, slew=5.0)
    source.direction(0.0, [0.6, 0.0, -0.8])
    np.testing.assert_allclose(source.value, [6.0, 0.0, -8.0], rtol=1e-14)


def test_gravity_parameters_change_a_constant_and_the_size_of_a_measured_one():
    """A new vector is reached at the slew rate; a measured direction keeps its direction."""
    constant = GravitySource([0.0, 0.0, -10.0], slew=5.0)
    constant.update(0.0)
    constant.configure([0.0, 10.0, 0.0], 2.0)
    constant.update(1.0)
    away = np.linalg.norm(constant.value - [0.0, 0.0, -10.0])
    assert away == pytest.approx(2.0, rel=1e-12)
    constant.update(100.0)
    np.testing.assert_array_equal(constant.value, [0.0, 10.0, 0.0])
    measured = GravitySource([0.0, 0.0, -10.0], timeout=0.5)
    measured.direction(0.0, [0.6, 0.0, -0.8])
    measured.configure([0.0, 0.0, -5.0], 1e6)
    assert measured.update(0.1) and measured.update(0.2)  # it is as young as before
    np.testing.assert_allclose(measured.value, [3.0, 0.0, -4.0], rtol=1e-14)


# -- bumpless switch --------------------------------------------------------------------------


@given(st.floats(-30.0, 30.0), st.floats(-30.0, 30.0), st.floats(-3.0, 3.0))
def test_switch_steps_by_less_than_a_hundredth_of_the_limit(old, new, speed):
    """Whatever two laws want inside the limit, the output never steps by 1 % of it."""
    limit = 40.0
    switch = BumplessSwitch([limit], 0.5)
    outputs = []
    for k in range(700):
        if k == 100:
            switch.switch()
        outputs.append(switch.apply(k * 0.001, np.array([old if k < 100 else new]),
                                    np.array([speed]))[0])
    assert np.abs(np.diff(outputs)).max() <= 0.01 * limit
    assert outputs[0] == old
    assert outputs[-1] == new


def test_switch_takes_over_from_the_brake():
    """A torque noted from elsewhere is the start of the next law; cancel forgets it."""
    switch = BumplessSwitch([40.0], 0.5)
    switch.note(np.array([12.0]))
    switch.switch()
    assert switch.active
    assert switch.apply(0.0, np.zeros(1), np.zeros(1))[0] == pytest.approx(12.0)
    switch.cancel()
    assert switch.apply(0.001, np.zeros(1), np.zeros(1))[0] == 0.0
    assert (smooth_step(-1.0), smooth_step(0.5), smooth_step(2.0)) == (0.0, 0.5, 1.0)


@pytest.mark.parametrize(('speed', 'share'), [
    (0.0125, 0.25), (0.025, 0.5), (0.05, 1.0), (0.2, 1.0), (-0.025, 0.0)])
def test_offset_falls_in_proportion_to_a_small_speed(speed, share):
    """From 0.05 rad/s on a joint moves: then 0.6 % of the limit are taken each time."""
    for offset in (10.0, -10.0):
        switch = BumplessSwitch([40.0], 0.5)
        switch.note(np.array([offset]))
        switch.switch()
        switch.apply(0.0, np.zeros(1), np.zeros(1))
        found = switch.apply(0.1, np.zeros(1), np.array([math.copysign(speed, offset * speed)]))
        expected = 10.0 * (1.0 - smooth_step(0.2)) - share * 0.006 * 40.0
        assert abs(found[0]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize('speed, gone', [(1.0, True), (-1.0, False), (0.0, False)])
def test_offset_that_drives_a_joint_falls_first(speed, gone):
    """What pushes a joint the way it moves is gone in no time; what brakes it or rests fades."""
    switch = BumplessSwitch([40.0], 0.5)
    switch.note(np.array([10.0]))
    switch.switch()
    outputs = [switch.apply(k * 0.001, np.zeros(1), np.array([speed]))[0] for k in range(100)]
    assert outputs[0] == 10.0
    if gone:  # 0.6 % of 40 N.m a time
        assert outputs[40] > 0.0 and outputs[45] == 0.0
    else:
        assert outputs[-1] == pytest.approx(10.0 * (1.0 - smooth_step(0.099 / 0.5)))


# -- start-up ---------------------------------------------------------------------------------


def check(effort, predicted, qd=(0.0, 0.0)):
    """Return the finding after ten equal measurements."""
    subject = GravityCheck(['shoulder', 'elbow'], [80.0, 40.0])
    for _ in range(10):
        subject.add(np.array(qd), np.array(effort), np.array(predicted))
    return subject.finding()


def test_gravity_check_tells_right_wrong_and_unknown():
    """Agreement, a reversed sign, a wrong size, zero effort and motion are distinguished."""
    assert check([20.0, -5.0], [22.0, -4.0]).verdict is Verdict.MATCH
    finding = check([-20.0, -5.0], [20.0, -5.0])
    assert finding.verdict is Verdict.MISMATCH
    assert 'shoulder' in finding.text
    assert 'sign reversed?' in finding.text
    finding = check([20.0, -5.0], [60.0, -5.0])
    assert finding.verdict is Verdict.MISMATCH
    assert 'sign' not in finding.text
    assert check([0.0, 0.0], [60.0, 10.0]).verdict is Verdict.BRAKED
    assert check([60.0, 10.0], [60.0, 10.0], qd=(0.5, 0.0)).verdict is Verdict.UNKNOWN


def test_motion_watch_sees_distance_and_acceleration():
    """A joint that drifts half a radian or accelerates hard at the start is named."""
    watch = MotionWatch(['a', 'b'], distance=0.5, acceleration=50.0)
    watch.arm(0.0, np.zeros(2), np.zeros(2))
    assert watch.check(0.1, np.array([0.1, 0.4]), np.zeros(2)) == ''
    assert watch.check(0.2, np.array([0.1, 0.6]), np.zeros(2)).startswith('b moved 0.6')
    watch.arm(0.0, np.zeros(2), np.zeros(2))
    texts = [watch.check(t, np.zeros(2), np.array([80.0 * t, 0.0]))
             for t in np.arange(1, 100) * 0.001]
    first = next(i for i, text in enumerate(texts) if text)
    assert 'a accelerates' in texts[first]
    # a first-order lag of 10 ms passes 50 of 80 after about one time constant
    assert first * 0.001 == pytest.approx(0.01 * math.log(80 / 30), abs=0.003)


def test_motion_watch_bears_a_motion_that_is_wanted():
    """Where the law moves the robot its motion does not count; later only what follows does."""
    watch = MotionWatch(['a'], duration=9.0, distance=0.5, velocity=0.2, acceleration=1e6)
    watch.arm(0.0, np.zeros(1), np.zeros(1))
    assert watch.check(0.1, np.array([0.9]), np.array([3.0]), rests=False) == ''
    assert watch.check(0.2, np.array([1.3]), np.array([3.1]), rests=True) == ''
    assert watch.check(0.3, np.array([1.39]), np.array([3.21]), rests=True) == ''
    assert 'moves at 3.21 per s by itself' in watch.check(
        0.4, np.array([1.39]), np.array([3.21]), rests=True)
    assert watch.check(0.5, np.array([0.41]), np.zeros(1), rests=True) == ''
    assert watch.check(0.6, np.array([0.39]), np.zeros(1), rests=True).startswith(
        'a moved 0.51 within 0.6 s')


def test_motion_watch_ends():
    """After its duration the robot may move as it likes."""
    watch = MotionWatch(['a'], duration=0.5)
    assert watch.check(0.0, np.array([9.0]), np.zeros(1)) == ''
    watch.arm(0.0, np.zeros(1), np.zeros(1))
    assert watch.check(0.6, np.array([9.0]), np.zeros(1)) == ''


# -- guards -----------------------------------------------------------------------------------


def test_dead_man():
    """Without repetition, or when released, the robot may not move; timeout 0 means no switch."""
    switch = DeadMan(0.5)
    assert not switch.alive(0.0)
    switch.signal(1.0, True)
    assert switch.alive(1.5)
    assert not switch.alive(1.51)
    switch.signal(2.0, True)
    switch.signal(2.1, False)
    assert not switch.alive(2.1)
    assert DeadMan(0.0).alive(1e9)


def test_two_publishers_of_a_reference():
    """While a topic has two publishers its messages are dropped; the change is reported once."""
    guard = ReferenceGuard()
    assert guard.accept()
    assert guard.publishers(2)
    assert not guard.publishers(2)
    assert not guard.accept()
    assert not guard.publishers(1)
    assert guard.accept()


def test_second_publisher_on_the_output():
    """A second publisher is waited for up to 25 s, with the reason, and then refused."""
    guard = OutputGuard()
    access, text = guard.check(0.0, 1)
    assert access is Access.WAIT
    assert '10-20 s' in text
    assert guard.check(24.9, 1)[0] is Access.WAIT
    assert guard.check(25.0, 1)[0] is Access.REFUSED
    assert guard.check(0.0, 1)[0] is Access.WAIT
    assert guard.check(20.0, 0)[0] is Access.FREE


def test_refused_references_in_a_row_are_counted():
    """The given number in a row is too many; a good one, or a second of silence, ends the row."""
    count = RefusalCount(3)
    assert [count.refused(0.1 * k) for k in range(4)] == [False, False, True, True]
    count.accepted()
    assert [count.refused(1.0 + 0.9 * k) for k in range(3)] == [False, False, True]
    assert [count.refused(10.0 + 1.1 * k) for k in range(9)] == [False] * 9
    assert not any(RefusalCount(0).refused(0.0) for _ in range(9))
