# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Learn the algorithms of the book in notebooks that compute, check and draw.

    rbd learn
    rbd learn rnea

Without a name it lists the lessons. With one it writes the notebook to a folder and opens it in
JupyterLab; Ctrl-C ends that. An existing notebook is opened as you left it. With --json it is
written but not opened. JupyterLab is not part of the package: ./run fetches it on the first use,
and pip installs it with rbd_ros[learn].
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

from rbd_ros.command_line.options import AsJson
from rbd_ros.command_line.output import show, table
import typer


def run(
    lesson: Annotated[Optional[str], typer.Argument(
        metavar='LESSON', help='Name of a lesson; without one, list them.')] = None,
    listed: Annotated[bool, typer.Option('--list', help='List the lessons.')] = False,
    folder: Annotated[Path, typer.Option(
        help='Folder of the notebook, new or existing.')] = Path('rbd_lessons'),
    browser: Annotated[bool, typer.Option(
        ' /--no-browser', show_default=False,
        help='Print the address only, for a browser elsewhere.')] = True,
    as_json: AsJson = False,
) -> None:
    """List the lessons, or open one."""
    from rbd_ros.learn.lessons import lesson as found, lessons
    if lesson is None or listed:
        rows = [each._asdict() for each in lessons()]
        show({'lessons': [{key: row[key] for key in ('name', 'title', 'book')} for row in rows]},
             as_json, table('Lessons', ('name', 'lesson', 'book'), [
                 [row['name'], row['title'], row['book']] for row in rows]),
             'rbd learn NAME opens one')
        return
    file, written = _write(found(lesson).text, folder / f'{lesson}.ipynb')
    show({'notebook': str(file), 'written': written}, as_json,
         f'{file} {"is new" if written else "is as you left it"}', wrap=False)
    if not as_json:
        _open(file, browser)


def _write(text: str, file: Path) -> tuple[Path, bool]:
    """Write a notebook unless there is one; return its whole path and whether it is new."""
    from rbd_ros.learn.lessons import notebook
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with file.open('x', encoding='utf-8') as new:
            new.write(notebook(text))
    except FileExistsError:
        return file.absolute(), False
    return file.absolute(), True


def _open(file: Path, browser: bool) -> None:
    """Become JupyterLab, which prints its address; it is served to this machine only."""
    from importlib.util import find_spec
    import os
    import sys

    from rbd_ros.errors import RbdError
    if find_spec('jupyterlab') is None:
        raise RbdError(
            'JupyterLab is not installed: pip install jupyterlab, or use ./run rbd learn, which '
            f'fetches it. Any other program for notebooks opens {file} as well')
    words = [sys.executable, '-m', 'jupyterlab', '--ip=127.0.0.1',
             '--Application.log_level=CRITICAL',
             '--JupyterApp.answer_yes=True',    # Ctrl-C ends it; asked, it goes on after 5 s
             f'--ServerApp.root_dir={file.parent}',
             f'--LabApp.default_url=/lab/tree/{file.name}']
    if not browser:
        words.append('--no-browser')
    if os.geteuid() == 0:       # as in most containers; without the option it refuses
        words.append('--allow-root')
    sys.stdout.flush()
    os.execv(sys.executable, words)
