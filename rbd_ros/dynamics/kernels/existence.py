# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Robots whose inertia matrix can be inverted, and those that move a joint without inertia."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rbd_ros.algorithms.crba import crba
from rbd_ros.algorithms.kinematics import links
from rbd_ros.compiler import Array
from rbd_ros.dynamics.prescribed import prescribed_variables
from rbd_ros.dynamics.quantity import Quantity
from rbd_ros.dynamics.state import with_payloads
from rbd_ros.errors import SingularError
from rbd_ros.model.model import Frame, Model
from rbd_ros.model.positions import random_position
from rbd_ros.spatial import RigidInertia

Held = tuple[str, ...]

# Below this the smallest eigenvalue of H, scaled to a unit diagonal, is rounding.
SMALLEST = 1e-13
#: Parts of joints in a motion that differ by less, relative to the largest, are equal.
_EQUAL = 1e-6
#: Payloads whose answer is remembered.
_REMEMBERED = 16
#: A body with inertia in every direction, as payload.
_ANY_LOAD = (1.0, 0.1, 0.2, 0.3, 1.13, -0.02, -0.03, 1.10, -0.06, 1.05)


class Existence:
    """
    Whether the quantities of one robot exist, with the payload that it has.

    A joint that moves nothing but a payload frame can be solved for only while a payload hangs
    there: this is looked at again whenever the payload is another.

    :param frames: that carry payloads.
    """

    def __init__(self, model: Model, frames: Sequence[Frame]) -> None:
        self._model, self._frames = model, frames
        self._seen: dict[tuple[str, Held, bytes], str] = {}
        self._depends: dict[tuple[str, Held], bool] = {}

    def depends_on_payload(self, quantity: Quantity, held: Held = ()) -> bool:
        """
        Return whether a quantity exists only with a payload.

        :param held: names of joints whose motion is given.
        :raises SingularError: if it does not exist with any payload.
        """
        name, solves = quantity.name, quantity.traits.solves
        if (name, held) not in self._depends:
            bare = lacking(self._model, name, solves, held=held)
            if bare:
                loaded = with_payloads(
                    self._model, self._frames, [_ANY_LOAD] * len(self._frames))
                if reason := lacking(self._model, name, solves, loaded, held):
                    raise SingularError(reason)
            self._depends[name, held] = bool(bare)
        return self._depends[name, held]

    def check(self, quantity: Quantity, payload: Array, held: Held = ()) -> None:
        """
        Raise an error where a quantity does not exist with a payload.

        :param payload: ten numbers for each frame, see ``with_payloads``.
        """
        key = quantity.name, held, payload.tobytes()
        reason = self._seen.get(key)
        if reason is None:
            inertia = with_payloads(
                self._model, self._frames, payload.reshape(-1, 10).tolist())
            if len(self._seen) > _REMEMBERED:
                self._seen.clear()
            reason = self._seen[key] = lacking(
                self._model, quantity.name, quantity.traits.solves, inertia, held)
        if reason:
            raise SingularError(f'{reason}; set_payload can give it one')


def refuse_massless(model: Model, quantity: str) -> None:
    """Raise an error where a quantity solves for all joints and H has no inverse at any pose."""
    if reason := lacking(model, quantity, 'joints'):
        raise SingularError(reason)


def lacking(
    model: Model, quantity: str, solves: str, inertia: Sequence[RigidInertia] | None = None,
    held: Held = (),
) -> str:
    """
    Return why a quantity does not exist, '' where it does.

    :param quantity: its name.
    :param solves: for the motion of what, see ``Traits``.
    :param inertia: inertia of each body, where it is not the one of the model.
    :param held: names of joints whose motion is given.
    """
    moving = (inertia or model.inertia)[1:]
    if solves == 'centre' and not any(float(body.m) for body in moving):
        return f'"{model.name}" has no moving mass, and so no centre of mass'
    if solves == 'base':
        held = model.independent_joint_names[1:]
    elif solves != 'joints':
        return ''
    joint = massless_joint(model.spanning_tree, inertia, held)
    if joint is None:
        return ''
    if model.loops:                                  # they may move what has no inertia
        return (f'joint "{joint}" of "{model.name}" moves without inertia, and the compiled '
                f'{quantity} of a robot with loops needs the inverse of H of its tree; give what '
                'it carries a mass or the joint a rotor inertia (Dynamics.forward_dynamics and '
                'loop_dynamics go without that inverse)')
    return (f'joint "{joint}" of "{model.name}" moves without inertia: its acceleration is '
            f'undefined and {quantity} does not exist; give what it carries a mass or the joint '
            'a rotor inertia, or fix it')


def has_weak_body(model: Model) -> bool:
    """Return whether a joint feels no inertia of the body it carries, but only of others."""
    for i, name in enumerate(model.joint_names, 1):
        joint, inertia = model.joint[i], model.inertia[i]
        S = joint.subspace(joint.neutral())
        if not S:       # driven by time alone
            continue
        own = np.array([[float(a.dot(inertia @ b)) for a in S] for b in S])
        if model.coupling is None:
            own += np.diag(model.rotor_inertia[model.velocity_slice(name)])
        if np.linalg.eigvalsh(own)[0] <= SMALLEST * np.abs(own).max():
            return True
    return False


def massless_joint(
    model: Model, inertia: Sequence[RigidInertia] | None = None, held: Held = (),
    at: Sequence[float] | None = None,
) -> str | None:
    """
    Return a joint that can move while no inertia does.

    :param held: names of joints whose motion is given, and for which nothing is solved.
    :param at: position; None for one without symmetry.
    """
    free = np.flatnonzero(~prescribed_variables(model, held))
    if free.size == 0:
        return None
    y = random_position(model, np.random.default_rng(0)) if at is None else at
    q, coupling = model.expand_q(y), model.coupling
    G = np.array(np.eye(model.nv) if coupling is None else coupling.G(y)).reshape(-1, model.nv)
    tree, rotors = links(model, q), np.diag(model.rotor_inertia)

    def joint_space(inertia: Sequence[RigidInertia]) -> Array:
        H = G.T @ np.array(crba(model, tree, inertia)).reshape(G.shape[0], -1) @ G
        return (H + rotors)[np.ix_(free, free)]

    H = joint_space(inertia or model.inertia)
    own = np.diag(H if inertia is None else joint_space(model.inertia))
    # what is left of an inertia that was taken away is rounding
    size = np.sqrt(np.where(np.diag(H) > SMALLEST * own, np.diag(H), 0.0))
    share = np.where(size > 0.0, 0.0, 1.0)
    if not share.any():
        values, vectors = np.linalg.eigh(H / np.outer(size, size))
        if values[0] > SMALLEST:
            return None
        share = np.abs(vectors[:, 0])
    # of joints that move as much, the first: which is larger by rounding depends on the machine
    k = int(free[np.flatnonzero(share > (1.0 - _EQUAL) * share.max())[0]])
    return next(name for name in model.independent_joint_names
                if k in range(*model.velocity_slice(name).indices(model.nv)))
