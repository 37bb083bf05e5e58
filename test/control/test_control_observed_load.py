# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The load that a robot shows besides g(q), and what a stop carries of it."""

from controller_rig import Arm
import numpy as np
import pytest

from rbd_ros.control.interface.causes import Cause


@pytest.mark.parametrize('gap, kept', [(0.09, True), (0.11, False)])
def test_what_was_observed_before_a_gap_is_forgotten(gap, kept):
    """The load that a moving joint showed counts no more after a tenth of a second of silence."""
    arm = Arm(state_timeout=0.5, minimum_rate=0.0, tracking_limits=[10.0])
    arm.release()
    arm.push(np.array([0.0, 10.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    arm.stop()
    arm.run(0.05)
    assert np.abs(arm.load).max() > 1.0
    arm.time += gap
    arm.push(np.zeros(7))
    arm.run(arm.period)
    assert bool(np.abs(arm.load).max() > 1.0) is kept


@pytest.mark.parametrize('cause', [Cause.WRONG_MODEL, Cause.OVER_SPEED])
def test_only_a_robot_that_is_not_described_is_braked_with_what_it_shows(cause):
    """Its load may be as large as its limits; that of any other robot keeps its bound."""
    arm = Arm(ramp_time=0.02, hold_torque=0.05, tracking_limits=[10.0])
    arm.release()
    limits = arm.settings().torque_limits
    arm.push(np.array([0.0, 0.12 * limits[1], 0.0, 0.0, 0.0, 0.0, 0.0]))
    arm.run(0.02)
    arm.stop(cause)
    found = []
    for _ in range(4):
        arm.run(0.02)
        assert arm.state == 'braking'
        found.append(np.abs(arm.load / limits).max())
        arm.apply(**{'tolerance.goal': [0.02 + 0.01 * len(found)]})  # it has no part in this
    assert max(found) <= 0.05 + 1e-12 if cause is Cause.OVER_SPEED else max(found) > 0.09


def test_changed_parameters_reach_the_observer():
    """Feedback counts from the next state on, the gain at once."""
    arm = Arm(observer_gain=[20.0], observer_feedback=True, tracking_limits=[10.0],
              mode='computed_torque')
    x = arm.controller.x
    arm.release()
    arm.push(np.array([0.0, 10.0, 0.0, 0.0, 0.0, 0.0, 0.0]))
    arm.run(0.1)
    assert x.laws.joint.external[1] == pytest.approx(10.0, rel=0.2)
    arm.apply(observer_gain=[33.0], observer_feedback=False)
    assert x.design.observer_gain.tolist() == [33.0] * 7
    arm.run(arm.period)
    assert not x.laws.joint.external.any()         # what was fed back is taken away


def test_a_hold_carries_what_it_began_with_whatever_is_changed():
    """A weight at the tip is held as high after any change of parameters as before."""
    arm = Arm(hold_torque=0.3, tracking_limits=[10.0], mode='gravity_compensation')
    arm.release()
    arm.hand = lambda qd: arm.dynamics.jacobian(arm.q, 'tool0')[3:].T @ [0.0, 0.0, -30.0]
    arm.run(0.1)
    arm.stop()
    arm.run(4.0)
    assert arm.state == 'holding'
    carried, place = arm.controller.x.laws.joint.external.copy(), arm.pose[2, 3]
    assert np.abs(carried).max() > 5.0
    for values in ({'tolerance.goal': [0.03]}, {'hold_torque': 0.31}, {'observer_gain': [25.0]},
                   {'gravity_slew': 3.0}, {'brake_rate': 9.0}):
        arm.apply(**values)
        arm.run(0.2)
        assert np.array_equal(carried, arm.controller.x.laws.joint.external), values
    assert arm.pose[2, 3] == pytest.approx(place, abs=5e-4)
