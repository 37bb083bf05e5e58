# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A delta robot whose passive joints nobody measures, and the motion that its driver reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmark.node.arm import DAMPING, STIFFNESS
import numpy as np
import rbd_ros

URDF = Path(__file__).resolve().parents[2] / 'urdf' / 'delta.urdf'
JOINTS = tuple(f'shoulder_{i}' for i in range(1, 4))
RATE = 1000.0  # Hz
ARM, ELBOW, WRIST = 0.4, 1.76, -2.16  # rad, of a closed position but for rounding
AMPLITUDE, FREQUENCY = 0.005, 2.0  # rad, Hz; small enough that no supervisor sees a fault
_CLOSED = {**dict.fromkeys(JOINTS, ARM), 'wrist_2': WRIST,
           **{f'elbow_{i}{side}': ELBOW for i in range(1, 4) for side in 'ab'}}
#: parameters of the controller that this robot needs
PARAMETERS = {
    'robot_description_file': URDF, 'joints': list(JOINTS), 'task.frame': 'tool',
    'task.axes': "['tx','ty','tz']", 'assembly.joints': list(_CLOSED),
    'assembly.values': list(_CLOSED.values())}


def motion(t: float) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and velocities of a sway of all three arms."""
    w = 2.0 * np.pi * FREQUENCY
    phase = w * t + np.arange(len(JOINTS))
    return ARM + AMPLITUDE * np.sin(phase), w * AMPLITUDE * np.cos(phase)


def refuse_wrong(times: Sequence[float], torques: Sequence[Sequence[float]]) -> None:
    """
    Raise an error unless torques accelerate the shoulders as computed torque wants.

    The forward dynamics of the closed loops is another way than that of the controller.

    :param times: of the motion, s.
    :param torques: of the shoulders at each.
    :raises RuntimeError: which says by how much they do not.
    """
    robot = rbd_ros.Dynamics(rbd_ros.load_urdf(URDF, on_warning=lambda text: None))
    model = robot.model
    near = np.array([_CLOSED.get(name, 0.0) for name in model.independent_joint_names])
    index = [model.velocity_slice(name).start for name in JOINTS]
    held = []
    for t, tau in zip(times, torques, strict=True):
        shoulders, speed = motion(t)
        near[index] = shoulders
        q = robot.assemble(near, JOINTS).require()
        qd = robot.loop_map(q, independent=JOINTS).G @ speed
        force = np.zeros(model.nv)
        force[index] = tau
        qdd = robot.forward_dynamics(q, qd, force)[index]
        held.append(shoulders + (qdd + DAMPING * speed) / STIFFNESS)
    spread = float(np.ptp(held, axis=0).max())
    if not spread < 1e-4:
        raise RuntimeError(f'the tick of a delta: it holds postures {spread:.3g} rad apart')
