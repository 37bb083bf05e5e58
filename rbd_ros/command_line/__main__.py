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

"""``rbd``, and ``python -m rbd_ros.command_line``, which is the same."""

import signal
import sys

from rbd_ros.interrupt import end_when_interrupted, INTERRUPTED

__all__ = ['main']


def main() -> None:
    """Run the command line; ends the process."""
    former = end_when_interrupted(INTERRUPTED)
    from rbd_ros.command_line.app import app
    try:
        signal.signal(signal.SIGINT, former)  # commands end by themselves what they have begun
        app(prog_name='rbd')
    except KeyboardInterrupt:  # before a command runs
        sys.exit(INTERRUPTED)


if __name__ == '__main__':
    main()
