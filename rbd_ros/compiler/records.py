# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Records: named numbers and arrays in one block of memory, declared once.

A record is what procedures work on. Its class says of each field how many numbers it has, their
unit and what they mean; arrays, structs of C and documentation are made from that. In memory come
the single numbers, then the arrays, then the records inside, each in the order of declaration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import enum
import math
import sys
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ['Field', 'field', 'group', 'Record']

_Record = TypeVar('_Record', bound='Record')


class Field(NamedTuple):
    """
    One field of a record.

    :param dims: number of entries along each axis, or the name of that number; none: one number.
    :param unit: of its numbers; '': none, or a number of cases.
    :param text: what it means.
    :param initial: value of every number in a new record.
    :param of: what a single number is read as: float, int, bool or an ``IntEnum``.
    """

    name: str
    dims: tuple[str, ...]
    unit: str
    text: str
    initial: float
    of: type = float

    @property
    def kind(self) -> str:
        """Return the name of its type, 'int' for an enumeration."""
        return 'int' if issubclass(self.of, enum.IntEnum) else self.of.__name__

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return how many entries it has along each axis."""
        return tuple([int(dim) if dim.isdecimal() else sizes[dim] for dim in self.dims])


class _Declared(NamedTuple):
    """What a class body says of a field."""

    dims: tuple[str, ...]
    unit: str
    text: str
    initial: float


class _Group(NamedTuple):
    """What a class body says of a record inside."""

    kind: type[Record]


def field(dims: str, unit: str, text: str, initial: float = 0.0) -> Any:
    """
    Declare a field in the body of a record.

    :param dims: '' for a number (annotated ``float``, ``int``, ``bool`` or an ``IntEnum``), one or
        two words for the axes of an array (``Vector``, ``Matrix``): numbers, or names of sizes
        such as 'n'.
    :param unit: of its numbers, in the words of the documentation.
    :param text: what it means.
    :param initial: value in a new record.
    """
    axes = tuple(dims.split())
    if len(axes) > 2:
        raise TypeError(f'dims "{dims}": a field is a number, or has one or two axes')
    return _Declared(axes, unit, text, initial)


def group(kind: type[_Record]) -> _Record:
    """
    Declare a record inside a record.

    :param kind: its class.
    """
    return _Group(kind)     # type: ignore[return-value]


def _number_type(text: str, module: str) -> type:
    """Return what the annotation of a single number stands for; float, if nothing known here."""
    known = {**vars(sys.modules.get(module, enum)), 'bool': bool, 'int': int}
    found = known.get(text)
    return found if found in (bool, int) or (
        isinstance(found, type) and issubclass(found, enum.IntEnum)) else float


class _Number:
    """A single number of a record: what its attribute reads and writes."""

    def __init__(self, place: int) -> None:
        self._place = place

    def __get__(self, record: Record | None, kind: type[Record]) -> Any:
        return self if record is None else record._single[self._place]

    def __set__(self, record: Record, value: float) -> None:
        record._single[self._place] = value


class _Truth(_Number):
    """A truth, which is 0 or 1 in memory."""

    def __get__(self, record: Record | None, kind: type[Record]) -> Any:
        return self if record is None else record._single[self._place] > 0.0


class _Whole(_Number):
    """An integer, or a member of an enumeration where the number is one's."""

    def __init__(self, place: int, members: Mapping[Any, Any]) -> None:
        super().__init__(place)
        self._members = members

    def __get__(self, record: Record | None, kind: type[Record]) -> Any:
        if record is None:
            return self
        value = int(record._single[self._place])
        return self._members.get(value, value)


_item, _part = np.ndarray.item, np.ndarray.__getitem__


class PlainVector(np.ndarray):
    """An array of one axis whose elements are floats of Python."""

    def __getitem__(self, at: Any) -> Any:
        return _part(self, at) if type(at) is slice else _item(self, at)


class PlainMatrix(np.ndarray):
    """An array of two axes whose elements are floats of Python."""

    def __getitem__(self, at: Any) -> Any:
        if type(at) is tuple and type(at[0]) is not slice is not type(at[1]):
            return _item(self, at)
        found = _part(self, at)
        return found.view(PlainVector) if found.ndim == 1 else found


