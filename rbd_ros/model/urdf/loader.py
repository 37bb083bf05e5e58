# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""From a URDF text or file to a Model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
import os
from pathlib import Path
from typing import cast

from rbd_ros.errors import ModelError, nearest, UnknownName
from rbd_ros.joints import Free, Prismatic, Revolute
from rbd_ros.model.builder import ModelBuilder
from rbd_ros.model.coupling import Gear, Mimic
from rbd_ros.model.gear_laws import compose
from rbd_ros.model.model import Model
from rbd_ros.model.urdf import check
from rbd_ros.model.urdf.document import Element, read_xml
from rbd_ros.model.urdf.elements import JointText, Link, read_joint, read_link
from rbd_ros.model.urdf.loop_joints import LoopText, read_loop_joints
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.model.urdf.transmissions import apply_transmissions
from rbd_ros.spatial import RigidInertia, Sym3, Vec3

SNAP_ANGLE = 2e-11
LARGEST = 32 * 2**20
ROOT_JOINT = 'root_joint'


def load_urdf(source: str | bytes | os.PathLike[str], floating_base: bool = False, *,
              gravity: Sequence[float] = (0.0, 0.0, -9.81), mimic: bool = True,
              gears: Mapping[str, Mimic | Gear] | None = None, rotor_bodies: bool = False,
              strict: bool = False, limits_optional: bool = False,
              snap_angle: float = SNAP_ANGLE, max_bytes: int = LARGEST,
              on_warning: Callable[[check.Note], None] | None = None) -> Model:
    """
    Load a robot from URDF.

    Joints are numbered depth first, the joints of a link in the order of the file;
    ``model.position_order`` and ``velocity_order`` map to the order of other programs. Links on
    fixed joints are merged, but every link keeps its frame. With a fixed base the root link is
    body 0, and ``total_mass`` does not include it; with a floating base it is body 1 on a free
    joint called "root_joint". ``mimic`` joints follow their leader (``model.coupling``).
    ``<loop_joint>`` elements close loops, see :mod:`rbd_ros.model.urdf.loop_joints`.

    :param source: a path, a ``package://`` or ``file://`` address, the XML itself, or the name of
        a well-known robot such as ``panda``.
    :param floating_base: whether the root link moves freely.
    :param gravity: acceleration of free fall in base coordinates, m/s^2.
    :param mimic: False to let mimic joints move freely, as programs without mimic joints do.
    :param gears: laws by which joints follow others, by name of the follower, in addition to
        ``mimic``: cams, linkages and differentials, which URDF cannot describe.
    :param rotor_bodies: whether the rotors of ``<transmission>`` elements are bodies of their own,
        with all gyroscopic effects, instead of inertia reflected to their joints (RBDA 9.6).
        Link inertias are taken to include the rotors, except for the spin about the rotor
        axes, which are the joint axes.
    :param strict: refuse inertias that no rigid body has, and moving leaves without inertia,
        instead of warning about them.
    :param limits_optional: whether ``<limit>`` may lack effort or velocity, which URDF requires;
        missing ones are infinite.
    :param snap_angle: a roll, pitch or yaw this close (rad) to a multiple of a quarter turn is
        taken as exact; a larger value saves operations, but changes the robot.
    :param max_bytes: size of the largest document to read.
    :param on_warning: called with the text of each warning; by default warnings go through the
        ``warnings`` module as ``RbdWarning``.
    :raises ModelError: for a description that cannot be a robot; names the element.
    """
    data, origin = read_source(source, max_bytes)
    robot = read_xml(data, origin)
    if robot.tag != 'robot':
        raise ModelError(f'{origin}: the root element is <{robot.tag}>; in a URDF it is <robot>')
    _refuse_xacro(robot, origin)
    notes = check.Notes(on_warning)
    links = check.unique([read_link(each, snap_angle) for each in robot.all('link')])
    joints = check.unique([read_joint(each, snap_angle) for each in robot.all('joint')])
    if not links:
        raise ModelError(f'{origin}: the robot has no link')
    root = check.find_root(links, joints.values())
    check.check_inertias(links.values(), notes, strict=strict)
    if not limits_optional:
        check.check_limits(joints.values())
    check.check_joints(joints.values(), notes)
    check.note_unknown([*robot.all('link'), *robot.all('joint')], notes)
    apply_transmissions(robot, joints, notes)
    name = robot.attributes.get('name', '').strip() or 'robot'
    joints = _mimics(joints, notes) if mimic else {
        each.name: replace(each, mimic=None) for each in joints.values()}
    laws = _laws(gears, joints)
    loops = read_loop_joints(robot, links, joints, snap_angle)
    model = _build(name, links, _without_losses(joints, laws, notes), root, floating_base, gravity,
                   laws, rotor_bodies, loops)
    check.check_leaves(model, notes, strict=strict)
    notes.emit(name)
    return model


