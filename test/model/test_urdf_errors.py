# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Every kind of bad description is refused (or doubted) with words that name the element."""

import pathlib
import random
import warnings

import numpy as np
import pytest

from rbd_ros.errors import ModelError, RbdWarning
from rbd_ros.model.urdf import check, elements, load_urdf
from rbd_ros.model.urdf.description import read_description
from rbd_ros.spatial import Sym3, Vec3

BODY = ('<inertial><mass value="{mass}"/>'
        '<inertia ixx="{ixx}" ixy="0" ixz="0" iyy="{iyy}" iyz="0" izz="{izz}"/></inertial>')
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="2"/>'


def link(name, mass=1.0, ixx=0.01, iyy=0.01, izz=0.01):
    """Return a link with an inertia."""
    return f'<link name="{name}">{BODY.format(mass=mass, ixx=ixx, iyy=iyy, izz=izz)}</link>'


def joint(name='j', parent='a', child='b', kind='revolute', inside='', limit=LIMIT):
    """Return a joint; ``inside`` is added to its content."""
    return (f'<joint name="{name}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="{child}"/>{limit}{inside}</joint>')


def robot(*parts):
    """Return a robot called r, one part per line, so that line numbers are known."""
    return '<robot name="r">\n' + '\n'.join(parts) + '\n</robot>'


def pair(**options):
    """Return a robot of two links with one joint."""
    return robot(link('a'), link('b'), joint(**options))


