# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Write the page of all numbers of the controller from the declarations of its records.

``./run python docs/records.py`` renews ``controller_records.md``; a test fails where it is not
what the records say.
"""

from __future__ import annotations

from collections.abc import Iterator
import enum
import inspect
from pathlib import Path
import re

from rbd_ros.compiler.records import Field, Record
from rbd_ros.control.interface.events import Event, Kind, NEVER, NONE, Result
from rbd_ros.control.laws.law_records import LawCode
from rbd_ros.control.references.pieces import Ring
from rbd_ros.control.step.state import Parameters, State
from rbd_ros.control.supervisor.states import SupervisorState

PAGE = Path(__file__).parent / 'controller_records.md'

HEAD = """\
# Records of the controller

Every number that a [step of the controller](step_through_the_controller.md) reads or writes, with
its shape, unit and meaning. This page is made from the declarations in the source. The structs of
the [C code](command_line.md#make-files) are made from them too.

| record | is |
|---|---|
| [`x`](#x-the-state) | what the controller remembers from one step to the next |
| [`u`](#u-the-event) | what happened |
| [`p`](#p-the-parameters) | what was chosen: parameters, limits, gains, times |
| [`y`](#y-the-result) | what is to be sent and said |
| [`ring`](#ring-the-trajectory) | pieces of trajectories, filled ahead by a slower thread |

In the column "shape", `n` is the number of controlled joints, `m` that of the model's joints, and
`s` that of sources of joint states; no shape: one number. All numbers are float64; flags are 0 or
1. Numbers begin at 0 unless the line says otherwise. `NEVER` is a time before all others, and
`NONE` a limit that nothing reaches.
"""

TITLES = (('x', 'the state', State), ('u', 'the event', Event),
          ('p', 'the parameters', Parameters), ('y', 'the result', Result),
          ('ring', 'the trajectory', Ring))
CODES = (('Kinds of events', '`u.kind`', Kind),
         ('States of the supervisor', '`x.command.supervisor.state`', SupervisorState),
         ('Laws', '`x.laws.law`, `p.laws.law`', LawCode))


def begin(each: Field) -> str:
    """Return with what the numbers of a field begin, in words; nothing: with 0."""
    named = {0.0: '', NEVER: 'NEVER' if each.unit == 's' else '-NONE', NONE: 'NONE'}
    text = named.get(each.initial, f'{each.initial:g}')
    return f'; begins at {text}' if text else ''


def row(each: Field) -> str:
    """Return the line of one field."""
    text = f'{each.text}{begin(each)}'.replace('|', '\\|')
    return f'| `{each.name}` | {" x ".join(each.dims)} | {each.unit} | {text} |'


def sentence(kind: type) -> str:
    """Return the first paragraph of a docstring."""
    return ' '.join((inspect.getdoc(kind) or '').partition('\n\n')[0].split())


def tables(path: str, kind: type[Record], seen: dict[type[Record], str]) -> Iterator[str]:
    """
    Yield the tables of a record and of those inside.

    :param seen: where the records that were shown stand; each is shown once.
    """
    if kind in seen:
        yield f'As [`{seen[kind]}`](#{seen[kind].replace(".", "")}): {sentence(kind)}'
        return
    seen[kind] = path
    yield f'{sentence(kind)} Declared as `{kind.__module__}.{kind.__name__}`.'
    if kind.fields:
        yield '\n'.join(['| field | shape | unit | meaning |', '|---|---|---|---|',
                         *map(row, kind.fields)])
    for name, inner in kind.groups.items():
        yield f'### {path}.{name}'
        yield from tables(f'{path}.{name}', inner, seen)


def codes(kind: type[enum.Enum]) -> str:
    """Return the members of an enumeration with the comments behind them."""
    found = re.findall(r'^    ([A-Z_]+) = .+?(?:  # (.+))?$', inspect.getsource(kind), re.M)
    assert [name for name, _ in found] == [each.name for each in kind], kind
    return '\n'.join(['| number | name | meaning |', '|---|---|---|',
                      *[f'| {k} | `{name}` | {text} |' for k, (name, text) in enumerate(found)]])


def page() -> str:
    """Return the page."""
    seen: dict[type[Record], str] = {}
    parts = [HEAD.rstrip()]
    for letter, title, kind in TITLES:
        parts += [f'## {letter}, {title}', *tables(letter, kind, seen)]
    for title, where, code in CODES:
        parts += [f'## {title}', f'What {where} may be.', codes(code)]
    return '\n\n'.join(parts) + '\n'


if __name__ == '__main__':
    PAGE.write_text(page())
