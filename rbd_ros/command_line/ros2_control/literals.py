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

"""Texts and numbers as C++ writes them."""

from __future__ import annotations

from collections.abc import Iterable
import math

from rbd_ros.quoting import c_text as text

__all__ = ['array', 'number', 'plain', 'text']


def number(value: float) -> str:
    """Return a double of C++."""
    return repr(float(value)) if math.isfinite(value) else (
        'NAN' if math.isnan(value) else '-INFINITY' if value < 0.0 else 'INFINITY')


def plain(value: bool | float | str) -> str:
    """Return a single value of C++."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return text(value)
    return str(value) if isinstance(value, int) else number(value)


def array(kind: str, name: str, items: Iterable[str]) -> str:
    """Return the definition of an array of C++."""
    return f'{kind} {name}[] = {{' + ', '.join(items) + '};'
