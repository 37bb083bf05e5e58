# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Compiled = reference = C = batch: the same numbers to rounding from every backend."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest
import rbd_ros
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
