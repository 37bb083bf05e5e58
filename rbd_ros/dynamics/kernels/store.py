# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The kernels of one robot: made when they are first needed, kept, found again and called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.loops.closure import LoopReport, Mechanism
from rbd_ros.algorithms.loops.loop_coordinates import Pivot
from rbd_ros.algorithms.loops.motion import Nominal
from rbd_ros.compiler import Array
from rbd_ros.compiler.content_digest import digest
from rbd_ros.compiler.fork_lock import ForkLock
from rbd_ros.compiler.kernel import Bound, Kernel
from rbd_ros.dynamics.declaration import check
from rbd_ros.dynamics.environment import Environment
from rbd_ros.dynamics.kernels.builder import KernelBuilder, Options
from rbd_ros.dynamics.kernels.existence import Existence
from rbd_ros.dynamics.kernels.no_result import no_result
from rbd_ros.dynamics.quantity import (
    Call, Computation, find, input_shapes, Quantity, Rule, Target, UNBOUNDED)
from rbd_ros.dynamics.state import Surroundings, with_payloads
from rbd_ros.errors import RbdError, UnseenError
from rbd_ros.model.model import Model

_Found = TypeVar('_Found')
#: Sets of handles whose kernels are kept; those longest unused go.
HANDLES = 64


class LoopFacts(Protocol):
    """What kernels need to know of the closed loops of a robot."""

    @property
    def mechanism(self) -> Mechanism:
        """Return the functions that searches for closed positions work with."""

    @property
    def report(self) -> LoopReport:
        """Return mobility, rank and a closed position."""

    @property
    def massless(self) -> bool:
        """Return whether a joint moves without inertia, so that H has no inverse anywhere."""

    def nominal(self) -> Nominal:
        """Return which constraints are independent."""

    def pivots(self, names: tuple[str, ...]) -> tuple[Pivot, ...]:
        """Return the steps that solve the loops for all but some joints."""

    def accelerations(self, q: Array, qd: Array, tau: Array, f_ext: Array | None = None) -> Array:
        """Return qdd of one state with a decision on the rank of the constraints."""


