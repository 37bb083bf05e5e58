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

"""Numbers in rows of bytes as LLVM assembly text, see :mod:`rbd_ros.compiler.language.octets`."""

from __future__ import annotations

from rbd_ros.compiler.native.target import pointer

#: Of each number its type among bytes, how many bytes it has, and its type in procedures.
_NUMBERS = {'u8': ('i8', 1, 'i64'), 'u32': ('i32', 4, 'i64'), 'f64': ('i64', 8, 'double')}


def octet_symbol(name: str) -> str:
    """Return the name of a function in LLVM."""
    return f'@"rbd.{name}"'


def octet_functions() -> list[str]:
    """Return the functions, which LLVM puts in the place of their calls."""
    swaps = [f'declare {of} @llvm.bswap.{of}({of})' for of, size, _ in _NUMBERS.values()
             if size > 1]
    return [*swaps, *[line for name in _NUMBERS for line in (*_get(name), *_put(name))]]


def _head(name: str, result: str, more: str) -> list[str]:
    """Begin a function, which goes on at ``inside`` with ``%place`` if all bytes are there."""
    number, size, _ = _NUMBERS[name.partition('_')[2]]
    byte, big = pointer('i8'), ', i64 %big' if size > 1 else ''
    return [f'define internal {result} {octet_symbol(name)}({byte} %data, i64 %size, i64 %at'
            f'{more}{big}) alwaysinline nounwind {{',
            '%begun = icmp sge i64 %at, 0', f'%last = sub i64 %size, {size}',
            '%ended = icmp sle i64 %at, %last', '%whole = and i1 %begun, %ended',
            'br i1 %whole, label %inside, label %outside', 'inside:',
            f'%byte = getelementptr i8, {byte} %data, i64 %at',
            f'%place = bitcast {byte} %byte to {pointer(number)}']


def _swapped(number: str, size: int) -> list[str]:
    """Turn ``%given`` round if the first byte is the most significant one."""
    if size == 1:
        return []
    return [f'%turned = call {number} @llvm.bswap.{number}({number} %given)',
            '%turn = icmp ne i64 %big, 0',
            f'%found = select i1 %turn, {number} %turned, {number} %given']


def _get(name: str) -> list[str]:
    number, size, result = _NUMBERS[name]
    found = '%found' if size > 1 else '%given'
    cast = 'bitcast' if result == 'double' else 'zext'
    return [*_head(f'get_{name}', result, ''),
            f'%given = load {number}, {pointer(number)} %place, align 1',
            *_swapped(number, size), f'%result = {cast} {number} {found} to {result}',
            f'ret {result} %result', 'outside:',
            f'ret {result} {"0.0" if result == "double" else "0"}', '}']


def _put(name: str) -> list[str]:
    number, size, given = _NUMBERS[name]
    found = '%found' if size > 1 else '%given'
    cast = 'bitcast' if given == 'double' else 'trunc'
    return [*_head(f'put_{name}', 'void', f', {given} %value'),
            f'%given = {cast} {given} %value to {number}', *_swapped(number, size),
            f'store {number} {found}, {pointer(number)} %place, align 1',
            'br label %outside', 'outside:', 'ret void', '}']
