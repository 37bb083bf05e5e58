# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The lessons as pages of the site, from the Markdown of which notebooks are made.

A page says how to open its notebook. Answers are folded, as they are there.
"""

import re

from rbd_ros.learn.lessons import lessons, NAMES

PAGE, MARK = 'docs/lessons', '<!-- lessons -->'
FOLDER = 'rbd_ros/learn'
ANSWER = re.compile(r'^```python answer\n.*?\n```$', re.MULTILINE | re.DOTALL)


def listed():
    """Return the list of the lessons, Markdown, with the pages as parts of this one."""
    rows = [f'| [{each.title}](../{FOLDER}/{each.name}.md) | {each.book} | '
            f'`rbd learn {each.name}` |' for each in lessons()]
    pages = [f'../{FOLDER}/{name}' for name in NAMES]
    return '\n'.join(['| lesson | follows | notebook |', '|---|---|---|', *rows, '',
                      '```{toctree}', ':hidden:', '', *pages, '```'])


def folded(text, name):
    """Return a lesson as the site shows it."""
    title, rest = text.split('\n', 1)
    text = f'{title}\n\n`rbd learn {name}` opens this page as a notebook.\n{rest}'
    return ANSWER.sub(lambda block: f'<details><summary>Answer</summary>\n\n{block[0]}\n\n'
                                    f'</details>', text)


def fill(app, docname, source):
    """Put the list in the place of the mark, and fold the answers of a lesson."""
    folder, _, name = docname.rpartition('/')
    if docname == PAGE:
        source[0] = source[0].replace(MARK, listed())
    elif folder == FOLDER:
        source[0] = folded(source[0], name)


def setup(app):
    """Connect it."""
    app.connect('source-read', fill)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
