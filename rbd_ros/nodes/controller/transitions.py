# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Lifecycle transitions in a thread of their own, so that nothing else has to wait for them.

Activation may wait for joint states, or for another publisher to leave our output. Meanwhile
parameters, the state of the lifecycle and everything else must answer.
"""

from __future__ import annotations

from collections.abc import Callable

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rbd_ros.nodes.callback_guard import Guard, GuardedNode
from rbd_ros.nodes.controller.autostart import Autostart
from rbd_ros.nodes.controller.bounded_services import bound_services, NO_TYPE_DESCRIPTIONS
from rclpy.lifecycle import LifecycleNode
from rclpy.service import Service

__all__ = ['TransitionNode']

_NAMES = {
    Transition.TRANSITION_CONFIGURE: 'configure', Transition.TRANSITION_CLEANUP: 'cleanup',
    Transition.TRANSITION_ACTIVATE: 'activate', Transition.TRANSITION_DEACTIVATE: 'deactivate'}

#: states in which transitions end
_ENDS = {'configure': 'inactive', 'activate': 'active', 'deactivate': 'inactive'}


class TransitionNode(GuardedNode):
    """Serve the transitions of another node."""

    def __init__(self, owner: LifecycleNode, guard: Guard, autostart: Autostart) -> None:
        """
        Take the service over from the lifecycle node.

        :param owner: the lifecycle node.
        :param guard: for every callback.
        :param autostart: yields to any request.
        """
        self.guard, self._autostart = guard, autostart
        super().__init__(
            f'{owner.get_name()}_transitions', namespace=owner.get_namespace(),
            use_global_arguments=False, start_parameter_services=False, enable_rosout=False,
            parameter_overrides=[NO_TYPE_DESCRIPTIONS])
        self._log = owner.get_logger()
        self._machine = owner._state_machine
        self._label: Callable[[], str] = lambda: owner._state_machine.current_state[1]
        # rclpy cannot choose which executor serves it: move the handle to the list of this node.
        given = owner._service_change_state
        self._change: Callable[[ChangeState.Request, ChangeState.Response],
                               ChangeState.Response] = given.callback
        owner._services.remove(given)
        group = self.default_callback_group
        self._service = Service(
            owner._state_machine.service_change_state, ChangeState, given.srv_name,
            guard.service(self._on_change), group, given.qos_profile)
        group.add_entity(self._service)
        self._services.append(self._service)
        bound_services(self, self._log.warning)
        self._wake_executor()

    def _on_change(self, request: ChangeState.Request,
                   response: ChangeState.Response) -> ChangeState.Response:
        wanted = request.transition
        name = wanted.label or _NAMES.get(wanted.id, '')
        if self._autostart.yield_to(name) and self._label() == _ENDS.get(name):
            response.success = True
            return response
        machine = self._machine
        if not any(name == label if wanted.label else wanted.id == number
                   for number, label, *_ in machine.available_transitions):
            # rcl would refuse it too, but with a line of its own on the console for each
            self._log.warning(f'transition {name or wanted.id} is refused: not possible while '
                              f'{self._label()}')
            response.success = False
            return response
        return self._change(request, response)
