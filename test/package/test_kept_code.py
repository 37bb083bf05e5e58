# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What tests compile is made once and kept, and the summary tells what was made."""

from __future__ import annotations

import os
from pathlib import Path

from once import KEPT, once
import pytest
from rbd_env.kept_code import count, Kept


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder in which is made."""
    monkeypatch.setenv('RBD_ROS_FOLDER', str(tmp_path))
    return tmp_path / 'made'


class Maker:
    """Writes how often it was asked."""

    calls = 0

    def __call__(self, folder: Path) -> None:
        """Fill a folder, or fail."""
        self.calls += 1
        (folder / 'made').write_text(str(self.calls))
        if self.calls == 2:
            raise ValueError('the compiler failed')


def test_what_is_asked_for_again_is_not_made_again(home: Path) -> None:
    """The same parts are the same folder; other parts, and what had failed, are made."""
    make = Maker()
    first = once('library', ['text', 1], make)
    assert once('library', ['text', 1], make) == first and make.calls == 1
    with pytest.raises(ValueError, match='the compiler failed'):
        once('library', ['text', 2], make)
    other = once('library', ['text', 2], make)
    assert other != first and (other / 'made').read_text() == '3'
    assert once('program', ['text', 1], make) not in (first, other)
    assert len([each for each in home.iterdir() if each.is_dir()]) == 3  # nothing of the failure


def test_what_nobody_uses_goes(home: Path) -> None:
    """When something is made, what of its kind was not asked for since days is dropped."""
    old, used = (once('library', [text], Maker()) for text in ('old', 'used'))
    for each in (old, used):
        os.utime(each, (each.stat().st_atime, each.stat().st_mtime - KEPT - 60.0))
    once('library', ['used'], Maker())
    once('library', ['new'], Maker())
    assert not old.exists() and used.exists()


def test_the_summary_tells_what_was_made(home: Path, tmp_path: Path) -> None:
    """Whether the caches were empty, and how much came in."""
    environ = {'RBD_ROS_FOLDER': str(tmp_path), 'RBD_ROS_CACHE': str(tmp_path / 'cache')}
    before = count(tmp_path, environ)
    assert before == Kept(0, 0)
    once('library', ['text'], Maker())
    kernels = tmp_path / 'cache' / 'rbd_ros'
    kernels.mkdir(parents=True)
    for k in range(3):
        (kernels / f'{k:064x}.rbd').touch()
    then = count(tmp_path, environ)
    assert then.told(before) == 'none from before; 3 kernels and 1 builds in C made'
    assert then.told(Kept(2, 1)) == (
        '2 kernels and 1 builds in C from before; 1 kernels and 0 builds in C made')