def _build(name: str, links: dict[str, Link], joints: dict[str, JointText], root: str,
           floating_base: bool, gravity: Sequence[float],
           laws: Mapping[str, Mimic | Gear], rotor_bodies: bool,
           loops: Sequence[LoopText]) -> Model:
    """Build the model, adding bodies and joints in the order of the file."""
    inertia = links[root].inertia()
    if floating_base:
        if ROOT_JOINT in joints:
            raise ModelError(f'{joints[ROOT_JOINT].element}: this is also the name of the joint '
                             'of a floating base; rename it')
        base = 'universe' if 'world' in links else 'world'
        builder = ModelBuilder(name, base_name=base, gravity=gravity, doubtful_inertias=True)
        builder.add_body(root, base, Free(), inertia=inertia, joint_name=ROOT_JOINT)
    else:
        builder = ModelBuilder(name, base_name=root, gravity=gravity, base_inertia=inertia,
                               doubtful_inertias=True)
    for link in links.values():
        if link.name != root:
            builder.add_body(link.name, inertia=link.inertia())
    rotors = [joint.name for joint in joints.values()
              if rotor_bodies and joint.data.rotor_inertia]
    for joint in joints.values():
        data = replace(joint.data, rotor_inertia=0.0) if joint.name in rotors else joint.data
        builder.add_joint(joint.name, joint.parent, joint.child, joint.joint, joint.placement,
                          data=data, mimic=laws.get(joint.name))
    for rotor in rotors:
        _add_rotor(builder, joints[rotor])
    for loop in loops:
        builder.add_loop_joint(
            loop.name, loop.predecessor, loop.successor, loop.joint, loop.X_P, loop.X_S)
    return builder.build()


def _add_rotor(builder: ModelBuilder, joint: JointText) -> None:
    """Add the rotor of a joint as a body on its parent that turns ``gear_ratio`` times as far."""
    axial = cast(Revolute | Prismatic, joint.joint)         # others have no transmission
    x, y, z = axial.axis
    ratio = cast(float, joint.data.gear_ratio)
    J = cast(float, joint.data.rotor_inertia) / ratio**2
    spin = RigidInertia(0.0, Vec3.zero(), Sym3(J * x * x, J * x * y, J * x * z,
                                               J * y * y, J * y * z, J * z * z))
    builder.add_body(f'{joint.name}_rotor', joint.parent, Revolute(axial.axis), joint.placement,
                     spin, joint_name=f'{joint.name}_rotor', mimic=Mimic(joint.name, ratio))


def _laws(
    gears: Mapping[str, Mimic | Gear] | None, joints: Mapping[str, JointText],
) -> dict[str, Mimic | Gear]:
    """Return the law of each joint that follows others; refuses a gear at a fixed joint."""
    for name in gears or ():
        if name not in joints:
            raise UnknownName('joint', name, joints)
        if joints[name].kind == 'fixed':
            raise ModelError(f'{joints[name].element} is fixed and cannot follow other joints')
    own = {name: joint.mimic for name, joint in joints.items() if joint.mimic is not None}
    return {**own, **(gears or {})}


