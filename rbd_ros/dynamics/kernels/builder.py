# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""How the kernel of one quantity is made: its key, its graph, its compilation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
import re
import sys
from typing import Any

from numpy.typing import ArrayLike

from rbd_ros.algorithms.equivalence import simplified_inertias
from rbd_ros.compiler import Argument, compile as compile_graph, Graph, trace
from rbd_ros.compiler.graph.graph import Columns
from rbd_ros.compiler.kernel import Kernel
from rbd_ros.dynamics.kernels.key import kernel_key
from rbd_ros.dynamics.kernels.reference import ReferenceKernel
from rbd_ros.dynamics.quantity import Computation, Rule, Shape
from rbd_ros.dynamics.state import evaluate, Surroundings
from rbd_ros.errors import RbdError
from rbd_ros.model.model import Model

Progress = Callable[[str, float], None]

#: Ways to run a quantity.
BACKENDS = ('auto', 'llvm', 'python', 'reference')
#: Forms of equivalent inertias, see ``Traits.equivalent``.
EQUIVALENT = ('3d', 'spatial')


@dataclass(frozen=True)
class Options:
    """How the kernels of a robot are made; the fields are arguments of :class:`Dynamics`."""

    backend: str = 'auto'
    payload_frame: str | None = None
    payload_frames: Sequence[str] = ()
    cache: bool = True
    progress: Progress | None = None
    simplify_inertias: bool = False
    closed_near: ArrayLike | None = None
    threads: int | None = None


#: Velocity variables up to which products of matrices are part of a straight line: past it, these
#: are as long as all the rest.
STRAIGHT = 16


class KernelBuilder:
    """
    Makes kernels of computations of one robot.

    :param model: the robot.
    :param options: how they are made.
    :param shapes: of the inputs that any quantity may name.
    :param surroundings: what rules may reach beyond their inputs.
    """

    def __init__(
        self, model: Model, options: Options, shapes: Mapping[str, Shape],
        surroundings: Surroundings,
    ) -> None:
        if options.backend not in BACKENDS:
            raise RbdError(f'no backend "{options.backend}" (known: {", ".join(BACKENDS)})')
        if options.threads is not None and not (
                isinstance(options.threads, int) and options.threads > 0):
            raise RbdError(f'threads is {options.threads!r}; give the largest number of threads '
                           'for a batch, 1 or more, or None for one per core')
        self._model, self._options, self._shapes = model, options, shapes
        self._surroundings = surroundings
        self._progress = options.progress or (_show if sys.stderr.isatty() else None)
        self._equivalent = {
            form: replace(model, inertia=simplified_inertias(model, form))
            for form in EQUIVALENT} if options.simplify_inertias else {}

    def kernel(self, item: Computation) -> Kernel:
        """Return the kernel of a computation, compiled or found on disk."""
        if self._options.backend == 'reference':
            arguments = [Argument(*pair) for pair in self._arguments(item).items()]
            return ReferenceKernel(self._model_of(item), item, arguments, self._surroundings,
                                   lambda: self.graph(item))
        kernel = compile_graph(
            lambda: self.graph(item), keys=self.key(item), cache=self._options.cache,
            backend=self._options.backend, progress=self._progress, call=not item.quantity.bound)
        kernel.limit_threads(self._options.threads)
        return kernel

    def graph(self, item: Computation) -> Graph:
        """Trace a quantity; of several methods, the one with the fewest operations."""
        arguments, model = self._arguments(item), self._model_of(item)

        def traced(rule: Rule) -> Graph:
            def function(*values: Sequence[Any]) -> Mapping[str, Sequence[Any]]:
                given = dict(zip(arguments, values, strict=True))
                return evaluate(model, item, rule, given, self._surroundings)
            name = re.sub(r'\W+', '_', item.name, flags=re.ASCII)
            return trace(function, arguments, name=name)

        graph = min((traced(rule) for rule in item.rules.values()),
                    key=lambda graph: graph.count().total)
        columns = item.quantity.traits.columns
        if columns is None or model.nv <= STRAIGHT:
            return graph
        return replace(graph, columns=Columns(
            traced(columns.first), columns.column(model), columns.matrices))

    def key(self, item: Computation) -> str:
        """Return the key of a quantity, '' for one that must be traced to be known."""
        quantity, around = item.quantity, self._surroundings
        nominal: object = None
        if quantity.loops.regular and self._model.loops and set(item.rules) - set(
                quantity.choice.last_resort):
            nominal = around.pivots(item.held) if quantity.target == 'joints' else around.nominal()
        return kernel_key(
            self._model_of(item), item.name, quantity.key or tuple(item.rules.items()),
            item.target, self._arguments(item), around.payload_frames, nominal,
            modules=quantity.modules)

    def _model_of(self, item: Computation) -> Model:
        """Return the model whose inertias a quantity is computed with."""
        return self._equivalent.get(item.quantity.traits.equivalent, self._model)

    def _arguments(self, item: Computation) -> dict[str, Shape]:
        shapes = {**self._shapes, **item.shapes}
        return {name: shapes[name] for name in item.inputs + item.common}


def _show(name: str, share: float) -> None:
    """Show on the terminal how far a compilation is."""
    end = '\r' if share < 1.0 else '\r\x1b[K'
    sys.stderr.write(f'compiling {name}: {share:4.0%}{end}')
    sys.stderr.flush()
