# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What a machine tells about itself in files, which may lie below any folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
import os
from pathlib import Path
import re

__all__ = ['cores_in', 'Host']

#: Places of the rights in the bits of the kernel.
SYS_NICE, IPC_LOCK = 23, 14
#: Words in the name of a control group that belong to containers.
_CONTAINERS = ('docker', 'kubepods', 'libpod', 'lxc', 'containerd')


@dataclass(frozen=True)
class Host:
    """
    A machine and the process that looks at it.

    :param root: folder that holds ``proc``, ``sys``, ``dev`` and so on.
    :param environment: variables of the process.
    """

    root: Path = Path('/')
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def path(self, name: str) -> Path:
        """Return where a file of the machine is found."""
        return self.root / name.lstrip('/')

    def text(self, name: str) -> str | None:
        """Return what a file holds, without blanks around it; None if it cannot be read."""
        try:
            return self.path(name).read_text(errors='replace').strip()
        except OSError:
            return None

    def number(self, name: str) -> int | None:
        """Return the integer in a file; None if there is none."""
        text = self.text(name)
        return int(text) if text and re.fullmatch(r'-?\d+', text) else None

    def files(self, pattern: str) -> list[str]:
        """Return the names of the files that fit a pattern, in order."""
        found = self.root.glob(pattern.lstrip('/'))
        return sorted(f'/{each.relative_to(self.root)}' for each in found)

    def limit(self, name: str) -> float | None:
        """
        Return a limit of this process, infinite if there is none; None if it is not told.

        :param name: as in ``/proc/self/limits``.
        """
        for line in (self.text('/proc/self/limits') or '').splitlines():
            if line.startswith(name):
                soft = line[len(name):].split()[:1]
                return float('inf') if soft == ['unlimited'] else float(soft[0]) if soft else None
        return None

    def may(self, right: int) -> bool:
        """
        Return whether this process has a right of the system's administrator.

        :param right: ``SYS_NICE`` or ``IPC_LOCK``.
        """
        bits = self.status('CapEff')
        return bool(bits) and bool(int(bits, 16) >> right & 1)

    def status(self, name: str) -> str:
        """Return a line of ``/proc/self/status``; empty if it is not there."""
        found = re.search(rf'^{name}:\s*(\S+)', self.text('/proc/self/status') or '', re.MULTILINE)
        return found[1] if found else ''

    @property
    def container(self) -> str:
        """Return the kind of container that this process runs in; empty: in none."""
        for name, file in (('docker', '/.dockerenv'), ('podman', '/run/.containerenv')):
            if self.path(file).exists():
                return name
        groups = self.text('/proc/1/cgroup') or ''
        return next((word for word in _CONTAINERS if word in groups), '')

    @property
    def container_command(self) -> str:
        """Return the command that starts a container like this one."""
        return 'podman run' if self.container == 'podman' else 'docker run'

    def groups(self, controller: str) -> Iterator[str]:
        """
        Yield the folders of this process' control groups, from its own to the outermost.

        :param controller: what the group controls, as 'cpu'.
        """
        for line in (self.text('/proc/self/cgroup') or '').splitlines():
            _, names, path = line.split(':', 2)
            if not names:           # the groups of version 2, which have all controllers
                top = '/sys/fs/cgroup'
            elif controller in names.split(','):
                top = f'/sys/fs/cgroup/{controller}'
            else:
                continue
            inner = Path(path)
            for folder in (inner, *inner.parents):
                yield f'{top}/{str(folder).lstrip("/")}'.rstrip('/')


def cores_in(text: str) -> list[int]:
    """
    Return the cores of a list as the kernel writes it.

    :param text: as '0-3,8'; empty or '(null)' for none.
    """
    found: list[int] = []
    for part in re.findall(r'\d+(?:-\d+)?', text):
        first, _, last = part.partition('-')
        found += range(int(first), int(last or first) + 1)
    return found
