# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Checks of the memory: what may make a loop wait for a page."""

from __future__ import annotations

import re

from rbd_ros.machine.findings import better, Finding, ok, unknown
from rbd_ros.machine.host import Host

__all__ = ['check_huge_pages', 'check_swap']

_HUGE = '/sys/kernel/mm/transparent_hugepage/enabled'


def check_huge_pages(host: Host) -> Finding:
    """Return whether the kernel rearranges memory unasked."""
    found = re.search(r'\[(\w+)\]', host.text(_HUGE) or '')
    if not found:
        return unknown()
    if found[1] != 'always':
        return ok(found[1])
    return better('always', 'the kernel collects pages into large ones at times of its own, and '
                  'threads wait for it', f'echo madvise | sudo tee {_HUGE}')


def check_swap(host: Host) -> Finding:
    """Return whether memory may be moved to a disk."""
    text = host.text('/proc/swaps')
    if text is None:
        return unknown()
    places = [line.split()[0] for line in text.splitlines()[1:] if line.split()]
    if not places:
        return ok('none')
    return better(', '.join(places), 'a page that was moved to a disk takes milliseconds to come '
                  'back; set realtime.lock_memory, or use no swap', 'sudo swapoff -a')
