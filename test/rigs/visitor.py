# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Somebody who has opened a page, without a browser: what is sent to it, and what it shows."""

from __future__ import annotations

from html import unescape
from http.client import HTTPConnection
import itertools
import re
import threading
import time
from typing import Any

import msgspec
import numpy as np
from rbd_env.pace import patient
import viser
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
import zstandard

__all__ = ['PATIENCE', 'Visitor']

FOV = float(np.radians(75.0))  # vertical, of the page
#: Updates of a node of the scene: what they change.
PLACED = {'SetPositionMessage': 'position', 'SetOrientationMessage': 'wxyz',
          'SetSceneNodeVisibilityMessage': 'visible',
          'SetSceneNodeDragBindingsMessage': 'bindings'}
CAMERA = {'SetCameraPositionMessage': 'position', 'SetCameraLookAtMessage': 'look_at',
          'SetCameraUpDirectionMessage': 'position'}
PATIENCE = patient(60.0)  # s
MARK = 'mark of the rig'  # an input by which both ends say how far they are
_numbers = itertools.count()


def cookie_for(port: int, token: str) -> str:
    """Return the cookie that a page gives for its token; one without commands gives none."""
    line = HTTPConnection('127.0.0.1', port, timeout=PATIENCE)
    line.request('GET', f'/?token={token}')
    found = line.getresponse().headers.get('Set-Cookie', '')
    line.close()
    return found.partition(';')[0]


