# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Small parts of the dashboard by themselves: a dead man's button, motions, files, bytes, rows."""

import csv
import io
import os

from control_msgs.msg import JointTrajectoryControllerState
from geometry_msgs.msg import WrenchStamped
import numpy as np
import pytest
from rbd_ros.errors import RbdError
from rbd_ros.model.urdf.loader import load_urdf
from rbd_ros.nodes.dashboard.dead_man import DeadMan, SHORTEST_GAP, TIMEOUT
from rbd_ros.nodes.dashboard.joint_history import Joint, JointHistory, QUANTITIES, ROWS
from rbd_ros.nodes.dashboard.joint_plots import with_marks
from rbd_ros.nodes.dashboard.moving_point import LONGEST_TICK, MovingPoint
from rbd_ros.nodes.dashboard.moving_pose import MovingPose, SPEED, TURN
from rbd_ros.nodes.dashboard.pose_file import LONGEST_NAME, MOST_POSES, PoseFile, state_folder
from rbd_ros.wire.reading import JointStateReader, read_force
from rclpy.serialization import serialize_message
from sampling import examples
from scipy.spatial.transform import Rotation

JOINTS = [Joint('turn', False, -1.0, 2.0, 3.0, 40.0), Joint('slide', True, 0.0, 0.5, 0.2, 9.0)]


# -- a button that is held --------------------------------------------------------------------


def test_the_time_of_the_dead_man():
    """Held until TIMEOUT after the last of two signs that a held button can have sent."""
    for seed in range(examples('properties', 20)):
        rng = np.random.default_rng(seed)
        button, now, until, last, burst = DeadMan(), 50.0, -np.inf, {}, -np.inf
        for _ in range(300):
            now += float(rng.choice([0.001, 0.049, 0.0501, 0.1, 0.2, 0.2999, 0.31, 2.0]))
            who = int(rng.integers(2))
            if rng.random() < 0.7:
                gap = now - last.get(who, -np.inf)
                if gap < SHORTEST_GAP:
                    until, burst = now, now
                elif gap <= TIMEOUT and now >= burst + TIMEOUT:
                    until = now + TIMEOUT
                last[who] = now
                button.renew(who, now)
            for later in (0.0, 0.1, 0.29, TIMEOUT, 0.31, 5.0):
                assert button.is_held(now + later) == (now + later < until)


@pytest.mark.parametrize('pause', [0.02, 0.06, 0.1, 0.2, 0.29])
def test_bursts_of_a_slow_network_release(pause):
    """Signs that were kept back come in bursts that grow, one in each round trip."""
    button, now = DeadMan(), 10.0
    for _ in range(10):
        now += 0.1
        button.renew(1, now)
    assert button.is_held(now)
    now += 5.0  # long after the release of the button
    for burst in (2, 4, 8, 16, 32, 64, 128):
        for k in range(burst):
            button.renew(1, now + 1e-4 * k)
            assert k == 0 or not button.is_held(now + 1e-4 * k)
        assert not button.is_held(now + pause)
        now += pause
    now += TIMEOUT + 0.1
    for k in range(3):
        button.renew(1, now + 0.1 * k)
    assert button.is_held(now + 0.2)  # held anew


# -- motions ----------------------------------------------------------------------------------


def test_no_point_leaves_its_limits_and_none_jumps():
    """Of robots with and without limits and speeds, whatever is asked for and however late."""
    for seed in range(examples('properties', 40)):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(1, 6))
        links = ''.join(f"""<link name="l{k + 1}"><inertial><mass value="1"/>
            <inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
            <joint name="j{k}" type="{rng.choice(['revolute', 'continuous', 'prismatic'])}">
            <parent link="l{k}"/><child link="l{k + 1}"/><axis xyz="0 0 1"/>
            <limit lower="{-rng.uniform(0, 2)}" upper="{rng.uniform(0, 3)}" effort="9"
            velocity="{rng.choice([0.0, 0.5, 4.0])}"/></joint>""" for k in range(count))
        model = load_urdf(f'<robot name="r"><link name="l0"/>{links}</robot>',
                          limits_optional=True)
        point = MovingPoint(model, model.joint_names)
        point.begin(rng.uniform(-9.0, 9.0, count))
        assert (point.speed > 0.0).all()
        for _ in range(100):
            before, seconds = point.q, float(rng.choice([-1.0, 0.0, 0.04, 0.1, 9.0]))
            share = float(rng.uniform(0.05, 0.5))
            target = rng.choice([-1e9, -1.0, 0.1, 2.0, 1e9], count)
            what = rng.integers(4)
            if what == 0:
                point.rest()
            elif what == 1:
                point.jog(int(rng.integers(count)), float(rng.choice([-1.0, 1.0])), seconds, share)
            else:
                point.approach(target, seconds, share)
                moved, way = point.q - before, point.inside(target) - before
                if np.abs(way).max() < 1e3:  # on a straight line
                    np.testing.assert_allclose(moved * np.abs(way).max(),
                                               np.abs(moved).max() * way, atol=1e-9)
            assert (point.q >= point.lower).all() and (point.q <= point.upper).all()
            most = share * point.speed * min(max(seconds, 0.0), LONGEST_TICK)
            assert (np.abs(point.q - before) <= most + 1e-9).all()


