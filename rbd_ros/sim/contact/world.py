# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""What a simulated robot may touch: a scene of obstacles, and how their surfaces behave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import Any, NamedTuple

import numpy as np

from rbd_ros.algorithms import kinematics
from rbd_ros.algorithms.contact.soft import check_positive
from rbd_ros.compiler import Array
from rbd_ros.dynamics.contact_system import Motions
from rbd_ros.errors import SettingError
from rbd_ros.model.collision_shapes import (
    Box, Capsule, CollisionShape, HalfSpace, sample_balls, Shape, Sphere)
from rbd_ros.model.model import Model
from rbd_ros.sim.contact.distance import Placed
from rbd_ros.sim.contact.pattern import KINDS, Pattern
from rbd_ros.sim.contact.points import ContactPoints
from rbd_ros.spatial import from_rpy, Vec3

CONTACTS = ('none', 'soft', 'rigid')

_KEYS = '"floor" (a height), "boxes" (a list) and "balls" (of the robot, a radius for each link)'


class Obstacle(NamedTuple):
    """A part of a scene."""

    name: str
    placed: Placed


@dataclass(frozen=True)
class Surface:
    """
    How the surface of an obstacle behaves.

    :param stiffness: N/m, of each point of a soft contact, normal and tangential.
    :param damping: N.s/m, likewise.
    :param friction: coefficient of Coulomb friction.
    :param restitution: of rigid contacts; how a soft one bounces depends on its damping.
    """

    stiffness: float = 2e4
    damping: float = 200.0
    friction: float = 0.6
    restitution: float = 0.0

    def __post_init__(self) -> None:
        """Refuse invalid values, and name them."""
        check_positive(stiffness=self.stiffness, damping=self.damping)
        if not 0.0 <= self.friction < math.inf:
            raise SettingError(f'friction is {self.friction}; it must be zero or more')
        if not 0.0 <= self.restitution <= 1.0:
            raise SettingError(f'restitution is {self.restitution}; it must be between 0 and 1')


class World:
    """
    Obstacles around a robot.

    :param kind: ``'soft'`` or ``'rigid'``.
    :param shapes: of the robot.
    :param obstacles: fixed in the base.
    :param surface: of all obstacles.
    :param between: pairs of links, by name, that may touch each other; none by default.
    """

    def __init__(
        self, kind: str, shapes: Sequence[CollisionShape], obstacles: Sequence[Obstacle],
        surface: Surface | None = None, between: Sequence[tuple[str, str]] = (),
    ) -> None:
        if kind not in CONTACTS[1:]:
            raise SettingError(f'contact is "{kind}"; a world is soft or rigid')
        self.kind, self.obstacles = kind, tuple(obstacles)
        self.surface = surface or Surface()
        self.points = ContactPoints(
            shapes, [each.placed for each in obstacles], sample_balls, between)
        if not self.points.pairs:
            raise SettingError('nothing can touch: the scene needs an obstacle, and the robot '
                               '<collision> shapes on links that move')

    def name(self, pair: int) -> str:
        """Return the name of the obstacle of a pair, which may be a link."""
        k = self.points.pairs[pair][1]
        return self.points.links[k] or self.obstacles[k].name

    def pattern(self) -> Pattern:
        """Return what is compiled into a contact kernel."""
        points = self.points
        return Pattern(
            tuple(points.bodies.tolist()),
            tuple(KINDS[type(each.shape)] for each in points.obstacles),
            tuple(points.carriers), tuple(points.pairs))

    def shape_inputs(self) -> dict[str, Array]:
        """Return the sizes and positions that are inputs of a contact kernel."""
        rows = [np.concatenate([R.ravel(), p, _half(shape)])
                for shape, R, p in self.points.obstacles]
        return {'balls': np.column_stack([self.points.points, self.points.radii]),
                'obstacles': np.array(rows)}

    def soft_inputs(self) -> dict[str, Array]:
        """Return the inputs of a soft-contact kernel."""
        s = self.surface
        return self.shape_inputs() | {'surface': np.array([
            s.stiffness, s.damping, s.stiffness, s.damping, s.friction])}

    def clearance(self, model: Model, q: Array) -> float:
        """Return the height of the robot above the floor of the scene, m; 0 without a floor."""
        shapes = [self.points.obstacles[k].shape for _, k in self.points.pairs]
        floor = np.array([isinstance(shape, HalfSpace) for shape in shapes])
        return float(self.points.distances(_at_rest(model, q))[floor].min()) if any(floor) else 0.0

    def refuse_overlap(self, model: Model, q: Array) -> None:
        """
        Refuse a position in which the robot overlaps an obstacle by more than a millimetre.

        :raises SettingError: which names the body and the obstacle.
        """
        depths = -self.points.distances(_at_rest(model, q))
        for pair in np.flatnonzero(depths > 1e-3).tolist():
            body = model.body_names[self.points.bodies[self.points.pairs[pair][0]]]
            raise SettingError(
                f'body "{body}" starts {depths[pair]:.3g} m inside "{self.name(pair)}"; move '
                'the obstacle, or start elsewhere')


def _half(shape: Shape) -> Array:
    """Return the three sizes of an obstacle, as described in ``Pattern.shapes``."""
    if isinstance(shape, Box):
        return 0.5 * np.array(shape.size)
    if isinstance(shape, (Sphere, Capsule)):
        length = shape.length if isinstance(shape, Capsule) else 0.0
        return np.array([shape.radius, 0.0, 0.5 * length])
    return np.zeros(3)


