# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Random procedures on records, arrays and kernels, as modules that can be translated."""

from __future__ import annotations

import enum
import importlib.util
import math
from typing import NamedTuple

import numpy as np
from rbd_ros.compiler.procedure import Kernel, Matrix, Vector
from rbd_ros.compiler.records import field, group, Record

SIZES = {'n': 4}
NOTHING = math.nan
LARGE = 1e300


class Mode(enum.IntEnum):
    """Of a state."""

    REST = 0
    GO = 2
    BACK = -1


class Limiter(Record):
    """A record inside another; names are those of LLVM, C and this compiler."""

    last: Vector = field('n', 'rad', 'the last ones', 0.25)
    gain: float = field('', '', 'of the limiter', 1.0)
    double: float = field('', '1/s', 'named as a type')


class State(Record):
    """Numbers, arrays and a record."""

    a: float = field('', 'rad', 'a number')
    load: Vector = field('n', 'N.m', 'of each joint')
    mode: float = field('', '', 'a Mode')
    m: Matrix = field('n 3', '', 'a matrix')
    limiter: Limiter = group(Limiter)
    t1: float = field('', '', 'named as a value in LLVM')


class Kit(NamedTuple):
    """A kernel with its array, and a record."""

    run: Kernel
    given: Vector
    taken: Vector
    inner: Limiter


_HEAD = '''"""Generated."""
from __future__ import annotations

import math

import random_procedures
from random_procedures import *

'''
_FLOATS = ('p', 'ret', 'double', 't1')
_INTS = ('i', 'auto')


