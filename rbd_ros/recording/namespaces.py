# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Which robots a recording holds: the namespaces of joint states and of controllers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from rbd_ros.errors import nearest, RbdError
from rbd_ros.recording.topics import (
    CONTROLLER_STATE, JOINT_STATE, needed_to_replay, PARAMETER_EVENTS)

__all__ = ['choose_robot', 'full_namespace', 'next_steps', 'recorded_robots', 'RecordedRobot']

_STATES, _DESCRIPTION, _REPORT = '/joint_states', '/robot_description', '/controller_state'


class RecordedRobot(NamedTuple):
    """
    Where the topics of a robot are.

    :param namespace: of its controller, or of its states; empty: none.
    :param joint_states: topic; ``description`` likewise. Those beside all namespaces, if its own
        were not recorded.
    :param controller: name of the node, with the namespace.
    """

    namespace: str
    joint_states: str
    description: str
    controller: str

    @property
    def needed(self) -> dict[str, str]:
        """Return the topics without which it cannot be replayed, and what would be missing."""
        return needed_to_replay(self.controller, self.joint_states, self.description)

    @property
    def shown(self) -> str:
        """Return the namespace as ROS writes it."""
        return self.namespace or '/'


def full_namespace(name: str) -> str:
    """
    Return a namespace as it begins the names of topics.

    :param name: with or without slashes; / is that of a robot without a namespace.
    """
    inner = name.strip('/')
    return f'/{inner}' if inner else ''


def recorded_robots(kinds: Mapping[str, str]) -> list[RecordedRobot]:
    """
    Return the robots of a recording, in the order of their namespaces.

    Those of controllers; without any, those of joint states with a description. Joint states
    alone, as of a gripper, are a robot only if there is nothing else.

    :param kinds: types by topic.
    """
    nodes, states = _controllers(kinds), _states(kinds)
    described = [space for space in states if f'{space}{_DESCRIPTION}' in kinds]
    spaces = [*nodes] or described or ([''] if '' in states else states)
    return [_robot(space, kinds, nodes.get(space)) for space in sorted(spaces)]


def _controllers(kinds: Mapping[str, str]) -> dict[str, str]:
    """Return the node of the controller by namespace; of several the one with ~/state."""
    nodes: dict[str, str] = {}
    for topic in sorted(kinds):
        node = topic.removesuffix(_REPORT)
        if node != topic and kinds[topic] == CONTROLLER_STATE:
            space = node.rpartition('/')[0]
            nodes[space] = max(nodes.get(space, node), node, key=lambda each: (
                f'{each}/state' in kinds, each.endswith('/controller')))
    return nodes


def _states(kinds: Mapping[str, str]) -> list[str]:
    """Return the namespaces of joint states."""
    return [topic.removesuffix(_STATES) for topic in sorted(kinds)
            if topic.endswith(_STATES) and kinds[topic] == JOINT_STATE]


def _robot(space: str, kinds: Mapping[str, str], node: str | None = None) -> RecordedRobot:
    def own(name: str) -> str:
        return f'{space}{name}' if f'{space}{name}' in kinds or name not in kinds else name
    return RecordedRobot(space, own(_STATES), own(_DESCRIPTION), node or f'{space}/controller')


def choose_robot(path: str | Path, kinds: Mapping[str, str], namespace: str | None = None,
                 ) -> RecordedRobot:
    """
    Return the robot of a recording that is meant.

    :param path: of the recording, for the error.
    :param kinds: types by topic.
    :param namespace: of the robot; None: there is only one.
    :raises RbdError: if there are several and none is named, or none has this name.
    """
    found = recorded_robots(kinds)
    if namespace is None:
        if len(found) > 1:
            names = ', '.join(each.shown for each in found)
            raise RbdError(f'{path} holds {len(found)} robots: name one with --namespace '
                           f'(namespaces: {names})')
        return found[0] if found else _robot('', {})
    wanted, nodes = full_namespace(namespace), _controllers(kinds)
    known = sorted({*nodes, *_states(kinds)})
    if wanted in known:
        return _robot(wanted, kinds, nodes.get(wanted))
    names = ', '.join(each or '/' for each in known) or 'none'
    raise RbdError(f'{path}: no robot in the namespace "{wanted or "/"}"{nearest(wanted, known)} '
                   f'(namespaces: {names})')


def next_steps(path: str, kinds: Mapping[str, str]) -> str:
    """
    Return what can be done with a recording.

    :param path: its file.
    :param kinds: types of what was recorded, by topic.
    """
    if not {CONTROLLER_STATE, JOINT_STATE}.intersection(kinds.values()):
        return 'open it in Foxglove'
    found, steps = recorded_robots(kinds), []
    for each in found or [_robot('', {})]:
        which = f' --namespace {each.shown}' if len(found) > 1 else ''
        steps.append(f'rbd plot {path}{which}')
        if {*each.needed, PARAMETER_EVENTS} <= kinds.keys():
            steps.append(f'rbd replay {path}{which}')
    return ', or '.join(steps)
