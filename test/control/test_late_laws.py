# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Laws are slower where states are late; nothing moves where nobody knows how late they are.

Nor does anything that cannot be held so late.
"""

from __future__ import annotations

from benchmark.loaded_machine import any_case, is_bad, LoadedCase, run_loaded, varied_case
from controller_rig import AGE, AHEAD, Arm, robot_and_dynamics
from hypothesis import given, settings, strategies as st
import numpy as np
import pytest
from rbd_ros import load_urdf
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import NONE
from rbd_ros.control.joint_states.timeliness import AGREES
from rbd_ros.control.kernels.barriers import Barrier, guard
from rbd_ros.control.laws.design import follow_lateness
from rbd_ros.control.laws.notices import designed
from rbd_ros.control.parameters.gains import borne_delay
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import make_robot
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
@given(age=st.one_of(st.none(), st.floats(-0.02, 0.12), st.floats(-1e6, 9e3)),  # of 1e4 s
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
        arm.run(1.0)
        assert arm.state == 'holding'
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


def test_the_torque_of_a_stop_outlives_its_state():
    """A joint that is let go while the others slow down would be thrown by them."""
    arm = Arm(mode='computed_torque')
    arm.release()
    arm.qd = arm.qd + 0.3
    arm.stop()
    arm.run(0.02)
    assert arm.state == 'braking'
    last = arm.sent[-1].copy()
    assert np.abs(last - arm.controller.x.command.torque.gravity).max() > 1.0
    arm.silence(0.05)
    assert arm.state == 'braking'
    np.testing.assert_array_equal(arm.sent[-1], last)


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


# -- weight that is late --------------------------------------------------------------------------

PENDULUM = """<robot name="pendulum"><link name="base"/><link name="rod"><inertial>
<origin xyz="0 0 -{length}"/><mass value="{mass}"/>
<inertia ixx="1e-9" iyy="1e-9" izz="1e-9" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" velocity="5" effort="100"/></joint></robot>"""


def pendulum(length, mass, **values):
    """Return the settings of a point mass on a rod."""
    robot = make_robot(load_urdf(PENDULUM.format(length=length, mass=mass)))
    return Settings(robot, defaults() | {'driver_adds': 'none'} | values, simulated=False)


def swings(stiffness, late, chosen, upright):
    """Return to what share an arm swings after 100 delays that is held with states so late."""
    x, inertia = designed(chosen), chosen.robot.damped_inertia[0]
    damping = x.hold_damping[0] + x.brake_damping[0] / inertia
    h = 1.0 / chosen.number('nominal_rate')
    n, sign = round(late / h), 1.0 if upright else -1.0
    q, qd = np.zeros(100 * n), np.zeros(100 * n)
    q[0] = 1e-3
    for k in range(1, len(q)):
        seen = max(k - 1 - n, 0)
        there = q[seen] + (late + 0.5 * h) * qd[seen]
        held = -sign * stiffness * there - x.hold_stiffness[0] * there - damping * qd[seen]
        qd[k] = qd[k - 1] + h * (sign * stiffness * q[k - 1] + held)
        q[k] = q[k - 1] + h * qd[k]
    return np.abs(q[-20 * n:]).max() / np.abs(q[:20 * n]).max()


@settings(max_examples=examples('properties', 12))
@given(length=st.floats(0.05, 0.5), mass=st.floats(0.1, 5.0), share=st.floats(0.2, 0.93),
       upright=st.booleans())
def test_weight_is_held_up_to_the_delay_that_it_bears(length, mass, share, upright):
    """A hold that is made for a delay swings out, upright too; beyond it is refused, with it."""
    chosen = pendulum(length, mass)
    bears = chosen.robot.weight_time
    assert bears == pytest.approx(np.sqrt(2.0 * length / 9.81), rel=0.03)  # no pose is upright
    late = round(share * bears, 3)
    chosen = pendulum(length, mass, delay=late, stiffness=[1.0], damping=[1.0])
    assert not chosen.refusals()
    assert swings(9.81 / length, late, chosen, upright) < 1.0
    late = round(1.05 * bears, 3)
    chosen = pendulum(length, mass, delay=late, stiffness=[1.0], damping=[1.0])
    refusal, = chosen.refusals()
    assert f'a delay of {1e3 * late:.3g} ms is too long for this robot' in refusal
    assert f'Below {1e3 * bears - 0.5:.3g} ms' in refusal
    assert swings(9.81 / length, late, chosen, upright=True) > 1.0


