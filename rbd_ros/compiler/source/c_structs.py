# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Records and named tuples as structs of C, and all that a procedure works on as one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rbd_ros.compiler.graph.graph import Graph
from rbd_ros.compiler.kernel import Bound
from rbd_ros.compiler.language.signatures import ARRAYS, BYTES, FOREIGN, KERNEL, Kind, Layout
from rbd_ros.compiler.records import Record
from rbd_ros.compiler.scalar import FLOAT64
from rbd_ros.compiler.source.c99 import KEYWORDS, literal
from rbd_ros.compiler.source.writer import Names
from rbd_ros.quoting import in_comment

Array = NDArray[np.float64]
#: Elements that are initialised one by one; more come from a table.
_FEW = 4


def c_name(name: str) -> str:
    """Return a name without what C does not allow in one."""
    plain = ''.join(c if c.isascii() else f'u{ord(c):x}' for c in name)
    return f'{plain}_' if plain in KEYWORDS else plain


def comment(text: str) -> str:
    """Return a text as a comment."""
    return f'/* {in_comment(" ".join(text.split()))} */'


def summary(thing: object) -> str:
    """Return the first sentence of a docstring."""
    lines = (getattr(thing, '__doc__', None) or '').strip().splitlines()
    return lines[0].strip() if lines else ''


class Place(NamedTuple):
    """
    A member of the memory: numbers in one row.

    :param name: of the member.
    :param numbers: what it holds where the procedure was bound.
    :param record: what they are, if not an array.
    """

    name: str
    numbers: Array
    record: Record | None

    @property
    def octets(self) -> bool:
        """Return whether it is a row of bytes."""
        return bool(self.numbers.dtype == np.uint8)

    def holds(self, array: Array) -> bool:
        """Return whether an array is part of it."""
        first, begin = self.numbers.ctypes.data, array.ctypes.data
        last, end = first + self.numbers.nbytes, begin + array.nbytes
        return array.size > 0 and first <= begin and end <= last


