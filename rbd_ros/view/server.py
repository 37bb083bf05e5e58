# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The web server of a scene: who may open it, and its light."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import redirect_stdout
import io
import socket
from typing import Any

from rbd_ros.errors import RbdError
from rbd_ros.view.gate import Gate, guarded, prove_guarded

__all__ = ['set_colours', 'start_server', 'stop_server']

SKY_COLOUR, GROUND_COLOUR, SKY_INTENSITY = (255, 255, 255), (200, 200, 205), 3.0


def start_server(
    host: str = '127.0.0.1', port: int = 8080, *, token: str = '', names: Iterable[str] = (),
) -> Any:
    """
    Return a web server for scenes, reachable from this machine only by default.

    Only pages that it has served itself may connect to it; ``gate`` says how.

    :param host: address on which it listens.
    :param port: on which it listens; if it is in use, the next free one.
    :param token: that a browser has to show first; empty: none.
    :param names: host names by which the page may be opened, besides localhost and addresses.
    :raises RbdError: if viser is missing, the server would listen to foreign pages, or it cannot
        listen there at all.
    """
    _prove_usable(host, port)
    try:
        import viser
    except ImportError as error:
        raise RbdError('the 3-D view needs the packages viser and trimesh: pip install '
                       'viser trimesh pycollada') from error
    gate = Gate(token, names)
    # viser prints its address even with verbose=False
    with guarded(gate), redirect_stdout(io.StringIO()):
        server = viser.ViserServer(host=host, port=port, verbose=False)
    try:
        prove_guarded(host, server.get_port())
        gate.inputs = server.gui._gui_input_handle_from_uuid
    except RbdError:
        stop_server(server)
        raise
    set_colours(server)
    scene = server.scene
    scene.set_up_direction('+z')
    # Light from everywhere. The default of viser, a picture of surroundings, does the same, but a
    # browser without a graphics card works on it for 10 s before it shows a robot.
    scene.configure_environment_map(hdri=None)
    # Shadows would fall on the robot alone, and take a third of the time of a picture.
    scene.configure_default_lights(cast_shadow=False)
    scene.add_light_hemisphere('/sky', sky_color=SKY_COLOUR, ground_color=GROUND_COLOUR,
                               intensity=SKY_INTENSITY, position=(0.0, 0.0, 1.0))
    return server


def _prove_usable(host: str, port: int) -> None:
    """Refuse what viser would answer with a traceback of its thread."""
    if not 0 < port < 65536:
        raise RbdError(f'port {port} is outside 1 to 65535')
    try:
        with socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET) as probe:
            probe.bind((host, 0))
    except OSError as error:
        raise RbdError(f'cannot listen on {host}: {error.strerror}; give an address of this '
                       'machine, such as 127.0.0.1, or 0.0.0.0 for all of them') from error


def set_colours(server: Any, *, dark: bool = False) -> None:
    """Make the page light or dark."""
    # Its share button would put the page on a public address; the gate drops the request, too.
    server.gui.configure_theme(dark_mode=dark, show_share_button=False, show_logo=False)


def stop_server(server: Any) -> None:
    """Stop a server, without its messages."""
    with redirect_stdout(io.StringIO()):
        server.stop()
