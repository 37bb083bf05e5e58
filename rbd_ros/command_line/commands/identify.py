# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Identify a payload, or the parameters of a robot, from recorded motion.

    rbd identify my_bag --urdf robot.urdf --payload tool0
    rbd identify my_bag --urdf robot.urdf --plot torques.html --write-urdf better.urdf

The recording is a rosbag of joint states with efforts in N.m, or a .csv file with columns time,
position.JOINT and effort.JOINT. With --payload, the robot is taken as known, and mass, centre of
mass and inertia of the payload at a frame are identified. Without it, inertias, friction and
rotors of the robot are fitted, starting from those of the URDF; the result is always physically
possible. rbd excite plans a motion for it. The excitation shows whether the motion was enough:
below 100 is good; above 10000 the result is mostly noise.

Measured and predicted torques are compared on a motion that was not used for the fit: the
recording --check, or the last quarter of this one.

Torque sensors in the joints (Franka, KUKA LBR, the simulator with effort_source joint) do not
measure friction: use --effort joint.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Optional, TYPE_CHECKING

from rbd_ros.command_line.options import AsJson, Namespace, recording_file
from rbd_ros.command_line.output import number, progress, show, table, warn
import typer

if TYPE_CHECKING:
    from rbd_ros.command_line.identified import Compared
    from rbd_ros.dynamics.robot import Dynamics
    from rbd_ros.identification.equations import Motion
    from rbd_ros.identification.recording import Recording
    from rbd_ros.identification.whole_robot import Identified
    from rbd_ros.model.model import Model

#: Excitation above which the result is mostly noise.
POOR_EXCITATION = 1e4


class Effort(str, Enum):
    """Where efforts are measured: at the motor, or behind the gear by a torque sensor."""

    motor = 'motor'
    joint = 'joint'


class Friction(str, Enum):
    """Viscous and Coulomb friction, or forms that depend on direction and load too."""

    simple = 'simple'
    full = 'full'


def run(
    recording: Annotated[Path, typer.Argument(
        parser=recording_file, metavar='RECORDING',
        help='File of rbd record, rosbag, or .csv file.')],
    urdf: Annotated[str, typer.Option(metavar='ROBOT', help='URDF or xacro file of the robot.')],
    payload: Annotated[Optional[str], typer.Option(
        metavar='FRAME', help='Identify the payload at this frame; the robot is known.')] = None,
    topic: Annotated[Optional[str], typer.Option(
        help='Topic of the joint states; by default that of the robot.')] = None,
    namespace: Namespace = None,
    cutoff: Annotated[float, typer.Option(
        metavar='HZ', help='Cutoff of the filter: about ten times the fastest motion.')] = 10.0,
    effort: Annotated[Effort, typer.Option(
        help='Where efforts are measured; a torque sensor in the joint measures no friction.',
    )] = Effort.motor,
    effort_delay: Annotated[float, typer.Option(
        metavar='S', help='Time by which efforts lag behind the positions in the same message.',
    )] = 0.0,
    friction: Annotated[Friction, typer.Option(
        help='full: friction may depend on the direction and on the load of the gear.',
    )] = Friction.full,
    check: Annotated[Optional[Path], typer.Option(
        metavar='RECORDING', help='Recording used only for the comparison.',
    )] = None,
    partial: Annotated[bool, typer.Option(
        '--partial', help='Accept a motion that does not determine all parameters.')] = False,
    plot: Annotated[Optional[Path], typer.Option(
        metavar='FILE', help='Picture of measured and predicted torque to write.')] = None,
    write_urdf: Annotated[Optional[Path], typer.Option(
        metavar='FILE', help='Corrected URDF to write.')] = None,
    write_params: Annotated[Optional[Path], typer.Option(
        metavar='FILE', help='Friction and rotors to write, as parameters of the controller.',
    )] = None,
    as_json: AsJson = False,
) -> None:
    """Fit parameters to a recording."""
    from rbd_ros.command_line.robots import load
    from rbd_ros.dynamics.robot import Dynamics
    from rbd_ros.identification.equations import settle
    loaded = load(urdf, quiet=as_json)
    model = loaded.model
    if effort is Effort.joint:
        none = (0.0,) * model.nv
        model = replace(model, damping=none, friction=none)
    recorded, node = _motion(recording, model, topic, namespace, cutoff)
    robot = Dynamics(model)
    if payload is not None:
        with progress('reading and fitting', 1) as step:
            _payload(robot, payload, settle(recorded, cutoff, effort_delay), node, as_json)
            step()
        return
    other = None if check is None else _motion(check, model, topic, namespace, cutoff)[0]
    kind = 'sensor' if effort is Effort.joint else friction.value
    found, seen = _fitted(robot, recorded, other, kind, cutoff, effort_delay, partial)
    _report(robot, found, seen, as_json)
    _write(loaded.text, model, found, seen, {
        'plot': plot, 'urdf': write_urdf, 'params': write_params}, recording.name, quiet=as_json)


