# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.


"""Recordings as files: written by one library, read by others, cut off anywhere, replayed."""

from __future__ import annotations

from pathlib import Path
import resource

from benchmark.bags import write
from command_rig import ARM, data, rbd
from controlled_arm import RATE, SECONDS, write_controlled, Written
from mcap.reader import make_reader
import numpy as np
import pytest
from rbd_ros.control.modes.modes import MODES, Takes, taking
from rbd_ros.errors import RbdError
from rbd_ros.identification.bag import read_in_order, topics, typestore
from rbd_ros.model.urdf.loader import load_urdf
from rbd_ros.recording.mcap_file import CHUNK, is_whole, McapFile, mend
from rbd_ros.recording.namespaces import next_steps, recorded_robots
from resting_arm import write_rests
from rosbags.highlevel import AnyReader
from swaying_arm import swaying

pytestmark = pytest.mark.slow

STORE = typestore()
FOLLOWING = taking(Takes.TRAJECTORY)[0]
FLOATING = next(name for name, mode in MODES.items() if not mode.takes)


@pytest.fixture(scope='module', params=(FLOATING, FOLLOWING))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recorded run: floating, then following a trajectory."""
    return write_controlled(tmp_path_factory.mktemp('runs') / 'run.mcap', request.param)


def test_two_libraries_read_it(run: Path) -> None:
    """The format's own reader and that of rosbags find the same bytes, in order, with types."""
    with run.open('rb') as stream:
        reader = make_reader(stream, validate_crcs=True)
        own = [(channel.topic, schema.name, message.log_time, message.data)
               for schema, channel, message in reader.iter_messages(log_time_order=True)]
        count = reader.get_summary().statistics.message_count
    with AnyReader([run]) as other:
        theirs = [(each.topic, each.msgtype, when, bytes(raw))
                  for each, when, raw in other.messages()]
    assert len(own) == count == len(theirs) > 1000 and sorted(own) == sorted(theirs)
    assert topics(run)['/joint_states'] == 'sensor_msgs/msg/JointState'


def test_a_file_that_was_cut_off(run: Path, tmp_path: Path) -> None:
    """Of a file that ends anywhere, all messages of its whole chunks are read, in order."""
    whole = run.read_bytes()
    every = [each[3] for each in read_in_order(run, topics(run))]
    rng, counts = np.random.default_rng(1), []
    for end in sorted(rng.integers(0, len(whole), 12)) + [len(whole) - 1]:
        cut, mended = tmp_path / f'{end}.mcap', tmp_path / f'{end}_whole.mcap'
        cut.write_bytes(whole[:end])
        assert not is_whole(cut)
        counts.append(mend(cut, mended))
        if counts[-1]:
            found = [each[3] for each in read_in_order(mended, topics(mended))]
            assert found == every[:counts[-1]]
    assert counts == sorted(counts) and counts[-1] == len(every)
    most = CHUNK / np.mean([len(each) for each in every])
    assert (np.diff([*counts, len(every)]) >= 0).all() and max(np.diff(counts)) < 12 * most


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    """The end is told, not traced back, and what was written before can be read."""
    path, most = tmp_path / 'full.mcap', 3 * CHUNK // 2
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, limits[1]))
    try:
        with pytest.raises(RbdError, match='full.mcap cannot be written any further: .*another'), \
                McapFile(path) as file:
            kind = file.add_topic('/noise', 'std_msgs/msg/UInt8MultiArray', '')
            for number in range(1000):      # noise, so that chunks stay as large as they are
                file.write(kind, number, number, np.random.default_rng(number).bytes(1024))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert 100 < mend(path, tmp_path / 'whole.mcap') < 200


def test_commands_read_what_is_left(run: Path, tmp_path: Path) -> None:
    """They say how much it was; a file without a chunk is refused in one line."""
    pytest.importorskip('matplotlib', reason='matplotlib is not installed')
    cut = tmp_path / 'cut.mcap'
    cut.write_bytes(run.read_bytes()[:-200])
    said = rbd('plot', cut, '--urdf', ARM, '--out', tmp_path / 'a.png')
    assert 'joint_7' in said[0] and 'was cut off, as by a crash' in said[1]
    cut.write_bytes(run.read_bytes()[:60])
    error = rbd('plot', cut, '--out', tmp_path / 'a.png', code=2)[1]
    assert 'before its first chunk' in error


