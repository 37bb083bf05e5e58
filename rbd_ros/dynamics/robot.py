# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The compiled robot: every quantity of a model, as machine code made on first use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, TYPE_CHECKING, TypeVar

from numpy.typing import ArrayLike

from rbd_ros.algorithms.handles.opspace import Handle
from rbd_ros.compiler import Array, emit_c
from rbd_ros.compiler.kernel import Bound, Kernel
from rbd_ros.compiler.source.c99 import Source
from rbd_ros.dynamics.declaration import declare
from rbd_ros.dynamics.families.derivatives.methods import DerivativeMethods
from rbd_ros.dynamics.families.environment import EnvironmentMethods
from rbd_ros.dynamics.families.floating_base import FloatingBaseMethods
from rbd_ros.dynamics.families.forward_dynamics import ForwardDynamicsMethods
from rbd_ros.dynamics.families.frames import FrameMethods
from rbd_ros.dynamics.families.handles.methods import HandleMethods
from rbd_ros.dynamics.families.hybrid import HybridMethods
from rbd_ros.dynamics.families.joint_space import JointSpaceMethods
from rbd_ros.dynamics.families.loops.analysis import LoopAnalysis
from rbd_ros.dynamics.families.loops.constraints import ConstraintMethods
from rbd_ros.dynamics.families.loops.freedoms import LoopFreedomMethods
from rbd_ros.dynamics.families.loops.motion import LoopMotionMethods
from rbd_ros.dynamics.families.reaching.methods import ReachingMethods
from rbd_ros.dynamics.families.regressor import RegressorMethods
from rbd_ros.dynamics.families.whole_robot import WholeRobotMethods
from rbd_ros.dynamics.kernels.builder import Options, Progress
from rbd_ros.dynamics.kernels.store import KernelStore
from rbd_ros.dynamics.quantity import Call, Computation, Quantity, Rule, Target
from rbd_ros.dynamics.table import TABLE
from rbd_ros.model.model import Model

if TYPE_CHECKING:
    from rbd_ros.dynamics.on_device import DeviceDynamics

_Robot = TypeVar('_Robot', bound='Dynamics')
#: What ``compile`` makes when nothing is named: what a controller of any robot needs.
STANDARD = ('inverse_dynamics', 'gravity', 'bias', 'mass_matrix', 'forward_dynamics')


