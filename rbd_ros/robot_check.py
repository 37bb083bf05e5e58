# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Plausibility tests of a robot description, each with advice.

The loader refuses what cannot be a robot and notes what is doubtful. Its notes are sorted into
tests here, next to tests that need the whole robot: its dynamics and its files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
import math
from typing import NamedTuple

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.errors import ModelError, RbdError
from rbd_ros.model.model import Model
from rbd_ros.model.positions import random_position
from rbd_ros.model.urdf import load_urdf
from rbd_ros.model.urdf.check import fault_of, LARGEST_PART, Note
from rbd_ros.model.urdf.document import read_xml
from rbd_ros.model.urdf.elements import Link, read_link
from rbd_ros.view.shapes import missing_meshes, read_shapes

__all__ = ['examine', 'Finding', 'Test', 'TESTS']

ERROR, WARNING = 'error', 'warning'
#: Number of postures at which the dynamics are evaluated.
POSTURES = 500
#: kg/m^3: osmium and air. A solid with the inertia of a link has a density between them.
DENSEST, LIGHTEST = 22600.0, 1.2
#: rad/s; a higher velocity limit is probably in degrees.
MAX_VELOCITY = 100.0
#: Eigenvalue of the inertia matrix, scaled to a unit diagonal, below which it is singular.
SINGULAR = 1e-12


@dataclass
class Subject:
    """
    The robot that is examined.

    :param text: its URDF.
    :param origin: its file, to find meshes next to it.
    :param model: the robot with a fixed base.
    :param notes: what the loader noted.
    """

    text: str
    origin: str
    model: Model
    notes: list[Note]

    @cached_property
    def robot(self) -> Dynamics:
        """Return its dynamics."""
        return Dynamics(self.model)

    @cached_property
    def links(self) -> list[Link]:
        """Return the links as written in the URDF."""
        return [read_link(each, 0.0) for each in read_xml(self.text, 'the URDF').all('link')]

    @cached_property
    def postures(self) -> Array:
        """Return random positions within the limits."""
        rng = np.random.default_rng(0)
        return np.array([random_position(self.model, rng) for _ in range(POSTURES)])


class Test(NamedTuple):
    """
    One test.

    :param name: one word.
    :param question: what it tests.
    :param severity: of a finding: ``ERROR`` or ``WARNING``.
    :param advice: what to do about a finding.
    :param notes: first words of the loader's notes that belong to this test.
    :param find: returns further findings, one text per element.
    """

    name: str
    question: str
    severity: str
    advice: str
    notes: tuple[str, ...] = ()
    find: Callable[[Subject], list[str]] | None = None


class Finding(NamedTuple):
    """What a test found; no elements if the robot passed."""

    test: Test
    elements: list[str]


def _incomplete_limits(subject: Subject) -> list[str]:
    try:
        load_urdf(subject.text, on_warning=lambda _: None)
    except ModelError as error:
        return [str(error).partition(';')[0]]
    return []


def _sizes(subject: Subject) -> list[str]:
    """Return joints that are too far away, and links whose density no solid has."""
    model = subject.model
    far = {name: math.hypot(*X.r.to_list()) for name, X in zip(model.joint_names, model.X_T[1:])}
    return [f'joint "{name}" is {length:.3g} m from the joint before it'
            for name, length in far.items() if length > LARGEST_PART] + _density(subject)


def _density(subject: Subject) -> list[str]:
    """Return links whose ellipsoid of equal inertia is denser or lighter than any solid."""
    found = []
    for link in subject.links:
        inertial = link.inertial
        if inertial is None or inertial.mass <= 0.0 or fault_of(inertial) is not None:
            continue
        if inertial.moments.trace() > inertial.mass * LARGEST_PART**2:
            continue    # the loader has noted it
        moments = np.linalg.eigvalsh(np.array(inertial.moments.to_list(), float))
        squares = 2.5 / inertial.mass * (moments.sum() - 2.0 * moments)   # half axes, squared
        volume = 4.0 / 3.0 * math.pi * math.sqrt(max(float(np.prod(squares)), 0.0))
        density = inertial.mass / volume if volume > 0.0 else math.inf
        flat = squares.min() <= 1e-3 * squares.max()    # plates and rods have little volume
        if density < LIGHTEST or (density > DENSEST and not flat):
            found.append(f'{link.element} as a solid body has {density:.3g} kg/m^3')
    return found


def _placeholders(subject: Subject) -> list[str]:
    """Return links with the inertia that exporters write by default."""
    found = []
    for link in subject.links:
        if link.inertial is not None:
            I = link.inertial.moments
            if I.xx == I.yy == I.zz == 1.0 and not (I.xy or I.xz or I.yz):
                found.append(f'{link.element} has the inertia 1, 1, 1')
    return found


def _too_weak(subject: Subject) -> list[str]:
    model = subject.model
    if not model.nv or model.loops:  # unknown drives share the weight in closed loops
        return []
    needed = np.abs(subject.robot.gravity(subject.postures)).max(axis=0)
    found = []
    for name in model.independent_joint_names:
        part = model.velocity_slice(name)
        limit = np.array(model.effort_limit[part])
        weak = (needed[part] > limit) & (limit > 0.0)
        if weak.any():
            k = int(np.argmax(weak))
            slides = model.joint[model.joint_index(name)].type_name == 'prismatic'
            unit = 'N' if slides else 'N.m'
            found.append(f'{name} needs up to {needed[part][k]:.3g} {unit} to hold the robot, its '
                         f'limit is {limit[k]:.3g} {unit}')
    return found


