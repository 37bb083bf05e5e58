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

"""A flood on an input costs a bounded share of the time, and what is newest is heard."""

import contextlib
import math
import sys
import threading
import time
from types import SimpleNamespace

from geometry_msgs.msg import Quaternion, TransformStamped
from input_rig import clocked, Handle, Node
from isolation import own_domain
import numpy as np
import pytest
from rbd_ros.control.safety.freshness import StateAge
from rbd_ros.control.throttle import Budget
from rbd_ros.nodes.controller import (
    bounded_action, bounded_services, gravity_input, responses)
from rbd_ros.nodes.controller.bounded_action import BoundedActionServer
from rbd_ros.nodes.controller.bounded_services import bound_services
from rbd_ros.nodes.controller.bounded_topics import BoundedInput, BURST, SHARE
from rbd_ros.nodes.controller.gravity_input import base_frames, GravityInput
import rclpy
from rclpy.action import ActionServer
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import Imu
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage


def test_budget_is_a_share_of_time():
    """Whoever always spends all that is left gets the share, and the burst once."""
    budget, spent = Budget(0.2, 0.1), 0.0
    for k in range(10_000):
        while budget.left(0.001 * k):
            budget.spend(0.003)
            spent += 0.003
    assert spent == pytest.approx(0.2 * 10.0 + 0.1, abs=0.004)
    budget.cut()
    assert not budget.left(0.0)  # time that goes back earns nothing


def build(monkeypatch, cost, depth=1, **more):
    """Return a node on a fake clock, an input of it, and what it complains about."""
    node, told = clocked(monkeypatch, Node(cost, depth)), []
    return node, BoundedInput(node, str, '/topic', node.take, 1, told.append, **more), told


def test_gravity_input_ends_its_subscriptions_in_a_flood(monkeypatch):
    """A subscription out of the executor is unknown to its node, and ended all the same."""
    node, bounded_input, _ = build(monkeypatch, 5e-3)
    node.destroy_node = lambda: None
    gravity = GravityInput.__new__(GravityInput)
    gravity._node, gravity._inputs = node, [bounded_input]
    gravity._executor = SimpleNamespace(shutdown=lambda timeout_sec: None)
    gravity._thread = SimpleNamespace(join=lambda seconds: None)
    node.run(1.0, 10_000)
    assert bounded_input.polling and not node._subscriptions
    ended = []
    monkeypatch.setattr(node, 'destroy_subscription', ended.append)
    gravity.destroy()
    assert ended == [bounded_input._subscription] and not node.timers


@pytest.mark.parametrize('cost', [1e-5, 3e-4, 5e-3])
def test_a_flood_gets_its_share_and_no_more(monkeypatch, cost):
    """Ten thousand messages per second take their share of time; the last one is heard."""
    node, _, told = build(monkeypatch, cost)
    last = node.run(5.0, 10_000)
    allowed = SHARE * 5.0 + BURST + cost
    assert node.cpu <= allowed and len(node.handed) > 100
    assert len(node.handed) * 1e-4 <= allowed + 1e-4 * len(node.timers)
    assert len(told) == 1 and '/topic' in told[0]
    node.run(1.0)
    assert node.handed[-1][1] == last
    gaps = [b - a for (a, _), (b, _) in zip(node.handed[50:], node.handed[51:])]
    assert max(gaps) < 0.02 + 2.0 * cost / SHARE  # heard all the time


def test_an_ordinary_stream_is_taken_as_it_comes(monkeypatch):
    """Five hundred messages per second of a tenth of a millisecond wait for nothing."""
    node, subject, told = build(monkeypatch, 1e-4)
    node.run(5.0, 500)
    assert not told and not subject.polling
    assert len(node.handed) == 2500
    assert all(at == message for at, message in node.handed)


def test_after_a_flood_messages_are_taken_as_they_come_again(monkeypatch):
    """The topic goes back to the executor, and a new flood is reported again."""
    node, subject, told = build(monkeypatch, 3e-4)
    node.run(3.0, 10_000)
    assert subject.polling and not node._subscriptions
    node.run(9.0)
    assert not subject.polling and len(node._subscriptions) == 1
    count = len(node.handed)
    node.run(1.0, 100)
    assert len(node.handed) == count + 100
    node.run(2.0, 10_000)
    assert len(told) == 2