class Random:
    """
    Writes random functions that neither raise in Python nor go on for ever.

    :param seed: of the choices.
    """

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.functions = []     # names and results of those that are written already
        self.loops = 0

    def pick(self, *choices):
        """Return one of these, called where it can be."""
        found = choices[self.rng.integers(len(choices))]
        return found() if callable(found) else found

    def real(self, depth=3):
        """Return an expression that is a floating-point number."""
        leaf = ('1.5', '-2.0', 'LARGE', 'NOTHING', 'math.pi', 'x.a', 'x.t1', 'x.limiter.gain',
                'x.limiter.double', 'own.gain', 'a', *_FLOATS, *_FLOATS)
        if depth == 0:
            return self.pick(*leaf, self.element, self.element)
        r, c, n = [lambda f=f: f(depth - 1) for f in (self.real, self.truth, self.whole)]
        return self.pick(
            self.element, lambda: f'({r()} + {r()})', lambda: f'({r()} - {r()})',
            lambda: f'{r()} * {r()}', lambda: f'{r()} / (abs({r()}) + 1.0)', lambda: f'(-{r()})',
            lambda: f'({r()} + {n()})', lambda: f'({n()} * {r()})',
            lambda: f'{n()} / (abs({n()}) + 1)', lambda: f'float({n()})', lambda: f'abs({r()})',
            lambda: f'min({r()}, {r()})', lambda: f'max({r()}, float({n()}))',
            lambda: f'({r()} if {c()} else {r()})', lambda: f'math.sqrt(abs({r()}))',
            lambda: f'math.exp(min({r()}, 3.0))', lambda: f'math.sin({self.bounded(depth)})',
            lambda: f'math.cos({self.bounded(depth)})', lambda: f'math.atan2({r()}, {r()})',
            lambda: f'math.copysign({r()}, min(1e9, {r()}))', lambda: self.call('float', depth))

    def bounded(self, depth):
        """Return a small number for certain."""
        return f'max(-9.0, min(9.0, {self.real(depth - 1)}))'

    def element(self):
        """Return an element of an array."""
        k = [f'max(0, min({top}, {self.whole(0)}))' for top in ('len(x.load) - 1', '2')]
        return self.pick(f'x.load[{k[0]}]', f'x.limiter.last[{k[0]}]', f'own.last[{k[0]}]',
                         f'v[{k[0]}]', f'x.m[{k[0]}, {k[1]}]')

    def whole(self, depth=2):
        """Return an expression that is an integer."""
        if depth == 0:
            return self.pick('3', '-1', 'n', 'Mode.GO', 'random_procedures.Mode.BACK', 'len(x.m)',
                             *_INTS, *_INTS, *[f'k{loop}' for loop in range(self.loops)])
        n = [lambda: self.whole(depth - 1)] * 2
        return self.pick(
            lambda: f'({n[0]()} + {n[1]()})', lambda: f'({n[0]()} - {n[1]()})',
            lambda: f'{n[0]()} * {n[1]()}', lambda: f'(-{n[0]()})', lambda: f'abs({n[0]()})',
            lambda: f'min({n[0]()}, {n[1]()})', lambda: f'int({self.bounded(depth)})',
            lambda: f'math.floor({self.bounded(depth)})',
            lambda: f'({n[0]()} if {self.truth(depth - 1)} else {n[1]()})',
            lambda: self.call('int', depth))

    def truth(self, depth=2):
        """Return an expression that is true or false."""
        r = [lambda: self.real(max(0, depth - 1))] * 3
        op = [lambda: self.pick('<', '<=', '>', '>=', '==', '!=')] * 2
        if depth <= 0:
            return self.pick(lambda: f'{r[0]()} {op[0]()} {r[1]()}',
                             lambda: f'{self.whole(0)} {op[0]()} {self.whole(0)}',
                             lambda: f'x.mode {op[0]()} {self.pick("Mode.REST", "Mode.GO")}')
        c = [lambda: self.truth(depth - 1)] * 3
        return self.pick(
            lambda: f'{r[0]()} {op[0]()} {r[1]()} {op[1]()} {r[2]()}',
            lambda: f'(-1 {op[0]()} {self.whole(0)} {op[1]()} {r[2]()})',
            lambda: f'({c[0]()} and {c[1]()})', lambda: f'({c[0]()} or {c[1]()} or {c[2]()})',
            lambda: f'(not {c[0]()})', lambda: f'math.isfinite({r[0]()})',
            lambda: f'math.isnan({r[0]()})', lambda: self.call('bool', depth))

    def call(self, result, depth):
        """Return the call of a function that is written already, or something simple."""
        known = [name for name, kind in self.functions if kind == result]
        if self.loops > 1 or not known:
            return {'float': 'x.a', 'int': 'n', 'bool': 'a > 0.0'}[result]
        inner = self.pick('own', 'x.limiter')
        array = self.pick('v', 'x.load', 'x.limiter.last')
        return (f'{self.pick(*known)}(x, {inner}, {array}, {self.real(depth - 1)}, '
                f'{self.small(depth - 1)})')

    def small(self, depth):
        """Return an integer that stays small however often it is assigned."""
        return f'max(-9, min(9, {self.whole(max(0, depth))}))'

    def block(self, depth, indent):
        """Return the lines of some statements."""
        return [line for _ in range(self.rng.integers(1, 4))
                for line in self.statement(depth, indent)]

    def statement(self, depth, indent):
        """Return the lines of a statement."""
        space, inner = '    ' * indent, '    ' * (indent + 1)
        held = (self.element, self.element, 'x.a', 'x.limiter.gain', 'own.double', 'x.t1',
                'x.mode')
        target = [lambda: self.pick(*held, *_FLOATS)] * 2
        simple = [
            lambda: [f'{target[0]()} = {self.real()}'],
            lambda: [f'{target[0]()} {self.pick("+=", "-=", "*=")} {self.real(2)}'],
            # an integer that Python kept in a name would have no negative zero
            lambda: [f'{self.pick(*held)} = {self.whole()}'],
            lambda: [f'{self.pick(*_INTS)} = {self.small(2)}'],
            lambda: [f'{target[0]()}, {target[1]()} = {self.real(2)}, {self.real(2)}']]
        if self.loops:
            simple.append(lambda: [f'if {self.truth()}:', f'    {self.pick("break", "continue")}'])
        if depth == 0:
            return [space + line for line in self.pick(*simple)]

        def branches():
            return [f'{space}if {self.truth()}:', *self.block(depth - 1, indent + 1),
                    f'{space}elif {self.truth()}:', *self.block(depth - 1, indent + 1),
                    f'{space}else:', *self.block(depth - 1, indent + 1)]

        def loop():
            k = f'k{self.loops}'
            head = self.pick(f'range({self.small(1)})', 'range(len(x.load))',
                             'range(3, -1, -2)', f'range(1, {self.small(1)}, 2)')
            self.loops += 1
            body = self.block(depth - 1, indent + 1)
            self.loops -= 1
            return [f'{space}for {k} in {head}:', *body]

        def repeat():
            k = f'k{self.loops}'
            self.loops += 1
            body = self.block(depth - 1, indent + 1)
            self.loops -= 1
            return [f'{space}{k} = 0', f'{space}while {k} < 4 and {self.truth()}:',
                    f'{inner}{k} += 1', *body]
        return self.pick(branches, loop, repeat,
                         lambda: [space + line for line in self.pick(*simple)])

    def function(self, result):
        """Write a function."""
        name = f'f{len(self.functions)}'
        value = {'float': self.real, 'int': lambda: self.small(2), 'bool': self.truth}
        given = 'x: State, own: Limiter, v: Vector, a: float, n: int'
        lines = ['', '', f'def {name}({given}) -> {result}:',
                 '    p, ret, double, t1 = a, 0.5, x.a, x.t1', '    i, auto = n, 1',
                 *self.block(1, 1), f'    if {self.truth()}:', f'        return {value[result]()}',
                 *self.block(1, 1), f'    return {value[result]()}']
        self.functions.append((name, result))
        return lines

    def module(self):
        """Return the text of a module whose function ``entry`` calls the others."""
        lines = [line for result in ('float', 'int', 'bool', 'float')
                 for line in self.function(result)]
        return _HEAD + '\n'.join([
            *lines, '', '', 'def entry(x: State, kit: Kit, v: Vector) -> None:',
            '    work(x, kit.inner, v, kit)', '', '',
            'def work(x: State, own: Limiter, v: Vector, kit: Kit) -> None:',
            '    a, n = v[0], int(v[1])', '    p, ret, double, t1 = 1.0, 0.5, x.a, x.t1',
            '    i, auto = n, 1', *self.block(2, 1), '    kit.given[0] = x.a', '    kit.run()',
            '    x.t1 = kit.taken[0]', *self.block(2, 1), *self.block(2, 1), ''])


