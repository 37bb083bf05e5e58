# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The built-in arm as the safety tests drive it: where it stands, with which limits and times."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rbd_ros import load_urdf
from rbd_ros.peers.pinocchio_robot import PinocchioRobot

RATE = 100.0
STATE_TIMEOUT, HOLD, BRAKE, RELEASE = 0.8, 0.3, 0.3, 0.3
REPEATS = 5

URDF = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'
MODEL = load_urdf(URDF)
JOINTS = MODEL.independent_joint_names
LIMIT = np.array(MODEL.effort_limit)
Q = np.array([0.3, 0.5, -0.4, -1.2, 0.6, 0.7, 0.9])
PEER = PinocchioRobot(MODEL, URDF.read_text())
GRAVITY = PEER.gravity(Q)

PARAMETERS = {
    'robot_description_file': str(URDF), 'driver_adds': 'none',
    'release_torque': 'zero', 'command_type': 'joint_state',
    'nominal_rate': RATE, 'minimum_rate': 10.0, 'state_timeout': STATE_TIMEOUT,
    'hold_time': HOLD, 'brake_time': BRAKE, 'release_time': RELEASE, 'stop_time': 1.0,
    'ramp_time': 0.1, 'switch_time': 0.1, 'release_repeats': REPEATS,
    'start.time': 0.0, 'start.watch_time': 0.0,  # these robots are moved by hand
    'free_damping': [0.0],
    'activation_timeout': 20.0,
    'state_tolerance': [100.0],  # this driver puts its robot anywhere, at any velocity
}

#: signs of life per second
BEATS = 100.0

#: The same on simulated time, in lockstep. Stops run on the steady clock: they are short.
SIMULATED = PARAMETERS | {
    'use_sim_time': True, 'heartbeat_rate': BEATS, 'brake_time': 0.05, 'hold_time': 0.05,
    'release_time': 0.05, 'ramp_time': 0.05, 'switch_time': 0.05,
}
