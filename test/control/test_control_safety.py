# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Lines of safety that the whole controller must keep, whatever happens around it."""

from controller_rig import Arm
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause

PERIOD = 0.001


def step_limit(arm, periods):
    """Return the largest change of each torque within some periods."""
    return arm.settings().torque_rates * periods * PERIOD * (1.0 + 1e-9)


def deactivate(arm):
    """End the activation."""
    arm.stop(Cause.DEACTIVATED)
    arm.run(2.0)
    assert arm.state == 'released'


def test_memory_of_the_limiter_begins_anew_with_each_activation():
    """The first torque starts from the effort measured now, not from that of the time before."""
    arm = Arm(effort_is_torque=True)
    arm.effort = arm.dynamics.gravity(arm.q)
    arm.start()
    deactivate(arm)
    arm.effort = 0.97 * arm.dynamics.gravity(arm.q)
    count = len(arm.sent)
    arm.activate()
    arm.run(0.1)
    first = arm.sent[count]
    assert (np.abs(first - arm.effort) <= step_limit(arm, 1)).all()


@pytest.mark.parametrize('speed, known', [(0.019, True), (0.021, False), (0.05, False)])
def test_a_moving_robot_without_measured_torque_gets_gravity_at_the_rate_limit(speed, known):
    """What acts on a robot that moves is not known: the torque grows from zero; at rest g(q)."""
    arm = Arm(release_torque='zero')
    arm.qd, arm.still = np.full(7, speed), True  # so slowly that it does not matter
    arm.activate()
    arm.run(0.1)
    gravity = arm.dynamics.gravity(arm.q)
    assert bool((np.abs(arm.sent[0]) <= step_limit(arm, 1)).all()) is not known
    assert not known or np.abs(arm.sent[0] - gravity).max() < 1e-11
    np.testing.assert_allclose(arm.sent[-1], gravity, rtol=0, atol=1e-11)


def test_over_speed_and_tracking_are_seen():
    """Neither a velocity beyond its limit nor a lagging arm passes because all else is usual."""
    for cause, change in ((Cause.OVER_SPEED, lambda arm: setattr(arm, 'qd', np.full(7, 3.0))),
                          (Cause.TRACKING, lambda arm: setattr(arm, 'q', arm.q + 0.6))):
        arm = Arm(mode='computed_torque', state_tolerance=[100.0])
        arm.start()
        change(arm)
        arm.each = lambda _, arm=arm: setattr(arm, 'q', arm.q + 1e-6)  # no joint stands still
        arm.run(0.2)
        assert arm.state == 'braking'
        assert 'beyond' in arm.controller.faults()[cause.name]


@pytest.mark.parametrize('mode', ['hold', 'computed_torque', 'operational_space'])
def test_a_law_begins_where_the_robot_is_without_a_ramp(mode):
    """A ramp of no time is a ramp: the reference begins at the state, at each start."""
    arm = Arm(mode=mode, ramp_time=0.0)
    arm.activate()
    arm.run(0.5)
    assert arm.state == 'running'
    gravity = arm.dynamics.gravity(arm.q)
    np.testing.assert_allclose(arm.law_log[-1], gravity, atol=1e-9)
    arm.stop(Cause.OPERATOR_STOP)
    arm.run(1.0)
    assert arm.state == 'holding'
    arm.q = arm.q + 0.05  # somebody pushes it
    arm.run(0.1)
    assert not arm.reset()
    arm.run(1.0)
    assert arm.state == 'running'
    np.testing.assert_allclose(arm.law_log[-1], arm.dynamics.gravity(arm.q), atol=1e-9)


# -- how a stop ends --------------------------------------------------------------------------


@pytest.mark.parametrize('causes', [
    [Cause.OPERATOR_STOP], [Cause.OPERATOR_STOP, Cause.TRACKING],
    [Cause.TRACKING, Cause.OPERATOR_STOP]])
@pytest.mark.parametrize('fault_action, stop_action', [('release', 'hold'), ('hold', 'release')])
def test_fault_beside_an_operator_stop_decides(causes, fault_action, stop_action):
    """When both happen in one stop the fault's choice counts, whichever came first."""
    arm = Arm(fault_action=fault_action, stop_action=stop_action)
    arm.start()
    for cause in causes:
        arm.stop(cause)
        arm.run(0.1)
    arm.run(2.0)
    action = fault_action if Cause.TRACKING in causes else stop_action
    assert arm.state == {'release': 'fault', 'hold': 'holding'}[action]
    assert arm.causes == causes


@pytest.mark.parametrize('repeats', [1, 3, 8])
@pytest.mark.parametrize('states', [True, False])
def test_release_torque_is_repeated_exactly(repeats, states):
    """The release torque leaves release_repeats times, the first one included, then nothing."""
    arm = Arm(release_repeats=repeats, fault_action='release', release_torque='zero')
    arm.start()
    before = len(arm.sent)
    if states:
        arm.stop(Cause.TRACKING)
        arm.run(3.0)
    else:
        arm.silence(3.0)
    assert arm.state == 'fault'
    zeros = [not torque.any() for torque in arm.sent[before:]]
    assert sum(zeros) == repeats and all(zeros[-repeats:])


def test_direction_of_gravity_that_is_too_old_is_a_lost_state():
    """A measured direction may be used for its timeout, then g(q) is not known any more."""
    arm = Arm(ramp_time=0.02, gravity_source='imu', gravity_timeout=0.05)
    arm.each = lambda time: arm.controller.take_gravity(time, time, time, np.array([0., 0., -1.]))
    arm.start()
    arm.each = None
    arm.run(0.048)
    assert arm.state == 'running'
    arm.run(0.004)
    assert arm.state == 'state lost'
    assert arm.controller.faults() == {'GRAVITY_STALE': 'the gravity direction is too old: 0.05 s'}
