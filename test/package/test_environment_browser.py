# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Which browser the tests get: the user's, one of the machine, one that is fetched, or none."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
import subprocess
import sys
import tarfile

import pytest
from rbd_env import browser, pace, stages, testing

STARTS = '#!/bin/sh\necho "Chromium 153.0.1"\n'
ADVERTISES = '#!/bin/sh\necho "install it with snap" >&2\nexit 1\n'


#: a browser that answers what it is asked as one would that has written this
WRITES = """#!{python}
import json, os
asked, text = b'', {text!r}
while more := os.read(3, 4096):
    *whole, asked = (asked + more).split(b'\\0')
    for each in map(json.loads, whole):
        result = {{'targetId': 'page', 'sessionId': 'session', 'data': 'picture',
                  'result': {{'value': text}}}}
        for said in ({{'method': 'Target.attached'}}, {{'id': each['id'], 'result': result}}):
            os.write(4, json.dumps(said).encode() + b'\\0')
"""


def program(path: Path, text: str) -> str:
    """Write an executable script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_a_browser_that_shows_nothing_is_none(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that starts and then draws no page is named, and the tests that need it are skipped."""
    blind, seeing = (program(tmp_path / name, WRITES.format(python=sys.executable, text=text))
                     for name, text in (('blind', ''), ('seeing', '12 seen')))
    ends = program(tmp_path / 'ends', STARTS)
    assert browser.shows(seeing) and not browser.shows(ends)
    monkeypatch.setattr(browser, 'LOOKS', 2)
    assert not browser.shows(blind)
    assert not browser.shows(str(tmp_path / 'missing'))
    monkeypatch.delenv(browser.VARIABLE, raising=False)
    monkeypatch.setattr(browser, 'find', lambda: None)
    for which, found in ((seeing, seeing), (blind, None)):
        monkeypatch.setattr(browser, 'fetch', lambda _, which=which: which)
        result, reason = browser.provide(tmp_path)
        assert result == found
        assert (f'{blind} shows no page on this machine' in reason) == (found is None)


def test_the_first_that_starts_is_taken(tmp_path: Path) -> None:
    """A script that only tells how to install one is none; the user's word comes first."""
    place = {'PATH': f'{tmp_path}:/usr/bin:/bin'}
    program(tmp_path / 'chromium', ADVERTISES)
    program(tmp_path / 'chromium-browser', '#!/bin/sh\nexit 0\n')
    chrome = program(tmp_path / 'google-chrome', STARTS)
    only = {'PATH': str(tmp_path)}
    assert browser.find(only) is None or browser.find(only) == chrome  # /bin/sh must be found
    assert browser.find(place) == chrome
    mine = program(tmp_path / 'mine' / 'browser', STARTS)
    assert browser.find({**place, browser.VARIABLE: mine}) == mine
    assert browser.find({**place, browser.VARIABLE: 'none'}) is None
    assert browser.find({'PATH': str(tmp_path / 'mine')}) is None


def package() -> bytes:
    """Return a package as npm has it, with a script for a browser."""
    brotli = pytest.importorskip('brotli', reason='brotli is not installed')
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode='w:gz') as outer:
        def add(name: str, data: bytes) -> None:
            info = tarfile.TarInfo(f'package/bin/{name}')
            info.size = len(data)
            outer.addfile(info, io.BytesIO(data))
        add('chromium.br', brotli.compress(
            b'#!/bin/sh\necho "$LD_LIBRARY_PATH 1 $FONTCONFIG_PATH $*"\n'))
        for name in ('al2023', 'swiftshader', 'fonts'):
            inner = io.BytesIO()
            with tarfile.open(fileobj=inner, mode='w') as archive:
                info = tarfile.TarInfo(f'lib/{name}')
                archive.addfile(info, io.BytesIO())
            add(f'{name}.tar.br', brotli.compress(inner.getvalue()))
    return whole.getvalue()


#: What npm pack does, and what it says of a package that it does not know.
PACKS = '#!/bin/sh\necho "$*" >> "{folder}/asked"\ncp "{folder}/package" chromium.tgz\n'
REFUSES = '#!/bin/sh\necho "npm error code E404" >&2\necho "npm error more" >&2\nexit 1\n'


