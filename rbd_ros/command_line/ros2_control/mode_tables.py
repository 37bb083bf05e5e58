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

"""Functions of C99 that set the parameters of the step by mode and clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from rbd_ros.command_line.ros2_control.literals import number
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.row import Value
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.step.state import fill_parameters, Parameters

__all__ = ['mode_tables']


def mode_tables(settings: Settings, modes: Sequence[str], controller: Controller) -> list[str]:
    """Return the functions that change the parameters of the step."""
    def made(values: Mapping[str, Value], simulated: bool) -> Parameters:
        # springs of a mode that is not in force may be unstable: they are judged with the mode
        return _filled(controller, Settings(settings.robot, {**settings.values, **values},
                                            simulated=simulated))

    base, found = made({'mode': modes[0]}, False), []
    every = {line.split(' = ')[0]: line for mode in modes
             for line in _assignments(base, made({'mode': mode}, False))}
    found += ['/// A mode is what differs between its parameters and those of the others.',
              'static void set_mode(ROBOT(Parameters) *p, int mode)', '{', '  switch (mode) {']
    for k, mode in enumerate(modes):
        other = made({'mode': mode}, False)
        changed = {line.split(' = ')[0]: line for line in _assignments(base, other)}
        back = {line.split(' = ')[0]: line for line in _assignments(other, base)}
        found.append(f'    case {k}:')
        for place in every:
            found.append('      ' + changed.get(place, _of(base, place, back)))
        found.append('      break;')
    found += ['  }', '}', '', 'static void set_clock(ROBOT(Parameters) *p, int simulated)', '{']
    for line in _assignments(base, made({'mode': modes[0]}, True)):
        place, value = line.rstrip(';').split(' = ')
        found.append(f'  {place} = simulated ? {value} : {_of(base, place, {})[len(place) + 3:]}')
    return [*found, '}']


def _filled(controller: Controller, settings: Settings) -> Parameters:
    p = Parameters({'n': len(settings.robot.joints), 'm': settings.robot.model.nv, 's': 8})
    p.memory[:] = controller.p.memory
    fill_parameters(p, settings, tuple(settings.robot.modes))
    return p


def _assignments(before: Parameters, after: Parameters) -> list[str]:
    """Return the statements that make the second set of the first one."""
    found = []
    for (path, _, old), (_, _, new) in zip(before.walk('p->'), after.walk('p->')):
        for k in np.flatnonzero(old.ravel() != new.ravel()):
            place = path if old.ndim == 0 or old.size == 1 else f'{path}[{k}]'
            found.append(f'{place} = {number(new.ravel()[k])};')
    return found


def _of(p: Parameters, place: str, known: Mapping[str, str]) -> str:
    """Return the statement that gives a number its value in a set."""
    if place in known:
        return known[place]
    path, _, rest = place.partition('[')
    for name, _, view in p.walk('p->'):
        if name == path:
            value = view.ravel()[int(rest.rstrip(']')) if rest else 0]
            return f'{place} = {number(value)};'
    raise KeyError(place)
