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
"""Dashboards without a controller: a robot that lies on a table, and one that is none."""

from contextlib import contextmanager
import socket

from chrome import address, picture, wait
from demo import MODEL, started, watching
from isolation import own_domain
import numpy as np
from ports import free_port
import pytest
from sight import pixel
from visualization_msgs.msg import MarkerArray

BAD = '<robot name="r"><link name="a"/><link name="b"/></robot>'
#: Without torques it falls at once; steps of 1 ms, but few states.
FALLING = {'state_rate': '100.0', 'substeps': '10',
           'contact': 'soft', 'brakes': 'false', 'command_timeout': '0.0',
           'initial_positions': '[0.0, 1.2, 0.0, -0.6, 0.0, 0.5, 0.0]'}


@pytest.fixture(scope='module')
def page(empty_page):
    """Open a page; what it shows has a domain of its own."""
    with own_domain():
        yield empty_page


@contextmanager
def running(executable, expected, **parameters):
    """Run a node until the end of the block; its exit code must be the expected one."""
    words = [word for name, value in parameters.items() for word in ('-p', f'{name}:={value}')]
    with started('run', 'rbd_ros', executable, '--ros-args', *words) as process:
        yield process
    assert process.returncode == expected


def show(page, port):
    """Open the page as soon as it is served; a browser would make a process at each attempt."""
    def served():
        with socket.socket() as probe:
            return probe.connect_ex(('127.0.0.1', port)) == 0
    wait(served, 'the page')
    page.get(address(port))
    page.complaints()  # of the page before, whose server has gone


def test_contact_forces_and_obstacles_are_seen(page, tmp_path):
    """An arm without torque falls on a table: there it lies, with an arrow where it touches."""
    (tmp_path / 'scene.yaml').write_text(
        'boxes: [{name: table, size: [0.6, 0.6, 0.1], position: [0.6, 0.0, 0.2]}]')
    port = free_port()
    with running('simulator', 0, **FALLING, scene_file=tmp_path / 'scene.yaml'), \
            running('dashboard', 0, port=port), watching() as watcher:
        heard = watcher.hear(MarkerArray, 'simulator/contact_markers')
        show(page, port)
        canvas = wait(lambda: page.find_all('canvas'), 'the scene')[0]
        size = canvas.box[2:]

        def arrow():
            arrows = [np.array([(at.x, at.y, at.z) for at in each.points])
                      for each in (heard[-1].markers if heard else ()) if len(each.points) == 2]
            found = max(arrows, key=lambda ends: np.ptp(ends, axis=0).max(), default=None)
            if found is None:
                return False
            # near its head: the other end is inside of the arm
            x, y = map(round, pixel(MODEL, found[0] + 0.9 * (found[1] - found[0]), size))
            near = picture(page, 'dashboard_contact')[y - 6:y + 7, x - 6:x + 7]
            r, g, b = np.moveaxis(near, 2, 0)
            return ((b > r + 25) & (r > g + 15)).sum() > 20
        wait(arrow, 'a violet arrow where the simulator says that the arm touches')
        # grey where the table is, and nothing is in front of it
        x, y = pixel(MODEL, (0.8, 0.2, 0.25), size)
        r, g, b = picture(page)[round(y), round(x)]
        assert max(r, g, b) - min(r, g, b) < 12 and 90 < r < 235
        assert not page.complaints()


def test_a_bad_robot_is_a_message_on_the_page(page, tmp_path):
    """The page is served and says what is wrong with the description."""
    (tmp_path / 'bad.urdf').write_text(BAD)
    port = free_port()
    with running('dashboard', 1, port=port, robot_description_file=tmp_path / 'bad.urdf'):
        show(page, port)
        wait(lambda: 'The robot cannot be shown' in page.text, 'the message')
        assert '"a"' in page.text and '"b"' in page.text  # the links that have no parent
        assert not page.complaints()
