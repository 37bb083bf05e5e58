# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What reading a recording may take, by its size: files of strangers may unpack to anything.

The package ``rosbags`` unpacks whole chunks and has no place for a bound, so that what it unpacks
and parses with is exchanged while it reads. What a file may unpack to is far more than recordings
of robots do, and is said where it is exceeded.
"""

from __future__ import annotations

import bz2
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib import import_module
import io
from pathlib import Path
import sqlite3
from types import SimpleNamespace
from typing import Any, BinaryIO, TYPE_CHECKING

from rbd_ros.errors import RbdError

if TYPE_CHECKING:
    from mcap.records import McapRecord

__all__ = ['bounded', 'Budget', 'packing_errors', 'records', 'TooLarge']

#: Bytes that a file may unpack to, at least and for each of its own; messages likewise.
LEAST_BYTES, BYTES_PER_BYTE = 2**24, 100
LEAST_MESSAGES, BYTES_PER_MESSAGE = 50_000, 8
#: Characters in the definitions of messages: more take seconds to parse.
DEFINITIONS = 500_000
#: Bytes that are unpacked at once.
PIECE = 2**20


class TooLarge(RbdError):
    """A file that would take more time or memory than its size allows; says which bound."""


class Budget:
    """
    What is left of that which a recording may take.

    :param path: file or folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        files = path.rglob('*') if path.is_dir() else [path]
        self.size = sum(each.stat().st_size for each in files if each.is_file())
        self.bytes = LEAST_BYTES + BYTES_PER_BYTE * self.size
        self.messages = LEAST_MESSAGES + self.size // BYTES_PER_MESSAGE
        self.definitions = DEFINITIONS

    def take(self, what: str, count: int) -> None:
        """
        Take from what is left.

        :param what: ``bytes``, ``messages`` or ``definitions``.
        :raises TooLarge: if there is not so much.
        """
        left = getattr(self, what) - count
        setattr(self, what, left)
        if left < 0:
            whole = Budget(self.path)
            words = {'bytes': f'unpacks to more than {whole.bytes / 1e6:.0f} MB',
                     'messages': f'has more than {whole.messages} messages',
                     'definitions': f'has more than {DEFINITIONS} characters of definitions'}
            raise TooLarge(f'{self.path} {words[what]}, which is all that is read of a recording '
                           f'of {self.size / 1e6:.3g} MB')

    def unpacked(self, opened: Any) -> bytes:
        """Return all that a compressed stream holds."""
        pieces = []
        with opened as stream:
            while piece := stream.read(PIECE):
                self.take('bytes', len(piece))
                pieces.append(piece)
        return b''.join(pieces)

    def counted(self, messages: Iterator[Any]) -> Iterator[Any]:
        """Yield messages, the last part of each its bytes, as long as there is something left."""
        for each in messages:
            self.take('messages', 1)
            self.take('bytes', len(each[-1]))
            yield each


def _unpackers(budget: Budget) -> Mapping[str, Callable[..., bytes]]:
    """Return what unpacks, by the names that formats have for it."""
    lz4 = import_module('lz4.frame')

    def plain(data: bytes, *_: object) -> bytes:
        budget.take('bytes', len(data))  # an index may name a chunk many times
        return data
    return {'': plain, 'none': plain,
            'bz2': lambda data, *_: budget.unpacked(bz2.open(io.BytesIO(data))),
            'lz4': lambda data, *_: budget.unpacked(lz4.open(io.BytesIO(data))),
            'zstd': lambda data, *_: budget.unpacked(_zstd().open(io.BytesIO(data)))}


def _zstd() -> Any:
    try:
        return import_module('compression.zstd')
    except ImportError:
        return import_module('backports.zstd')


@contextmanager
def bounded(path: Path) -> Iterator[Budget]:
    """
    Bound what rosbags takes for a recording within the block.

    :param path: of the recording.
    :raises TooLarge: where it takes more.
    """
    from rosbags.highlevel import anyreader
    from rosbags.rosbag1 import reader as ros1
    from rosbags.rosbag2 import reader as ros2, storage_mcap
    for file in [path, *path.glob('*.db3')] if path.is_dir() else [path]:
        if file.suffix == '.db3':
            _refuse_programs(file)
    budget = Budget(path)
    unpack, parse = _unpackers(budget), anyreader.get_types_from_msg

    @cache  # each channel brings its definition anew
    def types(text: str, name: str) -> Any:
        budget.take('definitions', len(text))
        return parse(text, name)

    def opened(stream: BinaryIO, _: str) -> Any:
        # a copy in a temporary file: nothing of it need be in memory
        return _Counted(_zstd().open(stream), budget)
    exchanged: list[tuple[Any, str, Any]] = [
        (anyreader, 'get_types_from_msg', types),
        (ros1, 'decompressors', {name: unpack[name] for name in ros1.decompressors}),
        (ros2, 'zstd', SimpleNamespace(open=opened, decompress=unpack['zstd'])),
        (storage_mcap, 'DECOMPRESSORS', {
            name: unpack[name] for name in storage_mcap.DECOMPRESSORS})]
    before = [(module, name, getattr(module, name)) for module, name, _ in exchanged]
    try:
        for module, name, value in exchanged:
            setattr(module, name, value)
        yield budget
    finally:
        for module, name, value in before:
            setattr(module, name, value)


class _Counted(io.RawIOBase):
    """A compressed stream that says how much it gives."""

    def __init__(self, stream: Any, budget: Budget) -> None:
        self._stream, self._budget = stream, budget

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        found: bytes = self._stream.read(PIECE if size < 0 else min(size, PIECE))
        self._budget.take('bytes', len(found))
        return found


def _refuse_programs(file: Path) -> None:
    """Refuse a database in which a table is a program, as a view that never ends."""
    try:
        with sqlite3.connect(f'{file.absolute().as_uri()}?mode=ro', uri=True) as base:
            found = base.execute(
                "SELECT 1 FROM sqlite_master WHERE type NOT IN ('table', 'index') "
                "OR sql LIKE '%VIRTUAL%' OR sql LIKE '%GENERATED%' LIMIT 1").fetchone()
        base.close()
    except sqlite3.Error as error:
        raise TooLarge(f'{file} is no database of a recording: {error}') from error
    if found:
        raise TooLarge(f'{file} has views or triggers, which no recording has')


def records(stream: BinaryIO, budget: Budget, *, checked: bool = False) -> Iterator[McapRecord]:
    """
    Yield what an MCAP file holds from its begin, chunks unpacked.

    :param stream: of the file.
    :param budget: what it may take.
    :param checked: whether sums are compared.
    """
    from mcap.records import Chunk, Message
    from mcap.stream_reader import breakup_chunk, StreamReader
    unpack = _unpackers(budget)
    for record in StreamReader(stream, emit_chunks=True, validate_crcs=checked,
                               record_size_limit=budget.size).records:
        if isinstance(record, Chunk):
            if record.compression not in unpack:
                raise ValueError(f'a chunk is compressed by "{record.compression}"')
            data = unpack[record.compression](record.data)
            inner = breakup_chunk(replace(record, data=data, compression=''), checked)
        else:
            inner = [record]
        for each in inner:
            if isinstance(each, Message):
                budget.take('messages', 1)
            yield each


def packing_errors() -> tuple[type[Exception], ...]:
    """Return what unpacking raises for bytes that are not packed so."""
    return _zstd().ZstdError, OSError, EOFError, RuntimeError