def test_next_steps() -> None:
    """Only commands that can read what was recorded are named, with the options they need."""
    state, joints = 'control_msgs/msg/JointTrajectoryControllerState', 'sensor_msgs/msg/JointState'
    whole = {'/joint_states': joints, '/robot_description': 'std_msgs/msg/String',
             '/controller/controller_state': state, '/controller/state': 'std_msgs/msg/String',
             '/parameter_events': 'rcl_interfaces/msg/ParameterEvent'}
    assert next_steps('a.mcap', whole) == 'rbd plot a.mcap, or rbd replay a.mcap'
    for topic in whole:
        rest = {name: kind for name, kind in whole.items() if name != topic}
        assert next_steps('a.mcap', rest) == 'rbd plot a.mcap'
    assert next_steps('a.mcap', {'/camera': 'std_msgs/msg/String'}) == 'open it in Foxglove'
    left, right = ({name if name in ('/robot_description', '/parameter_events') else side + name:
                    kind for name, kind in whole.items()} for side in ('/left', '/right'))
    assert next_steps('a.mcap', left) == 'rbd plot a.mcap, or rbd replay a.mcap'
    assert next_steps('a.mcap', left | right) == ', or '.join(
        f'rbd {command} a.mcap --namespace {side}' for side in ('/left', '/right')
        for command in ('plot', 'replay'))


def as_recording(bag: Path, file: Path, left_out: tuple[float, float] = (0.0, 0.0)) -> Path:
    """Write the messages of a bag as rbd record does, but for those between two times."""
    with McapFile(file) as out:
        put(bag, out, '', left_out)
    return file


def put(bag: Path, out: McapFile, namespace: str, left_out: tuple[float, float] = (0.0, 0.0),
        ) -> None:
    """Write the messages of a bag into a namespace of a file."""
    with AnyReader([bag]) as reader:
        numbers = {each.topic: out.add_topic(
            f'{namespace}{each.topic}', each.msgtype, STORE.generate_msgdef(
                each.msgtype, ros_version=2)[0]) for each in reader.connections}
        for each, when, data in reader.messages():
            if not left_out[0] <= 1e-9 * when < left_out[1]:
                out.write(numbers[each.topic], when, when, bytes(data))


