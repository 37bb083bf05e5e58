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

"""The end of a process: by a signal, by an error, and after those who still depend on it."""

from __future__ import annotations

from collections.abc import Callable
import signal
import threading
import time

__all__ = ['Ending']

#: s without a command after which nobody is left who drives the robot
QUIET = 0.3
#: s for which the end may wait for a controller that stops: launch loses its patience after 5 s
OUTLIVE = 4.3


class Ending:
    """Why and when the process ends; the main thread waits for it."""

    def __init__(self) -> None:
        self.started = False
        self.failure = ''
        self._closing = False
        self._event = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def _on_signal(self, *_: object) -> None:
        """End the wait; before it began, end the start, once: launch repeats what Ctrl-C sent."""
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

        An executor of rclpy that is shut down while its thread waits may raise there: it finds
        handles that have just been destroyed. Ctrl-C reaches us twice, from the terminal and from
        launch; where Python has given up our handlers already, the second one would kill.
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

    def outlive(self, commanded: Callable[[], float], log: Callable[[str], None]) -> None:
        """
        Stay while somebody still drives the robot: one Ctrl-C reaches controller and driver alike.

        :param commanded: gives the steady time of the last command, s.
        :param log: takes a text for the log.
        """
        end = time.monotonic() + OUTLIVE
        if not self.failure and time.monotonic() - commanded() < QUIET:
            log(f'waiting up to {OUTLIVE:g} s for commands to cease, so that the controller '
                'can stop the robot first')
        while not self.failure and time.monotonic() < min(commanded() + QUIET, end):
            time.sleep(0.02)