def test_a_callback_that_raises_is_paid_for(monkeypatch):
    """What raises costs as much as what does not; the exception goes to the guard."""
    node, subject, _ = build(monkeypatch, 1e-3)

    def bad(message):
        node.take(message)
        raise ValueError('bad message')
    subject._callback = bad
    for _ in range(1000):
        with contextlib.suppress(ValueError):
            node.publish('x')
    assert subject.polling
    assert node.cpu <= BURST + 1e-3


def test_destroyed_while_flooded(monkeypatch):
    """Nothing is left behind, though the executor did not know the topic any more."""
    node, subject, _ = build(monkeypatch, 1e-3)
    node.run(0.5, 10_000)
    assert subject.polling
    subject.destroy()
    assert not node._subscriptions and not node.timers


def test_where_each_message_counts_as_many_as_possible_are_read(monkeypatch):
    """Those that were kept are read in their order, within the share of time."""
    cost = 1e-3
    node, subject, told = build(monkeypatch, cost, depth=20, newest=False)
    last = node.run(5.0, 10_000)
    assert subject.polling and len(told) == 1 and 'some of the newest' in told[0]
    read = [message for _, message in node.handed]
    assert read == sorted(read)
    assert len(read) * (cost + 1e-4) <= SHARE * 5.0 + BURST + 2 * cost
    assert len(read) > 0.8 * (SHARE * 5.0) / (cost + 1e-4)
    node.run(1.0)
    assert node.handed[-1][1] == last


class Request:
    """A request of a service."""

    def __init__(self, number):
        self.number = number


class Service:
    """A service as the executors of rclpy see it, and the middleware behind it."""

    srv_type = SimpleNamespace(Request=Request, Response=dict)

    def __init__(self, node, name, depth=10):
        self.node, self.srv_name, self.kept, self.depth = node, name, [], depth
        self.callback, self.sent, self.handle = self.work, [], Handle(None)
        self.handle.service_take_request = lambda kind: (
            self.kept.pop(0) if self.kept else (None, None))
        node._services.append(self)

    def work(self, request, response):
        """Take processor time for an answer."""
        self.node.cpu += self.node.cost
        return {'number': request.number}

    def send_response(self, response, header):
        """Note an answer."""
        assert isinstance(response, dict)
        self.sent.append((self.node.now, response['number'], header))

    def request(self, number):
        """Bring a request to the executor, or into the history of the middleware."""
        if self in self.node._services:
            self.send_response(self.callback(Request(number), {}), -number)
        else:
            self.kept = [*self.kept, (Request(number), -number)][-self.depth:]


def flood(node, services, seconds, rate):
    """Bring requests to services in turn; returns the number of the last."""
    count = 0
    for k in range(round(seconds * 10_000)):
        node.now += 1e-4
        while count < (k + 1) * 1e-4 * rate:
            count += 1
            for service in services:
                service.request(count)
        node.serve_timers()
    return count


@pytest.mark.parametrize('cost', [2e-5, 3e-4, 4e-3])
def test_a_flood_of_requests_gets_its_share(monkeypatch, cost):
    """Each answer goes to who asked, the newest one too, within the share of time."""
    node, told = clocked(monkeypatch, Node(cost)), []
    service = Service(node, '/reset')
    bound_services(node, told.append)
    last = flood(node, [service], 5.0, 10_000)
    most = bounded_services.SHARE * 5.0 + bounded_services.BURST + cost
    assert 0.5 * most < len(service.sent) * (cost + 1e-4) <= most + 1e-4
    assert len(told) == 1 and '/reset' in told[0]
    flood(node, [], 1.0, 0)
    assert all(number == -header for _, number, header in service.sent)
    assert service.sent[-1][1] == last
    flood(node, [], 9.0, 0)
    assert node._services == [service]
    service.request(last + 1)
    assert service.sent[-1][0] == node.now  # answered at once again


def test_a_flood_on_one_service_delays_no_other(monkeypatch):
    """Whatever comes on the others, a stop is answered as it comes."""
    node = clocked(monkeypatch, Node(1e-3))
    stop, *others = [Service(node, name) for name in ('/stop', '/reset', '/get_state')]
    bound_services(node, lambda _: None)
    for k in range(5):
        flood(node, others, 0.5, 5_000)
        stop.request(k)
        assert stop.sent[-1][:2] == (node.now, k)


