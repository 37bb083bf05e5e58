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

"""Laws are slower where states are late; nothing moves where nobody knows how late they are."""

from __future__ import annotations

from benchmark.loaded_machine import any_case, is_bad, LoadedCase, run_loaded
from controller_rig import AGE, AHEAD, Arm, robot_and_dynamics
from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import NONE
from rbd_ros.control.joint_states.timeliness import AGREES
from rbd_ros.control.laws.design import follow_lateness
from rbd_ros.control.laws.notices import designed
from rbd_ros.control.parameters.gains import borne_delay
from sampling import examples

# -- an age that nobody knows ---------------------------------------------------------------------


def started(age, delay):
    """Return an arm that was activated, with states of an age by the wrong clock; None: none."""
    arm = Arm(delay=delay)
    arm.controller.p.states.ages.clock_offset = AGE - AHEAD - (age or 0.0)
    arm.activate()
    for _ in range(400):
        arm.give(arm.q, arm.qd, stamp=0.0 if age is None else None)
    return arm


@settings(max_examples=examples('properties', 12))
@given(age=st.one_of(st.none(), st.floats(-0.02, 0.12), st.floats(-1e6, 1e6)),
       delay=st.sampled_from([0.0, 0.0, 0.005]))
def test_no_torque_where_nobody_knows_how_late_it_is(age, delay):
    """It begins where a delay is given, or stamps say how old states are; else it says why not."""
    arm = started(age, delay)
    known = age is not None and -AGREES <= age < arm.controller.p.states.ages.state_timeout
    assert bool(arm.sent) == (delay > 0.0 or known)
    if arm.sent:
        assert arm.controller.x.design.delay == pytest.approx(
            abs(age) if known and abs(age) > delay + AGREES else delay, abs=1e-6)
        return
    assert arm.state == 'fault' and arm.causes == [Cause.START_CHECK]
    assert 'Set delay to the time from measuring' in arm.fault
    told = float(arm.fault.split(' s behind')[0].split()[-1])
    assert told == pytest.approx(age or 0.0, abs=0.01)
    arm = started(age, 1e-4)  # as it asks for
    assert arm.sent


def test_a_state_that_comes_back_by_an_unknown_clock_is_not_used():
    """A robot that was lost goes on by itself only with states of a known age."""
    for strange in (False, True):
        arm = Arm(recover_lost_state=True, hold_time=1.0)
        arm.activate()
        arm.run(0.6)
        assert arm.state == 'running'
        arm.silence(0.2)
        assert arm.state == 'state lost'
        arm.controller.p.states.ages.clock_offset += 5.0 * strange
        arm.run(0.6)
        assert arm.state == ('state lost' if strange else 'running')


# -- how late a law may be ------------------------------------------------------------------------

GAINS = st.tuples(st.floats(0.05, 2.0), st.floats(1.0, 300.0), st.floats(0.0, 0.5))


def decays(stiffness, damping, integral, delay):
    """Return whether a mass under such a law comes to rest, by steps of a 200th of the delay."""
    h, n = delay / 200.0, 200 * 60
    x, v, z, late = np.zeros(n), 1.0, 0.0, 200
    speeds = np.zeros(n)
    for k in range(1, n):
        before = max(k - late, 0)
        z += h * integral * x[before]
        v -= h * (stiffness * x[before] + damping * speeds[before] + z)
        x[k], speeds[k] = x[k - 1] + h * v, v
    return np.abs(speeds[-4000:]).max() < np.abs(speeds[4000:8000]).max()


@settings(max_examples=examples('properties', 4))
@given(GAINS, st.floats(0.1, 10.0))
def test_a_law_is_stable_up_to_the_delay_that_it_bears(gains, pace):
    """By simulation; a law that does the same in twice the time bears twice the delay."""
    share, damping, integrates = gains
    stiffness = share * damping**2
    integral = integrates * stiffness * damping
    most = borne_delay(stiffness, damping, integral)
    assert decays(stiffness, damping, integral, 0.93 * most)
    assert not decays(stiffness, damping, integral, 1.07 * most)
    assert borne_delay(pace**2 * stiffness, pace * damping, pace**3 * integral) == pytest.approx(
        most / pace)


def test_a_damper_bears_a_quarter_turn():
    """Without a spring it is pi / 2 over its rate, and what does nothing bears anything."""
    assert borne_delay(0.0, 40.0, 0.0) == pytest.approx(0.5 * np.pi / 40.0)
    assert borne_delay(0.0, 0.0, 0.0) == NONE


@settings(max_examples=examples('properties', 30))
@given(GAINS, st.floats(0.0, 0.3))
def test_a_hold_bears_its_delay_with_any_integral(gains, delay):
    """Its gains are stable with the delay that they are made for, that of the integral too."""
    share, damping, integrates = gains
    stiffness = share * damping**2
    arm = Arm()
    chosen = arm.settings(stiffness=[stiffness], damping=[damping], delay=delay,
                          integral=[integrates * stiffness * damping])
    x = designed(chosen)
    rates = x.hold_stiffness[0], x.hold_damping[0], x.hold_integral[0]
    assert borne_delay(*rates) > x.feedback_delay
    assert rates[2] <= 0.5 * rates[0] * rates[1] * (1.0 + 1e-12)


