# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Start of a process: what rcl cannot read gives an error message, not a traceback."""

from __future__ import annotations

import os
import re

from rbd_ros.control.parameters.file import read_file
from rbd_ros.errors import SettingError
from rbd_ros.nodes.transport import avoid_shared_memory
import rclpy
from rclpy.signals import SignalHandlerOptions

__all__ = ['explain_rcl_error', 'initialise']

_PARAMETER_FILE = re.compile(r"params file: '--params-file (.+?)'\. Error: ")
_SOURCE_PLACE = re.compile(r', at /\S+:\d+')  # where in the sources of rcl it was found


def initialise(args: list[str] | None) -> None:
    """
    Initialise rclpy without its signal handlers and without shared-memory transport.

    :param args: of the command line; None: those of the process.
    :raises SettingError: for arguments that rcl refuses.
    """
    avoid_shared_memory(rclpy.get_rmw_implementation_identifier(), os.environ)
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    except RuntimeError as error:  # RCLError
        raise SettingError(explain_rcl_error(str(error))) from error


def explain_rcl_error(text: str) -> str:
    """
    Return what is wrong with the arguments of a process.

    :param text: error of rcl.
    """
    found = _PARAMETER_FILE.search(text)
    if found:
        try:
            read_file(found[1])
        except SettingError as error:
            return str(error)
    return _SOURCE_PLACE.sub('', text)
