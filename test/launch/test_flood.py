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

"""
A flood on any topic costs no state and fills no log, on the slow path of every state.

The same system shows that the slow path alone gives the torques of another library.
"""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import subprocess
import sys
import time

from arm import GRAVITY
import numpy as np
import pytest
from rbd_env.pace import patient
from rig import MARGIN
from standing import Standing

FLOODER = Path(__file__).with_name('flooder.py')
SECONDS = 1.0
PER_SECOND = {'names': 10_000.0}  # if the machine can send and read as many
LEAST = 5000.0  # per second, of all others
GAPS = {'names': 0.25}  # s between two commands
STALL = 0.15  # s in which this process did not run
LINES = 12  # of one place and second, and some more of others


@pytest.fixture
def system() -> Iterator[Standing]:
    """Give a controller that runs in computed torque."""
    made = Standing({'mode': 'computed_torque', 'state_timeout': 0.9})
    try:
        made.run()
        yield made
    finally:
        assert made.close() == 0


def test_floods_on_the_slow_path(system: Standing) -> None:
    """Whatever comes how often, the robot runs on and each state has its torque."""
    gravity_comes(system)
    assert not system.client.trigger('reset').success  # finds the service, which takes its time
    flooder = subprocess.Popen(
        [sys.executable, str(FLOODER), str(SECONDS)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True, bufsize=1)
    try:
        for kind in ('payload', 'trajectory', 'bad trajectory', 'pose', 'twist', 'dead_man',
                     'description', 'names'):
            flood(system, flooder, kind)
    finally:
        flooder.communicate(timeout=patient(60.0))
    assert flooder.returncode == 0


def gravity_comes(system: Standing) -> None:
    """Expect: each state gets its torque, g(q) of Pinocchio at rest."""
    client = system.client
    states = len(client.commands)
    client.wait(lambda: len(client.commands) > states + 100, 'commands')
    np.testing.assert_allclose(client.commands[-1].effort, GRAVITY, rtol=0, atol=1e-6)


def flood(system: Standing, flooder: subprocess.Popen[str], kind: str) -> None:
    """Expect: thousands of messages per second make neither a gap nor a fault nor many lines."""
    client = system.client
    wanted = 'operational_space' if kind in ('pose', 'twist') else 'computed_torque'
    client.must_set({'mode': wanted})
    client.wait(lambda: client.last('mode') == wanted, wanted)
    assert flooder.stdin is not None and flooder.stdout is not None
    rate = PER_SECOND.get(kind, LEAST)
    while True:
        flooder.stdin.write(f'{rate} {kind}\n')
        assert flooder.stdout.readline() == 'begun\n'
        begin, lines = time.monotonic(), len(client.texts['log'])
        dropped = system.dropped
        answered = slowest_answer(system, begin + 0.8 * SECONDS)
        sent = int(flooder.stdout.readline())
        seconds, gap = time.monotonic() - begin, system.largest_gap(begin)
        lines = len(client.texts['log']) - lines
        print(f'{kind}: {sent / seconds:.0f} Hz, largest gap {1e3 * gap:.1f} ms, slowest answer '
              f'{1e3 * answered:.1f} ms, {lines} lines, {system.dropped - dropped} datagrams '
              f'dropped, load {os.getloadavg()[0]:.1f}')
        if client.last('state') != 'running' and rate > LEAST and (
                client.stalled(begin) > STALL or sent < 0.95 * rate * SECONDS):
            client.wait_running()  # too busy a machine for as many, see below
            rate /= 2.0
            continue
        assert client.last('state') == 'running' and client.last('fault') == '', kind
        bounded = (gap < GAPS.get(kind, MARGIN) + client.stalled(begin)
                   and answered < system.answer_margin(begin, dropped))
        if rate <= LEAST or (bounded and sent > 0.95 * rate * SECONDS):
            break
        # what a busy machine cannot send it cannot read either; its socket drops states then
        rate /= 2.0
    assert sent > 0.2 * rate * SECONDS
    assert bounded, (kind, gap, answered)
    assert lines < LINES * (seconds + 1.0), kind


def slowest_answer(system: Standing, until: float) -> float:
    """Return how long a service of the loop took at most to answer, s; a stop has its way."""
    slowest = 0.0
    while time.monotonic() < until:
        begin = time.monotonic()
        assert not system.client.trigger('reset').success  # nothing to reset
        slowest = max(slowest, time.monotonic() - begin)
        time.sleep(0.05)
    return slowest