@settings(max_examples=examples('properties', 6))
@given(share=st.floats(0.3, 1.7))
def test_no_torque_on_states_too_late_to_hold_the_weight(share):
    """Where stamps show the delay, the start says which one the robot can take."""
    bears = robot_and_dynamics()[0].weight_time - 5e-4
    arm = Arm(state_timeout=0.4)
    arm.controller.p.states.ages.clock_offset = AGE - AHEAD - share * bears
    arm.activate()
    for _ in range(1000):
        arm.give(arm.q, arm.qd)
    assert bool(arm.sent) == (share < 1.0)
    if share > 1.0:
        assert arm.state == 'fault' and arm.causes == [Cause.START_CHECK]
        assert f'Below {1e3 * bears:.3g} ms' in arm.fault


@settings(max_examples=examples('properties', 20))
@given(late=st.floats(0.005, 0.1), speed=st.floats(0.05, 2.0), heavier=st.floats(1.0, 20.0),
       joint=st.integers(0, 6))
def test_a_barrier_throws_no_joint_back(late, speed, heavier, joint):
    """Whatever a joint weighs that runs into it, and however late: no faster than it came."""
    arm, h = Arm(), 1e-3
    chosen = arm.settings(delay=late, stiffness=[1.0], damping=[1.0])
    x, inertia = designed(chosen), heavier * arm.robot.damped_inertia[joint]
    barrier = Barrier([-9.0], [1.0], [0.05], *([getattr(x, name)[joint]] for name in (
        'barrier_stiffness', 'barrier_damping')), [9.0], [0.0], [100.0])
    n = round(late / h)
    q, qd = np.full(n + 8000, 0.9), np.full(n + 8000, speed)
    for k in range(n + 1, len(q)):
        seen = k - 1 - n
        torque, = guard([q[seen] + (late + 0.5 * h) * qd[seen]], [qd[seen]], [0.0], [0.0], barrier)
        qd[k] = qd[k - 1] + h * torque / inertia
        q[k] = q[k - 1] + h * qd[k]
    assert np.abs(qd).max() <= speed * (1.0 + 1e-9)


@settings(max_examples=examples('properties', 6))
@given(delay=st.floats(0.005, 0.08), mode=st.sampled_from(['gravity_compensation', 'damping']))
def test_gravity_is_that_of_where_the_robot_is(delay, mode):
    """A late g(q) pushes on a robot that moves; positions move on for the delay that is given."""
    arm = Arm(mode=mode, delay=delay, stiffness=[1.0], damping=[1.0])
    arm.activate()
    arm.run(0.6)
    arm.qd = np.full(7, 0.1)
    arm.give(arm.q, arm.qd)
    kernel = arm.controller.kernels['float' if mode == 'gravity_compensation' else 'damping']
    ahead = delay + 0.5 * arm.period
    np.testing.assert_allclose(kernel.inputs['q'], arm.q + 0.1 * ahead, atol=1e-12)


# -- a machine that gets loaded -------------------------------------------------------------------

#: seeds that are beyond a bound: docs/safety.md says which, by how much, and why
LEFT = (60, 80, 103, 129, 1008, 1010, 1014, 1033)

CASES = (LoadedCase('panda', True, 500.0, 'operational_space', 0.168, 'jitter', 13),
         varied_case(1018)._replace(oldest=0.08),
         *(any_case(seed) for seed in range(135) if seed not in LEFT),
         *(varied_case(seed) for seed in range(1000, 1060) if seed not in LEFT))


@pytest.mark.sampled('simulations', 3)
@pytest.mark.parametrize('case', CASES, ids=str)
def test_a_loaded_machine_shakes_no_robot(case):
    """No joint reaches its velocity limit, no stop throws or adds energy, who is held rests."""
    result = run_loaded(case)
    print(result)
    assert not is_bad(result)
