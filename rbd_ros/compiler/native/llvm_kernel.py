# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Kernels of machine code: compiled, or taken from the disk without tracing anything."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import ctypes
from functools import cache, partial
from typing import Any

import numpy as np

from rbd_ros.compiler.arguments import Array
from rbd_ros.compiler.fork_lock import ForkLock
from rbd_ros.compiler.graph.graph import Argument, Graph, OperationCount
from rbd_ros.compiler.kernel import Bound, Explain, Kernel, Progress, Source
from rbd_ros.compiler.native import cache as disk, gate, object_layout
from rbd_ros.compiler.native.batch import batch_modules, BatchProgram
from rbd_ros.compiler.native.columns import column_modules
from rbd_ros.compiler.native.loader import Code, owned_memory
from rbd_ros.compiler.native.modules import effort, emit_all, part_size, scalar_modules
from rbd_ros.compiler.native.target import circumstances, Options, Target
from rbd_ros.compiler.native.zeros import left_out
from rbd_ros.compiler.scalar import FLOAT64, ScalarType


class Program(Kernel):
    """
    A graph as machine code, and all that is done with it but for the fastest way to call it.

    :param entry: what was compiled or found on disk.
    :param source: the graph, or what traces it when somebody asks for it.
    :param key: name of the entry on disk, '' if it is not kept.
    :param options: what the code is made of and for.
    """

    backend = 'llvm'

    def __init__(self, entry: disk.Entry, source: Source, key: str, options: Options) -> None:
        about = entry.about
        self.name = about['name']
        self.inputs, self.outputs = [
            tuple(Argument(name, tuple(shape)) for name, shape in about[side])
            for side in ('inputs', 'outputs')]
        self._count, self._zeros = OperationCount(*about['count']), about['zeros']
        self._source, self._key, self._options = source, key, options
        self.dtype = np.dtype(options.scalar.name)
        self._lock = ForkLock()
        self._batch: BatchProgram | None = None
        self._code = Code(entry.objects)
        self._function = _prototype(len(self.inputs) + len(self.outputs))(
            self._code.address('rbd_kernel'))
        self._call_definition = self._bound_definition = 0
        if options.scalar is FLOAT64 and object_layout.verified():   # the gate reads doubles
            self._code.write('rbd_table', object_layout.table())
            self._bound_definition = self._code.define(
                self.name, 'rbd_bound', object_layout.NOARGS)
            if options.call:
                self._call_definition = self._code.define(
                    self.name, 'rbd_call', object_layout.FASTCALL)

    @property
    def graph(self) -> Graph:
        """Return what it computes, traced now if the code came from the disk."""
        with self._lock:
            if not isinstance(self._source, Graph):
                self._source = self._source()
            return self._source

    def count(self) -> OperationCount:
        """Return how many operations of each kind one evaluation takes."""
        return self._count

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compute the outputs, unchecked."""
        self._function(*[x.ctypes.data for x in inputs], *[y.ctypes.data for y in outputs])

    def caller(self, *fixed: Array, result: type[tuple[Any, ...]] = tuple,
               explain: Explain | None = None) -> Callable[..., Array | tuple[Array, ...]]:
        """
        Return the checked call with its last inputs given once, the fastest way to call.

        :param fixed: arrays for the last inputs; they are read, and checked, at every call, so
            that writing into them changes the results.
        :param result: type of tuple for several results, such as a named one; a given ``out`` is
            returned as it is.
        :param explain: makes an error of the arguments where a result is not finite; without it
            such a result is returned.
        """
        slow = super().caller(*fixed, result=result, explain=explain)
        if not self._call_definition:
            return slow
        # The tuple keeps this object, and so the code, alive; it gets what machine code refuses.
        return object_layout.make_function(self._call_definition, (slow, result, *fixed))

    def bind(self) -> Bound:
        """Return the kernel bound to buffers of its own, for loops that call it every cycle."""
        if not self._bound_definition:
            return super().bind()
        arguments = [*self.inputs, *self.outputs]
        starts, total = gate.offsets(arguments)
        memory = owned_memory(ctypes.c_char * (8 * total + 64), self)
        shift = -ctypes.addressof(memory) % 64
        block = np.ndarray((total,), np.float64, memory, shift)
        views = [(a.name, block[k:k + a.size].reshape(a.shape))
                 for a, k in zip(arguments, starts, strict=True)]
        for name, view in views[len(self.inputs):]:
            view.flags.writeable = name not in self._zeros
        run = object_layout.make_function(self._bound_definition, block)
        count = len(self.inputs)  # an input and an output may have the same name
        place = self._code.address('rbd_run'), block.ctypes.data
        return Bound(dict(views[:count]), dict(views[count:]), run, place)

    def run_batch(self, inputs: Sequence[Array], batched: Sequence[bool],
                  outputs: Sequence[Array], count: int, threads: int | None) -> None:
        """Compute the outputs of many states, unchecked."""
        program = self._batch or self.prepare_batch()
        program.run(inputs, batched, outputs, count, threads)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the graph alone; the code comes from the disk or is made anew."""
        return _again, (self.graph, bool(self._key), self._options)

    def prepare_batch(self, progress: Progress | None = None) -> BatchProgram:
        """
        Compile the batch form, which otherwise happens in the first batch.

        :param progress: called with the name and the share done.
        """
        scalar, target, _ = self._options
        width = target.width(scalar)

        def make() -> disk.Entry:
            texts, workspace = batch_modules(self.graph, width, table=target.table,
                                             scalar=scalar)
            return disk.Entry({'workspace': workspace},
                              emit_all(self.name, texts, target, progress))
        entry = disk.kept(
            disk.digest([self._key, 'batch', width]) if self._key else '', make)
        with self._lock:
            self._batch = BatchProgram(Code(entry.objects), self.inputs, self.outputs, width,
                                       entry.about['workspace'], sum(self._count), scalar)
            return self._batch