REFUSED = {
    'not XML': ('hello\nworld', r'not XML: it starts with "hello'),
    'empty': ('  ', r'the URDF text is empty; give a URDF or xacro file'),
    'cut off': ('<robot name="r"><link name="a"/>', r'not well-formed XML: no element found'),
    'mismatch': ('<robot><link></robot>', r'the URDF text is not well-formed XML: mismatched'),
    'bad bytes': (b'<robot>\xff\xfe</robot>', r'not well-formed XML: not well-formed'),
    'strange encoding': (b'<?xml version="1.0" encoding="klingon"?><robot/>',
                         r'not well-formed XML: unknown encoding'),
    'other format': ('<sdf version="1.7"/>', r'root element is <sdf>; in a URDF it is <robot>'),
    'no link': ('<robot name="r"/>', r'the robot has no link'),
    'entity bomb': ('<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
                    '<robot name="&b;"/>', r'entities \("r"\) are refused .* <!DOCTYPE>'),
    'external entity': ('<!DOCTYPE r SYSTEM "http://localhost/x.dtd"><robot name="r"/>',
                        r'line 1: document types and entities'),
    'deep nesting': ('<robot>' + '<a>' * 500 + '</a>' * 500 + '</robot>',
                     r'nested more than 100 deep'),
    'deep nesting in what is passed over': (
        '<robot><visual>' + '<a>' * 500 + '</a>' * 500 + '</visual></robot>',
        r'nested more than 100 deep'),
    'xacro tag': ('<robot name="r"><xacro:include filename="x"/></robot>',
                  r'<xacro:include> \(line 1\): .* written in xacro.*expand it first: xacro'),
    'xacro value': ('<robot name="r"><link name="${prefix}a"/></robot>', r'written in xacro'),
    'link without name': (robot('<link/>'), r'<link> \(line 2\) needs the attribute "name"'),
    'joint without name': (robot(link('a'), '<joint type="fixed"/>'),
                           r'<joint> \(line 3\) needs the attribute "name"'),
    'joint without type': (robot(link('a'), '<joint name="j"/>'),
                           r'joint "j" \(line 3\) needs the attribute "type"'),
    'joint type': (pair(kind='screw'), r'joint "j" \(line 4\): type "screw" is unknown; '
                                       r'URDF has revolute, .*planar'),
    'no parent': (robot(link('a'), '<joint name="j" type="fixed"><child link="a"/></joint>'),
                  r'joint "j" \(line 3\) needs a <parent link="..."/> element'),
    'parent without link': (
        robot(link('a'), '<joint name="j" type="fixed"><parent/><child link="a"/></joint>'),
        r'<parent> \(line 3\) of joint "j" \(line 3\) needs the attribute "link"'),
    'unknown parent': (pair(parent='zz'), r'joint "j" \(line 4\): parent link "zz" does not'),
    'mistyped parent': (
        robot(link('base'), link('b'), joint(parent='bass')), r'did you mean "base"\?'),
    'unknown child': (pair(child='zz'), r'joint "j" \(line 4\): child link "zz" does not exist'),
    'to itself': (pair(child='a'), r'joint "j" \(line 4\) connects link "a" to itself'),
    'two roots': (robot(link('a'), link('b')),
                  r'2 links are the child of no joint \("a", "b"\); a robot has one root'),
    'loop over two joints': (
        robot(link('a'), link('b'), link('c'), joint('j', 'a', 'b'), joint('k', 'b', 'c'),
              joint('l', 'a', 'c')),
        r'link "c" is the child of two joints, joint "k" \(line 6\) and joint "l" \(line 7\)'),
    'ring next to the tree': (
        robot(link('a'), link('b'), link('c'), joint('j', 'b', 'c'), joint('k', 'c', 'b')),
        r'joints "k", "j" form a loop'),
    'ring alone': (robot(link('a'), link('b'), joint('j', 'a', 'b'), joint('k', 'b', 'a')),
                   r'form a loop; make one a <loop_joint>'),
    'same link twice': (robot(link('a'), link('a')),
                        r'link "a" \(line 3\): the name is already used by link "a" \(line 2\)'),
    'same joint twice': (robot(link('a'), link('b'), link('c'), joint('j', 'a', 'b'),
                               joint('j', 'a', 'c')),
                         r'joint "j" \(line 6\): the name is already used by joint "j" \(line 5'),
    'no limit': (pair(limit=''), r'joint "j" \(line 4\) is revolute and needs <limit'),
    'no limit, prismatic': (pair(kind='prismatic', limit=''), r'is prismatic and needs <limit'),
    'no effort': (robot(link('a'), link('b'), link('c'), link('d'),
                        joint('j', limit='<limit velocity="1"/>'),
                        joint('k', 'b', 'c', 'continuous', limit='<limit velocity="1"/>'),
                        joint('l', 'c', 'd')),
                  r'<limit> needs the attribute "effort", which is missing in joint "j" '
                  r'\(line 6\), joint "k" \(line 7\); add it, or load with limits_optional'),
    'no velocity': (pair(limit='<limit effort="1"/>'),
                    r'needs the attribute "velocity", which is missing in joint "j" \(line 4\);'),
    'crossed limits': (pair(limit='<limit lower="1" upper="-1" effort="1" velocity="1"/>'),
                       r'joint "j" \(line 4\): lower limit 1.0 is above upper limit -1.0'),
    'negative effort': (pair(limit='<limit effort="-1" velocity="1"/>'),
                        r'joint "j" \(line 4\): effort limit -1.0 is negative'),
    'negative velocity': (pair(limit='<limit effort="1" velocity="-2"/>'),
                          r'velocity limit -2.0 is negative'),
    'negative damping': (pair(inside='<dynamics damping="-1"/>'), r'damping -1.0 is negative'),
    'zero axis': (pair(inside='<axis xyz="0 0 0"/>'),
                  r'joint "j" \(line 4\): axis \(0.0, 0.0, 0.0\) has no direction'),
    'axis of two': (pair(inside='<axis xyz="0 1"/>'),
                    r'joint "j" \(line 4\): <axis xyz="0 1"> must have 3 numbers, got 2'),
    'axis without numbers': (pair(inside='<axis/>'), r'needs the attribute "xyz"'),
    'word for a number': (pair(inside='<origin xyz="0 one 0"/>'),
                          r'joint "j" \(line 4\): <origin xyz="0 one 0"> is not a list of '),
    'underscore': (pair(inside='<origin xyz="0 1_0 0"/>'), r'is not a list of numbers'),
    'not a number': (pair(inside='<origin rpy="0 nan 0"/>'),
                     r'joint "j" \(line 4\): <origin rpy="0 nan 0"> is not finite'),
    'infinite': (pair(limit='<limit effort="inf" velocity="1"/>'), r'<limit effort="inf"> is not'),
    'too large': (robot(link('a', mass='1e999')), r'link "a" \(line 2\): <mass value="1e999"> is'),
    'four numbers': (pair(inside='<origin xyz="0 0 0 0"/>'), r'must have 3 numbers, got 4'),
    'two orientations': (pair(inside='<origin rpy="0 0 0" quat_xyzw="0 0 0 1"/>'),
                         r'both rpy and quat_xyzw'),
    'zero quaternion': (pair(inside='<origin quat_xyzw="0 0 0 0"/>'), r'must not be zero'),
    'negative mass': (robot(link('a', mass=-2)), r'link "a" \(line 2\): mass -2.0 is negative'),
    'far away': (robot(link('a'), link('b'),
                       joint(kind='fixed', inside='<origin xyz="1e200 0 0"/>')),
                 r'body "b": the inertia is not finite'),
    'no mass': (robot('<link name="a"><inertial/></link>'),
                r'link "a" \(line 2\): <inertial> needs a <mass> element'),
    'no inertia': (robot('<link name="a"><inertial><mass value="1"/></inertial></link>'),
                   r'<inertial> needs a <inertia> element'),
    'mimic of nobody': (pair(inside='<mimic joint="ghost"/>'),
                        r'joint "j" \(line 4\) mimics "ghost", which does not exist'),
    'mimic without name': (pair(inside='<mimic/>'), r'needs the attribute "joint"'),
    'mimic of a fixed joint': (
        robot(link('a'), link('b'), link('c'), joint('k', 'a', 'b', 'fixed'),
              joint('j', 'b', 'c', inside='<mimic joint="k"/>')),
        r'joint "j" \(line 6\) mimics "k", but "k" is fixed; only joints with one coordinate'),
    'floating mimic': (
        robot(link('a'), link('b'), link('c'), joint('k', 'a', 'b'),
              joint('j', 'b', 'c', 'floating', inside='<mimic joint="k"/>')),
        r'joint "j" \(line 6\) mimics "k", but "j" is floating'),
    'mimic of itself': (pair(inside='<mimic joint="j"/>'), r'in a cycle: j -> j'),
    'mimic in a ring': (
        robot(link('a'), link('b'), link('c'), joint('j', 'a', 'b', inside='<mimic joint="k"/>'),
              joint('k', 'b', 'c', inside='<mimic joint="j"/>')),
        r'follow each other in a cycle: j -> k -> j; one of them must move freely'),
    'gear of zero': (
        robot(link('a'), link('b'), joint(), '<transmission name="t"><joint name="j"/><actuator>'
              '<mechanicalReduction>0</mechanicalReduction></actuator></transmission>'),
        r'transmission "t" \(line 5\): the gear ratio must not be zero'),
    'gear in words': (
        robot(link('a'), link('b'), joint(), '<transmission name="t"><joint name="j"/><actuator>'
              '<mechanicalReduction>many</mechanicalReduction></actuator></transmission>'),
        r'transmission "t" \(line 5\): <mechanicalReduction> is not a list of numbers'),
    'negative rotor': (
        robot(link('a'), link('b'), joint(), '<transmission name="t"><joint name="j"/><actuator>'
              '<rotorInertia>-1</rotorInertia></actuator></transmission>'),
        r'transmission "t" \(line 5\): rotor inertia -1.0 is negative'),
    'no such file': ('missing.urdf', r'file "missing.urdf" not found \(searched: missing.urdf\)'),
    'package without path': ('package://arm', r'must read package://<package>/<path>'),
    'no such package': ('package://nowhere/a.urdf',
                        r'file "package://nowhere/a.urdf" not found .* set AMENT_PREFIX_PATH'),
    'no such file in a package': ('package://rbd_ros/urdf/seven_joint_am.urdf',
                                  r'not found .*; did you mean "seven_joint_arm.urdf"\?'),
    'a folder': ('.', r'"\." is a folder; name the URDF or xacro file in it'),
}


