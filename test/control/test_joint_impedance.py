# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Springs and dampers at the joints: their torque, their energy, what is refused, no jump."""

from __future__ import annotations

import re

from controller_rig import Arm, ARM, SOFT, SPEED
import numpy as np
import pinocchio as pin
import pytest
from rbd_ros import Dynamics, load_urdf
from rbd_ros.control.kernels.barriers import Barrier
from rbd_ros.control.kernels.kernels import LawKernels
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import make_robot
from rbd_ros.dynamics.uncompiled import mass_matrix

pytestmark = pytest.mark.slow

MODE = 'joint_impedance'
STIFFNESS, DAMPING = f'{MODE}.stiffness', f'{MODE}.damping'
MODEL = load_urdf(ARM)
ROBOT = make_robot(MODEL)
N = len(ROBOT.joints)


@pytest.fixture(scope='module')
def law():
    """Return the kernel of the law, without barriers and limits."""
    bound = LawKernels(ROBOT, driver_adds='none', driver_knows_payload=False).compile('own')
    bound.inputs['limit'][:] = np.inf
    for name, value in {'lower': -np.inf, 'upper': np.inf, 'margin': 1.0, 'speed': np.inf}.items():
        bound.inputs['barrier'][Barrier._fields.index(name)] = value
    bound.inputs['gravity'][:] = MODEL.gravity
    bound.inputs['friction_speed'][:] = 1.0
    return bound


def drawn(rng):
    """Return a state, a reference, a stiffness and a damping."""
    q, qd = rng.uniform(-1.5, 1.5, (2, N))
    reference = np.array([q + rng.uniform(-0.5, 0.5, N), *rng.uniform(-1.5, 1.5, (2, N))])
    return q, qd, reference, rng.uniform(0.0, 300.0, N), rng.uniform(0.0, 30.0, N)


def torque(law, q, qd, reference, stiffness, damping):
    """Return what the law gives."""
    x = law.inputs
    x['q'][:], x['qd'][:], x['reference'][...] = q, qd, reference
    x['values'][:N], x['values'][N:2 * N] = stiffness, damping
    law()
    return law.outputs['law'].copy()


def test_torques_are_those_of_pinocchio(law):
    """H qdd_ref + C qd_ref + g + K e + D e' + friction by Pinocchio, with rotors by hand."""
    model = pin.buildModelFromUrdf(str(ARM))
    model.gravity.linear, free = np.array(MODEL.gravity), model.copy()
    free.gravity.linear = np.zeros(3)
    data, other, rng = model.createData(), free.createData(), np.random.default_rng(0)
    friction = [law.inputs[name] for name in ('viscous', 'coulomb', 'friction_speed')]
    worst = 0.0
    for _ in range(200):
        q, qd, reference, k, d = drawn(rng)
        for each in friction:
            each[:] = rng.uniform(0.1, 2.0, N)
        pin.computeRNEADerivatives(free, other, q, qd, np.zeros(N))
        C = 0.5 * other.dtau_dv  # of C(q, v) v, which is quadratic
        q_ref, qd_ref, qdd_ref = reference
        expected = (pin.rnea(model, data, q, np.zeros(N), qdd_ref)
                    + np.array(MODEL.rotor_inertia) * qdd_ref + C @ qd_ref + k * (q_ref - q)
                    + d * (qd_ref - qd) + friction[0] * qd_ref
                    + friction[1] * np.tanh(qd_ref / friction[2]))
        worst = max(worst, np.abs(torque(law, q, qd, reference, k, d) - expected).max())
    friction[0][:] = friction[1][:] = 0.0
    print(f'{worst:.1e} N.m')
    assert worst < 1e-9


def test_energy_falls_by_what_the_damper_takes(law):
    """Along any reference (e'H e' + e K e)/2 changes by -e'D e', and not by what Coriolis does."""
    dynamics, rng, dt = Dynamics(MODEL), np.random.default_rng(1), 1e-5
    for _ in range(50):
        q, qd, (q_ref, qd_ref, qdd_ref), k, d = drawn(rng)
        tau = torque(law, q, qd, np.array([q_ref, qd_ref, qdd_ref]), k, d)
        qdd = dynamics.forward_dynamics(q, qd, tau)

        def energy(t):
            at, e = q + t * qd + 0.5 * t * t * qdd, qd_ref + t * qdd_ref - qd - t * qdd
            way = q_ref + t * qd_ref + 0.5 * t * t * qdd_ref - at
            return 0.5 * (e @ mass_matrix(MODEL, at) @ e + way @ (k * way))
        taken = (d * (qd_ref - qd)) @ (qd_ref - qd)
        assert (energy(dt) - energy(-dt)) / (2.0 * dt) == pytest.approx(-taken, rel=1e-6, abs=1e-5)


# -- what is refused ------------------------------------------------------------------------------

def settings(**values):
    """Return the settings of the arm in the mode."""
    return Settings(ROBOT, defaults() | {'driver_adds': 'none', 'mode': MODE} | {
        name.replace('__', '.'): value for name, value in values.items()}, simulated=False)


