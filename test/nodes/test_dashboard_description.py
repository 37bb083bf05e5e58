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
from rbd_ros.nodes.dashboard.page import problems_text
from rbd_ros.nodes.dashboard.robot_tab import DESCRIPTION_TIMEOUT
from std_msgs.msg import String


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
