# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A controller as a process of its own, with its driver: for tests that need its pipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import contextlib
import json
import os
from pathlib import Path
import signal
import subprocess
import sys

import arm
import numpy as np
from rbd_env.pace import patient
import rclpy
import rig

#: s after which Fast DDS tells a reader again what it should have got: a lost request comes then
SENT_AGAIN = 3.0

#: what is run unless a test has a program of its own
CONTROLLER = ('-m', 'rbd_ros.nodes.controller.process')


class Standing:
    """A controller of the built-in arm, which stands, and everybody who talks to it."""

    def __init__(self, parameters: Mapping[str, object], program: Sequence[str] = CONTROLLER,
                 environment: Mapping[str, str] | None = None, **pipes: object) -> None:
        """
        Start the process and the driver.

        :param parameters: in addition to those of the arm.
        :param program: arguments of Python.
        :param environment: more variables.
        :param pipes: of the process, as subprocess has them.
        """
        values = {**arm.PARAMETERS, **parameters}
        given = [word for name, value in values.items() for word in (
            '-p', f'{name}:={value if isinstance(value, str) else json.dumps(value)}')]
        rclpy.init()
        self.client = rig.Client()
        self._command = [sys.executable, *program, '--ros-args', '-r', '__node:=controller',
                         *given]
        self._environment = {**os.environ, **(environment or {})}
        self.process = subprocess.Popen(self._command, env=self._environment, **pipes)
        self._processes = [self.process]
        self.client.ended = self._ended
        kind = rig.Lockstep if values.get('use_sim_time') else rig.Driver
        self.driver = kind(self.client, arm.JOINTS, arm.Q, float(values['nominal_rate']))

    def another(self, *arguments: str, **pipes: object) -> subprocess.Popen:
        """
        Start another controller of the same name.

        :param arguments: of ROS, in addition to those of the first one.
        :param pipes: of the process, as subprocess has them.
        """
        self._processes.append(
            subprocess.Popen([*self._command, *arguments], env=self._environment, **pipes))
        return self._processes[-1]

    @property
    def log(self) -> str:
        """Return what the process has written, where that is kept."""
        return ''

    def _ended(self) -> str:
        """Return how the processes have ended; empty while one runs."""
        codes = [process.poll() for process in self._processes]
        if None in codes:
            return ''
        return f'the controller has ended with {codes}, and said last:\n{self.log[-3000:]}\n'

    def run(self) -> None:
        """Bring the controller to where the law runs."""
        client = self.client
        assert client.transition(rig.CONFIGURE), client.last('log')
        assert client.transition(rig.ACTIVATE), client.last('log')
        client.wait(lambda: client.last('state') == 'running', 'running')

    def check_running(self, since: float) -> None:
        """
        Expect that the controller runs.

        If this process stood still for about as long as a state may be old, so did its driver:
        then the controller may have stopped for that reason alone, and runs after a reset.

        :param since: from when on the driver's states count.
        """
        if self.client.stalled(since) > 0.5 * arm.STATE_TIMEOUT:
            self.client.wait_running()
        assert self.client.last('state') == 'running' and self.client.last('fault') == ''

    def largest_gap(self, since: float) -> float:
        """Return the longest time between two commands since a time, s."""
        times = [c.time for c in list(self.client.commands) if c.time >= since]
        assert len(times) > 2, 'no commands come'
        return float(np.diff(times).max())

    def answer_margin(self, since: float, dropped: int) -> float:
        """
        Return how long a request may wait for its answer, s.

        A request that its socket drops is no fault of the controller; DDS sends it again.

        :param since: when it was sent.
        :param dropped: how many datagrams had been dropped before.
        """
        again = SENT_AGAIN if self.dropped > dropped else 0.0
        return self.client.margin(since) + again

    @property
    def dropped(self) -> int:
        """Return how many datagrams the kernel has dropped that came for the controller or us."""
        return _dropped_datagrams(self.process.pid) + _dropped_datagrams(os.getpid())

    @property
    def memory(self) -> float:
        """Return the memory of the process that is in use, MB."""
        pages = int(Path(f'/proc/{self.process.pid}/statm').read_text().split()[1])
        return pages * os.sysconf('SC_PAGE_SIZE') / 1e6

    def close(self) -> int:
        """End everything; returns the exit code of the process."""
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(patient(10.0))
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self.driver.close()
            self.client.close()
            rclpy.shutdown()


def _dropped_datagrams(process: int) -> int:
    """Return how many datagrams found the receive buffer of their socket full."""
    sockets = set()
    for descriptor in Path(f'/proc/{process}/fd').iterdir():
        with contextlib.suppress(OSError):  # closed by now
            sockets.add(os.readlink(descriptor))
    rows = [row.split() for row in Path(f'/proc/{process}/net/udp').read_text().splitlines()[1:]]
    return sum(int(row[-1]) for row in rows if f'socket:[{row[9]}]' in sockets)
