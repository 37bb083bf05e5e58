# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Records topics as they are on the network, without reading the messages.

It only listens: subscriptions ask for no more than publishers offer, and where changes of
parameters are recorded, those of the controller are read once, so that it can be replayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import importlib
import time
from typing import Any, NamedTuple

from rbd_ros.nodes.own_node import OwnNode
from rbd_ros.nodes.recorded_parameters import KIND, parameter_event
from rbd_ros.recording.definitions import definition
from rbd_ros.recording.mcap_file import McapFile
from rbd_ros.recording.topics import PARAMETER_EVENTS
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

__all__ = ['Recorder', 'Recorded']

#: Messages that wait while this process does not get a processor.
DEPTH = 2000
#: s between two looks for new topics and publishers.
LOOK = 0.5
#: s after which a controller that has not answered is asked for its parameters once more.
_ASK_AGAIN = 2.0
#: s that parameters are waited for when all else has been recorded.
_PATIENCE = 5.0
#: s that a quiet network is waited for. Always the same: with another one the executor begins
#: anew with its first topic, and the last ones never have their turn.
_WAIT = 0.05
#: Messages of one topic that are taken at once; others wait meanwhile.
_AT_ONCE = 100


class Recorded(NamedTuple):
    """What has been recorded so far; ``seconds`` since the first message, ``topics``: messages."""

    seconds: float
    messages: int
    bytes: int
    lost: int
    topics: Mapping[str, int]

    def line(self) -> str:
        """Return it in one line."""
        return (f'{self.seconds:.1f} s, {self.messages} messages on {len(self.topics)} topics, '
                f'{self.bytes / 1e6:.2f} MB, {self.lost} lost')


class Recorder(OwnNode):
    """
    Topics that are recorded.

    :param file: gets the messages; whoever opened it closes it.
    :param topics: names; None for all that there are.
    :param controllers: names of the nodes whose parameters are recorded.
    """

    def __init__(self, file: McapFile, topics: Sequence[str] | None, *controllers: str) -> None:
        super().__init__('rbd_record', enable_rosout=False, start_parameter_services=False)
        self._file, self._wanted = file, None if topics is None else set(topics)
        self._first: float | None = None  # when a message was heard first, on the steady clock
        self._looked = -LOOK
        self._topics: dict[str, _Topic] = {}
        #: what cannot be recorded, and why, by topic
        self.refused: dict[str, str] = {}
        #: topics that are there and are not recorded, as nobody asked for them
        self.others: set[str] = set()
        wanted = self._wanted is None or PARAMETER_EVENTS in self._wanted
        #: of the controllers that have not told their parameters yet, by name
        self._unread = {name: AsyncParameterClient(self._node, name)
                        for name in controllers if wanted}
        self._asked: dict[str, float] = {}  # when they were asked last, on the steady clock

    def spin(self, seconds: float) -> None:
        """Record for some time."""
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            if now - self._looked >= LOOK:
                self._looked = now
                self._look()
            self._executor.spin_once(timeout_sec=_WAIT)
            if self._first is None and self._file.messages:
                self._first = time.monotonic()

    def wait_for_parameters(self) -> list[str]:
        """
        Go on recording until all controllers that are there have told their parameters.

        A short recording on a busy machine ends before they have answered.

        :returns: the names of those that did not answer for some seconds.
        """
        end = time.monotonic() + _PATIENCE
        while (missing := self._silent()) and time.monotonic() < end:
            self.spin(_WAIT)
        return missing

    def _silent(self) -> list[str]:
        """Return the controllers that are there and have not told their parameters."""
        return [name for name in self._unread if name in self._asked or any(
            topic.startswith(f'{name}/') for topic in self.kinds)]

    @property
    def recorded(self) -> Recorded:
        """Return what has been recorded."""
        return Recorded(
            0.0 if self._first is None else time.monotonic() - self._first,
            self._file.messages, self._file.size,
            sum(each.lost for each in self._topics.values()),
            {name: each.count for name, each in sorted(self._topics.items())})

    @property
    def kinds(self) -> dict[str, str]:
        """Return the types of what has been recorded, by topic."""
        return {name: each.kind for name, each in self._topics.items() if each.count}

    def _look(self) -> None:
        """Subscribe to what has appeared, and ask for parameters until they are told."""
        for name, _ in self._node.get_topic_names_and_types():
            if self._wanted is not None and name not in self._wanted:
                self.others.add(name)
            elif name not in self.refused:
                self._listen(name)
        for name, client in self._unread.items():
            if (self._looked - self._asked.get(name, -_ASK_AGAIN) >= _ASK_AGAIN
                    and client.services_are_ready()):
                self._asked[name] = self._looked
                self._ask(name, client)

    def _listen(self, name: str) -> None:
        publishers = self._node.get_publishers_info_by_topic(name)
        if not publishers:
            return
        offers = [each.qos_profile for each in publishers]
        # of publishers alone: somebody may listen for another type
        kinds = sorted({each.topic_type for each in publishers})
        known = self._topics.get(name)
        try:
            if known is None:
                known = self._topics[name] = _Topic(self._file, name, kinds)
            known.listen(self._node, offers)
        except (ImportError, AttributeError, ValueError) as error:
            self._topics.pop(name, None)
            self.refused[name] = str(error)

    def _ask(self, controller: str, client: AsyncParameterClient) -> None:
        def on_names(future: Any) -> None:
            names = list(future.result().result.names)
            client.get_parameters(names, callback=lambda found: self._on_values(
                controller, names, found.result().values))
        client.list_parameters(callback=on_names)

    def _on_values(self, controller: str, names: Sequence[str], values: Sequence[Any]) -> None:
        """Write the parameters as the event that would have set them all."""
        if self._unread.pop(controller, None) is None:
            return  # it was asked twice, and answered twice
        topic = self._topics.get(PARAMETER_EVENTS)
        if topic is None:
            topic = self._topics[PARAMETER_EVENTS] = _Topic(self._file, PARAMETER_EVENTS, [KIND])
        now = time.time_ns()
        topic.write(parameter_event(controller, now, names, values), now, now)