@pytest.mark.parametrize('rate', [1000.0, 200.0])
def test_what_the_rate_cannot_hold_is_refused_with_the_most_that_it_can(rate):
    """Just below the number that is named the joint is accepted, just above it is not."""
    slow = {'nominal_rate': rate}
    [reason] = settings(joint_impedance__damping=[5.0] * 6 + [1e4], **slow).refusals()
    most = float(re.search(r'give less than ([-+.e0-9]+)', reason)[1])
    assert f'{DAMPING} 10000 N.m.s/rad of joint_7 cannot be stable at nominal_rate ' \
           f'{rate:g} Hz: give less than' in reason
    assert most == pytest.approx(2.0 * rate * ROBOT.damped_inertia[6], rel=1e-3)
    below, above = (settings(joint_impedance__damping=[5.0] * 6 + [share * most], **slow)
                    for share in (0.999, 1.001))
    assert not below.refusals() and above.refusals()
    [reason] = settings(joint_impedance__stiffness=[50.0] * 6 + [1e5],
                        joint_impedance__damping=[5.0], **slow).refusals()
    assert f'{STIFFNESS} 100000 N.m/rad of joint_7 with {DAMPING} 5 ' in reason
    most = float(re.search(r'with this damping give less than ([-+.e0-9]+)', reason)[1])
    assert most == pytest.approx(2.0 * rate * 5.0, rel=1e-3)
    below, above = (settings(joint_impedance__stiffness=[50.0] * 6 + [share * most],
                             joint_impedance__damping=[5.0], **slow) for share in (0.999, 1.001))
    assert not below.refusals() and above.refusals()


def test_delay_counts_and_other_modes_do_not():
    """A delay lowers the bound; springs of a mode that is not in force are not judged."""
    stiff = {'joint_impedance__stiffness': [400.0], 'joint_impedance__damping': [20.0]}
    assert not settings(**stiff).refusals()
    reasons = settings(delay=0.01, **stiff).refusals()
    assert reasons and all('with a delay of 0.01 s' in reason for reason in reasons)
    assert not settings(delay=0.01, mode='computed_torque', **stiff).refusals()


def test_what_is_not_given_fits_the_robot():
    """The ratio is 0.7 where the rate allows it; the kernel gets what was judged."""
    inertia, usual = np.array(ROBOT.damped_inertia), np.array(ROBOT.usual_inertia)
    np.testing.assert_allclose(usual, np.mean([np.diag(mass_matrix(MODEL, q)) for q in (
        ROBOT._poses())], axis=0))
    for stiffness in ([], [200.0], [1.0]):
        stiffness, damping = settings(joint_impedance__stiffness=stiffness).own_values(
            ROBOT.modes[MODE])
        np.testing.assert_allclose(damping, np.minimum(
            1.4 * np.sqrt(stiffness * usual), 1000.0 * inertia))
    arm = Arm(mode=MODE)
    place = int(arm.settings().given.robot.fitted)
    first = arm.controller.p.laws.values[place:place + N].copy()
    arm.apply(**{STIFFNESS: [12.5]})
    assert (arm.controller.p.laws.values[place:place + N] <= first).all()
    arm.apply(**{DAMPING: [0.05]})
    assert (arm.controller.p.laws.values[place:place + N] == 0.05).all()


# -- without a jump -------------------------------------------------------------------------------


def held_away(**more):
    """Return the arm, pushed away from its reference and at rest, and how far it is."""
    arm = Arm(mode=MODE, tracking_limits=[10.0], **SOFT, **more)
    arm.release()
    arm.push(0.06 * np.array(SOFT[STIFFNESS]) * np.array([1, -1, 1, 1, -1, 1, -1]))
    arm.run(4.0)
    return arm, arm.reference[0] - arm.q


@pytest.mark.parametrize('power', [0.5, 4.0, 0.0])
def test_a_rising_stiffness_puts_energy_in_no_faster_than_allowed(power):
    """Step by step dK e^2 / 2 is at most the power, in all what is counted; then K is there."""
    arm, way = held_away(stiffness_power=power)
    springs, wanted = arm.controller.x.laws.springs, 4.0 * np.array(SOFT[STIFFNESS])
    bound = 0.5 * 3.0 * np.array(SOFT[STIFFNESS]) @ way ** 2
    arm.change(**{STIFFNESS: wanted.tolist()})
    put, begun = [], arm.time
    while (springs.joint != wanted).any() and arm.time < begun + 10.0:
        before, error = springs.joint.copy(), arm.controller.x.laws.joint.error.copy()
        arm.run(arm.period)
        assert (springs.joint >= before).all()
        put.append(0.5 * (springs.joint - before) @ error ** 2)
    print(f'{sum(put):.3f} J of {bound:.3f} J in {arm.time - begun:.2f} s')
    assert sum(put) == pytest.approx(springs.energy, rel=1e-9)
    assert 0.0 < sum(put) < 1.001 * bound
    if power:
        assert max(put) <= power * arm.period * (1.0 + 1e-9)
        assert arm.time - begun < bound / power + 2.0 * arm.period
    else:
        assert arm.time - begun < 2.5 * arm.period
    arm.change(**{STIFFNESS: (0.1 * wanted).tolist()})  # what falls needs no time
    arm.run(2.0 * arm.period)
    np.testing.assert_array_equal(springs.joint, 0.1 * wanted)
    arm.push(np.zeros(N))
    arm.run(4.0)
    arm.change(**{STIFFNESS: wanted.tolist()})  # at the reference neither
    arm.run(0.1)
    np.testing.assert_array_equal(springs.joint, wanted)


def test_it_follows_a_trajectory():
    """The arm follows where springs and dampers alone would lag; at the goal it rests."""
    arm = Arm(mode=MODE, **SOFT)
    arm.release()
    way, rest = np.array([[0.5, -0.4, 0.5, 0.6, -0.5, 0.5, 0.6]]), np.zeros((1, 7))
    arm.follow([1.0], arm.q + way, rest, rest)
    errors = []
    arm.each = lambda _: errors.append(np.abs(arm.reference[0] - arm.q).max())
    arm.run(1.5)
    print(f'{1e3 * max(errors):.2f} mrad')
    assert arm.state == 'running', arm.fault
    assert max(errors) < 2e-3
    assert (np.abs(arm.qd) / SPEED).max() < 1e-3
