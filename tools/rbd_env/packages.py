# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The virtual environment of a checkout and the pinned Python packages inside it."""

from __future__ import annotations

from collections.abc import Callable
import hashlib
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

from rbd_env import pip, progress
from rbd_env.failure import Failure, from_os_error
from rbd_env.layout import Layout

if TYPE_CHECKING:
    from pathlib import Path

    from rbd_env.uv import Uv

#: Of the file with the hashes of all pins.
HASHES = 'requirements_hashes.txt'

GROUPS = ('runtime', 'test', 'robots', 'benchmark', 'docs', 'learn')
NEEDED_BYTES = {'runtime': 500_000_000, 'test': 300_000_000, 'robots': 600_000_000,
                'benchmark': 800_000_000, 'docs': 100_000_000, 'learn': 250_000_000}
STEP = {
    'runtime': 'installing the Python packages that running needs',
    'test': 'installing the Python packages that testing needs',
    'robots': 'installing descriptions of well-known robots',
    'benchmark': 'installing the Python packages to compare with',
    'docs': 'installing the Python packages that build the documentation',
    'learn': 'installing JupyterLab',
}


def read_groups(text: str) -> dict[str, list[str]]:
    """
    Split the requirements file into its groups.

    :param text: lines ``name==version``, each below a heading ``# [group]``.
    """
    groups: dict[str, list[str]] = {}
    current: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        heading = re.fullmatch(r'# \[(\w+)\].*', line.strip())
        if heading:
            current = groups.setdefault(heading[1], [])
        elif line.strip() and not line.startswith('#'):
            if not re.fullmatch(r'[\w.-]+==[\w.+]+( +# host .+)?', line.strip()):
                raise Failure(f'requirements.txt line {number} is no exact pin: "{line.strip()}".')
            current.append(line.strip())
    return groups


def pinned(root: Path, pins: list[str], file: Path) -> list[str]:
    """
    Return the arguments by which pip and uv install pins, and no other files than known ones.

    :param root: of the checkout.
    :param pins: exact ones.
    :param file: gets them with the hashes of their files.
    :raises Failure: for a pin without a hash.
    """
    known = read_hashes((root / HASHES).read_text())
    missing = [pin for pin in pins if _plain(pin) not in known]
    if missing:
        raise Failure(f'{HASHES} has no hash of {", ".join(missing)}: ./run python '
                      'tools/hashes.py writes it')
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(''.join(f'{pin} {" ".join(known[_plain(pin)])}\n' for pin in pins))
    return ['--require-hashes', '-r', str(file)]


def read_hashes(text: str) -> dict[str, list[str]]:
    """
    Return the hashes of each pin, as options of pip.

    :param text: lines as ``uv pip compile --generate-hashes`` writes them.
    """
    found: dict[str, list[str]] = {}
    for line in text.replace('\\\n', ' ').splitlines():
        if line.strip() and not line.startswith('#'):
            pin, *hashes = line.split()
            if not hashes or not all(re.fullmatch('--hash=sha256:[0-9a-f]{64}', each)
                                     for each in hashes):
                raise Failure(f'{HASHES}: "{line[:80]}" is no pin with hashes')
            found[_plain(pin)] = hashes
    return found


def _plain(pin: str) -> str:
    """Return a pin whose name is written as indices write it."""
    name, _, version = pin.partition('==')
    return f'{re.sub(r"[-_.]+", "-", name).lower()}=={version}'


def for_host(lines: list[str], installed: set[str]) -> tuple[list[str], list[str]]:
    """
    Divide pins into those that pip fits to the NumPy of a sourced ROS and those that stay exact.

    :param lines: of one group; a comment ``# host >=1.26,<3`` gives the range that the
        installation's own package may have, ``# host any`` admits whatever it has.
    :param installed: names of the packages that it has, in lower case with hyphens.
    """
    ranged, exact = [], []
    for line in lines:
        pin, _, host = line.partition('# host ')
        name = pin.partition('==')[0]
        if host.strip() not in ('', 'any'):
            ranged.append(name + host.strip())
        elif not host or name.lower().replace('_', '-') not in installed:
            exact.append(pin.strip())
    return ranged, exact


def stamp_text(layout: Layout, group: str) -> str:
    """Return what the stamp of an installed group must say; a moved checkout has another."""
    digest = hashlib.sha256((layout.root / 'requirements.txt').read_bytes())
    hashes = layout.root / HASHES
    digest.update(hashes.read_bytes() if hashes.exists() else b'')
    digest.update(str(layout.venv).encode())
    return f'{group} {digest.hexdigest()}'


def is_installed(layout: Layout, group: str) -> bool:
    """Return whether a group is installed as the requirements file has it now."""
    try:
        return (layout.venv / f'{group}.stamp').read_text() == stamp_text(layout, group)
    except OSError:
        return False


def provide_venv(layout: Layout, base_python: str) -> None:
    """Make the virtual environment unless a whole one is there; to be called under the lock."""
    unfinished = layout.venv / 'unfinished'
    if layout.python.exists() and not unfinished.exists():
        owner = layout.venv / 'folder'
        if owner.exists() and owner.read_text() == str(layout.venv):
            return
    try:
        with progress.timed(f'making a virtual environment in {layout.venv}'):
            shutil.rmtree(layout.venv, ignore_errors=True)
            layout.venv.mkdir(parents=True)
            unfinished.touch()
            _make_venv(layout, base_python)
            (layout.venv / 'folder').write_text(str(layout.venv))
            unfinished.unlink()
    except subprocess.CalledProcessError as error:
        shutil.rmtree(layout.venv, ignore_errors=True)
        lines = (error.stdout + error.stderr).splitlines()
        raise pip.explain(
            lines, f'making a virtual environment with {base_python}') from error
    except BaseException:
        shutil.rmtree(layout.venv, ignore_errors=True)
        raise


