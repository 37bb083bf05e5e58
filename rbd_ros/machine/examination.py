# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""All checks of a machine, in the order in which they are reported."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from rbd_ros.machine import kernel, memory, middleware, processor, software
from rbd_ros.machine.findings import Finding, unknown
from rbd_ros.machine.host import Host

__all__ = ['Check', 'checks', 'examine']


class Check(NamedTuple):
    """
    One check.

    :param name: short.
    :param look: what finds out.
    """

    name: str
    look: Callable[[Host], Finding]


def checks(priority: int) -> list[Check]:
    """
    Return the checks.

    :param priority: real-time priority that is wanted.
    """
    return [
        Check('kernel', kernel.check_kernel),
        Check('real-time priority', partial(kernel.check_priority, priority=priority)),
        Check('locked memory', kernel.check_locked_memory),
        Check('real-time share', kernel.check_real_time_share),
        Check('processor quota', kernel.check_quota),
        Check('container', kernel.check_container),
        Check('virtual machine', kernel.check_virtual),
        Check('cores', processor.check_cores),
        Check('isolated cores', processor.check_isolation),
        Check('governor', processor.check_governor),
        Check('idle states', processor.check_idle),
        Check('clock', processor.check_clock),
        Check('huge pages', memory.check_huge_pages),
        Check('swap', memory.check_swap),
        Check('middleware', middleware.check_middleware),
        Check('discovery', middleware.check_discovery),
        Check('Fast DDS', middleware.check_fast_dds),
        Check('Cyclone DDS', middleware.check_cyclone),
        Check('socket buffers', middleware.check_buffers),
        Check('shared memory', middleware.check_shared_memory),
        Check('Python', software.check_python),
        Check('machine code', software.check_machine_code),
        Check('cache', software.check_cache)]


def examine(host: Host, priority: int, step: Callable[[], None] = lambda: None,
            ) -> dict[str, Finding]:
    """
    Return what each check finds, by its name.

    :param host: the machine.
    :param priority: real-time priority that is wanted.
    :param step: called after each check.
    """
    found = {}
    for name, look in checks(priority):
        try:
            found[name] = look(host)
        except (OSError, ValueError, IndexError) as error:  # a file in a form nobody has seen
            found[name] = unknown(f'cannot be read: {error}')
        step()
    return found
