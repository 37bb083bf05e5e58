# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Sequences of the supervisor around the running step, with exact times on a fake clock."""

from controller_rig import Arm
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause

PERIOD = 0.002
ZERO = np.zeros(7)


def started(**values):
    """Return an arm whose law adds to gravity, and the time of its last state."""
    arm = Arm(period=PERIOD, **{
        'gravity_scale': [0.9], 'state_tolerance': [100.0], 'release_torque': 'zero'} | values)
    arm.start()
    return arm, arm.time


def gravity(arm):
    """Return the torque that carries it."""
    return arm.dynamics.gravity(arm.q)


def is_sent(arm, torque, tolerance=1e-9):
    """Return whether the last torque is an expected one."""
    return np.allclose(arm.sent[-1], torque, atol=tolerance, rtol=0.0)


# -- state lost -------------------------------------------------------------------------------


@pytest.mark.parametrize('left', ['zero', 'gravity'])
def test_lost_state_sequence(left):
    """Silence: gravity is held for hold_time, ramped over release_time, repeated, ended."""
    arm, begin = started(release_torque=left)
    g = gravity(arm)
    arm.silence(2.0)
    lost, down = arm.when('state lost'), arm.when('ramping down')
    releasing = arm.when('releasing')
    assert lost - begin == pytest.approx(0.1, abs=2 * PERIOD)
    assert down - begin == pytest.approx(0.4, abs=PERIOD)
    assert releasing - begin == pytest.approx(0.9, abs=2 * PERIOD)
    assert arm.when('fault') - releasing == pytest.approx(5 * PERIOD, abs=2 * PERIOD)
    held = [torque for time, torque in zip(arm.sent_at, arm.sent) if lost + 0.03 < time < down]
    np.testing.assert_allclose(held, np.tile(g, (len(held), 1)), atol=1e-9)
    half = next(torque for time, torque in zip(arm.sent_at, arm.sent) if time > down + 0.25)
    np.testing.assert_allclose(half, g if left == 'gravity' else 0.5 * g, atol=0.03 * g.max())
    assert is_sent(arm, g if left == 'gravity' else ZERO) and arm.sent_at[-1] < begin + 0.92
    assert arm.causes == [Cause.STATE_STALE]


def test_stall_of_the_process_counts_against_the_hold():
    """After a stall longer than timeout and hold together nothing is held any more."""
    arm, _ = started()
    arm.time += 5.0
    arm.tick()
    assert arm.state == 'ramping down'
    assert abs(arm.sent[-1][1]) < abs(gravity(arm)[1])


def test_reset_goes_through_probe_and_full_ramp():
    """States that return do not end a fault; after reset the stream must prove itself again."""
    arm, _ = started(ramp_time=1.0)
    arm.silence(2.0)
    count = len(arm.sent)
    arm.run(1.0)
    assert arm.state == 'fault' and len(arm.sent) == count
    assert arm.reset() == '' and arm.state == 'probing'
    arm.run(0.5)
    assert arm.state == 'ramping in'
    gain = 0.5 - (arm.when('ramping in') - arm.time + 0.5)
    assert is_sent(arm, gravity(arm) * (1.0 - 0.1 * gain), 0.01)  # the law's share grows
    arm.run(0.7)
    assert arm.state == 'running' and not arm.causes
    assert is_sent(arm, 0.9 * gravity(arm))


@pytest.mark.parametrize('begun', [True, False])
def test_gravity_that_fails_is_blind(begun):
    """The last good one is the answer; where there is none, nothing leaves at all."""
    arm = started()[0] if begun else Arm(period=PERIOD, release_torque='zero')
    if not begun:
        arm.activate()
        assert not arm.sent
    g = gravity(arm)
    arm.each = lambda _: arm.controller.x.load.gravity.fill(np.nan)
    arm.run(0.2)
    assert arm.causes == [Cause.BAD_GRAVITY]
    assert arm.state == ('state lost' if begun else 'fault')
    assert not begun or is_sent(arm, g)
    arm.run(2.0)
    assert arm.state == 'fault'
    assert is_sent(arm, ZERO) if begun else not arm.sent


# -- state good -------------------------------------------------------------------------------


def test_good_state_fault_brakes_live_then_holds():
    """A fault with good states gives live g(q) for brake_time, then holds."""
    arm, _ = started(tracking_limits=[10.0])
    arm.stop(Cause.TRACKING)
    begin = arm.time
    arm.run(0.1)
    assert arm.state == 'braking' and is_sent(arm, gravity(arm))
    arm.q = arm.q + 0.05
    arm.run(0.3)
    assert arm.state == 'braking' and is_sent(arm, gravity(arm))
    arm.run(0.2)
    assert arm.when('holding') - begin == pytest.approx(0.5, abs=2 * PERIOD)
    arm.run(3.0)
    assert arm.state == 'holding' and is_sent(arm, gravity(arm))


