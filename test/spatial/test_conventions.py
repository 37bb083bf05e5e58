# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Converters to and from Pinocchio, MuJoCo and KDL (docs/conventions.md)."""

from __future__ import annotations

import numpy as np
import pytest
from rbd_ros.errors import ShapeError
from rbd_ros.joints import Free
from rbd_ros.model import interchange
from rbd_ros.spatial import Mat3, Motion, RigidInertia, Sym3, Transform, Vec3
from scipy.spatial.transform import Rotation
from spatial_oracle import array, assert_close, Sampler

FREE_BODY = """
<mujoco><option gravity="0 0 0"/><worldbody><body name="b"><freejoint/>
<inertial mass="1.5" pos="0.1 -0.2 0.3" fullinertia="0.4 0.6 0.9 0.02 -0.03 0.05"/>
</body></worldbody></mujoco>
"""


@pytest.fixture
def sample():
    """Return a source of random numbers."""
    return Sampler(11)


def test_swaps_are_their_own_inverses(sample):
    """Halves of vectors, rows of Jacobians and blocks of inertias change places, in batches."""
    v = sample.rng.normal(size=(4, 6))
    assert_close(interchange.swap_parts(v)[:, :3], v[:, 3:])
    assert_close(interchange.swap_parts(interchange.swap_parts(v)), v)
    J = sample.rng.normal(size=(6, 7))
    assert_close(interchange.swap_rows(J) @ np.ones(7), interchange.swap_parts(J @ np.ones(7)))
    inertia = array(sample.rigid())
    assert_close(v[0] @ inertia @ v[1],
                 interchange.swap_parts(v[0]) @ interchange.swap_blocks(inertia)
                 @ interchange.swap_parts(v[1]))
    for bad, words in ((lambda: interchange.swap_parts(np.ones(5)), 'vector has shape'),
                       (lambda: interchange.swap_rows(np.ones(6)), 'matrix has shape'),
                       (lambda: interchange.free_velocity_to_mujoco(np.ones(6), np.ones(6)),
                        'q has shape')):
        with pytest.raises(ShapeError, match=words):
            bad()


def test_quaternion_orders(sample):
    """Scalar last here, scalar first in MuJoCo and the book."""
    assert interchange.quaternion_to_scalar_first([1, 2, 3, 4]).tolist() == [4, 1, 2, 3]
    assert interchange.quaternion_from_scalar_first([4, 1, 2, 3]).tolist() == [1, 2, 3, 4]
    q = sample.rng.normal(size=(2, 7))
    assert_close(interchange.free_position_from_mujoco(interchange.free_position_to_mujoco(q)), q)


def test_pinocchios_spatial_algebra_is_ours_with_halves_swapped(sample):
    """Actions on motions, forces and inertias, and both cross products, agree after swapping."""
    pin = pytest.importorskip('pinocchio', reason='the peer "pin" is not installed')
    X, v, u, f, inertia = (sample.transform(), sample.motion(), sample.motion(), sample.force(),
                           sample.rigid())
    placement = pin.SE3(array(X.E).T, array(X.r))         # of B in A
    swap = interchange.swap_parts
    theirs = pin.Motion(swap(array(v)))
    assert_close(swap(placement.actInv(theirs).vector), array(X @ v))
    assert_close(swap(placement.act(theirs).vector), array(X.inv_apply(v)))
    force = pin.Force(swap(array(f)))
    assert_close(swap(placement.actInv(force).vector), array(X @ f))
    assert_close(swap(theirs.cross(pin.Motion(swap(array(u)))).vector), array(v.cross(u)))
    assert_close(swap(theirs.cross(force).vector), array(v.cross(f)))
    m, c, I_c = inertia.com_form()
    body = pin.Inertia(m, array(c), array(I_c))
    assert_close(interchange.swap_blocks(body.matrix()), array(inertia), 1e-11)
    assert_close(swap((body * theirs).vector), array(inertia @ v), 1e-11)
    assert_close(interchange.swap_blocks(placement.actInv(body).matrix()), array(X @ inertia),
                 1e-11)


def test_free_body_in_mujoco(sample):
    """A spinning free body: our acceleration, converted, is MuJoCo's qacc; forces likewise."""
    mujoco = pytest.importorskip('mujoco', reason='the peer "mujoco" is not installed')
    model = mujoco.MjModel.from_xml_string(FREE_BODY)
    data = mujoco.MjData(model)
    inertia = RigidInertia.from_com(1.5, Vec3(0.1, -0.2, 0.3),
                                    Sym3(0.4, 0.02, -0.03, 0.6, 0.05, 0.9))
    q, v, f = np.array(Free().random(sample.rng)), sample.motion(), sample.force()
    a = inertia.solve(f - v.cross(inertia @ v))
    data.qpos[:] = interchange.free_position_to_mujoco(q)
    data.qvel[:] = interchange.free_velocity_to_mujoco(q, array(v))
    data.qfrc_applied[:] = interchange.free_force_to_mujoco(q, array(f))
    mujoco.mj_forward(model, data)
    assert_close(interchange.free_acceleration_to_mujoco(q, array(v), array(a)), data.qacc, 1e-9)
    assert_close(interchange.free_acceleration_from_mujoco(q, array(v), data.qacc), array(a), 1e-9)
    assert_close(interchange.free_velocity_from_mujoco(q, data.qvel), array(v), 1e-12)
    assert_close(interchange.free_force_from_mujoco(q, data.qfrc_applied), array(f), 1e-12)
    assert array(v) @ array(f) == pytest.approx(data.qvel @ data.qfrc_applied, rel=1e-12)
    batch = interchange.free_velocity_to_mujoco(np.stack([q, q]), np.stack([array(v)] * 2))
    assert_close(batch[1], data.qvel, 1e-12)


@pytest.mark.seed('SIXD P15')
def test_hybrid_jacobian_is_not_the_one_in_base_coordinates(sample):
    """Along base axes at the frame's own origin; base coordinates refer to the base origin."""
    R = Rotation.random(random_state=3).as_matrix()
    p = np.array(sample.vector())
    X = Transform(Mat3(R.T.tolist()), Vec3(*p.tolist()))
    J = sample.rng.normal(size=(6, 3))
    hybrid = interchange.aligned_with_base(J, R)
    for k in range(3):
        base = X.inv_apply(Motion.from_list(J[:, k].tolist()))
        # a frame at the tool whose axes are the base's
        assert_close(hybrid[:, k], array(Transform.translation(Vec3(*p.tolist())) @ base))
        assert np.abs(hybrid[:, k] - array(base)).max() > 1e-3
