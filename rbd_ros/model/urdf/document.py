# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A small tree of XML elements that know their line, read from text that is not trusted.

Document types and entities are refused before they can expand, nothing is fetched, and parts that
do not matter for dynamics (geometry, simulator extensions) are skipped.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from xml.parsers import expat

from rbd_ros.errors import ModelError
from rbd_ros.quoting import one_line

DEEPEST = 100
SKIPPED_TAGS = frozenset({'visual', 'collision', 'collision_checking', 'gazebo', 'material',
                         'sensor', 'self_collision_checking'})


@dataclass
class Element:
    """One XML element: its tag, attributes, text, children and line in the file."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ''
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        """Return the children with a tag."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> Element | None:
        """Return the first child with a tag, or None."""
        return next((child for child in self.children if child.tag == tag), None)

    def __str__(self) -> str:
        """Return how to name this element in a message."""
        name = self.attributes.get('name')
        called = f'{self.tag} "{one_line(name)}"' if name else f'<{self.tag}>'
        return f'{called} (line {self.line})'


class _Reader:
    """Collects elements from the parser's events."""

    def __init__(self, parser: expat.XMLParserType, skipped_tags: Container[str]) -> None:
        self.parser, self.skipped_tags = parser, skipped_tags
        self.root: Element | None = None
        self.open: list[Element] = []
        self.skipped = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if self.skipped + len(self.open) >= DEEPEST:
            raise ModelError(f'line {self.parser.CurrentLineNumber}: elements are nested more '
                             f'than {DEEPEST} deep; this is not a robot description')
        if self.skipped or (self.open and tag in self.skipped_tags):
            self.skipped += 1
            return
        element = Element(tag, attributes, self.parser.CurrentLineNumber)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def end(self, tag: str) -> None:
        if self.skipped:
            self.skipped -= 1
        else:
            self.open.pop()

    def text(self, data: str) -> None:
        if not self.skipped and self.open:
            self.open[-1].text += data

    def refuse(self, name: str, *_: object) -> None:
        raise ModelError(f'line {self.parser.CurrentLineNumber}: document types and entities '
                         f'("{name}") are refused in a robot description; remove the <!DOCTYPE>')


def read_xml(
    data: bytes | str, origin: str, skipped_tags: Container[str] = SKIPPED_TAGS,
) -> Element:
    """
    Return the root element of a document.

    :param data: the text; bytes are decoded as their XML declaration says.
    :param origin: what to call the document in errors.
    :param skipped_tags: tags of elements that are left out, with everything inside.
    :raises ModelError: for text that is not well-formed XML, and any document type or entity.
    """
    encoding = 'utf-8' if isinstance(data, str) else None
    parser = expat.ParserCreate(encoding)
    parser.buffer_text = True
    reader = _Reader(parser, skipped_tags)
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = reader.refuse
    parser.EntityDeclHandler = reader.refuse
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    try:
        parser.Parse(data.encode() if isinstance(data, str) else data, True)
    except (expat.ExpatError, UnicodeError, LookupError) as error:
        begin = data[:200] if isinstance(data, str) else data[:200].decode('utf-8', 'replace')
        hint = '' if begin.lstrip().startswith('<') else (
            '; it does not begin with <: give a URDF or xacro file')
        raise ModelError(f'{origin} is not well-formed XML: {error}{hint}') from None
    if reader.root is None:
        raise ModelError(f'{origin} has no XML element; give the text of a URDF')
    return reader.root
