# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The key under which the machine code of a kernel is kept: one function for all kernels.

A key holds all that the graph depends on: the model, what the caller fixes, this package's
version and the code of the modules that trace. Where joints or rules are a user's own code, no
digest of that code can be complete: it may read a file, a clock or a C library. Such a kernel has
no key; it is traced in every process, and found on disk by its graph, which hides nothing.
"""

from __future__ import annotations

from functools import cache
import logging
import platform

import numpy as np

from rbd_ros.compiler.content_digest import look
from rbd_ros.compiler.source_digest import source_digest
from rbd_ros.errors import UnseenError
from rbd_ros.model.model import Model
from rbd_ros.version import VERSION

#: Packages from which every kernel is traced; the compiler adds its own to every key.
_TRACING = ('rbd_ros.spatial', 'rbd_ros.joints', 'rbd_ros.model', 'rbd_ros.algorithms',
            'rbd_ros.dynamics')
_log = logging.getLogger('rbd_ros')


def kernel_key(model: Model, *parts: object, modules: tuple[str, ...] = ()) -> str:
    """
    Return the key of a kernel, '' for one that must be traced to be known.

    :param model: the robot; its gravity is an input of every kernel and does not count.
    :param parts: all else that the graph depends on; functions count with their code.
    :param modules: names of modules that trace, besides those of the algorithms.
    """
    try:
        seen = look(parts)
        if seen.foreign or model.has_user_code:
            raise UnseenError(model.name, 'joints or rules are code of the user')
        return look(model.digest(gravity=False), seen.text, VERSION, platform.python_version(),
                    np.__version__, _sources(modules)).text
    except (UnseenError, ImportError) as error:
        _explain(model.name, str(error))
        return ''


@cache
def _sources(modules: tuple[str, ...]) -> str:
    """Return a digest of the code that traces."""
    return source_digest(*_TRACING, *modules)


@cache
def _explain(name: str, reason: str) -> None:
    """Log once why a robot's kernels take longer to load."""
    _log.info('kernels of "%s" are traced at every start and kept on disk by their graphs: %s',
              name, reason)
