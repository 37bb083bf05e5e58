# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What a quantity of a robot is: one declaration, and what one kernel computes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast, NamedTuple

import numpy as np

from rbd_ros.algorithms.handles.opspace import as_handles, Handle
from rbd_ros.compiler import Graph
from rbd_ros.dynamics import handle_inputs
from rbd_ros.dynamics.handle_inputs import Pattern
from rbd_ros.dynamics.prescribed import prescribed_joints
from rbd_ros.errors import ModelError, RbdError, UnknownName
from rbd_ros.model.model import Model
from rbd_ros.model.parts import Frame

Shape = tuple[int, ...]
Target = str | Handle | Sequence[str | Handle] | None
About = Frame | tuple[Handle, ...] | tuple[str, ...] | Pattern | None

#: What knows loops where derivatives are asked for.
LINEARISED = ('manifold.linearize with manifold.loop_system.LoopSystem, which '
              'linearises the motion that the loops allow')
#: What a quantity may be about.
TARGETS = ('robot', 'frame', 'handles', 'joints')
#: A bound on a condition number that bounds nothing.
UNBOUNDED = 1.0 / float(np.finfo(float).eps)
_NONE: Mapping[str, Any] = {}        # a plain one: declarations are pickled

#: Outputs by name, from a :class:`rbd_ros.dynamics.state.State`.
Rule = Callable[[Any], Mapping[str, Sequence[Any]]]
#: An array, or a tuple of them, as the quantity has.
Call = Callable[..., Any]


class Choice(NamedTuple):
    """
    Which of several rules is taken.

    :param where: for rules that do not suit every model, a test of the model.
    :param compared: methods among which the choice is made where none is named, all by default:
        it spares tracing those that never need fewer operations than another.
    :param worth: for some of these, a test of the model: whether they may need fewest.
    :param last_resort: methods that are taken by name, or where no other suits; they need to know
        nothing of constraints.
    """

    where: Mapping[str, Callable[[Model], bool]] = _NONE
    compared: tuple[str, ...] = ()
    worth: Mapping[str, Callable[[Model], bool]] = _NONE
    last_resort: tuple[str, ...] = ()


class OnLoops(NamedTuple):
    """
    What closed loops change.

    :param rules: by method, those for robots with closed loops.
    :param as_tree: whether what the rules give for the spanning tree is also the answer for a
        robot with loops, such as H and C of its equations.
    :param environment: what the robot gives besides, where it has loops.
    :param regular: whether rules need to know which constraints of loops are independent.
    :param instead: what knows closed loops, where this quantity does not.
    """

    rules: Mapping[str, Rule] = _NONE
    as_tree: bool = False
    environment: tuple[str, ...] = ()
    regular: bool = False
    instead: str = ''


#: Of quantities whose answer for the spanning tree is that for the robot.
AS_TREE = OnLoops(as_tree=True)


class InColumns(NamedTuple):
    """
    How a quantity is computed column by column, see :class:`rbd_ros.compiler.graph.graph.Columns`.

    :param first: rule for what all columns need, and for the matrices.
    :param column: from a model, what is done with each column.
    :param matrices: names of the matrices, each with that of a result.
    """

    first: Rule
    column: Callable[[Model], Graph]
    matrices: tuple[tuple[str, str], ...]


class Traits(NamedTuple):
    """
    What is known of a quantity of the library.

    :param result: type of tuple for several results; the machine code of a call makes it itself.
    :param finite: whether it is finite for every state that a robot can have.
    :param solves: for the motion of what: all ``'joints'``, the ``'base'`` alone, or the
        ``'centre'`` of mass; without inertia there it does not exist.
    :param equivalent: which zeros of equivalent inertias serve it, see
        :mod:`rbd_ros.algorithms.equivalence`; only for what multiplies by inertias.
    :param call: makes the call from the store and the computation, where a call is more than its
        kernel.
    :param columns: another form, for robots of many joints.
    :param stages: from the store, and whether bodies are loaded, gives graphs that compute it one
        after the other: less waits in memory then, and some is computed twice.
    """

    result: type[tuple[Any, ...]] = tuple
    finite: bool = False
    solves: str = ''
    equivalent: str = ''
    call: Callable[[Any, Computation], Call] | None = None
    stages: Callable[[Any, bool], Sequence[Graph]] | None = None
    columns: InColumns | None = None


#: What a quantity has if nothing is said.
_ANY, _TREES_ONLY, _USUAL = Choice(), OnLoops(), Traits()
#: Of quantities that are finite for every state, and of which nothing else is known.
FINITE = Traits(finite=True)