@pytest.mark.parametrize('case', REFUSED)
def test_refused(case):
    """The description is refused and the message says where and why."""
    text, words = REFUSED[case]
    with pytest.raises(ModelError, match=words):
        load_urdf(text)


def test_robots_that_can_be_installed_have_a_remedy(monkeypatch):
    """One line says what to do, with no list of places around it."""
    for run, remedy in (('1', './run prepare'), ('', 'pip install example-robot-data')):
        monkeypatch.setenv('RBD_ROS_RUN', run)
        with pytest.raises(ModelError) as refused:
            load_urdf('package://example-robot-data/robots/nobody.urdf')
        assert str(refused.value).endswith(f'to install it: {remedy}')
        assert 'searched' not in str(refused.value)


def test_name_of_the_floating_joint_is_kept_free():
    """A joint of the file cannot take the name of the floating base's joint."""
    with pytest.raises(ModelError, match=r'joint "root_joint" \(line 4\): this is also the name'):
        load_urdf(pair(name='root_joint'), floating_base=True)


DOUBTED = {
    'not positive': ({'iyy': -0.01}, r'link "b" \(line 3\):? inertia is not positive definite '),
    'triangle': ({'izz': 0.03}, r'link "b" \(line 3\):? principal moments 0.01, 0.01, 0.03 '
                 r'violate'),
    'thin rod': ({'izz': 0.0}, r'link "b" \(line 3\):? inertia is not positive definite '
                 r'\(smallest principal moment 0\)'),
    'point': ({'ixx': 0.0, 'iyy': 0.0, 'izz': 0.0},
              r'link "b" \(line 3\):? inertia is not positive definite'),
    'no mass': ({'mass': 0}, r'link "b" \(line 3\):? has inertia without mass'),
    'leaf': ({'mass': 0, 'ixx': 0, 'iyy': 0, 'izz': 0}, r'link "b" on joint "j"'),
}


