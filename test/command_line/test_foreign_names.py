# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Names that others wrote are data: in every language that is written, and in whole projects."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
import json
from pathlib import Path
import shutil
import subprocess
import sys
import unicodedata
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from command_rig import PLANAR, rbd
from hypothesis import example, given, settings, strategies as st
from markdown_it import MarkdownIt
import pytest
from rbd_env.pace import patient
from rbd_ros import load_urdf
from rbd_ros.command_line.c_controller import controller_project, controller_settings
from rbd_ros.command_line.c_project import c_project
from rbd_ros.command_line.embedded.firmware import firmware_project
from rbd_ros.command_line.prefixes import check_prefix, usual_prefix
from rbd_ros.command_line.ros2_control.package import ros2_control_package
from rbd_ros.compiler.embedded.processors import processor
from rbd_ros.control.parameters.template import Described, parameter_file
from rbd_ros.errors import SettingError
from rbd_ros.quoting import (
    c_text, filled, in_comment, js_value, markdown_code, markdown_text, markup_text, one_line,
    yaml_text)
from rbd_ros.teaching.lesson import Lesson, Point
from rbd_ros.teaching.lesson_file import lesson_text
from sampling import examples, some
import yaml

#: Control characters, formats, ends of lines and spaces of Unicode, and the marks of ASCII.
SPECIAL = [chr(code) for code in range(sys.maxunicode + 1)
           if unicodedata.category(chr(code)) in ('Cc', 'Cf', 'Zl', 'Zp', 'Zs')
           or 0x20 < code < 0x7f and not chr(code).isalnum()]
TEXTS = st.text(st.one_of(st.sampled_from(SPECIAL), st.characters(exclude_categories=['Cs'])),
                max_size=30)
FUZZED = settings(max_examples=examples('properties', 300), deadline=None)


def attacks(line: str) -> Iterator[str]:
    """Yield a line of another language behind whatever may end the one before."""
    for end in (*SPECIAL, '\r\n', '*/', '??/\n', '\\\n', '\\'):
        yield f'x{end}{line}{end}'


def run(folder: Path, *words: object) -> str:
    """Run a program and return what it wrote; one that this machine lacks skips the test."""
    if shutil.which(str(words[0])) is None:
        pytest.skip(f'this machine has no {words[0]}')
    done = subprocess.run(list(map(str, words)), cwd=folder, capture_output=True, check=False,
                          timeout=patient(60))
    assert done.returncode == 0, (done.stdout + done.stderr).decode(errors='replace')
    return done.stdout.decode()


def test_texts_and_comments_of_c(tmp_path: Path) -> None:
    """A compiler with trigraphs finds the bytes of each text, and the end of each comment."""
    texts = [f'a{c}{d}1' for c in SPECIAL for d in ('', '?', '/')] + list(attacks('"#error'))
    lines = [f'/* {in_comment(text)} */ {{{c_text(text)}, sizeof {c_text(text)} - 1}}, // '
             f'{in_comment(text)}' for text in texts]
    (tmp_path / 'a.c').write_text('\n'.join([
        '#include <stdio.h>', 'static const struct {const char *text; size_t size;} all[] = {',
        *lines, '};', 'int main(void) {', 'for (unsigned k = 0; k < sizeof all / sizeof all[0]; '
        '++k) {', 'printf("%zu:", all[k].size);', 'fwrite(all[k].text, 1, all[k].size, stdout);',
        '}', 'return 0;', '}', '']), encoding='utf-8')
    run(tmp_path, 'cc', '-std=c99', '-Wall', '-Wextra', '-Werror', '-o', 'a', 'a.c')
    found = subprocess.run([str(tmp_path / 'a')], capture_output=True, check=True).stdout
    assert found == b''.join(b'%d:%s' % (len(data), data)
                             for data in (text.encode() for text in texts))


