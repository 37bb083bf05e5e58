# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What motors that close their own loop get adds up to the torque of the controller.

In every mode and in every stop; and what they can add in between is bounded before.
"""

from __future__ import annotations

import math
import struct

from controller_rig import Arm, SOFT, SPEED, TORQUE
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Kind
from rbd_ros.control.modes import MODES
from rbd_ros.control.parameters.assembly import build_settings
from rbd_ros.control.parameters.motor_loop import spectral_radius
from rbd_ros.control.parameters.table import defaults
from rbd_ros.errors import SettingError
from rbd_ros.wire.messages import MOTOR_COMMANDS
from sampling import some

STIFFNESS = np.array([150.0, 150.0, 100.0, 100.0, 20.0, 10.0, 5.0])
DAMPING = np.array([8.0, 7.0, 6.0, 5.0, 1.0, 0.8, 0.5])
BLIND = 0.5 * DAMPING
MOTORS = {'command_type': 'motor_array', 'motor.stiffness': STIFFNESS.tolist(),
          'motor.damping': DAMPING.tolist(), 'motor.blind_damping': BLIND.tolist(),
          'motor.timeout': 0.05}
LIVE = ('ramping in', 'running', 'braking', 'holding')


class Driven(Arm):
    """The arm, and each command that its motors get: state, q, qd, torque and five rows."""

    def __init__(self, **values: object) -> None:
        super().__init__(**(MOTORS | SOFT | {
            'release_torque': 'gravity', 'ramp_time': 0.1} | values))
        self.got: list[tuple[str, np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []

    def take_torque(self, torque: np.ndarray) -> None:
        """Note what its motors get."""
        super().take_torque(torque)
        data, x = self.controller.command.tobytes(), self.controller.x
        five = np.frombuffer(data[-8 * 35:], '<f8').reshape(7, 5).T
        self.got.append((self.state, x.joints.q.copy(), x.joints.qd.copy(), torque.copy(), five))

    def check(self) -> set[str]:
        """Check all commands so far; return the states in which they were sent."""
        assert self.got
        for state, q, qd, torque, (position, velocity, kp, kd, rest) in self.got:
            blind = bool((kd == BLIND).all())  # without a state a motor damps what it sees
            assert blind or state in LIVE or state == 'ramping down', state
            seen = 0.0 * qd if blind else qd
            total = kp * (position - q) + kd * (velocity - seen) + rest
            assert (np.abs(total - torque) < 1e-12 * TORQUE).all(), (state, total - torque)
            assert (np.abs(torque) <= TORQUE * (1.0 + 1e-12)).all()
            assert ((kp >= 0.0) & (kp <= STIFFNESS) & (kd >= 0.0) & (kd <= DAMPING)).all()
            if state not in ('ramping in', 'running'):
                assert not kp.any(), state
            if blind:
                assert (rest == torque).all() and state not in LIVE, state
        return {state for state, *_ in self.got}


def swung(arm: Driven, rng: np.random.Generator) -> None:
    """Let the arm move: references where they count, and pushes."""
    q = arm.q + rng.uniform(-0.2, 0.2, 7)
    arm.follow([0.3], q[None])
    arm.push(rng.uniform(-1.0, 1.0, 7) * [2.0, 2.0, 0.5, 0.5, 0.01, 0.01, 1e-3])
    arm.run(0.2)
    assert arm.state == 'running', arm.fault


@pytest.mark.parametrize('mode', sorted(MODES))
def test_gains_and_torque_add_up_in_every_mode(mode: str) -> None:
    """From the first command on, in motion, in a stop and in the hold after it."""
    arm, rng = Driven(mode=mode), np.random.default_rng(sorted(MODES).index(mode))
    arm.release()
    swung(arm, rng)
    running = arm.got[-1]
    arm.stop()
    arm.run(0.8)
    assert {'ramping in', 'running', 'braking', 'holding'} <= arm.check(), arm.fault
    position, velocity, kp, kd, _ = running[-1]
    assert kp.any() == (mode in ('computed_torque', 'hold', 'joint_impedance'))
    if kp.any():
        np.testing.assert_array_equal(kp, STIFFNESS)
        np.testing.assert_array_equal(kd, DAMPING)
        assert not np.allclose(position, running[1], atol=1e-6)
    else:
        np.testing.assert_array_equal(position, running[1])
        np.testing.assert_array_equal(velocity, running[2])


def test_gains_ramp_in_with_those_of_the_law() -> None:
    """The first command has nearly none, and each has more."""
    arm = Driven(mode='computed_torque', ramp_time=0.3)
    arm.start()
    shares = np.array([five[2] / STIFFNESS for state, *_, five in arm.got])
    assert shares[0].max() < 0.02 and (np.diff(shares, axis=0) > -1e-12).all()
    np.testing.assert_allclose(shares[-1], 1.0)


@pytest.mark.parametrize('ending', ['lost', 'deactivated', 'left'])
def test_what_remains_damps_only(ending: str) -> None:
    """No stiffness is left behind, and the damping that was chosen for it is."""
    arm = Driven(mode='computed_torque')
    arm.release()
    swung(arm, np.random.default_rng(5))
    if ending == 'lost':
        arm.silence(2.5)
    elif ending == 'deactivated':
        arm.stop(Cause.DEACTIVATED)
        arm.run(2.5)
    else:
        assert arm.controller._step(Kind.LEAVE, arm.now, arm.time)
    *_, torque, (_, velocity, kp, kd, rest) = arm.got[-1]
    assert not kp.any() and not velocity.any()
    np.testing.assert_array_equal(kd, BLIND)
    np.testing.assert_array_equal(rest, torque)
    if ending != 'left':
        states = arm.check()
        assert 'releasing' in states
        assert ('state lost' in states) == (ending == 'lost')


def test_a_frozen_sensor_leaves_the_torque_alone() -> None:
    """It may be the motor's own: gains would then drive the joint."""
    arm, rng = Driven(mode='computed_torque'), np.random.default_rng(2)
    place, frozen = arm.q.copy(), False

    def measure(_: float) -> None:
        arm.q = place + 1e-5 * rng.standard_normal(7)
        if frozen:
            arm.q[2] = place[2]
    arm.each = measure
    arm.restart()
    frozen = True
    arm.run(0.05)
    assert arm.causes == [Cause.FROZEN]
    *_, torque, five = arm.got[-1]
    assert not five[2:4].any()
    np.testing.assert_array_equal(five[4], torque)


