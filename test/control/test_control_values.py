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

"""Values of small safety parts that decide: barriers, observer, supervisor, codec."""

import math

from codec_oracle import joint_state
from control_rig import PERIOD, Rig
from cycle_rig import Arm
import numpy as np
import pytest

from rbd_ros.control.former.control_loop import Release
from rbd_ros.control.kernels.barriers import Barrier, guard
from rbd_ros.control.former.laws.observer import MomentumObserver
from rbd_ros.control.former.readiness import StartCheck
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.former.safety.supervisor import Due, State, Supervisor, Timing
from rbd_ros.nodes.codec import JointStateReader

# -- barriers ---------------------------------------------------------------------------------

DAMPER = Barrier(lower=[-1.0], upper=[1.0], margin=[0.1], stiffness=[0.0], damping=[5.0],
                 speed=[math.inf], speed_damping=[0.0], limit=[50.0])


@pytest.mark.parametrize('q, qd, expected', [
    (0.95, 2.0, -5.0), (0.95, -2.0, 0.0),        # half way into the zone: 5 * 0.5 * 2
    (-0.95, -2.0, 5.0), (-0.95, 2.0, 0.0),
    (1.2, 2.0, -10.0), (-1.2, -2.0, 10.0),       # beyond the limit the depth stays 1
    (1.2, -2.0, 0.0), (-1.2, 2.0, 0.0),
    (0.89, 2.0, 0.0), (-0.89, -2.0, 0.0)])       # before the zone
def test_barrier_damps_motion_into_a_limit_only(q, qd, expected):
    """The damper acts on the way in, in proportion to the depth, and lets the way out free."""
    torque, = guard([q], [qd], [3.0], [3.0], DAMPER)
    assert torque - 3.0 == pytest.approx(expected, abs=1e-12)


def test_barrier_spring_pushes_back_from_both_limits():
    """Half way into the zone of 0.1 rad, 100 N.m/rad push with 5 N.m, outwards never."""
    spring = DAMPER._replace(stiffness=[100.0], damping=[0.0])
    assert guard([0.95], [0.0], [3.0], [3.0], spring)[0] - 3.0 == pytest.approx(-5.0)
    assert guard([-0.95], [0.0], [3.0], [3.0], spring)[0] - 3.0 == pytest.approx(5.0)


# -- observer ---------------------------------------------------------------------------------


def test_observer_takes_the_mean_torque_of_the_period():
    """A torque that changed within a period acts by its mean; the next one by what was sent."""
    gain, dt, inertia = 20.0, 0.01, 2.0
    share = 1.0 - math.exp(-gain * dt)
    H = np.array([[inertia]])
    observer = MomentumObserver([gain])
    observer.update(H, np.zeros(1), np.array([1.0]), np.array([5.0]), dt)
    # 5 N.m was said, 4 N.m on average acted; bias 1 then 3; external 1.5 N.m
    qd = np.array([(4.0 + 1.5 - 2.0) * dt / inertia])
    first = observer.update(H, qd, np.array([3.0]), np.array([6.0]), dt, acted=np.array([4.0]))
    assert first[0] == pytest.approx(share * 1.5, rel=1e-12)
    before = float(first[0])
    qd = qd + (6.0 + 1.5 - 3.0) * dt / inertia      # 6 N.m acts for the whole period
    second = observer.update(H, qd, np.array([3.0]), np.array([0.0]), dt)
    assert second[0] == pytest.approx(before + share * (1.5 - before), rel=1e-12)


@pytest.mark.parametrize('speed, known', [(0.019, True), (0.021, False)])
def test_the_first_torque_is_gravity_of_a_robot_at_rest_only(speed, known):
    """Without measured effort nobody knows what acts on a robot that moves."""
    cycle = Arm(effort_is_torque=False, **{'start.time': 0.0}).cycle
    check = StartCheck(cycle.settings, cycle.joints)
    gravity, faults = np.arange(7.0), []
    passed = [check.passes(now, np.full(7, speed), lambda: gravity, lambda: gravity,
                           lambda *what: faults.append(what), lambda *_: None)
              for now in (1.0, 1.0999, 1.1001)]  # no less than state_timeout
    assert passed == [False, False, True] and not faults
    assert (check.torque is not None) is known
    if known:
        np.testing.assert_array_equal(check.torque, gravity)