class LlvmKernel(Kernel):
    """
    A program, and in a slot the built-in function that is its checked call.

    The interpreter finds the slot without running a line of Python; a method would cost more than
    a small kernel. What the function needs is the program and not this object: there is no cycle,
    and a kernel that is dropped is gone at once.

    :param program: the machine code.
    """

    __slots__ = ('__call__',)
    backend = 'llvm'

    def __init__(self, program: Program) -> None:
        self.program, self.dtype = program, program.dtype
        self.name, self.inputs, self.outputs = program.name, program.inputs, program.outputs
        self.__call__ = program.caller()  # type: ignore[method-assign]

    @property
    def graph(self) -> Graph:
        """Return what it computes, traced now if the code came from the disk."""
        return self.program.graph

    def count(self) -> OperationCount:
        """Return how many operations of each kind one evaluation takes."""
        return self.program.count()

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compute the outputs, unchecked."""
        self.program.run(inputs, outputs)

    def run_batch(self, inputs: Sequence[Array], batched: Sequence[bool],
                  outputs: Sequence[Array], count: int, threads: int | None) -> None:
        """Compute the outputs of many states, unchecked."""
        self.program.run_batch(inputs, batched, outputs, count, threads)

    def caller(self, *fixed: Array, result: type[tuple[Any, ...]] = tuple,
               explain: Explain | None = None) -> Callable[..., Array | tuple[Array, ...]]:
        """Return the checked call with its last inputs given once, see ``Program``."""
        return self.program.caller(*fixed, result=result, explain=explain)

    def bind(self) -> Bound:
        """Return the kernel bound to buffers of its own, for loops that call it every cycle."""
        return self.program.bind()

    def limit_threads(self, threads: int | None) -> None:
        """Set the number of threads for a batch, of the program's own calls too."""
        super().limit_threads(threads)
        self.program.limit_threads(threads)

    def prepare_batch(self, progress: Progress | None = None) -> BatchProgram:
        """Compile the batch form, see ``Program``."""
        return self.program.prepare_batch(progress)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the graph alone; the code comes from the disk or is made anew."""
        return self.program.__reduce__()


@cache
def _prototype(count: int) -> type[ctypes._CFunctionType]:
    """Return the type of a kernel of so many arrays, called with the interpreter's lock held."""
    return ctypes.PYFUNCTYPE(None, *[ctypes.c_void_p] * count)