def _fast(subject: Subject) -> list[str]:
    model = subject.model
    return [f'{name}: {model.velocity_limit[part.start]:g} rad/s'
            for name in model.independent_joint_names
            for part in [model.velocity_slice(name)]
            if model.joint[model.joint_index(name)].type_name == 'revolute'
            and MAX_VELOCITY < model.velocity_limit[part.start] < math.inf]


def _singular(subject: Subject) -> list[str]:
    model = subject.model
    if not model.nv:
        return []
    try:
        H = subject.robot.mass_matrix(subject.postures[:50])
    except RbdError as error:
        return [str(error)]
    d = np.sqrt(np.maximum(np.diagonal(H, axis1=1, axis2=2), 0.0))
    if not d.all():
        still = d.min(axis=0) == 0.0
        return [f'{name} moves nothing with inertia' for name in model.independent_joint_names
                if still[model.velocity_slice(name)].any()]
    least = np.linalg.eigvalsh(H / d[:, :, None] / d[:, None, :])[:, 0].min()
    return [f'the smallest eigenvalue of the scaled inertia matrix is {least:.1e}'
            ] if least < SINGULAR else []


def _open_loops(subject: Subject) -> list[str]:
    if not subject.model.loops:
        return []
    try:
        _ = subject.robot.loop_report
    except RbdError as error:
        return [str(error)]
    return []


def _meshes(subject: Subject) -> list[str]:
    try:
        shapes = [*read_shapes(subject.text), *read_shapes(subject.text, 'collision')]
    except ModelError as error:
        return [str(error)]
    return missing_meshes(shapes, subject.origin)


READABLE = Test(
    'tree', 'Is it one tree of links and joints, with numbers that can be read?', ERROR,
    'correct the element; nothing else can be tested before')

TESTS = (
    READABLE,
    Test('limits', 'Does every <limit> have effort and velocity?', ERROR,
         'add them from the data sheet: URDF requires them, and the controller needs them',
         find=_incomplete_limits),
    Test('inertia', 'Can the inertia of each link belong to a rigid body?', ERROR,
         'take mass, centre of mass and inertia from CAD again; check that the inertia is about '
         'the centre of mass, in kg m^2', ('inertia that no rigid body has',)),
    Test('leaves', 'Does each outermost moving link have inertia?', ERROR,
         'give it mass and inertia, or fix its joint', ('moving leaf without inertia',)),
    Test('singular', 'Does every motion of the joints move some mass?', ERROR,
         'give inertia to the links that the joint moves, or rotor inertia to the joint',
         find=_singular),
    Test('loops', 'Can closed loops be assembled, and move?', ERROR,
         'check lengths, frames, axes and joint limits of the links in the loop, and the type of '
         'the loop joint', find=_open_loops),
    Test('size', 'Are parts of normal size and density?', WARNING,
         'check the units: kg, m and kg m^2, not g or mm; check the mass',
         ('inertia of a part larger',), _sizes),
    Test('placeholder', 'Are inertias measured or computed, not left at a default?', WARNING,
         'replace the default of the exporter with real values', find=_placeholders),
    Test('angles', 'Are all angles in radians?', WARNING,
         'divide by 57.3 if they are in degrees', ('angle of more than two turns',)),
    Test('speed', 'Are velocity limits plausible?', WARNING,
         'URDF uses rad/s: convert from degrees or revolutions per minute', find=_fast),
    Test('range', 'Do limits leave room for motion and force?', WARNING,
         'enter the real limits; a zero effort or velocity, or an empty range, is rarely intended',
         ('effort limit is zero', 'velocity limit is zero', 'lower and upper limit are equal')),
    Test('strength', 'Do the effort limits carry the weight of the robot in its range?', WARNING,
         'check effort limits, masses and the direction of gravity', find=_too_weak),
    Test('meshes', 'Are the mesh files there?', WARNING,
         'source the workspace of the description, or correct the address; the dynamics do not '
         'need meshes, but viewers and collision checks do', find=_meshes),
    Test('unused', 'Is every element of the description used?', WARNING,
         'correct or remove these elements; they have no effect now', ('',)),
)


def examine(text: str, origin: str = '', step: Callable[[], None] = lambda: None) -> list[Finding]:
    """
    Apply every test to a robot.

    :param text: its URDF.
    :param origin: its file, to find meshes next to it.
    :param step: called after each test.
    """
    notes: list[Note] = []
    try:
        model = load_urdf(text, limits_optional=True, on_warning=notes.append)
    except ModelError as error:
        return [Finding(READABLE, [str(error)])]
    subject = Subject(text, origin, model, notes)
    found = []
    for test in TESTS:
        elements = [f'{element} ({note.kind})' if test.name == 'unused' else element
                    for note in notes if _belongs(note, test) for element in note.elements]
        found.append(Finding(test, elements + (test.find(subject) if test.find else [])))
        step()
    return found


def _belongs(note: Note, test: Test) -> bool:
    """Return whether a note belongs to a test; the last test takes those of no other."""
    first = next(each for each in TESTS
                 if any(note.kind.startswith(start) for start in each.notes))
    return first is test
