# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Planar arithmetic for robots that move in one plane, whatever way the plane lies (RBDA 2.16)."""

import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms.other_forms import planar
from rbd_ros.joints import Prismatic, Revolute
from rbd_ros.samples import families
from rbd_ros.spatial import Mat3, Transform, Vec3

#: The methods of each quantity that know nothing of planes.
OTHERS = {'inverse_dynamics': 'spatial', 'bias': 'spatial', 'gravity': 'composite',
          'mass_matrix': 'crba', 'forward_dynamics': 'aba'}


def turned(rng):
    """Return a random rotation."""
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    Q *= np.linalg.det(Q)
    return Mat3(tuple(map(tuple, Q.tolist())))


def flat_tree(seed, *, aligned=False, follower=False):
    """Return a branched tree of both joint types in a plane, its frames turned at random."""
    rng = np.random.default_rng(seed)
    normal = np.array([0.0, 0.0, 1.0]) if aligned else rng.normal(size=3)
    normal /= np.linalg.norm(normal)
    builder = rbd_ros.ModelBuilder('flat')
    E_0 = {'base': Mat3.identity()}                     # from base to body coordinates, at q = 0
    for i, slides in enumerate((False, True, False, False, True)):
        parent = ('base', 'b0', 'b1', 'b1', 'b2')[i]
        E = Mat3.identity() if aligned else turned(rng)
        E_0[f'b{i}'] = E @ E_0[parent]
        axis = np.cross(normal, rng.normal(size=3)) if slides else normal * (-1.0) ** i
        own = np.array(E_0[f'b{i}'].rows) @ axis / np.linalg.norm(axis)
        mimic = rbd_ros.Mimic('j0', 0.5, 0.2) if follower and i == 3 else None
        builder.add_body(
            f'b{i}', parent, (Prismatic if slides else Revolute)(tuple(own.tolist())),
            Transform(E, Vec3(*rng.normal(size=3).tolist())), families.random_inertia(rng),
            joint_name=f'j{i}', mimic=mimic, data=rbd_ros.JointData(rotor_inertia=0.1 * i))
    return builder.build()


@pytest.mark.seed('RBDA 10-03', 'RBDA 10-15', 'RBDA A-01')
@pytest.mark.parametrize('seed,follower', [(1, False), (2, False), (3, True)])
def test_planar_rules_agree_with_the_spatial_ones(seed, follower):
    """In a plane that lies askew, with loads and payload, all quantities are the same."""
    model = flat_tree(seed, follower=follower)
    robot = rbd_ros.Dynamics(model, backend='reference', payload_frame='b3')
    robot.set_payload(1.5, [0.1, 0.2, -0.3], np.diag([0.3, 0.4, 0.5]))
    rng = np.random.default_rng(seed)
    q, qd, x = rng.normal(size=(3, model.nv))
    f_ext = rng.normal(size=(model.nb, 6))
    given = {'inverse_dynamics': (q, qd, x), 'bias': (q, qd), 'gravity': (q,),
             'mass_matrix': (q,), 'forward_dynamics': (q, qd, x)}
    for name, inputs in given.items():
        for loads in ((), (f_ext,)):
            if loads and name in ('gravity', 'mass_matrix'):
                continue
            kernels = [robot.bind(name, loaded=bool(loads), method=method)
                       for method in ('planar', OTHERS[name])]
            for kernel in kernels:
                for buffer, value in zip(kernel.inputs.values(), (*inputs, *loads)):
                    buffer[:] = value               # gravity and payload follow: as they are now
                kernel()
            (one,), (other,) = (kernel.outputs.values() for kernel in kernels)
            np.testing.assert_allclose(one, other, atol=1e-10 * np.abs(other).max())


@pytest.mark.seed('RBDA 10-15')
def test_the_cheaper_arithmetic_is_compiled():
    """Askew, planar vectors take less than half of the operations; along an axis never more."""
    askew, along = (rbd_ros.Dynamics(flat_tree(4, aligned=aligned), backend='reference')
                    for aligned in (False, True))
    for name, other in OTHERS.items():
        best = {robot: min(robot.kernel(name, method=method).count().total
                           for method in robot.methods(name)) for robot in (askew, along)}
        assert 2 * best[askew] < askew.kernel(name, method=other).count().total
        assert best[askew] == askew.kernel(name, method='planar').count().total
        for robot in (askew, along):
            assert robot.kernel(name).count().total == best[robot]


def test_what_is_not_planar():
    """Axes that are not parallel, slides along the normal, other joints: no planar rule."""
    skew = 1e-9
    cases = [
        [Revolute((0.0, 0.0, 1.0)), Revolute((0.0, skew, 1.0))],
        [Revolute((0.0, 0.0, 1.0)), Prismatic((1.0, 0.0, skew))],
        [Prismatic((1.0, 0.0, 0.0)), Prismatic((0.0, 1.0, 0.0))],
        [families.JOINTS['spherical']((0.0, 0.0, 1.0))]]
    for joints in cases:
        builder = rbd_ros.ModelBuilder('bent')
        for k, joint in enumerate(joints):
            builder.add_body(f'b{k}', f'b{k - 1}' if k else 'base', joint,
                             inertia=families.random_inertia(np.random.default_rng(k)))
        model = builder.build()
        robot = rbd_ros.Dynamics(model, backend='reference')
        assert not planar.is_planar(model) and 'planar' not in robot.methods('bias')
        with pytest.raises(rbd_ros.RbdError, match='bias has no method "planar" for this robot'):
            robot.kernel('bias', method='planar')
        with pytest.raises(rbd_ros.ModelError, match='"bent" does not move in one plane'):
            planar.crba(model, [0.0] * model.nq)
    assert planar.is_planar(flat_tree(1))


def test_planar_inertia_goes_back_and_forth():
    """inv_apply undoes the transform of forces and inertias."""
    X = planar.PlanarTransform.from_angle(0.7, 0.3, -0.4)
    force, body = planar.PlanarForce(0.2, 1.0, -2.0), planar.PlanarInertia(2.0, 0.3, 0.1, 0.9)
    assert X.inv_apply(X @ force).to_list() == pytest.approx(force.to_list(), abs=1e-14)
    back = X.inv_apply(X @ body)
    np.testing.assert_allclose(back.to_list(), body.to_list(), atol=1e-14)
    with pytest.raises(TypeError, match='cannot combine'):
        X.inv_apply(planar.PlanarMotion(1.0, 0.0, 0.0))
