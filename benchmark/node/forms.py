# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What each choice costs a node that computes nothing: executor, messages, middleware."""

from __future__ import annotations

from benchmark.node.report import compare
from benchmark.node.rig import Contender
from rclpy.utilities import get_available_rmw_implementations

ECHO = ('-m', 'benchmark.node.echo')
FAST, CYCLONE = 'rmw_fastrtps_cpp', 'rmw_cyclonedds_cpp'
#: What is measured: name, options of the echo, RMW, transports of Fast DDS.
FORMS = (
    ('events, serialized', (), FAST, ''),
    ('events, typed', ('--form', 'typed'), FAST, ''),
    ('single, serialized', ('--executor', 'single'), FAST, ''),
    ('single, typed', ('--executor', 'single', '--form', 'typed'), FAST, ''),
    ('parameter services, rosout', ('--services',), FAST, ''),
    ('garbage collected as usual', ('--gc', 'usual'), FAST, ''),
    ('second node, second thread', ('--second',), FAST, ''),
    ('steady timer, 1 kHz', ('--timer', '1000'), FAST, ''),
    ('steady timer, 100 Hz', ('--timer', '100'), FAST, ''),
    ('deadline offered', ('--deadline',), FAST, ''),
    ('busy thread, switch 5 ms', ('--busy', '5e-3'), FAST, ''),
    ('busy thread, switch 0.5 ms', ('--busy', '5e-4'), FAST, ''),
    ('busy thread, switch 0.05 ms', ('--busy', '5e-5'), FAST, ''),
    ('UDP only', (), FAST, 'UDPv4'),
    ('shared memory only', (), FAST, 'SHM'),
    ('Cyclone DDS', (), CYCLONE, ''),
    ('Cyclone DDS, single, typed', ('--executor', 'single', '--form', 'typed'), CYCLONE, ''),
)


def report(turns: int = 3, states: int = 600) -> tuple[str, list[dict[str, object]]]:
    """Return the table and its numbers; the first line is the fastest form with Fast DDS."""
    available = get_available_rmw_implementations()
    contenders = [
        Contender(name, (*ECHO, *options), {'RMW_IMPLEMENTATION': rmw} | (
            {'FASTDDS_BUILTIN_TRANSPORTS': transports} if transports else {}), controls=False)
        for name, options, rmw, transports in FORMS if rmw in available]
    rows = compare(contenders, turns, states, warm=200)
    lines = [f'{"us":30}{"p50":>8}{"p99":>8}{"p99.9":>8}{"CPU":>8}']
    lines += [f'{row.name:30}{row.p50:8.0f}{row.p99:8.0f}{row.p999:8.0f}{row.cpu:8.0f}'
              for row in rows]
    return '\n'.join(lines), [row._asdict() for row in rows]
