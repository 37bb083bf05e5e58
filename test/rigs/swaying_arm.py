# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Recordings of the built-in arm whose joints sway, with a payload, without noise."""

from __future__ import annotations

from pathlib import Path

from benchmark.bags import write
from command_rig import ARM
import numpy as np
import rbd_ros


def swaying(bag: Path, felt: float, second: float = 1.0, mass: float = 1.7) -> Path:
    """Write the bag; of friction and damping the efforts have a share."""
    model = rbd_ros.load_urdf(ARM)
    robot = rbd_ros.Dynamics(model, payload_frame='tool0')
    robot.set_payload(mass, [0.03, -0.02, 0.1], mass / 1.7 * np.diag([0.02, 0.03, 0.015]))
    rng = np.random.default_rng(1)
    speed, sway, phase = rng.uniform([[2.0], [0.3], [0.0]], [[7.0], [0.7], [6.0]], (3, 7))
    t = 100.0 + 0.005 * np.arange(1200)
    # Two sines of each joint: one alone leaves combinations of inertias open.
    w = [speed, 0.37 * speed]
    turn = [rate * t[:, None] + phase for rate in w]
    q = sway * (np.sin(turn[0]) + second * np.sin(turn[1]))
    qd = sway * (w[0] * np.cos(turn[0]) + second * w[1] * np.cos(turn[1]))
    qdd = -sway * (w[0]**2 * np.sin(turn[0]) + second * w[1]**2 * np.sin(turn[1]))
    tau = robot.inverse_dynamics(q, qd, qdd) + felt * (
        np.array(model.damping) * qd + np.array(model.friction) * np.sign(qd))
    return write(bag, model, zip(t, q, qd, tau))
