# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Recorded motion: joint states from a rosbag or a table, and accelerations from them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.errors import RbdError
from rbd_ros.identification.bag import BagError, JOINT_STATE, read_messages
from rbd_ros.model.model import Model

#: Fewest samples that the filter needs.
_FEWEST = 30


class Recording(NamedTuple):
    """
    Motion of a robot in its independent coordinates, one row per sample.

    :param t: time, s, (count,).
    :param q: positions, (count, nq).
    :param qd: velocities, (count, nv).
    :param qdd: accelerations, (count, nv); NaN before ``smooth``.
    :param tau: joint forces, (count, nv).
    """

    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array


def read_joint_states(
    path: str | Path, model: Model, topic: str = '/joint_states',
) -> Recording:
    """
    Return the joint states of a bag, with their efforts, in the order of a model.

    :param path: folder of a ROS 2 bag, or file of a ROS 1 bag.
    :param topic: of type sensor_msgs/JointState.
    :raises BagError: if this is not a bag, has no such topic, is empty, or is of another robot.
    """
    names = list(model.independent_joint_names)
    if model.nq != len(names) or model.nv != len(names):
        raise BagError(f'"{model.name}" has joints with several coordinates, which a JointState '
                       'message cannot contain')
    messages = read_messages(path, topic, JOINT_STATE)
    rows, missing = [], set(names)
    for message in messages:
        place = {name: k for k, name in enumerate(message.name)}
        lacking = [name for name in names if name not in place]
        missing = missing.intersection(lacking)
        fields = (message.position, message.velocity, message.effort)
        if lacking or any(len(values) != len(place) for values in fields):
            continue
        order = [place[name] for name in names]
        t = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        rows.append([t, *(np.asarray(values, float)[order] for values in fields)])
    if not messages:
        raise BagError(f'{path}: topic "{topic}" has no messages')
    if missing:
        seen = sorted({name for message in messages for name in message.name})
        raise BagError(f'{path}: no message on "{topic}" has joint "{sorted(missing)[0]}" of '
                       f'"{model.name}" (it has: {", ".join(seen) or "none"})')
    if not rows:
        raise BagError(f'{path}: no message on "{topic}" has position, velocity and effort of all '
                       f'joints of "{model.name}"; record the efforts too')
    t, q, qd, tau = (np.array(column, float) for column in zip(*rows, strict=True))
    _, first = np.unique(t, return_index=True)      # sorted, without duplicates
    if not all(np.isfinite(x[first]).all() for x in (q, qd, tau)):
        raise BagError(f'{path}: joint states on "{topic}" contain NaN or infinity')
    return Recording(t[first], q[first], qd[first], np.full_like(qd[first], np.nan), tau[first])


def read_table(path: str | Path, model: Model) -> Recording:
    """
    Return the joint states of a text file with commas, in the order of a model.

    :param path: of the file. Its first line names the columns: ``time``, and for each joint
        ``position.NAME`` and ``effort.NAME``; ``velocity.NAME`` may be there too.
    :raises BagError: for a column that is missing, a row that is not numbers, NaN.
    """
    file, names = Path(path), list(model.independent_joint_names)
    if not file.exists():
        raise BagError(f'{path} does not exist; give a file of joint states, or a rosbag')
    # a spreadsheet puts a mark of its encoding before the first column
    lines = file.read_text(encoding='utf-8-sig', errors='replace').splitlines()
    columns = [word.strip() for word in lines[0].split(',')] if lines else []
    wanted = ['time', *(f'{kind}.{name}' for kind in ('position', 'effort') for name in names)]
    for column in wanted:
        if column not in columns:
            raise BagError(f'{path}: column "{column}" is missing (it has: '
                           f'{", ".join(columns[:8]) or "none"}); the first line names time, and '
                           'position.JOINT and effort.JOINT of each joint')
    rows = []
    for k, line in enumerate(lines[1:], 2):
        try:
            row = [float(word) for word in line.split(',')]
        except ValueError:
            raise BagError(f'{path}: line {k} is not numbers with commas between') from None
        if len(row) != len(columns) or not np.isfinite(row).all():
            raise BagError(f'{path}: line {k} has {len(row)} numbers for {len(columns)} columns, '
                           'or NaN or infinity among them; leave such lines out')
        rows.append(row)
    if not rows:
        raise BagError(f'{path} has no samples')
    values = np.array(rows)
    t, first = np.unique(values[:, columns.index('time')], return_index=True)

    def part(kind: str) -> Array:
        return values[first][:, [columns.index(f'{kind}.{name}') for name in names]]
    q = part('position')
    given = all(f'velocity.{name}' in columns for name in names)
    qd = part('velocity') if given else np.full_like(q, np.nan)
    return Recording(t, q, qd, np.full_like(q, np.nan), part('effort'))


