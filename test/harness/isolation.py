# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Keep the ROS graphs of tests apart: one domain per launch test, this machine only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, ExitStack
import os
from pathlib import Path
import random
import socket
import sys

import pytest
from turns import its_turn

TESTS = Path(__file__).parents[1]

#: Folders of tests whose nodes, or pages, run against the clock; they take a domain by themselves.
REAL_TIME = {'browser', 'loop', 'nodes'}

# Domains above 101 need ports that Linux may hand out to others; 0 is what users use.
DOMAINS = range(1, 102)
FIRST_PORT = 22200

#: Ports of DDS: that of domain 0, how far domains are apart, the first participant's, and how
#: many participants are looked for.
DDS_PORT, DDS_DOMAIN, DDS_PARTICIPANT, PARTICIPANTS = 7400, 250, 10, 20


def is_in_use(domain: int) -> bool:
    """
    Return whether a node runs in a domain on this machine, such as one that a person started.

    Each participant of DDS listens on the first free port of its domain.
    """
    first = DDS_PORT + DDS_DOMAIN * domain + DDS_PARTICIPANT
    for port in range(first, first + 2 * PARTICIPANTS, 2):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(('', port))
            except OSError:
                return True
    return False


def reserve_domain() -> tuple[int, socket.socket]:
    """
    Return a domain that nobody on this machine uses, and what holds it.

    A bound TCP port is the reservation: the system ends it with the process, however it ends.
    Nodes that were not started by a test reserve nothing; their messages would change results.
    """
    for domain in random.sample(DOMAINS, len(DOMAINS)):
        holder = socket.socket()
        try:
            holder.bind(('127.0.0.1', FIRST_PORT + domain))
        except OSError:
            holder.close()
            continue
        if not is_in_use(domain):
            return domain, holder
        holder.close()
    raise RuntimeError('all ROS domains from 1 to 101 are in use on this machine')


@contextmanager
def own_domain() -> Iterator[int]:
    """Give this process and those it starts a ROS domain of their own on this machine."""
    domain, holder = reserve_domain()
    chosen = {'ROS_DOMAIN_ID': str(domain), 'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
    dropped = ('ROS_LOCALHOST_ONLY', 'ROS_STATIC_PEERS')  # both would widen or fight the range
    before = {key: os.environ.get(key) for key in (*chosen, *dropped)}
    os.environ.update(chosen)
    for key in dropped:
        os.environ.pop(key, None)
    try:
        yield domain
    finally:
        if 'rclpy' in sys.modules:  # what a test that failed left open must not fail the next one
            sys.modules['rclpy'].try_shutdown()
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
        holder.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Run what needs it in its own domain, and when it is its turn."""
    folders = {path.name for path in item.path.parents if path.parent == TESTS}
    with ExitStack() as held:
        if 'launch' in folders:
            held.enter_context(own_domain())
        if folders & {'launch', *REAL_TIME}:
            held.enter_context(its_turn(item))
        return (yield)
