# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
``./run release``: make the archives of a release and check them as the package index does.

They are made of what git has, in an environment of their own, and installed with each Python that
this machine has. Nothing is uploaded.
"""

from __future__ import annotations

from collections.abc import Iterator
import hashlib
import os
from pathlib import Path
import shutil
import subprocess
import sys
import zipfile

from rbd_env import packages, progress
from rbd_env.failure import Failure
from rbd_env.layout import locate
from rbd_env.scale import interpreter

REQUIREMENTS = 'requirements_release.txt'
VERSIONS = ('3.10', '3.11', '3.12', '3.13', '3.14')
#: what a release must not hold, and some of what it must
FOREIGN = ('test/', 'benchmark/', 'tools/', 'docs/', '.run/', '__pycache__/')
CARRIED = ('rbd_ros/py.typed', 'share/rbd_ros/urdf/seven_joint_arm.urdf',
           'share/rbd_ros/config/controller.yaml', 'share/rbd_ros/launch/controller.launch.py',
           'share/rbd_ros/package.xml', 'lib/rbd_ros/controller', 'licenses/LICENSE')
ARM = 'package://rbd_ros/urdf/seven_joint_arm.urdf'


def call(*words: object, folder: Path | None = None) -> str:
    """Run a program and return what it prints; its failure is ours."""
    clean = {key: value for key, value in os.environ.items()
             if key not in ('PYTHONPATH', 'PYTHONHOME', 'AMENT_PREFIX_PATH', 'VIRTUAL_ENV')}
    done = subprocess.run([str(word) for word in words], cwd=folder, env=clean, text=True,
                          capture_output=True, check=False)
    if done.returncode:
        raise Failure(f'{Path(str(words[0])).name} {words[1] if words[1:] else ""} failed:\n\n'
                      + (done.stdout + done.stderr)[-3000:])
    return done.stdout


def checkers(root: Path, folder: Path) -> Path:
    """Return the folder of the programs that build and check, made anew if their list changed."""
    wanted = hashlib.sha256((root / REQUIREMENTS).read_bytes()
                            + (root / packages.HASHES).read_bytes()).hexdigest()
    venv, stamp = folder / 'venv', folder / 'stamp'
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        with progress.timed('installing what builds and checks archives'):
            call(getattr(sys, '_base_executable', sys.executable), '-m', 'venv', venv)
            pins = packages.read_groups((root / REQUIREMENTS).read_text())['release']
            call(venv / 'bin' / 'python', '-m', 'pip', 'install', '--quiet', '--no-deps',
                 *packages.pinned(root, pins, folder / 'pins.txt'))
        stamp.write_text(wanted)
    return venv / 'bin'


def contents(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel; only their dates are left out."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def faults(names: list[str]) -> Iterator[str]:
    """Yield what is wrong with the contents of a wheel."""
    for name in names:
        if name.startswith(FOREIGN) or '__pycache__' in name:
            yield f'{name} does not belong into it'
    for wanted in CARRIED:
        if not any(name.endswith(wanted) for name in names):
            yield f'{wanted} is missing'


def try_out(wheel: Path, python: str, folder: Path) -> None:
    """Install a wheel with a Python and use it as the README does."""
    venv = folder / Path(python).name
    call(python, '-m', 'venv', venv)
    call(venv / 'bin' / 'pip', 'install', '--quiet', wheel)
    call(venv / 'bin' / 'rbd', 'info', ARM)
    call(venv / 'bin' / 'python', folder / 'quick_start.py', folder=folder)


def quick_start(root: Path) -> str:
    """Return the program of the README."""
    return (root / 'README.md').read_text(encoding='utf-8').partition('```python\n')[2].partition(
        '```')[0]


def main() -> None:
    """Do all of it, and name the archives at the end."""
    layout = locate(dict(os.environ))
    root, folder = layout.root, layout.folder / 'release'
    programs, work = checkers(root, folder), folder / 'work'
    shutil.rmtree(work, ignore_errors=True)
    (work / 'source').mkdir(parents=True)
    call('/bin/sh', '-c', 'git archive HEAD | tar x -C "$0"', work / 'source', folder=root)
    with progress.timed('building archive and wheel'):
        call(programs / 'python', '-m', 'build', '--no-isolation', '--outdir', work / 'dist',
             work / 'source')
    (wheel,), (source,) = (work / 'dist').glob('*.whl'), (work / 'dist').glob('*.tar.gz')
    with progress.timed('checking them as the index does'):
        call(programs / 'twine', 'check', '--strict', wheel, source)
        call(programs / 'check-wheel-contents', wheel)
        call(programs / 'pyroma', '--min=8', source)
        wrong = list(faults(list(contents(wheel))))
        if wrong:
            raise Failure(f'{wheel.name}: ' + '; '.join(wrong))
    with progress.timed('building the wheel again from the archive'):
        shutil.unpack_archive(source, work / 'again')
        (unpacked,) = (work / 'again').iterdir()
        call(programs / 'python', '-m', 'build', '--wheel', '--no-isolation', '--outdir',
             work / 'second', unpacked)
        if contents(next((work / 'second').glob('*.whl'))) != contents(wheel):
            raise Failure('the archive gives another wheel than the checkout')
    (work / 'quick_start.py').write_text(quick_start(root))
    for version in VERSIONS:
        python = interpreter(version)
        if python is None:
            progress.step(f'not tried with Python {version}: this machine has none')
            continue
        with progress.timed(f'installing and using it with Python {version}'):
            try_out(wheel, python, work)
    print(f'Ready to be uploaded:\n  {wheel}\n  {source}')


if __name__ == '__main__':
    try:
        main()
    except Failure as failure:
        print(failure.paragraph(), file=sys.stderr)
        sys.exit(1)
