# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The lessons, and how one becomes a Jupyter notebook.

A lesson is a Markdown file of this folder: it is read in a review and on the site as it is, and a
notebook is made of it when it is opened. So there is one source, without outputs, whose
differences can be read. A block ``python`` becomes a cell, ``python answer`` a cell whose source
is folded, ``math`` a displayed formula.
"""

from __future__ import annotations

from importlib.resources import files
import json
import re
from typing import Any, NamedTuple

from rbd_ros.errors import UnknownName

__all__ = ['Lesson', 'lesson', 'lessons', 'notebook']

#: In the order in which they build on each other.
NAMES = ('rnea', 'crba', 'aba', 'operational_space', 'closed_loops', 'contact', 'identification')
_BLOCK = re.compile(r'^```python( answer)?\n(.*?)\n```$', re.MULTILINE | re.DOTALL)
_FORMULA = re.compile(r'^```math\n(.*?)\n```$', re.MULTILINE | re.DOTALL)


class Lesson(NamedTuple):
    """
    A lesson.

    :param name: by which it is opened.
    :param title: its heading.
    :param book: what it follows, the line below the heading.
    :param text: Markdown.
    """

    name: str
    title: str
    book: str
    text: str


def lesson(name: str) -> Lesson:
    """
    Return a lesson.

    :raises UnknownName: if there is none of that name; lists those that there are.
    """
    if name not in NAMES:
        raise UnknownName('lesson', name, NAMES)
    text = (files('rbd_ros.learn') / f'{name}.md').read_text(encoding='utf-8')
    title, _, book, *_ = text.splitlines()
    return Lesson(name, title.removeprefix('# '), book, text)


def lessons() -> list[Lesson]:
    """Return all lessons in their order."""
    return [lesson(name) for name in NAMES]


def notebook(text: str) -> str:
    """
    Return a notebook (nbformat 4.5) without outputs.

    :param text: of a lesson, Markdown.
    """
    cells: list[dict[str, Any]] = []

    def add(kind: str, source: str, **more: Any) -> None:
        if source:
            cells.append({'cell_type': kind, 'id': f'cell-{len(cells)}', 'metadata': {},
                          'source': source.splitlines(keepends=True), **more})
    end = 0
    for block in _BLOCK.finditer(text):
        add('markdown', _FORMULA.sub(r'$$\1$$', text[end:block.start()]).strip())
        folded = {'metadata': {'jupyter': {'source_hidden': True}}} if block[1] else {}
        add('code', block[2], execution_count=None, outputs=[], **folded)
        end = block.end()
    add('markdown', _FORMULA.sub(r'$$\1$$', text[end:]).strip())
    return json.dumps({
        'cells': cells, 'nbformat': 4, 'nbformat_minor': 5, 'metadata': {
            'kernelspec': {'display_name': 'Python 3', 'language': 'python', 'name': 'python3'},
            'language_info': {'name': 'python'}}}, indent=1, ensure_ascii=False) + '\n'
