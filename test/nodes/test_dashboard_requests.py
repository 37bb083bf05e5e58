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

"""What the dashboard asks of controller and simulator, and nothing without permission."""

import time
from types import SimpleNamespace

from dashboard_page import DESCRIPTION
from rbd_ros.nodes.dashboard import operator as operators
from rbd_ros.nodes.dashboard.operator import Operator, outcome
from rbd_ros.nodes.dashboard.settings import Settings
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rclpy.task import Future
from std_msgs.msg import String
from std_srvs.srv import Trigger


class Client:
    """A service that answers when it is told to."""

    def __init__(self, name):
        self.srv_name, self.asked = name, []

    def service_is_ready(self):
        """Return that it is there."""
        return True

    def call_async(self, request):
        """Keep the request; return what will hold the answer."""
        self.asked.append((request, Future()))
        return self.asked[-1][1]


def test_a_page_that_only_watches_has_nothing_to_send_with(dashboard):
    """It has no publisher; its only client asks for parameters, and every request is dropped."""
    node = dashboard()

    def endpoints():
        return ([each.topic_name for each in node.publishers],
                sorted(each.srv_name for each in node.clients))
    quiet, _ = endpoints()
    node.tabs[0]._on_description(String(data=DESCRIPTION))
    node.update()
    assert node.tabs[0].page is not None
    before = endpoints()
    assert before == (quiet, ['controller/get_parameters'])
    assert {topic.rsplit('/')[-1] for topic in quiet} <= {'rosout', 'parameter_events'}
    operator = Operator(node, 'controller', 'simulator', allowed=False)
    operator.set({'mode': 'hold'})
    operator.stop()
    operator.reset()
    operator.pause(True)
    operator.push('tool0', [1.0, 0.0, 0.0])
    operator.target([0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0])
    assert endpoints() == before
    assert 'only watches' in operator.answer


def test_what_an_operator_sends():
    """Each button asks its own service; the words say what was asked, and the answer."""
    sent, made = {}, {}
    node = SimpleNamespace(
        create_publisher=lambda kind, topic, qos: SimpleNamespace(
            publish=lambda message: sent.setdefault(topic, []).append(message)),
        create_client=lambda kind, name: made.setdefault(name, Client(name)))
    operator = Operator(node, '/arm', '/sim', allowed=True)

    def asked(name, words):
        assert operator.answer == f'{words}: sent'
        request, future = made[name].asked[-1]
        return request, future
    operator.stop()
    asked('/arm/stop', 'stop')[1].set_result(Trigger.Response(success=True, message='braking'))
    assert operator.answer == 'stop: braking'
    operator.reset()
    asked('/arm/reset', 'reset')
    operator.home()
    asked('/sim/reset', 'back to the start pose')
    operator.pause(True)
    assert asked('/sim/pause', 'pause')[0].data is True
    operator.pause(False)
    assert asked('/sim/pause', 'continue')[0].data is False
    operator.set({'mode': 'hold', 'damping': [1.0, 2.5]})
    request, future = asked('/arm/set_parameters', 'mode hold, damping 1, 2.5')
    assert [(p.name, p.value.string_value or list(p.value.double_array_value))
            for p in request.parameters] == [('mode', 'hold'), ('damping', [1.0, 2.5])]
    future.set_result(SetParameters.Response(results=[
        SetParametersResult(successful=True), SetParametersResult(reason='too much')]))
    assert operator.answer == 'mode hold, damping 1, 2.5: refused: too much'
    operator.push('tool0', [1, 2, 3])
    message, = sent['/sim/wrench']
    force = message.wrench.force
    assert (message.header.frame_id, force.x, force.y, force.z) == ('tool0', 1.0, 2.0, 3.0)


def test_what_a_service_answered_is_told():
    """Success, refusal and failure have words of their own."""
    def answered(**fields):
        future = Future()
        future.set_result(Trigger.Response(**fields))
        return outcome(future)
    assert answered(success=True) == 'done'
    assert answered(success=False, message='there is no fault') == 'there is no fault'
    failed = Future()
    failed.set_exception(RuntimeError('gone'))
    assert outcome(failed) == 'gone'


def test_a_service_that_is_not_there_is_named(node):
    """A command that could not be sent is not passed over."""
    operator = Operator(node, 'nobody', 'simulator', allowed=True)
    operator.stop()
    assert operator.answer == 'stop: not sent, nobody/stop does not answer'


def test_answers_that_never_come_are_given_up(node, monkeypatch):
    """Requests that nobody answers do not pile up, and the page says what became of them."""
    service = node.create_service(Trigger, 'deaf/stop', lambda request, response: response)
    operator = Operator(node, 'deaf', 'simulator', allowed=True)
    client = operator._stop
    assert client.wait_for_service(20.0)  # nobody spins: nothing is answered
    for _ in range(2 * operators.MAX_PENDING):
        operator.stop()
    assert len(client._pending_requests) == len(operator._sent) == operators.MAX_PENDING
    assert operator.answer == 'stop: sent'
    late = time.monotonic() + operators.ANSWER_TIMEOUT + 1.0
    monkeypatch.setattr(time, 'monotonic', lambda: late)
    operator.expire()
    assert not client._pending_requests and not operator._sent
    assert operator.answer == 'stop: no answer from deaf/stop'
    node.destroy_service(service)


def test_values_are_read_by_name(monkeypatch):
    """Answers come in the order of the question; an error takes nothing, and says nothing."""
    clock = [100.0]
    monkeypatch.setattr(time, 'monotonic', lambda: clock[0])
    client = Client('/arm/get_parameters')
    settings = Settings(SimpleNamespace(create_client=lambda *_: client), '/arm')

    def answered(k, *values):
        request, future = client.asked[k]
        future.set_result(SimpleNamespace(values=[
            Parameter(name, value=value).get_parameter_value()
            for name, value in zip(request.names, values, strict=False)]))
    settings.refresh()
    asked = [list(request.names) for request, _ in client.asked]
    assert asked[0] == ['payload.mass', 'stiffness', 'damping', 'gravity'] and len(asked) == 3
    answered(0, 2.5, [1.0, 2.0], [3.0], [0.0, 0.0, -9.81])
    expected = {'payload.mass': 2.5, 'stiffness': [1.0, 2.0], 'damping': [3.0],
                'gravity': [0.0, 0.0, -9.81]}
    assert settings.values == expected
    answered(1)  # a controller that does not know one of the names: it is not asked again
    client.asked[2][1].set_exception(RuntimeError('gone'))
    settings.refresh()
    assert len(client.asked) == 3 and settings.values == expected
    clock[0] += 2.1
    settings.refresh()
    assert [list(request.names) for request, _ in client.asked[3:]] == [asked[0], asked[2]]
    clock[0] += 2.1
    settings.refresh()
    assert len(client.asked) == 5  # both are waited for, and then given up
    clock[0] += 3.0
    dropped = []
    client.remove_pending_request = dropped.append
    client.service_is_ready = lambda: False
    settings.refresh()
    assert len(dropped) == 2 and len(client.asked) == 5
    clock[0] += 2.1
    client.service_is_ready = lambda: True  # another one, perhaps
    settings.refresh()
    assert [list(request.names) for request, _ in client.asked[5:]] == asked
    settings.postpone()
    for k in (5, 6, 7):
        answered(k)
    clock[0] += 1.9
    settings.refresh()
    assert len(client.asked) == 8
