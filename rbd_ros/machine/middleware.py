# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Checks of the middleware: which one there is, and whether its settings suit a control loop."""

from __future__ import annotations

from collections.abc import Mapping
import os
from pathlib import Path
import re
import subprocess
import sys

from rbd_ros.machine.findings import bad, better, Finding, megabytes, ok, unknown
from rbd_ros.machine.host import Host

__all__ = ['check_buffers', 'check_cyclone', 'check_discovery', 'check_fast_dds',
           'check_middleware', 'check_shared_memory']

DEFAULT = 'rmw_fastrtps_cpp'
_RANGES = ('LOCALHOST', 'SUBNET', 'SYSTEM_DEFAULT', 'OFF')
_PROFILES = ('FASTDDS_DEFAULT_PROFILES_FILE', 'FASTRTPS_DEFAULT_PROFILES_FILE')
_TRANSPORTS = 'FASTDDS_BUILTIN_TRANSPORTS'
#: Transports of Fast DDS without shared memory.
_NETWORK = ('UDPv4', 'UDPv6')
_RECEIVE = 2 * 2**20        # bytes, a second of joint states at 1 kHz
_SHARED = 64 * 2**20        # bytes, what docker gives
_LOAD = 'import ctypes, os, sys; ctypes.CDLL(sys.argv[1], os.RTLD_LAZY)'
_LOAD_LIMIT = 30.0          # s
_WHY_NOT_SHARED = ('through shared memory a process that is halted can hold up the controller; '
                   'without the setting, the nodes of this package use the network alone')


def check_middleware(host: Host) -> Finding:
    """Return whether the chosen middleware can be loaded."""
    wanted, libraries = host.environment.get('RMW_IMPLEMENTATION', ''), _libraries(host)
    if not libraries:
        return unknown('no ROS is sourced', 'source one to have its middleware checked: '
                       'source /opt/ros/jazzy/setup.bash')
    reasons = {name: _failure(host, path) for name, path in libraries.items()}
    good = [name for name, reason in reasons.items() if not reason]
    name = wanted or DEFAULT
    there = f'can be loaded: {", ".join(good) or "none"}'
    if name in good:
        return ok(f'{name}{"" if wanted else " (by default)"}; {there}')
    why = reasons.get(name, 'it is not installed')
    command = (f'export RMW_IMPLEMENTATION={good[0]}' if good else
               f'sudo apt install ros-$ROS_DISTRO-{name.replace("_", "-")}')
    return bad(f'{name}; {there}', f'{name} cannot be loaded: {why}', command)


def _libraries(host: Host) -> dict[str, Path]:
    """Return the libraries of middlewares that ROS finds, by name."""
    variables: Mapping[str, str] = host.environment
    folders = variables.get('LD_LIBRARY_PATH', '').split(os.pathsep)
    folders += [f'{prefix}/lib' for prefix in
                variables.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if prefix]
    found: dict[str, Path] = {}
    for folder in filter(None, folders):
        for file in sorted(host.path(folder).glob('librmw_*.so')):
            name = file.stem.removeprefix('lib')
            # those in C++ are middlewares, the others are parts of them
            if re.fullmatch(r'rmw_(?!.*(shared|common)).*_cpp', name):
                found.setdefault(name, file)
    return found


def _failure(host: Host, library: Path) -> str:
    """Return why a library cannot be loaded; empty if it can. Another process tries."""
    try:
        done = subprocess.run([sys.executable, '-I', '-S', '-c', _LOAD, str(library)], check=False,
                              env=dict(host.environment), capture_output=True, text=True,
                              timeout=_LOAD_LIMIT)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = done.stderr.strip().splitlines() or [f'exit code {done.returncode}']
    return lines[-1].removeprefix('OSError: ') if done.returncode else ''


def check_discovery(host: Host) -> Finding:
    """Return whether nodes look for each other where they should."""
    wanted = host.environment.get('ROS_AUTOMATIC_DISCOVERY_RANGE', '')
    local = host.environment.get('ROS_LOCALHOST_ONLY', '')
    if local == '1':
        return ok('this machine only (ROS_LOCALHOST_ONLY)')
    if wanted and wanted not in _RANGES:
        return better(wanted, f'ROS knows {", ".join(_RANGES)}, and takes anything else for '
                      'LOCALHOST', 'export ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST')
    if wanted == 'OFF':
        return bad(wanted, 'nodes of other processes are not found, the driver neither',
                   'export ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST')
    if wanted == 'LOCALHOST':
        return ok('this machine only (LOCALHOST)')
    return ok(wanted or 'SUBNET (by default)', 'if the driver is on this machine, LOCALHOST keeps '
              'the nodes of the network out')


def check_fast_dds(host: Host) -> Finding:
    """Return whether Fast DDS is set up by the user, and how."""
    transports = host.environment.get(_TRANSPORTS, '')
    if transports and transports.partition('?')[0] not in _NETWORK:
        return better(f'{_TRANSPORTS}={transports}', _WHY_NOT_SHARED, f'unset {_TRANSPORTS}')
    for name in _PROFILES:
        file = host.environment.get(name, '')
        text = host.text(file) if file else ''
        if text is None:
            return bad(f'{name}={file}', 'Fast DDS cannot read it, and goes on without',
                       f'unset {name}')
        if re.search(r'<type>\s*SHM\s*</type>', text):
            return better(f'{name}={file}', _WHY_NOT_SHARED, f'unset {name}')
        if text:
            return ok(f'{name}={file}', 'the nodes use it as it is; safety.md says what to mind')
    return ok(f'{_TRANSPORTS}={transports}' if transports else
              'not set: the nodes of this package use the network alone')


def check_cyclone(host: Host) -> Finding:
    """Return whether Cyclone DDS finds the configuration that the user has named."""
    value = host.environment.get('CYCLONEDDS_URI', '')
    if not value:
        return ok('not set')
    for part in filter(None, re.split(r',(?![^<]*>)', value)):
        file = part.strip().removeprefix('file://')
        if not file.startswith('<') and host.text(file) is None:
            return bad(value, f'there is no file {file}: Cyclone DDS does not start',
                       'unset CYCLONEDDS_URI')
    return ok(value if len(value) < 60 else f'{value[:57]}...')


def check_buffers(host: Host) -> Finding:
    """Return whether a socket can hold the states that come while their reader is held up."""
    most = host.number('/proc/sys/net/core/rmem_max')
    if most is None:
        return unknown()
    found = megabytes(most)
    if most >= _RECEIVE:
        return ok(found)
    return better(found, 'a reader that is held up loses states, and all of a large message; '
                  'allow more',
                  'echo net.core.rmem_max=2147483647 | sudo tee /etc/sysctl.d/60-ros.conf && '
                  'sudo sysctl --system')


def check_shared_memory(host: Host) -> Finding:
    """Return whether there is shared memory for the nodes that use it."""
    try:
        state = os.statvfs(host.path('/dev/shm'))
    except OSError:
        return unknown('there is no /dev/shm')
    size = state.f_frsize * state.f_blocks
    found = megabytes(size)
    if size > _SHARED:
        return ok(found)
    return better(found, 'little for nodes that send through shared memory, as others do',
                  f'{host.container_command} --shm-size=1g ...' if host.container else
                  'sudo mount -o remount,size=1G /dev/shm')
