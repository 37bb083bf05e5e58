# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Log lines are queued, limited per place and second, and what is left out is counted."""

import ctypes
import os
import threading
import time
from types import SimpleNamespace

import pytest
from rbd_ros.control.throttle import short_list, Throttle, with_suppressed
from rbd_ros.nodes import console, log
from rbd_ros.nodes.log import LogQueue, QueuedLogger


def test_repeats_count_what_they_leave_out():
    """Of each kind so many pass in a period; the next one that passes knows the number."""
    subject = Throttle(1.0, 2)
    assert [subject.take('a', 0.1 * k) for k in range(5)] == [0, 0, None, None, None]
    assert subject.take('b', 0.5) == 0
    assert subject.take('a', 0.99) is None
    assert subject.take('a', 1.0) == 4
    assert subject.take('a', 1.1) == 0
    assert subject.take('a', 1.2) is None
    assert subject.overdue(2.4) == {}
    assert subject.overdue(2.6) == {'a': 1}
    assert subject.overdue(9.9) == {}
    assert subject.take('a', 9.9) == 0


def test_repeats_of_ever_new_kinds_do_not_fill_the_memory():
    """Ten thousand kinds leave a few hundred in the memory."""
    subject = Throttle()
    for k in range(10_000):
        assert subject.take(k, 0.0) == 0
    assert subject.take(9_999, 0.0) is None and subject.take(0, 0.0) == 0  # forgotten


def test_texts_stay_short():
    """Numbers are added only where there is one; lists of names are cut."""
    assert with_suppressed('text', 0) == 'text'
    assert with_suppressed('text', 3) == 'text (3 similar lines suppressed)'
    assert short_list(['a', 'b']) == 'a, b'
    assert len(short_list(['x' * 10_000] * 10_000)) < 500
    assert short_list([str(k) for k in range(20)]).endswith('7 and 12 more')


class Kept(LogQueue):
    """A queue whose lines are kept, and whose disk may be slow."""

    def __init__(self, delay=0.0, **more):
        self.lines, self.gate = [], threading.Event()
        self.gate.set()

        def keep(line):
            self.gate.wait()
            time.sleep(delay)
            self.lines.append(line)
        super().__init__(keep, **more)

    def texts(self, count):
        """Return the texts once there are so many."""
        end = time.monotonic() + 10.0
        while len(self.lines) < count and time.monotonic() < end:
            time.sleep(0.01)
        return [line.text for line in self.lines]


def test_nobody_waits_for_a_slow_log():
    """While nothing is taken, thousands of lines are added at once and most are dropped."""
    queue = Kept(per_place=10**9)
    logger = QueuedLogger('robot', queue)
    queue.gate.clear()
    for k in range(5000):
        logger.info(f'line {k}')  # would never return if it waited
    assert not queue.lines
    queue.gate.set()
    texts = queue.texts(3)
    queue.close(20.0)
    # the thread may take the first line before or after others were dropped
    assert next(text for text in texts if 'dropped' not in text) == 'line 0'
    assert any('lines were dropped' in line.text for line in queue.lines)
    assert sum('dropped' not in line.text for line in queue.lines) <= 1001  # one is in hand


def test_lines_that_the_console_did_not_show_are_counted(monkeypatch):
    """Once it reads again it is told how many there were, and after the end lines go through."""
    reading = [False]
    monkeypatch.setattr(log, 'accepts_output', lambda _: reading[0])
    queue = Kept()
    logger = QueuedLogger('robot', queue)
    for text in ('one', 'two'):
        logger.info(text)
    assert queue.texts(2) == ['one', 'two']
    reading[0] = True
    logger.error('three')
    assert queue.texts(4)[2:] == [
        '2 lines were not printed, because this console was not reading; they are in the log '
        'file and on /rosout', 'three']
    logger.info('four')
    assert queue.texts(5)[4:] == ['four']
    queue.close()
    logger.info('five')
    assert [line.text for line in queue.lines[5:]] == ['five']


