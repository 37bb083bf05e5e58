# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A ROS parameter file, read as rcl reads it and checked before anything starts.

rcl ends a process whose file it cannot read, and its message names neither the parameter nor what
to do. PyYAML alone is not enough: rcl reads a bare ``y`` as true, PyYAML does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
import re

from rbd_ros.control.interface.row import BOOL, DOUBLE, DOUBLES, INTEGERS, Parameter, STRINGS
from rbd_ros.control.parameters.table import NAMES_OF_MODES, PARAMETERS
from rbd_ros.control.parameters.validation import refusals
from rbd_ros.errors import nearest, nearest_file, SettingError, YAML_FILES
import yaml

__all__ = ['check_file', 'read_file']

SECTION = 'ros__parameters'
EXAMPLE = f'/**:\n  controller:\n    {SECTION}:\n      driver_adds: none'

#: parameters of every node, and what their names begin with
COMMON = ('use_sim_time', 'start_type_description_service')
COMMON_GROUPS = ('qos_overrides.',)

_TRUE = ('y', 'Y', 'yes', 'Yes', 'YES', 'on', 'On', 'ON', 'true', 'True', 'TRUE')
_FALSE = ('n', 'N', 'no', 'No', 'NO', 'off', 'Off', 'OFF', 'false', 'False', 'FALSE')
_SPECIAL = re.compile(r'[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)')
_WHOLE = re.compile(r'[-+]?(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)')
_NUMBER = re.compile(r'[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?')


@dataclass(frozen=True)
class Given:
    """A value of the file."""

    value: object
    line: int
    named: bool  # the section names our node; others may share one with a wildcard


def check_file(path: str, node: str,
               known: Mapping[str, Parameter] = PARAMETERS) -> dict[str, object]:
    """
    Return the parameters that a file gives to the controller, refusing what it cannot use.

    :param path: of the YAML file.
    :param node: name of the node with its namespace, for instance "/left/controller".
    :param known: the parameters of the node.
    :raises SettingError: names the file, the line and what to write instead.
    """
    given = read_file(path, node)
    problems = []
    own_modes = 'mode_file' in given  # their names are known when the controller is configured
    for name, entry in given.items():
        row = known.get(name)
        if own_modes and name in NAMES_OF_MODES:
            continue
        if row is not None:
            problem = _misfit(row, entry.value)
        elif own_modes and '.' in name:
            continue
        elif entry.named and name not in COMMON and not name.startswith(COMMON_GROUPS):
            problem = f'parameter {name} does not exist{nearest(name, known)}'
        else:
            continue
        if problem:
            problems.append(f'line {entry.line}: {problem}')
    values = {name: entry.value for name, entry in given.items()}
    if not problems:
        problems = refusals(values)
    if problems:
        raise SettingError(f'params_file "{path}": ' + '; '.join(problems))
    return values


def read_file(path: str, node: str = '') -> dict[str, Given]:
    """
    Return what a parameter file gives to a node.

    :param path: of the YAML file.
    :param node: name of the node with its namespace; empty: any.
    :raises SettingError: for a file that has nothing for the node, or that rcl could not read.
    """
    try:
        text = Path(path).read_text(encoding='utf-8')
    except FileNotFoundError:
        raise SettingError(f'params_file "{path}" does not exist'
                           f'{nearest_file(path, YAML_FILES)}') from None
    except OSError as error:
        raise SettingError(f'params_file "{path}" cannot be read: {error.strerror}') from error
    except UnicodeDecodeError as error:
        raise SettingError(f'params_file "{path}" is not text ({error.reason}); save it in '
                           'UTF-8') from error
    where = f'params_file "{path}"'
    sections = list(_sections(_parse(text, where), ''))
    if not sections:
        raise SettingError(f'{where} has no "{SECTION}": parameters go below the node name '
                           f'and that key, indented with spaces:\n{EXAMPLE}')
    mine = [(name, section) for name, section in sections if not node or _matches(name, node)]
    if not mine:
        names = ', '.join(f'"{name}"' for name, _ in sections)
        raise SettingError(f'{where} has parameters for {names}, but none for "{node}": name '
                           f'the node "{node}" in the file, or begin it with\n{EXAMPLE}')
    given: dict[str, Given] = {}
    for name, section in mine:
        if not isinstance(section, yaml.MappingNode):
            raise SettingError(f'{where} line {_line(section)}: "{SECTION}" needs parameters, '
                               f'one per line, as name: value')
        named = not name.endswith('*')
        lines: dict[str, int] = {}
        for key, value in _flat(section, ''):
            if key in lines:  # rcl takes the last one and says nothing
                raise SettingError(f'{where}: {key} is given twice, on lines {lines[key]} and '
                                   f'{_line(value)}: keep one of them')
            lines[key] = _line(value)
            given[key] = Given(_value(value, f'{where} line {_line(value)}: {key}'),
                               _line(value), named)
    return given


