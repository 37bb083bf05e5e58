# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Gains that cannot be stable are refused; the poles of the sampled loop are the judge."""

from __future__ import annotations

from controller_rig import Arm
import numpy as np
import pytest
from rbd_ros.control.laws.notices import designed, notices
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.parameters.validation import refusals


@pytest.mark.parametrize(('values', 'words'), [
    ({'stiffness': [1e5], 'damping': [0.0]}, 'with this damping give less than 0'),
    ({'stiffness': [1e5]}, 'stiffness 100000 1/s^2 with damping 20 1/s cannot be stable at '
                           'nominal_rate 1000 Hz: with this damping give less than 4e+04 1/s^2'),
    ({'stiffness': [100.0, 5e4]}, 'stiffness 50000'),
    ({'damping': [2500.0]}, 'damping 2500 1/s cannot be stable at nominal_rate 1000 Hz: give less '
                            'than 2000 1/s'),
    ({'delay': 0.05, 'stiffness': [250.0]}, 'stiffness 250 1/s^2 with damping 20 1/s cannot be '
     'stable at nominal_rate 1000 Hz with a delay of 0.05 s and velocity_filter 0.01 s: with this '
     'damping give less than '),
    ({'task.linear_stiffness': 1e5}, 'task.linear_stiffness 100000'),
    ({'task.angular_damping': 5e3}, 'task.angular_damping 5000'),
    ({'posture.stiffness': [1e5]}, 'posture.stiffness 100000'),
    ({'integral': [2000.0]}, 'integral 2000 1/s^3 with stiffness 100 1/s^2 cannot be stable: '
                             'give less than 2000 1/s^3, the product of stiffness and damping')])
def test_unstable_gains_are_refused_with_the_largest_ones(values, words):
    """The reason names what is wrong, the loop that it is wrong for, and what would do."""
    reasons = refusals(values)
    assert len(reasons) == 1 and words in reasons[0], reasons


def test_gains_that_need_velocities_are_told():
    """Positions alone are differenced behind a filter, which counts like a delay."""
    stiff = {'stiffness': [3e4], 'damping': [20.0]}
    assert refusals(stiff) == []
    (told,) = [text for text in notices(Arm(**stiff).settings()) if 'velocities:' in text]
    assert told.startswith('if joint states have no velocities: stiffness 30000 1/s^2 with '
                           'damping 20 1/s cannot be stable at nominal_rate 1000 Hz with '
                           'velocity_filter 0.01 s: with this damping give less than ')
    (refused,) = refusals(stiff | {'delay': 0.01, 'velocity_filter': 0.0})
    assert refused.split()[-2] == told.split()[-2]
    assert not any('velocities:' in text for text in notices(Arm().settings()))


@pytest.mark.parametrize(('values', 'rate'), [
    ({}, 500.0),
    ({'delay': 0.02, 'velocity_filter': 0.0}, 0.3 / 0.0215),
    ({'delay': 0.05, 'velocity_filter': 0.01}, 0.3 / 0.0615)])
def test_everything_that_damps_is_made_for_the_delay(values, rate):
    """Dampers, hold and observer are bounded by what a late loop can carry."""
    arm = Arm(**values, brake_damping=[1e4], free_damping=[1e4])
    settings = arm.controller.settings
    x = arm.controller.x.design
    assert x.fastest_damper == pytest.approx(rate)
    for damping in (x.free_damping, x.brake_damping):
        np.testing.assert_allclose(damping, rate * np.array(settings.robot.damped_inertia))
    assert (x.hold_damping <= rate).all()
    assert (x.hold_stiffness <= 0.25 * x.hold_damping ** 2).all()
    np.testing.assert_allclose(x.observer_gain, min(30.0, 2.0 * rate))
    assert ('ms late' in notices(settings)[0]) is bool(values)


@pytest.mark.parametrize(('given', 'age', 'late'), [
    (0.0, 0.0, 0.0), (0.0, 0.002, 0.002), (1e-4, 0.004, 0.004), (0.002, 0.001, 0.002)])
def test_dampers_are_made_for_the_age_that_is_measured(given, age, late):
    """Each has two thirds of what is stable with that age, and no more than half of the rate."""
    arm = Arm(delay=given, velocity_filter=0.0, brake_damping=[1e4], damping=[900.0])
    x = designed(arm.controller.settings, age)
    most = min(500.0, 0.325 * np.pi / (late + 0.0005))
    assert x.safe_rate == pytest.approx(most)
    most = x.safe_rate
    assert x.fastest_damper <= most and x.brake_rate <= most
    assert (x.hold_damping <= most).all()


def test_usual_gains_pass():
    """The defaults pass at every usual rate, and with the delay that stops are made for."""
    for rate in (20.0, 50.0, 100.0, 1000.0):
        few = {'nominal_rate': rate, 'minimum_rate': 0.0, 'state_timeout': 0.3, 'stop_time': 0.5}
        assert refusals(few, defaults()) == []
        assert refusals({**few, 'stiffness': [0.0], 'damping': [0.0]}, defaults()) == []
    assert refusals({'delay': 0.05}) == []
