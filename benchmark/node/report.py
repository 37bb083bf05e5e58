# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""One table: latency next to a plain node and the floor, a long run, and the time of a tick."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import os
import sys

from benchmark.node import controller
from benchmark.node.figures import Latency, latency, Soak, soak
from benchmark.node.rig import alone, Contender, turn
from benchmark.node.stalls import StallMonitor
import numpy as np

#: States per second where latencies are compared, and in the long run.
RATE, SOAK_RATE = 500.0, 1000.0
#: Turns of each contender, states of each turn.
TURNS, STATES = 5, 1500
#: States before the first that counts: a controller ramps its gains in first.
WARM = 1000

THIS = Contender('rbd_ros controller',
                 ('-m', 'rbd_ros.nodes.controller.process', *controller.arguments(RATE)))
PLAIN = Contender('plain rclpy + Pinocchio', ('-m', 'benchmark.node.plain'))
FLOOR = Contender('echo, computes nothing', ('-m', 'benchmark.node.echo'), controls=False)

Row = tuple[str, float, str, str, bool]  # what, value, unit, target, whether it is met


def compare(contenders: Sequence[Contender], turns: int = TURNS, states: int = STATES,
            warm: int = WARM) -> list[Latency]:
    """Measure contenders turn by turn, each in new processes, so that ratios are fair."""
    seen: dict[str, list[dict]] = {contender.name: [] for contender in contenders}
    for k in range(turns):
        for contender in contenders:
            progress(f'turn {k + 1} of {turns}: {contender.name}')
            seen[contender.name].append(turn(
                contender, '--rate', RATE, '--warm', warm, '--count', states))
    return [latency(name, parts) for name, parts in seen.items()]


def long_run(seconds: float) -> Soak:
    """Run the controller at a steady rate, with a watch over the machine."""
    progress(f'{SOAK_RATE:g} Hz for {seconds:g} s')
    node = Contender('rbd_ros controller', (
        '-m', 'rbd_ros.nodes.controller.process', *controller.arguments(SOAK_RATE, 'joint_state')))
    with StallMonitor() as monitor:
        seen = turn(node, '--rate', SOAK_RATE, '--way', 'free', '--output', 'joint_state',
                    '--warm', round(5 * SOAK_RATE), '--count', round(seconds * SOAK_RATE))
    return soak(seen, monitor.stalls, SOAK_RATE)


def tick(robot: str = 'arm') -> dict[str, float]:
    """
    Measure the time inside one tick, us.

    :param robot: ``arm``, or ``delta`` for closed loops whose passive joints are solved.
    """
    progress(f'one tick of the {robot}')
    times = alone('-m', 'benchmark.node.tick', robot)
    p50, p99 = np.percentile(times['paced'], (50.0, 99.0)).tolist()
    return {'paced_p50': p50, 'paced_p99': p99, 'busy_p50': float(np.median(times['busy'])),
            'kernel': times['kernel']}


def judged(rows: Sequence[Latency], run: Soak, one: dict[str, float],
           delta: dict[str, float]) -> Iterator[Row]:
    """Yield every figure that has a target."""
    this, plain, floor = rows
    yield ratio('p50, plain over this', plain.p50 / this.p50, least=1.5)
    yield ratio('CPU, plain over this', plain.cpu / this.cpu, least=4.0)
    yield ratio('p50, this over the floor', this.p50 / floor.p50, most=1.25)
    lost = 100.0 * run.superseded / run.states
    yield 'superseded states', lost, '%', 'below 0.1', lost < 0.1
    yield 'gaps over 5 ms, stalls off', run.gaps, '', 'none', run.gaps == 0
    yield 'memory growth', run.memory_growth, 'MB', 'below 1', run.memory_growth < 1.0
    yield 'p99 latency', run.p99, 'us', 'below 1000', run.p99 < 1000.0
    yield 'tick, back to back', one['busy_p50'], 'us', 'below 60', one['busy_p50'] < 60.0
    yield 'tick at 500 Hz, p50', one['paced_p50'], 'us', 'below 60', one['paced_p50'] < 60.0
    yield 'kernel in it', one['kernel'], 'us', 'below 3', one['kernel'] < 3.0
    yield ('tick of a delta at 1 kHz, p50', delta['paced_p50'], 'us', 'below 150',
           delta['paced_p50'] < 150.0)


