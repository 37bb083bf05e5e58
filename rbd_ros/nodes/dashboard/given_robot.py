# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A description that somebody gives to the page: who knows whose; read with care."""

from __future__ import annotations

import io
from typing import Any, NamedTuple, TYPE_CHECKING
from xml.etree import ElementTree

from rbd_ros.control.robot import make_robot
from rbd_ros.errors import RbdError
from rbd_ros.model.urdf.document import read_xml
from rbd_ros.model.urdf.loader import load_urdf
from rbd_ros.model.urdf.resources import installed_file
from rbd_ros.quoting import markdown_text
from rbd_ros.robot_check import ERROR, examine, Finding

if TYPE_CHECKING:
    from rbd_ros.model.model import Model

__all__ = ['GivenRobot', 'LARGEST', 'MOST_BODIES', 'read_robot', 'without_other_files']

LARGEST, MOST_BODIES = 2**22, 60  # bytes of a description; larger robots take long to check
MOST_LINKS, MOST_ELEMENTS = 500, 10_000  # with which it is checked within seconds
#: What is said of shapes that are not shown; the same whether their files exist or not.
LEFT_OUT = ('- Warning, meshes: {} shapes name files that are not of an installed package: they '
            'are left out.')
MOST_LISTED = 5  # elements of a finding, named one by one


class GivenRobot(NamedTuple):
    """
    A robot that can be shown.

    :param text: its URDF, which names no files but those of packages, by their paths.
    :param model: the robot.
    :param report: what the tests of ``rbd check`` find, as Markdown.
    :param refusal: why it cannot be simulated, as Markdown; empty: it can.
    """

    text: str
    model: Model
    report: str
    refusal: str


def read_robot(content: bytes) -> GivenRobot:
    """
    Return the robot of a file.

    :param content: of the file.
    :raises RbdError: for a file that is no robot, or one that is too large.
    """
    if len(content) > LARGEST:
        raise RbdError(f'it is larger than {LARGEST // 2**20} MB')
    try:
        text = content.decode('utf-8')
    except UnicodeDecodeError as error:
        raise RbdError(f'it is not UTF-8 text ({error.reason})') from error
    if (count := text.count('<') - text.count('</')) > MOST_ELEMENTS:
        raise RbdError(f'it has {count} elements, more than {MOST_ELEMENTS}')
    root = read_xml(text, 'it')  # a plain word would be taken for the name of a file
    if (count := len(root.all('link'))) > MOST_LINKS:
        raise RbdError(f'it has {count} links, more than {MOST_LINKS}')
    text, left_out = without_other_files(text)
    model = load_urdf(text, limits_optional=True, on_warning=lambda _: None)  # examined below
    if model.nb > MOST_BODIES:
        raise RbdError(f'it has {model.nb} moving bodies, more than {MOST_BODIES}')
    found = [each for each in examine(text) if each.elements]
    lines = [*map(_line, found), *([LEFT_OUT.format(left_out)] if left_out else [])]
    return GivenRobot(text, model, '\n'.join(lines) or 'Nothing is wrong with it.',
                      _refusal(model, found))


def without_other_files(text: str) -> tuple[str, int]:
    """
    Return a URDF whose meshes are files of installed packages, and how many shapes were left out.

    Meshes are named by the paths of these files, so that nothing is looked up again. Whether
    another file exists is not told.

    :param text: a URDF, without entities.
    """
    robot, left_out = _without_default_namespace(text), 0
    for link in robot.iter('link'):
        for shape in (*link.findall('visual'), *link.findall('collision')):
            files = {mesh: installed_file(mesh.get('filename', '')) for mesh in shape.iter('mesh')}
            if None in files.values():
                link.remove(shape)
                left_out += 1
            for mesh, file in files.items():
                mesh.set('filename', '' if file is None else file.as_uri())
    return ElementTree.tostring(robot, encoding='unicode'), left_out


def _without_default_namespace(text: str) -> Any:
    """Return the root element; what has no prefix is called as it is written."""
    plain_ones: set[str] = set()
    root: Any = None
    for event, found in ElementTree.iterparse(io.StringIO(text), ('start-ns', 'end')):
        if event == 'end':
            root = found
        elif not found[0]:
            plain_ones.add(found[1])
    for each in root.iter():
        address, _, name = each.tag[1:].partition('}')
        if address in plain_ones:
            each.tag = name
    return root


def _refusal(model: Model, found: list[Finding]) -> str:
    """Return why neither simulator nor controller would take a robot."""
    errors = [_line(each) for each in found if each.test.severity == ERROR]
    if not errors:
        try:
            make_robot(model)
        except RbdError as error:
            errors = [f'- {markdown_text(str(error))}']
    return '\n'.join(errors)


def _line(finding: Finding) -> str:
    """Return a finding in a line of a list."""
    test, elements = finding
    more = f' and {len(elements) - MOST_LISTED} more' * (len(elements) > MOST_LISTED)
    kind = 'Error' if test.severity == ERROR else 'Warning'
    named = ', '.join(map(markdown_text, elements[:MOST_LISTED]))
    return f'- {kind}, {test.name}: {named}{more}. {test.advice}'