class Memory:
    """
    All numbers that a procedure works on, as one struct without pointers.

    :param prefix: begins every name.
    :param names: names that are taken, to which those of the structs are added.
    """

    def __init__(self, prefix: str, names: Names) -> None:
        self.prefix, self._names = prefix, names
        self.type = names.new(f'{prefix}_memory')
        #: Where there is an array without elements, which C does not know.
        self.nothing = names.new(f'{prefix}_nothing')
        self.places: list[Place] = []
        self._structs: dict[type, str] = {}
        self._sizes: dict[type, Mapping[str, int]] = {}

    # --- what is in it ---

    def place(self, things: Sequence[tuple[str, Record | Array]]) -> None:
        """
        Make members of things, in their order; what lies within another one shares its place.

        :param things: names and records or arrays.
        """
        found: list[tuple[int, Place]] = []
        order = sorted(range(len(things)), key=lambda k: -_numbers(things[k][1]).size)
        names = Names(KEYWORDS)
        for k in order:
            name, thing = things[k]
            numbers = _numbers(thing)
            if isinstance(thing, Record):
                self.know(thing)
            if numbers.size and not any(place.holds(numbers) for _, place in found):
                if any(np.shares_memory(place.numbers, numbers) for _, place in found):
                    raise ValueError(f'{name} shares some of its memory with something else; '
                                     'give both their own, or one as a part of the other')
                found.append((k, Place(c_name(name), numbers,
                                       thing if isinstance(thing, Record) else None)))
        self.places = [place._replace(name=names.new(place.name)) for _, place in sorted(
            found, key=lambda pair: (pair[1].octets, pair[0]))]

    def know(self, record: Record) -> None:
        """
        Learn the struct of a record, and those of the records inside.

        :param record: one of its size.
        """
        kind = type(record)
        if not record.memory.size:
            raise ValueError(f'{kind.__name__} has no numbers here, and C no empty struct')
        for name in record.groups:
            self.know(getattr(record, name))
        if self._sizes.setdefault(kind, record.sizes) != record.sizes and _shapes(
                kind, self._sizes[kind]) != _shapes(kind, record.sizes):
            raise ValueError(f'there are records {kind.__name__} of two sizes: C needs one')
        if kind not in self._structs:
            self._structs[kind] = self._names.new(f'{self.prefix}_{c_name(kind.__name__)}')

    def address(self, thing: Record | Array) -> str:
        """Return the address of a record, or of the first element of an array."""
        numbers = _numbers(thing)
        place = next((each for each in self.places if each.holds(numbers)), None)
        if place is None:
            return self.nothing
        begin = (numbers.ctypes.data - place.numbers.ctypes.data) // numbers.itemsize
        if place.record is None and isinstance(thing, Record):
            raise ValueError(f'{type(thing).__name__} lies in the array {place.name}')
        if place.record is None:
            return f'memory->{place.name}' + (f' + {begin}' if begin else '')
        for path, part in _parts(place.record):
            if part.memory.ctypes.data == numbers.ctypes.data and isinstance(thing, type(part)):
                return f'&memory->{place.name}{path}'
        if isinstance(thing, Record):
            raise ValueError(f'{type(thing).__name__} lies in a {type(place.record).__name__}, '
                             'and is no record inside of it')
        return f'(double *)&memory->{place.name}' + (f' + {begin}' if begin else '')

    # --- structs ---

    def struct(self, kind: type) -> str:
        """Return the name of the struct of a record or a named tuple."""
        if kind not in self._structs:
            self._structs[kind] = self._names.new(f'{self.prefix}_{c_name(kind.__name__)}')
        return self._structs[kind]

    def members(self, kind: type) -> dict[str, str]:
        """Return the names of the members of a record's struct."""
        assert issubclass(kind, Record)
        names = Names(KEYWORDS)
        return {name: names.new(c_name(name))
                for name in (*[each.name for each in kind.fields], *kind.groups)}

    def shape(self, kind: type, name: str) -> tuple[int, int]:
        """Return the numbers of rows and columns of an array in a record."""
        assert issubclass(kind, Record)
        shape = next(each for each in kind.fields if each.name == name).shape(self._sizes[kind])
        return shape[0], shape[1] if len(shape) > 1 else 1

    def included(self) -> list[str]:
        """Return what the structs need."""
        return ['#include <stdint.h>', ''] if any(each.octets for each in self.places) else []

    def declarations(self) -> list[str]:
        """Return the structs of the records, and that of the whole memory."""
        lines: list[str] = []
        for kind in self._sizes:
            lines += self._declaration(kind)
        lines += [comment('All numbers that the procedure works on; no pointers, so that it may '
                          'be copied.'), 'typedef struct {']
        for each in self.places:
            lines.append(f'    {self.struct(type(each.record))} {each.name};' if each.record
                         else f'    {"uint8_t" if each.octets else "double"} '
                              f'{each.name}[{each.numbers.size}];')
        return [*lines, f'}} {self.type};', '']

    def _declaration(self, kind: type) -> list[str]:
        assert issubclass(kind, Record)
        names, lines = self.members(kind), [comment(summary(kind)), 'typedef struct {']
        for each in kind.fields:
            shape = each.shape(self._sizes[kind])
            size = int(np.prod(shape))
            dims = f'[{size}]' if shape else ''
            grid = f', {shape[0]} rows of {shape[1]}' if len(shape) == 2 else ''
            said = comment(f'{each.unit + ": " if each.unit else ""}{each.text}{grid}')
            if size:
                lines.append(f'    double {names[each.name]}{dims}; {said}')
        lines += [f'    {self.struct(inner)} {names[name]}; {comment(summary(inner))}'
                  for name, inner in kind.groups.items()]
        return [*lines, f'}} {self.struct(kind)};', '']

    # --- values ---

    def initial(self) -> list[str]:
        """Return the lines that give all numbers the values that they have now."""
        lines: list[str] = []
        for place in self.places:
            if place.octets:
                lines += _filled_bytes(f'memory->{place.name}', place.numbers)
                continue
            if place.record is None:
                lines += _filled(f'memory->{place.name}', place.numbers.ravel(), alone=False)
                continue
            for path, part in _parts(place.record):
                names = self.members(type(part))
                for field, view in part.views():
                    target = f'memory->{place.name}{path}.{names[field.name]}'
                    lines += _filled(target, view.ravel(), alone=not field.dims)
        return lines


def _numbers(thing: Record | Array) -> Array:
    return thing.memory if isinstance(thing, Record) else thing


