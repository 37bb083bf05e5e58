# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What does it cost to move through a singular position: drift, energy, or a spike in force?"""

import sys

import numpy as np
from rbd_ros.manifold import projection, robust, underlying
from rbd_ros.manifold.system import rk4_step, State
from rbd_ros.samples.thesis import five_bar, FIVE_BAR_START

h, seconds = (float(x) for x in (sys.argv[1:3] or ('1e-3', '5')))
mechanism, rest, pull = five_bar(), np.zeros(4), underlying.Baumgarte(10.0, 10.0)
start, record = State(np.array(FIVE_BAR_START), rest), {}
energy = mechanism.energy(*start)
METHODS = {'multipliers and Baumgarte': lambda q, v: underlying.acceleration(
    mechanism, q, v, rest, pull), 'singular values and projection':
    lambda q, v: robust.robust_acceleration(mechanism, q, v, rest)}
for name, method in METHODS.items():
    state, rows = start, []
    for step in range(round(seconds / h)):
        state = rk4_step(mechanism, lambda q, v, method=method: method(q, v).qdd, state, h)
        if 'projection' in name:
            state = State(*projection.project_with_energy(
                mechanism, state, energy, tolerance=1e-6)[:2])
        drift, error = mechanism.constraint(state.q), abs(mechanism.energy(*state) - energy)
        rows.append(((step + 1) * h, np.linalg.cond(mechanism.jacobian(state.q)),
                     np.linalg.norm(drift), error, np.abs(method(*state).multipliers).max()))
    record[name] = t, condition, drift, error, force = np.array(rows).T
    peaks = [float(round(t[k], 3)) for k in range(1, len(t) - 1)
             if condition[k] > 50.0 and condition[k - 1:k + 2].argmax() == 1]
    print(f'{name}: drift {drift.max():.1e} m, energy error {error.max():.1e} J, '
          f'multipliers to {force.max():.1e} N, crossings at {peaks} s')
if len(sys.argv) > 3:
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(3, 1, sharex=True, figsize=(7, 7))
    for k, label in enumerate(('condition number of K', 'drift, m', 'energy error, J')):
        axes[k].set(ylabel=label, xlabel='time, s' if k == 2 else '')
        for name, columns in record.items():
            axes[k].semilogy(columns[0], columns[k + 1] + 1e-17, label=name)
    axes[0].legend(fontsize='small')
    figure.savefig(sys.argv[3], dpi=100, bbox_inches='tight')
