# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The start: what a robot at rest must show before its first torque."""

import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Joints, Result, Structure
from rbd_ros.control.interface.words import LoadWord
from rbd_ros.control.kernels.declared import StopKernel
from rbd_ros.control.load.load import Load
from rbd_ros.control.monitors.start import Start, StartLimits

TWO = {'n': 2, 'm': 2}
LIMIT = np.array([80.0, 40.0])


def started(effort=None, gravity=(20.0, -5.0), *, q=(0.0, 0.0), qd=(0.0, 0.0), rate=500.0,
            noise=0.0, **limits):
    """Return the start check after states of a fifth of a second, and what came of it."""
    x, p, joints, s, y, load = (
        kind(TWO) for kind in (Start, StartLimits, Joints, Structure, Result, Load))
    kernel = StopKernel.idle(lambda: 0, TWO)
    kernel.gravity[:] = gravity
    p.tolerance, p.duration, p.wait, p.compare = 0.15, 0.1, 0.1, 1.0
    p.limit[:], p.lower[:], p.upper[:], s.index[:] = LIMIT, -1.0, 1.0, (0, 1)
    p.nominal_rate = 500.0
    for name, value in limits.items():
        setattr(p, name, value)
    joints.q[:], joints.qd[:], rng = q, qd, np.random.default_rng(1)
    x.restart()
    passed = False
    for k in range(round(0.2 * rate)):
        joints.effort_known = float(effort is not None)
        joints.effort[:] = 0.0 if effort is None else effort + noise * rng.uniform(-1.0, 1.0, 2)
        passed = x.passes(p, kernel, load, joints, s, y, 10.0 + k / rate)
        if passed or y.accused:
            break
    said = [int(word) for word in y.words[:int(y.told), 0]]
    return passed, said, y.accusations[0, :3].tolist() if y.accused else None, x


@pytest.mark.parametrize('effort, gravity, word', [
    ((20.0, -5.0), (22.0, -4.0), LoadWord.START_MATCH),
    ((0.0, 0.0), (60.0, 10.0), LoadWord.START_BRAKED),
    (None, (60.0, 10.0), LoadWord.START_NO_EFFORT)])
def test_gravity_that_fits_lets_the_start_begin(effort, gravity, word):
    """Agreement, brakes that hold the robot, and no effort at all are told apart."""
    passed, said, accused, x = started(effort, gravity)
    assert passed and word in said and accused is None and x.torque_known == 1.0
    if word is not LoadWord.START_MATCH:
        np.testing.assert_array_equal(x.torque, gravity)


@pytest.mark.parametrize('effort, joint', [
    ((-20.0, -5.0), 0), ((33.0, -5.0), 0), ((20.0, 2.0), 1), ((20.0, -12.0), 1)])
def test_gravity_that_does_not_fit_refuses_the_start(effort, joint):
    """A reversed sign or a wrong size is a fault that names the joint."""
    passed, _, accused, _ = started(effort)
    assert not passed
    assert accused == [Cause.START_CHECK, LoadWord.START_MISMATCH, joint]


def test_a_robot_in_motion_shows_nothing():
    """Its effort is not compared, and no torque is known that acts already."""
    passed, said, _, x = started((99.0, 99.0), qd=(0.5, 0.0))
    assert passed and LoadWord.START_UNMEASURED in said and x.torque_known == 0.0


def test_first_torque_is_what_acts_as_far_as_gravity_explains_it():
    """It is the effort, within the tolerance of g(q); what noise could be is left out."""
    np.testing.assert_allclose(started((22.0, -5.5))[3].torque, (22.0, -5.5))
    np.testing.assert_allclose(started((31.0, -9.0))[3].torque, (23.0, -5.75))  # 15 % at most
    for noise in (0.5, 2.0):
        found = started((20.0, -5.0), noise=noise)[3].torque
        np.testing.assert_allclose(found, (20.0, -5.0), atol=0.3 * noise)


@pytest.mark.parametrize('q, wrong', [
    ((1.19, -1.19), None), ((1.21, 0.0), 0), ((0.0, -1.21), 1), ((0.0, np.nan), 1)])
def test_positions_far_outside_the_limits_refuse_the_start(q, wrong):
    """A tenth of the range, at most 0.2 rad, may be beyond; else the positions are wrong."""
    passed, _, accused, _ = started((20.0, -5.0), q=q)
    assert passed is (wrong is None)
    if wrong is not None:
        assert accused == [Cause.START_CHECK, LoadWord.START_POSITIONS, wrong]


@pytest.mark.parametrize('rate, minimum, said, refused', [
    (500.0, 100.0, False, False), (390.0, 100.0, True, False), (640.0, 100.0, True, False),
    (410.0, 100.0, False, False), (410.0, 409.0, False, True)])
def test_rate_of_the_states(rate, minimum, said, refused):
    """A rate near the minimum refuses the start; one far from nominal is told."""
    passed, words, accused, _ = started((20.0, -5.0), rate=rate, minimum_rate=minimum)
    assert passed is not refused
    assert (LoadWord.START_RATE_FAR in words) is said
    if refused:
        assert accused[:2] == [Cause.START_CHECK, LoadWord.START_RATE_LOW]
