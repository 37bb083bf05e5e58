# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Recordings that were damaged or made to do harm: one line each, and a bound on what is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import sqlite3
from typing import Any

from benchmark.bags import write
from command_rig import ARM, rbd
from controlled_arm import header, STORE, Written
from mcap.reader import make_reader
from mcap.writer import CompressionType, IndexType, Writer
import numpy as np
import pytest
from rbd_ros.command_line.recorded_run import MOST_JOINTS, read_run
from rbd_ros.errors import RbdError
from rbd_ros.identification.bag import JOINT_STATE, read_in_order, read_sent, topics
from rbd_ros.model.urdf.loader import load_urdf
from rbd_ros.recording.bounds import LEAST_BYTES, LEAST_MESSAGES

STATES = '/joint_states'
STATE_TEXT = STORE.generate_msgdef(JOINT_STATE, ros_version=2)[0]


def state(t: float, joints: int = 3) -> bytes:
    """Return a joint state as bytes."""
    message = STORE.types[JOINT_STATE](
        header(t), [f'joint_{k}' for k in range(joints)], np.full(joints, t), np.zeros(joints),
        np.ones(joints))
    return bytes(STORE.serialize_cdr(message, JOINT_STATE))


@pytest.fixture(scope='module')
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recording of a few states and a description."""
    out = Written(tmp_path_factory.mktemp('runs') / 'run.mcap')
    out.text('/robot_description', 1.0, ARM.read_text())
    for k in range(200):
        out.write(STATES, JOINT_STATE, 1.0 + 0.01 * k, state(1.0 + 0.01 * k))
    out.file.close()
    return out.file.path


def read(path: Path) -> str:
    """Read all that commands read; return what was wrong, in one line, or nothing."""
    try:
        read_run(path)
        read_in_order(path, topics(path))
        read_sent(path, STATES)
    except RbdError as error:
        return str(error)
    return ''


def spoiled(data: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes of which some were changed, cut out or put in, or the end cut off."""
    found, kind = bytearray(data), rng.integers(0, 4)
    begin = int(rng.integers(0, len(data)))
    if kind == 0:
        del found[begin:]
    elif kind == 1:
        del found[begin:begin + int(rng.integers(1, 100))]
    elif kind == 2:
        found[begin:begin] = rng.bytes(int(rng.integers(1, 30)))
    for place in rng.integers(0, max(len(found), 1), int(rng.integers(1, 8))) if found else ():
        found[place] = rng.choice([0, 1, 0x7f, 0xff, int(rng.integers(0, 256))])
    return bytes(found)


@pytest.mark.filterwarnings('ignore:.*was cut off')
def test_any_damage_is_one_line(sound: Path, tmp_path: Path) -> None:
    """Whatever bytes are wrong, the answer is a reading or an error of this package."""
    rng, data, wrong = np.random.default_rng(1), sound.read_bytes(), 0
    head = len(data) - 2000  # index and statistics are behind
    for k in range(80):
        part = data if k % 2 else data[head:]
        file = tmp_path / 'a.mcap'
        file.write_bytes((b'' if k % 2 else data[:head]) + spoiled(part, rng))
        said = read(file)
        wrong += bool(said)
        assert '\n' not in said and said.isprintable(), (k, said)
    assert wrong > 25


@pytest.mark.parametrize('name', ['metadata.yaml', '.db3'])
def test_any_damage_of_a_bag_is_one_line(tmp_path: Path, name: str) -> None:
    """Of a folder of ros2 bag record, too: its description and its database."""
    t, qd = 100.0 + 0.01 * np.arange(50), np.zeros((50, 7))
    bag = write(tmp_path / 'still', load_urdf(ARM), zip(t, qd, qd, qd))
    file = next(each for each in bag.iterdir() if each.name.endswith(name))
    data, rng, wrong = file.read_bytes(), np.random.default_rng(2), 0
    for k in range(30):
        file.write_bytes(spoiled(data, rng))
        said = read(bag)
        wrong += bool(said)
        assert '\n' not in said, (k, said)
    assert wrong > 8


