# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""``rbd doctor``: what it prints, what it concludes, and its exit codes."""

from __future__ import annotations

from collections.abc import Callable
import math
from pathlib import Path
from typing import Any

from command_rig import data, rbd
import numpy as np
import pytest
from rbd_ros.command_line.output import number
from rbd_ros.machine import cyclic, examination, host
from rbd_ros.machine.cyclic import Cycles
from rbd_ros.machine.examination import Check
from rbd_ros.machine.findings import bad, better, Finding, ok, unknown

Machine = Callable[..., None]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Return what makes a machine of these findings, with a thread that is late by so much."""
    def make(*findings: Finding, late: float = 1e-5, cycles: int = 2000, **more: object) -> None:
        looks = [Check(f'thing {k}', lambda _, each=each: each) for k, each in enumerate(findings)]
        monkeypatch.setattr(examination, 'checks', lambda _: looks)

        def run(seconds: float, rate: float, *, progress: Callable, **_: object) -> Cycles:
            for share in (0.3, 1.0):
                progress(share)
            return Cycles(np.full(cycles, late), 3, **{'refused': {}, 'native': True} | more)
        monkeypatch.setattr(cyclic, 'run_cycles', run)
    return make


@pytest.mark.parametrize('findings, late, strict, code, verdict', [
    ((ok('a'), unknown()), 1e-5, False, 0, 'ok'),
    ((ok('a'), unknown()), 1e-5, True, 0, 'ok'),
    ((ok('a'), better('b', 'c')), 1e-5, False, 0, 'could be better'),
    ((ok('a'), better('b', 'c')), 1e-5, True, 1, 'could be better'),
    ((better('b', 'c'), bad('d', 'e')), 1e-5, False, 1, 'bad'),
    ((ok('a'),), 0.9e-3, False, 1, 'bad'), ((ok('a'),), 0.9e-3, True, 1, 'bad')])
def test_exit_code(machine: Machine, findings: tuple[Finding, ...], late: float, strict: bool,
                   code: int, verdict: str) -> None:
    """The worst of the checks and of the wanted rate decides; --strict minds warnings too."""
    machine(*findings, late=late)
    found = data('doctor', *['--strict'] * strict, code=code)
    assert (found['verdict'], found['fit']) == (verdict, verdict != 'bad')


def test_wanted_rate_decides(machine: Machine) -> None:
    """What is too late for one rate is not for another; all of them are reported."""
    machine(ok('a'), late=0.9e-3)
    found = data('doctor', '--rate', 250)
    assert {each['rate']: each['verdict'] for each in found['rates']} == {
        250.0: 'ok', 500.0: 'bad', 1000.0: 'bad', 2000.0: 'bad'}
    assert data('doctor', '--rate', 100)['rates'][0]['rate'] == 100.0
    machine(ok('a'), bad('b', 'c'), late=0.9e-3)
    assert 'For 500 Hz this machine is not fit (bad: thing 1, 500 Hz).' in rbd(
        'doctor', '--rate', '500', code=1)[0]
    machine(ok('a'), late=0.9e-3, cycles=999)
    assert {each['verdict'] for each in data('doctor')['rates']} == {'unknown'}
    assert 'Settings: fit. The test was too short to judge 1000 Hz' in rbd('doctor')[0]


def test_settings_only(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a test nothing is said about rates."""
    machine(ok('a'))
    monkeypatch.setattr(cyclic, 'run_cycles', None)
    found = data('doctor', '--seconds', 0)
    assert found['test'] is None and found['rates'] == [] and found['fit']
    assert 'was not measured' in rbd('doctor', '--seconds', '0')[0]


@pytest.mark.parametrize('words, seconds, rate, priority, cores', [
    ((), 10.0, 1000.0, 40, ()),
    (('--seconds', '2', '--rate', '250', '--priority', '7', '--cpu', '0'), 2.0, 250.0, 7, (0,))])
