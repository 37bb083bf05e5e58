# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is drawn around the robot: ellipsoids, force arrows, obstacles."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Any, TYPE_CHECKING

import numpy as np
from rbd_ros.control.supervisor.states import SupervisorState as State
from rbd_ros.errors import RbdError
from rbd_ros.nodes.arrows import PER_NEWTON
from rbd_ros.nodes.dashboard.settings import task_frame
from rbd_ros.nodes.dashboard.telemetry import History, STALE_AFTER, Telemetry
from rbd_ros.view.figures import Ellipsoid, ellipsoid, from_principal
from rbd_ros.view.node_pose import NodePose
from rbd_ros.view.stiffness import felt_stiffness, joint_stiffness, Stiffness, text_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rbd_ros.dynamics.robot import Dynamics
    from rbd_ros.nodes.dashboard.settings import Settings

    Array = NDArray[np.float64]

__all__ = ['Drawings', 'OF_ROBOT']

MAX_HALF_AXIS = 0.2  # m, longest half-axis of an ellipsoid
SAME = 1e-5  # m, or part of a quaternion, by which an ellipsoid changes without being drawn anew
MIN_FORCE = 0.5  # N, smallest force that has an arrow
PIVOT = 1e-6  # m/rad; a frame that every joint moves less is a pivot, with no inertia to show
OF_ROBOT = '/robot/~'  # what moves with the base; no link has such a name
EXTERNAL, CONTACT = (220, 30, 60), (112, 72, 232)  # colours of arrows
STIFFNESS = (25, 90, 200)
FINENESS = 2  # of ellipsoids: 320 faces; with four times as many a slow browser is twice as slow