def packed(path: Path, fill: Callable[[Writer, int], None], text: str = STATE_TEXT,
           kind: str = JOINT_STATE, compression: CompressionType = CompressionType.ZSTD,
           indexed: bool = True) -> Path:
    """Write a file of one chunk."""
    with path.open('wb') as stream:
        writer = Writer(stream, chunk_size=2**30, compression=compression,
                        index_types=IndexType.ALL if indexed else IndexType.NONE)
        writer.start('ros2')
        schema = writer.register_schema(kind, 'ros2msg', text.encode())
        fill(writer, writer.register_channel(STATES, 'cdr', schema))
        writer.finish()
    return path


def add(writer: Writer, channel: int, count: int, data: bytes) -> None:
    """Write the same message many times."""
    for k in range(count):
        writer.add_message(channel, k, data, k)


@pytest.mark.parametrize('compression', [CompressionType.ZSTD, CompressionType.LZ4])
def test_a_file_that_unpacks_to_anything(tmp_path: Path, compression: CompressionType) -> None:
    """It is refused with the bound; so is its begin, where the end was cut off."""
    file = packed(tmp_path / 'a.mcap', lambda writer, channel: add(
        writer, channel, 12, bytes(2**24)), compression=compression)
    whole = file.read_bytes()
    most = 1e-6 * LEAST_BYTES + 1e-4 * len(whole)
    assert len(whole) < 2**20
    assert f'unpacks to more than {most:.0f} MB' in read(file)
    file.write_bytes(whole[:-9])
    assert f'unpacks to more than {most:.0f} MB' in read(file)


def test_more_messages_than_a_file_can_hold(tmp_path: Path) -> None:
    """A packed file has few bytes for each: they are counted."""
    file = packed(tmp_path / 'a.mcap', lambda writer, channel: add(
        writer, channel, LEAST_MESSAGES + 20_000, state(1.0, 0)), indexed=False)
    size = file.stat().st_size
    assert size < 8 * 20_000
    assert f'has more than {LEAST_MESSAGES + size // 8} messages, which is all that' in read(file)


def test_a_chunk_that_is_named_again_and_again(tmp_path: Path) -> None:
    """An index may point a thousand times to one chunk."""
    file = packed(tmp_path / 'a.mcap', lambda writer, channel: add(
        writer, channel, 3, bytes(2**22)))
    with file.open('rb') as stream:
        summary = make_reader(stream).get_summary()
        assert summary is not None
    data = file.read_bytes()
    place = next(k for k in range(len(data) // 2, len(data)) if data[k] == 8 and int.from_bytes(
        data[k + 1:k + 9], 'little') < 200 and data[k + 9 + 16:k + 9 + 24] == (
            summary.chunk_indexes[0].chunk_start_offset).to_bytes(8, 'little'))
    size = 9 + int.from_bytes(data[place + 1:place + 9], 'little')
    file.write_bytes(data[:place] + 60 * data[place:place + size] + data[place + size:])
    assert read(file)


@pytest.mark.parametrize('text', [
    'x/msg/E[] many\n' + '=' * 80 + '\nMSG: x/E\n',
    'x/msg/E[1000000000] many\n' + '=' * 80 + '\nMSG: x/E\n',
    'x/msg/F[1000000000] many\n' + '=' * 80 + '\nMSG: x/F\nuint8 a\n',
    ''.join([f'x/msg/T{k + 1} a\nx/msg/T{k + 1} b\n{"=" * 80}\nMSG: x/T{k + 1}\n'
             for k in range(40)]) + 'uint8 a\n',
    'sensor_msgs/msg/JointState me\n'], ids=['empty', 'empty array', 'array', 'doubled', 'own'])