def _shapes(kind: type[Record], sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
    return [each.shape(sizes) for each in kind.fields]


def _parts(record: Record, path: str = '') -> Iterator[tuple[str, Record]]:
    """Yield the members that are records, from the outside in."""
    yield path, record
    for name in record.groups:
        yield from _parts(getattr(record, name), f'{path}.{c_name(name)}')


def _filled(target: str, values: Array, *, alone: bool) -> list[str]:
    """Return the lines that fill what was zero."""
    if not (values.any() or np.signbit(values).any()):
        return []
    texts = [literal(float(each), FLOAT64) for each in values]
    if alone:
        return [f'{target} = {texts[0]};']
    if len(set(texts)) == 1:
        return [f'for (k = 0; k < {len(texts)}; ++k) {{ {target}[k] = {texts[0]}; }}']
    told = [k for k, each in enumerate(values) if each or texts[k].startswith('-')]
    if len(told) <= _FEW:
        return [f'{target}[{k}] = {texts[k]};' for k in told]
    name = 'of_' + re.sub(r'\W+', '_', target.removeprefix('memory->'))
    return ['{', f'    static const double {name}[{len(texts)}] = {{',
            *[f'        {", ".join(texts[k:k + 6])},' for k in range(0, len(texts), 6)], '    };',
            f'    for (k = 0; k < {len(texts)}; ++k) {{ {target}[k] = {name}[k]; }}', '}']


def _filled_bytes(target: str, values: Array) -> list[str]:
    """Return the lines that fill bytes."""
    if not values.any():
        return [f'for (k = 0; k < {values.size}; ++k) {{ {target}[k] = 0; }}']
    name = 'of_' + re.sub(r'\W+', '_', target.removeprefix('memory->'))
    texts = [str(int(each)) for each in values]
    return ['{', f'    static const uint8_t {name}[{len(texts)}] = {{',
            *[f'        {", ".join(texts[k:k + 20])},' for k in range(0, len(texts), 20)],
            '    };',
            f'    for (k = 0; k < {len(texts)}; ++k) {{ {target}[k] = {name}[k]; }}', '}']


class Collected(NamedTuple):
    """What procedures are bound to: records and arrays by name, and kernels."""

    things: list[tuple[str, Record | Array]]
    kernels: list[Bound]


def collected(given: Sequence[object], kinds: Sequence[tuple[str, Kind]],
              kernels: Mapping[Bound, Graph]) -> Collected:
    """
    Return all that is given, what named tuples hold included.

    :param given: as for ``procedure.bind``.
    :param kinds: name and kind of each.
    :param kernels: what each bound kernel computes.
    :raises TypeError: for what is not of its kind, or cannot be had in C.
    """
    if len(given) != len(kinds):
        raise TypeError(f'the procedure takes {len(kinds)} things, not {len(given)}')
    found = Collected([], [])
    for each, (name, kind) in zip(given, kinds, strict=True):
        _collect(each, name, kind, found)
    for k, bound in enumerate(found.kernels):
        if bound not in kernels:
            raise TypeError(f'kernels must say what bound kernel number {k} computes')
        found.things.extend((f'{kernels[bound].name}_{name}', array) for name, array in (
            *bound.inputs.items(), *bound.outputs.items()))
    return found


def _collect(given: object, name: str, kind: Kind, found: Collected) -> None:
    if isinstance(kind, Layout) and isinstance(given, kind.type):
        if isinstance(given, Record):
            found.things.append((name, given))
            return
        for member, (_, inner) in kind.members.items():
            _collect(getattr(given, member), f'{name}_{member}', inner, found)
    elif kind == KERNEL and isinstance(given, Bound):
        if given not in found.kernels:
            found.kernels.append(given)
    elif isinstance(given, np.ndarray) and kind == BYTES:
        if given.dtype != np.uint8 or given.ndim != 1 or not given.flags.c_contiguous:
            raise TypeError(f'{name} is no C-contiguous row of uint8')
        found.things.append((name, given))
    elif isinstance(given, np.ndarray) and given.ndim == ARRAYS.get(str(kind)):
        if given.dtype != np.float64 or not given.flags.c_contiguous:
            raise TypeError(f'{name} is no C-contiguous float64 array')
        found.things.append((name, given))
    else:
        raise TypeError(f'{name} must be a {kind}' + (
            ' that is bound: a call of Python cannot be had in C' if kind == KERNEL else
            ': C99 is written for no library but math' if kind == FOREIGN else
            f', not {given!r}'))
