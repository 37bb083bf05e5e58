# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Random functions of scalars, for the tests of the compiler."""

from __future__ import annotations

from hypothesis import strategies as st

from rbd_ros.compiler.graph.functions import OPERATIONS

ARITHMETIC = ('neg', 'add', 'sub', 'mul', 'div', 'abs', 'min', 'max', 'lt', 'le', 'select',
              'eq', 'and', 'or', 'not', 'finite', 'floor')
SMOOTH = ('neg', 'add', 'sub', 'mul', 'div', 'sqrt', 'sin', 'cos', 'tan', 'asin', 'acos', 'atan2',
          'exp', 'log', 'tanh')
EVERY = tuple(OPERATIONS)
ARITY = {'add': 2, 'sub': 2, 'mul': 2, 'div': 2, 'atan2': 2, 'min': 2, 'max': 2, 'lt': 2,
         'le': 2, 'select': 3, 'eq': 2, 'and': 2, 'or': 2}
CONSTANTS = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 0.3, -1.7, 4.0, 1e-3)


class Program:
    """
    A list of operations on numbered scalars: inputs first, then constants, then each result.

    :param size: number of inputs.
    :param lines: (operation, three numbers that pick the operands).
    :param shown: how many of the last values are results.
    """

    def __init__(self, size: int, lines: list[tuple[str, tuple[int, int, int]]],
                 shown: int = 3) -> None:
        self.size, self.lines, self.shown = size, lines, shown

    def everything(self, x) -> list:
        """Return all values, computed with the public functions on whatever scalars come."""
        values = [*x, *CONSTANTS]
        for op, picks in self.lines:
            # Half of the operands are recent, so that long chains arise.
            chosen = [values[-1 - p // 2 % 8] if p % 2 else values[p % len(values)]
                      for p in picks[:ARITY.get(op, 1)]]
            values.append(OPERATIONS[op](*chosen))
        return values

    def __call__(self, x) -> dict[str, list]:
        """Return the last values."""
        return {'y': self.everything(x)[-self.shown:]}

    def __repr__(self) -> str:
        """Return what hypothesis shows."""
        return f'Program({self.size}, {self.lines})'


def programs(operations=EVERY, longest=40):
    """Return a strategy of programs over some operations."""
    picks = st.tuples(*[st.integers(0, 999)] * 3)
    line = st.tuples(st.sampled_from(operations), picks)
    return st.builds(Program, st.integers(1, 4), st.lists(line, min_size=1, max_size=longest))


def states(size=4):
    """Return a strategy of inputs."""
    return st.lists(st.floats(-3.0, 3.0, allow_subnormal=False), min_size=size, max_size=size)


def random_program(rng, operations=EVERY, length=40) -> Program:
    """Return a program from a random.Random."""
    lines = [(rng.choice(operations), tuple(rng.randrange(1000) for _ in range(3)))
             for _ in range(length)]
    return Program(4, lines)
