# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
How long an update of the generated controller takes inside a real controller manager.

The robot is a Panda that MuJoCo simulates as a hardware component, in the same thread. Only the
controller's own ``update()`` is timed; nothing is written meanwhile.
"""

from __future__ import annotations

from importlib import import_module
import os
from pathlib import Path
import re
import sys
import tempfile
from typing import Any

import numpy as np
import rbd_ros
from rbd_ros.control.supervisor.states import StateCode
from rbd_ros.peers.pinocchio_robot import PinocchioRobot

ROOT = Path(__file__).resolve().parents[1]
ROBOT, TIP_MODE, JOINT_MODE = 'panda', 'operational_space', 'computed_torque'
#: Mode, Hz, and the share of the time that it is measured.
CASES = ((JOINT_MODE, 1000, 1.0), (JOINT_MODE, 2000, 1.0), (TIP_MODE, 1000, 0.25),
         ('gravity_compensation', 1000, 0.25))


#: Cycles whose torques are looked at.
COMPARED = 50


def _rig() -> Any:
    """Return what builds a controller and runs the manager; the tests have it."""
    for room in ('tools', 'test/harness', 'test/ros2_control'):
        sys.path.insert(0, str(ROOT / room))
    return import_module('ros2_control_rig')


def refuse_wrong(mode: str, arm: Any, motion: np.ndarray) -> None:
    """
    Raise an error unless the robot was held against gravity, by Pinocchio.

    It hangs in no state without torque, and friction of its joints decides on the rest.

    :param mode: for the message.
    :param arm: with a description, names of joints, and friction.
    :param motion: position, velocity and commanded torque by cycle and joint.
    :raises RuntimeError: which says by how much.
    """
    model = rbd_ros.load_urdf(arm.urdf, on_warning=lambda text: None)
    peer = PinocchioRobot(model, arm.urdf)
    index = [model.velocity_slice(name).start for name in arm.joints]
    some = motion[::max(1, len(motion) // COMPARED)]
    worst, size = np.inf if not len(some) else 0.0, 0.0
    for q, qd, tau in some.transpose(0, 2, 1):
        position = np.zeros(model.nq)
        position[index] = q
        wanted = np.asarray(peer.gravity(position))[index]
        worst = max(worst, np.abs(tau - wanted).max() + np.abs(qd).max())
        size = max(size, np.abs(wanted).max())
    if not worst <= 2.0 * arm.friction < 0.1 * size:
        raise RuntimeError(f'{mode}: torques are {worst:.3g} N.m off those that hold the robot '
                           f'({size:.3g}): what was measured does not control it')


def _measure(rig: Any, mode: str, rate: int, seconds: float) -> dict[str, object]:
    """
    Return what the updates of one case took.

    :param rig: builds and runs.
    :param mode: of the controller.
    :param rate: Hz.
    :param seconds: for which it is measured.
    """
    count = round(seconds * rate)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        ran = rig.run(rig.compiled(ROBOT), rig.arm_of(ROBOT), Path(folder), [
            '+100 load rbd_controller', '+100 switch +rbd_controller',
            f'+0 until {StateCode.RUNNING.value} {20 * rate}', f'+{rate} see', f'+{count} see'],
            cycles=0, parameters={'mode': mode}, rate=rate, pace='quiet')
        if ran.answers() != ['ok'] * 5:
            raise RuntimeError(f'{mode}: {ran.output[-2000:]}')
        begin, end = ran.cycles()[3:]
        update, late, missed = ran.times[begin:end].T
        motion = ran.motion[begin:end]
    if not (update > 0.0).all():
        raise RuntimeError(f'{mode}: {np.count_nonzero(update <= 0.0)} cycles without an update')
    refuse_wrong(mode, rig.arm_of(ROBOT), motion)
    found = re.search(r'updates allocated (\d+) times', ran.output)
    assert found is not None
    return {
        'mode': mode, 'rate': rate, 'seconds': seconds, 'load': load,
        'urgent': 'priority 50' in ran.output, 'updates': len(update),
        **{key: float(1e6 * np.quantile(update, share)) for key, share in (
            ('p50', 0.5), ('p99', 0.99), ('p999', 0.999), ('longest', 1.0))},
        'late': float(1e6 * np.quantile(late, 0.99)), 'missed': int(missed[-1] - missed[0]),
        'allocations': int(found[1])}


def report(seconds: float = 60.0) -> tuple[str, list[dict[str, object]] | None]:
    """
    Return the table as text and as data; no data: nothing can be built here.

    :param seconds: for which each rate is measured.
    """
    rig = _rig()
    if rig.reason_to_skip():
        return f'not measured: {rig.reason_to_skip()}', None
    rows, lines = [], [f'{"us":<28}{"p50":>8}{"p99":>8}{"p99.9":>8}{"longest":>9}{"late p99":>9}'
                       f'{"missed":>8}{"allocations":>12}{"load":>6}']
    for mode, rate, share in CASES:
        row = _measure(rig, mode, rate, share * seconds)
        rows.append(row)
        lines.append(f'{f"{mode}, {rate} Hz":<28}{row["p50"]:8.2f}{row["p99"]:8.2f}'
                     f'{row["p999"]:8.2f}{row["longest"]:9.1f}{row["late"]:9.1f}'
                     f'{row["missed"]:8}{row["allocations"]:12}{row["load"]:6.1f}')
    urgent = all(row['urgent'] for row in rows)
    lines.append(f'SCHED_FIFO {"granted" if urgent else "refused"}; target: p50 below 10 us')
    return '\n'.join(lines), rows
