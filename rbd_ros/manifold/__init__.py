# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Constrained systems on their manifold (Spencer, MS thesis, Iowa State University, 2004).

Letters are Featherstone's, as everywhere else: K and k of K qdd = k, and G and g of
qdd = G ydd + g. The thesis calls the first G and -dG/dt v, the second K and dK/dt dy/dt, and
its multipliers have the other sign. Numbers in comments are its equations.
"""