def read_recording(
    path: str | Path, model: Model, topic: str = '/joint_states',
) -> Recording:
    """Return the joint states of a table (its name ends with .csv), or else of a bag."""
    if Path(path).suffix == '.csv':
        return read_table(path, model)
    return read_joint_states(path, model, topic)


def longest_gap(t: Array, cutoff: float) -> float:
    """
    Return the time between two samples, s, over which a curve through them is still the motion.

    :param t: times of all samples, s.
    :param cutoff: of the filter that follows, Hz.
    """
    return 0.5 / cutoff + 1.5 * float(np.median(np.diff(t)))


def unbroken(recording: Recording, cutoff: float) -> Recording:
    """
    Return the longest part of a recording that has no gap; all of it, if there is none.

    :param cutoff: of the filter that follows, Hz.
    """
    t = recording.t
    if len(t) < 2 or not cutoff > 0.0:
        return recording
    ends = [0, *(np.flatnonzero(np.diff(t) > longest_gap(t, cutoff)) + 1).tolist(), len(t)]
    begin, end = max(pairwise(ends), key=lambda part: t[part[1] - 1] - t[part[0]])
    return Recording(*(values[begin:end] for values in recording))


def smooth(recording: Recording, cutoff: float, effort_delay: float = 0.0) -> Recording:
    """
    Return the filtered motion on an even time grid, with velocities and accelerations.

    The same low-pass filter, without delay, is applied to positions and torques. Velocities and
    accelerations are differences of the filtered positions; the ends are cut off.

    :param cutoff: of the filter, Hz; about ten times the fastest motion of interest.
    :param effort_delay: time, s, by which efforts lag the positions of the same message: half a
        period if the driver reports the torque of the period before, as the simulator does.
    """
    from scipy.signal import butter, filtfilt       # slow to import, and needed only here
    t = recording.t
    if len(t) < _FEWEST:
        raise BagError(f'{len(t)} samples are too few to differentiate: record {_FEWEST} or more')
    step = float(np.median(np.diff(t)))
    if not 0.0 < cutoff < 0.5 / step:
        raise RbdError(f'cutoff of {cutoff:g} Hz must lie between 0 and half the rate of the '
                       f'recording, {0.5 / step:.4g} Hz')
    if not abs(effort_delay) < t[-1] - t[0]:
        raise RbdError(f'effort_delay of {effort_delay:g} s must be shorter than the recording')
    even = np.arange(max(t[0], t[0] - effort_delay), min(t[-1], t[-1] - effort_delay), step)
    b, a = butter(4, 2.0 * cutoff * step)

    def filtered(x: Array, late: float = 0.0) -> Array:
        grid = np.column_stack([np.interp(even, t - late, column) for column in x.T])
        return filtfilt(b, a, grid, axis=0)
    q, tau = filtered(recording.q), filtered(recording.tau, effort_delay)
    qd = np.gradient(q, step, axis=0)
    qdd = np.gradient(qd, step, axis=0)
    cut = slice(edge := min(int(3.0 / (cutoff * step)) + 2, len(even) // 4), len(even) - edge)
    return Recording(even[cut], q[cut], qd[cut], qdd[cut], tau[cut])
