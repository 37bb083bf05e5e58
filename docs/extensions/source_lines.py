# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Links from the maps to the book to the lines that compute, found when the pages are built.

In a table of these pages, a name of the package leads to where it is defined, a public one to the
reference. The number of an equation leads to the line that has it at its end, in one of the files
that its row names. The files themselves become pages of the site, with an anchor at each line.
"""

from functools import cache
from html import escape
import importlib
import inspect
from pathlib import Path
import re

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
import rbd_ros

PAGES = ('docs/book_map', 'docs/equation_index')
ROOT = Path(__file__).parents[2]
#: Where the files are, as seen from the pages.
FOLDER = '../source'
_NAME = re.compile(r'`([A-Za-z_][\w.]*)`')
#: An equation such as 5.14, or several such as 5.14-5.20, but no section and no table.
_NUMBER = re.compile(r'(?<![\d.§-])(?<!Table )(?<!Tables )(?<!Ex )(?<!Fig )(\d{1,2})\.(\d{1,2})'
                     r'(?:\)?[-\u2013]\(?(?:\1\.)?(\d{1,2})\)?)?(?![\d.])')
_MARK = re.compile(r'# +(\d+\.\d+(?:(?:, | and | to )\d+\.\d+)*)\s*$')


@cache
def marks(file):
    """Return the lines of a file that compute equations, by number."""
    found = {}
    for line, text in enumerate((ROOT / file).read_text().splitlines(), 1):
        match = _MARK.search(text)
        for number in re.findall(r'\d+\.\d+', match[1]) if match else ():
            found.setdefault(number, line)
    return found


@cache
def place(name):
    """Return file and line of what a dotted name of the package stands for; None: of nothing."""
    thing, parts = rbd_ros, name.split('.')
    for k, part in enumerate(parts):
        try:
            if not hasattr(thing, part):
                importlib.import_module('.'.join(['rbd_ros', *parts[:k + 1]]))
            thing = getattr(thing, part)
        except (ImportError, AttributeError):
            return None
    thing = inspect.unwrap(thing.fget if isinstance(thing, property) else thing)
    try:
        file = Path(inspect.getsourcefile(thing)).relative_to(Path(rbd_ros.__file__).parents[1])
        line = 1 if inspect.ismodule(thing) else inspect.getsourcelines(thing)[1]
    except (TypeError, OSError, ValueError):    # a value, or not of this package
        return None
    return str(file), line


def link(text, file, line):
    """Return a link to a line."""
    target = f'{FOLDER}/{file.removesuffix(".py")}.html#L-{line}'
    return f'<a href="{target}">{text}</a>'


def linked_row(row):
    """Return a row of a table with its links, and the files that they lead to."""
    names = {name: place(name) for name in _NAME.findall(row)}
    files = list(dict.fromkeys(found[0] for found in names.values() if found))
    used = set()

    def name(match):
        found, first = names[match[1]], match[1].partition('.')[0]
        text = f'<code>{escape(match[1])}</code>'
        if first in rbd_ros.__all__:
            return f'<a href="api.html#rbd_ros.{match[1]}">{text}</a>' if found else match[0]
        if found is None:
            return match[0]
        used.add(found[0])
        return link(text, *found)

    def number(match):
        first, last = int(match[2]), int(match[3] or match[2])
        inner = [f'{match[1]}.{k}' for k in range(first, last + 1)]
        places = {text: file for file in files[::-1] for text in inner if text in marks(file)}
        used.update(places.values())
        found = [link(text, places[text], marks(places[text])[text])
                 for text in inner if text in places]
        if match[3] is None:
            return found[0] if found else match[0]
        return match[0] + (f' [{", ".join(found)}]' if found else '')
    return _NAME.sub(name, _NUMBER.sub(number, row)), used


@cache
def linked(text):
    """Return a page with links in its tables, and the files that they lead to."""
    lines, files = [], set()
    for line in text.splitlines():
        if line.startswith('| ') and not line.startswith(('| question', '| topic', '| id ')):
            line, used = linked_row(line)
            files |= used
        lines.append(line)
    return '\n'.join(lines) + '\n', files


def fill(app, docname, source):
    """Add the links."""
    if docname in PAGES and app.builder.format == 'html':
        source[0] = linked(source[0])[0]


def file_pages(app):
    """Return the files that are linked, as pages."""
    files = set()
    for page in filter(app.env.found_docs.__contains__, PAGES):
        files |= linked((ROOT / f'{page}.md').read_text())[1]
    return [source_page(file) for file in sorted(files)]


def source_page(file):
    """Return a file as a page: its name, what is on it, and its template."""
    form = HtmlFormatter(linenos='inline', lineanchors='L', anchorlinenos=True)
    body = highlight((ROOT / file).read_text(), PythonLexer(), form)
    name = f'{FOLDER.removeprefix("../")}/{file.removesuffix(".py")}'
    return name, {'title': file, 'body': f'<h1>{file}</h1>{body}'}, 'page.html'


def always(app, env, added, changed, removed):
    """Read the maps anew whenever pages are built: lines move without them."""
    return [page for page in PAGES if page in env.found_docs]


def setup(app):
    """Connect it."""
    app.connect('source-read', fill)
    app.connect('html-collect-pages', file_pages)
    app.connect('env-get-outdated', always)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