class Visitor:
    """
    A client of the page that speaks as its script does, through the gate of the server.

    :param server: of the page.
    :param token: that it asks for.
    :param size: of the window, pixels.
    """

    def __init__(self, server: Any, token: str = '', size: tuple[int, int] = (1200, 900)) -> None:
        self.parts: dict[str, dict[str, Any]] = {}  # of the panel, by their identifiers
        self.nodes: dict[str, dict[str, Any]] = {}  # of the scene, by their paths
        self.files: dict[str, bytes] = {}  # that were sent to be saved
        self.camera: dict[str, Any] = {}  # where the page has put it
        self._names: dict[str, str] = {}
        self._news = threading.Condition()
        self._count, self._heard = 0, threading.Event()
        self._label = f'{MARK} {next(_numbers)}'
        self._server, self._mark = server, server.gui.add_text(self._label, '0', visible=False)

        async def marked(_: Any) -> None:
            self._heard.set()
        self._mark.on_update(marked)
        port = server.get_port()
        self._line = connect(
            f'ws://127.0.0.1:{port}/', origin=f'http://127.0.0.1:{port}',
            subprotocols=[f'viser-v{viser.__version__}'], max_size=None, ping_interval=None,
            additional_headers={'Cookie': cookie_for(port, token)})
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        self.send({'type': 'ViewerCameraMessage', 'wxyz': [1.0, 0.0, 0.0, 0.0], 'fov': FOV,
                   'position': [1.0, 1.0, 1.0], 'look_at': [0.0, 0.0, 0.0], 'near': 0.01,
                   'far': 1000.0, 'image_width': size[0], 'image_height': size[1],
                   'up_direction': [0.0, 0.0, 1.0]}, wait=False)
        self._wait(lambda: any(part.get('label') == self._label for part in self.parts.values()))
        self.look()

    def close(self) -> None:
        """Close the page."""
        self._line.close()
        self._thread.join()
        self._mark.remove()

    # -- what is heard ------------------------------------------------------------------------

    def _listen(self) -> None:
        try:
            for frame in self._line:
                assert isinstance(frame, bytes)
                messages = _read(frame)
                with self._news:
                    for message in messages:
                        self._take(message)
                    self._news.notify_all()
        except ConnectionClosed:
            pass

    def _take(self, message: dict[str, Any]) -> None:
        kind = message['type']
        if kind == 'GuiUpdateMessage':
            self.parts.get(message['uuid'], {}).update(message['updates'])
        elif kind in ('GuiRemoveMessage', 'GuiPanelRemoveMessage'):
            self.parts.pop(message['uuid'], None)
        elif kind in PLACED:
            name = PLACED[kind]
            self.nodes.setdefault(message['name'], {})[name] = message[name]
        elif kind == 'SceneNodeUpdateMessage':
            self.nodes.setdefault(message['name'], {}).update(message['updates'])
        elif kind == 'RemoveSceneNodeMessage':
            gone = message['name']
            for name in [each for each in self.nodes if f'{each}/'.startswith(f'{gone}/')]:
                del self.nodes[name]
        elif kind in CAMERA:
            self.camera[kind] = np.array(message[CAMERA[kind]])
        elif kind == 'FileTransferStartDownload':
            self._names[message['transfer_uuid']] = message['filename']
            self.files[message['filename']] = b''
        elif kind == 'FileTransferPart':
            self.files[self._names[message['transfer_uuid']]] += message['content']
        elif 'props' in message:
            made = {'type': kind, 'value': message.get('value'), 'uuid': message.get('uuid'),
                    'inside': message.get('container_uuid'), **message['props']}
            if 'name' in message:
                self.nodes[message['name']] = {'position': (0.0,) * 3, 'visible': True,
                                               'wxyz': (1.0, 0.0, 0.0, 0.0), **made}
            else:
                self.parts[message['uuid']] = made

    def _wait(self, holds: Any) -> None:
        end = time.monotonic() + PATIENCE
        with self._news:
            while not holds():
                assert self._news.wait(end - time.monotonic()), 'the page does not answer'

    def look(self) -> Visitor:
        """Wait until all that the page has sent so far is here."""
        self._count += 1
        mark = f'from the page: {self._count}'
        self._mark.hint = mark
        self._server.flush()
        self._wait(lambda: any(part.get('hint') == mark for part in self.parts.values()))
        return self

    # -- what is seen -------------------------------------------------------------------------

    def find(self, label: str, within: str = '') -> dict[str, Any]:
        """
        Return a part of the panel.

        :param label: its label; the title of a plot.
        :param within: label of a folder or a tab around it.
        """
        found = [part for part in self.parts.values()
                 if label in (part.get('label'), part.get('title'))
                 and (not within or within in self.around(part))]
        assert found, f'there is no "{label}"'
        return found[0]

    def has(self, label: str) -> bool:
        """Return whether there is a part with a label that can be seen."""
        return any(part.get('label') == label and self.sees(part) for part in self.parts.values())

    def around(self, part: dict[str, Any]) -> list[str]:
        """Return the labels of what is around a part."""
        return [label for each, label in self._chain(part)]

    def _chain(self, part: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
        found: list[tuple[dict[str, Any], str]] = []
        while (inside := part.get('inside')) not in (None, 'root'):
            label = ''
            around = self.parts.get(inside)
            if around is None:  # a tab is none of its own
                around = next((each for each in self.parts.values()
                               if inside in each.get('_tab_container_ids', ())), None)
                if around is None:
                    break
                label = around['_tab_labels'][list(around['_tab_container_ids']).index(inside)]
            found.append((around, label or around.get('label') or ''))
            part = around
        return found

    def sees(self, part: dict[str, Any]) -> bool:
        """Return whether a part is visible, with all that is around it."""
        return all(each['visible'] for each in (part, *(one for one, _ in self._chain(part))))

    def text(self, within: str = '') -> str:
        """Return the words on the panel, or in one folder or tab of it."""
        shown = [part.get('_markdown') or part.get('content') or '' for part in
                 sorted(self.parts.values(), key=lambda part: part.get('order', 0.0))
                 if self.sees(part) and (not within or within in self.around(part))]
        return unescape(re.sub('<[^>]*>', ' ', '\n'.join(filter(None, shown)))).replace('  ', ' ')

    @property
    def html(self) -> str:
        """Return the HTML on the panel."""
        return '\n'.join(part['content'] for part in self.parts.values()
                         if part['type'] == 'GuiHtmlMessage' and self.sees(part))

    def find_html(self, name: str) -> str:
        """Return the HTML part that has an element of a class, or is empty of it."""
        return next((part['content'] for part in self.parts.values()
                     if f'class="{name}"' in (part.get('content') or '')), '')

    def plots(self) -> list[dict[str, Any]]:
        """Return the plots."""
        return [part for part in self.parts.values() if part['type'] == 'GuiUplotMessage']

    def node(self, name: str) -> dict[str, Any]:
        """Return what is drawn; of a name or of the end of a path."""
        return next(node for path, node in self.nodes.items()
                    if path == name or path.endswith(f'/{name}'))

    # -- what is done -------------------------------------------------------------------------

    def send(self, *messages: dict[str, Any], wait: bool = True) -> None:
        """Send messages, and wait until the page has taken them."""
        for message in messages:
            self._line.send(msgspec.msgpack.encode(message))
        if not wait:
            return
        self._heard.clear()
        self._count += 1
        self._line.send(msgspec.msgpack.encode(self._update(
            self.find(self._label), f'to the page: {self._count}')))
        assert self._heard.wait(PATIENCE), 'the page does not listen'

    @staticmethod
    def _update(part: dict[str, Any], value: Any) -> dict[str, Any]:
        return {'type': 'GuiUpdateMessage', 'uuid': part['uuid'], 'updates': {'value': value}}

    def put(self, label: str, value: Any, within: str = '') -> None:
        """Give an input a value."""
        part = self.find(label, within)
        part['value'] = value = value.item() if hasattr(value, 'item') else value
        self.send(self._update(part, value))

    def press(self, label: str, within: str = '') -> None:
        """Press a button."""
        self.send(self._update(self.find(label, within), True))

    def hold(self, *labels: str) -> None:
        """Give one sign of held buttons."""
        self.send(*({'type': 'GuiButtonHoldMessage', 'uuid': part['uuid'],
                     'frequency': part['_hold_callback_freqs'][0]}
                    for part in map(self.find, labels)))

    def pull(self, name: str, position: Any, wxyz: Any = None) -> None:
        """Drag a handle of the scene somewhere."""
        node = self.node(name)
        node['position'] = [float(x) for x in position]
        node['wxyz'] = node['wxyz'] if wxyz is None else [float(x) for x in wxyz]
        self.send({'type': 'TransformControlsUpdateMessage', 'owner': '',
                   'name': next(path for path, each in self.nodes.items() if each is node),
                   'position': node['position'], 'wxyz': list(node['wxyz'])})

    def drag(self, phase: str, path: str, start: Any, end: Any) -> None:
        """Press on what is drawn, move the mouse, or let go."""
        self.send({'type': 'SceneNodeDragMessage', 'phase': phase, 'name': path,
                   'instance_index': None, 'start_position': [float(x) for x in start],
                   'end_position': [float(x) for x in end], 'start_screen_pos': [0.5, 0.5],
                   'end_screen_pos': [0.5, 0.5], 'button': 'left', 'modifier': None, 'owner': ''})

    def upload(self, label: str, name: str, content: bytes) -> None:
        """Give a file to a button."""
        uuid = self.find(label)['uuid']
        parts = [content[k:k + 2**19] for k in range(0, len(content), 2**19)]
        self._count += 1
        number = str(self._count)
        self.send({'type': 'FileTransferStartUpload', 'source_component_uuid': uuid,
                   'transfer_uuid': number, 'filename': name, 'mime_type': '.urdf,.xml',
                   'part_count': len(parts), 'size_bytes': len(content)},
                  *({'type': 'FileTransferPart', 'source_component_uuid': uuid,
                     'transfer_uuid': number, 'part_index': k, 'content': part}
                    for k, part in enumerate(parts)))


def _read(frame: bytes) -> list[dict[str, Any]]:
    """Return the messages of a frame: packed text, and behind it the arrays that it names."""
    size, packed = (int.from_bytes(frame[k:k + 8], 'little') for k in (0, 8))
    found = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(
        frame[16:16 + packed], max_output_size=size))
    arrays, at = [], 16 + packed
    for length in found['binaryBufferLengths']:
        at += -at % 8
        arrays.append(frame[at:at + length])
        at += length

    def whole(value: Any) -> Any:
        if isinstance(value, dict):
            if '__binary_index' in value:
                return np.frombuffer(arrays[value['__binary_index']], value['dtype'])
            return {key: whole(each) for key, each in value.items()}
        return [whole(each) for each in value] if isinstance(value, list) else value
    return [whole(message) for message in found['messages']]
