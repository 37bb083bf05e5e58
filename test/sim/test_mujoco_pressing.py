# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A tool that presses on a plate, by what MuJoCo finds between the two."""

from __future__ import annotations

import mujoco
from mujoco_rig import configured, Driven
import numpy as np
import pytest

pytestmark = pytest.mark.slow

#: the hand points down: joints 2, 4 and 6 turn it back
PANDA_DOWN = (0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.785)
ARM_DOWN = (0.0, 0.5, 0.0, -1.9, 0.0, 1.4 - np.pi, 0.0)

#: the posture pulls by this much on every joint, rad
ELSEWHERE = np.array([0.1, 0.2, -0.1, 0.2, 0.1, -0.2, 0.1])

#: the tool is free along its own axis
FREE = {'mode': 'operational_space', 'task.axes': ['rx', 'ry', 'rz', 'tx', 'ty']}

#: MuJoCo takes friction and dampers from the description
RUBS = {'friction': (), 'damping': (), 'step': 1e-3}


def begin(loop: Driven) -> None:
    """Start behind closed brakes: a tool that is free along an axis moves as soon as they open."""
    loop.opens = False
    loop.start(1.6)
    loop.opens = True


def press(loop: Driven, force: np.ndarray, seconds: float) -> None:
    """Ask for a force again and again."""
    loop.each = lambda now: loop.controller.take_wrench(now, now, [0.0, 0.0, 0.0, *force])
    loop.run(seconds)
    assert loop.state == 'running', loop.fault


def pressing(loop: Driven, force: np.ndarray) -> np.ndarray:
    """Return the mean force upon the plate when the posture has come to rest."""
    press(loop, force, 2.0)
    loop.forget()
    loop.run(1.0)
    return np.mean(loop.forces, axis=0)


@pytest.mark.parametrize('tilt', [0.0, 0.15])
def test_panda_presses_as_told(tilt: float) -> None:
    """10, 20 and 40 N become that within 2 % although the posture is elsewhere."""
    start = np.array(PANDA_DOWN) + [0.0, 0.0, 0.0, 0.0, 0.0, tilt, 0.0]
    normal = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    loop = Driven(
        'panda', sensors=True, effort_is_torque=False, posture__position=(
            start + ELSEWHERE).tolist(), **FREE,
        plant={**RUBS, 'start': start, 'plate_below': 0.02, 'plate_normal': normal,
               'plate_friction': 0.0})
    begin(loop)
    for size in (10.0, 20.0, 40.0):
        found = pressing(loop, -size * normal)
        print(f'{size:g} N: {found.round(3)}')
        np.testing.assert_allclose(found, -size * normal, rtol=0, atol=0.02 * size)


def test_built_in_arm_presses_within_its_friction() -> None:
    """The built-in arm presses as commanded but for the dry friction of its joints: 2 N."""
    loop = Driven(
        'built-in', sensors=True, plant={
            **RUBS, 'armature': (), 'start': ARM_DOWN, 'plate_below': 0.02},
        **configured('controller.yaml') | FREE | {
            'posture.position': (np.array(ARM_DOWN) + ELSEWHERE).tolist()})
    begin(loop)
    for size in (10.0, 20.0, 40.0):
        found = pressing(loop, np.array([0.0, 0.0, -size]))
        print(f'{size:g} N: {found.round(3)}')
        assert abs(found[2] + size) < 2.0


def test_free_tool_moves_no_faster_than_the_damping_allows() -> None:
    """Without a plate the tool ends at force over k Lambda, k being the task's damping."""
    loop = Driven('panda', sensors=True, effort_is_torque=False, **FREE,
                  plant={**RUBS, 'start': PANDA_DOWN})
    begin(loop)
    press(loop, np.array([0.0, 0.0, -10.0]), 1.3)
    plant, J = loop.plant, np.zeros((6, 7))
    height = plant.tip().position[2]
    mujoco.mj_jacBody(plant.model, plant.data, J[:3], J[3:], plant.model.body('panda_hand').id)
    Lambda = np.linalg.inv(J @ np.linalg.solve(plant.mass_matrix(), J.T))
    loop.run(0.1)
    speed = (height - plant.tip().position[2]) / 0.1
    print(f'{speed:.4f} m/s, inertia {Lambda[2, 2]:.3f} kg')
    np.testing.assert_allclose(speed, 10.0 / (20.0 * Lambda[2, 2]), rtol=0.1)
