# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Measured against predicted torque: motions whose torque Pinocchio knows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio
import pytest
import rbd_ros
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.view import torques
from rbd_ros.view.torques import Comparison, Motion, Track

ARM = find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf')
MODEL = rbd_ros.load_urdf(ARM)
NAMES = MODEL.joint_names
FRICTION = {'friction.viscous': [0.8, 0.8, 0.5, 0.5, 0.3, 0.2, 0.15],
            'friction.coulomb': [0.9, 0.9, 0.7, 0.7, 0.4, 0.3, 0.2], 'friction.speed': [0.3]}
ROTORS = np.array([0.3, 0.3, 0.2, 0.2, 0.05, 0.05, 0.05])
LOAD = {'payload.mass': 1.5, 'payload.com': [0.02, -0.01, 0.08],
        'payload.inertia': [0.25, 0.03, 0.02, 0.2, -0.03, 0.12]}
GRAVITY = [1.0, -2.0, -9.5]


def swing(t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return position, velocity and acceleration of a motion at a time."""
    k = np.arange(1, 8)
    w, a, p = 1.5 + 0.4 * k, 0.5 - 0.03 * k, 0.7 * k
    return (a * np.sin(w * t + p), a * w * np.cos(w * t + p), -a * w * w * np.sin(w * t + p))


class Truth:
    """Torques by Pinocchio, of the arm with or without a load."""

    def __init__(self, loaded: bool) -> None:
        self.model = pinocchio.buildModelFromUrdf(str(ARM))
        self.model.gravity.linear = np.array(GRAVITY)
        if loaded:
            frame = self.model.frames[self.model.getFrameId('tool0')]
            xx, xy, xz, yy, yz, zz = LOAD['payload.inertia']
            load = pinocchio.Inertia(LOAD['payload.mass'], np.array(LOAD['payload.com']),
                                     np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
            self.model.appendBodyToJoint(frame.parentJoint, load, frame.placement)
        self.data = self.model.createData()

    def torque(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Return inverse dynamics, without rotors and friction."""
        return pinocchio.rnea(self.model, self.data, q, qd, qdd).copy()


def compared(settings: dict[str, Any], *, rate: float = 500.0, velocities: bool = True,
             parts: tuple[slice, ...] = (slice(0, 7),), duration: float = 2.0,
             noise: float = 0.0, loss: float = 0.0) -> Comparison:
    """Return what is found of the motion by a page that looks five times per second."""
    motion, rng = Motion(), np.random.default_rng(2)
    found = Comparison(rbd_ros.Dynamics(MODEL, payload_frame='tool0'), 'tool0', NAMES, motion)
    found.carry(settings)
    loaded, bare = Truth('payload.mass' in settings), Truth(False)
    known = loaded if settings.get('driver_knows_payload') else bare
    rotors = np.array(settings.get('rotor_inertia', MODEL.rotor_inertia))
    for k in range(round(duration * rate)):
        t = 1.7e9 + k / rate + (rng.uniform(-0.2, 0.2) / rate if noise else 0.0)
        q, qd, qdd = swing(t - 1.7e9)
        tau = loaded.torque(q, qd, qdd) + rotors * qdd
        if 'friction.viscous' in settings:
            tau = tau + FRICTION['friction.viscous'] * qd + np.array(
                FRICTION['friction.coulomb']) * np.tanh(qd / 0.3)
        if rng.uniform() < loss:
            continue
        for part in parts:
            motion.add(t, NAMES[part], q[part] + noise * 1e-4 * rng.standard_normal(len(q[part])),
                       (qd[part] + noise * 1e-2 * rng.standard_normal(len(q[part])))
                       if velocities else (),
                       tau[part] + noise * rng.standard_normal(len(q[part])))
        adds = settings.get('driver_adds', 'none')
        still = np.zeros(7)
        motion.add_sent(tau - (still if adds == 'none' else known.torque(
            q, still if adds == 'gravity' else qd, still)))
        if k % round(rate / 5.0) == 0:
            found.update(settings)
    assert motion.needs_sent == ('driver_adds' in settings)  # who reads topics takes only these
    return found


@pytest.mark.parametrize('settings', [
    {}, FRICTION, {'rotor_inertia': ROTORS.tolist()}, LOAD, {**LOAD, **FRICTION},
    {'effort_is_torque': False, 'driver_adds': 'none'},
    {'effort_is_torque': False, 'driver_adds': 'gravity', **LOAD},
    {'effort_is_torque': False, 'driver_adds': 'gravity', 'driver_knows_payload': True, **LOAD},
    {'effort_is_torque': False, 'driver_adds': 'gravity_and_coriolis', **LOAD, **FRICTION}])
def test_the_torque_of_an_exact_robot_is_predicted(settings: dict[str, Any]) -> None:
    """Whatever the driver adds, the robot carries or rubs: the rest is less than 1 %."""
    settings = {'gravity': GRAVITY, **settings}
    found = compared(settings)
    assert found.source == ('sent' if 'driver_adds' in settings else 'effort')
    t, measured, predicted = found.points()
    for k, apart in enumerate(found.rms()):
        assert apart == pytest.approx(np.sqrt(((measured - predicted)[:, k] ** 2).mean()))
        assert apart < 0.01 * np.ptp(measured[:, k]) + 0.005
    assert np.allclose(np.diff(t), torques.PERIOD, atol=1e-4)
    assert 1.4 / torques.PERIOD < len(t) < 2.0 / torques.PERIOD + 1.0  # of two seconds
    later = found.points(t[-3])
    assert [part.tolist() for part in later] == [
        part[-3:].tolist() for part in (t, measured, predicted)]


def test_a_model_that_is_wrong_differs() -> None:
    """A load that nobody knows of is seen at the joints that feel it."""
    motion = Motion()
    unaware = Comparison(rbd_ros.Dynamics(MODEL, payload_frame='tool0'), 'tool0', NAMES, motion)
    unaware.carry({'gravity': GRAVITY})
    truth = Truth(True)
    for k in range(1000):
        q, qd, qdd = swing(0.002 * k)
        tau = truth.torque(q, qd, qdd) + np.array(MODEL.rotor_inertia) * qdd
        motion.add(0.002 * k, NAMES, q, qd, tau)
        if k % 100 == 0:
            unaware.update({})
    weight = 9.8 * LOAD['payload.mass']  # N, at some 0.5 m from the shoulder
    assert 0.1 * weight < unaware.rms()[1] < weight and unaware.rms()[6] < 0.5


@pytest.mark.parametrize('options', [
    {'rate': 1000.0, 'noise': 0.1, 'duration': 1.5}, {'rate': 100.0}, {'velocities': False},
    {'parts': (slice(0, 3), slice(3, 7))}, {'loss': 0.3}])
def test_drivers_of_every_kind(options: dict[str, Any]) -> None:
    """Noisy, slow, without velocities, in two messages, with losses: to some percent."""
    found = compared({'gravity': GRAVITY}, **options)
    for apart, measured in zip(found.rms(), found.points()[1].T, strict=True):
        assert apart < 0.03 * np.ptp(measured) + 0.03


def test_a_joint_that_nobody_publishes_stands_still() -> None:
    """Where the controller was told: the torques of the others are predicted as before."""
    motion, truth = Motion(), Truth(False)
    found = Comparison(rbd_ros.Dynamics(MODEL, payload_frame='tool0'), 'tool0', NAMES[:6], motion)
    settings = {'gravity': GRAVITY, 'fixed_positions.joints': [NAMES[6]],
                'fixed_positions.values': [0.3]}
    found.carry(settings)
    for k in range(1000):
        q, qd, qdd = swing(0.002 * k)
        q[6], qd[6], qdd[6] = 0.3, 0.0, 0.0
        tau = truth.torque(q, qd, qdd) + np.array(MODEL.rotor_inertia) * qdd
        motion.add(0.002 * k, NAMES[:6], q[:6], qd[:6], tau[:6])
        if k % 100 == 0:
            found.update(settings)
    _, measured, _ = found.points()
    for apart, each in zip(found.rms(), measured.T, strict=True):
        assert apart < 0.01 * np.ptp(each) + 0.005


def test_nothing_is_compared_that_is_not_known() -> None:
    """No effort, a joint that is missing, numbers that are not finite, or a clock that jumps."""
    motion = Motion()
    found = Comparison(rbd_ros.Dynamics(MODEL, payload_frame='tool0'), 'tool0', NAMES, motion)
    still = [0.0] * 7

    def feed(start: float, count: int = 200, names: Any = NAMES, effort: Any = still) -> None:
        for k in range(count):
            motion.add(start + 0.002 * k, names, still[:len(names)], still[:len(names)], effort)
            motion.add_sent(still)
            found.update({})
    assert found.rms() is None
    assert [part.shape for part in found.points()] == [(0,), (0, 7), (0, 7)]
    feed(0.0, effort=())
    feed(10.0, effort=[float('nan')] * 7)
    motion.add(11.0, NAMES, [0.0], [0.0], [0.0])  # bad, and dropped
    assert found.rms() is None and found.source == ''
    feed(20.0)
    assert found.source == 'effort' and len(found.points()[0]) > 3
    feed(5.0)  # the simulator began anew: what was before is not in one plot with it
    t, *_ = found.points()
    assert t.max() < 5.5 and (np.diff(t) > 0.0).all()
    lone = Motion()
    found = Comparison(rbd_ros.Dynamics(MODEL, payload_frame='tool0'), 'tool0', NAMES, lone)
    motion = lone
    feed(0.0, names=NAMES[:6], effort=still[:6])
    assert found.rms() is None


def test_what_is_kept_is_bounded() -> None:
    """Names that change with every message, states for hours: neither fills the memory."""
    motion, track = Motion(), Track()
    for k in range(100):
        motion.add(0.01 * k, [f'joint_{k}'], [0.0], [0.0], [0.0])
    assert len(motion.at(0.5)) <= torques.MOST_TRACKS
    for k in range(3 * torques.MOST_ROWS):
        track.add(0.001 * k, (0.0,), (), ())
    assert len(track) == torques.MOST_ROWS