def _at_rest(model: Model, q: Array) -> Motions:
    """Return the poses of the bodies at position q and zero velocity."""
    X_0 = kinematics.placements(
        model, kinematics.links(model, model.expand_q(q.tolist())))
    E = np.array([X.E.rows for X in X_0], float)
    r = np.array([list(X.r) for X in X_0], float)
    return Motions(E, r, np.zeros((len(r), 6)), *[np.empty(0)] * 4)


def read_scene(text: str, name: str = 'the scene') -> tuple[Obstacle, ...]:
    """
    Return the obstacles of a scene file (YAML): ``floor`` and ``boxes``; see ``read_balls``.

    :param text: ``floor: 0.0`` is a half-space with its surface at that height; each of ``boxes``
        has a ``size`` and the ``position`` of its centre, and may have a ``name`` and ``rpy``.
    :param name: of the file, for messages.
    """
    found = _scene(text, name)
    obstacles = []
    if 'floor' in found:
        height = _numbers(name, 'floor', [found['floor']], 1)[0]
        obstacles.append(Obstacle('floor', Placed(
            HalfSpace(), np.eye(3), np.array([0.0, 0.0, height]))))
    boxes = found.get('boxes') or []
    if not isinstance(boxes, list):
        raise SettingError(f'{name}: boxes is {boxes!r}; it must be a list')
    for i, box in enumerate(boxes):
        if not isinstance(box, dict) or not set(box) <= {'name', 'size', 'position', 'rpy'}:
            raise SettingError(f'{name}: box {i} may hold name, size, position and rpy')
        title = str(box.get('name', f'box_{i}'))
        if title in [each.name for each in obstacles]:      # forces are reported by name
            raise SettingError(f'{name}: two obstacles are called "{title}"; give each its own '
                               'name')
        x, y, z = _numbers(name, f'size of "{title}"', box.get('size'), 3)
        rpy = _numbers(name, f'rpy of "{title}"', box.get('rpy', [0.0, 0.0, 0.0]), 3)
        R = np.array(from_rpy(*rpy).rows, float).T
        place = _numbers(name, f'position of "{title}"', box.get('position'), 3)
        obstacles.append(Obstacle(title, Placed(Box((x, y, z)), R, np.array(place))))
    return tuple(obstacles)


def read_balls(text: str, model: Model, name: str = 'the scene') -> list[CollisionShape] | None:
    """
    Return the ``balls`` of a scene file, which replace the collision shapes of the robot.

    :param text: ``balls: {foot: 0.02}`` is a ball of that radius about the origin of a link;
        ``balls: {sole: {radius: 0.01, at: [[0.1, 0.05, 0.0], [0.1, -0.05, 0.0]]}}`` are two at
        these places in the link.
    :returns: the balls; None if the file has none.
    :raises SettingError: for a radius that is not positive.
    """
    found = _scene(text, name)
    if 'balls' not in found:
        return None
    if not isinstance(found['balls'], dict):
        raise SettingError(f'{name}: balls is {found["balls"]!r}; it must give a radius for each '
                           'link, such as {left_foot: 0.02}')
    return [ball for link, value in found['balls'].items()
            for ball in _balls(name, str(link), value, model)]


def _balls(name: str, link: str, value: Any, model: Model) -> list[CollisionShape]:
    """Return the balls of one link."""
    if not isinstance(value, dict):
        value = {'radius': value}
    if not set(value) <= {'radius', 'at'}:
        raise SettingError(f'{name}: the balls of "{link}" may hold radius and at, a list of '
                           'places in the link')
    radius = _numbers(name, f'the ball of "{link}"', [value.get('radius')], 1)[0]
    if radius <= 0.0:
        raise SettingError(f'{name}: the ball of "{link}" has the radius {radius:g}; it must '
                           'be positive')
    places = value.get('at', [[0.0, 0.0, 0.0]])
    if not isinstance(places, list) or not places:
        raise SettingError(f'{name}: "at" of the balls of "{link}" must be a list of places, such '
                           'as [[0.1, 0.05, 0.0], [0.1, -0.05, 0.0]]')
    frame = model.frame(link)
    return [CollisionShape(link, frame.body, Sphere(radius), p=np.array(list(
        frame.placement.inv_point(Vec3(*_numbers(
            name, f'place {i} of the balls of "{link}"', at, 3))))))
            for i, at in enumerate(places)]


def _scene(text: str, name: str) -> dict[str, Any]:
    """Return the contents of a scene file; refuses unknown keys."""
    import yaml
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SettingError(f'{name} is not YAML: {error}') from None
    if not isinstance(found, dict) or not found:
        raise SettingError(f'{name} must hold {_KEYS}')
    for key in found:
        if key not in ('floor', 'boxes', 'balls'):
            raise SettingError(f'{name}: "{key}" is unknown; a scene may hold {_KEYS}')
    return found


def _numbers(name: str, what: str, value: Any, count: int) -> list[float]:
    good = isinstance(value, list) and len(value) == count and all(
        isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x)
        for x in value)
    if not good:
        many = 'one finite number' if count == 1 else f'{count} finite numbers'
        raise SettingError(f'{name}: {what} is {value!r}; it must be {many}')
    return [float(x) for x in value]
