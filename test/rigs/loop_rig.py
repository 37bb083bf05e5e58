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

"""Mechanisms with closed loops, compiled once, and states of motion that their loops allow."""

import functools

import numpy as np
import rbd_ros
from rbd_ros.model import positions
from rbd_ros.samples import mechanisms

MECHANISMS = {
    'four_bar': mechanisms.four_bar, 'five_bar': mechanisms.five_bar,
    'spatial_four_bar': mechanisms.spatial_four_bar, 'delta': mechanisms.delta,
    'two_arm_grasp': mechanisms.two_arm_grasp, 'ladder': lambda: mechanisms.ladder(3)}


@functools.cache
def robot(name):
    """Return a compiled mechanism and a closed position of it."""
    model, q = MECHANISMS[name]()
    made = rbd_ros.Dynamics(model, closed_near=q)
    return made, made.assemble(q).require()


def moving(name, seed=0):
    """Return a robot in some motion that its loops allow: position, velocity, forces."""
    made, q = robot(name)
    rng = np.random.default_rng(seed)
    step = 0.2 * made.consistent_velocity(q, rng.normal(size=made.model.nv))
    q = made.assemble(positions.integrate(made.model, q.tolist(), step.tolist())).require()
    qd = made.consistent_velocity(q, rng.normal(size=made.model.nv))
    return made, q, qd, rng.normal(size=made.model.nv)