def test_the_spring_of_a_hold_reaches_its_bound_at_its_distance():
    """However strong the damper is, the spring is no stiffer than bound over distance."""
    cycle = Arm(brake_damping=[1e4], hold_torque=0.1, hold_distance=[0.05]).cycle
    hold, bound = cycle._holding, 0.1 * cycle.settings.torque_limits
    soft = hold._stiffness < hold._damping / 0.1
    assert soft.any()
    np.testing.assert_allclose(hold._stiffness[soft] * 0.05, bound[soft], rtol=1e-12)


def test_what_was_observed_before_a_gap_is_forgotten():
    """The load that a moving joint showed counts no more after a tenth of a second of silence."""
    arm = Arm()
    subject = arm.cycle._disturbance
    joints, limiter = arm.cycle.joints, arm.cycle.limiter
    joints.qd[:] = 0.3

    def observe(now):
        joints.qd[:] += 0.01
        subject.observe(now, joints, limiter)
        return np.abs(subject.load).max()
    observe(5.0)
    assert observe(5.01) > 0.0 and observe(5.02) > 0.0
    assert observe(5.11) > 0.0
    assert observe(5.22) == 0.0


def test_changed_parameters_reach_the_observer():
    """Gain, feedback and the bound of the load count from the next cycle on."""
    arm = Arm(observer_gain=[20.0], observer_feedback=True, hold_torque=0.1)
    subject, limits = arm.cycle._disturbance, arm.cycle.settings.torque_limits
    subject._external[:] = 1.0
    arm.cycle.apply(arm.settings(observer_gain=[33.0], observer_feedback=False, hold_torque=0.2))
    assert subject._observer.gain.tolist() == [33.0] * 7 and not subject.observed
    assert not subject._external.any()           # what was fed back is taken away
    np.testing.assert_allclose(subject._share, 0.2 * limits, rtol=1e-12)
    subject.distrust(limits)
    np.testing.assert_array_equal(subject._share, limits)
    subject.reset()
    np.testing.assert_allclose(subject._share, 0.2 * limits, rtol=1e-12)


@pytest.mark.parametrize('cause', [Cause.WRONG_MODEL, Cause.OVER_SPEED])
def test_only_a_robot_that_is_not_described_is_braked_with_what_it_shows(cause):
    """Its load may be as large as its limits; that of any other robot keeps its bound."""
    arm = Arm(ramp_time=0.02, hold_torque=0.1)
    arm.activate()
    arm.run(0.1)
    cycle = arm.cycle
    cycle.loop.post(lambda _, steady: cycle.supervisor.fault(steady, cause))
    arm.run(0.01)
    assert arm.state == 'braking'
    most = 1.0 if cause is Cause.WRONG_MODEL else 0.1
    np.testing.assert_allclose(cycle._disturbance._share, most * cycle.limiter.limit, rtol=1e-12)


def test_each_ramp_begins_the_checks_and_each_hold_begins_where_the_robot_is():
    """The watch of the first motion is armed with the torque; a hold starts from here and now."""
    arm = Arm(ramp_time=0.2, stop_action='hold', brake_time=0.05)
    arm.activate()
    arm.run(0.05)
    cycle, watch = arm.cycle, arm.cycle.checks._watch
    assert arm.state == 'ramping in' and watch._motion.armed
    assert 50.0 < watch._began <= arm.time
    arm.run(0.3)
    cycle._holding._way[:] = cycle._holding._law.external[:] = 9.0       # of the last hold
    cycle._holding._law.reference.state[0] = 0.0
    cycle.loop.post(lambda _, steady: cycle.supervisor.fault(steady, Cause.OPERATOR_STOP))
    arm.run(0.5)
    assert arm.state == 'holding', cycle.fault_text()
    assert not cycle._holding._way.any() and not (cycle._holding._law.external == 9.0).any()
    np.testing.assert_allclose(cycle._holding._law.reference.state[0], arm.q, atol=1e-9)


