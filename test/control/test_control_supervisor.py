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

"""Every safety sequence of the supervisor and the loop, with exact times on a fake clock."""

import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Kind
from rbd_ros.control.joint_states.arrival import Arrival
from rbd_ros.control.supervisor.latch import latched
from rbd_ros.control.supervisor.states import Due, State, Timing
from rbd_ros.control.supervisor.words import SupervisorWord
from torque_rig import PERIOD, Rig, SWITCH

GRAVITY = (10.0, -5.0)  # of the rig at its default position


def entered(rig, value):
    """Return the time since the start of the record at which a state was entered."""
    return next(time for time, state in rig.states if state == value)


def settled(rig, value, tolerance=1e-9):
    """Return whether the last published torque is the value."""
    return np.allclose(rig.last, value, atol=tolerance, rtol=0.0)


# -- start ------------------------------------------------------------------------------------


def test_probing_publishes_nothing():
    """Until the age of the states is proven nothing leaves."""
    rig = Rig()
    rig.activate()
    rig.run(0.005)
    assert rig.state is State.PROBING
    assert not rig.log
    rig.run(0.001)
    assert rig.state is State.RAMPING_IN
    assert len(rig.log) == 1


def test_gravity_comes_at_the_rate_limit_and_gains_ramp():
    """Full gravity acts after |g| / rate; the law's own part grows over ramp_time."""
    rig = Rig(Timing(ramp_time=1.0))
    rig.activate()
    rig.run(0.006 + 0.050)  # 10 N.m at 200 N.m/s
    gain = 0.050
    assert settled(rig, (10.0 + 5.0 * gain, -5.0 + 5.0 * gain), 0.21)
    rig.run(0.45)
    assert settled(rig, (12.5, -2.5), 0.01)
    rig.run(0.51)
    assert rig.state is State.RUNNING
    assert settled(rig, (15.0, 0.0))


def test_the_first_torque_is_what_acts_already():
    """Given what acts before it, the first command takes it over: the arm does not drop."""
    rig = Rig()
    rig.activate()
    rig.begin_at(GRAVITY)
    rig.run(0.006)
    np.testing.assert_allclose(rig.log[0][1], GRAVITY, atol=1e-12)


def test_without_word_of_what_acts_it_comes_at_the_rate_limit():
    """Not knowing what acts, the torque grows from what was sent last; so does the next start."""
    rig = Rig()
    rig.activate()
    rig.begin_at((np.nan, 0.0))
    rig.run(0.006)
    assert np.abs(rig.log[0][1]).max() <= 200.0 * PERIOD + 1e-12


# -- state lost -------------------------------------------------------------------------------


def test_lost_state_sequence():
    """Silence: gravity is held for hold_time, ramped over release_time, repeated, ended."""
    rig = Rig(Timing(state_timeout=0.1, hold_time=0.3, release_time=0.5, release_repeats=5))
    rig.start()
    last_state = rig.time
    rig.run(2.0, states=False)
    lost = entered(rig, 'state lost')
    assert lost - last_state == pytest.approx(0.1, abs=2 * PERIOD)
    down = entered(rig, 'ramping down')
    assert down - last_state == pytest.approx(0.4, abs=PERIOD)
    releasing = entered(rig, 'releasing')
    assert releasing - last_state == pytest.approx(0.9, abs=2 * PERIOD)
    assert entered(rig, 'fault') - releasing == pytest.approx(5 * PERIOD, abs=2 * PERIOD)
    held = [torque for time, torque in rig.log if lost + 0.03 < time < down]
    np.testing.assert_allclose(held, np.tile(GRAVITY, (len(held), 1)), atol=1e-12)
    half = next(torque for time, torque in rig.log if time > down + 0.25)  # linear
    np.testing.assert_allclose(half, (5.0, -2.5), atol=0.03)
    assert sum(torque == (0.0, 0.0) for _, torque in rig.log) >= 5
    assert rig.log[-1][0] < last_state + 0.92
    assert rig.faults[0].cause is Cause.STATE_STALE


def test_velocity_is_never_used_when_lost():
    """The last velocity, however large, does not enter any blind torque."""
    quiet, fast = Rig(), Rig()
    for rig, qd in ((quiet, (0.0, 0.0)), (fast, (3.0, -3.0))):
        rig.start()
        rig.run(0.01, qd=qd)
        rig.log.clear()
        rig.run(2.0, states=False)
    assert quiet.log == fast.log


