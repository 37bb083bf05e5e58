# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The log of a controller: lines go into a queue, and a separate thread writes them.

rclpy logs while it holds the interpreter lock: a slow disk or a console that nobody reads stops
every thread. Here a caller only adds to a queue of bounded length. The thread calls rcutils
without the interpreter lock; format, log file and /rosout are those of rclpy. Each place in the
program may log some lines per second; further lines are only counted.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
import ctypes
import math
import os
from queue import Empty, SimpleQueue
import sys
import threading
import time
from typing import NamedTuple

from rbd_ros.control.throttle import Throttle, with_suppressed
from rbd_ros.nodes.console import accepts_output
from rclpy.impl import rcutils_logger
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.logging import LoggingSeverity

__all__ = ['LogQueue', 'QueuedLogger', 'printable']

#: lines per second: of one place in the program, of the whole
_RATE_PER_PLACE, _RATE_OVERALL = 10, 100

_MAX_WAITING = 1000  # lines
_MAX_LENGTH = 8000  # of a line
_OWN_FILES = (__file__, rcutils_logger.__file__)


class _Line(NamedTuple):
    """One line on its way."""

    name: str  # of the logger
    severity: int
    text: str
    function: str
    file: str
    number: int  # of the line in the file

    @property
    def place(self) -> tuple[str, int, int]:
        """Return where it comes from."""
        return self.file, self.number, self.severity


class LogQueue:
    """Lines of all loggers of one node, written by one thread."""

    def __init__(self, write: Callable[[_Line], object] | None = None, *,
                 per_place: int = _RATE_PER_PLACE) -> None:
        """
        Start the thread.

        :param write: takes a line, and may take its time; None: writes it to the log.
        :param per_place: lines of one place and second.
        """
        self._waiting: SimpleQueue[_Line | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._repeats = Throttle(1.0, per_place)
        self._suppressed: dict[Hashable, _Line] = {}  # last line left out, by its place
        self._dropped = 0  # lines for which there was no room
        self._unprinted = 0  # lines that the console did not take
        self._console = 1 if os.environ.get('RCUTILS_LOGGING_USE_STDOUT') == '1' else 2
        self._write = write or _writer()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name='log', daemon=True)
        self._thread.start()

    def add(self, line: _Line) -> None:
        """
        Take a line from any thread; never waits.

        :param line: to be logged, or counted where there are too many.
        """
        if self._closed:
            self._write(line)
            return
        with self._lock:
            left = self._repeats.take(line.place, time.monotonic())
            if left is None:
                self._suppressed[line.place] = line
                return
            self._suppressed.pop(line.place, None)
            if self._waiting.qsize() >= _MAX_WAITING:
                self._dropped += 1
                return
        self._waiting.put(line._replace(text=with_suppressed(line.text, left)))

    def close(self, limit: float = 1.0) -> None:
        """
        Write what is queued and end the thread.

        :param limit: s to wait for that at most.
        """
        self._waiting.put(None)
        self._thread.join(limit)
        self._closed = True

    # -- in the thread --------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            try:
                line = self._waiting.get(timeout=1.0)
            except Empty:
                self._log_suppressed()
                continue
            if line is None:
                self._log_suppressed(math.inf)
                return
            self._emit(line)
            time.sleep(1.0 / _RATE_OVERALL if self._waiting.qsize() > _RATE_OVERALL else 0.0)

    def _emit(self, line: _Line) -> None:
        if accepts_output(self._console):
            if self._unprinted or self._dropped:
                self._log_lost(line.name)
        else:
            self._unprinted += 1
        self._write(line)

    def _log_lost(self, name: str) -> None:
        """Log how many lines this console did not show."""
        parts = []
        if self._unprinted:
            parts.append(f'{self._unprinted} lines were not printed, because this console was '
                         'not reading; they are in the log file and on /rosout')
        if self._dropped:
            parts.append(f'{self._dropped} lines were dropped, because the queue was full')
        self._unprinted = self._dropped = 0
        self._write(_Line(name, int(LoggingSeverity.WARN), '; '.join(parts), '', __file__, 0))

    def _log_suppressed(self, until: float | None = None) -> None:
        """Log the last line of those left out at places that have become quiet, and how many."""
        with self._lock:
            quiet = self._repeats.overdue(time.monotonic() if until is None else until)
            lines = {place: self._suppressed.pop(place, None) for place in quiet}
        for place, line in lines.items():
            if line is not None:
                self._emit(line._replace(text=with_suppressed(line.text, quiet[place] - 1)))


class QueuedLogger(RcutilsLogger):
    """A logger of rclpy whose lines go into a queue."""

    def __init__(self, name: str, queue: LogQueue) -> None:
        """
        Take the name and the queue.

        :param name: of the logger.
        :param queue: gets the lines.
        """
        super().__init__(name)
        self._queue = queue
        self._throttles: dict[float, Throttle] = {}
        self._parent: RcutilsLogger | None = None

    def get_child(self, name: str) -> QueuedLogger:
        """Return a logger of a longer name with the same queue."""
        plain = super().get_child(name)
        child = QueuedLogger(plain.name, self._queue)
        child._parent = plain  # it takes the name off /rosout when it is deleted
        return child

    def log(self, message: str, severity: int, *, throttle_duration_sec: float = 0.0,
            once: bool = False, **_: object) -> bool:
        """
        Add a line to the queue.

        :param message: text.
        :param severity: of rclpy.
        :param throttle_duration_sec: s within which one line is logged from this place.
        :param once: whether one line is logged from this place for ever.
        """
        if once:
            throttle_duration_sec = math.inf
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename in _OWN_FILES:
            frame = frame.f_back
        code = frame.f_code
        line = _Line(self.name, int(severity), str(message)[:_MAX_LENGTH], code.co_name,
                     code.co_filename, frame.f_lineno)
        if throttle_duration_sec > 0.0:
            repeats = self._throttles.setdefault(
                throttle_duration_sec, Throttle(throttle_duration_sec))
            left = repeats.take(line.place, time.monotonic())
            if left is None:
                return False
            line = line._replace(text=with_suppressed(line.text, left))
        self._queue.add(line)
        return True


class _Location(ctypes.Structure):
    """The structure rcutils_log_location_s."""

    _fields_ = (('function', ctypes.c_char_p), ('file', ctypes.c_char_p),
                ('number', ctypes.c_size_t))


def _writer() -> Callable[[_Line], None]:
    """Return what logs a line without the interpreter lock, or with it if rcutils is not found."""
    try:
        library = ctypes.CDLL('librcutils.so')  # its calls release the lock
        log = library.rcutils_log
    except (OSError, AttributeError):
        return lambda line: _rclpy.rclpy_logging_rcutils_log(
            LoggingSeverity(line.severity), line.name, printable(line.text), line.function,
            line.file,
            line.number)
    log.restype = None

    def write(line: _Line) -> None:
        where = _Location(_text(line.function), _text(line.file), line.number)
        log(ctypes.byref(where), ctypes.c_int(line.severity), _text(line.name), b'%s',
            _text(line.text))
    return write


def printable(text: str) -> str:
    """
    Return a text that cannot pass for anything else on a console or in a log file.

    Names of joints and frames come from messages of others. Control characters are escaped, and
    what follows a line break is indented: it cannot look like a line of its own.

    :param text: of a line; a traceback has several.
    """
    if text.isprintable():
        return text
    return ''.join(
        c if c.isprintable() else '\n    ' if c == '\n' else '    ' if c == '\t'
        else c.encode('unicode_escape').decode('ascii') for c in text)


def _text(text: str) -> bytes:
    return printable(text).encode(errors='replace')
