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
"""What the dashboard shows of springs and predicted torques."""

from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

from dashboard_page import MODEL
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
import numpy as np
import pytest
import rbd_ros
from rbd_ros.nodes.dashboard.drawings import Drawings, MAX_HALF_AXIS
from rbd_ros.nodes.dashboard.guide import COMMANDS, DONE, guide, OPEN, steps
from rbd_ros.nodes.dashboard.telemetry import Telemetry
from rbd_ros.nodes.dashboard.torque_table import NOT_FOR, TorqueTable, WAITING
from rbd_ros.nodes.diagnostic_names import SUPERVISOR
from rbd_ros.view.figures import quaternion
from rbd_ros.view.torques import Motion
from sensor_msgs.msg import JointState

ROBOT = rbd_ros.Dynamics(MODEL, payload_frame='tool0')
SPRINGS = {'cartesian_impedance.linear_stiffness': [800.0, 400.0, 200.0],
           'cartesian_impedance.angular_stiffness': [20.0],
           'joint_impedance.stiffness': [100.0], 'stiffness': [100.0]}
Q = np.array([0.3, 0.8, -0.4, -1.1, 0.5, 0.9, 0.2])


def fresh(*_, **given):
    """Return a handle of its own, with what it was made with."""
    return MagicMock(**given)


def server():
    """Return a page without a server."""
    made = MagicMock()
    for each in (made.scene.add_icosphere, made.scene.add_label, made.scene.add_arrows,
                 made.gui.add_checkbox, made.gui.add_markdown, made.gui.add_html,
                 made.gui.add_uplot):
        each.side_effect = fresh
    made.gui.add_checkbox.side_effect = lambda label, value: MagicMock(value=value)
    made.gui.add_dropdown.side_effect = lambda label, options, **_: MagicMock(value=options[0])
    return made


def supervised(name='controller'):
    """Return that the controller is there."""
    return DiagnosticStatus(name=f'{name}: {SUPERVISOR}')


@pytest.fixture
def drawn(node):
    """Give the figures around an arm, what is heard, and the parameters of its controller."""
    telemetry = Telemetry(node, 'controller', 'simulator')
    settings = SimpleNamespace(values=dict(SPRINGS))
    figures = Drawings(server(), ROBOT, 'tool0', MODEL.joint_names, telemetry, settings)
    telemetry.on_states(JointState(name=list(MODEL.joint_names), position=Q.tolist()))
    telemetry.on_diagnostics(DiagnosticArray(status=[supervised()]))
    telemetry.state, telemetry.mode = 'running', 'cartesian_impedance'

    def look():
        figures.show_ellipsoids(Q)
        figures.show_numbers()
        assert {label.visible for label in figures.labels} == {figures.stiffness.visible}
        assert figures._stiffness_text.visible == figures.stiffness.visible
        return figures.stiffness.visible
    return SimpleNamespace(figures=figures, telemetry=telemetry, settings=settings, look=look)


def test_springs_of_the_frame_are_drawn_along_its_axes(drawn):
    """With half-axes in proportion to N/m, and the numbers at their ends."""
    assert drawn.look()
    figures, H = drawn.figures, ROBOT.pose(Q, 'tool0')
    np.testing.assert_allclose(
        figures.stiffness.scale, MAX_HALF_AXIS * np.array([0.25, 0.5, 1.0]), rtol=1e-5)
    np.testing.assert_allclose(figures.stiffness.position, H[:3, 3])
    assert [label.text for label in figures.labels] == ['200 N/m', '400 N/m', '800 N/m']
    assert '200 N/m, 400 N/m, 800 N/m' in figures._stiffness_text.content
    for label, axis, share in zip(figures.labels, (2, 1, 0), (0.25, 0.5, 1.0), strict=True):
        way = np.asarray(label.position) - H[:3, 3]
        np.testing.assert_allclose(np.abs(H[:3, :3].T @ way),
                                   MAX_HALF_AXIS * share * np.eye(3)[axis], atol=1e-4)
    # as the figure is turned: its first half-axis, the softest, is along z of the frame
    R = np.column_stack([np.asarray(label.position) - H[:3, 3] for label in figures.labels])
    R /= np.linalg.norm(R, axis=0)
    assert abs(np.dot(quaternion(R), figures.stiffness.wxyz)) == pytest.approx(1.0, abs=1e-6)


