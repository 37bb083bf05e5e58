# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What a controller is given and what it gives, step by step, as text for its C code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
import math

import numpy as np
import numpy.typing as npt
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.events import NOBODY

__all__ = ['Tape', 'RECORDS']

#: records of a controller that ``main.c`` knows by name
RECORDS = ('x', 'u', 'p', 'ring', 'y')

_FAULTS, _GOALS = 'x.command.supervisor.faults', 'x.references.joint.goal'

#: what a step must give to the last bit
_EXACT = ('x.mode', 'x.command.supervisor.state', f'{_FAULTS}.order', f'{_GOALS}.active',
          f'{_GOALS}.ended', 'x.states.sources.reason.word', 'y.send', 'y.answer', 'y.told',
          'y.lost')

#: what is left of a suspicion that has ended; rounding decides between two joints that halt alike
_SUSPICION = ('x.standstill.place', 'x.standstill.error', 'x.standstill.suspect.')

#: by which numbers of the state, and of what is said, may differ, relative to the larger of
#: themselves and 1
_ROUNDING = 1e-9


class Tape:
    """
    Write down every step of a controller.

    Numbers that have changed are written as ``u.now 0.5``, a step as ``step``, and what it must
    give as ``expect y.torque[1] 1e-12 0.25``: name, tolerance, number.

    :param controller: whose steps are written from now on.
    :param write: takes the text.
    :param like: controller of the same robot, as it was when its C code was made; none: this one.
    :param share: of its limit, by which a torque may differ.
    """

    def __init__(self, controller: Controller, write: Callable[[str], object],
                 like: Controller | None = None, share: float = 1e-12) -> None:
        self._write, self._y, self._u = write, controller.y, controller.u
        self._tolerances = (share * controller.settings.torque_limits).tolist()
        fields = {path: view for name in RECORDS
                  for path, _, view in getattr(controller, name).walk(f'{name}.')}
        self._fields = fields
        self._given = []
        for name in ('x', 'p', 'ring', 'u'):
            record, known = getattr(controller, name), getattr(like or controller, name)
            last = type(record)(record.sizes, known.memory.copy())
            self._given.append((record.memory, last.memory, [
                (path, view, before) for (path, _, view), (_, _, before) in zip(
                    record.walk(f'{name}.'), last.walk(), strict=True)]))
        for each in self._given:
            self._note(*each)
        del self._given[0]  # the state is its own from now on
        self._latched, self._ended = b'', 0.0
        self._run, controller.run = controller.run, self.run

    def run(self) -> None:
        """Do one step, and write it down."""
        kind, u = int(self._u.kind), self._u
        self._run()
        if kind != int(u.kind):
            return  # a message that is no joint state, which no step has seen
        for each in self._given:  # a message becomes an event on the way
            self._note(*each)
        self._write('step\n')
        for path in _EXACT:
            self._write(f'expect {path} 0 {_text(self._fields[path])}\n')
        if self._y.send:
            for j, (most, torque) in enumerate(zip(self._tolerances, self._y.torque.tolist())):
                self._write(f'expect y.torque[{j}] {most:g} {torque:.17g}\n')
        self._expect('y.words', range(int(self._y.told)))
        causes, ended = self._fields[f'{_FAULTS}.order'], float(self._fields[f'{_GOALS}.ended'])
        if self._latched != (latched := causes.tobytes()):
            self._latched = latched
            self._expect(f'{_FAULTS}.details', np.flatnonzero(causes).tolist())
        if self._ended != ended:
            self._ended = ended
            self._expect(f'{_GOALS}.outcomes', range(len(self._fields[f'{_GOALS}.outcomes'])))

    def expect_state(self) -> None:
        """Write down all of the state, with what is beneath everything that was compared."""
        ended = self._fields['x.standstill.suspect.joint'] == NOBODY
        for path, view in self._fields.items():
            if path.startswith('x.') and not (ended and path.startswith(_SUSPICION)):
                self._expect(path, range(len(view) if view.ndim else 1))

    def _expect(self, path: str, rows: Iterable[int]) -> None:
        """Write down rows of numbers, each with a tolerance of its own."""
        view = self._fields[path]
        width = view.shape[-1] if view.ndim > 1 else 1
        numbers = view.reshape(-1).tolist()
        for place in [width * row + column for row in rows for column in range(width)]:
            number = numbers[place]
            tolerance = _ROUNDING * max(1.0, abs(number)) if math.isfinite(number) else 0.0
            self._write(f'expect {path}[{place}] {tolerance:g} {number:.17g}\n')

    def _note(self, memory: npt.NDArray[np.float64], last: npt.NDArray[np.float64],
              fields: Iterable[tuple[str, npt.NDArray[np.float64], npt.NDArray[np.float64]]],
              ) -> None:
        """Write what has changed, bit by bit: NaN is a number like others here."""
        if memory.tobytes() == last.tobytes():
            return
        for path, view, before in fields:
            if view.tobytes() != before.tobytes():
                self._write(f'{path} {_text(view)}\n')
        last[:] = memory


def _text(numbers: npt.NDArray[np.float64]) -> str:
    return ' '.join([f'{each:.17g}' for each in numbers.ravel().tolist()])