@pytest.fixture(scope='module')
def swayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bag of the arm swaying with a payload of 1.7 kg."""
    return swaying(tmp_path_factory.mktemp('bags') / 'swayed', felt=1.0)


@pytest.mark.parametrize('words', [
    ('identify', '--payload', 'tool0'), ('identify',), ('contact', '--frame', 'tool0')],
    ids=['payload', 'robot', 'contact'])
def test_commands_read_a_recording_as_a_bag(
    swayed: Path, tmp_path: Path, words: tuple[str, ...],
) -> None:
    """What they find in a file of rbd record is what they find in a bag of the same messages."""
    file = as_recording(swayed, tmp_path / 'run.mcap')
    command, *rest = words
    assert data(command, file, '--urdf', ARM, *rest) == data(
        command, swayed, '--urdf', ARM, *rest)


def test_the_tool_of_a_recording(tmp_path: Path) -> None:
    """Tool and bias are found in a file of rbd record as in a bag."""
    bag = write_rests(tmp_path / 'rests', 6)
    file = as_recording(bag, tmp_path / 'run.mcap')
    words = ('--urdf', ARM, '--frame', 'tool0')
    assert data('tool', file, *words) == data('tool', bag, *words)


@pytest.mark.parametrize('words', [('--payload', 'tool0'), ()], ids=['payload', 'robot'])
def test_gaps_are_left_out(swayed: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    """Of a recording with a gap the longest part without one is used, and that is said."""
    file = as_recording(swayed, tmp_path / 'gap.mcap', (100.8, 101.6))
    rest = as_recording(swayed, tmp_path / 'rest.mcap', (0.0, 101.6))
    command = ('identify', file, '--urdf', ARM, *words)
    said = rbd(*command)[1]
    assert 'the longest of 0.805 s' in said and 'is used, 4.4 of 6 s' in said
    assert data(*command) == data('identify', rest, '--urdf', ARM, *words)


def test_contacts_of_a_robot_that_rests(tmp_path: Path) -> None:
    """Thresholds of a joint that does not move are for rest; those of none are refused."""
    model = load_urdf(ARM)
    t = 100.0 + 0.005 * np.arange(1400)
    qd = np.zeros((len(t), 7))
    bag = write(tmp_path / 'still', model, zip(t, qd, qd, qd))
    assert 'no joint moves' in rbd('contact', bag, '--urdf', ARM, code=2)[1]
    qd[:, 2] = np.sin(t)
    bag = write(tmp_path / 'one', model, zip(t, -np.cos(t)[:, None] * (np.arange(7) == 2), qd, qd))
    said = rbd('contact', bag, '--urdf', ARM)[1]
    assert said.count('is never faster than 0.1') == 6 and 'joint_3 is never' not in said


def test_replay(run: Path) -> None:
    """The same code sends the same torques, from the first running state on."""
    told = data('replay', run)
    assert told['within_tolerance'] and told['compared'] > 0.4 * SECONDS * RATE / 10
    assert max(told['largest_share']) < 1e-4, told
    states = [(who, what) for _, what, who in told['states']]
    for who in ('recorded', 'replayed'):
        assert [what for each, what in states if each == who][-2:] == ['ramping in', 'running']


def test_a_plot_has_the_limits_of_the_recording(run: Path, tmp_path: Path) -> None:
    """They are those of the recorded description unless another one is given."""
    told = data('plot', run, '--out', tmp_path / 'a.png')
    assert [each['limit'] for each in told['joints']] == list(load_urdf(ARM).effort_limit)


def test_mistyped_names(run: Path, tmp_path: Path) -> None:
    """Another node, another topic, a file that is no recording: each with what was meant."""
    for words, text in (
            (('replay', run, '--controller', '/controler'), 'give --controller or --topic; did '
             'you mean "/controller/controller_state"?'),
            (('replay', run, '--topic', '/joint_state'), 'did you mean "/joint_states"?'),
            (('plot', run, '--topic', '/joint_state', '--out', tmp_path / 'a.png'),
             'no topic "/joint_state"; did you mean "/joint_states"?'),
            (('record', '--for', '-1'), '--for is -1 s; it must be positive'),
            (('record', 'run.bag'), 'run.bag: the name of a recording must end in .mcap'),
            (('record', 'a.mcap', '--out', 'b.mcap'), 'both a.mcap and --out b.mcap are given')):
        error = rbd(*words, code=2)[1]
        assert text in error and error.count('\n') == 1, error
    (tmp_path / 'text.mcap').write_text('hello, world\n')
    assert 'is no MCAP file' in rbd('replay', tmp_path / 'text.mcap', code=2)[1]


def held_up(k: int) -> float:
    """Return how late a state is on a machine that stands still now and then, up to 14 ms."""
    t, begin = k / RATE, (k // 40) * 40 / RATE
    end = begin + (0.002 + 0.012 * (k // 40 * 7 % 5) / 4.0)
    return max(0.0, end - t) + 1e-5 * (k % 40)


def test_replay_of_a_busy_machine(tmp_path: Path) -> None:
    """A late state meets the reference that it met; those that are not recorded are counted."""
    file = write_controlled(tmp_path / 'late.mcap', FOLLOWING, late=held_up,
                            lost=range(1003, 1006))
    found = data('replay', file)
    assert found['within_tolerance'] and found['compared'] > 50
    assert max(found['largest_share']) < 1e-3
    assert [note for note in found['notes'] if note.startswith('3 joint states that the contr')]


def test_replay_of_a_slow_simulation(tmp_path: Path) -> None:
    """With time from /clock a state is replayed at its stamp, whatever time that took."""
    file = write_controlled(tmp_path / 'slow.mcap', FOLLOWING, spoken={'use_sim_time': True},
                            late=lambda _: 0.0, pace=2.0)
    found = data('replay', file)
    assert found['within_tolerance'] and found['compared'] > 50
    assert max(found['largest_share']) < 1e-3
    assert any('time from /clock' in note for note in found['notes'])


def test_replay_finds_another_controller(tmp_path: Path) -> None:
    """With a load that the recorded one did not know of the torques differ; the code is 1."""
    file = write_controlled(tmp_path / 'other.mcap', FOLLOWING, spoken={'payload.mass': 2.0})
    told = data('replay', file, code=1)
    assert not told['within_tolerance'] and max(told['largest_share']) > 0.02
    assert 'NOT the same' in rbd('replay', file, code=1)[0]


def test_a_replay_that_stops_is_not_the_same(tmp_path: Path) -> None:
    """Where it faults early, the torques until then do not make it the same."""
    file = write_controlled(tmp_path / 'fast.mcap', FOLLOWING,
                            spoken={'velocity_limits': [0.2] * 7})
    told = data('replay', file, code=1)
    assert not told['within_tolerance'] and told['apart']
    assert 'the recorded controller ran, and the replay was' in rbd('replay', file, code=1)[1]


def test_a_recording_with_too_little(tmp_path: Path, run: Path) -> None:
    """What is missing is named, with the command that records it."""
    from mcap.writer import Writer
    part = tmp_path / 'part.mcap'
    with part.open('wb') as stream, run.open('rb') as source:
        writer, numbers = Writer(stream), {}
        writer.start('ros2')
        for schema, _, message in make_reader(source).iter_messages('/joint_states'):
            if not numbers:
                kind = writer.register_schema(schema.name, schema.encoding, schema.data)
                numbers[0] = writer.register_channel('/joint_states', 'cdr', kind)
            writer.add_message(numbers[0], message.log_time, message.data, message.log_time)
        writer.finish()
    error = rbd('replay', part, code=2)[1]
    assert '/controller/controller_state is missing' in error and 'rbd record' in error


# -- robots in namespaces -------------------------------------------------------------------------

@pytest.fixture(scope='module')
def two_robots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return one file of two robots: the left one floats, the right one moves."""
    path = tmp_path_factory.mktemp('two') / 'two.mcap'
    out = Written(path)
    write_controlled(path, FLOATING, namespace='/left', beside=out)
    write_controlled(path, FOLLOWING, namespace='/cell/right', beside=out,
                     given={'stiffness': [60.0], 'damping': [16.0]})
    out.file.close()
    return path