def test_release_to_gravity_if_asked():
    """With release gravity the last torque is the last gravity torque."""
    rig = Rig(gravity=True)
    rig.start()
    rig.run(2.0, states=False)
    assert rig.state is State.FAULT
    assert settled(rig, GRAVITY)


def test_stall_of_the_process_counts_against_the_hold():
    """After a stall longer than timeout and hold together nothing is held any more."""
    rig = Rig()
    rig.start()
    rig.time += 5.0
    rig.event(Kind.TIMER)
    assert rig.state is State.RAMPING_DOWN
    assert abs(rig.last[0]) < 15.0


def test_old_message_after_a_stall_is_not_used():
    """A queued state that arrives late neither moves the torque nor renews the state."""
    rig = Rig()
    rig.start()
    stamp = rig.now + 1e4 + PERIOD
    rig.time += 1.4
    assert rig.message(q=(1.9, 1.9), stamp=stamp) is Arrival.PROBE
    rig.time += 1e-5
    assert rig.message(q=(1.9, 1.9), stamp=stamp + PERIOD) is Arrival.REJECTED
    rig.event(Kind.TIMER)
    assert rig.state is State.RAMPING_DOWN
    assert abs(rig.last[0]) < 15.0


@pytest.mark.parametrize('fields', [
    {'q': (np.nan, 0.0)}, {'q': (1.0, np.inf)}, {'q': ()}, {'q': (1.0,)}, {'qd': (1.0,)}])
def test_bad_fields_end_in_the_lost_sequence(fields):
    """Bad fields that persist are a lost state after state_timeout, not before."""
    rig = Rig()
    rig.start()
    begin = rig.time
    rig.run(0.099, **fields)
    assert rig.state is State.RUNNING
    rig.run(1.0, **fields)
    assert entered(rig, 'state lost') - begin == pytest.approx(0.1, abs=2 * PERIOD)
    assert rig.state is State.FAULT


def test_single_bad_message_does_no_harm():
    """One NaN between good messages is skipped."""
    rig = Rig()
    rig.start()
    rig.run(PERIOD, q=(np.nan, np.nan))
    rig.run(0.01)
    assert rig.state is State.RUNNING
    assert settled(rig, (15.0, 0.0))


def test_reset_goes_through_probe_and_full_ramp():
    """States that return do not end a fault; after reset the stream must prove itself again."""
    rig = Rig()
    rig.start()
    rig.run(2.0, states=False)
    rig.log.clear()
    rig.run(1.0)
    assert rig.state is State.FAULT and not rig.log
    assert rig.reset()
    assert rig.state is State.PROBING
    rig.run(0.5)
    assert rig.state is State.RAMPING_IN
    rig.run(0.6)
    assert rig.state is State.RUNNING
    assert not rig.faults


@pytest.mark.parametrize('silence', [0.2, 0.6, 3.0])
def test_automatic_recovery_ramps_in(silence):
    """With recover a lost state ends by itself, in each part of the sequence, by a ramp-in."""
    rig = Rig(Timing(recover=True))
    rig.start()
    rig.run(silence, states=False)
    assert rig.state in (State.LOST, State.RAMPING_DOWN, State.PROBING)
    rig.run(0.05)
    assert rig.state is State.RAMPING_IN
    assert rig.x.supervisor.gain < 0.1
    assert [fault.cause for fault in latched(rig.x.supervisor.recovered)] == [Cause.STATE_STALE]
    assert not rig.faults
    rig.run(1.0)
    assert rig.state is State.RUNNING
    rig.run(silence, states=False)      # and once more
    rig.run(0.05)
    assert rig.state is State.RAMPING_IN and len(latched(rig.x.supervisor.recovered)) == 1


def test_gravity_that_fails_is_blind():
    """A gravity torque that is not finite is answered with the last good one."""
    rig = Rig()
    rig.start()
    rig.fail('gravity')
    rig.run(0.2)
    assert rig.state is State.LOST
    assert settled(rig, GRAVITY)
    rig.run(2.0)
    assert rig.state is State.FAULT
    assert settled(rig, (0.0, 0.0))


