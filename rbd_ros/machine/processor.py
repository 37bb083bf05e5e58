# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Checks of the processor: its cores, who else runs on them, how fast they wake up."""

from __future__ import annotations

from rbd_ros.machine.findings import bad, better, Finding, ok, unknown
from rbd_ros.machine.host import cores_in, Host

__all__ = ['check_clock', 'check_cores', 'check_governor', 'check_idle', 'check_isolation']

_CPU = '/sys/devices/system/cpu'
_CLOCK = '/sys/devices/system/clocksource/clocksource0'
#: Cores from which one can be spared for the loop alone.
SPARE = 4
#: us; states of sleep from which a core takes longer to wake up make a loop late.
_WAKE = 100
#: Clocks that are read without asking another device.
_FAST_CLOCKS = ('tsc', 'arch_sys_counter', 'kvm-clock', 'hyperv_clocksource_tsc_page', 'riscv',
                'timebase', 'xen')


def check_cores(host: Host) -> Finding:
    """Return whether there are enough cores."""
    cores = set(cores_in(host.status('Cpus_allowed_list') or host.text(f'{_CPU}/online') or ''))
    if cores and not host.container:        # no thread has isolated ones unasked
        cores |= set(cores_in(host.text(f'{_CPU}/isolated') or ''))
    if not cores:
        return unknown()
    if len(cores) == 1:
        return bad('1', 'the loop, the middleware, Python and the driver take turns on it; use a '
                   f'machine, or a container, with {SPARE} or more')
    if len(cores) < SPARE:
        return better(f'{len(cores)}', f'with {SPARE} or more, the loop can have one for itself')
    return ok(f'{len(cores)}')


def check_isolation(host: Host) -> Finding:
    """Return whether cores are kept free for the loop."""
    command = host.text('/proc/cmdline')
    listed, quiet = host.text(f'{_CPU}/isolated'), host.text(f'{_CPU}/nohz_full')
    if listed is None and command is None:
        return unknown()
    isolated = cores_in(listed or '') or _option(command, 'isolcpus')
    quiet_cores = cores_in(quiet or '') or _option(command, 'nohz_full')
    every = cores_in(host.text(f'{_CPU}/online') or '')
    if not isolated:
        if every and len(every) < SPARE:
            return ok('none', f'with {len(every)} cores there is none to spare')
        last = every[-1] if every else 3
        return better('none', 'the loop shares its core with other threads; keep one free with '
                      'the boot options, then set realtime.cores to it',
                      f'isolcpus={last} nohz_full={last} rcu_nocbs={last}   # append to '
                      'GRUB_CMDLINE_LINUX in /etc/default/grub, then sudo update-grub and reboot')
    found = f'isolcpus {_text(isolated)}'
    missing = sorted(set(isolated) - set(quiet_cores))
    if missing:
        return better(found, f'the timer of the scheduler still ticks on {_text(missing)}; add '
                      'the boot option', f'nohz_full={_text(isolated)}')
    return ok(f'{found}, nohz_full {_text(quiet_cores)}')


def _option(command: str | None, name: str) -> list[int]:
    """Return the cores of an option of the kernel's command line."""
    for word in (command or '').split():
        if word.startswith(f'{name}='):
            return cores_in(','.join(each for each in word.partition('=')[2].split(',')
                                     if each[:1].isdigit()))
    return []


def _text(cores: list[int]) -> str:
    return ','.join(map(str, cores))


def check_governor(host: Host) -> Finding:
    """Return whether the processor keeps its speed."""
    governors = {host.text(file) or '' for file in host.files(
        f'{_CPU}/cpu[0-9]*/cpufreq/scaling_governor')} - {''}
    if not governors:
        return unknown('the system does not tell, as is usual in a virtual machine')
    found = ', '.join(sorted(governors))
    if governors == {'performance'}:
        return ok(found)
    return better(found, 'a loop that mostly sleeps is taken for idle and runs on a slow clock; '
                  'keep the clock high', 'echo performance | sudo tee '
                  f'{_CPU}/cpu*/cpufreq/scaling_governor')


def check_idle(host: Host) -> Finding:
    """Return whether cores sleep so deeply that they wake up late."""
    states = host.files(f'{_CPU}/cpu0/cpuidle/state[0-9]*/latency')
    slowest, name = -1, ''
    for file in states:
        folder = file.removesuffix('/latency')
        latency = host.number(file)
        if latency is not None and host.number(f'{folder}/disable') != 1 and latency > slowest:
            slowest, name = latency, host.text(f'{folder}/name') or folder.rpartition('/')[2]
    if slowest < 0:
        return unknown('the system does not tell, as is usual in a virtual machine')
    found = f'{name} wakes up in {slowest} us'
    if slowest <= _WAKE:
        return ok(found)
    return better(found, 'each wake-up of the loop may be that late; switch deep states off',
                  f'sudo cpupower idle-set -D {_WAKE}')


def check_clock(host: Host) -> Finding:
    """Return whether the time can be read fast."""
    current = host.text(f'{_CLOCK}/current_clocksource')
    if not current:
        return unknown()
    if current in _FAST_CLOCKS:
        return ok(current)
    available = (host.text(f'{_CLOCK}/available_clocksource') or '').split()
    fast = next((each for each in _FAST_CLOCKS if each in available), '')
    command = (f'echo {fast} | sudo tee {_CLOCK}/current_clocksource' if fast else
               'tsc=reliable   # boot option, where the processor has a steady counter')
    return bad(current, 'each look at it takes microseconds, and the middleware looks often; use '
               'the counter of the processor', command)