def test_default_commands_have_no_part_of_it() -> None:
    """Without such motors the step computes none of this."""
    arm = Arm(release_torque='zero')
    arm.start()
    assert not arm.controller.y.motor.any() and arm.controller.p.motor.used == 0.0


# -- what is refused ------------------------------------------------------------------------------

def refused(**values: object) -> str:
    """Return why motors are refused; empty if they are not."""
    robot = Arm(release_torque='zero').robot
    try:
        build_settings(robot, defaults() | {
            'driver_adds': 'none', 'release_torque': 'zero', 'command_type': 'motor_array',
            **values}, simulated=False)
    except SettingError as error:
        return str(error)
    return ''


def numbers_in(reason: str) -> float:
    """Return what a refusal says is accepted."""
    return float(reason.split('give at most ')[1].split()[0])


def test_what_motors_can_add_is_bounded() -> None:
    """The largest stiffness that is named is accepted, and a little more is not."""
    for seed in some('properties', range(20), 4):
        rng = np.random.default_rng(seed)
        timeout, delay = rng.uniform(0.01, 0.3), rng.uniform(0.0, 0.01)
        damping = (rng.uniform(0.0, 0.4, 7) * TORQUE / SPEED).tolist()
        values = {'motor.timeout': timeout, 'delay': delay, 'motor.damping': damping}
        most = (TORQUE - 2.0 * np.array(damping) * SPEED) / (SPEED * (timeout + delay))
        joint = rng.integers(7)
        stiffness = 0.999 * most
        assert not refused(**values, **{'motor.stiffness': stiffness.tolist()})
        stiffness[joint] = 1.01 * most[joint]
        reason = refused(**values, **{'motor.stiffness': stiffness.tolist()})
        assert reason.count('motor.stiffness') == 1 and f'joint{joint + 1}' in reason.replace(
            '_', ''), reason
        assert numbers_in(reason) == pytest.approx(most[joint], rel=1e-3)


@pytest.mark.parametrize(('values', 'words'), [
    ({'motor.damping': [50.0]}, 'motor.damping 50 N.m.s/rad of'),
    ({'motor.damping': [0.1], 'motor.blind_damping': [90.0]},
     'motor.blind_damping 90 N.m.s/rad of'),
    ({'motor.stiffness': [90.0], 'motor.timeout': 0.0}, 'without a time-out'),
    ({'motor.stiffness': [1.0], 'motor.timeout': 5e-4}, 'give up between two commands'),
    ({'motor.stiffness': [-1.0]}, 'outside'), ({'motor.damping': [float('nan')]}, 'outside'),
    ({'motor.stiffness': [1.0, 2.0]}, 'give one for all, or 7')])
def test_refusals_say_what_is_wrong(values: dict[str, object], words: str) -> None:
    """Each of them names the parameter."""
    assert words in refused(**values)


def test_other_command_types_ask_nothing() -> None:
    """Gains that nobody gets are not judged."""
    assert not refused(**{'command_type': 'joint_state', 'motor.stiffness': [1e4]})