def test_comments_of_make_and_cmake(tmp_path: Path) -> None:
    """Whatever ends a line in some language does not end a comment, nor join the next line."""
    for file, command, last in (
            ('CMakeLists.txt', 'execute_process(COMMAND touch hit)', 'file(TOUCH end)'),
            ('Makefile', 'X := $(shell touch hit)', 'all:\n\ttouch end')):
        (tmp_path / file).write_text(''.join(
            f'# "{in_comment(text)}"\n# {in_comment(text)}\n'
            for text in attacks(command)) + last + '\n', encoding='utf-8')
    for words in (('cmake', '-P', 'CMakeLists.txt'), ('make',)):
        run(tmp_path, *words)
        assert (tmp_path / 'end').exists() and not (tmp_path / 'hit').exists(), words
        (tmp_path / 'end').unlink()


def test_yaml() -> None:
    """Every reader finds the text, and nothing else."""
    for reader in (yaml.SafeLoader, getattr(yaml, 'CSafeLoader', yaml.SafeLoader)):
        for text in attacks('b: 3'):
            found = yaml.load(f'# {in_comment(text)}\na: [{yaml_text(text)}, 1]\n'
                              f'c: 2 # {in_comment(text)}\n', reader)
            assert found == {'a': [text, 1], 'c': 2}


@FUZZED
@given(text=TEXTS)
def test_any_text(text: str) -> None:
    """YAML, JavaScript, XML and a template give back what they got."""
    assert yaml.safe_load(yaml_text(text)) == text and yaml_text(text).isprintable()
    assert json.loads(js_value([text])) == [text] and '<' not in js_value(text)
    assert one_line(text).isprintable() and in_comment(text).isprintable()
    assert not any(mark in f'/*{in_comment(text)}'[1:] for mark in ('*/', '/*', '</'))
    shown = ''.join(c if c.isprintable() else ' ' for c in text)
    root = ElementTree.fromstring(f'<a>{markup_text(text)}<b/></a>')
    assert (root.text or '') == shown and len(root) == 1
    assert filled('@a@|@b@', {'a': '@b@', 'b': text}) == f'@b@|{text}'


