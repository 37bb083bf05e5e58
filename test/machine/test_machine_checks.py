# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The checks of a machine, on files that say what a machine would say."""

from __future__ import annotations

from functools import partial
import os
from pathlib import Path
import random
import re
import sys

import pytest
from rbd_ros.compiler.native import cache
from rbd_ros.machine import kernel, memory, middleware, processor, software
from rbd_ros.machine.examination import checks, examine
from rbd_ros.machine.findings import megabytes, Verdict, worst
from rbd_ros.machine.host import cores_in, Host
from rbd_ros.machine.rights import grant_memory, grant_priority

OK, UNKNOWN, BETTER, BAD = Verdict
LIMITS = ('Limit                     Soft Limit           Hard Limit           Units\n'
          'Max locked memory         {memory}             {memory}             bytes\n'
          'Max realtime priority     {priority}           {priority}\n')
CPU, CLOCK = 'sys/devices/system/cpu', 'sys/devices/system/clocksource/clocksource0'
IDLE = f'{CPU}/cpu0/cpuidle'
DOCKER = {'.dockerenv': ''}
#: bits of all rights but those of priorities and memory
CAPABILITIES = 'CapEff:\t{:016x}\n'
SHM_PROFILE = '<transport_descriptor><type> SHM </type></transport_descriptor>'


