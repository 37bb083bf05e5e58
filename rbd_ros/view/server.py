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
"""The web page: a server on this machine, which a browser opens."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from rbd_ros.errors import SettingError

if TYPE_CHECKING:
    from viser import ViserServer

__all__ = ['open_server']


def open_server(host: str, port: int, title: str) -> ViserServer:
    """
    Start the server of a page.

    :param host: address to listen at; 127.0.0.1: only this machine.
    :param port: 0 chooses a free one.
    :raises SettingError: if viser is not installed, or the port is taken.
    """
    try:
        from viser import ViserServer
    except ImportError as error:
        raise SettingError('the 3-D view needs the Python package viser: pip install '
                           '"rbd_ros[dashboard]"') from error
    with socket.socket() as probe:      # viser takes the next free port without a word
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise SettingError(f'cannot listen at {host} port {port}: {error.strerror}. Another '
                               'page may be open there; choose another port') from error
        port = probe.getsockname()[1]
    return ViserServer(host=host, port=port, label=title, verbose=False)
