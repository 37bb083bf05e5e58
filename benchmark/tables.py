# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What ``./run bench --record`` has measured, as tables of the documents.

Each function takes the numbers of one part of the benchmark and returns Markdown; a value in bold
has missed its target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

Numbers = Any   # of one part of the benchmark, as JSON has them

ROBOTS = {'ur5': 'UR5 (6)', 'panda': 'Panda (9)', 'talos': 'Talos, floating (50)'}
MECHANISMS = {'four_bar': 'four-bar linkage, one loop', 'five_bar': 'five-bar linkage, one loop',
              'delta': 'delta robot, five loops'}
SCENES = {'arm, table': 'arm (7), all its link shapes, on a table',
          'arm, ball': 'arm (7), a ball at its tool, on a plane',
          'go2': 'Go2, floating (18), balls at its feet, on a plane'}
MIDDLEWARES = {'rmw_fastrtps_cpp': 'Fast DDS', 'rmw_cyclonedds_cpp': 'Cyclone DDS'}
#: Best counts of the book (RBDA Table 10.1) by the beginning of ours.
BOOK = {'inverse dynamics': '836 / 1010', 'inertia matrix': '759 / 1017',
        'articulated bodies': '2067 / 2496'}


class Block(NamedTuple):
    """
    A table of the documents.

    :param part: of the benchmark, as ``./run bench`` names it.
    :param make: returns the Markdown of the numbers of this part.
    :param key: of the numbers that it needs, where older records of the part lack them.
    """

    part: str
    make: Callable[[Numbers], str]
    key: str = ''


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return '\n'.join('|' + ''.join(f' {cell} |' if cell else ' |' for cell in cells)
                     for cells in (head, ['---'] * len(head), *rows))


def shown(value: float) -> str:
    """Return a number with as many digits as a measurement has, a count as it is."""
    if isinstance(value, int):
        return str(value)
    return f'{value:.{2 if value < 10.0 else 1 if value < 100.0 else 0}f}'


def marked(text: str, met: bool) -> str:
    """Return a cell; in bold if a target was missed."""
    return text if met else f'**{text}**'


def _compared(row: Mapping[str, Any] | None) -> str:
    """Return microseconds, and how many times faster that is."""
    if row is None:
        return ''
    return marked(f'{shown(1e6 * row["ours"])} ({row["ratio"]:.1f}x)',
                  row['target'] is None or row['ratio'] >= row['target'])


def _grouped(numbers: Numbers) -> dict[tuple[str, str], dict[str, Mapping[str, Any]]]:
    """Return the rows of calls by robot and quantity, then by the way of the call."""
    found: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for row in numbers['calls']:
        place = found.setdefault((row['robot'], row['quantity'].replace('_', ' ')), {})
        place[row['call'].partition(' of ')[0]] = row
    return found


# --- the library ----------------------------------------------------------------------------


def calls(numbers: Numbers) -> str:
    """Return every way to call four quantities, next to Pinocchio."""
    return table(
        ('us', 'Pinocchio', 'bound call', 'bound, inputs written', 'checked call',
         'batch of 4096, per state'),
        [(f'{ROBOTS[robot]}, {quantity}', shown(1e6 * ways['bound']['theirs']),
          *(_compared(ways.get(way)) for way in (
              'bound', 'bound, inputs written', 'checked', 'batch')))
         for (robot, quantity), ways in _grouped(numbers).items() if 'deriv' not in quantity])


def calls_in_short(numbers: Numbers) -> str:
    """Return some of them."""
    chosen = (('panda', 'inverse dynamics'), ('panda', 'mass matrix'),
              ('panda', 'forward dynamics'), ('talos', 'forward dynamics'))
    rows = _grouped(numbers)
    return table(
        ('us', 'Pinocchio', 'checked call', 'bound call', 'in a batch, per state'),
        [(f'{ROBOTS[robot]}, {quantity}', shown(1e6 * rows[robot, quantity]['bound']['theirs']),
          *(_compared(rows[robot, quantity].get(way)) for way in ('checked', 'bound', 'batch')))
         for robot, quantity in chosen])


