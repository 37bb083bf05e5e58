# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
