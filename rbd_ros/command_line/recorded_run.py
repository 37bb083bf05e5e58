# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What a recording of the controller shows: tracking, torques, saturation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rbd_ros.command_line.figure_file import new_figure, save_figure
from rbd_ros.compiler import Array
from rbd_ros.identification.bag import (
    BagError, CONTROLLER_STATE, JOINT_STATE, read_in_order, read_messages, topics)
from rbd_ros.quoting import markup_text, one_line
from rbd_ros.recording.namespaces import choose_robot

__all__ = ['draw', 'read_description', 'read_run', 'Run', 'summary']

#: Share of its limit from which a torque counts as saturated.
SATURATED = 0.99
#: Joints that are drawn: a picture of each takes a tenth of a second.
MOST_JOINTS = 100
#: What no sensor measures: neither its square nor an axis up to it can be computed.
_LARGEST = 1e100


class Run(NamedTuple):
    """
    A recorded run, a row per sample; NaN where no number was recorded.

    :param t: time since the first sample, s, (count,).
    :param q: positions, (count, n); ``reference`` and ``torque`` likewise.
    """

    joints: tuple[str, ...]
    t: Array
    q: Array
    reference: Array
    torque: Array


def read_run(path: str | Path, topic: str | None = None, namespace: str | None = None) -> Run:
    """
    Return the run that a bag holds.

    :param topic: of the controller's state, or of joint states; by default that of the robot, or
        the first topic of the one type, else of the other.
    :param namespace: of the robot, if there are several.
    """
    known = topics(path)
    if topic is None:
        robot, kinds = choose_robot(path, known, namespace), (CONTROLLER_STATE, JOINT_STATE)
        own = [each for each in (f'{robot.controller}/controller_state', robot.joint_states)
               if each in known]
        topic = next((name for kind in kinds for name in own or known if known[name] == kind),
                     None)
        if topic is None:
            raise BagError(f'{path}: neither a controller state nor joint states (topics: '
                           f'{", ".join(known) or "none"}); record ~/controller_state')
    kind = CONTROLLER_STATE if known.get(topic) == CONTROLLER_STATE else JOINT_STATE
    messages = read_messages(path, topic, kind)
    if not messages:
        raise BagError(f'{path}: topic "{topic}" has no messages')
    joints = _most_told([tuple(each.joint_names if kind == CONTROLLER_STATE else each.name)
                         for each in messages])
    rows = [_row(message, joints) for message in messages]
    rows = [row for row in rows if row is not None]
    if not rows:
        raise BagError(f'{path}: no message on "{topic}" has joints')
    t, q, reference, torque = (np.array(column, float) for column in zip(*rows, strict=True))
    order = np.argsort(t, kind='stable')
    return Run(joints, (t - t[order[0]])[order], q[order], reference[order], torque[order])


def read_description(path: str | Path, namespace: str | None = None) -> str:
    """
    Return the URDF that was recorded with a run; empty: none.

    :param namespace: of the robot, if there are several.
    """
    wanted = choose_robot(path, topics(path), namespace).description
    return next((str(message.data) for _, _, message, _ in read_in_order(path, {wanted})), '')


