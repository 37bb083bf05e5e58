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

"""Lines of safety that the whole controller must keep, whatever happens around it."""

from controller_rig import Arm, MODEL, TORQUE
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.modes import MODES

PERIOD = 0.001


def step_limit(arm, periods):
    """Return the largest change of each torque within some periods."""
    return arm.settings().torque_rates * periods * PERIOD * (1.0 + 1e-9)


def deactivate(arm):
    """End the activation."""
    arm.stop(Cause.DEACTIVATED)
    arm.run(2.0)
    assert arm.state == 'released'


def shape(arm):
    """Go to another pose at once: its gravity torque is far away."""
    arm.q = np.array([0.1, -1.4, 0.3, -0.2, 0.5, -1.0, 0.7])


@pytest.mark.parametrize('mode', MODES)
def test_step_after_a_stall_is_that_of_two_periods(mode):
    """However long nothing was sent, the next torque is two nominal periods away at most."""
    arm = Arm(mode=mode, tracking_limits=[100.0], state_tolerance=[100.0], **{
        'task.linear_error': 10.0, 'task.angular_error': 3.1})
    arm.start()
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
    arm.start()
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
    assert arm.controller.x.command.torque.limiter.saturated.any()


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


def test_nothing_but_the_last_gravity_is_held_and_not_longer_than_told():
    """After the loss: g(q) of the last state, whatever the velocity; after hold_time the ramp."""
    logs = []
    for speed in (0.0, 0.4):
        arm = Arm(mode='damping', hold_time=0.2, state_tolerance=[100.0])
        arm.qd, arm.still = np.full(7, speed), True
        arm.start()
        gravity = arm.dynamics.gravity(arm.q)
        assert speed == 0.0 or np.abs(arm.sent[-1] - gravity).max() > 1e-3
        count = len(arm.sent)
        arm.silence(0.1 + 0.2)
        held = np.array(arm.sent[count:])
        np.testing.assert_allclose(held[70:-2], np.tile(gravity, (len(held) - 72, 1)),
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
    arm.start()
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
    assert arm.controller.x.command.supervisor.gain < 0.01
    timeout = arm.settings().number('state_timeout')    # for so long every state must be in time
    assert timeout <= periods * PERIOD <= timeout + 8 * PERIOD


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


def test_low_rate_is_a_lost_state():
    """States slower than minimum_rate end the control, with the rate in the text."""
    arm = Arm(state_timeout=0.5)
    arm.start()
    for _ in range(200):
        arm.time += 0.02
        arm.receive(arm.q, arm.qd)
        if arm.state != 'running':
            break
    assert arm.state == 'state lost'
    assert '50 Hz, minimum_rate 100 Hz' in arm.fault


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


@pytest.mark.parametrize('first, second', [
    (Cause.OPERATOR_STOP, Cause.TRACKING), (Cause.TRACKING, Cause.OPERATOR_STOP)])
@pytest.mark.parametrize('fault_action, stop_action, ends', [
    ('release', 'hold', 'fault'), ('hold', 'release', 'holding')])
def test_fault_beside_an_operator_stop_decides(first, second, fault_action, stop_action, ends):
    """When both happen in one stop the fault's choice counts, whichever came first."""
    arm = Arm(fault_action=fault_action, stop_action=stop_action)
    arm.start()
    for cause in (first, second):
        arm.stop(cause)
        arm.run(0.1)
    arm.run(2.0)
    assert arm.state == ends
    assert arm.causes == [first, second]


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


def test_robot_that_shakes_during_the_release_is_released():
    """Gravity that swings faster than the rate limit cannot keep a stop from its end."""
    arm = Arm(fault_action='release', release_torque='gravity', release_time=0.3, brake_time=0.1,
              state_tolerance=[100.0], velocity_limits=[1e3],
              torque_rate_limits=TORQUE.tolist())
    arm.start()
    arm.stop(Cause.TRACKING)
    begin = arm.time
    while arm.state != 'fault' and arm.time < begin + 4.0:
        arm.q[1] = 1.5 if round((arm.time - begin) / 0.02) % 2 else -1.5
        arm.run(PERIOD)
    # brake, ramp, and at most the way from one limit to the other, twice
    assert arm.time - begin < 0.1 + 0.3 + 2.0 + 0.1
    assert arm.causes == [Cause.TRACKING]


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
