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

from control_rig import PERIOD, Rig
import numpy as np
import pytest

from rbd_ros.control.former.control_loop import Release
from rbd_ros.control.former.joint_states.layout import Arrival
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.former.safety.supervisor import Due, State, Supervisor, Timing

pytestmark = pytest.mark.slow

GRAVITY = (10.0, -5.0)  # of the rig at its default position


def entered(rig, value):
    """Return the time since the start of the record at which a state was entered."""
    return next(time for time, state in rig.states if state == value)


def stop(rig, cause):
    """Request a stop at the next tick, as another thread does."""
    rig.loop.post(lambda now, steady: rig.supervisor.fault(steady, cause))


def settled(rig, value, tolerance=1e-9):
    """Return whether the last published torque is the value."""
    return np.allclose(rig.last, value, atol=tolerance, rtol=0.0)


# -- start ------------------------------------------------------------------------------------


def test_probing_publishes_nothing():
    """Until the age of the states is proven nothing leaves."""
    rig = Rig()
    rig.activate()
    rig.run(0.005)
    assert rig.supervisor.state is State.PROBING
    assert not rig.log
    rig.run(0.001)
    assert rig.supervisor.state is State.RAMPING_IN
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
    assert rig.supervisor.state is State.RUNNING
    assert settled(rig, (15.0, 0.0))


def test_the_first_torque_is_what_acts_already():
    """Given what acts before it, the first command takes it over: the arm does not drop."""
    rig = Rig()
    rig.activate()
    rig.loop.begin_at(np.array(GRAVITY))
    rig.run(0.006)
    np.testing.assert_allclose(rig.log[0][1], GRAVITY, atol=1e-12)


def test_without_word_of_what_acts_it_comes_at_the_rate_limit():
    """Not knowing what acts, the torque grows from what was sent last; so does the next start."""
    rig = Rig()
    rig.activate()
    rig.loop.begin_at(np.array(GRAVITY))
    rig.loop.begin_at(None)
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
    held = [torque for time, torque, _ in rig.log if lost + 0.03 < time < down]
    np.testing.assert_allclose(held, np.tile(GRAVITY, (len(held), 1)), atol=1e-12)
    assert sum(torque == (0.0, 0.0) for _, torque, _ in rig.log) >= 5
    assert rig.log[-1][0] < last_state + 0.92
    assert rig.supervisor.faults[0].cause is Cause.STATE_STALE
    assert 'a, b' in str(rig.supervisor.faults[0])


def test_ramp_is_linear_from_hold_to_zero():
    """Half of the ramp time after the hold, half of the gravity torque acts."""
    rig = Rig()
    rig.start()
    rig.run(0.4 + 0.25, states=False)
    assert settled(rig, (5.0, -2.5), 0.03)


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
    rig = Rig(release=Release.GRAVITY)
    rig.start()
    rig.run(2.0, states=False)
    assert rig.supervisor.state is State.FAULT
    assert settled(rig, GRAVITY)


def test_stall_of_the_process_counts_against_the_hold():
    """After a stall longer than timeout and hold together nothing is held any more."""
    rig = Rig()
    rig.start()
    rig.time += 5.0
    rig.loop.tick(rig.now, rig.time)
    assert rig.supervisor.state is State.RAMPING_DOWN
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
    rig.loop.tick(rig.now, rig.time)
    assert rig.supervisor.state is State.RAMPING_DOWN
    assert abs(rig.last[0]) < 15.0


@pytest.mark.parametrize('fields', [
    {'q': (np.nan, 0.0)}, {'q': (1.0, np.inf)}, {'q': ()}, {'q': (1.0,)}, {'qd': (1.0,)}])
def test_bad_fields_end_in_the_lost_sequence(fields):
    """Bad fields that persist are a lost state after state_timeout, not before."""
    rig = Rig()
    rig.start()
    begin = rig.time
    rig.run(0.099, **fields)
    assert rig.supervisor.state is State.RUNNING
    rig.run(1.0, **fields)
    assert entered(rig, 'state lost') - begin == pytest.approx(0.1, abs=2 * PERIOD)
    assert rig.supervisor.state is State.FAULT


def test_single_bad_message_does_no_harm():
    """One NaN between good messages is skipped."""
    rig = Rig()
    rig.start()
    rig.run(PERIOD, q=(np.nan, np.nan))
    rig.run(0.01)
    assert rig.supervisor.state is State.RUNNING
    assert settled(rig, (15.0, 0.0))


