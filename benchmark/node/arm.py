# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The arm that every contender controls, its gains, and the motion that the driver reports."""

from __future__ import annotations

from pathlib import Path

import numpy as np

URDF = Path(__file__).resolve().parents[2] / 'urdf' / 'seven_joint_arm.urdf'
JOINTS = tuple(f'joint_{i}' for i in range(1, 8))
POSTURE = np.array([0.3, 0.5, -0.4, -1.2, 0.2, 0.7, 0.1])  # rad
STIFFNESS = 100.0  # 1/s^2, of every joint
DAMPING = 20.0  # 1/s, of every joint
AMPLITUDE = 0.005  # rad, small enough that no supervisor sees a fault
FREQUENCY = 2.0  # Hz


def motion(t: float) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and velocities of a slow sway about the posture."""
    w = 2.0 * np.pi * FREQUENCY
    phase = w * t + np.arange(len(JOINTS))
    return POSTURE + AMPLITUDE * np.sin(phase), w * AMPLITUDE * np.cos(phase)
