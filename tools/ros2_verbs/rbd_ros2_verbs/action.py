# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The ros2cli extension ``action``: list, send_goal.

Where the real ros2action is installed, its command is taken, whichever entry point wins.
"""

from __future__ import annotations

import argparse
from typing import Any

from rbd_ros2_verbs.common import asking, discovered, PATIENCE, VerbError, Verbs

try:
    from ros2action.command.action import ActionCommand
except ImportError:
    class ActionCommand(Verbs):  # type: ignore[no-redef]
        """List actions, or send a goal to one."""

        def declare(self, verbs: Any) -> None:
            """Declare the verbs."""
            names = verbs.add_parser('list', help='list the actions')
            names.add_argument('-t', '--show-types', action='store_true',
                               help='show the type of each too')
            names.set_defaults(run=_list)
            goal = verbs.add_parser('send_goal', help='send a goal and print its result; Ctrl-C '
                                                      'cancels it')
            goal.add_argument('action_name', help='for instance '
                                                  '/controller/follow_joint_trajectory')
            goal.add_argument('action_type', help='for instance '
                                                  'control_msgs/action/FollowJointTrajectory')
            goal.add_argument('goal', help='values of the goal in YAML')
            goal.add_argument('-f', '--feedback', action='store_true',
                              help='print the feedback too')
            goal.set_defaults(run=_send_goal)

__all__ = ['ActionCommand']


def _list(args: argparse.Namespace) -> None:
    from rclpy.action import get_action_names_and_types

    with asking('action') as node:
        for name, kinds in discovered(node, lambda: get_action_names_and_types(node)):
            print(f'{name} [{", ".join(kinds)}]' if args.show_types else name)


def _type(text: str) -> Any:
    from rosidl_runtime_py.utilities import get_action

    try:
        return get_action(text)
    except (AttributeError, ModuleNotFoundError, ValueError) as error:
        raise VerbError(f'"{text}" is no type of an action that is installed: {error}') from error


def _goal(kind: Any, text: str) -> Any:
    from rosidl_runtime_py import set_message_fields
    import yaml

    goal = kind.Goal()
    try:
        set_message_fields(goal, yaml.safe_load(text) or {})
    except (AttributeError, TypeError, ValueError, AssertionError, yaml.YAMLError) as error:
        raise VerbError(f'the goal does not fit {kind.__name__}: {error}') from error
    return goal


def _send_goal(args: argparse.Namespace) -> int | str:
    import rclpy
    from rclpy.action import ActionClient
    from rosidl_runtime_py import message_to_yaml

    kind = _type(args.action_type)
    goal = _goal(kind, args.goal)

    def print_feedback(message: Any) -> None:
        print(f'Feedback:\n{message_to_yaml(message.feedback)}', flush=True)

    with asking('send_goal') as node:
        client = ActionClient(node, kind, args.action_name)
        try:
            if not client.wait_for_server(PATIENCE):
                raise VerbError(f'there is no action server {args.action_name}')
            asked = client.send_goal_async(goal, print_feedback if args.feedback else None)
            rclpy.spin_until_future_complete(node, asked)
            handle = asked.result()
            if not handle.accepted:
                return 'Goal was rejected; the log of the server says why'
            print(f'Goal accepted with ID: {bytes(handle.goal_id.uuid).hex()}', flush=True)
            return _follow(node, handle)
        finally:
            client.destroy()


def _follow(node: Any, handle: Any) -> int | str:
    """Print the result of a goal; Ctrl-C cancels it first."""
    from action_msgs.msg import GoalStatus
    import rclpy
    from rosidl_runtime_py import message_to_yaml

    done = handle.get_result_async()
    try:
        rclpy.spin_until_future_complete(node, done)
    except KeyboardInterrupt:
        print('Cancelling the goal', flush=True)
        rclpy.spin_until_future_complete(node, handle.cancel_goal_async(), timeout_sec=PATIENCE)
        rclpy.spin_until_future_complete(node, done, timeout_sec=PATIENCE)
    if not done.done() or done.result() is None:
        return 'the server gave no result'
    answer = done.result()
    print(f'Result:\n{message_to_yaml(answer.result)}\n'
          f'Goal finished with status: {_status(GoalStatus, answer.status)}')
    return 0 if answer.status == GoalStatus.STATUS_SUCCEEDED else 1


def _status(kind: Any, value: int) -> str:
    names = ('ACCEPTED', 'EXECUTING', 'CANCELING', 'SUCCEEDED', 'CANCELED', 'ABORTED')
    return next((name for name in names if getattr(kind, f'STATUS_{name}') == value), str(value))