def test_lost_fault_latches():
    """States that return do not end the fault unless the parameter says so."""
    rig = Rig()
    rig.start()
    rig.run(2.0, states=False)
    rig.log.clear()
    rig.run(1.0)
    assert rig.supervisor.state is State.FAULT
    assert not rig.log


def test_reset_goes_through_probe_and_full_ramp():
    """After reset the stream must prove itself and the gains ramp again."""
    rig = Rig()
    rig.start()
    rig.run(2.0, states=False)
    assert rig.supervisor.reset(rig.now, rig.time) == ''
    assert rig.supervisor.state is State.PROBING
    rig.run(0.5)
    assert rig.supervisor.state is State.RAMPING_IN
    rig.run(0.6)
    assert rig.supervisor.state is State.RUNNING
    assert not rig.supervisor.faults


@pytest.mark.parametrize('silence', [0.2, 0.6, 3.0])
def test_automatic_recovery_ramps_in(silence):
    """With recover a lost state ends by itself, in each part of the sequence, by a ramp-in."""
    rig = Rig(Timing(recover=True))
    rig.start()
    rig.run(silence, states=False)
    assert rig.supervisor.state in (State.LOST, State.RAMPING_DOWN, State.PROBING)
    rig.run(0.05)
    assert rig.supervisor.state is State.RAMPING_IN
    assert rig.supervisor.gain < 0.1
    assert [fault.cause for fault in rig.supervisor.recovered] == [Cause.STATE_STALE]
    assert not rig.supervisor.faults
    rig.run(1.0)
    assert rig.supervisor.state is State.RUNNING
    rig.run(silence, states=False)      # and once more
    rig.run(0.05)
    assert rig.supervisor.state is State.RAMPING_IN and len(rig.supervisor.recovered) == 1


def test_other_faults_do_not_recover():
    """Recovery is for lost states alone: a stop before the loss stays latched."""
    rig = Rig(Timing(recover=True))
    rig.start()
    stop(rig, Cause.OPERATOR_STOP)
    rig.run(0.1)
    rig.run(3.0, states=False)
    rig.run(1.0)
    assert rig.supervisor.state is State.FAULT


def test_gravity_that_fails_is_blind():
    """A gravity torque that is not finite is answered with the last good one."""
    rig = Rig()
    rig.start()
    rig.fail = 'gravity'
    rig.run(0.2)
    assert rig.supervisor.state is State.LOST
    assert settled(rig, GRAVITY)
    rig.run(2.0)
    assert rig.supervisor.state is State.FAULT
    assert settled(rig, (0.0, 0.0))


# -- state good -------------------------------------------------------------------------------


def test_good_state_fault_brakes_live_then_holds():
    """A fault with good states gives live g(q) - D qd for brake_time, then holds."""
    rig = Rig(Timing(brake_time=0.5))
    rig.start()
    stop(rig, Cause.TRACKING)
    begin = rig.time
    rig.run(0.3, q=(1.2, -0.5), qd=(0.5, 0.25))
    assert rig.supervisor.state is State.BRAKING
    assert settled(rig, (12.0 - 2.0 * 0.5, -5.0 - 2.0 * 0.25))
    rig.run(0.3)
    assert entered(rig, 'holding') - begin == pytest.approx(0.5, abs=2 * PERIOD)
    rig.run(3.0)
    assert rig.supervisor.state is State.HOLDING
    assert settled(rig, GRAVITY)


def test_good_state_fault_releases_if_configured():
    """With release the braking is followed by a live ramp, the repeats and silence."""
    rig = Rig(Timing(fault_action='release'))
    rig.start()
    stop(rig, Cause.OVER_SPEED)
    begin = rig.time
    rig.run(2.0)
    assert entered(rig, 'ramping down') - begin == pytest.approx(0.5, abs=2 * PERIOD)
    assert entered(rig, 'releasing') - begin == pytest.approx(1.0, abs=3 * PERIOD)
    assert rig.supervisor.state is State.FAULT
    assert settled(rig, (0.0, 0.0))


