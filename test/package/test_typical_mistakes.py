# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Typical mistakes get the answers that the page of troubleshooting promises.

Those of a running robot are quoted from the sources, which ``test_docs.py`` compares.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import re

from linted import ROOT
import pytest
from rbd_ros import load_urdf
from rbd_ros.control.parameters.assembly import build_robot, build_settings
from rbd_ros.control.parameters.file import check_file
from rbd_ros.control.parameters.table import defaults
from rbd_ros.errors import RbdError
from rbd_ros.model.urdf.description import read_description
from rbd_ros.model.urdf.known_robots import known_robot
from rbd_ros.model.urdf.resources import find_resource

PAGE = ROOT / 'docs' / 'troubleshooting.md'
ARM = (ROOT / 'urdf' / 'seven_joint_arm.urdf').read_text()
HEAD = '/**:\n  controller:\n    ros__parameters:\n'


def promised() -> list[str]:
    """Return the answers of the page's first table, as it spells them."""
    table = PAGE.read_text().partition('## Typical mistakes')[2].partition('Answers of ROS')[0]
    rows = [line.split(' | ') for line in table.splitlines() if line.startswith('| ')]
    return [row[0].strip('|` ') for row in rows[1:]]


def pattern(answer: str) -> str:
    """Return the expression that an answer must match; words in angle brackets stand for any."""
    return '.+'.join(re.escape(part) for part in re.split(r'<[^>]*>', answer))


def parameters(text: str) -> Callable[[Path], object]:
    """Return what reads a parameter file with a text."""
    def read(folder: Path) -> object:
        file = folder / 'arm.yaml'
        file.write_text(text)
        return check_file(str(file), '/controller')
    return read


def missing(read: Callable[[str], object], name: str, there: str) -> Callable[[Path], object]:
    """Return what reads a file that is not there, next to one that is."""
    def attempt(folder: Path) -> object:
        (folder / there).touch()
        return read(str(folder / name))
    return attempt


def configured(urdf: str, **values: object) -> Callable[[Path], object]:
    """Return what configures a controller."""
    def configure(folder: Path) -> object:
        given = {**defaults(), **values}
        return build_settings(build_robot(given, urdf, lambda text: None), given, simulated=False)
    return configure


def loaded(urdf: str) -> Callable[[Path], object]:
    """Return what loads a description."""
    def load(folder: Path) -> object:
        (folder / 'arm.urdf').write_text(urdf)
        return load_urdf(folder / 'arm.urdf')
    return load


MISTAKES = {
    'file "<file>" not found': missing(find_resource, 'my_robto.urdf', 'my_robot.urdf'),
    'params_file "<file>"': missing(lambda name: check_file(name, '/controller'),
                                    'amr.yaml', 'arm.yaml'),
    'parameter <name>': parameters(f'{HEAD}      stifness: [1.0]\n'),
    'has parameters for': parameters(f'{HEAD.replace("ller", "ler")}      mode: hold\n'),
    'has no "<key>"': parameters('controller:\n  mode: hold\n'),
    '<name> is a list': parameters(f'{HEAD}      stiffness: 100\n'),
    '<name> must be one of': parameters(f'{HEAD}      mode: hodl\n'),
    'no joint': configured(ARM, joints=['jont_7']),
    'no torque limit': configured(re.sub(r'effort="[\d.]+"', 'effort="0"', ARM)),
    '<joint> is': loaded(re.sub(r'<limit[^>]*/>', '', ARM)),
}


@pytest.mark.parametrize('begin', MISTAKES)
def test_answer(begin: str, tmp_path: Path) -> None:
    """The program says what the page says, word by word."""
    answer = next(each for each in promised() if each.startswith(begin))
    with pytest.raises(RbdError) as caught:
        MISTAKES[begin](tmp_path)
    assert re.search(pattern(answer), str(caught.value), re.DOTALL), f'{caught.value}\n{answer}'


def test_name_of_a_robot() -> None:
    """A mistyped robot is answered with the one that was meant."""
    answer = next(each for each in promised() if each.startswith('no robot'))
    with pytest.raises(RbdError) as caught:
        known_robot('pandaa')
    assert re.search(pattern(answer), str(caught.value))


@pytest.mark.parametrize(('line', 'words'), [
    ('autostart: "no"', 'autostart must be true or false, without quotes'),
    ('gravity: -9.81', r'gravity is a list, such as [0.0, 0.0, -9.81]'),
    ('mode: gravity', 'did you mean "gravity_compensation"?'),
    ('driver_adds: none\n      driver_adds: gravity',
     'driver_adds is given twice, on lines 4 and 5: keep one of them'),
    ('task.frame: tool0\n      task: {frame: tool1}', 'task.frame is given twice'),
])
def test_a_line_of_a_parameter_file(line: str, words: str, tmp_path: Path) -> None:
    """A line that rcl would take in silence, or refuse without advice, is answered."""
    with pytest.raises(RbdError, match=re.escape(words)):
        parameters(f'{HEAD}      {line}\n')(tmp_path)


def test_files_with_nothing_to_read(tmp_path: Path) -> None:
    """An empty description is no description on a topic; what is no text says so."""
    (tmp_path / 'arm.urdf').write_text(' \n')
    (tmp_path / 'arm.yaml').write_bytes(b'\xff\xfe\x00')
    with pytest.raises(RbdError, match='arm.urdf" is empty; give a URDF or xacro file'):
        read_description(str(tmp_path / 'arm.urdf'))
    with pytest.raises(RbdError, match='the URDF text is empty'):
        load_urdf('')
    with pytest.raises(RbdError, match='arm.yaml" is not text .*save it in UTF-8'):
        check_file(str(tmp_path / 'arm.yaml'), '/controller')


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """The folder is named, not the file in it."""
    with pytest.raises(RbdError, match=f'there is no folder {tmp_path}/none'):
        find_resource(tmp_path / 'none' / 'arm.urdf')


def test_the_kind_of_a_file(tmp_path: Path) -> None:
    """A robot is offered for a robot, parameters for parameters, and neither for the other."""
    for name in ('my_robot.urdf', 'my_robots.yaml', 'my_robot.stl'):
        (tmp_path / name).write_text('a: 1\n')
    for name, words in (
            ('my_robot.yaml', 'a robot is a URDF or xacro file, not YAML'),
            ('my_robots.urdf', 'did you mean "my_robot.urdf"?'),
            ('my_robott', 'did you mean "my_robot.urdf"?'),
            ('my_robott.stl', 'did you mean "my_robot.stl"?')):
        with pytest.raises(RbdError, match=re.escape(words)):
            find_resource(tmp_path / name)
    with pytest.raises(RbdError, match='did you mean "my_robots.yaml"'):
        check_file(str(tmp_path / 'my_robot.yml'), '/controller')
    with pytest.raises(RbdError, match='it does not begin with <: give a URDF or xacro file'):
        load_urdf(tmp_path / 'my_robots.yaml')
    with pytest.raises(RbdError) as caught:
        check_file(str(tmp_path / 'none_of_them.yaml'), '/controller')
    assert 'urdf' not in str(caught.value)


def test_there_are_many() -> None:
    """Fifteen at least, each with something to do."""
    assert len(promised()) >= 15
