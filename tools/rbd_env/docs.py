# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""``./run docs``: build the documentation to HTML."""

from __future__ import annotations

from collections.abc import Sequence
import os
from pathlib import Path
import subprocess
import sys

from rbd_env.layout import made_folder

HELP = """\
Build the documentation to HTML and print where its first page is.

    ./run docs [FOLDER]           into FOLDER; by default into .run/docs
    ./run docs FOLDER PAGE ...    the first page and these alone, such as docs/safety.md
"""
#: What is said of links to pages that are left out.
LEFT_OUT = 'myst.xref_missing,toc.excluded,toc.not_included,toc.not_readable'


def build(root: Path, target: Path, pages: Sequence[str] = ()) -> int:
    """
    Build every page; a warning of Sphinx counts as a failure.

    :param target: folder of the pages; what Sphinx keeps to build faster goes next to it.
    :param pages: those that are built, besides the first one; none: all.
    """
    some = ['-D', 'include_patterns=' + ','.join(['docs/index.md', *pages]),
            '-D', f'suppress_warnings={LEFT_OUT}'] if pages else []
    return subprocess.run(
        [sys.executable, '-m', 'sphinx', '--quiet', '--fail-on-warning', '--nitpicky', *some,
         '--jobs', 'auto', '--conf-dir', str(root / 'docs'), '--doctree-dir', f'{target}.doctrees',
         str(root), str(target)], check=False).returncode


def main(arguments: list[str]) -> int:
    """Build the pages of the checkout that the environment names."""
    if arguments[:1] in (['-h'], ['--help']):
        print(HELP, end='')
        return 0
    root = Path(os.environ['RBD_ROS_ROOT'])
    target = Path(arguments[0]) if arguments else made_folder(root, os.environ) / 'docs'
    code = build(root, target.absolute(), arguments[1:])
    if code == 0:
        print(target.absolute() / 'index.html')
    return code


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
