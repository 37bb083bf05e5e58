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
From a serialized message to a serialized message as machine code: copy, compute, copy.

The parts of a control loop that are the same in each cycle cost little, but as Python they touch
so much memory that a processor which has done something else in between takes ten times as long.
A relay is one built-in function. It checks that a message differs from the expected one only in
its numbers, copies these into the arrays of a kernel, calls the kernel, and returns a new message
with numbers of the results. Anything unexpected gives None; nothing has happened then, except that
the arrays of the kernel hold other numbers. A copier does less: it copies arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import ctypes
from functools import cache
import struct
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rbd_ros.compiler.native import object_layout
from rbd_ros.compiler.native.loader import Code
from rbd_ros.compiler.native.target import host, pointer
from rbd_ros.compiler.native.words import Writer

__all__ = ['Expected', 'Relay', 'can_relay', 'make_copier', 'make_relay']

Array = npt.NDArray[np.float64]
Relay = Callable[[bytes], bytes | None]

#: PyBytesObject: number of bytes, first byte.
_SIZE, _BYTES = 16, 32
_METH_O = 0x0008
#: what the plan of a relay begins with, one word each
_WORDS = ('size', 'type', 'checks', 'gathers', 'copies', 'scatters', 'run', 'usual', 'template',
          'template_size', 'none', 'call', 'incref', 'decref', 'new')
_COPIER = ('moves', 'none', 'incref')


class Expected(NamedTuple):
    """
    What a message must be to be taken.

    :param pattern: a message.
    :param mask: as many bytes, 255 where a message must be equal to it, else 0.
    """

    pattern: bytes
    mask: bytes


class _Plan(np.ndarray):
    """Words of a plan, which keep alive all that they point to."""

    owners: tuple[object, ...]


def can_relay() -> bool:
    """Return whether relays can be made; compiles what all of them share, so ask beforehand."""
    return _code() is not None


def make_relay(expected: Expected, gather: Sequence[tuple[int, Array, int]],
               run: Callable[[], None], usual: Array, template: bytes,
               scatter: Sequence[tuple[Array, int, int]],
               copies: Sequence[tuple[int, int]] = ()) -> Relay | None:
    """
    Return a relay, or None where machine code cannot make one.

    :param expected: messages to take, of eight bytes or more.
    :param gather: place of a double in the message, array and element that it goes to.
    :param run: evaluates the kernel on its arrays.
    :param usual: one element, 1 if the results may be used.
    :param template: the message to return but for its numbers.
    :param scatter: array and element of each double to send, place in the new message.
    :param copies: places of eight bytes in the message, and in the new one, taken over as they
        are.
    """
    code = _code()
    if code is None:
        return None
    form = ctypes.create_string_buffer(template, len(template))
    arrays = [a for _, a, _ in gather] + [a for a, _, _ in scatter] + [usual]
    _check_places(len(expected.pattern), gather, len(template), scatter, copies)
    distinct = {id(array): array for array in arrays}
    _check_arrays([*distinct.values()])
    start = {key: array.ctypes.data for key, array in distinct.items()}
    checks = _masked_words(expected)
    head = {
        'size': len(expected.pattern), 'type': id(bytes), 'checks': len(checks),
        'gathers': len(gather), 'copies': len(copies), 'scatters': len(scatter), 'run': id(run),
        'usual': start[id(usual)], 'template': ctypes.addressof(form),
        'template_size': len(template), 'none': id(None), **_functions()}
    rows: list[tuple[int, ...]] = [
        tuple(head[name] for name in _WORDS), *checks,
        *[(at, start[id(array)] + 8 * k) for at, array, k in gather], *copies,
        *[(start[id(array)] + 8 * k, at) for array, k, at in scatter]]
    plan = _plan(rows, (code, form, run, *arrays))
    return object_layout.make_function(_definition('rbd_relay', _METH_O), plan)


