# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Checks of the kernel: how it schedules, and which rights and shares it gives this process."""

from __future__ import annotations

from rbd_ros.machine.findings import bad, better, Finding, megabytes, ok, unknown
from rbd_ros.machine.host import Host
from rbd_ros.machine.rights import (
    grant_memory, grant_priority, HIGHEST, memory_limit, priority_limit, starved_group)

__all__ = ['check_container', 'check_kernel', 'check_locked_memory', 'check_priority',
           'check_quota', 'check_real_time_share', 'check_virtual']

#: Share of the time that threads of real-time priority should get; the kernel's default is 0.95.
_SHARE = 0.9
#: Bytes that a controller with its libraries may have to lock.
_MEMORY = 2 * 2**30
_RATHER = ('prefer one with PREEMPT_RT, in which hardly anything holds up a thread of real-time '
           'priority; on Ubuntu')


def check_kernel(host: Host) -> Finding:
    """Return whether the kernel is made for real time."""
    release, version = host.text('/proc/sys/kernel/osrelease'), host.text('/proc/version') or ''
    if host.text('/sys/kernel/realtime') == '1' or 'PREEMPT_RT' in version:
        return ok(f'{release or "version unknown"}, PREEMPT_RT')
    if release is None:
        return unknown()
    kind = next((word for word in ('PREEMPT_DYNAMIC', 'PREEMPT') if word in version),
                'not preemptible' if version else 'kind unknown')
    return better(f'{release}, {kind}', _RATHER, 'sudo pro enable realtime-kernel')


def check_priority(host: Host, priority: int) -> Finding:
    """
    Return whether this process may have a real-time priority.

    :param priority: that is wanted.
    """
    limit, group = priority_limit(host), starved_group(host)
    if limit is None:
        return unknown()
    if group:
        return bad(f'the control group {group} has no time for real-time threads',
                   'SCHED_FIFO is refused in it, to the administrator too', grant_priority(host))
    if limit <= 0:
        return bad('none allowed (rtprio 0)', 'without one, any other process can hold up the '
                   'loop; allow it', grant_priority(host))
    if limit < priority:
        return better(f'up to {limit:.0f}', f'priority {priority} is refused; ask for less, or '
                      'allow more', grant_priority(host))
    return ok(f'SCHED_FIFO up to {min(limit, HIGHEST):.0f}')


def check_locked_memory(host: Host) -> Finding:
    """Return whether this process may keep its memory from being paged out."""
    limit = memory_limit(host)
    if limit is None:
        return unknown()
    if limit == float('inf'):
        return ok('unlimited')
    found = megabytes(limit)
    if limit >= _MEMORY:
        return ok(found)
    return better(found, 'too little for a controller and its libraries: realtime.lock_memory '
                  'is refused; allow more', grant_memory(host))


def check_real_time_share(host: Host) -> Finding:
    """Return whether threads of real-time priority get enough time."""
    share = host.number('/proc/sys/kernel/sched_rt_runtime_us')
    period = host.number('/proc/sys/kernel/sched_rt_period_us') or 1_000_000
    if share is None:
        return unknown()
    if share < 0:
        return ok('not limited', 'a thread that never sleeps can then halt the machine')
    found = f'{share} us in {period} us'
    command = f'sudo sysctl -w kernel.sched_rt_runtime_us={int(0.95 * period)}'
    if share == 0:
        return bad(found, 'threads of real-time priority never run', command)
    if share < _SHARE * period:
        return better(found, 'beyond that share they stand still until the period ends', command)
    return ok(found)


def check_quota(host: Host) -> Finding:
    """Return whether a control group limits the processor time of this process."""
    if host.text('/proc/self/cgroup') is None:
        return unknown()
    shares = [share for folder in host.groups('cpu') for share in _quotas(host, folder)]
    if not shares:
        return ok('none')
    command = (f'{host.container_command} --cpuset-cpus=2,3 ...   # instead of --cpus'
               if host.container else
               'sudo systemctl set-property --runtime YOUR_UNIT CPUQuota=   # an empty value')
    return bad(f'{min(shares):.3g} cores', 'once they are used up, the threads of normal '
               'priority, among them those of the middleware, stand still until the next period '
               'of 100 ms; give cores instead', command)


def _quotas(host: Host, folder: str) -> list[float]:
    """Return how many cores a control group may use, if it says."""
    words = (host.text(f'{folder}/cpu.max') or '').split()
    if len(words) == 2 and words[0].isdigit() and words[1].isdigit():
        return [int(words[0]) / max(int(words[1]), 1)]
    quota = host.number(f'{folder}/cpu.cfs_quota_us') or -1
    period = host.number(f'{folder}/cpu.cfs_period_us') or 100_000
    return [quota / period] if quota > 0 else []


def check_container(host: Host) -> Finding:
    """Return whether this process runs in a container, which needs rights of its own."""
    if not host.path('/proc').exists():
        return unknown()
    kind = host.container
    return ok(f'{kind}: the kernel and its settings are those outside' if kind else 'none')


def check_virtual(host: Host) -> Finding:
    """Return whether the machine is a virtual one."""
    processor = host.text('/proc/cpuinfo')
    maker = host.text('/sys/class/dmi/id/sys_vendor') or ''
    known = ('QEMU', 'KVM', 'VMware', 'innotek', 'Xen', 'Microsoft Corporation', 'Amazon EC2')
    flags = [line for line in (processor or '').splitlines() if line.startswith('flags')]
    if (any('hypervisor' in line.split() for line in flags)
            or any(name in maker for name in known)
            or host.path('/proc/device-tree/hypervisor').exists()
            or 'dummy-virt' in (host.text('/proc/device-tree/compatible') or '')):
        return better('yes', 'another machine decides when its cores run: no setting in here '
                      'changes that; run the controller outside')
    return unknown() if processor is None else ok('no sign of one')
