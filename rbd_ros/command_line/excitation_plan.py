# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Plans of ``rbd excite``: made, written, read again, and checked against limits and obstacles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import json
import math
from pathlib import Path as File
import re
from typing import Any, NamedTuple

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.control.paths.limits import first_outside, powers
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.errors import RbdError, SettingError
from rbd_ros.identification.excitation import Bounds, excite
from rbd_ros.identification.whole_robot import stacked, structural
from rbd_ros.model.model import Model
from rbd_ros.model.positions import neutral
from rbd_ros.model.urdf.collisions import load_collisions
from rbd_ros.sim.contact.clearance import Clearance
from rbd_ros.sim.contact.mesh import read_mesh
from rbd_ros.teaching.motion import goal_text, Motion as Path, torques
from rbd_ros.teaching.strokes import refuse_unmovable
import yaml

__all__ = ['approach', 'bounds_of', 'Checks', 'excitation_of', 'extremes', 'Path', 'plan_text',
           'planned', 'read_checks', 'read_plan', 'Scene']

#: Time between the points of a plan, s; polynomials of degree five join them.
STEP = 0.05
#: Points in each period of the fastest harmonic, at least.
_POINTS = 40
#: Instants of each piece at which torques are computed.
_BETWEEN = 4
#: Speed and acceleration on the way to the start, shares of what the motion itself may use.
GENTLE = 0.25
#: Postures that are tried as a start.
_POSTURES = 60
#: In front of the options in the first line of a plan: a comment, as a goal has no place for them.
_CHECKED = ', checked with '


class Checks(NamedTuple):
    """
    Options by which a plan is checked; a plan that is written keeps them.

    :param floor: its height, or None.
    :param ignore: pairs ``A:B`` of links that may overlap.
    """

    speed: float
    torque: float
    range: float
    floor: float | None
    margin: float
    ignore: tuple[str, ...]
    acceleration: float = 4.0

    def words(self) -> str:
        """Return them as they are typed."""
        return ' '.join([
            *(f'--{name} {getattr(self, name):g}' for name in (
                'speed', 'acceleration', 'torque', 'range', 'margin')),
            '--no-floor' if self.floor is None else f'--floor {self.floor:g}',
            *(f'--ignore {pair}' for pair in self.ignore)])


class Scene(NamedTuple):
    """A robot, what it must not touch, and how far it keeps away."""

    robot: Dynamics
    clearance: Clearance
    margin: float

    @classmethod
    def of(cls, text: str, model: Model, floor: float | None, ignore: Sequence[str],
           margin: float) -> Scene:
        """
        Return the scene of a robot.

        :param text: its URDF.
        :param floor: its height, or None.
        :param ignore: pairs ``A:B`` of links that may overlap.
        """
        pairs = []
        for word in ignore:
            one, sign, two = word.partition(':')
            if not (one and sign and two):
                raise SettingError(f'--ignore {word}: give two links, as in link_5:link_7')
            pairs.append((one, two))
        names = model.independent_joint_names
        if not model.nq == model.nv == len(names):
            raise RbdError(f'"{model.name}" has joints with several coordinates, for which no '
                           'trajectory can be sent')
        robot = Dynamics(model)
        shapes = load_collisions(text, model, read_mesh=lambda file, scale: read_mesh(
            file, scale, hull=True))
        if not shapes:
            raise RbdError(f'"{model.name}" has no <collision> shapes, so collisions cannot be '
                           f'checked; add some, boxes and cylinders are enough')
        return cls(robot, Clearance(robot, shapes, floor, pairs), margin)

    def words(self) -> str:
        """Return what is checked."""
        floor = '' if self.clearance.floor is None else ' and of the floor'
        return f'itself{floor}'

    def clear(self, q: Array) -> bool:
        """Return whether all positions keep the margin, with a little more between them."""
        wide = 1.5 * self.margin
        # A few first: most motions that collide do so at many times.
        return all(bool((self.clearance.nearest(part, wide)[0] >= wide).all())
                   for part in (q[::7], q))

    def refuse(self, path: Path, bounds: Bounds) -> None:
        """Raise an error if a path leaves its limits or comes too close to something."""
        curve = path.curve()
        for what, order, low, high in (
                ('position', 0, bounds.lower, bounds.upper),
                ('velocity', 1, -bounds.speed, bounds.speed),
                ('acceleration', 2, -bounds.acceleration, bounds.acceleration)):
            slack = _slack(high)
            t = _first_beyond(curve, order, low - slack, high + slack)
            if t is not None:
                _refuse(path, what, t, curve(t, order), low, high)
        fine = _finer(path)
        values = torques(self.robot, fine)
        bad = (np.abs(values) > bounds.torque + _slack(bounds.torque)).any(axis=1)
        if bad.any():
            k = int(bad.argmax())
            _refuse(path, 'torque', float(fine.t[k]), values[k], -bounds.torque, bounds.torque)
        miss = self.clearance.first_miss(path.position, float(path.t[-1]), self.margin)
        if miss is not None:
            raise RbdError(f'{miss.text(self.margin)}; choose another --start or --seed, or '
                           f'exclude links that may overlap with --ignore {miss.one}:{miss.two}')