@pytest.mark.parametrize('case', DOUBTED)
def test_doubtful_inertia_is_kept_with_a_warning(case):
    """An inertia that no body has is kept with a warning that names the link."""
    values, words = DOUBTED[case]
    with pytest.warns(RbdWarning, match=r'robot "r": .*strict=True refuses.*' + words):
        model = load_urdf(robot(link('a'), link('b', **values), joint()))
    assert model.inertia[1].m == values.get('mass', 1.0)


def fault_of_moments(moments, mass=1.0):
    """Return what is found wrong with a body of principal moments about turned axes."""
    R = np.linalg.qr(np.array([[0.3, -0.5, 0.9], [0.7, 0.2, -0.4], [0.1, 0.8, 0.6]]))[0]
    entries = Sym3.from_matrix((R @ np.diag(moments) @ R.T).tolist())
    return check.fault_of(elements.Inertial(mass, Vec3.zero(), entries))


@pytest.mark.parametrize('moments, fault', [
    ((1.0, 1.0, 2.0), None),                    # a flat plate
    ((1.0, 1.0, 2.0019), None),                 # written with few digits
    ((1.0, 1.0, 2.0021), 'triangle'),           # a thousandth is allowed
    ((0.3, 0.7, 1.1), 'triangle'), ((0.4, 0.7, 1.1), None), ((1e-9, 1.0, 1.0), None),
    ((0.0, 1.0, 1.0), 'positive'), ((0.0, 0.0, 1.0), 'positive'), ((0.0, 0.0, 0.0), 'positive'),
    ((-1e-9, 1.0, 1.0), 'positive')])
