# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Operational-space control where the frame cannot do what is asked of it, in closed loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from controller_rig import Arm, beyond_reach, POSES, SPEED, TORQUE
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

pytestmark = pytest.mark.slow

SINGULAR = 1.5  # largest torque at a singular pose over the largest elsewhere
MOST = 0.75 + 0.02  # of the speed limits: what frame and posture may ask for, and a little

#: s between the making of a target and its arrival
DELAYS: dict[str, Callable[[int], float]] = {
    'in time': lambda _: 0.0,
    'late': lambda k: 0.04 * ((37 * k) % 10) / 10.0,  # scattered over 40 ms
    'in bursts': lambda k: 0.01 * (5 - k % 6),  # six at once
}


def stretch(arm: Arm, more: float, delay: Callable[[int], float] = DELAYS['in time'],
            speed: float = 0.15) -> np.ndarray:
    """Stream a way out of reach, a stay there and the way back; return the conditions."""
    start, quaternion = arm.pose, Rotation.from_matrix(arm.pose[:3, :3]).as_quat()
    way = beyond_reach(start, more)
    begin, duration = arm.time, np.linalg.norm(way) / speed
    stay, end = duration + 0.5, 2.0 * duration + 0.5

    def target(t: float) -> np.ndarray:
        return start[:3, 3] + way * np.interp(t, [0.0, duration, stay, end], [0.0, 1.0, 1.0, 0.0])
    made = [0.01 * k for k in range(round((end + 0.5) / 0.01))]  # 100 Hz
    arrivals = np.maximum.accumulate([begin + t + delay(k) for k, t in enumerate(made)])
    inbox: Iterator = iter([(time, target(t)) for time, t in zip(arrivals, made)])
    waiting = [next(inbox)]

    def each(now: float) -> None:
        while waiting and waiting[0][0] <= now:
            arm.aim(waiting.pop()[1], quaternion)
            waiting.extend(item for item in [next(inbox, None)] if item is not None)
    arm.forget()
    arm.each = each
    arm.run(end + 2.0)
    arm.each = None
    return np.array([condition(arm, q) for q in arm.q_log])


def condition(arm: Arm, q: np.ndarray) -> float:
    """Return the condition of the operational-space inertia; a radian counts as 0.1 m."""
    J = np.diag([0.1, 0.1, 0.1, 1.0, 1.0, 1.0]) @ arm.dynamics.jacobian(q, 'tool0')
    return np.linalg.cond(J @ np.linalg.solve(arm.dynamics.mass_matrix(q), J.T))


def free_arm(pose: str, **values: object) -> Arm:
    """Return the arm under operational-space control with default gains."""
    arm = Arm(POSES[pose], period=0.004, mode='operational_space', ramp_time=0.1,
              torque_rate_limits=(1e3 * TORQUE).tolist(), **values)
    arm.release()
    return arm


@pytest.mark.sampled('simulations', 4)
@pytest.mark.parametrize('pose', POSES)
@pytest.mark.parametrize('more, delay', [
    (0.01, 'in time'), (0.03, 'in time'), (0.02, 'late'), (0.02, 'in bursts')])
def test_out_of_reach_and_back(pose, more, delay):
    """Through the stretched arm, out of reach and back: no fault, no torque that grows."""
    arm = free_arm(pose)
    start = arm.pose
    conditions = stretch(arm, more, DELAYS[delay])
    assert arm.state == 'running', arm.fault
    near = conditions > 1e3
    assert near.sum() > 50
    sizes = np.linalg.norm(np.array(arm.law_log) / TORQUE, axis=1)
    print(f'{near.sum()} states near, up to {conditions.max():.0f}; torque '
          f'{sizes[near].max():.3f} there, {sizes[~near].max():.3f} elsewhere; speed '
          f'{(np.abs(arm.qd_log) / SPEED).max():.2f} of the limits')
    assert sizes[near].max() < SINGULAR * sizes[~near].max()
    assert (np.abs(arm.qd_log) / SPEED).max() < MOST
    np.testing.assert_allclose(arm.pose, start, atol=1e-3)


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('seed', range(6))
def test_far_targets_from_anywhere(seed):
    """A pose up to a metre and half a turn away, reachable or not, makes no joint too fast."""
    rng = np.random.default_rng(seed)
    model = Arm().robot.model
    arm = Arm(rng.uniform(0.7 * np.array(model.lower), 0.7 * np.array(model.upper)),
              period=0.004, mode='operational_space', ramp_time=0.1)
    arm.release()
    start = arm.pose
    turn = Rotation.from_rotvec(rng.uniform(-1.8, 1.8, 3)) * Rotation.from_matrix(start[:3, :3])
    arm.aim(start[:3, 3] + rng.uniform(-0.6, 0.6, 3), turn.as_quat())
    arm.run(2.5)
    arm.aim(start[:3, 3], Rotation.from_matrix(start[:3, :3]).as_quat())
    arm.run(2.5)
    assert arm.state == 'running', arm.fault
    assert (np.abs(arm.qd_log) / SPEED).max() < MOST


@pytest.mark.parametrize('q5', [0.0, 0.02, 0.3])
def test_through_the_straight_wrist(q5):
    """Where the axes of the last joints are in one line, the frame passes, on it or near it."""
    start = np.array([0.2, 0.6, 0.1, -1.2, q5, 0.5, 0.1])
    arm = Arm(start, period=0.004, mode='operational_space', ramp_time=0.1,
              torque_rate_limits=(1e3 * TORQUE).tolist())
    arm.release()
    begin = arm.time

    def each(now: float) -> None:
        q = start.copy()
        q[4] = 0.0  # the way leads through the singular pose, wherever the arm is
        q[5] = np.interp(now - begin, [0.0, 1.5], [0.5, -0.5])
        pose = arm.dynamics.pose(q, 'tool0')
        arm.aim(pose[:3, 3], Rotation.from_matrix(pose[:3, :3]).as_quat())
    arm.forget()
    arm.each = each
    arm.run(3.0)
    assert arm.state == 'running', arm.fault
    assert (np.abs(arm.qd_log) / SPEED).max() < MOST
    there = start.copy()
    there[4:6] = 0.0, -0.5
    np.testing.assert_allclose(arm.pose, arm.dynamics.pose(there, 'tool0'), atol=2e-3)
