# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Files of the format MCAP, which Foxglove, rosbag2 and others read.

Messages are written in chunks. A process that is killed leaves a file without an end; all chunks
that were written can be read, and :func:`mend` makes a whole file of them. This uses the package
``mcap``, which needs no ROS and is imported on first use.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
import struct
from types import TracebackType

from rbd_ros.errors import RbdError
from rbd_ros.recording.bounds import Budget, packing_errors, records
from rbd_ros.version import VERSION

__all__ = ['CHUNK', 'is_whole', 'MAGIC', 'McapFile', 'mend']

#: Bytes after which a chunk is written: less than a second of an arm with seven joints at 500 Hz.
CHUNK = 128 * 1024
MAGIC = b'\x89MCAP0\r\n'


class McapFile:
    """
    A file that is written, as a context; it ends as a whole file, unless the disk is full.

    :param path: which does not exist yet.
    """

    def __init__(self, path: Path) -> None:
        try:
            from mcap.writer import Writer
        except ImportError as error:
            raise RbdError('recording needs the package mcap: pip install mcap') from error
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._stream = path.open('xb')
        except FileExistsError:
            raise RbdError(f'{path} exists already; name another file') from None
        self.path, self.messages = path, 0
        self._schemas: dict[str, int] = {}
        self._written = 0
        self._writer = Writer(self._stream, chunk_size=CHUNK)
        try:
            with self._explained():
                self._writer.start(profile='ros2', library=f'rbd_ros {VERSION}')
                self._flush()
        except RbdError:
            path.unlink()  # nothing is in it
            raise

    def __enter__(self) -> McapFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    @property
    def size(self) -> int:
        """Return how many bytes are on the disk."""
        return self._written

    def add_topic(self, topic: str, kind: str, text: str, qos: str = '',
                  language: str = 'ros2msg') -> int:
        """
        Return the number by which messages of a topic are written.

        :param kind: such as ``sensor_msgs/msg/JointState``.
        :param text: its definition.
        :param qos: how it was offered, as rosbag2 writes it.
        :param language: of the definition: ``ros2msg`` or ``ros2idl``.
        """
        if kind not in self._schemas:
            self._schemas[kind] = self._writer.register_schema(kind, language, text.encode())
        return int(self._writer.register_channel(
            topic, 'cdr', self._schemas[kind], {'offered_qos_profiles': qos}))

    def write(self, topic: int, received: int, sent: int, data: bytes) -> None:
        """
        Write a message.

        :param topic: number of its topic.
        :param received: ns since 1970; ``sent`` likewise.
        :param data: the serialized message.
        """
        with self._explained():
            self._writer.add_message(topic, received, data, sent, self.messages)
            self.messages += 1
            if self._stream.tell() != self._written:
                self._flush()

    def _flush(self) -> None:
        self._stream.flush()  # so that a killed process leaves whole chunks
        self._written = self._stream.tell()

    def close(self) -> None:
        """Write what is left, and the index."""
        if not self._stream.closed:
            with self._explained():
                self._writer.finish()
                self._flush()
                self._stream.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say what to do where nothing more can be written, as on a full disk, and end there."""
        try:
            yield
        except OSError as error:
            with suppress(OSError):  # it tries to write what is left
                self._stream.close()
            raise RbdError(
                f'{self.path} cannot be written any further: {error.strerror}. What is in it, '
                f'{self._written / 1e6:.2f} MB, can be read. Free some space, or record to '
                'another disk') from error


def is_whole(path: Path) -> bool:
    """Return whether a file has an end: it was not cut off by a crash."""
    with path.open('rb') as stream:
        size = stream.seek(0, 2)
        stream.seek(max(0, size - len(MAGIC)))
        return size > len(MAGIC) and stream.read() == MAGIC


def mend(path: Path, whole: Path) -> int:
    """
    Write all that can be read of a file which was cut off; return the number of messages.

    Messages of other programs that are none of ROS 2 are left out.

    :param whole: file to write.
    """
    from mcap.exceptions import McapError
    from mcap.records import Channel, Message, Schema
    texts: dict[int, Schema] = {}
    numbers: dict[int, int] = {}
    with path.open('rb') as stream, McapFile(whole) as made:
        try:
            for record in records(stream, Budget(path), checked=True):
                if isinstance(record, Schema):
                    texts[record.id] = record
                elif isinstance(record, Channel):
                    schema = texts.get(record.schema_id)
                    if schema is not None and record.message_encoding == 'cdr':
                        numbers[record.id] = made.add_topic(
                            record.topic, schema.name, schema.data.decode(),
                            record.metadata.get('offered_qos_profiles', ''), schema.encoding)
                elif isinstance(record, Message) and record.channel_id in numbers:
                    made.write(numbers[record.channel_id], record.log_time, record.publish_time,
                               record.data)
        except (McapError, struct.error, ValueError, KeyError,
                *packing_errors()):  # here it was cut off
            pass
        return made.messages
