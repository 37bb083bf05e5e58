# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Motors that run their PD at 10 kHz hold where torques at 200 Hz swing.

MuJoCo is the robot. Commands act 10 ms late; some come later, some never.
"""

from __future__ import annotations

from collections.abc import Callable

from mujoco_rig import Driven
import numpy as np
import pytest

pytestmark = pytest.mark.slow

STEP, RATE, LATE, TIMEOUT = 1e-4, 200.0, 0.01, 0.015
STIFFNESS = np.array([1200.0, 1200.0, 600.0, 600.0, 240.0, 150.0, 90.0])
DAMPING = np.array([10.0, 10.0, 5.0, 5.0, 2.0, 1.25, 0.75])
LAW = {'mode': 'joint_impedance', 'joint_impedance.stiffness': STIFFNESS.tolist(),
       'joint_impedance.damping': DAMPING.tolist(), 'delay': LATE, 'ramp_time': 0.2,
       'tracking_limits': [2.0], 'start.watch_time': 0.0}
MOTORS = {'command_type': 'motor_array', 'motor.stiffness': STIFFNESS.tolist(),
          'motor.damping': DAMPING.tolist(), 'motor.timeout': TIMEOUT}

#: s from a command to its effect, or nothing if it is lost
Lateness = Callable[[np.random.Generator], float | None]


class Drives(Driven):
    """
    The built-in arm with drives at its joints, which evaluate each command at 10 kHz.

    :param lateness: of each command.
    """

    def __init__(self, lateness: Lateness = lambda _: LATE, **values: object) -> None:
        super().__init__('built-in', rate=RATE, plant={'step': STEP}, **(LAW | values))
        self.lateness, self.rng, self.clock = lateness, np.random.default_rng(3), 0.0
        self.waiting: list[tuple[float, np.ndarray, np.ndarray]] = []
        self.five, self.since = np.zeros((5, 7)), 0.0
        self.wanted, self.added, self.dead, self.gave_up = np.zeros(7), np.zeros(7), False, False

    def send(self, torque: np.ndarray) -> None:
        """Let a command be on its way."""
        self.torque = torque.copy()
        late = self.lateness(self.rng)
        if self.dead or late is None:
            return
        y = self.controller.y
        five = y.motor.copy()
        if not self.controller.p.motor.used:
            five[:] = 0.0
            five[4] = torque
        self.waiting.append((self.clock + late, five, torque.copy()))

    def step(self) -> None:
        """Evaluate the last command that has come; without one, damp."""
        self.clock += STEP
        while self.waiting and self.waiting[0][0] <= self.clock:
            _, self.five, self.wanted = self.waiting.pop(0)
            self.plant.brake(False)
            self.since, self.gave_up = self.clock, False
        if self.controller.p.motor.used and self.clock - self.since > TIMEOUT:
            self.five, self.gave_up = np.zeros((5, 7)), True
            self.five[3] = DAMPING
        q, qd = self.plant.position, self.plant.velocity
        position, velocity, kp, kd, rest = self.five
        total = kp * (position - q) + kd * (velocity - qd) + rest
        if not self.gave_up:
            self.added = np.maximum(self.added, np.abs(total - self.wanted))
        self.plant.step(np.clip(total, -self.limit, self.limit), self.push)


def pushed(loop: Drives) -> tuple[float, float]:
    """Start, push the tip for a moment; return the largest speed in two parts of a second."""
    loop.start(0.6)
    assert loop.state == 'running', loop.fault
    loop.push = np.array([10.0, -15.0, 20.0, 0.0, 0.0, 0.0])
    loop.run(0.05)
    loop.push = None
    speeds = []
    for _ in range(2):
        loop.forget()
        loop.run(0.5)
        speeds.append(np.abs(loop.qd).max())
    return speeds[0], speeds[1]


def test_drives_hold_where_torques_swing() -> None:
    """The same law, rate and delay: with torques it is refused, and swings if one insists."""
    torques, motors = Drives(), Drives(**MOTORS)
    assert 'cannot be stable' in '; '.join(torques.controller.settings.refusals())
    assert not motors.controller.settings.refusals()
    found = {}
    for name, loop in (('torques', torques), ('motors', motors)):
        found[name] = (*pushed(loop), loop.state)
        print(f'| {name} | {found[name][0]:.3f} | {found[name][1]:.3f} | {loop.state} |')
    assert found['motors'][2] == 'running' and found['torques'][0] > 3.0 * found['motors'][0]
    assert found['motors'][1] < 0.5 * found['motors'][0]
    assert found['torques'][2] != 'running' or found['torques'][1] > found['torques'][0]


def test_late_and_lost_commands_do_not_shake_it() -> None:
    """Each comes 5 to 12 ms late, and one of ten never; the law does a part by itself."""
    lost = []

    def lateness(rng: np.random.Generator) -> float | None:
        lost.append(rng.random() < 0.1)
        return None if lost[-1] else rng.uniform(0.005, 0.012)
    loop = Drives(lateness, **(MOTORS | {'motor.stiffness': (0.9 * STIFFNESS).tolist()}))
    assert not loop.controller.settings.refusals()
    first, then = pushed(loop)
    print(f'{first:.3f} {then:.3f} rad/s, {sum(lost)} of {len(lost)} commands lost')
    assert loop.state == 'running', loop.fault
    assert sum(lost) > 20
    assert then < 0.7 * first


def test_a_dead_controller_leaves_no_more_than_was_said() -> None:
    """A joint that is pushed on meets the last command, until the drive gives up and damps."""
    loop = Drives(**MOTORS)
    pushed(loop)
    loop.dead, loop.push = True, np.array([100.0, -100.0, 150.0, 5.0, 5.0, 5.0])
    loop.run(0.1)
    assert loop.gave_up and not loop.five[2].any()
    speed = loop.controller.settings.velocity_limits
    bound = STIFFNESS * speed * (TIMEOUT + LATE) + 2.0 * DAMPING * speed
    print((loop.added / bound).round(3))
    assert (loop.added < bound).all() and (bound <= loop.limit).all()
    assert (loop.added > 0.0).all()
