# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The rig that measures the controller node runs and accounts for every message."""

from benchmark.node.figures import delays, latency, soak
from benchmark.node.stalls import merged, overlap
import pytest

MS = 1_000_000  # ns


def seen(sent: list[int], answered: list[tuple[int, int]]) -> dict:
    """Return what a driver prints, times in ms."""
    use = {'cpu': 0.0, 'waiting': 0.0, 'memory': 0}
    return {'sent': [MS * t for t in sent], 'answered': [(k, MS * t) for k, t in answered],
            'before': use, 'after': {**use, 'cpu': 1e-3 * len(sent)}}


def test_only_the_first_command_to_a_state_counts() -> None:
    """A second command to the same state, or one to a state of the warm-up, adds no latency."""
    found = delays(seen([0, 10], [(-1, 1), (0, 2), (0, 5), (1, 13)]))
    assert found.tolist() == [2000.0, 3000.0]


def test_losses_and_processor_time_are_per_state() -> None:
    """A state without command is lost; processor time is divided by all states."""
    row = latency('x', [seen([0, 10, 20, 30], [(0, 1), (1, 12), (3, 33)])])
    assert (row.states, row.lost) == (4, 1)
    assert row.cpu == pytest.approx(1000.0)
    assert row.p50 == pytest.approx(2000.0)


def test_stalls_and_late_states_excuse_a_gap() -> None:
    """Of a gap between commands only what no stall and no late state explains counts."""
    record = seen([*range(10), 30, 31], [(k, k + 1) for k in range(10)] + [(10, 31), (11, 45)])
    run = soak(record, [(32 * MS, 38 * MS)], rate=1000.0)
    assert run.gaps_with_stalls == 2
    assert run.gaps == 1  # the second: 14 ms without 6 ms of stall
    assert run.longest_gap == pytest.approx(8.0)
    assert run.superseded == 0


def test_intervals_join_and_overlap() -> None:
    """Intervals that touch become one; the overlap is the length in common."""
    union = merged([(5, 9), (0, 2), (1, 3), (9, 12)])
    assert union == [(0, 3), (5, 12)]
    assert overlap(2, 6, union) == 2


def test_the_rig_measures_two_processes() -> None:
    """A node and a driver in two processes answer every one of some messages."""
    pytest.importorskip('rclpy', reason='needs ROS 2: run it by ./run test')
    from benchmark.node.rig import Contender, turn
    echo = Contender('echo', ('-m', 'benchmark.node.echo', '--output', 'joint_state'))
    record = turn(echo, '--output', 'joint_state', '--warm', 20, '--count', 50, '--rate', 200)
    row = latency(echo.name, [record])
    assert (row.states, row.lost) == (50, 0)
    assert 0.0 < row.p50 < 1e6
    assert row.cpu > 0.0