def test_principal_moments_of_a_rigid_body(moments, fault):
    """All are positive and none exceeds the sum of the others, about whichever axes."""
    for factor in (1.0, 1e-6):
        for order in (1, -1):
            found = fault_of_moments(np.array(moments[::order]) * factor)
            assert found is None if fault is None else fault in found


@pytest.mark.parametrize('case', DOUBTED)
def test_doubtful_inertia_is_refused_when_strict(case):
    """With strict=True the same inertia is an error that names the link."""
    values, words = DOUBTED[case]
    if case == 'leaf':
        words += r' moves but has no inertia along its motion, .* give it mass, or fix'
    with pytest.raises(ModelError, match=words):
        load_urdf(robot(link('a'), link('b', **values), joint()), strict=True)


@pytest.mark.parametrize(('text', 'words'), [
    (pair(limit='<limit lower="-1" upper="1" effort="0" velocity="1"/>'),
     r'effort limit is zero, so that no force can be commanded: joint "j" \(line 4\)'),
    (pair(limit='<limit effort="1" velocity="1"/>'),
     r'lower and upper limit are equal, so that the joint cannot move: joint "j"'),
    (pair(inside='<spring stiffness="3"/>'), r'<spring> is unknown and not used: joint "j"'),
    (pair(kind='fixed', inside='<mimic joint="j"/>'), r'fixed joint with <mimic> stays fixed'),
    (pair(limit='<limit lower="-90" upper="90" effort="1" velocity="1"/>'),
     r'URDF uses radians, not degrees: joint "j"'),
    (pair(kind='fixed', inside='<origin rpy="180 0 0"/>'),
     r'URDF uses radians, not degrees: joint "j"'),
    (robot(link('a'), link('b', 1.0, 2e3, 2e3, 2e3), joint()),
     r'inertia of a part larger than 10 m; the units are kg and kg m\^2: link "b"'),
    (pair(kind='floating'), r'<limit> has no meaning for a floating joint .*: joint "j"'),
    (robot(link('a'), '<transmission name="t"><joint name="x"/></transmission>'),
     r'transmission of a joint that does not exist is not used: transmission "t"'),
    (robot(link('a'), link('b'), link('c'), joint(), joint('k', 'b', 'c'),
           '<transmission name="t"><joint name="j"/><joint name="k"/>'
           '<rotorInertia>1</rotorInertia></transmission>'),
     r'rotor inertia of a transmission with several joints .*: transmission "t"'),
    (robot(link('a'), link('b'), joint(),
           '<transmission name="t"><joint name="j"/><actuator name="m"/><actuator name="n"/>'
           '<rotorInertia>1</rotorInertia></transmission>'),
     r'rotor inertia of a transmission with several joints or motors is not used: .* "t"'),
    (robot(link('a'), link('b'), joint(),
           '<transmission name="t"><joint name="j"/><rotorInertia>1</rotorInertia></transmission>'
           '<transmission name="u"><joint name="j"/><rotorInertia>2</rotorInertia>'
           '</transmission>'),
     r'second, different transmission of one joint: .* last one are used: transmission "u"'),
])
def test_doubtful_elements_are_named(text, words):
    """What is written but not used, or leaves no motion, gives a warning that names it."""
    with pytest.warns(RbdWarning, match=words):
        load_urdf(text)


def test_mass_a_little_below_zero_is_refused():
    """The element is named with its line, whatever it would be merged with."""
    weld = joint('k', 'b', 'c', 'fixed')
    text = robot(link('a'), link('b'), link('c', mass=-1e-6), joint(), weld)
    with pytest.raises(ModelError, match=r'link "c" \(line 4\): mass -1e-06 is negative'):
        load_urdf(text)


