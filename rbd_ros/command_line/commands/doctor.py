# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Find out whether this machine is fit for a control loop, and what to change. Needs no ROS.

    rbd doctor
    rbd doctor --rate 500 --seconds 60 --priority 40 --cpu 3
    rbd doctor --seconds 0               # look at the settings only

It checks the kernel, the permissions of this process, the processor, the memory, the middleware
and Python; then it wakes a thread of machine code at the rate of the loop and measures how late it
is. The exit code is 1 if the machine is not fit for the rate or, with --strict, if anything could
be better; otherwise 0. Let the test run for a long time, together with the programs that will run
with the robot.
"""

from __future__ import annotations

import math
import textwrap
import threading
from typing import Annotated, Optional, TYPE_CHECKING

from rbd_ros.command_line.options import AsJson
from rbd_ros.command_line.output import progress, show, table
import typer

if TYPE_CHECKING:
    from rbd_ros.machine.cyclic import Cycles
    from rbd_ros.machine.findings import Finding, Verdict
    from rich.console import RenderableType

_COLOURS = {'ok': 'green', 'unknown': 'dim', 'could be better': 'yellow', 'bad': 'red'}
_WORDS = {'ok': 'fit', 'could be better': 'fit, but it could be better', 'bad': 'not fit'}


def run(
    seconds: Annotated[float, typer.Option(
        min=0.0, max=86400.0, help='Duration of the test, s; 0: none.')] = 10.0,
    rate: Annotated[float, typer.Option(
        metavar='HZ', min=1.0, max=10000.0, help='Rate of the control loop.')] = 1000.0,
    priority: Annotated[int, typer.Option(
        min=0, max=99, help='SCHED_FIFO priority of the test; 0: none.')] = 40,
    cpu: Annotated[Optional[int], typer.Option(
        min=0, help='Core that the test runs on; by default any.')] = None,
    strict: Annotated[bool, typer.Option(
        '--strict', help='Also fail on what could be better.')] = False,
    as_json: AsJson = False,
) -> None:
    """Examine this machine; exit with 1 if it is not fit."""
    from rbd_ros.machine.examination import checks, examine
    from rbd_ros.machine.findings import Verdict, worst
    from rbd_ros.machine.host import Host
    _check(seconds, rate, cpu)
    with progress('looking', len(checks(priority))) as step:
        findings = examine(Host(), priority, step)
    cycles = _measure(seconds, rate, priority, cpu) if seconds > 0.0 else None
    rates = _rates(cycles, rate)
    judged = findings | {f'{hertz:g} Hz': each for hertz, each in rates.items() if hertz == rate}
    verdict = worst(each.verdict for each in judged.values())
    data = {'checks': [{'check': name} | _plain(each) for name, each in findings.items()],
            'test': None if cycles is None else _data(cycles, seconds, rate, priority, cpu),
            'rates': [{'rate': hertz} | _plain(each) for hertz, each in rates.items()],
            'rate': rate, 'verdict': verdict.value, 'fit': verdict is not Verdict.BAD}
    lines = [line for name, each in findings.items() for line in _lines(name, each)]
    show(data, as_json, '\n'.join(lines), *([] if cycles is None else _test(cycles, priority)),
         *[line for hertz, each in rates.items() for line in _lines(f'{hertz:g} Hz', each)],
         _conclusion(_summary(verdict, judged), rate, rates.get(rate)), wrap=False)
    if verdict is Verdict.BAD or (strict and verdict is Verdict.BETTER):
        raise typer.Exit(1)


def _check(seconds: float, rate: float, cpu: int | None) -> None:
    for name, value in (('--seconds', seconds), ('--rate', rate)):
        if not math.isfinite(value):
            raise typer.BadParameter(f'{value} is not a valid number for the test',
                                     param_hint=f"'{name}'")
    if seconds * rate > 1e8:
        raise typer.BadParameter(f'{seconds * rate:.3g} cycles are more than 1e8: choose a '
                                 f'shorter time', param_hint="'--seconds'")
    reason = _refused_core(cpu) if cpu is not None else ''
    if reason:
        raise typer.BadParameter(reason, param_hint="'--cpu'")


def _refused_core(cpu: int) -> str:
    """Return why a thread may not run on a core; one of its own tries, which then ends."""
    from rbd_ros.machine.requests import request_cores
    reasons: list[str] = []
    thread = threading.Thread(target=lambda: reasons.append(request_cores([cpu])))
    thread.start()
    thread.join()
    return reasons[0]


def _measure(seconds: float, rate: float, priority: int, cpu: int | None) -> Cycles:
    from rbd_ros.machine.cyclic import run_cycles
    shown = 0
    with progress(f'{rate:g} Hz for {seconds:g} s', 100) as step:
        def tell(share: float) -> None:
            nonlocal shown
            for _ in range(shown, int(100 * share)):
                step()
                shown += 1
        return run_cycles(seconds, rate, priority=priority, progress=tell,
                          cores=() if cpu is None else (cpu,))


def _rates(cycles: Cycles | None, rate: float) -> dict[float, Finding]:
    from rbd_ros.machine.lateness import judge_rate, RATES, spread_of
    if cycles is None:
        return {}
    spread = spread_of(cycles.late)
    return {hertz: judge_rate(spread, hertz) for hertz in sorted({*RATES, rate})}


def _plain(finding: Finding) -> dict[str, str]:
    return {'verdict': finding.verdict.value, 'found': finding.found, 'advice': finding.advice,
            'command': finding.command}


def _data(cycles: Cycles, seconds: float, rate: float, priority: int,
          cpu: int | None) -> dict[str, object]:
    from rbd_ros.machine.lateness import histogram, spread_of
    spread = spread_of(cycles.late)
    return {'seconds': seconds, 'rate': rate, 'priority': priority, 'cpu': cpu,
            'machine_code': cycles.native, 'refused': cycles.refused, 'cycles': spread.cycles,
            'missed': cycles.missed, 'p50_us': 1e6 * spread.p50, 'p99_us': 1e6 * spread.p99,
            'p99.9_us': 1e6 * spread.p999, 'max_us': 1e6 * spread.largest,
            'histogram': [{'us': words, 'cycles': count}
                          for words, count, _ in histogram(cycles.late)]}


def _lines(name: str, finding: Finding) -> list[str]:
    from rich.markup import escape
    word = finding.verdict.value
    lines = [f'[{_COLOURS[word]}]{word:<15}[/]  {name:<18} {escape(finding.found)}']
    lines += [f'{"":17}{escape(line)}' for line in textwrap.wrap(finding.advice, 82)]
    if finding.command:
        lines.append(f'{"":17}[bold]do:[/] {escape(finding.command)}')
    return lines


def _test(cycles: Cycles, priority: int) -> list[RenderableType]:
    from rbd_ros.machine.lateness import histogram, spread_of
    spread = spread_of(cycles.late)
    how = [f'SCHED_FIFO {priority}' if priority and 'priority' not in cycles.refused else
           'normal priority', 'machine code' if cycles.native else 'Python: no machine code']
    how += [f'{name} refused: {reason}' for name, reason in cycles.refused.items()]
    numbers = ', '.join(f'{name} {1e6 * value:.1f} us' for name, value in (
        ('p50', spread.p50), ('p99', spread.p99), ('p99.9', spread.p999),
        ('largest', spread.largest)))
    return ['', table(f'How late the thread woke up ({"; ".join(how)})', (
        '>us', '>cycles', 'on a logarithmic scale'), histogram(cycles.late)),
        f'{spread.cycles} cycles, {cycles.missed} left out: {numbers}\n']


def _summary(verdict: Verdict, judged: dict[str, Finding]) -> str:
    names = [name for name, each in judged.items() if each.verdict.value == 'bad']
    return _WORDS[verdict.value] + (f' (bad: {", ".join(names)})' if names else '')


def _conclusion(words: str, rate: float, judged: Finding | None) -> str:
    if judged is None:
        return f'\nSettings: {words}. How late threads are was not measured.'
    if judged.verdict.value == 'unknown':
        return f'\nSettings: {words}. The test was too short to judge {rate:g} Hz.'
    return (f'\nFor {rate:g} Hz this machine is {words}. This says how late a thread wakes up, '
            'not what\nthe middleware, the driver and other programs add; there is no hard '
            'deadline over topics.')
