# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A URDF that is dropped onto the page, in a real browser: looked at, simulated, ended."""

from pathlib import Path
import re
import time

from chrome import picture, press, wait
from demo import watching
import numpy as np
import pytest
import rbd_ros
from rbd_ros.model.urdf.resources import find_resource

#: each takes a minute: one of the pages is drawn
pytestmark = pytest.mark.sampled('launches', 1, pool='pages')

IIWA = find_resource('package://rbd_ros/urdf/iiwa14.urdf')
PLACE = 300.0, 500.0  # pixels of the window, within the scene
#: viser's page applies the updates of a picture behind its removals: on a slow machine both are
#: of one picture, and it complains of what was right when it was sent
LATE = 'Tried to update non-existent component'


def move(page, kind, *files):
    """Drag files over the scene, or drop them there."""
    data = {'items': [], 'files': [str(each) for each in files], 'dragOperationsMask': 1}
    for each in ('dragEnter', 'dragOver', *([] if kind == 'dragOver' else [kind])):
        page.ask('Input.dispatchDragEvent', type=each, x=PLACE[0], y=PLACE[1], data=data)


def sheet(page):
    """Return what is written over the page; empty: nothing."""
    return page.run("(s => s && s.style.display !== 'none' ? s.textContent : '')"
                    "(document.getElementById('dropped-file'))")


def processes(page):
    """Return the numbers of what was started for a dropped robot by this page."""
    mine = f'XDG_STATE_HOME={page.folder}/state'.encode()
    found = []
    for each in Path('/proc').glob('[0-9]*'):
        try:
            if mine in (each / 'environ').read_bytes() and re.search(
                    rb'__ns:=/dropped|namespace:=dropped', (each / 'cmdline').read_bytes()):
                found.append(int(each.name))
        except OSError:
            pass  # it has ended, or belongs to somebody else
    return found


def button(page, label):
    """Return the leftmost button with a label: that of the new panel."""
    found = [each for each in page.find_all('button') if each.text == label]
    return min(found, key=lambda each: each.box[0])


def hint_at_drag(page, words):
    """Drag a file until the page says what it thinks of it: a hint stays for a second only."""
    def hinted():
        move(page, 'dragOver', IIWA)
        return words in sheet(page)
    wait(hinted, words)


def test_a_hint_while_a_file_is_dragged(page):
    """It vanishes when the file is taken elsewhere."""
    hint_at_drag(page, 'Drop a URDF to look at it')
    wait(lambda: not sheet(page), 'its end')


@pytest.mark.parametrize(('name', 'content', 'reason'), [
    ('robot.txt', b'<robot/>', 'ends with .urdf or .xml'),
    ('large.urdf', b' ' * 10 * 2**20, 'larger than 4 MB')], ids=['text', 'large'])
def test_what_is_no_description_is_not_sent(page, tmp_path, name, content, reason):
    """The browser says what it takes."""
    (tmp_path / name).write_bytes(content)
    move(page, 'drop', tmp_path / name)
    assert reason in sheet(page) and name in sheet(page)
    wait(lambda: not sheet(page), 'its end')
    assert name not in page.text and page.url.startswith('http://127.0.0.1')


def test_two_at_once_are_not_taken(page, tmp_path):
    """A robot is one file; where meshes come from is said."""
    (tmp_path / 'part.stl').write_text('solid')
    move(page, 'drop', IIWA, tmp_path / 'part.stl')
    assert 'One file' in sheet(page) and 'Meshes' in sheet(page)
    wait(lambda: not sheet(page), 'its end')
    assert 'Simulate it' not in page.text


@pytest.mark.parametrize(('name', 'content', 'reason'), [
    ('hello.urdf', 'hello', 'XML'), ('empty.urdf', '', 'empty'),
    ('entity.urdf', '<!DOCTYPE r [<!ENTITY e "x">]><robot name="r"/>', 'entities')],
    ids=['no XML', 'empty', 'entity'])
def test_what_is_no_robot_is_refused(page, tmp_path, name, content, reason):
    """The page says why; nothing can be started."""
    (tmp_path / name).write_text(content)
    move(page, 'drop', tmp_path / name)
    wait(lambda: f'{name} cannot be shown' in page.text or reason in sheet(page), 'the reason')
    assert reason in page.text + sheet(page) and 'Simulate it' not in page.text


def are_running(page, count):
    """Return whether so many controllers run; after a stall of the machine they are reset."""
    if 'press Reset' in page.text:
        for each in page.find_all('button'):
            if each.text == 'Reset':
                each.click()
        time.sleep(1.0)
    return page.text.count('State running') == count


def test_a_robot_is_dropped_simulated_pushed_stopped_and_ended(page):
    """It has a panel of its own; the other robot goes on; no process is left."""
    move(page, 'drop', IIWA)
    wait(lambda: 'iiwa14: 7 moving bodies' in page.text, 'the check of the robot')
    assert 'only shown' in page.text and not processes(page)
    press(page, 'Simulate it')
    found = wait(lambda: re.search(r'is simulated in the namespace (dropped\w*)', page.text),
                 'the start')
    with watching(found[1], joints=rbd_ros.load_urdf(IIWA).joint_names) as listener:
        wait(lambda: are_running(page, 2), 'both controllers')
        assert len(processes(page)) >= 3  # launch, simulator, controller
        picture(page, 'dashboard_drop')
        hint_at_drag(page, 'end that robot first')
        before = listener.q
        wait(lambda: button(page, 'Push').click() is None, 'the push')
        wait(lambda: np.abs(listener.q - before).max() > 0.02, 'a motion')
        wait(lambda: button(page, 'Stop').click() is None, 'the stop')
        wait(lambda: page.text.count('stop requested') > 0, 'the stop of the controller')
        wait(lambda: page.text.count('State running') == 1, 'the other robot, which goes on')
        press(page, 'End it')
        wait(lambda: 'is simulated in the namespace' not in page.text, 'its end on the page')
        wait(lambda: not processes(page), 'the end of its processes')
    assert 'iiwa14' not in page.text and button(page, 'Stop').box[0] > PLACE[0]
    assert not [each for each in page.complaints() if not each.startswith(LATE)]
