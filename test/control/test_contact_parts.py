# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Contacts without a robot: wrench and mass by other ways, the way back, the calibration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rbd_ros import Dynamics, load_urdf, RbdError
from rbd_ros.control.interface.events import Joints, NEVER, NONE, Result, Structure
from rbd_ros.control.laws.way_back import KEPT, WayBack, WayBackLimits
from rbd_ros.control.observers.calibration import (
    calibrated_contact, calibrated_wrench, MARGIN, Observed)
from rbd_ros.control.observers.contact import Contact, ContactParameters, ContactRoom, find_wrench
from rbd_ros.control.observers.external import external_wrench
from rbd_ros.control.observers.standstill import is_doubtful, Standstill

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'
SIZES = {'n': 6, 'm': 6}


def structure(**turns: float) -> Structure:
    """Return joints in the order of the model."""
    s = Structure(SIZES)
    s.index[:] = range(6)
    s.continuous[:] = [turns.get(f'j{k}', 0.0) for k in range(6)]
    return s


# -- wrench and energy ----------------------------------------------------------------------------

@pytest.mark.parametrize('seed', range(5))
def test_the_wrench_explains_the_torques(seed):
    """It is the one that reports find by singular values; a wrench of the tip is found again."""
    rng = np.random.default_rng(seed)
    (U, _), (V, _) = (np.linalg.qr(rng.standard_normal((6, 6))) for _ in range(2))
    J, wrench = U @ np.diag(rng.uniform(0.2, 2.0, 6)) @ V, rng.standard_normal(6)
    room, w = ContactRoom(SIZES), np.zeros(6)
    find_wrench(w, room, J, J.T @ wrench)
    np.testing.assert_allclose(w, wrench, rtol=1e-3, atol=1e-3)
    expected, _ = external_wrench(J, J.T @ wrench)
    np.testing.assert_allclose(w, expected, rtol=1e-3, atol=1e-3)


def test_a_direction_without_joints_has_no_force():
    """What the frame cannot do is not guessed, and absurd numbers change nothing."""
    J, w = np.zeros((6, 6)), np.zeros(6)
    J[3, 0] = 0.5
    room = ContactRoom(SIZES)
    find_wrench(w, room, J, np.array([5.0, 1.0, 0.0, 0.0, 0.0, 0.0]))
    np.testing.assert_allclose(w, [0.0, 0.0, 0.0, 10.0, 0.0, 0.0], atol=1e-3)
    find_wrench(w, room, np.full((6, 6), np.nan), np.ones(6))
    assert np.isfinite(w).all()


@pytest.mark.parametrize('seed', range(5))
def test_the_apparent_mass_is_that_of_lambda(seed):
    """1 / (u' J H^-1 J' u), by another way; the bound of the energy gives the speed back."""
    rng = np.random.default_rng(seed)
    J, A, velocity = rng.standard_normal((6, 6)), rng.standard_normal((6, 6)), rng.normal(size=6)
    H = A @ A.T + np.eye(6)
    x, p = Contact(SIZES), ContactParameters(SIZES)
    x.find_energy(ContactRoom(SIZES), H, J, velocity, structure())
    speed = np.linalg.norm(velocity[3:])
    u = velocity[3:] / speed
    mass = 1.0 / (u @ J[3:] @ np.linalg.inv(H) @ J[3:].T @ u)
    assert x.mass == pytest.approx(mass) and x.speed == pytest.approx(speed)
    assert x.energy == pytest.approx(0.5 * mass * speed * speed)
    assert x.energy_speed(p) == NONE
    p.energy = x.energy
    assert x.energy_speed(p) == pytest.approx(speed)


@pytest.mark.parametrize('seed', range(5))
def test_a_trajectory_may_have_the_speed_of_its_energy(seed):
    """The share of its speed, by which m v^2 / 2 is the bound; more energy than needed: all."""
    rng = np.random.default_rng(seed)
    J, target, x, p = (rng.standard_normal((6, 6)), rng.standard_normal((3, 6)), Contact(SIZES),
                       ContactParameters(SIZES))
    x.mass, rate = 3.0, rng.uniform(0.1, 1.0)
    speed = np.linalg.norm(J[3:] @ target[1]) / rate  # at its full speed
    assert x.energy_share(p, J, target, rate) == 1.0  # no bound
    for bound in (0.01, 0.5, 2.0):
        p.energy = bound * 0.5 * 3.0 * speed * speed
        assert x.energy_share(p, J, target, rate) == pytest.approx(min(1.0, bound ** 0.5))
    p.energy = 1e-3
    assert x.energy_share(p, J, np.nan * target, rate) == 1.0
    target[1] = 0.0
    assert x.energy_share(p, J, target, rate) == 1.0


