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
"""Named poses of the dashboard: their file, and how the robot goes to them."""

import os
from types import SimpleNamespace

from joint_page import JointPage
import numpy as np
import pytest
from rbd_ros.errors import RbdError
from rbd_ros.model.urdf.loader import load_urdf
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.dashboard.dead_man import TIMEOUT
from rbd_ros.nodes.dashboard.pose_file import LONGEST_NAME, MOST_POSES, PoseFile, state_folder
from rbd_ros.nodes.dashboard.poses import MIDDLE, plain, Poses, START, ZERO

ARM = load_urdf(find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf'))
Q = np.array([0.3, 0.8, -0.4, -1.1, 0.5, 0.9, 0.2])


@pytest.fixture
def rig(monkeypatch, tmp_path):
    """Return a page of poses; simulated or not."""
    def make(*, simulated=True, allowed=True):
        page = JointPage(monkeypatch, ARM, Q, simulated=simulated, allowed=allowed)
        file = PoseFile('my arm', tmp_path / 'poses')
        poses = Poses(page.gui, page.drive, file, allowed=allowed)
        poses.update()

        def go(name):
            poses.choice.value = name
            page.buttons['Go to the pose'].clicked(None)
        return SimpleNamespace(page=page, file=file, poses=poses, go=go)
    return make


def test_a_file_gives_back_what_was_saved(tmp_path):
    """Bit by bit, of any name; another robot has another file."""
    rng = np.random.default_rng(1)
    file = PoseFile('ur5e/left arm', tmp_path / 'new' / 'folder')
    saved = {}
    for name in ('home', 'über dem Tisch', 'a: b', '# no comment', '- x', 'null', '12', 'yes'):
        saved[name] = {f'joint_{k}': float(rng.normal()) for k in range(7)}
        file.save(name, saved[name])
    assert PoseFile('ur5e/left arm', tmp_path / 'new' / 'folder').read() == saved
    assert PoseFile('other', tmp_path / 'new' / 'folder').read() == {}
    file.save('home', {'joint_0': 0.5})
    file.forget('a: b')
    assert file.read() == {**{k: v for k, v in saved.items() if k != 'a: b'},
                           'home': {'joint_0': 0.5}}
    assert file.path.parent == tmp_path / 'new' / 'folder'  # nothing in a name leaves it
    assert PoseFile('../../x\n', tmp_path).path.parent == tmp_path
    assert PoseFile('evil\nhome: 3', tmp_path).read() == {}
    other = PoseFile('evil\nhome: 3', tmp_path)
    other.save('a', {'j': 1.0})
    assert other.read() == {'a': {'j': 1.0}}


@pytest.mark.parametrize('text', [
    '[1, 2]', 'a', 'a: 3', 'a: {j: x}', 'a: {j: .nan}', 'a: {j: .inf}', '1: {j: 2}',
    'a: {j: true}', 'a: [', '\x00', '!!python/name:os'])
def test_a_damaged_file_is_named_and_left_alone(tmp_path, text, rig):
    """Nothing of it is used, and nothing is written over it."""
    made = rig()
    made.file.path.parent.mkdir()
    made.file.path.write_text(text)
    with pytest.raises(RbdError, match=str(made.file.path)):
        made.file.read()
    made.poses.name.value = 'mine'
    made.page.buttons['Save where it is'].clicked(None)
    assert str(made.file.path) in made.poses.words.content
    assert made.file.path.read_text() == text
    made.page.on()
    made.go(ZERO)
    assert str(made.file.path) in made.poses.words.content and not made.page.sent


def test_names_and_numbers_of_poses_have_bounds(tmp_path):
    """A browser may send any text."""
    file = PoseFile('arm', tmp_path)
    for name in ('', '  ', 'x' * (LONGEST_NAME + 1), 'a\nb', '\x07'):
        with pytest.raises(RbdError, match='name'):
            file.save(name, {'j': 0.0})
    assert not file.path.exists()
    file._write({f'p{k}': {'j': 0.0} for k in range(MOST_POSES)})
    with pytest.raises(RbdError, match='forget one'):
        file.save('more', {'j': 0.0})
    assert plain('<b>_*x') == ' b \\_\\*x'


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    """The page says so."""
    (tmp_path / 'poses').write_text('a file')
    with pytest.raises(RbdError, match='cannot be'):
        PoseFile('arm', tmp_path / 'poses').save('a', {'j': 0.0})


def test_the_folder_is_that_of_the_user(monkeypatch, tmp_path):
    """XDG_STATE_HOME, or where it is by default."""
    monkeypatch.setenv('XDG_STATE_HOME', str(tmp_path))
    assert state_folder('poses') == tmp_path / 'rbd_ros' / 'poses'
    monkeypatch.delenv('XDG_STATE_HOME')
    assert state_folder('poses').is_relative_to(os.path.expanduser('~'))


def test_no_pose_is_saved_while_the_robot_is_silent(rig):
    """It may have been moved since."""
    made = rig()
    made.poses.name.value = 'home'
    made.page.telemetry.age = lambda _: 9.0
    made.page.buttons['Save where it is'].clicked(None)
    assert 'unknown' in made.poses.words.content and made.file.read() == {}


def test_a_pose_is_saved_and_gone_to(rig):
    """At the speed of the sliders; one that names few joints leaves the others."""
    made = rig()
    page, poses = made.page, made.poses
    assert tuple(poses.choice.options) == (START, ZERO, MIDDLE)
    poses.name.value = ' home '
    page.buttons['Save where it is'].clicked(None)
    assert 'Saved' in poses.words.content
    assert made.file.read() == {'home': dict(zip(page.joints, Q.tolist(), strict=True))}
    assert tuple(poses.choice.options) == (START, ZERO, MIDDLE, 'home')
    made.go(ZERO)
    assert 'Drive the joints' in poses.words.content
    page.on()
    made.go(ZERO)
    page.run(15.0)
    np.testing.assert_array_equal(page.sent[-1][1], page.drive.point.inside(np.zeros(7)))
    path = np.array([Q, *(q for _, q in page.sent)])
    assert (np.abs(np.diff(path, axis=0)) <= 0.2 * page.drive.point.speed * 0.04 + 1e-12).all()
    made.go('home')
    page.run(15.0)
    np.testing.assert_allclose(page.sent[-1][1], Q, atol=1e-12)
    made.file.save('elbow', {page.joints[3]: -99.0, 'unknown': 1.0})
    made.go('elbow')
    page.run(15.0)
    expected = Q.copy()
    expected[3] = ARM.lower[3]  # no further than it may
    np.testing.assert_allclose(page.sent[-1][1], expected, atol=1e-12)
    made.go(MIDDLE)
    page.run(15.0)
    np.testing.assert_allclose(page.sent[-1][1], 0.5 * np.add(ARM.lower, ARM.upper), atol=1e-12)
    made.go(START)
    page.run(15.0)
    np.testing.assert_allclose(page.sent[-1][1], Q, atol=1e-12)
    poses.choice.value = 'home'
    page.buttons['Forget the pose'].clicked(None)
    assert list(made.file.read()) == ['elbow']
    made.go('home')
    assert 'no longer exists' in poses.words.content
    poses.choice.value = ZERO
    page.buttons['Forget the pose'].clicked(None)
    assert 'stays' in poses.words.content
    for name in (ZERO, ''):
        poses.name.value = name
        page.buttons['Save where it is'].clicked(None)
        assert 'name' in poses.words.content
    assert list(made.file.read()) == ['elbow']


def test_a_real_robot_goes_to_a_pose_while_the_button_is_held(rig):
    """And stops on the way when it is released."""
    made = rig(simulated=False)
    page = made.page.on()
    made.go(ZERO)
    page.run(2.0)
    assert not page.sent
    page.run(1.0, hold='Hold to move')
    released = page.clock
    page.run(3.0)
    assert page.sent and page.sent[-1][0] <= released + TIMEOUT
    assert np.abs(page.sent[-1][1]).max() > 0.5
    page.run(20.0, hold='Hold to move')
    np.testing.assert_allclose(page.sent[-1][1], 0.0, atol=1e-12)


def test_a_page_that_only_watches_neither_moves_nor_writes(rig):
    """Its buttons are grey; what a browser sends all the same has no effect on the robot."""
    made = rig(allowed=False)
    made.page.on()
    made.go(ZERO)
    made.page.run(1.0)
    assert not made.page.sent
    made.file.save('mine', {made.page.joints[0]: 0.5})
    made.poses.name.value, made.poses.choice.value = 'other', 'mine'
    made.page.buttons['Save where it is'].clicked(None)
    made.page.buttons['Forget the pose'].clicked(None)
    assert list(made.file.read()) == ['mine']
    assert all(button.disabled for button in made.page.buttons.values())


def test_a_robot_that_nobody_has_seen_has_no_pose_to_save(rig):
    """The page says so."""
    made = rig()
    made.page.telemetry.positions.clear()
    made.poses.name.value = 'here'
    made.page.buttons['Save where it is'].clicked(None)
    assert 'is unknown' in made.poses.words.content and made.file.read() == {}
