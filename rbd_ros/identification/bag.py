# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Reads messages from a rosbag, or from a file of ``rbd record``.

This uses the package ``rosbags``, which needs no ROS and is imported on first use.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
import struct
import tempfile
from typing import Any
import warnings
import zlib

from rbd_ros.errors import nearest, RbdError
from rbd_ros.quoting import one_line
from rbd_ros.recording.bounds import bounded, Budget, records
from rbd_ros.recording.mcap_file import is_whole, MAGIC, mend
from rbd_ros.recording.namespaces import choose_robot, RecordedRobot
from rbd_ros.recording.topics import CONTROLLER_STATE, JOINT_STATE

__all__ = ['BagError', 'CONTROLLER_STATE', 'JOINT_STATE', 'read_in_order', 'read_messages',
           'read_sent', 'recorded_robot', 'refuse_robot', 'topics', 'typestore', 'WRENCH']

WRENCH = 'geometry_msgs/msg/WrenchStamped'
#: Definitions of message types that rosbags does not know and a bag may not contain.
_FIELDS = {CONTROLLER_STATE: """
std_msgs/Header header
string[] joint_names
trajectory_msgs/JointTrajectoryPoint reference
trajectory_msgs/JointTrajectoryPoint feedback
trajectory_msgs/JointTrajectoryPoint error
trajectory_msgs/JointTrajectoryPoint output
string[] multi_dof_joint_names
trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_reference
trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_feedback
trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_error
trajectory_msgs/MultiDOFJointTrajectoryPoint multi_dof_output
float64 speed_scaling_factor
"""}
#: What rosbags raises, besides its own errors, for a truncated or overwritten file.
_DAMAGED: tuple[type[Exception], ...] = (
    TypeError, ValueError, KeyError, IndexError, AttributeError, AssertionError, EOFError,
    MemoryError, OverflowError, RuntimeError, OSError, struct.error, zlib.error)
#: Characters of a reason that are told, and parts that a message may have besides its arrays.
_LONGEST, _MOST_PARTS = 300, 10_000


class BagError(RbdError):
    """A bag without usable motion of the robot; the message says what is wrong."""


def typestore() -> Any:
    """Return the message types of ROS 2 Jazzy, with those of the controller."""
    try:
        from rosbags.typesys import get_types_from_msg, get_typestore, Stores
    except ImportError as error:
        raise RbdError('reading a bag needs the package rosbags: pip install rosbags') from error
    store = get_typestore(Stores.ROS2_JAZZY)
    for name, text in _FIELDS.items():
        store.register(get_types_from_msg(text, name))
    return store


def refuse_robot(path: Path) -> None:
    """
    Refuse a robot description in the place of a recording.

    :param path: of a bag, or of anything else.
    :raises BagError: saying what to do.
    """
    if not path.is_file():
        return
    with path.open('rb') as stream:
        begins = stream.read(100).lstrip(b'\xef\xbb\xbf \t\r\n')
    if begins.startswith(b'<') or path.suffix in ('.urdf', '.xacro'):
        raise BagError(f'{path} is a robot description, not a recording: give the file that rbd '
                       'record wrote, or a rosbag')


@contextmanager
def _opened(path: Path, what: str) -> Iterator[Any]:
    """
    Open a bag.

    :param what: what is read, for the error message if the bag is damaged.
    """
    store = typestore()
    try:
        from rosbags.highlevel import AnyReader, AnyReaderError
    except ImportError as error:
        raise RbdError('reading a bag needs the package rosbags: pip install rosbags') from error
    damaged = (AnyReaderError, *_errors(), *_DAMAGED)
    if not path.exists():
        raise BagError(f'{path} does not exist; give the folder that ros2 bag record made, or '
                       'the file that rbd record wrote')
    refuse_robot(path)
    if path.is_dir() and not (path / 'metadata.yaml').exists():
        raise BagError(f'{path} has no metadata.yaml: ros2 bag record has not made this folder, '
                       'or was killed; then ros2 bag reindex writes one')
    with _whole(path) as whole, bounded(path) as budget:
        try:
            reader = AnyReader([whole], default_typestore=store)
            reader.open()
        except damaged as error:
            raise BagError(f'{path} cannot be read as a rosbag: {_reason(error)}') from error
        try:
            _refuse_endless(reader.typestore.fielddefs)  # before anything is made of them
            yield _Reading(reader, budget)
        except damaged as error:
            raise BagError(f'{path}: {what} cannot be read: {_reason(error)}') from error
        finally:
            reader.close()


class _Reading:
    """
    A bag that is read, within what its size allows.

    :param reader: of rosbags.
    :param budget: what is left of that.
    """

    def __init__(self, reader: Any, budget: Budget) -> None:
        self.connections, self.topics = reader.connections, reader.topics
        self._reader, self._budget = reader, budget

    def messages(self, wanted: Container[str]) -> Iterator[tuple[Any, int, Any, bytes]]:
        """Yield connection, time, contents and bytes of the messages on topics."""
        found = [each for each in self.connections if each.topic in wanted]
        given = self._reader.messages(connections=found) if found else iter(())
        for each, when, raw in self._budget.counted(given):
            yield each, when, self._reader.deserialize(raw, each.msgtype), bytes(raw)


def _errors() -> tuple[type[Exception], ...]:
    """Return what rosbags and what it stands on raise for files that are none."""
    from rosbags.rosbag1 import ReaderError as OldError
    from rosbags.rosbag2 import ReaderError
    from rosbags.serde import SerdeError
    from rosbags.typesys import TypesysError
    found: list[type[Exception]] = [OldError, ReaderError, SerdeError, TypesysError]
    for module, name in (('backports.zstd', 'ZstdError'), ('zstandard', 'ZstdError'),
                         ('compression.zstd', 'ZstdError'), ('apsw', 'Error'),
                         ('ruamel.yaml', 'YAMLError'), ('mcap.exceptions', 'McapError')):
        with suppress(ImportError):
            found.append(getattr(import_module(module), name))
    return tuple(found)