def test_definitions_without_an_end(tmp_path: Path, text: str) -> None:
    """A file brings its definitions: a message of few bytes has not any number of parts."""
    file = packed(tmp_path / 'a.mcap', lambda writer, channel: add(
        writer, channel, 1, b'\0\1\0\0' + b'\xff' * 100), text)
    said = read(file)  # an array of a billion takes all memory before its first byte is missing
    assert 'parts' in said or 'holds itself' in said or 'sequence length' in said, said


def test_a_definition_for_each_of_many_channels(tmp_path: Path) -> None:
    """One that thousands of channels name is read once; of many long ones the sum is bounded."""
    long = '\n'.join(f'float64 a_{k}' for k in range(2000))

    def fill(writer: Writer, channel: int) -> None:
        for k in range(1000):
            writer.register_channel(f'/t_{k}', 'cdr', 1)
        writer.add_message(channel, 1, state(1.0), 1)
    assert len(topics(packed(tmp_path / 'a.mcap', fill, long, 'x/msg/Long'))) == 1001

    def many(writer: Writer, channel: int) -> None:
        for k in range(20):
            writer.register_channel(f'/t_{k}', 'cdr', writer.register_schema(
                f'x/msg/L{k}', 'ros2msg', long.encode()))
        writer.add_message(channel, 1, state(1.0), 1)
    assert 'characters of definitions' in read(packed(tmp_path / 'b.mcap', many))


def test_a_database_that_is_a_program(tmp_path: Path) -> None:
    """A view in the place of a table may never end."""
    t, qd = 100.0 + 0.01 * np.arange(50), np.zeros((50, 7))
    bag = write(tmp_path / 'still', load_urdf(ARM), zip(t, qd, qd, qd))
    file, = bag.glob('*.db3')
    with sqlite3.connect(file) as base:
        base.execute('ALTER TABLE messages RENAME TO m')
        base.execute('CREATE VIEW messages AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL '
                     'SELECT id + 1 FROM n) SELECT id, 99 AS topic_id, id AS timestamp, '
                     "x'00' AS data FROM n")
    base.close()
    assert 'views or triggers' in read(bag)


def test_names_that_are_formulas(tmp_path: Path) -> None:
    """A picture shows them as they are; of too many joints it is refused."""
    pytest.importorskip('matplotlib', reason='matplotlib is not installed')
    for number, names in enumerate(([r'$\frac{$', 'a\x1b[2J', '$x$'], MOST_JOINTS + 1)):
        out = Written(tmp_path / f'{number}.mcap')
        for k in range(3):
            t = 1.0 + 0.01 * k
            joints = [f'j_{k}' for k in range(names)] if isinstance(names, int) else names
            message: Any = STORE.types[JOINT_STATE](
                header(t), joints, *(np.zeros(len(joints)) for _ in range(3)))
            out.write(STATES, JOINT_STATE, t, bytes(STORE.serialize_cdr(message, JOINT_STATE)))
        out.file.close()
    picture = tmp_path / 'a.html'
    said = rbd('plot', tmp_path / '0.mcap', '--out', picture)[0]
    assert picture.exists() and '\x1b' not in said
    error = rbd('plot', tmp_path / '1.mcap', '--out', picture, code=2)[1]
    assert f'at most {MOST_JOINTS} are drawn' in error and error.count('\n') == 1


def test_numbers_that_are_none(tmp_path: Path) -> None:
    """Gaps stand for what is no number, and for what no axis reaches."""
    pytest.importorskip('matplotlib', reason='matplotlib is not installed')
    out = Written(tmp_path / 'a.mcap')
    for k, x in enumerate([1e308, np.nan, np.inf, 1e308]):
        message: Any = STORE.types[JOINT_STATE](
            header(1.0 + 0.01 * k), ['a', 'b'], *(np.array([x, 0.5]) for _ in range(3)))
        out.write(STATES, JOINT_STATE, 1.0 + 0.01 * k,
                  bytes(STORE.serialize_cdr(message, JOINT_STATE)))
    out.file.close()
    said = rbd('plot', tmp_path / 'a.mcap', '--out', tmp_path / 'a.svg')[0]
    assert (tmp_path / 'a.svg').exists() and 'nan' not in said