def _parse(text: str, where: str) -> yaml.MappingNode:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else 1
        lines = text.splitlines()
        tab = next((n for n in (line, line - 1) if 0 < n <= len(lines)
                    and '\t' in lines[n - 1]), None)
        if tab is not None:
            raise SettingError(f'{where} line {tab} has a tab: indent YAML with spaces') from error
        raise SettingError(f'{where} line {line} is not valid YAML: {error.problem}') from error
    except yaml.YAMLError as error:
        raise SettingError(f'{where} is not valid YAML: {error}') from error
    if not isinstance(root, yaml.MappingNode):
        kind = 'is empty' if root is None else 'is not a mapping'
        raise SettingError(f'{where} {kind}; start with the node name:\n{EXAMPLE}')
    return root


def _sections(node: yaml.MappingNode, name: str) -> Iterator[tuple[str, yaml.Node]]:
    """Find the parameters of every node; namespaces and names may be nested or one word."""
    for key, value in node.value:
        if key.value == SECTION:
            yield name or '/', value
        elif isinstance(value, yaml.MappingNode):
            yield from _sections(value, f'{name}/{key.value}'.replace('//', '/'))


def _matches(pattern: str, node: str) -> bool:
    """Return whether a name with wildcards is that of a node: * one part, ** any number."""
    parts = [part for part in pattern.split('/') if part]
    wild = {'**': r'(/\w+)*', '*': r'/\w+'}
    text = ''.join(wild.get(part, '/' + re.escape(part)) for part in parts)
    return re.fullmatch(text, node) is not None


def _flat(node: yaml.MappingNode, prefix: str) -> Iterator[tuple[str, yaml.Node]]:
    for key, value in node.value:
        if isinstance(value, yaml.MappingNode):
            yield from _flat(value, f'{prefix}{key.value}.')
        else:
            yield f'{prefix}{key.value}', value


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _value(node: yaml.Node, where: str) -> object:
    """Return a value with the type that rcl gives it."""
    if isinstance(node, yaml.SequenceNode):
        entries = [_value(each, where) for each in node.value]
        if any(isinstance(entry, list) for entry in entries):
            raise SettingError(f'{where} is a list of lists; parameters cannot be nested')
        if len({type(entry) for entry in entries}) > 1:
            raise SettingError(f'{where} mixes types: {_mixed(node.value, entries)}')
        return entries
    return _scalar(node.value, plain=getattr(node, 'style', None) is None)


def _scalar(text: str, *, plain: bool) -> bool | int | float | str:
    if plain and text in _TRUE:
        return True
    if plain and text in _FALSE:
        return False
    if plain and _WHOLE.fullmatch(text):
        digits = text.lstrip('+-')
        octal = len(digits) > 1 and digits[0] == '0' and digits[1] not in 'xX'
        return int(text, 8 if octal else 0)
    if plain and (_NUMBER.fullmatch(text) or _SPECIAL.fullmatch(text)):
        return float(text.replace('.inf', 'inf').replace('.Inf', 'inf').replace('.INF', 'inf')
                     .replace('.nan', 'nan').replace('.NaN', 'nan').replace('.NAN', 'nan'))
    return text


def _mixed(nodes: Iterable[yaml.Node], entries: list[object]) -> str:
    """Return what is wrong with a list that rcl refuses."""
    words = [node.value for node, entry in zip(nodes, entries) if isinstance(entry, bool)]
    if words:
        return _boolean(words[0])
    if all(isinstance(entry, (int, float)) for entry in entries):
        whole = next(entry for entry in entries if isinstance(entry, int))
        return f'write every number with a decimal point, {whole}.0 for {whole}'
    return 'a list must contain numbers or strings, not both'


def _boolean(word: str) -> str:
    advice = f'write "{word}" in quotes'
    if word in ('y', 'Y'):
        advice += ', or ty'
    return f'YAML reads a bare {word} as {"true" if word in _TRUE else "false"}; {advice}'


def _misfit(row: Parameter, value: object) -> str:
    """Return why a value has the wrong type for a parameter; empty if it has not."""
    reason = row.refusal(value)
    entries = value if isinstance(value, list) else [value]
    whole = next((entry for entry in entries
                  if isinstance(entry, int) and not isinstance(entry, bool)), None)
    if not reason and row.kind in (DOUBLE, DOUBLES) and whole is not None:
        return (f'{row.name} must be of type {row.kind}: write numbers with a decimal point, '
                f'{whole}.0 for {whole}')
    if reason and row.kind == BOOL:
        return f'{row.name} must be true or false, without quotes; got {value!r}'
    if reason and row.kind == DOUBLES and isinstance(value, (int, float)):
        if row.each_joint:
            return f'{row.name} is a list: write [{float(value)}] for all joints, or one per joint'
        if row.size:
            return f'{row.name} is a list: write [{float(value)}] for all axes, or one per axis'
        return f'{row.name} is a list' + (f', such as {row.default}' if row.default else '')
    if reason and row.kind == INTEGERS and value == whole:
        return f'{row.name} is a list: write [{value}]'
    if reason and row.kind == STRINGS and any(isinstance(entry, bool) for entry in entries):
        return f'{row.name} must contain strings: {_boolean("y" if True in entries else "n")}'
    return reason
