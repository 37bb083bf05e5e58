# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Texts, numbers and tables as C99 writes them."""

from __future__ import annotations

from collections.abc import Iterable
import math

from rbd_ros.quoting import c_text as text

__all__ = ['flag', 'listed', 'number', 'place', 'table', 'text']


def number(value: float) -> str:
    """Return a double."""
    return repr(float(value)) if math.isfinite(value) else (
        'NAN' if math.isnan(value) else '-INFINITY' if value < 0.0 else 'INFINITY')


def flag(value: bool) -> str:
    """Return an int that says whether something is true."""
    return str(int(value))


def place(names: Iterable[str], name: str) -> int:
    """Return the place of a name; -1: it is none of them."""
    found = tuple(names)
    return found.index(name) if name in found else -1


def listed(kind: str, items: Iterable[str]) -> str:
    """Return an array within a table as the address of its first element; none: it is empty."""
    found = ', '.join(items)
    return f'(const {kind}[]) {{{found}}}' if found else 'NULL'


def table(kind: str, name: str, rows: Iterable[str]) -> list[str]:
    """Return the definition of an array, and of how many elements it has; C has none without."""
    found = list(rows)
    counted = f'static const size_t {name}Count = {len(found)};'
    if not found:
        return [f'static const {kind} *const {name} = NULL;', counted]
    return [f'static const {kind} {name}[] = {{', *[f'  {row},' for row in found], '};', counted]
