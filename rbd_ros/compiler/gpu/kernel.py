# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A graph as kernels on a device, and the call that checks its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
import logging
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_ros.compiler.arguments import check_finite, checked, checked_batch, converted
from rbd_ros.compiler.gpu.arrays import (
    extent, finished, maker, steps, stream_number, View, view)
from rbd_ros.compiler.gpu.device import Device, Memory
from rbd_ros.compiler.gpu.program import Form, Hints, program, Stage
from rbd_ros.compiler.gpu.rollout import rollout_program
from rbd_ros.compiler.gpu.targets import circumstances
from rbd_ros.compiler.graph.graph import Argument, Graph
from rbd_ros.compiler.kernel import Source
from rbd_ros.compiler.native import cache as disk
from rbd_ros.compiler.scalar import scalar_type, ScalarType
from rbd_ros.errors import NonFiniteError, ShapeError

#: What the status word holds while all numbers are finite.
_FINE = 2**64 - 1
_log = logging.getLogger('rbd_ros')


class _Given(NamedTuple):
    """An argument as kernels take it: address, step between states, step between elements."""

    address: int
    state: int
    element: int


class DeviceKernel:
    """
    One graph made executable on a device.

    :param entry: code of the device, and what it is.
    :param device: where it runs.
    :param scalar: type of all numbers.
    """

    def __init__(self, entry: disk.Entry, device: Device, scalar: ScalarType) -> None:
        about = entry.about
        self.name: str = about['name']
        self.inputs, self.outputs = (
            tuple(Argument(name, tuple(shape)) for name, shape in about[side])
            for side in ('inputs', 'outputs'))
        self.device, self.dtype, self._type = device, np.dtype(scalar.name), scalar.name
        #: What the device is given: PTX for NVIDIA.
        self.code = entry.objects[0]
        self._slots, self._extra = int(about['slots']), tuple[int, ...]()
        self._varying: tuple[str, ...] = tuple(about.get('varying', ()))
        #: The kernels, with registers and local memory of each.
        self.functions = [
            function._replace(block=about['block'])
            for function in device.load(self.code, about['entries'], about['level'])]
        self._complain()
        self._status = device.keep(8)
        self._clear()
        self._fixed: dict[str, tuple[NDArray[Any], Memory]] = {}

    def _complain(self) -> None:
        """Say it where values of a kernel do not fit into registers: it is slower than planned."""
        for number, function in enumerate(self.functions):
            if function.local:
                _log.info('kernel %d of %s has %d registers and %d bytes of local memory', number,
                          self.name, function.registers, function.local)

    def __call__(self, *arrays: Any, fixed: Sequence[NDArray[Any]] = (), out: Any = None,
                 stream: Any = None) -> Any:
        """
        Return the results: one array, or a tuple of several.

        Arrays of the process are copied to the device and back, and the call returns when all is
        done. With arrays on the device it returns at once; results are there in the order of the
        stream.

        :param arrays: for the first inputs, each of one state, or of many with a leading axis.
        :param fixed: arrays of the process for the last inputs, of all states.
        :param out: arrays to write into, one per output; none may share memory with an input.
        :param stream: on which kernels run, see ``stream_number``.
        """
        wanted = len(self.inputs) - len(fixed)
        if len(arrays) != wanted:
            names = ', '.join(a.name for a in self.inputs[:wanted])
            raise TypeError(f'{self.name} takes {wanted} arguments ({names}), got {len(arrays)}')
        number = stream_number(stream, arrays[0] if arrays else None)
        with self.device.current():
            return self._called(arrays, fixed, out, number)

    def _called(self, arrays: Sequence[Any], fixed: Sequence[NDArray[Any]], out: Any,
                number: int) -> Any:
        """Compute with arrays here or there."""
        views = [view(a.name, x, self.device, number) for a, x in zip(self.inputs, arrays)]
        there = [found for found in views if found is not None]
        if not there:
            return self._from_host([*arrays, *fixed], out, number)
        if len(there) < len(views):
            here = self.inputs[views.index(None)].name
            raise ShapeError(f'{here} is in the memory of the process and other arguments are on '
                             f'{self.device.name}; move all to one place')
        return self._on_device(there, fixed, out, number, arrays[0])

    def over(self, steps: int, every: int) -> DeviceKernel:
        """
        Return a rollout of so many steps, with a record after every so many.

        Arguments that vary have a row for each step, results one for each record.

        :param every: divides the number of steps.
        """
        if not (0 < every <= steps and steps % every == 0):
            raise ShapeError(f'{self.name}: {steps} steps with a record after every {every}; give '
                             'positive numbers, of which the second divides the first')
        other = copy(self)
        other._extra = steps, every
        other.inputs = tuple(Argument(a.name, (steps, *a.shape)) if a.name in self._varying else a
                             for a in self.inputs)
        other.outputs = tuple(Argument(a.name, (steps // every, *a.shape)) for a in self.outputs)
        return other

    def check(self) -> None:
        """
        Wait, and raise an error if a number was not finite in a call since the last check.

        :raises NonFiniteError: with the first of those states.
        """
        self.device.synchronize()
        word = np.empty(1, np.uint64)
        self.device.download(word, self._status.address, 0)
        self.device.synchronize(0)
        self._clear()
        self._judge(int(word[0]))

    def _clear(self) -> None:
        self.device.upload(self._status.address, np.array([_FINE], np.uint64), 0)
        self.device.synchronize(0)

    def _judge(self, word: int) -> None:
        if word != _FINE:
            raise NonFiniteError(
                f'{self.name}: state {word} is the first with an argument or a result that is not '
                'finite, or with an angle beyond 1e6 rad')

    def bind(self, *arrays: Any, out: Any, fixed: Sequence[NDArray[Any]] = (),
             stream: Any = None) -> Callable[[], None]:
        """
        Return what starts the kernels on arrays of the device, which are checked once.

        It may be called again and again, also while a CUDA graph is recorded.

        :param arrays: for the first inputs, as of a call.
        :param fixed: for the last inputs; what they are now is what they stay.
        :param out: arrays for the results.
        """
        number = stream_number(stream, arrays[0])
        views = [view(a.name, x, self.device, number) for a, x in zip(self.inputs, arrays)]
        if None in views or len(views) + len(fixed) != len(self.inputs):
            raise ShapeError(f'{self.name} is bound to arrays on {self.device.name} for '
                             f'{", ".join(a.name for a in self.inputs)}')
        there = [found for found in views if found is not None]
        given, count, _, _ = self._arranged(there, fixed, out, number, arrays[0])
        size = self._slots * count * self.dtype.itemsize
        scratch = self.device.keep(size) if size else None
        starts = self._starts(given, count, self._status.address, number,
                              scratch.address if scratch else 0)

        def start(_: object = (self, arrays, out, there, scratch)) -> None:     # which must stay
            for each in starts:
                each()
        return start

    def _starts(self, given: Sequence[_Given], count: int, status: int, stream: int,
                scratch: int) -> list[Callable[[], None]]:
        """Return what starts the kernels, one after the other."""
        words = [word for each in given for word in each]
        words = [word % 2**64 for word in (*words, count, status, scratch, *self._extra)]
        return [self.device.prepared(function, count, words, stream)
                for function in self.functions] if count else []

    def _run(self, given: Sequence[_Given], count: int, status: int, stream: int) -> None:
        """Start the kernels."""
        size = self._slots * count * self.dtype.itemsize
        scratch = self.device.allocate(size, stream) if size else 0
        try:
            for start in self._starts(given, count, status, stream, scratch):
                start()
        finally:
            if size:
                self.device.free(scratch, stream)

    # --- arrays of the process ----------------------------------------------------------------

    def _from_host(self, arrays: Sequence[ArrayLike], out: Any, stream: int) -> Any:
        """Compute with arrays that are copied."""
        many = any(np.ndim(x) > len(a.shape) for a, x in zip(self.inputs, arrays))
        if many:
            values, batched, count = checked_batch(self.inputs, arrays, self.dtype)
        else:
            values = [checked(a, x, self.dtype) for a, x in zip(self.inputs, arrays)]
            batched, count = [False] * len(values), 1
        results = [np.empty((a.size, count), self.dtype) for a in self.outputs]
        word = np.array([_FINE], np.uint64)
        with ExitStack() as stack:
            def place(array: NDArray[Any]) -> int:
                address = self.device.allocate(array.nbytes, stream)
                stack.callback(self.device.free, address, stream)
                return address
            given = []
            for argument, value, own in zip(self.inputs, values, batched, strict=True):
                given.append(_Given(place(value), argument.size if own else 0, 1))
                self.device.upload(given[-1].address, value, stream)
            status = place(word)
            self.device.upload(status, word, stream)
            given += [self._reached(a.name, _Given(place(result), 1, count))
                      for a, result in zip(self.outputs, results, strict=True)]
            self._run(given, count, status, stream)
            for result, target in zip([*results, word], [*given[len(values):], _Given(
                    status, 0, 0)], strict=True):
                self.device.download(result, target.address, stream)
            self.device.synchronize(stream)
        self._judge(int(word[0]))
        found = [_batch_first(result, a.shape, many)
                 for result, a in zip(results, self.outputs, strict=True)]
        return _handed(found, out, self._copy)

    def _copy(self, argument: int, target: Any, value: NDArray[Any]) -> None:
        name = self.outputs[argument].name
        if not isinstance(target, np.ndarray) or target.shape != value.shape or (
                target.dtype != value.dtype):
            raise ShapeError(f'out for {name} must be a {value.dtype} array of shape '
                             f'{value.shape}')
        target[...] = value

    # --- arrays on the device -----------------------------------------------------------------

    def _on_device(self, views: Sequence[View], fixed: Sequence[NDArray[Any]], out: Any,
                   stream: int, like: object) -> Any:
        """Compute with arrays as they lie."""
        given, count, many, results = self._arranged(views, fixed, out, stream, like)
        self._run(given, count, self._status.address, stream)
        if out is not None:
            return out
        found = finished(results if many else [_first(each) for each in results], like)
        return found[0] if len(found) == 1 else tuple(found)

    def _arranged(self, views: Sequence[View], fixed: Sequence[NDArray[Any]], out: Any,
                  stream: int, like: object) -> tuple[list[_Given], int, bool, list[Any]]:
        """Return where all arguments are, number of states, whether many, and the results."""
        given, count, many = self._placed(views, stream)
        given += self._kept(fixed)
        leading = (count,) if many else ()
        if out is None:
            make = maker(like, self.device, self.dtype, stream)
            results = [make(count, a.shape) for a in self.outputs]
        else:
            results = [out] if len(self.outputs) == 1 and not isinstance(
                out, (list, tuple)) else list(out)
            if len(results) != len(self.outputs):
                raise ShapeError(f'out holds {len(results)} arrays, expected {len(self.outputs)} '
                                 f'({", ".join(a.name for a in self.outputs)})')
        for argument, result in zip(self.outputs, results, strict=True):
            expected = (*leading, *argument.shape) if out is not None else (
                count, *argument.shape)
            given.append(self._target(argument, result, expected, views, stream))
        return given, count, many, results

    def _placed(self, views: Sequence[View], stream: int) -> tuple[list[_Given], int, bool]:
        """Return where arguments are, the number of states and whether there are many."""
        given, count = [], None
        for argument, found in zip(self.inputs, views):
            self._check_type(argument.name, found)
            axes = len(argument.shape)
            leading = len(found.shape) == axes + 1
            if found.shape[int(leading):] != argument.shape:
                raise ShapeError(f'{argument.name} has shape {found.shape}, expected '
                                 f'(count, {", ".join(map(str, argument.shape))}) or '
                                 f'{argument.shape} for all states')
            if leading and count not in (None, found.shape[0]):
                raise ShapeError(f'{argument.name} has {found.shape[0]} states, others have '
                                 f'{count}; all batched arguments must have the same number')
            count = found.shape[0] if leading else count
            if found.stream not in (None, stream):
                self.device.wait_for(found.stream, stream)
            given.append(self._reached(argument.name, _Given(
                found.address, *steps(argument.name, found, axes))))
        return given, 1 if count is None else count, count is not None

    def _target(self, argument: Argument, result: Any, shape: tuple[int, ...],
                views: Sequence[View], stream: int) -> _Given:
        """Return where a result goes."""
        found = view(f'out for {argument.name}', result, self.device, stream)
        if found is None or found.shape != shape:
            raise ShapeError(f'out for {argument.name} must be a {self.dtype} array of shape '
                             f'{shape} on {self.device.name}, got '
                             f'{type(result).__name__ if found is None else found.shape}')
        self._check_type(f'out for {argument.name}', found)
        for other, name in zip(views, self.inputs):
            if _overlap(found, other):
                raise ShapeError(f'out for {argument.name} shares memory with {name.name}: '
                                 'threads write it while others read; give another array')
        return self._reached(argument.name, _Given(
            found.address, *steps(argument.name, found, len(argument.shape))))

    def _reached(self, name: str, given: _Given) -> _Given:
        """Refuse an array whose elements are farther apart than kernels can count."""
        if abs(given.element) * self.dtype.itemsize >= 2**31:
            raise ShapeError(f'elements of a state of {name} are 2 GiB apart or more: split the '
                             'batch')
        return given

    def _check_type(self, name: str, found: View) -> None:
        if found.dtype != self._type:
            raise ShapeError(f'{name} holds {found.dtype}, this robot computes in {self.dtype}; '
                             "convert it, or give scalar= of robot.on('cuda')")

    def _kept(self, fixed: Sequence[NDArray[Any]]) -> list[_Given]:
        """Return where the arrays that all states share are, copied where they have changed."""
        arguments = self.inputs[len(self.inputs) - len(fixed):]
        given = []
        for argument, array in zip(arguments, fixed, strict=True):
            value = converted(argument, array, self.dtype)
            if argument.name not in self._fixed:
                self._fixed[argument.name] = (
                    np.full_like(value, np.nan), self.device.keep(value.nbytes))
            last, memory = self._fixed[argument.name]
            if not np.array_equal(value, last):
                check_finite(argument.name, value)
                self.device.synchronize()       # kernels may still read what was there
                self.device.upload(memory.address, value, 0)
                self.device.synchronize(0)
                self._fixed[argument.name] = value.copy(), memory
            given.append(_Given(memory.address, 0, 1))
        return given


def compile_for(device: Device, source: Source, *, scalar: str | ScalarType = 'float64',
                key: str = '', cache: bool = True,
                hints: Callable[[Graph], Hints] | None = None, form: Form | None = None,
                stages: Callable[[], Sequence[Graph]] = tuple) -> DeviceKernel:
    """
    Return a graph as kernels on a device.

    :param source: the graph, or what traces it where no code is on disk.
    :param scalar: type of all numbers.
    :param key: a digest of all that the graph depends on, that of the graph where there is none.
    :param cache: whether code is kept on disk, and looked for there.
    :param hints: what is known of the arguments; the key must hold all that it depends on.
    :param form: how, by the size of the graph where nothing is said.
    :param stages: graphs that compute the same one after the other, see ``joined``; the key must
        hold all that they depend on.
    """
    kind = scalar_type(scalar)
    known = circumstances(device.target) if cache else ''
    if known and not key:
        source = source if isinstance(source, Graph) else source()
        key = source.digest()
    wanted = [key, known, kind.name, hints is not None, form]

    def make() -> disk.Entry:
        graph = source if isinstance(source, Graph) else source()
        told = None if hints is None else hints(graph)
        steps = [Stage(each, None if hints is None else hints(each).ranks) for each in stages()]
        made = program(graph, device.dialect, kind, told, form, steps)
        return disk.Entry(made.about(graph), [device.code(made.text)])
    return DeviceKernel(disk.kept(disk.digest(wanted) if known else '', make), device, kind)


def compile_rollout(device: Device, graph: Graph, carried: Mapping[str, str],
                    varying: Sequence[str] = (), *, scalar: str | ScalarType = 'float64',
                    cache: bool = True, form: Form | None = None) -> DeviceKernel:
    """
    Return a loop over a graph as a kernel on a device; see ``rollout_program`` and ``over``.

    :param graph: one step.
    :param carried: which result becomes which argument of the next step, by the argument's name.
    :param varying: names of the arguments that each step has of its own.
    """
    kind = scalar_type(scalar)
    known = circumstances(device.target) if cache else ''
    wanted = [graph.digest(), known, kind.name, sorted(carried.items()), list(varying), form]

    def make() -> disk.Entry:
        made = rollout_program(graph, carried, varying, device.dialect, kind, form)
        about = {**made.about(graph), 'varying': list(varying)}
        return disk.Entry(about, [device.code(made.text)])
    return DeviceKernel(disk.kept(disk.digest(wanted) if known else '', make), device, kind)


def _batch_first(result: NDArray[Any], shape: tuple[int, ...], many: bool) -> NDArray[Any]:
    """Return numbers that lie state by state within each element, as a view state by state."""
    view = np.moveaxis(result.reshape(*shape, result.shape[-1]), -1, 0)
    return view if many else view[0]


def _first(result: Any) -> Any:
    return result[0] if hasattr(result, '__getitem__') else result


def _handed(found: list[NDArray[Any]], out: Any,
            copy: Callable[[int, Any, NDArray[Any]], None]) -> Any:
    """Return results, in the arrays of the caller where there are any."""
    if out is None:
        return found[0] if len(found) == 1 else tuple(found)
    targets = [out] if len(found) == 1 and not isinstance(out, (list, tuple)) else list(out)
    if len(targets) != len(found):
        raise ShapeError(f'out holds {len(targets)} arrays, expected {len(found)}')
    for k, (target, value) in enumerate(zip(targets, found, strict=True)):
        copy(k, target, value)
    return out


def _overlap(a: View, b: View) -> bool:
    """Return whether two arrays may share memory."""
    a_low, a_high = _extent(a)
    b_low, b_high = _extent(b)
    return a_low < b_high and b_low < a_high


def _extent(found: View) -> tuple[int, int]:
    """Return the first byte of an array and the one after its last."""
    size = int(found.dtype.removeprefix('float')) // 8
    before, after = extent(found.shape, found.strides)
    return found.address + size * before, found.address + size * after
