# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The records of the loop: copies of those of a controller, which sees copies of these from then on.

Python and the loop never work on the same record. What one has for the other lies between them,
see :class:`~rbd_ros.loop.records.Box`.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from rbd_ros.compiler import procedure
from rbd_ros.compiler.procedure import Matrix
from rbd_ros.compiler.records import Record
from rbd_ros.compiler.shared_words import Words
from rbd_ros.control.controller import Controller
from rbd_ros.control.step.exchange import exchange, Mail
from rbd_ros.loop.handover import WORDS
from rbd_ros.loop.records import Ask, Box

__all__ = ['Engine']

_Record = TypeVar('_Record', bound=Record)

#: entries along one axis from which on a field is a history that only the step reads
_HISTORY = 256


class Engine:
    """
    A step of its own, on records of its own.

    :param controller: whose numbers they begin with.
    """

    def __init__(self, controller: Controller) -> None:
        x, u, p, ring, kernels, work, y = controller.given
        self.x, self.u, self.p, self.y = _clone(x), _clone(u), _clone(p), _clone(y)
        self.noted, self.mail = _clone(controller.snapshots.noted), _clone_mail(controller.mail)
        own_ring = _clone(ring)
        #: the call of the step
        self.run = procedure.bind(exchange, self.mail, self.x, self.u, self.p, own_ring, kernels,
                                  _clone(work), self.y, backend='llvm')
        #: what lies between the loop and Python
        self.box = Box(
            Words(WORDS).memory, np.zeros(len(Ask)), self.u.memory, self.p.memory,
            own_ring.memory, self.x.memory, self.y.memory, np.zeros_like(u.memory),
            np.zeros_like(p.memory), np.zeros_like(ring.memory), np.zeros_like(x.memory),
            np.zeros_like(y.memory), _parts_of(x))


def _clone(record: _Record) -> _Record:
    """Return another record with the same numbers."""
    return type(record)(record.sizes, record.memory.copy())


def _clone_mail(mail: Mail) -> Mail:
    """Return another place for messages that knows the same joints."""
    letters = mail.letters._replace(forms=_clone(mail.letters.forms),
                                    kept=mail.letters.kept.copy(),
                                    table=mail.letters.table.copy())
    return Mail(np.zeros_like(mail.message), _clone(mail.parts), letters, mail.command.copy(),
                _clone(mail.slots), _clone(mail.notes))


def _parts_of(x: Record) -> Matrix:
    """Return the parts of a record between its histories: begin and end of each."""
    first, parts, begin = x.memory.ctypes.data, [], 0
    for _, each, view in x.walk():
        at = (view.ctypes.data - first) // 8
        if any(dim.isdecimal() and int(dim) >= _HISTORY for dim in each.dims):
            parts.append((begin, at))
            begin = at + view.size
    parts.append((begin, x.memory.size))
    return np.array([part for part in parts if part[0] < part[1]], float)
