# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Kernels with named inputs and outputs, which procedures call with arguments.

A class says once what a kernel takes and what it gives. Whoever traces the kernel takes the shapes
from there, and a procedure calls it like a function. A call copies what it is given, runs the
kernel, and copies what is asked for; it may be given records, whose fields have the names of what
the kernel takes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rbd_ros.compiler.records import Record

__all__ = ['check_sizes', 'gives', 'NamedKernel', 'Port', 'takes']

_Kernel = TypeVar('_Kernel', bound='NamedKernel')


class Port(NamedTuple):
    """
    What a kernel takes or gives.

    :param name: of the argument, and of the array.
    :param dims: number of entries along each axis, or the name of that number.
    :param unit: of its numbers.
    :param text: what it means.
    :param kind: 'takes' or 'gives'.
    :param traced: its name in the graph.
    """

    name: str
    dims: tuple[str, ...]
    unit: str
    text: str
    kind: str
    traced: str
    initial: float = 0.0

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return how many entries it has along each axis."""
        return tuple([int(dim) if dim.isdecimal() else sizes[dim] for dim in self.dims])


class _Bound(Protocol):
    """A kernel with its own arrays."""

    inputs: dict[str, NDArray[np.float64]]
    outputs: dict[str, NDArray[np.float64]]

    def __call__(self) -> None:
        """Compute the outputs."""


def takes(dims: str, unit: str, text: str, traced: str = '') -> Any:
    """
    Declare what a kernel takes, in the body of its class.

    :param dims: one or two words for the axes: numbers, or names of sizes such as 'n'.
    :param unit: of its numbers, in the words of the documentation.
    :param text: what it means.
    :param traced: its name in the graph, if that is another one.
    """
    return Port('', tuple(dims.split()), unit, text, 'takes', traced)


def gives(dims: str, unit: str, text: str, traced: str = '') -> Any:
    """
    Declare what a kernel gives, see :func:`takes`.

    :param dims: its axes.
    :param unit: of its numbers.
    :param text: what it means.
    :param traced: its name in the graph, if that is another one.
    """
    return Port('', tuple(dims.split()), unit, text, 'gives', traced)


class Plan(NamedTuple):
    """
    What is copied for a call.

    :param inputs: each input, and the place of the record that has it; None: it is an argument.
    :param outputs: outputs that are arguments.
    :param out: outputs that ``out`` has fields for.
    """

    inputs: list[tuple[str, int | None]]
    outputs: list[str]
    out: list[str]


class NamedKernel(tuple[Any, ...]):
    """A bound kernel, ``run``, and its arrays, each an attribute."""

    #: What all kernels of the class take and give.
    fields: ClassVar[tuple[Port, ...]] = ()
    _fields: ClassVar[tuple[str, ...]] = ('run',)
    run: Any

    def __init_subclass__(cls) -> None:
        """Collect the declarations of the class, after those of its base."""
        cls.fields = (*cls.fields, *[
            value._replace(name=name, traced=value.traced or name)
            for name, value in vars(cls).items() if isinstance(value, Port)])
        cls._fields = ('run', *[each.name for each in cls.fields])
        for place, name in enumerate(cls._fields):
            setattr(cls, name, property(itemgetter(place)))

    @classmethod
    def _make(cls: type[_Kernel], held: Iterable[object]) -> _Kernel:
        return tuple.__new__(cls, held)

    @classmethod
    def ports(cls, kind: str) -> list[Port]:
        """
        Return what a kernel takes, or gives.

        :param kind: 'takes' or 'gives'.
        """
        return [each for each in cls.fields if each.kind == kind]

    @classmethod
    def of(cls: type[_Kernel], bound: _Bound) -> _Kernel:
        """
        Return a bound kernel as one that procedures call with arguments.

        :param bound: kernel whose inputs and outputs are those that are declared.
        :raises TypeError: if they are not; says which.
        """
        sizes: dict[str, int] = {}
        for kind, arrays in (('takes', bound.inputs), ('gives', bound.outputs)):
            ports = {each.traced: each for each in cls.ports(kind)}
            wrong = sorted(ports.keys() ^ arrays.keys())
            if wrong:
                raise TypeError(f'{cls.__name__} {kind} {", ".join(ports) or "nothing"}, the '
                                f'kernel {", ".join(arrays) or "nothing"}: declare '
                                f'{", ".join(wrong)} on both sides or on none')
            for name, port in ports.items():
                shape = arrays[name].shape
                for dim, length in zip(port.dims, shape):
                    sizes.setdefault(dim, length)
                if shape != port.shape(sizes):
                    raise TypeError(f'{cls.__name__} {kind} {port.name} of '
                                    f'{" x ".join(port.dims)}, the kernel has it as {shape} with '
                                    f'{sizes}: make declaration and graph agree')
        return cls._make([bound, *[
            (bound.inputs if each.kind == 'takes' else bound.outputs)[each.traced]
            for each in cls.fields]])

    @classmethod
    def idle(cls: type[_Kernel], other: _Bound, sizes: Mapping[str, int]) -> _Kernel:
        """
        Return what stands for a kernel that there is not, and that nobody calls.

        :param other: kernel in its place.
        :param sizes: of its arrays.
        """
        return cls._make([other, *[np.zeros(each.shape(sizes)) for each in cls.fields]])

    @property
    def sizes(self) -> dict[str, int]:
        """Return what the names among the dimensions stand for."""
        return {dim: length for each in self.fields for dim, length in zip(
            each.dims, getattr(self, each.name).shape) if not dim.isdecimal()}

    @classmethod
    def plan(cls, records: Sequence[tuple[str, Collection[str]]],
             out: tuple[str, Collection[str]] | None, named: Collection[str]) -> Plan:
        """
        Return what is copied for a call.

        :param records: what each record is called, and the names of its numbers and arrays.
        :param out: the same of the record for what the kernel gives.
        :param named: names of arguments.
        :raises TypeError: for arguments that do not fit; says what to do.
        """
        inputs = [each.name for each in cls.ports('takes')]
        outputs = [each.name for each in cls.ports('gives')]
        for name in named:
            if name not in (*inputs, *outputs):
                raise TypeError(f'{cls.__name__} has no {name}; it takes {", ".join(inputs)} and '
                                f'gives {", ".join(outputs)}')
        found: list[tuple[str, int | None]] = []
        for name in inputs:
            places = [k for k, (_, names) in enumerate(records) if name in names]
            if name in named:
                found.append((name, None))
            elif not places:
                raise TypeError(f'{cls.__name__} takes {name}, which is not given: write '
                                f'{name}=..., or give a record that has it')
            elif len(places) > 1:
                raise TypeError(f'{name} is in {" and in ".join(records[k][0] for k in places)}: '
                                f'write {name}=... for the one that is meant')
            else:
                found.append((name, places[0]))
        used = {place for _, place in found}
        for k, (text, _) in enumerate(records):
            if k not in used:
                raise TypeError(f'nothing of {text} is used: leave it out')
        wanted = [name for name in outputs if out and name in out[1] and name not in named]
        if out and not wanted:
            raise TypeError(f'{out[0]} has nothing that {cls.__name__} gives: leave it out')
        return Plan(found, [name for name in outputs if name in named], wanted)

    def __call__(self, *records: Record, out: Record | None = None, **given: Any) -> None:
        """
        Run the kernel.

        :param records: their fields are what is not among the arguments.
        :param out: gets what it has fields for.
        :param given: numbers and arrays by the names of what the kernel takes, and arrays that get
            what it gives.
        """
        plan = self.plan([_known(each) for each in records], _known(out) if out else None, given)
        values = [given[name] if k is None else getattr(records[k], name)
                  for name, k in plan.inputs]
        for (name, _), value in zip(plan.inputs, values, strict=True):
            self._copy(name, getattr(self, name), value)
        self.run()
        for name in plan.outputs:
            self._copy(name, given[name], getattr(self, name))
        for name in plan.out:
            self._copy(name, getattr(out, name), getattr(self, name))

    def _copy(self, name: str, target: NDArray[np.float64], value: Any) -> None:
        """Copy numbers, or one number to all places."""
        if np.ndim(value) and np.shape(value) != target.shape:
            raise TypeError(f'{type(self).__name__}.{name} has the shape '
                            f'{getattr(self, name).shape}; an array of '
                            f'{np.shape(value) if target is getattr(self, name) else target.shape}'
                            ' was given: give one of the same shape, or one number')
        target[...] = value


def _known(record: Record) -> tuple[str, list[str]]:
    """Return the name of a record and those of its numbers and arrays."""
    return type(record).__name__, [each.name for each in record.fields]


def check_sizes(given: Iterable[object]) -> None:
    """
    Refuse kernels that are not of the sizes of what they are bound with.

    :param given: see :func:`rbd_ros.compiler.procedure.bind`.
    :raises TypeError: if a name stands for different numbers; says where.
    """
    things = sorted(_sized(given), key=lambda each: isinstance(each, Record))  # kernels first
    known: dict[str, tuple[int, str]] = {}
    for each in things:
        own = type(each).__name__
        for name, size in each.sizes.items():
            if isinstance(each, NamedKernel):
                known.setdefault(name, (size, own))
            if known.get(name, (size, own))[0] != size:
                other, first = known[name]
                raise TypeError(f'{first} has {name} = {other}, {own} has {name} = {size}: bind '
                                'kernels and records of the same sizes')


def _sized(given: Iterable[object]) -> Iterator[NamedKernel | Record]:
    """Yield the records and kernels, those in tuples too."""
    for each in given:
        if isinstance(each, (Record, NamedKernel)):
            yield each
        elif isinstance(each, tuple):
            yield from _sized(each)