def test_requests_that_the_executor_had_taken_are_answered(monkeypatch):
    """An executor may bring some more after the service was taken out of its hands."""
    node = clocked(monkeypatch, Node(0.06))
    service = Service(node, '/set_parameters')
    bound_services(node, lambda _: None)
    for k in range(40):  # the dearest request counts 5 ms
        service.send_response(service.callback(Request(k), {}), -k)
    count = len(service.sent)
    assert 10 <= count <= 11 and [number for _, number, _ in service.sent] == list(range(count))
    flood(node, [], 2.0, 0)
    assert [number for _, number, _ in service.sent[count:]] == list(range(30, 40))


def test_a_long_request_is_no_flood(monkeypatch):
    """A configuration takes seconds; the activation after it is answered at once."""
    node, told = clocked(monkeypatch, Node(3.0)), []
    service = Service(node, '/change_state')
    bound_services(node, told.append)
    for k in range(4):
        service.request(k)
    assert len(service.sent) == 4 and not told


class ActionNode(Node):
    """A node with an action server, whose executor runs a task at once."""

    def __init__(self, cost):
        super().__init__(cost)
        self.waitables, self.executor = [], SimpleNamespace(create_task=self.run_task)
        self.add_waitable, self.remove_waitable = self.waitables.append, self.waitables.remove
        self.goals, self.cancellations, self.done = 0, 0, []

    def resolve_service_name(self, name):
        """Return a name as it is."""
        return name

    def run_task(self, work, data):
        """Run a coroutine that waits for nothing."""
        with contextlib.suppress(StopIteration):
            work(data).send(None)

    def serve(self, server):
        """Do what an executor does as long as something is ready."""
        while server in self.waitables and (self.goals or self.cancellations):
            server._is_goal_request_ready = bool(self.goals)
            server._is_cancel_request_ready = bool(self.cancellations)
            self.run_task(server.execute, server.take_data())


def action_server(monkeypatch, node, told):
    """Return a server whose middleware is the node."""
    def made(self, *_, **__):
        self._goal_handles = {}
        node.add_waitable(self)

    def take_data(self):
        data = {}
        for kind, flag, kept in (('goal', self._is_goal_request_ready, 'goals'),
                                 ('cancel', self._is_cancel_request_ready, 'cancellations')):
            if flag and getattr(node, kept):
                setattr(node, kept, getattr(node, kept) - 1)
                data[kind] = kind
        return data | {'expired': ()}

    async def execute(self, data):
        for kind in ('goal', 'cancel'):
            if kind in data:
                node.cpu += node.cost
                node.done.append((node.now, kind))
    for method in (take_data, execute):
        monkeypatch.setattr(ActionServer, method.__name__, method)
    monkeypatch.setattr(ActionServer, '__init__', made)
    return BoundedActionServer(node, object, '~/follow', told.append)


def test_a_flood_of_goals_gets_its_share(monkeypatch):
    """Goals take their share of time; a cancellation is not behind them in the queue."""
    node, told = clocked(monkeypatch, ActionNode(1e-3)), []
    server = action_server(monkeypatch, node, told)
    asked = None
    for k in range(30_000):
        node.now += 1e-4
        node.goals = min(node.goals + 1, 10)  # the middleware keeps so many
        if k == 20_000:
            node.cancellations, asked = 1, node.now
        node.serve(server)
        node.serve_timers()
    most = bounded_action.SHARE * 3.0 + bounded_action.BURST + 2e-3
    assert 0.5 * most < len(node.done) * 1.1e-3 <= most
    assert len(told) == 1 and '~/follow' in told[0]
    [cancelled] = [at for at, kind in node.done if kind == 'cancel']
    assert cancelled - asked < 0.05
    node.goals = 0
    Node.run(node, 9.0)
    assert node.waitables == [server]