@dataclass(frozen=True, eq=False)
class Quantity:
    """
    The declaration of one quantity: what it needs, and one or more rules that all give the same.

    :param name: an identifier, unique in its table.
    :param inputs: what the caller gives, in calling order: names out of :func:`input_shapes` or of
        ``shapes``.
    :param rules: by method; where several are given, the one with the fewest operations for the
        robot at hand is compiled, and the first one is the reference.
    :param environment: what the robot gives after them, out of ``'gravity'`` and ``'time'``;
        payloads, and the time of joints that depend on it, are added where a robot has them.
    :param target: what it is about: ``'robot'``, ``'frame'``, ``'handles'``, or prescribed
        ``'joints'``.
    :param shapes: of inputs that only this quantity has.
    :param inertial: whether the inertias of the bodies matter to it.
    :param meaning: what it returns, in words.
    :param choice: which of several rules is taken.
    :param loops: what closed loops change.
    :param traits: what is known of it, for quantities of the library.
    :param key: all that the graph depends on, where that is more than the code of the rules.
    :param modules: names of modules that are traced, besides those below.
    :param bound: whether it is only ever bound, so that calls need not be fast.
    """

    name: str
    inputs: tuple[str, ...]
    rules: Mapping[str, Rule]
    environment: tuple[str, ...] = ()
    target: str = 'robot'
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    inertial: bool = True
    meaning: str = ''
    choice: Choice = _ANY
    loops: OnLoops = _TREES_ONLY
    traits: Traits = _USUAL
    key: tuple[object, ...] = ()
    modules: tuple[str, ...] = ()
    bound: bool = False

    def suitable(self, model: Model) -> dict[str, Rule]:
        """
        Return the rules that suit a model.

        :raises LoopError: for a robot with loops where there are none that know them.
        """
        where, loops = self.choice.where, self.loops
        rules = loops.rules if model.loops and not loops.as_tree else self.rules
        if not rules:
            model.refuse_loops(self.name, loops.instead)
            raise ModelError(f'"{model.name}" has no closed loops, and so no {self.name}; add a '
                             'loop joint (ModelBuilder.add_loop_joint or <loop_joint>)')
        return {name: rule for name, rule in rules.items()
                if name not in where or where[name](model)}

    def of(
        self, model: Model, target: Target = None, *, loaded: bool = False,
        method: str | None = None,
    ) -> Computation:
        """
        Return what one kernel computes: this quantity of a model, with every choice made.

        :param target: the frame, or the frames and handles, of a quantity that needs them.
        :param loaded: with external forces.
        :param method: one of several methods; None leaves the choice open.
        """
        rules, choice = self.suitable(model), self.choice
        label, about, shapes, values = self._about(model, target)
        words = [self.name, label, method, 'f_ext' if loaded else '']
        inputs = (*self.inputs, 'f_ext') if loaded and 'f_ext' not in self.inputs else self.inputs
        if method is not None:
            if method not in rules:
                known = ' and '.join(f'"{rule}"' for rule in rules)
                raise RbdError(
                    f'{self.name} has no method "{method}" for this robot; there is {known}')
            rules = {method: rules[method]}
        elif choice.compared and not (model.loops and self.loops.rules):
            rules = {name: rule for name, rule in rules.items() if name in choice.compared
                     and (name not in choice.worth or choice.worth[name](model))}
        elif set(rules) - set(choice.last_resort):
            rules = {name: rule for name, rule in rules.items() if name not in choice.last_resort}
        return Computation(
            self, ' '.join(word for word in words if word), inputs, rules,
            (*self.environment, *(self.loops.environment if model.loops else ()), *values),
            about, {**self.shapes, **shapes}, values)

    def _about(
        self, model: Model, target: Target,
    ) -> tuple[str, About, Mapping[str, Any], Mapping[str, Any]]:
        """Return the target's label, itself, and shapes and values of inputs that it brings."""
        if self.target == 'robot':
            if target is not None:
                raise RbdError(
                    f'{self.name} is of the whole robot and takes no frame, got {target!r}')
            return '', None, _NONE, _NONE
        if self.target == 'frame':
            if not isinstance(target, str):
                raise RbdError(f'{self.name} needs the name of a frame, got {target!r}')
            return target, model.frame(target), _NONE, _NONE
        if self.target == 'joints':
            names = prescribed_joints(model, cast('Sequence[str]', target or ()))
            return f'of {" ".join(names)}', names, _NONE, _NONE
        handles = as_handles(model, target)
        if all(handle_inputs.is_plain(model, handle) for handle in handles):
            label = ' '.join(f'{handle.frame.name}{handle.rows}' for handle in handles)
            return label, handles, _NONE, _NONE
        pattern = Pattern.of(handles)
        return pattern.label, pattern, pattern.shapes, handle_inputs.values(handles)


class Computation(NamedTuple):
    """
    A quantity of one model as a kernel computes it, with target, loads and methods chosen.

    :param quantity: its declaration.
    :param name: unique among the computations of a robot but for equal targets.
    :param inputs: what the caller gives.
    :param rules: those that suit the model, by method.
    :param common: what the robot gives, after the inputs of the caller.
    :param target: the frame, the handles, all that is known of handles that are inputs, or the
        names of joints.
    :param shapes: of inputs that not every quantity has.
    :param values: of inputs that belong to the call and not to the kernel.
    """

    quantity: Quantity
    name: str
    inputs: tuple[str, ...]
    rules: Mapping[str, Rule]
    common: tuple[str, ...]
    target: About
    shapes: Mapping[str, Shape]
    values: Mapping[str, Sequence[Any]]

    @property
    def held(self) -> tuple[str, ...]:
        """Return the names of joints whose motion is given."""
        return cast('tuple[str, ...]', self.target) if self.quantity.target == 'joints' else ()


def find(table: Mapping[str, Quantity], name: str) -> Quantity:
    """Return a quantity of a table by name."""
    if name not in table:
        raise UnknownName('quantity', name, list(table))
    return table[name]


def input_shapes(model: Model) -> dict[str, Shape]:
    """Return the shape of every input that any quantity may name."""
    nq, nv = (model.nq,), (model.nv,)
    return {
        'q': nq, 'qd': nv, 'qdd': nv, 'tau': nv, 'f_ext': (model.nb, 6), 'gravity': (3,),
        'joint_qdd': (max(model.nv - 6, 0),), 'joint_tau': (max(model.nv - 6, 0),),
        'payload': (10,), 'time': (1,), 'max_condition': (1,), 'known': nv,
        'stabilization': (2,), 'loop_tau': (sum(loop.joint.nv for loop in model.loops),),
    }
