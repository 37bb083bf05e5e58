# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What is the linear form of a mechanism with a loop, at rest and where it falls?"""

import numpy as np
from rbd_ros.manifold import implicit, linearize, projection, underlying
from rbd_ros.manifold.chart import choose
from rbd_ros.manifold.local_form import LocalForm
from rbd_ros.manifold.system import State
from rbd_ros.samples import thesis

five_bar, rest = thesis.five_bar(), np.zeros(4)
PAIRS = ((0, 1), (0, 3), (1, 2))

# Let it hang, with dampers in its joints: implicit steps of 0.2 s, each solved with 1 - h A.
state = State(projection.project_position(five_bar, np.array(thesis.FIVE_BAR_SWING))[0], rest)
form = LocalForm(five_bar, state.q, lambda q, qd: -10.0 * qd)
for _ in range(120):
    state = implicit.implicit_step(form, five_bar, state, 0.2, applied=lambda q, v: (
        np.zeros((4, 4)), -10.0 * np.eye(4))).state
print(f'it hangs at {np.round(state.q, 6)}, {five_bar.energy(*state):.6f} J')

hanging = State(state.q, rest)
thrown = State(np.array(thesis.FIVE_BAR_START), rest)
values = {}
for name, at in (('hanging', hanging), ('falling', thrown)):
    for pair in PAIRS:
        A = linearize.linear_form(five_bar, choose(five_bar, at.q, pair), at, rest).A
        values[name, pair] = np.sort_complex(np.linalg.eigvals(A))
        print(f'{name}, joints {pair[0] + 1} and {pair[1] + 1}: '
              f'{np.array2string(values[name, pair], precision=4, suppress_small=True)}')
    Df = linearize.naive_jacobian(
        five_bar, lambda q, v: underlying.acceleration(five_bar, q, v, rest).qdd, at)
    P = linearize.orthogonal_projector(underlying.invariant_jacobian(five_bar, *at))
    whole = np.linalg.eigvals(linearize.on_manifold(Df, P))
    values[name] = np.sort_complex(whole[np.abs(whole) > 0.1])
    print(f'{name}, no coordinates: {np.array2string(values[name], precision=4)}, and '
          f'{np.count_nonzero(np.abs(whole) <= 0.1)} zeros')
