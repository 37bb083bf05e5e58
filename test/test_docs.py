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

"""The documents tell the truth: their code runs, their names and links exist."""

import importlib
import re

from linted import ROOT
import pytest
import rbd_ros

DOCUMENTS = sorted([ROOT / 'README.md', *(ROOT / 'docs').glob('*.md')])
FENCE = re.compile(r'^```(\w*)\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def blocks(path):
    """Yield the Python blocks of a document, each on the lines it has there."""
    text = path.read_text()
    for match in FENCE.finditer(text):
        if match[1] == 'python':
            yield '\n' * text.count('\n', 0, match.start(2)) + match[2]


@pytest.mark.parametrize('path', DOCUMENTS, ids=lambda path: path.name)
def test_code_in_documents_runs(path, tmp_path, monkeypatch):
    """The Python blocks of a document run one after the other, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    names = {'__name__': path.stem}
    for block in blocks(path):
        exec(compile(block, str(path), 'exec'), names)


@pytest.mark.parametrize('path', DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path):
    """Links to files name files that exist."""
    for target in re.findall(r'\]\(([^)#:]+)\)', FENCE.sub('', path.read_text())):
        assert (path.parent / target).exists(), target


def found(name):
    """Return whether a dotted name is a public name, or one of a module of the package."""
    parts = name.split('(')[0].split('.')
    try:
        holder = rbd_ros if hasattr(rbd_ros, parts[0]) else importlib.import_module('rbd_ros')
        for k, part in enumerate(parts):
            if not hasattr(holder, part):
                importlib.import_module('.'.join(['rbd_ros', *parts[:k + 1]]))
            holder = getattr(holder, part)
    except ImportError:
        return False
    return True


def test_the_map_to_the_book_names_what_exists():
    """Every name in the columns "call" and "source" of the map can be looked up."""
    text = (ROOT / 'docs' / 'book_map.md').read_text()
    rows = [line for line in text.splitlines() if line.startswith('|')]
    names = [name for row in rows for name in re.findall(r'`([A-Za-z_][\w.]*)', row)
             if '.' in name or name[0].isupper() or name == 'joints']
    assert len(names) > 70
    assert not [name for name in names if not found(name)]


def test_the_map_to_the_book_has_every_method():
    """Every public method of Dynamics that computes something of the book is in the map."""
    text = (ROOT / 'docs' / 'book_map.md').read_text()
    other = {'bind', 'c_source', 'compile', 'gravity_vector', 'handle', 'kernel', 'set_time'}
    for name in dir(rbd_ros.Dynamics):
        if not name.startswith('_') and name not in other:
            assert f'`Dynamics.{name}' in text, name
    api = (ROOT / 'docs' / 'python_api.md').read_text()
    assert not [name for name in dir(rbd_ros.Dynamics)
                if not name.startswith('_') and name not in api]


def test_public_names_are_all_there():
    """What the package lists as public exists, and every error of the family is among it."""
    assert not [name for name in rbd_ros.__all__ if not hasattr(rbd_ros, name)]
    family = {name for name, value in vars(rbd_ros.errors).items()
              if isinstance(value, type) and issubclass(value, (rbd_ros.RbdError, Warning))}
    assert family <= set(rbd_ros.__all__)