@pytest.mark.parametrize('kind', sorted(MOTOR_COMMANDS))
def test_all_types_carry_the_same_numbers(kind: str) -> None:
    """Where each of them has its numbers is said by its places."""
    arm = Driven(mode='computed_torque', command_type=kind)
    arm.release()
    made = MOTOR_COMMANDS[kind](arm.robot.joints)
    data = arm.controller.command.tobytes()
    found = [[struct.unpack_from('<d', data, at + made.step * j)[0] for j in range(7)]
             for at in made.motor_at]
    np.testing.assert_array_equal(found, arm.controller.y.motor)
    assert arm.controller.y.motor[4].any()


# -- a law and its motor together -----------------------------------------------------------------

def simulated(inertia: float, law: tuple[float, float], motor: tuple[float, float], period: float,
              delay: float) -> float:
    """Return by which factor a joint moves on from period to period, in small steps."""
    parts, (K, D), (kp, kd) = 60, law, motor
    h, late = period / parts, round(delay / period * parts)
    q, v, coming, torque = 1.0, 0.0, {}, 0.0
    sizes = []
    for k in range(240 * parts):
        if k % parts == 0:
            coming[k + late] = (kp - K) * q + (kd - D) * v
            sizes.append(math.hypot(q, v * math.sqrt(inertia / (K + kp))))
        torque = coming.pop(k, torque)
        # the midpoint of the motor's own motion: second order, and it damps nothing by itself
        a = (torque - kp * q - kd * v) / inertia
        a = (torque - kp * (q + 0.5 * h * v) - kd * (v + 0.5 * h * a)) / inertia
        q, v = q + h * v + 0.5 * h * h * a, v + h * a
        if not abs(q) < 1e200:
            break
    half = len(sizes) // 2
    return float((max(sizes[-20:]) / max(sizes[half - 20:half])) ** (1.0 / (len(sizes) - half)))


def test_the_stability_that_is_computed_is_that_of_a_simulation() -> None:
    """Growth per period, for random laws, motors and delays, stable or not."""
    rng, kinds = np.random.default_rng(11), set()
    for _ in range(16):
        inertia, period = 10.0 ** rng.uniform(-1.5, 0.5), rng.uniform(0.002, 0.01)
        delay = period * rng.integers(0, 150) / 60.0
        w = rng.uniform(0.1, 1.0) / period
        K, D = inertia * w * w, inertia * w * rng.uniform(0.1, 1.2)
        share = rng.uniform(0.0, 1.2, 2)
        motor = share[0] * K, share[1] * D
        radius = spectral_radius(inertia, K, D, *motor, period, delay)
        found = simulated(inertia, (K, D), motor, period, delay)
        assert found == pytest.approx(radius, abs=0.02)
        kinds.add(radius > 1.0)
    assert kinds == {True, False}


def test_a_motor_with_the_gains_of_the_law_is_stable_at_any_delay() -> None:
    """Then it is the law; without it the same gains swing."""
    for delay in (0.0, 0.003, 0.01, 0.033):
        assert spectral_radius(1.0, 400.0, 4.0, 400.0, 4.0, 0.005, delay) < 1.0
    assert spectral_radius(1.0, 400.0, 4.0, 0.0, 0.0, 0.005, 0.01) > 1.0


def test_what_cannot_be_stable_with_its_motor_is_refused() -> None:
    """The share that is named is accepted; a mode without stiffness is not judged."""
    inertia = np.array(Arm(release_torque='zero').robot.damped_inertia)
    stiff = {'mode': 'joint_impedance', 'nominal_rate': 200.0, 'delay': 0.01,
             'joint_impedance.stiffness': (2000.0 * inertia).tolist(),
             'joint_impedance.damping': (5.0 * inertia).tolist(),
             'stiffness': [50.0], 'damping': [10.0],
             'motor.stiffness': (20.0 * inertia).tolist()}
    reason = refused(**stiff)
    assert 'joint_impedance.stiffness and motor.stiffness' in reason
    shares = [float(each.split(' of both')[0]) for each in reason.split('give at most ')[1:]]
    assert len(shares) == 7 and 0.0 < min(shares) <= max(shares) < 1.0
    assert not refused(**(stiff | {
        name: (0.99 * min(shares) * np.array(stiff[name])).tolist()
        for name in ('joint_impedance.stiffness', 'motor.stiffness')}))
    assert refused(**(stiff | {
        name: (1.02 * max(shares) * np.array(stiff[name])).tolist()
        for name in ('joint_impedance.stiffness', 'motor.stiffness')}))
    thick = refused(**(stiff | {'joint_impedance.damping': (500.0 * inertia).tolist()}))
    most = float(thick.split('joint_impedance.damping at most ')[1].split()[0])
    assert most == pytest.approx(inertia[0] * 0.5 * np.pi / (0.02 + 0.0025), rel=0.05)
    assert not refused(**(stiff | {'mode': 'gravity_compensation'}))
