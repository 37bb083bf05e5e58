# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Numbers in rows of bytes as LLVM assembly text.

See :mod:`rbd_ros.compiler.language.octets` and :mod:`rbd_ros.compiler.language.shared`.
"""

from __future__ import annotations

from rbd_ros.compiler.native.target import pointer

#: Of each number its type among bytes, how many bytes it has, and its type in procedures.
_NUMBERS = {'u8': ('i8', 1, 'i64'), 'u32': ('i32', 4, 'i64'), 'f64': ('i64', 8, 'double'),
            'i64': ('i64', 8, 'i64')}
#: Those whose order of bytes is given.
_TURNED = ('u32', 'f64')


def octet_symbol(name: str) -> str:
    """Return the name of a function in LLVM."""
    return f'@"rbd.{name}"'


def octet_functions() -> list[str]:
    """Return the functions, which LLVM puts in the place of their calls."""
    turned = [_NUMBERS[name][0] for name in _TURNED]
    swaps = [f'declare {of} @llvm.bswap.{of}({of})' for of in turned]
    return [*swaps, *[line for name in _NUMBERS for line in (*_get(name), *_put(name))],
            *_shared()]


def _head(name: str, result: str, more: str, size: int) -> list[str]:
    """Begin a function, which goes on at ``inside`` with ``%byte`` if all bytes are there."""
    byte = pointer('i8')
    return [f'define internal {result} {octet_symbol(name)}({byte} %data, i64 %size, i64 %at'
            f'{more}) alwaysinline nounwind {{',
            '%begun = icmp sge i64 %at, 0', f'%last = sub i64 %size, {size}',
            '%ended = icmp sle i64 %at, %last', '%whole = and i1 %begun, %ended',
            'br i1 %whole, label %inside, label %outside', 'inside:',
            f'%byte = getelementptr i8, {byte} %data, i64 %at']


def _number_head(name: str, result: str, more: str) -> list[str]:
    """Begin a function of a number, whose ``%place`` may begin at any byte."""
    of = name.partition('_')[2]
    number, size, _ = _NUMBERS[of]
    return [*_head(name, result, more + (', i64 %big' if of in _TURNED else ''), size),
            f'%place = bitcast {pointer("i8")} %byte to {pointer(number)}']


def _swapped(name: str) -> list[str]:
    """Turn ``%given`` round if the first byte is the most significant one."""
    number = _NUMBERS[name][0]
    if name not in _TURNED:
        return [f'%found = bitcast {number} %given to {number}']
    return [f'%turned = call {number} @llvm.bswap.{number}({number} %given)',
            '%turn = icmp ne i64 %big, 0',
            f'%found = select i1 %turn, {number} %turned, {number} %given']


def _cast(number: str, of: str, other: str) -> str:
    """Return how a number among bytes becomes one of a procedure, or the reverse."""
    return other if of != 'double' and number != of else 'bitcast'


def _get(name: str) -> list[str]:
    number, _, result = _NUMBERS[name]
    return [*_number_head(f'get_{name}', result, ''),
            f'%given = load {number}, {pointer(number)} %place, align 1', *_swapped(name),
            f'%result = {_cast(number, result, "zext")} {number} %found to {result}',
            f'ret {result} %result', 'outside:',
            f'ret {result} {"0.0" if result == "double" else "0"}', '}']


def _put(name: str) -> list[str]:
    number, _, given = _NUMBERS[name]
    return [*_number_head(f'put_{name}', 'void', f', {given} %value'),
            f'%given = {_cast(number, given, "trunc")} {given} %value to {number}',
            *_swapped(name), f'store {number} %found, {pointer(number)} %place, align 1',
            'br label %outside', 'outside:', 'ret void', '}']


def _shared() -> list[str]:
    """Return the functions of words that threads share: atomic, and ordered for LLVM as well."""
    word = pointer('i64')

    def function(name: str, result: str, more: str, line: str) -> list[str]:
        value = '%result' if result == 'i64' else ''
        return [*_head(name, result, more, 8),
                f'%address = ptrtoint {pointer("i8")} %byte to i64',
                '%beside = or i64 %address, %at', '%odd = and i64 %beside, 7',
                '%even = icmp eq i64 %odd, 0', 'br i1 %even, label %there, label %outside',
                'there:', f'%place = bitcast {pointer("i8")} %byte to {word}', line,
                f'ret {result} {value}', 'outside:', f'ret {result}{" 0" if value else ""}', '}']
    return [
        *function('load_acquire', 'i64', '',
                  f'%result = load atomic i64, {word} %place acquire, align 8'),
        *function('store_release', 'void', ', i64 %value',
                  f'store atomic i64 %value, {word} %place release, align 8'),
        *function('add_acq_rel', 'i64', ', i64 %value',
                  f'%result = atomicrmw add {word} %place, i64 %value acq_rel'),
        *function('exchange_acq_rel', 'i64', ', i64 %value',
                  f'%result = atomicrmw xchg {word} %place, i64 %value acq_rel')]
