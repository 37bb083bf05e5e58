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

"""The direction of gravity: whom it is heard from, how it is turned, and how old it may be."""

import math
from types import SimpleNamespace

from controller_rig import Arm
from geometry_msgs.msg import Quaternion, TransformStamped
import numpy as np
import pytest
from rbd_ros.control.joint_states.ages import StreamAge
from rbd_ros.control.load.tilt import Tilt
from rbd_ros.nodes.controller import gravity_input
from rbd_ros.nodes.controller.gravity_input import base_frames, GravityInput
from rclpy.qos import DurabilityPolicy, qos_profile_sensor_data
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import Imu
from tf2_msgs.msg import TFMessage


class Gravity(GravityInput):
    """What hears directions of gravity, without ROS: notes what it hands over, and when."""

    def __init__(self, turns, controller=None):
        self._controller = controller
        self._imu_axes, self._age, self._tilt = turns, StreamAge(0.5, 1), Tilt({})
        self.now, self.heard, self.reason = 0.0, [], ''
        self._clock = lambda: self.now
        self._robot = SimpleNamespace(model=SimpleNamespace(body_names=['base']))
        self._frame, self._stamp, self._missing = 'world', (0, 0), KeyError
        self.refused, self._kind, self._kept, self.logged = 0, 'imu', set(), []
        self._owner = SimpleNamespace(
            resolve_topic_name=lambda name: name, get_logger=lambda: SimpleNamespace(
                warning=lambda text, **_: self.logged.append(text)))

    def _post_direction(self, down, when):
        self.heard.append((down.tolist(), when))


def quaternion(axis, angle):
    """Return a message of a turn."""
    return Quaternion(w=math.cos(angle / 2.0), **{axis: math.sin(angle / 2.0)})


def stamped(message, time):
    """Return a message with a stamp."""
    message.header.stamp.sec, message.header.stamp.nanosec = 100, round(1e9 * time)
    return message


def test_gravity_of_an_imu_is_turned_into_the_base():
    """An IMU that is rolled, on a base that is pitched: gravity in the axes of the base."""
    c, s = math.cos(0.3), math.sin(0.3)
    roll = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])  # axes of the IMU as columns
    subject = Gravity({'imu': roll})
    pitch = np.array([[math.cos(0.2), 0.0, math.sin(0.2)], [0.0, 1.0, 0.0],
                      [-math.sin(0.2), 0.0, math.cos(0.2)]])
    x, y, z, w = Rotation.from_matrix(pitch @ roll).as_quat()
    for k, late in enumerate((0.0, 0.0, 0.03)):
        subject.now = 0.1 * (k + 1)
        message = Imu(orientation=Quaternion(x=x, y=y, z=z, w=w))
        message.header.frame_id = 'imu'
        subject._on_imu(stamped(message, subject.now - late))
    down, when = subject.heard[-1]
    np.testing.assert_allclose(down, pitch.T @ [0.0, 0.0, -1.0], atol=1e-12)
    assert when == pytest.approx(0.3 - 0.03, abs=2e-4)  # not younger than when it was measured


def test_gravity_of_tf_is_down_in_the_world():
    """The transform from the world to the base has the axes of the world as columns."""
    subject = Gravity({})
    for k in (1, 2, 3):
        subject.now = 0.1 * k
        found = stamped(TransformStamped(), subject.now)
        found.transform.rotation = quaternion('x', 0.4)
        subject._buffer = SimpleNamespace(lookup_transform=lambda *_, found=found: found)
        subject._look_up()
    down, when = subject.heard[-1]
    np.testing.assert_allclose(down, [0.0, math.sin(0.4), -math.cos(0.4)], atol=1e-12)
    assert when == pytest.approx(0.3)