@pytest.mark.parametrize('left', ['zero', 'gravity'])
@pytest.mark.parametrize('cause', [Cause.WRONG_MODEL, Cause.OVER_SPEED])
def test_what_the_robot_shows_remains_of_a_wrong_model_only(cause, left):
    """A robot that is not the described one is never held, and released with its own load."""
    arm = Arm(ramp_time=0.02, hold_torque=0.05, tracking_limits=[10.0], state_tolerance=[100.0],
              velocity_limits=[1e3], fault_action='hold' if cause is Cause.WRONG_MODEL else
              'release', release_torque=left)
    arm.release()
    arm.push(np.array([0.0, 0.12 * arm.settings().torque_limits[1], 0.0, 0.0, 0.0, 0.0, 0.0]))
    arm.run(0.03)
    arm.stop(cause)
    arm.run(2.0)
    assert arm.state == 'fault' and 'holding' not in [state for _, state in arm.entered]
    shown = arm.sent[-1] - arm.controller.x.command.torque.gravity
    if left == 'zero':
        assert is_sent(arm, ZERO)
    else:
        assert bool(np.abs(shown).max() > 1.0) is (cause is Cause.WRONG_MODEL)


def test_state_lost_while_ramping_down_continues_blind():
    """Silence in the middle of a live ramp continues it without a step and in time."""
    arm, _ = started(fault_action='release', state_timeout=0.05)
    arm.stop(Cause.TRACKING)
    begin, count = arm.time, len(arm.sent)
    arm.run(0.7)
    arm.silence(1.0)
    assert arm.when('fault') - begin == pytest.approx(1.0, abs=0.02)
    steps = np.abs(np.diff(arm.sent[count:], axis=0)) / np.abs(gravity(arm)).max()
    assert steps.max() <= 0.1 + 1e-9 and steps[200:].max() < 0.06


def test_reset_while_holding_ramps_in_without_a_step():
    """A reset ramps the gains in; in the middle of a stop it is refused, and where all is well."""
    arm, _ = started()
    assert 'nothing to reset' in arm.reset()
    arm.stop(Cause.OPERATOR_STOP)
    arm.run(0.1)
    assert 'stop' in arm.reset()
    arm.run(0.6)
    assert arm.state == 'holding'
    count = len(arm.law_log)
    assert arm.reset() == ''
    arm.run(0.01)
    assert arm.state == 'ramping in'
    arm.run(1.1)
    assert arm.state == 'running'
    steps = np.abs(np.diff(arm.law_log[count - 1:], axis=0))
    assert (steps.max(axis=0) <= 0.01 * arm.settings().torque_limits).all()


# -- stop -------------------------------------------------------------------------------------


@pytest.mark.parametrize('when', [0.0, 0.2, 0.6, 0.9, 1.0])
def test_second_stop_request_changes_nothing(when):
    """A second request, at any moment, neither shortens nor prolongs the sequence."""
    logs = []
    for again in (False, True):
        arm, _ = started()
        arm.stop(Cause.SIGNAL)
        arm.run(when + PERIOD)
        if again:
            arm.stop(Cause.SIGNAL)
        arm.run(1.5)
        logs.append(np.array(arm.sent))
    assert np.array_equal(*logs)


# -- simulated time ---------------------------------------------------------------------------


def test_stopped_clock_is_a_pause():
    """With the simulated clock at rest there is no fault and no new command."""
    arm, _ = started(simulated=True, pause_limit=2.0)
    count = len(arm.sent)
    arm.silence(1.5, paused=True)
    assert arm.state == 'running' and arm.controller.x.command.supervisor.paused
    assert len(arm.sent) == count
    arm.run(0.01)
    assert arm.state == 'running' and not arm.controller.x.command.supervisor.paused
    assert is_sent(arm, 0.9 * gravity(arm))


@pytest.mark.parametrize(('paused', 'after', 'cause'), [
    (True, 2.0, Cause.PAUSE_TOO_LONG), (False, 0.1, Cause.STATE_STALE)])
def test_states_that_cease_under_simulated_time(paused, after, cause):
    """A pause beyond its limit on the steady clock is a loss; while the clock runs, any is."""
    arm, begin = started(simulated=True, pause_limit=2.0)
    arm.silence(after + 0.2, paused=paused)
    assert arm.when('state lost') - begin == pytest.approx(after, abs=2 * PERIOD)
    assert arm.causes == [cause]
