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
