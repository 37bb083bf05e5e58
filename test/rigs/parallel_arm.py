# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A five-bar arm in simulation under the controller, on a fake clock."""

import functools
from pathlib import Path

import numpy as np
import rbd_ros
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.kernels.declared import LoopKernel
from rbd_ros.control.kernels.kernels import LawKernels
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.references.trajectory import Knots
from rbd_ros.control.robot import make_robot
from rbd_ros.sim import Physics, SimulatedRobot

PERIOD = 1e-3
MODEL = rbd_ros.load_urdf(Path(__file__).parents[1] / 'urdf' / 'five_bar.urdf')
#: not in the order of the model, so that a mixed-up order shows
JOINTS = ('right_shoulder', 'left_shoulder')
INDEX = [MODEL.independent_joint_names.index(name) for name in JOINTS]
START = np.array([0.9, 2.2])
#: near the closed position above the pivots
NEAR = [2.2, -1.4, 0.9, 1.4]


@functools.cache
def parts(assembly=()):
    """Return dynamics, controlled robot and what compiles its kernels."""
    robot = make_robot(MODEL, JOINTS, tip='tool', assembly=dict(assembly))
    return rbd_ros.Dynamics(MODEL), robot, laws_of(robot)


def laws_of(robot):
    """Return what compiles the kernels of a five-bar arm."""
    return LawKernels(robot, driver_adds='none', driver_knows_payload=False, axes=('x', 'z'))


class Rig:
    """
    A five-bar arm in simulation under the controller, on a fake clock.

    :param assembly: positions that name a closed position; nobody measures passive joints then.
    :param near: a position near that in which the arm starts.
    :param robot: as ``parts`` returns it, for another robot than that of the description.
    :param rubs: whether the rods rub as the description says, which the law knows.
    """

    def __init__(self, assembly=None, near=NEAR, start=START, *, rubs=True, robot=None,
                 **values):
        self.dynamics, robot, laws = robot or parts(tuple((assembly or {}).items()))
        self.seen = INDEX if assembly else list(range(4))
        self.values = defaults() | {
            'driver_adds': 'none', 'nominal_rate': 1.0 / PERIOD, 'start.time': 0.0,
            'start.watch_time': 0.0, 'ramp_time': 0.1, 'free_damping': [0.0],
            'torque_rate_limits': [1e5], 'reference.acceleration': [40.0],
            'task.axes': ['tx', 'tz']} | values
        self.sent, self.log = [], []
        self.controller = Controller(Settings(robot, self.values, simulated=False),
                                     {name: laws.compile(name) for name in laws.names},
                                     lambda torque: self.sent.append(torque.copy()))
        self.controller.p.states.ages.clock_offset = 0.0  # its clock is that of the stamps
        free = {} if rubs else {'damping': np.zeros(4)}
        self.plant = SimulatedRobot(MODEL, physics=Physics.of(MODEL, **free))
        position = np.array(near)
        position[INDEX] = start
        self.plant.place(position, fixed=JOINTS)
        self.offset = np.zeros(4)               # of the sensors
        self.time = 50.0
        self.controller.activate(self.time, self.time)

    def run(self, duration):
        """Let time pass, a state and a tick per period."""
        for _ in range(round(duration / PERIOD)):
            self.time += PERIOD
            q, v = self.plant.q, self.plant.v
            self.see(q + self.offset, v)
            if self.sent:
                self.log.append((q, v, self.sent[-1],
                                 self.controller.x.references.joint.profile.state.copy()))
                torque = np.zeros(4)
                torque[INDEX] = self.sent[-1]
                self.plant.command(torque)
                self.plant.step(PERIOD)

    def see(self, q, v):
        """Let the controller have one state, of the joints that are measured."""
        names = tuple(MODEL.joint_names[i] for i in self.seen)
        stamp = divmod(round(1e9 * (self.time - 2e-4)), 10**9)
        self.controller.take_state(self.time, self.time, names, q[self.seen], v[self.seen], (),
                                   stamp)
        self.controller.take_timer(self.time, self.time)

    def follow(self, target, seconds):
        """Begin a trajectory that ends at rest."""
        self.controller.take_points(self.time, self.time, Knots(
            np.array([seconds]), np.array([target]), np.zeros((1, 2)), np.zeros((1, 2))),
            self.time)

    def close(self, driven, *, starts):
        """Close the loops where the driven joints are; return what is wrong: cause and text."""
        controller = self.controller
        x, p, y = controller.x, controller.p, controller.y
        x.joints.q[INDEX], y.accused = driven, 0.0
        kernel = LoopKernel.of(controller.kernels['loops'])
        if x.closed_loops.check(p.closed_loops, kernel, x.joints, p.structure, y, int(starts)):
            return None, ''
        cause, word, row, *numbers = y.accusations[0]
        return tuple(Cause)[int(cause)], controller.speaker.text(int(word), int(row), *numbers)

    @property
    def state(self):
        """State of the supervisor in words."""
        return self.controller.state.value

    @property
    def fault(self):
        """Every latched fault in one line."""
        return self.controller.fault_text()

    @property
    def causes(self):
        """Causes of all faults."""
        return [Cause[name] for name in self.controller.faults()]
