# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Compiled = reference = C = batch: the same numbers to rounding from every backend."""

import ctypes
import dataclasses
import shutil
import subprocess

import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms.loops import constraints
from rbd_ros.joints import Revolute
from rbd_ros.samples import families
from special_tree import special_tree
from tree_oracle import assert_near, State, with_rotors

pytestmark = pytest.mark.slow

COMPILER = shutil.which('gcc') or shutil.which('cc') or shutil.which('clang')
BATCH = 5


def gripper():
    """Return a branched robot whose second finger follows the first."""
    rng = np.random.default_rng(4)
    builder = rbd_ros.ModelBuilder('gripper')
    follows = rbd_ros.Mimic('finger_1', -0.7, 0.2)
    for name, parent, mimic in (('arm', 'base', None), ('finger_1', 'arm', None),
                                ('finger_2', 'arm', follows), ('tip', 'finger_2', None)):
        builder.add_body(f'{name}_link', 'base' if parent == 'base' else f'{parent}_link',
                         Revolute(tuple(rng.normal(size=3).tolist())),
                         families.random_transform(rng), families.random_inertia(rng),
                         joint_name=name, mimic=mimic)
    return builder.build()


MODELS = {
    'branched': lambda: families.random_tree(5, 11, branching=0.8),
    'axes': lambda: families.random_tree(6, 5, aligned=1.0, joints=('revolute', 'prismatic')),
    'rotors': lambda: with_rotors(families.random_tree(3, 8)),
    'mimic': gripper,
    'special': special_tree,
}


@pytest.fixture(params=MODELS, scope='module')
def model(request):
    """Return one of the models."""
    return MODELS[request.param]()


def questions(model):
    """Return calls of every method: name, and arguments out of a State."""
    frame = model.body_names[-1]
    calls = [
        ('inverse_dynamics', ('q', 'qd', 'qdd'), ()),
        ('inverse_dynamics', ('q', 'qd', 'qdd', 'f_ext'), ()),
        ('bias', ('q', 'qd'), ()), ('gravity', ('q',), ()),
        ('joint_wrenches', ('q', 'qd', 'qdd', 'f_ext'), ()),
        ('mass_matrix', ('q',), ()), ('inverse_mass_matrix', ('q',), ()),
        ('forward_dynamics', ('q', 'qd', 'tau'), ()),
        ('kinetic_energy', ('q', 'qd'), ()), ('potential_energy', ('q',), ()),
        ('center_of_mass', ('q',), ()), ('momentum', ('q', 'qd'), ()),
        ('pose', ('q',), (frame,)), ('jacobian', ('q',), (frame,)),
        ('velocity', ('q', 'qd'), (frame,)), ('jacobian_rate', ('q', 'qd'), (frame,))]
    return calls


def tolerance(model, name):
    """Return the limit: rounding, more where a solve with H magnifies it."""
    return 1e-9 if name in ('forward_dynamics', 'inverse_mass_matrix') else 1e-12


@pytest.mark.sampled('robots', 3)
@pytest.mark.seed('RBDA 10-20', 'RBDA 1-04')
@pytest.mark.parametrize('backend', ['llvm', 'python'])
def test_backends_agree_with_the_source(model, backend):
    """Every quantity of every kind of robot, one state and a batch, is the reference's."""
    if backend == 'llvm':
        pytest.importorskip('llvmlite', reason='llvmlite is not installed')
    robot = rbd_ros.Dynamics(model, backend=backend)
    plain = rbd_ros.Dynamics(model, backend='reference')
    states = [State(model, seed) for seed in range(BATCH)]
    for each in (robot, plain):
        each.set_time(0.37)
        each.set_gravity([0.5, -1.0, -9.0])
    for name, inputs, tail in questions(model):
        rows = [[getattr(s, key) for key in inputs] for s in states]
        expected = np.array([getattr(plain, name)(*row, *tail) for row in rows])
        single = np.array([getattr(robot, name)(*row, *tail) for row in rows])
        batch = getattr(robot, name)(*map(np.array, zip(*rows)), *tail)
        limit = tolerance(model, name)
        assert_near(single, expected, limit=limit, scale=1e-3)
        assert_near(batch, expected, limit=limit, scale=1e-3)


