# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""``./run seeds``: all tests that check an item of the source documents, none left out."""

from __future__ import annotations

import os
from pathlib import Path
import sys

from rbd_env import testing

if __name__ == '__main__':
    sys.exit(testing.run(['--all', '-m', 'seed', *sys.argv[1:]], Path(os.environ['RBD_ROS_ROOT'])))
