# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How does a moving arm come to rest when the controller is ended with Ctrl-C?"""

import sys

import numpy as np
import rbd_ros
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.parameters.assembly import build_settings, compile_kernels
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import make_robot
from rbd_ros.sim import SimulatedRobot

model, h = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf'), 2e-3
robot, plant, torque, record = make_robot(model), SimulatedRobot(model), np.zeros(7), {}
values = {'driver_adds': 'none', 'nominal_rate': 1.0 / h, 'release_torque': 'gravity'}
settings = build_settings(robot, defaults() | values, simulated=True)
controller = Controller(settings, compile_kernels(settings), lambda tau: np.copyto(torque, tau))
controller.post(controller.activate)
for t, now in h * np.arange(-1250, 750)[:, np.newaxis] + [0.0, 1e4]:
    if t == 0.0:
        controller.fault(now, Cause.DEACTIVATED)            # Ctrl-C
    controller.take_state(now, now, robot.joints, plant.q, plant.v, (), divmod(
        round(1e9 * now), 10**9))
    controller.take_timer(now, now)
    plant.command(torque + 9.0 * (-0.4 <= t < 0.0) * np.eye(7)[1])      # pushed, until then
    plant.brake(controller.state.value == 'probing')        # until torque holds it
    plant.step(h)
    record.setdefault(controller.state.value, []).append((t, plant.v[1], torque[1]))
for state, rows in record.items():
    print(f'{state:12s} until {rows[-1][0]:6.3f} s, shoulder at {rows[-1][1]:6.3f} rad/s then')
if len(sys.argv) > 1:
    from matplotlib import pyplot
    for k, label in enumerate(('velocity, rad/s', 'torque, N.m'), 1):
        pyplot.subplot(2, 1, k, xlabel='time, s' if k == 2 else '', ylabel=label)
        for state, rows in list(record.items())[2:]:    # from running on
            pyplot.plot(*np.array(rows)[-300:, [0, k]].T, label=state)
    pyplot.legend(fontsize='small')
    pyplot.savefig(sys.argv[1], dpi=90, bbox_inches='tight')
