# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Show a robot: its tree, masses, limits and reach, and warnings about its description.

    rbd info robot.urdf
    rbd info robot.urdf --json | jq .total_mass

Reach is the largest distance of an outermost frame from the origin of the base, within the joint
limits; where a joint on the way slides without a limit, there is none, and the joint is named.
Warnings are those of the loader; rbd check explains each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TYPE_CHECKING

from rbd_ros.command_line.options import AsJson, Floating, Robot
from rbd_ros.command_line.output import number, progress, show, table

if TYPE_CHECKING:
    from rbd_ros.model.model import Model
    from rich.tree import Tree


def run(robot: Robot, floating_base: Floating = False, as_json: AsJson = False) -> None:
    """Print an overview of a robot."""
    from rich.markup import escape

    from rbd_ros.command_line.robots import load
    model, text, notes = load(robot, floating_base, quiet=True)
    joints = _joints(model)
    far, endless = _reaches(text)
    data: dict[str, Any] = {
        'name': model.name, 'bodies': model.nb, 'nq': model.nq, 'nv': model.nv,
        'total_mass': model.total_mass, 'base': model.body_names[0],
        'base_mass': float(model.inertia[0].m), 'joints': joints, 'bodies_of_tree': _bodies(model),
        'frames': list(model.frame_names), 'reach': far, 'endless': endless,
        'warnings': [str(note) for note in notes]}
    if model.loops:
        data |= _loops(model, text)
    head = (f'[bold]{escape(model.name)}[/]: {model.nb} moving bodies, nq = {model.nq}, nv = '
            f'{model.nv}, {model.total_mass:.4g} kg moving')
    rows = [[each['name'], each['type'], each['lower'], each['upper'], each['velocity'],
             each['effort'], each['damping'], each['friction'], each['rotor_inertia']]
            for each in joints]
    limits = table('Joints (rad or m, N.m or N)', (
        'joint', 'type', '>lower', '>upper', '>velocity', '>effort', '>damping', '>friction',
        '>rotor'), rows)
    reaches = table('Reach from the base, m', ('frame', '>reach'), [
        [name, f'without end, by {endless[name]}' if name in endless else length]
        for name, length in far.items()])
    warnings = [f'[yellow]warning:[/] {escape(note)}' for note in notes]
    loops = [_loop_text(data)] if model.loops else []
    show(data, as_json, head, _tree(model), *loops, limits, *([reaches] if far else []), *warnings)


def _loops(model: Model, urdf: str) -> dict[str, Any]:
    """Return the joints that close loops, and the mobility that they leave on a fixed base."""
    from rbd_ros.dynamics.robot import Dynamics
    from rbd_ros.model.urdf import load_urdf
    still = load_urdf(urdf, limits_optional=True, on_warning=lambda _: None)
    report = Dynamics(still, progress=lambda *_: None).loop_report
    return {'loops': [{'name': loop.name, 'type': loop.joint.type_name,
                       'predecessor': model.body_names[loop.predecessor],
                       'successor': model.body_names[loop.successor]} for loop in model.loops],
            'mobility': report.mobility, 'overconstraint': report.overconstraint}


def _loop_text(data: Mapping[str, Any]) -> str:
    """Return a line for each joint that closes a loop, and one for the mobility."""
    from rich.markup import escape
    lines = [f'{escape(loop["name"])} [dim]({loop["type"]})[/] closes a loop: '
             f'{escape(loop["predecessor"])} -> {escape(loop["successor"])}'
             for loop in data['loops']]
    return '\n'.join([*lines, f'mobility with closed loops: {data["mobility"]}; redundant '
                      f'constraints: {data["overconstraint"]}'])


def _joints(model: Model) -> list[dict[str, Any]]:
    """Return the independent coordinates with their limits and drive parameters."""
    found = []
    for name in model.independent_joint_names:
        joint, at_q = model.joint[model.joint_index(name)], model.position_slice(name)
        at_v = model.velocity_slice(name)
        for k in range(at_v.start, at_v.stop):
            # The positions of a joint with a quaternion do not match its velocities one by one.
            q = at_q.start + k - at_v.start if joint.additive else None
            found.append({
                'name': name, 'type': joint.type_name,
                'lower': float('-inf') if q is None else model.lower[q],
                'upper': float('inf') if q is None else model.upper[q],
                'velocity': model.velocity_limit[k], 'effort': model.effort_limit[k],
                'damping': model.damping[k], 'friction': model.friction[k],
                'rotor_inertia': model.rotor_inertia[k]})
    return found


def _bodies(model: Model) -> list[dict[str, Any]]:
    """Return the moving bodies; links fixed to each other form one body."""
    found = []
    for i in range(1, model.nb + 1):
        m, c, I_c = model.inertia[i].com_form() if model.inertia[i].m else (0.0, None, None)
        found.append({
            'name': model.body_names[i], 'parent': model.body_names[model.parent[i]],
            'joint': model.joint_names[i - 1], 'mass': float(m),
            'com': None if c is None else [float(x) for x in c],
            'inertia': None if I_c is None else I_c.to_list(),
            'frames': [name for name, frame in model.frames.items() if frame.body == i]})
    return found


def _tree(model: Model) -> Tree:
    """Return the tree of bodies, each with the joint that carries it."""
    from rich.markup import escape
    from rich.tree import Tree

    def label(i: int) -> str:
        others = [name for name, frame in model.frames.items()
                  if frame.body == i and name != model.body_names[i]]
        text = escape(model.body_names[i])
        mass = float(model.inertia[i].m)
        if mass:
            text += f'  {number(mass)} kg'
        if others:
            text += f'  [dim]with {escape(", ".join(others))}[/]'
        if i:
            joint = model.joint[i]
            text = f'{escape(model.joint_names[i - 1])} [dim]({joint.type_name})[/] -> {text}'
        return text

    branches = {0: Tree(label(0), guide_style='dim')}
    for i in range(1, model.nb + 1):
        branches[i] = branches[model.parent[i]].add(label(i))
    return branches[0]


def _reaches(urdf: str) -> tuple[dict[str, float], dict[str, str]]:
    """Return the reach of each outermost frame with the base fixed, and what makes it endless."""
    from rbd_ros.command_line.reach import reach
    from rbd_ros.command_line.robots import tips
    from rbd_ros.dynamics.robot import Dynamics
    from rbd_ros.model.reach_bound import endless_slide
    from rbd_ros.model.urdf import load_urdf
    model = load_urdf(urdf, limits_optional=True, on_warning=lambda _: None)
    names = tips(model)
    compiled = Dynamics(model)
    with progress('computing the reach', len(names)) as step:
        found = {}
        for name in names:
            found[name] = reach(compiled, name)
            step()
    joints = {name: endless_slide(model, name) for name in names}
    return found, {name: joint for name, joint in joints.items() if joint is not None}
