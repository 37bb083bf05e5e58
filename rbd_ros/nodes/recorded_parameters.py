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
