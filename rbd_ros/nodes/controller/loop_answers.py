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

"""Questions of services to the control loop, whose answers they wait for."""

from __future__ import annotations

from collections.abc import Callable
import threading
from typing import NamedTuple, TYPE_CHECKING

from rbd_ros.control.interface.words import SessionWord

if TYPE_CHECKING:
    from rbd_ros.control.controller import Controller

__all__ = ['ask_loop', 'Reply']

#: s that the control loop may take to answer
_LIMIT = 2.0


class Reply(NamedTuple):
    """What a service answers."""

    success: bool
    message: str


def ask_loop(controller: Controller, ask: Callable[[float, float], str]) -> Reply:
    """
    Have something done in the control thread and wait for it.

    :param controller: of the configured robot.
    :param ask: gets control and steady time, and returns the reason of a refusal, or nothing.
    """
    done, late = threading.Event(), threading.Event()
    reply = [Reply(False, SessionWord.NO_ANSWER.text(a=_LIMIT))]

    def request(now: float, steady: float) -> None:
        if late.is_set():
            return
        try:
            refused = ask(now, steady)
            reply[0] = Reply(not refused, refused or controller.answer)
        except Exception as error:
            reply[0] = Reply(False, repr(error))
            raise
        finally:
            done.set()
    controller.post(request)
    if not done.wait(_LIMIT):
        late.set()  # what was said to fail must not happen later
    return reply[0]