def test_directions_that_cannot_be_used_are_refused():
    """An IMU without orientation, or of a moving frame, and a turn that is none."""
    subject = Gravity({'': np.eye(3)})
    subject._robot.model.frames = {
        'base': SimpleNamespace(body=0), 'hand': SimpleNamespace(body=3)}
    blind = Imu(orientation=Quaternion(w=1.0))
    blind.orientation_covariance[0] = -1.0
    moving = Imu(orientation=Quaternion(w=1.0))
    moving.header.frame_id = 'hand'
    for k, (message, text) in enumerate((
            (blind, 'has no orientation'), (moving, 'frame "hand", which is not fixed to the base '
                                                    '(known: base)'),
            (Imu(orientation=Quaternion(w=0.5)), 'length 0.5')), 1):
        subject._on_imu(message)
        assert (subject.refused, subject.heard) == (k, []) and text in subject.reason
        assert subject.logged.pop() == f'gravity from the topic ~/imu rejected: {subject.reason}'
    assert base_frames(subject._robot) == ['base']


def test_transforms_that_stand_or_are_missing():
    """A static one counts whenever it is looked up, the same one again only once."""
    subject = Gravity({})
    found = TransformStamped()

    def look_up(*frames):
        assert frames[:2] == ('base', 'world')
        return found
    subject._buffer, subject.now = SimpleNamespace(lookup_transform=look_up), 3.0
    subject._look_up()
    subject.now = 4.0
    subject._look_up()
    assert subject.heard == [([0.0, 0.0, -1.0], 3.0), ([0.0, 0.0, -1.0], 4.0)]
    subject.heard.clear()
    for k in range(3):
        subject.now = 5.0 + 0.1 * k
        stamped(found, subject.now - 5.0 + 0.01)
        subject._look_up()
    assert len(subject.heard) == 2 and subject.reason == ''        # after one probe
    subject.now = 5.3
    subject._look_up()
    assert len(subject.heard) == 2 and subject.refused == 0
    found.transform.rotation.w = 2.0
    subject._look_up()
    assert subject.refused == 1 and 'length 2' in subject.reason

    def nothing(*_):
        raise KeyError('no such frame')
    subject._buffer.lookup_transform = nothing
    subject._look_up()
    assert 'no such frame' in subject.reason and len(subject.heard) == 2


def test_frames_of_tf_are_bounded():
    """The buffer never forgets a frame, so that only so many may enter it."""
    subject, kept = Gravity({}), []
    subject._buffer = SimpleNamespace(set_transform=lambda *given: kept.append(given),
                                      set_transform_static=lambda *given: kept.append(given))
    names = [f'frame_{k}' for k in range(gravity_input._MAX_FRAMES + 1)]
    message = TFMessage(transforms=[TransformStamped(child_frame_id=name) for name in names])
    subject._on_tf(message)
    assert len(kept) == gravity_input._MAX_FRAMES and len(subject.logged) == 1
    assert kept[0] == (message.transforms[0], 'tf')
    subject._on_tf_static(TFMessage(transforms=message.transforms[-2:]))
    assert kept[-1] == (message.transforms[-2], 'tf_static')
    assert len(kept) == gravity_input._MAX_FRAMES + 1


@pytest.mark.parametrize(('kind', 'source', 'topics'), [
    ('parameter', 'parameter', {}), ('imu', 'the topic /arm/imu', {'/arm/imu': 'Imu'}),
    ('tf', 'TF from base to world', {'/tf': 'TFMessage', '/tf_static': 'TFMessage'})])