def plain_array(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return an array on the same memory that gives floats of Python."""
    return array.view(PlainVector if array.ndim == 1 else PlainMatrix)


class _Layout(NamedTuple):
    """
    Where a record of some sizes has what.

    :param initial: all numbers of a new record.
    :param singles: how many single numbers it begins with.
    :param fields: declaration, begin, end and shape of each field.
    :param groups: name, class, begin and end of each record inside.
    """

    initial: NDArray[np.float64]
    singles: int
    fields: tuple[tuple[Field, int, int, tuple[int, ...]], ...]
    groups: tuple[tuple[str, type[Record], int, int], ...]


class Record:
    """
    Named numbers and arrays in one block of memory.

    :param sizes: what the names among the dimensions stand for.
    :param memory: the block, float64 and as long as ``block_size`` says; none: a new one, with the
        initial values.
    """

    #: Fields in the order of memory, those of the records inside not included.
    fields: ClassVar[tuple[Field, ...]] = ()
    #: Records inside by name.
    groups: ClassVar[dict[str, type[Record]]] = {}
    #: Layouts by sizes: they are asked for at every record that is made.
    _layouts: ClassVar[dict[tuple[tuple[str, int], ...], _Layout]] = {}
    #: Single numbers, which Python reads as floats.
    _single: Any

    def __init_subclass__(cls) -> None:
        """Collect the declarations of the class."""
        said = vars(cls).get('__annotations__', {})
        found = [Field(name, *value, float if value.dims else _number_type(
            str(said.get(name)), cls.__module__))
            for name, value in vars(cls).items() if isinstance(value, _Declared)]
        single = [each for each in found if not each.dims]
        cls.fields = (*single, *[each for each in found if each.dims])
        cls.groups = {name: value.kind for name, value in vars(cls).items()
                      if isinstance(value, _Group)}
        cls._layouts = {}
        for name in [each.name for each in found] + list(cls.groups):
            if name.startswith('_') or name in ('memory', 'sizes') or hasattr(Record, name):
                raise TypeError(f'{cls.__name__}.{name}: every record has something of this name '
                                'already, or it begins with an underscore; take another name')
        for place, each in enumerate(single):
            setattr(cls, each.name, _Number(place) if each.of is float else
                    _Truth(place) if each.of is bool else
                    _Whole(place, getattr(each.of, '_value2member_map_', {})))
        for name in [each.name for each in found if each.dims] + list(cls.groups):
            delattr(cls, name)  # an instance has it

    def __init__(self, sizes: Mapping[str, int],
                 memory: NDArray[np.float64] | None = None) -> None:
        self.sizes = dict(sizes)
        layout = self._layout(sizes)
        total = layout.initial.size
        if memory is not None and (memory.shape != (total,) or memory.dtype != np.float64):
            raise TypeError(f'{type(self).__name__} needs {total} float64 in one row, not '
                            f'{memory.dtype} of shape {memory.shape}')
        self.memory = layout.initial.copy() if memory is None else memory
        self._spread(layout, plain=False)

    @classmethod
    def _layout(cls, sizes: Mapping[str, int]) -> _Layout:
        """Return where everything is, worked out once."""
        key = tuple(sizes.items())
        if key not in cls._layouts:
            at, initial, fields, groups = 0, [], [], []
            for each in cls.fields:
                shape = each.shape(sizes)
                initial.append(np.full(math.prod(shape), float(each.initial)))
                fields.append((each, at, at + initial[-1].size, shape))
                at += initial[-1].size
            for name, kind in cls.groups.items():
                initial.append(kind._layout(sizes).initial)
                groups.append((name, kind, at, at + initial[-1].size))
                at += initial[-1].size
            cls._layouts[key] = _Layout(
                np.concatenate(initial) if initial else np.zeros(0),
                sum(not each.dims for each in cls.fields), tuple(fields), tuple(groups))
        return cls._layouts[key]

    def _spread(self, layout: _Layout, *, plain: bool) -> None:
        """Give every field its part of the memory."""
        memory = self.memory
        self._single = memoryview(memory[:layout.singles])
        for each, begin, end, shape in layout.fields[layout.singles:]:
            view = memory[begin:end].reshape(shape)
            setattr(self, each.name, plain_array(view) if plain else view)
        for name, kind, begin, end in layout.groups:
            inner = kind(self.sizes, memory[begin:end])
            setattr(self, name, inner.plain() if plain else inner)

    @classmethod
    def block_size(cls, sizes: Mapping[str, int]) -> int:
        """Return how many numbers a record has, with those of the records inside."""
        return cls._layout(sizes).initial.size

    @property
    def singles(self) -> Any:
        """Return the single numbers, by their places."""
        return self._single

    @classmethod
    def single_place(cls, name: str) -> int:
        """
        Return where a single number is in the memory of a record.

        :param name: of the field.
        """
        return [each.name for each in cls.fields if not each.dims].index(name)

    def reset(self) -> None:
        """Give every number its initial value."""
        self.memory[:] = self._layout(self.sizes).initial

    def plain(self: _Record) -> _Record:
        """Return a record on the same memory whose arrays give floats of Python, and take them."""
        twin = object.__new__(type(self))
        twin.sizes, twin.memory = self.sizes, self.memory
        twin._spread(self._layout(self.sizes), plain=True)
        return twin

    def walk(self, path: str = '') -> Iterator[tuple[str, Field, NDArray[np.float64]]]:
        """
        Yield the path, the declaration and the numbers of each field, in the order of memory.

        :param path: of the record itself, in front of those of its fields.
        """
        for each, view in self.views():
            yield f'{path}{each.name}', each, view
        for name in self.groups:
            yield from getattr(self, name).walk(f'{path}{name}.')

    def views(self) -> Iterator[tuple[Field, NDArray[np.float64]]]:
        """Yield the declaration and the numbers of each field, of none of the records inside."""
        for each, begin, end, shape in self._layout(self.sizes).fields:
            yield each, self.memory[begin:end].reshape(shape)
