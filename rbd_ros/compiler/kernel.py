# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A graph made executable: what every backend gives, and the calls that check their arguments.

A backend derives from Kernel and implements ``run`` and ``run_batch`` on arrays that are already
right (C-contiguous, of the declared shapes and the kernel's number type). It must read every input
before it writes any output: an output may share memory with an input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TYPE_CHECKING, Union

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.compiler.arguments import (
    Array, checked, checked_batch, finish, FLOAT64, prepare_outputs, unshared)
from rbd_ros.compiler.graph.graph import Graph, OperationCount

#: A graph, or what traces it when it is needed.
Source = Union[Graph, Callable[[], Graph]]
#: Called with the name of a kernel and the share done, 0 to 1.
Progress = Callable[[str, float], None]
#: Makes an error of the arguments of a call whose result is not finite, and of the number of the
#: state, None where it is not known which one.
Explain = Callable[[Sequence[ArrayLike], int | None], Exception]


class Buffers(dict[str, 'Array']):
    """The arrays of a bound kernel by name; their elements may change, the arrays may not."""

    __slots__ = ()

    def __setitem__(self, name: str, value: object) -> None:
        """Refuse another array; ``buffers[name] += x`` gives the same one back."""
        if name not in self or value is not self[name]:
            self._refuse(name)

    def _refuse(self, name: object = 'name', *_: object, **__: object) -> NoReturn:
        raise TypeError(
            f'"{name}" of a bound kernel cannot be given another array: the machine code reads '
            f'this one. Write into it: buffers["{name}"][:] = values')

    __delitem__ = pop = popitem = setdefault = update = clear = __ior__ = _refuse  # type: ignore

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle as a plain dictionary of arrays."""
        return dict, (dict(self),)


class Bound:
    """
    A kernel with its own buffers: write into ``inputs``, call, read ``outputs``.

    ``bound()`` checks nothing and copies nothing; ``bound.run()`` is the same, a little faster.

    :param inputs: C-contiguous float64 array of each argument.
    :param outputs: C-contiguous float64 array of each result.
    :param run: what one call does.
    :param place: where machine code finds it: the addresses of its code, a function of the address
        of its buffers, and of these; None where there is none.
    """

    # Calling the object finds what to run in a slot, without a line of Python in between.
    __slots__ = ('__call__', 'inputs', 'outputs', 'place', 'run')

    if TYPE_CHECKING:
        inputs: dict[str, Array]
        outputs: dict[str, Array]
        run: Callable[[], None]
        place: tuple[int, int] | None

        def __call__(self) -> None:
            """Compute the outputs."""

    def __init__(self, inputs: dict[str, Array], outputs: dict[str, Array],
                 run: Callable[[], None], place: tuple[int, int] | None = None) -> None:
        for name, value in (('inputs', Buffers(inputs)), ('outputs', Buffers(outputs)),
                            ('run', run), ('__call__', run), ('place', place)):
            object.__setattr__(self, name, value)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Refuse a copy: its arrays would not be those that the machine code works on."""
        raise TypeError('a bound kernel can be neither copied nor pickled; bind another one')

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse what would not reach the machine code."""
        raise AttributeError(f'a bound kernel has no {name} to set; write into its arrays: '
                             "bound.inputs['q'][:] = q")


class Kernel:
    """
    One graph made executable.

    :param graph: what it computes.
    """

    backend = ''
    #: Type of every number that goes in and comes out.
    dtype = FLOAT64
    #: Threads for a batch, unless a call names another number; None for all cores.
    threads: int | None = None

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.name, self.inputs, self.outputs = graph.name, graph.inputs, graph.outputs

    @property
    def graph(self) -> Graph:
        """Return what it computes."""
        return self._graph

    def count(self) -> OperationCount:
        """Return how many operations of each kind one evaluation takes."""
        return self.graph.count()

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """
        Compute the outputs, unchecked.

        :param inputs: C-contiguous float64 arrays of the declared shapes.
        :param outputs: the same for the results; may share memory with inputs.
        """
        raise NotImplementedError

    def run_batch(self, inputs: Sequence[Array], batched: Sequence[bool],
                  outputs: Sequence[Array], count: int, threads: int | None) -> None:
        """
        Compute the outputs of many states, unchecked.

        :param inputs: C-contiguous float64 arrays, with a leading axis where batched.
        :param batched: for each input, whether it has the leading axis.
        :param outputs: C-contiguous float64 arrays with a leading axis.
        :param count: length of the leading axis.
        :param threads: number of threads, None for all cores.
        """
        raise NotImplementedError

    def __call__(self, *arrays: ArrayLike, out: Array | Sequence[Array] | None = None,
                 ) -> Array | tuple[Array, ...]:
        """
        Return the results for checked arguments: one array, or a tuple of several.

        :param arrays: one array-like per input, finite, of the declared shape.
        :param out: arrays to write into, one per output.
        """
        self._check_number(arrays)
        inputs = [checked(a, x, self.dtype) for a, x in zip(self.inputs, arrays)]
        targets, buffers = prepare_outputs(self.outputs, out, dtype=self.dtype)
        self.run(inputs, buffers)
        return finish(targets, buffers)

    def caller(self, *fixed: Array, result: type[tuple[Any, ...]] = tuple,
               explain: Explain | None = None) -> Callable[..., Array | tuple[Array, ...]]:
        """
        Return the checked call with its last inputs given once, the fastest way to call.

        It also takes batches: inputs with a leading axis.

        :param fixed: arrays for the last inputs; they are read, and checked, at every call, so
            that writing into them changes the results.
        :param result: type of tuple for several results, such as a named one; a given ``out`` is
            returned as it is.
        :param explain: makes an error of the arguments where a result is not finite; without it
            such a result is returned.
        """
        def call(*arrays: ArrayLike, out: Array | Sequence[Array] | None = None,
                 ) -> Array | tuple[Array, ...]:
            if explain is not None and out is not None:
                arrays = unshared(arrays, out)
            values = (*arrays, *fixed)
            many = any(_axes(x) == len(a.shape) + 1 for a, x in zip(self.inputs, values))
            try:
                found = (self.batch(*values, out=out) if many
                         else Kernel.__call__(self, *values, out=out))
            except (OverflowError, ZeroDivisionError):      # of the uncompiled algorithms
                if explain is None:
                    raise
                raise explain(arrays, None) from None
            if explain is not None:
                state = _not_finite(found if isinstance(found, tuple) else (found,), many)
                if state is not None:
                    raise explain(arrays, state)
            if out is not None or not isinstance(found, tuple):
                return found
            return tuple.__new__(result, found)
        return call

    def batch(self, *arrays: ArrayLike, out: Array | Sequence[Array] | None = None,
              threads: int | None = None) -> Array | tuple[Array, ...]:
        """
        Return the results for many states at once, with a leading axis.

        :param arrays: each (count, *shape), or (*shape) where all states share it.
        :param out: arrays to write into, (count, *shape) per output.
        :param threads: number of threads, that of the kernel by default.
        """
        self._check_number(arrays)
        inputs, batched, count = checked_batch(self.inputs, arrays, self.dtype)
        targets, buffers = prepare_outputs(self.outputs, out, (count,), self.dtype)
        if count:
            self.run_batch(inputs, batched, buffers, count,
                           self.threads if threads is None else threads)
        return finish(targets, buffers)

    def limit_threads(self, threads: int | None) -> None:
        """Set the number of threads for a batch, None for all cores."""
        self.threads = threads

    def bind(self) -> Bound:
        """Return the kernel bound to buffers of its own, for loops that call it every cycle."""
        inputs = {a.name: np.zeros(a.shape, self.dtype) for a in self.inputs}
        outputs = {a.name: np.zeros(a.shape, self.dtype) for a in self.outputs}
        given, taken = tuple(inputs.values()), tuple(outputs.values())
        return Bound(inputs, outputs, lambda: self.run(given, taken))

    def __repr__(self) -> str:
        """Return the signature."""
        inputs = ', '.join(f'{a.name}{list(a.shape)}' for a in self.inputs)
        outputs = ', '.join(f'{a.name}{list(a.shape)}' for a in self.outputs)
        return f'<Kernel {self.name}({inputs}) -> {outputs} [{self.backend}]>'

    def _check_number(self, arrays: Sequence[ArrayLike]) -> None:
        names = [a.name for a in self.inputs]
        if len(arrays) != len(names):
            raise TypeError(f'{self.name} takes {len(names)} arguments '
                            f'({", ".join(names)}), got {len(arrays)}')


def _not_finite(results: Sequence[Array], many: bool) -> int | None:
    """Return the number of the first state with a result that is not finite, None if all are."""
    for result in results:
        own = tuple(range(1 if many else 0, result.ndim))
        finite = np.atleast_1d(np.isfinite(result).all(axis=own))
        if not finite.all():
            return int(np.argmin(finite))
    return None


def _axes(value: ArrayLike) -> int:
    """Return the number of axes, 0 of what is no array."""
    try:
        return np.ndim(value)
    except ValueError:  # a ragged list
        return 0