@pytest.mark.sampled('robots', 3)
@pytest.mark.parametrize('backend', ['llvm', 'python'])
def test_handles_agree_with_the_source(model, backend):
    """Phi and b of handles, and Lambda where it exists, are those of the reference."""
    if backend == 'llvm':
        pytest.importorskip('llvmlite', reason='llvmlite is not installed')
    robot = rbd_ros.Dynamics(model, backend=backend)
    plain = rbd_ros.Dynamics(model, backend='reference')
    names = [model.body_names[-1], model.body_names[1]]
    for chosen in (names[:1], names):
        for seed in range(2):
            s = State(model, seed)
            found, expected = (each.operational_space(s.q, s.qd, chosen, max_condition=1e4)
                               for each in (robot, plain))
            assert_near(found.Phi, expected.Phi, limit=1e-9)
            assert_near(found.b, expected.b, limit=1e-9)
            assert_near(found.J, expected.J, limit=1e-12)
            # the bound on the condition number magnifies rounding by itself
            assert_near(found.Lambda, expected.Lambda, limit=1e-7)


@pytest.mark.sampled('robots', 1)
@pytest.mark.skipif(COMPILER is None, reason='this machine has no C compiler')
def test_c_source_gives_the_same_numbers(model, tmp_path):
    """The C99 functions of a robot, compiled with warnings as errors, are the reference."""
    robot = rbd_ros.Dynamics(model, backend='reference')
    robot.set_time(0.37)
    names = ('inverse_dynamics', 'gravity', 'bias', 'mass_matrix', 'forward_dynamics')
    source, header = robot.c_source(prefix='arm')
    (tmp_path / 'arm.c').write_text(source)
    (tmp_path / 'arm.h').write_text(header)
    subprocess.run([COMPILER, '-std=c99', '-Wall', '-Werror', '-O0', '-fPIC', '-shared',
                    str(tmp_path / 'arm.c'), '-o', str(tmp_path / 'arm.so'), '-lm'], check=True)
    library = ctypes.CDLL(str(tmp_path / 'arm.so'))
    s = State(model, 1)
    inputs = {'inverse_dynamics': ('q', 'qd', 'qdd'), 'gravity': ('q',), 'bias': ('q', 'qd'),
              'mass_matrix': ('q',), 'forward_dynamics': ('q', 'qd', 'tau')}
    for name in names:
        arguments = [getattr(s, key) for key in inputs[name]]
        expected = getattr(robot, name)(*arguments)
        common = [] if name == 'mass_matrix' else [np.array(model.gravity)]
        if model.time_dependent:
            common.append(np.array([0.37]))
        out = np.zeros(expected.shape)
        arrays = [np.ascontiguousarray(x) for x in (*arguments, *common, out)]
        getattr(library, f'arm_{name}')(*[ctypes.c_void_p(x.ctypes.data) for x in arrays])
        assert_near(arrays[-1], expected, limit=tolerance(model, name))


# --- joints that follow others -------------------------------------------------------------------

@pytest.mark.seed('RBDA 3-14', 'RBDA 3-10', 'RBDA 9-16')
@pytest.mark.parametrize('seed', range(4))
def test_mimic_joints_are_a_constraint(seed):
    """G^T H G and G^T C move the robot as constraint forces K^T lambda would."""
    model = gripper()
    free = dataclasses.replace(
        model, coupling=None, **{name: (value,) * 4 for name, value in (
            ('lower', -9.0), ('upper', 9.0), ('effort_limit', 9.0), ('velocity_limit', 9.0),
            ('friction', 0.0), ('damping', 0.0), ('rotor_inertia', 0.0), ('gear_ratio', 1.0))})
    G = np.array(model.coupling.G(()))
    s = State(model, seed)
    q, qd = np.array(model.expand_q(s.q)), G @ s.qd
    assert q[2] == pytest.approx(-0.7 * q[1] + 0.2)
    robot, tree = (rbd_ros.Dynamics(each, backend='reference') for each in (model, free))
    H, C = tree.mass_matrix(q), tree.bias(q, qd)
    assert_near(robot.mass_matrix(s.q), G.T @ H @ G, limit=1e-14)
    assert_near(robot.bias(s.q, s.qd), G.T @ C, limit=1e-13)
    tau = s.rng.normal(size=4)
    ydd = robot.forward_dynamics(s.q, s.qd, G.T @ tau)
    # implicit form of the same constraint: K qdd = 0
    K = np.array([[0.0, 0.7, 1.0, 0.0]])
    assert_near(K @ G, np.zeros((1, 3)), scale=1.0, limit=1e-15)
    found = constraints.implicit(H, C, tau, K, [0.0])
    assert found.rank == 1
    assert_near(G @ ydd, found.qdd)
    constraint = K.T @ found.multipliers
    assert_near(H @ found.qdd + C, tau + constraint)                                       # 3.15
    assert_near(G.T @ constraint, np.zeros(3), scale=np.linalg.norm(constraint), limit=1e-14)
    assert constraint @ qd == pytest.approx(0.0, abs=1e-12)
    # power and energy are the same in both coordinates (3.22, 3.23)
    assert (G.T @ tau) @ s.qd == pytest.approx(tau @ qd, rel=1e-13)
    assert robot.kinetic_energy(s.q, s.qd) == pytest.approx(0.5 * qd @ H @ qd, rel=1e-13)
    assert_near(robot.jacobian(s.q, 'tip_link'), tree.jacobian(q, 'tip_link') @ G, limit=1e-14)
    assert_near(robot.inverse_mass_matrix(s.q) @ (G.T @ H @ G), np.eye(3), limit=1e-11)