def test_replay_in_a_namespace(tmp_path: Path) -> None:
    """The only robot of a file needs no name, wherever it is; its node and topic may be given."""
    file = write_controlled(tmp_path / 'left.mcap', FOLLOWING, namespace='/left')
    alone = data('replay', file)
    assert alone['within_tolerance'] and max(alone['largest_share']) < 1e-4
    assert alone['compared'] > 0.4 * SECONDS * RATE / 10
    for words in (('--namespace', 'left'), ('--namespace', '/left/'),
                  ('--controller', '/left/controller'), ('--topic', '/left/joint_states')):
        assert data('replay', file, *words) == alone


def test_replay_of_one_of_two(two_robots: Path) -> None:
    """Each is computed with its own description, parameters and states."""
    left, right = (data('replay', two_robots, '--namespace', name)
                   for name in ('left', 'cell/right'))
    for told in (left, right):
        assert told['within_tolerance'] and max(told['largest_share']) < 1e-4
        assert told['compared'] > 0.4 * SECONDS * RATE / 10
    assert data('replay', two_robots, '--controller', '/cell/right/controller') == right
    # states of the left robot are not those to which the right controller answered
    mixed = rbd('replay', two_robots, '--controller', '/cell/right/controller', '--topic',
                '/left/joint_states', code=1)[0]
    assert 'NOT the same' in mixed


@pytest.mark.parametrize('command', ['replay', 'plot', 'identify', 'tool', 'contact'])
def test_one_of_two_must_be_named(two_robots: Path, tmp_path: Path, command: str) -> None:
    """Which ones there are is said in one line, also after a mistyped name."""
    more = {'replay': (), 'plot': ('--out', tmp_path / 'a.png'), 'identify': ('--urdf', ARM),
            'tool': ('--urdf', ARM, '--frame', 'tool0'), 'contact': ('--urdf', ARM)}[command]
    error = rbd(command, two_robots, *more, code=2)[1]
    assert error.endswith('two.mcap holds 2 robots: name one with --namespace (namespaces: '
                          '/cell/right, /left)\n') and error.count('\n') == 1
    error = rbd(command, two_robots, *more, '--namespace', 'lefft', code=2)[1]
    assert ('no robot in the namespace "/lefft"; did you mean "/left"? (namespaces: /cell/right, '
            '/left)') in error and error.count('\n') == 1


