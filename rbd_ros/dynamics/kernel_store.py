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

"""The kernels of one robot: traced, compiled and kept on disk when they are first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
import re
import sys
import threading
from typing import Any, TYPE_CHECKING

import numpy as np

from rbd_ros.algorithms.equivalence import simplified_inertias
from rbd_ros.compiler import Argument, compile as compile_graph, emit_c, trace
from rbd_ros.compiler.content_digest import digest
from rbd_ros.compiler.kernel import Kernel, vector
from rbd_ros.dynamics import table
from rbd_ros.dynamics.fingerprint import kernel_key
from rbd_ros.dynamics.operational_space import UNBOUNDED
from rbd_ros.dynamics.quantity import evaluate, input_shapes, Quantity, Rule
from rbd_ros.dynamics.reference_kernel import ReferenceKernel
from rbd_ros.dynamics.singular_inertia import Existence
from rbd_ros.errors import RbdError, UnseenError
from rbd_ros.model.model import Model
from rbd_ros.spatial import RigidInertia, Sym3, Vec3

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rbd_ros.algorithms.opspace import Handle
    from rbd_ros.compiler import Graph
    from rbd_ros.compiler.kernel import Bound
    from rbd_ros.compiler.source.c99 import Source

    Array = NDArray[np.float64]
    Target = str | Handle | Sequence[str | Handle] | None
    Progress = Callable[[str, float], None]
    Call = Callable[..., Any]           # an array, or a tuple of them, as the quantity has

#: Ways to run a quantity.
BACKENDS = ('auto', 'llvm', 'python', 'reference')
#: Sets of handles whose kernels are kept; those longest unused go.
HANDLES = 64
#: What ``compile`` makes when nothing is named: what a controller of any robot needs.
STANDARD = ('inverse_dynamics', 'gravity', 'bias', 'mass_matrix', 'forward_dynamics')
#: Quantities that only multiply by inertias, and which of their zeros serve them.
SIMPLIFIED = {'inverse_dynamics': '3d', 'bias': '3d', 'gravity': '3d', 'mass_matrix': 'spatial'}


class _Calls(dict):
    """
    What methods call: the kernel of a quantity with gravity and the like fixed, made if missing.

    A key is the name of a quantity, or a tuple of the arguments of ``KernelStore._quantity``; a
    plain look-up is all that a call costs before it is in machine code.
    """

    def __init__(self, owner: KernelStore) -> None:
        super().__init__()
        self._owner = owner

    def __missing__(self, key: str | tuple) -> Call:
        """Make, keep and return the call of a quantity."""
        arguments = (key,) if isinstance(key, str) else key
        call = self[key] = self._owner._caller(self._owner._quantity(*arguments))
        return call


class KernelStore:
    """
    Kernels of a robot and the inputs that all of them share: gravity, payload and time.

    :param model: the robot.
    :param backend: ``'llvm'``, ``'python'`` (no dependency), ``'reference'`` (the algorithms as
        they stand in the source, uncompiled) or ``'auto'``: the first that is there.
    :param payload_frame: name of the frame at which a payload may hang, see ``set_payload``.
    :param cache: whether machine code is kept on disk.
    :param simplify_inertias: whether inverse dynamics, bias, gravity and mass matrix are computed
        with dynamically equivalent inertias that have more zeros (RBDA 9.7): the same result but
        for rounding, in about a tenth fewer operations. All else uses the physical inertias.
    :param progress: called with the name of a kernel and the share of it compiled, 0 to 1; by
        default a terminal, if there is one, shows a line.
    """

    def __init__(
        self, model: Model, *, backend: str = 'auto', payload_frame: str | None = None,
        cache: bool = True, progress: Progress | None = None, simplify_inertias: bool = False,
    ) -> None:
        if not isinstance(model, Model):
            raise TypeError(f'a robot is made from a Model, got {type(model).__name__}; use '
                            'load_urdf or ModelBuilder')
        if backend not in BACKENDS:
            raise RbdError(f'no backend "{backend}" (known: {", ".join(BACKENDS)})')
        model.refuse_loops()
        self.model = model
        self._backend, self._cache = backend, cache
        self._progress = progress or (_show if sys.stderr.isatty() else None)
        self._payload_frame = None if payload_frame is None else model.frame(payload_frame)
        self._common = {'gravity': np.array(model.gravity), 'payload': np.zeros(10),
                        'time': np.zeros(1)}
        self._shapes = input_shapes(model)
        self._existence = Existence(model, self._payload_frame)
        self._calls = _Calls(self)
        self._kernels: dict[tuple[object, ...], Kernel] = {}
        self._lock = threading.RLock()
        self._equivalent = {
            form: replace(model, inertia=simplified_inertias(model, form))
            for form in set(SIMPLIFIED.values())} if simplify_inertias else {}

    def __reduce__(self) -> tuple:
        """Pickle as the recipe; kernels come back from the cache."""
        name = None if self._payload_frame is None else self._payload_frame.name
        return _restore, (type(self), self.model, self._backend, name, self._cache, self._common,
                          bool(self._equivalent))

    # --- what acts on the robot ---------------------------------------------------------------

    @property
    def gravity_vector(self) -> Array:
        """Return the acceleration of free fall in use, base coordinates, m/s^2."""
        return self._common['gravity'].copy()

    def set_gravity(self, gravity: ArrayLike) -> None:
        """
        Change gravity for all later calls; nothing is compiled anew.

        :param gravity: acceleration of free fall, base coordinates, m/s^2.
        """
        self._common['gravity'][:] = vector('gravity', gravity, 3)

    def set_payload(self, mass: float, com: ArrayLike, inertia: ArrayLike) -> None:
        """
        Hang a rigid body on the payload frame for all later calls; nothing is compiled anew.

        :param mass: kg.
        :param com: centre of mass in the payload frame, m.
        :param inertia: 3 x 3 rotational inertia about the centre of mass, payload-frame axes.
        """
        if self._payload_frame is None:
            raise RbdError('this robot carries no payload: give payload_frame= when making it')
        m, c = float(vector('mass', [mass], 1)[0]), vector('com', com, 3)
        I = vector('inertia', np.ravel(inertia), 9).reshape(3, 3)
        if not np.allclose(I, I.T, rtol=1e-9, atol=1e-12):
            raise RbdError('inertia of the payload must be symmetric')
        if m < 0.0 or np.linalg.eigvalsh(I).min() < -1e-12:
            raise RbdError(f'payload of mass {m} kg: mass and inertia must not be negative')
        load = RigidInertia.from_com(m, Vec3(*c.tolist()), Sym3.from_matrix(I.tolist()))
        self._common['payload'][:] = [load.m, *load.h, *load.I.entries()]

    def set_time(self, t: float) -> None:
        """Set the time of joints that depend on it, for all later calls, s."""
        self._common['time'][:] = vector('time', [t], 1)

    # --- kernels ------------------------------------------------------------------------------

    def kernel(
        self, name: str, target: Target = None, *, loaded: bool = False,
        method: str | None = None,
    ) -> Kernel:
        """
        Return the kernel behind a method, with all its inputs, gravity and payload among them.

        :param name: a quantity out of :mod:`rbd_ros.dynamics.table`.
        :param target: name of a frame, or frames and handles, where the quantity needs them.
        :param loaded: with external forces.
        :param method: one of several methods, see ``Dynamics.forward_dynamics``.
        :raises SingularError: for what does not exist with the payload of now.
        """
        return self._existing(self._quantity(name, target, loaded, method))

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
        quantity = self._quantity(name, target, loaded, method)
        bound = self._existing(quantity).bind()
        given: dict[str, Any] = {**self._common, 'max_condition': UNBOUNDED, **quantity.values}
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

        :param names: as for ``compile``.
        :param prefix: begins every name and names the header.
        """
        graphs = [self._graph(self._quantity(*_pair(name))) for name in names or STANDARD]
        return emit_c(graphs, prefix)

    def _quantity(
        self, name: str, target: Target = None, loaded: bool = False, method: str | None = None,
    ) -> Quantity:
        quantity = table.make(self.model, name, target)
        if method is not None:
            quantity = quantity.by(method)
        if loaded:
            quantity = quantity.loaded()
        if self._payload_frame is not None and quantity.inertial:
            quantity = quantity.with_common('payload')
        return quantity.with_common('time') if self.model.time_dependent else quantity

    def _existing(self, quantity: Quantity) -> Kernel:
        """Return the kernel of a quantity that exists with the payload of now."""
        if self._existence.depends_on_payload(quantity.kind):
            self._existence.check(quantity.kind, self._common['payload'])
        return self._kernel(quantity)

    def _kernel(self, quantity: Quantity) -> Kernel:
        with self._lock:
            # Two frames of one name are two targets, and two rules of one name two quantities: a
            # caller may have made them.
            place = quantity.name, quantity.target, _identity(quantity.rules)
            kernel = self._kernels.pop(place, None) or self._made(quantity)
            self._kernels[place] = kernel       # the last used is the last
            of_handles = [each for each in self._kernels if isinstance(each[1], tuple)]
            for each in of_handles[:-HANDLES]:
                del self._kernels[each]
            return kernel

    def _made(self, quantity: Quantity) -> Kernel:
        if self._backend == 'reference':
            arguments = [Argument(*item) for item in self._arguments(quantity).items()]
            return ReferenceKernel(
                self._model_of(quantity), quantity, arguments, self._payload_frame,
                lambda: self._graph(quantity))
        return compile_graph(
            lambda: self._graph(quantity), keys=self._key(quantity), cache=self._cache,
            backend=self._backend, progress=self._progress)

    def _key(self, quantity: Quantity) -> str:
        """Return the key of a quantity, '' for one that must be traced to be known."""
        return kernel_key(self._model_of(quantity), quantity.name, tuple(quantity.rules.items()),
                          quantity.target, quantity.common, self._payload_frame)

    def _graph(self, quantity: Quantity) -> Graph:
        """Trace a quantity; of several methods, the one with the fewest operations."""
        arguments, model = self._arguments(quantity), self._model_of(quantity)

        def traced(rule: Rule) -> Graph:
            def function(*values: Sequence) -> Mapping[str, Sequence]:
                given = dict(zip(arguments, values, strict=True))
                return evaluate(model, quantity, rule, given, self._payload_frame)
            name = re.sub(r'\W+', '_', quantity.name, flags=re.ASCII)
            return trace(function, arguments, name=name)

        return min((traced(rule) for rule in quantity.rules.values()),
                   key=lambda graph: graph.count().total)

    def _model_of(self, quantity: Quantity) -> Model:
        """Return the model whose inertias a quantity is computed with."""
        return self._equivalent.get(SIMPLIFIED.get(quantity.kind, ''), self.model)

    def _arguments(self, quantity: Quantity) -> dict[str, tuple[int, ...]]:
        shapes = {**self._shapes, **quantity.shapes}
        return {name: shapes[name] for name in quantity.inputs + quantity.common}

    def _caller(self, quantity: Quantity) -> Call:
        depends = self._existence.depends_on_payload(quantity.kind)
        own = {name: np.array(value, dtype=float) for name, value in quantity.values.items()}
        given = {**self._common, **own}
        call = self._kernel(quantity).caller(*[given[name] for name in quantity.common])
        if not depends:
            return call
        payload, check = self._common['payload'], self._existence.check

        def checked_call(*arrays: ArrayLike, out: Array | None = None) -> object:
            check(quantity.kind, payload)
            return call(*arrays, out=out)
        return checked_call


def _restore(
    kind: type[KernelStore], model: Model, backend: str, payload_frame: str | None, cache: bool,
    common: Mapping[str, Array], simplify_inertias: bool,
) -> KernelStore:
    robot = kind(model, backend=backend, payload_frame=payload_frame, cache=cache,
                 simplify_inertias=simplify_inertias)
    for name, value in common.items():
        robot._common[name][:] = value
    return robot


def _pair(name: str | tuple[str, Target]) -> tuple[str, Target]:
    return (name, None) if isinstance(name, str) else name


def _identity(rules: Mapping[str, Rule]) -> object:
    """Return what tells rules apart: their code, or themselves where that cannot be seen."""
    try:
        return digest(rules)
    except UnseenError:
        return tuple(rules.values())


def _show(name: str, share: float) -> None:
    """Show on the terminal how far a compilation is."""
    end = '\r' if share < 1.0 else '\r\x1b[K'
    sys.stderr.write(f'compiling {name}: {share:4.0%}{end}')
    sys.stderr.flush()
