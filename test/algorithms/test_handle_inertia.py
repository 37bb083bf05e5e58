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

"""The inverse inertia of many handles by five methods, against the dense projection."""

import dataclasses

from hypothesis import given, strategies as st
import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms.handles import many_handles, opspace
from rbd_ros.joints import Revolute
from rbd_ros.model.parts import Frame
from rbd_ros.samples import families
from tree_oracle import assert_near, DenseTree, examples, SEEDS, State, with_rotors

few = examples(20)
BUSHY = st.builds(families.random_tree, st.integers(1, 12), SEEDS,
                  branching=st.sampled_from([0.0, 0.4, 0.9]))


def random_handles(model, seed, count=5):
    """Return handles on random bodies, several on one body, the base among them."""
    rng = np.random.default_rng(seed)
    rows = (opspace.FULL, opspace.POINT, tuple(map(tuple, rng.normal(size=(2, 6)).tolist())))
    return [opspace.Handle(Frame(f'h{k}', int(rng.integers(0, model.nb + 1)),
                                 families.random_transform(rng)), rows[k % 3])
            for k in range(count)]


@pytest.mark.parametrize('method', many_handles.METHODS)
@few
@given(model=BUSHY, seed=SEEDS)
def test_propagation_is_the_projection(method, model, seed):
    """Phi = J H^-1 J^T, for all joints, rotors, and handles that share bodies and branches."""
    s, model = State(model, seed), with_rotors(model, seed)
    handles = random_handles(model, seed)
    J = np.array(opspace.task_jacobian(model, s.q.tolist(), handles))
    H = DenseTree(model, s.q).mass_matrix() + np.diag(model.rotor_inertia)
    Phi = many_handles.inverse_handle_inertia(model, s.q.tolist(), handles, method)
    # Both lose what the condition of H takes: with rotors it stays below 1e5 here.
    assert_near(Phi, J @ np.linalg.solve(H, J.T), scale=1e-3, limit=1e-9)


@pytest.fixture(scope='module')
def tree():
    """Return a compiled robot with two arms of three joints on a trunk."""
    rng = np.random.default_rng(0)
    builder = rbd_ros.ModelBuilder('two_arms')
    builder.add_body('trunk', 'base', Revolute((0, 0, 1)), None, families.random_inertia(rng))
    for side in ('left', 'right'):
        above = 'trunk'
        for k in range(3):
            axis = tuple(rng.normal(size=3).tolist())
            builder.add_body(f'{side}_{k}', above, Revolute(axis), families.random_transform(rng),
                             families.random_inertia(rng))
            above = f'{side}_{k}'
    return rbd_ros.Dynamics(builder.build(), payload_frame='left_2', backend='python')


def test_methods_of_the_robot(tree):
    """All methods agree with operational_space, with a payload; auto is the cheapest."""
    hands = [tree.handle(f'{side}_2', point=(0.1, 0.0, 0.2), rows=rbd_ros.POINT)
             for side in ('left', 'right')]
    tree.set_payload(2.0, [0.1, 0.0, 0.0], np.diag([0.02, 0.02, 0.02]))
    s = State(tree.model, 1)
    space = tree.operational_space(s.q, s.qd, hands)
    counts = {}
    for method in tree.methods('inverse_handle_inertia'):
        assert_near(tree.inverse_handle_inertia(s.q, hands, method=method), space.Phi)
        counts[method] = tree.kernel('inverse_handle_inertia', hands, method=method).count().total
    assert set(counts) == {'dense', 'ltl', 'pv', 'krj', 'efpa', 'pvr'}
    chosen = tree.kernel('inverse_handle_inertia', hands).count().total
    assert chosen == min(counts.values()) < max(counts.values())
    assert_near(tree.inverse_handle_inertia(s.q, hands, method='auto'), space.Phi)
    assert_near(tree.handle_inertia(s.q, hands).Lambda, space.Lambda, limit=1e-9)


def test_redundant_handles_need_damping(tree):
    """Twelve directions of seven joints have no inertia, but a damped one."""
    both, s = ['left_2', 'right_2'], State(tree.model, 2)
    with pytest.raises(rbd_ros.SingularError, match='give damping='):
        tree.handle_inertia(s.q, both)
    Phi = tree.inverse_handle_inertia(s.q, both)
    damped = tree.handle_inertia(s.q, both, damping=1e-3).Lambda
    assert_near(damped @ (Phi + 1e-3 * np.eye(12)), np.eye(12), limit=1e-9)
    with pytest.raises(rbd_ros.SettingError, match='damping is -1'):
        tree.handle_inertia(s.q, both, damping=-1.0)


def test_refusals(tree):
    """An unknown method is named; coupled joints leave the factors of H alone."""
    with pytest.raises(rbd_ros.RbdError, match='no method "fast"'):
        tree.inverse_handle_inertia(np.zeros(7), 'left_2', method='fast')
    builder = rbd_ros.ModelBuilder('gripper')
    rng = np.random.default_rng(1)
    for name, law in (('a', None), ('b', rbd_ros.Mimic('a', -1.0))):
        builder.add_body(name, 'base', Revolute((0, 0, 1)), None, families.random_inertia(rng),
                         joint_name=name, mimic=law)
    robot = rbd_ros.Dynamics(builder.build(), backend='python', cache=False)
    assert robot.methods('inverse_handle_inertia') == ('dense', 'ltl')
    finger = robot.handle('b', rows=[(0, 0, 1.0, 0, 0, 0)])
    Phi = robot.inverse_handle_inertia([0.3], finger)
    assert_near(Phi, [[1.0 / robot.mass_matrix([0.3])[0, 0]]])
    with pytest.raises(rbd_ros.ModelError, match='use the method "ltl"'):
        many_handles.inverse_handle_inertia(robot.model, [0.3, -0.3], [finger], 'pv')
    with pytest.raises(rbd_ros.RbdError, match='no method "x" for handles'):
        many_handles.inverse_handle_inertia(
            dataclasses.replace(tree.model), [0.0] * 7, [finger], 'x')