def _without_losses(
    joints: Mapping[str, JointText], laws: Mapping[str, Mimic | Gear], notes: check.Notes,
) -> dict[str, JointText]:
    """Return the joints, without losses that no constant at a single leader can represent."""
    kept = dict(joints)
    for name, law in compose(laws).items():
        data = joints[name].data
        if law is not None and len(law.weights) == 1:
            (leader, weight), = law.weights.items()
            if leader not in joints:  # refused where the model is built
                continue
            low, high, *own = (cast(float, getattr(each, end)) for each in (
                data, joints[leader].data) for end in ('lower', 'upper'))
            ends = [weight * bound + law.offset for bound in own]
            if low < high and not max(low, min(ends)) < min(high, max(ends)):
                notes.add('<limit> is not used, because it leaves the joint that it follows '
                          'nowhere to go', joints[name].element)
            continue
        if joints[name].element.first('limit') is not None:
            notes.add('<limit> is not used, because the joint does not follow a single joint '
                      'linearly', joints[name].element)
        if data.friction or data.damping:
            notes.add('friction and damping are ignored, because the joint does not follow a '
                      'single joint linearly', joints[name].element)
            kept[name] = replace(joints[name], data=replace(data, friction=0.0, damping=0.0))
    return kept


def _mimics(joints: dict[str, JointText], notes: check.Notes) -> dict[str, JointText]:
    """Return the joints with their mimics checked; a fixed joint does not mimic."""
    checked = {}
    for joint in joints.values():
        if joint.mimic is not None and joint.kind == 'fixed':
            notes.add('fixed joint with <mimic> stays fixed', joint.element)
            joint = replace(joint, mimic=None)
        checked[joint.name] = joint
        if joint.mimic is None:
            continue
        leader = joints.get(joint.mimic.joint)
        if leader is None:
            raise ModelError(f'{joint.element} mimics "{joint.mimic.joint}", which does not '
                             f'exist{nearest(joint.mimic.joint, joints)}; correct the name, or '
                             'load with mimic=False')
        for each in (joint, leader):
            if each.kind in ('fixed', 'floating', 'planar'):
                raise ModelError(f'{joint.element} mimics "{leader.name}", but "{each.name}" '
                                 f'is {each.kind}; only joints with one coordinate can')
    return checked


def read_source(
    source: str | bytes | os.PathLike[str], max_bytes: int = LARGEST,
) -> tuple[bytes | str, str]:
    """Return the document and what to call it in errors."""
    if isinstance(source, bytes) or (isinstance(source, str) and _looks_like_xml(source)):
        _check_size(len(source), max_bytes, 'the URDF text')
        return source, 'the URDF text'
    if isinstance(source, str) and (not source.strip() or '\n' in source):
        start = source.strip()[:40]
        if not start:
            raise ModelError('the URDF text is empty; give a URDF or xacro file')
        raise ModelError(f'the URDF text is not XML: it starts with "{start}", not with "<"')
    path = find_resource(source)
    if path.suffix == '.xacro':
        raise ModelError(_xacro_advice(str(path)))
    _check_size(path.stat().st_size, max_bytes, f'"{path}"')
    try:
        return path.read_bytes(), f'"{path}"'
    except OSError as error:
        raise ModelError(f'cannot read "{path}": {error.strerror}') from error


def _looks_like_xml(text: str) -> bool:
    return text.lstrip('\ufeff \t\r\n').startswith('<')


def _check_size(size: int, max_bytes: int, origin: str) -> None:
    if size > max_bytes:
        raise ModelError(f'{origin} has {size / 1e6:.1f} MB, more than the limit of '
                         f'{max_bytes / 1e6:.1f} MB; keep meshes in their own files, or raise '
                         'max_bytes')


def _refuse_xacro(robot: Element, origin: str) -> None:
    """Refuse macros: expanding them runs code from the file, which is left to xacro."""
    for element in (robot, *robot.children, *(e for c in robot.children for e in c.children)):
        macro = element.tag.startswith('xacro:')
        if macro or any('${' in value or '$(' in value for value in element.attributes.values()):
            raise ModelError(f'{element}: {_xacro_advice(origin)}')


def _xacro_advice(origin: str) -> str:
    name = Path(origin.strip('"')).name
    return (f'{origin} is written in xacro, not URDF; expand it first: '
            f'xacro {name if "." in name else "robot.urdf.xacro"} > robot.urdf')