def _slack(most: Array) -> Array:
    """Return by how much a limit may be missed: the digits of a file, and shapes of curves."""
    return 1e-6 + 1e-3 * np.where(np.isfinite(most), np.abs(most), 1.0)


def _first_beyond(curve: Any, order: int, low: Array, high: Array) -> float | None:
    """Return the first time at which a derivative of a curve leaves its bounds."""
    part = curve.derivative(order) if order else curve  # in the basis of Bernstein, a hull
    outside = (part.c.min(axis=0) < low) | (part.c.max(axis=0) > high)
    for i in np.flatnonzero(outside.any(axis=1)):
        u = first_outside(powers(part.c[:, i]), low, high)
        if u is not None:
            return float(part.x[i] + u * (part.x[i + 1] - part.x[i]))
    return None


def _refuse(path: Path, what: str, t: float, values: Array, low: Array, high: Array) -> None:
    k = int(np.argmax(np.maximum(low - values, values - high)))
    raise RbdError(f'at {t:.2f} s the {what} of "{path.joints[k]}" is {values[k]:.4g}, not '
                   f'between {low[k]:.4g} and {high[k]:.4g}')


def _finer(path: Path) -> Path:
    """Return a motion with more points, as many as the polynomials need."""
    curve = path.curve()
    share = np.arange(_BETWEEN) / _BETWEEN
    t = np.append((path.t[:-1, None] + np.diff(path.t)[:, None] * share).ravel(), path.t[-1])
    return Path(path.joints, t, *(curve(t, order) for order in range(3)))


def bounds_of(model: Model, *, speed: float, acceleration: float, torque: float, share: float,
              ) -> Bounds:
    """
    Return what a motion may use.

    :param speed: share of the velocity limits, ``torque`` of the effort limits, ``share`` of the
        range of the joints.
    :param acceleration: rad/s^2 or m/s^2.
    """
    for name, value in (('--speed', speed), ('--torque', torque), ('--range', share)):
        if not 0.0 < value <= 1.0:
            raise SettingError(f'{name} is {value:g}; it must be positive and at most 1')
    if not 0.0 < acceleration < math.inf:
        raise SettingError(f'--acceleration is {acceleration:g}; it must be positive')
    refuse_unmovable(model, model.independent_joint_names)
    lower, upper = np.array(model.lower), np.array(model.upper)
    lower = np.where(np.isfinite(lower), lower, -math.pi)
    upper = np.where(np.isfinite(upper), upper, math.pi)
    inner = 0.5 * (1.0 - share) * (upper - lower)
    return Bounds(lower + inner, upper - inner, speed * np.array(model.velocity_limit),
                  np.full(model.nv, acceleration), torque * np.array(model.effort_limit))


def planned(scene: Scene, bounds: Bounds, start: Array | None, duration: float, seed: int,
            evaluations: int, told: Callable[[], None]) -> Path:
    """
    Return a planned motion.

    :param start: posture at both ends; None for one that is clear.
    """
    model = scene.robot.model
    found = excite(scene.robot, _start(scene, bounds, seed) if start is None else start, bounds,
                   scene.clear, duration=duration, seed=seed, evaluations=evaluations, told=told)
    t = np.linspace(0.0, duration, 1 + max(_POINTS * len(found.sine), math.ceil(duration / STEP)))
    return Path(model.independent_joint_names, t, *found.at(t))


def _start(scene: Scene, bounds: Bounds, seed: int) -> Array:
    """Return a posture that is clear: zero, the middle of the range, or a random one."""
    rng, middle = np.random.default_rng(seed), 0.5 * (bounds.lower + bounds.upper)
    half = 0.3 * (bounds.upper - bounds.lower)
    inner = [np.clip(np.array(neutral(scene.robot.model), float), middle - half, middle + half),
             middle, *(middle + half * rng.uniform(-1.0, 1.0, (_POSTURES, len(middle))))]
    still = np.zeros_like(middle)
    for q in inner:
        load = np.abs(scene.robot.inverse_dynamics(q, still, still))
        if (load < 0.8 * bounds.torque).all() and scene.clear(q[None]):
            return np.asarray(q)
    least, names = scene.clearance.nearest(np.array(inner[:1]), scene.margin)
    (one, two), distance = names[0], least[0]
    found = (f'"{one}" overlaps "{two}" by {-distance:.4f} m' if distance < 0.0 else
             f'"{one}" is {distance:.4f} m from "{two}"')
    raise RbdError('no clear posture was found to start from; at the first that was tried, '
                   f'{found}. Give --start, --floor, or --ignore {one}:{two}')