def test_nothing_leaves_if_nothing_could_be_computed():
    """A robot whose dynamics fail from the first state on gets no torque at all."""
    rig = Rig()
    rig.activate()
    rig.fail('gravity')
    rig.run(0.1)  # there is nothing to hold or to ramp down
    assert rig.state is State.FAULT and not rig.log


@pytest.mark.parametrize('braking', [False, True])
def test_velocity_that_is_no_number_makes_blind(braking):
    """Neither law nor brake can be trusted then: the last gravity torque remains."""
    rig = Rig()
    rig.start()
    if braking:
        rig.stop(Cause.TRACKING)
        rig.run(0.1)
    else:
        rig.fail('law')
    rig.plant.bad_velocity = np.nan
    rig.run(PERIOD)
    assert rig.state is State.LOST
    assert rig.faults[-1].cause is Cause.BAD_GRAVITY
    rig.run(0.1, states=False)
    assert np.isfinite(rig.last).all() and rig.last == pytest.approx((10.0, -5.0))


# -- state good -------------------------------------------------------------------------------


def test_good_state_fault_brakes_live_then_holds():
    """A fault with good states gives live g(q) - D qd for brake_time, then holds."""
    rig = Rig(Timing(brake_time=0.5))
    rig.start()
    rig.stop(Cause.TRACKING)
    begin = rig.time
    rig.run(0.3, q=(1.2, -0.5), qd=(0.5, 0.25))
    assert rig.state is State.BRAKING
    assert settled(rig, (12.0 - 2.0 * 0.5, -5.0 - 2.0 * 0.25))
    rig.run(0.3)
    assert entered(rig, 'holding') - begin == pytest.approx(0.5, abs=2 * PERIOD)
    rig.run(3.0)
    assert rig.state is State.HOLDING
    assert settled(rig, GRAVITY)


def test_good_state_fault_releases_if_configured():
    """With release the braking is followed by a live ramp, the repeats and silence."""
    rig = Rig(Timing(fault_action='release'))
    rig.start()
    rig.stop(Cause.OVER_SPEED)
    begin = rig.time
    rig.run(2.0)
    assert entered(rig, 'ramping down') - begin == pytest.approx(0.5, abs=2 * PERIOD)
    assert entered(rig, 'releasing') - begin == pytest.approx(1.0, abs=3 * PERIOD)
    assert rig.state is State.FAULT
    assert settled(rig, (0.0, 0.0))


def test_law_that_fails_becomes_a_brake():
    """A law that gives NaN is a fault with good state: gravity goes on at once."""
    rig = Rig()
    rig.start()
    rig.fail('law')
    rig.run(0.2)
    assert rig.state is State.BRAKING
    assert settled(rig, GRAVITY)
    assert rig.faults[0].cause is Cause.BAD_COMMAND
    assert rig.faults[0].word == SupervisorWord.LAW_NOT_FINITE


@pytest.mark.parametrize('gravity', [False, True])
def test_wrong_model_brakes_with_what_the_robot_shows_and_lets_go(gravity):
    """A robot that is not the described one is braked with its own load, and never held."""
    rig = Rig(Timing(fault_action='hold', stop_action='hold'), gravity=gravity)
    rig.start()
    rig.plant.load[:] = (25.0, -8.0)
    shown = np.array(GRAVITY) - rig.plant.load
    rig.stop(Cause.WRONG_MODEL)
    rig.run(0.45)
    assert rig.state is State.BRAKING
    assert settled(rig, shown)
    rig.run(2.0)
    assert rig.state is State.FAULT
    assert 'holding' not in [state for _, state in rig.states]
    assert settled(rig, shown if gravity else (0.0, 0.0))


def test_another_fault_leaves_no_load_behind():
    """What somebody pushed with while the robot was braked is not what it needs for ever."""
    rig = Rig(Timing(fault_action='release'), gravity=True)
    rig.start()
    rig.plant.load[:] = (3.0, -2.0)
    rig.stop(Cause.OVER_SPEED)
    rig.run(2.0)
    assert rig.state is State.FAULT
    assert settled(rig, GRAVITY)


def test_state_lost_while_braking():
    """Silence in the middle of a brake continues as the lost sequence."""
    rig = Rig()
    rig.start()
    rig.stop(Cause.TRACKING)
    rig.run(0.2)
    rig.run(2.0, states=False)
    assert [s for _, s in rig.states] == ['braking', 'state lost', 'ramping down', 'releasing',
                                          'fault']
    assert settled(rig, (0.0, 0.0))


