# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The environment of ``./run test scale``: PyTorch, JAX, Dask and Ray, apart from all else."""

from __future__ import annotations

import hashlib
from pathlib import Path
import platform
import shutil
import subprocess
import sys

from rbd_env import lock, packages, pip, progress
from rbd_env.failure import Failure, from_os_error
from rbd_env.layout import Layout

#: Of the file with the pins.
REQUIREMENTS = 'requirements_scale.txt'
#: Where builds of PyTorch for processors alone are.
INDEX = 'https://download.pytorch.org/whl/cpu'
#: For which it is looked for, after the Python of ./run: those that the library is for.
VERSIONS = ('3.11', '3.12', '3.13')
NEEDED_BYTES = 3_000_000_000
DOING = 'installing PyTorch, JAX, Dask and Ray'


def provide(layout: Layout) -> Path:
    """Return the interpreter of the environment, which is made on first use."""
    folder = layout.folder / 'scale'
    python = folder / 'venv' / 'bin' / 'python'
    stamp = folder / 'stamp'
    files = (layout.root / REQUIREMENTS, layout.root / packages.HASHES)
    wanted = hashlib.sha256(b''.join(each.read_bytes() for each in files)).hexdigest() + str(
        folder)
    with lock.held(layout.folder):
        try:
            if stamp.exists() and stamp.read_text() == wanted:
                return python
            _make(layout, folder)
            stamp.write_text(wanted)
        except OSError as error:
            raise from_os_error(error, DOING) from error
    return python


def _make(layout: Layout, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    free = shutil.disk_usage(folder).free
    if free < NEEDED_BYTES:
        raise Failure(f'no disk space for PyTorch, JAX, Dask and Ray: {folder} has '
                      f'{free / 1e6:.0f} MB free, and they need {NEEDED_BYTES / 1e6:.0f} MB.')
    pins = packages.read_groups((layout.root / REQUIREMENTS).read_text())['scale']
    torch = next(pin for pin in pins if pin.startswith('torch=='))
    base = _with_torch(torch, folder)
    progress.step(f'making a virtual environment of {base} in {folder / "venv"}')
    try:
        subprocess.run([base, '-I', '-m', 'venv', str(folder / 'venv')], check=True,
                       capture_output=True, text=True, close_fds=False)
    except subprocess.CalledProcessError as error:
        raise pip.explain((error.stdout + error.stderr).splitlines(),
                          f'making a virtual environment with {base}') from error
    with progress.Bar(DOING, len(pins), 'packages') as bar:
        pip.run(folder / 'venv' / 'bin' / 'python',
                ['install', '--no-deps', '--only-binary=:all:', '--progress-bar', 'off',
                 *packages.pinned(layout.root, [pin for pin in pins if pin != torch],
                                  folder / 'pins.txt')],
                temporary=folder / 'tmp', log=folder / 'pip.log', doing=DOING,
                watch=packages.counting(bar))
        # Its index was asked for nothing else, and is asked for nothing now.
        pip.run(folder / 'venv' / 'bin' / 'python',
                ['install', '--no-deps', '--no-index', '--progress-bar', 'off',
                 *map(str, (folder / 'wheels').iterdir())],
                temporary=folder / 'tmp', log=folder / 'pip.log', doing=DOING,
                watch=packages.counting(bar))
        bar.close(len(pins))
    for each in ('wheels', 'tmp'):
        shutil.rmtree(folder / each, ignore_errors=True)


def _with_torch(pin: str, folder: Path) -> str:
    """Return a Python for which there is a build of PyTorch, which is fetched."""
    own = f'{sys.version_info[0]}.{sys.version_info[1]}'
    tried = []
    for version in dict.fromkeys((own, *VERSIONS)):
        python = interpreter(version)
        if python is None:
            continue
        progress.step(f'fetching {pin} for Python {version}')
        done = subprocess.run(
            [sys.executable, '-I', '-m', 'pip', '--disable-pip-version-check', '--no-input',
             '--retries', '1', 'download', '--no-deps', '--only-binary=:all:',
             '--python-version', version, '--index-url', INDEX,
             '--dest', str(folder / 'wheels'), pin],
            capture_output=True, text=True, check=False, close_fds=False)
        if done.returncode == 0:
            return python
        tried.append(version)
    raise Failure(f'there is no {pin} for {platform.machine()} and Python {", ".join(tried)} in '
                  f'{INDEX}. ./run test scale needs the network once; '
                  'check the connection, or the index settings of pip.')


def interpreter(version: str) -> str | None:
    """Return a Python of a version that this machine has, None for none."""
    beside = Path(sys.base_prefix).parent       # where pyenv has its versions
    candidates = [shutil.which(f'python{version}'),
                  *sorted(map(str, beside.glob(f'{version}*/bin/python{version}')))]
    for each in filter(None, candidates):
        said = subprocess.run([each, '-I', '-c', 'import sys; print(*sys.version_info[:2])'],
                              capture_output=True, text=True, check=False)
        if said.stdout.split() == version.split('.'):
            return each
    return None


def variables(layout: Layout, environ: dict[str, str]) -> dict[str, str]:
    """Return the variables of the tests: nothing of ROS, which is for another Python."""
    from rbd_env.variables import without_runtime
    clean = without_runtime(environ)
    clean.update({key: environ[key] for key in ('RBD_ROS_FOLDER',) if key in environ})
    return {**clean, 'PYTHONPATH': str(layout.root), 'RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO': '0',
            'RAY_USAGE_STATS_ENABLED': '0'}