def test_one_is_fetched_into_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is unpacked with its libraries, once, and finds them; something else is refused."""
    data = package()
    (tmp_path / 'package').write_bytes(data)
    program(tmp_path / 'bin' / 'npm', PACKS.format(folder=tmp_path))
    monkeypatch.setenv('PATH', f'{tmp_path}/bin:/usr/bin:/bin')
    cache = tmp_path / 'a cache'
    with pytest.raises(OSError, match='is not what it was'):
        browser.fetch(cache, 'x86_64')
    monkeypatch.setattr(browser, 'DIGEST', hashlib.sha512(data).hexdigest())
    found = browser.fetch(cache, 'x86_64')
    assert browser.fetch(cache, 'x86_64') == found
    assert (tmp_path / 'asked').read_text() \
        == f'pack {browser.PACKAGE} --ignore-scripts --silent\n' * 2
    folder = Path(found).parent
    assert [path.name for path in cache.iterdir()] == [folder.name]
    assert sorted(path.name for path in (folder / 'lib').iterdir()) \
        == ['al2023', 'fonts', 'swiftshader']
    assert '<dir prefix="relative">fonts</dir>' in (folder / 'fonts.conf').read_text()
    (folder / 'browser').write_text('of another version')
    assert browser.fetch(cache, 'x86_64') == found
    said = subprocess.run([found, 'a b'], capture_output=True, text=True, check=True,
                          env={'PATH': os.environ['PATH']})
    assert said.stdout == f'{folder}/lib 1 {folder} a b\n'
    with pytest.raises(OSError, match='no package carries one for riscv64'):
        browser.fetch(cache, 'riscv64')


def test_npm_that_fetches_nothing_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is missing, refuses, hangs, or leaves nothing behind: each has its own reason."""
    monkeypatch.setenv('PATH', str(tmp_path))
    with pytest.raises(OSError, match='npm, which fetches one, is not installed'):
        browser.download(tmp_path)
    monkeypatch.setenv('PATH', f'{tmp_path}:/usr/bin:/bin')
    for text, reason in ((REFUSES, r'does not fetch .*: npm error code E404$'),
                         ('#!/bin/sh\nexit 0\n', 'does not fetch'),
                         ('#!/bin/sh\nexec sleep 60\n', 'did not fetch .* within 0.5 s')):
        program(tmp_path / 'npm', text)
        monkeypatch.setattr(browser, 'PATIENCE', 0.5 if 'sleep' in text else 120)
        with pytest.raises(OSError, match=reason):
            browser.download(tmp_path)


@pytest.mark.parametrize('reason', [OSError('no network'), tarfile.ReadError('cut off')])
def test_without_a_browser_the_stage_is_skipped_in_one_line(
        reason: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str]) -> None:
    """Neither found nor fetched: the stage says why, runs nothing and is no failure."""
    monkeypatch.delenv(browser.VARIABLE, raising=False)
    monkeypatch.setenv('RBD_ROS_FOLDER', str(tmp_path))
    monkeypatch.setattr(browser, 'find', lambda: None)

    def fails(cache: Path) -> str:
        raise reason
    monkeypatch.setattr(browser, 'fetch', fails)
    stage = stages.Stage('browser tests', ['no/such/test.py'], complete=True)
    testing.find_browser([stage])
    stage.run(tmp_path, [])
    assert not stage.failed
    said = [line for line in capfd.readouterr().out.splitlines() if 'browser:' in line]
    assert len(said) == 1 and str(reason) in said[0] and 'install chromium' in said[0]


def test_none_is_fetched_for_a_choice_by_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """``./run test -k rnea`` does not wait for the network."""
    monkeypatch.setattr(browser, 'find', lambda: None)
    monkeypatch.setattr(browser, 'provide', lambda cache: pytest.fail('fetched'))
    stage = stages.Stage('browser tests', [], whole=True)
    testing.find_browser([stage])
    assert stage.skipped == 'they need a browser: none is installed'


def test_with_a_browser_the_tests_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was found is named to them, so that none is looked for again."""
    mine = program(tmp_path / 'browser', STARTS)
    monkeypatch.setenv(browser.VARIABLE, mine)
    stage = stages.Stage('browser tests', [])
    testing.find_browser([stage])
    assert not stage.skipped and os.environ[browser.VARIABLE] == mine


@pytest.mark.parametrize(('text', 'expected'), [
    ('', 1.0), ('x', 1.0), ('0.2', 1.0), ('3.5', 3.5), ('1e9', pace.SLOWEST), ('nan', 1.0)])
def test_pace(text: str, expected: float) -> None:
    """Time limits are never shorter than usual, and never without an end."""
    assert pace.known({pace.VARIABLE: text}) == expected