class Tags(HTMLParser):
    """What elements and texts a page has."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.attributes: list[str | None] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.tags.append(tag)
        self.attributes += [value for _, value in attrs]

    def handle_data(self, data: str) -> None:
        """Note a text."""
        self.texts.append(data)


@FUZZED
@given(text=TEXTS)
@example(text='<iframe src="javascript:alert(1)">')
@example(text='"><img src=x onerror=alert(1)>')
def test_markup(text: str) -> None:
    """A browser finds the text in an element and in an attribute, and no further element."""
    shown = ''.join(c if c.isprintable() else ' ' for c in text)
    found = Tags(f'<p title="{markup_text(text)}">{markup_text(text)}</p>')
    assert found.tags == ['p'] and found.attributes == [shown]
    assert ''.join(found.texts) == shown


@FUZZED
@given(text=TEXTS)
@example(text='<iframe src="http://a.b">')
@example(text='![](x) [a](http://b) ~~c~~ `d` **e** _f_ | g &lt; {h} # ')
@example(text='1. a')
@example(text='    - a')
@example(text='    0:')
def test_markdown(text: str) -> None:
    """Wherever it stands, a text of Markdown is a text."""
    reader = MarkdownIt('commonmark', {'html': True}).enable(['table', 'strikethrough'])
    quoted = markdown_text(text)
    for before, after, tags in (
            ('**a', 'b**', ['p', 'strong']), ('a', 'b', ['p']), ('- a', 'b', ['ul', 'li']),
            ('| a |\n|---|\n| a', 'b |', ['table', 'thead', 'tr', 'th', 'tbody', 'tr', 'td']),
            ('', '', ['p'] if quoted.strip() else [])):
        found = Tags(reader.render(f'{before}{quoted}{after}'))
        assert found.tags == tags, (found.tags, quoted)
        words = ' '.join(''.join(found.texts).replace('\u200b', '').split())
        assert words.endswith(' '.join(
            f'{before.rpartition(chr(10))[2].strip("*|- ")}'
            f'{"".join(c if c.isprintable() else " " for c in text)}'
            f'{after.strip("*| ")}'.replace('\u200b', '').split())), words
    found = Tags(reader.render(f'a {markdown_code("x" + text)} b'))
    assert found.tags == ['p', 'code'] and ''.join(found.texts).strip() == 'a x{} b'.format(
        ''.join(c if c.isprintable() else ' ' for c in text).replace('`', "'"))


@pytest.mark.parametrize('text', ['www.example.com', 'https://example.com/a', 'me@example.com'])
def test_no_address_is_a_link(text: str) -> None:
    """A page finds addresses in texts, too: none is in one piece."""
    reader = MarkdownIt('commonmark').render(markdown_text(text))
    assert text not in reader and text in reader.replace('\u200b', '')


@FUZZED
@given(robot=TEXTS, joints=st.lists(TEXTS, min_size=1, max_size=4, unique=True), tip=TEXTS)
@example(robot='a\u2028/**:\u0085  x: 1', joints=['a\u2028      mode_file: /tmp/x.py', 'b'],
         tip='\u0085')
@example(robot='', joints=['infinity', 'Infinity'], tip='0x1234567')
@example(robot='', joints=['1_000_000', 'abcdefgh'], tip='abcdefgh')
def test_parameter_files(robot: str, joints: list[str], tip: str) -> None:
    """Whatever the names are, the parameters are those of the plain names."""
    def made(robot: str, joints: list[str], tip: str) -> dict[str, object]:
        text = parameter_file(Described(
            robot=robot, joints=joints, effort=[0.0, *(len(joints) - 1) * [2.0]],
            velocity=len(joints) * [1.0], tip=tip, origin=robot, rate=500.0, doubts=[robot],
            assembly=dict.fromkeys(joints, 0.5)))
        return yaml.safe_load(text)['/**']['controller']['ros__parameters']
    found = made(robot, joints, tip)
    assert found.pop('joints') == joints and found.pop('task.frame') == tip
    plain = made('robot', [f'joint_{k}' for k in range(len(joints))], 'tool0')
    assert {**plain, 'joints': None, 'task.frame': None} == {
        **found, 'joints': None, 'task.frame': None}


@FUZZED
@given(joint=TEXTS, name=TEXTS)
def test_lessons(joint: str, name: str) -> None:
    """Names of joints and points come back from a file of a lesson."""
    read = yaml.safe_load(lesson_text(Lesson((joint,), (Point((1.0,), name=name),))))
    assert read['joints'] == [joint] and read['points'][0].get('name', '') == name


@FUZZED
@given(name=TEXTS)
@example(name='٣x')
@example(name='example')
@example(name='MATH')
def test_every_robot_has_a_prefix(name: str) -> None:
    """It can be built with that, whatever its name is."""
    check_prefix(usual_prefix(name))


@pytest.mark.parametrize('name', ['example', 'main', 'test', 'all', 'install', 'clean', 'help',
                                  'm', 'math', 'board', 'stdio'])
def test_names_that_a_project_needs(name: str) -> None:
    """They are refused as a prefix, and a robot of that name gets another one."""
    with pytest.raises(SettingError, match=f'such as {name}_robot'):
        check_prefix(name)
    assert usual_prefix(name) == f'{name}_robot' and usual_prefix('arm') == 'arm'


STRICT = ('-std=c99', '-Wall', '-Wextra', '-Werror', '-pedantic', '-Wconversion', '-Wcomment')


@pytest.mark.parametrize('scalar', ['double', 'float'])
def test_a_project_of_any_robot(tmp_path: Path, scalar: str) -> None:
    """It is built without a warning and runs, whatever its robot and its joints are called."""
    for number, name in enumerate(some('formats', [
            'example', 'main', 'test', 'install', 'm', 'help', 'math', '*/ #error no /*',
            'a&#10;execute_process(COMMAND touch hit)', 'x\\', '&#x2028;??/', '&quot;) touch(hit'],
            2)):
        file, folder = tmp_path / f'{number}.urdf', tmp_path / str(number)
        file.write_text(PLANAR.replace('"planar"', f'"{name}"').replace(
            '"elbow"', f'"{name} elbow"'), encoding='utf-8')
        rbd('codegen', file, '--out', folder, '--scalar', scalar, '--quantity', 'gravity')
        run(folder, 'cmake', '-S', '.', '-B', 'build', f'-DCMAKE_C_FLAGS={" ".join(STRICT)}')
        run(folder, 'cmake', '--build', 'build')
        assert 'all as expected' in run(folder, folder / 'build' / 'example')
        assert not list(folder.rglob('hit'))


def test_names_add_no_line_to_a_controller(tmp_path: Path) -> None:
    """Its C code and its package for ros2_control have the lines of a robot with plain names."""
    counts, evil = [], 'a */ @joints@ "\u2028\u0085\n#error {x} \\'
    for name in ('arm', evil):
        text = PLANAR.replace('"planar"', quoteattr(name)).replace(
            '"elbow"', quoteattr(f'{name} elbow'))
        params = tmp_path / 'planar.yaml'
        params.write_text(rbd('config', '-', '--driver-adds', 'none', '--release-torque',
                              'gravity', '--effort-is-torque', 'true', stdin=text)[0])
        chosen = controller_settings(text, str(params), lambda _: None)
        files = {**controller_project(chosen, 'arm'), **ros2_control_package(chosen, 'arm')}
        counts.append({file: len(content.splitlines()) for file, content in files.items()})
    assert counts[0] == counts[1] and len(counts[0]) > 15
    ElementTree.fromstring(files['arm_rbd_robot/package.xml'])
    managed = yaml.safe_load(files['arm_rbd_robot/config/controllers.yaml'])[
        'joint_trajectory_controller']
    assert managed['ros__parameters']['joints'] == ['shoulder', f'{evil} elbow']


#: In place of a function: the result, with some entries that are no numbers.
SPOILED = """
#include <math.h>
#include <stdlib.h>
#include "arm.h"
#undef arm_gravity
void {real}({signature});
void {name}({signature})
{{
    const long which = strtol(getenv("SPOILED"), NULL, 10);
    {real}({arguments});
    for (int k = 0; k < 3; ++k) {{ if (which >> k & 1) {{ tau[k] = NAN; }} }}
}}
"""
TREE = """<robot name="arm"><link name="a"/>{}</robot>""".format(''.join(
    f'<link name="{b}"><inertial><origin xyz="0.1 0 0"/><mass value="1"/><inertia ixx="1" iyy="1" '
    f'izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="{a}{b}" type="continuous">'
    f'<parent link="{a}"/><child link="{b}"/><axis xyz="0 1 0"/></joint>'
    for a, b in ('ab', 'bc', 'cd')))
#: What the firmware needs of a board, on this machine.
BOARD = """
#include <stdio.h>
#include "board.h"
void put(const char *text) { fputs(text, stdout); }
void leave(int code) { (void)code; }
uint32_t stack_used(void) { return 0; }
"""


@pytest.mark.parametrize('kind', ['example', 'firmware'])
def test_a_self_test_sees_what_is_no_number(tmp_path: Path, kind: str) -> None:
    """Any entry of a result that is no number is a difference, wherever it stands."""
    model, chosen = load_urdf(TREE), [('gravity', None)]
    files: dict[str, str | bytes] = dict(c_project(model, chosen, prefix='arm', scalar='float'))
    main = 'example.c'
    if kind == 'firmware':
        made = firmware_project(model, chosen, prefix='arm', processor=processor('cortex-m4'))
        files |= {name: made[name] for name in ('main.c', 'board.h')}
        files['board.c'], main = BOARD, 'main.c'
    signature = str(files['arm.h']).partition('arm_gravity(')[2].partition(')')[0]
    arguments = [part.partition('[')[0].split()[-1] for part in signature.split(',')]
    spoiled = SPOILED.format(real='true_gravity', name='arm_gravity', signature=signature,
                             arguments=', '.join(arguments)).replace('tau[', f'{arguments[-1]}[')
    for name, text in {**files, 'spoiled.c': spoiled}.items():
        (tmp_path / name).write_text(str(text))
    run(tmp_path, 'cc', '-c', '-O1', '-Darm_gravity=true_gravity', 'arm.c')
    others = ['board.c'] if kind == 'firmware' else []
    run(tmp_path, 'cc', '-o', 'program', 'arm.o', 'spoiled.c', main, *others, '-lm')
    for which in range(8):
        done = subprocess.run([str(tmp_path / 'program')], env={'SPOILED': str(which)},
                              capture_output=True, text=True, check=False)
        assert (done.returncode == 0) is ('all as expected' in done.stdout) is (which == 0), which
