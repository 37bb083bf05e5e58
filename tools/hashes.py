# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Write requirements_hashes.txt anew, by uv, from the package index that pip is set up for."""

from __future__ import annotations

import os
from pathlib import Path
import subprocess
import sys
import tempfile

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / 'tools'))
from rbd_env import packages, uv  # noqa: E402
from rbd_env.layout import locate  # noqa: E402

HEAD = """\
# The SHA-256 of every file that a package index may give for a pin of requirements*.txt: ./run has
# pip and uv refuse any other. Made anew by ./run python tools/hashes.py after a pin has changed.

"""


def compiled(program: uv.Uv, pins: list[str]) -> dict[str, str]:
    """Return pins, and what stands for them with the hashes of all their files."""
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, 'given.txt'), Path(folder, 'made.txt')
        given.write_text('\n'.join(pins))
        subprocess.run(
            [program.program, 'pip', 'compile', '--quiet', '--universal', '--generate-hashes',
             '--no-deps', '--no-annotate', '--no-header', '--python-version', '3.12', given,
             '--output-file', made], env=program.environ, check=True)
        lines = made.read_text().replace('\\\n', ' ').splitlines()
    return {line.split()[0]: ' \\\n    '.join(line.split()) + '\n' for line in lines}


def main() -> None:
    """Ask for each file of pins by itself, as they may differ."""
    layout = locate(dict(os.environ))
    program = uv.provide(layout, os.uname().machine)
    if program is None:
        sys.exit('uv cannot be had here, see ./run')
    found: dict[str, str] = {}
    for file in sorted(ROOT.glob('requirements*.txt')):
        if file.name == packages.HASHES:
            continue
        groups = packages.read_groups(file.read_text())
        # a build of PyTorch for processors alone is not in this index
        found |= compiled(program, [pin.partition(' ')[0] for pins in groups.values()
                                    for pin in pins if '+' not in pin])
    (ROOT / packages.HASHES).write_text(HEAD + ''.join(found[pin] for pin in sorted(found)))


if __name__ == '__main__':
    main()
