# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Each file of code says in its first lines whose it is and under which licence."""

from linted import NAMES, ROOT
import pytest

HEADER = ['SPDX-FileCopyrightText: 2026 the rbd_ros developers',
          'SPDX-License-Identifier: Apache-2.0']
CODE = {'.py', '.c', '.h', '.cpp', '.hpp', '.sh'}


def lines_before_code(text: str) -> list[str]:
    """Return the first two lines, without their marks; that which names a shell comes before."""
    lines = [line.lstrip('#/ ') for line in text.splitlines()[:3] if not line.startswith('#!')]
    return lines[:2]


@pytest.mark.linter
def test_every_file_says_whose_it_is() -> None:
    """What is not tracked, as a build, is looked at as well: it costs nothing."""
    files = [ROOT / 'run', *(ROOT / 'scripts').iterdir(), *(
        file for name in NAMES for file in [ROOT / name, *(ROOT / name).rglob('*')]
        if file.suffix in CODE and '__pycache__' not in file.parts)]
    assert len(files) > 1000
    assert not [str(file.relative_to(ROOT)) for file in files
                if lines_before_code(file.read_text(encoding='utf-8')) != HEADER]
