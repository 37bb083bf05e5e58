# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Machine code of procedures on disk: found without translating them, and never that of others."""

from __future__ import annotations

import importlib
from pathlib import Path
import sys
import threading

import numpy as np
import pytest
from rbd_ros.compiler.language import reductions
from rbd_ros.compiler.language.dependencies import dependencies
from rbd_ros.compiler.language.statements import read
from rbd_ros.compiler.native import apart, cache, gate, native_procedure, target as target_module
from rbd_ros.compiler.native.native_procedure import CompiledProcedure, prepare
from rbd_ros.compiler.native.procedure_text import translate
from rbd_ros.control.step.step import step

_NUMBERS = """\
import enum

GAIN = 2.0
COUNT = 3


class Kind(enum.IntEnum):
    HOLD = 4
    MOVE = 5


class Bounds:
    MOST = 6.0
"""
_LAYOUTS = """\
from __future__ import annotations

from typing import NamedTuple

from rbd_ros.compiler.procedure import Vector
from rbd_ros.compiler.records import field, group, Record


class Inner(Record):
    a: float = field('', '', 'first')
    b: float = field('', '', 'second')
    on: bool = field('', '', 'third')

    def shrink(self, by: float = 2.0) -> None:
        self.a -= by


class State(Record):
    gain: float = field('', '', 'gain')
    load: Vector = field('2', '', 'load')
    inner: Inner = group(Inner)


class Arrays(NamedTuple):
    x: Vector
    y: Vector
"""
_DEEPER = """\
from __future__ import annotations

import numbers_of_test
from numbers_of_test import COUNT


def deepest(x: float) -> float:
    total, one = 0.0, 1
    bound: float = one
    for _ in range(COUNT):
        total += x * numbers_of_test.GAIN
    return min(total, bound * one * numbers_of_test.Bounds.MOST)


def deeper(x: float) -> float:
    return deepest(x) + 1.0
"""
_ENTRY = """\
from __future__ import annotations

from deeper_of_test import deeper
import layouts_of_test
from layouts_of_test import Arrays
from numbers_of_test import Kind

SHARE = 0.5


def entry(x: layouts_of_test.State, given: Arrays) -> None:
    x.gain = SHARE * deeper(x.inner.b)
    x.inner.reset()
    x.inner.shrink()
    x.inner.on = x.inner.on
    given.y[0] = given.x[0] if x.load[1] > Kind.HOLD else x.inner.a
"""
_FILES = {'numbers_of_test': _NUMBERS, 'layouts_of_test': _LAYOUTS, 'deeper_of_test': _DEEPER,
          'entry_of_test': _ENTRY}
#: What is altered: file, text, its replacement.
_CHANGES = {
    'a constant of the module': ('entry_of_test', '0.5', '0.25'),
    'the type of a constant': ('numbers_of_test', 'GAIN = 2.0', 'GAIN = 2'),
    'a constant that is imported by name': ('numbers_of_test', 'COUNT = 3', 'COUNT = 4'),
    'a constant of an imported module': ('numbers_of_test', 'GAIN = 2.0', 'GAIN = 3.0'),
    'a constant of a class': ('numbers_of_test', '6.0', '7.0'),
    'a member of an enumeration': ('numbers_of_test', 'HOLD = 4', 'HOLD = 7'),
    'a function that is called by a called one': ('deeper_of_test', 'x * num', 'x + num'),
    'a type that byte code does not have': ('deeper_of_test', 'bound: float', 'bound: int'),
    'the order of fields': ('layouts_of_test', "a: float = field('', '', 'first')\n    b",
                            "b: float = field('', '', 'first')\n    a"),
    'another field before': ('layouts_of_test', '    gain:', "    new: float = field('', "
                             "'', 'new')\n    gain:"),
    'the axes of a field': ('layouts_of_test', "load: Vector = field('2', '', 'load')",
                            "load: Vector = field('2', '', 'load')\n"
                            "    more: Vector = field('3', '', 'more')"),
    'a method of a record inside': ('layouts_of_test', 'self.a -= by', 'self.a += by'),
    'a default': ('layouts_of_test', 'by: float = 2.0', 'by: float = 3.0'),
    'an initial value': ('layouts_of_test', "'second')", "'second', 1.0)"),
    'the type of a number': ('layouts_of_test', 'on: bool', 'on: int'),
    'the order of a named tuple': ('layouts_of_test', 'x: Vector\n    y', 'y: Vector\n    x'),
}
#: These do not change the translation, and may change the key.
_SAME = ('the axes of a field', 'the type of a constant')


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return what writes files, and imports the entry that they hold."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, 'dont_write_bytecode', True)

    def make(**changed: str):
        for name, text in {**_FILES, **changed}.items():
            (tmp_path / f'{name}.py').write_text(text)
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module('entry_of_test').entry
    yield make
    for name in _FILES:
        sys.modules.pop(name, None)