def approach(scene: Scene, here: Array, path: Path) -> Path:
    """
    Return a slow motion to where a path begins, at rest at both ends.

    :param here: where the robot is.
    :raises RbdError: if it comes too close to something.
    """
    way = path.q[0] - here
    fastest = GENTLE * np.array(scene.robot.model.velocity_limit)
    duration = max(2.0, float((1.875 * np.abs(way) / fastest).max()))
    t = np.linspace(0.0, duration, 1 + max(2, math.ceil(duration / STEP)))
    s = t / duration
    shape = [10 * s**3 - 15 * s**4 + 6 * s**5, (30 * s**2 - 60 * s**3 + 30 * s**4) / duration,
             (60 * s - 180 * s**2 + 120 * s**3) / duration**2]
    made = Path(path.joints, t, here + np.outer(shape[0], way), np.outer(shape[1], way),
                np.outer(shape[2], way))
    miss = scene.clearance.first_miss(made.position, duration, scene.margin)
    if miss is not None:
        raise RbdError(f'on the way to the start, {miss.text(scene.margin)}; move the robot '
                       'closer to the start first')
    return made


def extremes(scene: Scene, path: Path) -> dict[str, Array]:
    """Return per joint the largest values of a motion."""
    fine = _finer(path)
    return {'lowest': fine.q.min(axis=0), 'highest': fine.q.max(axis=0),
            'speed': np.abs(fine.qd).max(axis=0), 'acceleration': np.abs(fine.qdd).max(axis=0),
            'torque': np.abs(torques(scene.robot, fine)).max(axis=0),
            'torque_limit': np.array(scene.robot.model.effort_limit)}


def excitation_of(scene: Scene, path: Path) -> float:
    """Return the condition number of the regressor of a motion, columns of unit length."""
    robot = scene.robot
    A = stacked(robot, 'full', path.q, path.qd, path.qdd)
    limit = np.array(robot.model.effort_limit)
    A = A / np.tile(np.where(np.isfinite(limit), limit, 1.0), len(path.t))[:, None]
    A = A[:, list(structural(robot, 'full').independent)]
    size = np.linalg.norm(A, axis=0)
    if not size.min() > 0.0:
        return math.inf
    values = np.linalg.svd(A / size, compute_uv=False)
    return float(values[0] / values[-1]) if values[-1] > 0.0 else math.inf


def plan_text(path: Path, title: str, checks: Checks) -> str:
    """Return a plan as a file: a goal of FollowJointTrajectory, with the options in a comment."""
    return goal_text(path, f'{title}{_CHECKED}{json.dumps(checks._asdict())}')


def read_checks(file: File) -> Checks | None:
    """
    Return the options that a plan was made with; None for a goal that says nothing of them.

    :raises RbdError: if they cannot be read.
    """
    with file.open(errors='replace') as lines:
        found = re.match(rf'#.*?{_CHECKED}(.*)', lines.readline())
    if found is None:
        return None
    try:
        read = json.loads(found[1])
        floor = read.pop('floor')
        ignore = tuple(map(str, read.pop('ignore')))
        return Checks(**{name: float(value) for name, value in read.items()},
                      floor=None if floor is None else float(floor), ignore=ignore)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RbdError(f'{file}: its first line does not give the options that it was checked '
                       f'with ({error}); delete that line, and give the options again') from None


def read_plan(file: File, model: Model) -> Path:
    """
    Return a plan that was written before, in the order of a model.

    :raises RbdError: for a file that is no plan, or one of another robot.
    """
    try:
        found = yaml.safe_load(file.read_text())['trajectory']
        names, points = list(found['joint_names']), found['points']
        t = np.array([each['time_from_start']['sec'] + 1e-9 * each['time_from_start']['nanosec']
                      for each in points], float)
        rows = [np.array([each[word] for each in points], float)
                for word in ('positions', 'velocities', 'accelerations')]
    except (yaml.YAMLError, KeyError, TypeError, ValueError, UnicodeDecodeError) as error:
        raise RbdError(f'{file} is not a plan of rbd excite: it contains no goal of '
                       f'FollowJointTrajectory ({error!r})') from None
    wanted = model.independent_joint_names
    if sorted(names) != sorted(wanted):
        raise RbdError(f'{file} moves {", ".join(map(str, names))}; "{model.name}" has '
                       f'{", ".join(wanted)}')
    shape = (len(t), len(names))
    if len(t) < 2 or any(row.shape != shape or not np.isfinite(row).all() for row in rows) or (
            np.diff(t) <= 0.0).any():
        raise RbdError(f'{file}: points need finite positions, velocities and accelerations of '
                       'all joints, and times that increase')
    order = [names.index(name) for name in wanted]
    return Path(wanted, t, *(row[:, order] for row in rows))
