# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A copy of the checkout in which a fault is planted, and tests that run there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
from dataclasses import dataclass, field
import json
import os
from pathlib import Path
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time

from mutants.clock import Clock
from mutants.faults import Fault
from rbd_env.failure import Failure
from rbd_env.layout import made_folder
from rbd_env.stages import ONE_THREAD, QUICK, WITHOUT_LAUNCH

TOOLS = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns(
    '.git', '.run', '__pycache__', 'build', 'install', 'log', '.*_cache', '.hypothesis')
MARK = 'RBD_ROS_MUTANTS_COPY'
LOOK = 0.1  # s between two looks at what runs


class Stopped(Exception):
    """Somebody ended the run."""


@dataclass
class Outcome:
    """
    What tests said in a copy.

    :param passed: how many passed.
    :param failed: the first that failed, '' if none did.
    :param hung: whether it did not fail, but did not end.
    :param complete: whether all were run, or one failed.
    :param files: of which a test began.
    :param seconds: that it took, without what it waited for a processor.
    """

    passed: int = 0
    files: set[str] = field(default_factory=set)
    failed: str = ''
    hung: bool = False
    complete: bool = True
    seconds: float = 0.0


@dataclass
class Copy:
    """
    A copy of the checkout.

    :param root: of the checkout.
    :param place: a new folder, in which the copy and all that its tests make goes.
    :param cache: folder of compiled code, which copies share.
    :param seed: that the sample of heavy tests is drawn from.
    """

    root: Path
    place: Path
    cache: Path
    seed: str
    mark: str = field(default_factory=lambda: secrets.token_hex(8))
    _plantings: int = 0
    _process: subprocess.Popen[bytes] | None = None
    _stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def folder(self) -> Path:
        """Return the root of the copy."""
        return self.place / 'checkout'

    def make(self) -> None:
        """Copy the checkout, and see that its package is imported from there."""
        shutil.copytree(self.root, self.folder, ignore=LEFT_OUT, symlinks=True)
        built = made_folder(self.root, os.environ) / 'made'  # C code that tests have compiled
        if built.is_dir():
            shutil.copytree(built, self.folder / '.run' / 'made')
        (self.place / 'tmp').mkdir()
        for where in (self.folder, self.place):
            found = subprocess.run(
                [sys.executable, '-c', 'import rbd_ros; print(rbd_ros.__file__)'], cwd=where,
                env=self.environ(), capture_output=True, text=True)
            imported = found.stdout.strip()
            if not Path(imported).is_relative_to(self.folder):
                raise Failure(f'tests in a copy of the checkout would import {imported}, not what '
                              f'is below {self.folder}\n{found.stderr}')

    def environ(self) -> dict[str, str]:
        """Return the variables of a process in the copy."""
        path = os.environ.get('PYTHONPATH', '')
        return {**QUICK, **ONE_THREAD, **os.environ, MARK: self.mark,
                'PYTHONPATH': f'{self.folder}:{path}:{TOOLS}', 'RBD_ROS_ROOT': str(self.folder),
                'RBD_ROS_FOLDER': str(self.folder / '.run'), 'TMPDIR': str(self.place / 'tmp'),
                'RBD_ROS_CACHE': str(self.cache), 'RBD_ROS_TEST_SEED': self.seed}

    @contextlib.contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        """
        Have the fault in the copy.

        Byte code counts as that of a source of the same second and size, so that each planting
        has a second of its own.
        """
        file, source = self.folder / fault.path, (self.root / fault.path).read_bytes()
        before = file.stat()
        self._plantings += 1
        file.write_bytes(fault.planted(source))
        os.utime(file, (before.st_mtime + self._plantings, before.st_mtime + self._plantings))
        try:
            yield
        finally:
            file.write_bytes(source)
            os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))

    def run(self, tests: list[str], left_out: set[str], seconds: float, longest: float,
            tell: Callable[[str], None] = lambda test: None) -> Outcome:
        """
        Run tests one after the other until one fails.

        :param tests: files or ids, which are run in this order.
        :param left_out: ids that are not run.
        :param seconds: for all of them; what runs then is ended.
        :param longest: a test that takes longer than this, in seconds, counts as one that fails.
            Neither counts what tests wait for a processor.
        :param tell: gets the id of each test that begins.
        """
        said = self.place / 'said.jsonl'
        said.unlink(missing_ok=True)
        launch = any(Path(test).parts[1] == 'launch' for test in tests)
        environ = {**self.environ(), 'RBD_ROS_MUTANTS': json.dumps({
            'order': tests, 'left_out': sorted(left_out), 'said': str(said)})}
        with (self.place / 'output').open('wb') as output:
            self._process = subprocess.Popen(
                [sys.executable, '-m', 'pytest', '-p', 'mutants.watch', '-x', '-q', '--tb=no',
                 '-o', f'cache_dir={self.place / "pytest"}', '-o', 'timeout=0',
                 *(() if launch else WITHOUT_LAUNCH), *tests],
                cwd=self.folder, env=environ, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True)
            try:
                return self._watch(said, seconds, longest, tell)
            finally:
                self.end()

    def _watch(self, said: Path, seconds: float, longest: float,
               tell: Callable[[str], None]) -> Outcome:
        """Follow what the tests say, until they end or are ended."""
        clock = Clock(self._process.pid)
        outcome, running, since, place = Outcome(), '', 0.0, 0
        while True:
            code, now = self._process.poll(), clock.now()
            outcome.seconds = now
            with contextlib.suppress(FileNotFoundError), said.open() as file:
                file.seek(place)
                for line in iter(file.readline, ''):
                    if not line.endswith('\n'):
                        break
                    place += len(line.encode())
                    word, test = json.loads(line)
                    running, since = (test, now) if word == 'begins' else ('', now)
                    if word == 'begins':
                        tell(test)
                        outcome.files.add(test.partition('::')[0])
                    outcome.passed += word == 'passed'
                    if word == 'failed':
                        outcome.failed = outcome.failed or test
            if self._stopped.is_set():
                raise Stopped
            if outcome.failed:
                return outcome
            if code is not None:
                if code not in (0, 5):  # 5: no test was left
                    outcome.failed, outcome.hung = running or 'pytest', False
                return outcome
            if running and now - since > longest:
                outcome.failed, outcome.hung = running, True
                return outcome
            if now > seconds:
                outcome.complete = False
                return outcome
            time.sleep(LOOK)

    def said(self) -> str:
        """Return what pytest said last."""
        return (self.place / 'output').read_text(errors='replace')[-4000:]

    def stop(self) -> None:
        """End what runs here; whoever waits for it gets ``Stopped``."""
        self._stopped.set()

    def end(self) -> None:
        """End all processes that were started here, also those that left their group."""
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        mark = f'{MARK}={self.mark}'.encode()
        for entry in Path('/proc').glob('[0-9]*'):
            with contextlib.suppress(OSError):
                if mark in (entry / 'environ').read_bytes().split(b'\0'):
                    os.kill(int(entry.name), signal.SIGKILL)
        for folder in (self.place / 'tmp').iterdir():
            shutil.rmtree(folder, ignore_errors=True)
