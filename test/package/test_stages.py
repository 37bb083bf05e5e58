# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""``./run test``: which stages there are, what is kept of each test, what the summary says."""

from __future__ import annotations

import json
import os
from pathlib import Path
import subprocess
import sys
import textwrap

import pytest
from rbd_env import stages, testing
from rbd_env.pace import patient
import skips

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def test_named_files_choose_their_stage() -> None:
    """A file named on the command line runs in the stage that it belongs to, and no other."""
    named, options = stages.split_paths(ROOT, ['test/package/test_xml.py', '-k', 'rnea'])
    assert (named, options) == (['test/package/test_xml.py'], ['-k', 'rnea'])
    assert [stage.name for stage in stages.suite(ROOT, named)] == ['linters']
    assert [stage.name for stage in stages.suite(ROOT, ['test/launch'])] == ['launch tests']
    assert [stage.name for stage in stages.suite(ROOT, ['test/browser'])] == ['browser tests']
    assert [stage.name for stage in stages.suite(ROOT, ['test/scale'])] == ['scale tests']
    assert [stage.name for stage in stages.suite(ROOT, [])] \
        == ['linters', 'unit tests', 'launch tests', 'browser tests']
    long = ' or '.join(['a_test_with_a_long_name'] * 20)  # more than a name of a file may have
    assert stages.split_paths(ROOT, ['-k', long]) == ([], ['-k', long])


def test_only_a_whole_stage_is_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processors: two unit tests, three launch tests; the others, and what was named, one."""
    monkeypatch.setattr(os, 'sched_getaffinity', lambda process: {0, 1}, raising=False)
    shared = ['-n', '2', *stages.BY_FILE]
    assert [stage.distribution([]) for stage in stages.suite(ROOT, [])] == [
        [], shared, ['-n', '3', *stages.BY_FILE], []]
    named = stages.suite(ROOT, ['test/model/test_model.py'])
    assert [stage.distribution([]) for stage in named] == [[]]
    unit = stages.suite(ROOT, [])[1]
    assert unit.distribution(['-k', 'not rnea', '-x']) == shared
    for options in (['-k', 'rnea', '-x'], ['-x', '-krnea']):  # to look for it twice takes longer
        assert unit.distribution(options) == []
    for option in ('-s', '--pdb', '--capture=no', '-n0', '--co'):
        assert unit.distribution([option]) == []
    monkeypatch.setattr(os, 'sched_getaffinity', lambda process: {3}, raising=False)
    assert [stage.distribution([]) for stage in stages.suite(ROOT, [])] == [[]] * 4


ENDINGS = {
    'test_a.py': """
        import pytest
        @pytest.mark.parametrize('n', range(20))
        def test_many(n): pass
        def test_wrong(): assert False
        """,
    'test_b.py': """
        import pytest
        def test_good(): pass
        @pytest.fixture
        def broken():
            yield
            raise RuntimeError
        def test_teardown(broken): pass
        def test_left_out(): pytest.skip('this machine has no arm')
        """,
    'test_c.py': """
        import os
        def test_dies(): os._exit(3)
        def test_after(): pass
        """,
    'test_d.py': "import pytest; pytest.importorskip('no_such_module')",
    'test_e.py': 'import no_such_module_either',
}
OUTCOMES = {
    **{f'test_a.py::test_many[{n}]': 'passed' for n in range(20)},
    'test_a.py::test_wrong': 'failed',
    'test_b.py::test_good': 'passed',
    'test_b.py::test_teardown': 'failed',
    'test_b.py::test_left_out': 'skipped',
    'test_c.py::test_dies': 'failed',
    'test_d.py': 'skipped',
    'test_e.py': 'failed',
}


def run_pytest(folder: Path, files: dict[str, str], *options: str) -> tuple[int, dict, str]:
    """Run test modules with our plugin; return the exit code, the kept outcomes and the text."""
    for name, text in files.items():
        (folder / name).write_text(textwrap.dedent(text))
    results = folder / 'results.json'
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', '-p', 'outcomes', '-p', 'xdist', '-c', '/dev/null',
         '--rootdir', str(folder), '-p', 'no:cacheprovider', *options, str(folder)],
        cwd=folder, capture_output=True, text=True, check=False, timeout=patient(240), env={
            **os.environ, 'RBD_ROS_RESULTS': str(results), 'PYTEST_ADDOPTS': '',
            'PYTEST_DISABLE_PLUGIN_AUTOLOAD': '1',  # theirs take most of the time of the start
            'PYTHONPATH': f'{ROOT / "test" / "harness"}:{os.environ.get("PYTHONPATH", "")}'})
    return done.returncode, json.loads(results.read_text()), done.stdout + done.stderr


@pytest.mark.parametrize('workers', [0, 2])
def test_the_record_is_complete(tmp_path: Path, workers: int) -> None:
    """Every test, and every module that has none to offer, is kept with its outcome."""
    files = dict(ENDINGS)
    expected = dict(OUTCOMES)
    if not workers:  # a process that dies keeps nothing, and its exit code says so
        del files['test_c.py'], expected['test_c.py::test_dies']
    code, found, text = run_pytest(
        tmp_path, files, '-n', str(workers), *stages.BY_FILE, '--continue-on-collection-errors')
    after = found.pop('test_c.py::test_after', None)
    assert {name: entry['outcome'] for name, entry in found.items()} == expected, text
    assert code == 1
    if workers and not after:  # it was the dead worker's
        assert '1 tests have no outcome: test_c.py::test_after' in text


def test_a_missing_library_fails(tmp_path: Path) -> None:
    """Under ./run test a skip fails, of a test or of a file, unless the machine is the reason."""
    files = {
        'test_a.py': "import pytest\npin = pytest.importorskip('no_such_peer')\ndef test(): pass",
        'test_b.py': """
            import pytest
            def test_x(): pytest.importorskip('no_such_peer', reason='no peer')
            @pytest.mark.skipif(True, reason='slow')
            def test_y(): pass
            @pytest.mark.parametrize('robot', [])
            def test_none(robot): pass
            @pytest.mark.skipif(True, reason='this machine has no arm')
            def test_z(): pass
            @pytest.mark.xfail(strict=True)
            def test_w(): assert False
            """}
    code, found, text = run_pytest(tmp_path, files, '-p', 'skips', '-rA',
                                   '--continue-on-collection-errors')
    assert code == 1
    assert {name: entry['outcome'] for name, entry in found.items()} == {
        'test_a.py': 'failed', 'test_b.py::test_x': 'failed', 'test_b.py::test_y': 'failed',
        'test_b.py::test_none[NOTSET]': 'failed', 'test_b.py::test_z': 'skipped',
        'test_b.py::test_w': 'skipped'}
    assert 'skipped under ./run test: no peer.' in text and 'no_such_peer' in text


def test_elsewhere_a_missing_library_skips(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ./run the reason is all that is wanted."""
    monkeypatch.delenv('RBD_ROS_RESULTS', raising=False)
    assert skips.verdict('Skipped: no peer') is None
    monkeypatch.setenv('RBD_ROS_RESULTS', 'x')
    assert 'no peer' in str(skips.verdict('Skipped: no peer'))
    assert skips.verdict('Skipped: this machine has no arm') is None


