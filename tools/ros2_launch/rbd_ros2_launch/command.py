# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The ros2cli extension ``launch``.

Where the real ros2launch is installed, its command is taken, whichever entry point wins.
"""

from __future__ import annotations

import argparse
import os
import sys

from ros2cli.command import CommandExtension

try:
    from ros2launch.command.launch import LaunchCommand
except ImportError:
    class LaunchCommand(CommandExtension):  # type: ignore[no-redef]
        """Run a launch file."""

        def add_arguments(self, parser: argparse.ArgumentParser, cli_name: str) -> None:
            """Declare what the command line takes."""
            parser.add_argument(
                '-n', '--noninteractive', default=not sys.stdin.isatty(), action='store_true',
                help='run the launch system as if it had no terminal')
            parser.add_argument(
                '-d', '--debug', default=False, action='store_true',
                help='show the debug output of the launch system')
            parser.add_argument(
                '-p', '--print', '--print-description', default=False, action='store_true',
                dest='print_description', help='print the launch description and stop')
            parser.add_argument(
                '-s', '--show-args', '--show-arguments', default=False, action='store_true',
                dest='show_args', help='print the arguments of the launch file and stop')
            parser.add_argument(
                '-a', '--show-all-subprocesses-output', default=False, action='store_true',
                help='show all output of the started processes, whatever their settings')
            package = parser.add_argument(
                'package_name', help='a package that holds the launch file, or its path')
            parser.add_argument(
                'launch_file_name', nargs='?', help='name of the launch file in the package')
            parser.add_argument(
                'launch_arguments', nargs='*', help='arguments of the launch file: name:=value')
            try:
                from ros2pkg.api import package_name_completer
                package.completer = package_name_completer  # type: ignore[attr-defined]
            except ImportError:
                pass  # only completion of the command line is lost

        def main(
            self, *, parser: argparse.ArgumentParser, args: argparse.Namespace,
        ) -> int | str:
            """Do what the command line says; a returned text is an error message."""
            from rbd_ros2_launch import api  # the launch system is slow to import

            name, arguments = args.launch_file_name, list(args.launch_arguments)
            if name is not None and (os.path.isfile(args.package_name) or ':=' in name):
                # a path instead of a package: the second word is already an argument
                name, arguments = None, [name, *arguments]
            if args.show_all_subprocesses_output:
                os.environ['OVERRIDE_LAUNCH_PROCESS_OUTPUT'] = 'both'
            try:
                path = api.find(args.package_name, name)
                if args.show_args:
                    print(api.describe(path), end='')
                    return 0
                if args.print_description:
                    print(api.introspect(path))
                    return 0
                return api.run(path, arguments, noninteractive=args.noninteractive,
                               debug=args.debug)
            except api.LaunchFileError as error:
                return str(error)

__all__ = ['LaunchCommand']