def test_observer_uses_the_mean_inertia():
    """Momentum of a joint whose inertia changes: H at the middle of the period counts."""
    observer = MomentumObserver([20.0])
    observer.update(np.array([[1.0]]), np.zeros(1), np.zeros(1), np.zeros(1), 0.01)
    found = observer.update(np.array([[3.0]]), np.array([0.5]), np.zeros(1), np.zeros(1), 0.01)
    assert found[0] == pytest.approx((1.0 - math.exp(-0.2)) * 2.0 * 0.5 / 0.01, rel=1e-12)


# -- supervisor -------------------------------------------------------------------------------


def running(**timing):
    """Return a supervisor that runs at time 10, its state good until 10.1."""
    supervisor = Supervisor(Timing(ramp_time=0.0, **timing))
    supervisor.activate(9.9, 9.9)
    supervisor.fresh(9.95, 9.95, 10.05)
    supervisor.advance(9.95, 9.95)
    supervisor.fresh(10.0, 10.0, 10.1)
    supervisor.advance(10.0, 10.0)
    supervisor.computed()
    assert supervisor.state is State.RUNNING
    return supervisor


@pytest.mark.parametrize('now, expiry, fine', [
    (10.0, 10.1, True), (10.05, 10.15, True), (10.1, 10.2, True),
    (9.999, 10.1, False),           # the clock has gone back
    (10.101, 10.2, False),          # too late for the state before
    (10.05, 10.04, False)])         # the new state is too old itself
def test_state_is_taken_without_a_word_only_if_time_goes_on(now, expiry, fine):
    """On the fast path a clock that goes back, or a gap, is left to the whole judgement."""
    supervisor = running()
    assert supervisor.keeps_running(now, 10.0, expiry) is fine
    if fine:
        assert supervisor.keeps_running(now, 10.0, expiry)  # the same instant is no step back
        assert not supervisor.keeps_running(now - 1e-6, 10.0, expiry)
    else:
        # nothing was noted: the clock and the age are those of before
        assert supervisor.keeps_running(10.0, 10.0, 10.1)


UNUSUAL = {
    'a request': lambda cycle: cycle.loop.requests.append(lambda _now, _steady: None),
    'a bound that was exceeded': lambda cycle: setattr(cycle, 'calm', False),
    'gravity on its way': lambda cycle: setattr(cycle.load.gravity, 'constant', False),
    'gravity that has changed': lambda cycle: setattr(cycle.load.gravity, 'changed', True),
    'a payload on its way': lambda cycle: setattr(cycle.load.payload, 'ramping', True),
    'a stop': lambda cycle: cycle.supervisor.fault(cycle.steady, Cause.OPERATOR_STOP),
    'a change of the law': lambda cycle: cycle.loop.switch.switch(),
}


@pytest.mark.parametrize('what', UNUSUAL)
def test_fast_path_is_left_where_anything_is_unusual(what):
    """Each of the conditions alone sends the next message to the whole judgement."""
    arm = Arm()
    arm.restart()
    step = arm.cycle.message_checks.usual_step
    assert step(arm.time + 0.001) == pytest.approx(0.001)
    UNUSUAL[what](arm.cycle)
    assert math.isnan(step(arm.time + 0.001))


ENTRIES = {
    'a state': lambda cycle, *times: cycle.state(
        *times, cycle.settings.robot.joints, np.zeros(7), np.zeros(7), (), 1e4),
    'bytes': lambda cycle, *times: cycle.refuse_unreadable(*times, 'not a state'),
    'the timer': lambda cycle, *times: cycle.tick(*times),
}


@pytest.mark.parametrize('what', ENTRIES)
def test_requests_are_served_with_both_clocks(what):
    """Whatever comes next serves what was posted: control time first, then steady time."""
    cycle, seen = Arm().cycle, []
    for k in range(2):
        cycle.loop.post(lambda now, steady, k=k: seen.append((k, now, steady)))
    ENTRIES[what](cycle, 3.0, 50.0)
    assert seen == [(0, 3.0, 50.0), (1, 3.0, 50.0)]