def test_a_frame_at_rest_has_no_energy():
    """No direction, no mass, and no speed limit."""
    x, p = Contact(SIZES), ContactParameters(SIZES)
    x.find_energy(ContactRoom(SIZES), np.eye(6), np.eye(6), np.zeros(6), structure())
    p.energy = 1.0
    assert (x.mass, x.energy, x.energy_speed(p)) == (0.0, 0.0, NONE)


# -- events ---------------------------------------------------------------------------------------

def test_a_contact_is_said_once():
    """From the first state beyond a threshold until it has ended; a report accuses nobody."""
    x, p, y = Contact(SIZES), ContactParameters(SIZES), Result(SIZES)
    for reaction, accused, told in ((0.0, 0, 0), (1.0, 0, 1), (2.0, 1, 0)):
        p.reaction, y.accused, y.told, x.touching, x.count = reaction, 0.0, 0.0, 0.0, 0.0
        x.excess, x.joint, x.external[2] = 0.99, 2.0, 5.0
        x.check(p, 1.0, y)
        assert (y.accused, y.told) == (0, 0)
        x.excess = 1.01
        for _ in range(3):
            x.check(p, 2.0, y)
        assert (y.accused, y.told, x.count) == (accused, told, accused + told)
    assert (x.found, x.found_joint, x.found_torque) == (2.0, 2.0, 5.0)


def test_what_still_presses_on_the_way_back_is_a_second_contact():
    """After a while; one that has ended is none."""
    x, y = Contact(SIZES), Result(SIZES)
    x.touching, x.excess = 1.0, 2.0
    x.check_return(1.0, 1.29, y)
    assert y.accused == 0
    x.check_return(1.0, 1.31, y)
    assert y.accused == 1
    x.touching, y.accused = 0.0, 0.0
    x.check_return(1.0, 1.31, y)
    assert y.accused == 0


# -- the way back ---------------------------------------------------------------------------------

def wandered(rng, s, limits, steps=4000):
    """Return a way back after a random motion, and the positions that were passed."""
    x, joints = WayBack(SIZES), Joints(SIZES)
    q, v, passed = rng.uniform(-1.0, 1.0, 6), rng.normal(size=6), []
    for _ in range(steps):
        v += 0.05 * rng.normal(size=6)
        q = q + 1e-3 * v
        joints.q[:] = q
        x.note(limits, joints, s)
        passed.append(q.copy())
    return x, joints, np.array(passed)


@pytest.mark.parametrize('seed', range(4))
def test_the_way_back_is_the_path_and_bounded(seed):
    """Every point of it was passed; distance and speed of each joint stay within their bounds."""
    rng, s, limits = np.random.default_rng(seed), structure(), WayBackLimits({})
    limits.distance, limits.speed = 0.12, 0.3
    x, joints, passed = wandered(rng, s, limits)
    x.begin(joints, s, 10.0)
    now, dt, states, before = 10.0, 1e-3, [], joints.q.copy()
    while True:
        now += dt
        ended = x.advance(limits, s, now)
        states.append(x.state.copy())
        assert np.abs(x.state[1]).max() <= limits.speed * (1 + 1e-9)
        assert np.abs(x.state[0] - before).max() <= limits.speed * dt * (1 + 1e-9)
        before = x.state[0].copy()
        if ended:
            break
        assert now < 12.0
    reference = np.array(states)[:, 0]
    assert np.abs(reference - joints.q).max() <= limits.distance * (1 + 1e-9)
    assert np.abs(np.diff(reference, axis=0)).max(axis=1).sum() == pytest.approx(
        limits.distance, rel=1e-3)
    for point in reference[::20]:  # kept points are 1/32 of the distance apart
        assert np.abs(passed - point).max(axis=1).min() < limits.distance / 32
    assert np.abs(states[-1][1]).max() < 0.1 * limits.speed  # it arrives slowly


def test_a_short_path_ends_early_and_a_forgotten_one_at_once():
    """Nothing is invented beyond what was travelled."""
    s, limits = structure(), WayBackLimits({})
    limits.distance, limits.speed = 0.5, 0.3
    x, joints, passed = wandered(np.random.default_rng(9), s, limits, steps=60)
    x.begin(joints, s, 0.0)
    now = 0.0
    while not x.advance(limits, s, now):
        now += 1e-3
        assert now < 2.0
    np.testing.assert_allclose(x.state[0], passed[0], atol=1e-9)
    x.forget()
    x.begin(joints, s, 5.0)
    assert x.advance(limits, s, 5.001)
    np.testing.assert_array_equal(x.state[0], joints.q)


