# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What does the arm carry? Excite it in the simulator, and fit the payload to the torques."""

import numpy as np

import rbd_ros
from rbd_ros.identification import identify_payload, Recording, smooth
from rbd_ros.sim import SimulatedRobot

model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
nominal = rbd_ros.Dynamics(model)
# The truth, which the controller does not know: a tool of 2.4 kg.
truth = rbd_ros.Dynamics(model, payload_frame='tool0')
truth.set_payload(2.4, com=[0.02, -0.03, 0.09], inertia=np.diag([0.012, 0.010, 0.006]))
plant = SimulatedRobot(model, truth.forward_dynamics, mass_matrix=truth.mass_matrix)

rng = np.random.default_rng(1)
step, sway = 2e-3, np.array([0.8, 0.4, 0.8, 0.5, 1.2, 0.8, 1.5])
speed, start = rng.uniform(1.0, 2.2, 7), np.array([0.0, 0.3, 0.0, -1.2, 0.0, 0.8, 0.0])
plant.place(start)
rows = []
for k in range(4000):
    t = k * step
    wanted, rate = start + sway * np.sin(speed * t), sway * speed * np.cos(speed * t)
    plant.command(nominal.bias(plant.q, plant.v) + nominal.mass_matrix(plant.q) @ (
        400.0 * (wanted - plant.q) + 40.0 * (rate - plant.v)))
    before = plant.q, plant.v
    plant.step(step)
    # What a driver records: noise on what it reads.
    rows.append([t, *(x + rng.normal(0.0, noise, 7) for x, noise in (
        (before[0], 2e-5), (before[1], 1e-3), (np.zeros(7), 0.0), (plant.motor_torque, 0.1)))])
recording = Recording(*(np.array(column) for column in zip(*rows[500:], strict=True)))

found = identify_payload(nominal, 'tool0', *smooth(recording, cutoff=10.0)[1:])
print(f'mass {found.mass:.3f} kg +- {found.estimate.deviation[0]:.3f}, at {found.com.round(3)} m; '
      f'excitation {found.estimate.condition:.0f}')
print(f'ros2 topic pub --once /controller/payload geometry_msgs/msg/InertiaStamped '
      f'"{found.message()}"')