def test_clock_that_goes_back_is_a_fault_after_the_fast_path():
    """What the fast path refuses becomes a fault in the whole judgement, with the amount."""
    supervisor = running()
    assert supervisor.keeps_running(10.05, 10.05, 10.15)
    assert not supervisor.keeps_running(10.02, 10.06, 10.12)
    supervisor.fresh(10.02, 10.06, 10.12)
    assert [fault.cause for fault in supervisor.faults] == [Cause.CLOCK_JUMP]
    assert 'backwards by 0.03 s' in str(supervisor.faults[0])
    assert supervisor.state is State.LOST
    # and not in a state other than running, nor while paused
    assert not supervisor.keeps_running(10.03, 10.07, 10.13)


@pytest.mark.parametrize('first, second', [
    (Cause.OPERATOR_STOP, Cause.TRACKING), (Cause.TRACKING, Cause.OPERATOR_STOP)])
@pytest.mark.parametrize('fault_action, stop_action, ends', [
    ('release', 'hold', 'fault'), ('hold', 'release', 'holding')])
def test_fault_beside_an_operator_stop_decides(first, second, fault_action, stop_action, ends):
    """When both happen in one stop the fault's choice counts, whichever came first."""
    rig = Rig(Timing(fault_action=fault_action, stop_action=stop_action))
    rig.start()
    for cause in (first, second):
        rig.loop.post(lambda now, steady, cause=cause: rig.supervisor.fault(steady, cause))
        rig.run(0.1)
    rig.run(2.0)
    assert rig.supervisor.state.value == ends
    assert [fault.cause for fault in rig.supervisor.faults] == [first, second]


@pytest.mark.parametrize('repeats', [1, 3, 8])
@pytest.mark.parametrize('states', [True, False])
def test_release_torque_is_repeated_exactly(repeats, states):
    """The release torque leaves release_repeats times, the first one included, then nothing."""
    rig = Rig(Timing(release_repeats=repeats, fault_action='release'))
    rig.start()
    if states:
        rig.loop.post(lambda now, steady: rig.supervisor.fault(steady, Cause.TRACKING))
    rig.run(3.0, states=states)
    assert rig.supervisor.state is State.FAULT
    torques = [torque for _, torque, _ in rig.log]
    zeros = [torque == (0.0, 0.0) for torque in torques]
    assert sum(zeros) == repeats and all(zeros[-repeats:])
    ended = next(time for time, state in rig.states if state == 'fault')
    assert rig.log[-1][0] <= ended


def test_live_ramp_that_never_settles_ends_blind():
    """A ramp whose wanted torque runs away from the limiter is finished without the state."""
    supervisor = running(fault_action='release', brake_time=0.1, release_time=0.5)
    supervisor.fault(10.0, Cause.TRACKING)
    time, seen = 10.0, {}
    while time < 12.0:
        time = round(time + 0.001, 9)
        supervisor.fresh(time, time, time + 0.1)
        seen.setdefault(supervisor.advance(time, time), time)
        supervisor.published(time, reached=False)
    assert seen[Due.RAMP_LIVE] == pytest.approx(10.1, abs=1.1e-3)
    assert seen[Due.RAMP_BLIND] == pytest.approx(10.8, abs=2.1e-3)    # 0.1 + 0.5 + 0.2 to settle
    assert supervisor.state is State.RAMPING_DOWN and supervisor.blend == 1.0
    supervisor.published(time, reached=True)
    assert supervisor.state is State.RELEASING