def _most_told(names: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the joints of which there is most: a gripper may publish on the same topic."""
    counts = Counter(names)
    return max(counts, key=lambda each: len(each) * counts[each])


def _row(message: Any, joints: Sequence[str]) -> tuple[float, Array, Array, Array] | None:
    """Return time, position, reference and torque of a message about the same joints."""
    stamp = message.header.stamp
    t = stamp.sec + 1e-9 * stamp.nanosec
    if hasattr(message, 'joint_names'):
        names = message.joint_names
        parts = (message.feedback.positions, message.reference.positions, message.output.effort)
    else:
        names, parts = message.name, (message.position, (), message.effort)
    if not names or tuple(names) != tuple(joints):
        return None

    def whole(values: Sequence[float]) -> Array:
        found = np.asarray(values, float)
        if len(found) != len(joints):
            return np.full(len(joints), np.nan)
        return np.where(np.abs(found) < _LARGEST, found, np.nan)
    return (t, *map(whole, parts))


def summary(run: Run, limits: Mapping[str, float]) -> list[dict[str, Any]]:
    """
    Return for each joint its tracking error, its torque, and how often that is saturated.

    :param limits: torque limit by joint; joints that are not in it have none.
    """
    found = []
    for k, joint in enumerate(run.joints):
        error = (run.reference - run.q)[:, k]
        error = error[np.isfinite(error)]
        torque = np.abs(run.torque[:, k][np.isfinite(run.torque[:, k])])
        limit = limits.get(joint, np.inf)
        found.append({
            'joint': joint, 'limit': limit,
            'rms_error': float(np.sqrt(np.mean(error**2))) if error.size else np.nan,
            'largest_error': float(np.abs(error).max()) if error.size else np.nan,
            'largest_torque': float(torque.max()) if torque.size else np.nan,
            'saturated': float(np.mean(torque >= SATURATED * limit)) if torque.size else np.nan})
    return found


def draw(run: Run, limits: Mapping[str, float], file: Path, title: str,
         units: Mapping[str, str] | None = None) -> None:
    """
    Write a picture: for each joint its position with the reference, and its torque.

    :param file: its ending chooses the format.
    :param units: of positions by joint; None: unknown.
    """
    if len(run.joints) > MOST_JOINTS:
        raise BagError(f'{len(run.joints)} joints were recorded; at most {MOST_JOINTS} are drawn')
    figure = new_figure(file, 1.0 + 1.7 * len(run.joints), title)
    grid = figure.subplots(len(run.joints), 2, sharex=True, squeeze=False)
    for k, joint in enumerate(run.joints):
        _draw_joint(grid[k], run, k, limits.get(joint, np.inf),
                    (units or {}).get(joint, ''))
    grid[0][0].legend(loc='upper right', fontsize='small')
    for axes in grid[-1]:
        axes.set_xlabel('time, s')
    save_figure(figure, file, lambda picture: _page(title, picture, summary(run, limits)))


def _draw_joint(axes: Sequence[Any], run: Run, k: int, limit: float, unit: str) -> None:
    position, torque = axes
    if np.isfinite(run.reference[:, k]).any():
        position.plot(run.t, run.reference[:, k], label='reference', linewidth=1.0)
    position.plot(run.t, run.q[:, k], label='position', linewidth=1.0)
    joint = one_line(run.joints[k])
    position.set_ylabel(f'{joint}, {unit}' if unit else joint)
    torque.plot(run.t, run.torque[:, k], color='tab:green', linewidth=1.0)
    torque.set_ylabel('force, N' if unit == 'm' else 'torque, N.m')
    if np.isfinite(limit):
        for bound in (limit, -limit):
            torque.axhline(bound, color='tab:red', linewidth=0.8, linestyle='--')
        full = np.abs(run.torque[:, k]) >= SATURATED * limit
        torque.fill_between(run.t, -limit, limit, where=full, color='tab:red', alpha=0.2,
                            linewidth=0.0)


def _page(title: str, picture: str, rows: list[dict[str, Any]]) -> str:
    head = ''.join(f'<th>{name.replace("_", " ")}</th>' for name in rows[0])
    body = ''.join('<tr>' + ''.join(
        f'<td>{markup_text(value if isinstance(value, str) else f"{value:.4g}")}</td>'
        for value in row.values()) + '</tr>' for row in rows)
    return (f'<!doctype html><html><head><meta charset="utf-8"><title>{markup_text(title)}</title>'
            '<style>body{font-family:sans-serif;margin:2em}td,th{padding:.2em .8em;'
            'text-align:right}svg{max-width:100%;height:auto}</style></head><body>'
            f'<h1>{markup_text(title)}</h1><table><tr>{head}</tr>{body}</table>{picture}'
            '</body></html>\n')