def _again(graph: Graph, cached: bool, options: Options) -> Kernel:
    return compile_llvm([graph], cache=cached, **options._asdict())[0]


def compile_llvm(sources: Sequence[Source], *, keys: Sequence[str] | None = None,
                 cache: bool = True, progress: Progress | None = None,
                 scalar: str | ScalarType = FLOAT64, target: Target | None = None,
                 call: bool = True) -> list[Kernel]:
    """
    Return each graph as a kernel of machine code.

    :param sources: graphs, or functions that trace them; those are called only if the code is
        not on disk.
    :param keys: a digest of all that each function's graph depends on; without it the graph's
        own is taken.
    :param cache: keep the code on disk, and look for it there.
    :param progress: called with the name of a kernel and the share of all the work done.
    :param scalar: type of all numbers. Kernels of float32 take and give float32 arrays, by the
        portable call path: the machine-code gate knows float64 only.
    :param target: processor to make code for, this machine's by default; it must run here.
    :param call: whether the checked call is machine code too; for a kernel of many arrays it takes
        as long to compile as the kernel itself, which one that is only bound is spared.
    """
    options = Options.of(scalar, target, call)
    options.target.check_runs_here()
    kernels: list[Kernel] = []
    for k, source in enumerate(sources):
        report = None if progress is None else partial(_report, progress, k, len(sources))
        kernels.append(_compile(source, keys[k] if keys else '', cache, report, options))
        if progress is not None:
            progress(kernels[-1].name, (k + 1) / len(sources))
    return kernels


def _report(progress: Progress, done: int, total: int, name: str, share: float) -> None:
    progress(name, (done + share) / total)


def emit_objects(graph: Graph, *, scalar: str | ScalarType = FLOAT64,
                 target: Target | None = None) -> list[bytes]:
    """
    Return object code with ``void rbd_kernel(real *in0, ..., real *out0, ...)``, to be linked.

    Nothing is loaded, so the target may be any processor that LLVM knows. The code needs the
    mathematical library of C.

    :param graph: what to compute.
    :param scalar: type of all numbers.
    :param target: processor to make code for, this machine's by default.
    """
    kind, machine, _ = Options.of(scalar, target)
    kind.check(graph)
    return emit_all(graph.name, kernel_modules(graph, (), machine, kind), machine, None,
                    effort(graph))


def kernel_modules(graph: Graph, extra: Sequence[str], target: Target,
                   scalar: ScalarType) -> list[str]:
    """
    Return modules with ``rbd_kernel`` in the form that is the fastest on one state.

    :param extra: lines of functions that call it.
    """
    columns = graph.columns
    if columns is None:
        return scalar_modules(graph, extra, part_size(graph), table=target.table, scalar=scalar)
    return column_modules(graph, columns, extra, target.width(scalar), part_size(columns.first),
                          target.table, scalar)


def _compile(source: Source, given: str, cached: bool, progress: Progress | None,
             options: Options) -> LlvmKernel:
    scalar, target, called = options
    if cached and not given:
        source = source if isinstance(source, Graph) else source()
        given = source.digest()
    known = circumstances(options) if cached else ''
    key = disk.digest([given, known]) if known else ''

    def make() -> disk.Entry:
        nonlocal source
        graph = source = source if isinstance(source, Graph) else source()
        scalar.check(graph)
        columns = graph.columns
        zeros = left_out(graph) if columns is None else []
        call = gate.module(graph.inputs, graph.outputs, 'rbd_nonzero' if zeros else 'rbd_kernel',
                           call=called) if scalar is FLOAT64 else []
        texts, opt = kernel_modules(graph, call, target, scalar), effort(graph)
        about = {'name': graph.name, 'inputs': graph.inputs, 'outputs': graph.outputs,
                 'count': graph.count(), 'zeros': zeros}
        return disk.Entry(about, emit_all(graph.name, texts, target, progress, opt))
    entry = disk.kept(key, make)
    return LlvmKernel(Program(entry, source, key, options))
