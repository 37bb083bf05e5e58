# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What is measured on a GPU: robots, quantities, number types, forms; and what the goals are."""

from __future__ import annotations

import math
from typing import NamedTuple

#: What of a form a variant changes, see ``rbd_ros.compiler.gpu.program.Form``.
LETTERS = {'r': 'registers', 'g': 'groups', 'b': 'block', 'p': 'part', 't': 'table',
           'v': 'volatile', 'l': 'level', 's': 'staged'}
#: Variants that are tried of kernels of double: short ones, derivatives, long ones.
_SHORT = ('l1', 'l2', 'r255', 'r128', 'r104', 'r96', 'r80', 'r72', 'l1 r80', 'b64', 'b256')
_DERIVED = ('l1', 'l2', 'l4', 'g2', 'l1 g2', 'l1 p2500')
_STAGED = ('s0', 's0 l1', 's1', 's1 l1', 's1 l2', 's1 l4')
_LONG = ('l1', 'l2', 'r168', 'b256', 'l1 p9000')
#: ns per state, of double, batches of 2^20, by robot and quantity.
GOALS = {
    ('ur5', 'inverse_dynamics'): 0.05, ('ur5', 'forward_dynamics'): 0.07,
    ('panda', 'inverse_dynamics'): 0.085, ('panda', 'forward_dynamics'): 0.15,
    ('talos', 'inverse_dynamics'): 0.6, ('talos', 'forward_dynamics'): 2.5,
    ('talos', 'mass_matrix'): 4.5,
    ('ur5', 'inverse_dynamics_derivatives'): 0.45, ('ur5', 'forward_dynamics_derivatives'): 0.75,
    ('panda', 'inverse_dynamics_derivatives'): 1.0,
    ('panda', 'forward_dynamics_derivatives'): 2.0,
}
#: Steps of a rollout, of 2^16 states; and steps per second of double that are the goal. The
#: quadruped has soft contact; its goal is ten times what its peers do.
STEPS = 1000
ROLLOUTS = {'ur5': 1.4e10, 'panda': 7e9, 'go2': math.nan}


class Job(NamedTuple):
    """
    One kernel to measure.

    :param robot: name of it in ``benchmark.robots``.
    :param quantity: of the table of quantities.
    :param scalar: type of all numbers.
    :param variant: how its form differs from the one that is chosen by itself: words of a letter
        of ``LETTERS`` and a number.
    """

    robot: str
    quantity: str
    scalar: str
    variant: str = ''


def jobs() -> list[Job]:
    """Return all kernels, those of the goals in both number types first."""
    plain = [*GOALS, ('ur5', 'mass_matrix'), ('panda', 'mass_matrix')]
    return [
        *[Job(*which, scalar) for which in plain for scalar in ('float64', 'float32')],
        *[Job(robot, 'rollout', scalar, variant) for robot in ROLLOUTS
          for scalar in ('float64', 'float32') if (robot, scalar) != ('go2', 'float32')
          for variant in ('', 'l1', 'r128', 'r96')],
        *[Job(*which, 'float64', variant) for which in GOALS for variant in variants(*which)]]


def variants(robot: str, quantity: str) -> tuple[str, ...]:
    """Return what is tried of a kernel."""
    if quantity.endswith('derivatives'):
        return _STAGED if quantity.startswith('forward') else _DERIVED
    return _LONG if robot == 'talos' else _SHORT
