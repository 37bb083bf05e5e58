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

"""Robots that the dashboard can show, cannot show, or shows in part."""

from dashboard_page import DESCRIPTION
from rbd_ros.errors import RbdError
from rbd_ros.nodes.dashboard.page import problems_text
from rbd_ros.nodes.dashboard.robot_tab import DESCRIPTION_TIMEOUT
from sensor_msgs.msg import JointState
from std_msgs.msg import String


LINK = ('<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
        'ixz="0" iyz="0"/></inertial></link>')
JOINT = ('<joint name="{0}" type="{0}"><parent link="{1}"/><child link="{2}"/><axis xyz="0 0 1"/>'
         '<limit lower="-1" upper="1" effort="9" velocity="2"/></joint>')


def test_a_robot_with_a_floating_joint_is_shown(dashboard):
    """Nobody publishes that joint: its body is where the description has it."""
    node = dashboard()
    [tab] = node.tabs
    tab._on_description(String(data='<robot name="r">' + ''.join(map(LINK.format, 'abc'))
                               + JOINT.format('floating', 'a', 'b')
                               + JOINT.format('prismatic', 'b', 'c') + '</robot>'))
    node.update()
    tab.page._telemetry.on_states(JointState(name=['prismatic'], position=[0.5]))
    node.update()
    q = tab.page._telemetry.position(tab.page._model)
    assert q.tolist() == [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.5]  # a quaternion has length 1
    titles = [call.args[0] for call in node._server.gui.add_folder.call_args_list]
    assert 'Torques, N.m or N' in titles


def test_a_robot_without_joints_is_a_message_on_the_page(dashboard):
    """The process does not end."""
    node = dashboard()
    [tab] = node.tabs
    tab._on_description(String(data=f'<robot name="rock">{LINK.format("a")}</robot>'))
    node.update()
    assert tab.page is None and '"rock" has no movable joint' in tab._notice.content
    tab._on_description(String(data=DESCRIPTION))
    node.update()
    assert tab.page is not None


def test_a_robot_that_comes_while_another_one_is_tried(dashboard, monkeypatch):
    """It is not lost."""
    node = dashboard()
    [tab] = node.tabs

    def fail(text):
        tab._on_description(String(data=DESCRIPTION))
        raise RbdError(f'it is {text}')
    with monkeypatch.context() as patch:
        patch.setattr(tab, '_make', fail)
        tab._on_description(String(data='bad'))
        node.update()
    assert node.problem == 'it is bad' and tab.page is None
    node.update()
    assert tab.page is not None and not node.problem


def test_another_robot_on_the_topic_is_told(dashboard):
    """The page shows the first one, and says so; not where it was given its robot."""
    node = dashboard()
    [tab] = node.tabs
    tab._on_description(String(data=DESCRIPTION))
    node.update()
    page = tab.page
    tab._on_description(String(data=DESCRIPTION.replace('effort="120"', 'effort="60"')))
    node.update()
    assert tab.page is page and tab._notice.visible is True
    assert 'still shows the first' in tab._notice.content
    tab._on_description(String(data=DESCRIPTION))
    node.update()
    assert tab._notice.visible is False
    node = dashboard(robot_description=DESCRIPTION)
    [tab] = node.tabs
    node.update()
    tab._on_description(String(data='another one'))
    node.update()
    assert tab.page is not None and tab._notice.visible is False


def test_a_bad_robot_is_a_message_on_the_page_until_a_good_one_comes(dashboard):
    """Whoever opens the page reads what is wrong; the process does not end."""
    node = dashboard()
    [tab] = node.tabs
    node.update()
    assert 'cannot' not in str(tab._notice.content)
    tab._begin -= DESCRIPTION_TIMEOUT + 1.0
    node.update()
    assert 'No robot yet' in tab._notice.content
    tab._on_description(String(data='<robot name="r"><link name="a"/><link name="b"/></robot>'))
    node.update()
    assert 'cannot be shown' in tab._notice.content and node.problem
    assert tab.page is None
    tab._on_description(String(data=DESCRIPTION))
    node.update()
    assert tab.page is not None and not node.problem and tab._notice.visible is False
    assert not tab._notice.remove.called  # a browser that opens late would be sent its update


def test_meshes_are_searched_beside_the_file_of_the_robot(dashboard, tmp_path):
    """A path counts from the file; what is not there is named."""
    (tmp_path / 'ball.obj').write_text(
        'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n')
    link = ('<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
            'ixz="0" iyz="0"/></inertial><visual><geometry><mesh filename="{}"/></geometry>'
            '</visual></link>')
    (tmp_path / 'robot.urdf').write_text(
        '<robot name="r">' + link.format('a', 'ball.obj') + link.format('b', 'gone.obj')
        + '<joint name="j" type="continuous"><parent link="a"/><child link="b"/>'
        '<axis xyz="0 1 0"/></joint></robot>')
    node = dashboard(robot_description_file=str(tmp_path / 'robot.urdf'))
    node.update()
    assert node.tabs[0].page._drawn.problems == ['b: mesh file "gone.obj" not found']


def test_of_many_missing_meshes_some_are_named():
    """The page is not filled with them."""
    text = problems_text([f'link_{k}: no mesh file' for k in range(8)])
    assert 'link_4' in text and 'link_5' not in text and 'and 3 more' in text
    assert 'more' not in problems_text(['link_0: no mesh file'])
    assert '//' not in problems_text(['link_0: no mesh file "package://a/b"'])  # can be broken
