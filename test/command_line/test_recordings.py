# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Recordings as files: written by one library, read by others, cut off anywhere, replayed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import re
import resource

from benchmark.bags import write
from command_rig import ARM, data, rbd
from controlled_arm import RATE, SECONDS, write_controlled, Written
from mcap.reader import make_reader
import numpy as np
import pytest
from rbd_ros.command_line.recorded_run import read_run
from rbd_ros.control.modes import MODES, Takes, taking
from rbd_ros.errors import RbdError
from rbd_ros.identification.bag import read_in_order, read_sent, topics, typestore
from rbd_ros.model.urdf.loader import load_urdf
from rbd_ros.nodes.recorded_parameters import KIND
from rbd_ros.recording.mcap_file import CHUNK, is_whole, McapFile, mend
from rbd_ros.recording.namespaces import next_steps, recorded_robots
from resting_arm import write_rests
from rosbags.highlevel import AnyReader
from swaying_arm import swaying

pytestmark = pytest.mark.slow

STORE = typestore()
JOINTS, REPORT, TEXT = (
    'sensor_msgs/msg/JointState', 'control_msgs/msg/JointTrajectoryControllerState',
    'std_msgs/msg/String')
FOLLOWING = taking(Takes.TRAJECTORY)[0]
FLOATING = next(name for name, mode in MODES.items() if not mode.takes)


