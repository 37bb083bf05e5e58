# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A slow, plain writer of serialized messages: the oracle of the fast ones."""

from functools import cache
import struct


class Cdr:
    """A slow, plain writer of CDR: the oracle."""

    def __init__(self, padding=0):
        self.body, self.padding = b'', padding

    def align(self, size):
        """Pad to a multiple of the size, with whatever is in memory."""
        self.body += bytes([self.padding]) * (-len(self.body) % size)

    def number(self, kind, value):
        """Append one aligned number."""
        self.align(struct.calcsize('<' + kind))
        self.body += struct.pack('<' + kind, value)

    def text(self, value):
        """Append a string."""
        data = value.encode() + b'\x00'
        self.number('I', len(data))
        self.body += data

    def doubles(self, values):
        """Append a sequence of doubles."""
        self.number('I', len(values))
        if len(values):
            self.align(8)
            self.body += struct.pack(f'<{len(values)}d', *values)

    @property
    def message(self):
        """Return the message with its encapsulation."""
        return b'\x00\x01\x00\x00' + self.body


def joint_state(names, position, velocity, effort, frame='', stamp=(12, 500000000), padding=0):
    """Serialise a JointState by the oracle."""
    cdr = Cdr(padding)
    cdr.number('i', stamp[0])
    cdr.number('I', stamp[1])
    cdr.body += _heading(tuple(names), frame, padding)
    for values in (position, velocity, effort):
        cdr.doubles(values)
    return cdr.message


@cache
def _heading(names, frame, padding):
    """Serialise what all messages of a publisher share; it begins at a multiple of eight."""
    cdr = Cdr(padding)
    cdr.text(frame)
    cdr.number('I', len(names))
    for name in names:
        cdr.text(name)
    return cdr.body
