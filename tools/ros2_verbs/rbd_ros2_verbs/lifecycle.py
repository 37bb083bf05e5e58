# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The ros2cli extension ``lifecycle``: nodes, get, list, set.

Where the real ros2lifecycle is installed, its command is taken, whichever entry point wins.
"""

from __future__ import annotations

import argparse
from typing import Any

from rbd_ros2_verbs.common import asking, call, discovered, VerbError, Verbs

try:
    from ros2lifecycle.command.lifecycle import LifecycleCommand
except ImportError:
    class LifecycleCommand(Verbs):  # type: ignore[no-redef]
        """Ask lifecycle nodes for their state, or change it."""

        def declare(self, verbs: Any) -> None:
            """Declare the verbs."""
            nodes = verbs.add_parser('nodes', help='list the lifecycle nodes')
            nodes.set_defaults(run=_nodes)
            for name, run, text in (('get', _get, 'print the state of a node'),
                                    ('list', _list, 'print the transitions it has now'),
                                    ('set', _set, 'make a transition')):
                verb = verbs.add_parser(name, help=text)
                verb.add_argument('node_name', help='with its namespace, for instance /controller')
                verb.set_defaults(run=run)
            verb.add_argument('transition', help='label or number: configure, activate, '
                                                 'deactivate, cleanup, shutdown')

__all__ = ['LifecycleCommand']


def _nodes(args: argparse.Namespace) -> None:
    with asking('lifecycle') as node:
        services = discovered(node, lambda: [
            name for name, kinds in node.get_service_names_and_types()
            if 'lifecycle_msgs/srv/ChangeState' in kinds])
    for service in services:
        print(service.removesuffix('/change_state'))


def _get(args: argparse.Namespace) -> None:
    from lifecycle_msgs.srv import GetState

    with asking('lifecycle') as node:
        state = call(node, GetState, _service(args, 'get_state'), GetState.Request()).current_state
    print(f'{state.label} [{state.id}]')


def _transitions(node: Any, args: argparse.Namespace) -> list[Any]:
    from lifecycle_msgs.srv import GetAvailableTransitions as Kind

    answer = call(node, Kind, _service(args, 'get_available_transitions'), Kind.Request())
    return list(answer.available_transitions)


def _list(args: argparse.Namespace) -> None:
    with asking('lifecycle') as node:
        found = _transitions(node, args)
    for each in found:
        print(f'- {each.transition.label} [{each.transition.id}]\n'
              f'\tStart: {each.start_state.label}\n\tGoal: {each.goal_state.label}')


def _set(args: argparse.Namespace) -> int | str:
    from lifecycle_msgs.srv import ChangeState

    with asking('lifecycle') as node:
        found = [each.transition for each in _transitions(node, args)]
        chosen = [each for each in found if args.transition in (each.label, str(each.id))]
        if not chosen:
            known = ', '.join(f'{each.label} [{each.id}]' for each in found)
            raise VerbError(f'{args.node_name} has no transition "{args.transition}" now; it has '
                            f'{known or "none: it is finalized, start it again"}')
        request = ChangeState.Request()
        request.transition.id = chosen[0].id
        answer = call(node, ChangeState, _service(args, 'change_state'), request)
    if not answer.success:
        return 'Transitioning failed; the log of the node says why'
    print('Transitioning successful')
    return 0


def _service(args: argparse.Namespace, name: str) -> str:
    return f'/{args.node_name.strip("/")}/{name}'
