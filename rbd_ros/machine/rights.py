# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The commands that give a process the rights of a control loop."""

from __future__ import annotations

from rbd_ros.machine.host import Host, IPC_LOCK, SYS_NICE

__all__ = ['grant_memory', 'grant_priority', 'memory_limit', 'priority_limit', 'starved_group']

#: The largest priority of SCHED_FIFO.
HIGHEST = 99
_FILE = '/etc/security/limits.d/99-realtime.conf'
_AGAIN = '   # then log in again'


def priority_limit(host: Host) -> float | None:
    """Return the largest real-time priority that this process may take; None: not told."""
    return HIGHEST if host.may(SYS_NICE) else host.limit('Max realtime priority')


def memory_limit(host: Host) -> float | None:
    """Return how many bytes this process may lock; None: not told."""
    return float('inf') if host.may(IPC_LOCK) else host.limit('Max locked memory')


def starved_group(host: Host) -> str:
    """Return the control group that allows no thread of real-time priority; empty: none does."""
    return next((folder for folder in host.groups('cpu')
                 if host.number(f'{folder}/cpu.rt_runtime_us') == 0), '')


def grant_priority(host: Host) -> str:
    """Return the command that allows real-time priorities."""
    group = starved_group(host)
    if host.container:
        more = ' --cpu-rt-runtime=950000' if group else ''
        return (f'{host.container_command} --cap-add SYS_NICE --ulimit rtprio={HIGHEST}{more} '
                '...')
    if group:
        return f'echo 950000 | sudo tee {group}/cpu.rt_runtime_us'
    return _limit(host, f'rtprio {HIGHEST}')


def grant_memory(host: Host) -> str:
    """Return the command that allows memory to be locked."""
    if host.container:
        return f'{host.container_command} --cap-add IPC_LOCK --ulimit memlock=-1 ...'
    return _limit(host, 'memlock unlimited')


def _limit(host: Host, setting: str) -> str:
    user = host.environment.get('USER') or '$USER'
    return f'echo "{user} - {setting}" | sudo tee -a {_FILE}{_AGAIN}'
