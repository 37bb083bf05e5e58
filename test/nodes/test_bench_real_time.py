# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The benchmark of the loop pairs commands with their states and finds those that are wrong."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
import os
from pathlib import Path
import subprocess
import sys

from benchmark.node.native import turns
from benchmark.node.native.build import build, Programs, reason_to_skip
from benchmark.node.native.turns import Files, Seen
from benchmark.node.real_time import checked, Figures, figures, FLOOR, OURS, PLAIN, Target
import numpy as np
import pytest

MS = 1_000_000  # ns
RMW = os.environ.get('RMW_IMPLEMENTATION') or 'rmw_fastrtps_cpp'


def seen(sent: list[int], answered: list[int], *, cpu: float = 0.0, **more: int) -> Seen:
    """Return what a driver saw, times in ms; 0: not answered."""
    return Seen(np.array(sent) * MS, np.array(answered) * MS, **{
        'repeated': 0, 'unknown': 0, 'length': 180, **more}, cpu=cpu, others=0.0)


@pytest.fixture(scope='module')
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    """Compile once."""
    reason = reason_to_skip()
    if reason:
        pytest.skip(reason)
    yield build(tmp_path_factory.mktemp('programs'))


@pytest.fixture(scope='module')
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Write the messages once."""
    return Files.write(tmp_path_factory.mktemp('messages'))


def test_missed_and_lost_states() -> None:
    """A command after the next state comes too late; one that never comes is lost as well."""
    row = figures([seen([0, 10, 20, 30], [2, 23, 0, 34], cpu=0.1), seen([0, 10], [4, 16])])
    assert (row.states, row.missed, row.lost) == (6, 2, 1)
    assert row.longest == pytest.approx(13e3)
    assert row.p50 == pytest.approx(np.median([np.median([2, 13, 4]), 5.0]) * 1e3)
    assert row.cpu == pytest.approx(0.5 * 1e5)  # median of 0.1 s and none


def test_what_cannot_be_compared_is_refused() -> None:
    """Commands that answer the wrong state, or that have another size, spoil a turn."""
    good = seen([0, 1], [1, 2])
    assert checked('x', good, 180) is good
    for fault, words in (({'repeated': 3}, '3 second commands'), ({'unknown': 2}, '2 commands to'),
                         ({'length': 99}, '99 bytes instead of 180')):
        with pytest.raises(RuntimeError, match=f'x: .*{words}'):
            checked('x', seen([0, 1], [1, 2], **fault), 180)
    with pytest.raises(RuntimeError, match='x: the last 2 states were not answered'):
        checked('x', seen([*range(20)], [*range(1, 19), 0, 0]), 180)
    with pytest.raises(RuntimeError, match='x: 0 torques'):
        checked('x', good, 180, controls=True)


def test_ratios_and_targets() -> None:
    """Ratios go the right way round; a node that does not keep up gives none."""
    base = Figures(100.0, 0.0, 0.0, 0.0, 0.0, 50.0, 1000, 3, 0)
    rows = {FLOOR: base, OURS.name: base._replace(p50=110.0, cpu=80.0, missed=5),
            PLAIN.name: base._replace(p50=330.0, missed=501)}
    below, above = Target('', 'p50', False, 1.15), Target('', 'p50', True, 2.5)
    assert below.ratio(rows) == pytest.approx(1.1) and below.met(1.1) and not below.met(1.2)
    assert above.ratio(rows) is None and above.met(None)
    rows[PLAIN.name] = base._replace(p50=330.0)
    assert above.ratio(rows) == pytest.approx(3.0) and above.met(3.0) and not above.met(2.0)
    assert Target('', 'cpu', False, 1.5).ratio(rows) == pytest.approx(1.6)
    assert Target('', 'missed', False, 0.0).ratio(rows) == pytest.approx(0.002)


def test_the_share_of_others() -> None:
    """What neither idles nor is ours is that of others."""
    times = namedtuple('times', 'user system idle iowait')
    found = turns.share_of_others(times(5.0, 1.0, 2.0, 0.0), times(6.0, 1.5, 4.0, 0.5), 0.5)
    assert found == pytest.approx(0.25)


def test_the_driver_pairs_each_command_with_its_state(programs: Programs, files: Files) -> None:
    """An echo answers states in their order; no command answers two states, or none."""
    with turns.conversation(programs, files, turns.echo(programs, files), RMW) as (driver, pid):
        length = files.template.stat().st_size
        found = checked('echo', driver.run(250.0, 125, pid), length)
    answered = found.answered > 0
    assert answered.any() and found.cpu > 0.0
    assert (found.answered[answered] > found.sent[answered]).all()
    assert (np.diff(found.answered[answered]) > 0).all()
    assert (np.diff(found.sent) > 0).all()
    assert 3 <= len(found.torques) <= 7 and {len(tau) for _, tau in found.torques} == {7}
    with pytest.raises(RuntimeError, match='not those of computed torque'):     # an echo of zeros
        checked('echo', found, length, controls=True)


def test_a_wrong_pairing_is_found(programs: Programs, files: Files) -> None:
    """Commands with the stamp of the state before are seen, and the turn is refused."""
    subject = turns.echo(programs, files, stale=5)
    with turns.conversation(programs, files, subject, RMW) as (driver, pid):
        found = driver.run(250.0, 125, pid)
    assert found.repeated > 0 and (found.answered == 0).any()
    with pytest.raises(RuntimeError, match='second commands'):
        checked('echo', found, files.template.stat().st_size)


_ALLOCATE = """
import ctypes
c = ctypes.CDLL(None)
c.malloc.restype = ctypes.c_void_p
c.free.argtypes = [ctypes.c_void_p]
for _ in range(1000):
    c.free(c.malloc(1_000_003))
"""


def test_every_allocation_is_counted(programs: Programs, tmp_path: Path) -> None:
    """A process that allocates a known number of bytes a known number of times is seen to."""
    words = []
    for code in ('import ctypes', _ALLOCATE):
        counts = tmp_path / 'counts'
        counts.write_bytes(bytes(8 * turns.THREADS * turns.WORDS))
        subprocess.run([sys.executable, '-c', code], check=True, env={
            **os.environ, 'LD_PRELOAD': str(programs.allocations),
            'RBD_ALLOCATIONS': str(counts)})
        words.append(np.frombuffer(counts.read_bytes(), dtype=np.int64).reshape(-1, turns.WORDS))
    without, found = (each[0, 1:] for each in words)  # of the main thread
    assert 1000 <= found[0] - without[0] < 1500
    assert (found[1] - without[1]) // 1_000_003 == 1000
    assert 1000 <= found[2] - without[2] < 1500
