# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A flood on any topic, of requests or of goals costs no state and no process, and fills no log.

While they come, a service of the loop answers, and ~/stop gets through.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import subprocess
import sys
import time

from arm import GRAVITY
from geometry_msgs.msg import TransformStamped
import numpy as np
import pytest
from rbd_env.pace import patient
from rig import MARGIN
from sampling import some
from standing import Standing
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

HERE = Path(__file__).parent
KINDS = ('payload', 'trajectory', 'bad trajectory', 'pose', 'twist', 'dead_man', 'description',
         'names')
SECONDS = 1.0  # for each
REQUESTS = 6000.0  # per second
PER_SECOND = {'names': 10_000.0}  # if the machine can send and read as many
LEAST = 5000.0  # per second, of all others
GAPS = {'names': 0.25}  # s between two commands
STALL = 0.15  # s in which this process did not run
LINES = 12  # of one place and second, and some more of others
LINES_OF_REQUESTS = 100  # per second, of all places together


@contextmanager
def running(**parameters: object) -> Iterator[Standing]:
    """Give a controller that runs in computed torque, and ends well."""
    made = Standing({'mode': 'computed_torque', 'state_timeout': 0.9, **parameters})
    node = made.client.node
    publisher = node.create_publisher(TFMessage, '/tf', 10)

    def level() -> None:
        row = TransformStamped(child_frame_id='base_link')
        row.header.frame_id, row.header.stamp = 'world', node.get_clock().now().to_msg()
        row.transform.rotation.w = 1.0
        publisher.publish(TFMessage(transforms=[row]))
    try:
        with made.client.repeating(0.01, level):
            made.run()
            yield made
    finally:
        assert made.close() == 0


@contextmanager
def flooder(name: str, *words: object) -> Iterator[subprocess.Popen[str]]:
    """Give a process that floods; it stays until the end: answers to who has left take long."""
    process = subprocess.Popen([sys.executable, str(HERE / name), *map(str, words)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    try:
        yield process
    finally:
        process.communicate(timeout=patient(60.0))
    assert process.returncode == 0


def test_floods_of_topics() -> None:
    """Whatever comes how often, the robot runs on and each state has its torque."""
    with running() as system, flooder('flooder.py', SECONDS) as process:
        gravity_comes(system)
        for kind in some('launches', KINDS, 2):
            flood(system, process, kind)


@pytest.mark.sampled('launches', 1)
@pytest.mark.parametrize(('parameters', 'name', 'words'), [
    ({'gravity_source': 'tf', 'gravity_frame': 'world', 'gravity_timeout': 2.0},
     'request_flooder.py', (REQUESTS,)),
    ({}, 'goal_flooder.py', ())])
def test_flood_of_requests(parameters: dict[str, object], name: str,
                           words: tuple[float, ...]) -> None:
    """Thousands per second, of transforms too, make no gap and no fault; ~/stop gets through."""
    with running(**parameters) as system, flooder(name, *words, 2.0 * SECONDS) as process:
        client = system.client
        client.service(Trigger, 'stop')
        assert process.stdout is not None
        process.stdout.readline()
        begin, lines = time.monotonic(), len(client.texts['log'])
        time.sleep(SECONDS)
        gap, lines = system.largest_gap(begin), len(client.texts['log']) - lines
        seconds = time.monotonic() - begin
        assert client.last('state') == 'running' and client.last('fault') == ''
        asked, dropped = time.monotonic(), system.dropped
        answer = client.trigger('stop')
        took = time.monotonic() - asked
        sent = int(process.stdout.readline()) / (2.0 * SECONDS)
        print(f'{sent:.0f} per second, largest gap {1e3 * gap:.1f} ms, {lines} lines in '
              f'{seconds:.1f} s; stop answered after {1e3 * took:.0f} ms, '
              f'{system.dropped - dropped} datagrams dropped')
        assert sent > 500.0 / patient(1.0)
        assert gap < client.margin(begin)
        assert lines < LINES_OF_REQUESTS * (seconds + 1.0)
        assert answer.success and took < system.answer_margin(asked, dropped)
        client.wait_text('state', 'braking', asked)
        assert system.process.poll() is None


def gravity_comes(system: Standing) -> None:
    """Expect: each state gets its torque, g(q) of Pinocchio at rest."""
    client = system.client
    states = len(client.commands)
    client.wait(lambda: len(client.commands) > states + 100, 'commands')
    np.testing.assert_allclose(client.commands[-1].effort, GRAVITY, rtol=0, atol=1e-6)


def flood(system: Standing, process: subprocess.Popen[str], kind: str) -> None:
    """Expect: thousands of messages per second make neither a gap nor a fault nor many lines."""
    client = system.client
    wanted = 'operational_space' if kind in ('pose', 'twist') else 'computed_torque'
    client.must_set({'mode': wanted})
    client.wait(lambda: client.last('mode') == wanted, wanted)
    assert process.stdin is not None and process.stdout is not None
    rate = PER_SECOND.get(kind, LEAST)
    while True:
        process.stdin.write(f'{rate} {kind}\n')
        assert process.stdout.readline() == 'begun\n'
        begin, lines = time.monotonic(), len(client.texts['log'])
        dropped = system.dropped
        answered = slowest_answer(system, begin + 0.8 * SECONDS)
        sent = int(process.stdout.readline())
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
