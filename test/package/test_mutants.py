# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""``./run mutants`` on a small package: what it says of a fault, and that it leaves nothing."""

from __future__ import annotations

import os
from pathlib import Path
import signal
import subprocess
import sys
import textwrap
import time

from linted import ROOT
from mutants.clock import Clock
from mutants.command import at, draw, Trial
from mutants.copies import Copy
from mutants.faults import differs, places
from mutants.nearness import Suite
import pytest
from rbd_env import progress
from rbd_env.pace import patient

TOTAL, SPARE, SLOW = (f'rbd_ros/{place}' for place in ('sums/add.py:2', 'sums/add.py:6',
                                                       'waits/slow.py:2'))
FILES = {
    'rbd_ros/__init__.py': '',
    'rbd_ros/sums/add.py': """\
        def total(a, b):
            return a + b

        def spare(a, b):
            print('nothing tests this')
            return a * b
        """,
    'rbd_ros/waits/slow.py': """\
        def slow(a, b):
            return a - b
        """,
    'test/sums/test_add.py': """\
        from rbd_ros.sums.add import total

        def test_broken():
            assert total(1, 2) == 4

        def test_total():
            assert total(1, 2) == 3
        """,
    'test/waits/test_slow.py': """\
        from pathlib import Path
        import time
        from rbd_ros.waits.slow import slow

        def test_slow():
            if slow(3, 1) != 2:
                Path({began!r}).touch()
                time.sleep(1e6)
        """}


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a package with tests: one that cannot pass, and one that with a fault does not end."""
    root = tmp_path / 'small'
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(
            textwrap.dedent(text).replace('{began!r}', repr(str(tmp_path / 'began'))))
    (tmp_path / 'tmp').mkdir()
    monkeypatch.setenv('RBD_ROS_FOLDER', str(root / '.run'))
    return root


def start(small: Path, *words: str) -> subprocess.Popen[str]:
    """Start the command on the small package."""
    return subprocess.Popen(
        [sys.executable, '-m', 'mutants', *words], text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, cwd=small,
        env={**os.environ, 'RBD_ROS_ROOT': str(small), 'TMPDIR': str(small.parent / 'tmp'),
             'PYTHONPATH': f'{ROOT / "tools"}:{os.environ.get("PYTHONPATH", "")}'})


def contents(folder: Path) -> dict[Path, bytes]:
    """Return all files in a folder."""
    return {file: file.read_bytes() for file in folder.rglob('*') if file.is_file()}


def test_says_what_was_killed_and_what_survived(small: Path) -> None:
    """A fault that a test finds is killed, another survives; a broken test does not count."""
    before = contents(small)
    process = start(small, '--seed', '3', '--room', 'sums', '--count', '9')
    said, errors = process.communicate()
    lines = said.splitlines()
    assert process.returncode == 1, errors
    assert any(f'killed    {TOTAL} sign, by test/sums/test_add.py::test_total' in line
               for line in lines)
    assert any(f'survived  {SPARE} operator' in line for line in lines)
    assert {'        -    return a + b', '        +    return a - b'} <= set(lines)
    assert 'test_broken does not pass without a fault either' in errors
    assert 'sums           1 killed, 2 survived, 0 timed out, 33 % of those decided' in lines
    assert contents(small) == before and not list((small.parent / 'tmp').iterdir())


def test_says_what_ran_out_of_time(small: Path) -> None:
    """A fault is timed out if its time ends before all tests have passed."""
    process = start(small, '--at', SLOW, '--budget', '1')
    said, errors = process.communicate()
    assert process.returncode == 1, errors
    assert f'1 of 1 timed out {SLOW} sign' in said and '0 killed, 0 survived, 1 timed' in said


def test_a_test_that_does_not_end_kills(small: Path) -> None:
    """A test that does not end because of the fault has found it."""
    copy = Copy(small, small.parent / 'copy', small.parent / 'cache', '')
    copy.make()
    trial = Trial(small, Suite(small), at(small, SLOW, 1), patient(60.0), patient(6.0))
    with progress.Bar('trying', 1, 'faults') as bar:
        trial.run([copy], bar)
    assert [(each.word, each.hung, each.test) for each in trial.verdicts] == [
        ('killed', True, 'test/waits/test_slow.py::test_slow')]


SPIN = 'while True: pass'
SLEEP = 'import time; time.sleep(600)'


@pytest.mark.parametrize('program, least, most', [(SPIN, 0.0, 0.75), (SLEEP, 0.75, 1.0)])
def test_what_waits_for_a_processor_takes_no_time(program: str, least: float,
                                                  most: float) -> None:
    """Of two processes on one processor each takes half of the time; what sleeps takes all."""
    processor = min(os.sched_getaffinity(0))
    both = [subprocess.Popen(
        [sys.executable, '-c', each], start_new_session=True, stdout=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, {processor})) for each in (program, SPIN)]
    try:
        time.sleep(1.0)  # they have started
        clock, begin = Clock(both[0].pid), time.monotonic()
        clock.now()
        while (passed := time.monotonic() - begin) < 4.0:
            found = clock.now()
            time.sleep(0.1)
        assert least * passed < found < most * passed + 1.0
    finally:
        for each in both:
            each.kill()
            each.wait()


def test_what_takes_long_comes_last(small: Path) -> None:
    """Of the files that run together, what is known to take a second comes after all others."""
    (small / 'test' / 'heavy.csv').write_text(
        'test,seconds\ntest/sums/test_add.py::test_broken,2\n')
    copy = Copy(small, small.parent / 'copy', small.parent / 'cache', '')
    copy.make()
    began: list[str] = []
    outcome = copy.run(['test/sums/test_add.py', 'test/waits/test_slow.py'], set(), patient(60.0),
                       patient(60.0), began.append)
    assert [name.partition('::')[2] for name in began] == [
        'test_total', 'test_slow', 'test_broken']
    assert outcome.failed == 'test/sums/test_add.py::test_broken'


def test_an_interrupt_ends_all_of_it(small: Path) -> None:
    """Ctrl-C ends the tests that run and removes the copies."""
    process = start(small, '--at', SLOW)
    end = time.monotonic() + patient(60.0)
    while not (small.parent / 'began').exists() and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=patient(60.0))
    end = time.monotonic() + patient(60.0)
    assert process.returncode == 130 and 'interrupted after 0 of 1 faults' in errors
    assert not list((small.parent / 'tmp').iterdir())
    here = str(small.parent).encode()
    while [entry for entry in Path('/proc').glob('[0-9]*')  # killed, and soon gone
           if int(entry.name) != os.getpid() and here in read(entry / 'cmdline')]:
        assert time.monotonic() < end
        time.sleep(0.05)


def read(file: Path) -> bytes:
    """Return what a file of the system says, nothing where its process has ended."""
    try:
        return file.read_bytes()
    except OSError:
        return b''


@pytest.mark.parametrize('words, expected', [
    ((), 'one of the arguments --seed --at is required'),
    (('--seed', 'x'), '"x" is no whole number, such as 7'),
    (('--seed', '1', '--count', '0'), 'at least 1 is expected'),
    (('--seed', '1', '--room', 'attic'), 'no room "attic" below rbd_ros; there are sums, waits'),
    (('--at', 'rbd_ros/sums/no.py:1'), 'is no line of the package, such as'),
])
def test_bad_arguments_are_answered(small: Path, words: tuple[str, ...], expected: str) -> None:
    """A bad argument is answered with what was expected, and nothing is run."""
    process = start(small, *words)
    _, errors = process.communicate()
    assert process.returncode == 2 and expected in errors


def test_a_seed_always_draws_the_same() -> None:
    """The same seed draws the same faults, more of them the same first; another draws others."""
    few, many = (draw(ROOT, 5, 'wire', count)[0] for count in (6, 12))
    assert len(many) == 12 and few == many[:6]
    assert set(draw(ROOT, 6, 'wire', 12)[0]) != set(many)


SOURCE = b'''\
"""Text of 1 < 2."""
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    NUMBER = 3
TOLD = 7
def one(a: 'list[1]', b=2, *, timeout=3.5):
    """Say 1 + 1."""
    assert a[1] > 0
    if a is not b:
        raise ValueError(f'{a + 1} is more than {TOLD}')
    log.warning('%s', a - 1)
    wait(min(a, -b), timeout=3.0)
    for k in range(4):
        a[k] = a[1:] * 1.0
    return abs(a) <= 2.5 and other(a, b)
'''


def test_faults_are_planted_in_code_alone() -> None:
    """Every kind of fault is found in code, and none in texts, types, checks and logs."""
    found: dict[int, set[str]] = {}
    for fault in places('x.py', SOURCE):
        assert differs(fault, SOURCE)
        found.setdefault(fault.line, set()).add(fault.diff(SOURCE)[1].lstrip('+ '))
    assert found == {
        6: {"def one(a: 'list[1]', b=3, *, timeout=3.5):",
            "def one(a: 'list[1]', b=1, *, timeout=3.5):",
            "def one(a: 'list[1]', b=2, *, timeout=3.85):"},
        9: {'if a is b:'},
        10: {'pass'},
        12: {'pass', 'wait((a), timeout=3.0)', 'wait((-b), timeout=3.0)',
             'wait(min(a, b), timeout=3.0)'},
        13: {'for k in range(5):', 'for k in range(3):'},
        14: {'pass', 'a[k - 1] = a[1:] * 1.0', 'a[k] = a[:] * 1.0', 'a[k] = a[2:] * 1.0',
             'a[k] = a[0:] * 1.0', 'a[k] = a[1:] * 1.1'},
        15: {'return (a) <= 2.5 and other(a, b)', 'return abs(a) < 2.5 and other(a, b)',
             'return abs(a) > 2.5 and other(a, b)', 'return abs(a) <= 2.75 and other(a, b)',
             'return abs(a) <= 2.5 or other(a, b)', 'return abs(a) <= 2.5 and other(b, a)'}}


def test_tests_that_are_near_come_first(small: Path) -> None:
    """Those of the room, then those that name what is at fault; at last who never imports it."""
    for name, text in {
            'rigs/adder.py': 'from rbd_ros.sums import add\n',
            'other/test_deep.py': 'def test_it():\n    from adder import add\n',
            'other/test_named.py': 'import adder  # total\n',
            'other/test_types.py': 'from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n'
                                   '    import rbd_ros.sums.add\n',
            'launch/test_graph.py': "MODULE = 'rbd_ros.sums.add'\n"}.items():
        (small / 'test' / name).parent.mkdir(exist_ok=True)
        (small / 'test' / name).write_text(text)
    fault = at(small, TOTAL, 1)[0]
    found = {launch: [(test.stem, sees) for test, sees in Suite(small, launch).order(fault)]
             for launch in (False, True)}
    near = [('test_add', True), ('test_named', True), ('test_deep', True)]
    assert found[False] == [*near, ('test_types', False), ('test_slow', False)]
    assert sorted(found[True]) == sorted([*found[False], ('test_graph', True)])
