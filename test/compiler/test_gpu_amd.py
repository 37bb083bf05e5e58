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

"""
Objects for GPUs of AMD: whole, and disassembled where llvm-objdump is installed. None has run.

What the headers, descriptors and notes of an object say needs no other program.
"""

import os
from pathlib import Path
import pickle
import re
import shutil
import struct
import subprocess
import sys
from typing import NamedTuple

import pytest
from rbd_env.pace import patient
from rbd_ros import Dynamics
from rbd_ros.compiler import compile as compile_graph, cos, sin, sqrt, trace
from rbd_ros.compiler.procedure import Kernel, Vector
from rbd_ros.samples.families import random_tree

pytest.importorskip('llvmlite', reason='llvmlite is not installed')
from rbd_ros.compiler.gpu.dialect import AMD, BLOCK  # noqa: I100
from rbd_ros.compiler.gpu.procedures.places import Memory, Places
from rbd_ros.compiler.gpu.procedures.procedure_program import (
    Called, ENTRIES, own_size, procedure_program)
from rbd_ros.compiler.gpu.program import Form, program
from rbd_ros.compiler.gpu.rollout import rollout_program
from rbd_ros.compiler.native.target import VARIABLE

#: Of the ELF format: 64 bits, an object that is not linked, AMD's processors, their system.
ELF64, RELOCATABLE, AMDGPU, HSA = 2, 1, 224, 64
#: Processor in the flags of the header: gfx90a.
GFX90A = 0x3f
FUNCTION, OBJECT, UNDEFINED = 2, 1, 0
#: Type of a relocation: 64 bits relative to their place.
REL64 = 5
METADATA = 32
DESCRIPTOR = 64         # bytes
#: Bytes that LLVM may add to the parameters of a kernel, for sizes of the grid and the like.
HIDDEN = 256


class Symbol(NamedTuple):
    """A name of an object."""

    kind: int
    section: int
    value: int
    size: int


