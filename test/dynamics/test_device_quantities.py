# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Every quantity of a robot on a device: emulated, and on a GPU where there is one."""

from pathlib import Path

import numpy as np
import pytest
import rbd_ros
from rbd_ros.dynamics.table import TABLE
from rbd_ros.errors import DeviceError, NonFiniteError, RbdError
from rbd_ros.joints import Free, Revolute
from rbd_ros.model.positions import random_position
from rbd_ros.spatial import RigidInertia, Sym3, Vec3

pytest.importorskip('llvmlite', reason='llvmlite is not installed')

FIVE_BAR = Path(__file__).parents[1] / 'urdf' / 'five_bar.urdf'
#: Largest error, relative to the largest entry, by number type.
ERRORS = {'float64': 1e-12, 'float32': 1e-5}


def on(model, device, scalar='float64'):
    """Return a robot on a device; the test is skipped where there is none."""
    try:
        return rbd_ros.Dynamics(model).on(device, scalar=scalar)
    except DeviceError as found:
        pytest.skip(f'this machine has no GPU to test on: {found}')


def error(found, expected):
    """Return the largest deviation, relative to the largest entry."""
    assert np.shape(found) == np.shape(expected)
    return np.abs(found - expected).max() / max(1.0, np.abs(expected).max())


def satellite():
    """Return a free body with one joint."""
    builder = rbd_ros.ModelBuilder('satellite')
    hull = RigidInertia.from_com(3.0, Vec3(0.1, 0.0, 0.0), Sym3.diagonal(0.4, 0.5, 0.6))
    builder.add_body('hull', 'base', Free(), None, hull)
    return builder.add_body('boom', 'hull', Revolute((1, 2, 0)), None, hull).build()


@pytest.mark.parametrize('device', [
    pytest.param('emulation', marks=pytest.mark.sampled('robots', 1)), 'cuda'])
@pytest.mark.parametrize('scalar', ERRORS)
@pytest.mark.parametrize('make,fewest', [
    (satellite, 37), (lambda: rbd_ros.load_urdf(FIVE_BAR), 30)], ids=['floating', 'loop'])
def test_every_quantity(make, fewest, scalar, device):
    """Every quantity that a robot has, it has on a device: floating base and loops included."""
    model = make()
    reference = rbd_ros.Dynamics(model, backend='reference')
    rng, found = np.random.default_rng(12), 0
    gpu = on(model, device, scalar)
    # of a five-bar both cranks, which leave nothing open
    frame, joints = model.frame_names[-1], model.independent_joint_names[::2]
    for name, row in TABLE.items():
        target = {'frame': frame, 'handles': (frame,), 'joints': joints}.get(row.target)
        try:
            inputs = reference.kernel(name, target).inputs
        except RbdError:            # not of this robot
            continue
        if name.endswith('second_derivatives'):     # the longest, of nothing new
            continue
        given = [random_position(model, rng) if a.name == 'q' else rng.uniform(0.1, 1.0, a.shape)
                 for a in inputs[:len(row.inputs)]]
        expected = reference.compute(name, *given, target=target)
        mine = gpu.compute(name, *given, target=target)
        for a, b in zip(mine, expected) if isinstance(mine, tuple) else [(mine, expected)]:
            assert error(a, b) < ERRORS[scalar], name
        found += 1
    assert found >= fewest


@pytest.mark.parametrize('device', ['emulation', 'cuda'])
@pytest.mark.parametrize('scalar', ERRORS)
def test_a_singular_loop_is_found_by_its_status(scalar, device):
    """Of a batch the first state at which loops lose their rank is named; the others are right."""
    model = rbd_ros.load_urdf(FIVE_BAR)
    robot, gpu = rbd_ros.Dynamics(model), on(model, device, scalar)
    rng = np.random.default_rng(5)
    shoulders = rng.uniform([2.0, 0.7], [2.4, 1.1], (9, 2))
    q = np.array([robot.assemble([left, -1.4, right, 1.4], ('left_shoulder', 'right_shoulder'))
                  .require() for left, right in shoulders])
    qd, tau = np.zeros((2, 9, model.nv))
    expected = robot.forward_dynamics(q, qd, tau)
    assert error(gpu.forward_dynamics(q, qd, tau), expected) < 30 * ERRORS[scalar]
    q[5] = np.pi, -np.pi, 0.0, np.pi                     # all on a line
    with pytest.raises(NonFiniteError, match='forward_dynamics: state 5 is the first'):
        gpu.forward_dynamics(q, qd, tau)