def turn(wxyz):
    """Return the rotation of a quaternion."""
    w, x, y, z = wxyz
    return Rotation.from_quat([x, y, z, w])


def test_a_pose_moves_and_turns_on_the_shortest_way():
    """No faster than it may, about one axis, and both arrive at the same time."""
    for seed in range(examples('properties', 20)):
        rng = np.random.default_rng(seed)
        pose, goal = MovingPose(), rng.uniform(-0.3, 0.3, 3)
        first, last = Rotation.random(2, random_state=seed)
        x, y, z, w = first.as_quat()
        pose.begin(np.zeros(3), (w, x, y, z))
        x, y, z, w = (-1) ** seed * last.as_quat()
        axis = (first.inv() * last).as_rotvec()
        before, moved = first, np.zeros(3)
        for _ in range(10000):
            seconds = float(rng.choice([0.0, 0.04, 0.1, 9.0]))
            if not pose.approach(goal, (w, x, y, z), seconds):
                break
            tick = min(seconds, LONGEST_TICK)
            now = turn(pose.wxyz)
            assert np.linalg.norm(pose.position - moved) <= SPEED * tick + 1e-12
            assert (before.inv() * now).magnitude() <= TURN * tick + 1e-7
            share = np.linalg.norm(pose.position) / np.linalg.norm(goal)
            np.testing.assert_allclose((first.inv() * now).as_rotvec(), share * axis, atol=1e-6)
            before, moved = now, pose.position
        np.testing.assert_allclose(pose.position, goal, atol=1e-9)
        assert (before.inv() * last).magnitude() < 1e-6


# -- the file of poses ------------------------------------------------------------------------


def test_a_file_gives_back_what_was_saved(tmp_path):
    """Bit by bit, of any name; another robot has another file, and none leaves the folder."""
    rng = np.random.default_rng(1)
    file = PoseFile('ur5e/left arm', tmp_path / 'new' / 'folder')
    saved = {}
    for name in ('home', 'über dem Tisch', 'a: b', '# no comment', '- x', 'null', '12', 'yes'):
        saved[name] = {f'joint_{k}': float(rng.normal()) for k in range(7)}
        file.save(name, saved[name])
    assert PoseFile('ur5e/left arm', tmp_path / 'new' / 'folder').read() == saved
    assert PoseFile('other', tmp_path / 'new' / 'folder').read() == {}
    file.save('home', {'joint_0': 0.5})
    file.forget('a: b')
    assert file.read() == {**{k: v for k, v in saved.items() if k != 'a: b'},
                           'home': {'joint_0': 0.5}}
    assert PoseFile('../../x\n', tmp_path).path.parent == tmp_path
    other = PoseFile('evil\nhome: 3', tmp_path)
    assert other.read() == {}
    other.save('a', {'j': 1.0})
    assert other.read() == {'a': {'j': 1.0}}


@pytest.mark.parametrize('text', [
    '[1, 2]', 'a', 'a: 3', 'a: {j: x}', 'a: {j: .nan}', 'a: {j: .inf}', '1: {j: 2}',
    'a: {j: true}', 'a: [', '\x00', '!!python/name:os'])
def test_a_damaged_file_is_named_and_left_alone(tmp_path, text):
    """Nothing of it is used, and nothing is written over it."""
    file = PoseFile('arm', tmp_path)
    file.path.write_text(text)
    for act in (file.read, lambda: file.save('mine', {'j': 0.0}), lambda: file.forget('a')):
        with pytest.raises(RbdError, match=str(file.path)):
            act()
    assert file.path.read_text() == text


