# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Procedures as C99: structs, one function each, and an entry that works on one memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rbd_ros.compiler.graph.graph import Graph
from rbd_ros.compiler.kernel import Bound
from rbd_ros.compiler.language.kernels import check_sizes
from rbd_ros.compiler.language.signatures import Function, KERNEL, Kind, Layout
from rbd_ros.compiler.language.statements import read
from rbd_ros.compiler.language.tree import Procedure
from rbd_ros.compiler.records import Record
from rbd_ros.compiler.source.c99 import emit_c, KEYWORDS, NO_FAST_MATH
from rbd_ros.compiler.source.c_expressions import HELPERS
from rbd_ros.compiler.source.c_octets import OCTET_HELPERS
from rbd_ros.compiler.source.c_statements import CFunction, members_of, parameter_of
from rbd_ros.compiler.source.c_structs import (
    c_name, Collected, collected, comment, Memory, Place, summary)
from rbd_ros.compiler.source.writer import Names


class CProject(NamedTuple):
    """
    The C code of a procedure.

    :param files: texts by name.
    :param places: members of the memory in their order, which has all their numbers in one row.
    """

    files: dict[str, str]
    places: list[Place]


def emit_procedure(function: Function, *given: object, prefix: str = 'rbd',
                   kernels: Mapping[Bound, Graph] | None = None,
                   others: Mapping[Function, Sequence[Record]] | None = None) -> CProject:
    """
    Return C99 source of a procedure and all that it calls, kernels included.

    ``prefix_init`` gives the memory the numbers that it has now, and ``prefix_name`` runs the
    procedure on it. There are no other variables, and no heap; the C library is asked for
    functions of ``math.h`` alone. It refuses to be compiled with -ffast-math. Numbers are those of
    Python to the last bit if the compiler does not fuse products into sums (-ffp-contract=off).
    Where Python would raise, C does what machine code does; integers must not overflow.

    :param function: see :func:`rbd_ros.compiler.procedure.bind`.
    :param given: what it is bound to; sizes and first values are taken from there.
    :param prefix: begins every name, and names the files.
    :param kernels: what each bound kernel computes.
    :param others: further procedures with records of their sizes; in C they are called with the
        addresses of such records, which lie where the caller likes.
    :raises TypeError: for what cannot be translated, or had in C.
    """
    if not (prefix.isascii() and prefix.isidentifier()):
        raise ValueError(f'prefix {prefix!r} is not an identifier: use letters, digits and '
                         'underscores, it begins every name in the C code')
    check_sizes(given)
    procedures, kernels, others = read(function), kernels or {}, others or {}
    found = collected(given, procedures[0].parameters, kernels)
    for other, records in others.items():
        known = {each.function for each in procedures}
        added = read(other)
        if any(not isinstance(each, Record) for each in records):
            raise TypeError(f'{other.__name__} is called with the addresses of records alone')
        collected(records, added[0].parameters, {})
        procedures += [each for each in added if each.function not in known]
    return _Project(procedures, given, found, kernels, prefix, others).project()