def host(folder: Path, files: dict[str, str], **environment: str) -> Host:
    """Return a machine that has these files."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Host(folder, environment)


def limits(priority: object = 0, memory: object = 65536) -> dict[str, str]:
    """Return the files of a process with these limits and no other rights."""
    return {'proc/self/limits': LIMITS.format(priority=priority, memory=memory),
            'proc/self/status': CAPABILITIES.format(0)}


def group(path: str, name: str, text: str, line: str = '0::/{}') -> dict[str, str]:
    """Return the files of a process in a control group."""
    return {'proc/self/cgroup': f'{line.format(path)}\n', f'sys/fs/cgroup/{name}': text}


def idle(**states: tuple[int, int]) -> dict[str, str]:
    """Return the files of states of sleep, by latency and whether they are switched off."""
    return {f'{IDLE}/state{k}/{file}': str(value)
            for k, (name, (latency, off)) in enumerate(states.items())
            for file, value in (('name', name), ('latency', latency), ('disable', off))}


priority = partial(kernel.check_priority, priority=40)
ARM = '4-6,9'

#: the check, the files, the verdict, and what is in its words
CASES = [
    (kernel.check_kernel, {'sys/kernel/realtime': '1', 'proc/sys/kernel/osrelease': '6.8-rt'}, OK,
     '6.8-rt, PREEMPT_RT'),
    (kernel.check_kernel, {'proc/version': 'Linux 6.12 #1 SMP PREEMPT_RT Debian',
                           'proc/sys/kernel/osrelease': '6.12'}, OK, '6.12, PREEMPT_RT'),
    (kernel.check_kernel, {'proc/version': 'Linux #1 SMP PREEMPT_DYNAMIC',
                           'proc/sys/kernel/osrelease': '6.8'}, BETTER,
     '6.8, PREEMPT_DYNAMIC.*sudo pro enable realtime-kernel'),
    (kernel.check_kernel, {'proc/version': 'Linux #1 SMP', 'proc/sys/kernel/osrelease': '6.8'},
     BETTER, 'not preemptible'),
    (priority, limits(99), OK, 'up to 99'),
    (priority, limits(40), OK, 'up to 40'),
    (priority, limits(39), BETTER, 'up to 39.*priority 40 is refused.*rtprio 99'),
    (priority, limits(0), BAD, r'rtprio 0.*- rtprio 99" \| sudo tee -a /etc/security/limits.d/'),
    (priority, limits(0) | DOCKER, BAD, 'docker run --cap-add SYS_NICE --ulimit rtprio=99 [.]'),
    (priority, limits('unlimited'), OK, 'up to 99'),
    (priority, limits(0) | {'proc/self/status': CAPABILITIES.format(1 << 23)}, OK, 'up to 99'),
    (priority, limits(0) | {'proc/self/status': CAPABILITIES.format(~(1 << 23) % 2**40)}, BAD, ''),
    (priority, limits(99) | group('a/b', 'cpu/a/cpu.rt_runtime_us', '0', '3:cpu,cpuacct:/{}'), BAD,
     'group /sys/fs/cgroup/cpu/a has no time.*echo 950000 . sudo tee .*/cpu/a/cpu.rt_runtime_us'),
    (priority, limits(99) | group('a/b', 'cpu/a/cpu.rt_runtime_us', '950000', '3:cpu:/{}'), OK,
     ''),
    (priority, limits(9) | DOCKER | group('', 'cpu/cpu.rt_runtime_us', '0', '3:cpu:/{}'), BAD,
     'docker run .*--cpu-rt-runtime=950000'),
    (kernel.check_locked_memory, limits(0, 'unlimited'), OK, 'unlimited'),
    (kernel.check_locked_memory, limits(0, 8388608), BETTER,
     r'8 MB.*- memlock unlimited" \| sudo tee'),
    (kernel.check_locked_memory, limits(0, 8388608) | DOCKER, BETTER, '--ulimit memlock=-1'),
    (kernel.check_locked_memory, limits(0, 2**33), OK, '8 GB'),
    (kernel.check_locked_memory, limits(0, 1) | {
        'proc/self/status': CAPABILITIES.format(1 << 14)}, OK, 'unlimited'),
    (kernel.check_real_time_share, {'proc/sys/kernel/sched_rt_runtime_us': '-1'}, OK, 'not lim'),
    (kernel.check_real_time_share, {'proc/sys/kernel/sched_rt_runtime_us': '950000'}, OK,
     '950000 us in 1000000 us'),
    (kernel.check_real_time_share, {'proc/sys/kernel/sched_rt_runtime_us': '899999'}, BETTER,
     'sudo sysctl -w kernel.sched_rt_runtime_us=950000'),
    (kernel.check_real_time_share, {'proc/sys/kernel/sched_rt_runtime_us': '90000',
                                    'proc/sys/kernel/sched_rt_period_us': '100000'}, OK, ''),
    (kernel.check_real_time_share, {'proc/sys/kernel/sched_rt_runtime_us': '0'}, BAD,
     'never run'),
    (kernel.check_quota, group('a/b', 'a/cpu.max', 'max 100000'), OK, 'none'),
    (kernel.check_quota, group('a/b', 'a/b/cpu.max', '150000 100000'), BAD,
     '1.5 cores.*CPUQuota='),
    (kernel.check_quota, group('a/b', 'cpu.max', '50000 100000') | DOCKER, BAD,
     '0.5 cores.*--cpuset-cpus'),
    (kernel.check_quota, group('a/b', 'a/cpu.max', '50000 100000') | group(
        'a/b', 'a/b/cpu.max', '300000 100000'), BAD, '0.5 cores'),
    (kernel.check_quota, group('a/b', 'c/cpu.max', '50000 100000'), OK, 'none'),
    (kernel.check_quota, group('a', 'cpu/a/cpu.cfs_quota_us', '200000', '1:cpu:/{}'), BAD,
     '2 cores'),
    (kernel.check_quota, group('a', 'cpu/a/cpu.cfs_quota_us', '-1', '1:cpu:/{}'), OK, ''),
    (kernel.check_quota, group('a', 'cpu/a/cpu.cfs_quota_us', '1', '1:memory:/{}'), OK, ''),
    (kernel.check_container, {'proc/uptime': ''}, OK, 'none'),
    (kernel.check_container, {'proc/uptime': ''} | DOCKER, OK, 'docker'),
    (kernel.check_container, {'proc/uptime': '', 'run/.containerenv': ''}, OK, 'podman'),
    (kernel.check_container, {'proc/1/cgroup': '0::/kubepods/x'}, OK, 'kubepods'),
    (priority, limits(0) | {'run/.containerenv': ''}, BAD, 'podman run --cap-add SYS_NICE'),
    (kernel.check_virtual, {'proc/cpuinfo': 'model name: x\nflags\t\t: fpu tsc\n'}, OK, 'no sign'),
    (kernel.check_virtual, {'proc/cpuinfo': 'flags\t\t: fpu hypervisor\n'}, BETTER, 'outside'),
    (kernel.check_virtual, {'proc/cpuinfo': '', 'sys/class/dmi/id/sys_vendor': 'QEMU'}, BETTER,
     ''),
    (kernel.check_virtual, {'proc/cpuinfo': '', 'proc/device-tree/hypervisor/x': ''}, BETTER, ''),
    (kernel.check_virtual, {'proc/device-tree/compatible': 'linux,dummy-virt\0'}, BETTER, ''),
    (kernel.check_virtual, {'proc/cpuinfo': '', 'proc/device-tree/compatible': 'nvidia,agx\0'},
     OK, ''),
    (processor.check_cores, {'proc/self/status': 'Cpus_allowed_list:\t0\n'}, BAD, '^1 '),
    (processor.check_cores, {'proc/self/status': 'Cpus_allowed_list:\t0-1\n'}, BETTER, '^2 '),
    (processor.check_cores, {'proc/self/status': f'Cpus_allowed_list:\t{ARM}\n'}, OK, '^4 '),
    (processor.check_cores, {f'{CPU}/online': '0-7'}, OK, '^8 '),
    (processor.check_cores, {'proc/self/status': 'Cpus_allowed_list:\t0-2\n',
                             f'{CPU}/isolated': '3'}, OK, '^4 '),
    (processor.check_cores, {'proc/self/status': 'Cpus_allowed_list:\t0-2\n',
                             f'{CPU}/isolated': '3'} | DOCKER, BETTER, '^3 '),
    (processor.check_isolation, {f'{CPU}/isolated': '', f'{CPU}/online': '0-7'}, BETTER,
     'isolcpus=7 nohz_full=7 rcu_nocbs=7 .*GRUB_CMDLINE_LINUX.*update-grub'),
    (processor.check_isolation, {f'{CPU}/isolated': '', f'{CPU}/online': '0-1'}, OK, 'to spare'),
    (processor.check_isolation, {f'{CPU}/isolated': '2-3', f'{CPU}/online': '0-3'}, BETTER,
     'ticks on 2,3; .*nohz_full=2,3'),
    (processor.check_isolation, {f'{CPU}/isolated': '2-3', f'{CPU}/nohz_full': '1-3'}, OK,
     'isolcpus 2,3, nohz_full 1,2,3'),
    (processor.check_isolation, {'proc/cmdline': 'ro isolcpus=managed_irq,domain,6 nohz_full=6'},
     OK, 'isolcpus 6, nohz_full 6'),
    (processor.check_governor, {f'{CPU}/cpu{k}/cpufreq/scaling_governor': 'performance'
                                for k in range(3)}, OK, 'performance'),
    (processor.check_governor, {f'{CPU}/cpu0/cpufreq/scaling_governor': 'performance',
                                f'{CPU}/cpu11/cpufreq/scaling_governor': 'powersave'}, BETTER,
     'performance, powersave.*echo performance . sudo tee'),
    (processor.check_idle, idle(POLL=(0, 0), C1=(2, 0)), OK, 'C1 wakes up in 2 us'),
    (processor.check_idle, idle(POLL=(0, 0), C1=(2, 0), C10=(890, 0)), BETTER,
     'C10 wakes up in 890 us.*sudo cpupower idle-set -D 100'),
    (processor.check_idle, idle(POLL=(0, 0), C1=(2, 0), C10=(890, 1)), OK, 'C1 wakes up in 2 us'),
    (processor.check_clock, {f'{CLOCK}/current_clocksource': 'tsc'}, OK, 'tsc'),
    (processor.check_clock, {f'{CLOCK}/current_clocksource': 'hpet',
                             f'{CLOCK}/available_clocksource': 'tsc hpet acpi_pm'}, BAD,
     'hpet.*echo tsc . sudo tee .*/current_clocksource'),
    (processor.check_clock, {f'{CLOCK}/current_clocksource': 'acpi_pm'}, BAD, 'tsc=reliable'),
    (memory.check_huge_pages, {'sys/kernel/mm/transparent_hugepage/enabled':
                               '[always] madvise never'}, BETTER, 'always.*echo madvise'),
    (memory.check_huge_pages, {'sys/kernel/mm/transparent_hugepage/enabled':
                               'always [madvise] never'}, OK, 'madvise'),
    (memory.check_swap, {'proc/swaps': 'Filename Type\n'}, OK, 'none'),
    (memory.check_swap, {'proc/swaps': 'Filename Type\n/swap.img file 1 0 -2\n'}, BETTER,
     '/swap.img.*sudo swapoff -a'),
    (middleware.check_buffers, {'proc/sys/net/core/rmem_max': '212992'}, BETTER,
     '0.203 MB.*net.core.rmem_max=2147483647'),
    (middleware.check_buffers, {'proc/sys/net/core/rmem_max': '2147483647'}, OK, '2 GB'),
]


@pytest.mark.parametrize('case', range(len(CASES)))
def test_verdict(case: int, tmp_path: Path) -> None:
    """Each verdict rests on the files that it should, and has the words and the command."""
    check, files, verdict, words = CASES[case]
    found = check(host(tmp_path, files, USER='ann'))
    text = f'{found.found} {found.advice} {found.command}'
    assert found.verdict is verdict, text
    assert re.search(words, text), text
    assert (verdict in (BETTER, BAD)) <= bool(found.advice), 'it says what to change'


#: variables, files, verdict and words of the settings of the middleware
SETTINGS = [
    (middleware.check_discovery, {}, {}, OK, 'SUBNET'),
    (middleware.check_discovery, {'ROS_LOCALHOST_ONLY': '1'}, {}, OK, 'this machine only'),
    (middleware.check_discovery, {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}, {}, OK, 'LOCALH'),
    (middleware.check_discovery, {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF'}, {}, BAD, 'the driver'),
    (middleware.check_discovery, {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'subnet'}, {}, BETTER,
     'ROS knows .*SUBNET.*export ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST'),
    (middleware.check_fast_dds, {}, {}, OK, 'the network alone'),
    (middleware.check_fast_dds, {'FASTDDS_BUILTIN_TRANSPORTS': 'UDPv4'}, {}, OK, 'UDPv4'),
    (middleware.check_fast_dds, {'FASTDDS_BUILTIN_TRANSPORTS': 'DEFAULT'}, {}, BETTER,
     'halted.*unset FASTDDS_BUILTIN_TRANSPORTS'),
    (middleware.check_fast_dds, {'FASTDDS_BUILTIN_TRANSPORTS': 'LARGE_DATA?max_msg_size=1MB'}, {},
     BETTER, 'halted'),
    (middleware.check_fast_dds, {'FASTRTPS_DEFAULT_PROFILES_FILE': '/a.xml'}, {}, BAD,
     'cannot read it.*unset FASTRTPS'),
    (middleware.check_fast_dds, {'FASTRTPS_DEFAULT_PROFILES_FILE': '/a.xml'}, {'a.xml': '<dds/>'},
     OK, '/a.xml'),
    (middleware.check_fast_dds, {'FASTRTPS_DEFAULT_PROFILES_FILE': '/a.xml'}, {
        'a.xml': SHM_PROFILE}, BETTER, 'unset FASTRTPS_DEFAULT_PROFILES_FILE'),
    (middleware.check_cyclone, {}, {}, OK, 'not set'),
    (middleware.check_cyclone, {'CYCLONEDDS_URI': 'file:///c.xml'}, {'c.xml': '<x/>'}, OK, 'c.x'),
    (middleware.check_cyclone, {'CYCLONEDDS_URI': 'file:///c.xml'}, {}, BAD,
     'no file /c.xml.*unset CYCLONEDDS_URI'),
    (middleware.check_cyclone, {'CYCLONEDDS_URI': '<General a="1,2"/>'}, {}, OK, 'General'),
    (middleware.check_cyclone, {'CYCLONEDDS_URI': '<A/>,file:///d.xml'}, {}, BAD, '/d.xml'),
]


@pytest.mark.parametrize('case', range(len(SETTINGS)))
def test_setting_of_the_middleware(case: int, tmp_path: Path) -> None:
    """What the user has set is found where it is bad, with what takes it back."""
    check, environment, files, verdict, words = SETTINGS[case]
    found = check(host(tmp_path, files, **environment))
    text = f'{found.found} {found.advice} {found.command}'
    assert found.verdict is verdict and re.search(words, text), text


def test_middlewares_are_loaded(tmp_path: Path) -> None:
    """Which libraries can be loaded is tried; the wanted one has to be among them."""
    lines = Path('/proc/self/maps').read_text().splitlines()
    library = next(line.split()[-1] for line in lines if re.search(r'/libc[.-].*so', line))
    folder = tmp_path / 'ros' / 'lib'
    folder.mkdir(parents=True)
    places = {'AMENT_PREFIX_PATH': '/ros', 'LD_LIBRARY_PATH': '/nowhere:/ros/lib'}
    assert middleware.check_middleware(Host(tmp_path, {})).verdict is UNKNOWN
    for name in ('rmw_good_cpp', 'rmw_good_shared_cpp', 'rmw_dds_common_cpp', 'rmw'):
        (folder / f'lib{name}.so').symlink_to(library)      # of which one is a middleware
    (folder / 'librmw_broken_cpp.so').write_text('no library')
    found = middleware.check_middleware(Host(tmp_path, places | {
        'RMW_IMPLEMENTATION': 'rmw_good_cpp'}))
    assert (found.verdict, found.found) == (OK, 'rmw_good_cpp; can be loaded: rmw_good_cpp')
    for name, reason in (('rmw_broken_cpp', 'file too short|invalid ELF'),
                         ('rmw_absent_cpp', 'not installed')):
        found = middleware.check_middleware(Host(tmp_path, places | {'RMW_IMPLEMENTATION': name}))
        assert found.verdict is BAD and re.search(f'{name} cannot .*({reason})', found.advice)
        assert found.command == 'export RMW_IMPLEMENTATION=rmw_good_cpp'
    (folder / 'librmw_good_cpp.so').unlink()
    found = middleware.check_middleware(Host(tmp_path, places))
    assert found.verdict is BAD and found.found == 'rmw_fastrtps_cpp; can be loaded: none'
    assert found.command == 'sudo apt install ros-$ROS_DISTRO-rmw-fastrtps-cpp'


def test_shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a container has by default is little."""
    (tmp_path / 'dev' / 'shm').mkdir(parents=True)

    def size(blocks: int) -> None:
        state = os.statvfs_result((4096, 4096, blocks, 0, 0, 0, 0, 0, 0, 255))
        monkeypatch.setattr(os, 'statvfs', lambda _: state)
    size(16385)
    assert middleware.check_shared_memory(Host(tmp_path, {})).verdict is OK
    size(16384)
    found = middleware.check_shared_memory(Host(tmp_path, {}))
    assert (found.verdict, found.found) == (BETTER, '64 MB') and 'size=1G' in found.command
    assert '--shm-size' in middleware.check_shared_memory(host(tmp_path, DOCKER)).command


