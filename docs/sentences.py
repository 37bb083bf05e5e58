# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
Write causes and words into the reference, from their tables.

``./run python docs/sentences.py`` renews ``controller_reference.md``; a test fails where it is not
what the tables say.
"""

from pathlib import Path

from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.words import TABLES

PAGE = Path(__file__).parent / 'controller_reference.md'
BEGIN, END = '<!-- causes and words -->', '<!-- end of causes and words -->'


def tables() -> str:
    """Return the tables in Markdown."""
    lines = ['| code | fault | reaction | do |', '|---|---|---|---|']
    lines += [f'| {each.value} | {each.text} | {each.reaction.value} | {each.advice} |'
              for each in Cause]
    for table in TABLES:
        lines += ['', f'{table.__doc__}', '', '| code | sentence |', '|---|---|']
        for word in table:
            text = word.sentence.template.replace('|', '\\|')
            lines.append(f'| {word.value} | `{text}` |')
    return '\n'.join(lines)


if __name__ == '__main__':
    text = PAGE.read_text()
    head, rest = text.split(BEGIN)
    PAGE.write_text(f'{head}{BEGIN}\n{tables()}\n{END}{rest.split(END)[1]}')
