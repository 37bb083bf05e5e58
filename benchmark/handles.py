# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Cost of the inverse inertia of handles against their number: a table and a picture."""

from __future__ import annotations

from pathlib import Path

from benchmark.picture import draw
from benchmark.proof import same
from benchmark.robots import robot_file
import numpy as np

import rbd_ros
from rbd_ros.command_line.timing import best_times
from rbd_ros.model.positions import random_position

#: Six directions each, outermost bodies first.
HANDLES = (
    'left_sole_link', 'right_sole_link', 'gripper_left_base_link', 'gripper_right_base_link',
    'head_2_link', 'arm_left_4_link', 'arm_right_4_link', 'leg_left_4_link', 'leg_right_4_link',
    'torso_2_link', 'base_link', 'arm_left_7_link')
SIZES = (1, 2, 3, 4, 6, 8, 10, 12)
#: Numbers of handles that are also compiled and timed.
TIMED = (1, 2, 4, 8)
QUANTITY = 'inverse_handle_inertia'
PICTURE = Path('benchmark') / 'handles.png'


def report() -> tuple[str, dict[str, object]]:
    """Return the table as text and as data; also draw the picture."""
    model = rbd_ros.load_urdf(robot_file('talos'), True, mimic=False, on_warning=lambda text: None)
    source, robot = rbd_ros.Dynamics(model, backend='reference'), rbd_ros.Dynamics(model)
    methods = robot.methods(QUANTITY)
    q = random_position(model, np.random.default_rng(0))
    counts: dict[str, list[int]] = {method: [] for method in methods}
    times: dict[int, float] = {}
    for n in SIZES:
        for method in methods:
            counts[method].append(
                source.kernel(QUANTITY, HANDLES[:n], method=method).count().total)
        if n in TIMED:
            bound = robot.bind(QUANTITY, HANDLES[:n])
            bound.inputs['q'][:] = q
            bound()
            same(f'{n} handles', next(iter(bound.outputs.values())),
                 robot.inverse_handle_inertia(q, HANDLES[:n], method='dense'))
            times[n] = best_times(bound, repetitions=400)[0] * 1e6
    lines = ['Talos, floating, handles of six directions; operations by method, time of the best:',
             f'{"handles":>8}' + ''.join(f'{name:>9}' for name in methods) + f'{"auto":>12}']
    for k, n in enumerate(SIZES):
        best = min(methods, key=lambda name: counts[name][k])
        time = f'{times[n]:9.2f} us' if n in times else ''
        lines.append(f'{n:8}' + ''.join(f'{counts[name][k]:9}' for name in methods)
                     + f'{best:>12}{time}')
    draw(PICTURE, SIZES, {name: [n / 1000.0 for n in row] for name, row in counts.items()},
         xlabel='handles of six directions on Talos, floating', ylabel='thousand operations',
         title='Inverse operational-space inertia by each method')
    lines.append(f'picture: {PICTURE}')
    return '\n'.join(lines), {'handles': SIZES, 'operations': counts, 'us': times}