def test_a_continuous_joint_goes_back_the_short_way():
    """Through pi, not around; gaps and bad times move nothing."""
    s, limits, x = structure(j0=1.0), WayBackLimits({}), WayBack(SIZES)
    limits.distance, limits.speed = 0.2, 0.5
    joints = Joints(SIZES)
    for k in range(200):
        joints.q[0] = (np.pi - 0.1 + 1e-3 * k + np.pi) % (2 * np.pi) - np.pi
        x.note(limits, joints, s)
    x.begin(joints, s, 0.0)
    before = x.state[0, 0]
    for now in (np.nan, 5.0, 4.0):
        x.advance(limits, s, now)
        assert x.state[0, 0] == before
    for k in range(1, 2000):
        if x.advance(limits, s, 4.0 + 1e-3 * k):
            break
    assert before - x.state[0, 0] == pytest.approx(0.2, rel=0.05)


def test_the_ring_keeps_the_newest():
    """Far more positions than it has room for: it holds the last ones, evenly."""
    s, limits, x, joints = (structure(), WayBackLimits({}), WayBack(SIZES),
                            Joints(SIZES))
    limits.distance = 0.32
    for k in range(5000):
        joints.q[:] = 1e-3 * k
        x.note(limits, joints, s)
    assert x.entries == KEPT
    kept = np.sort(x.path[:, 0])
    np.testing.assert_allclose(np.diff(kept), 0.01, atol=1.1e-3)
    assert kept[-1] == pytest.approx(4.999, abs=0.011)
    assert x.since == NEVER


# -- doubt ----------------------------------------------------------------------------------------

@pytest.mark.parametrize('halted', [0.0, 1.0])
@pytest.mark.parametrize('unusual', [0.0, 1.0])
@pytest.mark.parametrize('repeated', [0.0, 1.0])
def test_a_sensor_that_stands_still_is_doubted(repeated, unusual, halted):
    """If a joint halted abruptly, or if its sensor has noise; another joint does not count."""
    x, joints = Standstill(SIZES), Joints(SIZES)
    joints.repeated[2], joints.unusual[2], x.halted[2] = repeated, unusual, halted
    assert is_doubtful(x, joints) is bool(repeated and (unusual or halted))
    joints.repeated[:], joints.unusual[:], x.halted[:] = 0.0, 0.0, 0.0
    joints.repeated[2], joints.unusual[3], x.halted[4] = repeated, unusual, halted
    assert not is_doubtful(x, joints)


# -- the calibration ------------------------------------------------------------------------------

def free_motion(rng, count=30000):
    """Return velocities, and the torques of friction, an offset and noise that grows with them."""
    v = np.sin(np.linspace(0.0, 300.0, count))[:, None] * rng.uniform(0.3, 1.5, 3)
    dry, viscous, offset = np.array([2.0, 1.0, 0.5]), np.array([3.0, 0.5, 0.0]), np.array(
        [0.4, -0.2, 0.0])
    noise = (0.1 + 0.3 * np.abs(v)) * rng.uniform(-1.0, 1.0, v.shape)
    return v, offset - dry * np.tanh(v / 0.05) - viscous * v + noise, (dry, viscous, offset)


def test_the_calibration_finds_friction_and_a_bound_of_the_rest():
    """Friction to 2 %; no state without a contact is beyond the threshold, which is no waste."""
    v, torque, (dry, viscous, offset) = free_motion(np.random.default_rng(5))
    found = {name: np.array(values) for name, values in calibrated_contact(
        v, torque, np.full(3, 0.05)).items()}
    np.testing.assert_allclose(found['contact.coulomb'], dry, rtol=0.02, atol=0.02)
    np.testing.assert_allclose(found['contact.viscous'], viscous, rtol=0.02, atol=0.03)
    np.testing.assert_allclose(found['contact.offset'], offset, atol=0.02)
    rest = np.abs(torque - (offset - dry * np.tanh(v / 0.05) - viscous * v))
    bound = found['contact.torque'] + found['contact.torque_speed'] * np.abs(v)
    assert (rest < bound).all()
    assert (rest / bound).max() > 1.0 / (1.135 * MARGIN)
    assert (found['contact.torque_speed'] > 0.2).all()


