# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""The parameters of a node as bytes of the event that would have set them all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rbd_ros.identification.bag import typestore

__all__ = ['KIND', 'parameter_event']

KIND = 'rcl_interfaces/msg/ParameterEvent'
_ARRAYS = {'byte_array_value': np.uint8, 'bool_array_value': np.bool_,
           'integer_array_value': np.int64, 'double_array_value': np.float64}


def parameter_event(node: str, now: int, names: Sequence[str], values: Sequence[Any]) -> bytes:
    """
    Return a serialized rcl_interfaces/ParameterEvent.

    It is not made by rclpy, whose bytes may end with a rest that strict readers refuse.

    :param node: name of the node.
    :param now: ns since 1970.
    :param values: messages rcl_interfaces/ParameterValue.
    """
    store = typestore()
    time, value, parameter, event = (store.types[name] for name in (
        'builtin_interfaces/msg/Time', 'rcl_interfaces/msg/ParameterValue',
        'rcl_interfaces/msg/Parameter', KIND))
    made = [parameter(name, value(
        each.type, each.bool_value, each.integer_value, each.double_value, each.string_value,
        *(np.frombuffer(b''.join(each.byte_array_value), np.uint8) if kind is np.uint8
          else np.array(getattr(each, field), kind) for field, kind in _ARRAYS.items()),
        list(each.string_array_value))) for name, each in zip(names, values, strict=True)]
    return bytes(store.serialize_cdr(event(
        time(now // 10**9, now % 10**9), node, made, [], []), KIND))
