# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The lines of one LLVM function of a graph: loads, operations, stores."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from rbd_ros.compiler.graph.graph import Graph
from rbd_ros.compiler.graph.partition import ANGULAR, LEAVES, Part
from rbd_ros.compiler.native.instructions import double, Lanes, sine_cosine_name
from rbd_ros.compiler.native.shuffle import join, piece
from rbd_ros.compiler.native.target import pointer
from rbd_ros.compiler.native.zeros import is_zero

#: Lanes on which the scalar kernels find their sines and cosines: joints are independent. Wider
#: vectors slow the processor's clock for longer than they save.
ANGLE_LANES = 4
#: Most constants that one store writes.
_ROW = 8


class Place(NamedTuple):
    """Where an element is: the name of a pointer and a number of elements."""

    base: str
    at: int

    def plus(self, count: int) -> Place:
        """Return the place of a later element."""
        return Place(self.base, self.at + count)


class Layout(NamedTuple):
    """
    Where a function finds its inputs and leaves its results.

    :param inputs: place of element 0 of each input.
    :param outputs: place of element 0 of each output.
    :param slots: index of the first slot in the workspace.
    """

    inputs: list[Place]
    outputs: list[Place]
    slots: int

    @classmethod
    def of_workspace(cls, graph: Graph, base: str = '%ws') -> Layout:
        """Return the layout with everything in the workspace: inputs, outputs, slots."""
        offsets = list(accumulate((a.size for a in graph.inputs + graph.outputs), initial=0))
        n = len(graph.inputs)
        return cls([Place(base, k) for k in offsets[:n]], [Place(base, k) for k in offsets[n:-1]],
                   offsets[-1])