def test_operator_stop_has_its_own_choice():
    """stop_action decides for operators, fault_action for faults."""
    rig = Rig(Timing(fault_action='hold', stop_action='release'))
    rig.start()
    stop(rig, Cause.OPERATOR_STOP)
    rig.run(2.0)
    assert rig.supervisor.state is State.FAULT


@pytest.mark.parametrize('kind', ['law', 'raise'])
def test_law_that_fails_becomes_a_brake(kind):
    """A law that raises or gives NaN is a fault with good state: gravity goes on at once."""
    rig = Rig()
    rig.start()
    rig.fail = kind
    rig.run(0.2)
    assert rig.supervisor.state is State.BRAKING
    assert settled(rig, GRAVITY)
    assert rig.supervisor.faults[0].cause is Cause.BAD_COMMAND
    assert str(rig.supervisor.faults[0]) == 'bad command: ' + {
        'law': 'the torque of the control law is not finite',
        'raise': 'the control law failed with RuntimeError: law broke'}[kind]


@pytest.mark.parametrize('release', list(Release))
def test_wrong_model_brakes_with_what_the_robot_shows_and_lets_go(release):
    """A robot that is not the described one is braked with its own load, and never held."""
    rig = Rig(Timing(fault_action='hold', stop_action='hold'), release=release)
    rig.start()
    rig.loop.load[:] = (25.0, -8.0)
    shown = np.array(GRAVITY) - rig.loop.load
    stop(rig, Cause.WRONG_MODEL)
    rig.run(0.45)
    assert rig.supervisor.state is State.BRAKING
    assert settled(rig, shown)
    rig.run(2.0)
    assert rig.supervisor.state is State.FAULT
    assert 'holding' not in [state for _, state in rig.states]
    assert settled(rig, shown if release is Release.GRAVITY else (0.0, 0.0))


def test_another_fault_leaves_no_load_behind():
    """What somebody pushed with while the robot was braked is not what it needs for ever."""
    rig = Rig(Timing(fault_action='release'), release=Release.GRAVITY)
    rig.start()
    rig.loop.load[:] = (3.0, -2.0)
    stop(rig, Cause.OVER_SPEED)
    rig.run(2.0)
    assert rig.supervisor.state is State.FAULT
    assert settled(rig, GRAVITY)


def test_state_lost_while_braking():
    """Silence in the middle of a brake continues as the lost sequence."""
    rig = Rig()
    rig.start()
    stop(rig, Cause.TRACKING)
    rig.run(0.2)
    rig.run(2.0, states=False)
    assert [s for _, s in rig.states] == ['braking', 'state lost', 'ramping down', 'releasing',
                                          'fault']
    assert settled(rig, (0.0, 0.0))


def test_state_lost_while_ramping_down_continues_blind():
    """Silence in the middle of a live ramp continues it without a step and in time."""
    rig = Rig(Timing(fault_action='release', state_timeout=0.05))
    rig.start()
    stop(rig, Cause.TRACKING)
    begin = rig.time
    rig.run(0.7, qd=(1.0, 1.0))
    rig.run(1.0, states=False)
    assert entered(rig, 'fault') - begin == pytest.approx(1.0, abs=0.02)
    steps = np.abs(np.diff([torque for _, torque, _ in rig.log], axis=0))
    assert steps.max() <= 200.0 * 0.002 + 1e-12


def test_fault_while_holding_releases():
    """A fault while holding cannot be answered by holding."""
    rig = Rig()
    rig.start()
    stop(rig, Cause.OPERATOR_STOP)
    rig.run(1.0)
    stop(rig, Cause.OPERATOR_STOP)
    rig.run(0.1)
    assert rig.supervisor.state is State.HOLDING
    stop(rig, Cause.OVER_SPEED)
    rig.run(1.0)
    assert rig.supervisor.state is State.FAULT


def test_reset_while_holding_ramps_in():
    """Reset from a hold ramps the gains in; a reset in the middle of a stop is refused."""
    rig = Rig()
    rig.start()
    assert 'nothing to reset' in rig.supervisor.reset(rig.now, rig.time)
    stop(rig, Cause.TRACKING)
    rig.run(0.1)
    assert 'wait until the stop has ended' in rig.supervisor.reset(rig.now, rig.time)
    rig.run(0.6)
    assert rig.supervisor.reset(rig.now, rig.time) == ''
    rig.run(0.01)
    assert rig.supervisor.state is State.RAMPING_IN
    rig.run(1.1)
    assert rig.supervisor.state is State.RUNNING