def test_the_calibration_is_as_late_as_the_observer():
    """Friction that is seen late is found, and nothing is left; taken as not late, much is."""
    rng, period, bandwidth, count = np.random.default_rng(9), 0.002, 60.0, 20000
    t = period * np.arange(count)[:, None]
    v = rng.uniform(0.3, 1.2, 3) * np.sin(rng.uniform(2.0, 5.0, 3) * t + rng.uniform(0.0, 6.0, 3))
    dry, viscous, speed = np.array([2.0, 1.0, 0.5]), np.array([1.0, 0.5, 0.2]), np.full(3, 0.05)
    share, seen = -np.expm1(-bandwidth * period), np.zeros((count, 3))
    for k in range(1, count):
        rubs = dry * np.tanh(v[k] / speed) + viscous * v[k]
        seen[k] = seen[k - 1] + share * (0.3 - rubs - seen[k - 1])
    late = calibrated_contact(v[500:], seen[500:], speed, settles=np.full(count - 500, share))
    np.testing.assert_allclose(late['contact.coulomb'], dry, rtol=0.01)
    np.testing.assert_allclose(late['contact.viscous'], viscous, rtol=0.02)
    np.testing.assert_allclose(late['contact.offset'], 0.3, atol=0.01)
    at_once = calibrated_contact(v[500:], seen[500:], speed)
    assert (np.array(at_once['contact.torque']) > 5.0 * np.array(late['contact.torque'])).all()


def test_directions_get_thresholds_that_free_motion_stays_below():
    """The wrench that the controller would find is below them by the margin, and reaches that."""
    rng, count = np.random.default_rng(7), 3000
    robot = Dynamics(load_urdf(ARM))
    v = np.sin(np.linspace(0.0, 60.0, count))[:, None] * rng.uniform(0.3, 1.5, 7)
    q = rng.uniform(-1.0, 1.0, 7) + 0.4 * np.sin(rng.uniform(5.0, 9.0, 7)
                                                 * np.linspace(0.0, 3.0, count)[:, None])
    speed = np.full(7, 0.05)
    torque = 0.3 - 1.5 * np.tanh(v / speed) - 0.5 * v + rng.uniform(-0.2, 0.2, v.shape)
    found = calibrated_contact(v, torque, speed)
    seen = Observed(q, v, torque, np.ones(count))
    limits = calibrated_wrench(robot, 'tool0', seen, speed, found)
    bound = np.array([*limits['contact.moment'], *limits['contact.force']])
    rest = torque - found['contact.offset'] + found['contact.coulomb'] * np.tanh(
        v / speed) + found['contact.viscous'] * v
    room, w, share = ContactRoom({'n': 7, 'm': 7}), np.zeros(6), np.zeros(6)
    for k in range(count):
        find_wrench(w, room, robot.jacobian(q[k], 'tool0'), rest[k])
        share = np.maximum(share, np.abs(w) / bound)
    np.testing.assert_allclose(share, 1.0 / MARGIN, atol=0.005)
    with pytest.raises(RbdError, match='tool7'):
        calibrated_wrench(robot, 'tool7', seen, speed, found)


def test_a_joint_that_did_not_move_has_no_friction():
    """It cannot be told from an offset."""
    rng = np.random.default_rng(6)
    v = rng.normal(size=(2000, 2)) * (1e-4, 1.0)
    torque = 0.7 + 0.1 * rng.uniform(-1, 1, (2000, 2))
    found = calibrated_contact(v, torque, np.full(2, 0.05))
    assert found['contact.coulomb'][0] == 0.0 and found['contact.viscous'][0] == 0.0
    assert found['contact.offset'][0] == pytest.approx(0.7, abs=0.01)
    with pytest.raises(RbdError, match='no joint moves'):
        calibrated_contact(v[:, :1], torque[:, :1], np.full(1, 0.05))


def test_a_calibration_that_cannot_be_made_says_why():
    """Too little motion, or numbers that are none."""
    with pytest.raises(RbdError, match='at least a minute'):
        calibrated_contact(np.zeros((10, 2)), np.zeros((10, 2)), np.ones(2))
    with pytest.raises(RbdError, match='not finite'):
        calibrated_contact(np.full((2000, 2), np.nan), np.zeros((2000, 2)), np.ones(2))
    with pytest.raises(RbdError, match='must have one shape'):
        calibrated_contact(np.zeros((2000, 2)), np.zeros((2000, 3)), np.ones(2))
    with pytest.raises(RbdError, match='without gaps'):
        calibrated_contact(np.zeros((2000, 2)), np.zeros((2000, 2)), np.ones(2), 2.0,
                           np.zeros(2000))
