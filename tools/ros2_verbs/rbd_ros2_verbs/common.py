# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the commands share: verbs as methods, a node for one question, calls with a limit."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
import os
import time
from typing import Any

from ros2cli.command import CommandExtension

#: s to wait for a node or a server to be discovered
PATIENCE = 10.0
EVERYTHING = 1.0  # s without anything new until a list is taken for complete


class VerbError(RuntimeError):
    """The verb cannot do what was asked; the message says why."""


class Verbs(CommandExtension):
    """A command with verbs; a subclass declares each in ``declare`` with its method."""

    def declare(self, verbs: Any) -> None:
        """
        Declare the verbs.

        :param verbs: of argparse; each verb has a default ``run``.
        """
        raise NotImplementedError

    def add_arguments(self, parser: argparse.ArgumentParser, cli_name: str) -> None:
        """Declare what the command line takes."""
        self._parser = parser
        self.declare(parser.add_subparsers(title='Verbs', metavar='VERB'))

    def main(self, *, parser: argparse.ArgumentParser, args: argparse.Namespace) -> int | str:
        """Do what the command line says; a returned text is an error message."""
        if not hasattr(args, 'run'):
            self._parser.print_help()
            return 0
        try:
            return args.run(args) or 0
        except VerbError as error:
            return str(error)


@contextmanager
def asking(name: str) -> Iterator[Any]:
    """
    Give a node for as long as the question takes.

    :param name: what for.
    """
    import rclpy  # slow, and --help does not need it

    rclpy.init()
    node = rclpy.create_node(f'_ros2cli_{name}_{os.getpid()}')
    try:
        yield node
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def discovered(node: Any, find: Callable[[], list[Any]]) -> list[Any]:
    """
    Return what a new node finds, with patience: others are discovered one by one.

    :param node: the node.
    :param find: returns what is known at the moment.
    """
    import rclpy

    begin = time.monotonic()
    settled, found = begin + EVERYTHING, find()
    while time.monotonic() < (settled if found else begin + PATIENCE):
        rclpy.spin_once(node, timeout_sec=0.05)
        before, found = found, find()
        if found != before:
            settled = time.monotonic() + EVERYTHING
    return sorted(found)


def call(node: Any, kind: type, name: str, request: Any) -> Any:
    """
    Call a service and return its response.

    :param node: the node that asks.
    :param kind: type of the service.
    :param name: of the service.
    :param request: the request.
    """
    import rclpy

    client = node.create_client(kind, name)
    try:
        if not client.wait_for_service(PATIENCE):
            raise VerbError(f'there is no service {name}: is the node running, in the same '
                            'ROS_DOMAIN_ID, and does its name begin with its namespace?')
        future = client.call_async(request)
        rclpy.spin_until_future_complete(node, future, timeout_sec=60.0)
        if not future.done():
            raise VerbError(f'the service {name} does not answer')
        return future.result()
    finally:
        node.destroy_client(client)
