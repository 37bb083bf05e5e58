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
Parameters that a generated controller takes while it runs, as a table.

What a parameter does to the numbers of the step is found by trying values: it is live if each
number that it changes is a multiple of one of its values, plus a constant, between bounds, or
follows from others by ``derive_parameters``. That is then tried with many sets of values at once,
so that parameters which depend on each other do not get into the table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rbd_ros.control.interface.row import BOOL, DOUBLE, DOUBLES, INTEGER, Parameter, Value
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import with_modes
from rbd_ros.control.references.points import fill_point_limits, PointLimits
from rbd_ros.control.step.state import derive_parameters, fill_parameters, Parameters

__all__ = ['Effect', 'Live', 'live_parameters', 'Numbers', 'why_fixed']

Array = npt.NDArray[np.float64]

#: sets of values that are tried at once; and to find a parameter that disagrees
_TRIALS, _FEW = 24, 2

#: of the range of a parameter, at which it is tried alone; and about which it is fitted
_SHARES = (1e-7, 1e-5, 1e-3, 1e-2, 0.1, 0.9)
_FITTED = (1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 0.6, 0.9)

#: by which a number may differ for rounding
_ROUNDING = 1e-12


class Effect(NamedTuple):
    """What a parameter does to one number: ``constant + scale * value[at]``, between bounds."""

    place: int
    at: int
    scale: float
    constant: float
    low: float
    high: float

    def __call__(self, values: Array) -> float:
        """
        Return the number.

        :param values: of the parameter.
        """
        return min(max(self.constant + self.scale * float(values[self.at]), self.low), self.high)


class Live(NamedTuple):
    """A parameter that may change while the controller runs."""

    row: Parameter
    size: int  # numbers that it has, one for each joint where it is given for all
    effects: tuple[Effect, ...]
    above: bool  # whether its lower bound means something else, so that it must be above


class Numbers:
    """
    The numbers of the step and of its references that parameters decide, in one row.

    :param settings: of the controller.
    :param given: parameters of the step with what is filled in only once.
    """

    def __init__(self, settings: Settings, given: Parameters) -> None:
        self._settings, self._given = settings, given
        self._limits = PointLimits({'n': len(settings.robot.joints)})
        self.paths = [path if not view.ndim else f'{path}[{k}]' for record, name in (
            (given, 'p.'), (self._limits, 'limits.')) for path, _, view in record.walk(name)
            for k in range(view.size)]

    def of(self, values: Mapping[str, Value]) -> Array:
        """
        Return the numbers for changed values.

        :param values: by name.
        """
        settings = Settings(self._settings.robot, {**self._settings.values, **values},
                            simulated=self._settings.simulated)
        p = self._copy()
        fill_parameters(p, settings, tuple(settings.robot.modes))
        fill_point_limits(self._limits, settings)
        return np.concatenate([p.memory, self._limits.memory])

    def _copy(self) -> Parameters:
        p = Parameters(self._given.sizes)
        p.memory[:] = self._given.memory
        return p

    def derived(self, numbers: Array) -> Array:
        """
        Return the numbers with what follows from others.

        :param numbers: in which something was changed.
        """
        p = self._copy()
        p.memory[:] = numbers[:p.memory.size]
        derive_parameters(p)
        return np.concatenate([p.memory, numbers[p.memory.size:]])


def live_parameters(settings: Settings, numbers: Numbers) -> list[Live]:
    """
    Return the parameters that may change while the controller runs.

    :param settings: of the controller.
    :param numbers: that they decide.
    """
    rng, joints = np.random.default_rng(0), len(settings.robot.joints)
    base = numbers.of({})
    found = []
    for row in _candidates(settings):
        size = joints if row.each_joint else _size(settings[row.name])
        effects = _effects(row, size, numbers, base, rng)
        if effects and all(_holds_at(value, row, size, effects, numbers, base)
                           for value in _near_bounds(row)):
            above = row.kind != BOOL and not _holds_at(
                row.lower, row, size, effects, numbers, base)
            found.append(Live(row, size, tuple(effects), above))
    while _wrong(found, numbers, base, _TRIALS):  # without the one that disagrees with the most
        worst = min(found, key=lambda left: (_wrong([each for each in found if each is not left],
                                                    numbers, base, _FEW), -len(left.effects)))
        found.remove(worst)
    return found


def why_fixed(settings: Settings, numbers: Numbers, live: Collection[str]) -> dict[str, str]:
    """
    Return why each of the other parameters stays what the controller was generated with.

    :param settings: of the controller.
    :param numbers: that parameters decide.
    :param live: names of those that may change.
    """
    rng, joints, base = np.random.default_rng(0), len(settings.robot.joints), numbers.of({})
    found = {row.name: 'the node does not change it while it is active either'
             for row in with_modes(settings.robot.own_modes).values()
             if row.structural or row.fixed}
    found |= {row.name: 'only numbers are changed inside ros2_control'
              for row in with_modes(settings.robot.own_modes).values()
              if not row.structural and row.choices and row.name != 'mode'}
    found['state_divider'] = 'only numbers of the step are changed inside ros2_control'
    for row in _candidates(settings):
        if row.name in live or row.name in found:
            continue
        size = joints if row.each_joint else _size(settings[row.name])
        found[row.name] = 'other parameters follow from it'
        if (numbers.of({row.name: _value(row, _tried(row, size, rng))}) == base).all():
            found[row.name] = 'nothing inside ros2_control uses it'
    return found