@pytest.mark.parametrize('rotor', [0.0, 0.03])
def test_leaf_that_has_only_a_rotor(rotor):
    """A joint that carries nothing but turns a rotor has an acceleration: no doubt."""
    notes = []
    load_urdf(robot(link('a'), link('b', 0, 0, 0, 0), joint(
        inside=f'<dynamics armature="{rotor}"/>')), on_warning=notes.append)
    assert any('leaf without inertia' in note for note in notes) is (rotor == 0.0)


@pytest.mark.parametrize('angle, doubted', [
    (12.5, False), (12.6, True), (-12.5, False), (-12.6, True), (180.0, True), (-180.0, True),
    (999.0, True), (-999.0, True), (1001.0, False), (-1001.0, False)])
def test_angles_that_are_rather_degrees(angle, doubted):
    """More than two turns in either direction are doubted; a thousand means "no limit"."""
    low, high = sorted((0.0, angle))
    for text in (pair(kind='fixed', inside=f'<origin rpy="0 {angle} 0"/>'),
                 pair(limit=f'<limit lower="{low}" upper="{high}" effort="1" velocity="1"/>')):
        notes = []
        load_urdf(text, on_warning=notes.append)
        assert any('not degrees: joint "j"' in note and note.endswith(f' with {angle:g} rad')
                   for note in notes) is doubted
    notes = []                  # the same numbers in metres, or of a joint that turns for ever
    for kind in ('prismatic', 'continuous'):
        load_urdf(pair(kind=kind, limit=(
            f'<limit lower="{low}" upper="{high}" effort="1" velocity="1"/>')),
            on_warning=notes.append)
    assert not any('degrees' in note for note in notes)


def test_descriptions_are_read_from_files(tmp_path):
    """URDF as it stands, also by its address; xacro expanded; what cannot be read is named."""
    plain, macro = tmp_path / 'r.urdf', tmp_path / 'r.urdf.xacro'
    plain.write_text(pair())
    assert read_description(str(plain)) == read_description(f'file://{plain}') == pair()
    macro.write_text(pair().replace('upper="1"', 'upper="${2 * 0.4}"'))
    assert list(load_urdf(read_description(str(macro)), on_warning=list).upper) == [0.8]
    for file, content, words in (
            ('none.urdf', None, 'cannot read the robot description ".*none.urdf": No such file'),
            ('bytes.urdf', b'<robot>\xff</robot>', 'bytes.urdf" is not text .*in UTF-8'),
            ('none.xacro', None, 'none.xacro" does not exist; give a URDF or xacro file'),
            ('bad.xacro', b'<robot>${1 / 0}</robot>', 'xacro cannot expand ".*bad.xacro"')):
        if content is not None:
            (tmp_path / file).write_bytes(content)
        with pytest.raises(ModelError, match=words):
            read_description(str(tmp_path / file))


@pytest.mark.parametrize('mass', [1.0, 0.02])
@pytest.mark.parametrize('share, doubted', [(0.99, False), (1.01, True)])
def test_inertia_that_is_rather_in_other_units(mass, share, doubted):
    """A part whose moments say that it is more than ten metres large is doubted."""
    moment = share * mass * 10.0**2 / 3.0
    notes = []
    load_urdf(robot(link('a'), link('b', mass, moment, moment, moment), joint()),
              on_warning=notes.append)
    assert any('larger than 10 m' in note for note in notes) is doubted


def test_warnings_can_be_forwarded():
    """A caller's function gets every warning as text, and then none goes to ``warnings``."""
    texts = []
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        load_urdf(robot(link('a'), link('b', mass=0), joint(inside='<spring/>')),
                  on_warning=texts.append)
    assert len(texts) == 2 and all(text.startswith('robot "r": ') for text in texts)


def test_warning_points_at_the_caller():
    """The warning's place is the line that called load_urdf."""
    with pytest.warns(RbdWarning) as record:
        load_urdf(pair(inside='<spring/>'))
    assert record[0].filename == __file__