def test_no_spring_is_drawn_that_nobody_feels(drawn):
    """In a mode that follows nothing, after a stop, without gains, switched off."""
    assert drawn.look()
    for mode in ('gravity_compensation', 'damping', ''):
        drawn.telemetry.mode = mode
        assert not drawn.look()
    for mode in ('joint_impedance', 'computed_torque', 'hold'):
        drawn.telemetry.mode = mode
        assert drawn.look()
    drawn.telemetry.state = 'holding'
    assert not drawn.look()
    drawn.telemetry.state = 'running'
    for values in ({}, {**SPRINGS, 'passive_joints': ['joint_7']}):
        drawn.settings.values = values
        assert not drawn.look()
    drawn.settings.values = SPRINGS
    assert drawn.look()
    drawn.figures._stiffness_on.value = False
    assert not drawn.look()


def test_nothing_is_known_of_a_controller_that_vanished(node):
    """Its springs are not drawn."""
    telemetry = Telemetry(node, 'controller', 'simulator')
    figures = Drawings(server(), ROBOT, 'tool0', MODEL.joint_names, telemetry,
                       SimpleNamespace(values=SPRINGS))
    telemetry.state, telemetry.mode = 'running', 'joint_impedance'
    figures.show_ellipsoids(Q)
    assert not figures.stiffness.visible


def test_the_difference_of_all_joints():
    """Each has its rms difference and its share of the limit."""
    motion, page = Motion(), server()
    limits = [100.0, np.inf, *[10.0] * 5]
    plot = TorqueTable(page.gui, ROBOT, 'tool0', MODEL.joint_names, limits, motion)
    plot.take({'gravity': [0.0, 0.0, -9.81], 'payload.mass': 1.0, 'payload.frame': 'link_3'})
    plot.update()
    assert plot._words.content == WAITING
    torque = ROBOT.gravity(Q)
    torque[0] += 2.5
    for k in range(600):
        motion.add(0.002 * k, MODEL.joint_names, Q, np.zeros(7), torque)
        if k % 100 == 0:
            plot.update()
    t, measured, predicted = plot.comparison.points()
    assert len(t) > 10 and np.allclose((measured - predicted)[:, 0], 2.5)
    text = plot._words.content
    assert '2.50 N.m' in text and '2.5 %' in text and text.count('0.00 N.m') == 6
    assert 'another frame' in text and 'effort in joint_states' in text
    assert 'before' not in text and plot.known
    plot.remember()
    plot.update()
    assert 'before' in plot._words.content and '>2.50<' in plot._words.content


def test_a_joint_that_slides_has_a_force():
    """In N, not in N.m."""
    model = rbd_ros.load_urdf(
        '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="2"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="j" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="1 0 0"/>'
        '<limit lower="-1" upper="1" effort="100" velocity="1"/></joint></robot>')
    motion, page = Motion(), server()
    plot = TorqueTable(page.gui, rbd_ros.Dynamics(model, payload_frame='b'), 'b', ['j'], [100.0],
                       motion)
    for k in range(600):
        motion.add(0.002 * k, ['j'], [0.1], [0.0], [2.5])
        if k % 100 == 0:
            plot.update()
    assert '>2.50 N<' in plot._words.content and '2.5 %' in plot._words.content


def test_a_robot_with_loops_has_no_table():
    """It says so, and nothing is computed."""
    model = rbd_ros.load_urdf((Path(__file__).parents[1] / 'urdf' / 'four_bar.urdf').read_text())
    assert model.loops
    page = server()
    robot = rbd_ros.Dynamics(model, payload_frame=model.frame_names[-1])
    plot = TorqueTable(page.gui, robot, model.frame_names[-1], model.independent_joint_names,
                       [1.0] * 9, Motion())
    plot.take({'payload.mass': 1.0})
    plot.update()
    plot.remember()
    assert not plot.known
    assert page.gui.add_html.call_args.args[0] == NOT_FOR


def test_the_guide_says_what_holds_before_the_robot_is_moved(drawn):
    """Each condition has its tick as soon as it holds; commands are those of the program."""
    telemetry = drawn.telemetry

    def ticks(settings, moving=False):
        return [holds for holds, _ in steps(telemetry, settings, moving)]
    telemetry.mode = 'gravity_compensation'
    assert ticks({}) == [False, True, False, False]
    telemetry.mode, telemetry.fault = 'computed_torque', 'a joint is fast'
    assert ticks({'effort_is_torque': True}, moving=True) == [True, False, True, True]
    text = guide(telemetry, {}, False)
    assert text.count(DONE) == 1 and text.count(OPEN) == 3
    for _, command in COMMANDS[:-1]:
        assert command in text and command.split()[1] in ('excite', 'identify')