class Dynamics(
    JointSpaceMethods, ForwardDynamicsMethods, HybridMethods, WholeRobotMethods, RegressorMethods,
    FrameMethods, HandleMethods, DerivativeMethods, ReachingMethods, FloatingBaseMethods,
    ConstraintMethods, LoopMotionMethods, LoopFreedomMethods, EnvironmentMethods,
):
    """
    A robot that computes: each method compiles its kernel on first use, and keeps it on disk.

    Arrays are float64 of shape (n,), or (batch, n) for many states at once; ``out=`` takes the
    result without a new array. Every argument is checked for shape and finiteness. One object
    may be used by many threads.

    :param model: the robot.
    :param backend: ``'llvm'``, ``'python'`` (no dependency), ``'reference'`` (the algorithms as
        they stand in the source, uncompiled) or ``'auto'``: the first that is there.
    :param payload_frame: name of the frame at which a payload may hang, see ``set_payload``.
    :param payload_frames: names of several, instead; the payloads of all of them are one input of
        each kernel, (k, 10).
    :param cache: whether machine code is kept on disk.
    :param progress: called with the name of a kernel and the share of it compiled, 0 to 1; by
        default a terminal, if there is one, shows a line.
    :param simplify_inertias: whether inverse dynamics, bias, gravity and mass matrix are computed
        with dynamically equivalent inertias that have more zeros (RBDA 9.7): the same result but
        for rounding, in about a tenth fewer operations. All else uses the physical inertias.
    :param closed_near: a position near one that closes the loops of the robot, where it has any;
        without it, one is searched for from the neutral position and from random ones.
    :param threads: for a batch, one for each core by default; 1 where each of many processes has
        a robot.
    """

    def __init__(
        self, model: Model, *, backend: str = 'auto', payload_frame: str | None = None,
        payload_frames: Sequence[str] = (), cache: bool = True, progress: Progress | None = None,
        simplify_inertias: bool = False, closed_near: ArrayLike | None = None,
        threads: int | None = None,
    ) -> None:
        if not isinstance(model, Model):
            raise TypeError(f'a robot is made from a Model, got {type(model).__name__}; use '
                            'load_urdf or ModelBuilder')
        options = Options(backend, payload_frame, payload_frames, cache, progress,
                          simplify_inertias, closed_near, threads)
        self.model = model
        self._store = KernelStore(model, options, TABLE, LoopAnalysis)
        self._calls = self._store.calls

    def __repr__(self) -> str:
        """Return the robot and how it computes."""
        return f'<Dynamics of {self.model!r}, backend "{self._store.options.backend}">'

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the recipe; kernels come back from the cache."""
        environment = self._store.environment
        return _restore, (type(self), self.model, self._recipe(), environment.inputs,
                          self._store.added(), environment.replaced)

    def _recipe(self) -> dict[str, Any]:
        """Return the options of another robot like this one; progress is shown by this alone."""
        return asdict(replace(self._store.options, progress=None))

    def sibling(self: _Robot, *, model: Model | None = None, backend: str | None = None) -> _Robot:
        """
        Return a robot with the same gravity, payloads, time and stabilisation, now and later.

        :param model: of it, with the same frames; that of this robot by default.
        :param backend: as for the constructor; that of this robot by default.
        """
        recipe = self._recipe() if backend is None else {**self._recipe(), 'backend': backend}
        other = type(self)(self.model if model is None else model, **recipe)
        other._store.environment.share(self._store.environment)
        return other

    def on(self, device: str = 'cuda', number: int = 0, *,
           scalar: str = 'float64') -> DeviceDynamics:
        """
        Return this robot on a GPU, with the same methods for batches of states.

        :param device: ``'cuda'`` for a GPU of NVIDIA; ``'emulation'`` runs its kernels on this
            processor, thread by thread, to look at them.
        :param number: of the device, as nvidia-smi counts.
        :param scalar: ``'float64'`` or ``'float32'``, the type of all numbers.
        :raises DeviceError: if there is no such device, with what to do.
        """
        from rbd_ros.dynamics.on_device import DeviceDynamics
        return DeviceDynamics(self, self._store, device, number, scalar)

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
        self._store.add(*declare(
            name, inputs, rule, derivative, shapes, target, environment, meaning))
        return partial(self.compute, name)

    def add(self, quantity: Quantity) -> None:
        """Add a declared quantity to those of this robot; see ``define``."""
        self._store.add(quantity)

    def remove(self, quantity: Quantity) -> None:
        """Forget a quantity that was added, and its machine code but for what is bound."""
        self._store.remove(quantity)

    def compute(
        self, name: str | Quantity, *arrays: ArrayLike, target: Target = None,
        out: Array | None = None,
    ) -> Any:
        """
        Return a quantity by name: an array, or a tuple of several.

        :param name: of the table, or the declaration of a quantity.
        :param arrays: its inputs, each of one state or of many.
        :param target: name of a frame, or frames and handles, where the quantity needs them.
        """
        if not (target is None or isinstance(target, (str, Handle))):
            target = tuple(target)
        return self._store.call(self._store.find(name), target)(*arrays, out=out)

    # --- kernels ------------------------------------------------------------------------------

    def kernel(
        self, name: str | Quantity, target: Target = None, *, loaded: bool = False,
        method: str | None = None,
    ) -> Kernel:
        """
        Return the kernel behind a method, with all its inputs, gravity and payload among them.

        :param name: a quantity of :mod:`rbd_ros.dynamics.table`, a defined one, or a declaration.
        :param target: name of a frame, or frames and handles, where the quantity needs them.
        :param loaded: with external forces.
        :param method: one of several methods, see ``Dynamics.forward_dynamics``.
        :raises SingularError: for what does not exist with the payload of now.
        """
        return self._store.existing(self._item(name, target, loaded, method))

    def quantity(self, name: str) -> Quantity:
        """Return the declaration of a quantity of this robot."""
        return self._store.find(name)

    def methods(self, name: str) -> tuple[str, ...]:
        """Return the methods by which a quantity of this robot can be computed."""
        return tuple(self._store.find(name).suitable(self.model))

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
        return self._store.bound(self._item(name, target, loaded, method))

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
        graphs = [self._store.builder.graph(item) for item in items]
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

    def _item(
        self, name: str | Quantity, target: Target = None, loaded: bool = False,
        method: str | None = None,
    ) -> Computation:
        return self._store.item(self._store.find(name), target, loaded, method)


def _restore(
    kind: type[Dynamics], model: Model, recipe: Mapping[str, Any],
    inputs: Mapping[str, Array], added: Sequence[Quantity], replaced: Mapping[int, int],
) -> Dynamics:
    robot = kind(model, **recipe)
    environment = robot._store.environment
    environment.replaced.update(replaced)
    for name, value in inputs.items():
        environment.inputs[name][...] = value
    robot._store.add(*added)
    return robot


def _pair(name: str | tuple[str, Target]) -> tuple[str, Target]:
    return (name, None) if isinstance(name, str) else name