class KernelStore:
    """
    Compiles the quantities of one robot, and keeps what was compiled.

    A quantity with every choice made (:meth:`item`) has a kernel (:meth:`kernel`); with what acts
    on the robot given once, the kernel is what methods call (:meth:`call`).

    :param model: the robot.
    :param options: how kernels are made.
    :param library: the quantities that every robot has, by name.
    :param loops: makes what is known of closed loops, from this store.
    """

    def __init__(
        self, model: Model, options: Options, library: Mapping[str, Quantity],
        loops: Callable[[KernelStore], LoopFacts],
    ) -> None:
        self.model, self.options, self.library = model, options, library
        self.environment = Environment(model, options.payload_frame, options.payload_frames)
        #: Quantities by name, those of the user among them.
        self.table = dict(library)
        self._make_loops = loops
        #: What is known of closed loops.
        self.loops = loops(self)
        #: Shapes of the inputs that any quantity may name.
        self.shapes = {**input_shapes(model),
                       'payload': self.environment.inputs['payload'].shape}
        #: Makes kernels; here they are kept.
        self.builder = KernelBuilder(model, options, self.shapes, Surroundings(
            self.table, self.environment.frames, self.loops.nominal, self.loops.pivots))
        self._existence = Existence(model, self.environment.frames)
        self._kernels: dict[tuple[str, object, object], Kernel] = {}
        #: What methods call, for quantities without target, load or method: to look here is all
        #: that a call costs before it is in machine code. The first one compiles it.
        self.calls: dict[Quantity, Call] = {
            row: partial(self._first_call, row) for row in library.values()}
        self._chosen: dict[tuple[Quantity, Target, bool, str | None], Call] = {}
        self._lock = ForkLock()

    def sibling(self, *, backend: str | None = None) -> KernelStore:
        """Return a store of the same robot that shares what acts on it, now and later."""
        options = replace(self.options, progress=None, backend=backend or self.options.backend)
        other = KernelStore(self.model, options, self.library, self._make_loops)
        other.environment.share(self.environment)
        return other

    def remembered(self, find_once: Callable[..., _Found]) -> Callable[..., _Found]:
        """Return a function of this store and of what names handles, that recalls its answers."""
        return lru_cache(HANDLES)(partial(find_once, self))

    # --- quantities ---------------------------------------------------------------------------

    def find(self, name: str | Quantity) -> Quantity:
        """Return a quantity by name; one that is declared but not added is taken as it is."""
        return name if isinstance(name, Quantity) else find(self.table, name)

    def add(self, *quantities: Quantity) -> None:
        """Add declared quantities to those of this robot."""
        for quantity in quantities:
            check(quantity, self.shapes, self.library)
        with self._lock:
            self.table.update({quantity.name: quantity for quantity in quantities})
            self._drop_added()

    def remove(self, quantity: Quantity) -> None:
        """Forget a quantity that was added, and its machine code but for what is bound."""
        with self._lock:
            del self.table[quantity.name]
            self._drop_added()

    def added(self) -> list[Quantity]:
        """Return the quantities that were added."""
        return [row for name, row in self.table.items() if name not in self.library]

    def _drop_added(self) -> None:
        """Drop what was made of all that was added: others may compute what has changed."""
        self.drop_calls(lambda quantity: quantity.name not in self.library)
        for place in [k for k in self._kernels if k[0].partition(' ')[0] not in self.library]:
            del self._kernels[place]

    def drop_calls(self, unwanted: Callable[[Quantity], bool]) -> None:
        """Drop the calls of some quantities; the next ones are made anew."""
        for quantity in filter(unwanted, self.calls):
            self.calls[quantity] = partial(self._first_call, quantity)
        for place in [each for each in self._chosen if unwanted(each[0])]:
            del self._chosen[place]

    # --- kernels ------------------------------------------------------------------------------

    def item(
        self, quantity: Quantity, target: Target = None, loaded: bool = False,
        method: str | None = None,
    ) -> Computation:
        """Return a quantity of this robot with every choice made; see ``Dynamics.kernel``."""
        item = quantity.of(self.model, target, loaded=loaded, method=method)
        common = item.common
        if self.environment.frames and quantity.inertial:
            common = (*common, 'payload')
        if self.model.time_dependent and 'time' not in common:
            common = (*common, 'time')
        return item._replace(common=common)

    def kernel(self, item: Computation) -> Kernel:
        """Return the kernel of a computation: kept, or compiled now."""
        with self._lock:
            # Two frames of one name are two targets, and two rules of one name two quantities: a
            # caller may have made them.
            place = item.name, item.target, item.quantity.key or _identity(item.rules)
            kernel = self._kernels.pop(place, None) or self.builder.kernel(item)
            self._kernels[place] = kernel       # the last used is the last
            of_handles = [each for each in self._kernels if isinstance(each[1], tuple)]
            for each in of_handles[:-HANDLES]:
                del self._kernels[each]
            return kernel

    def existing(self, item: Computation) -> Kernel:
        """
        Return the kernel of a quantity that exists with the payload of now.

        :raises SingularError: where it does not.
        """
        self.check_existence(item)
        return self.kernel(item)

    def check_existence(self, item: Computation) -> None:
        """
        Refuse a quantity that does not exist with the payload of now.

        :raises SingularError: where it does not.
        """
        if self._depends_on_payload(item):
            self._existence.check(item.quantity, self.environment.inputs['payload'], item.held)

    def bound(self, item: Computation) -> Bound:
        """Return a kernel with buffers of its own, and what acts on the robot now in them."""
        bound = self.existing(item).bind()
        given: dict[str, Any] = {
            **self.environment.inputs, 'max_condition': UNBOUNDED, **item.values}
        for common in given.keys() & bound.inputs.keys():
            bound.inputs[common][...] = given[common]
        return bound

    # --- calls --------------------------------------------------------------------------------

    def call(
        self, quantity: Quantity, target: Target = None, *, loaded: bool = False,
        method: str | None = None,
    ) -> Call:
        """
        Return what computes a quantity; on first use its kernel is compiled.

        :param target: name of a frame, or handles, in a form that a dictionary can keep.
        """
        place = quantity, target, loaded, method
        try:
            call = self._chosen.get(place)
        except TypeError:               # a list is no key
            if quantity.target != 'frame':
                raise
            raise RbdError(
                f'{quantity.name} needs the name of a frame, got {target!r}') from None
        if call is None:
            call = self._chosen[place] = self.call_of(self.item(*place))
            if quantity in self.calls and (target, loaded, method) == (None, False, None):
                self.calls[quantity] = call
        return call

    def _first_call(self, quantity: Quantity, *arrays: ArrayLike, **options: Any) -> Any:
        return self.call(quantity)(*arrays, **options)

    def call_of(self, item: Computation) -> Call:
        """Return the call of a computation, made anew."""
        make = item.quantity.traits.call
        return self.plain_call(item) if make is None else make(self, item)

    def plain_call(self, item: Computation, *, explain: bool = True) -> Call:
        """
        Return the kernel of a computation with what acts on the robot given once.

        :param explain: whether a result that is not finite is an error, where it should be.
        """
        quantity, held, traits = item.quantity, item.held, item.quantity.traits
        depends = self._depends_on_payload(item)
        own = {name: np.array(value, dtype=float) for name, value in item.values.items()}
        given = {**self.environment.inputs, **own}
        call = self.kernel(item).caller(
            *[given[name] for name in item.common], result=traits.result,
            explain=partial(self._no_result, quantity) if traits.finite and explain else None)
        if not depends:
            return call
        payload, check_payload = self.environment.inputs['payload'], self._existence.check

        def checked_call(*arrays: ArrayLike, out: Array | None = None) -> object:
            check_payload(quantity, payload, held)
            return call(*arrays, out=out)
        return checked_call

    def _depends_on_payload(self, item: Computation) -> bool:
        # an inertia that was replaced may be one of nothing
        replaced = bool(self.environment.replaced) and item.quantity.traits.solves == 'joints'
        return self._existence.depends_on_payload(item.quantity, item.held) or replaced

    def inertia(self) -> list[Any]:
        """Return the inertias of the bodies, payloads of now included."""
        return with_payloads(self.model, self.environment.frames,
                             self.environment.payloads.tolist())

    def _no_result(
        self, quantity: Quantity, arrays: Sequence[ArrayLike], state: int | None,
    ) -> Exception:
        """Return the error for a result that is not finite."""
        return no_result(self.model, quantity, arrays, self.inertia(), state)


def _identity(rules: Mapping[str, Rule]) -> object:
    """Return what distinguishes rules: their code, or themselves where that cannot be seen."""
    try:
        return digest(rules)
    except UnseenError:
        return tuple(rules.values())
