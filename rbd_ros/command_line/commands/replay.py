# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Replay a recorded run through the controller, and compare the torques.

    rbd record run.mcap
    rbd replay run.mcap
    rbd replay two_robots.mcap --namespace left

The recorded joint states go through the controller's step again, at the times at which they
arrived, with the recorded description, parameters and references, without ROS or a robot. If the
torques differ, the code or the inputs of the controller are not the same: another release, or
something was not recorded. Start recording before the controller starts, or while the robot is at
rest.

If the controller had modes of its own, give the file that declares them with --mode-file. It is
Python code and is run. The file that the recording names is never run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

from rbd_ros.command_line.options import AsJson, Namespace
from rbd_ros.command_line.output import progress, show, table, warn
import typer


def run(
    recording: Annotated[Path, typer.Argument(
        metavar='RECORDING', help='File of rbd record, or folder of a rosbag.')],
    controller: Annotated[Optional[str], typer.Option(
        help='Node of the controller, with its namespace; found by its topics.')] = None,
    topic: Annotated[Optional[str], typer.Option(
        help='Topic of the joint states; by default that of the robot.')] = None,
    namespace: Namespace = None,
    tolerance: Annotated[float, typer.Option(
        help='Accepted difference of torques, as a fraction of their limits.')] = 0.02,
    mode_file: Annotated[Optional[Path], typer.Option(
        help='Python file with the modes of the controller; it is run.')] = None,
    as_json: AsJson = False,
) -> None:
    """Replay a recording."""
    import numpy as np
    from rbd_ros.command_line.replayed import replay, worst
    with progress('reading and computing', 1) as step:
        found = replay(recording, controller, topic, namespace, mode_file)
        step()
    for note in found.notes:
        warn(note)
    largest = worst(found)
    off = found.torque - found.recorded
    rms = np.sqrt(np.mean(off**2, axis=0))
    for begin, end, state in found.apart:
        warn(f'from {begin:.2f} to {end:.2f} s the recorded controller ran, and the replay was '
             f'{state}')
    good = bool((largest <= tolerance).all()) and not found.apart
    rows = [[joint, float(rms[k]), float(np.abs(off[:, k]).max()), float(found.limits[k]),
             f'{largest[k]:.2%}'] for k, joint in enumerate(found.joints)]
    show({'joints': list(found.joints), 'compared': len(found.t), 'rms': rms,
          'largest_share': largest, 'limits': found.limits, 'states': found.states,
          'apart': found.apart,
          'notes': found.notes, 'within_tolerance': good}, as_json,
         table(f'{len(found.t)} torques of the replay and of the recording', (
             'joint', '>rms difference', '>largest', '>limit', '>share'), rows),
         table('States', ('>s', 'recorded', 'replayed'), [
             [f'{t:.2f}', *((state, '') if who == 'recorded' else ('', state))]
             for t, state, who in found.states]),
         f'{"the same" if good else "NOT the same"} within {tolerance:.1%} of the torque limits',
         *([] if good else [
             'the reference is interpolated between two reports: single torques may differ where '
             'its acceleration steps, as at the end of a trajectory, and more of them where '
             'states arrived late and the commands are not recorded. Set the parameter '
             'state_divider to 1, and each state has its own reference']))
    if not good:
        raise typer.Exit(1)