def _candidates(settings: Settings) -> list[Parameter]:
    """Return the parameters of numbers that the node changes while it is active."""
    return [row for row in with_modes(settings.robot.own_modes).values()
            if not row.structural and row.kind in (BOOL, DOUBLE, DOUBLES, INTEGER)]


def _size(value: Value) -> int:
    return len(value) if isinstance(value, (list, tuple)) else 1


def _value(row: Parameter, values: Array) -> Value:
    if row.kind == DOUBLES:
        return [float(x) for x in values]
    if row.kind == BOOL:
        return bool(values[0])
    return int(values[0]) if row.kind == INTEGER else float(values[0])


def _tried(row: Parameter, size: int, rng: np.random.Generator, share: float | None = None,
           ) -> Array:
    """Return values that are neither at a bound nor round; around a share of the range, or any."""
    if row.kind == BOOL:
        return rng.integers(0, 2, size).astype(float)
    low, high = max(row.lower, -100.0), min(row.upper, 100.0)
    shares = rng.uniform(0.1, 0.9, size) if share is None else share * rng.uniform(0.9, 1.1, size)
    values = low + (high - low) * shares
    return np.floor(values) if row.kind == INTEGER else values


def _effects(row: Parameter, size: int, numbers: Numbers, base: Array,
             rng: np.random.Generator) -> list[Effect]:
    """Return what a parameter does; nothing where it is none of this."""
    tried = [_tried(row, size, rng, share) for share in _FITTED]
    try:
        seen = [numbers.of({row.name: _value(row, values)}) for values in tried]
    except ValueError:
        return []  # not every value is one, whatever its bounds are
    found = []
    for place in np.flatnonzero(np.any([each != base for each in seen], axis=0)):
        effect = _effect(int(place), tried, [float(each[place]) for each in seen])
        if effect is not None:
            found.append(effect)
    applied = base.copy()
    _apply(applied, found, tried[0])
    return found if _same(numbers.derived(applied), seen[0]).all() else []


def _effect(place: int, tried: list[Array], seen: list[float]) -> Effect | None:
    """Return what fits all that was seen."""
    if min(seen) == max(seen):  # that the parameter is given at all
        return Effect(place, 0, 0.0, seen[0], -math.inf, math.inf)
    for at in range(len(tried[0])):
        points = sorted(zip((float(values[at]) for values in tried), seen, strict=True))
        for (a, first), (b, second) in zip(points, points[1:]):
            if a != b and first != second:
                scale = (second - first) / (b - a)
                if math.isclose(scale, round(scale), rel_tol=1e-9) and round(scale):
                    scale = float(round(scale))
                constant = first - scale * a
                if abs(constant) < 1e-9 * max(abs(first), 1e-12):
                    constant = 0.0
                effect = _between(Effect(place, at, scale, constant, -math.inf, math.inf), tried,
                                  seen)
                if effect is not None:
                    return effect
    return None


def _between(straight: Effect, tried: list[Array], seen: list[float]) -> Effect | None:
    """Return a straight line with the bounds that explain what was seen, if there are any."""
    low, high = -math.inf, math.inf
    for values, number in zip(tried, seen, strict=True):
        if not math.isclose(straight(values), number, rel_tol=1e-9):
            if straight(values) < number:
                low = max(low, number)
            else:
                high = min(high, number)
    effect = straight._replace(low=low, high=high)
    return effect if all(math.isclose(effect(values), number, rel_tol=1e-9)
                         for values, number in zip(tried, seen, strict=True)) else None


def _apply(numbers: Array, effects: Iterable[Effect], values: Array) -> None:
    for effect in effects:
        numbers[effect.place] = effect(values)


def _same(a: Array, b: Array) -> npt.NDArray[np.bool_]:
    return np.abs(a - b) <= _ROUNDING * np.maximum(np.abs(a), np.abs(b))


def _near_bounds(row: Parameter) -> list[float]:
    """Return values at which something else may begin to count."""
    if row.kind == BOOL:
        return [0.0, 1.0]
    low, high = max(row.lower, -1e6), min(row.upper, 1e6)
    values = [row.upper, *[low + share * (high - low) for share in _SHARES]]
    return [math.ceil(each) for each in values] if row.kind == INTEGER else values


def _holds_at(value: float, row: Parameter, size: int, effects: list[Effect], numbers: Numbers,
              base: Array) -> bool:
    """Return whether the effects are right where all values are one."""
    if not math.isfinite(value):
        return True
    values, applied = np.full(size, value), base.copy()
    _apply(applied, effects, values)
    expected = numbers.of({row.name: _value(row, values)})
    return bool(_same(numbers.derived(applied), expected).all())


def _wrong(found: list[Live], numbers: Numbers, base: Array, trials: int) -> int:
    """Return how many numbers are not what they should be if all parameters change at once."""
    wrong, rng = 0, np.random.default_rng(1)
    for _ in range(trials):
        values = {each.row.name: _tried(each.row, each.size, rng) for each in found}
        applied = base.copy()
        for each in found:
            _apply(applied, each.effects, values[each.row.name])
        expected = numbers.of({each.row.name: _value(each.row, values[each.row.name])
                               for each in found})
        wrong += int((~_same(numbers.derived(applied), expected)).sum())
    return wrong