# -- what a late state gets -----------------------------------------------------------------------

def law_of(arm, late):
    """Return stiffness and damping that act on states that become so late, and the position."""
    arm.time += late
    for _ in range(2):  # the first one comes after a gap besides
        arm.time += arm.period
        arm.receive(arm.q, arm.qd, stamp=arm.now - late)
    kernel = arm.controller.kernels['joint'].inputs
    return kernel['stiffness'][0], kernel['damping'][0], kernel['q'].copy()


def test_a_late_state_is_answered_at_once_and_alone():
    """Its law is slower and begins where the robot is by now; what follows is forgotten slowly."""
    arm = Arm(mode='computed_torque', stiffness=[400.0], damping=[40.0], state_timeout=0.3)
    arm.activate()
    arm.run(1.0)
    assert arm.state == 'running'
    usual = law_of(arm, 0.002)
    assert usual[:2] == (400.0, 40.0)
    bears = borne_delay(400.0, 40.0, 0.0)
    for late in (0.05, 0.12):
        arm.qd = np.full(7, 0.1)
        stiffness, damping, q = law_of(arm, late)
        recent = arm.controller.x.design.recent
        assert recent == pytest.approx(2.0 * late, abs=2e-3)  # the gap, and the age
        pace = bears / 3.0 / (recent + 0.0005)
        assert (stiffness, damping) == pytest.approx((400.0 * pace**2, 40.0 * pace), rel=1e-6)
        assert borne_delay(stiffness, damping, 0.0) > 1.9 * late
        np.testing.assert_allclose(q, arm.q + 0.1 * late, atol=1e-9)
        assert arm.controller.x.design.safe_rate < 0.5 * np.pi / late
        arm.qd[:] = 0.0
        assert law_of(arm, 0.002)[:2] == pytest.approx((stiffness, damping), rel=0.02)
        assert arm.controller.x.design.delay == 0.0
        before = arm.controller.x.design.brake_rate
        arm.apply(stiffness=[400.0])
        assert arm.controller.x.design.brake_rate == before
        arm.run(21.0 * late)
        assert law_of(arm, 0.002)[:2] == (400.0, 40.0)


@settings(max_examples=examples('properties', 12))
@given(delay=st.sampled_from([0.0, 0.005, 0.03]), away=st.floats(0.003, 0.01),
       stopped=st.booleans())
def test_no_torque_outlives_its_state(delay, away, stopped):
    """When its time is over, what it adds to g(q) fades; a lost state begins with the rest."""
    arm = Arm(mode='computed_torque', delay=delay, stiffness=[4.0], damping=[4.0])
    arm.activate()
    arm.run(0.6)
    if stopped:
        arm.stop()
    arm.q = arm.q + away  # its law pulls it back
    arm.run(0.2)
    torque = arm.controller.x.command.torque
    last, gravity, sent = arm.sent[-1].copy(), np.array(torque.gravity), len(arm.sent)
    held = delay + AGREES + 2.0 * arm.period
    arm.silence(held)
    assert len(arm.sent) == sent
    for k in range(1, 21):
        arm.silence(arm.period)
        assert len(arm.sent) == sent + k
        np.testing.assert_allclose(arm.sent[-1], gravity + (last - gravity) * np.exp(-0.5 * k),
                                   rtol=0.0, atol=1e-9)
    arm.silence(0.12 - held)
    assert arm.state == 'state lost'
    np.testing.assert_allclose(arm.sent[-1], gravity, rtol=0.0, atol=1e-9)


@settings(max_examples=examples('properties', 12))
@given(late=st.floats(0.005, 0.2),
       stiffness=st.lists(st.floats(1.0, 1e3), min_size=7, max_size=7),
       damping=st.lists(st.floats(1.0, 100.0), min_size=7, max_size=7))
def test_each_spring_is_as_slow_as_its_own_inertia_asks(late, stiffness, damping):
    """It bears what its states are late; that of a light wrist slows no shoulder."""
    inertia = np.array(robot_and_dynamics()[0].damped_inertia)
    arm = Arm(mode='joint_impedance', **{
        'joint_impedance.stiffness': (stiffness * inertia).tolist(),
        'joint_impedance.damping': (damping * inertia).tolist()})
    x, p = arm.controller.x.design.plain(), arm.controller.p.design.plain()
    follow_lateness(x, p, late, 1.0)
    held = 0.5 * arm.period
    for pace, K, D in zip(x.spring_pace, stiffness, damping, strict=True):
        bears = max(min(borne_delay(K, D, 0.0), D / K) / 3.0, held)
        assert pace == pytest.approx(min(bears / (late + held), 1.0), rel=1e-9)


# -- a machine that gets loaded -------------------------------------------------------------------

#: seeds that are beyond a bound: docs/safety.md says which, by how much, and why
LEFT = (43, 60, 73, 80, 103, 129)

CASES = (LoadedCase('panda', True, 500.0, 'operational_space', 0.168, 'jitter', 13),
         *(any_case(seed) for seed in range(135) if seed not in LEFT))


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('case', CASES, ids=str)
def test_a_loaded_machine_shakes_no_robot(case):
    """No joint reaches its velocity limit, no stop throws or adds energy, who is held rests."""
    result = run_loaded(case)
    print(result)
    assert not is_bad(result)