def make_copier(pairs: Sequence[tuple[Array, Array]]) -> Callable[[], None] | None:
    """
    Return what copies arrays into others of their size, or None without machine code.

    :param pairs: source and target; they are copied in this order, element by element.
    """
    code = _code()
    if code is None:
        return None
    _check_arrays([array for pair in pairs for array in pair])
    if any(source.size != target.size for source, target in pairs):
        raise ValueError('a copier needs targets of the sizes of their sources')
    moves = [(start + 8 * k, end + 8 * k) for source, target in pairs
             for start, end in [(source.ctypes.data, target.ctypes.data)]
             for k in range(source.size)]
    head = {'moves': len(moves), 'none': id(None), **_functions()}
    plan = _plan([tuple(head[name] for name in _COPIER), *moves],
                 (code, *[array for pair in pairs for array in pair]))
    return object_layout.make_function(_definition('rbd_copier', object_layout.NOARGS), plan)


def _plan(rows: Sequence[tuple[int, ...]], owners: tuple[object, ...]) -> _Plan:
    plan = np.array([word for row in rows for word in row], np.uint64).view(_Plan)
    plan.owners = owners
    return plan


def _masked_words(expected: Expected) -> list[tuple[int, int, int]]:
    """Return place, value and mask of words that cover all that must be equal."""
    pattern, mask = expected
    size = len(pattern)
    if len(mask) != size or size < 8:
        raise ValueError('a relay needs a mask of the size of its message, eight bytes or more')
    places = [*range(0, size - 7, 8), size - 8]
    words = [(at, struct.unpack_from('<Q', pattern, at)[0], struct.unpack_from('<Q', mask, at)[0])
             for at in places]
    return [(at, value & bits, bits) for at, value, bits in words if bits]


def _check_places(size: int, gather: Sequence[tuple[int, Array, int]], new_size: int,
                  scatter: Sequence[tuple[Array, int, int]],
                  copies: Sequence[tuple[int, int]]) -> None:
    """Refuse places outside messages and arrays: the machine code does not check them."""
    inside = (all(0 <= at <= size - 8 and 0 <= k < a.size for at, a, k in gather)
              and all(0 <= at <= new_size - 8 and 0 <= k < a.size for a, k, at in scatter)
              and all(0 <= a <= size - 8 and 0 <= b <= new_size - 8 for a, b in copies))
    if not inside:
        raise ValueError('a relay needs places within its messages and arrays')


def _check_arrays(arrays: Sequence[Array]) -> None:
    if not all(a.dtype == np.float64 and a.flags.c_contiguous and a.flags.aligned
               and a.flags.writeable for a in arrays):
        raise ValueError('a relay needs contiguous float64 arrays')


@cache
def _functions() -> dict[str, int]:
    """Return the addresses of what is called."""
    names = {'call': 'PyObject_CallNoArgs', 'incref': 'Py_IncRef', 'decref': 'Py_DecRef',
             'new': 'PyBytes_FromStringAndSize'}
    return {key: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
            for key, name in names.items()}


@cache
def _code() -> Code | None:
    """Return the machine code, the same for all relays and copiers of a process."""
    if not object_layout.verified() or not _bytes_verified():
        return None
    try:
        _functions()
        return Code([host().emit('\n'.join([*_relay(), *_copier()]))])
    except (ImportError, AttributeError):  # no llvmlite, or a Python without such functions
        return None


def _bytes_verified() -> bool:
    """Return whether objects of type bytes look as this module says."""
    sample = b'relay of \x00 bytes'
    return (ctypes.c_uint64.from_address(id(sample) + object_layout.TYPE).value == id(bytes)
            and ctypes.c_int64.from_address(id(sample) + _SIZE).value == len(sample)
            and ctypes.string_at(id(sample) + _BYTES, len(sample)) == sample)


@cache
def _definition(name: str, convention: int) -> int:
    code = _code()
    if code is None:
        raise RuntimeError('there is no machine code')
    return code.define(name, name, convention)