def test_names_and_numbers_of_poses_have_bounds(tmp_path):
    """A browser may send any text; a folder that cannot be written is named."""
    file = PoseFile('arm', tmp_path)
    for name in ('', '  ', 'x' * (LONGEST_NAME + 1), 'a\nb', '\x07'):
        with pytest.raises(RbdError, match='name'):
            file.save(name, {'j': 0.0})
    assert not file.path.exists()
    file.path.write_text(''.join(f'p{k}: {{j: 0.0}}\n' for k in range(MOST_POSES)))
    file.save('p0', {'j': 1.0})
    with pytest.raises(RbdError, match='forget one'):
        file.save('more', {'j': 0.0})
    with pytest.raises(RbdError, match='cannot be'):
        PoseFile('arm', file.path / 'below').save('a', {'j': 0.0})


def test_the_folder_is_that_of_the_user(monkeypatch, tmp_path):
    """XDG_STATE_HOME, or where it is by default."""
    monkeypatch.setenv('XDG_STATE_HOME', str(tmp_path))
    assert state_folder('poses') == tmp_path / 'rbd_ros' / 'poses'
    monkeypatch.delenv('XDG_STATE_HOME')
    assert state_folder('poses').is_relative_to(os.path.expanduser('~'))


# -- bytes of messages ------------------------------------------------------------------------


def state(names, positions=(), velocities=(), frame=''):
    """Return the bytes of what a controller publishes."""
    message = JointTrajectoryControllerState(joint_names=names)
    message.header.frame_id = frame
    message.header.stamp.sec = 7
    message.reference.positions, message.reference.velocities = positions, velocities
    message.feedback.positions = [-1.0] * len(names)
    return serialize_message(message)


@pytest.mark.parametrize('frame', ['', 'b', 'base', 'base_link', 'tool0_of_a_robot'])
def test_a_force_is_read_behind_a_frame_of_any_length(frame):
    """The numbers lie at multiples of eight bytes, wherever the name ends."""
    message = WrenchStamped()
    message.header.frame_id = frame
    force, torque = message.wrench.force, message.wrench.torque
    force.x, force.y, force.z, torque.x = 1.5, 2.5, 3.5, -9.0
    data = serialize_message(message)
    assert read_force(data) == (1.5, 2.5, 3.5)
    assert read_force(data[:60] if len(data) > 60 else data[:40]) is None


def reference(data, reader):
    """Return what the page shows of it; None: the middleware has to read it."""
    found = reader.read(data)
    return found and (found.names, found.position.tolist(), found.velocity.tolist())


def test_references_are_read_of_joints_that_change():
    """Names of any length, with and without velocities; the names are those of each message."""
    reader = JointStateReader()
    for names, positions, velocities, frame in (
            (['a', 'joint_2'], [1.0, 2.0], [3.0, 4.0], ''),
            (['a', 'joint_2'], [5.0, 6.0], [7.0, 8.0], ''),
            (['a', 'joint_3'], [1.0, 2.0], [], ''), (['a', 'joint_3'], [], [], 'base'),
            ([], [], [], 'base'), (['elbow'], [0.5], [-0.5], 'base_link'),
            ([f'j{k}' for k in range(30)], [0.1 * k for k in range(30)], [1.0] * 30, '')):
        assert reference(state(names, positions, velocities, frame), reader) == (
            tuple(names), positions, velocities)


def test_what_is_cut_off_is_left_to_the_middleware():
    """No prefix of a message is read as a shorter reference, and none raises."""
    data, reader = state(['a', 'joint_2'], [1.0, 2.0], [3.0, 4.0]), JointStateReader()
    whole = ('a', 'joint_2'), [1.0, 2.0], [3.0, 4.0]
    for length in range(len(data)):
        found = reference(data[:length], reader)
        assert found is None or (found == whole and length > 80)


# -- rows over time ---------------------------------------------------------------------------


def filled(count, rows=50):
    """Return a history of some rows, and a copy of what was added, 25 per second from 1000 s."""
    history, rng, added = JointHistory(JOINTS, rows), np.random.default_rng(count), []
    for k in range(count):
        values = {name: rng.standard_normal(2) * 10.0 ** rng.integers(-9, 9)
                  for name in QUANTITIES}
        if k % 3 == 0:
            del values['reference_position']
        history.add(1000.0 + 0.04 * k, 7.0 + 0.04 * k, **values)
        added.append(values)
    return history, added