def _make_venv(layout: Layout, base_python: str) -> None:
    wheel = pip.bundled() if layout.uses_wheel else None
    options = ['--without-pip'] if wheel else []
    options += [] if layout.uses_wheel else ['--system-site-packages']
    subprocess.run([base_python, '-I', '-m', 'venv', *options, str(layout.venv)],
                   check=True, capture_output=True, text=True, close_fds=False)
    if wheel:
        pip.place(wheel, layout.venv)


def install(layout: Layout, group: str, uv: Uv | None = None) -> None:
    """
    Install a group of pinned packages; to be called under the lock.

    What pip had begun when it failed or was killed makes the whole environment void, except
    where it had changed nothing yet.
    """
    free = shutil.disk_usage(layout.state).free
    if free < NEEDED_BYTES[group]:
        raise Failure(
            f'no disk space for the Python packages: {layout.state} has {free / 1e6:.0f} MB free '
            f'and the group "{group}" needs {NEEDED_BYTES[group] / 1e6:.0f} MB. Free some and run '
            'the same command again.')
    before = _contents(layout)
    unfinished = layout.venv / 'unfinished'
    try:
        unfinished.touch()
        lines = read_groups((layout.root / 'requirements.txt').read_text())[group]
        if uv is None or not _install_by_uv(layout, group, lines, uv):
            _install_by_pip(layout, group, lines)
        (layout.venv / f'{group}.stamp').write_text(stamp_text(layout, group))
        unfinished.unlink()
    except BaseException as error:
        if _contents(layout) != before:
            shutil.rmtree(layout.venv, ignore_errors=True)
        unfinished.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise from_os_error(error, STEP[group]) from error
        raise
    finally:
        shutil.rmtree(layout.state / 'tmp', ignore_errors=True)


def _contents(layout: Layout) -> list[str]:
    return sorted(path.name for path in layout.venv.glob('lib/python3*/site-packages/*'))


def _install_by_uv(layout: Layout, group: str, lines: list[str], uv: Uv) -> bool:
    """Return whether it went well; where it did not, pip tries, and says why it cannot either."""
    exact = pinned(layout.root, [line.partition(' ')[0] for line in lines],
                   layout.state / 'pins.txt')
    # building those that exist as source only needs setuptools
    first = [line.partition(' ')[0] for line in lines if line.startswith('setuptools==')]
    first = pinned(layout.root, first, layout.state / 'first.txt') if first else []
    before = uv.unpacked()
    with progress.Bar(STEP[group], len(lines), 'packages') as bar:
        if (not first or uv.install(layout, first)) and uv.install(
                layout, exact, lambda: bar.show(min(uv.unpacked() - before, len(lines)))):
            bar.close(len(lines))
            return True
    progress.step(f'uv could not install them ({layout.state}/uv.log says why): pip tries')
    return False


def _install_by_pip(layout: Layout, group: str, lines: list[str]) -> None:
    exact = [line.partition(' ')[0] for line in lines]
    ranged: list[str] = []
    if not layout.uses_wheel:
        ranged, exact = for_host(lines, _installed(layout))
    with progress.Bar(STEP[group], len(lines), 'packages') as bar:
        watch = counting(bar)
        # some packages exist as source only, and building them needs setuptools
        for pin in exact:
            if pin.startswith('setuptools=='):
                _pip(layout, group, pinned(layout.root, [pin], layout.state / 'first.txt'),
                     lambda line: None)
        if ranged:  # whatever fits the NumPy of the installation, which no hash can name
            _pip(layout, group, [*_host_numpy(layout), *ranged], watch)
        # the file lists everything, so nothing is to be resolved
        _pip(layout, group, ['--no-deps', *pinned(
            layout.root, exact, layout.state / 'pins.txt')], watch)
        bar.close(len(lines))


def counting(bar: progress.Bar) -> Callable[[str], None]:
    """Return what counts the packages in the lines that pip prints."""
    seen = 0

    def watch(line: str) -> None:
        nonlocal seen
        if line.startswith(('Collecting ', 'Requirement already satisfied')):
            seen += 1
            bar.show(seen, line.split()[1] if line.startswith('C') else '')
        elif line.startswith('Installing collected'):
            bar.show(seen, 'writing them')
    return watch


def _pip(
    layout: Layout, group: str, arguments: list[str], watch: Callable[[str], None],
) -> None:
    pip.run(
        layout.python, ['install', '--no-build-isolation', '--progress-bar', 'off', *arguments],
        temporary=layout.state / 'tmp', log=layout.state / 'pip.log', doing=STEP[group],
        watch=watch)


def _installed(layout: Layout) -> set[str]:
    """Return the names of all packages that the environment sees."""
    answer = subprocess.run(
        [str(layout.python), '-c', 'from importlib.metadata import distributions as d\n'
         'print(*{str(i.name).lower().replace("_", "-") for i in d()})'],
        capture_output=True, text=True, check=False)
    return set(answer.stdout.split())


def _host_numpy(layout: Layout) -> list[str]:
    """Return the arguments that keep the NumPy of the sourced installation as it is."""
    answer = subprocess.run(
        [str(layout.python), '-c', 'import numpy; print(numpy.__version__)'],
        capture_output=True, text=True, check=False)
    return [f'numpy=={answer.stdout.strip()}'] if answer.returncode == 0 else []


def provide(layout: Layout, groups: tuple[str, ...], uv: Uv | None = None) -> None:
    """Install those of the groups that are missing; to be called under the lock."""
    for group in groups:
        if not is_installed(layout, group):
            install(layout, group, uv)
