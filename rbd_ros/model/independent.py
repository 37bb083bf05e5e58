# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The independent coordinates of a tree of joints: their properties, and how others follow them.

Joints own the coordinates unless a mimic or a gear makes them follow; what followers cost in
friction, damping and rotor inertia is added to the joints that they follow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
import math

import numpy as np

from rbd_ros.compiler import Scalar
from rbd_ros.errors import ModelError
from rbd_ros.joints import Joint
from rbd_ros.model.coupling import Affine, Coupling, Follower, Gear, Mimic
from rbd_ros.model.gear_laws import compose, Composed
from rbd_ros.spatial import Transform

Values = float | Sequence[float]
SIGNED = ('lower', 'upper', 'gear_ratio')
#: what may be infinite: there is no limit
LIMITS = ('lower', 'upper', 'effort', 'velocity')


@dataclass(frozen=True)
class JointData:
    """
    What is known of a joint besides its geometry, in SI units.

    Each entry is one number for all coordinates of the joint, or one per coordinate
    (positions for ``lower`` and ``upper``, velocities for the rest).

    :param rotor_inertia: as felt at the joint: the rotor's own times ``gear_ratio`` squared.
    """

    lower: Values = -math.inf
    upper: Values = math.inf
    effort: Values = math.inf
    velocity: Values = math.inf
    friction: Values = 0.0
    damping: Values = 0.0
    rotor_inertia: Values = 0.0
    gear_ratio: Values = 1.0

    def __post_init__(self) -> None:
        """Keep plain numbers: an array could change before the model is built."""
        for entry, values in vars(self).items():
            try:
                plain = float(values) if np.ndim(values) == 0 else tuple(map(float, values))
            except (TypeError, ValueError, OverflowError):
                raise ModelError(f'{entry} {values!r} of a joint must be a number, or one for '
                                 'each coordinate') from None
            object.__setattr__(self, entry, plain)


@dataclass(frozen=True)
class Arc:
    """A joint as given: from predecessor to successor, with the places of its two frames."""

    name: str
    predecessor: int
    successor: int
    joint: Joint
    X_P: Transform
    X_S: Transform
    data: JointData
    mimic: Mimic | Gear | None


def _spread(values: Values, size: int, arc: Arc, what: str) -> list[float]:
    """Return one number per coordinate."""
    listed = [values] * size if isinstance(values, float) else list(values)
    if len(listed) != size:
        raise ModelError(f'joint "{arc.name}": {what} has {len(listed)} entries, the joint '
                         f'needs {size}')
    for value in listed:
        if math.isnan(value) or (value < 0.0 and what not in SIGNED):
            raise ModelError(f'joint "{arc.name}": {what} {value} must be a number'
                             f'{"" if what in SIGNED else " that is not negative"}')
        if math.isinf(value) and what not in LIMITS:
            raise ModelError(f'joint "{arc.name}": {what} {value} must be finite')
        if value == 0.0 and what == 'gear_ratio':
            raise ModelError(f'joint "{arc.name}": gear_ratio 0 leaves the drive without effect; '
                             'give turns of the rotor per turn of the joint, 1 without a gear')
        if (what, value) in (('lower', math.inf), ('upper', -math.inf)):
            raise ModelError(f'joint "{arc.name}": {what} limit {value} leaves no room to move; '
                             f'{-value} means no limit')
    return listed


def independent(joints: Sequence[tuple[Arc, Joint]],
                ) -> tuple[Coupling | None, dict[str, tuple[float, ...]]]:
    """
    Return the coupling and the properties of the independent coordinates.

    :param joints: of the tree in the order of their bodies, as given and as they were placed.
    """
    laws = _laws(joints)
    values: dict[str, list[float]] = {entry: [] for entry in (
        'lower', 'upper', 'effort_limit', 'velocity_limit', 'friction', 'damping',
        'rotor_inertia', 'gear_ratio')}
    starts: dict[str, tuple[int, int]] = {}
    for arc, joint in joints:
        if arc.name in laws:
            continue
        starts[arc.name] = len(values['lower']), len(values['friction'])
        for entry, out in values.items():
            attribute = entry.removesuffix('_limit')
            size = joint.nq if entry in ('lower', 'upper') else joint.nv
            out += _spread(getattr(arc.data, attribute), size, arc, attribute)
        low, high = (values[entry][starts[arc.name][0]:] for entry in ('lower', 'upper'))
        if any(a > b for a, b in zip(low, high, strict=True)):
            raise ModelError(f'joint "{arc.name}": lower limit {low} is above upper limit {high}')
    coupling = _couple(joints, laws, starts, values) if laws else None
    return coupling, {entry: tuple(out) for entry, out in values.items()}