def test_a_place_has_its_share_of_lines():
    """Ten lines per second from one place; the rest are counted, and logged when it is quiet."""
    queue = Kept()
    logger = QueuedLogger('robot', queue)
    for k in range(500):
        logger.warning(f'payload {k}')
    logger.error('another place')
    texts = queue.texts(12)
    queue.close()
    assert texts[:10] == [f'payload {k}' for k in range(10)]
    assert texts[10] == 'another place'
    assert texts[11] == 'payload 499 (489 similar lines suppressed)'
    assert queue.lines[0].file == __file__
    assert queue.lines[0].function == 'test_a_place_has_its_share_of_lines'
    assert queue.lines[0].name == 'robot' and queue.lines[0].severity == 30


def test_the_last_lines_are_written_before_the_end():
    """Closing waits for a slow disk until every line is written, the suppressed ones too."""
    queue = Kept(0.01)
    logger = QueuedLogger('robot', queue)
    for k in range(30):
        logger.info(f'line {k}')
    logger.fatal('the last one')
    begin = time.monotonic()
    queue.close(60.0)
    assert time.monotonic() - begin < 30.0
    assert [line.text for line in queue.lines] == [
        *(f'line {k}' for k in range(10)), 'the last one',
        'line 29 (19 similar lines suppressed)']


def test_throttle_and_once():
    """A throttled place says one line per duration, a place with once a single one."""
    queue = Kept()
    logger = QueuedLogger('robot', queue)
    said = [logger.info('a', throttle_duration_sec=60.0) for _ in range(5)]
    said += [logger.info('b', once=True) for _ in range(5)]
    assert said == [True, False, False, False, False] * 2
    assert queue.texts(2) == ['a', 'b']
    logger.get_child('part').info('c')
    assert queue.texts(3) == ['a', 'b', 'c']
    queue.close()
    assert queue.lines[2].name == 'robot.part'


@pytest.mark.parametrize('kind', ['pipe', 'terminal'])
def test_unblocked_console_never_waits(kind):
    """More than fits is lost, not waited for; others who use the same place still wait."""
    end, start = os.pipe() if kind == 'pipe' else os.openpty()
    copy = os.dup(start)
    try:
        console.make_nonblocking(copy)
        assert os.get_blocking(start) and not os.get_blocking(copy)
        assert console.accepts_output(copy)
        for _ in range(100):  # the system moves what was written to a terminal, and has room again
            with pytest.raises(BlockingIOError):
                for _ in range(10_000):
                    os.write(copy, b'x' * 100 + b'\n')
            if not console.accepts_output(copy):
                break
            time.sleep(0.01)
        assert not console.accepts_output(copy)
        assert os.isatty(copy) is (kind == 'terminal')
    finally:
        for number in (end, start, copy):
            os.close(number)


@pytest.mark.parametrize('found', [True, False])
def test_lines_reach_rcutils(monkeypatch, found):
    """By its library, or by rclpy where that is not found: the same line in the same order."""
    calls = []

    def load(name):
        if not found:
            raise OSError('no such library')
        return SimpleNamespace(rcutils_log=library)

    def library(where, severity, name, form, text):
        strings = ctypes.cast(where, ctypes.POINTER(ctypes.c_char_p))
        number = ctypes.cast(where, ctypes.POINTER(ctypes.c_size_t))[2]
        calls.append((severity.value, name.decode(), (form % text).decode(),
                      strings[0].decode(), strings[1].decode(), number))
    monkeypatch.setattr(log.ctypes, 'CDLL', load)
    monkeypatch.setattr(log, '_rclpy', SimpleNamespace(
        rclpy_logging_rcutils_log=lambda severity, *line: calls.append((severity.value, *line))))
    queue = LogQueue()
    QueuedLogger('arm', queue).warning('too 5 % warm\nfor me')
    queue.close()
    (severity, name, text, function, file, number), = calls
    assert (severity, name, text) == (30, 'arm', 'too 5 % warm\n    for me')
    assert (function, file) == ('test_lines_reach_rcutils', __file__) and number > 0


@pytest.mark.parametrize('text, shown', [
    ('goal reached', 'goal reached'), ('größer als 5 µs', 'größer als 5 µs'),
    ('frame x\n[INFO] [arm]: running', 'frame x\n    [INFO] [arm]: running'),
    ('a\rb\x1b[2Jc\x00d\x85e\u2028f\tg', r'a\rb\x1b[2Jc\x00d\x85e\u2028f    g')])
def test_no_text_passes_for_a_line_of_its_own(text, shown):
    """Names in messages of others cannot forge a log line, nor clear the screen."""
    assert log.printable(text) == shown
