# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""``./run lint``: the linters alone."""

from __future__ import annotations

import os
from pathlib import Path
import sys

from rbd_env import testing

if __name__ == '__main__':
    sys.exit(testing.run(sys.argv[1:], Path(os.environ['RBD_ROS_ROOT']), only=('linters',)))
