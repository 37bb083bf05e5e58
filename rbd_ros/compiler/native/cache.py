# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Object code kept on disk, so that a robot is compiled once and not once per process.

Machine code from a file is run with the user's rights. The folder and its files are therefore the
user's own and writable by nobody else, or they are not used; a file that is damaged, cut short or
renamed is ignored and written anew. ``RBD_ROS_CACHE`` names the folder in which ours is made, or
``off``. Nothing but files of our own names in that folder of ours is ever changed or deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
import hashlib
import json
import logging
import os
from pathlib import Path
import re
import stat
import tempfile
import time
from typing import Any, NamedTuple

from rbd_ros.compiler.source_digest import other_sources

VARIABLE = 'RBD_ROS_CACHE'
#: Bytes that the folder may hold; the entries longest unused go first.
LIMIT = 256 * 2**20
_LARGEST = 64 * 2**20
_MAGIC = b'rbd_ros object code 1\n'
_SUFFIX = '.rbd'
_FOLDER = 'rbd_ros'
#: names of entries, and of files that are being written
_ENTRY = re.compile(r'[0-9a-f]{64}\.rbd')
_UNFINISHED = re.compile(r'rbd_[0-9a-f]{8}_\w+\.tmp')
_DAY = 86400.0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
#: Bytes that this process may write into a folder before it looks again how full it is: with
#: thousands of entries a look takes as long as a small kernel.
_room: dict[Path, int] = {}
_log = logging.getLogger('rbd_ros')
#: What is called before something is made, see :func:`announced`.
_tell: ContextVar[Callable[[], None] | None] = ContextVar('tell', default=None)


class Entry(NamedTuple):
    """
    What is kept of one kernel.

    :param about: plain data that describes it, of JSON's types.
    :param objects: object code, in the order of loading.
    """

    about: dict[str, Any]
    objects: list[bytes]


def digest(parts: Iterable[object]) -> str:
    """Return a key that is the same in every process for the same parts."""
    return hashlib.sha256(repr([str(part) for part in parts]).encode()).hexdigest()


def folder() -> Path | None:
    """Return the folder of the cache, made if need be; None if there is none to be trusted."""
    wish = os.environ.get(VARIABLE)
    if wish is not None and wish.strip().lower() in ('', '0', 'off', 'no', 'false'):
        return None
    try:
        base = wish or os.environ.get('XDG_CACHE_HOME') or '~/.cache'
        path = Path(base).expanduser() / _FOLDER
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = os.stat(path)
        if state.st_uid != os.geteuid():
            explain(path, 'belongs to another user')
            return None
        if state.st_mode & _OTHERS_WRITE:
            explain(path, 'may be written by others (chmod go-w mends that)')
            return None
    except (OSError, RuntimeError) as error:
        explain(wish or '~/.cache', str(error))
        return None
    return path


@cache
def explain(path: object, reason: str) -> None:
    """
    Log once why nothing is kept.

    :param path: where it would have been.
    """
    _log.warning('compiled code is not kept on disk: %s %s; set %s to a folder of your own, or '
                 'to off', path, reason, VARIABLE)


def read(key: str) -> Entry | None:
    """
    Return what was kept under a key; None if nothing was or it cannot be trusted.

    :param key: a digest.
    """
    home = folder()
    if home is None:
        return None
    try:
        # Not blocking: a pipe in place of the file must not hold us up.
        handle = os.open(home / (key + _SUFFIX),
                         os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        state = os.fstat(handle)
        if (not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid()
                or state.st_mode & _OTHERS_WRITE or state.st_size > _LARGEST):
            return None
        with open(handle, 'rb', closefd=False) as file:
            entry = _unpack(key, file.read(_LARGEST + 1))
        if entry is not None and time.time() - state.st_mtime > _DAY:
            os.utime(handle)  # the time of last use decides what is dropped
    except OSError:
        return None
    finally:
        os.close(handle)
    return entry


def write(key: str, entry: Entry) -> None:
    """
    Keep an entry under a key; silent if the disk refuses.

    :param key: a digest.
    :param entry: what to keep.
    """
    home = folder()
    data = _pack(key, entry)
    if home is None or len(data) > _LARGEST:
        return
    if reason := other_sources():      # a module may have been imported after the key was made
        explain(home, f'gets nothing more from this process: {reason}')
        return
    try:
        handle, name = tempfile.mkstemp('.tmp', f'rbd_{key[:8]}_', home)  # for the user alone
        try:
            with open(handle, 'wb') as file:
                file.write(data)
            os.replace(name, home / (key + _SUFFIX))  # whole or not at all, for every reader
        except OSError:
            os.unlink(name)
            raise
        left = _room.get(home, 0) - len(data)
        _room[home] = left if left > 0 else _prune(home)
    except OSError as error:
        explain(home, str(error))


def kept(key: str, make: Callable[[], Entry]) -> Entry:
    """
    Return what was kept under a key, or make and keep it.

    :param key: a digest, '' for what is not kept.
    """
    entry = read(key) if key else None
    if entry is None:
        tell = _tell.get()
        if tell is not None:
            _tell.set(None)
            tell()
        entry = make()
        if key:
            write(key, entry)
    return entry


@contextmanager
def announced(tell: Callable[[], None]) -> Iterator[None]:
    """
    Have somebody told, once, before the first code is made that is not on disk.

    :param tell: is called then, by this thread; not at all if everything is on disk.
    """
    before = _tell.set(tell)
    try:
        yield
    finally:
        _tell.reset(before)


def _checksum(key: str, body: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b'\0' + body).digest()


def _pack(key: str, entry: Entry) -> bytes:
    head = json.dumps([entry.about, [len(data) for data in entry.objects]]).encode()
    body = b''.join([len(head).to_bytes(4, 'little'), head, *entry.objects])
    return _MAGIC + _checksum(key, body) + body


def _unpack(key: str, data: bytes) -> Entry | None:
    start = len(_MAGIC) + 32
    body = data[start:]
    if not data.startswith(_MAGIC) or data[len(_MAGIC):start] != _checksum(key, body):
        return None
    end = 4 + int.from_bytes(body[:4], 'little')
    about, lengths = json.loads(body[4:end])
    return Entry(about, list(_cut(body[end:], lengths)))


def _cut(data: bytes, lengths: Sequence[int]) -> Iterable[bytes]:
    start = 0
    for length in lengths:
        yield data[start:start + length]
        start += length


def _prune(home: Path) -> int:
    """
    Keep the folder below its limit; also drop what an interrupted process left.

    Files of other names are somebody else's.

    :returns: bytes that may be written before the next look; other processes write too.
    """
    now, kept = time.time(), []
    with os.scandir(home) as entries:
        for item in entries:
            try:
                state = item.stat(follow_symlinks=False)
                if not stat.S_ISREG(state.st_mode):
                    continue
                if _UNFINISHED.fullmatch(item.name) and now - state.st_mtime > 3600.0:
                    os.unlink(item.path)
                elif _ENTRY.fullmatch(item.name):
                    kept.append((state.st_mtime, state.st_size, item.path))
            except FileNotFoundError:  # another process was faster
                continue
    total = sum(size for _, size, _ in kept)
    for _, size, path in sorted(kept) if total > LIMIT else ():
        if total <= LIMIT * 3 // 4:
            break
        Path(path).unlink(missing_ok=True)
        total -= size
    return (LIMIT - total) // 4
