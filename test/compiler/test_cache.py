# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Object code on disk: found again, never trusted when it should not be."""

import os
import stat
import subprocess
import sys
import time

import numpy as np
import pytest
from rbd_env.pace import patient
from rbd_ros.compiler import compile as compile_graph, sin, trace
from rbd_ros.compiler.native import cache

pytest.importorskip('llvmlite', reason='llvmlite is not installed')


def wave(x):
    """Return sines."""
    return [sin(a) + 1.0 for a in x]


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a cache folder of its own."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / 'cache'))
    return tmp_path / 'cache' / 'rbd_ros'


@pytest.fixture
def entry():
    """Return an entry without meaning."""
    return cache.Entry({'name': 'f', 'list': [1, 2]}, [b'code', b'', b'more code'])


class Traced:
    """A source that counts how often it is traced."""

    def __init__(self):
        self.calls = 0

    def __call__(self):
        """Trace."""
        self.calls += 1
        return trace(wave, {'x': 3}, name='wave')


def compiled(source, **options):
    """Return a kernel under a fixed key."""
    return compile_graph(source, backend='llvm', keys='k', **options)


def test_compiling_is_announced_once(home):
    """Before the first kernel that is not on disk is made, and not where all are."""
    told, source = [], Traced()
    with cache.announced(lambda: told.append(source.calls)):
        compiled(source)
        compile_graph(Traced(), backend='llvm', keys='another')
    assert told == [0]  # before it was traced
    with cache.announced(lambda: told.append('again')):
        compiled(Traced())
    compile_graph(Traced(), backend='llvm', keys='outside')
    assert told == [0]


def test_second_time_is_not_traced(home):
    """With a key, a kernel on disk is ready without tracing, its description included."""
    first, second = Traced(), Traced()
    reference = compiled(first)
    kernel = compiled(second)
    assert (first.calls, second.calls) == (1, 0)
    assert kernel(np.ones(3)).tolist() == reference(np.ones(3)).tolist()
    assert (kernel.name, kernel.inputs, kernel.outputs) == (
        reference.name, reference.inputs, reference.outputs)
    assert kernel.count() == reference.graph.count()
    assert second.calls == 0
    assert kernel.graph.digest() == reference.graph.digest()
    assert kernel.graph is kernel.graph and second.calls == 1


def test_batch_form_is_kept_too(home):
    """The batch form of a cached kernel comes from the disk without tracing."""
    x = np.linspace(0, 1, 60).reshape(20, 3)
    expected = compiled(Traced()).batch(x).tolist()
    source = Traced()
    assert compiled(source).batch(x).tolist() == expected
    assert source.calls == 0


def test_graph_digest_is_the_key_of_a_graph(home):
    """Without a key the graph itself decides; another graph is another entry."""
    compile_graph(trace(wave, {'x': 3}), backend='llvm')
    assert len(list(home.iterdir())) == 1
    compile_graph(trace(wave, {'x': 3}), backend='llvm')
    assert len(list(home.iterdir())) == 1
    compile_graph(trace(wave, {'x': 4}), backend='llvm')
    assert len(list(home.iterdir())) == 2


def test_everything_is_private(home):
    """The folder and its files are for the user alone, whatever the umask."""
    old = os.umask(0)
    try:
        compiled(Traced())
    finally:
        os.umask(old)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert [stat.S_IMODE(f.stat().st_mode) for f in home.iterdir()] == [0o600]


def test_a_folder_that_others_may_write_is_not_used(home, entry, caplog):
    """Nor is it changed: that is for its owner to do, and the reason is said once."""
    cache.write('a' * 64, entry)
    home.chmod(0o770)
    for _ in range(3):
        assert cache.read('a' * 64) is None
    assert stat.S_IMODE(home.stat().st_mode) == 0o770
    assert caplog.text.count('may be written by others (chmod go-w mends that)') == 1
    home.chmod(0o755)
    assert cache.read('a' * 64) == entry