@pytest.mark.parametrize('change', _CHANGES)
def test_every_change_of_a_source_changes_the_key(imported, change):
    """And the same sources give the same key again."""
    file, old, new = _CHANGES[change]
    text, key = translate(imported()), dependencies(imported())
    assert key == dependencies(imported())
    assert _FILES[file].count(old) == 1
    other = imported(**{file: _FILES[file].replace(old, new)})
    assert dependencies(other) != key
    assert change in _SAME or translate(other) != text


def test_what_is_altered_in_memory_changes_the_key(imported, monkeypatch):
    """Files do not say it: a constant that a program sets, and a function that it replaces."""
    entry = imported()
    keys = [dependencies(entry)]
    deeper, numbers = (sys.modules[name] for name in ('deeper_of_test', 'numbers_of_test'))
    monkeypatch.setattr(numbers, 'GAIN', 8.0)
    keys.append(dependencies(entry))
    monkeypatch.setattr(deeper, 'COUNT', 8)
    keys.append(dependencies(entry))
    monkeypatch.setitem(entry.__globals__, 'deeper', deeper.deepest)
    keys.append(dependencies(entry))
    assert all(a != b for k, a in enumerate(keys) for b in keys[:k])


def test_a_file_that_changed_after_its_import_has_a_key_of_its_own(imported, tmp_path):
    """What another process made of the new file is not taken for what was imported."""
    changed = _DEEPER.replace('x * num', 'x + num')
    new = dependencies(imported(deeper_of_test=changed))
    entry = imported()
    (tmp_path / 'deeper_of_test.py').write_text(changed)
    assert dependencies(entry) != new


def test_all_that_is_read_is_in_the_key():
    """Every function and every record of the controller."""
    key = '\n'.join(dependencies(step))
    for each in read(step):
        if each.function.__code__.co_filename == reductions.__file__:
            continue        # a loop in the source of another one
        assert f'{each.function.__module__}.{each.function.__qualname__} ' in key
        for _, kind in each.parameters:
            if not isinstance(kind, str):
                assert f'{kind.type.__module__}.{kind.type.__qualname__} ' in key


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where machine code is kept."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / 'disk'))
    return tmp_path / 'disk'


def refuse(*_: object) -> None:
    """Be what must not be called."""
    raise AssertionError('it was translated again')


def run(entry: object) -> None:
    """Run the procedure of the files."""
    layouts = sys.modules['layouts_of_test']
    x, given = layouts.State({}), layouts.Arrays(np.array([9.0]), np.zeros(1))
    x.inner.b, x.load[1] = 0.5, 5.0
    CompiledProcedure(entry).bind([x, given])()
    assert x.gain == 2.0    # 0.5 * (3 * 0.5 * 2 + 1)
    assert given.y[0] == 9.0


def test_what_is_on_disk_is_not_translated(imported, folder, monkeypatch):
    """A second process runs what the first one has made, without reading the source as a tree."""
    entry = imported()
    run(entry)
    monkeypatch.setattr(native_procedure, 'translate', refuse)
    run(entry)
    with pytest.raises(AssertionError, match='translated again'):
        CompiledProcedure(imported(entry_of_test=_ENTRY.replace('0.5', '0.25')))


def prepared(entry: object) -> None:
    """Prepare a procedure, and wait until that has ended."""
    prepare(entry)
    for thread in threading.enumerate():
        if thread.name == 'rbd_ros compile':
            thread.join()


def test_another_process_makes_the_same_code(imported, folder, monkeypatch, tmp_path):
    """And this one finds it; modules of the present folder have no part in it."""
    (tmp_path / 'here').mkdir()
    (tmp_path / 'here' / 'llvmlite.py').write_text('raise SystemExit(1)')
    monkeypatch.chdir(tmp_path / 'here')
    monkeypatch.setattr(apart, 'is_worthwhile', lambda: True)
    entry = imported()
    prepared(entry)
    with monkeypatch.context() as without:
        without.setattr(native_procedure, 'translate', refuse)
        run(entry)
    target, text = target_module.host(), '\n'.join([*gate.table_module(), *translate(entry), ''])
    for passes in target_module.Passes:
        assert apart.emitted(target, text, passes) == target.emit(text, passes=passes)


@pytest.mark.parametrize('program', ['/nobody/has/this', '/bin/false', ''])
def test_without_another_process_this_one_makes_the_code(imported, folder, monkeypatch, program):
    """A Python inside another program may have no executable of its own, or a wrong one."""
    monkeypatch.setattr(sys, 'executable', program)
    entry = imported()
    prepared(entry)
    assert not list(folder.rglob('*.rbd'))
    run(entry)