class Elf:
    """
    An object file.

    :param data: its bytes.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.type, self.machine = struct.unpack_from('<HH', data, 16)
        table, = struct.unpack_from('<Q', data, 40)
        self.flags, = struct.unpack_from('<I', data, 48)
        size, count, names = struct.unpack_from('<HHH', data, 58)
        self._headers = [struct.unpack_from('<IIQQQQIIQQ', data, table + k * size)
                         for k in range(count)]
        self.sections = [self._text(names, head[0]) for head in self._headers]
        self.symbols = {}
        self._ordered = []
        for k, head in enumerate(self._headers):
            if head[1] != 2:        # a table of symbols
                continue
            for at in range(0, len(self.content(k)), 24):
                name, info, _, section, value, length = struct.unpack_from(
                    '<IBBHQQ', self.content(k), at)
                found = self._text(head[6], name)
                self._ordered.append(found)
                if found:
                    self.symbols[found] = Symbol(info & 15, section, value, length)

    def content(self, section):
        """Return the bytes of a section, by its number or name."""
        k = section if isinstance(section, int) else self.sections.index(section)
        head = self._headers[k]
        return self.data[head[4]:head[4] + head[5]]

    def _text(self, section, at):
        names = self.content(section)
        return names[at:names.index(b'\0', at)].decode()

    def relocations(self, section):
        """Return type, symbol and addend of what a linker fills in, by its place."""
        found = {}
        if f'.rela{section}' in self.sections:
            for at, info, addend in struct.iter_unpack('<QQq', self.content(f'.rela{section}')):
                found[at] = info & 0xffffffff, self._ordered[info >> 32], addend
        return found

    def note(self):
        """Return the description in the note of AMD's tools."""
        data = self.content('.note')
        owner, size, kind = struct.unpack_from('<III', data)
        assert data[12:12 + owner] == b'AMDGPU\0' and kind == METADATA
        at = 12 + -(-owner // 4) * 4
        found, end = unpacked(data, at)
        assert end == at + size
        return found


def unpacked(data, at):
    """Return what stands at a place in MessagePack, and where it ends."""
    code = data[at]
    at += 1
    if code < 0x80 or code >= 0xe0:
        return (code if code < 0x80 else code - 256), at
    if code in (0xc2, 0xc3):
        return code == 0xc3, at
    if 0xcc <= code <= 0xcf:
        size = 1 << (code - 0xcc)
        return int.from_bytes(data[at:at + size], 'big'), at + size
    wide = {0xd9: 1, 0xda: 2, 0xdb: 4, 0xdc: 2, 0xdd: 4, 0xde: 2, 0xdf: 4}.get(code, 0)
    if wide:
        length = int.from_bytes(data[at:at + wide], 'big')
    else:
        length = code & (0x1f if 0xa0 <= code < 0xc0 else 0x0f)
    at += wide
    if 0xa0 <= code < 0xc0 or 0xd9 <= code <= 0xdb:
        return data[at:at + length].decode(), at + length
    items = []
    mapping = 0x80 <= code < 0x90 or code in (0xde, 0xdf)
    for _ in range(2 * length if mapping else length):
        item, at = unpacked(data, at)
        items.append(item)
    return (dict(zip(items[::2], items[1::2])) if mapping else items), at


class Made(NamedTuple):
    """
    Kernels for AMD.

    :param entries: their names.
    :param listing: what LLVM prints.
    :param data: the object.
    :param words: parameters of each kernel.
    :param stack: bytes of a thread that each needs at least; None: LLVM may take some.
    :param calls: functions that the first one calls.
    :param graph: what they compute, None for a procedure.
    """

    entries: tuple
    listing: str
    data: bytes
    words: tuple
    stack: tuple
    graph: object = None
    calls: tuple = ()


#: What a process of its own does with a module: an object and a text of it.
EMIT = """
import pickle, sys
from rbd_ros.compiler.gpu import targets
text, procedures = pickle.load(sys.stdin.buffer)
pickle.dump([targets.emit(text, targets.GFX, assembly=assembly, procedures=procedures)
             for assembly in (True, False)], sys.stdout.buffer)
"""


def emitted(text, entries, words, stack, procedures='', **about):
    """
    Return a module as an object and as text.

    From another process: that of the tests may make code in haste, with registers on the stack.
    """
    env = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}
    env.pop(VARIABLE, None)
    done = subprocess.run([sys.executable, '-c', EMIT], input=pickle.dumps((text, procedures)),
                          stdout=subprocess.PIPE, env=env, check=True, timeout=patient(120))
    listing, data = pickle.loads(done.stdout)
    return Made(tuple(entries), listing.decode(), data, words, stack, **about)


def small():
    """Return a graph with every kind of arithmetic."""
    def f(x, y):
        return {'z': [sin(x[0]) / y + 0.3 * x[1], sqrt(x[1] * x[1] + 2.0) - cos(x[2])]}
    return trace(f, {'x': 3, 'y': ()}, name='small')


def of_graph(graph, scalar='float64', form=None, stack=0):
    """Return the kernels of a graph: three words for each array, then count, status, memory."""
    made = program(graph, AMD, scalar, form=form)
    words = 3 * (len(graph.inputs) + len(graph.outputs)) + 3
    return emitted(made.text, made.entries, (words,) * len(made.entries),
                   (stack,) * len(made.entries), graph=graph)


def of_rollout():
    """Return a loop over a step."""
    graph = trace(lambda q, v, u: {'q': q + 0.01 * v, 'v': v + 0.01 * (u - sin(q))},
                  {'q': (), 'v': (), 'u': ()}, name='step')
    made = rollout_program(graph, {'q': 'q', 'v': 'v'}, ('u',), AMD)
    return emitted(made.text, made.entries, (3 * 5 + 5,), (0,), graph=graph)


def turn(run: Kernel, angle: Vector, result: Vector, total: Vector) -> None:
    """Add what a kernel gives."""
    run()
    for j in range(len(angle)):
        total[j] += result[j]
        angle[j] = total[j]


def of_procedure():
    """Return a procedure, whose numbers are on the stack while it runs."""
    graph = trace(lambda angle: {'result': [sin(a) for a in angle]}, {'angle': 3}, name='turned')
    bound = compile_graph(graph).bind()
    total = bound.outputs['result'].copy()
    places = Places()
    for array in (bound.inputs['angle'], bound.outputs['result'], total):
        places.add_array(array, Memory.NEAR)
    called = {id(bound): Called(graph, bound.inputs, bound.outputs)}
    given = bound, bound.inputs['angle'], bound.outputs['result'], total
    text, graphs = procedure_program(turn, given, places, called, [], AMD, 128)
    return emitted(graphs, ENTRIES, (6, 3, *(MOVE_WORDS,) * 2), (8 * own_size(places), 0, 0, 0),
                   text, calls=('rbd_kernel_0',))