def derivatives(numbers: Numbers) -> str:
    """Return the derivatives of the dynamics, next to Pinocchio."""
    return table(
        ('us', 'Pinocchio', 'bound call', 'checked call'),
        [(f'{ROBOTS.get(robot, robot)}, of {quantity.partition(" ")[0]} dynamics',
          shown(1e6 * ways['checked']['theirs']),
          *(_compared(ways.get(way)) for way in ('bound', 'checked')))
         for (robot, quantity), ways in _grouped(numbers).items() if 'deriv' in quantity])


def operational_space(numbers: Numbers) -> str:
    """Return the operational-space inertia of one frame."""
    return table(('operational-space inertia of a 6-D frame, 7 joints', 'us'),
                 [(way, shown(1e6 * seconds))
                  for way, seconds in numbers['operational_space'].items()])


def beside_articulated_bodies(numbers: Numbers) -> str:
    """Return other kernels in units of the articulated-body kernel."""
    return table(('bound kernel of Talos, floating', 'time of its articulated-body kernel'),
                 [(name.replace('_', ' '), marked(f'{ratio:.2f}', ratio <= 3.0))
                  for name, ratio in numbers['beside_aba'].items()])


def compiling(numbers: Numbers) -> str:
    """Return how long compilation takes."""
    def label(row: str) -> str:
        robot, _, what = row.partition(', ')
        kernels = {'': 'five standard kernels',
                   'derivatives of ID': 'derivatives of inverse dynamics',
                   'derivatives of FD': 'derivatives of forward dynamics'}[what]
        return f'{ROBOTS[robot]}, {kernels}'
    rows = [(label(name), f'{row["cold"]:.2f}', f'{row["cached"]:.3f}')
            for name, row in numbers.items() if name != 'import']
    return table(('s', 'cold', 'from the cache'), [
        *rows, ('`import rbd_ros`', '', f'{numbers["import"]:.3f}')])


def operations(numbers: Numbers) -> str:
    """Return operations on general chains, next to the book."""
    return table(('operations, 6 / 7 joints', 'here', 'best in the book'), [
        (name, ' / '.join(map(str, counts)), BOOK[name.partition(',')[0]])
        for name, counts in numbers.items() if isinstance(counts, list)])


def scaling(numbers: Numbers) -> str:
    """Return the time of a bound call against the number of joints."""
    names = list(numbers['us'])
    return table(('joints', *(f'{name}, us' for name in names)), [
        (str(n), *(shown(numbers['us'][name][k]) for name in names))
        for k, n in enumerate(numbers['joints'])])


def loops(numbers: Numbers) -> str:
    """Return forward dynamics of closed loops, next to Pinocchio, and ladders."""
    both = table(('forward dynamics, us', 'Pinocchio', 'checked call'), [
        (title, shown(numbers[name]['pinocchio_us']), f'{shown(numbers[name]["us"])} '
         f'({numbers[name]["pinocchio_us"] / numbers[name]["us"]:.1f}x)')
        for name, title in MECHANISMS.items()])
    ladder = numbers.get('ladder')
    if ladder is None:
        return both
    head = ('ladder of hinges, loops', 'operations', 'bound call, us', 'compiled in, s')
    return both + '\n\n' + table(head, [
        (str(n), str(ops), shown(us), f'{seconds:.1f}') for n, ops, us, seconds in zip(
            ladder['loops'], ladder['operations'], ladder['us'], ladder['compile_s'],
            strict=True)])