@pytest.fixture(scope='module', params=(FLOATING, FOLLOWING))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recorded run: floating, then following a trajectory."""
    return write_controlled(tmp_path_factory.mktemp('runs') / 'run.mcap', request.param)


@pytest.mark.sampled('formats', 1)
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


@pytest.mark.sampled('formats', 1)
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


def test_a_disk_that_was_full_before(tmp_path: Path) -> None:
    """Not even a beginning can be written: that is told, and the name stays free."""
    path, limits = tmp_path / 'full.mcap', resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(RbdError, match='cannot be written any further'):
            McapFile(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not path.exists()


@pytest.mark.sampled('formats', 1)
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


@pytest.mark.sampled('formats', 1)
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


@pytest.mark.sampled('formats', 1)
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


@pytest.mark.sampled('formats', 1)
def test_replay(run: Path) -> None:
    """The same code sends the same torques, from the first running state on."""
    told = data('replay', run)
    assert told['within_tolerance'] and told['compared'] > 0.4 * SECONDS * RATE / 10
    assert max(told['largest_share']) < 1e-4, told
    states = [(who, what) for _, what, who in told['states']]
    for who in ('recorded', 'replayed'):
        assert [what for each, what in states if each == who][-2:] == ['ramping in', 'running']


@pytest.mark.sampled('formats', 1)
def test_a_plot_has_the_limits_of_the_recording(run: Path, tmp_path: Path) -> None:
    """They are those of the recorded description unless another one is given."""
    told = data('plot', run, '--out', tmp_path / 'a.png')
    assert [each['limit'] for each in told['joints']] == list(load_urdf(ARM).effort_limit)


@pytest.mark.sampled('formats', 1)
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


@pytest.mark.sampled('formats', 1)
@pytest.mark.parametrize('clock', [None, 900.0], ids=['by the torques', 'as reported'])
def test_replay_of_a_busy_machine(tmp_path: Path, clock: float | None) -> None:
    """A late state meets the reference that it met; those that are not recorded are counted."""
    file = write_controlled(tmp_path / 'late.mcap', FOLLOWING, late=held_up, clock=clock,
                            lost=range(1003, 1006))
    found = data('replay', file)
    assert found['within_tolerance'] and found['compared'] > 50
    assert max(found['largest_share']) < 1e-3
    assert [note for note in found['notes'] if note.startswith('3 joint states that the contr')]


def halted(k: int) -> float:
    """Return how late a state is on a machine that halts between a state and its torque."""
    since = k % 40
    return max(0.0, HALT + 1e-4 * since - since / RATE) if since else 0.0


HALT = 0.012  # s


def test_replay_of_a_loop_that_halts(tmp_path: Path) -> None:
    """A torque that is sent long after its state was taken does not move the state."""
    file, old = (write_controlled(
        tmp_path / f'{clock}.mcap', FOLLOWING, late=halted, clock=clock,
        hesitates=lambda k: 1e-4 if k % 40 else HALT) for clock in (900.0, None))
    found = data('replay', file)
    assert found['within_tolerance'] and found['compared'] > 50
    assert max(found['largest_share']) < 1e-3
    assert max(data('replay', old, code=1)['largest_share']) > 0.02  # by the torques alone


@pytest.mark.sampled('formats', 1)
@pytest.mark.parametrize('clock', [None, 0.0], ids=['by the stamps', 'as reported'])
def test_replay_of_a_slow_simulation(tmp_path: Path, clock: float | None) -> None:
    """With time from /clock it is the same, whatever time that took."""
    file = write_controlled(tmp_path / 'slow.mcap', FOLLOWING, spoken={'use_sim_time': True},
                            late=lambda _: 0.0, pace=2.0, clock=clock)
    found = data('replay', file)
    assert found['within_tolerance'] and found['compared'] > 50
    assert max(found['largest_share']) < 1e-3
    assert any('time from /clock' in note for note in found['notes']) is (clock is None)


def rewritten(run: Path, file: Path, change: Callable[[str, bytes], list[bytes]],
              later: int = 0) -> Path:
    """Write a recording anew, received ns later; a change makes messages of one."""
    with run.open('rb') as stream, McapFile(file) as out:
        numbers: dict[str, int] = {}
        for schema, channel, message in make_reader(stream).iter_messages():
            for data in change(channel.topic, message.data):
                if channel.topic not in numbers:
                    numbers[channel.topic] = out.add_topic(
                        channel.topic, schema.name, schema.data.decode())
                out.write(numbers[channel.topic], message.log_time + later, message.publish_time,
                          data)
    return file


@pytest.mark.sampled('formats', 1)
@pytest.mark.parametrize('ahead', [0, 10**6], ids=['with one stamp', 'with a later stamp'])
def test_replay_of_a_robot_in_parts(run: Path, tmp_path: Path, ahead: int) -> None:
    """Two drivers that publish one robot: both are heard, whatever the stamps of the first."""
    def parts(topic: str, data: bytes) -> list[bytes]:
        if topic != '/joint_states':
            return [data]
        made = []
        for joints, more in ((slice(0, 4), ahead), (slice(4, 7), 0)):
            message = STORE.deserialize_cdr(data, JOINTS)
            message.header.stamp.nanosec += more
            message.name = message.name[joints]
            for field in ('position', 'velocity', 'effort'):
                setattr(message, field, getattr(message, field)[joints])
            made.append(bytes(STORE.serialize_cdr(message, JOINTS)))
        return made
    told = data('replay', rewritten(run, tmp_path / 'parts.mcap', parts))
    assert told['within_tolerance'] and told['compared'] > 0.4 * SECONDS * RATE / 10


@pytest.mark.sampled('formats', 1)
def test_replay_beside_a_gripper_without_stamps(run: Path, tmp_path: Path) -> None:
    """Its messages, of which nobody knows the time, do not keep the arm from being replayed."""
    def beside(topic: str, data: bytes) -> list[bytes]:
        if topic != '/joint_states':
            return [data]
        message = STORE.deserialize_cdr(data, JOINTS)
        message.header.stamp.sec = message.header.stamp.nanosec = 0
        message.name = ['finger']
        for field in ('position', 'velocity', 'effort'):
            setattr(message, field, np.zeros(1))
        return [data, bytes(STORE.serialize_cdr(message, JOINTS))]
    # the clock of the stamps is not that of the recorder
    told = data('replay', rewritten(run, tmp_path / 'gripper.mcap', beside, later=10**18))
    assert told['within_tolerance'] and told['compared'] > 0.4 * SECONDS * RATE / 10


@pytest.mark.sampled('formats', 1)
def test_replay_without_stamps(run: Path, tmp_path: Path) -> None:
    """A driver that does not stamp its states is named: nobody knows which torque is for which."""
    file = rewritten(run, tmp_path / 'no_stamps.mcap', lambda topic, data: [
        data[:4] + bytes(8) + data[12:] if topic == '/joint_states' else data])
    error = rbd('replay', file, code=2)[1]
    assert 'no message on /joint_states has a stamp' in error and error.count('\n') == 1


@pytest.mark.sampled('formats', 1)
def test_a_replay_runs_no_file_that_the_recording_names(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever the name is, and whatever is there: only the file of ``--mode-file`` is run."""
    planted = tmp_path / 'planted.py'
    planted.write_text('from pathlib import Path\nPath(__file__ + ".ran").touch()\n')
    monkeypatch.chdir(tmp_path)

    def names(name: str) -> Callable[[str, bytes], list[bytes]]:
        def change(topic: str, content: bytes) -> list[bytes]:
            if topic != '/parameter_events':
                return [content]
            message = STORE.deserialize_cdr(content, KIND)
            for each in message.new_parameters:
                if each.name == 'mode_file':
                    each.value.string_value = name
            return [bytes(STORE.serialize_cdr(message, KIND))]
        return change
    for number, name in enumerate((str(planted), '/proc/self/cwd/planted.py', 'planted.py',
                                   '/nowhere.py', '\x1b[2J\n', ' ')):
        file = rewritten(run, tmp_path / f'{number}.mcap', names(name))
        error = rbd('replay', file, code=2)[1]
        assert 'give yours with --mode-file' in error and error.count('\n') == 1, name
        assert '\x1b' not in error and not (tmp_path / 'planted.py.ran').exists(), name
    assert 'must declare its modes' in rbd('replay', file, '--mode-file', 'planted.py', code=2)[1]
    assert (tmp_path / 'planted.py.ran').exists()
    planted.write_text(
        'from rbd_ros.control.modes import own_mode\n'
        'MODES = (own_mode("weight", lambda terms, inputs: terms.gravity, "gravity alone"),)\n')
    assert data('replay', file, '--mode-file', 'planted.py')['within_tolerance']


