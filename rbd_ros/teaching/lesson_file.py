# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Lessons as plain YAML files, which people may edit.

What is wrong with a file is told with its line and with what is expected there. Numbers are
written so that they are read again to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
import math
from pathlib import Path
import re

from rbd_ros.errors import nearest, RbdError
from rbd_ros.quoting import yaml_text
from rbd_ros.teaching.lesson import Lesson, Point
import yaml

__all__ = ['has_comments', 'LessonError', 'lesson_text', 'read_lesson', 'write_lesson']

_HEAD = """\
# A motion that was taught. rbd teach play runs it, rbd teach edit changes it, and so may you:
#   positions  rad, or m for a prismatic joint, in the order of joints
#   time       s since the previous point; the point is passed without a stop. Without a time the
#              path to the point is straight in joint space, from rest to rest
#   dwell      s to stay at the point
#   name       for human readers
"""
#: of YAML, in quotes
_TEXT = r'"(\\.|[^"\\])*"|\'[^\']*\''
_KEYS = ('positions', 'time', 'dwell', 'name')


class LessonError(RbdError):
    """A file that is no lesson; the message has the line, and what is expected."""


def write_lesson(path: Path, lesson: Lesson) -> None:
    """Write a lesson; a file that was there before is replaced as a whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + '.part')
    part.write_text(lesson_text(lesson))
    part.replace(path)


def has_comments(path: Path) -> bool:
    """Return whether somebody wrote comments into a file, which another one does not have."""
    own = path.read_text().replace(_HEAD, '')
    return re.search(r'(^|\s)#', re.sub(_TEXT, '', own)) is not None


def lesson_text(lesson: Lesson) -> str:
    """Return a lesson as YAML."""
    lines = [f'joints: [{", ".join(map(yaml_text, lesson.joints))}]', 'points:']
    for point in lesson.points:
        parts = [f'positions: [{", ".join(map(_number, point.positions))}]']
        if point.time is not None:
            parts.append(f'time: {_number(point.time)}')
        if point.dwell:
            parts.append(f'dwell: {_number(point.dwell)}')
        if point.name:
            parts.append(f'name: {yaml_text(point.name)}')
        lines.append(f'- {{{", ".join(parts)}}}')
    if not lesson.points:
        lines[-1] = 'points: []'
    return _HEAD + '\n'.join(lines) + '\n'


def _number(value: float) -> str:
    text = repr(float(value))
    mantissa, e, power = text.partition('e')  # YAML wants a point before e
    return text if not e or '.' in mantissa else f'{mantissa}.0e{power}'


def read_lesson(path: Path) -> Lesson:
    """
    Return the lesson of a file.

    :raises LessonError: if it is none.
    """
    try:
        root = yaml.compose(path.read_text(), yaml.SafeLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, 'problem_mark', None)
        where = f'line {mark.line + 1}: ' if mark is not None else ''
        why = getattr(error, 'problem', None) or 'no text'
        raise LessonError(f'{path}: {where}it cannot be read as YAML ({why})') from None
    return _Reader(path).lesson(root)


class _Reader:
    """Turns nodes of YAML, which know their lines, into a lesson."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def _refuse(self, node: yaml.Node | None, text: str) -> LessonError:
        line = 1 if node is None else node.start_mark.line + 1
        return LessonError(f'{self._path}, line {line}: {text}')

    def lesson(self, root: yaml.Node | None) -> Lesson:
        parts = self._mapping(root, ('joints', 'points'), 'a file with joints and points')
        for name in ('joints', 'points'):
            if name not in parts:
                raise self._refuse(root, f'{name}: is missing; expected joints: [...] and '
                                         'points: [...]')
        joints = tuple(self._text(each, 'the name of a joint') for each in self._list(
            parts['joints'], 'a list of joint names'))
        if not joints or len(set(joints)) < len(joints):
            raise self._refuse(parts['joints'], 'expected one or more joints, each once')
        points = tuple(self._point(each, joints) for each in self._list(
            parts['points'], 'a list of points'))
        if points and points[0].time is not None:
            raise self._refuse(parts['points'], 'the first point has a time, but no point is '
                                                'before it; remove the time')
        return Lesson(joints, points)

    def _point(self, node: yaml.Node, joints: tuple[str, ...]) -> Point:
        parts = self._mapping(node, _KEYS, 'a point such as {positions: [...], dwell: 0.5}')
        if 'positions' not in parts:
            raise self._refuse(node, 'a point needs positions: [...]')
        values = self._list(parts['positions'], 'a list of positions')
        if len(values) != len(joints):
            raise self._refuse(parts['positions'], f'expected {len(joints)} positions, of '
                                                   f'{", ".join(joints)}; got {len(values)}')
        return Point(
            tuple(self._number(each, 'a position in rad or m') for each in values),
            self._number(parts['time'], 'a time in s, more than 0', lambda x: x > 0.0)
            if 'time' in parts else None,
            self._number(parts['dwell'], 'a dwell in s, 0 or more', lambda x: x >= 0.0)
            if 'dwell' in parts else 0.0,
            self._text(parts['name'], 'a name') if 'name' in parts else '')

    def _mapping(self, node: yaml.Node | None, known: tuple[str, ...], what: str,
                 ) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            raise self._refuse(node, f'expected {what}')
        found: dict[str, yaml.Node] = {}
        for key, value in node.value:
            name = str(key.value)
            if name not in known:
                raise self._refuse(key, f'"{name}" is unknown{nearest(name, known)}; expected '
                                        f'{", ".join(known)}')
            if name in found:
                raise self._refuse(key, f'"{name}" is given twice')
            found[name] = value
        return found

    def _list(self, node: yaml.Node, what: str) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            raise self._refuse(node, f'expected {what}')
        return list(node.value)

    def _text(self, node: yaml.Node, what: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value:
            raise self._refuse(node, f'expected {what}')
        return str(node.value)

    def _number(self, node: yaml.Node, what: str,
                fits: Callable[[float], bool] = math.isfinite) -> float:
        try:
            value = float(node.value) if isinstance(node, yaml.ScalarNode) else math.nan
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and fits(value)):
            text = node.value if isinstance(node, yaml.ScalarNode) else 'something else'
            raise self._refuse(node, f'expected {what}; got {text}')
        return value
