# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Entry of ``python tools/rbd_env``: what the shell script ``run`` hands over to."""

import os
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from rbd_env.cli import main  # noqa: E402, I100

sys.exit(main(sys.argv[1:]))
