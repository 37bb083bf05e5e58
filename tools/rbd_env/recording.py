# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""``./run record``: what the controller does, recorded; the recorder is in test/recording."""

from __future__ import annotations

import os
from pathlib import Path
import sys

PARTS = ('recording', 'oracles', 'rigs', 'harness')


def main(arguments: list[str]) -> int:
    """Run the recorder of the checkout."""
    tests = Path(os.environ['RBD_ROS_ROOT']) / 'test'
    sys.path[:0] = [str(tests / part) for part in PARTS]
    import record_command
    return int(record_command.main(arguments))


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