def _couple(joints: Sequence[tuple[Arc, Joint]], laws: Mapping[str, Mimic | Gear],
            starts: dict[str, tuple[int, int]], values: dict[str, list[float]]) -> Coupling:
    """
    Return the coupling of followers to leaders; these bear costs and limits of their followers.

    :param starts: where each leader's coordinates begin in q and v.
    """
    linear = compose(laws)
    rows_q: list[tuple[tuple[int, float], ...]] = []
    rows_v: list[tuple[tuple[int, float], ...]] = []
    q0: list[float] = []
    places: dict[str, tuple[int, int]] = {}
    for arc, joint in joints:
        places[arc.name] = len(rows_q), len(rows_v)
        law = linear.get(arc.name) if arc.name in laws else Composed({arc.name: 1.0}, 0.0)
        offset, weights = (0.0, {}) if law is None else (law.offset, law.weights)
        rows_q += [tuple((starts[leader][0] + k, weight) for leader, weight in weights.items())
                   for k in range(joint.nq)]
        rows_v += [tuple((starts[leader][1] + k, weight) for leader, weight in weights.items())
                   for k in range(joint.nv)]
        q0 += [offset] * joint.nq
        if arc.name in laws:
            _charge(arc, law, starts, values)
            _restrict(arc, law, starts, values)
    number = {arc.name: i for i, (arc, _) in enumerate(joints, 1)}
    leaders: dict[str, frozenset[int]] = {}
    for name in linear:
        leaders[name] = frozenset[int]().union(
            *(leaders.get(joint, {number[joint]}) for joint in laws[name].joints))
    gears = tuple(Follower(*places[name], tuple(places[joint] for joint in laws[name].joints),
                           _function(laws[name])) for name, law in linear.items() if law is None)
    return Coupling(tuple(rows_q), tuple(q0), tuple(rows_v), len(values['lower']),
                    len(values['friction']), tuple(number[name] for name in laws),
                    tuple(tuple(sorted(leaders[name])) for name in laws), gears)


def _function(law: Mimic | Gear) -> Callable[..., Scalar]:
    return law.function if isinstance(law, Gear) else Affine((law.multiplier,), law.offset)


def _charge(arc: Arc, law: Composed | None, starts: dict[str, tuple[int, int]],
            values: dict[str, list[float]]) -> None:
    """
    Add the damping, friction and rotor of a follower to its leader.

    Damping and rotor are felt by the multiplier squared (power is the same), friction by the
    multiplier's magnitude.
    """
    for entry, power in (('friction', 1), ('damping', 2), ('rotor_inertia', 2)):
        own = _spread(getattr(arc.data, entry), 1, arc, entry)[0]
        if law is not None and len(law.weights) == 1:
            (leader, weight), = law.weights.items()
            values[entry][starts[leader][1]] += abs(weight) ** power * own
        elif own:
            raise ModelError(
                f'joint "{arc.name}": {entry} {own} cannot be moved to the joint that it follows, '
                'since its gear is not linear or has several inputs; give that to the joints that '
                'move freely, or make a rotor a body (load_urdf: rotor_bodies=True)')


def _restrict(arc: Arc, law: Composed | None, starts: dict[str, tuple[int, int]],
              values: dict[str, list[float]]) -> None:
    """
    Narrow the range and the velocity of a leader to what its follower may do.

    A follower with equal limits, or with the velocity limit 0, has none: such numbers stand where
    somebody had to write some. Nor has one whose limits leave its leader nowhere to go: they are
    meant for another direction. The effort is that of the leader's drive.
    """
    lower, upper, velocity = (_spread(getattr(arc.data, entry), 1, arc, entry)[0]
                              for entry in ('lower', 'upper', 'velocity'))
    if law is None or len(law.weights) != 1:
        return
    (leader, weight), = law.weights.items()
    if weight == 0.0:
        return
    q, v = starts[leader]
    if lower < upper:
        low, high = sorted((bound - law.offset) / weight for bound in (lower, upper))
        low, high = max(values['lower'][q], low), min(values['upper'][q], high)
        if low < high:
            values['lower'][q], values['upper'][q] = low, high
    if velocity > 0.0:
        values['velocity_limit'][v] = min(values['velocity_limit'][v], velocity / abs(weight))


def _laws(joints: Sequence[tuple[Arc, Joint]]) -> dict[str, Mimic | Gear]:
    """Return what each following joint follows, checked."""
    named = {arc.name: joint for arc, joint in joints}
    laws = {arc.name: arc.mimic for arc, _ in joints if arc.mimic is not None}
    for name, law in laws.items():
        if not law.joints:
            raise ModelError(f'joint "{name}": its gear names no joint to follow')
        for leader in law.joints:
            if leader not in named:
                raise ModelError(f'joint "{name}" mimics "{leader}", which is not a movable '
                                 'joint of the tree')
            for each in (name, leader):
                if named[each].nq != 1 or named[each].nv != 1:
                    raise ModelError(f'joint "{name}" mimics "{leader}", but "{each}" has '
                                     f'{named[each].nv} degrees of freedom; both need one')
    return laws
