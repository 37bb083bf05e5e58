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

"""The benchmark's command line; ``./run bench --help`` lists what can be measured."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
import sys

from benchmark.timing import machine


def speed(options: argparse.Namespace) -> dict[str, object]:
    """Measure every call against Pinocchio."""
    from benchmark.speed import CASES, measure, table
    rows = []
    for case in CASES:
        print(f'measuring {case.robot} ...', file=sys.stderr, flush=True)
        rows += list(measure(case))
    print(table(rows))
    return {'speed': [{**row._asdict(), 'ratio': row.ratio} for row in rows]}


def ops(options: argparse.Namespace) -> dict[str, object]:
    """Count operations beside RBDA Table 10.1."""
    from benchmark.operations import report
    text, data = report()
    print(text)
    return {'operations': data}


def compile_times(options: argparse.Namespace) -> dict[str, object]:
    """Time compilation, cold and from the cache, and the import."""
    from benchmark.compiling import report
    text, data = report()
    print(text)
    return {'compile': data}


def scaling(options: argparse.Namespace) -> dict[str, object]:
    """Measure cost against the number of joints, 2 to 64, and plot it."""
    from benchmark.scaling import report
    text, data = report()
    print(text)
    return {'scaling': data}


def calls(options: argparse.Namespace) -> dict[str, object]:
    """Time one kernel by every way to call it."""
    from benchmark.callpath import report
    text, data = report()
    print(text)
    return {'calls': data}


def node(options: argparse.Namespace) -> dict[str, object]:
    """Measure the controller node beside a plain one and the floor, and run it for long."""
    from benchmark.node.report import report
    text, data = report(options.seconds)
    print(text)
    return {'node': data}


def floor(options: argparse.Namespace) -> dict[str, object]:
    """Measure what each choice of executor, message form and middleware costs a bare node."""
    from benchmark.node.forms import report
    text, data = report()
    print(text)
    return {'floor': data}


PARTS = {'speed': speed, 'calls': calls, 'ops': ops, 'compile': compile_times,
         'scaling': scaling, 'node': node, 'floor': floor}


def main() -> int:
    """Run the chosen parts and print one report."""
    described = '; '.join(f'{name}: {function.__doc__}' for name, function in PARTS.items())
    parser = argparse.ArgumentParser(prog='./run bench', description=__doc__)
    parser.add_argument('parts', nargs='*', metavar='PART',
                        help=f'what to measure, all by default ({described})')
    parser.add_argument('--json', type=Path, metavar='FILE', help='also write the numbers here')
    parser.add_argument('--seconds', type=float, default=60.0, metavar='S',
                        help='length of the long run of the node (60)')
    arguments = parser.parse_args()
    unknown = [part for part in arguments.parts if part not in PARTS]
    if unknown:
        parser.error(f'no part {", ".join(unknown)}; there are {", ".join(PARTS)}')
    print(machine())
    numbers: dict[str, object] = {'machine': machine()}
    for part in arguments.parts or PARTS:
        print(f'\n== {part}: {PARTS[part].__doc__}')
        numbers |= PARTS[part](arguments)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(numbers, indent=1) + '\n')
    return 0


if __name__ == '__main__':
    sys.exit(main())
