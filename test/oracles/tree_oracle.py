# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Dense oracles for tests: a tree in motion with plain 6x6 matrices, all in base coordinates.

Nothing here is shared with the algorithms but the joints, the placements and the inertias.
"""

import dataclasses

from hypothesis import HealthCheck, settings, strategies as st
import numpy as np
import rbd_ros
from rbd_ros.model import positions
from rbd_ros.samples import families
import sampling
from spatial_oracle import array, columns, crf6, crm6, skew

TREES = st.builds(
    families.random_tree, st.integers(1, 12), st.integers(0, 2**32 - 1),
    branching=st.sampled_from([0.0, 0.3, 0.9]), aligned=st.sampled_from([0.0, 0.5, 1.0]))
LARGE_TREES = st.builds(
    families.random_tree, st.integers(20, 40), st.integers(0, 2**32 - 1),
    branching=st.sampled_from([0.1, 0.4]))
SEEDS = st.integers(0, 2**32 - 1)


def examples(count):
    """Return the settings of a property of so many examples with --all, always the same ones."""
    return settings(max_examples=sampling.examples('properties', count), deadline=None,
                    derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def reference(model):
    """Return the robot uncompiled: the algorithms as they stand in the source."""
    return rbd_ros.Dynamics(model, backend='reference')


def spatial_inertia(inertia):
    """Return the 6x6 matrix of a rigid inertia (2.63)."""
    h = skew(list(inertia.h))
    return np.block([[np.array(inertia.I.to_list()), h], [h.T, inertia.m * np.eye(3)]])


class State:
    """A random state of a model, over its independent coordinates."""

    def __init__(self, model, seed=0):
        rng = np.random.default_rng(seed)
        self.q = np.array(positions.random_position(model, rng))
        self.qd, self.qdd, self.tau = rng.normal(size=(3, model.nv))
        self.f_ext = rng.normal(size=(model.nb, 6))
        self.rng = rng


class DenseTree:
    """
    A tree without mimic joints at q, moving with qd, in base coordinates.

    Lists have an entry 0 for the base. ``X`` is i_X_0; ``S``, ``v``, ``v_J``, ``c`` and ``I``
    are turned to base coordinates, so that no transform is left in the equations (RBDA 5.2).
    """

    def __init__(self, model, q, qd=None, t=0.0):
        q, qd = list(q), [0.0] * model.tree_nv if qd is None else list(qd)
        self.model = model
        self.X, self.S, self.v, self.v_J = [np.eye(6)], [np.zeros((6, 0))], [np.zeros(6)], [0]
        self.c, self.I, self.T = [np.zeros(6)], [np.zeros((6, 6))], [np.zeros((6, 0))]
        for i in range(1, model.nb + 1):
            joint, p = model.joint[i], model.parent[i]
            q_i, qd_i = q[model.q_index[i]], qd[model.v_index[i]]
            X_J = np.array(joint.transform(q_i, t).to_list())
            X = X_J @ np.array(model.X_T[i].to_list()) @ self.X[p]
            back = np.linalg.inv(X)
            v_J = back @ array(joint.velocity(q_i, qd_i, t))
            v = self.v[p] + v_J
            self.X.append(X)
            self.S.append(back @ columns(joint.subspace(q_i, t)))
            self.T.append(X.T @ columns(joint.constraint_subspace(q_i, t)))
            self.v_J.append(v_J)
            self.v.append(v)
            self.c.append(back @ array(joint.bias(q_i, qd_i, t)) + crm6(v) @ v_J)
            self.I.append(X.T @ spatial_inertia(model.inertia[i]) @ X)
        self.bodies = range(1, model.nb + 1)

    def part(self, i, x):
        """Return the entries of joint i in a vector over velocities."""
        return np.asarray(x)[self.model.v_index[i]]

    def accelerations(self, qdd, base=None):
        """Return the acceleration of every body (5.8)."""
        a = [np.zeros(6) if base is None else base]
        for i in self.bodies:
            a.append(a[self.model.parent[i]] + self.S[i] @ self.part(i, qdd) + self.c[i])
        return a

    def net_forces(self, a, f_ext=None):
        """Return what the joints together exert on each body (5.9, 5.10)."""
        f = [np.zeros(6)]
        for i in self.bodies:
            external = 0.0 if f_ext is None else f_ext[i - 1]
            f.append(self.I[i] @ a[i] + crf6(self.v[i]) @ self.I[i] @ self.v[i] - external)
        return f

    def joint_forces(self, net):
        """Return the force transmitted across each joint: the sum over its subtree."""
        return [np.zeros(6), *(sum(net[j] for j in self.model.subtree[i]) for i in self.bodies)]

    def rnea(self, qdd, gravity, f_ext=None):
        """Return tau by RBDA 5.7 to 5.11, in base coordinates."""
        base = np.concatenate([np.zeros(3), -np.asarray(gravity)])
        f = self.joint_forces(self.net_forces(self.accelerations(qdd, base), f_ext))
        return np.concatenate([self.S[i].T @ f[i] for i in self.bodies])

    def jacobian(self, i):
        """Return the Jacobian of body i in base coordinates (4.5)."""
        J = np.zeros((6, self.model.tree_nv))
        for j in self.model.support[i]:
            J[:, self.model.v_index[j]] = self.S[j]
        return J

    def mass_matrix(self):
        """Return H as the sum over bodies of J^T I J (6.11)."""
        total = np.zeros((self.model.tree_nv, self.model.tree_nv))
        for i in self.bodies:
            J = self.jacobian(i)
            total += J.T @ self.I[i] @ J
        return total

    def velocity_product(self, i):
        """Return J-dot q-dot of body i in base coordinates."""
        return sum((self.c[j] for j in self.model.support[i]), np.zeros(6))


def assert_near(actual, expected, *, scale=0.0, limit=1e-10):
    """Compare two arrays relative to the larger of the expected norm and ``scale``."""
    actual, expected = np.asarray(actual, float), np.asarray(expected, float)
    assert actual.shape == expected.shape
    size = max(float(np.linalg.norm(expected)), scale)
    error = float(np.linalg.norm(actual - expected))
    assert error <= limit * size, f'error {error:.3g} at size {size:.3g}'


def with_rotors(model, seed=0):
    """Return the model with a rotor at every velocity variable."""
    rotors = np.random.default_rng(seed).uniform(0.01, 0.5, model.nv)
    return dataclasses.replace(model, rotor_inertia=tuple(rotors.tolist()))
