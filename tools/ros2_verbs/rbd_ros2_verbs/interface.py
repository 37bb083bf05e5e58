# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The ros2cli extension ``interface``: list, show.

Where the real ros2interface is installed, its command is taken, whichever entry point wins.
"""

from __future__ import annotations

import argparse
from typing import Any

from rbd_ros2_verbs.common import VerbError, Verbs

try:
    from ros2interface.command.interface import InterfaceCommand
except ImportError:
    class InterfaceCommand(Verbs):  # type: ignore[no-redef]
        """List the types of messages, services and actions, or show one."""

        def declare(self, verbs: Any) -> None:
            """Declare the verbs."""
            names = verbs.add_parser('list', help='list all types')
            names.set_defaults(run=_list)
            show = verbs.add_parser('show', help='print the definition of a type')
            show.add_argument('type', help='for instance sensor_msgs/msg/JointState')
            show.set_defaults(run=_show)

__all__ = ['InterfaceCommand']


def _list(args: argparse.Namespace) -> None:
    from rosidl_runtime_py import get_interfaces

    for package, names in sorted(get_interfaces().items()):
        for name in sorted(names):
            print(f'{package}/{name}')


def _show(args: argparse.Namespace) -> None:
    from rosidl_runtime_py import get_interface_path

    try:
        path = get_interface_path(args.type)
    except (LookupError, ValueError) as error:
        raise VerbError(f'no type "{args.type}" is installed: {error}') from error
    with open(path, encoding='utf-8') as file:
        print(file.read().rstrip())
