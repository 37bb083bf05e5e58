# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A flood on an input costs a bounded share of the time, and what is newest is heard."""

import contextlib
import sys
import threading
import time
from types import SimpleNamespace

from input_rig import clocked, Handle, Node
from isolation import own_domain
import pytest
from rbd_env.pace import patient
from rbd_ros.control.throttle import Budget
from rbd_ros.nodes.controller import bounded_services, responses
from rbd_ros.nodes.controller.bounded_services import bound_services
from rbd_ros.nodes.controller.bounded_topics import BoundedInput, BURST, SHARE
import rclpy
from std_srvs.srv import Trigger


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
    assert subject.polling and not node.subscribed
    node.run(9.0)
    assert not subject.polling and len(node.subscribed) == 1
    count = len(node.handed)
    node.run(1.0, 100)
    assert len(node.handed) == count + 100
    node.run(2.0, 10_000)
    assert len(told) == 2


def test_a_callback_that_raises_is_paid_for(monkeypatch):
    """What raises costs as much as what does not; the exception goes to the guard."""
    node = clocked(monkeypatch, Node(1e-3))

    def bad(message):
        node.take(message)
        raise ValueError('bad message')
    subject = BoundedInput(node, str, '/topic', bad, 1, lambda _: None)
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
    assert not node.subscribed and not node.timers


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
        node.served.append(self)

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
        if self in self.node.served:
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
    assert node.served == [service]
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


def test_a_client_that_is_not_there_yet_is_waited_for(monkeypatch):
    """Others are answered; it gets its answers after a while, as it may have been slow only."""
    now, told, sent, codes = [10.0], [], [], {}
    monkeypatch.setattr(responses, 'time', SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(responses, '_send', lambda: lambda service, request, message: (
        sent.append((request, message)) or codes.get(request[:16], 0)))
    responder = responses.Responder(told.append)
    service = SimpleNamespace(handle=contextlib.nullcontext(), srv_name='/stop')
    service.handle.pointer = 1

    def answer(client, message):
        responder.hand_over(responses.Response(
            service, client * 16 + b'12345678', message, lambda _: None))
        return [m for r, m in sent if r[:1] == client]
    codes[b'a' * 16] = 2

    def again():
        now[0] += 1.0
        for _ in range(len(responder.later)):
            responder.hand_over(responder.later.popleft())
    assert answer(b'a', 1) == [1] and answer(b'a', 2) == [1]
    assert answer(b'b', 3) == [3] and not told
    again()
    assert [m for _, m in sent] == [1, 3, 1]
    codes.clear()
    again()
    assert [m for _, m in sent] == [1, 3, 1, 1, 2] and not responder.later
    assert answer(b'a', 4)[-1] == 4 and not told
    codes[b'a' * 16] = 2  # for good
    assert answer(b'a', 5)[-1] == 5
    for _ in range(4):
        again()
    assert not told and len(responder.later) == 1
    again()
    assert len(told) == 1 and '/stop' in told[0] and not responder.later
    codes[b'c' * 16] = 1  # an error that is no waiting: the next response is sent at once
    assert answer(b'c', 6) == [6] and len(told) == 2
    assert answer(b'c', 7) == [6, 7] and len(told) == 3


def test_of_many_clients_that_have_gone_the_oldest_is_forgotten(monkeypatch):
    """The age of one that was waited for again counts from then; a hundred are remembered."""
    now, asked = [10.0], []
    monkeypatch.setattr(responses, 'time', SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(responses, '_send', lambda: lambda _service, request, _message: (
        asked.append(int.from_bytes(request[:16], 'big')) or 2))
    responder = responses.Responder(lambda _: None)
    service = SimpleNamespace(handle=contextlib.nullcontext(), srv_name='/stop')
    service.handle.pointer = 1

    def is_waited_for(client):
        before = len(asked)
        responder.hand_over(responses.Response(
            service, client.to_bytes(16, 'big') + b'12345678', 1, lambda _: None))
        return asked[before:] == [client]
    assert all(is_waited_for(client) for client in range(100))
    now[0] += 1.1
    assert is_waited_for(50)
    assert all(is_waited_for(client) for client in range(200, 299))
    assert not is_waited_for(50) and not is_waited_for(200)
    assert is_waited_for(300) and is_waited_for(50) and not is_waited_for(201)


def test_responses_that_cannot_be_sent_are_bounded(monkeypatch):
    """The oldest make room and are let go; that is logged once until all have been sent."""
    held, told, sent, freed = threading.Event(), [], [], []
    monkeypatch.setattr(responses, '_MAX_WAITING', 3)
    monkeypatch.setattr(responses.Responder, 'hand_over', lambda _, response: (
        held.wait(patient(10.0)), sent.append(response.message)) is not None)
    responder = responses.Responder(told.append)
    service = SimpleNamespace(srv_name='/ask')

    def put(*messages):
        for message in messages:
            responder.put(responses.Response(service, b'', message, freed.append))
    put(0)
    until(lambda: [responder.waiting.empty() or None])  # the thread has taken it
    put(*range(1, 8))
    assert freed == [1, 2, 3, 4] and len(told) == 1 and '/ask' in told[0]
    held.set()
    until(lambda: [len(freed) == 8 or None])
    assert sent == [0, 5, 6, 7] and sorted(freed) == list(range(8))
    held.clear()
    put(8)
    until(lambda: [responder.waiting.empty() or None])
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