def _reason(error: BaseException) -> str:
    """Return in one line what is wrong with a file; some errors have no words."""
    return one_line(' '.join(str(error).split())[:_LONGEST]) or type(error).__name__


def _refuse_endless(types: Mapping[str, Any]) -> None:
    """
    Refuse definitions by which a message of few bytes has any number of parts.

    :raises ValueError: names the type.
    """
    from rosbags.interfaces import Nodetype
    sizes: dict[str, int] = {}

    def parts(name: str, above: tuple[str, ...] = ()) -> int:
        """Return how many parts a message of a type has at least."""
        if name in above:
            raise ValueError(f'type {name} holds itself')
        if name not in sizes:
            sizes[name] = sum(of_field(kind, (*above, name)) for _, kind in types[name][1])
        if sizes[name] > _MOST_PARTS:
            raise ValueError(f'type {name} has more than {_MOST_PARTS} parts')
        return sizes[name]

    def of_field(kind: Any, above: tuple[str, ...]) -> int:
        sort, inner = kind
        if sort == Nodetype.NAME and not parts(inner, above):
            raise ValueError(f'type {above[-1]} has a part without contents')
        if sort == Nodetype.NAME:
            return parts(inner, above)
        if sort == Nodetype.ARRAY and inner[0][0] == Nodetype.NAME:
            return of_field(inner[0], above) * int(inner[1])
        if sort in (Nodetype.ARRAY, Nodetype.SEQUENCE):
            of_field(inner[0], above)
        return 1
    for name in types:
        parts(name)


@contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """Yield the bag itself, or of one that was cut off by a crash what can be read of it."""
    # a folder of ros2 bag record may have any name
    if path.suffix != '.mcap' or path.is_dir() or is_whole(path):
        yield path
        return
    with path.open('rb') as stream:
        if not MAGIC.startswith(stream.read(len(MAGIC))):
            raise BagError(f'{path} is no MCAP file, although its name says so; rbd record writes '
                           'one')
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / path.name
        count = mend(path, whole)
        if not count:
            raise BagError(f'{path} was cut off before its first chunk; it holds no messages')
        warnings.warn(f'{path} was cut off, as by a crash: the {count} messages before are read',
                      stacklevel=2)
        yield whole


def topics(path: str | Path) -> dict[str, str]:
    """Return the type of each topic in a bag, sorted by name."""
    with _opened(Path(path), 'its topics') as reader:
        return dict(sorted((each.topic, each.msgtype) for each in reader.connections))


def recorded_robot(path: str | Path, namespace: str | None = None) -> RecordedRobot:
    """
    Return where the topics of a robot in a bag are.

    :param namespace: of the robot, if there are several.
    :raises RbdError: if there are several and none is named, or none has this name.
    """
    return choose_robot(path, topics(path), namespace)


def read_messages(path: str | Path, topic: str, kind: str) -> list[Any]:
    """
    Return the messages of a topic; their contents are not checked.

    :param path: folder of a ROS 2 bag, or file of ``rbd record`` or of ROS 1.
    :param topic: its name.
    :param kind: the type that it must have.
    :raises BagError: if this is not a bag, or it has no such topic of this type.
    """
    with _opened(Path(path), f'the messages on "{topic}"') as reader:
        found = [each for each in reader.connections if each.topic == topic]
        if not found:
            known = ', '.join(sorted(reader.topics)) or 'none'
            raise BagError(f'{path}: no topic "{topic}"{nearest(topic, reader.topics)} (topics: '
                           f'{known})')
        if found[0].msgtype != kind:
            raise BagError(f'{path}: topic "{topic}" has type {found[0].msgtype}, not {kind}')
        return [message for _, _, message, _ in reader.messages({topic})]


def read_in_order(path: str | Path, wanted: Container[str]) -> list[tuple[str, int, Any, bytes]]:
    """
    Return topic, time of arrival in ns, contents and bytes of messages, in the order of arrival.

    :param wanted: topics.
    """
    with _opened(Path(path), 'its messages') as reader:
        return [(each.topic, when, message, raw)
                for each, when, message, raw in reader.messages(wanted)]


def read_sent(path: str | Path, topic: str) -> list[tuple[int, Any]]:
    """
    Return time of sending in ns and contents of the messages of a topic, in the order of sending.

    :param path: file of ``rbd record``; of what tells no such times nothing is returned.
    """
    file = Path(path)
    if file.suffix != '.mcap' or file.is_dir():
        return []
    try:
        from mcap.records import Channel, Message, Schema
    except ImportError:
        return []
    store = typestore()
    names: dict[int, str] = {}
    kinds: dict[int, str | None] = {}
    found: list[tuple[int, Any]] = []
    with _whole(file) as whole, whole.open('rb') as stream:
        try:
            for record in records(stream, Budget(file)):
                if isinstance(record, Schema):
                    names[record.id] = record.name
                elif isinstance(record, Channel) and record.topic == topic:
                    kinds[record.id] = names.get(record.schema_id)
                # commands for motors may have a type that is not known here, and tell no torques
                elif isinstance(record, Message) and kinds.get(
                        record.channel_id) in store.fielddefs:
                    found.append((record.publish_time, store.deserialize_cdr(
                        record.data, kinds[record.channel_id])))
        except _errors() + _DAMAGED as error:
            raise BagError(f'{path}: {topic} cannot be read: {_reason(error)}') from error
    return sorted(found, key=lambda each: each[0])