def ratio(what: str, value: float, *, least: float | None = None,
          most: float = float('inf')) -> Row:
    """Return the row of a ratio."""
    if least is not None:
        return what, value, 'x', f'at least {least:g}', value >= least
    return what, value, 'x', f'at most {most:g}', value <= most


def table(rows: Sequence[Latency], run: Soak, one: dict[str, float],
          delta: dict[str, float]) -> str:
    """Return everything as text."""
    rmw = os.environ.get('RMW_IMPLEMENTATION', 'the default RMW')
    lines = [f'stamp to torque at {RATE:g} Hz, 7 joints, {rmw}, {policy()}; us',
             f'{"":26}{"p50":>8}{"p99":>8}{"p99.9":>8}{"CPU":>8}{"states":>9}{"lost":>6}']
    lines += [f'{row.name:26}{row.p50:8.0f}{row.p99:8.0f}{row.p999:8.0f}{row.cpu:8.0f}'
              f'{row.states:9}{row.lost:6}' for row in rows]
    lines += [
        '', f'{SOAK_RATE:g} Hz for {run.seconds:.0f} s: {run.states} states, p50 {run.p50:.0f}, '
        f'p99 {run.p99:.0f}, p99.9 {run.p999:.0f} us, CPU {run.cpu:.0f} us per state',
        f'superseded {run.superseded}; gaps over 5 ms {run.gaps}, {run.gaps_with_stalls} with '
        f'stalls and late states, longest {run.longest_gap:.1f} ms; the machine stalled '
        f'{run.stalls} times, {run.stalled:.2f} s',
        '', f'one tick: {one["busy_p50"]:.1f} us back to back, of which the kernel '
        f'{one["kernel"]:.2f}; at {RATE:g} Hz, with caches as others left them, '
        f'p50 {one["paced_p50"]:.1f}, p99 {one["paced_p99"]:.1f} us',
        f'of a delta robot: {delta["busy_p50"]:.1f} us back to back, of which the kernel '
        f'{delta["kernel"]:.1f}; at 1 kHz p50 {delta["paced_p50"]:.1f}, p99 '
        f'{delta["paced_p99"]:.1f} us', '']
    lines += [f'{what:30}{value:10.3g} {unit:3}{target:>14}  {"met" if met else "MISSED"}'
              for what, value, unit, target, met in judged(rows, run, one, delta)]
    return '\n'.join(lines)


def policy() -> str:
    """Name the scheduling that the processes inherit; ``chrt -f 5`` changes it."""
    names = {os.SCHED_OTHER: 'usual scheduling', os.SCHED_FIFO: 'SCHED_FIFO',
             os.SCHED_RR: 'SCHED_RR'}
    return names.get(os.sched_getscheduler(0), 'other scheduling')


def progress(text: str) -> None:
    """Print progress."""
    print(f'{text} ...', file=sys.stderr, flush=True)


def report(seconds: float = 60.0) -> tuple[str, dict[str, object]]:
    """
    Return the table and its numbers.

    :param seconds: length of the long run.
    """
    rows = compare((THIS, PLAIN, FLOOR))
    run, one, delta = long_run(seconds), tick(), tick('delta')
    figures = [dict(zip(('what', 'value', 'unit', 'target', 'met'), row))
               for row in judged(rows, run, one, delta)]
    return table(rows, run, one, delta), {
        'latency': [row._asdict() for row in rows], 'soak': run._asdict(), 'tick': one,
        'delta_tick': delta,
        'targets': figures}