def test_a_folder_with_files_of_its_own(tmp_path, monkeypatch, entry):
    """What lies in the folder that a user names, or under other names in ours, stays as it is."""
    place = tmp_path / 'notes'
    ours = place / 'rbd_ros'
    ours.mkdir(parents=True)
    place.chmod(0o755)
    foreign = [folder / name for folder in (place, ours) for name in (
        'old.tmp', 'thesis.rbd', 'rbd_notes.tmp', '0' * 63 + '.rbd')]
    for file in foreign:
        file.write_bytes(bytes(5000))
        os.utime(file, (0, 0))
    (ours / ('f' * 64 + '.rbd')).mkdir()
    monkeypatch.setenv(cache.VARIABLE, str(place))
    monkeypatch.setattr(cache, 'LIMIT', 1000)
    for k in range(20):
        cache.write(f'{k:064}', entry)
    assert stat.S_IMODE(place.stat().st_mode) == 0o755
    assert sorted(place.iterdir()) == sorted([*foreign[:4], ours])
    assert all(file.read_bytes() == bytes(5000) for file in foreign)
    assert 0 < len(list(ours.iterdir())) - 5 < 20, 'entries of our own were dropped'


def test_a_place_in_the_home_folder(monkeypatch, tmp_path):
    """A launch file or a unit of systemd does not expand ~ as a shell does."""
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setenv(cache.VARIABLE, '~/kernels')
    assert cache.folder() == tmp_path / 'kernels' / 'rbd_ros'


def test_round_trip(home, entry):
    """What is written is read, byte for byte."""
    assert cache.read('a' * 64) is None
    cache.write('a' * 64, entry)
    assert cache.read('a' * 64) == entry
    assert cache.read('b' * 64) is None


@pytest.mark.parametrize('damage', [
    lambda data: b'', lambda data: data[:10], lambda data: data[:-1], lambda data: data + b'x',
    lambda data: b'X' + data[1:], lambda data: data[:60] + bytes([data[60] ^ 1]) + data[61:],
    lambda data: data[:-5] + bytes([data[-5] ^ 128]) + data[-4:], lambda data: b'\0' * len(data),
    lambda data: data[:30] + bytes([data[30] ^ 1]) + data[31:],
])
def test_damaged_files_are_rebuilt(home, damage):
    """A file that differs in any byte or length is not used, and is replaced by a good one."""
    compiled(Traced())
    file, = home.iterdir()
    good = file.read_bytes()
    file.write_bytes(damage(good))
    source = Traced()
    assert compiled(source)(np.zeros(3)).tolist() == [1.0, 1.0, 1.0]
    assert source.calls == 1
    source = Traced()
    compiled(source)
    assert source.calls == 0


def test_renamed_file_is_not_used(home, entry):
    """An entry under another key is as good as none."""
    cache.write('a' * 64, entry)
    (home / ('a' * 64 + '.rbd')).rename(home / ('b' * 64 + '.rbd'))
    assert cache.read('b' * 64) is None


def test_files_others_could_have_written(home, entry, monkeypatch):
    """Files that others may write, links, folders, pipes and foreign files are never read."""
    cache.write('a' * 64, entry)
    file = home / ('a' * 64 + '.rbd')
    file.chmod(0o620)
    assert cache.read('a' * 64) is None
    file.chmod(0o600)
    assert cache.read('a' * 64) == entry
    link = home / ('b' * 64 + '.rbd')
    link.symlink_to(file)
    assert cache.read('b' * 64) is None
    (home / ('c' * 64 + '.rbd')).mkdir()
    os.mkfifo(home / ('d' * 64 + '.rbd'), 0o600)
    assert cache.read('c' * 64) is None
    assert cache.read('d' * 64) is None
    monkeypatch.setattr(os, 'geteuid', lambda: os.getuid() + 1)
    assert cache.read('a' * 64) is None


def test_foreign_folder_is_not_used(home, entry, monkeypatch, caplog):
    """A folder of another user is left alone, and the reason is said once."""
    cache.write('a' * 64, entry)
    monkeypatch.setattr(os, 'geteuid', lambda: os.getuid() + 1)
    for _ in range(3):
        assert cache.folder() is None
    assert caplog.text.count('belongs to another user') == 1


@pytest.mark.parametrize('word', ['', 'off', '0', 'OFF', ' no '])
def test_switched_off(monkeypatch, tmp_path, word):
    """The variable switches the cache off."""
    monkeypatch.setenv(cache.VARIABLE, word)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    assert compiled(Traced())(np.zeros(3)).tolist() == [1.0] * 3
    assert not list(tmp_path.iterdir())


def test_default_place(monkeypatch, tmp_path):
    """Without the variable the folder is rbd_ros in the user's cache folder."""
    monkeypatch.delenv(cache.VARIABLE, raising=False)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    assert cache.folder() == tmp_path / 'rbd_ros'
    monkeypatch.delenv('XDG_CACHE_HOME')
    monkeypatch.setenv('HOME', str(tmp_path))
    assert cache.folder() == tmp_path / '.cache' / 'rbd_ros'


