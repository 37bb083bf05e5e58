# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""How the kernel of one quantity is made: its key, its graph, its compilation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
import re
import sys
from typing import Any, TYPE_CHECKING

from rbd_ros.algorithms.equivalence import simplified_inertias
from rbd_ros.compiler import Argument, compile as compile_graph, trace
from rbd_ros.dynamics.environment import Environment
from rbd_ros.dynamics.fingerprint import kernel_key
from rbd_ros.dynamics.quantity import Computation, find, input_shapes, Quantity, Rule
from rbd_ros.dynamics.reference_kernel import ReferenceKernel
from rbd_ros.dynamics.state import evaluate, Surroundings
from rbd_ros.dynamics.table import TABLE
from rbd_ros.errors import RbdError
from rbd_ros.model.model import Model

if TYPE_CHECKING:
    from rbd_ros.algorithms.loops.loop_coordinates import Pivot
    from rbd_ros.algorithms.loops.motion import Nominal
    from rbd_ros.compiler import Graph
    from rbd_ros.compiler.kernel import Kernel
    from rbd_ros.dynamics.quantity import Target

    Progress = Callable[[str, float], None]

#: Ways to run a quantity.
BACKENDS = ('auto', 'llvm', 'python', 'reference')
#: Quantities that only multiply by inertias, and which of their zeros serve them.
SIMPLIFIED = {'inverse_dynamics': '3d', 'bias': '3d', 'gravity': '3d', 'mass_matrix': 'spatial'}


class KernelBuilder(Environment):
    """
    Makes the kernels of one robot, of the quantities that its table has.

    The parameters are those of :class:`rbd_ros.dynamics.kernel_store.KernelStore`.
    """

    def __init__(
        self, model: Model, backend: str, cache: bool, progress: Progress | None,
        payload_frame: str | None, payload_frames: Sequence[str], *, simplify_inertias: bool,
    ) -> None:
        if not isinstance(model, Model):
            raise TypeError(f'a robot is made from a Model, got {type(model).__name__}; use '
                            'load_urdf or ModelBuilder')
        if backend not in BACKENDS:
            raise RbdError(f'no backend "{backend}" (known: {", ".join(BACKENDS)})')
        self._backend, self._cache = backend, cache
        self._progress = progress or (_show if sys.stderr.isatty() else None)
        super().__init__(model, payload_frame, payload_frames)
        self._table: dict[str, Quantity] = dict(TABLE)
        self._surroundings = Surroundings(
            self._table, self._payload_frames, self._nominal, self._pivots)
        self._shapes = {**input_shapes(model), 'payload': self._common['payload'].shape}
        self._equivalent = {
            form: replace(model, inertia=simplified_inertias(model, form))
            for form in set(SIMPLIFIED.values())} if simplify_inertias else {}

    def _item(
        self, name: str, target: Target = None, loaded: bool = False, method: str | None = None,
    ) -> Computation:
        quantity = find(self._table, name)
        item = quantity.of(self.model, target, loaded=loaded, method=method)
        common = item.common
        if self._payload_frames and quantity.inertial:
            common = (*common, 'payload')
        if self.model.time_dependent and 'time' not in common:
            common = (*common, 'time')
        return item._replace(common=common)

    def _made(self, item: Computation) -> Kernel:
        if self._backend == 'reference':
            arguments = [Argument(*pair) for pair in self._arguments(item).items()]
            return ReferenceKernel(self._model_of(item), item, arguments, self._surroundings,
                                   lambda: self._graph(item))
        return compile_graph(
            lambda: self._graph(item), keys=self._key(item), cache=self._cache,
            backend=self._backend, progress=self._progress, call=not item.quantity.bound)

    def _key(self, item: Computation) -> str:
        """Return the key of a quantity, '' for one that must be traced to be known."""
        rules = item.quantity.key or tuple(item.rules.items())
        nominal: object = None
        if item.quantity.regular and self.model.loops and set(item.rules) - set(
                item.quantity.last_resort):
            nominal = self._nominal() if item.quantity.target != 'joints' else self._pivots(
                item.held)
        return kernel_key(
            self._model_of(item), item.name, rules, item.target, self._arguments(item),
            self._payload_frames, nominal, modules=item.quantity.modules)

    def _nominal(self) -> Nominal:
        """Return which constraints of loops are independent."""
        raise NotImplementedError

    def _pivots(self, names: tuple[str, ...]) -> tuple[Pivot, ...]:
        """Return the steps that solve the loops for all but some joints."""
        raise NotImplementedError

    def _graph(self, item: Computation) -> Graph:
        """Trace a quantity; of several methods, the one with the fewest operations."""
        arguments, model = self._arguments(item), self._model_of(item)

        def traced(rule: Rule) -> Graph:
            def function(*values: Sequence[Any]) -> Mapping[str, Sequence[Any]]:
                given = dict(zip(arguments, values, strict=True))
                return evaluate(model, item, rule, given, self._surroundings)
            name = re.sub(r'\W+', '_', item.name, flags=re.ASCII)
            return trace(function, arguments, name=name)

        return min((traced(rule) for rule in item.rules.values()),
                   key=lambda graph: graph.count().total)

    def _model_of(self, item: Computation) -> Model:
        """Return the model whose inertias a quantity is computed with."""
        return self._equivalent.get(SIMPLIFIED.get(item.quantity.name, ''), self.model)

    def _arguments(self, item: Computation) -> dict[str, tuple[int, ...]]:
        shapes = {**self._shapes, **item.shapes}
        return {name: shapes[name] for name in item.inputs + item.common}


def _show(name: str, share: float) -> None:
    """Show on the terminal how far a compilation is."""
    end = '\r' if share < 1.0 else '\r\x1b[K'
    sys.stderr.write(f'compiling {name}: {share:4.0%}{end}')
    sys.stderr.flush()
