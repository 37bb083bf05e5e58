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

import numpy as np
import pytest
from rbd_ros.control.former.laws.observer import external_wrench, MomentumObserver
from rbd_ros.control.load.payload import (
    GravitySource, payload_vector, PayloadError, PayloadRamp, rotation)
from rbd_ros.control.former.safety.start_check import GravityCheck, Verdict
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