def test_xacro_file_is_refused_with_the_command(tmp_path):
    """A .xacro path is refused and the message holds the command that expands it."""
    path = tmp_path / 'arm.urdf.xacro'
    path.write_text('<robot/>')
    with pytest.raises(ModelError, match=r'expand it first: xacro arm.urdf.xacro > robot.urdf'):
        load_urdf(path)


def test_unreadable_file_is_named(tmp_path, monkeypatch):
    """A file that may not be read, and a text too long to be a path, are refused with reasons."""
    path = tmp_path / 'secret.urdf'
    path.write_text(pair())

    def refuse(self):
        raise PermissionError(13, 'Permission denied')

    monkeypatch.setattr(type(path), 'read_bytes', refuse)   # root may read everything
    with pytest.raises(ModelError, match=r'cannot read ".*secret.urdf": Permission denied'):
        load_urdf(path)
    with pytest.raises(ModelError, match=r'"xxx.* is not a valid path: File name too long'):
        load_urdf('x' * 5000)


@pytest.mark.parametrize('seed', range(8))
def test_damaged_descriptions_give_models_or_model_errors(seed):
    """Whatever is cut, doubled or overwritten in a file, nothing but ModelError comes out."""
    rng = random.Random(seed)
    folder = pathlib.Path(__file__).parents[1] / 'urdf'
    texts = [path.read_text() for path in sorted(folder.glob('*.urdf'))]
    words = ['""', '<', '>', '"', 'nan', '-1', '1e400', '&x;', '<!--', ']]>', '\0', 'link', '/>',
             '\ud800', 'name="', '${x}', '0', 'mimic', 'type="planar"']
    refused = 0
    for _ in range(60):
        text = rng.choice(texts)
        for _ in range(rng.randrange(1, 4)):
            a, b = sorted(rng.randrange(len(text)) for _ in range(2))
            b = min(b, a + rng.choice([1, 5, 40, 400]))
            text = text[:a] + rng.choice(['', text[a:b] * 2, *words]) + text[b:]
        try:
            load_urdf(text, floating_base=rng.random() < 0.3, on_warning=lambda words: None)
        except ModelError as error:
            refused += 1
            assert len(str(error)) > 10
    assert refused > 20


def test_ten_megabytes_are_read():
    """A 10 MB description is accepted, its geometry passed over unread."""
    filler = '<visual><geometry><mesh filename="package://a/b.stl"/></geometry></visual>' * 200
    links = ''.join(f'<link name="l{i}">{filler}</link>' for i in range(700))
    joints = ''.join(joint(f'j{i}', f'l{i}', f'l{i + 1}', 'fixed') for i in range(699))
    text = robot(links, joints)
    assert len(text) > 10e6
    model = load_urdf(text)
    assert model.nb == 0 and len(model.frames) == 700


def test_forty_megabytes_are_refused(tmp_path):
    """Beyond the limit the size and the way out are in the message, for text and for files."""
    words = r'has 40.0 MB, more than the limit of 33.6 MB; .* raise max_bytes'
    with pytest.raises(ModelError, match='the URDF text ' + words):
        load_urdf('<' + ' ' * 40_000_000)
    path = tmp_path / 'huge.urdf'
    path.write_bytes(b'<' + b' ' * 40_000_000)
    with pytest.raises(ModelError, match=f'"{path}" ' + words):
        load_urdf(path)


def test_a_long_word_of_a_file_makes_no_long_message():
    """It names the joint, and what is wrong; a page and a log can show it."""
    with pytest.raises(ModelError, match='^joint "j"') as caught:
        load_urdf(pair(limit=f'<limit lower="{"1" * 1_000_000}x" upper="1" effort="1"'
                             ' velocity="1"/>', kind='revolute'))
    assert str(caught.value).endswith('is not a list of numbers')
    assert len(str(caught.value)) < 5000
