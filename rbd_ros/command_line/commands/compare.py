# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Compare every quantity of a robot with Pinocchio and MuJoCo, whichever is installed.

    rbd compare robot.urdf
    rbd compare robot.urdf --floating-base --states 50

All libraries compute the same random states. Errors are relative, and scaled by energy so that a
light joint counts as much as a heavy one. What is solved with the inertia matrix must also satisfy
the other library's equation of motion. The exit code is 1 if an error exceeds its limit.
"""

from __future__ import annotations

from typing import Annotated, Any, TYPE_CHECKING

from rbd_ros.command_line.options import AsJson, Floating, Robot, Seed
from rbd_ros.command_line.output import progress, show, table, warn
import typer

if TYPE_CHECKING:
    from rbd_ros.command_line.robots import Loaded


def run(
    robot: Robot,
    states: Annotated[int, typer.Option(min=1, help='Number of random states.')] = 10,
    seed: Seed = 0,
    floating_base: Floating = False,
    as_json: AsJson = False,
) -> None:
    """Compare a robot with other libraries; exit with 1 if they disagree."""
    from rbd_ros.command_line.robots import load
    from rbd_ros.dynamics.robot import Dynamics
    from rbd_ros.errors import ModelError, RbdError
    from rbd_ros.peers.comparison import compare, random_states, some_frames
    loaded = load(robot, floating_base, quiet=as_json)
    if not loaded.model.nv:
        raise ModelError(f'robot "{loaded.model.name}" has no movable joint: nothing to compare')
    loaded.model.refuse_loops('the comparison')     # other libraries ignore loop joints
    compiled = Dynamics(loaded.model)
    peers, reasons = _peers(loaded, floating_base)
    for reason in reasons:
        warn(reason)
    if not peers:
        raise RbdError('there is nothing to compare with: install Pinocchio (pip install pin) or '
                       'MuJoCo (pip install mujoco)')
    asked = random_states(loaded.model, states, seed)
    data, rows, failed = [], [], 0
    with progress('comparing', sum(len(each) for _, each in peers.values())) as step:
        for name, (peer, quantities) in peers.items():
            for quantity in quantities:
                frames = some_frames(loaded.model) if quantity.of_frame else ('',)
                results = compare(compiled, peer, asked, (quantity,))
                for frame, (label, verdict) in zip(frames, results, strict=True):
                    label = f'{label}, {frame}' if frame else label
                    failed += not verdict.passes
                    rows.append([name, label, f'{verdict.error:.1e}', f'{verdict.limit:.0e}',
                                 'ok' if verdict.passes else 'FAILS', verdict.note])
                    data.append({'library': name, 'quantity': label, 'error': verdict.error,
                                 'limit': verdict.limit, 'passes': verdict.passes,
                                 'note': verdict.note})
                step()
    show({'robot': loaded.model.name, 'states': states, 'comparisons': data, 'failed': failed,
          'not_compared': reasons}, as_json, table(
              f'{loaded.model.name}, {states} states', (
                  'library', 'quantity', '>error', '>limit', 'verdict', 'note'), rows),
         f'{len(rows)} comparisons, {failed} beyond the limit')
    if failed:
        raise typer.Exit(1)


def _peers(loaded: Loaded, floating_base: bool) -> tuple[dict[str, Any], list[str]]:
    """Return the libraries that can load this robot, what they compute, and why others cannot."""
    from rbd_ros.peers.comparison import MUJOCO_QUANTITIES, peer_text, QUANTITIES
    urdf = peer_text(loaded.text)
    found: dict[str, Any] = {}
    reasons: list[str] = []
    try:
        from rbd_ros.peers.pinocchio_robot import PinocchioRobot
        found['Pinocchio'] = PinocchioRobot(loaded.model, urdf, floating_base), QUANTITIES
    except ImportError:
        reasons.append('Pinocchio is not installed: pip install pin')
    except ValueError as error:
        reasons.append(f'Pinocchio cannot load this robot: {error}')
    try:
        from rbd_ros.peers.mujoco_robot import MujocoRobot
        if any(loaded.model.rotor_inertia) or loaded.model.coupling is not None:
            reasons.append('MuJoCo is not compared: it reads no rotors and no mimic joints from '
                           'a URDF')
        else:
            found['MuJoCo'] = MujocoRobot(
                loaded.model, urdf, floating_base), MUJOCO_QUANTITIES
    except ImportError:
        reasons.append('MuJoCo is not installed: pip install mujoco')
    except ValueError as error:
        reasons.append(f'MuJoCo cannot load this robot: {error}')
    return found, reasons