def contact(numbers: Numbers) -> str:
    """Return steps in contact, next to MuJoCo."""
    titles = {f'{scene}, {how}': f'{title}, {how}' for scene, title in SCENES.items()
              for how in ('in the air', 'soft, touching', 'rigid, touching')}
    return table(('step of 1 ms, us', 'MuJoCo', 'here', 'simulated seconds per second'), [
        (titles[name], shown(row['mujoco_us']),
         marked(f'{shown(row["ours_us"])} ({row["ratio"]:.1f}x)', row['ratio'] >= 1.0),
         f'{1e3 / row["ours_us"]:.0f}') for name, row in numbers.items()])


def stack(numbers: Numbers) -> str:
    """Return steps of a stack of boxes, next to MuJoCo."""
    return table(('six boxes on each other, step of 1 ms, us', 'MuJoCo', 'here'), [
        (kind, shown(row['mujoco_us']), f'{shown(row["ours_us"])} ({row["ratio"]:.2g}x)')
        for kind, row in numbers.items()])


def inverse_kinematics(numbers: Numbers) -> str:
    """Return how many targets are reached, and how long that takes."""
    ways = [name.removeprefix('ur5 ') for name in numbers if name.startswith('ur5 ')]
    rows = []
    for way in ways:
        both = [numbers[f'{robot} {way}'] for robot in ('ur5', 'panda')]
        rows.append((way, *(f'{100.0 * each["share"]:.1f} %' for each in both),
                     *(_times(each) for each in both)))
    return table(('', 'UR5, reached', 'Panda, reached', 'UR5, ms: median / mean',
                  'Panda, ms: median / mean'), rows)


def _times(row: Mapping[str, float]) -> str:
    """Return the median and the mean of a search in ms; of many side by side the mean alone."""
    if 'us' in row:
        return f'{1e-3 * row["us"]:.3f}'
    return f'{row["median ms"]:.2f} / {row["ms"]:.2f}' if 'ms' in row else ''


def handles(numbers: Numbers) -> str:
    """Return the cost of the inverse inertia of many handles by each method."""
    methods = list(numbers['operations'])
    rows = []
    for k, n in enumerate(numbers['handles']):
        counts = [numbers['operations'][method][k] for method in methods]
        rows.append((str(n), *(marked(str(count), k != counts.index(min(counts)))
                               for k, count in enumerate(counts)),
                     shown(numbers['us'][str(n)]) if str(n) in numbers['us'] else ''))
    return table(('handles', *methods, 'the cheapest, us'), rows)


# --- the node -------------------------------------------------------------------------------


def latency(numbers: Numbers) -> str:
    """Return stamp to torque of the controller, of a plain node and of an echo."""
    return table(('us', 'p50', 'p99', 'p99.9', 'CPU', 'lost'), [
        (row['name'], *(f'{row[key]:.0f}' for key in ('p50', 'p99', 'p999', 'cpu', 'lost')))
        for row in numbers['latency']])


def latency_in_short(numbers: Numbers) -> str:
    """Return the medians in one sentence."""
    this, plain, floor = (f'{row["p50"]:.0f}' for row in numbers['latency'])
    return (f'From a joint state to its torque over DDS, the controller takes {this} us (median), '
            f'a plain node of\nrclpy and Pinocchio {plain} us, an echo that computes nothing '
            f'{floor} us.')


def targets(numbers: Numbers) -> str:
    """Return what was asked of the node, and how the machine behaved meanwhile."""
    run = numbers['soak']
    found = table(('', 'measured', 'target', ''), [
        (row['what'], f'{shown(row["value"])} {row["unit"]}'.strip(), row['target'],
         'met' if row['met'] else '**missed**') for row in numbers['targets']])
    gaps = run['gaps_with_stalls']
    longer = '1 gap was' if gaps == 1 else f'{gaps} gaps were'
    return (f'{found}\n\nDuring the {run["seconds"]:.0f} s at 1 kHz, the machine itself stalled '
            f'{run["stalls"]} times, {run["stalled"]:.2f} s in total, as\nmeasured by two '
            f'processes that only sleep. With these stalls, {longer} longer than 5 ms.')