def test_software(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python, machine code and the place for it, with and without them."""
    here = Host(tmp_path, {})
    assert software.check_machine_code(here).verdict is OK
    monkeypatch.setattr(software, 'has_llvm', lambda: False)
    found = software.check_machine_code(here)
    assert (found.verdict, found.command) == (BAD, 'pip install llvmlite')
    monkeypatch.setattr(software, 'has_llvm', lambda: True)
    monkeypatch.setattr(software, 'bind', lambda *_, **__: lambda: None)
    assert 'wrong numbers' in software.check_machine_code(here).found

    def refused(*_: object, **__: object) -> None:
        raise OSError('no memory may be executed')
    monkeypatch.setattr(software, 'bind', refused)
    assert 'no memory may be executed' in software.check_machine_code(here).found
    assert software.check_python(here).verdict is (OK if sys.version_info >= (3, 11) else BETTER)
    monkeypatch.setattr(software.sys, 'version_info', (3, 10, 4))
    assert software.check_python(here).verdict is BETTER
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    assert software.check_cache(here).found == str(tmp_path / 'rbd_ros')
    monkeypatch.setenv(cache.VARIABLE, 'off')
    assert software.check_cache(here).verdict is BETTER
    monkeypatch.setattr(cache, 'folder', lambda: tmp_path / 'gone')
    assert 'cannot be written' in software.check_cache(here).found


def test_a_machine_that_tells_nothing(tmp_path: Path) -> None:
    """Without a single file, nothing is raised and nothing is called bad."""
    found = examine(Host(tmp_path, {}), 40)
    assert list(found) == [each.name for each in checks(40)]
    outside = {'discovery', 'Fast DDS', 'Cyclone DDS', 'Python', 'machine code', 'cache'}
    for name, finding in found.items():
        assert (finding.verdict is UNKNOWN) is (name not in outside), (name, finding)


def asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the files that the checks ask for on a machine that has none."""
    names: set[str] = set()
    with monkeypatch.context() as patched:
        patched.setattr(Host, 'text', lambda _, name: names.add(name))
        examine(Host(folder, {}), 40)
    return {name.lstrip('/') for name in names}


def test_files_in_a_form_that_nobody_has_seen(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the files hold, and folders in place of files: no check raises."""
    rng = random.Random(3)
    names = sorted({name for _, files, *_ in CASES for name in files}
                   | asked_for(tmp_path, monkeypatch))
    words = ['', '0', '-1', 'max', '::', ':', '[', '999999999999999999999', 'x' * 300, '\x00',
             'a:b:c', '0::', 'Max realtime priority', 'CapEff:\tzz', 'Cpus_allowed_list: 5-2',
             '9-']
    looks = [each for each in checks(40) if each.name not in (
        'middleware', 'Python', 'machine code', 'cache')]
    for turn in range(40):
        root = tmp_path / str(turn)
        for name in names:
            file = root / name
            kind = rng.randrange(8)
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                if kind == 0:
                    file.mkdir()
                elif kind == 1:
                    file.write_bytes(rng.randbytes(20))
                elif kind > 2:
                    file.write_text('\n'.join(rng.choices(words, k=rng.randrange(4))))
            except OSError:     # a file is where a folder should be
                continue
        uri = rng.choice(words).strip('\x00')
        assert set(examine_some(Host(root, {'CYCLONEDDS_URI': uri}), looks)) <= set(Verdict)


def examine_some(machine: Host, looks: list) -> list[Verdict]:
    """Return the verdicts of some checks, each as the examination asks for it."""
    found = []
    for name, look in looks:
        try:
            found.append(look(machine).verdict)
        except (OSError, ValueError, IndexError):     # the examination calls these unknown
            found.append(UNKNOWN)
        except Exception as error:
            raise AssertionError(f'{name} raises {error!r}') from error
    return found


def test_examination_calls_unknown_what_cannot_be_read(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that fails costs the others nothing; each one is counted."""
    def broken(_: Host) -> None:
        raise ValueError('of no known form')
    monkeypatch.setattr(kernel, 'check_kernel', broken)
    steps: list[int] = []
    found = examine(Host(tmp_path, {}), 40, lambda: steps.append(1))
    assert found['kernel'].verdict is UNKNOWN and 'of no known form' in found['kernel'].found
    assert len(steps) == len(found) == len(checks(40))


def test_commands_name_the_user(tmp_path: Path) -> None:
    """The line of the limits is for the user who asks, or for whom the shell puts in."""
    assert '"ann - rtprio 99"' in grant_priority(Host(tmp_path, {'USER': 'ann'}))
    assert '"$USER - memlock unlimited"' in grant_memory(Host(tmp_path, {}))


def test_words() -> None:
    """Lists of cores, sizes, and the worst of several verdicts."""
    assert cores_in('0-2,7,9-9\n') == [0, 1, 2, 7, 9] and cores_in('(null)') == cores_in('') == []
    assert [megabytes(n) for n in (212992, 2**26, 2**34)] == ['0.203 MB', '64 MB', '16 GB']
    assert worst([]) is worst([OK, UNKNOWN]) is OK
    assert worst([OK, BETTER, UNKNOWN]) is BETTER and worst([BAD, BETTER]) is BAD
