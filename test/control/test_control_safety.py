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

"""Lines of safety that the whole controller must keep, in the usual cycle as in any other."""

from cycle_rig import Arm, MODEL
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause

PERIOD = 0.001


def step_limit(arm, periods):
    """Return the largest change of each torque within some periods."""
    return arm.settings().torque_rates * periods * PERIOD * (1.0 + 1e-9)


def deactivate(arm):
    """End the activation."""
    arm.cycle.loop.post(lambda _now, steady: arm.cycle.supervisor.fault(steady, Cause.DEACTIVATED))
    arm.run(2.0)
    assert arm.state == 'released'


def shape(arm):
    """Go to another pose at once: its gravity torque is far away."""
    arm.q = np.array([0.1, -1.4, 0.3, -0.2, 0.5, -1.0, 0.7])


@pytest.mark.parametrize('mode', ['gravity_compensation', 'computed_torque', 'damping'])
def test_step_after_a_stall_is_that_of_two_periods(mode):
    """However long nothing was sent, the next torque is two nominal periods away at most."""
    arm = Arm(mode=mode, tracking_limits=[100.0], state_tolerance=[100.0])
    arm.restart()
    arm.run(0.1)
    before = arm.sent[-1]
    arm.time += 0.08  # below state_timeout: no fault
    shape(arm)
    arm.run(PERIOD)
    assert arm.state == 'running'
    step = np.abs(arm.sent[-1] - before)
    assert (step <= step_limit(arm, 2)).all()
    assert np.isclose(step, step_limit(arm, 2), rtol=1e-6).any()  # it was the cap that acted


def test_every_command_keeps_both_limits():
    """Poses that jump, speeds, a load: nothing leaves beyond a limit or faster than the rate."""
    arm = Arm(state_tolerance=[100.0], **{'payload.ramp_time': 0.0})
    arm.restart()
    first = len(arm.sent)
    rng = np.random.default_rng(4)
    for _ in range(20):
        arm.q = rng.uniform(np.maximum(MODEL.lower, -1.5), np.minimum(MODEL.upper, 1.5))
        arm.qd = rng.uniform(-1.0, 1.0, 7)
        arm.change(**{'payload.mass': float(rng.uniform(0.0, 200.0))})
        arm.run(0.03)
    sent = np.array(arm.sent[first - 1:])
    assert len(sent) > 500
    assert (np.abs(sent) <= arm.settings().torque_limits).all()
    assert (np.abs(np.diff(sent, axis=0)) <= step_limit(arm, 2)).all()
    assert arm.cycle.limiter.saturated.any()


def test_memory_of_the_limiter_begins_anew_with_each_activation():
    """The first torque starts from the effort measured now, not from that of the time before."""
    arm = Arm(effort_is_torque=True)
    arm.effort = arm.dynamics.gravity(arm.q)
    arm.restart()
    deactivate(arm)
    arm.effort = 0.97 * arm.dynamics.gravity(arm.q)
    count = len(arm.sent)
    arm.activate()
    arm.run(0.1)
    first = arm.sent[count]
    assert (np.abs(first - arm.effort) <= step_limit(arm, 1)).all()


@pytest.mark.parametrize('values', [{}, {'effort_is_torque': True}])
def test_a_robot_at_rest_is_carried_from_the_first_torque_on(values):
    """Whether effort is no torque or reads zero behind brakes: g(q) at once, no sag, no ramp."""
    arm = Arm(release_torque='zero', **values)
    arm.effort = np.zeros(7)
    for _ in range(2):  # the second one after a release to zero
        count = len(arm.sent)
        arm.activate()
        arm.run(0.1)
        np.testing.assert_allclose(arm.sent[count], arm.dynamics.gravity(arm.q), rtol=0,
                                   atol=1e-11)
        deactivate(arm)
        assert not arm.sent[-1].any()


def test_a_moving_robot_without_measured_torque_gets_gravity_at_the_rate_limit():
    """What acts on a robot that moves is not known: the torque grows from zero."""
    arm = Arm(release_torque='zero')
    arm.qd, arm.still = np.full(7, 0.05), True  # so slowly that it does not matter
    arm.activate()
    arm.run(0.1)
    assert (np.abs(arm.sent[0]) <= step_limit(arm, 1)).all()
    np.testing.assert_allclose(arm.sent[-1], arm.dynamics.gravity(arm.q), rtol=0, atol=1e-11)


