# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
One turn of a measurement by the driver in C: a process answers it, quiet and in company.

A subject runs in a process of its own. Its loop runs at the usual priority while the machine is
quiet. In company, four processes compute beside it; the thread of the loop, the other threads of
the process and the driver then have real-time priorities, as on a robot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
import mmap
import os
from pathlib import Path
import struct
import subprocess
import sys
from types import TracebackType
from typing import Any, NamedTuple

from benchmark.node.arm import JOINTS, motion
from benchmark.node.messages import effort_template, joint_state
from benchmark.node.native.build import Programs
from benchmark.node.process import usage
from benchmark.node.rig import isolated, running, STOP
import numpy as np
import psutil

from rbd_ros.nodes.transport import avoid_shared_memory

#: Priorities of SCHED_FIFO in company: of the driver, of the loop, of the rest of its process.
DRIVER, LOOP, REST = 30, 20, 10
#: Name of the floor.
ECHO = 'C echo on rcl'
#: Processes that compute meanwhile.
COMPANY = 4
#: Seconds until a node must have answered.
PATIENCE = 60.0
#: States per second of the motion.
STATE_RATE = 1000.0
#: Rows and words of a row of the file that the library of allocations writes.
THREADS, WORDS = 256, 4


class Subject(NamedTuple):
    """A program to measure."""

    name: str
    command: Sequence[str]  # with the program


class Seen(NamedTuple):
    """What the driver saw of some states, and what the subject used meanwhile."""

    sent: np.ndarray  # ns
    answered: np.ndarray  # ns; 0: never
    repeated: int  # commands to a state that had one
    unknown: int  # commands whose stamp is of no state
    length: int  # bytes of a command
    cpu: float  # s of the subject's process, per state
    others: float  # share of the machine that neither subject nor driver nor idling took
    #: Of some states: when in the motion they were, s, and the torques that answered them.
    torques: Sequence[tuple[float, Sequence[float]]] = ()


class Allocated(NamedTuple):
    """What a subject allocated, per state; of the loop NaN if its thread cannot be told."""

    loop: float
    loop_bytes: float
    others: float


class Files(NamedTuple):
    """What the programs of C read: messages, because they serialize nothing themselves."""

    states: Path
    length: int  # of one state
    template: Path
    efforts: int  # where they begin in the template

    @classmethod
    def write(cls, folder: Path) -> Files:
        """
        Write one period of the arm's sway, and a command.

        :param folder: where to; it must exist.
        """
        effort = np.zeros(len(JOINTS))
        states = [joint_state(JOINTS, *motion(k / STATE_RATE), effort)
                  for k in range(round(STATE_RATE / 2))]
        command, at = effort_template(JOINTS)
        found = cls(folder / 'states', len(states[0]), folder / 'template', at)
        found.states.write_bytes(b''.join(states))
        found.template.write_bytes(command)
        return found


def echo(programs: Programs, files: Files, *, priority: int = LOOP, stale: int = 0) -> Subject:
    """
    Return the floor: a program that computes nothing.

    :param programs: compiled.
    :param files: messages.
    :param priority: of its loop.
    :param stale: every so many commands one has the stamp of the state before; 0: none.
    """
    return Subject(ECHO, tuple(map(str, (
        programs.echo, files.template, files.efforts, 8 * len(JOINTS), priority, stale))))


class Driver:
    """The driver's process."""

    def __init__(self, program: Path, files: Files, environment: dict[str, str]) -> None:
        """
        Start it.

        :param program: compiled.
        :param files: messages.
        :param environment: with the domain.
        """
        self._process = subprocess.Popen(
            [program, files.states, *map(str, (files.length, files.efforts, len(JOINTS)))],
            env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self._process.pid

    def __enter__(self) -> Driver:
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        """End it."""
        self._process.stdin.close()
        try:
            self._process.wait(STOP)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def _say(self, line: str) -> str:
        self._process.stdin.write(f'{line}\n')
        self._process.stdin.flush()
        return self._line()

    def _line(self) -> str:
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f'the driver ended with status {self._process.wait()}')
        return line.strip()

    def wait(self, name: str) -> None:
        """
        Publish until a command comes.

        :param name: of the subject, for the error.
        """
        if self._say(f'wait {PATIENCE}') != 'answered':
            raise TimeoutError(f'{name}: no command within {PATIENCE:.0f} s')

    def published(self) -> int:
        """Return how many states were published until now."""
        return int(self._say('count'))

    def run(self, rate: float, count: int, subject: int) -> Seen:
        """
        Publish at a steady rate.

        :param rate: states per second.
        :param count: how many.
        :param subject: process that answers.
        """
        machine = psutil.cpu_times()
        own, first, before = usage(self.pid).cpu, self.published(), usage(subject).cpu
        last = int(self._say(f'run {rate} {count}'))  # answers when all are published
        used, own = usage(subject).cpu - before, usage(self.pid).cpu - own
        others = share_of_others(machine, psutil.cpu_times(), used + own)
        repeated, unknown, length = map(int, self._line().split())
        pairs = np.array([self._line().split() for _ in range(count)], dtype=np.int64)
        rows = [self._line().split() for _ in range(int(self._line()))]
        return Seen(pairs[:, 0], pairs[:, 1], repeated, unknown, length, used / (last - first),
                    others, [(int(k) / STATE_RATE, [float(x) for x in tau]) for k, *tau in rows])


def share_of_others(before: Any, after: Any, own: float) -> float:
    """
    Return the share of the machine that others took.

    :param before: times of all processors, s.
    :param after: the same, later.
    :param own: s of those in between that are no others'.
    """
    idle = after.idle + after.iowait - before.idle - before.iowait
    return max(1.0 - (idle + own) / (sum(after) - sum(before)), 0.0)


