# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Heavy tests run on a sample that hangs on the sources; what is left out is told."""

from __future__ import annotations

import csv
import itertools
import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

import pytest
from rbd_env import disturbance, testing, whole_runs
from rbd_env.failure import Failure
from rbd_env.pace import patient
import sampling

ROOT = Path(__file__).parents[2]

CONFTEST = """
import sys
sys.path.insert(0, {folder!r})
import outcomes, sampling
from sampling import pytest_addoption, pytest_testnodedown
from outcomes import pytest_runtest_logreport, pytest_sessionfinish

def pytest_configure(config):
    sampling.choose(config)

def pytest_runtest_setup(item):
    sampling.begin(item)

def pytest_collection_modifyitems(config, items):
    sampling.leave_out(config, items)
"""

TESTS = """
import pytest
from sampling import some

@pytest.mark.sampled('robots', 3)
@pytest.mark.parametrize('k', range(20))
def test_many(k): pass

@pytest.mark.sampled('walks', 0.5)
class TestAll:
    def test_a(self): pass
    def test_b(self): pass

def test_within():
    print('WITHIN', some('sweeps', range(10), 4))

@pytest.mark.sampled('launches', 1, pool='stories')
def test_story(): pass

@pytest.mark.sampled('launches', 1, pool='stories')
def test_other_story(): pass

def test_light(): pass
"""


def run(folder: Path, *options: str) -> tuple[set[str], dict[str, dict[str, int]], str]:
    """Run the tests above; return which ran, what is told of samples, and the output."""
    (folder / 'test_it.py').write_text(TESTS)
    (folder / 'conftest.py').write_text(CONFTEST.format(folder=str(ROOT / 'test' / 'harness')))
    results = folder / 'results.json'
    environ = {name: value for name, value in os.environ.items()
               if not name.startswith('RBD_ROS_TEST_')}
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-s', '-p', 'no:cacheprovider', '-p', 'xdist',
         '--rootdir', str(folder), *(options or ('test_it.py',))],
        cwd=folder, capture_output=True, text=True, timeout=patient(120), check=False,
        env={**environ, 'PYTEST_DISABLE_PLUGIN_AUTOLOAD': '1', 'RBD_ROS_RESULTS': str(results)})
    if done.returncode:
        return set(), {}, done.stdout + done.stderr
    ran = {name.partition('::')[2] for name in json.loads(results.read_text())}
    return ran, json.loads(results.with_suffix('.sampled').read_text()), done.stdout


def test_the_same_sources_draw_the_same_sample(tmp_path: Path) -> None:
    """Another run draws the same, also in workers; another seed draws another one."""
    ran, told, said = run(tmp_path)
    assert told == {'robots': {'kept': 3, 'of': 20}, 'walks': {'kept': 1, 'of': 2},
                    'sweeps': {'kept': 4, 'of': 10}, 'launches': {'kept': 1, 'of': 2}}
    assert len(ran) == 7 and {'test_within', 'test_light'} < ran
    again, told_again, _ = run(tmp_path, '-n', '2', 'test_it.py')
    assert (again, told_again) == (ran, told)
    other, _, other_said = run(tmp_path, '--seed', '1', 'test_it.py')
    assert other != ran
    assert other_said.split('WITHIN')[1][:14] != said.split('WITHIN')[1][:14]


def test_all_of_a_kind_or_everything_on_demand(tmp_path: Path) -> None:
    """A kind that is asked for runs whole, and so does what is named by its id."""
    ran, told, _ = run(tmp_path, '--all=robots,walks', 'test_it.py')
    assert told['robots'] == {'kept': 20, 'of': 20} and told['sweeps'] == {'kept': 4, 'of': 10}
    assert len(ran) == 25
    ran, told, _ = run(tmp_path, '--all', '--', 'test_it.py')
    assert told['sweeps'] == {'kept': 10, 'of': 10}
    ran, told, _ = run(tmp_path, 'test_it.py::test_many')
    assert len(ran) == 20
    assert 'no kind of sample "walk"; there are' in run(tmp_path, '--all=walk', 'test_it.py')[2]


def test_modules_of_a_pool_run_whole_or_not_at_all(tmp_path: Path) -> None:
    """What several tests of a module share is made once; one of three modules is drawn."""
    for name in 'abc':
        (tmp_path / f'test_{name}.py').write_text(
            "import pytest\npytestmark = pytest.mark.sampled('simulations', 1, pool='shared')\n"
            'def test_1(): pass\ndef test_2(): pass\n')
    ran, told, _ = run(tmp_path, '.')
    assert told['simulations'] == {'kept': 2, 'of': 6}
    assert ran > {'test_1', 'test_2'}


def test_what_takes_longest_is_drawn_while_it_fits(tmp_path: Path) -> None:
    """Of the tests with known times some, within the budget; the others all; all on demand."""
    (tmp_path / 'test').mkdir()
    times = {f'test_{k}': 0.5 + 0.5 * k for k in range(8)}
    (tmp_path / 'test_long.py').write_text(''.join(
        f'def {name}(): pass\n' for name in (*times, 'test_short')))
    (tmp_path / 'test' / sampling.TIMES).write_text('test,seconds\n' + ''.join(
        f'test_long.py::{name},{seconds}\n' for name, seconds in times.items()))
    drawn = set()
    for seed in '12345678':
        ran, told, said = run(tmp_path, '--budget=9', '--seed', seed, 'test_long.py')
        assert 'test_short' in ran, said
        assert 0.0 < sum(map(times.get, ran - {'test_short'})) <= 9.0
        assert told['heavy'] == {'kept': len(ran) - 1, 'of': len(times)}
        drawn |= ran
    assert drawn == {*times, 'test_short'}
    for options in (['--budget=9', '--all=heavy'], []):
        ran, told, _ = run(tmp_path, *options, 'test_long.py')
        assert len(ran) == 9 and told['heavy'] == {'kept': 8, 'of': 8}