def test_nothing_but_the_last_gravity_is_held_and_not_longer_than_told():
    """After the loss: g(q) of the last state, whatever the velocity; after hold_time the ramp."""
    logs = []
    for speed in (0.0, 0.4):
        arm = Arm(mode='damping', hold_time=0.2, state_tolerance=[100.0])
        arm.qd, arm.still = np.full(7, speed), True
        arm.restart()
        gravity = arm.dynamics.gravity(arm.q)
        assert speed == 0.0 or np.abs(arm.sent[-1] - gravity).max() > 1e-3
        count = len(arm.sent)
        arm.silence(0.1 + 0.2)
        held = np.array(arm.sent[count:])
        np.testing.assert_allclose(held[50:-2], np.tile(gravity, (len(held) - 52, 1)),
                                   rtol=0, atol=1e-11)
        arm.silence(0.25)
        assert np.abs(arm.sent[-1]).max() < 0.55 * np.abs(gravity).max()
        arm.silence(1.0)
        assert arm.state == 'fault' and not arm.sent[-1].any()
        logs.append(np.array(arm.sent[count + 50:]))
    np.testing.assert_allclose(logs[0], logs[1], rtol=0, atol=1e-9)


def test_state_after_a_gap_is_only_a_probe():
    """States that come back after a loss move no torque until they have proved themselves."""
    arm = Arm(recover_lost_state=True)
    arm.restart()
    arm.silence(0.15)
    assert arm.state == 'state lost'
    shape(arm)
    expected = arm.sent[-1]
    periods = 0
    while arm.state == 'state lost':
        np.testing.assert_allclose(arm.sent[-1], expected, rtol=0, atol=1e-11)
        arm.run(PERIOD)
        periods += 1
    assert arm.state == 'ramping in'
    assert arm.cycle.supervisor.gain < 0.01
    timeout = arm.settings().number('state_timeout')    # for so long every state must be in time
    assert timeout <= periods * PERIOD <= timeout + 8 * PERIOD


def test_over_speed_and_tracking_are_seen_in_the_usual_cycle():
    """Neither a velocity beyond its limit nor a lagging arm passes because all else is usual."""
    for cause, change in ((Cause.OVER_SPEED, lambda arm: setattr(arm, 'qd', np.full(7, 3.0))),
                          (Cause.TRACKING, lambda arm: setattr(arm, 'q', arm.q + 0.6))):
        arm = Arm(mode='computed_torque', state_tolerance=[100.0])
        arm.restart()
        change(arm)
        arm.each = lambda _, arm=arm: setattr(arm, 'q', arm.q + 1e-6)  # no joint stands still
        arm.run(0.2)
        assert arm.state == 'braking'
        [detail] = [fault.detail for fault in arm.cycle.supervisor.faults if fault.cause is cause]
        assert 'beyond' in detail


def test_low_rate_is_a_lost_state():
    """States slower than minimum_rate end the control, with the rate in the text."""
    arm = Arm(state_timeout=0.5)
    arm.restart()
    for _ in range(200):
        arm.time += 0.02
        arm.cycle.state(arm.time, arm.time, arm.robot.joints, arm.q, arm.qd, (), arm.time + 1e4)
        if arm.state != 'running':
            break
    assert arm.state == 'state lost'
    assert '50 Hz, minimum_rate 100 Hz' in arm.cycle.fault_text()


def test_what_is_noticed_on_the_fast_path_is_told_by_the_timer():
    """A stream that ceases to stamp is announced, though no message takes the slow path."""
    arm = Arm()
    arm.restart()
    arm.cycle.events.clear()
    arm.time += PERIOD
    arm.cycle.joints.check_age(arm.cycle.joints.last, arm.time, 0.0)
    arm.cycle.tick(arm.time, arm.time)
    assert any('have no stamp' in text for _, text in arm.cycle.events)


@pytest.mark.parametrize('mode', ['hold', 'computed_torque', 'operational_space'])
def test_a_law_begins_where_the_robot_is_without_a_ramp(mode):
    """A ramp of no time is a ramp: the reference begins at the state, at each start."""
    arm = Arm(mode=mode, ramp_time=0.0)
    arm.activate()
    arm.run(0.5)
    assert arm.state == 'running'
    gravity = arm.dynamics.gravity(arm.q)
    np.testing.assert_allclose(arm.cycle.loop.wanted, gravity, atol=1e-9)
    arm.cycle.loop.post(
        lambda _, steady: arm.cycle.supervisor.fault(steady, Cause.OPERATOR_STOP))
    arm.run(1.0)
    assert arm.state == 'holding'
    arm.q = arm.q + 0.05  # somebody pushes it
    arm.run(0.1)
    assert not arm.cycle.reset(arm.time, arm.time)
    arm.run(1.0)
    assert arm.state == 'running'
    np.testing.assert_allclose(arm.cycle.loop.wanted, arm.dynamics.gravity(arm.q), atol=1e-9)
