# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The benchmark's command line; ``./run bench --help`` lists what can be measured."""

from __future__ import annotations

import argparse
from collections.abc import Collection
from importlib import import_module
import json
from pathlib import Path
import sys
import traceback

from benchmark import record
from benchmark.tables import MIDDLEWARES

#: What can be measured: the module whose ``report`` gives a text and its numbers, and a sentence.
PARTS = {
    'speed': ('benchmark.speed', 'every call compared with Pinocchio'),
    'calls': ('benchmark.callpath', 'one kernel by every way to call it'),
    'ops': ('benchmark.operations', 'operation counts next to RBDA Table 10.1'),
    'compile': ('benchmark.compiling', 'compilation, cold and from the cache, and the import'),
    'scaling': ('benchmark.scaling', 'cost against the number of joints, 2 to 64, with a plot'),
    'large': ('benchmark.large', 'chains and trees of 50 to 200 joints next to Pinocchio'),
    'loops': ('benchmark.loops', 'closed loops next to Pinocchio, and ladders of 2 to 50 loops'),
    'ik': ('benchmark.inverse_kinematics',
           'inverse kinematics compared with a loop around Pinocchio, pink and mink'),
    'handles': ('benchmark.handles',
                'cost of the inertia of 1 to 12 handles by each method, with a plot'),
    'contact': ('benchmark.contact', 'steps of an arm and a quadruped in contact next to MuJoCo'),
    'stack': ('benchmark.stack', 'steps of a stack of boxes next to MuJoCo'),
    'gpu': ('benchmark.gpu.report', 'kernels on a GPU, where there is one'),
    'node': ('benchmark.node.report',
             'the controller node next to a plain one and the floor, and for long'),
    'real_time': ('benchmark.node.real_time',
                  'the controller next to an echo in C on rcl, quiet and on a busy machine'),
    'ros2_control': ('benchmark.ros2_control',
                     'the update of a generated controller inside a controller manager'),
    'page': ('benchmark.page',
             'pictures per second of the dashboard in a browser, and what its process takes'),
    'floor': ('benchmark.node.forms',
              'what each executor, message form and middleware costs a bare node'),
}


def main() -> int:
    """Run the chosen parts and print one report."""
    described = '; '.join(f'{name}: {sentence}' for name, (_, sentence) in PARTS.items())
    parser = argparse.ArgumentParser(prog='./run bench', description=__doc__)
    parser.add_argument('parts', nargs='*', metavar='PART',
                        help=f'what to measure, all by default ({described})')
    parser.add_argument('--json', type=Path, metavar='FILE', help='also write the numbers here')
    parser.add_argument('--record', action='store_true',
                        help='write benchmark/results.json and the tables of the documents')
    parser.add_argument('--tables', action='store_true',
                        help='measure nothing: write the tables from benchmark/results.json')
    parser.add_argument('--seconds', type=float, default=60.0, metavar='S',
                        help='length of the long runs of the node and of ros2_control (60)')
    parser.add_argument('--rmw', action='append', default=[], choices=MIDDLEWARES,
                        help='middleware of the part real_time; repeat it for both (that of the '
                        'environment)')
    arguments = parser.parse_args()
    unknown = [part for part in arguments.parts if part not in PARTS]
    if unknown:
        parser.error(f'no part {", ".join(unknown)}; there are {", ".join(PARTS)}')
    if arguments.tables:
        publish(())
        return 0
    here = record.described()
    print(here)
    numbers: dict[str, object] = {'machine': here}
    chosen = arguments.parts or list(PARTS)
    options: dict[str, dict[str, object]] = {
        'node': {'seconds': arguments.seconds}, 'ros2_control': {'seconds': arguments.seconds},
        'real_time': {'rmw': arguments.rmw}}
    for part in chosen:
        try:
            numbers[part] = measured(part, **options.get(part, {}))
        except Exception:           # the other parts must not be lost with it
            traceback.print_exc()
            continue
        if arguments.record and numbers[part] is not None:
            record.add(part, here, numbers[part])
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(numbers, indent=1, default=float) + '\n')
    if arguments.record:
        publish(numbers)
    failed = [part for part in chosen if part not in numbers]
    if failed:
        print(f'not measured, see above: {", ".join(failed)}', file=sys.stderr)
    return 1 if failed else 0


def measured(part: str, **options: object) -> object:
    """Measure one part, print its table and return its numbers."""
    module, sentence = PARTS[part]
    print(f'\n== {part}: {sentence}', flush=True)
    text, numbers = import_module(module).report(**options)
    print(text, flush=True)
    return numbers


def publish(parts: Collection[str]) -> None:
    """Write the tables of the documents, and say which."""
    for file in record.publish(parts):
        print(f'written: {file.relative_to(record.ROOT)}')


if __name__ == '__main__':
    sys.exit(main())
