# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The simulated robot, without ROS: integration, joint friction, stops, contact, sensors."""

from rbd_ros.sim.contact.soft_ground import soft_ground
from rbd_ros.sim.contact.world import Obstacle, read_balls, read_scene, Surface, World
from rbd_ros.sim.frames import Frames, Pose
from rbd_ros.sim.pacer import Pacer
from rbd_ros.sim.physics import Physics
from rbd_ros.sim.robot import ContactForce, SimulatedRobot
from rbd_ros.sim.schedule import Counters, Schedule
from rbd_ros.sim.sensors import DelayLine, Imperfections, Sample, Sensors
from rbd_ros.sim.setting_table import SETTINGS
from rbd_ros.sim.settings import Settings
from rbd_ros.sim.simulation import Simulation
from rbd_ros.sim.steps.coordinates import Coordinates
from rbd_ros.sim.steps.engine import compiled_engine, Engine, PlainEngine
from rbd_ros.sim.steps.integrators import rk4_step, semi_implicit_step

__all__ = [
    'compiled_engine', 'ContactForce', 'Coordinates', 'Counters', 'DelayLine', 'Engine', 'Frames',
    'Imperfections', 'Obstacle', 'Pacer', 'Physics', 'PlainEngine', 'Pose', 'read_balls',
    'read_scene', 'rk4_step', 'Sample', 'Schedule', 'semi_implicit_step', 'Sensors', 'Settings',
    'SETTINGS', 'SimulatedRobot', 'Simulation', 'soft_ground', 'Surface', 'World',
]
