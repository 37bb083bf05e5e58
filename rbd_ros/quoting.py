# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Texts that others wrote, as data in the languages that this package writes.

The names in a URDF, of files and of parameters may hold any character. Each language has one
function here that quotes them, and nothing that another has written gets into its text otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
import json
import re

__all__ = ['c_text', 'filled', 'in_comment', 'js_value', 'markdown_code', 'markdown_text',
           'markup_text', 'one_line', 'yaml_text']

#: What ends or begins a comment, joins a line to the next one, or ends the script in a page that
#: a comment of JavaScript is in; ??/ is a backslash for C99.
_OF_COMMENTS = re.compile(r'(?<=\*)(?=/)|(?<=/)(?=\*)|(?<=\?)(?=\?/)|(?<=<)(?=[/!])|\\(?=\s*$)')
#: Four of them at the begin of a line of Markdown are a block of code.
_INDENT = re.compile(r'^\s+')
#: What Markdown takes for more wherever it stands, and what it does at the begin of a line.
_MARK, _BEGIN = re.compile(r'[\\`*_[\]#~|]'), re.compile(r'^(\s*\d*)([-+=:.)])')
#: What a page makes a link of, wherever it stands: an address may not be in one piece.
_LINK = re.compile(r'(?<=:)(?=//)|(?<=www)(?=\.)|(?<=@)', re.IGNORECASE)


def one_line(text: str, *, ends: str = '') -> str:
    """
    Return a text for a terminal, with control characters and ends of lines as numbers.

    :param ends: what stays, as the ends of lines in a text of ours.
    """
    return ''.join(c if c.isprintable() or c in ends else f'<U+{ord(c):04X}>' for c in text)


def in_comment(text: str) -> str:
    """Return a text for a comment of C, C++, JavaScript, CMake, make or YAML."""
    return _OF_COMMENTS.sub(' ', one_line(text))


def c_text(text: str) -> str:
    """Return a string of C and C++; a printable character beyond ASCII stays what it is."""
    return '"' + ''.join(
        f'\\{c}' if c in '"\\?' else c if c.isprintable() else
        ''.join(f'\\{byte:03o}' for byte in c.encode('utf-8', 'surrogatepass'))
        for c in text) + '"'


def js_value(value: object) -> str:
    """Return a value of JavaScript, of what JSON has; it may stand in a page."""
    return json.dumps(value).replace('<', '\\u003c')


def yaml_text(text: str) -> str:
    """Return a string of YAML."""
    return '"' + ''.join(
        f'\\{c}' if c in '"\\' else c if c.isprintable() else
        f'\\U{ord(c):08x}' if ord(c) > 0xffff else f'\\u{ord(c):04x}' for c in text) + '"'


def markup_text(text: str) -> str:
    """Return a text of HTML or XML in one line, within an attribute too."""
    return escape(''.join(c if c.isprintable() else ' ' for c in text))


def markdown_text(text: str) -> str:
    """Return a text of Markdown, in one line: neither a mark, an element nor a link."""
    line = _INDENT.sub(' ', ''.join(c if c.isprintable() else ' ' for c in text))
    marked = _MARK.sub(r'\\\g<0>', escape(_LINK.sub('\u200b', line), quote=False))
    return _BEGIN.sub(r'\1\\\2', marked)


def markdown_code(text: str) -> str:
    """Return a text of Markdown as code, in which only its own sign means something."""
    return '`' + ''.join(c if c.isprintable() else ' ' for c in text).replace('`', "'") + '`'


def filled(template: str, names: Mapping[str, str]) -> str:
    """
    Return a template with each ``@name@`` replaced, once: a value may look like a name.

    :param template: text of this package.
    :param names: what stands for each, as its language has it.
    """
    return re.sub('@(\\w+)@', lambda found: names.get(found[1], found[0]), template)
