# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

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
