# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Random procedures on whole vectors, with methods, truths and enumerations of records."""

from __future__ import annotations

import enum
import importlib.util
import math

import numpy as np
from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, group, Record

SIZES = {'n': 4}
SPARE = 0.75


class Mode(enum.IntEnum):
    """Of a shelf."""

    LOW = 0
    MID = 2
    HIGH = 7


class Box(Record):
    """A record inside, with initial values."""

    gain: float = field('', '', 'a factor', 1.5)
    full: bool = field('', '', 'a truth that begins true', True)
    held: Vector = field('n', '', 'numbers', 0.25)

    def take(self, values: Vector, by: float = SPARE, keep: bool = False) -> bool:
        """Begin again from numbers."""
        if not keep:
            self.reset()
        self.held[:] += by * values
        self.full = any(self.held > self.gain)
        return self.full


class Shelf(Record):
    """What the procedures work on."""

    a: float = field('', '', 'a number')
    on: bool = field('', '', 'a truth')
    mode: Mode = field('', '', 'an enumeration', Mode.MID)
    count: int = field('', '', 'an integer')
    row: Vector = field('n', '', 'numbers')
    other: Vector = field('n', '', 'more of them')
    grid: Matrix = field('3 n', '', 'rows of them')
    box: Box = group(Box)


_HEAD = '''"""Generated."""
from __future__ import annotations

from random_wholes import *
from rbd_ros.compiler.language.whole import (
    clip, dot, finite, maximum, minimum, total, where)


def half(a: float, on: bool = True, mode: Mode = Mode.LOW) -> float:
    return 0.5 * a if on and mode != Mode.HIGH else a


def parts(values: Vector, share: float, on: bool = False) -> tuple[float, bool, int]:
    found, k = 0.0, 0
    for j in range(len(values)):
        if values[j] > share:
            found += values[j]
            k += 1
    share = found * 0.5 if on else share
    return share, found > 0.0, k


def within(values: Vector, most: Vector, share: float = 0.5) -> Vector:
    return minimum(maximum(values, -share * most), most * share)


def fallen(x: Shelf, least: float) -> Vector:
    return (x.row * least if total(x.row) > least else
            within(x.other, abs(x.row[:]), x.box.gain))


def shared(values: Vector, most: float) -> Vector:
    return values / maximum(abs(total(values) * values), most + dot(values, values))


def elsewhere(x: Shelf, v: Vector) -> float:
    return total(fallen(x, dot(v, v))) + total(fallen(x, 0.25))


def next_of(mode: Mode) -> Mode:
    return Mode.MID if mode == Mode.LOW else Mode.HIGH if mode == Mode.MID else Mode.LOW


'''
#: Arrays of n, of which the first ones may be changed.
_WHOLE = ('x.row', 'x.other', 'y.row', 'y.box.held', 'v')


