# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The rig that measures the controller node runs and accounts for every message."""

from benchmark.node import arm, rig, torques
from benchmark.node.figures import delays, latency, soak
from benchmark.node.stalls import merged, overlap
from benchmark.proof import same
import numpy as np
import pytest
import rbd_ros

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


def torques_of(reference: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return computed torque about a posture, by the inverse dynamics of this package."""
    q, qd = (np.array(rows) for rows in zip(*map(arm.motion, times)))
    return rbd_ros.Dynamics(rbd_ros.load_urdf(arm.URDF)).inverse_dynamics(
        q, qd, arm.STIFFNESS * (reference - q) - arm.DAMPING * qd)


def test_a_node_that_does_not_control_is_not_measured() -> None:
    """Zeros, torques that stand still or are late, too few of them, no more of them: refused."""
    times = np.arange(0.0, 0.4, 0.02)
    good = torques_of(arm.POSTURE + 0.003, times)
    torques.refuse_wrong('x', times, good.tolist())
    late = torques_of(arm.POSTURE + 0.003, times - 0.002)
    for bad in (0.0 * good, np.tile(good[0], (len(times), 1)), late, 1.01 * good, good[:2]):
        with pytest.raises(RuntimeError, match='x: '):
            torques.refuse_wrong('x', times[:len(bad)], bad.tolist())
    node = rig.Contender('x', ())
    record = {'sent': list(range(20)), 'answered': [(k, k) for k in range(20)],
              'torques': list(zip(times.tolist(), good.tolist()))}
    rig.refuse_idle(node, record)
    for changes, text in (({'answered': record['answered'][::2]}, '10 of 20 states'),
                          ({'answered': [(0, 0)]}, '1 of 20'), ({'answered': []}, '0 of 20'),
                          ({'torques': [(t, [0.0] * 7) for t in times]}, 'not those of')):
        with pytest.raises(RuntimeError, match=text):
            rig.refuse_idle(node, {**record, **changes})
    with pytest.raises(RuntimeError, match='does not send back'):
        rig.refuse_idle(node._replace(controls=False), record)


def test_results_are_compared() -> None:
    """Another number, another shape, nothing at all, and no number: no row."""
    same('x', [1.0, 2.0], [1.0, 2.0 + 1e-9])
    for bad in ([1.0, 2.1], [1.0], [0.0, 0.0], [1.0, np.nan]):
        with pytest.raises(RuntimeError, match='x: '):
            same('x', bad, [1.0, 2.0])
    with pytest.raises(RuntimeError, match='size 0'):
        same('x', [0.0, 0.0], [0.0, 0.0])


def test_the_rig_measures_two_processes() -> None:
    """A node and a driver in two processes answer every one of some messages."""
    pytest.importorskip('rclpy', reason='needs ROS 2: run it by ./run test')
    echo = rig.Contender('echo', ('-m', 'benchmark.node.echo', '--output', 'joint_state'),
                         controls=False)
    record = rig.turn(echo, '--output', 'joint_state', '--warm', 20, '--count', 50, '--rate', 200)
    row = latency(echo.name, [record])
    assert (row.states, row.lost) == (50, 0)
    assert 0.0 < row.p50 < 1e6
    assert row.cpu > 0.0
