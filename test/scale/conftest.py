# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A local cluster of Ray for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
import logging
import os
import sys
from typing import Any

import pytest

#: Ray gives its processes 30 s to start, whatever else the machine does.
_ATTEMPTS = 10


@pytest.fixture(scope='session')
def rays() -> Iterator[Any]:
    """Start two processes of Ray, and end them."""
    import ray
    for attempt in range(_ATTEMPTS):
        try:
            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False,
                     runtime_env={'env_vars': {'PYTHONPATH': os.pathsep.join(sys.path)}})
            break
        except Exception as error:
            ray.shutdown()
            if attempt + 1 == _ATTEMPTS or 'timed out' not in str(error).lower():
                raise
            logging.getLogger('rbd_ros').warning('Ray starts again: %s', error)
    yield ray
    ray.shutdown()