def floor(numbers: Numbers) -> str:
    """Return what each choice costs a bare node."""
    return table(('us', 'p50', 'p99', 'p99.9', 'CPU'), [
        (row['name'], *(f'{row[key]:.0f}' for key in ('p50', 'p99', 'p999', 'cpu')))
        for row in numbers])


def real_time(numbers: Numbers) -> str:
    """Return the controller next to an echo in C and to a plain node, by middleware."""
    keys = ('p50', 'p90', 'p99', 'p999', 'longest', 'cpu', 'missed', 'lost')
    return '\n\n'.join(table(
        (f'{MIDDLEWARES.get(rmw, rmw)}, us', 'p50', 'p90', 'p99', 'p99.9', 'longest', 'CPU',
         'missed', 'lost'),
        [(f'{place}: {name}', *(f'{row[key]:.0f}' for key in keys))
         for place, rows in found['rows'].items() for name, row in rows.items()])
        + f'\n\nWhile it should have been quiet, others took {found["others"]:.0%} of the '
        'machine.' for rmw, found in numbers.items())


def real_time_targets(numbers: Numbers) -> str:
    """Return what was asked of these ratios, by middleware and situation."""
    def cell(row: Mapping[str, Any], place: str) -> str:
        value = row['ratios'][place]
        if value is None:
            return ''
        return marked(f'{value:.2%}' if 'missed' in row['what'] else f'{value:.2f}',
                      row['met'][place])
    return '\n\n'.join(table(
        (MIDDLEWARES.get(rmw, rmw), *found['rows'], 'target'),
        [(row['what'], *(cell(row, place) for place in found['rows']), row['target'])
         for row in found['targets']])
        for rmw, found in numbers.items())


def real_time_allocations(numbers: Numbers) -> str:
    """Return what is allocated for one state."""
    def own(row: Mapping[str, Any]) -> tuple[str, str]:
        if row['loop'] is None:
            return 'unknown', 'unknown'
        return f'{row["loop"]:.2f}', f'{row["loop_bytes"]:.0f}'
    return table(
        ('allocations per state', 'thread of the loop', 'its bytes', 'all other threads'),
        [(f'{MIDDLEWARES.get(rmw, rmw)}: {name}', *own(row), f'{row["others"]:.2f}')
         for rmw, found in numbers.items() for name, row in found['allocations'].items()])


def updates(numbers: Numbers) -> str:
    """Return how long updates inside ros2_control take."""
    return table(
        ('us', 'p50', 'p99', 'p99.9', 'longest', 'updates', 'begin late, p99', 'periods missed',
         'allocations'),
        [(f'{row["mode"]}, {row["rate"]} Hz, load {row["load"]:.1f}',
          marked(shown(row['p50']), row['p50'] < 10.0),
          *(shown(row[key]) for key in ('p99', 'p999', 'longest')), str(row['updates']),
          shown(row['late']), str(row['missed']),
          marked(str(row['allocations']), row['allocations'] == 0)) for row in numbers])


#: By the names that the documents have for them.
BLOCKS = {
    'calls': Block('speed', calls), 'calls in short': Block('speed', calls_in_short),
    'derivatives': Block('speed', derivatives),
    'operational space': Block('speed', operational_space),
    'beside articulated bodies': Block(
        'speed', beside_articulated_bodies, 'beside_aba'),
    'compiling': Block('compile', compiling), 'operations': Block('ops', operations),
    'scaling': Block('scaling', scaling), 'loops': Block('loops', loops),
    'contact': Block('contact', contact), 'stack': Block('stack', stack),
    'inverse kinematics': Block('ik', inverse_kinematics),
    'handles': Block('handles', handles), 'latency': Block('node', latency),
    'latency in short': Block('node', latency_in_short), 'targets': Block('node', targets),
    'floor': Block('floor', floor), 'real time': Block('real_time', real_time),
    'updates': Block('ros2_control', updates),
    'real time, targets': Block('real_time', real_time_targets),
    'real time, allocations': Block('real_time', real_time_allocations),
}