def test_the_thread_gets_what_is_asked_for(
        machine: Machine, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...],
        seconds: float, rate: float, priority: int, cores: tuple[int, ...]) -> None:
    """Time, rate, priority and processor, the last one none unless it is named."""
    machine(ok('a'))
    run, asked = cyclic.run_cycles, []

    def noted(*given: float, **more: Any) -> Cycles:
        asked.append((*given, more['priority'], tuple(more['cores'])))
        return run(*given, **more)
    monkeypatch.setattr(cyclic, 'run_cycles', noted)
    data('doctor', *words)
    assert asked == [(seconds, rate, priority, cores)]


@pytest.mark.parametrize('value, digits, text', [
    (1.23456, 4, '1.235'), (1.23456, 2, '1.2'), (123456.0, 4, '1.235e+05'), (-1e-12, 4, '0'),
    (math.inf, 4, '-'), (math.nan, 4, '-')])
def test_numbers_of_tables(value: float, digits: int, text: str) -> None:
    """Four digits unless others are asked for; rounding errors are zero, no number is a dash."""
    assert number(value, digits) == text
    assert number(value) == text or digits != 4


def test_words(machine: Machine) -> None:
    """Verdict, reason and command of each check; a command stays in one line; the histogram."""
    command = 'echo ' + 'x' * 200 + ' | sudo tee /a'
    machine(better('slow [a]', 'why ' * 40, command), ok('fine'), refused={'priority': 'no right'})
    text, _ = rbd('doctor')
    lines = text.splitlines()
    assert lines[0] == 'could be better  thing 0            slow [a]'
    assert f'                 do: {command}' in lines
    assert max(len(line) for line in lines if 'why' in line) < 100
    assert 'normal priority; machine code; priority refused: no right' in text
    assert '2000 cycles, 3 left out: p50 10.0 us, p99 10.0 us, p99.9 10.0 us, largest' in text
    assert any(line.split()[:4] == ['up', 'to', '10', '2000'] for line in lines)
    assert 'For 1000 Hz this machine is fit, but it could be better' in text
    found = data('doctor', '--rate', 500)
    assert found['checks'][0] == {'check': 'thing 0', 'verdict': 'could be better',
                                  'found': 'slow [a]', 'advice': 'why ' * 40, 'command': command}
    test = found['test']
    assert (test['rate'], test['cycles'], test['missed']) == (500.0, 2000, 3)
    assert test['p99.9_us'] == pytest.approx(10.0) and test['histogram'][-1] == {
        'us': 'up to 10', 'cycles': 2000}


@pytest.mark.parametrize('words, named', [
    (('--seconds', '-1'), '--seconds'), (('--seconds', 'nan'), '--seconds'),
    (('--seconds', 'inf'), '--seconds'), (('--rate', '0'), '--rate'),
    (('--rate', 'nan'), '--rate'), (('--rate', 'fast'), '--rate'),
    (('--priority', '100'), '--priority'),
    (('--priority', '-1'), '--priority'), (('--cpu', '4095'), '--cpu'), (('--cpu', '-1'), '--cpu'),
    (('--seconds', '86400', '--rate', '10000'), '--seconds'), (('robot.urdf',), 'robot.urdf')])
def test_arguments_that_cannot_be_taken(words: tuple[str, ...], named: str) -> None:
    """They are named, and the exit code is that of wrong usage."""
    assert named in rbd('doctor', *words, code=2)[1]


def test_this_machine() -> None:
    """A short run for real: every check says something, and the exit code fits the verdict."""
    found = data('doctor', '--seconds', '0.2', code=None)
    assert [each['check'] for each in found['checks']] == [
        each.name for each in examination.checks(40)]
    assert found['test']['cycles'] == 200
    assert found['test']['max_us'] >= found['test']['p99.9_us'] >= found['test']['p50_us'] >= 0.0


def test_a_machine_without_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is raised where nothing can be read; what is not known is no reason to fail."""
    plain = host.Host
    monkeypatch.setattr(host, 'Host', lambda: plain(tmp_path, {}))
    found = data('doctor', '--seconds', '0')
    assert sum(each['verdict'] == 'unknown' for each in found['checks']) > 15 and found['fit']
