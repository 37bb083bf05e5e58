# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What keeps a loop closed over time: nothing, Baumgarte's springs, projection, coordinates?"""

import sys

import numpy as np
from rbd_ros.manifold import projection, underlying
from rbd_ros.manifold.local_form import LocalForm
from rbd_ros.manifold.system import rk4_step, State
from rbd_ros.samples.thesis import five_bar, FIVE_BAR_SWING

h, seconds = (float(x) for x in (sys.argv[1:3] or ('0.01', '10')))
mechanism, rest = five_bar(), np.zeros(4)
start = State(projection.project_position(mechanism, np.array(FIVE_BAR_SWING))[0], rest)
energy, form = mechanism.energy(*start), LocalForm(mechanism, start.q, method=[0, 3])
free, sprung = (lambda q, v, rate=rate: underlying.acceleration(
    mechanism, q, v, rest, underlying.Baumgarte(rate, rate)).qdd for rate in (0.0, 10.0))
METHODS = {'nothing': lambda s: rk4_step(mechanism, free, s, h),
           'Baumgarte': lambda s: rk4_step(mechanism, sprung, s, h),
           'projection': lambda s: projection.projected_step(mechanism, free, s, h),
           'local form': lambda s: form.step(s, h)}
record, ends = {}, {}
for name, step in METHODS.items():
    state, rows = start, []
    for k in range(round(seconds / h)):
        state = step(state)
        rows.append(((k + 1) * h, np.linalg.norm(mechanism.constraint(state.q)),
                     abs(mechanism.energy(*state) - energy)))
    record[name], ends[name] = np.array(rows).T, state.q
    print(f'{name:10s} drift {record[name][1].max():.1e} m, energy error '
          f'{record[name][2].max():.1e} J, at the end {state.q}')
if len(sys.argv) > 3:
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(2, 1, sharex=True, figsize=(7, 5))
    for k, label in enumerate(('drift, m', 'energy error, J')):
        for name, columns in record.items():
            axes[k].semilogy(columns[0], columns[k + 1] + 1e-17, label=name)
        axes[k].set(ylabel=label, xlabel='time, s' if k == 1 else '')
    axes[0].legend(ncols=4, fontsize='small')
    figure.savefig(sys.argv[3], dpi=100, bbox_inches='tight')