def test_replay_of_another_release(tmp_path: Path) -> None:
    """Parameters that the recorded controller did not have yet are the default ones, and named."""
    file = write_controlled(tmp_path / 'old.mcap', FOLLOWING,
                            unknown=('goal_mode', 'allow_partial_joints_goal'))
    told = data('replay', file)
    assert told['within_tolerance'] and max(told['largest_share']) < 1e-4
    (note,) = told['notes']
    assert 'had no goal_mode, allow_partial' in note or 'had no allow_partial' in note
    error = rbd('replay', rewritten(file, tmp_path / 'none.mcap', lambda topic, data: (
        [] if topic == '/parameter_events' else [data])), code=2)[1]
    assert 'the parameters of /controller are missing; rbd record asks for them' in error


@pytest.mark.sampled('formats', 1)
def test_replay_of_motors(run: Path, tmp_path: Path) -> None:
    """Commands of a type that is not known here do not keep a recording from being replayed."""
    with McapFile(tmp_path / 'motors.mcap') as out:
        put(run, out, '')
        number = out.add_topic('/controller/commands', 'control_msgs/msg/DynamicJointState',
                               'string data\n')
        out.write(number, 10**11, 10**11, b'\0\1\0\0\1\0\0\0\0')
    assert data('replay', tmp_path / 'motors.mcap')['within_tolerance']


def test_a_rosbag_with_the_ending_of_a_file(tmp_path: Path) -> None:
    """A folder of ros2 bag record may have any name."""
    bag = write_rests(tmp_path / 'rests.mcap', 6)
    assert bag.is_dir() and '/joint_states' in topics(bag)
    assert read_sent(bag, '/joint_states') == []


