# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A WebAssembly module from an object file of LLVM, without a linker.

LLVM writes an object whose parts refer to each other by the numbers that they have in it; what
makes it no module is that it exports nothing, and that it asks for its memory and the pointer to
its stack. So both are given here, with the same numbers, and functions are exported by name. The
formats are those of the WebAssembly core specification and of its convention for linking.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

#: Numbers of sections.
_CUSTOM, _IMPORT, _MEMORY, _GLOBAL, _EXPORT, _DATA = 0, 2, 5, 6, 7, 11
#: Kinds of what is imported and exported.
_FUNCTION, _TABLE, _STORE, _VARIABLE = 0, 1, 2, 3
#: Of the section "linking": its version, the table of symbols, and their marks.
_VERSION, _SYMBOLS, _UNDEFINED, _NAMED, _LOCAL = 2, 8, 0x10, 0x40, 0x2
_PREAMBLE = b'\0asm\1\0\0\0'
_I32, _MUTABLE, _CONSTANT, _END = 0x7f, 1, 0x41, 0x0b
PAGE = 65536


class _Reader:
    """Reads numbers and names one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self) -> int:
        """Return an unsigned number, seven bits to a byte."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    def name(self) -> str:
        return self.take(self.number()).decode()

    def sections(self) -> Iterator[tuple[int, bytes]]:
        """Return number and content of what follows, to the end."""
        while self.at < len(self.data):
            number = self.byte()
            yield number, self.take(self.number())


def _number(value: int) -> bytes:
    """Return an unsigned number as bytes."""
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes([*found, value])


def _name(text: str) -> bytes:
    return _number(len(text.encode())) + text.encode()


def _signed(value: int) -> bytes:
    """Return a number that is not negative as bytes of a signed one."""
    found = bytearray()
    while value >= 0x40:
        found.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes([*found, value])


class Memory(NamedTuple):
    """
    What a module has of memory.

    :param stack: bytes of the stack, which begins at zero and grows down: one that is too small
        leaves the memory, and the call ends with an error, before anything is overwritten.
    :param size: bytes in all.
    """

    stack: int
    size: int


def wasm_module(code: bytes, exports: Sequence[str], memory: Memory) -> bytes:
    """
    Return a module that exports its memory, as ``memory``, and functions.

    :param code: what ``emit_object`` gave for WebAssembly.
    :param exports: names of functions.
    :param memory: how much the module gets.
    :raises ValueError: if the object needs more than memory and a stack.
    """
    reader = _Reader(code)
    if reader.take(len(_PREAMBLE)) != _PREAMBLE:
        raise ValueError('this is no object file of WebAssembly')
    sections = list(reader.sections())
    _check_imports([content for number, content in sections if number == _IMPORT])
    if any(number == _DATA for number, _ in sections):
        raise ValueError('the object has data, which would lie where the stack is')
    functions = _functions(sections)
    missing = [name for name in exports if name not in functions]
    if missing:
        raise ValueError(f'the object has no function {", ".join(missing)} '
                         f'(it has: {", ".join(functions)})')
    own = {number: content for number, content in sections if number not in (_CUSTOM, _IMPORT)}
    pages = -(-memory.size // PAGE)
    own[_MEMORY] = _number(1) + b'\0' + _number(pages)
    own[_GLOBAL] = (_number(1) + bytes([_I32, _MUTABLE, _CONSTANT]) + _signed(memory.stack)
                    + bytes([_END]))
    entries = [_name('memory') + bytes([_STORE]) + _number(0),
               *[_name(name) + bytes([_FUNCTION]) + _number(functions[name]) for name in exports]]
    own[_EXPORT] = _number(len(entries)) + b''.join(entries)
    return _PREAMBLE + b''.join(bytes([number]) + _number(len(content)) + content
                                for number, content in sorted(own.items()))


def _check_imports(contents: Sequence[bytes]) -> None:
    """Refuse an object that needs what a module alone does not have."""
    for content in contents:
        reader = _Reader(content)
        for _ in range(reader.number()):
            reader.name()
            name, kind = reader.name(), reader.byte()
            if kind == _FUNCTION or kind == _VARIABLE and name != '__stack_pointer':
                raise ValueError(f'the object calls {name}, which nobody gives it')
            if kind == _VARIABLE:
                reader.take(2)
                continue
            if kind == _TABLE:
                reader.byte()
            for _ in range(1 + (reader.byte() & 1)):
                reader.number()


def _functions(sections: Sequence[tuple[int, bytes]]) -> Mapping[str, int]:
    """Return the number of each function by its name, from the table of symbols."""
    found: dict[str, int] = {}
    for number, content in sections:
        reader = _Reader(content)
        if number != _CUSTOM or reader.name() != 'linking':
            continue
        if (version := reader.number()) != _VERSION:
            raise ValueError(f'the object has version {version} of its table of symbols, not '
                             f'{_VERSION}: this LLVM is too new')
        for kind, inner in _Reader(reader.take(len(content) - reader.at)).sections():
            if kind == _SYMBOLS:
                found.update(_symbols(_Reader(inner)))
    return found


def _symbols(reader: _Reader) -> Iterator[tuple[str, int]]:
    """Return names and numbers of functions that others may call."""
    for _ in range(reader.number()):
        kind, flags = reader.byte(), reader.number()
        if kind not in (_FUNCTION, _TABLE, _VARIABLE, 2):
            raise ValueError(f'the object has a symbol of kind {kind}, which is not known here')
        index = reader.number()
        if not flags & _UNDEFINED or flags & _NAMED:
            name = reader.name()
            if kind == _FUNCTION and not flags & (_LOCAL | _UNDEFINED):
                yield name, index
