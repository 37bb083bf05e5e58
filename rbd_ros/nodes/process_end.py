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

"""How a process ends: on a signal or an error, and after the controller that depends on it."""

from __future__ import annotations

from collections.abc import Callable
import signal
import threading
import time

__all__ = ['ProcessEnd']

#: s without a command after which no controller drives the robot any more
QUIET_TIME = 0.3
#: s to wait at most for a controller that stops: launch escalates after 5 s
MAX_WAIT = 4.3


class ProcessEnd:
    """Why and when the process ends; the main thread waits for it."""

    def __init__(self) -> None:
        self.started = False
        self.failure = ''
        self._closing = False
        self._event = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def _on_signal(self, *_: object) -> None:
        """End the wait; during the start raise, once: launch repeats the signal of Ctrl-C."""
        first = not self._event.is_set()
        self._event.set()
        if first and not self.started:
            raise KeyboardInterrupt

    def fail(self, text: str) -> None:
        """End because of an error in the loop."""
        if not self._closing:
            self.failure = text
            self._event.set()

    def close(self) -> None:
        """
        Take no more failures: the loop is about to be shut down from outside.

        An executor of rclpy that is shut down while its thread waits may raise there, because
        handles have just been destroyed. Ctrl-C arrives twice, from the terminal and from launch:
        once Python has removed our handlers, the second signal would kill the process.
        """
        self._closing = True
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def wait(self, seconds: float | None = None) -> bool:
        """
        Wait for a signal or an error.

        :param seconds: at most; None: for ever.
        :returns: whether the process is to end.
        """
        self.started = True
        return self._event.wait(seconds)

    def wait_for_controller(self, last_command: Callable[[], float],
                            log: Callable[[str], None]) -> None:
        """
        Wait until commands cease: one Ctrl-C reaches controller and driver alike.

        :param last_command: gives the steady time of the last command, s.
        :param log: takes a text for the log.
        """
        end = time.monotonic() + MAX_WAIT
        if not self.failure and time.monotonic() - last_command() < QUIET_TIME:
            log(f'waiting up to {MAX_WAIT:g} s for commands to cease, so that the controller '
                'can stop the robot first')
        while not self.failure and time.monotonic() < min(last_command() + QUIET_TIME, end):
            time.sleep(0.02)
