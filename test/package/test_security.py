# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What SECURITY.md promises: each line names tests that exist, or says that nothing protects."""

from __future__ import annotations

import ast
import re

from linted import ROOT

#: Calls that run what they are given.
PROGRAMS = {'eval', 'os.system', 'os.popen', 'pickle.load', 'pickle.loads', 'marshal.loads',
            'yaml.load', 'yaml.unsafe_load', 'yaml.full_load', 'shelve.open'}


def test_each_line_has_its_test() -> None:
    """A promise without a test is none; what is not protected is said."""
    text, count = (ROOT / 'SECURITY.md').read_text(), 0
    for row in (line for line in text.splitlines() if re.match(r'\| (?!what|---)', line)):
        proof = row.strip('| ').split(' | ')[-1]
        named = re.findall(r'`(test_\w+)`: ((?:`\w+`(?:, )?)+)', proof)
        assert bool(named) != ('**not protected:**' in row), row
        for file, parts in named:
            (path,) = (ROOT / 'test').rglob(f'{file}.py')
            names = re.findall(r'def (test_\w+)', path.read_text())
            for part in re.findall(r'`(\w+)`', parts):
                assert any(part in name for name in names), (file, part)
                count += 1
    assert count > 25


def test_no_source_runs_what_it_reads() -> None:
    """No shell, no pickle, no ``eval``; code is run where a mode, a lesson or we wrote it."""
    for path in (ROOT / 'rbd_ros').rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                assert ast.unparse(node.func) not in PROGRAMS, (path, node.lineno)
                assert not any(each.arg == 'shell' and ast.unparse(each.value) != 'False'
                               for each in node.keywords), (path, node.lineno)
