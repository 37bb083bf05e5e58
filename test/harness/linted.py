# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the linters look at: every Python file of the repository."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMES = ('rbd_ros', 'launch', 'test', 'tools', 'benchmark', 'examples', 'docs', 'setup.py')
PATHS = [str(ROOT / name) for name in NAMES if (ROOT / name).exists()]
