# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Numbers in rows of bytes as C99, see :mod:`rbd_ros.compiler.language.octets`."""

from __future__ import annotations

_DATA = 'uint8_t *data, int64_t size, int64_t at'
_INSIDE = 'at < 0 || at > size - {}'
#: Place of the byte of a number of so many that counts 256 to the power of ``k``.
_PLACE = 'at + (big != 0 ? {} - k : k)'


def _get(octets: int) -> list[str]:
    return [f'    if ({_INSIDE.format(octets)}) {{ return 0; }}',
            f'    for (k = {octets - 1}; k >= 0; --k) {{ bits = bits << 8 | '
            f'data[{_PLACE.format(octets - 1)}]; }}']


def _put(octets: int) -> list[str]:
    return [f'    for (k = 0; k < {octets}; ++k) {{',
            f'        data[{_PLACE.format(octets - 1)}] = (uint8_t)(bits >> 8 * k & 0xff);',
            '    }']


#: Functions by name: type, parameters and lines. A union is how C99 looks at the bits of a double.
OCTET_HELPERS = {
    'get_u8': ('int64_t', f'const {_DATA}', [
        f'    return {_INSIDE.format(1)} ? 0 : data[at];']),
    'get_u32': ('int64_t', f'const {_DATA}, int64_t big', [
        '    uint32_t bits = 0;', '    int k;', *_get(4), '    return (int64_t)bits;']),
    'get_f64': ('double', f'const {_DATA}, int64_t big', [
        '    union { uint64_t bits; double number; } both;', '    uint64_t bits = 0;',
        '    int k;', *_get(8), '    both.bits = bits;', '    return both.number;']),
    'get_i64': ('int64_t', f'const {_DATA}', [
        '    union { int64_t number; uint8_t octets[8]; } both;', '    int k;',
        f'    if ({_INSIDE.format(8)}) {{ return 0; }}',
        '    for (k = 0; k < 8; ++k) { both.octets[k] = data[at + k]; }',
        '    return both.number;']),
    'put_i64': ('void', f'{_DATA}, int64_t value', [
        '    union { int64_t number; uint8_t octets[8]; } both;', '    int k;',
        f'    if ({_INSIDE.format(8)}) {{ return; }}', '    both.number = value;',
        '    for (k = 0; k < 8; ++k) { data[at + k] = both.octets[k]; }']),
    'put_u8': ('void', f'{_DATA}, int64_t value', [
        f'    if (!({_INSIDE.format(1)})) {{ data[at] = (uint8_t)((uint64_t)value & 0xff); }}']),
    'put_u32': ('void', f'{_DATA}, int64_t value, int64_t big', [
        '    const uint64_t bits = (uint64_t)value;', '    int k;',
        f'    if ({_INSIDE.format(4)}) {{ return; }}', *_put(4)]),
    'put_f64': ('void', f'{_DATA}, double value, int64_t big', [
        '    union { uint64_t bits; double number; } both;', '    uint64_t bits;', '    int k;',
        f'    if ({_INSIDE.format(8)}) {{ return; }}', '    both.number = value;',
        '    bits = both.bits;', *_put(8)]),
}