def test_robot_that_shakes_during_the_release_is_released():
    """Gravity that swings faster than the rate limit cannot keep a stop from its end."""
    rig = Rig(Timing(fault_action='release', release_time=0.3, brake_time=0.1),
              release=Release.GRAVITY, rate=20.0)
    rig.start()
    rig.loop.post(lambda now, steady: rig.supervisor.fault(steady, Cause.TRACKING))
    begin = rig.time
    for k in range(2000):
        sign = 1.0 if (k // 20) % 2 else -1.0
        rig.run(PERIOD, q=(sign, -sign))
    assert rig.supervisor.state is State.FAULT
    # brake, ramp, time to settle, and at most the way from one end of the swing to the other
    ended = next(time for time, state in rig.states if state == 'fault')
    assert ended - begin < 0.1 + 0.3 + 0.2 + 20.0 / 20.0 + 0.02


LIVE = {
    'reference.velocity': ([0.7], lambda cycle: cycle.reference.limiter.velocity, 0.7),
    'reference.acceleration': ([3.5], lambda cycle: cycle.reference.limiter.acceleration, 3.5),
    'reference.timeout': (0.35, lambda cycle: cycle.reference.timeout, 0.35),
    'reference.refusals': (3, lambda cycle: cycle.intake._refusals.limit, 3),
    'task.timeout': (0.25, lambda cycle: cycle.task_reference.timeout, 0.25),
    'task.linear_velocity': (0.21, lambda cycle: cycle.task_reference.limits.velocity[1], 0.21),
    'task.angular_velocity': (0.22, lambda cycle: cycle.task_reference.limits.velocity[0], 0.22),
    'task.linear_acceleration': (
        1.1, lambda cycle: cycle.task_reference.limits.acceleration[1], 1.1),
    'task.angular_acceleration': (
        1.2, lambda cycle: cycle.task_reference.limits.acceleration[0], 1.2),
    'task.force_limit': (12.5, lambda cycle: cycle.task_reference.wrench_limit[1], 12.5),
    'task.moment_limit': (2.5, lambda cycle: cycle.task_reference.wrench_limit[0], 2.5),
    'switch_time': (0.3, lambda cycle: cycle.loop.switch.duration, 0.3),
    'mode': ('computed_torque', lambda cycle: cycle.mode, 'computed_torque'),
    'dynamics_divider': (4, lambda cycle: cycle.snapshots.divider, 4),   # beside 10
}


def test_parameters_act_from_the_next_cycle_on():
    """What may be changed while the robot moves is in force where it is used, and only it."""
    arm = Arm(dynamics_divider=5, state_divider=10, ramp_time=0.02)
    seen = {name: np.copy(found(arm.cycle)) for name, (_, found, _) in LIVE.items()}
    for name, (value, found, expected) in LIVE.items():
        arm.change(**{name: value})
        arm.run(0.001)
        assert np.all(found(arm.cycle) == expected), name
        seen[name] = np.copy(found(arm.cycle))
        for other, (_, again, _) in LIVE.items():
            np.testing.assert_array_equal(again(arm.cycle), seen[other], err_msg=f'{name} {other}')


# -- what cannot be computed ----------------------------------------------------------------------


def broken(rig, times):
    """Let every computation raise that many times."""
    compute, left = rig.loop._compute, [times]

    def raising(need):
        if left[0] > 0:
            left[0] -= 1
            raise ZeroDivisionError(f'in {need.value}')
        compute(need)
    rig.loop._compute = raising


def test_without_law_and_gravity_the_last_gravity_is_held():
    """A law that raises brakes; if g(q) raises as well, the last one is all that is known."""
    rig = Rig()
    rig.start()
    broken(rig, 2)
    rig.run(PERIOD)
    assert rig.supervisor.state is State.LOST
    assert [(f.cause, f.detail) for f in rig.supervisor.faults] == [
        (Cause.BAD_COMMAND, 'the control law failed with ZeroDivisionError: in law'),
        (Cause.BAD_GRAVITY, 'ZeroDivisionError: in stop')]
    rig.run(0.1, states=False)
    assert rig.last == pytest.approx((10.0, -5.0))


def test_nothing_leaves_if_nothing_could_be_computed():
    """A robot whose dynamics fail from the first state on gets no torque at all."""
    rig = Rig()
    rig.activate()
    broken(rig, 10**6)
    rig.run(0.1)                        # there is nothing to hold or to ramp down
    assert rig.supervisor.state is State.FAULT and not rig.log


@pytest.mark.parametrize('braking', [False, True])
def test_velocity_that_is_no_number_makes_blind(braking):
    """Neither law nor brake can be trusted then: the last gravity torque remains."""
    rig = Rig()
    rig.start()
    if braking:
        rig.loop.post(lambda _, steady: rig.supervisor.fault(steady, Cause.TRACKING))
        rig.run(0.1)
    else:
        rig.fail = 'law'
    rig.time = round(rig.time + PERIOD, 9)
    rig.loop.serve(rig.now, rig.time)
    rig.map.qd[1] = np.nan
    assert rig.loop.fresh_state(rig.now, rig.time, rig.now + 0.1, True, rig.map.qd)
    assert rig.supervisor.state is State.LOST
    assert rig.supervisor.faults[-1].cause is Cause.BAD_GRAVITY
    rig.run(0.1, states=False)
    assert np.isfinite(rig.last).all() and rig.last == pytest.approx((10.0, -5.0))


def test_direction_of_gravity_that_is_too_old_is_a_lost_state():
    """A measured direction may be used for its timeout, then g(q) is not known any more."""
    arm = Arm(ramp_time=0.02)
    arm.activate()
    arm.run(0.1)
    gravity = arm.cycle.load.gravity
    assert gravity.age == 0.0
    gravity.timeout, gravity.constant = 0.05, False
    gravity.direction(arm.time, [0.0, 0.0, -1.0])
    arm.run(0.05)
    assert arm.state == 'running' and gravity.age == pytest.approx(0.05)
    arm.run(0.002)
    fault, = arm.cycle.supervisor.faults
    assert (fault.cause, fault.detail, arm.state) == (Cause.GRAVITY_STALE, '0.05 s', 'state lost')


def test_reset_needs_the_dead_man():
    """Nothing is cleared while nobody holds the switch."""
    arm = Arm(dead_man_timeout=0.2, ramp_time=0.02)
    arm.cycle.press(arm.time, True)
    arm.activate()
    arm.run(0.08)
    assert arm.state == 'running'
    arm.run(0.08)
    assert arm.state == 'braking' and 'no message for 0.2 s' in arm.cycle.fault_text()
    arm.run(0.6)
    assert arm.state == 'holding'
    assert arm.cycle.reset(arm.time, arm.time) == 'the dead-man signal is missing'
    assert arm.state == 'holding' and arm.cycle.supervisor.faults
    arm.cycle.press(arm.time, True)
    assert arm.cycle.reset(arm.time, arm.time) == '' and arm.state == 'ramping in'


# -- serialized messages ----------------------------------------------------------------------

NAMES = ('a', 'joint_2', 'cc')


def place_of_count(message, field):
    """Return where the count of three velocities (0) or efforts (1) stands: before its padding."""
    return len(message) - (2 - field) * (4 + 4 + 3 * 8)


@pytest.mark.parametrize('field', [0, 1])
@pytest.mark.parametrize('count', [0, 1, 2, 4, 0x01000003, 0xffffffff])
def test_count_of_a_known_message_is_looked_at(field, count):
    """A message of known length whose count of velocities or efforts is another is not taken."""
    fields = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]
    message = joint_state(NAMES, *fields)
    place = place_of_count(message, field)
    assert message[place:place + 4] == b'\x03\x00\x00\x00'
    reader = JointStateReader()
    state = reader.read(message)
    assert state is not None
    other = message[:place] + count.to_bytes(4, 'little') + message[place + 4:]
    assert not state.refill(other)
    assert reader.read(other) is None
    assert JointStateReader().read(other) is None


def test_same_length_with_other_fields_is_read_anew():
    """Velocities alone and efforts alone can have one length: the numbers go where they belong."""
    q, x = [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]
    moving, pushed = joint_state(NAMES, q, x, []), joint_state(NAMES, q, [], x)
    size = max(len(moving), len(pushed))
    moving, pushed = (m + bytes(size - len(m)) for m in (moving, pushed))
    reader = JointStateReader()
    for _ in range(2):
        state = reader.read(moving)
        assert (state.velocity.tolist(), state.effort.tolist()) == (x, [])
        state = reader.read(pushed)
        assert (state.velocity.tolist(), state.effort.tolist()) == ([], x)
