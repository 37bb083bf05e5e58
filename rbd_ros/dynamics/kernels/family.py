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

"""What a family of methods knows of its robot."""

from __future__ import annotations

from rbd_ros.dynamics.kernels.store import KernelStore
from rbd_ros.dynamics.quantity import Call, Quantity
from rbd_ros.model.model import Model


class Family:
    """
    Methods of a robot that need no more than its model and the store of its kernels.

    A method reads ``self._calls[QUANTITY](...)``: the first
    call compiles in the store, a later one finds what to call without a function in between.
    """

    model: Model
    _store: KernelStore
    _calls: dict[Quantity, Call]
