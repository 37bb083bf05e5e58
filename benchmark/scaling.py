# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Cost against the number of joints of a chain: operations, time and code, as a table and a picture.

Code without loops is what RBDA 10.4 warns of: its size grows with the operations, and past the
instruction cache each operation takes longer. The last columns show it for articulated bodies,
with what a batch, which fills the lanes that one state cannot, makes of the same operations.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmark.large import peer_of
from benchmark.picture import draw
from benchmark.proof import same
import numpy as np
import pinocchio as pin

import rbd_ros
from rbd_ros.command_line.timing import best_times
from rbd_ros.compiler import code_size, emit_objects
from rbd_ros.samples.families import general_chain

SIZES = (2, 4, 8, 16, 32, 64)
METHODS = {
    'inverse dynamics': ('inverse_dynamics', None),
    'articulated bodies': ('forward_dynamics', 'aba'),
    'inertia matrix': ('mass_matrix', None),
}
#: states of a batch
BATCH = 1024
PICTURE = Path('benchmark') / 'scaling.png'


def report() -> tuple[str, dict[str, object]]:
    """Return the table as text and as data; also draw the picture."""
    times: dict[str, list[float]] = {name: [] for name in METHODS}
    counts: dict[str, list[int]] = {name: [] for name in METHODS}
    size: list[int] = []
    batch: list[float] = []
    for n in SIZES:
        robot = rbd_ros.Dynamics(general_chain(n))
        q, x = np.linspace(-1.0, 1.0, n), np.ones(n)
        other, data = peer_of(robot.model)
        peer = {'inverse_dynamics': partial(pin.rnea, other, data, q, x, x),
                'forward_dynamics': partial(pin.aba, other, data, q, x, x),
                'mass_matrix': partial(pin.crba, other, data, q)}
        for name, (quantity, method) in METHODS.items():
            bound = robot.bind(quantity, method=method)
            for key, buffer in bound.inputs.items():
                if key != 'gravity':
                    buffer[:] = q if key == 'q' else x
            bound()
            wanted = np.array(peer[quantity]())
            if quantity == 'mass_matrix':  # the upper triangle of it
                wanted = np.triu(wanted) + np.triu(wanted, 1).T
            same(f'{n} joints, {name}', next(iter(bound.outputs.values())), wanted)
            times[name].append(best_times(bound, repetitions=400)[0] * 1e6)
            kernel = robot.kernel(quantity, method=method)
            counts[name].append(kernel.count().total)
            if method == 'aba':
                size.append(code_size(emit_objects(kernel.graph)))
                states = np.tile(q, (BATCH, 1)), *(np.tile(x, (BATCH, 1)) for _ in range(2))
                call = partial(robot.forward_dynamics, *states, method=method)
                batch.append(best_times(call, repetitions=9)[0] * 1e6 / BATCH)
    lines = [f'{"joints":>8}' + ''.join(f'{name:>28}' for name in METHODS)]
    for k, n in enumerate(SIZES):
        lines.append(f'{n:8}' + ''.join(
            f'{counts[name][k]:14} ops{times[name][k]:7.2f} us' for name in METHODS))
    aba = 'articulated bodies'
    lines += [f'{aba}: code, time of an operation alone and in a batch of {BATCH}', *(
        f'{n:8}{kb / 1024:10.1f} kB{kb / ops:7.2f} bytes/op{1e3 * alone / ops:8.3f} ns'
        f'{1e3 * many / ops:8.3f} ns' for n, kb, ops, alone, many in zip(
            SIZES, size, counts[aba], times[aba], batch, strict=True))]
    draw(PICTURE, SIZES, times, proportional=True, xlabel='revolute joints in a general chain',
         ylabel='us per call',
         title='Time of a bound call; dotted: proportional to the number of joints')
    lines.append(f'picture: {PICTURE}')
    return '\n'.join(lines), {
        'joints': SIZES, 'operations': counts, 'us': times, 'bytes': size, 'us_in_batch': batch}
