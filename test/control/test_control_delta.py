# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A delta robot from its URDF: hinges in place of universal joints and balls, all solved."""

from pathlib import Path

import numpy as np
import rbd_ros
from rbd_ros.compiler.procedure import bind
from rbd_ros.control.interface.events import Joints, Result, Structure
from rbd_ros.control.kernels.declared import LoopKernel
from rbd_ros.control.kernels.kernels import LawKernels
from rbd_ros.control.monitors.closed_loops import ClosedLoops, LoopLimits
from rbd_ros.control.robot import make_robot
from rbd_ros.samples import mechanisms

SHOULDERS = ['shoulder_1', 'shoulder_2', 'shoulder_3']
#: a closed position but for rounding: arms, elbows and the wrist that keeps the platform level
NEAR = {**dict.fromkeys(SHOULDERS, 0.4), 'wrist_2': -2.16,
        **{f'elbow_{k}{side}': 1.76 for k in (1, 2, 3) for side in 'ab'}}


def follow(kernel: LoopKernel, x: ClosedLoops, p: LoopLimits, joints: Joints, s: Structure,
           y: Result) -> None:
    """Follow the driven joints from the named position, before the first torque."""
    x.restart(p)
    y.answer = 1.0 if x.check(p, kernel, joints, s, y, 1) else 0.0


def test_solved_delta_is_that_of_universal_joints():
    """
    Followed to another position, it has the inertia, gravity and pose of the other model.

    That one has universal joints and a ball, so that nothing but the mechanism is the same.
    """
    robot = make_robot(rbd_ros.load_urdf(Path(__file__).parents[2] / 'urdf' / 'delta.urdf'),
                       SHOULDERS, tip='tool', assembly=NEAR)
    laws = LawKernels(robot, driver_adds='none', driver_knows_payload=False, axes=('x', 'y', 'z'))
    y = np.array([0.7, 0.2, 0.55])
    sizes = {'n': 3, 'm': 18}
    _, p, joints, structure, result = records = [
        kind(sizes) for kind in (ClosedLoops, LoopLimits, Joints, Structure, Result)]
    p.tolerance, p.least_pivot, p.solves, p.assembly[:] = 0.02, 0.05, 1.0, robot.assembly
    structure.index[:], structure.controlled[list(robot.index)] = robot.index, 1.0
    joints.q[:] = robot.assembly
    joints.q[list(robot.index)] = y
    bind(follow, LoopKernel.of(laws.compile('loops')), *records)()
    assert result.answer, result.accusations[0]
    report = laws.compile('report')
    report.inputs['q'][:], report.inputs['max_condition'][:] = joints.q, 1e6
    report()
    model, start = mechanisms.delta()
    other = rbd_ros.Dynamics(model, closed_near=start)
    q = np.array(start)
    for name, value in zip(SHOULDERS, y, strict=True):
        q[model.position_slice(name)] = value
    q = other.assemble(q, fixed=SHOULDERS).require()
    found = other.independent_equations(q, np.zeros(model.nv), SHOULDERS)
    np.testing.assert_allclose(report.outputs['H'], found.H, atol=1e-6)
    np.testing.assert_allclose(report.outputs['gravity'], found.C, atol=1e-6)
    assert np.ptp(found.C) > 0.1
    np.testing.assert_allclose(report.outputs['p'], other.pose(q, 'tool')[:3, 3], atol=1e-7)
    np.testing.assert_allclose(report.outputs['R'], np.eye(3), atol=1e-7)    # it stays level
