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

"""Robots whose inertia matrix can be inverted, and those that move a joint without inertia."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from rbd_ros.configuration import random_position
from rbd_ros.errors import SingularError
from rbd_ros.inertia import crba
from rbd_ros.kinematics import links

if TYPE_CHECKING:
    from rbd_ros.model import Model

# Below this the smallest eigenvalue of H, scaled to a unit diagonal, is rounding.
SMALLEST = 1e-13
SOLVING = ('forward_dynamics', 'inverse_mass_matrix', 'operational_space', 'projection')


def refuse_massless(model: Model, quantity: str) -> None:
    """
    Raise an error where a quantity needs the inverse of H and H has none at any pose.

    :param quantity: name of the quantity.
    """
    if quantity == 'center_of_mass' and model.total_mass == 0.0:
        raise SingularError(f'"{model.name}" has no moving mass, and so no centre of mass')
    if quantity not in SOLVING:
        return
    joint = massless_joint(model)
    if joint is not None:
        raise SingularError(
            f'joint "{joint}" of "{model.name}" moves without inertia: its acceleration is '
            f'undefined and {quantity} does not exist; give what it carries a mass or the joint '
            'a rotor inertia, or fix it')


@lru_cache(maxsize=64)
def massless_joint(model: Model) -> str | None:
    """Return a joint that can move while no inertia does, at a pose without symmetry."""
    q = model.expand_q(random_position(model, np.random.default_rng(0)))
    G = np.array(np.eye(model.nv) if model.mimic is None else model.mimic.G).reshape(-1, model.nv)
    H = G.T @ np.array(crba(model, links(model, q))).reshape(G.shape[0], -1) @ G
    H = H + np.diag(model.rotor_inertia)
    if model.nv == 0:
        return None
    size = np.sqrt(np.maximum(np.diag(H), 0.0))
    scaled = H / np.outer(size, size) if size.all() else np.diag(size)
    values, vectors = np.linalg.eigh(scaled)
    if values[0] > SMALLEST:
        return None
    k = int(np.argmax(np.abs(vectors[:, 0])))
    return next(name for name in model.independent_joint_names
                if k in range(*model.velocity_slice(name).indices(model.nv)))