def test_any_file_changes_the_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contents and names count, not what Python keeps beside them, nor the notes of runs."""
    monkeypatch.setattr(sampling, 'ROOT', tmp_path)
    file = tmp_path / 'rbd_ros' / 'a.py'
    (file.parent / '__pycache__').mkdir(parents=True)
    seen = []
    for path, text in ((file, '1'), (file, '2'), (file.with_name('b.py'), '')):
        path.write_text(text)
        seen.append(sampling.digest.__wrapped__())
    assert len(set(seen)) == 3
    (file.parent / '__pycache__' / 'a.pyc').write_text('')
    (file.parent / whole_runs.RECORD.rpartition('/')[2]).write_text('')
    assert sampling.digest.__wrapped__() == seen[-1]


@pytest.mark.parametrize(('words', 'expected'), [
    ('--all', '--all=all'), ('--all recordings walks', '--all=recordings,walks'),
    ('--all test/package', '--all=all test/package'), ('--all walks -x', '--all=walks -x'),
    ('--seed 3 -k rnea', '--seed=3 -k rnea'), ('--disturb busy,stops', '--disturb=busy,stops')])
def test_options_and_their_values_become_one_word(words: str, expected: str) -> None:
    """What follows --all is kinds, up to the first file or option."""
    assert testing.joined(words.split(), ROOT) == expected.split()


def test_whole_runs_are_noted_by_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what ran whole is noted; what was noted of other kinds stays."""
    monkeypatch.setenv('RBD_ROS_FOLDER', str(tmp_path / '.run'))
    results = whole_runs.stages.results_file(tmp_path, 'unit tests').with_suffix('.sampled')
    results.parent.mkdir(parents=True)
    (tmp_path / 'test').mkdir()
    for counts in ({'walks': {'kept': 2, 'of': 2}, 'robots': {'kept': 1, 'of': 9}},
                   {'walks': {'kept': 1, 'of': 2}, 'robots': {'kept': 9, 'of': 9}}):
        results.write_text(json.dumps(counts))
        whole_runs.note(tmp_path, ['unit tests'])
    with open(tmp_path / whole_runs.RECORD, newline='') as file:
        rows = list(csv.DictReader(file))
    assert [(row['kind'], row['tests']) for row in rows] == [('robots', '9'), ('walks', '2')]
    assert whole_runs.last(tmp_path)['walks'].endswith(', 2 cases')


DISTURBED = """
import subprocess, sys
from rbd_env import disturbance
disturbance.PAUSE, disturbance.HALT = 0.05, float(sys.argv[1])
child = subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
with disturbance.disturbed('stops', '7'):
    input()
"""


def await_state(process: int, wanted: str) -> None:
    """Wait until a process sleeps (S) or is halted (T)."""
    end = time.monotonic() + patient(30.0)
    while Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()[0] != wanted:
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.parametrize('ending', [None, signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_processes_of_the_tests_are_halted(ending: signal.Signals | None) -> None:
    """A child is halted and continued, again and again; however the run ends, it goes on."""
    for seconds, states in ((0.2, 'TSTS'), (1e5, 'T')):
        run = subprocess.Popen([sys.executable, '-c', DISTURBED, str(seconds)], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
        assert run.stdin is not None and run.stdout is not None
        child = int(run.stdout.readline())
        try:
            for wanted in states:
                await_state(child, wanted)
            if ending is None:
                run.communicate('\n')
            else:
                run.send_signal(ending)
                run.communicate()
            await_state(child, 'S')
        finally:
            os.kill(child, signal.SIGKILL)
            run.kill()
            run.communicate()


def test_a_seed_always_halts_at_the_same_moments() -> None:
    """A disturbed run can be repeated; another seed halts at other moments."""
    one, again, other = (list(itertools.islice(disturbance.moments(seed), 9)) for seed in '778')
    assert one == again and not set(one) & set(other)
    with pytest.raises(Failure, match='knows "busy" and "stops", not "load"'):
        with disturbance.disturbed('load'):
            pass


def test_nothing_keeps_the_processors_busy_when_the_run_is_killed() -> None:
    """However it ends: the processes end by themselves."""
    run = subprocess.Popen(
        [sys.executable, '-c', 'from rbd_env import disturbance\n'
         'with disturbance.busy():\n    print(*disturbance._spinning, flush=True)\n    input()'],
        text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert run.stdin is not None and run.stdout is not None
    with run.stdin, run.stdout:
        spinning = [Path(f'/proc/{each}/cmdline') for each in run.stdout.readline().split()]
        assert len(spinning) == disturbance.BUSY * len(os.sched_getaffinity(0))
        end = time.monotonic() + patient(30.0)
        while not all('getppid' in each.read_text() for each in spinning):  # they begin as forks
            assert time.monotonic() < end
            time.sleep(0.01)
        run.kill()
        run.wait()
    while any(each.exists() and each.read_text() for each in spinning):
        assert time.monotonic() < end
        time.sleep(0.01)


def test_children_of_children_are_found() -> None:
    """What tests start starts others."""
    process = subprocess.Popen(['sh', '-c', 'sleep 600 & echo $!; wait'], text=True,
                               stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    try:
        sleeper = int(process.stdout.readline())
        assert {process.pid, sleeper} <= set(disturbance.descendants(os.getpid()))
    finally:
        os.killpg(process.pid, 9)
        process.wait()