class Body:
    """
    Lines of one function of a graph.

    :param graph: what is computed.
    :param lanes: on how many lanes.
    :param layout: where inputs, outputs and slots are.
    :param alone: see ``first_of_two_products``, found once for all functions of a graph.
    :param zeros: whether results that are always zero are stored.
    :param angular: lanes on which sines and cosines are found, several angles at once.
    :param widths: of nodes that are vectors while the others are scalars, see ``columns``.
    """

    def __init__(self, graph: Graph, lanes: Lanes, layout: Layout, alone: set[int],
                 zeros: bool = True, angular: Lanes | None = None,
                 widths: Mapping[int, int] | None = None) -> None:
        self.graph, self.lanes, self.layout = graph, lanes, layout
        self.angular = angular or Lanes(ANGLE_LANES)
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self._angular: dict[tuple[str, int], str] = {}
        self._stores = 0
        self._alone, self._zeros = alone, zeros
        self._widths, self._splats = widths or {}, set[str]()
        self._waiting: dict[int, Place] = {}
        self._targets: dict[int, list[Place]] = {}
        self._starts = list(accumulate((a.size for a in graph.outputs), initial=0))

    def write(self, part: Part, late: bool = False) -> list[str]:
        """
        Return the lines of a part.

        :param late: whether to load a value before its first use, not at the beginning: then no
            output may be an input.
        """
        nodes = self.graph.nodes
        self._leave(part.results if self._zeros else [
            (element, i) for element, i in part.results if not is_zero(self.graph, i)])
        extra = [i for i in self._targets if nodes[i].op in LEAVES]
        for i in part.leaves:
            if nodes[i].op == 'const':
                self.names[i] = self.lanes.constant(nodes[i].constant)
            else:
                argument, element = nodes[i].element
                self._waiting[i] = self.layout.inputs[argument].plus(element)
        for i, slot in part.loads.items():
            self._waiting[i] = Place('%ws', self.layout.slots + slot)
        if not late:  # every load precedes every store: an output may be an input
            self._fetch(list(self._waiting))
        angles = list(dict.fromkeys(
            nodes[i].args[0] for i in part.nodes if nodes[i].op in ANGULAR))
        for i in part.nodes:
            self._compute(i, angles)
            if i in part.stores:
                self._store(i, Place('%ws', self.layout.slots + part.stores[i]))
            self._store_results(i)
        self._fetch(extra)
        for i in extra:
            if nodes[i].op == 'input':
                self._store_results(i)
        self._store_constants()
        return self.lines

    def write_zeros(self) -> list[str]:
        """Return the lines that store the results which are always zero."""
        self._leave([(element, i) for element, i in enumerate(self.graph.results)
                     if is_zero(self.graph, i)])
        self._store_constants()
        return self.lines

    def _leave(self, results: Sequence[tuple[int, int]]) -> None:
        """Note where nodes are to be stored as elements of the results."""
        for element, i in results:
            k = bisect_right(self._starts, element) - 1
            self._targets.setdefault(i, []).append(
                self.layout.outputs[k].plus(element - self._starts[k]))

    def _fetch(self, values: Sequence[int]) -> None:
        """Load those of the values that wait for it."""
        for i in values:
            if i in self._waiting:
                self._load(i, self._waiting.pop(i))

    def _address(self, name: str, place: Place, kind: str = '') -> str:
        """Return the address of a place, for a value of another type if one is given."""
        real, align = self.lanes.real, self.lanes.align
        self.lines.append(f'{name} = getelementptr {real}, {pointer(real)} {place.base}, '
                          f'i64 {place.at}')
        if not kind or kind == real:
            return f'{pointer(real)} {name}, align {align}'
        self.lines.append(f'{name}.v = bitcast {pointer(real)} {name} to {pointer(kind)}')
        return f'{pointer(kind)} {name}.v, align {align}'

    def _load(self, i: int, place: Place) -> None:
        kind = self._lanes_of(i).real
        address = self._address(f'%n{i}.p', place, kind)
        self.lines.append(f'%n{i} = load {kind}, {address}')
        self.names[i] = f'%n{i}'

    def _store(self, i: int, place: Place) -> None:
        self._stores += 1
        kind = self._lanes_of(i).real
        address = self._address(f'%o{self._stores}', place, kind)
        self.lines.append(f'store {kind} {self.names[i]}, {address}')

    def _lanes_of(self, i: int) -> Lanes:
        """Return the lanes of a node."""
        width = self._widths.get(i)
        return self.lanes if width is None else Lanes(width, scalar=self.lanes.scalar)

    def _store_results(self, i: int) -> None:
        for place in self._targets.get(i, ()):
            self._store(i, place)

    def _store_constants(self) -> None:
        """
        Store the results that are constant, by vectors where they are neighbours.

        Most of a large inertia matrix is zero, and LLVM takes long to find that out by itself.
        """
        left = {place: self.graph.nodes[i].constant for i, places in self._targets.items()
                if self.graph.nodes[i].op == 'const' for place in places}
        for place in sorted(left):
            if place not in left:
                continue
            row = [place]
            while len(row) < _ROW and place.plus(len(row)) in left:
                row.append(place.plus(len(row)))
            count = 1 << len(row).bit_length() - 1 if self.lanes.count == 1 else 1
            values = [left.pop(p) for p in row[:count]]
            self._stores += 1
            if count == 1:
                kind, text = self.lanes.real, self.lanes.constant(values[0])
            else:
                kind, scalar = Lanes(count, scalar=self.lanes.scalar).real, self.lanes.scalar
                text = f'<{", ".join(f"{scalar.c} {double(scalar.rounded(v))}" for v in values)}>'
            address = self._address(f'%o{self._stores}', place, kind)
            self.lines.append(f'store {kind} {text}, {address}')

    def _compute(self, i: int, angles: list[int]) -> None:
        op, args, _ = self.graph.nodes[i]
        if op in ANGULAR:
            if (op, args[0]) not in self._angular:
                self._fetch(angles)
                ready = [a for a in angles if (op, a) not in self._angular and a in self.names]
                self._sine_cosine([args[0], *[a for a in ready if a != args[0]]])
            self.names[i] = self._angular[op, args[0]]
        else:
            self._fetch(args)
            self.names[i] = f'%n{i}'
            names = [self._splat(a, self._widths[i]) if i in self._widths
                     and a not in self._widths else self.names[a] for a in args]
            self.lines += self._lanes_of(i).node(f'%n{i}', op, names, i in self._alone)

    def _splat(self, i: int, width: int) -> str:
        """Return the name of a scalar on all lanes."""
        name, real = f'%n{i}.s{width}', Lanes(width, scalar=self.lanes.scalar).real
        if name not in self._splats:
            self._splats.add(name)
            self.lines += [f'{name}.0 = insertelement {real} undef, {self.lanes.real} '
                           f'{self.names[i]}, i32 0',
                           f'{name} = shufflevector {real} {name}.0, {real} undef, '
                           f'<{width} x i32> zeroinitializer']
        return name

    def _sine_cosine(self, angles: list[int]) -> None:
        """Find sine and cosine of the first angle, and of others that fill up the lanes."""
        wide, each = self.angular, self.lanes.count
        group = angles[:wide.count // each]
        if len(group) < 2:
            group, wide = angles[:1], Lanes(each, scalar=wide.scalar)
        # free lanes repeat the first angle
        names = [self._widened(a) for a in group]
        names += names[:1] * (wide.count // each - len(group))
        value = names[0] if wide.count == each else join(
            self.lines, f'%n{group[0]}.v', names, each)
        all_of_them = f'%n{group[0]}.all'
        self._call_pair(wide, all_of_them, value)
        for k, angle in enumerate(group):
            for op in ANGULAR:
                name = f'{all_of_them}.{op}'
                if wide.count > each:
                    self.lines.append(piece(f'%n{angle}.{op}.d', name, wide, k, each))
                    name = f'%n{angle}.{op}.d'
                self._angular[op, angle] = self._narrowed(f'%n{angle}.{op}', name)

    def _widened(self, i: int) -> str:
        """Return a value in the precision in which angles are reduced, mostly double."""
        if self.lanes.scalar is self.angular.scalar:
            return self.names[i]
        self.lines.append(f'%n{i}.w = fpext {self.lanes.real} {self.names[i]} to '
                          f'{self.lanes.doubles().real}')
        return f'%n{i}.w'

    def _narrowed(self, name: str, value: str) -> str:
        """Return a value of the precision of angles in the type of the lanes."""
        if self.lanes.scalar is self.angular.scalar:
            return value
        self.lines.append(f'{name} = fptrunc {self.lanes.doubles().real} {value} to '
                          f'{self.lanes.real}')
        return name

    def _call_pair(self, lanes: Lanes, name: str, value: str) -> None:
        pair = f'{{ {lanes.real}, {lanes.real} }}'
        self.lines.append(f'{name}.pair = call {pair} @{sine_cosine_name(lanes)}'
                          f'({lanes.real} {value})')
        self.lines += [f'{name}.{op} = extractvalue {pair} {name}.pair, {k}'
                       for k, op in enumerate(ANGULAR)]


def first_of_two_products(graph: Graph) -> set[int]:
    """
    Return the products a*b of differences a*b - c*d that are used nowhere else.

    Only the other product is to be fused: LLVM would take the first one and negate the second,
    which costs an instruction on vectors of aarch64.
    """
    nodes = graph.nodes
    uses = Counter(a for node in nodes for a in node.args)
    uses.update(graph.results)
    once = {i for i, node in enumerate(nodes) if node.op == 'mul' and uses[i] == 1}
    return {node.args[0] for node in nodes if node.op == 'sub' and once.issuperset(node.args)}