def test_foreign_files_that_were_cut_off(tmp_path: Path) -> None:
    """What is no message of ROS 2 is left out, and definitions keep their language."""
    from mcap.writer import Writer
    file, whole = tmp_path / 'foreign.mcap', tmp_path / 'whole.mcap'
    idl = 'module std_msgs { module msg { struct Bool { boolean data; }; }; };'
    with file.open('wb') as stream:
        writer = Writer(stream)
        writer.start('ros2')
        events = writer.register_channel('/events', 'json', 0)
        kind = writer.register_schema('std_msgs/msg/Bool', 'ros2idl', idl.encode())
        pressed = writer.register_channel('/dead_man', 'cdr', kind)
        for k in range(100):
            writer.add_message(events, k, b'{}', k)
            writer.add_message(pressed, k, b'\0\1\0\0\1', k)
        writer.finish()
    file.write_bytes(file.read_bytes()[:-1])
    assert mend(file, whole) == 100
    with whole.open('rb') as stream:
        ((schema, *_), *_) = make_reader(stream).iter_messages()
    assert (schema.encoding, schema.data.decode()) == ('ros2idl', idl)


def test_a_plot_of_an_arm_with_a_gripper(tmp_path: Path) -> None:
    """Of two drivers on one topic the one with most to tell is drawn, whoever was first."""
    kind, header = STORE.types[JOINTS], STORE.types['std_msgs/msg/Header']
    file = tmp_path / 'two.mcap'
    with McapFile(file) as out:
        number = out.add_topic('/joint_states', JOINTS, STORE.generate_msgdef(
            JOINTS, ros_version=2)[0])
        for k in range(30):
            names = ['finger'] if k % 3 == 0 else ['joint_1', 'joint_2']
            values = np.full(len(names), float(k))
            stamp = STORE.types['builtin_interfaces/msg/Time'](100 + k, 0)
            out.write(number, k, k, bytes(STORE.serialize_cdr(
                kind(header(stamp, ''), names, values, values, values), JOINTS)))
    assert read_run(file).joints == ('joint_1', 'joint_2') and len(read_run(file).t) == 20


def test_units_of_a_plot(tmp_path: Path) -> None:
    """A joint that slides has metres and newtons, as far as its description is known."""
    pytest.importorskip('matplotlib', reason='matplotlib is not installed')
    limit = '<limit lower="-1" upper="1" velocity="1" effort="5"/>'
    inertial = ('<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" '
                'iyz="0"/></inertial>')
    joints = ''.join(f'<joint name="{kind}" type="{kind}"><parent link="{parent}"/><child '
                     f'link="{child}"/><axis xyz="0 0 1"/>{limit}</joint>'
                     for kind, parent, child in (('revolute', 'a', 'b'), ('prismatic', 'b', 'c')))
    urdf = tmp_path / 'two.urdf'
    urdf.write_text('<robot name="two"><link name="a"/>' + ''.join(
        f'<link name="{name}">{inertial}</link>' for name in 'bc') + joints + '</robot>')
    t = 100.0 + 0.01 * np.arange(30)
    bag = write(tmp_path / 'bag', load_urdf(urdf), zip(t, *[np.zeros((len(t), 2))] * 3))
    picture = tmp_path / 'a.svg'
    for words, labels in ((('--urdf', urdf), {'revolute, rad', 'torque, N.m', 'prismatic, m',
                                              'force, N'}),
                          ((), {'revolute', 'prismatic', 'torque, N.m'})):
        rbd('plot', bag, '--out', picture, *words)
        drawn = {text.strip() for text in re.findall('<!--(.*?)-->', picture.read_text())}
        assert labels <= drawn and ('force, N' in drawn) is bool(words), drawn


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


@pytest.mark.sampled('formats', 1)
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


@pytest.mark.sampled('formats', 2)
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


@pytest.mark.sampled('formats', 1)
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
    command = 'ros2 topic pub --once /cell/right/controller/payload geometry_msgs/msg/Inertia'
    assert command in said  # in one line, to be copied
    said = rbd('identify', two_robots, '--urdf', ARM, '--payload', 'tool0', '--topic',
               '/cell/right/joint_states')[0]
    assert command in said


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