def tasks(pid: int) -> list[int]:
    """Return the threads of a process."""
    return [int(path.name) for path in Path(f'/proc/{pid}/task').iterdir()]


def loops(pid: int) -> list[int]:
    """Return the threads of a process that have the priority of the loop."""
    return [task for task in tasks(pid) if os.sched_getscheduler(task) == os.SCHED_FIFO
            and os.sched_getparam(task).sched_priority == LOOP]


def busiest(threads: Sequence[int], before: Mapping[int, int]) -> list[int]:
    """
    Return the one thread, if any, that has computed most.

    A thread that the loop has started inherits its priority: of these the loop computes most.

    :param threads: their numbers.
    :param before: nanoseconds of each until a moment before.
    """
    used = {thread: spent - before.get(thread, 0) for thread, spent in computed(threads).items()}
    return sorted(used, key=used.__getitem__)[-1:]


def computed(threads: Sequence[int]) -> dict[int, int]:
    """Return the nanoseconds that threads have computed."""
    return {thread: int(Path(f'/proc/{thread}/schedstat').read_text().split()[0])
            for thread in threads}


def schedule(threads: Sequence[int], priority: int) -> bool:
    """
    Set the scheduling of threads.

    :param threads: their numbers.
    :param priority: of SCHED_FIFO; 0: the usual scheduling.
    :returns: whether that is allowed.
    """
    policy = os.SCHED_FIFO if priority else os.SCHED_OTHER
    try:
        for thread in threads:
            os.sched_setscheduler(thread, policy, os.sched_param(priority))
    except PermissionError:
        return False
    return True


@contextmanager
def company(count: int = COMPANY) -> Iterator[None]:
    """Let some processes compute while the context lasts."""
    busy = [subprocess.Popen([sys.executable, '-I', '-S', '-c', 'while True: pass'])
            for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@contextmanager
def conversation(programs: Programs, files: Files, subject: Subject, rmw: str,
                 variables: Mapping[str, str] | None = None) -> Iterator[tuple[Driver, int]]:
    """
    Give a driver and the process that answers it, in a domain of their own.

    :param programs: compiled.
    :param files: messages.
    :param subject: what answers.
    :param rmw: middleware.
    :param variables: more of the subject's environment.
    """
    with isolated({'RMW_IMPLEMENTATION': rmw}) as environment:
        avoid_shared_memory(rmw, environment)  # as the controller does: the same for all
        with running(subject.name, subject.command, {**environment, **(variables or {})}) as pid:
            with Driver(programs.driver, files, environment) as driver:
                driver.wait(subject.name)
                yield driver, pid


def turn(talk: tuple[Driver, int], rates: Sequence[float], seconds: float,
         warm: int) -> dict[str, Seen]:
    """
    Measure a subject quiet and in company.

    :param talk: the driver and the subject's process.
    :param rates: states per second.
    :param seconds: of each rate in each situation.
    :param warm: states before the first that counts.
    :returns: what was seen, by situation and rate.
    """
    driver, pid = talk
    chosen = loops(pid)
    schedule(chosen, 0)
    driver.run(1000.0, warm, pid)
    seen = {}
    for rate in rates:
        seen[f'quiet, {rate:g} Hz'] = driver.run(rate, round(seconds * rate), pid)
    rest = [task for task in tasks(pid) if task not in chosen]
    for threads, priority in ((tasks(driver.pid), DRIVER), (chosen, LOOP), (rest, REST)):
        schedule(threads, priority)
    with company():
        driver.run(1000.0, warm // 4, pid)
        for rate in rates:
            seen[f'busy, {rate:g} Hz'] = driver.run(rate, round(seconds * rate), pid)
    return seen


def allocated(programs: Programs, files: Files, subject: Subject, rmw: str, count: int,
              warm: int) -> Allocated:
    """
    Count what a subject allocates per state.

    :param programs: compiled.
    :param files: messages.
    :param subject: what answers.
    :param rmw: middleware.
    :param count: states.
    :param warm: states before the first that counts.
    """
    path = programs.allocations.with_name('counts')
    path.write_bytes(bytes(8 * THREADS * WORDS))
    with path.open('r+b') as file, mmap.mmap(file.fileno(), 0) as memory, conversation(
            programs, files, subject, rmw, {
                'LD_PRELOAD': str(programs.allocations), 'RBD_ALLOCATIONS': str(path)},
    ) as (driver, pid):
        driver.run(1000.0, warm, pid)
        spent, first, before = computed(loops(pid)), driver.published(), _counts(memory)
        driver.run(500.0, count, pid)
        states, after = driver.published() - first, _counts(memory)
        own = busiest(loops(pid), spent)
    grown = {thread: (after[thread] - before.get(thread, 0)) / states for thread in after}
    others = sum(float(row[0]) for thread, row in grown.items() if thread not in own)
    of_loop = [grown[thread] for thread in own if thread in grown]
    if not of_loop:
        return Allocated(float('nan'), float('nan'), others)
    return Allocated(sum(float(row[0]) for row in of_loop),
                     sum(float(row[1]) for row in of_loop), others)


def _counts(memory: Any) -> dict[int, np.ndarray]:
    """Return allocations and bytes by thread."""
    words = np.array(struct.unpack(f'={THREADS * WORDS}q', memory[:])).reshape(THREADS, WORDS)
    return {int(row[0]): row[1:3].astype(float) for row in words if row[0]}
