# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A five-bar with all links in one line loses a constraint: can it start there?"""

import sys

import numpy as np
from rbd_ros.manifold.robust import Options, robust_acceleration
from rbd_ros.manifold.system import rk4_step, State
from rbd_ros.samples.thesis import five_bar, FIVE_BAR_SINGULAR

h, seconds = (float(x) for x in (sys.argv[1:3] or ('1e-3', '5')))
mechanism, rest = five_bar(), np.zeros(4)
# Multipliers would be infinite here. The direction that the constraint loses becomes a freedom:
# any other choice would be one of rounding.
options, state = Options(release=True), State(np.array(FIVE_BAR_SINGULAR), rest)
start, rows = mechanism.energy(*state), []
for step in range(round(seconds / h)):
    found = robust_acceleration(mechanism, *state, rest, options)
    rows.append((step * h, found.condition, abs(mechanism.energy(*state) - start)))
    state = rk4_step(mechanism, lambda q, v: robust_acceleration(
        mechanism, q, v, rest, options).qdd, state, h)

times, conditions, errors = np.array(rows).T
back = times[times > 1.0][np.argmax(conditions[times > 1.0])]
drift = np.linalg.norm(mechanism.constraint(state.q))
print(f'condition number at the start {conditions[0]:.1e}, least {min(conditions):.2f}')
print(f'back at the singular position after {back:.3f} s (the thesis has 2.82 s)')
print(f'drift {drift:.1e} m, largest energy error {max(errors):.1e} J')
if len(sys.argv) > 3:
    from matplotlib import pyplot
    figure, (top, bottom) = pyplot.subplots(2, 1, sharex=True, figsize=(7, 5))
    top.semilogy(times, np.minimum(conditions, 1e6))
    top.set(ylabel='condition number of K', title='released at the singular position')
    bottom.plot(times, errors)
    bottom.set(xlabel='time, s', ylabel='energy error, J')
    figure.savefig(sys.argv[3], dpi=100, bbox_inches='tight')
