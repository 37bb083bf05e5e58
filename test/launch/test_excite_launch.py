# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
``rbd excite --run`` moves an arm of MuJoCo by the controller; ``rbd identify`` finds its model.

Commands, topics and the action are those that a user has. The robot has friction, rotors and a
load that its description leaves out, or has otherwise. The motion is short, so the bounds are
wide; docs/identification.md has those of a longer one.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
import tempfile
import unittest

from benchmark.mujoco_plant import Plant, PlantOptions
from launch import LaunchDescription
from launch_ros.actions import Node as NodeAction
from launch_testing.actions import ReadyToTest
import launch_testing.markers
import mujoco
import mujoco_rig
import numpy as np
import pytest
import rbd_ros
from rbd_ros.command_line.app import app
import rclpy
import rig
from typer.testing import CliRunner
import yaml

ROOT = Path(__file__).parents[2]
ROBOT = mujoco_rig.BUILT_IN
RATE = 250.0  # Hz
START = (0.0, 0.4, 0.0, -1.4, 0.0, -0.6, 0.0)

#: what the description does not tell: N.m, N.m.s/rad, kg.m^2, kg, m
FRICTION = np.array([1.6, 1.8, 1.1, 1.2, 0.5, 0.4, 0.3])
DAMPING = np.array([1.4, 1.3, 0.9, 0.8, 0.5, 0.3, 0.2])
ARMATURE = np.array([0.5, 0.6, 0.35, 0.3, 0.15, 0.12, 0.1])
LOAD, CENTRE = 1.5, (0.02, -0.03, 0.08)
PLANT = {'friction': FRICTION.tolist(), 'damping': DAMPING.tolist(), 'hard_friction': True,
         'armature': ARMATURE.tolist(), 'payload_mass': LOAD, 'payload_com': list(CENTRE),
         'step': 5e-4}

#: shares by which friction and rotors of joints 1 to 6 may be wrong, after 10 s
COULOMB, VISCOUS, ROTOR = 0.15, 0.25, 0.25
MASS, GRAVITY = 0.12, 1.2  # of the diagonal of the mass matrix; N.m

PARAMETERS = {
    'robot_description_file': str(ROBOT.urdf), 'use_sim_time': True, 'nominal_rate': RATE,
    'command_type': 'joint_state', 'effort_is_torque': False, 'mode': 'computed_torque',
    'recover_lost_state': False, 'activation_timeout': 20.0, 'minimum_rate': 20.0,
    'tracking_limits': [3.0], 'payload.mass': LOAD, 'payload.frame': ROBOT.tip,
    'start.velocity': 5.0, 'start.distance': 1.0, 'start.acceleration': 500.0}


@pytest.mark.launch_test
@pytest.mark.sampled('launches', 2, pool='stories')
@launch_testing.markers.keep_alive
def generate_test_description() -> LaunchDescription:
    """Start the arm with its load, and a controller that has a guess of it."""
    controller = NodeAction(
        package='rbd_ros', executable='controller', name='controller', output='screen',
        parameters=[str(ROOT / 'config' / 'controller.yaml'), PARAMETERS])
    driver = mujoco_rig.driver(
        '', ROBOT, **PLANT, rate=RATE, start=list(START), position_noise=2e-6,
        velocity_noise=1e-3, effort='motor', effort_noise=0.02, answer_wait=20.0,
        command_timeout=20.0)
    return LaunchDescription([driver, controller, ReadyToTest()])


class TestIdentification(unittest.TestCase):
    """Two commands, one after the other."""

    def test_excite_and_identify(self) -> None:
        """Plan and move with a yes, fit, and compare with what MuJoCo has."""
        rclpy.init()
        self.addCleanup(rclpy.shutdown)
        client = rig.Client()
        self.addCleanup(client.close)
        self.assertTrue(client.transition(rig.CONFIGURE), client.last('log'))
        self.assertTrue(client.transition(rig.ACTIVATE), client.last('log'))
        client.wait(lambda: client.last('state') == 'running', 'running')
        folder = Path(tempfile.mkdtemp())
        bag, better, params = (folder / name for name in ('bag', 'better.urdf', 'params.yaml'))
        self.rbd('excite', ROBOT.urdf, '--start', ' '.join(map(str, START)), '--duration', 10,
                 '--evaluations', 8, '--no-floor', '--acceleration', 5, '--run', '--record', bag,
                 answer='yes\n')
        self.assertEqual((client.last('state'), client.last('fault')), ('running', ''))
        found = json.loads(self.rbd(
            'identify', bag, '--urdf', ROBOT.urdf, '--effort-delay', 0.5 / RATE, '--write-urdf',
            better, '--write-params', params, '--json'))
        print(f'excitation {found["excitation"]:.0f}, rest {found["residual_before"]} to '
              f'{found["residual_after"]} N.m')
        self.friction(params)
        self.masses(better)

    def rbd(self, *words: object, answer: str = '') -> str:
        """Run a command; return what it said."""
        done = CliRunner().invoke(app, [str(word) for word in words], input=answer)
        self.assertEqual(done.exit_code, 0, done.output)
        return done.stdout

    def friction(self, file: Path) -> None:
        """Expect the friction and the rotors of MuJoCo among the parameters of the controller."""
        text = yaml.safe_load(file.read_text())
        given = text['/**']['controller']['ros__parameters']
        for name, truth, share in (('friction.coulomb', FRICTION, COULOMB),
                                   ('friction.viscous', DAMPING, VISCOUS),
                                   ('rotor_inertia', ARMATURE, ROTOR)):
            off = np.abs(np.array(given[name]) / truth - 1.0)[:6]
            print(f'{name}: {100 * off.max():.1f} of {100 * share:.0f} %')
            self.assertLess(off.max(), share, name)
        self.rotors = tuple(given['rotor_inertia'])

    def masses(self, file: Path) -> None:
        """Expect its mass matrix and gravity, load included, of the description."""
        robot = rbd_ros.Dynamics(dataclasses.replace(
            rbd_ros.load_urdf(file), rotor_inertia=self.rotors))
        plant = Plant(ROBOT.urdf.read_text(), PlantOptions(
            joints=ROBOT.joints, start=START, tip=ROBOT.tip, **PLANT)).model
        data, rng, worst = mujoco.MjData(plant), np.random.default_rng(3), [0.0, 0.0]
        for _ in range(20):
            q = rng.uniform(robot.model.lower, robot.model.upper)
            data.qpos[:], data.qvel[:] = q, 0.0
            mujoco.mj_forward(plant, data)
            H = np.zeros((7, 7))
            mujoco.mj_fullM(plant, data, H)
            scale = np.sqrt(np.outer(np.diag(H), np.diag(H)))
            worst = [max(worst[0], np.abs((robot.mass_matrix(q) - H) / scale).max()),
                     max(worst[1], np.abs(robot.gravity(q) - data.qfrc_bias).max())]
        print(f'mass matrix {100 * worst[0]:.2f} of {100 * MASS:.0f} %, gravity {worst[1]:.3f} of '
              f'{GRAVITY} N.m')
        self.assertLess(worst[0], MASS)
        self.assertLess(worst[1], GRAVITY)


TestShutdown = rig.CleanEnd
