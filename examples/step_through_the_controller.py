# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What happens in the controller, step by step, from the start check to a lost state?"""

import numpy as np
import rbd_ros
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.parameters.assembly import build_settings, compile_kernels
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import make_robot

robot, h = make_robot(rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')), 0.005
values = defaults() | {'driver_adds': 'none', 'release_torque': 'gravity', 'nominal_rate': 1.0 / h}
settings = build_settings(robot, values, simulated=True)      # its clock is that of the stamps


def tell(backend):
    """Let the same things happen to a controller; return state and torque after each step."""
    c = Controller(settings, compile_kernels(settings), lambda torque: None, backend)
    x, u, y, step, given = c.x, c.u, c.y, c.run, []

    def run():
        step()      # set a breakpoint in rbd_ros/control/step/step.py
        given.append([x.command.supervisor.state, *y.torque])
        if backend == 'python' and given[-1][0] != given[-2:][0][0]:
            print(f'{c.state.value:12} {u.now=:.3f} {u.kind=:.0f} {x.joints.expiry=:.3f} '
                  f'{x.command.supervisor.gain=:.1f} {y.send=:.0f} {y.torque[1]=:.1f}')
    c.run = run
    c.activate(1.0, 1.0)
    for t in 1.0 + h * np.arange(900):
        q, qd = np.full(7, 1e-4 * np.sin(9.0 * t) - 0.3), np.full(7, 9e-4 * np.cos(9.0 * t))
        if t < 4.5:     # then no joint state comes any more
            c.take_state(t, t, robot.joints, q, qd, (), (int(t), int(t % 1.0 * 1e9)))
        if abs(t - 3.5) < 0.5 * h:
            c.fault(t, Cause.OPERATOR_STOP)
        c.take_timer(t, t)
    return np.array(given)


print('largest difference to machine code:', np.abs(tell('python') - tell('llvm')).max())