class _Topic:
    """One topic that is recorded."""

    def __init__(self, file: McapFile, name: str, kinds: Sequence[str]) -> None:
        if len(kinds) != 1:
            raise ValueError(f'it has several types: {", ".join(kinds)}')
        self._file, self._name, self.kind = file, name, kinds[0]
        self._type = _message_class(self.kind)
        self._number: int | None = None
        self._subscription: Any = None
        self._asked: tuple[bool, bool] | None = None
        self._qos = ''
        self.count = self.lost = 0

    def listen(self, node: Any, offers: Sequence[QoSProfile]) -> None:
        """Subscribe with as much as all publishers offer; anew if one appears that offers less."""
        reliable = all(each.reliability == ReliabilityPolicy.RELIABLE for each in offers)
        latched = all(each.durability == DurabilityPolicy.TRANSIENT_LOCAL for each in offers)
        if (reliable, latched) == self._asked:
            return
        if self._subscription is not None:
            node.destroy_subscription(self._subscription)
        self._asked = reliable, latched
        qos = QoSProfile(
            depth=DEPTH,
            reliability=(ReliabilityPolicy.RELIABLE if reliable
                         else ReliabilityPolicy.BEST_EFFORT),
            durability=(DurabilityPolicy.TRANSIENT_LOCAL if latched
                        else DurabilityPolicy.VOLATILE))
        self._qos = _profile(reliable, latched)
        self._subscription = node.create_subscription(
            self._type, self._name, self._take, qos, raw=True,
            event_callbacks=SubscriptionEventCallbacks(message_lost=self._on_lost))

    def _on_lost(self, event: Any) -> None:
        self.lost += event.total_count_change

    def _take(self, data: bytes, info: Mapping[str, int]) -> None:
        self.write(data, info['received_timestamp'], info['source_timestamp'])
        handle, kind = self._subscription.handle, self._type
        for _ in range(_AT_ONCE):  # an executor wakes up for one message at a time
            taken = handle.take_message(kind, True)
            if taken is None:
                break
            self.write(taken[0], taken[1]['received_timestamp'], taken[1]['source_timestamp'])

    def write(self, data: bytes, received: int, sent: int) -> None:
        """
        Write a message.

        :param received: ns since 1970, 0 where the middleware does not tell; ``sent`` likewise.
        """
        if self._number is None:
            self._number = self._file.add_topic(
                self._name, self.kind,
                definition(self.kind, lambda name: _message_class(
                    name.replace('/', '/msg/')).get_fields_and_field_types()), self._qos)
        received = received or time.time_ns()
        self._file.write(self._number, received, sent or received, data)
        self.count += 1


def _message_class(kind: str) -> Any:
    package, part, name = kind.split('/')
    if part != 'msg':
        raise ValueError(f'{kind} is part of an action or a service, which are not recorded')
    return getattr(importlib.import_module(f'{package}.msg'), name)


def _profile(reliable: bool, latched: bool) -> str:
    """Return an offer as rosbag2 writes it, so that it is offered alike when it is played."""
    return (f'- history: keep_last\n  depth: {DEPTH}\n'
            f'  reliability: {"reliable" if reliable else "best_effort"}\n'
            f'  durability: {"transient_local" if latched else "volatile"}\n'
            '  deadline:\n    sec: 9223372036\n    nsec: 854775807\n'
            '  lifespan:\n    sec: 9223372036\n    nsec: 854775807\n'
            '  liveliness: automatic\n'
            '  liveliness_lease_duration:\n    sec: 9223372036\n    nsec: 854775807\n'
            '  avoid_ros_namespace_conventions: false\n')
