# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Tables, JSON and progress, the same for all commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
import json
import math
import sys
from typing import Any, TYPE_CHECKING

from rbd_ros.quoting import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console, Group, RenderableType

__all__ = ['console', 'number', 'progress', 'show', 'table', 'warn']

#: Width, in characters, of output to a file or another program.
PLAIN_WIDTH = 120


def console(*, error: bool = False) -> Console:
    """Return a rich console on standard output or standard error."""
    from rich.console import Console
    stream = sys.stderr if error else sys.stdout
    found = Console(file=stream, highlight=False)
    return found if found.is_terminal else Console(file=stream, highlight=False, width=PLAIN_WIDTH)


def show(data: Mapping[str, object], as_json: bool, *parts: RenderableType,
         wrap: bool = True) -> None:
    """
    Print a result.

    :param data: the result as data.
    :param as_json: whether to print the data as JSON.
    :param parts: text and tables to print otherwise.
    :param wrap: whether to break long lines of text; not in commands and files to be copied.
    """
    if as_json:
        print(json.dumps(plain(data), indent=1, allow_nan=False))
        return
    out = console()
    for part in parts:
        words = one_line(part, ends='\n') if isinstance(part, str) else part
        out.print(words, soft_wrap=not wrap and isinstance(part, str))


def plain(value: Any) -> Any:
    """Return a value in JSON types; infinity and NaN, which JSON lacks, become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if hasattr(value, 'tolist'):
        return plain(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Group:
    """
    Return a table with its title above.

    :param columns: headings; one that begins with ``>`` is for a column of numbers.
    :param rows: cells; floats are rounded to four digits.
    """
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in columns:
        right = heading.startswith('>')
        made.add_column(heading.removeprefix('>'), justify='right' if right else 'left',
                        no_wrap=right)
    for row in rows:
        made.add_row(*(Text(number(cell) if isinstance(cell, float) else one_line(str(cell)))
                       for cell in row))
    return Group(Text(one_line(title), style='bold'), made)


def number(value: float, digits: int = 4) -> str:
    """Return a number as text; one that is not finite, such as a missing limit, is a dash."""
    rounded = round(value, 9) + 0.0 if math.isfinite(value) else value
    return f'{rounded:.{digits}g}' if math.isfinite(value) else '-'


def warn(text: str) -> None:
    """Print a warning to standard error."""
    shown = _escaped(one_line(text, ends='\n'))
    console(error=True).print(f'[yellow]warning:[/] {shown}', soft_wrap=True)


def _escaped(text: str) -> str:
    from rich.markup import escape
    return escape(text)


@contextmanager
def progress(doing: str, total: int) -> Iterator[Callable[[], None]]:
    """
    Show a progress bar on a terminal; yields the function to call after each step.

    :param doing: what is done, as in "comparing".
    :param total: number of steps.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    err = console(error=True)
    with Progress(TextColumn('{task.description}'), BarColumn(), TextColumn(
            '{task.completed}/{task.total}'), TimeElapsedColumn(), console=err, transient=True,
            disable=not err.is_terminal) as bar:
        task = bar.add_task(doing, total=total)
        yield lambda: bar.advance(task)
