# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Entry of ``python -m mutants``: what ``./run mutants`` starts."""

import os
from pathlib import Path
import sys

from mutants.command import main

sys.exit(main(sys.argv[1:], Path(os.environ['RBD_ROS_ROOT'])))
