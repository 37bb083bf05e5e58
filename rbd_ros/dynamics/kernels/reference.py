# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A quantity run as it stands in the source, on plain floats: slow, readable, no compiler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from rbd_ros.compiler import Argument, Array, Graph, Kernel, OperationCount
from rbd_ros.dynamics.quantity import Computation, UNBOUNDED
from rbd_ros.dynamics.state import evaluate, Surroundings
from rbd_ros.model.model import Model
from rbd_ros.model.positions import random_position

#: A payload with inertia in every direction.
_LOAD = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0)


class ReferenceKernel(Kernel):
    """
    One quantity as a kernel like any other, evaluated by the source itself.

    :param item: what to evaluate; of several methods, the first.
    :param arguments: names and shapes of its inputs.
    :param traced: makes the graph, for whoever asks for it.
    """

    backend = 'reference'

    def __init__(
        self, model: Model, item: Computation, arguments: Sequence[Argument],
        surroundings: Surroundings, traced: Callable[[], Graph],
    ) -> None:
        self.name, self.inputs = item.name, tuple(arguments)
        self._model, self._surroundings, self._traced = model, surroundings, traced
        self._item = item
        self._rule = next(iter(item.rules.values()))

    @cached_property
    def outputs(self) -> tuple[Argument, ...]:      # type: ignore[override]
        """Return names and shapes of the results, found by evaluating any state."""
        rng = np.random.default_rng(0)
        shapes = {a.name: a.shape for a in self.inputs}
        any_state: dict[str, Sequence[Any]] = {
            name: (rng.uniform(0.5, 1.5, shape) if name in self._item.quantity.shapes
                   else np.zeros(shape)).tolist() for name, shape in shapes.items()}
        samples = {'q': random_position(self._model, rng), 'max_condition': [UNBOUNDED],
                   'payload': np.broadcast_to(_LOAD, shapes.get('payload', (10,))).tolist()}
        any_state.update({name: samples[name] for name in samples.keys() & any_state.keys()})
        any_state.update(self._item.values)
        found = self._evaluate(any_state)
        return tuple(Argument(name, np.shape(value)) for name, value in found.items())

    @property
    def graph(self) -> Graph:
        """Return what a compiled kernel would compute."""
        return self._traced()

    def count(self) -> OperationCount:
        """Return how many operations of each kind a compiled kernel would take."""
        return self.graph.count()

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compute the outputs, unchecked."""
        given = {a.name: x.tolist() for a, x in zip(self.inputs, inputs, strict=True)}
        results = self._evaluate(given)
        for target, value in zip(outputs, results.values(), strict=True):
            target[...] = np.array(value, dtype=float).reshape(target.shape)

    def _evaluate(self, given: Mapping[str, Sequence[Any]]) -> Mapping[str, Sequence[Any]]:
        return evaluate(self._model, self._item, self._rule, given, self._surroundings)

    def run_batch(self, inputs: Sequence[Array], batched: Sequence[bool],
                  outputs: Sequence[Array], count: int, threads: int | None) -> None:
        """Compute the outputs of many states, one by one."""
        results = [np.empty_like(y) for y in outputs]       # an output may be an input
        for k in range(count):
            rows = [x[k] if leading else x for x, leading in zip(inputs, batched, strict=True)]
            self.run(rows, [y[k:k + 1].reshape(y.shape[1:]) for y in results])
        for target, result in zip(outputs, results, strict=True):
            target[...] = result
