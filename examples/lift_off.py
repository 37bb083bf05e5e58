# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Which corners of a box keep touching the floor when its top is pushed? (RBDA 11.5)."""

import numpy as np
from rbd_ros import ModelBuilder
from rbd_ros.algorithms.contact.contact_sets import contact_sets
from rbd_ros.algorithms.contact.rigid import Contact, generalized_normals
from rbd_ros.dynamics.contact_system import ContactSystem
from rbd_ros.joints import Free
from rbd_ros.spatial import RigidInertia, Sym3, Vec3

box = RigidInertia.from_com(5.0, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(0.1, 0.1, 0.1))
builder = ModelBuilder('box')
builder.add_body('box', 'base', Free(), inertia=box)
system = ContactSystem(builder.build(), backend='python')

q = np.array([0.0, 0.0, 0.2, 0.0, 0.0, 0.0, 1.0])
corners = [(x, y) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
floor = [Contact(0, 1, (x, y, 0.0), (0.0, 0.0, 1.0)) for x, y in corners]

found = {}
for push in (10.0, 30.0):                       # N, along x, at the top edge
    f_ext = np.array([[0.0, 0.4 * push, 0.0, push, 0.0, 0.0]])
    solution = system.accelerations(q, np.zeros(6), np.zeros(6), floor, f_ext)
    T = generalized_normals(floor, system.motions(q, np.zeros(6)).J)
    sets = contact_sets(T, solution.force, solution.separation)
    found[push] = (solution, sets)
    print(f'pushed with {push:g} N: corners {sets.current.tolist()} stay, forces '
          f'{np.round(solution.force, 2).tolist()} N, {solution.status.value}')
