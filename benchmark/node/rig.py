# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Start a node, drive it from another process, stop it: one turn of a measurement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
import json
import os
from pathlib import Path
import random
import signal
import socket
import subprocess
import sys
from types import MappingProxyType
from typing import NamedTuple

from benchmark.node.torques import refuse_wrong
import numpy as np

#: Domains whose ports Linux hands out to nobody else, without the one that users use.
DOMAINS = range(1, 102)
FIRST_PORT = 22200
#: Where `python -m benchmark...` finds this package.
ROOT = Path(__file__).resolve().parents[2]
#: Share of the states that is answered at least by what is measured.
ANSWERED = 0.9
#: Seconds that a node has for its stop.
STOP = 10.0


class Contender(NamedTuple):
    """A node to measure."""

    name: str
    command: Sequence[str]  # arguments of Python
    variables: Mapping[str, str] = MappingProxyType({})  # added to the environment
    controls: bool = True  # it computes torques; else it sends back what it gets


@contextmanager
def isolated(variables: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """
    Give an environment with a ROS domain that nobody else on this machine uses.

    :param variables: to add.
    """
    environment = {**os.environ, **variables, 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    for wider in ('ROS_LOCALHOST_ONLY', 'ROS_STATIC_PEERS'):
        environment.pop(wider, None)
    for domain in random.sample(DOMAINS, len(DOMAINS)):
        with socket.socket() as holder:
            try:
                holder.bind(('127.0.0.1', FIRST_PORT + domain))
            except OSError:
                continue
            yield {**environment, 'ROS_DOMAIN_ID': str(domain)}  # the port holds the domain
            return
    raise RuntimeError('all ROS domains from 1 to 101 are in use')


@contextmanager
def running(name: str, command: Sequence[str], environment: Mapping[str, str]) -> Iterator[int]:
    """
    Run a node while the context lasts; gives its process.

    :param name: for the error if it ends by itself.
    :param command: with the program.
    :param environment: all variables.
    """
    node = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=sys.stderr)
    try:
        yield node.pid
        if node.poll() is not None:
            raise RuntimeError(f'{name} ended by itself with status {node.returncode}')
    finally:
        if node.poll() is None:
            node.send_signal(signal.SIGINT)
        try:
            node.wait(STOP)
        except subprocess.TimeoutExpired:
            node.kill()
            node.wait()


def turn(contender: Contender, *options: object) -> dict[str, list | dict]:
    """
    Measure once in a domain of its own.

    :param options: of the driver.
    :returns: what the driver printed.
    """
    with isolated(contender.variables) as environment:
        command = [sys.executable, *contender.command]
        with running(contender.name, command, environment) as pid:
            seen = _result(environment, '-m', 'benchmark.node.driver', '--pid', pid, *options)
    refuse_idle(contender, seen)
    return seen


def refuse_idle(contender: Contender, seen: Mapping[str, list]) -> None:
    """
    Raise an error unless the states were answered, to the last, and rightly.

    :param contender: what was to answer.
    :param seen: what the driver printed.
    :raises RuntimeError: which says what is missing: times of that mean nothing.
    """
    name, count = contender.name, len(seen['sent'])
    answered = {k for k, _ in seen['answered'] if k >= 0}
    if len(answered) < ANSWERED * count:
        raise RuntimeError(f'{name}: {len(answered)} of {count} states were answered')
    if max(answered) < ANSWERED * (count - 1):
        raise RuntimeError(f'{name}: nothing after state {max(answered)} of {count} was answered')
    times, torques = zip(*seen['torques'])
    if contender.controls:
        refuse_wrong(name, times, torques)
    elif np.any(torques):
        raise RuntimeError(f'{name}: it does not send back what it gets')


def alone(*command: object) -> dict:
    """Run a measurement that is one process, in a domain of its own; returns what it printed."""
    with isolated({}) as environment:
        return _result(environment, *command)


def _result(environment: dict[str, str], *command: object) -> dict:
    done = subprocess.run([sys.executable, *map(str, command)], env=environment,
                          cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)