def test_a_client_that_has_gone_is_waited_for_once(monkeypatch):
    """Others are answered; it is tried again after a while, as it may have been slow only."""
    now, told, sent, codes = [10.0], [], [], {}
    monkeypatch.setattr(responses, 'time', SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(responses, '_send', lambda: lambda service, request, message: (
        sent.append((request, message)) or codes.get(request[:16], 0)))
    responder = responses.Responder(told.append)
    service = SimpleNamespace(handle=contextlib.nullcontext(), srv_name='/stop')
    service.handle.pointer = 1

    def answer(client, message):
        responder._hand_over(responses._Response(service, client * 16 + b'12345678', message,
                                                 lambda _: None))
        return [m for r, m in sent if r[:1] == client]
    codes[b'a' * 16] = 2
    assert answer(b'a', 1) == [1] and len(told) == 1 and '/stop' in told[0]
    assert answer(b'a', 2) == [1]
    assert answer(b'b', 3) == [3] and len(told) == 1
    now[0] += 1.5
    codes.clear()
    assert answer(b'a', 4) == [1, 4]
    assert answer(b'a', 5) == [1, 4, 5]
    codes[b'c' * 16] = 1  # an error that is no waiting: the next response is sent at once
    assert answer(b'c', 6) == [6] and len(told) == 2
    assert answer(b'c', 7) == [6, 7] and len(told) == 3


class Gravity(GravityInput):
    """What hears directions of gravity, without ROS: notes what it hands over, and when."""

    def __init__(self, turns):
        self._imu_axes, self._age = turns, StateAge(0.5, probes=1)
        self.now, self.heard, self.reason = 0.0, [], ''
        self._clock = lambda: self.now
        self._robot = SimpleNamespace(model=SimpleNamespace(body_names=['base']))
        self._frame, self._stamp, self._missing = 'world', 0.0, KeyError
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


def test_responses_that_cannot_be_sent_are_bounded(monkeypatch):
    """The oldest make room and are let go; that is logged once until all have been sent."""
    held, told, sent, freed = threading.Event(), [], [], []
    monkeypatch.setattr(responses, '_MAX_WAITING', 3)
    monkeypatch.setattr(responses.Responder, '_hand_over', lambda _, response: (
        held.wait(10.0), sent.append(response.message)))
    responder = responses.Responder(told.append)
    service = SimpleNamespace(srv_name='/ask')

    def put(*messages):
        for message in messages:
            responder._put(responses._Response(service, b'', message, freed.append))
    put(0)
    until(lambda: [responder._waiting.empty() or None])  # the thread has taken it
    put(*range(1, 8))
    assert freed == [1, 2, 3, 4] and len(told) == 1 and '/ask' in told[0]
    held.set()
    until(lambda: [len(freed) == 8 or None])
    assert sent == [0, 5, 6, 7] and sorted(freed) == list(range(8))
    held.clear()
    put(8)
    until(lambda: [responder._waiting.empty() or None])
    put(*range(9, 13))
    assert len(told) == 2
    held.set()


def test_a_response_goes_through_rcl_without_the_interpreter():
    """What the responder sends arrives at the client that asked; other headers are refused."""
    context, told = rclpy.Context(), []
    with own_domain():
        rclpy.init(context=context)
    node = rclpy.create_node('responses', context=context)
    try:
        service = node.create_service(Trigger, 'ask', lambda *_: None)
        client = node.create_client(Trigger, 'ask')
        assert client.wait_for_service(20.0)
        sequence = client.handle.send_request(Trigger.Request())
        request, header = until(lambda: service.handle.service_take_request(Trigger.Request))
        assert request is not None
        found = responses.request_id(header)
        assert int.from_bytes(found[16:], sys.byteorder) == sequence
        assert responses.request_id(42) is None
        with pytest.MonkeyPatch.context() as patch:  # a layout that is not the expected one
            patch.setattr(responses, '_GUID', 12)
            assert responses.request_id(header) is None
        responder = responses.Responder(told.append)
        assert not responder.send(service, Trigger.Response(), 42)
        assert not responder.send(service, Trigger.Request(), header)
        assert responder.send(service, Trigger.Response(success=True, message='well'), header)
        answered, response = until(lambda: client.handle.take_response(Trigger.Response))
        assert answered.request_id.sequence_number == sequence
        assert response.success and response.message == 'well' and not told
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)


def until(take):
    """Return what is taken as soon as there is something."""
    for _ in range(2000):
        found = take()
        if found is not None and found[0] is not None:
            return found
        time.sleep(0.01)
    raise AssertionError('nothing came')