#: Parameters of the kernels that move numbers to and from the threads of a procedure.
MOVE_WORDS = 7
CASES = {
    'small': lambda: of_graph(small()),
    'small, float': lambda: of_graph(small(), 'float32'),
    'in parts': lambda: of_graph(small(), form=Form(True, True, part=8)),
    'of a robot': lambda: of_graph(
        Dynamics(random_tree(6, 1)).kernel('inverse_dynamics').graph, stack=None),
    'rollout': of_rollout,
    'procedure': of_procedure}


@pytest.fixture(scope='module', params=CASES)
def made(request):
    """Return kernels of one kind."""
    return CASES[request.param]()


def test_header_and_symbols(made):
    """The object is one for this processor, defines its kernels and needs nothing else."""
    elf = Elf(made.data)
    assert made.data[:5] == b'\x7fELF' + bytes([ELF64]) and made.data[7] == HSA
    assert (elf.type, elf.machine, elf.flags & 0xff) == (RELOCATABLE, AMDGPU, GFX90A)
    text, numbers = elf.sections.index('.text'), elf.sections.index('.rodata')
    assert not [name for name, each in elf.symbols.items() if each.section == UNDEFINED]
    kernels = [name for name, each in elf.symbols.items()
               if f'{name}.kd' in elf.symbols]
    assert sorted(kernels) == sorted(made.entries)
    ends = []
    for name in made.entries:
        kernel, descriptor = elf.symbols[name], elf.symbols[f'{name}.kd']
        assert (kernel.kind, kernel.section) == (FUNCTION, text)
        assert kernel.size and kernel.value % 256 == 0      # where the processor can begin
        assert (descriptor.kind, descriptor.section) == (OBJECT, numbers)
        assert descriptor.size == DESCRIPTOR and descriptor.value % 64 == 0
        ends.append((kernel.value, kernel.value + kernel.size))
    ends.sort()
    assert all(before[1] <= after[0] for before, after in zip(ends, ends[1:]))


def test_descriptors(made):
    """Each leads to its own kernel, with room for its parameters and no more stack than due."""
    elf = Elf(made.data)
    links = elf.relocations('.rodata')
    for k, name in enumerate(made.entries):
        at = elf.symbols[f'{name}.kd'].value
        shared, stack, parameters = struct.unpack_from('<III', elf.content('.rodata'), at)
        assert shared == 0 and parameters - 8 * made.words[k] in (0, HIDDEN)
        # the first byte of the code, counted from the descriptor and not from this field
        assert links[at + 16] == (REL64, name, 16)
        if made.stack[k] is not None:
            # besides the numbers of a procedure LLVM may need some, a small kernel none
            assert stack >= made.stack[k] and bool(stack) == bool(made.stack[k])


def test_notes(made):
    """They tell the loader the same: names, blocks, and parameters of eight bytes in order."""
    note = Elf(made.data).note()
    assert note['amdhsa.target'].endswith('--gfx90a')
    assert [each['.name'] for each in note['amdhsa.kernels']] == list(made.entries)
    for each, words, stack in zip(note['amdhsa.kernels'], made.words, made.stack, strict=True):
        assert each['.symbol'] == f'{each[".name"]}.kd'
        assert each['.max_flat_workgroup_size'] == BLOCK and each['.wavefront_size'] == 64
        assert each['.vgpr_spill_count'] == 0 and not each['.uses_dynamic_stack']
        assert each['.sgpr_spill_count'] == 0 or stack is None
        own = [a for a in each['.args'] if not a['.value_kind'].startswith('hidden_')]
        assert [(a['.offset'], a['.size']) for a in own] == [(8 * k, 8) for k in range(words)]
    if made.graph is not None:
        # address, then two steps, of every array
        arrays = len(made.graph.inputs) + len(made.graph.outputs)
        kinds = [a['.value_kind'] for a in note['amdhsa.kernels'][0]['.args'][:3 * arrays]]
        assert kinds == ['global_buffer', 'by_value', 'by_value'] * arrays


