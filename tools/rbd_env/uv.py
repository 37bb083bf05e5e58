# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
uv, which installs packages many times faster than pip, where it can be had.

It is fetched with pip, once for all checkouts, and verified. It does not read the settings of
pip, so they are handed to it; where one of them has no counterpart, or uv fails, pip does
the work.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable
from dataclasses import dataclass
import os
from pathlib import Path
import shutil
import zipfile

from rbd_env import pip, progress, together, wheels
from rbd_env.failure import Failure
from rbd_env.layout import Layout
from rbd_env.wheels import Wheel

VERSION = '0.13.8'
WHEELS = {
    'x86_64': Wheel(
        'manylinux_2_17_x86_64',
        'e18a57b8b352eb7c8feb317b9f6f533c8f0ad9673fd6cf34bbe3cf1a9f6a8984', 17_389_450),
    'aarch64': Wheel(
        'manylinux_2_28_aarch64',
        '5337c30bb893b4f9ce0ceb921ba2da0d13f649da644f40ad3bef84083bef0203', 16_808_714),
}
# setting of pip: the variable by which uv is told the same, and what stands between several values
SETTINGS = {
    'index-url': ('UV_DEFAULT_INDEX', ' '), 'extra-index-url': ('UV_INDEX', ' '),
    'find-links': ('UV_FIND_LINKS', ','), 'trusted-host': ('UV_INSECURE_HOST', ' '),
    'cert': ('SSL_CERT_FILE', ' '), 'client-cert': ('SSL_CLIENT_CERT', ' '),
    'proxy': ('ALL_PROXY', ' '), 'timeout': ('UV_HTTP_TIMEOUT', ' '),
    'default-timeout': ('UV_HTTP_TIMEOUT', ' '),
}
# settings of pip that change nothing of what is installed here
IDLE = ('config-file', 'disable-pip-version-check', 'no-input', 'no-cache-dir', 'cache-dir',
        'progress-bar', 'retries', 'user', 'require-virtualenv', 'break-system-packages',
        'root-user-action', 'no-color', 'quiet', 'verbose', 'no-python-version-warning',
        'prefer-binary', 'no-warn-script-location', 'compile', 'no-compile', 'log')
# what of uv's own settings says where packages come from, and where they are kept
KEPT = ('UV_CACHE_DIR', 'UV_DEFAULT_INDEX', 'UV_INDEX', 'UV_FIND_LINKS', 'UV_HTTP_TIMEOUT',
        'UV_INSECURE_HOST', 'UV_NATIVE_TLS', 'UV_SYSTEM_CERTS', 'UV_LINK_MODE', 'UV_OFFLINE')


@dataclass(frozen=True)
class Uv:
    """
    The program and the variables that it runs with.

    :param program: where it lies.
    :param environ: all its variables.
    """

    program: Path
    environ: dict[str, str]

    def install(
        self, layout: Layout, arguments: list[str], tick: Callable[[], None] | None = None,
    ) -> bool:
        """Install into the environment of a checkout; return whether that went well."""
        command = [str(self.program), 'pip', 'install', '--python', str(layout.python),
                   '--no-deps', '--no-build-isolation', *arguments]
        if '--require-hashes' in arguments:
            # an index that lacks a version need not hide it: the hash says which file it must be
            command += ['--index-strategy', 'unsafe-first-match']
        try:
            return together.run(command, layout.state / 'uv.log', environ=self.environ,
                                tick=tick) == 0
        except OSError:  # such as a cache on a disk from which nothing may be run
            return False

    def unpacked(self) -> int:
        """Return how many packages its cache holds."""
        return sum(1 for _ in Path(self.environ['UV_CACHE_DIR']).glob('archive-*/*'))


def provide(layout: Layout, machine: str) -> Uv | None:
    """
    Return uv, fetched if need be; None where pip must do.

    :param machine: as ``uname -m`` says it.
    """
    wheel = WHEELS.get(machine)
    if not layout.uses_wheel or wheel is None:  # the packages of a sourced ROS are pip's matter
        return None
    environ = variables(layout)
    if environ is None:
        return None
    program = layout.cache / f'uv-{VERSION}-{machine}' / 'uv'
    if not program.exists():
        try:
            with progress.timed(f'fetching the installer uv {VERSION}'):
                fetch(wheel, program, layout)
        except Failure:  # which pip will explain if it cannot work either
            progress.step('uv could not be fetched: pip installs the packages, which takes longer')
            return None
    return Uv(program, environ)


def fetch(wheel: Wheel, program: Path, layout: Layout) -> None:
    """Fetch the program of a wheel."""
    staging = layout.state / 'uv'
    try:
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        file = wheels.download(f'uv=={VERSION}', wheel, staging, layout.python, 'fetching uv')
        wheels.verify(file, wheel)
        with zipfile.ZipFile(file) as archive:
            found = archive.extract(f'uv-{VERSION}.data/scripts/uv', staging)
        os.chmod(found, 0o755)
        program.parent.mkdir(parents=True, exist_ok=True)
        # whole or not at all, also where two checkouts fetch it at the same time
        whole = program.with_name(f'uv.{os.getpid()}')
        shutil.copy2(found, whole)
        whole.rename(program)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def variables(layout: Layout) -> dict[str, str] | None:
    """Return the variables that tell uv what pip is told; None where that cannot be said."""
    log = layout.state / 'settings.log'
    layout.state.mkdir(parents=True, exist_ok=True)
    if together.run([str(layout.python), '-I', '-m', 'pip', 'config', 'list'], log):
        return None
    told = translate(log.read_text(errors='replace'))
    if told is None:
        return None
    environ = {key: value for key, value in os.environ.items() if key not in pip.DROPPED
               and (not key.startswith('UV_') or key in KEPT)}
    for other in ('REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE'):  # which pip listens to
        if environ.get(other):
            told.setdefault('SSL_CERT_FILE', environ[other])
    own = {'UV_CACHE_DIR': str(layout.cache / 'packages'), 'UV_NO_PROGRESS': '1',
           'UV_NO_CONFIG': '1'}  # files of uv, also those of the folder where ./run is called
    return {**own, **told, **environ}


def translate(settings: str) -> dict[str, str] | None:
    """
    Return pip's settings as variables of uv, None if one of them has no counterpart.

    :param settings: what ``pip config list`` prints.
    """
    merged: dict[str, str] = {}
    order = {'global': 0, 'install': 1, ':env:': 2}
    lines = [line.partition('=') for line in settings.splitlines() if '=' in line]
    for name, _, value in sorted(lines, key=lambda line: order.get(line[0].rpartition('.')[0], 3)):
        section, _, key = name.rpartition('.')
        if section not in order or key in IDLE:
            continue
        if key not in SETTINGS:
            return None
        variable, between = SETTINGS[key]
        merged[variable] = between.join(str(literal_eval(value)).split())
    return merged
