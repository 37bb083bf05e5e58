# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What a page sends to us, frame by frame: which is one of its messages, and which we act on.

Viser believes what it is sent: by a frame made by hand, a client could ask for a public address
of the page, exchange the callbacks of a button, or print a traceback. Here only the messages that
our pages need are let through, with values of the kind that their inputs have.
"""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import Any

__all__ = ['is_sign', 'is_wanted', 'read_frame']

#: Messages that are handed on, with the lengths of their vectors; 0 is a number.
NUMBERS: dict[str, dict[str, int]] = {
    'ViewerCameraMessage': {
        'wxyz': 4, 'position': 3, 'look_at': 3, 'up_direction': 3, 'fov': 0, 'near': 0, 'far': 0,
        'image_height': 0, 'image_width': 0},
    'TransformControlsUpdateMessage': {'wxyz': 4, 'position': 3},
    'TransformControlsDragStartMessage': {},
    'TransformControlsDragEndMessage': {},
    'SceneNodeDragMessage': {
        'start_position': 3, 'end_position': 3, 'start_screen_pos': 2, 'end_screen_pos': 2},
    'GuiUpdateMessage': {},
    'GuiButtonHoldMessage': {'frequency': 0},
    'FileTransferStartUpload': {'part_count': 0, 'size_bytes': 0},
    'FileTransferPart': {'part_index': 0},
}
TEXTS = ('type', 'name', 'owner', 'uuid', 'phase', 'button', 'source_component_uuid',
         'transfer_uuid', 'filename', 'mime_type')
MOST_PARTS = 16  # of a file that is sent to the page; a browser makes them of half a megabyte


def is_wanted(message: Mapping[str, Any], inputs: Mapping[str, Any]) -> bool:
    """
    Return whether to act on a message.

    :param message: as ``read_frame`` returns it.
    :param inputs: of the page, by their identifiers; each has a ``value``.
    """
    if is_sign(message):
        return message['uuid'] in inputs
    if message['type'].startswith('FileTransfer'):
        return _is_of_file(message, inputs)
    if message['type'] != 'GuiUpdateMessage':
        return message['type'] in NUMBERS
    updates, target = message['updates'], inputs.get(message['uuid'])
    # Names other than this one are fields inside viser, its callbacks among them.
    if target is None or list(updates) != ['value']:
        return False
    value, options = updates['value'], getattr(target, 'options', None)
    return is_like(value, target.value) and (options is None or value in options)


def is_sign(message: Mapping[str, Any]) -> bool:
    """Return whether a message says that a button is held."""
    return bool(message['type'] == 'GuiButtonHoldMessage')


def _is_of_file(message: Mapping[str, Any], inputs: Mapping[str, Any]) -> bool:
    """Return whether a message begins or carries a file for a button that takes files."""
    button = inputs.get(message.get('source_component_uuid', ''))
    if not isinstance(getattr(getattr(button, 'value', None), 'content', None), bytes):
        return False
    if message['type'] == 'FileTransferPart':
        return message['part_index'] in range(MOST_PARTS) and isinstance(message['content'], bytes)
    return (message['type'] == 'FileTransferStartUpload'
            and message['part_count'] in range(MOST_PARTS + 1))


def is_like(value: object, present: object) -> bool:
    """Return whether a value is of the kind of the present one; a number must be finite."""
    if isinstance(present, bool):
        return isinstance(value, bool)
    if isinstance(present, (int, float)):
        return _is_number(value)
    if isinstance(present, (tuple, list)):
        return (isinstance(value, (tuple, list)) and len(value) == len(present)
                and all(map(is_like, value, present)))
    return type(value) is type(present)


def read_frame(frame: object) -> dict[str, Any] | None:
    """Return the message of a frame by the names of its fields, None if no page sends such."""
    import msgspec
    if not isinstance(frame, bytes):
        return None
    try:
        message = msgspec.msgpack.decode(frame)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    if not isinstance(message, dict) or not all(isinstance(key, str) for key in message):
        return None
    if not all(isinstance(message[name], str) for name in TEXTS if name in message):
        return None
    kind = _kinds().get(message.get('type', ''))
    if kind is None:
        return None
    required, known = kind
    if not required <= set(message) <= known | {'type'}:
        return None
    for name, length in NUMBERS.get(message['type'], {}).items():
        value = message.get(name)
        if not (_is_number(value) if length == 0 else is_like(value, [0.0] * length)):
            return None
    if 'updates' in message and not isinstance(message['updates'], dict):
        return None
    return message


def _is_number(value: object) -> bool:
    """Return whether a value is a finite number, and no Boolean."""
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and math.isfinite(value))


_KINDS: dict[str, tuple[frozenset[str], frozenset[str]]] = {}


def _kinds() -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    """Return the fields that each kind of message must have and may have."""
    if not _KINDS:
        import dataclasses

        from viser import _messages
        kind: Any
        for kind in _messages.Message.get_subclasses():
            fields = dataclasses.fields(kind) if hasattr(kind, '__dataclass_fields__') else ()
            needed = frozenset(
                field.name for field in fields
                if field.init and field.default is dataclasses.MISSING
                and field.default_factory is dataclasses.MISSING)
            _KINDS[kind.__name__] = needed, frozenset(field.name for field in fields)
    return _KINDS