def _motion(path: Path, model: Model, topic: str | None, namespace: str | None, cutoff: float,
            ) -> tuple[Recording, str]:
    """Return what can be filtered as one motion, and the controller; say what is left out."""
    import numpy as np
    from rbd_ros.identification.bag import recorded_robot, topics
    from rbd_ros.identification.recording import read_recording, unbroken
    from rbd_ros.recording.namespaces import recorded_robots
    node = '/controller'
    if path.suffix != '.csv' and (topic is None or namespace is not None):
        robot = recorded_robot(path, namespace)
        topic, node = topic or robot.joint_states, robot.controller
    elif path.suffix != '.csv':  # whose states these are
        node = next((each.controller for each in recorded_robots(topics(path))
                     if each.joint_states == topic), node)
    recorded = read_recording(path, model, topic or '/joint_states')
    used = unbroken(recorded, cutoff)
    if len(used.t) < len(recorded.t):
        warn(f'the recording has gaps, the longest of {np.diff(recorded.t).max():.3g} s; the '
             f'longest part without one is used, {np.ptp(used.t):.3g} of '
             f'{np.ptp(recorded.t):.3g} s')
    return used, node


def _payload(
    robot: Dynamics, frame: str, motion: Motion, node: str, as_json: bool,
) -> None:
    import json

    import numpy as np
    from rbd_ros.identification.payload import payload_of
    found = payload_of(robot, frame, motion)
    estimate = found.estimate
    _warn_of_excitation(estimate.condition)
    rows = [['mass', f'{number(found.mass)} kg', f'{number(float(estimate.deviation[0]), 2)} kg'],
            ['centre of mass', f'{found.com.round(4).tolist()} m', ''],
            ['inertia about it', f'{np.round(found.inertia, 5).tolist()} kg m^2', '']]
    show({'frame': frame, 'mass': found.mass, 'mass_deviation': estimate.deviation[0],
          'com': found.com, 'inertia': found.inertia, 'excitation': estimate.condition,
          'residual': estimate.residual, 'message': found.message()}, as_json,
         table(f'Payload at {frame}', ('', 'value', 'deviation'), rows),
         f'excitation {number(estimate.condition, 3)}, remaining torque '
         f'{number(estimate.residual, 3)} N.m rms',
         f'send it to the controller: ros2 topic pub --once {node}/payload '
         f"geometry_msgs/msg/InertiaStamped '{json.dumps(found.message())}'", wrap=False)


def _fitted(
    robot: Dynamics, recorded: Recording, other: Recording | None, kind: str, cutoff: float,
    effort_delay: float, partial: bool,
) -> tuple[Identified, Compared]:
    """Return what was identified, and how it explains motion that was not used."""
    from rbd_ros.command_line.identified import compared, held_out
    from rbd_ros.errors import RbdError
    from rbd_ros.identification.equations import settle
    from rbd_ros.identification.fit import SingularRegressor
    from rbd_ros.identification.whole_robot import identify_robot
    with progress('filtering, fitting, comparing', 3) as step:
        used, rest = held_out(recorded) if other is None else (recorded, other)
        motion, unused = (settle(each, cutoff, effort_delay) for each in (used, rest))
        step()
        try:
            found = identify_robot(robot, motion, kind, partial=partial)
        except SingularRegressor as error:
            raise RbdError(f'{error}; rbd excite plans such a motion. --partial leaves what is '
                           'not determined as in the URDF') from None
        step()
        seen = compared(robot, unused, found)
        step()
    return found, seen


def _report(robot: Dynamics, found: Identified, seen: Compared, as_json: bool) -> None:
    from rbd_ros.command_line.identified import data, parts
    _warn_of_excitation(found.excitation)
    if found.untold:
        names = [each.name for each in found.untold]
        more = f' and {len(names) - 6} more' if len(names) > 6 else ''
        warn(f'the motion says less than the URDF about {", ".join(names[:6])}{more}; move the '
             'joints that carry them faster')
    show(data(robot, found, seen), as_json, *parts(robot, found, seen))


def _write(text: str, model: Model, found: Identified, seen: Compared,
           files: dict[str, Path | None], title: str, *, quiet: bool) -> None:
    """Write the files that were asked for."""
    from rbd_ros.command_line.identified import draw_torques
    from rbd_ros.command_line.robots import joint_units
    from rbd_ros.identification.written import controller_parameters, corrected_urdf
    if files['plot'] is not None:
        draw_torques(seen, joint_units(model), files['plot'],
                     f'{title}: torques of a motion that was not used for the fit')
    if files['urdf'] is not None:
        files['urdf'].write_text(corrected_urdf(text, model, found))
    if files['params'] is not None:
        files['params'].write_text(controller_parameters(model, found))
    if not quiet:
        for file in filter(None, files.values()):
            print(f'written to {file}')


def _warn_of_excitation(condition: float) -> None:
    if condition > POOR_EXCITATION:
        warn(f'excitation {condition:.3g}: the result is mostly noise; record faster motion of '
             'all joints, in more directions')