class Drawings:
    """
    Figures of the scene, each with a box to switch it on and off.

    :param server: of the page.
    :param robot: compiled.
    :param frame: the controlled frame, unless the controller says which.
    :param joints: the controlled ones.
    :param telemetry: what there is to show.
    :param settings: parameters of the controller.
    """

    def __init__(self, server: Any, robot: Dynamics, frame: str, joints: Sequence[str],
                 telemetry: Telemetry, settings: Settings) -> None:
        self._scene, self._robot, self._frame = server.scene, robot, frame
        self._telemetry, self._settings = telemetry, settings
        self._index = [robot.model.velocity_slice(name).start for name in joints]
        self.condition = History()
        gui, scene = server.gui, server.scene
        self._stiffness_text = gui.add_markdown('', visible=False)
        with gui.add_folder('Show', expand_by_default=False):
            self._inertia_on = gui.add_checkbox('Inertia at the tool', True)
            self._stiffness_on = gui.add_checkbox('Stiffness at the tool', True)
            self._reach_on = gui.add_checkbox('Manipulability', False)
            self._force_on = gui.add_checkbox('External force', True)
            self._contacts_on = gui.add_checkbox('Contact forces', True)
        self.inertia = scene.add_icosphere(  # not seen until it is somewhere
            f'{OF_ROBOT}/inertia', color=(230, 120, 30), opacity=0.35, subdivisions=FINENESS,
            visible=False)
        # As wires: the two ellipsoids lie across each other, and one would hide the other.
        self.reach = scene.add_icosphere(f'{OF_ROBOT}/manipulability', color=(20, 130, 60),
                                         subdivisions=FINENESS, wireframe=True, visible=False)
        self.stiffness = scene.add_icosphere(f'{OF_ROBOT}/stiffness', color=STIFFNESS,
                                             subdivisions=FINENESS, wireframe=True,
                                             visible=False)
        self.labels = [scene.add_label(f'{OF_ROBOT}/stiffness_{k}', '', visible=False)
                       for k in range(3)]
        self._stiffness: tuple[Stiffness, Array] | None = None  # that is drawn, and its origin
        self.force, self.contacts = (scene.add_arrows(
            name, np.zeros((1, 2, 3)), colour, shaft_radius=0.008, head_radius=0.02,
            head_length=0.04, visible=False)
            for name, colour in ((f'{OF_ROBOT}/force', EXTERNAL), ('/contacts', CONTACT)))
        self._placed: dict[str, tuple[NodePose, Array]] = {  # of ellipsoids, what is drawn
            node.name: (NodePose(node), np.full(10, np.inf))
            for node in (self.inertia, self.reach, self.stiffness)}
        self._condition: float | None = None  # condition number, None: the frame cannot move
        self._contacts: Array | None = None  # the arrows that are drawn
        self._obstacles: list[Any] = []  # handles
        self._drawn_obstacles: object = None  # the list that they were drawn from

    @property
    def frame(self) -> str:
        """Return the controlled frame, in whose axes the external force comes."""
        return task_frame(self._settings.values, self._robot.model, self._frame)

    def show_ellipsoids(self, q: Array) -> None:
        """Place the ellipsoids at the frame: of the linear inertia felt there, and of J J^T."""
        frame = self.frame
        H = self._robot.pose(q, frame)
        R, p = H[:3, :3], H[:3, 3]
        self._show_stiffness(q, R, p)
        self._condition = None
        try:
            found = self._robot.operational_space(
                q, self._telemetry.velocity(self._robot.model), frame, max_condition=1e6)
        except RbdError:  # a frame that cannot move has no inertia to show; the rest goes on
            self.inertia.visible = self.reach.visible = False
            return
        self._condition = float(found.condition)
        J_v = found.J[3:]
        if np.abs(J_v).max() < PIVOT:
            self.inertia.visible = self.reach.visible = False
            return
        for node, on, A in ((self.inertia, self._inertia_on, found.Lambda[3:, 3:]),
                            (self.reach, self._reach_on, J_v @ J_v.T)):
            if on.value:
                self._place(node, ellipsoid(R @ A @ R.T, MAX_HALF_AXIS), p)
            _set_visible(node, bool(on.value))

    def _show_stiffness(self, q: Array, R: Array, p: Array) -> None:
        """Draw how stiff the frame is against a force, while a mode that has springs runs."""
        telemetry, robot, gains = self._telemetry, self._robot, self._settings.values
        self._stiffness = found = None
        if (self._stiffness_on.value and telemetry.state == State.RUNNING.value
                and telemetry.age('controller') < STALE_AFTER
                and not robot.model.loops and not gains.get('passive_joints')):
            K = joint_stiffness(robot, q, telemetry.mode, gains, self._index,
                                self.frame)
            J_v = robot.jacobian(q, self.frame)[3:, self._index]
            if K is not None and np.abs(J_v).max() > PIVOT:
                found = felt_stiffness(R @ J_v, K)
        if found is not None:
            self._stiffness = found, p
            self._place(self.stiffness, from_principal(found.values, found.R, MAX_HALF_AXIS), p)
        _set_visible(self.stiffness, found is not None)

    def _place(self, node: Any, figure: Ellipsoid, p: Array) -> None:
        """Put an ellipsoid somewhere; what does not change is not sent."""
        new = np.array([*figure.axes, *figure.wxyz, *p])
        pose, shown = self._placed[node.name]
        if np.abs(new - shown).max() > SAME:
            shown[:] = new
            node.scale = figure.axes
            pose.turn(figure.wxyz)
            pose.move(tuple(p.tolist()))

    def show_numbers(self) -> None:
        """Write the principal values of the stiffness at the ends of its axes and in words."""
        shown = self._stiffness
        words = text_of(None if shown is None else shown[0])
        for k, label in enumerate(self.labels):
            if shown is not None:
                found, p = shown
                label.text = words[k]
                label.position = p + self.stiffness.scale[k] * found.R[:, k]
            _set_visible(label, shown is not None)
        if shown is not None:
            self._stiffness_text.content = f'Stiffness at the tool: **{", ".join(words)}**'
        _set_visible(self._stiffness_text, shown is not None)

    def record_condition(self) -> None:
        """Append the condition number that was found last to its plot."""
        if self._condition is not None:
            self.condition.add(self._condition)

    def show_forces(self, q: Array) -> None:
        """Draw the external force at the frame, contact forces where they act, and obstacles."""
        telemetry = self._telemetry
        shown = bool(self._force_on.value and telemetry.age('force') < STALE_AFTER
                     and math.hypot(*telemetry.force) > MIN_FORCE)
        if shown:
            H = self._robot.pose(q, self.frame)
            p = H[:3, 3]
            self.force.points = np.array([[p, p + PER_NEWTON * H[:3, :3] @ telemetry.force]])
        _set_visible(self.force, shown)
        self._show_contacts()

    def _show_contacts(self) -> None:
        """Draw contact forces at their points; those of a robot that stands still remain."""
        telemetry = self._telemetry
        fresh = telemetry.age('contacts') < telemetry.age('states') + STALE_AFTER
        shown = bool(self._contacts_on.value and len(telemetry.contacts) and fresh)
        if shown and telemetry.contacts is not self._contacts:
            self.contacts.points = self._contacts = telemetry.contacts
        _set_visible(self.contacts, shown)
        if self._drawn_obstacles is telemetry.obstacles:
            return
        self._drawn_obstacles = telemetry.obstacles
        for handle in self._obstacles:
            handle.remove()
        self._obstacles = [
            self._scene.add_box(f'/obstacle_{k}', each.colour, each.size, opacity=0.5,
                                position=each.position, wxyz=each.wxyz)
            for k, each in enumerate(telemetry.obstacles)]


def _set_visible(node: Any, visible: bool) -> None:
    """Show or hide; what does not change is not sent."""
    if node.visible != visible:
        node.visible = visible
