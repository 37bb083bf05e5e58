# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Which joints of a mechanism can be chosen as its coordinates, and how good is the choice?"""

from itertools import combinations

import numpy as np
from rbd_ros.manifold.chart import choose, position, validity
from rbd_ros.manifold.nullspace import of_chart
from rbd_ros.samples import thesis

# A pendulum in the plane: its abscissa is a coordinate but at two points of the circle.
circle = thesis.Pendulum()
for angle in (90.0, 30.0, 1.0, 0.0):
    q = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    found = validity([[1.0, 0.0]], [[-1.0]], circle.jacobian(q))
    print(f'pendulum at {angle:4.0f} degrees: condition {found.manifold:.1e}')

# The five-bar of the thesis has two freedoms: six pairs of joints, and what pivoting takes.
five_bar, q = thesis.five_bar(), np.array(thesis.FIVE_BAR_START)
K = five_bar.jacobian(q)
conditions = {pair: choose(five_bar, q, pair).validity(K).manifold
              for pair in combinations(range(4), 2)}
for pair, condition in conditions.items():
    print(f'five-bar, joints {pair[0] + 1} and {pair[1] + 1}: condition {condition:.3f}')
chart = choose(five_bar, q)
best = tuple(int(k) for k in np.argmax(chart.R, axis=1))
print(f'pivoting takes joints {best[0] + 1} and {best[1] + 1}')
moved = position(five_bar, chart, np.array([0.1, -0.1]))
print(f'0.1 rad along both: closed to {np.abs(five_bar.constraint(moved.q)).max():.0e} m after '
      f'{moved.iterations} steps of {", ".join(f"{x:.0e}" for x in moved.sizes)}')

# The parallel robot of 2.4.1: on its manifold the null space is constant.
parallel = thesis.parallel_four_bar()
q = np.array([0.7, 0.3, 0.4, -0.4 - np.pi])
G = of_chart(parallel, choose(parallel, q, [0, 1]), q, np.zeros(4)).G
print('parallel robot, qd of all joints by those of joints 1 and 2:')
print(np.round(G, 12) + 0.0)