def test_state_lost_while_ramping_down_continues_blind():
    """Silence in the middle of a live ramp continues it without a step and in time."""
    rig = Rig(Timing(fault_action='release', state_timeout=0.05))
    rig.start()
    rig.stop(Cause.TRACKING)
    begin = rig.time
    rig.run(0.7, qd=(1.0, 1.0))
    rig.run(1.0, states=False)
    assert entered(rig, 'fault') - begin == pytest.approx(1.0, abs=0.02)
    steps = np.abs(np.diff([torque for _, torque in rig.log], axis=0))
    assert steps.max() <= 200.0 * 0.002 + 1e-12


def test_reset_while_holding_ramps_in():
    """Reset from a hold ramps the gains in; a reset in the middle of a stop is refused."""
    rig = Rig()
    rig.start()
    assert not rig.reset() and rig.y.answer == SupervisorWord.NOTHING_TO_RESET
    rig.stop(Cause.TRACKING)
    rig.run(0.1)
    assert not rig.reset() and rig.y.answer == SupervisorWord.STOP_NOT_ENDED
    rig.run(0.6)
    assert rig.reset()
    rig.run(0.01)
    assert rig.state is State.RAMPING_IN
    rig.run(1.1)
    assert rig.state is State.RUNNING


# -- stop -------------------------------------------------------------------------------------


@pytest.mark.parametrize('cause', [Cause.SIGNAL, Cause.DEACTIVATED, Cause.EXCEPTION])
@pytest.mark.parametrize('states', [True, False])
def test_final_stop_ends_released_in_time(cause, states):
    """Every final stop ends at the release torque well under 4 s, with or without states."""
    rig = Rig()
    rig.start()
    rig.stop(cause)
    begin = rig.time
    rig.run(3.9, states=states)
    assert rig.state is State.RELEASED
    assert rig.finished
    assert rig.log[-1][0] - begin < 1.6
    assert [torque for _, torque in rig.log[-5:]] == [(0.0, 0.0)] * 5


@pytest.mark.parametrize('when', [0.0, 0.2, 0.6, 0.9, 1.0])
def test_second_stop_request_changes_nothing(when):
    """A second request, at any moment, neither shortens nor prolongs the sequence."""
    logs = []
    for again in (False, True):
        rig = Rig()
        rig.start()
        rig.stop(Cause.SIGNAL)
        rig.run(when + PERIOD)
        if again:
            rig.stop(Cause.SIGNAL)
        rig.run(2.0)
        logs.append(rig.log)
    assert logs[0] == logs[1]


@pytest.mark.parametrize('when, told', [(0.2, True), (0.7, False), (1.02, False)])
def test_a_robot_that_is_let_go_as_asked_may_fall_without_a_fault(when, told):
    """Over-speed is a fault while a final stop brakes; once it lets go, falling is no error."""
    rig = Rig(Timing(release_repeats=100))
    rig.start()
    rig.stop(Cause.SIGNAL)
    rig.run(when)
    assert rig.state in (State.BRAKING if told else State.RAMPING_DOWN, State.RELEASING)
    rig.stop(Cause.OVER_SPEED)
    assert any(fault.cause is Cause.OVER_SPEED for fault in rig.faults) is told
    rig.run(2.0)
    assert rig.state is State.RELEASED


def test_fault_reported_by_the_computation_acts_in_the_same_cycle():
    """A lost gravity direction, reported while computing, publishes no torque of that state."""
    rig = Rig()
    rig.start()
    rig.plant.reports = tuple(Cause).index(Cause.GRAVITY_STALE)
    rig.run(PERIOD, q=(1.0, -0.5), qd=(3.0, 3.0))
    assert rig.state is State.LOST
    assert rig.wanted.tolist() == list(GRAVITY)


def test_activation_is_refused_while_active():
    """Two activations without a stop between them are an error."""
    rig = Rig()
    assert rig.activate()
    rig.run(0.1)
    assert not rig.activate() and rig.y.answer == SupervisorWord.CANNOT_ACTIVATE