@pytest.mark.seed('RBDA 9-16', 'RBDA 9-19')
def test_geared_arm_of_the_book():
    """Two links with rotors geared by 100 and 80: G^T H G and the accelerations (9.27)."""
    from rbd_ros.spatial import RigidInertia, Sym3, Transform, Vec3
    z = (0.0, 0.0, 1.0)

    def body(m, x, moment):
        return RigidInertia.from_com(m, Vec3(x, 0.0, 0.0), Sym3.diagonal(moment, moment, moment))
    builder = rbd_ros.ModelBuilder('geared', gravity=(0.0, -9.81, 0.0))
    builder.add_body('link_1', 'base', Revolute(z), inertia=body(4.0, 0.25, 0.09),
                     joint_name='shoulder')
    builder.add_body('rotor_1', 'base', Revolute(z), Transform.translation(Vec3(0.0, 0.1, 0.0)),
                     body(0.3, 0.0, 1e-4), joint_name='motor_1',
                     mimic=rbd_ros.Mimic('shoulder', 100.0))
    builder.add_body('link_2', 'link_1', Revolute(z), Transform.translation(Vec3(0.5, 0.0, 0.0)),
                     body(3.0, 0.2, 0.05), joint_name='elbow')
    builder.add_body('rotor_2', 'link_1', Revolute(z),
                     Transform.translation(Vec3(0.4, 0.0, 0.0)), body(0.2, 0.0, 6e-5),
                     joint_name='motor_2', mimic=rbd_ros.Mimic('elbow', 80.0))
    robot = rbd_ros.Dynamics(builder.build(), backend='reference')
    y, yd = [0.3, 0.8], [0.5, -0.7]
    H = [[2.7100840256, 0.3838120128], [0.3838120128, 0.554]]
    np.testing.assert_allclose(robot.mass_matrix(y), H, atol=1e-9)
    ydd = robot.forward_dynamics(y, yd, [100.0 * 0.5, 80.0 * 0.2])
    np.testing.assert_allclose(ydd, [5.6901336648, 20.0223643817], atol=1e-9)
    # quick and dirty: the second rotor's mass on the first link, both as reflected inertia
    quick = rbd_ros.ModelBuilder('quick', gravity=(0.0, -9.81, 0.0))
    lump = body(0.2, 0.4, 0.0)
    for name, parent, x, inertia, ratio, rotor in (
            ('link_1', 'base', 0.0, body(4.0, 0.25, 0.09) + lump, 100.0, 1e-4),
            ('link_2', 'link_1', 0.5, body(3.0, 0.2, 0.05), 80.0, 6e-5)):
        quick.add_body(name, parent, Revolute(z), Transform.translation(Vec3(x, 0.0, 0.0)),
                       inertia, joint_name=name, data=rbd_ros.model.builder.JointData(
                           rotor_inertia=rotor * ratio**2, gear_ratio=ratio))
    robot = rbd_ros.Dynamics(quick.build(), backend='reference')
    for method in ('aba', 'crba'):
        ydd = robot.forward_dynamics(y, yd, [50.0, 16.0], method=method)
        np.testing.assert_allclose(ydd, [5.7218643052, 20.0499570671], atol=1e-9)