def test_folder_that_cannot_be_made(monkeypatch, tmp_path):
    """Where nothing can be written, kernels compile all the same."""
    (tmp_path / 'file').write_text('')
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / 'file' / 'cache'))
    assert compiled(Traced())(np.zeros(3)).tolist() == [1.0] * 3


def test_cache_false_leaves_the_disk_alone(home):
    """Without cache nothing is read or written."""
    compile_graph(trace(wave, {'x': 3}), backend='llvm', cache=False)
    assert not home.exists()


def test_folder_is_bounded(home, entry, monkeypatch):
    """The entries longest unused go when the folder grows beyond its limit."""
    big = entry._replace(objects=[bytes(1000)])
    monkeypatch.setattr(cache, 'LIMIT', 10_000)
    now = time.time()
    for k in range(7):
        cache.write(f'{k:064}', big)
        os.utime(home / f'{k:064}.rbd', (now - 10**6 + 1000 * k,) * 2)
    left = home / 'rbd_01234567_abc_d8ef.tmp'
    left.write_bytes(b'left over')
    os.utime(left, (0, 0))
    assert cache.read(f'{0:064}') is not None  # used now: the next oldest goes first
    for k in range(7, 10):
        cache.write(f'{k:064}', big)
    kept = sorted(int(f.name[:-4]) for f in home.iterdir())
    assert sum(f.stat().st_size for f in home.iterdir()) <= 10_000
    assert 0 in kept and 9 in kept and 1 not in kept
    assert not left.exists()


def test_a_folder_with_room_is_not_searched_at_every_write(home, entry, monkeypatch):
    """How full the folder is counts again once a quarter of the room may have been used."""
    looks, scandir = [], os.scandir

    def counted(path):
        looks.extend([home] if home == path else [])
        return scandir(path)
    monkeypatch.setattr(os, 'scandir', counted)
    big = entry._replace(objects=[bytes(1000)])
    monkeypatch.setattr(cache, 'LIMIT', 100_000)
    for k in range(10):
        cache.write(f'{k:064}', big)
    assert looks == [home]
    for k in range(10, 200):
        cache.write(f'{k:064}', big)
        assert sum((home / name).stat().st_size for name in os.listdir(home)) <= 100_000
    assert 2 < len(looks) < 100, 'looked too often, or never again'


def test_two_processes_at_once(home):
    """Processes that compile the same kernel at the same time both get it right."""
    code = """
import numpy as np
from rbd_ros.compiler import compile, sin, trace
for n in range(1, 9):
    k = compile(trace(lambda x: [sin(a) for a in x], {'x': n}), backend='llvm')
    assert k(np.zeros(n)).tolist() == [0.0] * n
"""
    tasks = [subprocess.Popen([sys.executable, '-c', code]) for _ in range(2)]
    assert [task.wait(timeout=patient(120)) for task in tasks] == [0, 0]
    assert len(list(home.glob('*.rbd'))) == 8 and not list(home.glob('*.tmp'))


def test_no_address_of_the_process_is_kept(home):
    """Files written by two processes are the same, though their addresses differ."""
    code = ('import sys; from rbd_ros.compiler import compile, sin, trace\n'
            'compile(trace(lambda x: [sin(a) for a in x], {"x": 70}), backend="llvm")')
    contents = []
    for _ in range(2):
        subprocess.run([sys.executable, '-c', code], check=True, timeout=patient(60))
        file, = home.iterdir()
        contents.append(file.read_bytes())
        file.unlink()
    assert contents[0] == contents[1]


def test_progress_reaches_the_end(home):
    """Progress comes with names, never goes back, and ends at one."""
    seen = []

    def polynomial(x):
        y = x[0]
        for k in range(1500):
            y = y * x[0] + k
        return y
    long = trace(polynomial, {'x': 1}, name='long')
    for expected in (3, 1):  # compiled in parts, then from the disk at once
        seen.clear()
        compile_graph([long], backend='llvm', progress=lambda *step: seen.append(step))
        shares = [share for _, share in seen]
        assert len(seen) >= expected and shares == sorted(shares) and shares[-1] == 1.0
        assert {name for name, _ in seen} == {'long'}


def test_keys_and_graphs_must_match(home):
    """A key for each graph, or an error."""
    with pytest.raises(ValueError, match='2 graphs and 1 keys'):
        compile_graph([Traced(), Traced()], backend='llvm', keys=['a'])
