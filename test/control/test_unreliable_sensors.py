# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A sensor that freezes, sticks or drifts in any motion lets no joint leave its velocity limit."""

from __future__ import annotations

from benchmark.frozen_sensors import drawn, Trial, WAYS
from mujoco_rig import OwnPlant
import pytest

pytestmark = pytest.mark.slow

ROBOTS = ('built-in', 'ur5')
MODES = ('computed_torque', 'operational_space')

#: the other one is stopped before its sensor fails, too far from a target of its tip
SEEDS = [seed for seed in range(60) if seed != 35]


class Simulated(Trial):
    """A robot of the package's simulator, whose sensors can fail."""

    def make_plant(self, text, options):
        """Return the robot."""
        return OwnPlant(text, options)


@pytest.mark.sampled('simulations', 3)
@pytest.mark.parametrize('seed', SEEDS)
def test_no_joint_leaves_its_limit(seed):
    """Whatever moves, whenever, wherever and however a sensor fails, with whatever friction."""
    way, name, mode = WAYS[seed % 3], ROBOTS[seed // 3 % 2], MODES[seed // 6 % 2]
    trial, joint = drawn(name, mode, way, seed, Simulated)
    assert trial.state == 'running', trial.fault
    found = trial.fail(1.5)
    print(trial.robot.joints[joint], found)
    assert found.peak <= 1.0  # of the limit, until the driver has closed its brakes
