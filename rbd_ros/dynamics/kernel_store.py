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

"""The kernels of one robot: made when they are first needed, kept, found again and called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TYPE_CHECKING, TypeVar

import numpy as np

from rbd_ros.algorithms.handles.opspace import Handle
from rbd_ros.compiler import emit_c
from rbd_ros.compiler.content_digest import digest
from rbd_ros.compiler.fork_lock import ForkLock
from rbd_ros.compiler.kernel import Kernel
from rbd_ros.dynamics.declaration import check, declare
from rbd_ros.dynamics.kernel_builder import KernelBuilder
from rbd_ros.dynamics.no_result import FINITE, no_result, watched
from rbd_ros.dynamics.operational_space import UNBOUNDED
from rbd_ros.dynamics.quantity import Computation, find, Quantity, Rule
from rbd_ros.dynamics.results import RESULTS
from rbd_ros.dynamics.singular_inertia import Existence, has_weak_body, SOLVING
from rbd_ros.dynamics.state import with_payloads
from rbd_ros.dynamics.table import TABLE
from rbd_ros.errors import RbdError, UnseenError
from rbd_ros.model.model import Model

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rbd_ros.algorithms.loops.loop_coordinates import Pivot
    from rbd_ros.compiler.kernel import Bound
    from rbd_ros.compiler.source.c99 import Source
    from rbd_ros.dynamics.kernel_builder import Progress
    from rbd_ros.dynamics.quantity import Target

    Array = NDArray[np.float64]
    Call = Callable[..., Any]           # an array, or a tuple of them, as the quantity has

_Store = TypeVar('_Store', bound='KernelStore')
#: Sets of handles whose kernels are kept; those longest unused go.
HANDLES = 64
#: What ``compile`` makes when nothing is named: what a controller of any robot needs.
STANDARD = ('inverse_dynamics', 'gravity', 'bias', 'mass_matrix', 'forward_dynamics')


class _Calls(dict[Any, Any]):
    """
    What methods call: the kernel of a quantity with gravity and the like fixed, made if missing.

    A key is the name of a quantity, or a tuple of the arguments of ``KernelStore._item``; a
    plain look-up is all that a call costs before it is in machine code.
    """

    def __init__(self, owner: KernelStore) -> None:
        super().__init__()
        self._owner = owner

    def __missing__(self, key: str | tuple[Any, ...]) -> Call:
        """Make, keep and return the call of a quantity."""
        arguments = (key,) if isinstance(key, str) else key
        call = self[key] = self._owner._caller(self._owner._item(*arguments))
        self._owner._call_made(key)
        return call


class KernelStore(KernelBuilder):
    """
    Kernels of a robot and the inputs that all of them share: gravity, payloads and time.

    :param model: the robot.
    :param backend: ``'llvm'``, ``'python'`` (no dependency), ``'reference'`` (the algorithms as
        they stand in the source, uncompiled) or ``'auto'``: the first that is there.
    :param payload_frame: name of the frame at which a payload may hang, see ``set_payload``.
    :param payload_frames: names of several, instead; the payloads of all of them are one input of
        each kernel, (k, 10).
    :param cache: whether machine code is kept on disk.
    :param simplify_inertias: whether inverse dynamics, bias, gravity and mass matrix are computed
        with dynamically equivalent inertias that have more zeros (RBDA 9.7): the same result but
        for rounding, in about a tenth fewer operations. All else uses the physical inertias.
    :param closed_near: a position near one that closes the loops of the robot, where it has any;
        without it, one is searched for from the neutral position and from random ones.
    :param progress: called with the name of a kernel and the share of it compiled, 0 to 1; by
        default a terminal, if there is one, shows a line.
    """

    def __init__(
        self, model: Model, *, backend: str = 'auto', payload_frame: str | None = None,
        payload_frames: Sequence[str] = (), cache: bool = True, progress: Progress | None = None,
        simplify_inertias: bool = False, closed_near: ArrayLike | None = None,
    ) -> None:
        super().__init__(model, backend, cache, progress, payload_frame, payload_frames,
                         simplify_inertias=simplify_inertias)
        self._recipe: dict[str, Any] = {
            'backend': backend, 'cache': cache, 'payload_frame': payload_frame,
            'payload_frames': tuple(payload_frames), 'simplify_inertias': simplify_inertias,
            'closed_near': closed_near}
        self._closed_near = closed_near
        self._steps: dict[tuple[str, ...], tuple[Pivot, ...]] = {}
        self._existence = Existence(model, self._payload_frames)
        self._calls = _Calls(self)
        self._kernels: dict[tuple[str, object, object], Kernel] = {}
        self._lock = ForkLock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the recipe; kernels come back from the cache."""
        own = [row for name, row in self._table.items() if name not in TABLE]
        return _restore, (type(self), self.model, self._recipe, self._common, own, self._replaced)

    def sibling(self: _Store, *, model: Model | None = None, backend: str | None = None) -> _Store:
        """
        Return a robot with the same gravity, payloads, time and stabilisation, now and later.

        :param model: of it, with the same frames; that of this robot by default.
        :param backend: as for the constructor; that of this robot by default.
        """
        recipe = self._recipe if backend is None else {**self._recipe, 'backend': backend}
        other = type(self)(self.model if model is None else model, **recipe)
        other._common, other._payloads = self._common, self._payloads
        other._replaced = self._replaced
        return other

    # --- quantities of the user ---------------------------------------------------------------

    def define(
        self, name: str, *, inputs: Sequence[str], rule: Rule | Mapping[str, Rule],
        shapes: Mapping[str, Sequence[int]] | None = None, target: str = 'robot',
        environment: Sequence[str] = ('gravity', 'time'),
        derivative: Rule | Mapping[str, Rule] | None = None, meaning: str = '',
    ) -> Call:
        """
        Add a quantity of your own to this robot and return what computes it.

        It is compiled on first use and kept on disk, takes batches and ``out=``, and is known by
        its name to ``kernel``, ``bind``, ``compile``, ``c_source`` and to later rules. Defining a
        name again replaces what was defined.

        :param name: an identifier that the library does not use.
        :param inputs: what a call gives, in order: ``q qd qdd tau f_ext``, or names of ``shapes``.
        :param rule: from a :class:`rbd_ros.dynamics.state.State` to the results by name. It
            runs on traced numbers: take functions such as sin from ``rbd_ros.compiler``, and do
            not branch on values. ``state.compute(...)`` gives other quantities. Several rules by
            method must give the same; the one with the fewest operations is compiled.
        :param shapes: of inputs that only this quantity has.
        :param target: ``'frame'`` or ``'handles'`` for a quantity about those, found in
            ``state.target``; a call then names its ``target=``.
        :param environment: what the rule gets from ``set_gravity`` and ``set_time``.
        :param derivative: a rule, or rules, for its partial derivatives: these become the quantity
            ``<name>_derivatives``.
        :param meaning: what it returns, in words.
        """
        self.add(declare(name, inputs, rule, derivative, shapes, target, environment, meaning))
        return partial(self.compute, name)

    def add(self, quantity: Quantity) -> None:
        """Add a declared quantity to those of this robot; see ``define``."""
        check(quantity, self._shapes)
        with self._lock:
            self._table.update({row.name: row for row in quantity.rows()})
            self._drop_added()

    def remove(self, quantity: Quantity) -> None:
        """Forget a quantity that was added, and its machine code but for what is bound."""
        with self._lock:
            for row in quantity.rows():
                del self._table[row.name]
            self._drop_added()

    def _drop_added(self) -> None:
        """Drop what was made of all that was added: others may compute what has changed."""
        for key in [k for k in self._calls if (k if type(k) is str else k[0]) not in TABLE]:
            del self._calls[key]
        for place in [k for k in self._kernels if k[0].partition(' ')[0] not in TABLE]:
            del self._kernels[place]

    def compute(
        self, name: str, *arrays: ArrayLike, target: Target = None, out: Array | None = None,
    ) -> Any:
        """
        Return a quantity by name: an array, or a tuple of several.

        :param arrays: its inputs, each of one state or of many.
        :param target: name of a frame, or frames and handles, where the quantity needs them.
        """
        if target is None:
            return self._calls[name](*arrays, out=out)
        key = target if isinstance(target, (str, Handle)) else tuple(target)
        return self._calls[name, key](*arrays, out=out)

    # --- kernels ------------------------------------------------------------------------------

    def kernel(
        self, name: str, target: Target = None, *, loaded: bool = False,
        method: str | None = None,
    ) -> Kernel:
        """
        Return the kernel behind a method, with all its inputs, gravity and payload among them.

        :param name: a quantity of :mod:`rbd_ros.dynamics.table`, or a defined one.
        :param target: name of a frame, or frames and handles, where the quantity needs them.
        :param loaded: with external forces.
        :param method: one of several methods, see ``Dynamics.forward_dynamics``.
        :raises SingularError: for what does not exist with the payload of now.
        """
        return self._existing(self._item(name, target, loaded, method))

    def methods(self, name: str) -> tuple[str, ...]:
        """Return the methods by which a quantity of this robot can be computed."""
        return tuple(find(self._table, name).suitable(self.model))

    def bind(
        self, name: str, target: Target = None, *, loaded: bool = False,
        method: str | None = None,
    ) -> Bound:
        """
        Return a kernel with buffers of its own for control loops: no check, no allocation.

        Write into ``bound.inputs[...]``, call ``bound()``, read ``bound.outputs[...]``; a bound
        kernel belongs to one thread. Gravity and payload start as they are now, max_condition
        without a bound.
        """
        item = self._item(name, target, loaded, method)
        bound = self._existing(item).bind()
        given: dict[str, Any] = {**self._common, 'max_condition': UNBOUNDED, **item.values}
        for common in given.keys() & bound.inputs.keys():
            bound.inputs[common][...] = given[common]
        return bound

    def compile(self, *names: str | tuple[str, Target]) -> None:
        """
        Compile quantities now rather than on first use.

        :param names: out of :mod:`rbd_ros.dynamics.table`, or pairs of a name and its frame or
            handles; what every controller needs by default.
        """
        for name in names or STANDARD:
            self.kernel(*_pair(name))

    def c_source(self, *names: str | tuple[str, Target], prefix: str = 'rbd') -> Source:
        """
        Return C99 ``source`` and ``header`` of quantities of this robot, for firmware.

        :param names: as for ``compile``. A character that C does not know becomes ``_``; where
            two functions would have one name, the later ones end in ``_2``, ``_3`` and so on.
        :param prefix: begins every name and names the header.
        """
        items = [self._item(*_pair(name)) for name in names or STANDARD]
        graphs = [self._graph(item) for item in items]
        # one quantity twice stays so, for emit_c to refuse
        if len({item.name for item in items}) == len(items):
            taken: set[str] = set()
            for k, graph in enumerate(graphs):
                own, number = graph.name, 1
                while graph.name in taken:
                    number += 1
                    graph = graphs[k] = replace(graph, name=f'{own}_{number}')
                taken.add(graph.name)
        return emit_c(graphs, prefix)

    def _existing(self, item: Computation) -> Kernel:
        """Return the kernel of a quantity that exists with the payload of now."""
        if self._depends_on_payload(item):
            self._existence.check(item.quantity.name, self._common['payload'], item.held)
        return self._kernel(item)

    def _kernel(self, item: Computation) -> Kernel:
        with self._lock:
            # Two frames of one name are two targets, and two rules of one name two quantities: a
            # caller may have made them.
            place = item.name, item.target, item.quantity.key or _identity(item.rules)
            kernel = self._kernels.pop(place, None) or self._made(item)
            self._kernels[place] = kernel       # the last used is the last
            of_handles = [each for each in self._kernels if isinstance(each[1], tuple)]
            for each in of_handles[:-HANDLES]:
                del self._kernels[each]
            return kernel

    def _of_frame(self, name: str, frame: str) -> Call:
        """Return the call of a quantity of a frame."""
        try:
            return self._calls[name, frame]
        except TypeError:               # a list is no key
            if isinstance(frame, str):
                raise
            raise RbdError(f'{name} needs the name of a frame, got {frame!r}') from None

    def _depends_on_payload(self, item: Computation) -> bool:
        kind = item.quantity.name
        # an inertia that was replaced may be one of nothing
        replaced = bool(self._replaced) and kind in SOLVING
        return self._existence.depends_on_payload(kind, item.held) or replaced

    def _inertia_replaced(self) -> None:
        """Hear that a body has another inertia than in the model."""
        for key in [k for k in self._calls if (k if type(k) is str else k[0]) in SOLVING]:
            del self._calls[key]

    def _no_result(self, kind: str, arrays: Sequence[ArrayLike], state: int | None) -> Exception:
        """Return the error for a result that is not finite."""
        inertia = with_payloads(self.model, self._payload_frames, self._payloads.tolist())
        return no_result(self.model, kind, arrays, inertia, state)

    def _call_made(self, key: str | tuple[Any, ...]) -> None:
        """Hear that a quantity has been called for the first time, by its key in ``_calls``."""

    def _caller(self, item: Computation, otherwise: Call | None = None) -> Call:
        """
        Return the call of a quantity.

        :param otherwise: a method that computes the same; where there is a way to call machine
            code without it, it gets only what that refuses, and is returned elsewhere.
        """
        kind, held = item.quantity.name, item.held
        depends = self._depends_on_payload(item)
        own = {name: np.array(value, dtype=float) for name, value in item.values.items()}
        given = {**self._common, **own}
        # near a singularity of loops NaN asks for a decision on the rank, which follows
        decided = kind == 'forward_dynamics' and bool(self.model.loops)
        call = self._kernel(item).caller(
            *[given[name] for name in item.common], result=RESULTS.get(kind, tuple),
            otherwise=otherwise,
            explain=partial(self._no_result, kind) if kind in FINITE and not decided else None)
        if (kind == 'forward_dynamics' and otherwise is None and not self.model.loops
                and has_weak_body(self.model)):
            inverse = ('inverse_dynamics', None, 'f_ext' in item.inputs)
            call = watched(call, lambda: self._calls[inverse], self.model.name)
        if not depends:
            return call
        if otherwise is not None:
            return otherwise
        payload, check = self._common['payload'], self._existence.check

        def checked_call(*arrays: ArrayLike, out: Array | None = None) -> object:
            check(kind, payload, held)
            return call(*arrays, out=out)
        return checked_call


def _restore(
    kind: type[KernelStore], model: Model, recipe: Mapping[str, Any],
    common: Mapping[str, Array], own: Sequence[Quantity], replaced: Mapping[int, int],
) -> KernelStore:
    robot = kind(model, **recipe)
    robot._replaced.update(replaced)
    for name, value in common.items():
        robot._common[name][...] = value
    for quantity in own:
        robot.add(quantity)
    return robot


def _pair(name: str | tuple[str, Target]) -> tuple[str, Target]:
    return (name, None) if isinstance(name, str) else name


def _identity(rules: Mapping[str, Rule]) -> object:
    """Return what distinguishes rules: their code, or themselves where that cannot be seen."""
    try:
        return digest(rules)
    except UnseenError:
        return tuple(rules.values())
