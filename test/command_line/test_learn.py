# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""``rbd learn``: lists lessons, writes notebooks without touching a reader's, opens JupyterLab."""

from __future__ import annotations

from importlib import util
import json
import os
from pathlib import Path
import pty
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

from command_rig import data, rbd
import pytest
from rbd_env.pace import patient
from rbd_ros.learn.lessons import lessons, NAMES


def test_list() -> None:
    """All lessons are listed with their places in the book."""
    assert [each['name'] for each in data('learn')['lessons']] == list(NAMES)
    text = rbd('learn', 'rnea', '--list')[0]
    assert all(each.name in text for each in lessons()) and 'RBDA 5.3' in text


def test_a_notebook_is_written_once(tmp_path: Path) -> None:
    """What a reader has changed stays."""
    folder = tmp_path / 'mine'
    first = data('learn', 'rnea', '--folder', folder)
    file = Path(first['notebook'])
    assert first['written'] and file == folder / 'rnea.ipynb'
    assert json.loads(file.read_text())['nbformat'] == 4
    file.write_text('edited')
    assert data('learn', 'rnea', '--folder', folder)['written'] is False
    assert file.read_text() == 'edited'


def test_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unknown lesson and a missing JupyterLab end with one line that says what to do."""
    error = rbd('learn', 'rnae', code=2)[1]
    assert 'no lesson "rnae"' in error and 'known: rnea, ' in error and error.count('\n') == 1
    (tmp_path / 'taken').write_text('')
    assert 'taken' in rbd('learn', 'rnea', '--folder', tmp_path / 'taken', code=2)[1]
    found = util.find_spec
    monkeypatch.setattr(util, 'find_spec',
                        lambda name: None if name == 'jupyterlab' else found(name))
    error = rbd('learn', 'rnea', '--folder', tmp_path, code=2)[1]
    assert 'pip install jupyterlab' in error and error.count('\n') == 1
    assert (tmp_path / 'rnea.ipynb').exists()


@pytest.mark.slow
def fetched(page: str) -> dict[str, object]:
    """Return what a server answers, which prints its address before it listens."""
    end = time.monotonic() + patient(60)
    while True:
        try:
            with urllib.request.urlopen(page, timeout=patient(60)) as answer:
                return json.load(answer)
        except urllib.error.URLError:
            if time.monotonic() > end:
                raise
        time.sleep(0.2)


def test_jupyterlab_opens_the_notebook(tmp_path: Path) -> None:
    """The printed address, on this machine only, leads to the notebook; Ctrl-C ends it."""
    pytest.importorskip('jupyterlab', reason='jupyterlab is not installed')
    words = [sys.executable, '-m', 'rbd_ros.command_line', 'learn', 'rnea', '--no-browser',
             '--folder', str(tmp_path / 'lessons')]
    keys, terminal = pty.openpty()  # where Jupyter would ask
    with subprocess.Popen(words, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, cwd=tmp_path,
                          env={**os.environ, 'HOME': str(tmp_path)}) as process:
        try:
            address = None
            for line in process.stdout or ():
                address = re.search(r'http://127\.0\.0\.1:(\d+)/lab/tree/rnea.ipynb\?(\S+)', line)
                if address:
                    break
            assert address
            page = f'http://127.0.0.1:{address[1]}/api/contents/rnea.ipynb?{address[2]}'
            assert fetched(page)['type'] == 'notebook'
            process.send_signal(signal.SIGINT)
            process.wait(patient(60.0))  # without a question
        finally:
            process.terminate()
            os.close(keys)
            os.close(terminal)
