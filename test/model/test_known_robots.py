# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Robots by name: the table is true, names stand for files, and files win over names."""

from __future__ import annotations

from pathlib import Path
import re

from command_rig import data, rbd
import numpy as np
import pytest
import rbd_ros
from rbd_ros.model.urdf import find_resource
from rbd_ros.model.urdf.description import read_description
from rbd_ros.model.urdf.known_robots import known_robot, known_robots
import yaml

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize('name', known_robots())
def test_the_table_is_true(name: str) -> None:
    """Each robot loads by its name; the licence is that of its folder; parameters are there."""
    robot = known_robot(name)
    file = find_resource(name)
    assert file == find_resource(robot.address) and file.is_file()
    model = rbd_ros.load_urdf(name, limits_optional=True, on_warning=lambda note: None)
    assert model.nv >= 3 and read_description(name) == file.read_text()
    assert robot.base in ('fixed', 'floating')
    if robot.base == 'floating':
        assert rbd_ros.load_urdf(name, True, limits_optional=True,
                                 on_warning=lambda note: None).nv == model.nv + 6
    assert (ROOT / 'config' / robot.parameters).is_file()
    if robot.package == 'rbd_ros':
        return
    folder = next(each for each in file.parents if each.parent.name == 'robots')
    told = re.search(r'license: *(.*)', (folder / 'README.md').read_text(), re.IGNORECASE)[1]

    def plain(text: str) -> str:
        return re.sub(r'license|[^a-z0-9.]', '', text.lower())
    assert plain(told) == plain(robot.licence)


def test_parameters_speak_of_the_robot() -> None:
    """A file that is not for every robot names joints of that one."""
    for robot in known_robots().values():
        text = (ROOT / 'config' / robot.parameters).read_text()
        nodes = yaml.safe_load(text)['/**']
        if robot.base == 'floating':
            assert 'controller' not in nodes and nodes['stand']['ros__parameters'], robot.name
            continue
        named = nodes['controller']['ros__parameters'].get('joints', [])
        model = rbd_ros.load_urdf(robot.name, limits_optional=True, on_warning=lambda note: None)
        assert set(named) <= set(model.joint_names), robot.name


def test_the_page_has_them_all() -> None:
    """The table of the documentation is the table of the program."""
    page = (ROOT / 'docs' / 'models.md').read_text()
    for robot in known_robots().values():
        assert f'| `{robot.name}` | {robot.title} | {robot.licence} |' in page, robot.name


def test_a_file_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has a file with that name in the folder means the file."""
    text = find_resource('delta').read_text().replace('name="', 'name="mine_', 1)
    (tmp_path / 'panda').write_text(text)
    monkeypatch.chdir(tmp_path)
    assert rbd_ros.load_urdf('panda').name.startswith('mine_')
    assert read_description('panda') == text


def test_names_that_nobody_has() -> None:
    """The nearest one is offered."""
    with pytest.raises(rbd_ros.UnknownName, match='did you mean "panda"'):
        known_robot('pandaa')
    with pytest.raises(rbd_ros.ModelError, match='did you mean "panda"'):
        rbd_ros.load_urdf('pandaa')
    with pytest.raises(rbd_ros.ModelError) as error:
        rbd_ros.load_urdf('missing.urdf')
    assert 'did you mean' not in str(error.value)


def test_commands_take_names() -> None:
    """``rbd robots`` lists all, and others take them for a file."""
    listed = data('robots')['robots']
    assert [row['name'] for row in listed] == list(known_robots())
    assert all(row['installed'] for row in listed)
    said = ''.join(rbd('robots'))
    assert 'Franka Emika Panda' in said
    assert 'pip install' not in said  # all are there
    assert data('info', 'ur5')['name'] == 'ur5'
    q = [0.0, -1.0, 1.0, 0.0, 0.5, 0.0]
    told = data('torque', 'ur5', '--q', ','.join(map(str, q)))
    wanted = rbd_ros.Dynamics(rbd_ros.load_urdf(known_robot('ur5').address)).gravity(q)
    np.testing.assert_allclose(told['torque'], wanted, atol=1e-9)
