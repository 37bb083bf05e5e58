# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers of the controller that can be changed on the page, those of its mode in their units."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TYPE_CHECKING

from rbd_ros.control.interface.row import DOUBLE
from rbd_ros.control.modes import Mode, MODES

if TYPE_CHECKING:
    from rbd_ros.nodes.dashboard.operator import Operator
    from rbd_ros.nodes.dashboard.settings import Settings

__all__ = ['Adjust', 'by_hand']

PAYLOAD_HINT = 'what the controller expects at the payload frame; the robot must carry it'
PAYLOAD_NOTE = ('The payload is for the **controller only**: a simulated robot carries none, and '
                'the torque that the controller adds pushes it up.')
ELSEWHERE = {mode.name for mode in MODES.values() if mode.own}  # modes in which 1/s^2 mean nothing
STEPS, MANY_STEPS = 40.0, 1e5  # buttons from zero to the largest value: of a ratio, of others
AXES = 'along or about x, y and z of the controlled frame'


class Number(NamedTuple):
    """
    A number that can be changed.

    :param label: with its unit.
    :param kind: scalar, joints (one number for all of them) or vector (one per axis).
    :param step: by which its buttons change it.
    :param modes: in which it is shown; none: in those that have no numbers of their own.
    :param always: shown in every mode.
    """

    label: str
    kind: str
    step: float
    modes: tuple[str, ...] = ()
    always: bool = False
    hint: str | None = None

    def is_shown(self, mode: str) -> bool:
        """Return whether it belongs to a mode."""
        return self.always or (mode in self.modes if self.modes else mode not in ELSEWHERE)


def numbers_of(mode: Mode) -> dict[str, Number]:
    """Return the numbers that only one mode has and that may change while it runs, by name."""
    found = {}
    for name, row in mode.rows.items():
        if row.structural:
            continue
        kind = 'scalar' if row.kind == DOUBLE else 'joints' if row.each_joint else 'vector'
        words = name.removeprefix(f'{mode.name}.').replace('_', ' ').capitalize()
        label = ', '.join(filter(None, (words, row.unit.partition(' or ')[0])))
        step = row.upper / (STEPS if kind == 'scalar' else MANY_STEPS)
        found[name] = Number(label, kind, step, (mode.name,),
                             hint=AXES if kind == 'vector' else None)
    return found


NUMBERS: dict[str, Number] = {
    'payload.mass': Number('Payload, kg', 'scalar', 0.1, always=True, hint=PAYLOAD_HINT),
    'stiffness': Number('Stiffness, 1/s²', 'joints', 10.0),
    'damping': Number('Damping, 1/s', 'joints', 1.0),
    **{name: row for mode in MODES.values() for name, row in numbers_of(mode).items()},
    'gravity': Number('Gravity, m/s²', 'vector', 0.01, always=True)}


class Adjust:
    """
    Numbers that are shown as the controller has them before any can be changed.

    They are sent by a button: a browser reports every key, and 4 is no step on the way to 400.

    :param gui: of the page.
    :param operator: sends them.
    :param settings: knows those of the controller.
    """

    def __init__(self, gui: Any, operator: Operator, settings: Settings) -> None:
        self._operator, self._settings = operator, settings
        self.edited: set[str] = set()  # numbers that differ by hand from those of the controller
        self.fields: dict[str, Any] = {}
        self._mode = ''
        with gui.add_folder('Adjust', expand_by_default=False, visible=operator.allowed):
            for name, row in NUMBERS.items():
                place = {'step': row.step, 'disabled': True, 'visible': row.is_shown('')}
                self.fields[name] = (
                    gui.add_vector3(row.label, (0.0, 0.0, 0.0), hint=row.hint, **place)
                    if row.kind == 'vector' else
                    gui.add_number(row.label, 0.0, min=0.0, hint=row.hint, **place))
            gui.add_markdown(PAYLOAD_NOTE)
            self.apply = gui.add_button('Apply', disabled=True,
                                        hint='send the numbers that you have changed')
        for name, field in self.fields.items():
            field.on_update(by_hand(partial(self.edit, name)))
        self.apply.on_click(lambda _: self.send())

    def show(self, mode: str) -> None:
        """Show the numbers of a mode; what was typed for another one is forgotten."""
        if mode == self._mode:
            return
        self._mode = mode
        for name, row in NUMBERS.items():
            if not row.is_shown(mode):
                self.edited.discard(name)
            self.fields[name].visible = row.is_shown(mode)
        self.apply.disabled = not self.edited

    def edit(self, name: str) -> None:
        """Take note that a person has changed a number."""
        self.edited.add(name)
        self.apply.disabled = False

    def send(self) -> None:
        """Send what was changed by hand; the next look at the controller shows what it took."""
        values: dict[str, Any] = {}
        for name in sorted(self.edited):
            value, kind = self.fields[name].value, NUMBERS[name].kind
            values[name] = float(value) if kind == 'scalar' else [
                float(x) for x in (value if kind == 'vector' else (value,))]
        self.edited.clear()
        self.apply.disabled = True
        self._settings.postpone()
        if values:
            self._operator.set(values)

    def take(self, values: dict[str, Any]) -> None:
        """Show parameters of the controller; one that differs by joint stays as it is there."""
        for name, row in NUMBERS.items():
            value, field = values.get(name), self.fields[name]
            if value is None or name in self.edited:
                continue
            hint, differs = row.hint, False
            if value == []:
                hint = 'not given: the controller has chosen one that fits the robot'
            elif row.kind == 'vector':
                field.value = tuple(value) * 3 if len(value) == 1 else tuple(value)
            elif row.kind == 'scalar':
                field.value = float(value)
            elif len(set(value)) == 1:
                field.value = float(value[0])
            else:
                hint, differs = 'differs by joint: use ros2 param set', True
            field.hint, field.disabled = hint, differs  # others may set parameters, too


def by_hand(act: Callable[[], None]) -> Callable[[Any], None]:
    """Return a callback that acts if a person changed the value, not if this program did."""
    def changed(event: Any) -> None:
        if event.client is not None:
            act()
    return changed