def written(folder, seed):
    """Return a random module, written into a folder and imported."""
    path = folder / f'procedures_{seed}.py'
    path.write_text(Random(seed).module())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def halved(x):
    """Return half of a number."""
    return [0.5 * x[0]]


def kit_of(kernel, own):
    """Return a kernel that is bound, with its arrays and a record."""
    bound = kernel.bind()
    return Kit(bound, next(iter(bound.inputs.values())), next(iter(bound.outputs.values())), own)


def filled(rng):
    """Return random arguments of ``entry`` but for the kernel: a state, a limiter and an array."""
    x, own, v = State(SIZES), Limiter(SIZES), rng.normal(size=SIZES['n'])
    for record in (x, own):
        record.memory[:] = rng.normal(size=record.memory.size)
        odd = rng.random(record.memory.size) < 0.2
        record.memory[odd] = rng.choice([math.nan, math.inf, -math.inf, 0.0, -0.0, 1e308, 2.0],
                                        size=odd.sum())
    x.mode, v[1] = rng.integers(-1, 4), rng.integers(-3, 4)
    return x, own, v


def bits(*arrays):
    """Return the bits of numbers, the same ones for all that are NaN."""
    flat = np.concatenate([np.ravel(each) for each in arrays])
    return np.where(np.isnan(flat), 0x7ff8000000000000, flat.view(np.int64))