def test_gravity_listens_to_its_source(monkeypatch, kind, source, topics):
    """A thread of its own where there is a topic; what was static before the start is heard."""
    heard, nodes, timers = {}, [], []

    def node(name, **more):
        nodes.append((name, more))
        return SimpleNamespace(create_timer=lambda period, callback, clock: timers.append(
            (period, callback, clock.clock_type.name)))

    def bounded_input(_node, message, topic, callback, qos, _warn, newest=True):
        heard[topic] = (message.__name__, callback, qos, newest)
    made = SimpleNamespace(added=[], spun=[])
    monkeypatch.setattr(gravity_input, 'Node', node)
    monkeypatch.setattr(gravity_input, 'BoundedInput', bounded_input)
    monkeypatch.setattr(gravity_input, 'RobotFrames', lambda controller: None)
    monkeypatch.setattr(gravity_input, 'make_executor', lambda kind: SimpleNamespace(
        add_node=made.added.append, kind=kind))
    monkeypatch.setattr(gravity_input, 'spin_in_thread', lambda executor, name, failed: (
        made.spun.append((executor.kind, name, failed))))
    values = {'gravity_source': kind, 'gravity_frame': 'world', 'executor': 'single',
              'gravity_timeout': 0.2}
    controller = SimpleNamespace(settings=SimpleNamespace(
        simulated=True, text=values.get, number=values.get, robot=SimpleNamespace(
            model=SimpleNamespace(body_names=['base']))))
    log = SimpleNamespace(warning=None, fatal='fatal')
    owner = SimpleNamespace(
        get_name=lambda: 'arm', get_namespace=lambda: '/cell', get_logger=lambda: log,
        resolve_topic_name=lambda name: name.replace('~', '/arm'))
    subject = GravityInput(owner, controller, lambda: 3.0)
    assert subject.source == source and {k: v[0] for k, v in heard.items()} == topics
    assert subject.reason == f'nothing received from {source}'
    if kind == 'parameter':
        assert not nodes and not made.spun
        subject.destroy()
        return
    (name, more), = nodes
    assert (name, more.pop('namespace')) == ('arm_gravity', '/cell')
    overrides = {p.name: p.value for p in more.pop('parameter_overrides')}
    assert overrides == {'use_sim_time': True, 'start_type_description_service': False}
    assert not any(more.values())          # no arguments of others, no services, no /rosout
    assert made.spun == [('single', 'gravity', 'fatal')] and len(made.added) == 1
    if kind == 'imu':
        _, callback, qos, newest = heard['/arm/imu']
        assert (callback, qos, newest) == (subject._on_imu, qos_profile_sensor_data, True)
        assert not timers
        return
    for topic, callback, latched in (('/tf', subject._on_tf, False),
                                     ('/tf_static', subject._on_tf_static, True)):
        _, given, qos, newest = heard[topic]
        assert (given, newest, qos.depth) == (callback, False, 100)
        assert (qos.durability is DurabilityPolicy.TRANSIENT_LOCAL) is latched
    assert timers == [(0.01, subject._look_up, 'STEADY_TIME')]
    assert issubclass(subject._missing, Exception)


def test_transforms_go_into_the_buffer_that_is_asked():
    """Static ones never age; the newest transform of the base to the frame is looked up."""
    subject, asked = Gravity({}), []
    subject._buffer = SimpleNamespace(
        set_transform=lambda t, who: asked.append(('moving', t.child_frame_id)),
        set_transform_static=lambda t, who: asked.append(('static', t.child_frame_id)))
    subject._on_tf(TFMessage(transforms=[TransformStamped(child_frame_id=n) for n in 'ab']))
    subject._on_tf_static(TFMessage(transforms=[TransformStamped(child_frame_id='c')]))
    assert asked == [('moving', 'a'), ('moving', 'b'), ('static', 'c')]

    def look(target, source, when):
        asked.append((target, source, when.nanoseconds))
        raise KeyError('no chain')
    subject._buffer.lookup_transform = look
    subject._look_up()
    assert asked[-1] == ('base', 'world', 0) and 'no chain' in subject.reason


def test_direction_is_a_request_of_the_loop():
    """It is taken by the control thread, with its own time."""
    arm = Arm(gravity_source='imu', gravity_timeout=0.5)
    load, size = arm.controller.x.load, np.linalg.norm(arm.controller.settings.values['gravity'])
    down = np.array([0.0, math.sin(0.4), -math.cos(0.4)])
    before = load.gravity.copy()
    measured = arm.time - 0.1
    GravityInput._post_direction(Gravity({}, arm.controller), down, measured)
    np.testing.assert_array_equal(load.gravity, before)
    arm.run(arm.period)
    np.testing.assert_allclose(load.gravity, size * down, rtol=1e-12, atol=1e-12)
    assert load.received == measured