class _Project:
    """Writes the files."""

    def __init__(self, procedures: list[Procedure], given: Sequence[object], found: Collected,
                 kernels: Mapping[Bound, Graph], prefix: str,
                 others: Mapping[Function, Sequence[Record]]) -> None:
        self._procedures, self._given, self._prefix = procedures, given, prefix
        self._others = others
        self._entry = f'{prefix}_{c_name(procedures[0].function.__name__.strip("_"))}'
        self._names = Names([*KEYWORDS, self._entry, f'{prefix}_init', 'memory', 'k',
                             *[f'{prefix}_{name}_' for name in (*HELPERS, *OCTET_HELPERS)]])
        self._memory, self._bound = Memory(prefix, self._names), found.kernels
        self._memory.place(found.things)
        for record in (each for records in others.values() for each in records):
            self._memory.know(record)
        self._graphs = {bound: kernels[bound] for bound in found.kernels}
        self._runs = {bound: self._names.new(f'{prefix}_run_{c_name(graph.name)}')
                      for bound, graph in self._graphs.items()}
        self._type = self._names.new(f'{prefix}_kernel')

    def project(self) -> CProject:
        """Return the files."""
        prefix, memory = self._prefix, self._memory
        functions = {each.function: self._names.new(
            f'{prefix}_{c_name(each.function.__name__.strip("_"))}') for each in self._procedures}
        helpers: set[str] = set()
        written = {each.function: CFunction(each, memory, functions, helpers, self._type)
                   for each in self._procedures}
        bodies = {each: text.lines('' if each in self._others else 'static ')
                  for each, text in written.items()}
        entry = self._entry_lines(functions[self._procedures[0].function])
        tuples = self._tuples()
        head = ['/* Generated by rbd_ros. C99. */', *NO_FAST_MATH, f'#include "{prefix}.h"\n']
        files: dict[str, str] = {}
        graphs = list({id(graph): graph for graph in self._graphs.values()}.values())
        if graphs:
            code = emit_c(graphs, f'{prefix}_kernels')
            files = {f'{prefix}_kernels.c': code.source, f'{prefix}_kernels.h': code.header}
            head.append(f'#include "{prefix}_kernels.h"\n')
        head += ['#include <math.h>', '#include <stdbool.h>', '#include <stdint.h>', '']
        if any(memory.nothing in line for lines in (*bodies.values(), entry) for line in lines):
            head += [f'static double {memory.nothing}[1];', '']
        for name in [each for each in HELPERS if each in helpers]:
            kind, parameters, result = HELPERS[name]
            head += [f'static {kind} {prefix}_{name}_({parameters})', '{',
                     f'    return {result};', '}', '']
        for name in [each for each in OCTET_HELPERS if each in helpers]:
            kind, parameters, text = OCTET_HELPERS[name]
            head += [f'static {kind} {prefix}_{name}_({parameters})', '{', *text, '}', '']
        declared = [f'static {text.head()};' for each, text in written.items()
                    if each not in self._others]
        heads = [line for each in self._others for line in (
            comment(summary(each)), f'{written[each].head()};', '')]
        lines = [*head, *tuples, *declared, '', *[line for each in self._procedures for line in
                                                  (*bodies[each.function], '')],
                 *self._kernel_lines(), *self._init(), *entry, '']
        return CProject({f'{prefix}.c': '\n'.join(lines), f'{prefix}.h': self._header(heads),
                         **files},
                        memory.places)

    def _header(self, others: list[str]) -> str:
        guard, memory = f'{self._prefix.upper()}_H_', self._memory.type
        return '\n'.join([
            '/* Generated by rbd_ros. Arrays are row-major. */', f'#ifndef {guard}',
            f'#define {guard}', '', *self._memory.included(), *self._memory.declarations(),
            '#ifdef __cplusplus', 'extern "C" {', '#endif', '',
            comment('Give all numbers the values to begin with.'),
            f'void {self._prefix}_init({memory} *memory);', '',
            comment(summary(self._procedures[0].function)),
            f'void {self._entry}({memory} *memory);', '', *others,
            '#ifdef __cplusplus', '}', '#endif', '',
            f'#endif /* {guard} */', ''])

    def _init(self) -> list[str]:
        total = sum(place.numbers.size for place in self._memory.places if not place.octets)
        # by a loop: a constant to copy from would be as large as the memory
        return [f'void {self._prefix}_init({self._memory.type} *memory)', '{',
                '    double *const all = (double *)memory;', '    int k;', '',
                f'    for (k = 0; k < {total}; ++k) {{ all[k] = 0.0; }}',
                *[f'    {line}' for line in self._memory.initial()], '}', '']

    def _kernel_lines(self) -> list[str]:
        lines: list[str] = []
        for bound, graph in self._graphs.items():
            given = [self._memory.address(each) for each in (
                *bound.inputs.values(), *bound.outputs.values())]
            lines += [f'static int64_t {self._runs[bound]}({self._memory.type} *memory)', '{',
                      f'    {self._prefix}_kernels_{graph.name}({", ".join(given)});',
                      '    return 0;', '}', '']
        return lines

    # --- named tuples ---

    def _tuples(self) -> list[str]:
        """Return the structs of the named tuples, which have the addresses of what they hold."""
        lines: list[str] = []
        kernels = [f'typedef int64_t (*{self._type})({self._memory.type} *memory);', '']
        done: set[type] = set()

        def declare(kind: Kind) -> None:
            if not isinstance(kind, Layout) or issubclass(kind.type, Record) or kind.type in done:
                return
            done.add(kind.type)
            for _, inner in kind.members.values():
                declare(inner)
            lines.extend([comment(summary(kind.type)), 'typedef struct {'])
            for name, (_, inner) in kind.members.items():
                lines.extend(f'    {each};' for each in parameter_of(
                    c_name(name), inner, self._memory, self._type))
            lines.extend([f'}} {self._memory.struct(kind.type)};', ''])
        for procedure in self._procedures:
            for parameter in procedure.parameters:
                declare(parameter.kind)
        needed = any(self._type in line for line in lines) or any(
            parameter.kind == KERNEL for each in self._procedures for parameter in each.parameters)
        return [*(kernels if needed else []), *lines]

    def _entry_lines(self, name: str) -> list[str]:
        lines: list[str] = []
        names = Names(['memory'])

        def passed(given: Any, kind: Kind) -> list[str]:
            if kind == KERNEL:
                return [self._runs[given], 'memory']
            if not isinstance(kind, Layout):
                shape = given.shape
                return [self._memory.address(given), *map(str, shape)]
            if issubclass(kind.type, Record):
                return [self._memory.address(given)]
            local = names.new('tuple')
            parts = [(member, inner, passed(getattr(given, member), inner))
                     for member, (_, inner) in kind.members.items()]
            lines.append(f'    {self._memory.struct(kind.type)} {local};')
            for member, inner, values in parts:
                for target, value in zip(members_of(c_name(member), inner), values, strict=True):
                    after.append(f'    {local}.{target} = {value};')
            return [f'&{local}']
        after: list[str] = []
        given = [text for each, parameter in zip(
            self._given, self._procedures[0].parameters, strict=True)
            for text in passed(each, parameter.kind)]
        used = any('memory' in text for text in (*after, *given))
        unused = [] if used else ['    (void)memory;']
        return [f'void {self._entry}({self._memory.type} *memory)', '{', *lines, *after, *unused,
                f'    {name}({", ".join(given)});', '}']