# -- stop -------------------------------------------------------------------------------------


@pytest.mark.parametrize('cause', [Cause.SIGNAL, Cause.DEACTIVATED, Cause.EXCEPTION])
@pytest.mark.parametrize('states', [True, False])
def test_final_stop_ends_released_in_time(cause, states):
    """Every final stop ends at the release torque well under 4 s, with or without states."""
    rig = Rig()
    rig.start()
    stop(rig, cause)
    begin = rig.time
    rig.run(3.9, states=states)
    assert rig.supervisor.state is State.RELEASED
    assert rig.supervisor.finished
    assert rig.log[-1][0] - begin < 1.6
    assert [torque for _, torque, _ in rig.log[-5:]] == [(0.0, 0.0)] * 5


@pytest.mark.parametrize('when', [0.0, 0.2, 0.6, 0.9, 1.0])
def test_second_stop_request_changes_nothing(when):
    """A second request, at any moment, neither shortens nor prolongs the sequence."""
    logs = []
    for again in (False, True):
        rig = Rig()
        rig.start()
        stop(rig, Cause.SIGNAL)
        rig.run(when + PERIOD)
        if again:
            stop(rig, Cause.SIGNAL)
        rig.run(2.0)
        logs.append(rig.log)
    assert logs[0] == logs[1]


@pytest.mark.parametrize('when, told', [(0.2, True), (0.7, False), (1.02, False)])
def test_a_robot_that_is_let_go_as_asked_may_fall_without_a_fault(when, told):
    """Over-speed is a fault while a final stop brakes; once it lets go, falling is no error."""
    rig = Rig(Timing(release_repeats=100))
    rig.start()
    stop(rig, Cause.SIGNAL)
    rig.run(when)
    assert rig.supervisor.state in (State.BRAKING if told else State.RAMPING_DOWN, State.RELEASING)
    rig.supervisor.fault(rig.time, Cause.OVER_SPEED, 'falls')
    assert any(fault.cause is Cause.OVER_SPEED for fault in rig.supervisor.faults) is told
    rig.run(2.0)
    assert rig.supervisor.state is State.RELEASED


def test_final_stop_turns_a_hold_into_a_release():
    """Ctrl-C while holding a latched fault releases."""
    rig = Rig()
    rig.start()
    stop(rig, Cause.OPERATOR_STOP)
    rig.run(1.0)
    stop(rig, Cause.SIGNAL)
    rig.run(1.0)
    assert rig.supervisor.state is State.RELEASED
    assert settled(rig, (0.0, 0.0))


def test_final_stop_forbids_recovery():
    """States that come back during a final stop do not start the robot again."""
    rig = Rig(Timing(recover=True))
    rig.start()
    rig.run(0.2, states=False)
    stop(rig, Cause.SIGNAL)
    rig.run(2.0)
    assert rig.supervisor.state is State.RELEASED


def test_stop_before_any_torque_sends_nothing():
    """A stop while probing ends at once without a command."""
    rig = Rig()
    rig.activate()
    rig.run(0.003)
    stop(rig, Cause.SIGNAL)
    rig.run(0.01)
    assert rig.supervisor.state is State.INACTIVE
    assert not rig.log


def test_missing_dead_man_only_delays_the_start():
    """Before any torque a missing dead-man signal is no fault; a stop request is."""
    rig = Rig()
    rig.activate()
    stop(rig, Cause.DEAD_MAN)
    rig.run(0.003)
    assert rig.supervisor.state is State.PROBING
    stop(rig, Cause.OPERATOR_STOP)
    rig.run(0.003)
    assert rig.supervisor.state is State.FAULT
    assert not rig.log


def test_fault_reported_by_the_computation_acts_in_the_same_cycle():
    """A lost gravity direction, reported while computing, publishes no torque of that state."""
    rig = Rig()
    rig.start()
    plain = rig.loop._compute

    def compute(need):
        rig.supervisor.fault(rig.time, Cause.GRAVITY_STALE)
        plain(need)

    rig.loop._compute = compute
    rig.run(PERIOD, q=(1.0, -0.5), qd=(3.0, 3.0))
    assert rig.supervisor.state is State.LOST
    assert rig.loop.wanted.tolist() == list(GRAVITY)


