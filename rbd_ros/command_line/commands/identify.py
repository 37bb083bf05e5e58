# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""
Identify a payload, or the parameters of a robot, from recorded motion.

    rbd identify my_bag --urdf robot.urdf --payload tool0
    rbd identify my_bag --urdf robot.urdf

The bag must contain joint states with efforts in N.m. With --payload, the robot is taken as known,
and mass, centre of mass and inertia of the payload at a frame are identified. Without it,
inertias, friction, damping and rotors of the robot are fitted, starting from those of the URDF;
the result is always physically possible. Move all joints, fast and in many directions. The
excitation shows whether that was enough: below 100 is good; above 10000 the result is mostly
noise.

Torque sensors in the joints (Franka, KUKA LBR, the simulator with effort_source joint) do not
measure friction: use --effort joint.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Optional, TYPE_CHECKING

from rbd_ros.command_line.options import AsJson
from rbd_ros.command_line.output import number, progress, show, table, warn
import typer

if TYPE_CHECKING:
    from rbd_ros.dynamics.robot import Dynamics
    from rbd_ros.identification.recording import Recording

#: Most samples to fit; more of the same motion add nothing.
MAX_SAMPLES = 2000
#: Excitation above which the result is mostly noise.
POOR_EXCITATION = 1e4


class Effort(str, Enum):
    """Where efforts are measured: at the motor, or behind the gear by a torque sensor."""

    motor = 'motor'
    joint = 'joint'


def run(
    bag: Annotated[Path, typer.Argument(metavar='BAG', help='Folder of a rosbag.')],
    urdf: Annotated[str, typer.Option(metavar='ROBOT', help='URDF or xacro file of the robot.')],
    payload: Annotated[Optional[str], typer.Option(
        metavar='FRAME', help='Identify the payload at this frame; the robot is known.')] = None,
    topic: Annotated[str, typer.Option(help='Topic of the joint states.')] = '/joint_states',
    cutoff: Annotated[float, typer.Option(
        metavar='HZ', help='Cutoff of the filter: about ten times the fastest motion.')] = 10.0,
    effort: Annotated[Effort, typer.Option(
        help='Where efforts are measured; a torque sensor in the joint measures no friction.',
    )] = Effort.motor,
    effort_delay: Annotated[float, typer.Option(
        metavar='S', help='Time by which efforts lag the positions of the same message.',
    )] = 0.0,
    as_json: AsJson = False,
) -> None:
    """Fit parameters to a recording."""
    from rbd_ros.command_line.robots import load
    from rbd_ros.dynamics.robot import Dynamics
    from rbd_ros.identification.recording import read_joint_states, Recording, smooth
    model = load(urdf, quiet=as_json).model
    if effort is Effort.joint:
        none = (0.0,) * model.nv
        model = replace(model, damping=none, friction=none)
    with progress('reading and fitting', 2) as step:
        recording = smooth(read_joint_states(bag, model, topic), cutoff, effort_delay)
        every = -(-len(recording.t) // MAX_SAMPLES)
        recording = Recording(*(values[::every] for values in recording))
        step()
        robot = Dynamics(model)
        if payload is not None:
            _payload(robot, payload, recording, as_json)
        else:
            _robot(robot, recording, as_json)
        step()


def _payload(robot: Dynamics, frame: str, recording: Recording, as_json: bool) -> None:
    import json

    import numpy as np
    from rbd_ros.identification.payload import identify_payload
    found = identify_payload(robot, frame, *recording[1:])
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
         'send it to the controller: ros2 topic pub --once /controller/payload '
         f"geometry_msgs/msg/InertiaStamped '{json.dumps(found.message())}'")


def _robot(robot: Dynamics, recording: Recording, as_json: bool) -> None:
    import numpy as np
    from rbd_ros.identification.fit import base_parameters, design, fit, SingularRegressor
    from rbd_ros.identification.parameters import (
        body_parameters, drive_parameters, parameter_names)
    from rbd_ros.identification.physical import physical_fit
    model = robot.model
    prior = np.concatenate([body_parameters(model), drive_parameters(model)])
    A = design(robot, *recording[1:4], drives=True)
    b = recording.tau.ravel()
    base = base_parameters(robot, drives=True)
    try:
        condition = fit(A[:, base.independent], b).condition
    except SingularRegressor as error:
        condition = float('inf')
        warn(f'{error}; parameters that the motion does not determine stay as in the URDF')
    else:
        _warn_of_excitation(condition)
    x = physical_fit(A, b, model.nb, prior=prior)

    def residual(parameters: np.ndarray) -> np.ndarray:
        return np.sqrt(np.mean((b - A @ parameters).reshape(-1, model.nv) ** 2, axis=0))
    before, after = residual(prior), residual(x)
    names = parameter_names(model, drives=True)
    masses = [[body, float(prior[10 * k]), float(x[10 * k])]
              for k, body in enumerate(model.body_names[1:])]
    joints, drives = model.independent_joint_names, x[10 * model.nb:].reshape(3, -1)
    rows = [[joint, float(before[k]), float(after[k]), *map(float, drives[:, k])]
            for k, joint in enumerate(joints)]
    show({'parameters': dict(zip(names, x, strict=True)), 'excitation': condition,
          'joints': list(joints), 'residual_before': before, 'residual_after': after,
          'base_parameters': len(base.independent)}, as_json,
         table('Remaining torque (rms, N.m) and drives', (
             'joint', '>URDF', '>identified', '>damping', '>friction', '>rotor'), rows),
         table('Masses, kg', ('body', '>URDF', '>identified'), masses),
         f'excitation {number(condition, 3)}, {len(base.independent)} combinations of parameters '
         'act on the torques; --json has all parameters')


def _warn_of_excitation(condition: float) -> None:
    if condition > POOR_EXCITATION:
        warn(f'excitation {condition:.3g}: the result is mostly noise; record faster motion of '
             'all joints, in more directions')