def _relay() -> list[str]:
    """Return the function ``rbd_relay``, whose ``self`` is the plan."""
    w = Writer()
    plan = w.load('%self', object_layout.DATA)
    head = {name: w.load(plan, 8 * k) for k, name in enumerate(_WORDS)}
    w.equal(w.load('%message', object_layout.TYPE), head['type'], 'other')
    w.equal(w.load('%message', _SIZE), head['size'], 'other')
    data = w.value(f'add i64 %message, {_BYTES}')

    def check(place: str, value: str, mask: str) -> None:
        word = _word(w, w.value(f'add i64 {data}, {place}'))
        w.equal(w.value(f'and i64 {word}, {mask}'), value, 'other')

    def gather(place: str, target: str) -> None:
        _move(w, w.value(f'add i64 {data}, {place}'), target)

    at = w.value(f'add i64 {plan}, {8 * len(_WORDS)}')
    at = _loop(w, 'check', at, head['checks'], 3, check)
    at = _loop(w, 'gather', at, head['gathers'], 2, gather)
    done = _call(w, head['call'], 'i64', [head['run']])
    w.require(w.value(f'icmp ne i64 {done}, 0'), 'failed')
    _call(w, head['decref'], 'void', [done])
    usual = w.load(head['usual'], 0, 'double')
    w.require(w.value(f'fcmp oeq double {usual}, 1.0'), 'other')
    made = _call(w, head['new'], 'i64', [head['template'], head['template_size']])
    w.require(w.value(f'icmp ne i64 {made}, 0'), 'failed')
    out = w.value(f'add i64 {made}, {_BYTES}')

    def copy(place: str, target: str) -> None:
        _move(w, w.value(f'add i64 {data}, {place}'), w.value(f'add i64 {out}, {target}'))

    def scatter(source: str, target: str) -> None:
        _move(w, source, w.value(f'add i64 {out}, {target}'))

    at = _loop(w, 'copy', at, head['copies'], 2, copy)
    _loop(w, 'scatter', at, head['scatters'], 2, scatter)
    w.lines += [f'ret i64 {made}', 'failed:', 'ret i64 0', 'other:']
    _call(w, head['incref'], 'void', [head['none']])
    return ['define i64 @rbd_relay(i64 %self, i64 %message) nounwind {', 'entry:', *w.lines,
            f'ret i64 {head["none"]}', '}']


def _copier() -> list[str]:
    """Return the function ``rbd_copier``, whose ``self`` is the plan."""
    w = Writer()
    plan = w.load('%self', object_layout.DATA)
    head = {name: w.load(plan, 8 * k) for k, name in enumerate(_COPIER)}
    at = w.value(f'add i64 {plan}, {8 * len(_COPIER)}')
    _loop(w, 'move', at, head['moves'], 2, lambda source, target: _move(w, source, target))
    _call(w, head['incref'], 'void', [head['none']])
    return ['define i64 @rbd_copier(i64 %self, i64 %unused) nounwind {', 'entry:', *w.lines,
            f'ret i64 {head["none"]}', '}']


def _call(w: Writer, address: str, result: str, arguments: Sequence[str]) -> str:
    """Call a function at an address held in a word."""
    kinds = ', '.join('i64' for _ in arguments)
    function = w.value(f'inttoptr i64 {address} to {pointer(f"{result} ({kinds})")}')
    text = f'call {result} {function}({", ".join(f"i64 {a}" for a in arguments)})'
    if result == 'void':
        w.lines.append(text)
        return ''
    return w.value(text)


def _word(w: Writer, address: str) -> str:
    """Load eight bytes from an address that need not be aligned."""
    kind = pointer('i64')
    return w.value(f'load i64, {kind} {w.value(f"inttoptr i64 {address} to {kind}")}, align 1')


def _move(w: Writer, source: str, target: str) -> None:
    """Copy eight bytes from an address to another; neither need be aligned."""
    word, kind = _word(w, source), pointer('i64')
    place = w.value(f'inttoptr i64 {target} to {kind}')
    w.lines.append(f'store i64 {word}, {kind} {place}, align 1')


def _loop(w: Writer, name: str, start: str, count: str, width: int,
          body: Callable[..., None]) -> str:
    """Do something with each group of words from an address on; returns where they end."""
    length = w.value(f'mul i64 {count}, {8 * width}')
    end = w.value(f'add i64 {start}, {length}')
    w.lines += [f'br label %{name}.enter', f'{name}.enter:',
                f'br label %{name}.head', f'{name}.head:',
                f'%{name}.at = phi i64 [ {start}, %{name}.enter ], [ %{name}.next, %{name}.tail ]',
                f'%{name}.more = icmp ult i64 %{name}.at, {end}',
                f'br i1 %{name}.more, label %{name}.body, label %{name}.done', f'{name}.body:']
    body(*[w.load(f'%{name}.at', 8 * k) for k in range(width)])
    w.lines += [f'br label %{name}.tail', f'{name}.tail:',
                f'%{name}.next = add i64 %{name}.at, {8 * width}', f'br label %{name}.head',
                f'{name}.done:']
    return end