def test_activation_is_refused_while_active():
    """Two activations without a stop between them are an error."""
    subject = Supervisor()
    subject.activate(0.0, 0.0)
    subject.fresh(0.0, 0.0, 1.0)
    with pytest.raises(RuntimeError, match='cannot activate while ramping in'):
        subject.activate(0.0, 0.0)


def test_switch_of_the_law_is_bumpless_before_the_limiter():
    """A law that changes by half of the limit moves the wanted torque by at most 1 % a cycle."""
    rig = Rig()
    rig.start()
    rig.run(0.01)
    before = rig.loop.wanted.copy()
    rig.law[:] = -5.0
    rig.loop.switch.switch()
    largest = 0.0
    for _ in range(600):
        rig.run(PERIOD)
        largest = max(largest, np.abs(rig.loop.wanted - before).max())
        before = rig.loop.wanted.copy()
    assert largest <= 0.01 * 20.0
    assert settled(rig, (5.0, -10.0))


def test_reset_from_a_hold_is_bumpless():
    """From hold to the law the wanted torque does not step."""
    rig = Rig()
    rig.start()
    stop(rig, Cause.OPERATOR_STOP)
    rig.run(1.0, qd=(0.5, 0.5))
    assert rig.supervisor.state is State.HOLDING
    largest, before = 0.0, rig.loop.wanted.copy()
    for k in range(2200):
        if k == 1000:
            assert rig.supervisor.reset(rig.now, rig.time) == ''
        rig.run(PERIOD, qd=(0.5, 0.5))
        largest = max(largest, np.abs(rig.loop.wanted - before).max())
        before = rig.loop.wanted.copy()
    assert rig.supervisor.state is State.RUNNING
    assert largest <= 0.01 * 20.0


# -- the driver's part ------------------------------------------------------------------------


def test_driver_part_is_subtracted_after_the_limits():
    """With a driver that adds gravity only the rest is sent; the total keeps the limit."""
    rig = Rig(driver=1.0, limit=12.0)
    rig.start()
    rig.run(PERIOD)
    assert settled(rig, (12.0 - 10.0, 5.0))
    assert rig.limiter.saturated.tolist() == [True, False]


def test_release_with_driver_gravity_sends_zero_not_minus_gravity():
    """Letting go means to send nothing: the driver keeps the arm up."""
    rig = Rig(driver=1.0)
    rig.start()
    rig.run(2.0, states=False)
    assert rig.supervisor.state is State.FAULT
    assert settled(rig, (0.0, 0.0))
    assert min(torque[0] for _, torque, _ in rig.log) >= -1e-12


# -- simulated time ---------------------------------------------------------------------------


SIMULATED = Timing(simulated=True, pause_limit=2.0)


def test_stopped_clock_is_a_pause():
    """With the simulated clock at rest there is no fault and no new command."""
    rig = Rig(SIMULATED)
    rig.start()
    rig.run(PERIOD)
    before = list(rig.log)
    rig.run(1.5, states=False, clock=False)
    assert rig.supervisor.state is State.RUNNING
    assert rig.supervisor.paused and rig.supervisor.due is Due.NOTHING
    assert rig.log == before
    rig.run(0.01)
    assert rig.supervisor.state is State.RUNNING
    assert not rig.supervisor.paused
    assert settled(rig, (15.0, 0.0))


def test_pause_has_a_long_limit():
    """A pause beyond pause_limit on the steady clock is a lost state."""
    rig = Rig(SIMULATED)
    rig.start()
    begin = rig.time
    rig.run(2.5, states=False, clock=False)
    assert entered(rig, 'state lost') - begin == pytest.approx(2.0, abs=2 * PERIOD)
    assert rig.supervisor.faults[0].cause is Cause.PAUSE_TOO_LONG


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
    stop(rig, Cause.SIGNAL)
    begin = rig.time
    rig.run(3.5, states=False, clock=False)
    assert rig.supervisor.state is State.RELEASED
    assert rig.log[-1][0] - begin < 1.6
    assert settled(rig, (0.0, 0.0))


def test_clock_that_jumps_back_is_a_lost_state():
    """A reset of the simulation is not survived silently."""
    rig = Rig(SIMULATED)
    rig.start()
    rig.sim_offset -= 50.0
    rig.run(0.01)
    assert rig.supervisor.faults[0].cause is Cause.CLOCK_JUMP