def test_plot_of_one_of_two(two_robots: Path, tmp_path: Path) -> None:
    """The picture has the robot that was named: only the right one has a reference."""
    pytest.importorskip('matplotlib', reason='matplotlib is not installed')
    for name, follows in (('left', False), ('cell/right', True)):
        told = data('plot', two_robots, '--out', tmp_path / 'a.png', '--namespace', name)
        assert (told['joints'][0]['rms_error'] is not None) is follows


@pytest.mark.parametrize('words', [
    ('identify', '--payload', 'tool0'), ('contact', '--frame', 'tool0')],
    ids=['payload', 'contact'])
def test_commands_find_the_robot_of_a_namespace(
    swayed: Path, tmp_path: Path, words: tuple[str, ...],
) -> None:
    """One robot is found wherever it is; of two the one that is named."""
    command, *rest = words
    other = swaying(tmp_path / 'other', felt=0.5)
    with McapFile(tmp_path / 'one.mcap') as one, McapFile(tmp_path / 'two.mcap') as two:
        put(swayed, one, '/left')
        put(swayed, two, '/left')
        put(other, two, '/right')
    wanted = data(command, swayed, '--urdf', ARM, *rest)
    assert data(command, tmp_path / 'one.mcap', '--urdf', ARM, *rest) == wanted
    two_of_them = (command, tmp_path / 'two.mcap', '--urdf', ARM, *rest, '--namespace')
    assert data(*two_of_them, 'left') == wanted != data(*two_of_them, 'right')


def test_payload_is_sent_to_the_robot_that_was_recorded(two_robots: Path) -> None:
    """The command that is suggested has the namespace."""
    said = rbd('identify', two_robots, '--urdf', ARM, '--payload', 'tool0', '--namespace',
               'cell/right')[0]
    assert '/cell/right/controller/payload' in said.replace('\n', '')


def test_the_tool_of_a_robot_in_a_namespace(tmp_path: Path) -> None:
    """Sensor and states of the namespace are read."""
    bag = write_rests(tmp_path / 'rests', 6)
    with McapFile(tmp_path / 'left.mcap') as file:
        put(bag, file, '/left')
    words = ('--urdf', ARM, '--frame', 'tool0')
    assert data('tool', tmp_path / 'left.mcap', *words) == data('tool', bag, *words)


JOINTS, REPORT, TEXT = (
    'sensor_msgs/msg/JointState', 'control_msgs/msg/JointTrajectoryControllerState',
    'std_msgs/msg/String')


@pytest.mark.parametrize('kinds, expected', [
    ({}, []),
    ({'/joint_states': JOINTS, '/gripper/joint_states': JOINTS}, [
        ('', '/joint_states', '/robot_description', '/controller')]),
    ({'/a/joint_states': JOINTS, '/b/joint_states': JOINTS}, [
        ('/a', '/a/joint_states', '/a/robot_description', '/a/controller'),
        ('/b', '/b/joint_states', '/b/robot_description', '/b/controller')]),
    ({'/a/joint_states': JOINTS, '/b/joint_states': JOINTS, '/b/robot_description': TEXT}, [
        ('/b', '/b/joint_states', '/b/robot_description', '/b/controller')]),
    ({'/joint_states': JOINTS, '/robot_description': TEXT, '/a/arm/controller_state': REPORT}, [
        ('/a', '/joint_states', '/robot_description', '/a/arm')]),
    ({'/a/joint_states': JOINTS, '/robot_description': TEXT, '/a/jtc/controller_state': REPORT,
      '/a/mine/controller_state': REPORT, '/a/mine/state': TEXT}, [
        ('/a', '/a/joint_states', '/robot_description', '/a/mine')])])
def test_robots_of_a_recording(
    kinds: dict[str, str], expected: list[tuple[str, ...]],
) -> None:
    """Controllers count, then descriptions, then joint states; what is shared is found."""
    assert recorded_robots(kinds) == expected
