# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
The reference of the Python interface, made of the docstrings when the pages are built.

The page docs/api.md has a line for each group of public names, which descriptions replace.
A public name that is in no group is an error.
"""

import re

import rbd_ros

PAGE = 'docs/api'
_MARK = re.compile(r'^<!-- api: (.+) -->$', re.MULTILINE)


def directive(name):
    """Return what lets Sphinx describe a public name."""
    value = getattr(rbd_ros, name)
    if not isinstance(value, type):
        kind = 'function' if callable(value) else 'data'
        return [f'.. auto{kind}:: rbd_ros.{name}']
    options = [] if issubclass(value, Exception) else [
        '   :members:', '   :inherited-members: tuple, dict', '']
    return [f'.. autoclass:: rbd_ros.{name}', *options]


def fill(app, docname, source):
    """Put the descriptions in the place of the marks."""
    if docname != PAGE:
        return
    named = ' '.join(_MARK.findall(source[0])).split()
    if sorted(named) != sorted(rbd_ros.__all__):
        raise ValueError(f'{PAGE}.md names {sorted({*named} ^ {*rbd_ros.__all__})} which is not '
                         'public, not yet there, or twice')

    def filled(match):
        lines = [line for name in match[1].split() for line in (*directive(name), '')]
        return '\n'.join(['```{eval-rst}', *lines, '```'])
    source[0] = _MARK.sub(filled, source[0])


def setup(app):
    """Connect it; only pages of this folder are changed, so that they can be built at once."""
    app.connect('source-read', fill)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
