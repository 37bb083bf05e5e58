# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What ``rbd identify`` shows and writes of a whole robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rbd_ros.command_line.figure_file import new_figure, save_figure
from rbd_ros.command_line.output import number, table
from rbd_ros.compiler import Array
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.identification.equations import Motion
from rbd_ros.identification.recording import Recording
from rbd_ros.identification.whole_robot import Identified, predicted_torque

__all__ = ['compared', 'Compared', 'data', 'draw_torques', 'held_out', 'parts']

#: Share of a recording that is kept for the comparison where there is no other recording.
HELD_OUT = 0.25
#: Most combinations that are listed in a table or a warning.
LISTED = 12


class Compared(NamedTuple):
    """Measured and predicted torques of a motion that was not used, (count, nv)."""

    t: Array
    measured: Array
    before: Array
    after: Array

    def rms(self, which: str) -> Array:
        """Return the root mean square of what ``before`` or ``after`` leaves of each joint."""
        return np.sqrt(np.mean((self.measured - getattr(self, which))**2, axis=0))


def held_out(recording: Recording) -> tuple[Recording, Recording]:
    """Return the part of a recording that is used, and the one that is not."""
    cut = np.searchsorted(recording.t, recording.t[-1] - HELD_OUT * np.ptp(recording.t))
    return (Recording(*(values[:cut] for values in recording)),
            Recording(*(values[cut:] for values in recording)))


def compared(robot: Dynamics, motion: Motion, found: Identified) -> Compared:
    """Return measured and predicted torques of a motion, without its ends."""
    kept = motion.kept()
    inner = slice(kept[0], kept[-1] + 1)
    before, after = (predicted_torque(robot, motion, found.kind, x)[inner]
                     for x in (found.described, found.parameters))
    return Compared(motion.t[inner] - motion.t[0], motion.tau[inner], before, after)


def data(robot: Dynamics, found: Identified, seen: Compared) -> dict[str, Any]:
    """Return the result as data."""
    return {
        'parameters': dict(zip(found.names, found.parameters, strict=True)),
        'described': dict(zip(found.names, found.described, strict=True)),
        'excitation': found.excitation, 'joints': list(robot.model.independent_joint_names),
        'residual_before': seen.rms('before'), 'residual_after': seen.rms('after'),
        'torque_range': np.ptp(seen.measured, axis=0), 'noise': found.noise,
        'base_parameters': len(found.base),
        'combinations': [each._asdict() | {'low': each.low, 'high': each.high}
                         for each in found.base],
        'never': found.never, 'untold': [each.name for each in found.untold]}


def parts(robot: Dynamics, found: Identified, seen: Compared) -> list[Any]:
    """Return the tables and sentences for a terminal."""
    model = robot.model
    before, after, size = seen.rms('before'), seen.rms('after'), np.ptp(seen.measured, axis=0)
    share = 100.0 * after / np.where(size > 0.0, size, np.inf)
    joints = model.independent_joint_names
    rest = [[joint, *map(float, row)] for joint, row in zip(
        joints, np.column_stack([before, after, share, found.noise]), strict=True)]
    drives = found.drives(model.nv)
    rubbing = [[joint, *(float(values[k]) for values in drives.values())]
               for k, joint in enumerate(joints)]
    x, old = found.parameters.tolist(), found.described.tolist()
    bodies = [[body, old[10 * k], x[10 * k], _centre(old[10 * k:]), _centre(x[10 * k:])]
              for k, body in enumerate(model.body_names[1:])]
    changed = sorted(found.base, key=lambda each: -abs(each.value - each.described)
                     / max(each.deviation, 1e-300))[:LISTED]
    combos = [[_name(each), each.described, each.value, each.low, each.high] for each in changed]
    told = [table('Remaining torque on a motion that was not used for the fit (rms, N.m or N)', (
                'joint', '>URDF', '>identified', '>% of range', '>noise'), rest),
            table('Drives', ('joint', *(f'>{term}' for term in drives)), rubbing),
            table('Bodies', ('body', '>mass in URDF, kg', '>identified', 'centre in URDF, m',
                             'identified'), bodies),
            table('What the torques depend on, with 95 % intervals: the largest changes', (
                'combination', '>URDF', '>identified', '>from', '>to'), combos),
            f'excitation {number(found.excitation, 3)}, {len(found.base)} combinations of '
            'parameters act on the torques; --json has all']
    if found.never:
        told.append(f'no motion can reveal: {_listed(found.never)}; they stay as in the URDF')
    return told


def _name(each: Any) -> str:
    more = len(each.members)
    return each.name + (f' with {more} other{"s" if more > 1 else ""}' if more else '')


def _centre(x: Sequence[float]) -> str:
    return str([round(h / x[0], 4) + 0.0 for h in x[1:4]]) if x[0] > 0.0 else '-'


def _listed(names: Sequence[str]) -> str:
    more = len(names) - LISTED
    return ', '.join(names[:LISTED]) + (f' and {more} more' if more > 0 else '')


def draw_torques(seen: Compared, units: Mapping[str, str], file: Path, title: str) -> None:
    """
    Write a picture of measured and predicted torques, before and after.

    :param units: of the positions of all joints, by name.
    :param file: its ending chooses the format.
    """
    figure = new_figure(file, 1.0 + 1.9 * len(units), title)
    grid = figure.subplots(len(units), 1, sharex=True, squeeze=False)[:, 0]
    before, after = seen.rms('before'), seen.rms('after')
    for k, (joint, unit) in enumerate(units.items()):
        grid[k].plot(seen.t, seen.measured[:, k], 'k', linewidth=1.4, label='measured')
        grid[k].plot(seen.t, seen.before[:, k], 'tab:red', linewidth=0.9,
                     label=f'URDF ({before[k]:.3g} rms)')
        grid[k].plot(seen.t, seen.after[:, k], 'tab:green', linewidth=0.9,
                     label=f'identified ({after[k]:.3g} rms)')
        grid[k].set_ylabel(f'{joint}, {"N" if unit == "m" else "N.m"}')
        grid[k].legend(loc='upper right', fontsize='x-small')
    grid[-1].set_xlabel('time, s')
    save_figure(figure, file, lambda picture: (
        '<!doctype html><html><head><meta charset="utf-8"></head><body>'
        f'{picture}</body></html>\n'))