def test_a_lost_test_fails_the_run(tmp_path: Path) -> None:
    """A test that was collected but never reported does not vanish."""
    files = {'test_a.py': 'def test_x(): pass\ndef test_y(): pass', 'conftest.py': """
        def pytest_runtest_protocol(item): return True if item.name == 'test_y' else None
        """}
    code, found, text = run_pytest(tmp_path, files)
    assert list(found) == ['test_a.py::test_x']
    assert code not in (0, stages.NO_TESTS)
    assert '1 tests have no outcome: test_a.py::test_y' in text


def test_only_linters_and_unit_tests_run_at_the_same_time(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str]) -> None:
    """Both begin before either ends; launch tests and then the browser have the machine alone."""
    monkeypatch.setenv('RBD_ROS_FOLDER', str(tmp_path / 'made'))
    monkeypatch.setenv('PYTEST_DISABLE_PLUGIN_AUTOLOAD', '1')
    wait = """
import pathlib, time
def test_{name}():
    print('seen')
    here, other = pathlib.Path({here!r}), pathlib.Path({other!r})
    here.touch()
    end = time.monotonic() + 500
    while not other.exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    assert {passes}
"""
    chosen = []
    for name, other, passes in (('linters', 'unit', True), ('unit', 'linters', False),
                                ('launch', 'unit', True), ('browser', 'launch', True)):
        file = tmp_path / f'test_{name}.py'
        file.write_text(wait.format(name=name, passes=passes, here=str(tmp_path / name),
                                    other=str(tmp_path / other)))
        stage = name if name == 'linters' else f'{name} tests'
        chosen.append(stages.Stage(stage, [
            *stages.WITHOUT_LAUNCH, '-s', '-c', os.devnull, '--rootdir', str(tmp_path),
            str(file)]))
    testing.run_together(chosen, tmp_path, [])
    assert [stage.failed for stage in chosen] == [False, True, False, False]
    ends = [stage.started + stage.seconds for stage in chosen]
    assert chosen[2].started >= max(ends[:2])
    assert chosen[3].started >= ends[2]
    assert any(line.startswith('unit tests | ') and line.endswith('seen')
               for line in capfd.readouterr().out.splitlines())


def test_summary_says_what_was_skipped(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the reasons; a stage that cannot run is one line; a crash of pytest shows."""
    monkeypatch.delenv('RBD_ROS_FOLDER', raising=False)
    file = stages.results_file(tmp_path, 'launch tests')
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({
        'a': {'outcome': 'passed', 'seconds': 12.3}, 'b': {'outcome': 'failed'},
        'c': {'outcome': 'skipped', 'reason': 'no arm'}, 'd': {'outcome': 'passed'}}))
    done = [stages.Stage('linters', [], 3), stages.Stage('launch tests', [], 1),
            stages.Stage('browser tests', [], skipped='no browser')]
    lines, total = testing.summary(done, tmp_path)
    assert not done[2].failed
    assert any('pytest ended with code 3' in line for line in lines)
    assert lines[-1] == 'tests: 2 passed, 1 failed, 1 skipped'
    assert [line.strip() for line in lines[-5:-1]] == [
        'launch tests   FAILED  2 passed, 1 failed, 1 skipped in 0 s', 'longest: a 12 s',
        'skipped 1: no arm', 'browser tests  skipped no browser']
    assert total == {'passed': 2, 'failed': 1, 'skipped': 1}


def test_a_stage_without_tests_fails_a_whole_run() -> None:
    """Where all tests of a stage were asked for, none is a failure; where some, it is not."""
    whole, some = (stages.Stage('unit tests', [], stages.NO_TESTS, complete=complete)
                   for complete in (True, False))
    assert whole.failed and not some.failed