@pytest.mark.parametrize('count', [0, 1, 49, 50, 51, 137])
def test_a_table_has_the_last_rows_to_the_last_bit(count):
    """Read back, each number is the same, one that is not known is empty, and events stand."""
    history, added = filled(count)
    first = max(0, count - 50)
    notes = [(1000.0 + 0.04 * first + 0.05, 'mode: from "a" to b'),
             (1000.0 + 0.04 * first + 0.06, 'stop'), (999.0, 'old'), (2000.0, 'new')]
    rows = list(csv.reader(io.StringIO(history.table(notes).decode())))
    assert len(history) == min(count, 50) == len(rows) - 1
    names = rows[0]
    assert names[:2] == ['time [s since 1970]', 'stamp [s]'] and names[-1] == 'event'
    assert 'position.turn [rad]' in names and 'measured_torque.slide [N]' in names
    for row, k in zip(rows[1:], range(first, count), strict=True):
        found = dict(zip(names, row, strict=True))
        assert float(found['time [s since 1970]']) == 1000.0 + 0.04 * k
        assert float(found['stamp [s]']) == 7.0 + 0.04 * k
        for name, units in QUANTITIES.items():
            for j, joint in enumerate(JOINTS):
                text = found[f'{name}.{joint.name} [{units[joint.slides]}]']
                assert (float(text) == added[k][name][j] if name in added[k] else text == '')
    told = [row[-1] for row in rows[1:]]
    assert told == [('mode: from "a" to b; stop' if k == 2 else '') for k in range(len(told))]
    if count:
        begin, end = 1000.0 + 0.04 * (first + 5), 1000.0 + 0.04 * (first + 20)
        t, found = history.window(begin, end, 'slide')
        wanted = [k for k in range(first, count) if begin <= 1000.0 + 0.04 * k <= end]
        np.testing.assert_array_equal(t, [1000.0 + 0.04 * k for k in wanted])
        np.testing.assert_array_equal(
            found['velocity'], [added[k]['velocity'][1] for k in wanted])
        for nothing in ((0.0, 999.0), (2000.0, 3000.0), (end, begin)):
            assert len(history.window(*nothing, 'turn')[0]) == 0
    assert ROWS == 15000


def test_expected_torques_come_later_and_lie_on_the_line():
    """Rows between two points are interpolated by stamps; others, and those filled, stay."""
    history = JointHistory(JOINTS, 50)
    for k in range(60):
        history.add(1000.0 + 0.04 * k, 5.0 + 0.04 * k, position=[k, k])
    stamps = np.array([5.4, 5.8, 6.4])
    history.expect(stamps, np.column_stack([10.0 * stamps, np.array([1.0, 3.0, 0.0])]))
    t, found = history.window(0.0, 2000.0, 'turn')
    stamp = t - 995.0
    inside = (stamp > 5.4 - 1e-6) & (stamp < 6.4 + 1e-6)
    np.testing.assert_allclose(found['expected_torque'][inside], 10.0 * stamp[inside])
    assert np.isnan(found['expected_torque'][~inside]).all() and inside.sum() > 20
    slide = history.window(0.0, 2000.0, 'slide')[1]['expected_torque']
    np.testing.assert_allclose(slide[np.abs(stamp - 5.6) < 1e-6], 2.0)
    history.expect(stamps, np.zeros((3, 2)))
    np.testing.assert_array_equal(
        history.window(0.0, 2000.0, 'turn')[1]['expected_torque'], found['expected_torque'])


def test_marks_leave_the_lines_as_they_are():
    """At an event there is a peak from 0 to 1 and back; at other times the line of events is 0."""
    t, x = np.linspace(10.0, 11.0, 11), np.linspace(0.0, 5.0, 11)
    at, event, (line,) = with_marks(t, [x], [10.25, 10.25, 10.8, 12.0])
    assert (np.diff(at) >= 0.0).all() and len(at) == 11 + 12
    np.testing.assert_allclose(at[event == 1.0], [10.25, 10.25, 10.8, 11.0])
    assert sorted(set(event)) == [0.0, 1.0]
    np.testing.assert_allclose(line, np.interp(at, t, x), atol=0.3)
    np.testing.assert_array_equal(np.isin(line, x), True)
    at, _, _ = with_marks(t, [x], [10.28, 10.24, 10.25])  # as events come: the newest first
    assert (np.diff(at) >= 0.0).all()
    same = with_marks(t, [x], [])
    np.testing.assert_array_equal(same[0], t)
    assert not same[1].any()