def objdump():
    """Return llvm-objdump, the newest of this machine, or skip."""
    found = shutil.which('llvm-objdump')
    versions = sorted(
        (int(each.name.rpartition('-')[2]), str(each))
        for folder in os.get_exec_path() if Path(folder).is_dir()
        for each in Path(folder).glob('llvm-objdump-*') if each.name.rpartition('-')[2].isdigit())
    if versions:
        found = versions[-1][1]
    if found is None:
        pytest.skip('this machine has no llvm-objdump (Debian: apt-get install llvm)')
    listed = subprocess.run([found, '--version'], capture_output=True, text=True, check=False,
                            timeout=patient(60)).stdout
    if 'amdgcn' not in listed:
        pytest.skip(f'this machine has a llvm-objdump without AMD: {found}')
    return found


def disassembled(made, folder):
    """Return the instructions of each kernel, as words, and where each stands."""
    file = folder / 'kernels.o'
    file.write_bytes(made.data)
    done = subprocess.run([objdump(), '-d', str(file)], capture_output=True, text=True,
                          check=True, timeout=patient(120))
    assert 'file format elf64-amdgpu' in done.stdout and not done.stderr
    elf, found = Elf(made.data), {}
    for line in done.stdout.splitlines():
        parts = re.match(r'\s+(\S.*?)\s*// ([0-9A-F]+):', line)
        if parts:
            found[int(parts[2], 16)] = parts[1].split()
    kernels = {}
    for name in made.entries:
        first, size = elf.symbols[name].value, elf.symbols[name].size
        kernels[name] = [words for at, words in sorted(found.items())
                         if first <= at < first + size]
    return kernels, found


def printed(made):
    """Return the instructions of each function as LLVM prints them."""
    found, current = {}, None
    for line in made.listing.splitlines():
        label = re.match(r'(\w+):', line)
        if label and not line.startswith('.'):
            current = found.setdefault(label[1], [])
        elif line.startswith('\t.section'):
            current = None
        elif current is not None and re.match(r'\t[a-z]\w*', line) and 'file' not in line:
            current.append(line.split())
    return found


def arithmetic(instructions):
    """Return the names of operations on floating-point numbers, one after the other."""
    return [re.sub(r'_e(32|64)$', '', words[0]) for words in instructions
            if re.match(r'v_\w+_f(32|64)', words[0])]


def test_disassembly(made, tmp_path):
    """It has the arithmetic that LLVM prints for the text, in that order, and ends as it must."""
    kernels, everything = disassembled(made, tmp_path)
    assert not [words for words in everything.values() if 'unknown' in ' '.join(words)]
    expected = printed(made)
    for name, found in kernels.items():
        assert len(found) == len(expected[name])
        assert arithmetic(found) == arithmetic(expected[name])
        names = [words[0] for words in found]
        assert names[-1] == 's_endpgm' and names.count('s_endpgm') == 1
        calls = [each for each in names if each.startswith(('s_swappc', 's_setpc', 's_call'))]
        assert calls == ['s_swappc_b64'] * (len(made.calls) if name == made.entries[0] else 0)
        stacked = [each for each in names if each.startswith(('scratch_', 'buffer_'))]
        assert bool(stacked) == (name == 'rbd_run')
    links = Elf(made.data).relocations('.text').values()
    assert {name for _, name, _ in links} - {'rbd_constants'} == set(made.calls)


def test_what_a_graph_needs_is_there(tmp_path):
    """Square root, quotient and products are instructions of doubles, or of floats alone."""
    for scalar, own, other in (('float64', 'f64', 'f32'), ('float32', 'f32', 'f64')):
        kernels, _ = disassembled(of_graph(small(), scalar), tmp_path)
        (found,) = kernels.values()
        names = arithmetic(found)
        assert {f'v_mul_{own}', f'v_fma_{own}', f'v_rcp_{own}'} <= set(names)
        assert not [each for each in names if each.endswith(other) and '_cvt_' not in each]
        loads = [words for words in found if words[0].startswith('global_load')]
        stores = [words for words in found if words[0].startswith('global_store')]
        assert len(loads) == 4 and len(stores) == 2        # each number once