class Random:
    """
    Writes a random procedure on whole vectors.

    :param seed: of the choices.
    """

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def pick(self, *choices):
        """Return one of these, called where it can be."""
        found = choices[self.rng.integers(len(choices))]
        return found() if callable(found) else found

    def array(self, short, but=''):
        """Return some numbers of an array: n of them, or 3."""
        known = [each for each in _WHOLE if not but.startswith(each)]
        if not short:
            return self.pick(*known, *[f'{s}.grid[{k}]' for s in 'xy' for k in (0, 'k', '2, :')])
        name = self.pick(*known)
        return self.pick(f'{name}[1:]', f'{name}[:len({name}) - 1]', f'{name}[0:3]',
                         f'{name}[k:k + 3]', *['y.grid[:, k]'] * (not but.startswith('x.grid')))

    def vector(self, short, but='', depth=2):
        """Return an expression of numbers."""
        if depth == 0:
            return self.array(short, but)
        r = [lambda: self.vector(short, but, depth - 1)] * 3
        s, c = (lambda: self.real(depth - 1)), (lambda: self.truths(short, but, depth - 1))
        return self.pick(
            lambda: f'({r[0]()} {self.pick("+", "-", "*", "/")} {r[1]()})',
            lambda: f'({s()} {self.pick("+", "-", "*", "/")} {r[0]()})',
            lambda: f'({r[0]()} {self.pick("+", "-", "*")} {s()})', lambda: f'(-{r[0]()})',
            lambda: f'abs({r[0]()})', lambda: f'where({c()}, {r[0]()}, {r[1]()})',
            lambda: f'where({c()}, {s()}, {r[0]()})',
            lambda: f'({r[0]()} if {self.truth(depth - 1)} else {r[1]()})',
            lambda: f'minimum({r[0]()}, {s()})',
            lambda: f'maximum({s()}, {r[0]()})', lambda: f'minimum({r[0]()}, {r[1]()})',
            lambda: f'clip({r[0]()}, {r[1]()}, {s()})', r[0],
            lambda: f'within({r[0]()}, {r[1]()}, {s()})', lambda: f'within({r[0]()}, {r[1]()})',
            lambda: f'shared({r[0]()}, {s()})',
            *[lambda: f'fallen({self.pick("x", "y")}, {s()})'] * (not short))

    def truths(self, short, but='', depth=2):
        """Return an expression of truths."""
        op = self.pick('<', '<=', '>', '>=', '==', '!=')
        if depth < 1:
            return self.pick(f'({self.array(short, but)} {op} {self.real(0)})',
                             f'finite({self.array(short, but)})')
        r, c = [[lambda f=f: f(short, but, depth - 1)] * 2 for f in (self.vector, self.truths)]
        return self.pick(
            lambda: f'({r[0]()} {op} {r[1]()})', lambda: f'({self.real(0)} {op} {r[0]()})',
            lambda: f'({c[0]()} {self.pick("&", "|")} {c[1]()})', lambda: f'(~{c[0]()})')

    def real(self, depth=2):
        """Return an expression that is a number."""
        if depth < 1:
            # an integer that Python kept would have no negative zero
            return self.pick('x.a', '0.5', '-2.0', '2', '(k + 0.5)', 'x.box.gain', 'y.row[k]',
                             'SPARE', 'v[0]', 'x.grid[1, k]', 'float(x.count)', 'math.inf')
        short = bool(self.rng.integers(2))

        def v():
            return self.vector(short, '', depth - 1)
        return self.pick(
            lambda: f'total({v()})', lambda: f'dot({v()}, {v()})',
            lambda: f'max({v()}, default={self.real(0)})',
            lambda: f'min({v()}, default=0.0)', lambda: f'half({self.real(0)}, mode=x.mode)',
            lambda: f'half({self.real(0)}, {self.truth(depth - 1)})',
            lambda: 'elsewhere(y, x.row)',
            lambda: f'({self.real(0)} if {self.truth(depth - 1)} else {self.real(0)})',
            lambda: f'clip({self.real(0)}, -1.0, {self.real(0)})')

    def truth(self, depth=2):
        """Return an expression that is true or false."""
        short = bool(self.rng.integers(2))
        return self.pick(
            'x.on', 'x.box.full', 'x.mode == Mode.MID', 'Mode.LOW < y.mode', 'x.count > 2',
            lambda: f'any({self.truths(short, "", depth - 1)})',
            lambda: f'all({self.truths(short, "", depth - 1)})',
            lambda: f'(x.on and any({self.truths(short, "", depth - 1)}))',
            lambda: f'(not {self.real(0)} > {self.real(0)})')

    def statement(self, indent):
        """Return the lines of a statement."""
        space = '    ' * indent

        def assigned():
            if self.rng.integers(3):
                to = self.pick('x.row[:]', 'x.other[:]', 'v[:]', 'x.grid[k]', 'x.grid[0, :]',
                               'y.box.held[:]')
                value = self.vector(short=False)
            else:
                to = self.pick('x.row[1:]', 'v[:3]', 'x.grid[:, k]', 'x.other[k:k + 3]')
                value = self.vector(short=True, but=to)
            return [f'{to} {self.pick("=", "=", "+=", "*=", "-=")} {value}']
        # numbers that grow without end would all be NaN
        simple = [assigned] * 4 + [
            lambda: [f'x.a = clip({self.real()}, -9.0, 9.0)'],
            lambda: [f'x.on = {self.truth()}'],
            lambda: [f'x.mode = next_of({self.pick("x.mode", "y.mode", "Mode.MID")})'],
            lambda: [f'x.count {self.pick("=", "+=")} {self.pick("1", "k", "len(v)")}'],
            lambda: [f'x.on = x.box.take({self.pick("v", "x.row", "y.box.held")})'],
            lambda: [f'y.on = x.box.take(x.row, by={self.real(0)}, keep={self.truth(1)})'],
            lambda: [f'x.a, x.on, x.count = parts({self.pick("v", "x.row")}, {self.real(0)})',
                     'x.a = clip(x.a, -9.0, 9.0)'],
            lambda: [f'p, q, i = parts(y.row, {self.real(0)}, on={self.truth(1)})',
                     'x.a, x.on = clip(p * i, -9.0, 9.0), q'],
            lambda: [f'x.other[k] = {self.truth(1)}'],
            lambda: [f'x.grid[:] = x.row[:] = {self.real()}'],
            lambda: [f'x.row[:] = x.grid[1] = {self.pick("v", "y.row * 2", "-x.other")}'],
            lambda: ['y.box.reset()'],
            lambda: ['x.row[:] = clip(x.row, -99.0, 99.0)'],
            lambda: [f'x.other[:] = {self.truths(short=False)}']]
        if indent < 2 and not self.rng.integers(4):
            return [f'{space}if {self.truth()}:', *self.block(indent + 1), f'{space}else:',
                    *self.block(indent + 1)]
        return [space + line for line in self.pick(*simple)]

    def block(self, indent):
        """Return the lines of some statements."""
        return [line for _ in range(self.rng.integers(1, 5)) for line in self.statement(indent)]

    def module(self):
        """Return the text of a module with the procedure ``entry``."""
        return _HEAD + '\n'.join([
            'def entry(x: Shelf, y: Shelf, v: Vector) -> None:', '    for k in range(2):',
            *[line for _ in range(3) for line in self.block(2)],
            '    k = 1', *self.block(1), *self.block(1), ''])


def written(folder, seed):
    """Return the text of a random module, written into a folder, and the module imported."""
    path = folder / f'wholes_{seed}.py'
    path.write_text(Random(seed).module())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def filled(rng):
    """Return random arguments of ``entry``."""
    x, y, v = Shelf(SIZES), Shelf(SIZES), rng.normal(size=SIZES['n'])
    for numbers in (x.memory, y.memory, v):
        numbers[:] = rng.normal(scale=2.0, size=numbers.size)
        odd = rng.random(numbers.size) < 0.1
        numbers[odd] = rng.choice([math.nan, math.inf, -math.inf, 0.0, -0.0, 1e308],
                                  size=odd.sum())
    for record in (x, y):
        record.on, record.box.full = bool(rng.integers(2)), bool(rng.integers(2))
        record.mode, record.count = rng.choice([0, 2, 7]), rng.integers(-3, 4)
    return x, y, v
