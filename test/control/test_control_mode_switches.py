# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Changes of the mode in closed loop: every pair, at rest and in motion, with the default time."""

from __future__ import annotations

from itertools import permutations

from controller_rig import Arm, SOFT, SPEED, TORQUE
import numpy as np
import pytest
from rbd_ros.control.modes import MODES
from scipy.spatial.transform import Rotation

pytestmark = pytest.mark.slow

STEP = 0.01  # of the torque limit, from one command to the next, before the limiter
PERIOD = 0.002
PAIRS = list(permutations(MODES, 2))
#: moved by a reference; in other modes a hand moves the arm
SLOW = {'cartesian_impedance': {  # springs do not bound the speeds of joints
    'task.linear_velocity': 0.2, 'task.angular_velocity': 0.4}}
LED = ('computed_torque', 'operational_space', 'joint_impedance', 'cartesian_impedance')
CASES = [(*pair, hand) for pair in PAIRS
         for hand in (('none',) if pair[0] in LED else ('lets go', 'pushes on'))]

#: how firmly and how fast a hand moves the joints where no reference does, N.m.s/rad and rad/s
GRIP = np.array([20.0, 20.0, 10.0, 10.0, 1.0, 0.5, 0.05])
PACE = 0.25 * SPEED * np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0, -1.0])

#: N, which somebody hangs on the tip and nobody declares
LOAD = np.array([0.0, 0.0, -10.0])


def moving_arm(mode: str, **values: object) -> Arm:
    """Return an arm that moves in a mode, by a reference or by hand."""
    arm = Arm(period=PERIOD, mode=mode, ramp_time=0.1, tracking_limits=[10.0],
              torque_rate_limits=(1e3 * TORQUE).tolist(), **SOFT | SLOW.get(mode, {}) | values)
    arm.release()
    assert arm.values['switch_time'] == 0.5  # the default is what is proved
    if mode in ('computed_torque', 'joint_impedance'):
        way = np.array([[0.25, -0.2, 0.3, 0.3, -0.3, 0.3, 0.4]])
        rest = np.zeros((1, 7))
        arm.follow([0.8], arm.q + way, rest, rest)
    elif mode in ('operational_space', 'cartesian_impedance'):
        start = arm.pose
        turn = Rotation.from_rotvec([0.2, 0.3, -0.2]) * Rotation.from_matrix(start[:3, :3])
        arm.aim(start[:3, 3] + [0.15, 0.2, -0.15], turn.as_quat())
    else:
        arm.hand = lambda qd: GRIP * (PACE - qd)
    arm.run(0.3)
    assert (np.abs(arm.qd) / SPEED).max() > 0.1
    return arm


def switched(arm: Arm, mode: str) -> np.ndarray:
    """Change the mode; return the steps of the law in shares of the limits, from then on."""
    before = arm.law_log[-1]
    arm.forget()
    arm.change(mode=mode)
    arm.run(1.2)
    assert arm.controller.mode == mode
    assert arm.state == 'running', arm.fault
    return np.abs(np.diff([before, *arm.law_log], axis=0)) / TORQUE


@pytest.mark.sampled('simulations', 6)
@pytest.mark.parametrize('before, after', PAIRS)
def test_no_step_at_rest(before, after):
    """At rest, with a load that is lifted just then, no change steps the law or throws the arm."""
    arm = Arm(period=PERIOD, mode=before, ramp_time=0.1,
              torque_rate_limits=(1e3 * TORQUE).tolist(), **SOFT)
    arm.release()
    if before in ('hold', *LED):
        J = arm.pose[:3, :3] @ arm.dynamics.jacobian(arm.q, 'tool0')[3:]
        arm.push(J.T @ LOAD)
    arm.run(2.0)
    arm.push(np.zeros(7))  # what was held up must not throw the arm
    steps = switched(arm, after)
    speeds = np.abs(arm.qd_log) / SPEED
    print(f'{before} to {after}: step {100 * steps.max():.2f} %, speed {speeds.max():.3f}')
    assert steps.max() < STEP
    assert same_law(before, after) or speeds.max() < 0.05


@pytest.mark.sampled('simulations', 8)
@pytest.mark.parametrize('before, after, hand', CASES)
def test_no_step_in_motion(before, after, hand):
    """In motion no change of the mode steps the law by more than a hundredth of the limit."""
    arm = moving_arm(before)
    if hand == 'lets go':
        arm.hand = None
    fastest, energy = (np.abs(arm.qd) / SPEED).max(), kinetic_energy(arm, arm.q, arm.qd)
    steps = switched(arm, after)
    speeds = np.abs(arm.qd_log) / SPEED
    energies = [kinetic_energy(arm, q, qd) for q, qd in zip(arm.q_log[::5], arm.qd_log[::5])]
    print(f'{before} to {after}: step {100 * steps.max():.2f} %, speed {fastest:.3f} then '
          f'{speeds.max():.3f}, at the end {speeds[-1].max():.3f}; energy {energy:.3f} then '
          f'{max(energies):.3f}')
    assert steps.max() < STEP
    if hand == 'pushes on':
        # no faster than the hand; where springs hold the tip, a hand turns the joints around it
        most = 1.6 if after == 'cartesian_impedance' else 1.2
        assert speeds.max() < most * max(fastest, 0.25)
        return
    # An arm that floats exchanges energy between its joints, but nothing drives it.
    assert same_law(before, after) or max(energies) < 1.1 * energy
    if after not in ('gravity_compensation', 'cartesian_impedance'):  # whose posture returns
        assert speeds[-1].max() < 0.5 * fastest


def same_law(before: str, after: str) -> bool:
    """Return whether both modes are one law: its spring and its reference stay as they are."""
    return MODES[before].kernel == MODES[after].kernel


def kinetic_energy(arm: Arm, q: np.ndarray, qd: np.ndarray) -> float:
    """Return the kinetic energy of the arm."""
    return 0.5 * qd @ arm.dynamics.mass_matrix(q) @ qd