def test_switch_of_the_law_is_bumpless_before_the_limiter():
    """A law that changes by half of the limit moves the wanted torque by at most 1 % a cycle."""
    rig = Rig()
    rig.start()
    rig.run(0.01)
    before = rig.wanted.copy()
    rig.plant.law[:] = -5.0
    rig.event(SWITCH)
    largest = 0.0
    for _ in range(600):
        rig.run(PERIOD)
        largest = max(largest, np.abs(rig.wanted - before).max())
        before = rig.wanted.copy()
    assert largest <= 0.01 * 20.0
    assert settled(rig, (5.0, -10.0))


def test_reset_from_a_hold_is_bumpless():
    """From hold to the law the wanted torque does not step."""
    rig = Rig()
    rig.start()
    rig.stop(Cause.OPERATOR_STOP)
    rig.run(1.0, qd=(0.5, 0.5))
    assert rig.state is State.HOLDING
    largest, before = 0.0, rig.wanted.copy()
    for k in range(2200):
        if k == 1000:
            assert rig.reset()
        rig.run(PERIOD, qd=(0.5, 0.5))
        largest = max(largest, np.abs(rig.wanted - before).max())
        before = rig.wanted.copy()
    assert rig.state is State.RUNNING
    assert largest <= 0.01 * 20.0


# -- the driver's part ------------------------------------------------------------------------


def test_driver_part_is_subtracted_after_the_limits():
    """With a driver that adds gravity only the rest is sent; the total keeps the limit."""
    rig = Rig(driver=1.0, limit=12.0)
    rig.start()
    rig.run(PERIOD)
    assert settled(rig, (12.0 - 10.0, 5.0))
    assert rig.x.torque.limiter.saturated.tolist() == [True, False]


def test_release_with_driver_gravity_sends_zero_not_minus_gravity():
    """Letting go means to send nothing: the driver keeps the arm up."""
    rig = Rig(driver=1.0)
    rig.start()
    rig.run(2.0, states=False)
    assert rig.state is State.FAULT
    assert settled(rig, (0.0, 0.0))
    assert min(torque[0] for _, torque in rig.log) >= -1e-12


# -- simulated time ---------------------------------------------------------------------------


SIMULATED = Timing(simulated=True, pause_limit=2.0)


def test_stopped_clock_is_a_pause():
    """With the simulated clock at rest there is no fault and no new command."""
    rig = Rig(SIMULATED)
    rig.start()
    rig.run(PERIOD)
    before = list(rig.log)
    rig.run(1.5, states=False, clock=False)
    assert rig.state is State.RUNNING
    assert rig.x.supervisor.paused and rig.due is Due.NOTHING
    assert rig.log == before
    rig.run(0.01)
    assert rig.state is State.RUNNING
    assert not rig.x.supervisor.paused
    assert settled(rig, (15.0, 0.0))


def test_pause_has_a_long_limit():
    """A pause beyond pause_limit on the steady clock is a lost state."""
    rig = Rig(SIMULATED)
    rig.start()
    begin = rig.time
    rig.run(2.5, states=False, clock=False)
    assert entered(rig, 'state lost') - begin == pytest.approx(2.0, abs=2 * PERIOD)
    assert rig.faults[0].cause is Cause.PAUSE_TOO_LONG


def test_running_clock_without_states_is_no_pause():
    """While the simulated clock runs, missing states are lost states."""
    rig = Rig(SIMULATED)
    rig.start()
    begin = rig.time
    rig.run(0.2, states=False)
    assert entered(rig, 'state lost') - begin == pytest.approx(0.1, abs=2 * PERIOD)


def test_stop_ends_with_the_simulator_dead():
    """Neither clock nor states: a final stop still ends in time."""
    rig = Rig(SIMULATED)
    rig.start()
    rig.run(1.0, states=False, clock=False)
    rig.stop(Cause.SIGNAL)
    begin = rig.time
    rig.run(3.5, states=False, clock=False)
    assert rig.state is State.RELEASED
    assert rig.log[-1][0] - begin < 1.6
    assert settled(rig, (0.0, 0.0))


def test_clock_that_jumps_back_is_a_lost_state():
    """A reset of the simulation is not survived silently."""
    rig = Rig(SIMULATED)
    rig.start()
    rig.sim_offset -= 50.0
    rig.run(0.01)
    assert rig.faults[0].cause is Cause.CLOCK_JUMP
