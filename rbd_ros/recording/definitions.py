# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Message definitions as text, of the fields that message classes tell of.

Files with such text are opened by programs that have never heard of a type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import re

from rbd_ros.errors import RbdError

__all__ = ['definition', 'short']

#: Names of single values in IDL, and in a .msg file.
_VALUES = {'double': 'float64', 'float': 'float32', 'boolean': 'bool', 'octet': 'byte',
           **{name: name for name in (
               'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64', 'char',
               'string', 'wstring')}}
_SEPARATOR = 80 * '='

#: Types of the fields of a message by name, as message classes tell them.
Fields = Callable[[str], Mapping[str, str]]


def definition(kind: str, fields: Fields) -> str:
    """
    Return the definition of a message and of all messages in it, as ``ros2msg``.

    :param kind: such as ``sensor_msgs/msg/JointState``.
    :param fields: returns those of a message.
    """
    parts: list[str] = []
    seen, waiting = {short(kind)}, [short(kind)]
    while waiting:
        name = waiting.pop(0)
        lines = []
        for field, text in fields(name).items():
            inner, written = _type(text)
            lines.append(f'{written} {field}')
            if '/' in inner and inner not in seen:
                seen.add(inner)
                waiting.append(inner)
        body = '\n'.join(lines)
        parts.append(f'MSG: {name}\n{body}' if parts else body)
    return f'\n{_SEPARATOR}\n'.join(parts) + '\n'


def short(kind: str) -> str:
    """Return the name of a type without the folder in the middle, as definitions have it."""
    return kind.replace('/msg/', '/')


def _type(text: str) -> tuple[str, str]:
    """Return the type of one element, and how a .msg file writes the whole."""
    if match := re.fullmatch(r'sequence<(.+?)(?:, (\d+))?>', text):
        inner, written = _type(match[1])
        return inner, f'{written}[<={match[2]}]' if match[2] else f'{written}[]'
    if match := re.fullmatch(r'(.+)\[(\d+)\]', text):
        inner, written = _type(match[1])
        return inner, f'{written}[{match[2]}]'
    if match := re.fullmatch(r'(w?string)<(\d+)>', text):
        return match[1], f'{match[1]}<={match[2]}'
    if text not in _VALUES and '/' not in text:
        raise RbdError(f'a field of type {text} cannot be described in a recording')
    name = _VALUES.get(text, short(text))
    return name, name
